use super::Recording;
use crate::testing::*;
use jtrail_model::*;
use reader::{Chunk, read};

mod calls;
mod chunks;
mod flush;
mod names;
mod reader;
mod samples;
mod split;

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
fn a_thread_that_ended_long_ago_is_described() {
    let mut events = definitions();
    for id in 2..9 {
        events.extend([
            thread(id, 0, "worker", "pool"),
            enter(id, 10, 1, 1),
            alloc(id, 11, 10 * id as i64),
            leave(id, 20, 1, 1),
            Event::ThreadEnd(ThreadEnd {
                thread: ThreadId(id),
                time: time(30),
            }),
        ]);
    }
    let chunks = chunks(&events);
    let calls = events_of(&chunks, &["jdk.MethodTrace"]);
    let call = "jdk.MethodTrace startTime=11 duration=10 eventThread=worker stackTrace=null method=a/B.f(I)V";
    assert_eq!(calls, [call; 7]);
    let allocated = events_of(&chunks, &["jdk.ThreadAllocationStatistics"]);
    let expected = (2..9).map(|id| {
        format!(
            "jdk.ThreadAllocationStatistics startTime=31 allocated={} thread=worker",
            10 * id
        )
    });
    assert_eq!(allocated, expected.collect::<Vec<_>>());
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
        mark("half-time"),
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
