//! The segments of truncated, damaged and growing trails are found by their headers.

use crate::common::trail::{EVENTS, HEADER, Random, Segment, busy, in_segments, segments};
use jtrail_formats::Format;
use jtrail_formats::trail::{Ending, KnownOfThread, SegmentItem, SegmentReader, Segments};
use jtrail_model::*;
use std::collections::BTreeMap;
use std::io::Cursor;
use std::ops::Range;

/// A segment of events that was read: its events, and the calls that are open at its start. Those
/// of a thread are `None` if an earlier segment with a part of them is missing.
#[derive(Clone, PartialEq, Debug)]
struct Content {
    threads: Vec<ThreadId>,
    times: Option<[Timestamp; 2]>,
    definitions: usize,
    open: Vec<KnownOfThread>,
    events: Vec<String>,
}

/// Returns the segments that can be read, by the number of events before them. Empty segments are
/// left out.
fn content(bytes: &[u8], segments: &Segments) -> BTreeMap<u64, Content> {
    let mut reader = SegmentReader::new(Cursor::new(bytes)).expect("read");
    let mut found = BTreeMap::new();
    for number in 0..segments.count() {
        let definitions = reader.definitions(segments, number).expect("read");
        let definitions = definitions.map_or(0, Iterator::count);
        let checked = reader.check(segments, number, false).expect("read");
        if !reader.begin(segments, number).expect("read") || segments.events_of(number) == 0 {
            continue;
        }
        let open = reader.known_open_calls(segments).expect("read");
        let open = open.expect("few calls");
        let unknown = open.iter().filter(|(_, calls)| calls.is_none());
        let unknown: Vec<ThreadId> = unknown.map(|(id, _)| *id).collect();
        assert_eq!(checked, Some(unknown), "segment {number}");
        let mut events = Vec::new();
        let is_read = reader.read(&mut |item| match item {
            SegmentItem::Event(event) => events.push(format!("{event:?}")),
            SegmentItem::Row(row) => {
                let steps = &mut Vec::new();
                let calls = row.calls(steps).events();
                events.extend(calls.map(|event| format!("{event:?}")));
            }
        });
        assert!(is_read, "segment {number}");
        let content = Content {
            threads: segments.threads(number).collect(),
            times: segments.times(number),
            definitions,
            open,
            events,
        };
        found.insert(segments.before(number), content);
    }
    found
}

fn scan(bytes: &[u8]) -> Segments {
    let segments = Segments::scan(Cursor::new(bytes)).expect("read");
    segments.expect("it begins like a trail")
}

/// A trail with its segments, and what they have.
struct Sample {
    bytes: Vec<u8>,
    segments: Vec<Segment>,
    content: BTreeMap<u64, Content>,
}

impl Sample {
    fn new(events: usize, each: usize) -> Self {
        let bytes = in_segments(&busy(events, 3), each);
        let whole = Segments::open(Cursor::new(&bytes)).expect("read");
        let content = content(&bytes, &whole.expect("complete"));
        Self {
            segments: segments(&bytes),
            bytes,
            content,
        }
    }

    /// Returns the content up to a position.
    fn up_to(&self, end: usize) -> BTreeMap<u64, Content> {
        let of_events = |s: &&Segment| s.kind == EVENTS && s.end <= end && s.events > 0;
        let kept = self.segments.iter().filter(of_events);
        let kept = kept.map(|s| (s.before, self.content[&s.before].clone()));
        kept.collect()
    }
}

#[test]
fn a_complete_trail_is_found_as_its_index_says() {
    // More than an index has entries.
    let sample = Sample::new(6_000, 2);
    let whole = Segments::open(Cursor::new(&sample.bytes)).expect("read");
    let (whole, found) = (whole.expect("complete"), scan(&sample.bytes));
    assert_eq!(found.ending(), Ending::Complete);
    assert_eq!(found.missing(), []);
    assert_eq!(found.count(), whole.count());
    for number in 0..whole.count() {
        assert_eq!(found.times(number), whole.times(number));
        assert_eq!(found.end(number), whole.end(number));
        assert!(found.threads(number).eq(whole.threads(number)));
    }
    assert_eq!(content(&sample.bytes, &found), sample.content);
}

#[test]
fn a_trail_that_says_it_is_truncated_is_found() {
    let mut bytes = Vec::new();
    let mut encoder = Format::Trail.encoder();
    encoder.begin(&mut bytes);
    for event in busy(500, 3) {
        encoder.event(&event, &mut bytes);
    }
    encoder.mark_truncated();
    encoder.end(&mut bytes);
    assert!(Segments::open(Cursor::new(&bytes)).expect("read").is_none());
    assert_eq!(scan(&bytes).ending(), Ending::Truncated);
    assert_eq!(scan(&bytes).events(), busy(500, 3).len() as u64);
}

#[test]
fn a_truncated_trail_has_what_is_complete() {
    let sample = Sample::new(1_500, 60);
    for end in (4..sample.bytes.len()).step_by(7) {
        let cut = &sample.bytes[..end];
        let found = scan(cut);
        assert_eq!(found.missing(), []);
        assert_eq!(found.ending(), Ending::Missing);
        assert_eq!(content(cut, &found), sample.up_to(end), "{end}");
    }
}

#[test]
fn a_growing_trail_is_found_in_steps() {
    let sample = Sample::new(6_000, 2);
    for seed in 1..6 {
        let mut random = Random(seed);
        let mut end = 10;
        let mut found = scan(&sample.bytes[..end]);
        while end < sample.bytes.len() {
            let most = [70, 3_000, 200_000][random.below(3)];
            end = (end + random.below(most)).min(sample.bytes.len());
            let now = &sample.bytes[..end];
            let (events, place) = (found.events(), found.scanned());
            let has_grown = found.grow(Cursor::new(now)).expect("read");
            assert!(found.events() >= events);
            assert_eq!(has_grown, found.scanned() > place);
            let last = sample.segments.iter().rfind(|s| s.end <= end);
            assert_eq!(found.scanned(), last.map_or(0, |s| s.end as u64));
        }
        assert_eq!(found.ending(), Ending::Complete);
        assert_eq!(content(&sample.bytes, &found), sample.content);
        assert!(!found.grow(Cursor::new(&sample.bytes)).expect("read"));
    }
}

/// The content without what damage of other segments may take away.
fn events(content: &BTreeMap<u64, Content>) -> BTreeMap<u64, &[String]> {
    let events = content.iter().map(|(before, c)| (*before, &c.events[..]));
    events.collect()
}

/// Tests that what is known of open calls is right.
fn assert_known(found: &Content, expected: &Content) {
    assert_eq!(found.open.len(), expected.open.len());
    for (found, expected) in found.open.iter().zip(&expected.open) {
        assert!(found == expected || (found.0 == expected.0 && found.1.is_none()));
    }
}

/// Each segment but the damaged one is read, whatever is damaged: header, payload, or all of it.
#[test]
fn a_damaged_segment_takes_no_other_one_away() {
    let sample = Sample::new(3_000, 60);
    let last_index = sample.segments.last().expect("an index").start;
    let is_before_index = |(_, segment): &(usize, &Segment)| segment.end <= last_index;
    let all = sample.segments.iter().enumerate().skip(1);
    for (number, segment) in all.filter(is_before_index) {
        let damage = |range: Range<usize>, is_removed: bool| {
            let mut bad = sample.bytes[..last_index].to_vec();
            match is_removed {
                true => drop(bad.drain(range)),
                false => bad[range].fill(0x5a),
            }
            bad
        };
        let Segment { start, end, .. } = *segment;
        let bad = [
            damage(start + 8..start + 12, false), // the header
            damage(start..end, true),
            damage(start + HEADER + 1..end, true), // a part of the payload
            damage(end - 1..end, false),
        ];
        for (how, bad) in bad.iter().enumerate() {
            let mut found = scan(bad);
            let mut expected = sample.up_to(last_index);
            if segment.kind == EVENTS {
                expected.remove(&segment.before);
                let lost: u64 = found.missing().iter().map(|part| part.events).sum();
                // What has a sound header may be listed, and what is at the end is not known.
                let is_known = how < 2 && segment.end < last_index;
                assert!(
                    lost == segment.events || (lost == 0 && !is_known),
                    "{number}, {how}"
                );
            } else if how == 3 {
                // The segment after damaged copies of definitions can be read without them.
                let is_next = |n: &usize| found.before(*n) == segment.before;
                let next = (0..found.count()).rfind(is_next).expect("a segment");
                assert!(!content(bad, &found).contains_key(&segment.before));
                found.ignore_definitions(next);
            }
            let read = content(bad, &found);
            assert_eq!(events(&read), events(&expected), "segment {number}, {how}");
            for (before, content) in &read {
                assert_known(content, &sample.content[before]);
            }
        }
    }
}

/// An index tells which segments are missing, so that the lists of open calls go on.
#[test]
fn an_index_tells_what_is_missing_before_it() {
    let sample = Sample::new(6_000, 2);
    let mut bad = sample.bytes.clone();
    let index = sample
        .segments
        .iter()
        .find(|s| s.kind == 3)
        .expect("an index");
    let (first, last) = (&sample.segments[600], &sample.segments[605]);
    assert!(last.end < index.start);
    bad[first.start..last.end].fill(0);
    bad.truncate(bad.len() - 1);
    let found = scan(&bad);
    assert_eq!(found.missing(), []);
    let read = content(&bad, &found);
    let after: Vec<u64> = read
        .range(index.before..)
        .map(|(before, _)| *before)
        .collect();
    assert!(after.len() > 400);
    let is_known = |before: &&u64| read[*before].open == sample.content[*before].open;
    assert!(after.iter().filter(is_known).count() > after.len() / 2);
    let lost: Vec<u64> = sample
        .content
        .keys()
        .copied()
        .filter(|b| !read.contains_key(b))
        .collect();
    assert!((1..=6).contains(&lost.len()), "{lost:?}");
}

#[test]
fn hostile_bytes_are_harmless() {
    let sample = Sample::new(1_500, 60);
    for seed in 1..400 {
        let mut random = Random(seed);
        let mut bad = sample.bytes.clone();
        for _ in 0..1 + random.below(12) {
            let at = random.below(bad.len());
            match random.below(5) {
                0 => bad.truncate(at.max(4)),
                1 => drop(bad.drain(at..(at + random.below(5_000)).min(bad.len()))),
                2 => {
                    let part = sample.bytes[random.below(sample.bytes.len())..].to_vec();
                    let end = part.len().min(random.below(9_000));
                    bad.splice(at..at, part[..end].iter().copied());
                }
                _ => bad[at] = random.next() as u8,
            }
            bad.resize(bad.len().max(4), 0);
        }
        let Some(mut found) = Segments::scan(Cursor::new(&bad)).expect("read") else {
            continue;
        };
        for (before, content) in content(&bad, &found) {
            assert_eq!(
                content.events, sample.content[&before].events,
                "seed {seed}"
            );
            assert_known(&content, &sample.content[&before]);
        }
        bad.extend_from_slice(&sample.bytes[sample.bytes.len() / 2..]);
        found.grow(Cursor::new(&bad)).expect("read");
        content(&bad, &found);
    }
}

/// Apparent headers that claim large payloads are searched in reasonable time.
#[test]
fn apparent_headers_take_little_time() {
    let sample = Sample::new(300, 60);
    let first = &sample.segments[0];
    let mut bad = sample.bytes[..first.end].to_vec();
    for number in 1..60_000_u32 {
        let mut header = sample.bytes[first.start..first.start + HEADER].to_vec();
        header[8..12].copy_from_slice(&number.to_le_bytes());
        header[12..16].copy_from_slice(&(1_u32 << 20).to_le_bytes());
        header[48..52].copy_from_slice(&7_u32.to_le_bytes());
        let checksum = crc32c::crc32c(&header[..HEADER - 4]);
        header[HEADER - 4..].copy_from_slice(&checksum.to_le_bytes());
        bad.extend_from_slice(&header);
    }
    let begun = std::time::Instant::now();
    let found = scan(&bad);
    assert!(content(&bad, &found).is_empty());
    assert!(begun.elapsed() < std::time::Duration::from_secs(60));
}
