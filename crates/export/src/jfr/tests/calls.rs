//! Calls, sums of calls, and waits within them.

use super::super::Recording;
use super::reader::read;
use super::{chunks, events_of, with};
use crate::filter::CallFilter;
use crate::testing::*;
use jtrail_model::*;

#[test]
fn calls_have_the_path_of_their_caller() {
    let chunks = chunks(&with([
        enter(1, 10, 1, 1),
        enter(1, 20, 2, 2),
        enter(1, 25, 1, 3),
        leave(1, 27, 1, 3),
        leave(1, 50, 2, 2),
        leave(1, 1_000_000_010, 1, 1),
    ]));
    assert_eq!(
        events_of(&chunks, &["jdk.MethodTrace", "jdk.ThreadStart"]),
        [
            "jdk.ThreadStart startTime=1 eventThread=main stackTrace=null thread=main parentThread=null",
            "jdk.MethodTrace startTime=26 duration=2 eventThread=main stackTrace=[a/B.g(I)V:0, a/B.f(I)V:0] method=a/B.f(I)V",
            "jdk.MethodTrace startTime=21 duration=30 eventThread=main stackTrace=[a/B.f(I)V:0] method=a/B.g(I)V",
            "jdk.MethodTrace startTime=11 duration=1000000000 eventThread=main stackTrace=null method=a/B.f(I)V",
        ]
    );
    let [chunk] = &chunks[..] else {
        panic!("{} chunks", chunks.len());
    };
    assert_eq!((chunk.start, chunk.length), (START, 1_000_000_010));
    assert!(chunk.is_final);
}

#[test]
fn short_calls_become_part_of_their_callers() {
    let filter = CallFilter::new(Duration(10), None, None);
    let trace = with([
        enter(1, 10, 1, 1),
        enter(1, 20, 2, 2),
        leave(1, 29, 2, 2),
        enter(1, 30, 2, 3),
        leave(1, 40, 2, 3),
        leave(1, 50, 1, 1),
    ]);
    let chunks = read(&encode_selected(filter, Recording::default(), &trace));
    assert_eq!(
        events_of(&chunks, &["jdk.MethodTrace"]),
        [
            "jdk.MethodTrace startTime=31 duration=10 eventThread=main stackTrace=[a/B.f(I)V:0] method=a/B.g(I)V",
            "jdk.MethodTrace startTime=11 duration=40 eventThread=main stackTrace=null method=a/B.f(I)V",
        ]
    );
}

#[test]
fn sums_of_calls_have_their_path() {
    let chunks = chunks(&with([
        enter(1, 10, 1, 1),
        begin_sum(1, 2, 5, 300),
        begin_sum(1, 1, 7, 400),
        end_sum(1, 1),
        end_sum(1, 2),
        begin_sum(1, 2, 1, 2),
        end_sum(1, 2),
        leave(1, 900, 1, 1),
    ]));
    assert_eq!(
        events_of(&chunks, &["jtrail.MethodSum"]),
        [
            "jtrail.MethodSum startTime=11 eventThread=main stackTrace=[a/B.f(I)V:0] method=a/B.g(I)V calls=5 selfTime=300",
            "jtrail.MethodSum startTime=11 eventThread=main stackTrace=[a/B.g(I)V:0, a/B.f(I)V:0] method=a/B.f(I)V calls=7 selfTime=400",
            "jtrail.MethodSum startTime=11 eventThread=main stackTrace=[a/B.f(I)V:0] method=a/B.g(I)V calls=1 selfTime=2",
        ]
    );
}

#[test]
fn waits_have_recorded_stacks() {
    let object = ObjectId(0x21);
    let stack = || vec![frame("x.Y.lock()V", 5), frame("x.Y.run()V", -1)];
    let chunks = chunks(&with([
        thread(2, 0, "owner", "main"),
        Event::ObjectDef(ObjectDef {
            object,
            class: ClassId(1),
            ..ObjectDef::default()
        }),
        enter(1, 10, 1, 1),
        Event::MonitorContendedEnter(MonitorContendedEnter {
            thread: ThreadId(1),
            time: time(20),
            object,
            owner: ThreadId(2),
            stack: stack(),
        }),
        Event::MonitorContendedEntered(MonitorContendedEntered {
            thread: ThreadId(1),
            time: time(23),
            object,
            ..MonitorContendedEntered::default()
        }),
        Event::MonitorWait(MonitorWait {
            thread: ThreadId(1),
            time: time(30),
            object,
            timeout_ms: 4,
            ..MonitorWait::default()
        }),
        Event::MonitorWaited(MonitorWaited {
            thread: ThreadId(1),
            time: time(35),
            object,
            timed_out: 1,
            ..MonitorWaited::default()
        }),
        park(1, 40),
        unpark(1, 47),
        leave(1, 50, 1, 1),
    ]));
    assert_eq!(
        events_of(&chunks, &["jdk.JavaMonitor", "jdk.ThreadPark"]),
        [
            "jdk.JavaMonitorEnter startTime=21 duration=3 eventThread=main stackTrace=[x/Y.lock()V:5, x/Y.run()V:0] monitorClass=a/B previousOwner=owner address=33",
            "jdk.JavaMonitorWait startTime=31 duration=5 eventThread=main stackTrace=[a/B.f(I)V:0] monitorClass=a/B notifier=null timeout=4 timedOut=1 address=33",
            &format!(
                "jdk.ThreadPark startTime=41 duration=7 eventThread=main stackTrace=[a/B.f(I)V:0] parkedClass=null timeout={0} until={0} address=0",
                i64::MIN
            ),
        ]
    );
}
