use super::*;
use crate::{Decode, Step};
use jtrail_model::{MethodEnter, ObjectAlloc, ObjectFree, ObjectId, TraceStart};

/// Decodes a file. Returns its events in `Debug` format, one per line.
fn decoded(bytes: &[u8]) -> String {
    let mut decoder = crate::jinsight::Decoder::default();
    let mut rest = bytes;
    let mut shown = String::new();
    loop {
        let decoded = decoder.step(rest, true).expect("a sound file");
        rest = &rest[decoded.used..];
        match decoded.step {
            Step::Event(event) => shown.push_str(&format!("{event:?}\n")),
            Step::End => return shown,
            Step::Nothing => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn beyond_the_largest_id_objects_are_not_tracked() {
    let mut encoder = Encoder::default();
    encoder.objects.limit(2);
    let mut out = Vec::new();
    let time = Timestamp(5);
    let start = TraceStart {
        time,
        ..TraceStart::default()
    };
    encoder.event(&Event::TraceStart(start), &mut out);
    for object in 1..=4 {
        let alloc = ObjectAlloc {
            time,
            object: ObjectId(object),
            ..ObjectAlloc::default()
        };
        encoder.event(&Event::ObjectAlloc(alloc), &mut out);
    }
    for object in [1, 1, 4] {
        let free = ObjectFree {
            time,
            object: ObjectId(object),
            age: 0,
        };
        encoder.event(&Event::ObjectFree(free), &mut out);
    }
    encoder.end(&mut out);
    assert_eq!(encoder.dropped.count(Dropped::ObjectOverflow), 3);
    assert_eq!(encoder.dropped.count(Dropped::ObjectAgain), 1);
    assert_eq!(encoder.dropped_events(), 4);
    let shown = decoded(&out);
    assert_eq!(shown.matches("ObjectAlloc(").count(), 2);
    assert_eq!(shown.matches("ObjectFree(").count(), 1);
    assert_eq!(shown.matches("lost kind=objects count=3").count(), 1);
}

#[test]
fn long_texts_are_cut_at_a_character() {
    let mut encoder = Encoder::default();
    let mut out = Vec::new();
    let name = format!("{}é", "x".repeat(65_534));
    let start = ThreadStart {
        thread: ThreadId(1),
        name: name.as_str().into(),
        ..ThreadStart::default()
    };
    encoder.event(&Event::ThreadStart(start), &mut out);
    encoder.end(&mut out);
    assert_eq!(encoder.dropped.count(Dropped::Text), 1);
    let shown = decoded(&out);
    assert!(shown.contains(&format!("name: \"{}\"", &name[..65_534])));
}

#[test]
fn an_empty_trace_is_a_whole_file() {
    let mut encoder = Encoder::default();
    let mut out = Vec::new();
    encoder.begin(&mut out);
    assert!(encoder.patches().is_empty());
    encoder.end(&mut out);
    encoder.end(&mut out);
    assert_eq!(out.len(), 45 + 9 + 9 + 9);
    assert_eq!(decoded(&out).lines().count(), 6);
}

#[test]
fn what_happens_between_bursts_waits_for_the_next() {
    let time = |n: i64| Timestamp(1_000_000_000_000 + n);
    let thread = ThreadId(1);
    let end = |n| {
        Event::ThreadEnd(ThreadEnd {
            thread,
            time: time(n),
        })
    };
    let start = |thread, n| {
        Event::ThreadStart(ThreadStart {
            thread,
            time: time(n),
            ..ThreadStart::default()
        })
    };
    let events = [
        start(thread, 1),
        Event::TracePause(jtrail_model::TracePause { time: time(10) }),
        end(11),
        start(ThreadId(2), 12),
        Event::TraceResume(jtrail_model::TraceResume { time: time(20) }),
    ];
    let mut encoder = Encoder::default();
    let mut out = Vec::new();
    for event in &events {
        encoder.event(event, &mut out);
    }
    encoder.event(&end(21), &mut out);
    let shown = decoded_after_end(&mut encoder, out);
    let started = "ThreadStart { thread: ThreadId(4)";
    let order = ["TracePause", "ThreadEnd", started, "TraceResume"];
    let places = order.map(|kind| shown.find(kind).expect(kind));
    assert!(places.is_sorted(), "{shown}");
    assert!(
        shown.contains("ThreadEnd { thread: ThreadId(3), time: Timestamp(1000000000020) }"),
        "{shown}"
    );
    // Without a next burst, the record is dropped and counted.
    let mut encoder = Encoder::default();
    let mut out = Vec::new();
    for event in &events[..3] {
        encoder.event(event, &mut out);
    }
    let shown = decoded_after_end(&mut encoder, out);
    assert!(!shown.contains("ThreadEnd"));
    assert_eq!(encoder.dropped.count(Dropped::Held), 1);
}

#[test]
fn calls_of_a_thread_that_ends_in_a_pause_end_with_the_burst() {
    let time = |n: i64| Timestamp(1_000_000_000_000 + n);
    let thread = ThreadId(1);
    let events = [
        Event::MethodEnter(MethodEnter {
            thread,
            time: time(1),
            ticket: 1,
            ..MethodEnter::default()
        }),
        Event::TracePause(jtrail_model::TracePause { time: time(10) }),
        Event::ThreadEnd(ThreadEnd {
            thread,
            time: time(11),
        }),
        Event::TraceResume(jtrail_model::TraceResume { time: time(20) }),
    ];
    let mut encoder = Encoder::default();
    let mut out = Vec::new();
    for event in &events {
        encoder.event(event, &mut out);
    }
    let shown = decoded_after_end(&mut encoder, out);
    let order = ["TracePause", "MethodLeave", "ThreadEnd", "TraceResume"];
    let places = order.map(|kind| shown.find(kind).expect(kind));
    assert!(places.is_sorted(), "{shown}");
    assert!(
        shown.contains("MethodLeave { thread: ThreadId(4), time: Timestamp(1000000000010)"),
        "{shown}"
    );
}

#[test]
fn calls_that_end_in_a_pause_are_left_where_it_begins() {
    let time = |n: i64| Timestamp(1_000_000_000_000 + n);
    let thread = ThreadId(1);
    let enter = |ticket: u32| {
        Event::MethodEnter(MethodEnter {
            thread,
            time: time(ticket.into()),
            ticket,
            ..MethodEnter::default()
        })
    };
    let leave = |ticket, n| {
        Event::MethodLeave(jtrail_model::MethodLeave {
            thread,
            time: time(n),
            ticket,
            ..jtrail_model::MethodLeave::default()
        })
    };
    let mut encoder = Encoder::default();
    let mut out = Vec::new();
    for event in [
        enter(1),
        enter(2),
        Event::TracePause(jtrail_model::TracePause { time: time(10) }),
        leave(2, 10),
        Event::TraceResume(jtrail_model::TraceResume { time: time(20) }),
        leave(1, 30),
    ] {
        encoder.event(&event, &mut out);
    }
    assert_eq!(encoder.dropped_events(), 0);
    let shown = decoded_after_end(&mut encoder, out);
    // A call that goes on during the pause has no extra enter or leave.
    assert_eq!(shown.matches("MethodEnter {").count(), 2, "{shown}");
    assert_eq!(shown.matches("MethodLeave {").count(), 2, "{shown}");
    for (kind, n) in [("TracePause", 10), ("TraceResume", 20)] {
        let expected = format!("{kind} {{ time: Timestamp({}) }}", time(n).0);
        assert!(shown.contains(&expected), "{expected}: {shown}");
    }
    for n in [10, 30] {
        let expected = format!("time: Timestamp({})", time(n).0);
        let leaves = shown.lines().filter(|line| line.contains("MethodLeave {"));
        let found = leaves.filter(|line| line.contains(&expected)).count();
        assert_eq!(found, 1, "{expected}: {shown}");
    }
}

fn decoded_after_end(encoder: &mut Encoder, mut out: Vec<u8>) -> String {
    encoder.end(&mut out);
    decoded(&out)
}
