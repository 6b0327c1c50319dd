use super::Builder;
use super::json::{Json, decimal};
use crate::testing::*;
use flate2::read::GzDecoder;
use jtrail_model::*;
use serde_json::{Value, json};
use std::io::Read;

/// Returns the text of a gzip file.
fn unpack(bytes: &[u8]) -> String {
    let mut text = String::new();
    let read = GzDecoder::new(bytes).read_to_string(&mut text);
    read.expect("a gzip file");
    text
}

fn profile(events: &[Event<'_>]) -> Value {
    let text = unpack(&encode(Builder::default(), events));
    serde_json::from_str(&text).expect("JSON")
}

/// Returns a number of ms in ns.
fn ns(ms: &Value) -> i64 {
    (ms.as_f64().expect("a number") * 1e6).round() as i64
}

/// Returns a time of the profile as the distance to [`START`] in ns.
fn since_start(profile: &Value, ms: &Value) -> i64 {
    let start = profile["meta"]["startTime"].as_i64().expect("a number");
    start * 1_000_000 + ns(ms) - START
}

fn rows(table: &Value) -> usize {
    let length = table["length"].as_u64().expect("a length") as usize;
    for (name, column) in table.as_object().expect("a table") {
        if let Value::Array(items) = column {
            assert_eq!(items.len(), length, "{name}");
        }
    }
    length
}

fn index(value: &Value) -> usize {
    value.as_u64().expect("an index") as usize
}

fn thread_named<'p>(profile: &'p Value, name: &str) -> &'p Value {
    let threads = profile["threads"].as_array().expect("threads");
    let mut named = threads.iter().filter(|thread| thread["name"] == name);
    named.next().expect("a thread")
}

/// Returns the frames of a stack, the outermost first, as `package!function:line`, and the category
/// of the innermost one.
fn stack(profile: &Value, stack: &Value) -> (String, String) {
    let shared = &profile["shared"];
    let text = |number: &Value| {
        shared["stringArray"][index(number)]
            .as_str()
            .expect("a text")
    };
    let mut frames = Vec::new();
    let mut category = None;
    let mut at = stack.as_u64().map(|number| number as usize);
    while let Some(number) = at {
        let frame = index(&shared["stackTable"]["frame"][number]);
        let function = index(&shared["frameTable"]["func"][frame]);
        let name = text(&shared["funcTable"]["name"][function]);
        let package = shared["funcTable"]["resource"][function].as_u64();
        let package = package.map(|n| text(&shared["resourceTable"]["name"][n as usize]));
        let package = package.map(|name| format!("{name}!")).unwrap_or_default();
        let line = shared["frameTable"]["line"][frame].as_u64();
        let line = line.map(|line| format!(":{line}")).unwrap_or_default();
        frames.push(format!("{package}{name}{line}"));
        let of_frame = index(&shared["frameTable"]["category"][frame]);
        let of_frame = &profile["meta"]["categories"][of_frame]["name"];
        category.get_or_insert(of_frame.as_str().expect("a name").to_owned());
        let offset = index(&shared["stackTable"]["prefixOffset"][number]);
        at = (offset > 0).then(|| number - offset);
    }
    frames.reverse();
    (frames.join(" "), category.unwrap_or_default())
}

/// Returns the samples of a thread as `time category weight: frames`.
fn samples(profile: &Value, name: &str) -> Vec<String> {
    let table = &thread_named(profile, name)["samples"];
    assert_eq!(table["weightType"], "tracing-ms");
    let mut time = 0;
    let line = |row| {
        time += ns(&table["timeDeltas"][row]);
        let (frames, category) = stack(profile, &table["stack"][row]);
        let start = profile["meta"]["startTime"].as_i64().expect("a number");
        let time = time + start * 1_000_000 - START;
        let weight = ns(&table["weight"][row]);
        format!("{time} {category} {weight}: {frames}")
    };
    (0..rows(table)).map(line).collect()
}

/// Returns the markers of a thread as `begin end name category {data}`, with texts for their
/// numbers. A moment has no end.
fn markers(profile: &Value, name: &str) -> Vec<String> {
    let table = &thread_named(profile, name)["markers"];
    let text = |number: &Value| &profile["shared"]["stringArray"][index(number)];
    let line = |row: usize| {
        let mut data = table["data"][row].clone();
        let schemas = profile["meta"]["markerSchema"].as_array().expect("schemas");
        let mut schemas = schemas
            .iter()
            .filter(|schema| schema["name"] == data["type"]);
        let schema = schemas.next().expect("a schema");
        for field in schema["fields"].as_array().expect("fields") {
            let key = field["key"].as_str().expect("a key");
            if field["format"] == "unique-string" && !data[key].is_null() {
                data[key] = text(&data[key]).clone();
            }
        }
        if let Some(cause) = data.get("cause") {
            data["cause"] = json!(stack(profile, &cause["stack"]).0);
        }
        let fields = data.as_object_mut().expect("data");
        fields.remove("type");
        fields.remove("color");
        let (start, end) = (&table["startTime"][row], &table["endTime"][row]);
        let end = match table["phase"][row].as_u64() {
            Some(1) => since_start(profile, end).to_string(),
            _ => "-".to_owned(),
        };
        let category = index(&table["category"][row]);
        let category = &profile["meta"]["categories"][category]["name"];
        let name = text(&table["name"][row]);
        let start = since_start(profile, start);
        format!("{start} {end} {name} {category} {data}").replace('"', "'")
    };
    (0..rows(table)).map(line).collect()
}

/// Returns the changes of a counter, with their times.
fn counter(profile: &Value, name: &str) -> Vec<(i64, f64)> {
    let counters = profile["counters"].as_array().expect("counters");
    let mut named = counters.iter().filter(|c| c["display"]["label"] == name);
    let table = &named.next().expect("a counter")["samples"];
    let row = |row: usize| {
        let time = since_start(profile, &table["time"][row]);
        (time, table["count"][row].as_f64().expect("a number"))
    };
    (0..rows(table)).map(row).collect()
}

fn stack_frame(method: &'static str, line: i64) -> Frame<'static> {
    let method = method.into();
    Frame { method, line }
}

/// A thread that lives for 10 s, so that few stretches are long.
fn long_life() -> Vec<Event<'static>> {
    vec![
        thread(9, 0, "other", "main"),
        enter(9, 0, 9, 1),
        leave(9, 10_000_000_000, 9, 1),
    ]
}

#[test]
fn stretches_of_calls_are_samples() {
    let mut events = vec![
        thread(1, 5, "main", "main"),
        class(1, "a.b.C"),
        class(2, "java.util.List"),
        method(1, "outer"),
        method(2, "inner"),
        Event::MethodDef(MethodDef {
            method: MethodId(3),
            class: ClassId(2),
            name: "size".into(),
            signature: "()I".into(),
            ..MethodDef::default()
        }),
        enter(1, 10, 1, 1),
        enter(1, 20, 2, 2),
        leave(1, 30, 2, 2),
        // No time passes between these.
        enter(1, 30, 2, 3),
        leave(1, 33, 2, 3),
        enter(1, 40, 3, 4),
        leave(1, 45, 3, 4),
        leave(1, 50, 1, 1),
        enter(1, 1_234_567_890, 2, 5),
        leave(1, 1_234_567_891, 2, 5),
    ];
    events.extend(long_life());
    let profile = profile(&events);
    let expected = [
        "5 Idle 0: (no call)",
        "10 Application 10: a.b!C.outer(int)",
        "20 Application 13: a.b!C.outer(int) a.b!C.inner(int)",
        "33 Application 7: a.b!C.outer(int)",
        "40 JDK 5: a.b!C.outer(int) java.util!List.size()",
        "45 Application 5: a.b!C.outer(int)",
        // A long stretch.
        "50 Idle 0: (no call)",
        "1234567889 Idle 0: (no call)",
        "1234567890 Application 1: a.b!C.inner(int)",
        "1234567891 Idle 0: (no call)",
    ];
    assert_eq!(samples(&profile, "main"), expected);
    let other = [
        "0 Application 9999999999: method-9",
        "9999999999 Application 1: method-9",
        "10000000000 Idle 0: (no call)",
    ];
    assert_eq!(samples(&profile, "other"), other);
    let process = [
        "0 Idle 0: (no call)",
        "9999999999 Idle 0: (no call)",
        "10000000000 Idle 0: (no call)",
    ];
    assert_eq!(samples(&profile, "JVM"), process);
}

#[test]
fn waits_are_categories_of_their_calls_and_markers() {
    let wait = |time, object| {
        Event::MonitorWait(MonitorWait {
            thread: ThreadId(2),
            time,
            object: ObjectId(object),
            timeout_ms: 7,
            ..MonitorWait::default()
        })
    };
    let waited = |time, object| {
        Event::MonitorWaited(MonitorWaited {
            thread: ThreadId(2),
            time,
            object: ObjectId(object),
            ..MonitorWaited::default()
        })
    };
    let mut events = vec![
        thread(1, 0, "", "VirtualThreads"),
        thread(2, 0, "worker", "main"),
        class(1, "a.B"),
        method(1, "m"),
        Event::ObjectDef(ObjectDef {
            object: ObjectId(5),
            class: ClassId(1),
            ..ObjectDef::default()
        }),
        enter(2, 10, 1, 1),
        Event::MonitorContendedEnter(MonitorContendedEnter {
            thread: ThreadId(2),
            time: time(20),
            object: ObjectId(5),
            owner: ThreadId(1),
            stack: Vec::new(),
        }),
        Event::MonitorContendedEntered(MonitorContendedEntered {
            thread: ThreadId(2),
            time: time(50),
            object: ObjectId(5),
            stack: Vec::new(),
        }),
        wait(time(60), 5),
        waited(time(61), 5),
        leave(2, 70, 1, 1),
        Event::ThreadPark(ThreadPark {
            thread: ThreadId(2),
            time: time(75),
            ..ThreadPark::default()
        }),
        Event::ThreadUnpark(ThreadUnpark {
            thread: ThreadId(2),
            time: time(95),
        }),
    ];
    events.extend(long_life());
    let profile = profile(&events);
    let expected = [
        "0 Idle 0: (no call)",
        "10 Application 10: a!B.m(int)",
        "20 Blocked on a monitor 30: a!B.m(int)",
        "50 Application 10: a!B.m(int)",
        "60 Waiting 1: a!B.m(int)",
        "61 Application 9: a!B.m(int)",
        "70 Idle 0: (no call)",
        "75 Waiting 20: Parked",
        "95 Idle 0: (no call)",
    ];
    assert_eq!(samples(&profile, "worker"), expected);
    let expected = [
        "20 50 'Blocked on a monitor' 'Blocked on a monitor' \
         {'cause':'a!B.m(int)','class':'a.B','object':'5','owner':'virtual thread 1'}",
        "60 61 'Object.wait' 'Waiting' {'cause':'a!B.m(int)','class':'a.B','object':'5','timeout':7}",
        "75 95 'Parked' 'Waiting' {}",
    ];
    assert_eq!(markers(&profile, "worker"), expected);
    // The frames of a call are of one function, so that its self time includes its waits.
    let functions = rows(&profile["shared"]["funcTable"]);
    assert_eq!(functions, "(no call), m, Parked, 9".split(", ").count());
}

#[test]
fn exceptions_and_samples_are_markers() {
    let events = [
        thread(1, 0, "main", "main"),
        class(2, "a.Oops"),
        Event::ExceptionThrow(ExceptionThrow {
            thread: ThreadId(1),
            time: time(33),
            class: ClassId(2),
            object: ObjectId(8),
            stack: vec![
                stack_frame("a.B.m(ILa/C;)V", 12),
                stack_frame("a.B.n()V", -2),
            ],
        }),
        Event::ExceptionCatch(ExceptionCatch {
            thread: ThreadId(1),
            time: time(34),
            class: ClassId(2),
            object: ObjectId(8),
            frame: stack_frame("a.B.n()V", 7),
        }),
        Event::Sample(Sample {
            thread: ThreadId(1),
            time: time(40),
            state: ThreadState::Blocked,
            ticks: Ticks::new(3).expect("not 0"),
            stack: vec![stack_frame("odd", 1)],
        }),
    ];
    let expected = [
        "33 - 'Throw' 'Other' {'cause':'a!B.n() a!B.m(int, C):12','class':'a.Oops','object':'8'}",
        "34 - 'Catch' 'Other' {'cause':'a!B.n():7','class':'a.Oops','object':'8'}",
        "40 - 'Sample' 'Other' {'cause':'odd:1','count':3,'state':'blocked'}",
    ];
    let profile = profile(&events);
    assert_eq!(markers(&profile, "main"), expected);
    assert_eq!(samples(&profile, "main"), [""; 0]);
}

#[test]
fn the_process_has_collections_marks_and_counters() {
    let mark = |body: &'static str| Event::Custom(Custom { body: body.into() });
    let cpu = |ns, cpu| {
        Event::ProcessCpu(ProcessCpu {
            time: time(ns),
            cpu_time: Duration(cpu),
        })
    };
    let events = [
        Event::ProcessCreate(Box::new(ProcessCreate {
            pid: 42,
            executable: "/bin/java".into(),
            ..ProcessCreate::default()
        })),
        thread(1, 0, "main", "main"),
        alloc(1, 1, 100),
        alloc(1, 2, 50),
        cpu(10, 5_000),
        alloc(1, 25_000_000, 8),
        Event::GcStart(GcStart {
            time: time(30_000_000),
        }),
        Event::GcDetail(GcDetail {
            time: time(30_000_001),
            collector: "G1".into(),
            cause: "System.gc()".into(),
            generation: Generation::Full,
        }),
        Event::GcFinish(GcFinish {
            time: time(31_000_000),
            used_space: 4096,
            ..GcFinish::default()
        }),
        mark("hello"),
        cpu(40_000_010, 20_005_000),
        thread(2, 50_000_000, "second", "main"),
    ];
    let profile = profile(&events);
    let expected = [
        "30000000 31000000 'Garbage collection' 'Garbage collection' \
         {'collector':'G1','generation':'full collection','reason':'System.gc()','used':4096}",
        "31000000 - 'Mark' 'Other' {'text':'hello'}",
    ];
    assert_eq!(markers(&profile, "/bin/java"), expected);
    let expected = [
        "0 Idle 0: (no call)",
        "29999999 Idle 0: (no call)",
        "30000000 Garbage collection 999999: full collection System.gc()",
        "30999999 Garbage collection 1: full collection System.gc()",
        "31000000 Idle 0: (no call)",
        "49999999 Idle 0: (no call)",
        "50000000 Idle 0: (no call)",
    ];
    assert_eq!(samples(&profile, "/bin/java"), expected);
    let rates = [
        (0, 0.0),
        (10_000_000, 150.0),
        (20_000_000, 0.0),
        (30_000_000, 8.0),
    ];
    assert_eq!(counter(&profile, "Allocation rate"), rates);
    let used = [(31_000_000, 0.0), (31_000_000, 4096.0), (50_000_000, 0.0)];
    assert_eq!(counter(&profile, "Heap used"), used);
    // Half a processor: 50 % in each of 40 ms.
    assert_eq!(
        counter(&profile, "CPU of the process"),
        [(10, 0.0), (40_000_010, 2000.0)]
    );
    let threads = [(0, 0.0), (0, 1.0), (50_000_000, 0.0), (50_000_000, 1.0)];
    assert_eq!(counter(&profile, "Live threads"), threads);
    let allocations = &thread_named(&profile, "main")["nativeAllocations"];
    assert_eq!(rows(allocations), 2);
    assert_eq!(allocations["weight"], json!([150, 8]));
    assert_eq!(allocations["stack"], json!([null, null]));
    assert_eq!(ns(&allocations["time"][1]), 25_000_000);
}

#[test]
fn allocations_have_the_stacks_of_their_calls() {
    let events = [
        class(1, "a.B"),
        method(1, "m"),
        method(2, "n"),
        enter(1, 0, 1, 1),
        alloc(1, 1, 16),
        enter(1, 2, 2, 2),
        alloc(1, 3, 24),
        leave(1, 4, 2, 2),
        alloc(1, 5, 8),
        alloc(1, 6, 8),
        leave(1, 9, 1, 1),
    ];
    let profile = profile(&events);
    let table = &thread_named(&profile, "thread-1")["nativeAllocations"];
    let row = |row: usize| {
        (
            stack(&profile, &table["stack"][row]).0,
            table["weight"][row].as_i64(),
        )
    };
    let found: Vec<_> = (0..rows(table)).map(row).collect();
    let row = |frames: &str, bytes| (frames.to_owned(), Some(bytes));
    let expected = [
        row("a!B.m(int)", 16),
        row("a!B.m(int) a!B.n(int)", 24),
        row("a!B.m(int)", 16),
    ];
    assert_eq!(found, expected);
    assert_eq!(table["weightType"], "bytes");
}

#[test]
fn sums_move_time_from_their_callers() {
    let begin = |method, calls, time| {
        Event::AggregatedEnter(AggregatedEnter {
            thread: ThreadId(1),
            method: MethodId(method),
            calls,
            base_time: Duration(time),
            ..AggregatedEnter::default()
        })
    };
    let end = |method| {
        Event::AggregatedLeave(AggregatedLeave {
            thread: ThreadId(1),
            method: MethodId(method),
        })
    };
    let mut events = vec![
        thread(1, 0, "main", "main"),
        class(1, "a.B"),
        method(1, "outer"),
        method(2, "short"),
        enter(1, 0, 1, 1),
        // Calls of a method that is open.
        begin(2, 3, 30),
        end(2),
        leave(1, 100, 1, 1),
        // Calls of a method that is over: the negative time stands for it.
        begin(1, 0, -1),
        begin(2, 5, 40),
        end(2),
        end(1),
    ];
    events.extend(long_life());
    let expected = [
        "0 Application 30: a!B.outer(int) a!B.short(int)",
        "0 Application -30: a!B.outer(int)",
        "0 Application 100: a!B.outer(int)",
        "100 Application 40: a!B.outer(int) a!B.short(int)",
        "100 Application -40: a!B.outer(int)",
        "100 Idle 0: (no call)",
    ];
    assert_eq!(samples(&profile(&events), "main"), expected);
}

#[test]
fn threads_have_their_times_and_an_order() {
    let start = |id, ns, name| thread(id, ns, name, "main");
    let events = [
        start(1, 0, "nothing"),
        start(2, 0, "only waits"),
        Event::ThreadPark(ThreadPark {
            thread: ThreadId(2),
            time: time(1),
            ..ThreadPark::default()
        }),
        start(3, 2_000_000, "calls"),
        enter(3, 3_000_000, 1, 1),
        Event::TracePause(TracePause {
            time: time(3_500_000),
        }),
        Event::TraceResume(TraceResume {
            time: time(3_600_000),
        }),
        Event::ThreadEnd(ThreadEnd {
            thread: ThreadId(3),
            time: time(4_000_000),
        }),
    ];
    let profile = profile(&events);
    let names = profile["threads"].as_array().expect("threads").iter();
    let names: Vec<_> = names.map(|thread| thread["name"].as_str()).collect();
    assert_eq!(names, [Some("JVM"), Some("calls"), Some("only waits")]);
    let thread = &profile["threads"][1];
    assert_eq!(ns(&thread["registerTime"]), 2_000_000);
    assert_eq!(ns(&thread["unregisterTime"]), 4_000_000);
    assert_eq!(thread["tid"], 3);
    let pause = json!([{"startTime": 3.5, "endTime": 3.6, "reason": "profiler-paused"}]);
    assert_eq!(thread["pausedRanges"], pause);
    let meta = &profile["meta"];
    assert_eq!(meta["initialVisibleThreads"], json!([0, 1]));
    assert_eq!(meta["initialSelectedThreads"], json!([1]));
    assert_eq!(meta["preprocessedProfileVersion"], 66);
    assert_eq!(meta["startTime"], START / 1_000_000);
}

#[test]
fn an_empty_trace_is_a_profile() {
    let profile = profile(&[]);
    assert_eq!(profile["threads"].as_array().map(Vec::len), Some(1));
    assert_eq!(profile["counters"], json!([]));
}

#[test]
fn odd_names_pass_unharmed() {
    let long: &'static str = "é".repeat(1 << 15).leak();
    for odd in ["a\"b\\c", "</script>", "\0\u{1}\u{7f}\n", "🦊", long] {
        let events = [
            thread(1, 0, odd, "main"),
            class(1, "B"),
            method(1, odd),
            enter(1, 1, 1, 1),
            leave(1, 2, 1, 1),
            Event::Custom(Custom { body: odd.into() }),
        ];
        let profile = profile(&events);
        let table = &thread_named(&profile, odd)["samples"];
        let (frames, _) = stack(&profile, &table["stack"][1]);
        assert_eq!(frames, format!("B.{odd}(int)"));
        let text = index(&profile["threads"][0]["markers"]["data"][0]["text"]);
        assert_eq!(profile["shared"]["stringArray"][text], odd);
    }
}

#[test]
fn milliseconds_keep_nanoseconds() {
    let cases = [
        (0, "0"),
        (1, "0.000001"),
        (-1, "-0.000001"),
        (120, "0.00012"),
        (1_000_000, "1"),
        (-2_500_000, "-2.5"),
        (1_234_567_891, "1234.567891"),
        (i64::MAX, "9223372036854.775807"),
        (i64::MIN, "-9223372036854.775808"),
    ];
    for (value, expected) in cases {
        let mut out = Vec::new();
        decimal(&mut out, value, 6);
        assert_eq!(String::from_utf8_lossy(&out), expected);
    }
}

#[test]
fn a_text_longer_than_a_batch_is_whole() {
    let mut json = Json::new();
    json.raw("{");
    json.integers("n", 0..100_000);
    json.length(100_000);
    let value: Value = serde_json::from_str(&unpack(&json.finish())).expect("JSON");
    assert_eq!(rows(&value), 100_000);
    assert_eq!(value["n"][99_999], 99_999);
}
