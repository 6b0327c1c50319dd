//! Random traces as log profiles, and damaged log profiles.

use crate::common::legal::trace;
use crate::common::{Decoding, decode, decode_pieces, every_event, shown, written_by};
use jtrail_formats::mlpd::{self, DataVersion};
use jtrail_formats::{Checker, Decode, Encode, Format, Severity, Step};
use jtrail_model::*;
use proptest::prelude::*;

const VERSIONS: [DataVersion; 2] = [DataVersion::V1, DataVersion::V17];

fn write(version: DataVersion, events: &[Event<'_>]) -> Vec<u8> {
    written_by(&mut mlpd::Encoder::new(version), events)
}

fn events_of(bytes: &[u8]) -> Vec<Event<'static>> {
    let mut decoder = mlpd::Decoder::default();
    let (mut events, mut at) = (Vec::new(), 0);
    loop {
        let decoded = decoder.step(&bytes[at..], true).expect("a sound trace");
        at += decoded.used;
        match decoded.step {
            Step::Event(event) => events.push(owned(event)),
            Step::End => return events,
            Step::Remark(remark) => panic!("{remark:?}"),
            _ => {}
        }
    }
}

/// Returns the event as an owned one. The decoder's events do not borrow from its input, but their
/// type does not say so.
fn owned(event: Event<'_>) -> Event<'static> {
    let mut bytes = Vec::new();
    let mut encoder = Format::TptpBinary.encoder();
    encoder.begin(&mut bytes);
    encoder.event(&event, &mut bytes);
    let by_exception = matches!(event, Event::MethodLeave(e) if e.by_exception);
    let mut decoder = Format::TptpBinary.decoder();
    let mut at = 0;
    let bytes: &'static [u8] = bytes.leak();
    loop {
        let decoded = decoder.step(&bytes[at..], true).expect("a sound trace");
        at += decoded.used;
        match decoded.step {
            Step::Event(Event::MethodLeave(e)) => {
                return Event::MethodLeave(MethodLeave { by_exception, ..e });
            }
            Step::Event(event) => return event,
            Step::Nothing => {}
            step => panic!("{step:?}"),
        }
    }
}

fn is_definition(event: &str) -> bool {
    ["ClassDef(", "MethodDef(", "MethodDetail(", "ClassDetail("]
        .iter()
        .any(|kind| event.starts_with(kind))
}

/// Splits events into definitions and others. A file may have definitions before events that
/// preceded them.
fn parted(events: &[String]) -> (Vec<&String>, Vec<&String>) {
    events.iter().partition(|event| is_definition(event))
}

fn steps(most: usize) -> impl Strategy<Value = Vec<(u8, usize, u32)>> {
    let gap = prop_oneof![8 => 0_u32..1000, 1 => 0_u32..2_000_000_000];
    prop::collection::vec((0_u8..40, 0_usize..1 << 40, gap), 0..most)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_fits_comes_back(steps in steps(200), piece in 1_usize..3000) {
        for version in VERSIONS {
            let events = trace(version, &steps);
            let mut encoder = mlpd::Encoder::new(version);
            let bytes = written_by(&mut encoder, &events);
            prop_assert_eq!(encoder.dropped(), []);
            let decoding = decode_pieces(Format::Mlpd, &bytes, piece);
            prop_assert!(decoding.is_clean(), "{:?}", decoding.remarks);
            let expected = shown(&events);
            prop_assert_eq!(parted(&decoding.events), parted(&expected));
            // Encoding the decoded events gives the same bytes again.
            prop_assert_eq!(write(version, &events_of(&bytes)), bytes);
        }
    }

    #[test]
    fn what_we_write_passes_the_checker(steps in steps(200)) {
        // Step 14 unloads a class; doing so twice would not be sound.
        let sound: Vec<_> = steps.into_iter().filter(|step| step.0 != 14).collect();
        for version in VERSIONS {
            let bytes = write(version, &trace(version, &sound));
            let mut checker = Checker::default();
            for (at, event) in events_of(&bytes).iter().enumerate() {
                checker.event(at as u64, event);
            }
            let findings = checker.finish();
            prop_assert_eq!(findings.faults(), 0, "{:?}", findings.findings);
        }
    }

    /// Threads whose times are skewed against each other: a batch ends where time decreases.
    #[test]
    fn what_is_out_of_order_stays_as_it_is_written(steps in steps(200), skew in 0_i64..2_000_000_000) {
        for version in VERSIONS {
            let mut events = trace(version, &steps);
            for event in &mut events {
                match event {
                    Event::MethodEnter(e) => e.time.0 += skew * (e.thread.0 as i64 % 3),
                    Event::MethodLeave(e) => e.time.0 += skew * (e.thread.0 as i64 % 3),
                    Event::MethodCompile(e) => e.time.0 += skew,
                    Event::HeapDump(e) => e.time.0 -= skew / 1000,
                    _ => {}
                }
            }
            let bytes = write(version, &events);
            prop_assert_eq!(write(version, &events_of(&bytes)), bytes);
        }
    }

    /// Pauses amid calls. The format has no pauses, so the events of a pause are missing, including
    /// leaves.
    #[test]
    fn calls_of_a_pause_stay_as_they_are_written(steps in steps(200), pauses in prop::collection::vec(0_usize..60, 0..12)) {
        for version in VERSIONS {
            let mut events = trace(version, &steps).into_iter();
            let mut cut = Vec::new();
            for (at, length) in pauses.iter().enumerate() {
                let part: Vec<_> = events.by_ref().take(length + 5).collect();
                let paused = at % 2 == 1;
                if let Some(time) = cut.iter().rev().find_map(Event::time) {
                    cut.push(match paused {
                        true => Event::TracePause(TracePause { time }),
                        false => Event::TraceResume(TraceResume { time }),
                    });
                }
                let is_call = |event: &Event<'_>| matches!(event, Event::MethodEnter(_) | Event::MethodLeave(_));
                cut.extend(part.into_iter().filter(|event| !paused || !is_call(event)));
            }
            cut.extend(events);
            let bytes = write(version, &cut);
            let decoding = decode(Format::Mlpd, &bytes);
            prop_assert!(decoding.is_clean(), "{:?}", decoding);
            prop_assert_eq!(write(version, &events_of(&bytes)), bytes);
        }
    }

    /// Events that contradict each other.
    #[test]
    fn any_events_are_written_so_that_they_can_be_read(events in crate::common::random::trace()) {
        for version in VERSIONS {
            let bytes = write(version, &events);
            let decoding = decode(Format::Mlpd, &bytes);
            prop_assert!(decoding.is_clean(), "{:?}", decoding);
        }
    }

    #[test]
    fn bytes_without_sense_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..400), piece in 1_usize..50) {
        for version in VERSIONS {
            let whole = write(version, &[]);
            let head = [&whole[..], &buffer_head(bytes.len())].concat();
            decode_pieces(Format::Mlpd, &[&head, &bytes[..]].concat(), piece);
        }
        decode_pieces(Format::Mlpd, &[mlpd::MAGIC, &bytes].concat(), piece);
        decode_pieces(Format::Mlpd, &[mlpd::GZIP_MAGIC, &bytes].concat(), piece);
    }
}

/// Returns the header of a buffer of a thread that the trace does not define.
fn buffer_head(length: usize) -> Vec<u8> {
    let mut head = vec![0x01, 0x4c, 0x50, 0x4d];
    head.extend_from_slice(&(length as u32).to_le_bytes());
    for field in [90_000_000_000_000_u64, 0, 0, 77, 4] {
        head.extend_from_slice(&field.to_le_bytes());
    }
    head
}

/// Returns traces of all events in both versions, and one of calls in several batches.
fn traces() -> Vec<Vec<u8>> {
    let steps: Vec<_> = (0..400_usize)
        .map(|i| ((i * 7 % 40) as u8, i * 31, 5_000_000))
        .collect();
    let mut traces = Vec::new();
    for version in VERSIONS {
        traces.push(write(version, &every_event()));
        traces.push(write(version, &trace(version, &steps)));
    }
    traces
}

#[test]
fn compressed_traces_are_read_as_plain_ones() {
    use flate2::{Compression, write::GzEncoder};
    use std::io::Write;
    for bytes in traces() {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(&bytes).unwrap();
        let packed = gzip.finish().unwrap();
        assert_eq!(Format::detect(&packed), Some(Format::Mlpd));
        let plain = decode(Format::Mlpd, &bytes);
        for piece in [1, 100, packed.len()] {
            assert_eq!(decode_pieces(Format::Mlpd, &packed, piece), plain);
        }
        for cut in (0..packed.len()).step_by(7) {
            let decoding: Decoding = decode(Format::Mlpd, &packed[..cut]);
            let broken = decoding.error.is_some() || decoding.count(Severity::Truncated) > 0;
            assert!(broken, "{cut}: {decoding:?}");
            let mut damaged = packed.clone();
            damaged[cut] ^= 0x10;
            decode_pieces(Format::Mlpd, &damaged, 50);
        }
    }
}
