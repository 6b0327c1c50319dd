use super::TraceEvents;
use crate::json::reader::{Value, read};
use crate::testing::*;
use crate::{CallFilter, Target};
use jtrail_model::*;

fn export(events: &[Event<'_>]) -> Value {
    read(&encode(TraceEvents::default(), events))
}

/// Returns the events as `phase tid time name {args}` and further fields, without those of a phase.
fn events(trace: &Value, without: &str) -> Vec<String> {
    let fields = |event: &Value| {
        let name = event.text("name");
        let mut line = format!("{} {} {name}", event.text("ph"), event.text("tid"));
        for field in ["ts", "tts", "cat", "id", "bp", "s"] {
            if event.get(field).is_some() {
                line += &format!(" {field}={}", event.text(field));
            }
        }
        if let Some(Value::Object(args)) = event.get("args") {
            let args = args.iter().map(|(name, value)| match value {
                Value::Plain(text) | Value::Text(text) => format!(" {name}:{text}"),
                other => format!(" {name}:{other:?}"),
            });
            line.extend(args);
        }
        line
    };
    let all = trace.elements("traceEvents").iter();
    let all = all.filter(|event| event.text("ph") != without);
    all.map(fields).collect()
}

/// Returns the events but metadata, as [`events`] does.
fn without_metadata(events: &[Event<'_>]) -> Vec<String> {
    self::events(&export(events), "M")
}

#[test]
fn calls_have_begins_and_ends_in_their_threads() {
    let trace = export(&[
        process(71),
        thread(5, 0, "main", "main"),
        thread(0, 0, "", "VirtualThreads"),
        thread(u64::MAX, 0, "far", "main"),
        class(1, "a.B"),
        method(1, "outer"),
        method(2, "inner"),
        enter(5, 1_000, 1, 1),
        enter(5, 2_007, 2, 2),
        leave(5, 2_090, 2, 2),
        enter(0, 3_000, 2, 1),
        enter(u64::MAX, 1_234_567_890_123, 1, 1),
        leave(5, 1_234_567_890_124, 1, 1),
    ]);
    let expected = [
        "M  process_name name:java",
        "C  Live ts=0.000 threads:1",
        "C  Live ts=0.000 threads:2",
        "C  Live ts=0.000 threads:3",
        "M 5 thread_name name:main",
        "M 5 thread_sort_index sort_index:1",
        "B 5 a.B.outer(int) ts=1.000",
        "B 5 a.B.inner(int) ts=2.007",
        "E 5 a.B.inner(int) ts=2.090",
        "M 2147483649 thread_name name:virtual thread 0",
        "M 2147483649 thread_sort_index sort_index:2",
        "B 2147483649 a.B.inner(int) ts=3.000",
        "M 2147483650 thread_name name:far",
        "M 2147483650 thread_sort_index sort_index:3",
        "B 2147483650 a.B.outer(int) ts=1234567890.123",
        "E 5 a.B.outer(int) ts=1234567890.124",
        // Open at the end.
        "E 2147483649 a.B.inner(int) ts=1234567890.124",
        "E 2147483650 a.B.outer(int) ts=1234567890.124",
    ];
    assert_eq!(events(&trace, ""), expected);
    let pids = trace.elements("traceEvents").iter();
    assert!(pids.map(|event| event.text("pid")).all(|pid| pid == "71"));
    assert_eq!(trace.text("displayTimeUnit"), "ns");
    let data = trace.get("otherData").expect("otherData");
    assert_eq!(data.text("start"), START.to_string());
}

#[test]
fn an_end_tells_cpu_time_and_exceptions() {
    let cpu = |event: Event<'static>, cpu| match event {
        Event::MethodEnter(e) => Event::MethodEnter(MethodEnter {
            cpu_time: Duration(cpu),
            ..e
        }),
        Event::MethodLeave(e) => Event::MethodLeave(MethodLeave {
            cpu_time: Duration(cpu),
            by_exception: true,
            ..e
        }),
        other => other,
    };
    let lines = without_metadata(&[
        cpu(enter(1, 10, 7, 1), 5_001),
        cpu(leave(1, 20, 7, 1), 5_009),
    ]);
    let expected = [
        "B 1 method-7 ts=0.000 tts=5.001",
        "E 1 method-7 ts=0.010 tts=5.009 ended by:an exception",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn waits_have_details_and_flows_from_owners() {
    let blocked = |thread, ns, owner| {
        Event::MonitorContendedEnter(MonitorContendedEnter {
            thread: ThreadId(thread),
            time: time(ns),
            object: ObjectId(50),
            owner: ThreadId(owner),
            stack: Vec::new(),
        })
    };
    let entered = |thread, ns| {
        Event::MonitorContendedEntered(MonitorContendedEntered {
            thread: ThreadId(thread),
            time: time(ns),
            object: ObjectId(50),
            stack: Vec::new(),
        })
    };
    let lines = without_metadata(&[
        class(3, "a.Lock"),
        Event::ObjectDef(ObjectDef {
            object: ObjectId(50),
            class: ClassId(3),
            ..ObjectDef::default()
        }),
        Event::ThreadName(ThreadName {
            thread: ThreadId(1),
            name: "owner".into(),
            ..ThreadName::default()
        }),
        enter(1, 0, 1, 1),
        blocked(2, 10, 1),
        entered(2, 20),
        leave(1, 30, 1, 1),
        // Nothing of the owner is open.
        blocked(2, 40, 1),
        entered(2, 41),
        Event::MonitorWait(MonitorWait {
            thread: ThreadId(2),
            time: time(50),
            object: ObjectId(1 << 60),
            timeout_ms: 20,
            ..MonitorWait::default()
        }),
        Event::ThreadPark(ThreadPark {
            thread: ThreadId(1),
            time: time(60),
            object: ObjectId(50),
            ..ThreadPark::default()
        }),
    ]);
    let expected = [
        "B 1 method-1 ts=0.000",
        "B 2 blocked on a monitor ts=0.010 object:50 class:a.Lock owner:owner",
        "s 1 monitor ts=0.010 cat=monitor id=1",
        "f 2 monitor ts=0.010 cat=monitor id=1 bp=e",
        "E 2 blocked on a monitor ts=0.020",
        "E 1 method-1 ts=0.030",
        "B 2 blocked on a monitor ts=0.040 object:50 class:a.Lock owner:owner",
        "E 2 blocked on a monitor ts=0.041",
        "B 2 Object.wait ts=0.050 object:1152921504606846976 timeout_ms:20",
        "B 1 parked ts=0.060 blocker:50 class:a.Lock",
        "E 1 parked ts=0.060",
        "E 2 Object.wait ts=0.060",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn instants_collections_and_counters_are_written() {
    let frame = |method: &'static str, line| Frame {
        method: method.into(),
        line,
    };
    let lines = without_metadata(&[
        alloc(1, 15_000_007, 100),
        class(2, "a.Oops"),
        Event::ExceptionThrow(ExceptionThrow {
            thread: ThreadId(1),
            time: time(15_000_008),
            class: ClassId(2),
            stack: vec![frame("a.B.m()V", 12), frame("a.B.n()V", 0)],
            ..ExceptionThrow::default()
        }),
        Event::GcStart(GcStart {
            time: time(16_000_000),
        }),
        Event::GcDetail(GcDetail {
            time: time(16_000_001),
            collector: "G1".into(),
            cause: "System.gc()".into(),
            generation: Generation::Full,
        }),
        Event::GcFinish(GcFinish {
            time: time(16_500_001),
            used_space: 4096,
            ..GcFinish::default()
        }),
        Event::ThreadCpu(ThreadCpu {
            thread: ThreadId(1),
            time: time(17_000_000),
            cpu_time: Duration(9),
        }),
        mark("m"),
    ]);
    let expected = [
        "i 1 throw a.Oops ts=0.001 s=t stack:\
         Array([Text(\"a.B.m()V:12\"), Text(\"a.B.n()V\")])",
        "B 2147483647 full collection ts=999.993 \
         collector:G1 cause:System.gc() used:4096",
        "E 2147483647 full collection ts=1499.994",
        "C  Heap used ts=1499.994 bytes:4096",
        "C  CPU time of thread-1 (1) ts=1999.993 ns:9",
        "i  m ts=1999.993 s=p",
        // The interval began before the trace did.
        "C  Allocation rate ts=0.000 bytes per second:10000",
        "C  Allocation rate ts=4999.993 bytes per second:0",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn the_first_time_is_that_of_the_trace_with_a_minimum_too() {
    let filter = CallFilter::new(Duration(100), None, None);
    let trace = encode_selected(
        filter,
        TraceEvents::default(),
        &[
            enter(1, 0, 1, 1),
            enter(2, 10, 2, 1),
            leave(2, 150, 2, 1),
            leave(1, 200, 1, 1),
        ],
    );
    let expected = [
        "B 2 method-2 ts=0.010",
        "E 2 method-2 ts=0.150",
        "B 1 method-1 ts=0.000",
        "E 1 method-1 ts=0.200",
    ];
    assert_eq!(events(&read(&trace), "M"), expected);
}

#[test]
fn odd_names_are_unharmed() {
    let long = "x".repeat(1 << 16);
    for name in ODD_NAMES.into_iter().chain([long.as_str()]) {
        let method = Event::MethodDef(MethodDef {
            method: MethodId(1),
            name: name.into(),
            class: ClassId(1),
            ..MethodDef::default()
        });
        let label = Event::ThreadName(ThreadName {
            thread: ThreadId(1),
            name: name.into(),
            ..ThreadName::default()
        });
        let trace = export(&[
            class(1, "a.B"),
            method,
            label,
            mark(name),
            enter(1, 0, 1, 1),
        ]);
        let thread = match name {
            "" => "thread 1",
            name => name,
        };
        let expected = [
            format!("i  {name} ts=0.000 s=p"),
            format!("M 1 thread_name name:{thread}"),
            "M 1 thread_sort_index sort_index:1".to_owned(),
            format!("B 1 a.B.{name} ts=0.000"),
            format!("E 1 a.B.{name} ts=0.000"),
        ];
        assert_eq!(events(&trace, ""), expected);
    }
}

#[test]
fn an_export_without_events_is_complete() {
    let trace = export(&[]);
    assert_eq!(trace.elements("traceEvents"), []);
    assert_eq!(
        trace.get("otherData").expect("otherData").get("start"),
        None
    );
}

#[test]
fn the_size_counts_bytes() {
    let mut encoder = Target::Chrome.encoder(crate::Options::default());
    let mut out = Vec::new();
    encoder.begin(&mut out);
    encoder.event(&enter(1, 0, 1, 1), &mut out);
    assert_eq!(encoder.size(), out.len() as u64);
    encoder.end(&mut out);
    assert_eq!(encoder.size(), out.len() as u64);
}
