mod split;

use super::notes::describe;
use super::{MAX_ENDED, Timeline};
use crate::filter::CallFilter;
use crate::perfetto::Packets;
use crate::target::{Options, Target};
use crate::testing::{class, enter, leave, method, thread, time};
use jtrail_formats::{DropCount, Encode};
use jtrail_model::{
    AggregatedEnter, AggregatedLeave, DroppedNote, Duration, Event, MethodId, Note, ThreadEnd,
    ThreadId,
};

/// Begins a sum that the trace has for a method, of some ns.
fn begin_sum(method: u64, calls: i64, ns: i64) -> Event<'static> {
    Event::AggregatedEnter(AggregatedEnter {
        thread: ThreadId(1),
        method: MethodId(method),
        base_time: Duration(ns),
        calls,
        ..AggregatedEnter::default()
    })
}

fn end_sum(method: u64) -> Event<'static> {
    Event::AggregatedLeave(AggregatedLeave {
        thread: ThreadId(1),
        method: MethodId(method),
    })
}

/// Returns what a target drops of a call with sums: 300 calls of 20 ns, and 2 of 50 µs.
fn dropped(target: Target, min: i64) -> Vec<DropCount> {
    let filter = CallFilter::new(Duration(min), None, None);
    let mut encoder = target.encoder(Options {
        filter,
        ..Options::default()
    });
    let mut out = Vec::new();
    encoder.begin(&mut out);
    for event in [
        thread(1, 0, "main", "main"),
        class(1, "a/B"),
        method(1, "f"),
        method(2, "g"),
        enter(1, 10, 1, 1),
        begin_sum(1, 0, -106_000),
        begin_sum(2, 300, 6_000),
        end_sum(2),
        begin_sum(2, 2, 100_000),
        end_sum(2),
        end_sum(1),
        leave(1, 900_000, 1, 1),
    ] {
        encoder.event(&event, &mut out);
    }
    encoder.end(&mut out);
    encoder.dropped()
}

/// A sum takes several events, and it is written late if a minimum length holds the call around it
/// back. Neither may change the number of dropped calls.
#[test]
fn the_calls_of_dropped_sums_are_counted() {
    let dropping = [
        Target::Perfetto,
        Target::Chrome,
        Target::Speedscope,
        Target::Otlp,
    ];
    for target in Target::ALL {
        for (min, count) in [(0, 302), (1_000, 2)] {
            let expected = DropCount {
                what: "calls that were recorded as sums",
                count,
            };
            let expected = match dropping.contains(&target) {
                true => vec![expected],
                false => Vec::new(),
            };
            assert_eq!(dropped(target, min), expected, "{target:?} {min}");
        }
    }
}

#[test]
fn what_the_agent_dropped_is_in_the_export() {
    for (count, text) in [
        (0, "jtrail: dropped: events=lines (not recorded)"),
        (7, "jtrail: dropped: events=lines (7)"),
    ] {
        let what = "events=lines".into();
        let note = Note::Dropped(DroppedNote { what, count });
        assert_eq!(describe(&note).as_deref(), Some(text));
    }
}

/// A program may have a million virtual threads, one after another.
#[test]
fn threads_that_ended_are_forgotten() {
    let mut timeline = Timeline::new(CallFilter::default(), Packets::default);
    let mut out = Vec::new();
    for event in [class(1, "a/B"), method(1, "f")] {
        timeline.event(&event, &mut out);
    }
    for id in 1..=20 {
        let ns = id as i64 * 100;
        let end = Event::ThreadEnd(ThreadEnd {
            thread: ThreadId(id),
            time: time(ns + 20),
        });
        let start = thread(id, ns, "worker", "VirtualThreads");
        let late = leave(id, ns + 30, 1, 2);
        for event in [
            start,
            enter(id, ns, 1, 1),
            leave(id, ns + 10, 1, 1),
            end,
            late,
        ] {
            timeline.event(&event, &mut out);
        }
    }
    assert_eq!(timeline.threads.indices().len(), MAX_ENDED);
    assert_eq!(timeline.names.threads.len(), MAX_ENDED);
    assert_eq!(
        (timeline.index.len(), timeline.thread_count),
        (MAX_ENDED, 20)
    );
    let tracks = out.windows(6).filter(|window| window == b"worker").count();
    assert_eq!(tracks, 20);
}
