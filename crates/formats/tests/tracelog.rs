//! Trace logs: the worked example, each mode, and what is lost.

use crate::common::tracelog as log;
use crate::common::{Decoding, decode, shown};
use jtrail_formats::tracelog::{Collection, Encoder, Settings};
use jtrail_formats::{DropCount, Encode, Format, Remark, Severity};
use jtrail_model::*;
use log::check_log;

const EXAMPLE: &str = include_str!("tracelog/example.log");
/// 2026-01-02 03:04:05.678
const START: i64 = 1_767_323_045_678_000_000;

fn ms(ms: i64) -> Timestamp {
    Timestamp(START + ms * 1_000_000)
}

fn encoded_by(mut encoder: impl Encode, events: &[Event<'_>]) -> (String, Vec<String>) {
    let out = crate::common::written_by(&mut encoder, events);
    let dropped = encoder.dropped();
    let dropped = dropped.iter().map(DropCount::to_string);
    let log = String::from_utf8(out).expect("UTF-8");
    check_log(&log);
    (log, dropped.collect())
}

fn encoded(events: &[Event<'_>]) -> (String, Vec<String>) {
    encoded_by(Encoder::default(), events)
}

fn read(log: &str) -> Decoding {
    decode(Format::TraceLog, log.as_bytes())
}

/// Returns the lines after the configuration and the process record.
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
        ProcessCreate {
            name: "app.Main".into(),
            pid: 4242,
            time,
            ..Default::default()
        }
        .into(),
        AgentCreate {
            agent_type: "Profiler".into(),
            time,
            ..Default::default()
        }
        .into(),
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
    samples(at, 1, stack)
}

/// Returns an event for `ticks` consecutive samples of one stack.
fn samples(at: i64, ticks: u64, stack: &[&'static str]) -> Event<'static> {
    let frame = |method: &&'static str| Frame {
        method: (*method).into(),
        line: -1,
    };
    Event::Sample(Sample {
        thread: THREAD,
        time: ms(at),
        state: ThreadState::Runnable,
        ticks: Ticks::new(ticks).expect("not 0"),
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
    let (log, dropped) = encoded(&events);
    assert_eq!(log, EXAMPLE);
    assert_eq!(
        dropped,
        [
            "fractions of milliseconds (3)",
            "times of starts and ends of threads (2)",
            "names of threads (1)",
            "times and ids of single allocations (3)",
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
    let (again, dropped) = encoded(&events);
    assert_eq!(again, EXAMPLE);
    assert_eq!(
        dropped,
        [
            "times of starts and ends of threads (2)",
            "names of threads (1)"
        ]
    );
}

/// Encodes `events`; returns the log and its decoding.
fn back(events: &[Event<'_>]) -> (String, Decoding) {
    let (log, _) = encoded(events);
    let decoding = read(&log);
    assert!(decoding.is_clean(), "{decoding:#?}");
    assert_eq!(again(&log), log);
    (log, decoding)
}

/// Decodes a log and encodes its events again.
fn again(log: &str) -> String {
    let bytes = crate::common::recoded(Format::TraceLog, log.as_bytes(), Format::TraceLog);
    String::from_utf8(bytes).expect("UTF-8")
}

#[test]
fn calls_give_changes_of_the_stack() {
    let mut events = [opening(), definitions()].concat();
    events.extend([
        enter(MAIN, ms(1), 1, 1),
        enter(WORK, ms(1), 2, 2),
        leave(WORK, ms(1), 2),
        enter(WORK, ms(1), 3, 2),
        enter(WORK, ms(1), 4, 3),
        leave(WORK, ms(2), 4),
        leave(WORK, ms(2), 3),
        leave(MAIN, ms(2), 1),
        enter(WORK, ms(2), 5, 1),
        thread_start(ThreadId(3)),
        leave(WORK, ms(2), 5),
    ]);
    let (log, decoding) = back(&events);
    assert_eq!(
        body(&log)[8..],
        [
            "sam str 0x00000001 1 0 0:0 0x0 0x1",
            "sam str 0x00000001 1 0 1:2 0x1 0x1",
            "sam str 0x00000001 2 0 0:3 0x1",
            "thr crt 0x0000000000000003 0x00000002",
            "sam str 0x00000001 2 0 0:1",
        ]
    );
    let calls = |shown: &[String]| -> Vec<String> {
        let is_call =
            |event: &&String| event.starts_with("Method") && !event.starts_with("MethodDef");
        shown.iter().filter(is_call).cloned().collect()
    };
    assert_eq!(calls(&decoding.events), calls(&shown(&events)));
}

/// A leave of an outer call also ends the calls inside it. A leave without a call is lost, and so
/// is a call without a method.
#[test]
fn calls_that_do_not_fit_are_counted() {
    let mut events = [opening(), definitions()].concat();
    events.extend([
        enter(MAIN, ms(1), 1, 1),
        enter(WORK, ms(1), 2, 2),
        leave(MAIN, ms(3), 1),
        leave(WORK, ms(3), 2),
        enter(MethodId(99), ms(3), 3, 1),
        enter(WORK, ms(3), 4, 2),
        leave(WORK, ms(4), 4),
        leave(MethodId(99), ms(5), 3),
    ]);
    let (log, dropped) = encoded(&events);
    assert_eq!(
        body(&log)[8..],
        [
            "sam str 0x00000001 1 0 0:0 0x0 0x1",
            "sam str 0x00000001 3 0 0:2 0x1",
            "sam str 0x00000001 4 0 0:1",
        ]
    );
    for kind in [
        "leaves without an open call (1)",
        "calls of methods that are not defined (1)",
        "leaves of calls that were left at a pause, or not written (1)",
    ] {
        assert!(
            dropped.iter().any(|found| found == kind),
            "{kind}: {dropped:?}"
        );
    }
}

#[test]
fn what_is_not_whole_milliseconds_is_said_to_be_lost() {
    let mut events = [opening(), definitions()].concat();
    events.extend([
        enter(MAIN, Timestamp(ms(1).0 + 1), 1, 1),
        enter(WORK, Timestamp(ms(2).0 - 1), 2, 2),
        leave(WORK, ms(2), 2),
        enter(WORK, Timestamp(START - 1), 3, 2),
    ]);
    let (log, dropped) = encoded(&events);
    assert_eq!(body(&log)[8], "sam str 0x00000001 1 0 0:0 0x0 0x1");
    // Times never decrease along a thread.
    assert_eq!(body(&log)[9], "sam str 0x00000001 2 0 1:2 0x1");
    assert!(
        dropped.contains(&"fractions of milliseconds (3)".into()),
        "{dropped:?}"
    );
    assert!(dropped.contains(&"times before the start of the trace (1)".into()));
}

#[test]
fn samples_of_one_stack_are_one_line() {
    let stack = [
        "java.lang.Object.wait(J)V",
        "app.Main.work(I)I",
        "app.Main.main([Ljava/lang/String;)V",
    ];
    let mut events = [
        opening(),
        vec![option("events", "samples"), option("interval", "20ms")],
        definitions(),
    ]
    .concat();
    events.extend([
        sample(20, &stack[1..]),
        sample(40, &stack[1..]),
        sample(60, &stack),
        sample(80, &stack[2..]),
        sample(100, &[]),
    ]);
    let (log, decoding) = back(&events);
    assert!(log.contains("\nprf cfg CollectionMethod Sampling\nprf cfg SamplingTimeoutMs 20\n"));
    assert!(log.contains(
        "\nprf cfg GcAllocTableEnabled F\nprf cfg events samples\nprf cfg interval 20ms\n"
    ));
    assert_eq!(
        body(&log)[2..],
        [
            "cls ldf 0x0000000000000001 0x00000000 0x0000000000000001 0x02000001 0x00000000",
            "cls nam 0x00000000 \"app.Main\"",
            "fun inf 0x00000000 0x00007F0000001000 0x0000000000000001 0x0000000000000001 0x06000001",
            "fun nam 0x00000000 \"app.Main.main\" \"void\" \"(java.lang.String[])\"",
            "fun inf 0x00000001 0x00007F0000001008 0x0000000000000001 0x0000000000000001 0x06000002",
            "fun nam 0x00000001 \"app.Main.work\" \"int\" \"(int)\"",
            "sam str 0x00000001 40 2 0:0 0x0 0x1",
            "cls ldf 0x0000000000000002 0x00000001 0x0000000000000001 0x02000002 0x00000000",
            "cls nam 0x00000001 \"java.lang.Object\"",
            "fun inf 0x00000002 0x8000000000000002 0x0000000000000002 0x0000000000000001 0x06000001",
            "fun nam 0x00000002 \"java.lang.Object.wait\" \"void\" \"(long)\"",
            "sam str 0x00000001 60 1 2:2 0x2",
            "sam str 0x00000001 80 1 1:3",
            "sam str 0x00000001 100 1 0:1",
        ]
    );
    let read: Vec<&String> = decoding
        .events
        .iter()
        .filter(|event| event.starts_with("Sample"))
        .collect();
    // Samples that share a line are read as one event, at the time of the last one.
    let mut expected = shown(&events[events.len() - 3..]);
    expected.insert(0, format!("{:?}", samples(40, 2, &stack[1..])));
    assert_eq!(read, expected.iter().collect::<Vec<_>>());
    let merged = encoded(&events).1;
    assert!(
        merged.contains(&"times of samples of an unchanged stack (1)".into()),
        "{merged:?}"
    );
}

#[test]
fn high_granularity_writes_each_sample() {
    let settings = Settings {
        collection: Collection::Sampling,
        high_granularity: true,
        ..Settings::default()
    };
    let mut events = [opening(), definitions()].concat();
    events.extend([1, 2, 2].map(|at| sample(at, &["app.Main.work(I)I"])));
    let (log, _) = encoded_by(Encoder::new(settings), &events);
    assert_eq!(
        body(&log)[6..],
        [
            "sam str 0x00000001 1 1 0:0 0x0",
            "sam str 0x00000001 2 1 1:1",
            "sam str 0x00000001 2 1 1:1",
        ]
    );
    assert_eq!(again(&log), log);
    let samples = read(&log).events.split_off(18 + 4);
    assert_eq!(samples, shown(&events[events.len() - 3..]));
}

/// Without options in the trace, the first call or sample decides the mode.
#[test]
fn the_mode_is_that_of_the_first_call_or_sample() {
    let start = [opening(), definitions()].concat();
    let mode = |events: &[Event<'static>]| {
        let (log, dropped) = encoded(&[&start, events].concat());
        let line = log.lines().nth(1).expect("a line").to_owned();
        (
            line["prf cfg CollectionMethod ".len()..].to_owned(),
            dropped,
        )
    };
    let (call, tick) = (enter(MAIN, ms(1), 1, 1), sample(2, &["a.b()V"]));
    assert_eq!(mode(&[]).0, "None");
    assert_eq!(mode(&[alloc(1, ms(1))]).0, "None");
    let (name, dropped) = mode(&[call.clone(), tick.clone()]);
    assert_eq!(
        (&*name, dropped.contains(&"samples (1)".into())),
        ("Instrumentation", true)
    );
    let (name, dropped) = mode(&[tick, call]);
    assert_eq!(
        (&*name, dropped.contains(&"calls (1)".into())),
        ("Sampling", true)
    );
    // The encoder holds back a bounded number of events before it decides.
    let threads: Vec<_> = (10..4000).map(|id| thread_start(ThreadId(id))).collect();
    assert_eq!(mode(&threads).0, "Instrumentation");
    assert_eq!(
        mode(&[]).1.last().map(|s| &**s),
        Some("methods that nothing refers to (2)")
    );
}

#[test]
fn allocations_are_summed_by_class_thread_and_interval() {
    let other = |object, at, class| {
        Event::ObjectAlloc(ObjectAlloc {
            thread: ThreadId(3),
            time: ms(at),
            object: ObjectId(object),
            size: 16,
            class: ClassId(class),
            line: 7,
            ..Default::default()
        })
    };
    let mut events = [
        opening(),
        vec![option("events", "alloc+free+gc")],
        definitions(),
    ]
    .concat();
    events.extend([
        thread_start(ThreadId(3)),
        class_def(ClassId(9), "[[Lapp.Main;"),
        class_def(ClassId(4), "[I"),
        class_def(ClassId(5), "never.Used"),
        alloc(1, ms(1)),
        other(2, 2, 9),
        alloc(3, ms(9)),
        other(4, 9, 4),
        alloc(5, ms(10)),
        other(6, 35, 99),
    ]);
    events.extend(gc(36));
    events.extend([
        free(1, 37),
        free(2, 37),
        free(77, 37),
        alloc(7, ms(38)),
        free(3, 37),
    ]);
    events.extend(gc(40));
    let (log, dropped) = encoded(&events);
    assert_eq!(
        body(&log)[3..],
        [
            "cls ldf 0x0000000000000001 0x00000000 0x0000000000000001 0x02000001 0x00000000",
            "cls nam 0x00000000 \"app.Main\"",
            "sam mem 0x00000001 9 0x0:2:48",
            "gch gcs ? 36 ? tfff",
            "gch gcf ? 37",
            "cls ldf 0x0000000000000002 0x00000001 0x0000000000000001 0x02000002 0x00000000",
            "cls nam 0x00000001 \"int[]\"",
            "gch alt 37 0x0:2:48 0x1:1:16",
            "sam mem 0x00000001 10 0x0:1:24",
            "gch alt 38 0x0:2:48 0x1:1:16",
            "gch gcs ? 40 ? tfff",
            "gch gcf ? 41",
            "sam mem 0x00000001 38 0x0:1:24",
            "cls ldf 0x0000000000000003 0x00000002 0x0000000000000001 0x02000003 0x00000000",
            "cls nam 0x00000002 \"app.Main[][]\"",
            "sam mem 0x00000002 9 0x1:1:16 0x2:1:16",
            "gch alt 41 0x0:2:48 0x1:1:16",
        ]
    );
    assert_eq!(again(&log), log);
    for kind in [
        "objects of classes that are not defined (1)",
        "frees of objects that are not counted (1)",
        "classes that nothing refers to (1)",
        "lines of allocations (3)",
    ] {
        assert!(
            dropped.iter().any(|found| found == kind),
            "{kind}: {dropped:?}"
        );
    }
    let decoding = read(&log);
    assert!(decoding.is_clean());
    let sums: Vec<_> = decoding
        .events
        .iter()
        .filter(|e| e.starts_with("AllocationSum"))
        .collect();
    assert_eq!(sums.len(), 5);
    assert!(
        decoding
            .events
            .iter()
            .any(|event| event.contains("name: \"[[Lapp.Main;\""))
    );
}

#[test]
fn collections_say_who_asked_for_them_where_the_jvm_does() {
    let detail = |cause: &'static str, generation| {
        Event::GcDetail(GcDetail {
            time: ms(1),
            collector: "".into(),
            cause: cause.into(),
            generation,
        })
    };
    let gc_start = |at| Event::GcStart(GcStart { time: ms(at) });
    let gc_finish = |at| {
        Event::GcFinish(GcFinish {
            time: ms(at),
            ..Default::default()
        })
    };
    let mut events = opening();
    events.extend([
        gc_start(1),
        detail("System.gc()", Generation::Full),
        gc_finish(2),
        gc_start(3),
        detail("G1 Evacuation Pause", Generation::Young),
        gc_finish(4),
        gc_start(5),
        gc_finish(6),
        detail("late", Generation::Full),
        gc_finish(7),
    ]);
    let (log, dropped) = encoded(&events);
    assert_eq!(
        body(&log),
        [
            "gch gcs ? 1 induced tttt",
            "gch gcf ? 2",
            "gch gcs ? 3 ? tfff",
            "gch gcf ? 4",
            "gch gcs ? 5 ? tfff",
            "gch gcf ? 6",
        ]
    );
    assert_eq!(
        dropped,
        [
            "ends of collections (1)",
            "details of collections (1)",
            "collectors and causes of collections (2)",
        ]
    );
    let decoding = read(&log);
    let expected = [
        gc_start(1),
        Event::GcDetail(GcDetail {
            time: ms(1),
            cause: "induced".into(),
            generation: Generation::Full,
            ..Default::default()
        }),
        gc_finish(2),
        gc_start(3),
        gc_finish(4),
    ];
    assert_eq!(decoding.events[18..23], shown(&expected));
    assert_eq!(again(&log), log);
    // For readers that know only thread ids of the operating system.
    let settings = Settings {
        os_thread_ids: true,
        ..Settings::default()
    };
    let (log, _) = encoded_by(Encoder::new(settings), &events);
    assert_eq!(
        body(&log)[..2],
        ["gch gcs 4242 1 induced tttt", "gch gcf 4242 2"]
    );
}

#[test]
fn cpu_times_are_differences() {
    let call = |at, us: i64, ticket| {
        let mut event = enter(MAIN, ms(at), ticket, i64::from(ticket));
        if let Event::MethodEnter(e) = &mut event {
            e.cpu_time = Duration(us * 1000 + 1);
        }
        event
    };
    let mut events = [opening(), definitions()].concat();
    events.extend([
        call(1, 900, 1),
        call(5, 4000, 2),
        cpu(6, 5000),
        call(12, 6000, 3),
        call(20, 7000, 4),
        cpu(21, 0),
    ]);
    let (log, decoding) = back(&events);
    let lines: Vec<_> = body(&log)
        .into_iter()
        .filter(|line| line.contains(" cpu "))
        .collect();
    assert_eq!(
        lines,
        [
            "thr cpu 0x00000001 1 900",
            "prc cpu 1 900",
            "thr cpu 0x00000001 6 4100",
            "thr cpu 0x00000001 20 2000",
            "prc cpu 20 6100",
            "thr cpu 0x00000001 21 0",
        ]
    );
    let times: Vec<_> = decoding
        .events
        .iter()
        .filter(|e| e.contains("Cpu("))
        .collect();
    assert_eq!(times.len(), 6);
    assert!(
        times[3].contains("Duration(7000000)") && times[4].contains("Duration(7000000)"),
        "{times:?}"
    );
    // If the trace has CPU times of the process, the threads' times are not added up.
    let process = Event::ProcessCpu(ProcessCpu {
        time: ms(1),
        cpu_time: Duration(77_000),
    });
    let events = [
        opening(),
        definitions(),
        vec![cpu(1, 5), process, cpu(30, 9)],
    ]
    .concat();
    let (log, _) = encoded(&events);
    assert_eq!(
        body(&log)[2..],
        [
            "thr cpu 0x00000001 1 5",
            "prc cpu 1 77",
            "thr cpu 0x00000001 30 4"
        ]
    );
}

#[test]
fn compiled_methods_have_code_and_a_map() {
    let frame = |line| Frame {
        method: "app.Main.work(I)I".into(),
        line,
    };
    let compile = |ranges| {
        Event::MethodCompile(MethodCompile {
            method: WORK,
            time: ms(3),
            address: 0x7fff_0000,
            size: 416,
            ranges,
        })
    };
    let ranges = vec![
        CodeRange {
            offset: 0,
            frames: vec![frame(12)],
        },
        CodeRange {
            offset: 0x20,
            frames: vec![frame(13)],
        },
    ];
    let mut events = [opening(), definitions()].concat();
    events.push(compile(ranges));
    let (log, decoding) = back(&events);
    assert_eq!(
        body(&log)[4..],
        [
            "fun inf 0x00000000 0x00007F0000001008 0x0000000000000001 0x0000000000000001 0x06000001",
            "fun nam 0x00000000 \"app.Main.work\" \"int\" \"(int)\"",
            "fun inf 0x00000000 0x00007F0000001008 0x0000000000000001 0x0000000000000001 0x06000001 0x000000007FFF0000:0x1a0 0xc:0x0:0x20 0xd:0x20:0x1a0",
            "jit cmf ? 3 0x00007F0000001008 0x00000000",
        ]
    );
    assert_eq!(decoding.events.last(), shown(&events).last());
    let odd = vec![
        CodeRange {
            offset: -1,
            frames: vec![frame(12)],
        },
        CodeRange {
            offset: 0,
            frames: vec![frame(-2)],
        },
        CodeRange {
            offset: 1,
            frames: vec![],
        },
        CodeRange {
            offset: 2,
            frames: vec![frame(1), frame(2)],
        },
    ];
    let (log, dropped) = encoded(&[opening(), definitions(), vec![compile(odd)]].concat());
    assert!(log.contains(":0x1a0 0x2:0x2:0x1a0\n"), "{log}");
    assert!(
        dropped.contains(&"ranges of compiled code without a line (2)".into()),
        "{dropped:?}"
    );
    assert!(dropped.contains(&"inlined frames of compiled code (1)".into()));
}

#[test]
fn class_loaders_are_assemblies() {
    let detail = |class, loader: &'static str| {
        ClassDetail {
            class: ClassId(class),
            time: ms(0),
            loader: loader.into(),
            ..Default::default()
        }
        .into()
    };
    let mut events = [opening(), vec![thread_start(THREAD)]].concat();
    events.extend([
        class_def(ClassId(1), "a.A"),
        class_def(ClassId(2), "a.B"),
        detail(2, "com.acme.Loader@7"),
        class_def(ClassId(3), "a.C"),
        detail(3, "bootstrap"),
        class_def(ClassId(4), "a.D"),
        detail(4, "com.acme.Loader@7"),
    ]);
    events.extend((1..5).map(|class| {
        Event::AllocationSum(AllocationSum {
            thread: THREAD,
            time: ms(1),
            class: ClassId(class),
            objects: 1,
            bytes: 16,
        })
    }));
    let (log, decoding) = back(&events);
    let lines: Vec<_> = body(&log);
    assert_eq!(
        lines[3..8],
        [
            "asm ldf 0x0000000000000002 0x0000000000000001 0x0000000000000002 0x00000000 \"com.acme.Loader@7\"",
            "mod ldf 0x0000000000000002 0x0000000000000000 0x0000000000000002 0x00000000 \"com.acme.Loader@7\"",
            "mod ata 0x0000000000000002 0x0000000000000002",
            "cls ldf 0x0000000000000002 0x00000001 0x0000000000000002 0x02000002 0x00000000",
            "cls nam 0x00000001 \"a.B\"",
        ]
    );
    let details: Vec<_> = decoding
        .events
        .iter()
        .filter(|e| e.starts_with("ClassDetail"))
        .collect();
    assert_eq!(
        details,
        shown(&[
            detail(2, "com.acme.Loader@7"),
            detail(4, "com.acme.Loader@7")
        ])
        .iter()
        .collect::<Vec<_>>()
    );
}

#[test]
fn a_pause_empties_the_stacks() {
    let pause = |at| Event::TracePause(TracePause { time: ms(at) });
    let resume = |at| Event::TraceResume(TraceResume { time: ms(at) });
    let mut events = [opening(), definitions()].concat();
    events.extend([
        enter(MAIN, ms(1), 1, 1),
        enter(WORK, ms(1), 2, 2),
        alloc(1, ms(2)),
        Event::GcStart(GcStart { time: ms(3) }),
        pause(4),
        leave(WORK, ms(5), 2),
        enter(WORK, ms(6), 3, 2),
        Event::GcFinish(GcFinish {
            time: ms(6),
            ..Default::default()
        }),
        alloc(2, ms(7)),
        cpu(7, 1),
        resume(8),
        enter(WORK, ms(9), 4, 3),
        leave(WORK, ms(9), 4),
        leave(WORK, ms(10), 3),
        leave(MAIN, ms(10), 1),
    ]);
    let (log, dropped) = encoded(&events);
    assert_eq!(
        body(&log)[8..],
        [
            "sam str 0x00000001 1 0 0:0 0x0 0x1",
            "gch gcs ? 3 ? tfff",
            "sam mem 0x00000001 2 0x0:1:24",
            "sam str 0x00000001 4 0 0:2",
            "gch gcf ? 4",
            "prf tps 4",
            "prf trs 8",
            "sam str 0x00000001 9 0 0:0 0x1",
            "sam str 0x00000001 9 0 0:1",
        ]
    );
    assert_eq!(again(&log), log);
    let decoding = read(&log);
    assert!(decoding.is_clean());
    assert!(
        decoding.events.contains(&shown(&[pause(4)])[0])
            && decoding.events.contains(&shown(&[resume(8)])[0])
    );
    for kind in [
        "calls while the trace paused (1)",
        "leaves of calls that were left at a pause, or not written (3)",
        "ends of collections (1)",
        "allocations (1)",
        "CPU times of threads (1)",
    ] {
        assert!(
            dropped.iter().any(|found| found == kind),
            "{kind}: {dropped:?}"
        );
    }
    // This trace begins with a pause.
    let events = [
        opening(),
        vec![
            option("CollectionMethod", "None"),
            option("TracingSuspendedOnStart", "T"),
            pause(1),
            resume(2),
            resume(3),
        ],
    ]
    .concat();
    let (log, dropped) = encoded(&events);
    assert_eq!(body(&log), ["prf trs 2"]);
    assert_eq!(dropped, ["repeated pauses or resumes (2)"]);
}

#[test]
fn odd_names_come_back() {
    let nasty = "q\"b\\ n\n\t\0\u{7f} \\u0041 é😀 (a,b) [x] ";
    let mut events = [
        opening(),
        vec![option("note", "  \\u0041 \\ x\n "), option("empty", "")],
        vec![thread_start(THREAD)],
    ]
    .concat();
    events.extend([
        class_def(ClassId(1), "q\"b\\ n\n\t\0\u{7f} \\u0041 é😀 (a,b) [x] "),
        class_def(ClassId(2), "[Lint;"),
        class_def(ClassId(3), ""),
    ]);
    let signatures = [
        "(Lodd name(,);Lint;[[Lvoid;[J)[La b;",
        "",
        "no descriptor",
        "(V)V",
        "()V",
    ];
    for (at, signature) in signatures.iter().enumerate() {
        for class in 1..4 {
            let method = MethodId(10 * class + at as u64);
            events.push(Event::MethodDef(MethodDef {
                method,
                class: ClassId(class),
                name: nasty.into(),
                signature: (*signature).into(),
                ..Default::default()
            }));
        }
    }
    let methods: Vec<_> = events
        .iter()
        .filter_map(|e| match e {
            Event::MethodDef(e) => Some(e.method),
            _ => None,
        })
        .collect();
    events.extend(
        methods
            .iter()
            .zip(1..)
            .map(|(method, ticket)| enter(*method, ms(1), ticket, i64::from(ticket))),
    );
    let (log, _) = encoded(&events);
    let decoding = read(&log);
    assert!(decoding.is_clean(), "{:?}", decoding.remarks);
    let defined = |events: &[String]| -> Vec<String> {
        let is_def = |e: &&String| e.contains("Def(") || e.contains("note") || e.contains("empty");
        let mut found: Vec<String> = events.iter().filter(is_def).cloned().collect();
        found.sort_unstable();
        found
    };
    // The decoder renumbers class ids in the order of their use, which is the order here.
    assert_eq!(defined(&decoding.events), defined(&shown(&events)));
    assert_eq!(again(&log), log);
}

#[test]
fn the_time_zone_is_local_in_writing_and_understood_in_reading() {
    let mut events = opening();
    if let Event::Node(node) = &mut events[0] {
        node.timezone = -480;
    }
    let (log, dropped) = encoded(&events);
    assert!(log.starts_with("prf stm 2026-01-02 11:04:05.678\n"));
    assert_eq!(dropped, ["time zones (1)"]);
    let with_zone = log.replacen(".678\n", ".678 +08:00\n", 1);
    assert_eq!(read(&with_zone).events[..4], shown(&events)[..4]);
}

/// Tests that a strict reader refuses a log with these lines, and that a lenient one reads it with
/// a remark. Returns the lenient decoding.
fn refused(lines: &[&str], message: &str) -> Decoding {
    let head = EXAMPLE.split_inclusive('\n').take(28).collect::<String>();
    let log = head + &lines.concat();
    let mut decoder = jtrail_formats::tracelog::Decoder::strict();
    let mut rest = log.as_bytes();
    let error = loop {
        match jtrail_formats::Decode::step(&mut decoder, rest, true) {
            Ok(decoded) => {
                assert!(
                    !matches!(decoded.step, jtrail_formats::Step::End),
                    "accepted: {lines:?}"
                );
                rest = &rest[decoded.used..];
            }
            Err(error) => break error,
        }
    };
    assert_eq!(error.message, message);
    let decoding = read(&log);
    assert!(decoding.error.is_none());
    let (_, words) = message.split_once(": ").expect("the line");
    let is_it = |r: &Remark| r.severity == Severity::Fault && r.message.contains(words);
    let found = decoding.remarks.iter().any(is_it);
    assert!(found, "{message}: {:?}", decoding.remarks);
    decoding
}

#[test]
fn strict_readers_refuse_and_lenient_ones_report() {
    let fields = "fields that do not fit the record";
    refused(
        &["thr cpu 0x00000001 x 1\n"],
        &format!("line 29: thr cpu: {fields}"),
    );
    refused(
        &["sam str 0x1 1 0 2:1\n"],
        &format!("line 29: sam str: {fields}"),
    );
    refused(
        &["sam str 0x1 99999999999999 0 0:0\n"],
        &format!("line 29: sam str: {fields}"),
    );
    refused(
        &["sam mem 0x1 1 0x0:1\n"],
        &format!("line 29: sam mem: {fields}"),
    );
    refused(&["prf tps 1 2\n"], &format!("line 29: prf tps: {fields}"));
    refused(&["xyz\n"], "line 29: lines that begin like no record");
    refused(
        &["thr crt 0x2 0x1\n"],
        "line 29: thr crt: threads that exist already",
    );
    let d = refused(
        &["sam str 0x1 1 0 0:0 0x77\n"],
        "line 29: functions used before they have a name",
    );
    assert!(
        d.events
            .iter()
            .any(|e| e.contains("name: \"function 0x77\""))
    );
    let d = refused(
        &["thr cpu 0x9 1 1\n"],
        "line 29: threads used before their definition",
    );
    assert!(d.events.iter().any(|e| e.contains("name: \"thread 9\"")));
    let d = refused(
        &["sam mem 0x1 1 0x5:1:1\n"],
        "line 29: classes used before they have a name",
    );
    assert!(d.events.iter().any(|e| e.contains("name: \"class 0x5\"")));
    let depth = "line 31: sam str: depths that are not those of the stack; frames that fit stay";
    let d = refused(
        &[
            "sam str 0x1 1 0 0:0 0x0 0x1\n",
            "sam str 0x1 2 0 2:2 0x1\n",
            "sam str 0x1 3 0 1:2 0x0\n",
        ],
        depth,
    );
    let calls: Vec<_> = d
        .events
        .iter()
        .filter(|e| e.starts_with("MethodLeave"))
        .collect();
    assert_eq!(calls.len(), 2);
    let d = refused(
        &[
            "sam str 0x1 1 0 0:0 0x0 0x1\n",
            "sam str 0x1 2 0 2:2\n",
            "sam str 0x1 3 0 4:4 0x0\n",
            "sam str 0x1 4 0 2:5 0x0\n",
            "sam str 0x1 5 0 0:3 0x1\n",
        ],
        depth,
    );
    let calls = d
        .events
        .iter()
        .filter(|e| e.starts_with("MethodEnter") || e.starts_with("MethodLeave"));
    assert_eq!(calls.count(), 2 + 2 + 1);
    assert!(d.remarks.iter().any(|r| {
        r.message
            .contains("whose stack is not known (1, first in line 32)")
    }));
    refused(
        &["thr dst 0x2 0x1\n", "thr dst 0x1\n"],
        "line 30: thr dst: ends of threads that have ended",
    );
}

#[test]
fn foreign_spellings_are_read() {
    // Several blanks, carriage returns, hex digits of any case and width, blank lines, two fields
    // at the end of a thread, code after the name, instruction pointers, quotes in names, functions
    // without definition, and kinds of lines for which there is no event.
    let log = "\u{feff}prf stm 2026-01-02 03:04:05.678 +00:00\r\n\r\n\
        prf  cfg CollectionMethod Sampling\r\n\
        prf cfg LineTraceEnabled T\n\
        thr crt 0xAB 0x0\nthr aos 0x0 77\napd crf 0x1 0x4d 0x0 \"DefaultDomain\"\n\
        asm ldf 0x10 0x1 0x20 0x0 \"System.Private.CoreLib\"\n\
        mod ldf 0x20 0x7f00 0x10 0x00000000 \"C:\\usr\\corelib.dll\"\n\
        mod ata 0x20 0x10\n\
        cls ldf 0x30 0x0 0x20 0x2000002 0x0\ncls nam 0x0 \"Sys.\"odd\" List\"\n\
        fun inf 0x0 0x40 0x30 0x20 0x6000001 0x7F00AA:0x10 0x0:0x0:0x8 0x4:0x8:0x10\n\
        fun nam 0x0 \"Sys.List.Add\" \"void\" \"( int, Sys.List )\"\n\
        fun nam 0x1 \"<unmanaged>\" \"\" \"\"\n\
        jit cms 0x0 1 0x40\njit cmf 0x0 2 0x40 0x0\njit cmf 77 2 0x41 0x0\n\
        lin src 0x0 \"a.cs\"\nnew one 1 2 3\n\
        gch gcs 77 3 ? ttff\ngch gcf 77 4\n\
        sam str 0x0 5 2 0:0 0x0:0x7f00ab 0x1\nsam str 0x0 6 1 1:2:?\n\
        sam mem 0x0 7 0x0:1:24:0x7f00ab\n\
        thr dst 0xAB 0x0\n";
    let decoding = read(log);
    assert!(decoding.error.is_none());
    assert_eq!(
        decoding.count(Severity::Fault),
        0,
        "{:#?}",
        decoding.remarks
    );
    let reported: Vec<_> = decoding
        .remarks
        .iter()
        .map(|r| r.message.as_str())
        .collect();
    assert_eq!(
        reported,
        [
            "skipped: thr crt: ids that are not made of internal ones (1, first in line 5)",
            "skipped: asm ldf: ids that are not made of internal ones (1, first in line 8)",
            "skipped: mod ldf: base addresses (1, first in line 9)",
            "skipped: mod ldf: names that are not those of their assemblies (1, first in line 9)",
            "skipped: cls ldf: ids that are not made of internal ones (1, first in line 11)",
            "skipped: cls ldf: tokens that are not made of internal ids (1, first in line 11)",
            "skipped: fun inf: code maps of offsets in bytecode instead of lines (1, first in line 13)",
            "skipped: jit cms: records that no event holds (1, first in line 16)",
            "skipped: jit cmf: threads of the JVM's own work (2, first in line 17)",
            "skipped: jit cmf: compilations of functions that are not yet defined (1, first in line 18)",
            "skipped: lin src: records that no event holds (1, first in line 19)",
            "skipped: new one: unknown records (1, first in line 20)",
            "skipped: gch gcs: threads of the JVM's own work (1, first in line 21)",
            "gch gcs: generations, read as young or full (1, first in line 21)",
            "skipped: gch gcf: threads of the JVM's own work (1, first in line 22)",
            "skipped: sam str: instruction pointers (2, first in line 23)",
            "skipped: sam mem: instruction pointers (1, first in line 25)",
            "skipped: thr dst: ids that are not made of internal ones (1, first in line 26)",
        ]
    );
    let has = |text: &str| {
        assert!(
            decoding.events.iter().any(|e| e.contains(text)),
            "{text}: {:#?}",
            decoding.events
        )
    };
    has("pid: 77");
    has("name: \"DefaultDomain\"");
    has("name: \"Sys.\\\"odd\\\" List\"");
    has("loader: \"System.Private.CoreLib\"");
    has("name: \"Add\", signature: \"(ILSys/List;)V\"");
    has("class: ClassId(8589934592), name: \"<unmanaged>\"");
    has("os_id: 77");
    has("address: 8323242, size: 16, ranges: []");
    has("generation: Young");
    let samples: Vec<_> = decoding
        .events
        .iter()
        .filter(|e| e.starts_with("Sample("))
        .collect();
    assert_eq!(samples.len(), 2);
    assert!(samples[0].contains("ticks: Ticks(2), stack: [Frame { method: \"<unmanaged>\""));
    // The events can be encoded again, and the result is sound.
    let events: Vec<u8> = {
        let mut out = Vec::new();
        let mut encoder = Encoder::default();
        let mut reader = jtrail_formats::Reader::new(log.as_bytes()).expect("a trace");
        assert_eq!(reader.format(), Format::TraceLog);
        reader
            .for_each(|item| {
                if let jtrail_formats::Item::Event { event, .. } = item {
                    encoder.event(&event, &mut out);
                }
                std::ops::ControlFlow::<()>::Continue(())
            })
            .expect("a whole trace");
        encoder.end(&mut out);
        out
    };
    let ours = String::from_utf8(events).expect("UTF-8");
    check_log(&ours);
    assert!(
        ours.contains("sam str 0x00000001 5 2 0:0 0x0 0x1\n"),
        "{ours}"
    );
}

#[test]
fn a_trace_may_lack_its_begin() {
    let tail = EXAMPLE.split_inclusive('\n').skip(20).collect::<String>();
    let decoding = read(&tail);
    assert!(decoding.error.is_none());
    assert_eq!(
        decoding.only(Severity::Fault).1,
        "no start time in the first line (1, first in line 1)"
    );
    for nothing in ["", "\n\n", "hello world\nprofile\n", "prf"] {
        let (offset, message) = (0, "no line of it is a record of this format");
        let decoding = read(nothing);
        assert_eq!(decoding.refused(), (offset, message), "{nothing:?}");
    }
    // A last line without its end is read if it is a complete record. The trace counts as truncated
    // nevertheless.
    let whole = EXAMPLE.trim_end();
    let decoding = read(whole);
    assert_eq!(decoding.events, read(EXAMPLE).events);
    assert_eq!(
        decoding.only(Severity::Truncated).1,
        "the trace is truncated: line 39 has no end; it is read nevertheless"
    );
    let decoding = read(&whole[..whole.len() - 12]);
    assert_eq!(
        decoding.only(Severity::Truncated).1,
        "the trace is truncated: line 39 has no end; it is not read"
    );
    assert_eq!(decoding.count(Severity::Fault), 0);
}

/// A line is one event, however many ticks it counts.
#[test]
fn a_count_of_ticks_is_one_event() {
    let log = EXAMPLE.replace("Instrumentation", "Sampling");
    let head = log.split_inclusive('\n').take(28).collect::<String>();
    let line = "sam str 0x00000001 1 18446744073709551615 0:0 0x0\n";
    let found = |log: &str| {
        let decoding = read(log);
        assert_eq!(decoding.count(Severity::Fault), 0, "{decoding:#?}");
        let is_sample = |event: &String| event.starts_with("Sample(");
        let found: Vec<_> = decoding.events.into_iter().filter(is_sample).collect();
        found
    };
    let once = found(&(head.clone() + line));
    assert_eq!(once.len(), 1, "{once:?}");
    assert!(once[0].contains("Ticks(18446744073709551615)"), "{once:?}");
    let written = again(&(head.clone() + line));
    assert!(written.ends_with(line), "{written}");
    assert_eq!(found(&written), once);
    // Ticks beyond the largest count start another line.
    let more = head + line + "sam str 0x00000001 1 3 1:1\n";
    let written = again(&more);
    assert!(
        written.ends_with("18446744073709551615 0:0 0x0\nsam str 0x00000001 1 3 1:1\n"),
        "{written}"
    );
    assert_eq!(again(&written), written);
}

/// Consecutive samples of one stack that come in several lines are encoded as one line.
#[test]
fn a_run_in_pieces_is_written_as_one() {
    let stack = ["app.Main.work(I)I", "app.Main.main([Ljava/lang/String;)V"];
    let run = |runs: &[u64]| {
        let mut events = [
            opening(),
            vec![option("events", "samples"), option("interval", "20ms")],
            definitions(),
        ]
        .concat();
        events.extend(runs.iter().map(|ticks| samples(20, *ticks, &stack)));
        encoded(&events).0
    };
    let whole = run(&[6]);
    assert!(
        whole.contains("sam str 0x00000001 20 6 0:0 0x0 0x1\n"),
        "{whole}"
    );
    for pieces in [&[1, 1, 1, 1, 1, 1][..], &[4, 2], &[1, 5]] {
        assert_eq!(run(pieces), whole);
    }
    assert_eq!(again(&whole), whole);
}

/// Dropped samples are counted one by one, even if an event held several of them.
#[test]
fn samples_without_a_place_are_counted() {
    let mut events = [opening(), definitions()].concat();
    events.extend([
        enter(MAIN, ms(1), 1, 1),
        samples(2, 5, &[]),
        samples(3, u64::MAX - 5, &[]),
        samples(4, 7, &[]),
    ]);
    let dropped = encoded(&events).1;
    let samples = format!("samples ({})", u64::MAX);
    assert!(dropped.contains(&samples), "{dropped:?}");
}

/// A dropped part of an event is not counted as a dropped event.
#[test]
fn events_and_parts_of_events_are_counted_apart() {
    let mut events = [opening(), definitions()].concat();
    events.extend([
        enter(MAIN, Timestamp(ms(1).0 + 1), 1, 1),
        sample(2, &["a.b()V"]),
        leave(MAIN, ms(2), 1),
    ]);
    let mut encoder = Encoder::default();
    let mut out = Vec::new();
    events
        .iter()
        .for_each(|event| encoder.event(event, &mut out));
    encoder.end(&mut out);
    // Dropped events: the sample, and the method that nothing refers to.
    assert_eq!(encoder.dropped_events(), 2);
    let all: u64 = encoder.dropped().iter().map(|kind| kind.count).sum();
    // Dropped parts of events: the thread's name, the time of its start, and a fraction of a time.
    assert_eq!(all, 5);
}
