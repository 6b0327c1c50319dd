//! Recovery of damaged trails: sound parts are kept, and missing ones are reported.

use crate::common::trail::{
    DEFINITIONS, EVENTS, HEADER, Random, Segment, busy, in_segments, segments,
};
use crate::common::{drain, every_event};
use jtrail_formats::trail::recover::{REASON, RecoverError, Recovered, recover};
use jtrail_formats::{Checker, Decoded, Finding, Format, Severity, Step};
use jtrail_model::*;
use std::io::Cursor;
use std::num::NonZero;
use std::thread;
use std::time::{Duration, Instant};

/// A trail with its events and segments.
struct Sample {
    events: Vec<Event<'static>>,
    bytes: Vec<u8>,
    segments: Vec<Segment>,
}

impl Sample {
    fn new(count: usize, seed: u64) -> Self {
        let events = busy(count, seed);
        let bytes = in_segments(&events, 150);
        let segments = segments(&bytes);
        Self {
            events,
            bytes,
            segments,
        }
    }

    fn definitions(&self, segment: &Segment) -> u64 {
        let range = segment.before as usize..(segment.before + segment.events) as usize;
        self.events[range]
            .iter()
            .filter(|event| event.is_definition())
            .count() as u64
    }

    /// Returns how many events are lost. `is_bad` returns true for each damaged segment.
    /// Definitions with a sound copy are not lost.
    fn lost(&self, is_bad: impl Fn(&Segment) -> bool) -> u64 {
        let mut lost = 0;
        for (n, segment) in self.segments.iter().enumerate() {
            if segment.kind == EVENTS && is_bad(segment) {
                let copies = n.checked_sub(1).map(|before| &self.segments[before]);
                let kept = copies.is_some_and(|c| c.kind == DEFINITIONS && !is_bad(c));
                lost += segment.events;
                lost -= if kept { self.definitions(segment) } else { 0 };
            }
        }
        lost
    }
}

/// Recovers a trail and tests what holds for any damage. No event is made up, the new trail is
/// sound and records the losses, and recovering it again changes nothing.
fn recovered(bytes: &[u8], events: &[Event<'static>]) -> Recovered {
    Prover::new(events).recovered(bytes)
}

/// Recovers damaged variants of one trail.
struct Prover<'a> {
    events: &'a [Event<'static>],
    /// The last recovered trail with its content. The next variant often gives an equal trail.
    last: Option<(Vec<u8>, Content)>,
}

/// Content of a recovered trail.
#[derive(Clone, Copy)]
struct Content {
    taken: u64,
    lost: u64,
    is_truncated: bool,
}

impl<'a> Prover<'a> {
    fn new(events: &'a [Event<'static>]) -> Self {
        Self { events, last: None }
    }

    fn recovered(&mut self, bytes: &[u8]) -> Recovered {
        let mut out = Vec::new();
        let found = recover(Cursor::new(bytes), &mut out).expect("recovered");
        let content = match self.last.take() {
            Some((last, content)) if last == out => content,
            _ => self.content(&out),
        };
        self.last = Some((out, content));
        assert_eq!((found.events, found.lost), (content.taken, content.lost));
        assert_eq!(found.has_end, !content.is_truncated);
        found
    }

    fn content(&self, out: &[u8]) -> Content {
        let mut decoder = Format::Trail.decoder();
        let mut checker = Checker::of(Format::Trail);
        let (mut at, mut original, mut taken, mut lost) = (0, self.events.iter(), 0, 0);
        let mut is_truncated = false;
        loop {
            let Decoded { used, step } = decoder.step(&out[at..], true).expect("a sound trace");
            match step {
                Step::Event(event) => {
                    checker.event(at as u64, &event);
                    match &event {
                        Event::Custom(Custom { body }) if body.starts_with("jtrail lost") => {
                            let Some(Note::Lost(note)) = Note::parse(body) else {
                                panic!("{body}");
                            };
                            assert_eq!((note.thread, &*note.reason), (ThreadId::NONE, REASON));
                            assert!(note.from <= note.to);
                            lost += note.events;
                        }
                        _ => {
                            taken += 1;
                            assert!(original.any(|o| *o == event), "made up: {event:?}");
                        }
                    }
                }
                Step::Remark(remark) => {
                    assert_eq!(remark.severity, Severity::Truncated, "{remark:?}");
                    is_truncated = true;
                }
                Step::End => break,
                Step::Nothing => {}
                Step::NeedMore => panic!("asks for more than there is"),
            }
            at += used;
        }
        let findings = checker.finish();
        let is_fault = |f: &&Finding| f.severity == Severity::Fault;
        assert_eq!(findings.findings.iter().find(is_fault), None);
        assert_eq!(findings.counts.lost, lost);
        let mut again = Vec::new();
        let second = recover(Cursor::new(out), &mut again).expect("recovered");
        assert!(again == out, "not recovered to itself");
        assert_eq!(second.lost, 0);
        Content {
            taken,
            lost,
            is_truncated,
        }
    }
}

#[test]
fn a_sound_trail_stays_as_it_is() {
    let sample = Sample::new(5_000, 1);
    let found = recovered(&sample.bytes, &sample.events);
    assert!(found.is_complete(), "{found:?}");
    assert_eq!(found.events, sample.events.len() as u64);
    assert_eq!((found.gaps.len(), found.others.len()), (0, 0));
    let bytes = crate::common::encoded(Format::Trail, &every_event());
    let mut out = Vec::new();
    recover(Cursor::new(&bytes), &mut out).expect("recovered");
    assert!(out == bytes);
}

/// Cuts the trail at each `stride`th byte from `first` on.
fn cut_anywhere(sample: &Sample, first: usize, stride: usize) {
    let mut prover = Prover::new(&sample.events);
    for cut in (4 + first..sample.bytes.len()).step_by(stride) {
        let found = prover.recovered(&sample.bytes[..cut]);
        assert!(!found.is_complete() && !found.has_end, "{cut}");
        // The header of the segment that is cut says how many events it had.
        let mut headers = sample.segments.iter().filter(|s| s.start + HEADER <= cut);
        let reported = headers.next_back().map_or(0, |s| s.before + s.events);
        let ahead: u64 = match sample.segments.iter().rposition(|s| s.end <= cut) {
            // The trail may end with copies of definitions. The segment of these definitions was
            // then cut off, with its header.
            Some(n)
                if sample.segments[n].kind == DEFINITIONS
                    && reported == sample.segments[n].before =>
            {
                sample.definitions(&sample.segments[n + 1])
            }
            _ => 0,
        };
        assert_eq!(found.events + found.lost, reported + ahead, "{cut}");
        assert_eq!(found.lost, reported.saturating_sub(found.events), "{cut}");
    }
}

fn blocks_damaged(sample: &Sample, stride: usize) {
    let mut prover = Prover::new(&sample.events);
    for at in (0..sample.bytes.len()).step_by(64).step_by(stride) {
        let end = sample.bytes.len().min(at + 64);
        for flips in [false, true] {
            let mut bytes = sample.bytes.clone();
            for byte in &mut bytes[at..end] {
                *byte = if flips { !*byte } else { 0 };
            }
            let is_bad = |s: &Segment| {
                s.start < end && at < s.end && {
                    let part = at.max(s.start)..end.min(s.end);
                    bytes[part.clone()] != sample.bytes[part]
                }
            };
            let found = prover.recovered(&bytes);
            let last = sample.segments.last().expect("an index");
            assert_eq!(found.has_end, !is_bad(last), "{at}");
            let lost = sample.lost(is_bad);
            if !is_bad(last) {
                assert_eq!(found.lost, lost, "{at}: {found:?}");
            }
            assert_eq!(found.events, sample.events.len() as u64 - lost, "{at}");
            let damaged: u64 = found.gaps.iter().map(|gap| gap.damaged).sum();
            let bad = sample.segments.iter().filter(|s| is_bad(s));
            assert_eq!(
                damaged,
                bad.map(|s| (s.end - s.start) as u64).sum::<u64>(),
                "{at}"
            );
        }
    }
}

#[test]
fn a_trail_cut_anywhere_is_recovered() {
    let sample = Sample::new(700, 2);
    assert!(sample.segments.len() > 9);
    cut_anywhere(&sample, 0, 1);
    cut_anywhere(&Sample::new(3_000, 3), 0, 61);
}

#[test]
fn a_trail_with_any_block_damaged_is_recovered() {
    blocks_damaged(&Sample::new(700, 4), 1);
    blocks_damaged(&Sample::new(3_000, 5), 17);
}

fn megabyte() -> Sample {
    let sample = Sample::new(40_000, 6);
    assert!(sample.bytes.len() > 1_000_000, "{}", sample.bytes.len());
    sample
}

#[test]
#[ignore = "takes an hour; the tests above do the same with less"]
fn a_megabyte_cut_at_every_byte_is_recovered() {
    let sample = &megabyte();
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        for first in 0..threads {
            scope.spawn(move || cut_anywhere(sample, first, threads));
        }
    });
}

#[test]
#[ignore = "takes minutes; the tests above do the same with less"]
fn a_megabyte_with_any_block_damaged_is_recovered() {
    blocks_damaged(&megabyte(), 1);
}

#[test]
fn damage_at_several_places_is_recovered() {
    let sample = Sample::new(3_000, 7);
    let mut random = Random(8);
    for _ in 0..200 {
        let mut bytes = sample.bytes.clone();
        for _ in 0..1 + random.below(5) {
            let at = random.below(bytes.len());
            let end = bytes.len().min(at + 1 + random.below(4_000));
            match random.below(3) {
                0 => drop(bytes.drain(at..end)),
                1 => bytes[at..end].fill(random.next() as u8),
                _ => drop(bytes.splice(at..at, vec![random.next() as u8; end - at])),
            }
        }
        if bytes.len() > 4 {
            bytes[..4].copy_from_slice(b"\xb5JTR");
            recovered(&bytes, &sample.events);
        }
    }
}

#[test]
fn missing_and_repeated_segments_are_reported() {
    let sample = Sample::new(3_000, 9);
    let last = sample.segments.len() - 1;
    for (n, segment) in sample.segments.iter().enumerate() {
        let part = segment.start..segment.end;
        let mut removed = sample.bytes.clone();
        removed.drain(part.clone());
        let found = recovered(&removed, &sample.events);
        let lost = sample.lost(|s| s.start == segment.start);
        assert_eq!(found.lost, lost);
        assert_eq!(found.is_complete(), lost == 0 && n != last, "{n}");
        if n != last {
            assert_eq!(found.gaps.len(), 1, "{n}");
            assert_eq!(
                found.gaps[0].bytes,
                segment.start as u64..segment.start as u64
            );
        }

        let to = sample.segments[n * 7 % sample.segments.len()].start;
        let mut repeated = sample.bytes.clone();
        repeated.splice(to..to, sample.bytes[part].iter().copied());
        let found = recovered(&repeated, &sample.events);
        assert!(found.is_complete(), "{n}: {found:?}");
        assert_eq!(found.others.len(), 1, "{n}");
        assert!(found.others[0].is_repeated);
        assert_eq!(found.others[0].segments, 1);
    }
}

/// The file was written by two processes, or has blocks of an old file.
#[test]
fn segments_of_another_trace_are_distinguished() {
    let (ours, theirs) = (Sample::new(3_000, 10), Sample::new(1_500, 11));
    for n in 0..theirs.segments.len() - 1 {
        let part = theirs.segments[n].start..theirs.segments[n + 1].end;
        for at in &ours.segments {
            let mut bytes = ours.bytes.clone();
            bytes.splice(
                at.start..at.start,
                theirs.bytes[part.clone()].iter().copied(),
            );
            let found = recovered(&bytes, &ours.events);
            assert_eq!(found.events, ours.events.len() as u64);
            assert_eq!((found.lost, found.has_end), (0, true));
            let others: u64 = found.others.iter().map(|o| o.segments).sum();
            assert_eq!(others, 2);
            assert!(!found.is_complete(), "{n}: {found:?}");
        }
    }
    // A process was killed, and another one started.
    for cut in [1_000, 20_000, ours.bytes.len() / 3 * 2, ours.bytes.len()] {
        let mut bytes = ours.bytes[..cut].to_vec();
        bytes.extend_from_slice(&theirs.bytes);
        let first = recovered(&ours.bytes[..cut], &ours.events);
        let larger = match first.events > theirs.events.len() as u64 {
            true => &ours.events,
            false => &theirs.events,
        };
        let found = recovered(&bytes, larger);
        assert!(found.events + found.lost >= larger.len() as u64 / 2);
        assert!(!found.is_complete());
        assert!(found.others.iter().any(|o| !o.is_repeated), "{found:?}");
    }
}

/// Segments of another trace have numbers that fit a gap.
#[test]
fn segments_of_another_trace_do_not_fill_a_gap() {
    let (ours, theirs) = (Sample::new(4_000, 12), Sample::new(4_000, 13));
    let same = |s: &Sample, n: usize| s.segments[n].start..s.segments[n].end;
    let mut filled = 0;
    for n in 6..ours.segments.len() - 6 {
        if theirs.segments[n].kind != EVENTS {
            continue;
        }
        let removed = ours.segments[n - 2].start..ours.segments[n + 3].start;
        let mut bytes = ours.bytes.clone();
        bytes.splice(removed, theirs.bytes[same(&theirs, n)].iter().copied());
        let found = recovered(&bytes, &ours.events);
        assert!(found.others.iter().all(|other| !other.is_repeated));
        assert_eq!(found.others.len(), 1, "{found:?}");
        filled += 1;
    }
    assert!(filled > 5);
}

/// A header inside a payload is accepted only if its own payload follows.
#[test]
fn what_looks_like_a_header_is_not_believed() {
    let sample = Sample::new(3_000, 14);
    let donor = &sample.segments[4];
    let header = &sample.bytes[donor.start..donor.start + HEADER];
    for victim in sample
        .segments
        .iter()
        .filter(|s| s.kind == EVENTS && s.events > 0)
    {
        let mut bytes = sample.bytes.clone();
        let at = victim.start + HEADER + 10;
        if at + HEADER <= victim.end {
            bytes[at..at + HEADER].copy_from_slice(header);
            let found = recovered(&bytes, &sample.events);
            assert_eq!(found.lost, sample.lost(|s| s.start == victim.start));
        }
    }
}

/// The file consists of correct headers only, each of which claims a payload of maximum size.
#[test]
fn looking_takes_time_in_proportion() {
    let sample = Sample::new(300, 15);
    let mut header = sample.bytes[..HEADER].to_vec();
    header[12..16].copy_from_slice(&(32_u32 << 20).to_le_bytes());
    let checksum = crc32c::crc32c(&header[..52]).to_le_bytes();
    header[52..].copy_from_slice(&checksum);
    let bytes = header.repeat((40 << 20) / HEADER);
    let begin = Instant::now();
    let found = recover(Cursor::new(&bytes), &mut Vec::new()).expect("recovered");
    assert_eq!(found.events, 0);
    assert!(
        begin.elapsed() < Duration::from_secs(60),
        "{:?}",
        begin.elapsed()
    );
}

#[test]
fn what_is_no_trail_is_refused() {
    let xml = crate::common::encoded(Format::TptpXml, &crate::common::every_message());
    for bytes in [&b""[..], b"\xb5J", b"PK\x03\x04 and so on", &xml] {
        let result = recover(Cursor::new(bytes), &mut Vec::new());
        assert!(matches!(result, Err(RecoverError::NotATrail)), "{result:?}");
    }
    let mut bytes = Sample::new(100, 16).bytes;
    bytes[4] = 4;
    let checksum = crc32c::crc32c(&bytes[..52]).to_le_bytes();
    bytes[52..56].copy_from_slice(&checksum);
    let result = recover(Cursor::new(&bytes), &mut Vec::new());
    assert!(
        matches!(result, Err(RecoverError::Version(4))),
        "{result:?}"
    );
}

#[test]
fn open_calls_are_counted() {
    let sample = Sample::new(3_000, 17);
    for segment in sample.segments.iter().filter(|s| s.kind == EVENTS) {
        let found = recovered(&sample.bytes[..segment.end], &sample.events);
        let mut open = 0_i64;
        drain(Format::Trail, &sample.bytes[..segment.end], |_, event| {
            open += match event {
                Event::MethodEnter(_) => 1,
                Event::MethodLeave(_) => -1,
                _ => 0,
            };
        });
        assert_eq!(found.open_calls, open as u64);
    }
}
