//! Sound traces that together have every kind of event, with every field set to a value that a
//! conversion can drop.
//!
//! One trace can't hold all kinds: some formats hold either calls or samples, and sums replace
//! single events.

use jtrail_model::*;

pub(crate) type Trace = Vec<Event<'static>>;

const START: i64 = 1_700_000_000_123_456_789;
const MAIN: ThreadId = ThreadId(1);
const WORKER: ThreadId = ThreadId(2);
const VIRTUAL: ThreadId = ThreadId(3);
const CLASS: ClassId = ClassId(4);
const ERROR: ClassId = ClassId(5);
const LONGS: ClassId = ClassId(6);
const RUN: MethodId = MethodId(7);
const GO: MethodId = MethodId(8);
const NEW: MethodId = MethodId(9);

/// Returns all scenes.
pub(crate) fn all() -> Vec<Trace> {
    vec![events(), samples(), sums(), tables()]
}

struct Scene {
    events: Trace,
    time: i64,
}

/// Appends an event that has a time.
macro_rules! timed {
    ($scene:ident, $variant:ident { $($field:ident: $value:expr),* $(,)? }) => {
        let time = $scene.tick();
        $scene.events.push(Event::$variant($variant { time, $($field: $value),* }.into()));
    };
}

/// Appends an event that has no time.
macro_rules! untimed {
    ($scene:ident, $variant:ident($payload:ident) { $($field:ident: $value:expr),* $(,)? }) => {
        $scene.events.push(Event::$variant($payload { $($field: $value),* }.into()));
    };
}

fn frame(method: &'static str, line: i64) -> Frame<'static> {
    Frame {
        method: method.into(),
        line,
    }
}

fn stack() -> Vec<Frame<'static>> {
    vec![frame("a.B.go(I)J", 14), frame("a.B.run()V", 11)]
}

impl Scene {
    /// Returns a scene with the opening events, threads, classes and methods.
    fn begin() -> Self {
        let mut s = Self {
            events: Vec::new(),
            time: START,
        };
        timed!(
            s,
            Node {
                node_id: "6f1c".into(),
                hostname: "host".into(),
                ip_address: "10.0.0.1".into(),
                timezone: 0,
            }
        );
        timed!(
            s,
            ProcessCreate {
                process_id: "process".into(),
                name: "java".into(),
                pid: 4711,
                node_id: "6f1c".into(),
                executable: "/usr/bin/java".into(),
            }
        );
        timed!(
            s,
            AgentCreate {
                agent_id: "agent".into(),
                process_id: "process".into(),
                name: "jtrail".into(),
                agent_type: "Profiler".into(),
                parameters: "format=xml".into(),
                version: "1.0".into(),
            }
        );
        timed!(
            s,
            TraceStart {
                trace_id: "trace".into(),
                agent_id: "agent".into()
            }
        );
        untimed!(s, Filter(Filter) { trace_id: "trace".into(), pattern: "org.a".into(), generic_pattern: "SUFFIX".into(), mode: "INCLUDE".into(), method_pattern: "get".into(), method_generic_pattern: "PREFIX".into(), method_mode: "INCLUDE".into(), });
        untimed!(s, Option(TraceOption) { key: "CPUTIME".into(), value: "true".into() });
        let group = || Text::from("main");
        for (thread, object, name) in [
            (MAIN, 1, "main thread"),
            (WORKER, 2, "worker"),
            (VIRTUAL, 3, "virtual"),
        ] {
            timed!(
                s,
                ThreadStart {
                    thread: thread,
                    group: group(),
                    parent_group: "system".into(),
                    object: ObjectId(object),
                    name: name.into(),
                }
            );
        }
        for (class, name) in [(CLASS, "a.B"), (ERROR, "a.Error"), (LONGS, "[J")] {
            let source = if class == LONGS { "" } else { "B.java" };
            timed!(
                s,
                ClassDef {
                    class: class,
                    thread: MAIN,
                    name: name.into(),
                    source_name: source.into(),
                    object: ObjectId(class.0),
                }
            );
            if class == CLASS {
                let member = |name: &'static str, signature: &'static str, access| Member {
                    name: name.into(),
                    signature: signature.into(),
                    access,
                };
                timed!(
                    s,
                    ClassDetail {
                        class: class,
                        access: 0x21,
                        super_name: "java.lang.Object".into(),
                        interfaces: vec!["java.lang.Runnable".into()],
                        loader: "app".into(),
                        size: 812,
                        fields: vec![member("count", "I", 2)],
                        methods: vec![
                            member("run", "()V", 1),
                            member("go", "(I)J", 9),
                            member("<init>", "(I)V", 1),
                        ],
                    }
                );
            }
        }
        for (method, name, signature, line) in [
            (RUN, "run", "()V", 10),
            (GO, "go", "(I)J", 14),
            (NEW, "<init>", "(I)V", 5),
        ] {
            untimed!(s, MethodDef(MethodDef) { method: method, class: CLASS, name: name.into(), signature: signature.into(), start_line: line, end_line: line + 2, });
            untimed!(s, MethodDetail(MethodDetail) { method: method, size: line + 7 });
        }
        s
    }

    fn tick(&mut self) -> Timestamp {
        self.time += 2_000_003;
        Timestamp(self.time)
    }

    fn end(mut self) -> Trace {
        let s = &mut self;
        timed!(s, ThreadEnd { thread: WORKER });
        timed!(s, RuntimeShutdown { thread: MAIN });
        timed!(
            s,
            TraceEnd {
                trace_id: "trace".into()
            }
        );
        // The agent ends with the trace, so that no sum extends beyond the trace's end.
        let time = Timestamp(self.time);
        self.events.push(Event::AgentDestroy(AgentDestroy {
            agent_id: "agent".into(),
            time,
        }));
        self.events
    }

    fn enter(&mut self, thread: ThreadId, method: MethodId, ticket: u32, depth: i64, cpu: i64) {
        let s = self;
        timed!(
            s,
            MethodEnter {
                thread: thread,
                method: method,
                class: CLASS,
                ticket: ticket,
                cpu_time: Duration(cpu * 1_000_000),
                stack_depth: depth,
            }
        );
    }

    fn leave(&mut self, thread: ThreadId, method: MethodId, ticket: u32, cpu: i64, thrown: bool) {
        let s = self;
        timed!(
            s,
            MethodLeave {
                thread: thread,
                method: method,
                class: CLASS,
                ticket: ticket,
                cpu_time: Duration(cpu * 1_000_000),
                by_exception: thrown,
            }
        );
    }

    fn alloc(&mut self, object: u64, class: ClassId, kind: ObjectKind) {
        let s = self;
        timed!(
            s,
            ObjectAlloc {
                thread: MAIN,
                kind: kind,
                object: ObjectId(object),
                size: 24,
                line: 12,
                method: RUN,
                class: class,
            }
        );
    }
}

/// Returns a trace of single events.
fn events() -> Trace {
    let mut s = Scene::begin();
    timed!(
        s,
        ThreadOsId {
            thread: MAIN,
            os_id: 4243
        }
    );
    timed!(s, RuntimeInitDone { thread: MAIN });
    timed!(
        s,
        ObjectDef {
            object: ObjectId(20),
            kind: ObjectKind::PLAIN,
            size: 16,
            class: CLASS
        }
    );
    s.enter(MAIN, RUN, 1, 1, 1);
    s.alloc(21, CLASS, ObjectKind::PLAIN);
    s.alloc(22, LONGS, ObjectKind::LONG);
    s.alloc(23, ERROR, ObjectKind::PLAIN);
    s.enter(MAIN, GO, 2, 2, 2);
    timed!(
        s,
        ExceptionThrow {
            thread: MAIN,
            object: ObjectId(23),
            class: ERROR,
            stack: stack()
        }
    );
    s.leave(MAIN, GO, 2, 4, true);
    untimed!(s, CatchDetail(CatchDetail) { thread: MAIN, time: Timestamp(s.time + 2_000_003), entry: 2, takes_all: true });
    timed!(
        s,
        ExceptionCatch {
            thread: MAIN,
            object: ObjectId(23),
            class: ERROR,
            frame: frame("a.B.run()V", 12)
        }
    );
    timed!(
        s,
        MonitorWait {
            thread: MAIN,
            object: ObjectId(21),
            timeout_ms: 250,
            stack: stack()
        }
    );
    timed!(
        s,
        MonitorWaited {
            thread: MAIN,
            object: ObjectId(21),
            timed_out: 1,
            stack: stack()
        }
    );
    s.leave(MAIN, RUN, 1, 7, false);
    s.enter(WORKER, RUN, 1, 1, 1);
    timed!(
        s,
        MonitorContendedEnter {
            thread: WORKER,
            object: ObjectId(21),
            owner: MAIN,
            stack: stack()
        }
    );
    timed!(
        s,
        MonitorContendedEntered {
            thread: WORKER,
            object: ObjectId(21),
            stack: stack()
        }
    );
    timed!(
        s,
        ThreadPark {
            thread: WORKER,
            object: ObjectId(21),
            stack: stack()
        }
    );
    timed!(s, ThreadUnpark { thread: WORKER });
    s.leave(WORKER, RUN, 1, 3, false);
    timed!(
        s,
        ThreadMount {
            thread: VIRTUAL,
            carrier: WORKER
        }
    );
    timed!(
        s,
        ThreadUnmount {
            thread: VIRTUAL,
            carrier: WORKER
        }
    );
    timed!(
        s,
        ThreadName {
            thread: WORKER,
            name: "renamed".into()
        }
    );
    timed!(
        s,
        MethodCompile {
            method: RUN,
            address: 0x7f80_dead_beef,
            size: 416,
            ranges: vec![
                CodeRange {
                    offset: 0,
                    frames: vec![frame("a.B.run()V", 11)]
                },
                CodeRange {
                    offset: 32,
                    frames: vec![frame("a.B.run()V", 12)]
                }
            ],
        }
    );
    timed!(
        s,
        MethodUncompile {
            method: RUN,
            address: 0x7f80_dead_beef
        }
    );
    timed!(s, GcStart {});
    timed!(
        s,
        GcDetail {
            collector: "G1 Young Generation".into(),
            cause: "System.gc()".into(),
            generation: Generation::Young
        }
    );
    timed!(
        s,
        GcFinish {
            total_space: 1 << 30,
            used_space: 12_345,
            used_objects: 99
        }
    );
    timed!(
        s,
        ObjectFree {
            object: ObjectId(22),
            age: 3
        }
    );
    timed!(
        s,
        HeapDump {
            dump: HeapDumpId(30),
            name: "dump".into(),
            base_time: Timestamp(START)
        }
    );
    untimed!(s, HeapObject(HeapObject) { dump: HeapDumpId(30), object: ObjectId(21), class: CLASS, size: 24 });
    untimed!(s, HeapObject(HeapObject) { dump: HeapDumpId(30), object: ObjectId(23), class: ERROR, size: 24 });
    untimed!(s, GcRoot(GcRoot) { class: CLASS, object: ObjectId(21), kind: "JNI_GLOBAL".into() });
    untimed!(s, ObjectReference(ObjectReference) { source: ObjectId(21), target: ObjectId(23), dump: HeapDumpId(30) });
    timed!(
        s,
        HeapDumpEnd {
            dump: HeapDumpId(30)
        }
    );
    timed!(
        s,
        ThreadCpu {
            thread: WORKER,
            cpu_time: Duration(9_000_000)
        }
    );
    timed!(
        s,
        LineCounts {
            method: RUN,
            calls: 2,
            lines: vec![
                LineCount { line: 10, count: 2 },
                LineCount {
                    line: 12,
                    count: 300
                }
            ],
        }
    );
    untimed!(s, Custom(Custom) { body: "free text".into() });
    timed!(
        s,
        ClassRedefine {
            class: ERROR,
            size: 840
        }
    );
    timed!(
        s,
        ClassInitStart {
            thread: MAIN,
            class: ERROR
        }
    );
    timed!(
        s,
        ClassInitEnd {
            thread: MAIN,
            class: ERROR,
            failed: false
        }
    );
    timed!(s, ClassUnload { class: ERROR });
    timed!(s, TracePause {});
    timed!(s, TraceResume {});
    s.enter(MAIN, GO, 3, 1, 11);
    s.leave(MAIN, GO, 3, 12, false);
    s.end()
}

/// Returns a trace of samples, without calls.
fn samples() -> Trace {
    let mut s = Scene::begin();
    for (state, ticks) in [(ThreadState::Runnable, 1), (ThreadState::Parked, 3)] {
        let mut stack = stack();
        stack.truncate(ticks);
        timed!(
            s,
            Sample {
                thread: MAIN,
                state: state,
                ticks: Ticks::new(ticks as u64).expect("a tick"),
                stack: stack
            }
        );
    }
    s.end()
}

/// Returns a trace of the events that a format with sums holds.
fn sums() -> Trace {
    let mut s = Scene::begin();
    untimed!(s, AggregatedEnter(AggregatedEnter) { thread: MAIN, method: RUN, base_time: Duration(5_000_000), min_time: Duration(2_000_000), max_time: Duration(3_000_000), base_cpu_time: Duration(4_000_000), calls: 2, });
    untimed!(s, AggregatedDetail(AggregatedDetail) { thread: MAIN, method: RUN, exceptions: 1, overhead: Duration(1_000_000) });
    untimed!(s, AggregatedLeave(AggregatedLeave) { thread: MAIN, method: RUN });
    timed!(
        s,
        SampleSum {
            thread: MAIN,
            depth: 1,
            frame: frame("a.B.run()", -1),
            runnable: 8,
            all: 28
        }
    );
    timed!(
        s,
        ObjectCounts {
            thread: MAIN,
            class: CLASS,
            live: 61,
            peak: 1446
        }
    );
    timed!(
        s,
        LineCounts {
            method: RUN,
            calls: 2,
            lines: vec![LineCount { line: 10, count: 2 }]
        }
    );
    // The source file of a class whose definition names none.
    for event in &mut s.events {
        if let Event::ClassDef(e) = event {
            e.source_name = "".into();
        }
    }
    untimed!(s, ClassSource(ClassSource) { class: CLASS, source_name: "B.java".into() });
    s.end()
}

/// Returns a trace of the events that a format with regular counts holds.
fn tables() -> Trace {
    let mut s = Scene::begin();
    s.enter(MAIN, RUN, 1, 1, 1);
    timed!(
        s,
        AllocationSum {
            thread: MAIN,
            class: CLASS,
            objects: 3,
            bytes: 72
        }
    );
    s.leave(MAIN, RUN, 1, 2, false);
    timed!(s, GcStart {});
    timed!(
        s,
        GcFinish {
            total_space: 1 << 30,
            used_space: 12_345,
            used_objects: 99
        }
    );
    timed!(
        s,
        LiveObjects {
            classes: vec![
                LiveClass {
                    class: CLASS,
                    objects: 3,
                    bytes: 72
                },
                LiveClass {
                    class: LONGS,
                    objects: 1,
                    bytes: 480
                }
            ],
        }
    );
    timed!(
        s,
        ProcessCpu {
            cpu_time: Duration(7_000_000)
        }
    );
    s.end()
}
