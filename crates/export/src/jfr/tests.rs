use super::Recording;
use crate::filter::CallFilter;
use crate::testing::{
    START, alloc, class, encode, encode_selected, enter, leave, method, thread, time,
};
use jtrail_model::*;
use reader::{Chunk, read};

mod chunks;
mod reader;

/// Returns the chunks of the recording of a trace.
fn chunks(events: &[Event<'_>]) -> Vec<Chunk> {
    read(&encode(Recording::default(), events))
}

/// Returns the events of a recording of these types. Prefixes of types will do.
fn events_of(chunks: &[Chunk], types: &[&str]) -> Vec<String> {
    let events = chunks.iter().flat_map(|chunk| &chunk.events);
    let events = events.filter(|event| types.iter().any(|name| event.starts_with(name)));
    events.cloned().collect()
}

/// Defines class 1 (`a.B`), its methods 1 (`f`) and 2 (`g`), and thread 1 (`main`).
fn definitions() -> Vec<Event<'static>> {
    vec![
        thread(1, 0, "main", "main"),
        class(1, "a.B"),
        method(1, "f"),
        method(2, "g"),
    ]
}

fn with(events: impl IntoIterator<Item = Event<'static>>) -> Vec<Event<'static>> {
    definitions().into_iter().chain(events).collect()
}

fn frame(method: &'static str, line: i64) -> Frame<'static> {
    Frame {
        method: method.into(),
        line,
    }
}

fn sample(ns: i64, state: ThreadState, ticks: u64, line: i64) -> Event<'static> {
    Event::Sample(Sample {
        thread: ThreadId(1),
        time: time(ns),
        state,
        ticks: Ticks::new(ticks).expect("not 0"),
        stack: vec![frame("a.B.f(I)V", line), frame("x.Y.main()V", 7)],
    })
}

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
        Event::ThreadPark(ThreadPark {
            thread: ThreadId(1),
            time: time(40),
            ..ThreadPark::default()
        }),
        Event::ThreadUnpark(ThreadUnpark {
            thread: ThreadId(1),
            time: time(47),
        }),
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

#[test]
fn throws_and_allocations() {
    let chunks = chunks(&with([
        class(2, "[La.B;"),
        Event::Option(TraceOption {
            key: "stackdepth".into(),
            value: "2".into(),
        }),
        enter(1, 10, 1, 1),
        Event::ExceptionThrow(ExceptionThrow {
            thread: ThreadId(1),
            time: time(11),
            class: ClassId(1),
            stack: vec![frame("a.B.f(I)V", -2), frame("x.Y.main()V", 9)],
            ..ExceptionThrow::default()
        }),
        Event::ObjectAlloc(ObjectAlloc {
            thread: ThreadId(1),
            time: time(12),
            size: 24,
            line: 77,
            method: MethodId(1),
            class: ClassId(2),
            ..ObjectAlloc::default()
        }),
        alloc(1, 13, 16),
        Event::AllocationSum(AllocationSum {
            thread: ThreadId(1),
            time: time(14),
            class: ClassId(1),
            objects: 3,
            bytes: 100,
        }),
        leave(1, 20, 1, 1),
    ]));
    // A stack that is as long as it may be is perhaps not complete.
    let native = u32::MAX;
    assert_eq!(
        events_of(&chunks, &["jdk.Java", "jdk.Object", "jdk.ThreadAlloc"]),
        [
            &format!(
                "jdk.JavaExceptionThrow startTime=12 eventThread=main stackTrace=[a/B.f(I)V:{native}, x/Y.main()V:9, …] message=null thrownClass=a/B"
            ),
            "jdk.ObjectAllocationSample startTime=13 eventThread=main stackTrace=[a/B.f(I)V:77] objectClass=[La/B; weight=24",
            "jdk.ObjectAllocationSample startTime=14 eventThread=main stackTrace=[a/B.f(I)V:0] objectClass=null weight=16",
            "jdk.ObjectAllocationSample startTime=15 eventThread=main stackTrace=[a/B.f(I)V:0] objectClass=a/B weight=100",
            "jdk.ThreadAllocationStatistics startTime=21 allocated=140 thread=main",
        ]
    );
}

#[test]
fn the_process_is_described() {
    let process = ProcessCreate {
        pid: 4711,
        executable: "/opt/jdk/bin/java".into(),
        ..ProcessCreate::default()
    };
    let chunks = chunks(&[
        process.into(),
        thread(1, 0, "main", "main"),
        Event::RuntimeShutdown(RuntimeShutdown {
            thread: ThreadId(1),
            time: time(7),
        }),
    ]);
    let unknown = i64::MIN;
    let types = [
        "jdk.JVMInformation",
        "jtrail.Note",
        "jdk.Shutdown",
        "jdk.ActiveRecording",
    ];
    assert_eq!(
        events_of(&chunks, &types),
        [
            "jdk.Shutdown startTime=8 eventThread=null stackTrace=null reason=null",
            &format!(
                "jdk.JVMInformation startTime=1 jvmName=null jvmVersion=null jvmArguments=null jvmFlags=null javaArguments=null jvmStartTime={unknown} pid=4711"
            ),
            "jtrail.Note startTime=1 text=The program file is /opt/jdk/bin/java.",
            &format!(
                "jdk.ActiveRecording startTime=1 id=1 name=jtrail destination=null disk=1 maxAge={unknown} flushInterval={unknown} maxSize=0 recordingStart=1700000000000 recordingDuration=0"
            ),
        ]
    );
}

#[test]
fn collections() {
    let chunks = chunks(&with([
        Event::GcStart(GcStart { time: time(100) }),
        Event::GcDetail(GcDetail {
            time: time(104),
            collector: "G1".into(),
            cause: "System.gc()".into(),
            generation: Generation::Full,
        }),
        Event::GcFinish(GcFinish {
            time: time(107),
            total_space: 4096,
            used_space: 1000,
            ..GcFinish::default()
        }),
        Event::GcStart(GcStart { time: time(200) }),
        Event::GcFinish(GcFinish {
            time: time(203),
            ..GcFinish::default()
        }),
    ]));
    let types = ["jdk.G", "jdk.OldG", "jdk.YoungG"];
    assert_eq!(
        events_of(&chunks, &types),
        [
            "jdk.GarbageCollection startTime=101 duration=7 gcId=1 name=G1 cause=System.gc() sumOfPauses=7 longestPause=7",
            "jdk.OldGarbageCollection startTime=101 duration=7 gcId=1",
            "jdk.GCPhasePause startTime=101 duration=7 gcId=1 name=GC Pause",
            "jdk.GCHeapSummary startTime=108 gcId=1 when=After GC heapSpace=(0 0 4096 0 0) heapUsed=1000",
            "jdk.GarbageCollection startTime=201 duration=3 gcId=2 name=collection cause=null sumOfPauses=3 longestPause=3",
            "jdk.GCPhasePause startTime=201 duration=3 gcId=2 name=GC Pause",
        ]
    );
}

#[test]
fn threads_and_classes_come_and_go() {
    let detail = ClassDetail {
        class: ClassId(2),
        access: 0x21,
        loader: "a.Loader@7".into(),
        ..ClassDetail::default()
    };
    let chunks = chunks(&[
        thread(1, 5, "main", "main"),
        Event::ClassDef(ClassDef {
            class: ClassId(2),
            thread: ThreadId(1),
            time: time(6),
            name: "a.C$$Lambda/0x7f".into(),
            ..ClassDef::default()
        }),
        detail.into(),
        Event::ThreadCpu(ThreadCpu {
            thread: ThreadId(1),
            time: time(7),
            cpu_time: Duration(1234),
        }),
        Event::ClassUnload(ClassUnload {
            class: ClassId(2),
            time: time(8),
        }),
        Event::ThreadEnd(ThreadEnd {
            thread: ThreadId(1),
            time: time(9),
        }),
        Event::Custom(Custom {
            body: "half-time".into(),
        }),
    ]);
    let types = ["jdk.Thread", "jdk.Class", "jtrail"];
    assert_eq!(
        events_of(&chunks, &types),
        [
            "jdk.ThreadStart startTime=1 eventThread=main stackTrace=null thread=main parentThread=null",
            "jdk.ClassLoad startTime=2 duration=0 eventThread=main stackTrace=null loadedClass=a/C$$Lambda+0x7f definingClassLoader=(a/Loader a.Loader@7) initiatingClassLoader=null",
            "jtrail.CpuTime startTime=3 eventThread=main cpuTime=1234",
            "jdk.ClassUnload startTime=4 eventThread=null unloadedClass=a/C$$Lambda+0x7f definingClassLoader=(a/Loader a.Loader@7)",
            "jdk.ThreadEnd startTime=5 eventThread=main thread=main",
            "jtrail.Note startTime=5 text=half-time",
        ]
    );
}

#[test]
fn an_unknown_time_is_the_latest_one() {
    let mark = |text: &'static str| Event::Custom(Custom { body: text.into() });
    let chunks = chunks(&[
        mark("early"),
        class(1, "a.B"),
        thread(1, 0, "main", "main"),
        enter(1, 9, 1, 1),
        class(2, "a.C"),
        mark("late"),
    ]);
    assert_eq!(chunks[0].start, START);
    let times = events_of(&chunks, &["jdk.ClassLoad", "jtrail.Note"]);
    let times = times
        .iter()
        .map(|event| event.split(' ').nth(1).unwrap_or_default());
    let expected = ["startTime=1", "startTime=1", "startTime=10", "startTime=10"];
    assert_eq!(times.collect::<Vec<_>>(), expected);
}

#[test]
fn each_tick_of_a_sample_is_an_event() {
    let chunks = chunks(&with([
        enter(1, 0, 1, 1),
        sample(1_000, ThreadState::Runnable, 1, 3),
        sample(4_000, ThreadState::Runnable, 3, 4),
        sample(5_000, ThreadState::Runnable, 1, -2),
        sample(6_000, ThreadState::Parked, 1, 5),
        leave(1, 9_000_000, 1, 1),
    ]));
    let event = |name, ns, line: i64, state| {
        let line = line as u32;
        format!(
            "jdk.{name} startTime={ns} sampledThread=main stackTrace=[a/B.f(I)V:{line}, x/Y.main()V:7] state=STATE_{state}"
        )
    };
    assert_eq!(
        events_of(
            &chunks,
            &[
                "jdk.ExecutionSample",
                "jdk.NativeMethod",
                "jdk.ActiveSetting"
            ]
        ),
        [
            event("ExecutionSample", 1_001, 3, "RUNNABLE"),
            event("ExecutionSample", 2_001, 4, "RUNNABLE"),
            event("ExecutionSample", 3_001, 4, "RUNNABLE"),
            event("ExecutionSample", 4_001, 4, "RUNNABLE"),
            event("NativeMethodSample", 5_001, -1, "RUNNABLE"),
            event("NativeMethodSample", 6_001, 5, "PARKED"),
        ]
    );
}

#[test]
fn without_samples_they_are_made_from_calls() {
    let park = |ns| {
        Event::ThreadPark(ThreadPark {
            thread: ThreadId(1),
            time: time(ns),
            ..ThreadPark::default()
        })
    };
    let unpark = |ns| {
        Event::ThreadUnpark(ThreadUnpark {
            thread: ThreadId(1),
            time: time(ns),
        })
    };
    let ms = 1_000_000;
    let chunks = chunks(&with([
        enter(1, ms / 2, 1, 1),
        enter(1, 2 * ms, 2, 2),
        park(3 * ms + 1),
        unpark(7 * ms),
        leave(1, 8 * ms, 2, 2),
        leave(1, 8 * ms + 1, 1, 1),
        enter(1, 20 * ms - 1, 2, 3),
        leave(1, 20 * ms + 1, 2, 3),
    ]));
    let event = |ns: i64, path: &str| {
        format!(
            "jdk.ExecutionSample startTime={} sampledThread=main stackTrace=[{path}] state=STATE_RUNNABLE",
            ns + 1
        )
    };
    let (f, g) = ("a/B.f(I)V:0", "a/B.g(I)V:0");
    let g_in_f = format!("{g}, {f}");
    assert_eq!(
        events_of(&chunks, &["jdk.ExecutionSample"]),
        [
            event(ms, f),
            event(2 * ms, &g_in_f),
            event(3 * ms, &g_in_f),
            event(7 * ms, &g_in_f),
            event(8 * ms, f),
            event(20 * ms, g),
        ]
    );
    let settings = events_of(&chunks, &["jdk.ActiveSetting", "jtrail.Note"]);
    assert!(
        settings[0].ends_with(" name=period value=1 ms"),
        "{settings:?}"
    );
    assert!(
        settings[1].contains(" text=The trace has no samples."),
        "{settings:?}"
    );
    assert_eq!(settings.len(), 2);
}

#[test]
fn sums_of_calls_have_their_path() {
    let begin = |method, calls, ns| {
        Event::AggregatedEnter(AggregatedEnter {
            thread: ThreadId(1),
            method: MethodId(method),
            base_time: Duration(ns),
            calls,
            ..AggregatedEnter::default()
        })
    };
    let end = |method| {
        Event::AggregatedLeave(AggregatedLeave {
            thread: ThreadId(1),
            method: MethodId(method),
        })
    };
    let chunks = chunks(&with([
        enter(1, 10, 1, 1),
        begin(2, 5, 300),
        begin(1, 7, 400),
        end(1),
        end(2),
        begin(2, 1, 2),
        end(2),
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
fn odd_names_pass_through() {
    let long = "é".repeat(1 << 15);
    let odd = [
        "\"\\</script>",
        "\0\u{1}\u{7f}\u{85}",
        "🙂\u{10ffff}",
        "a;b c\r\n",
        "",
        &long,
    ];
    for name in odd {
        let text = || std::borrow::Cow::from(name.to_owned());
        let chunks = chunks(&[
            Event::ThreadStart(ThreadStart {
                thread: ThreadId(1),
                time: time(0),
                name: text(),
                group: text(),
                ..ThreadStart::default()
            }),
            Event::ClassDef(ClassDef {
                class: ClassId(1),
                name: text(),
                ..ClassDef::default()
            }),
            Event::MethodDef(MethodDef {
                method: MethodId(1),
                class: ClassId(1),
                name: text(),
                signature: text(),
                ..MethodDef::default()
            }),
            enter(1, 1, 1, 1),
            Event::Custom(Custom { body: text() }),
            leave(1, 2, 1, 1),
        ]);
        let class = name.replace('.', "/");
        // A descriptor that is none would confuse readers.
        let call = format!(
            "jdk.MethodTrace startTime=2 duration=1 eventThread={name} stackTrace=null method={class}.{name}()V"
        );
        let note = format!("jtrail.Note startTime=2 text={name}");
        let found = events_of(&chunks, &["jdk.MethodTrace", "jtrail.Note"]);
        assert_eq!(found, [note, call]);
    }
}

#[test]
fn frames_of_any_text() {
    let texts = [
        "",
        "f",
        "f()",
        "a.b.f",
        "a.b.f(",
        "a.b.f(I",
        "(((",
        ".",
        "é.ü(Lx;)V",
    ];
    let expected = [
        "unknown.()V",
        "unknown.f()V",
        "unknown.f()",
        "a/b.f()V",
        "a/b.f()V",
        "a/b.f()V",
        "unknown.((()V",
        ".()V",
        "é.ü(Lx;)V",
    ];
    let stack = texts.map(|text| frame(text, i64::MAX)).to_vec();
    let chunks = chunks(&with([Event::ExceptionThrow(ExceptionThrow {
        thread: ThreadId(1),
        time: time(1),
        stack,
        ..ExceptionThrow::default()
    })]));
    let throws = events_of(&chunks, &["jdk.JavaException"]);
    let frames = expected.map(|method| format!("{method}:0")).join(", ");
    assert!(
        throws[0].contains(&format!("stackTrace=[{frames}]")),
        "{throws:?}"
    );
}
