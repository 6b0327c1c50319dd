//! Builds traces for the checker, and tests what it finds in them.

use jtrail_formats::{Checker, Findings, Rule, Severity};
use jtrail_model::*;

pub fn check(events: &[Event<'_>]) -> Findings {
    let mut checker = Checker::default();
    for (at, event) in events.iter().enumerate() {
        checker.event(at as u64, event);
    }
    checker.finish()
}

/// Returns a trace of the agent named `agent`, with thread 1, class 2, and methods 3 and 4.
pub fn trace_by(agent: &'static str, events: Vec<Event<'static>>) -> Vec<Event<'static>> {
    let opening = [
        Event::Node(Node::default()),
        ProcessCreate::default().into(),
        AgentCreate {
            name: agent.into(),
            ..Default::default()
        }
        .into(),
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

pub const HEAD: usize = 8;

pub fn thread_start(id: u64) -> Event<'static> {
    Event::ThreadStart(ThreadStart {
        thread: ThreadId(id),
        ..Default::default()
    })
}

pub fn thread_end(id: u64) -> Event<'static> {
    Event::ThreadEnd(ThreadEnd {
        thread: ThreadId(id),
        time: Timestamp(100),
    })
}

pub fn method_def(id: u64) -> Event<'static> {
    let (method, class) = (MethodId(id), ClassId(2));
    Event::MethodDef(MethodDef {
        method,
        class,
        ..Default::default()
    })
}

pub fn enter(method: u64, ticket: u32, depth: i64) -> Event<'static> {
    enter_at(method, ticket, depth, 0)
}

pub fn enter_at(method: u64, ticket: u32, stack_depth: i64, time: i64) -> Event<'static> {
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

pub fn leave(method: u64, ticket: u32) -> Event<'static> {
    leave_at(method, ticket, 0)
}

pub fn leave_at(method: u64, ticket: u32, time: i64) -> Event<'static> {
    Event::MethodLeave(MethodLeave {
        thread: ThreadId(1),
        time: Timestamp(time),
        method: MethodId(method),
        class: ClassId(2),
        ticket,
        ..Default::default()
    })
}

pub fn note(note: &Note<'_>) -> Event<'static> {
    Event::Custom(Custom {
        body: note.to_string().into(),
    })
}

pub fn lost() -> Event<'static> {
    note(&Note::Lost(Lost {
        thread: ThreadId(1),
        events: 5,
        reason: "overflow".into(),
        ..Default::default()
    }))
}

pub fn wait(object: u64) -> Event<'static> {
    let object = ObjectId(object);
    Event::MonitorWait(MonitorWait {
        thread: ThreadId(1),
        object,
        ..Default::default()
    })
}

pub fn waited(object: u64) -> Event<'static> {
    let object = ObjectId(object);
    Event::MonitorWaited(MonitorWaited {
        thread: ThreadId(1),
        object,
        ..Default::default()
    })
}

pub fn tree_enter(calls: i64) -> Event<'static> {
    let (thread, method) = (ThreadId(1), MethodId(3));
    Event::AggregatedEnter(AggregatedEnter {
        thread,
        method,
        calls,
        ..Default::default()
    })
}

pub fn tree_leave(method: u64) -> Event<'static> {
    let (thread, method) = (ThreadId(1), MethodId(method));
    Event::AggregatedLeave(AggregatedLeave { thread, method })
}

pub fn gc_start() -> Event<'static> {
    Event::GcStart(GcStart::default())
}

pub fn gc_finish() -> Event<'static> {
    Event::GcFinish(GcFinish::default())
}

/// Returns a definition of an object.
pub fn object(id: u64) -> Event<'static> {
    Event::ObjectDef(ObjectDef {
        object: ObjectId(id),
        class: ClassId(2),
        ..Default::default()
    })
}

pub fn alloc(id: u64) -> Event<'static> {
    Event::ObjectAlloc(ObjectAlloc {
        object: ObjectId(id),
        class: ClassId(2),
        ..Default::default()
    })
}

pub fn free(id: u64) -> Event<'static> {
    Event::ObjectFree(ObjectFree {
        time: Timestamp(50),
        object: ObjectId(id),
        age: 0,
    })
}

pub fn frame() -> Frame<'static> {
    Frame {
        method: "a.B.run()V".into(),
        line: 12,
    }
}

pub fn throw(object: u64, time: i64) -> Event<'static> {
    Event::ExceptionThrow(ExceptionThrow {
        thread: ThreadId(1),
        time: Timestamp(time),
        object: ObjectId(object),
        class: ClassId(2),
        stack: vec![frame()],
    })
}

pub fn catch(object: u64) -> Event<'static> {
    Event::ExceptionCatch(ExceptionCatch {
        thread: ThreadId(1),
        time: Timestamp(0),
        object: ObjectId(object),
        class: ClassId(2),
        frame: frame(),
    })
}

pub fn park(object: u64) -> Event<'static> {
    Event::ThreadPark(ThreadPark {
        thread: ThreadId(1),
        object: ObjectId(object),
        ..Default::default()
    })
}

pub fn unpark() -> Event<'static> {
    Event::ThreadUnpark(ThreadUnpark {
        thread: ThreadId(1),
        time: Timestamp(0),
    })
}

pub fn sample(thread: u64) -> Event<'static> {
    samples_in_a_row(thread, 1)
}

pub fn samples_in_a_row(thread: u64, ticks: u64) -> Event<'static> {
    Event::Sample(Sample {
        thread: ThreadId(thread),
        ticks: Ticks::new(ticks).expect("not 0"),
        ..Default::default()
    })
}

/// Tests that `events` break exactly one rule, at the event with index `at`, with this severity.
#[track_caller]
pub fn broken(events: Vec<Event<'static>>, rule: Rule, severity: Severity, at: usize, text: &str) {
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
pub fn fault(events: Vec<Event<'static>>, rule: Rule, at: usize, text: &str) {
    broken(events, rule, Severity::Fault, at, text);
}

#[track_caller]
pub fn sound(events: Vec<Event<'static>>) -> Findings {
    let found = check(&trace_by("jtrail", events));
    assert_eq!(found.findings, []);
    found
}
