//! The checker: a sound trace passes, and each rule broken is found at its place.

mod common;

use common::every_event;
use jtrail_formats::{Checker, Findings, MOST_FINDINGS, Rule, Severity};
use jtrail_model::*;

fn check(events: &[Event<'_>]) -> Findings {
    let mut checker = Checker::default();
    for (at, event) in events.iter().enumerate() {
        checker.event(at as u64, event);
    }
    checker.finish()
}

/// A trace by an agent of that name, with a thread, a class, two methods.
fn trace_by(agent: &'static str, events: Vec<Event<'static>>) -> Vec<Event<'static>> {
    let opening = [
        Event::Node(Node::default()),
        Event::ProcessCreate(ProcessCreate::default()),
        Event::AgentCreate(AgentCreate {
            name: agent.into(),
            ..Default::default()
        }),
        Event::TraceStart(TraceStart::default()),
        thread_start(1),
        Event::ClassDef(ClassDef {
            class: ClassId(2),
            ..Default::default()
        }),
        method_def(3),
        method_def(4),
    ];
    let closing = [
        Event::TraceEnd(TraceEnd::default()),
        Event::AgentDestroy(AgentDestroy::default()),
    ];
    opening.into_iter().chain(events).chain(closing).collect()
}

const HEAD: usize = 8;

fn thread_start(id: u64) -> Event<'static> {
    Event::ThreadStart(ThreadStart {
        thread: ThreadId(id),
        ..Default::default()
    })
}

fn thread_end(id: u64) -> Event<'static> {
    Event::ThreadEnd(ThreadEnd {
        thread: ThreadId(id),
        time: Timestamp(100),
    })
}

fn method_def(id: u64) -> Event<'static> {
    let (method, class) = (MethodId(id), ClassId(2));
    Event::MethodDef(MethodDef {
        method,
        class,
        ..Default::default()
    })
}

fn enter(method: u64, ticket: u32, depth: i64) -> Event<'static> {
    enter_at(method, ticket, depth, 0)
}

fn enter_at(method: u64, ticket: u32, stack_depth: i64, time: i64) -> Event<'static> {
    Event::MethodEnter(MethodEnter {
        thread: ThreadId(1),
        time: Timestamp(time),
        method: MethodId(method),
        class: ClassId(2),
        ticket,
        stack_depth,
        ..Default::default()
    })
}

fn leave(method: u64, ticket: u32) -> Event<'static> {
    leave_at(method, ticket, 0)
}

fn leave_at(method: u64, ticket: u32, time: i64) -> Event<'static> {
    Event::MethodLeave(MethodLeave {
        thread: ThreadId(1),
        time: Timestamp(time),
        method: MethodId(method),
        class: ClassId(2),
        ticket,
        ..Default::default()
    })
}

fn note(note: &Note<'_>) -> Event<'static> {
    Event::Custom(Custom {
        body: note.to_string().into(),
    })
}

fn lost() -> Event<'static> {
    note(&Note::Lost(Lost {
        thread: ThreadId(1),
        events: 5,
        reason: "overflow".into(),
        ..Default::default()
    }))
}

fn wait(object: u64) -> Event<'static> {
    let object = ObjectId(object);
    Event::MonitorWait(MonitorWait {
        thread: ThreadId(1),
        object,
        ..Default::default()
    })
}

fn waited(object: u64) -> Event<'static> {
    let object = ObjectId(object);
    Event::MonitorWaited(MonitorWaited {
        thread: ThreadId(1),
        object,
        ..Default::default()
    })
}

fn tree_enter(calls: i64) -> Event<'static> {
    let (thread, method) = (ThreadId(1), MethodId(3));
    Event::AggregatedEnter(AggregatedEnter {
        thread,
        method,
        calls,
        ..Default::default()
    })
}

fn tree_leave(method: u64) -> Event<'static> {
    let (thread, method) = (ThreadId(1), MethodId(method));
    Event::AggregatedLeave(AggregatedLeave { thread, method })
}

fn gc_start() -> Event<'static> {
    Event::GcStart(GcStart::default())
}

fn gc_finish() -> Event<'static> {
    Event::GcFinish(GcFinish::default())
}

/// Tests that `events` break exactly one rule, at the event of that index, and how badly.
#[track_caller]
fn broken(events: Vec<Event<'static>>, rule: Rule, severity: Severity, at: usize, text: &str) {
    let found = check(&trace_by("jtrail", events));
    let [finding] = &found.findings[..] else {
        panic!("{:#?}", found.findings)
    };
    assert_eq!(
        (finding.rule, finding.severity, finding.offset),
        (rule, severity, (HEAD + at) as u64),
        "{finding:?}"
    );
    assert_eq!(finding.message, text);
    assert_eq!(found.faults() + found.infos(), 1);
}

#[track_caller]
fn fault(events: Vec<Event<'static>>, rule: Rule, at: usize, text: &str) {
    broken(events, rule, Severity::Fault, at, text);
}

#[track_caller]
fn sound(events: Vec<Event<'static>>) -> Findings {
    let found = check(&trace_by("jtrail", events));
    assert_eq!(found.findings, []);
    found
}

#[test]
fn a_trace_with_everything_is_sound_but_for_the_mixture() {
    let found = check(&every_event());
    assert_eq!(found.findings.len(), 1, "{:#?}", found.findings);
    assert_eq!(found.findings[0].rule, Rule::Aggregated);
    assert_eq!(
        found.findings[0].message,
        "calls and aggregated calls stand in one trace"
    );
    let counts = found.counts;
    assert_eq!(counts.events, every_event().len() as u64);
    assert_eq!((counts.threads, counts.classes, counts.methods), (2, 1, 2));
    assert_eq!(
        (counts.enters, counts.leaves, counts.open_calls, counts.lost),
        (1, 1, 0, 0)
    );
    assert_eq!(counts.kinds.len(), 30);
    assert!(counts.kinds.contains(&("ThreadStart", 2)));
}

#[test]
fn calls_nest() {
    let found = sound(vec![
        enter_at(3, 1, 1, 5),
        enter_at(4, 2, 2, 5),
        leave_at(4, 2, 6),
        enter_at(4, 3, 2, 6),
        leave_at(4, 3, 9),
        leave_at(3, 1, 9),
        thread_end(1),
    ]);
    assert_eq!((found.counts.enters, found.counts.leaves), (3, 3));
    // Calls open at the end are allowed, and counted.
    let found = sound(vec![enter(3, 1, 1), enter(4, 2, 2)]);
    assert_eq!(found.counts.open_calls, 2);
}

#[test]
fn leaves_without_their_call_are_found() {
    let rule = Rule::Calls;
    let text = "thread 1: the leave of method 3, ticket 1, has no open call";
    fault(vec![leave(3, 1)], rule, 0, text);
    fault(
        vec![enter(3, 1, 1), leave(3, 1), leave(3, 1)],
        rule,
        2,
        text,
    );
    let text = "thread 1: the leave of method 4, ticket 2, has no open call";
    fault(
        vec![enter(3, 1, 1), leave(4, 2), leave(3, 1)],
        rule,
        1,
        text,
    );
    let text = "thread 1: the leave of method 3, ticket 1, skips 1 open calls";
    fault(
        vec![enter(3, 1, 1), enter(4, 2, 2), leave(3, 1)],
        rule,
        2,
        text,
    );
    let text = "thread 1: the call with ticket 1 entered method 3 and leaves 4";
    fault(vec![enter(3, 1, 1), leave(4, 1)], rule, 1, text);
}

#[test]
fn behind_a_gap_calls_need_not_fit() {
    let events = vec![
        enter(3, 1, 1),
        lost(),
        leave(4, 7),
        enter(3, 9, 4),
        thread_end(1),
    ];
    let found = check(&trace_by("jtrail", events));
    assert_eq!(found.faults(), 0, "{:#?}", found.findings);
    assert_eq!(found.infos(), 2);
    assert_eq!((found.counts.lost, found.counts.open_calls), (5, 2));
}

#[test]
fn a_thread_ends_once_and_with_all_calls_left() {
    let rule = Rule::ThreadEnd;
    let text = "thread 1 ends with 1 calls open";
    fault(vec![enter(3, 1, 1), thread_end(1)], rule, 1, text);
    let text = "thread 1 has ended already";
    fault(vec![thread_end(1), thread_end(1)], rule, 1, text);
    fault(vec![thread_end(1), wait(5)], rule, 1, text);
}

#[test]
fn tickets_rise() {
    let text = "thread 1: ticket 1 follows 1: tickets must rise";
    fault(
        vec![enter(3, 1, 1), leave(3, 1), enter(3, 1, 1), leave(3, 1)],
        Rule::Tickets,
        2,
        text,
    );
    sound(vec![
        enter(3, 7, 1),
        leave(3, 7),
        enter(3, 90, 1),
        leave(3, 90),
    ]);
    sound(vec![
        enter(3, u32::MAX, 1),
        leave(3, u32::MAX),
        enter(3, 1, 1),
        leave(3, 1),
    ]);
}

#[test]
fn calls_are_deeper_than_their_callers() {
    let rule = Rule::Depth;
    let text = "thread 1: a call at depth 1 is not deeper than its caller at 1";
    fault(vec![enter(3, 1, 1), enter(4, 2, 1)], rule, 1, text);
    let text = "thread 1: a call at depth 0 is not deeper than its caller at 0";
    fault(vec![enter(3, 1, 0)], rule, 0, text);
    let text = "thread 1: a call at depth 3, with 1 calls open";
    fault(vec![enter(3, 1, 1), enter(4, 2, 3)], rule, 1, text);
    // Other agents count frames that are not in the trace.
    let events = vec![enter(3, 1, 4), enter(4, 2, 7)];
    assert_eq!(check(&trace_by("other", events)).findings, []);
}

#[test]
fn time_never_falls_along_a_thread() {
    let text = "thread 1: time falls from 0.000000005 to 0.000000004";
    let events = vec![enter_at(3, 1, 1, 5), leave_at(3, 1, 4)];
    fault(events.clone(), Rule::Time, 1, text);
    let found = check(&trace_by("other", events));
    assert_eq!((found.faults(), found.infos()), (0, 1));
}

#[test]
fn definitions_come_before_use_and_once() {
    let rule = Rule::Definitions;
    fault(vec![thread_end(9)], rule, 0, "thread 9 was not announced");
    fault(
        vec![enter(9, 1, 1), leave(9, 1)],
        rule,
        0,
        "method 9 was not announced",
    );
    let method = MethodDef {
        method: MethodId(9),
        class: ClassId(8),
        ..Default::default()
    };
    fault(
        vec![Event::MethodDef(method)],
        rule,
        0,
        "class 8 was not announced",
    );
    let free = ObjectFree {
        object: ObjectId(9),
        ..Default::default()
    };
    fault(
        vec![Event::ObjectFree(free)],
        rule,
        0,
        "object 9 was not announced",
    );
    fault(
        vec![Event::ObjectReference(ObjectReference::default())],
        rule,
        0,
        "heap dump 0 was not announced",
    );
    let class = Event::MethodEnter(MethodEnter {
        thread: ThreadId(1),
        method: MethodId(3),
        class: ClassId(7),
        ticket: 1,
        stack_depth: 1,
        ..Default::default()
    });
    fault(
        vec![class],
        rule,
        0,
        "method 3 is of class 2, not of class 7",
    );

    let rule = Rule::Ids;
    fault(
        vec![thread_start(1)],
        rule,
        0,
        "thread 1 is announced again",
    );
    fault(vec![method_def(3)], rule, 0, "method 3 is announced again");
    fault(
        vec![method_def(0)],
        rule,
        0,
        "a method is announced with id 0, which means none",
    );
    let alloc = ObjectAlloc {
        object: ObjectId(9),
        class: ClassId(2),
        ..Default::default()
    };
    let alloc = Event::ObjectAlloc(alloc);
    fault(
        vec![alloc.clone(), alloc],
        rule,
        1,
        "object 9 is announced again",
    );
}

#[test]
fn collections_alternate_and_objects_die_once() {
    let rule = Rule::Collections;
    sound(vec![gc_start(), gc_finish(), gc_start(), gc_finish()]);
    fault(
        vec![gc_finish()],
        rule,
        0,
        "a collection ends, and did not begin",
    );
    let text = "a collection begins inside of another";
    fault(vec![gc_start(), gc_start(), gc_finish()], rule, 1, text);
    broken(
        vec![gc_start()],
        rule,
        Severity::Info,
        2,
        "the last collection does not end",
    );
    let alloc = ObjectAlloc {
        object: ObjectId(9),
        class: ClassId(2),
        ..Default::default()
    };
    let free = Event::ObjectFree(ObjectFree {
        object: ObjectId(9),
        ..Default::default()
    });
    let events = vec![Event::ObjectAlloc(alloc), free.clone(), free];
    fault(events, rule, 2, "object 9 was freed already");
}

#[test]
fn waits_pair_up() {
    let rule = Rule::Monitors;
    sound(vec![wait(5), waited(5), wait(6), waited(6)]);
    let text = "thread 1: the wait on object 5 begins, that on 5 did not end";
    fault(vec![wait(5), wait(5), waited(5)], rule, 1, text);
    let text = "thread 1: the wait on object 6 ends, begun was that on 5";
    fault(vec![wait(5), waited(6)], rule, 1, text);
    let text = "thread 1: the wait on object 5 ends, and did not begin";
    fault(vec![wait(5), waited(5), waited(5)], rule, 2, text);
    let text = "thread 1: the wait on object 5 ends, begun before the trace";
    broken(vec![waited(5)], rule, Severity::Info, 0, text);
    fault(
        vec![wait(5), thread_end(1)],
        rule,
        1,
        "thread 1 ends while waiting on object 5",
    );
    broken(
        vec![wait(5)],
        rule,
        Severity::Info,
        2,
        "1 waits or blocks do not end",
    );
}

#[test]
fn blocks_pair_up() {
    let (thread, object) = (ThreadId(1), ObjectId(5));
    let begin = MonitorContendedEnter {
        thread,
        object,
        ..Default::default()
    };
    let end = MonitorContendedEntered {
        thread,
        object,
        ..Default::default()
    };
    let begin = Event::MonitorContendedEnter(begin);
    let end = Event::MonitorContendedEntered(end);
    // Blocking happens inside of a wait, too.
    sound(vec![wait(6), begin.clone(), end.clone(), waited(6)]);
    let text = "thread 1: the block on object 5 ends, and did not begin";
    fault(vec![begin, end.clone(), end], Rule::Monitors, 2, text);
}

#[test]
fn aggregated_trees_are_whole() {
    let rule = Rule::Aggregated;
    sound(vec![
        tree_enter(2),
        tree_enter(1),
        tree_leave(3),
        tree_leave(3),
        thread_end(1),
    ]);
    fault(
        vec![tree_leave(3)],
        rule,
        0,
        "thread 1: the end of method 3 without its begin",
    );
    let text = "thread 1: the end of method 4 inside of method 3";
    fault(vec![tree_enter(1), tree_leave(4)], rule, 1, text);
    fault(
        vec![tree_enter(0), tree_leave(3)],
        rule,
        0,
        "thread 1: method 3 with 0 calls",
    );
    fault(
        vec![tree_enter(1)],
        rule,
        2,
        "1 aggregated calls do not end",
    );
    let text = "thread 1 ends inside of 1 aggregated calls";
    fault(vec![tree_enter(1), thread_end(1)], rule, 1, text);
    let text = "calls and aggregated calls stand in one trace";
    fault(
        vec![enter(3, 1, 1), tree_enter(1), tree_leave(3)],
        rule,
        1,
        text,
    );
    fault(
        vec![tree_enter(1), tree_leave(3), enter(3, 1, 1)],
        rule,
        2,
        text,
    );
}

#[test]
fn opening_and_closing_are_in_order() {
    let whole = trace_by("jtrail", vec![]);
    let found = |events: &[Event<'_>]| {
        let found = check(events);
        let of_order = found.findings.into_iter().filter(|f| f.rule == Rule::Order);
        of_order.map(|f| (f.offset, f.message)).collect::<Vec<_>>()
    };
    assert_eq!(found(&whole), []);
    let without = |at: usize| {
        let mut events = whole.clone();
        events.remove(at);
        found(&events)
    };
    assert_eq!(without(0), [(3, "the trace opens without node".into())]);
    assert_eq!(
        without(3),
        [(3, "the trace opens without trace start".into())]
    );
    assert_eq!(
        without(8),
        [
            (8, "the agent ends, and the trace did not".into()),
            (8, "the trace does not say that collection ended".into())
        ]
    );
    assert_eq!(without(9), []);
    let with = |at: usize, event: Event<'static>| {
        let mut events = whole.clone();
        events.insert(at, event);
        found(&events)
    };
    let option = || Event::Option(TraceOption::default());
    let filter = || Event::Filter(Filter::default());
    assert_eq!(with(4, option()), []);
    assert_eq!(with(4, filter()), []);
    assert_eq!(with(5, option()), [(5, "options behind events".into())]);
    assert_eq!(
        with(2, filter()),
        [
            (2, "the trace opens without agent".into()),
            (3, "agent behind filters".into()),
            (4, "trace start behind filters".into())
        ]
    );
    assert_eq!(
        with(4, Event::Node(Node::default())),
        [(4, "node is repeated".into())]
    );
    assert_eq!(
        with(9, thread_start(9)),
        [(9, "events behind trace end".into())]
    );
    assert_eq!(
        with(10, thread_start(9)),
        [(10, "events behind agent end".into())]
    );
    assert_eq!(check(&[]).findings, []);
}

#[test]
fn totals_are_those_of_the_trace() {
    let totals = |enters, leaves, lost, open| {
        note(&Note::Totals(Totals {
            enters,
            leaves,
            lost,
            open,
            ..Default::default()
        }))
    };
    let calls = || vec![enter(3, 1, 1), enter(4, 2, 2), leave(4, 2)];
    let with = |event| calls().into_iter().chain([event]).collect::<Vec<_>>();
    sound(with(totals(2, 1, 0, 1)));
    let rule = Rule::Totals;
    for (totals, text) in [
        (
            totals(3, 1, 0, 1),
            "the agent counted 3 enters, the trace has 2",
        ),
        (
            totals(2, 2, 0, 1),
            "the agent counted 2 leaves, the trace has 1",
        ),
        (
            totals(2, 1, 5, 1),
            "the agent counted 5 lost events, the trace has 0",
        ),
        (
            totals(2, 1, 0, 0),
            "the agent counted 0 open calls, the trace has 1",
        ),
    ] {
        fault(with(totals), rule, 5, text);
    }
    fault(
        vec![totals(0, 0, 0, 0), totals(0, 0, 0, 0)],
        rule,
        1,
        "the agent's totals are repeated",
    );
}

#[test]
fn findings_without_number_take_little_memory() {
    let mut checker = Checker::default();
    for id in 0..100_000_u64 {
        // Ids far apart are no reason to hold a table that large.
        checker.event(id, &thread_end(id << 40));
        checker.event(id, &method_def(u64::MAX - id));
    }
    let found = checker.finish();
    assert_eq!(found.findings.len(), MOST_FINDINGS);
    assert_eq!(found.totals[&Rule::Definitions].faults, 200_000);
    assert_eq!(found.counts.methods, 100_000);
}
