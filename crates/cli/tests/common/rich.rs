//! A trace with events of every kind.

use super::*;

const MS: i64 = 1_000_000;

fn frame(method: &'static str, line: i64) -> Frame<'static> {
    Frame {
        method: method.into(),
        line,
    }
}

fn stack() -> Vec<Frame<'static>> {
    vec![
        frame("com.acme.Main.run()V", 12),
        frame("com.acme.Main.main([Ljava/lang/String;)V", 30),
    ]
}

pub(crate) fn class(id: u64, name: &'static str) -> Event<'static> {
    Event::ClassDef(ClassDef {
        class: ClassId(id),
        time: time(3_000),
        name: name.into(),
        ..ClassDef::default()
    })
}

fn alloc(thread: u64, object: u64, class: u64, size: i64, line: i64) -> Event<'static> {
    Event::ObjectAlloc(ObjectAlloc {
        thread: ThreadId(thread),
        time: time(MS),
        object: ObjectId(object),
        class: ClassId(class),
        size,
        line,
        method: MethodId(6),
        kind: ObjectKind(if class == 11 { 8 } else { 0 }),
    })
}

/// Returns events of objects: a lock (20) older than the trace, a node (21), a node that is freed
/// (22), and two byte arrays (23, 24) allocated in `run`.
///
/// The threads are `main` (1) and `worker 1` (2).
pub(crate) fn objects() -> Vec<Event<'static>> {
    vec![
        class(10, "com.acme.Node"),
        class(11, "[B"),
        class(12, "com.acme.Oops"),
        Event::ObjectDef(ObjectDef {
            object: ObjectId(20),
            time: time(MS),
            kind: ObjectKind::PLAIN,
            size: 16,
            class: ClassId(3),
        }),
        alloc(1, 21, 10, 24, 12),
        alloc(1, 22, 10, 24, 12),
        alloc(1, 23, 11, 1_000, 14),
        alloc(2, 24, 11, 500, 14),
        Event::GcStart(GcStart { time: time(2 * MS) }),
        Event::GcDetail(GcDetail {
            time: time(2 * MS),
            collector: "Copy".into(),
            cause: "Allocation Failure".into(),
            generation: Generation::Young,
        }),
        Event::GcFinish(GcFinish {
            time: time(2 * MS + 30_000),
            total_space: 8 << 20,
            used_space: 1 << 20,
            used_objects: 0,
        }),
        Event::ObjectFree(ObjectFree {
            time: time(2 * MS + 30_000),
            object: ObjectId(22),
            age: 0,
        }),
    ]
}

/// Returns events of waits: `worker 1` waits 500 µs for the lock that `main` holds. Then it waits
/// in `wait`, and then it parks until the end.
pub(crate) fn waits() -> Vec<Event<'static>> {
    let (thread, object) = (ThreadId(2), ObjectId(20));
    vec![
        Event::MonitorContendedEnter(MonitorContendedEnter {
            thread,
            time: time(3 * MS),
            object,
            owner: ThreadId(1),
            stack: stack(),
        }),
        Event::MonitorContendedEntered(MonitorContendedEntered {
            thread,
            time: time(3 * MS + 500_000),
            object,
            stack: stack(),
        }),
        Event::MonitorWait(MonitorWait {
            thread,
            time: time(4 * MS),
            object,
            timeout_ms: 1,
            stack: stack(),
        }),
        Event::MonitorWaited(MonitorWaited {
            thread,
            time: time(5 * MS),
            object,
            timed_out: 1,
            stack: stack(),
        }),
        Event::ThreadPark(ThreadPark {
            thread,
            time: time(6 * MS),
            object,
            stack: stack(),
        }),
        Event::ThreadUnpark(ThreadUnpark {
            thread,
            time: time(7 * MS),
        }),
        Event::ThreadPark(ThreadPark {
            thread,
            time: time(8 * MS),
            object: ObjectId::NONE,
            stack: stack(),
        }),
    ]
}

/// Returns events of threads: two exceptions of `main`, one of them caught, a rename, CPU time, and
/// the mount of a virtual thread.
pub(crate) fn threads() -> Vec<Event<'static>> {
    let (thread, class) = (ThreadId(1), ClassId(12));
    let throw = |object| {
        Event::ExceptionThrow(ExceptionThrow {
            thread,
            time: time(9 * MS),
            object: ObjectId(object),
            class,
            stack: stack(),
        })
    };
    vec![
        throw(21),
        Event::CatchDetail(CatchDetail {
            thread,
            time: time(9 * MS + 1),
            entry: 3,
            takes_all: true,
        }),
        Event::ExceptionCatch(ExceptionCatch {
            thread,
            time: time(9 * MS + 1),
            object: ObjectId(21),
            class,
            frame: frame("com.acme.Main.main([Ljava/lang/String;)V", 33),
        }),
        throw(23),
        Event::ThreadName(ThreadName {
            thread,
            time: time(9 * MS + 2),
            name: "boss".into(),
        }),
        Event::ThreadCpu(ThreadCpu {
            thread,
            time: time(9 * MS + 3),
            cpu_time: Duration(7 * MS),
        }),
        Event::ThreadMount(ThreadMount {
            thread: ThreadId(2),
            time: time(9 * MS + 4),
            carrier: thread,
        }),
        Event::ThreadUnmount(ThreadUnmount {
            thread: ThreadId(2),
            time: time(9 * MS + 54),
            carrier: thread,
        }),
    ]
}

fn initialises(class: u64, time: Timestamp) -> Event<'static> {
    let (thread, class) = (ThreadId(1), ClassId(class));
    Event::ClassInitStart(ClassInitStart {
        thread,
        time,
        class,
    })
}

fn initialised(class: u64, time: Timestamp, failed: bool) -> Event<'static> {
    let (thread, class) = (ThreadId(1), ClassId(class));
    Event::ClassInitEnd(ClassInitEnd {
        thread,
        time,
        class,
        failed,
    })
}

/// Returns details of `com.acme.Main`, with compiled code, samples and lines.
///
/// The initialisation of `com.acme.Oops` fails within that of the class.
pub(crate) fn code() -> Vec<Event<'static>> {
    let at = |ns| time(10 * MS + ns);
    let member = |name: &'static str, signature: &'static str, access| Member {
        name: name.into(),
        signature: signature.into(),
        access,
    };
    let sample = |thread, state| {
        Event::Sample(Sample {
            thread: ThreadId(thread),
            time: at(50),
            state,
            ticks: Ticks::default(),
            stack: stack(),
        })
    };
    let line = |line, count| LineCount { line, count };
    let lines = |method, calls, lines: &[LineCount]| {
        Event::LineCounts(LineCounts {
            method: MethodId(method),
            time: at(60),
            calls,
            lines: lines.to_vec(),
        })
    };
    vec![
        ClassDetail {
            class: ClassId(3),
            time: at(0),
            access: 0x21,
            super_name: "java.lang.Object".into(),
            interfaces: vec!["java.lang.Runnable".into(), "a.I".into()],
            loader: "app".into(),
            size: 900,
            fields: vec![member("count", "[I", 2)],
            methods: vec![member("run", "()V", 1)],
        }
        .into(),
        Event::ClassRedefine(ClassRedefine {
            class: ClassId(3),
            time: at(10),
            size: 950,
        }),
        Event::ClassUnload(ClassUnload {
            class: ClassId(10),
            time: at(20),
        }),
        initialises(3, at(22)),
        initialises(12, at(23)),
        initialised(12, at(25), true),
        initialised(3, at(29), false),
        Event::MethodDetail(MethodDetail {
            method: MethodId(6),
            size: 47,
        }),
        Event::MethodCompile(MethodCompile {
            method: MethodId(6),
            time: at(30),
            address: 0x7f00,
            size: 416,
            ranges: vec![CodeRange {
                offset: 0,
                frames: vec![frame("a.B.get()I", 7), frame("com.acme.Main.run()V", 12)],
            }],
        }),
        Event::MethodUncompile(MethodUncompile {
            method: MethodId(6),
            time: at(40),
            address: 0x7f00,
        }),
        sample(1, ThreadState::Runnable),
        sample(2, ThreadState::Parked),
        lines(6, 1, &[line(12, 1)]),
        lines(6, 3, &[line(12, 3), line(13, 0), line(14, 0), line(16, 2)]),
        lines(5, 0, &[line(20, 0)]),
    ]
}

/// Returns a heap dump: a root refers to the node (21), and only the node refers to an array (23).
///
/// The other array (24) is a root itself, and object 25 is unreachable.
pub(crate) fn heap() -> Vec<Event<'static>> {
    let dump = HeapDumpId(30);
    let object = |object, class, size| {
        Event::HeapObject(HeapObject {
            dump,
            object: ObjectId(object),
            class: ClassId(class),
            size,
        })
    };
    let root = |object, class| {
        Event::GcRoot(GcRoot {
            class: ClassId(class),
            object: ObjectId(object),
            kind: "THREAD".into(),
        })
    };
    vec![
        Event::HeapDump(HeapDump {
            dump,
            time: time(11 * MS),
            name: "exit".into(),
            base_time: time(1_000),
        }),
        object(21, 10, 24),
        object(23, 11, 1_000),
        object(24, 11, 500),
        object(25, 10, 24),
        root(21, 10),
        root(24, 11),
        Event::ObjectReference(ObjectReference {
            source: ObjectId(21),
            target: ObjectId(23),
            dump,
        }),
        Event::HeapDumpEnd(HeapDumpEnd {
            dump,
            time: time(11 * MS + 1),
        }),
    ]
}

/// Returns the events of all functions above, between the opening and the closing events.
pub(crate) fn rich() -> Vec<Event<'static>> {
    let mut events = opening();
    events.extend([
        thread_start(1, 2_000, "main"),
        thread_start(2, 2_500, "worker 1"),
        class(3, "com.acme.Main"),
        method_def(4, "main", "([Ljava/lang/String;)V"),
        method_def(5, "fib", "(I)J"),
        method_def(6, "run", "()V"),
    ]);
    for part in [objects(), waits(), threads(), code(), heap()] {
        events.extend(part);
    }
    events.extend(closing(12 * MS));
    events
}
