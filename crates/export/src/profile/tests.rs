use super::*;
use crate::filter::CallFilter;
use crate::testing::encode_selected;
use crate::timeline::Timeline;
use jtrail_formats::Encode;
use jtrail_model::{
    AggregatedLeave, Custom, Duration, MethodEnter, MethodLeave, MonitorContendedEnter,
    MonitorContendedEntered, Note, ObjectAlloc, SumsAbove, ThreadId, ThreadPark, ThreadUnpark,
};

/// Writes a line for each node: the path of thread and methods, and the weights.
struct Lines;

impl WriteProfile for Lines {
    fn write(&mut self, profile: Profile, _: &Names, out: &mut Vec<u8>) {
        let mut paths: Vec<String> = vec![String::new()];
        for node in profile.nodes.iter().skip(1) {
            let above = &paths[node.parent as usize];
            paths.push(match node.frame {
                Frame::Root => unreachable!("the root is the first node"),
                Frame::Thread(index) => format!("t{}", profile.threads[index].id),
                Frame::Sums => format!("{above} sums"),
                Frame::Deeper => format!("{above} deeper"),
                Frame::Method(method) => format!("{above} m{method}"),
            });
        }
        for (path, node) in paths.iter().zip(profile.nodes.iter()).skip(1) {
            let w = node.weights;
            let line = format!(
                "{path}: {} calls {} self {} cpu {} objects {} bytes {} blocked {} waiting\n",
                w.calls, w.self_time, w.cpu, w.objects, w.bytes, w.blocked, w.waiting
            );
            out.extend(line.bytes());
        }
    }
}

fn lines(min: i64, events: &[Event<'_>]) -> Vec<String> {
    let filter = CallFilter::new(Duration(min), None, None);
    let out = encode_selected(filter, Profiler::new(Lines), events);
    let text = String::from_utf8(out).expect("UTF-8");
    text.lines().map(str::to_owned).collect()
}

const THREAD: ThreadId = ThreadId(7);

fn enter(time: i64, method: u64, ticket: u32, cpu: i64) -> Event<'static> {
    Event::MethodEnter(MethodEnter {
        thread: THREAD,
        time: Timestamp(time),
        method: MethodId(method),
        ticket,
        cpu_time: Duration(cpu),
        ..MethodEnter::default()
    })
}

fn leave(time: i64, method: u64, ticket: u32, cpu: i64) -> Event<'static> {
    Event::MethodLeave(MethodLeave {
        thread: THREAD,
        time: Timestamp(time),
        method: MethodId(method),
        ticket,
        cpu_time: Duration(cpu),
        ..MethodLeave::default()
    })
}

fn alloc(time: i64, size: i64) -> Event<'static> {
    Event::ObjectAlloc(ObjectAlloc {
        thread: THREAD,
        time: Timestamp(time),
        size,
        ..ObjectAlloc::default()
    })
}

/// m1 calls m2 (blocked for 5, allocates 48 bytes), is parked for 4, and calls m2 again for 1.
fn program() -> Vec<Event<'static>> {
    vec![
        enter(100, 1, 1, 1_000),
        alloc(105, 16),
        enter(110, 2, 2, 1_008),
        Event::MonitorContendedEnter(MonitorContendedEnter {
            thread: THREAD,
            time: Timestamp(112),
            ..MonitorContendedEnter::default()
        }),
        Event::MonitorContendedEntered(MonitorContendedEntered {
            thread: THREAD,
            time: Timestamp(117),
            ..MonitorContendedEntered::default()
        }),
        alloc(118, 48),
        leave(120, 2, 2, 1_012),
        Event::ThreadPark(ThreadPark {
            thread: THREAD,
            time: Timestamp(130),
            ..ThreadPark::default()
        }),
        Event::ThreadUnpark(ThreadUnpark {
            thread: THREAD,
            time: Timestamp(134),
        }),
        enter(140, 2, 3, 1_020),
        alloc(140, 24),
        leave(141, 2, 3, 1_021),
        leave(150, 1, 1, 1_030),
    ]
}

#[test]
fn each_node_has_what_its_own_calls_took() {
    let expected = [
        "t7: 0 calls 0 self 0 cpu 0 objects 0 bytes 0 blocked 0 waiting",
        "t7 m1: 1 calls 39 self 25 cpu 1 objects 16 bytes 0 blocked 4 waiting",
        "t7 m1 m2: 2 calls 11 self 5 cpu 2 objects 72 bytes 5 blocked 0 waiting",
    ];
    assert_eq!(lines(0, &program()), expected);
}

#[test]
fn an_open_call_ends_at_the_latest_cpu_time() {
    let events = [
        enter(100, 1, 1, 1_000),
        enter(110, 2, 2, 1_008),
        alloc(120, 8),
    ];
    let expected = [
        "t7: 0 calls 0 self 0 cpu 0 objects 0 bytes 0 blocked 0 waiting",
        "t7 m1: 1 calls 10 self 8 cpu 0 objects 0 bytes 0 blocked 0 waiting",
        "t7 m1 m2: 1 calls 10 self 0 cpu 1 objects 8 bytes 0 blocked 0 waiting",
    ];
    assert_eq!(lines(0, &events), expected);
}

#[test]
fn a_short_call_becomes_part_of_its_caller_with_all_its_weights() {
    let expected = [
        "t7: 0 calls 0 self 0 cpu 0 objects 0 bytes 0 blocked 0 waiting",
        "t7 m1: 1 calls 40 self 26 cpu 2 objects 40 bytes 0 blocked 4 waiting",
        "t7 m1 m2: 1 calls 10 self 4 cpu 1 objects 48 bytes 5 blocked 0 waiting",
    ];
    assert_eq!(lines(2, &program()), expected);
}

#[test]
fn sums_cancel_their_part_of_the_self_time_of_the_caller() {
    let sum = |method, calls, time| {
        Event::AggregatedEnter(AggregatedEnter {
            thread: THREAD,
            method: MethodId(method),
            base_time: Duration(time),
            calls,
            ..AggregatedEnter::default()
        })
    };
    let end = |method| {
        Event::AggregatedLeave(AggregatedLeave {
            thread: THREAD,
            method: MethodId(method),
        })
    };
    let above = Note::SumsAbove(SumsAbove {
        thread: THREAD,
        calls: 2,
    });
    let above = above.to_string();
    let events = [
        enter(0, 1, 1, 0),
        enter(10, 2, 2, 0),
        Event::Custom(Custom {
            body: above.as_str().into(),
        }),
        sum(1, 0, -6),
        sum(3, 4, 6),
        end(3),
        end(1),
        leave(30, 2, 2, 0),
        sum(4, 2, 5),
        end(4),
        leave(50, 1, 1, 0),
    ];
    let expected = [
        "t7: 0 calls 0 self 0 cpu 0 objects 0 bytes 0 blocked 0 waiting",
        "t7 m1: 1 calls 19 self 0 cpu 0 objects 0 bytes 0 blocked 0 waiting",
        "t7 m1 m2: 1 calls 20 self 0 cpu 0 objects 0 bytes 0 blocked 0 waiting",
        "t7 m1 m3: 4 calls 6 self 0 cpu 0 objects 0 bytes 0 blocked 0 waiting",
        "t7 m1 m4: 2 calls 5 self 0 cpu 0 objects 0 bytes 0 blocked 0 waiting",
    ];
    assert_eq!(lines(0, &events), expected);
}

/// Method 1 calls itself 3,000 times, and method 2 at the end. Each call takes 1 ns itself.
#[test]
fn deep_paths_end_with_their_methods() {
    const CALLS: i64 = 3_000;
    let mut events = vec![enter(0, 1, 1, 0)];
    events.extend((1..CALLS).map(|at| enter(at, 1, at as u32 + 1, 0)));
    events.extend([enter(CALLS, 2, 9_000, 0), leave(CALLS + 1, 2, 9_000, 0)]);
    events.extend(
        (1..=CALLS)
            .rev()
            .map(|ticket| leave(CALLS + 1, 1, ticket as u32, 0)),
    );
    let make_sink = || Profiler::new(Lines);
    let mut encoder = Timeline::new(CallFilter::default(), make_sink);
    let mut out = Vec::new();
    for event in &events {
        encoder.event(event, &mut out);
    }
    encoder.end(&mut out);
    let text = String::from_utf8(out).expect("UTF-8");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 1 + MAX_FRAMES + 3);
    let deepest = format!("t7{}", " m1".repeat(MAX_FRAMES));
    let zeros = "0 cpu 0 objects 0 bytes 0 blocked 0 waiting";
    let expected = [
        format!("{deepest}: 1 calls 1 self {zeros}"),
        format!("{deepest} deeper: 0 calls 0 self {zeros}"),
        format!("{deepest} deeper m1: 1976 calls 1976 self {zeros}"),
        format!("{deepest} deeper m2: 1 calls 1 self {zeros}"),
    ];
    assert_eq!(lines[MAX_FRAMES..], expected);
    let dropped = DropCount {
        what: "paths of calls within 1,024 others",
        count: 1977,
    };
    assert_eq!(encoder.dropped(), [dropped]);
}

/// A program may have millions of them.
#[test]
fn virtual_threads_without_a_name_are_one() {
    use crate::testing::{enter, leave, thread};
    let mut timeline = Timeline::new(CallFilter::default(), || Profiler::new(Lines));
    let mut out = Vec::new();
    for id in 1..=20 {
        let ns = id as i64 * 100;
        let name = if id == 5 { "named" } else { "" };
        let end = Event::ThreadEnd(jtrail_model::ThreadEnd {
            thread: ThreadId(id),
            time: Timestamp(crate::testing::START + ns + 20),
        });
        let start = thread(id, ns, name, "VirtualThreads");
        for event in [start, enter(id, ns, 1, 1), leave(id, ns + 10, 1, 1), end] {
            timeline.event(&event, &mut out);
        }
    }
    let profile = &timeline.sink().profile;
    let threads: Vec<_> = profile
        .threads
        .iter()
        .map(|(_, thread)| thread.id.0)
        .collect();
    // The one for all, the one with a name, and two that ended just now.
    assert_eq!(threads, [1, 5, 19, 20]);
    assert_eq!((profile.nameless_count, profile.nodes.len()), (19, 5));
    timeline.end(&mut out);
    let text = String::from_utf8(out).expect("UTF-8");
    let calls: Vec<_> = text.lines().filter(|line| line.contains(" m1:")).collect();
    assert_eq!(calls.len(), 2);
    assert!(
        calls[0].starts_with("t1 m1: 19 calls 190 self"),
        "{}",
        calls[0]
    );
}
