//! jtrail's own format: events are recoded without change.

use crate::common::random::{event, trace};
use crate::common::{decode, decode_pieces, encoded, shown};
use crate::common::{every_event, uneven_calls};
use jtrail_formats::trail::{Part, Parts, SegmentReader, Segments};
use jtrail_formats::{DropCount, Format, Item, Reader, Severity};
use jtrail_model::*;
use proptest::prelude::*;
use std::io::Cursor;
use std::ops::ControlFlow;
use std::path::Path;

#[test]
fn every_event_comes_back() {
    let events = every_event();
    let bytes = encoded(Format::Trail, &events);
    let decoding = decode(Format::Trail, &bytes);
    assert!(decoding.is_clean(), "{:?}", decoding.remarks);
    assert_eq!(decoding.events, shown(&events));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn random_events_come_back(events in trace(), piece in 1_usize..300) {
        let bytes = encoded(Format::Trail, &events);
        let decoding = decode_pieces(Format::Trail, &bytes, piece);
        prop_assert!(decoding.is_clean(), "{:?}", decoding.remarks);
        prop_assert_eq!(decoding.events, shown(&events));
    }

    #[test]
    fn random_events_can_be_read_by_segment(events in trace()) {
        let bytes = encoded(Format::Trail, &events);
        let segments = Segments::open(Cursor::new(&bytes)).expect("read").expect("whole");
        let mut reader = SegmentReader::new(Cursor::new(&bytes)).expect("read");
        for number in 0..segments.count() {
            prop_assert!(reader.begin(&segments, number).expect("read"));
            prop_assert!(reader.read(&mut |_| {}), "segment {number}");
        }
        prop_assert!(segments.counts_match(reader.counts()));
    }

    #[test]
    fn single_events_come_back(event in event()) {
        let bytes = encoded(Format::Trail, [&event]);
        prop_assert_eq!(decode(Format::Trail, &bytes).events, shown(&[event]));
    }
}

/// A trail stores a repeated text in a few bytes. The total size of the texts of an event is
/// therefore bounded, for writers and for readers.
#[test]
fn an_event_that_says_too_much_again_is_dropped_and_reported() {
    let stack = |depth| {
        let method = "n".repeat(1 << 20).into();
        Event::Sample(Sample {
            thread: ThreadId(1),
            stack: vec![Frame { method, line: 1 }; depth],
            ..Sample::default()
        })
    };
    // The maximum is 16 MiB of text in one event.
    let events = [stack(15), stack(17), stack(14)];
    let mut encoder = Format::Trail.encoder();
    let mut bytes = Vec::new();
    encoder.begin(&mut bytes);
    events.iter().for_each(|e| encoder.event(e, &mut bytes));
    encoder.end(&mut bytes);
    let dropped: Vec<_> = encoder.dropped().iter().map(DropCount::to_string).collect();
    assert_eq!(dropped, ["events that are too large (1)"]);
    let decoding = decode(Format::Trail, &bytes);
    assert!(decoding.is_clean(), "{:?}", decoding.remarks);
    let [first, _, last] = events;
    assert!(decoding.events == shown(&[first, last]), "they come back");
}

/// Returns where each segment of a trace begins, and its kind.
fn segments(trace: &[u8]) -> Vec<(usize, u8)> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(header) = trace.get(at..at + 56) {
        found.push((at, header[5]));
        let length = [header[12], header[13], header[14], header[15]];
        at += 56 + u32::from_le_bytes(length) as usize;
    }
    found
}

/// Returns calls by several threads with occasional new methods, enough for several segments.
fn long_trace() -> Vec<Event<'static>> {
    let mut events = Vec::new();
    let time = |n: u64| Timestamp(1_700_000_000_000_000_000 + n as i64 * 37);
    for n in 0..30_000_u64 {
        let (thread, call) = (ThreadId(1 + n / 7 % 5), n / 35 * 7 + n % 7);
        let method = MethodId(1 + call / 100);
        if n % 500 == 0 {
            events.push(Event::MethodDef(MethodDef {
                method: MethodId(1 + n / 500),
                name: format!("m{n}").into(),
                ..MethodDef::default()
            }));
        }
        events.push(Event::MethodEnter(MethodEnter {
            thread,
            time: time(n),
            method,
            ticket: call as u32 + 1,
            stack_depth: 1,
            ..MethodEnter::default()
        }));
        events.push(Event::MethodLeave(MethodLeave {
            thread,
            time: time(n + 1),
            method,
            ticket: call as u32 + 1,
            by_exception: n % 99 == 0,
            ..MethodLeave::default()
        }));
    }
    events
}

/// Encodes the events as a trail of several segments.
fn in_segments(events: &[Event<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = Format::Trail.encoder();
    encoder.begin(&mut out);
    for part in events.chunks(9000) {
        for event in part {
            encoder.event(event, &mut out);
        }
        encoder.flush(&mut out);
    }
    encoder.end(&mut out);
    out
}

/// The encoder writes each index before too many segments follow the last index, wherever segments
/// of definitions begin.
#[test]
fn no_index_comes_late() {
    let (definition, call) = (MethodDef::default(), MethodEnter::default());
    for first in 1020..1026 {
        let mut out = Vec::new();
        let mut encoder = Format::Trail.encoder();
        encoder.begin(&mut out);
        for number in 0..3000 {
            if number >= first {
                encoder.event(&Event::MethodDef(definition.clone()), &mut out);
            }
            encoder.event(&Event::MethodEnter(call), &mut out);
            encoder.flush(&mut out);
        }
        encoder.end(&mut out);
        let decoding = decode(Format::Trail, &out);
        assert!(decoding.is_clean(), "{first}: {:?}", decoding.remarks);
    }
}

#[test]
fn an_index_is_in_time_whether_or_not_the_segment_before_it_has_definitions() {
    for alone in [0, 1] {
        let mut out = Vec::new();
        let mut encoder = Format::Trail.encoder();
        encoder.begin(&mut out);
        for n in 0..600 {
            // Segments come in pairs of definitions and events. If `alone` is 1, the first segment
            // is not part of a pair, so that the limit of an index falls inside of a pair.
            if n >= alone {
                let def = MethodDef {
                    method: MethodId(n),
                    name: format!("m{n}").into(),
                    ..MethodDef::default()
                };
                encoder.event(&Event::MethodDef(def), &mut out);
            }
            let enter = MethodEnter {
                thread: ThreadId(1),
                time: Timestamp(1_700_000_000_000_000_000 + n as i64),
                method: MethodId(n),
                ..MethodEnter::default()
            };
            encoder.event(&Event::MethodEnter(enter), &mut out);
            encoder.flush(&mut out);
        }
        encoder.end(&mut out);
        let kinds: Vec<u8> = segments(&out).iter().map(|(_, kind)| *kind).collect();
        let longest = kinds.split(|kind| *kind == 3).map(<[u8]>::len).max();
        assert!(longest <= Some(1024), "{longest:?}");
        let decoding = decode(Format::Trail, &out);
        assert!(decoding.is_clean(), "{:?}", decoding.remarks);
    }
}

#[test]
fn what_a_lost_segment_defines_is_not_lost() {
    let events = long_trace();
    let whole = in_segments(&events);
    let shown = shown(&events);
    let segments = segments(&whole);
    let of_events: Vec<usize> = segments
        .iter()
        .filter(|(_, kind)| *kind == 2)
        .map(|(at, _)| *at)
        .collect();
    assert!(of_events.len() > 4, "{segments:?}");
    let events_at = |at: usize| {
        let long = |at: usize| u64::from_le_bytes(whole[at..at + 8].try_into().expect("eight"));
        let count = u32::from_le_bytes(whole[at + 20..at + 24].try_into().expect("four"));
        (long(at + 24) as usize, count as usize)
    };
    for &at in &of_events[1..] {
        let (before, count) = events_at(at);
        for damage in [at + 2, at + 30, at + 70] {
            let mut damaged = whole.clone();
            damaged[damage] ^= 0x10;
            let decoding = decode(Format::Trail, &damaged);
            assert_eq!(decoding.error, None);
            assert!(decoding.count(Severity::Fault) > 0);
            let reported: Vec<&str> = decoding.remarks.iter().map(|r| &*r.message).collect();
            let missing = format!("events {} to {} are missing", before + 1, before + count);
            assert!(
                reported.iter().any(|m| m.starts_with(&missing)),
                "{reported:?}"
            );
            let definition = |event: &&String| event.starts_with("MethodDef");
            let lost = &shown[before..before + count];
            let expected: Vec<&String> = shown[..before]
                .iter()
                .chain(lost.iter().filter(definition))
                .chain(&shown[before + count..])
                .collect();
            assert!(decoding.events.iter().eq(expected), "{reported:?}");
        }
    }
}

#[test]
fn a_removed_or_repeated_segment_is_reported() {
    let whole = in_segments(&long_trace());
    let count = decode(Format::Trail, &whole).events.len();
    let segments = segments(&whole);
    let length = |n: usize| segments.get(n + 1).map_or(whole.len(), |s| s.0) - segments[n].0;
    for (n, &(at, kind)) in segments.iter().enumerate() {
        let part = at..at + length(n);
        let mut removed = whole.clone();
        removed.drain(part.clone());
        let decoding = decode(Format::Trail, &removed);
        let last = n + 1 == segments.len();
        assert_eq!(decoding.count(Severity::Truncated), usize::from(last));
        assert_eq!(decoding.count(Severity::Fault) > 0, !last, "{n}");
        assert!(decoding.events.len() <= count);
        let mut repeated = whole.clone();
        repeated.splice(at..at, whole[part].iter().copied());
        let decoding = decode(Format::Trail, &repeated);
        assert_eq!(decoding.events.len(), count, "{n}, of kind {kind}");
        assert!(decoding.count(Severity::Fault) > 0);
    }
}

#[test]
fn parts_that_are_not_selected_are_not_read() {
    let events = long_trace();
    let whole = in_segments(&events);
    let shown = shown(&events);
    let read = |wants: &dyn Fn(&Part) -> bool| {
        let mut parts = Parts::open(Cursor::new(&whole))
            .expect("read")
            .expect("an index");
        let (mut all, mut count) = (Vec::new(), 0);
        while let Some(part) = parts.next_part() {
            count += 1;
            let mut take = |event: &Event<'_>| {
                all.push(format!("{event:?}"));
                Ok::<(), std::io::Error>(())
            };
            if wants(&part) {
                parts.events(&part, take).expect("sound");
            } else {
                for event in parts.definitions(&part).expect("sound") {
                    take(&event).expect("taken");
                }
            }
        }
        (all, count, parts.bytes_read())
    };
    let (all, count, bytes) = read(&|_| true);
    assert_eq!(all, shown);
    assert!(count > 4 && bytes <= whole.len() as u64);

    let middle = 1_700_000_000_000_000_000 + 15_000 * 37;
    let (some, _, some_bytes) = read(&|part| part.times[0] <= middle && middle <= part.times[1]);
    assert!(some_bytes * 5 < bytes * 2, "{some_bytes} of {bytes}");
    let is_there = |event: &&String| some.contains(event);
    assert_eq!(shown.iter().filter(is_there).count(), some.len());
    assert!(some.len() < all.len() / 3);
    let definitions =
        |events: &[String]| events.iter().filter(|e| e.starts_with("MethodDef")).count();
    assert_eq!(definitions(&some), definitions(&all));

    assert_eq!(
        read(&|part| part.threads.contains(&ThreadId(77))).0.len(),
        definitions(&all)
    );
    // Without the end of the file, the index can't be found.
    let cut = &whole[..whole.len() - 1];
    assert!(Parts::open(Cursor::new(cut)).expect("read").is_none());
}

/// Files of each version of the format are read correctly.
#[test]
fn old_versions_are_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trail");
    let events = [every_event(), uneven_calls()].concat();
    let latest = encoded(Format::Trail, &events);
    for version in 1..=latest[4] {
        let name = |end: &str| folder.join(format!("version-{version}.{end}"));
        let (trace, text) = (name("trail"), name("txt"));
        if std::env::var_os("JTRAIL_BLESS").is_some() && !trace.exists() {
            std::fs::create_dir_all(&folder).expect("a folder");
            std::fs::write(&trace, &latest).expect("written");
            std::fs::write(&text, shown(&events).join("\n") + "\n").expect("written");
        }
        let bytes = std::fs::read(trace).expect("a trace");
        assert_eq!(bytes[4], version);
        let decoding = decode(Format::Trail, &bytes);
        assert!(decoding.is_clean(), "{:?}", decoding.remarks);
        let expected = std::fs::read_to_string(text).expect("its events");
        assert_eq!(decoding.events.join("\n") + "\n", expected);
    }
}

/// Checksums don't detect errors of a writer. Decoders must survive such errors, step by step and
/// in rows. Readers of segments must survive them, too.
#[test]
fn a_change_under_right_checksums_does_no_harm() {
    const HEADER: usize = 56;
    let good = encoded(Format::Trail, &uneven_calls()[..300]);
    for at in 0..good.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut bad = good.clone();
            bad[at] ^= change;
            let mut rest = &mut bad[..];
            while rest.len() >= HEADER {
                let length = u32::from_le_bytes([rest[12], rest[13], rest[14], rest[15]]) as usize;
                let end = rest.len().min(HEADER.saturating_add(length));
                let (segment, after) = rest.split_at_mut(end);
                let payload = crc32c::crc32c(&segment[HEADER..]).to_le_bytes();
                segment[16..20].copy_from_slice(&payload);
                let header = crc32c::crc32c(&segment[..HEADER - 4]).to_le_bytes();
                segment[HEADER - 4..HEADER].copy_from_slice(&header);
                rest = after;
            }
            let whole = decode(Format::Trail, &bad);
            let mut shown_in_rows = Vec::new();
            if let Ok(mut reader) = Reader::new(&bad[..]) {
                let mut show = |item: Item<'_>| {
                    if let Item::Event { event, .. } = item {
                        shown_in_rows.push(format!("{event:?}"));
                    }
                    ControlFlow::<()>::Continue(())
                };
                let _ = reader.for_each_in_bulk(|bulk| bulk.items(&mut show));
                assert_eq!(shown_in_rows, whole.events, "byte {at}, {change:#x}");
            }
            let Ok(Some(segments)) = Segments::open(Cursor::new(&bad[..])) else {
                continue;
            };
            let mut reader = SegmentReader::new(Cursor::new(&bad[..])).expect("memory");
            for number in 0..=segments.count() {
                let is_begun = reader.begin(&segments, number).expect("memory");
                let open = reader.open_calls(&segments).expect("memory");
                assert!(is_begun || open.is_none(), "of one that could not be begun");
                assert!(
                    reader.open_calls(&segments).expect("memory").is_none(),
                    "twice"
                );
                let is_read = reader.read(&mut |_| ());
                assert!(is_begun || !is_read, "of one that could not be begun");
            }
        }
    }
}

#[test]
fn a_later_version_is_refused() {
    let mut bytes = encoded(Format::Trail, &every_event());
    bytes[4] = 4;
    let checksum = crc32c::crc32c(&bytes[..52]).to_le_bytes();
    bytes[52..56].copy_from_slice(&checksum);
    let decoding = decode(Format::Trail, &bytes);
    let (offset, message) = decoding.refused();
    assert_eq!(offset, 0);
    assert!(
        message.contains("version 4: only those up to 3 are known"),
        "{message}"
    );
}
