//! Trace logs: the worked example, each mode, and what is lost.

mod common;
#[path = "common/tracelog.rs"]
mod log;

use common::{Decoding, decode, shown};
use jtrail_formats::tracelog::{Collection, Encoder, Settings};
use jtrail_formats::{Encode, Format, Severity};
use jtrail_model::*;
use log::check_log;

const EXAMPLE: &str = include_str!("tracelog/example.log");
/// 2026-01-02 03:04:05.678
const START: i64 = 1_767_323_045_678_000_000;

fn ms(ms: i64) -> Timestamp {
    Timestamp(START + ms * 1_000_000)
}

fn encoded_by(mut encoder: impl Encode, events: &[Event<'_>]) -> (String, Vec<String>) {
    let mut out = Vec::new();
    encoder.begin(&mut out);
    events
        .iter()
        .for_each(|event| encoder.event(event, &mut out));
    encoder.end(&mut out);
    let losses = encoder.losses();
    let losses = losses
        .iter()
        .map(|loss| format!("{} {}", loss.count, loss.what));
    let log = String::from_utf8(out).expect("UTF-8");
    check_log(&log);
    (log, losses.collect())
}

fn encoded(events: &[Event<'_>]) -> (String, Vec<String>) {
    encoded_by(Encoder::default(), events)
}

fn read(log: &str) -> Decoding {
    decode(Format::TraceLog, log.as_bytes())
}

/// The lines behind the configuration and the process.
fn body(log: &str) -> Vec<&str> {
    let head = log
        .lines()
        .position(|line| line.starts_with("mod ata"))
        .expect("a head");
    log.lines().skip(head + 1).collect()
}

fn option(key: &'static str, value: &'static str) -> Event<'static> {
    let (key, value) = (key.into(), value.into());
    Event::Option(TraceOption { key, value })
}

fn opening() -> Vec<Event<'static>> {
    let time = ms(0);
    vec![
        Event::Node(Node {
            time,
            ..Default::default()
        }),
        Event::ProcessCreate(ProcessCreate {
            name: "app.Main".into(),
            pid: 4242,
            time,
            ..Default::default()
        }),
        Event::AgentCreate(AgentCreate {
            agent_type: "Profiler".into(),
            time,
            ..Default::default()
        }),
        Event::TraceStart(TraceStart {
            time,
            ..Default::default()
        }),
    ]
}

fn configuration() -> Vec<Event<'static>> {
    let lines = EXAMPLE
        .lines()
        .filter_map(|line| line.strip_prefix("prf cfg "));
    let pairs = lines.map(|line| line.split_once(' ').expect("a value"));
    pairs.map(|(key, value)| option(key, value)).collect()
}

const MAIN: MethodId = MethodId(0x7f00_0000_1000);
const WORK: MethodId = MethodId(0x7f00_0000_1008);
const THREAD: ThreadId = ThreadId(2);
const CLASS: ClassId = ClassId(1);

fn thread_start(thread: ThreadId) -> Event<'static> {
    Event::ThreadStart(ThreadStart {
        thread,
        time: ms(0),
        name: format!("thread {}", thread.0 - 1).into(),
        ..Default::default()
    })
}

fn thread_end(thread: ThreadId, at: i64) -> Event<'static> {
    Event::ThreadEnd(ThreadEnd {
        thread,
        time: ms(at),
    })
}

fn class_def(class: ClassId, name: &'static str) -> Event<'static> {
    Event::ClassDef(ClassDef {
        class,
        time: ms(0),
        name: name.into(),
        ..Default::default()
    })
}

fn method_def(method: MethodId, name: &'static str, signature: &'static str) -> Event<'static> {
    Event::MethodDef(MethodDef {
        method,
        class: CLASS,
        name: name.into(),
        signature: signature.into(),
        ..Default::default()
    })
}

fn definitions() -> Vec<Event<'static>> {
    vec![
        thread_start(THREAD),
        Event::ThreadOsId(ThreadOsId {
            thread: THREAD,
            time: ms(0),
            os_id: 4243,
        }),
        class_def(CLASS, "app.Main"),
        method_def(MAIN, "main", "([Ljava/lang/String;)V"),
        method_def(WORK, "work", "(I)I"),
    ]
}

fn enter(method: MethodId, at: Timestamp, ticket: u32, stack_depth: i64) -> Event<'static> {
    Event::MethodEnter(MethodEnter {
        thread: THREAD,
        time: at,
        method,
        class: CLASS,
        ticket,
        stack_depth,
        ..Default::default()
    })
}

fn leave(method: MethodId, at: Timestamp, ticket: u32) -> Event<'static> {
    Event::MethodLeave(MethodLeave {
        thread: THREAD,
        time: at,
        method,
        class: CLASS,
        ticket,
        ..Default::default()
    })
}

fn alloc(object: u64, at: Timestamp) -> Event<'static> {
    Event::ObjectAlloc(ObjectAlloc {
        thread: THREAD,
        time: at,
        object: ObjectId(object),
        size: 24,
        class: CLASS,
        ..Default::default()
    })
}

fn free(object: u64, at: i64) -> Event<'static> {
    Event::ObjectFree(ObjectFree {
        time: ms(at),
        object: ObjectId(object),
        age: 0,
    })
}

fn gc(at: i64) -> [Event<'static>; 2] {
    [
        Event::GcStart(GcStart { time: ms(at) }),
        Event::GcFinish(GcFinish {
            time: ms(at + 1),
            ..Default::default()
        }),
    ]
}

fn sample(at: i64, stack: &[&'static str]) -> Event<'static> {
    let frame = |method: &&'static str| Frame {
        method: (*method).into(),
        line: -1,
    };
    Event::Sample(Sample {
        thread: THREAD,
        time: ms(at),
        state: ThreadState::Runnable,
        stack: stack.iter().map(frame).collect(),
    })
}

fn cpu(at: i64, us: i64) -> Event<'static> {
    Event::ThreadCpu(ThreadCpu {
        thread: THREAD,
        time: ms(at),
        cpu_time: Duration(us * 1000),
    })
}

#[test]
fn the_worked_example_is_written_byte_by_byte() {
    let later = |at: i64, ns: i64| Timestamp(ms(at).0 + ns);
    let mut events = [opening(), configuration(), definitions()].concat();
    events.extend([
        enter(MAIN, ms(1), 1, 1),
        enter(WORK, ms(2), 2, 2),
        alloc(1, later(2, 10)),
        alloc(2, later(2, 20)),
        alloc(3, later(2, 30)),
        leave(WORK, ms(5), 2),
        enter(WORK, ms(5), 3, 2),
        leave(WORK, ms(9), 3),
    ]);
    events.extend(gc(10));
    events.extend([
        free(3, 12),
        free(1, 12),
        cpu(12, 10_450),
        leave(MAIN, ms(13), 1),
        thread_end(THREAD, 13),
    ]);
    let (log, losses) = encoded(&events);
    assert_eq!(log, EXAMPLE);
    assert_eq!(
        losses,
        [
            "2 times of starts and ends of threads",
            "1 names of threads",
            "3 times and ids of single allocations",
            "3 fractions of milliseconds",
        ]
    );
}

#[test]
fn the_worked_example_is_read() {
    let mut events = [opening(), configuration(), definitions()].concat();
    events.extend([
        enter(MAIN, ms(1), 1, 1),
        enter(WORK, ms(2), 2, 2),
        Event::AllocationSum(AllocationSum {
            thread: THREAD,
            time: ms(2),
            class: CLASS,
            objects: 3,
            bytes: 72,
        }),
        leave(WORK, ms(5), 2),
        enter(WORK, ms(5), 3, 2),
        leave(WORK, ms(9), 3),
    ]);
    events.extend(gc(10));
    events.extend([
        Event::LiveObjects(LiveObjects {
            time: ms(12),
            classes: vec![LiveClass {
                class: CLASS,
                objects: 1,
                bytes: 24,
            }],
        }),
        cpu(12, 10_450),
        leave(MAIN, ms(13), 1),
        thread_end(THREAD, 13),
    ]);
    let decoding = read(EXAMPLE);
    assert!(decoding.is_clean(), "{decoding:#?}");
    assert_eq!(decoding.events, shown(&events));
    let (again, losses) = encoded(&events);
    assert_eq!(again, EXAMPLE);
    assert_eq!(
        losses,
        [
            "2 times of starts and ends of threads",
            "1 names of threads"
        ]
    );
}
