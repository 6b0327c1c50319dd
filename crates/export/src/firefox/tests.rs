use crate::testing::*;
use jtrail_model::*;
use reader::*;
use serde_json::json;

mod format;
mod reader;

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
        park(2, 75),
        unpark(2, 95),
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
            stack: vec![frame("a.B.m(ILa/C;)V", 12), frame("a.B.n()V", -2)],
        }),
        Event::ExceptionCatch(ExceptionCatch {
            thread: ThreadId(1),
            time: time(34),
            class: ClassId(2),
            object: ObjectId(8),
            frame: frame("a.B.n()V", 7),
        }),
        Event::Sample(Sample {
            thread: ThreadId(1),
            time: time(40),
            state: ThreadState::Blocked,
            ticks: Ticks::new(3).expect("not 0"),
            stack: vec![frame("odd", 1)],
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
    let mut events = vec![
        thread(1, 0, "main", "main"),
        class(1, "a.B"),
        method(1, "outer"),
        method(2, "short"),
        enter(1, 0, 1, 1),
        // Calls of a method that is open.
        begin_sum(1, 2, 3, 30),
        end_sum(1, 2),
        leave(1, 100, 1, 1),
        // Calls of a method that is over: the negative time stands for it.
        begin_sum(1, 1, 0, -1),
        begin_sum(1, 2, 5, 40),
        end_sum(1, 2),
        end_sum(1, 1),
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
