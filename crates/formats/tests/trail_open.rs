//! The lists of open calls at the begin of a trail's segments agree with the events that were
//! encoded.

use crate::common::trail::Random;
use crate::common::{decode, shown};
use jtrail_formats::Format;
use jtrail_formats::trail::{OpenCall, SegmentItem, SegmentReader, Segments};
use jtrail_model::*;
use std::collections::BTreeMap;
use std::io::Cursor;

/// A thread: its open calls, and its last ticket.
#[derive(Default)]
struct Thread {
    open: Vec<OpenCall>,
    ticket: u32,
}

/// Generates the events of threads that call and return.
struct Program {
    threads: BTreeMap<u64, Thread>,
    time: i64,
    events: Vec<Event<'static>>,
}

impl Program {
    fn new() -> Self {
        Self {
            threads: BTreeMap::new(),
            time: 1_700_000_000_000_000_000,
            events: Vec::new(),
        }
    }

    fn enter(&mut self, thread: u64, method: u64) {
        self.time += 30;
        let id = ThreadId(thread);
        let thread = self.threads.entry(thread).or_default();
        thread.ticket += 1;
        let call = OpenCall {
            method: MethodId(method),
            class: ClassId(method / 10),
            ticket: thread.ticket,
            start: Timestamp(self.time),
        };
        thread.open.push(call);
        self.events.push(Event::MethodEnter(MethodEnter {
            thread: id,
            time: call.start,
            method: call.method,
            class: call.class,
            ticket: call.ticket,
            stack_depth: thread.open.len() as i64,
            ..MethodEnter::default()
        }));
    }

    fn leave(&mut self, thread: u64, by_exception: bool) {
        self.time += 50;
        let id = ThreadId(thread);
        let Some(call) = self.threads.entry(thread).or_default().open.pop() else {
            return;
        };
        self.events.push(Event::MethodLeave(MethodLeave {
            thread: id,
            time: Timestamp(self.time),
            method: call.method,
            class: call.class,
            ticket: call.ticket,
            by_exception,
            ..MethodLeave::default()
        }));
    }

    /// Opens `by` calls, or ends `-by` calls if `by` is negative. Then makes some calls that end at
    /// once.
    fn go(&mut self, thread: u64, by: i64, random: &mut Random) {
        for _ in 0..by {
            self.enter(thread, 1 + random.below(300) as u64);
        }
        for _ in by..0 {
            self.leave(thread, random.below(50) == 0);
        }
        for _ in 0..random.below(20) {
            self.enter(thread, 1 + random.below(300) as u64);
            self.leave(thread, false);
        }
    }
}

/// Encodes events, with a segment for each part.
fn encoded(parts: &[Vec<Event<'static>>]) -> Vec<u8> {
    let mut encoder = Format::Trail.encoder();
    let mut out = Vec::new();
    encoder.begin(&mut out);
    for part in parts {
        part.iter().for_each(|event| encoder.event(event, &mut out));
        encoder.flush(&mut out);
    }
    encoder.end(&mut out);
    out
}

/// Tests that each segment lists the calls that the events before the segment leave open. A list
/// has at most `most` calls for each thread.
fn assert_reported(trace: &[u8], most: usize) {
    let segments = Segments::open(Cursor::new(trace));
    let segments = segments.expect("read").expect("whole");
    let mut reader = SegmentReader::new(Cursor::new(trace)).expect("read");
    let mut open: BTreeMap<ThreadId, Vec<OpenCall>> = BTreeMap::new();
    for number in 0..segments.count() {
        assert!(reader.begin(&segments, number).expect("read"));
        let reported = reader.open_calls(&segments);
        let reported = reported.expect("read").expect("version 3");
        for (thread, calls) in &reported {
            let expected = open.get(thread).map_or(&[][..], Vec::as_slice);
            let expected = &expected[..expected.len().min(most)];
            assert!(calls == expected, "segment {number}, {thread:?}");
        }
        let mut threads = Vec::new();
        let mut see = |found: SegmentItem<'_>| match found {
            SegmentItem::Event(event) => step(&event, &mut open, &mut threads),
            SegmentItem::Row(row) => row
                .calls(&mut Vec::new())
                .events()
                .for_each(|event| step(&event, &mut open, &mut threads)),
        };
        assert!(reader.read(&mut see));
        threads.sort();
        threads.dedup();
        let mut reported: Vec<ThreadId> = reported.iter().map(|(thread, _)| *thread).collect();
        reported.sort();
        assert_eq!(reported, threads, "segment {number}");
    }
}

fn step(
    event: &Event<'_>,
    open: &mut BTreeMap<ThreadId, Vec<OpenCall>>,
    threads: &mut Vec<ThreadId>,
) {
    threads.push(event.thread().unwrap_or_default());
    match event {
        Event::MethodEnter(e) => open.entry(e.thread).or_default().push(OpenCall {
            method: e.method,
            class: e.class,
            ticket: e.ticket,
            start: e.time,
        }),
        Event::MethodLeave(e) => _ = open.entry(e.thread).or_default().pop(),
        Event::ThreadEnd(e) => _ = open.remove(&e.thread),
        _ => {}
    }
}

#[test]
fn each_segment_reports_open_calls() {
    for seed in 1..30 {
        let (mut program, mut random) = (Program::new(), Random(seed));
        let mut parts = Vec::new();
        for _ in 0..200 {
            for _ in 0..1 + random.below(6) {
                let thread = 1 + random.below(4) as u64;
                let far = [3, 30, 300][random.below(3)];
                let by = random.below(2 * far) as i64 - far as i64;
                program.go(thread, by, &mut random);
            }
            if random.below(8) == 0 {
                let thread = 1 + random.below(4) as u64;
                program.threads.remove(&thread);
                program.events.push(Event::ThreadEnd(ThreadEnd {
                    thread: ThreadId(thread),
                    time: Timestamp(program.time),
                }));
            }
            parts.push(std::mem::take(&mut program.events));
        }
        let trace = encoded(&parts);
        assert_reported(&trace, usize::MAX);
        let decoding = decode(Format::Trail, &trace);
        assert!(decoding.is_clean(), "{:?}", decoding.remarks);
        assert!(decoding.events == shown(&parts.concat()));
    }
}

/// The size of a list is in proportion to what changed since the last one, however deep a thread's
/// stack is.
#[test]
fn a_deep_thread_takes_no_more_than_what_changes() {
    let (mut program, mut random) = (Program::new(), Random(7));
    program.go(1, 20_000, &mut random);
    let mut parts = vec![std::mem::take(&mut program.events)];
    for number in 0..300 {
        // Once, the thread returns from half of its calls, and continues from there.
        let by = if number == 20 { -10_000 } else { 100 };
        program.go(1, by, &mut random);
        program.go(1, -100, &mut random);
        parts.push(std::mem::take(&mut program.events));
    }
    let trace = encoded(&parts);
    assert_reported(&trace, usize::MAX);
    let events: usize = parts.iter().map(Vec::len).sum();
    // Complete lists in each segment would take some forty bytes per event.
    assert!(trace.len() < 6 * events, "{} of {events}", trace.len());
}

/// Lists omit open calls beyond a depth of 65,536. The ends of these calls are written as records,
/// and the events are unchanged.
#[test]
fn recursion_beyond_what_is_kept_comes_back() {
    let (mut program, mut random) = (Program::new(), Random(7));
    let mut parts = Vec::new();
    for by in [60_000, 140_000, 10, -100, 100, -150_000, 90_000, -140_010] {
        program.go(1, by, &mut random);
        parts.push(std::mem::take(&mut program.events));
    }
    let trace = encoded(&parts);
    let decoding = decode(Format::Trail, &trace);
    assert!(decoding.is_clean(), "{:?}", decoding.remarks);
    assert!(decoding.events == shown(&parts.concat()));
    assert_reported(&trace, 1 << 16);
}

/// Calls that end irregularly: decoding returns the encoded events.
#[test]
fn calls_that_do_not_nest_come_back() {
    let (mut program, mut random) = (Program::new(), Random(9));
    let mut parts = Vec::new();
    for _ in 0..60 {
        program.go(1, random.below(400) as i64 - 190, &mut random);
        let open = &mut program.threads.entry(1).or_default().open;
        match random.below(3) {
            // Some calls end without an event, or a call that never began will end.
            0 => open.truncate(open.len().saturating_sub(random.below(300))),
            1 => open.push(OpenCall {
                method: MethodId(9_999),
                ticket: 77,
                ..OpenCall::default()
            }),
            _ => {}
        }
        program.go(1, -1, &mut random);
        parts.push(std::mem::take(&mut program.events));
    }
    let trace = encoded(&parts);
    let decoding = decode(Format::Trail, &trace);
    assert!(decoding.is_clean(), "{:?}", decoding.remarks);
    assert!(decoding.events == shown(&parts.concat()));
}
