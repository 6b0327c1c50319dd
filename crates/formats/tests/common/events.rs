//! A trace with events of all kinds.

use jtrail_model::*;

/// Returns a sound trace with the thirty kinds of events that have messages in TPTP. Every field
/// that a format can hold is set.
pub fn every_message() -> Vec<Event<'static>> {
    let t = |n: i64| Timestamp(1_700_000_000_000_000_000 + n * 1000 + 7);
    let (thread, other) = (ThreadId(1), ThreadId(2));
    let (class, method) = (ClassId(3), MethodId(5));
    let stack = || {
        vec![
            Frame {
                method: "java.lang.Object.wait(J)V".into(),
                line: -2,
            },
            Frame {
                method: "a.B.<init>([Ljava/lang/String;)V".into(),
                line: 14,
            },
            Frame {
                method: "a.B.<clinit>()V".into(),
                line: -1,
            },
        ]
    };
    vec![
        Event::Node(Node {
            node_id: "6f1c".into(),
            hostname: "höst \"a\" & <b>".into(),
            ip_address: "10.0.0.1,127.0.0.1".into(),
            timezone: -480,
            time: t(0),
        }),
        ProcessCreate {
            process_id: "p".into(),
            name: "java".into(),
            pid: 4711,
            node_id: "6f1c".into(),
            time: t(1),
            executable: "/usr/bin/java".into(),
        }
        .into(),
        AgentCreate {
            agent_id: "a".into(),
            process_id: "p".into(),
            name: "jtrail".into(),
            agent_type: "Profiler".into(),
            time: t(2),
            parameters: "format=binary,file=a b.trcbin".into(),
            version: "0.1.0".into(),
        }
        .into(),
        Event::TraceStart(TraceStart {
            trace_id: "t".into(),
            agent_id: "a".into(),
            time: t(3),
        }),
        Filter {
            trace_id: "".into(),
            pattern: "org.a".into(),
            generic_pattern: "SUFFIX".into(),
            mode: "INCLUDE".into(),
            method_pattern: "".into(),
            method_generic_pattern: "PREFIX".into(),
            method_mode: "INCLUDE".into(),
        }
        .into(),
        Event::Option(TraceOption {
            key: "CPU_TIME".into(),
            value: "true".into(),
        }),
        Event::ThreadStart(ThreadStart {
            thread,
            time: t(4),
            group: "main".into(),
            parent_group: "system".into(),
            object: ObjectId(7),
            name: "main\tthread".into(),
        }),
        Event::ThreadStart(ThreadStart {
            thread: other,
            time: t(4),
            ..Default::default()
        }),
        Event::RuntimeInitDone(RuntimeInitDone { thread, time: t(5) }),
        Event::ClassDef(ClassDef {
            class,
            thread,
            time: t(6),
            name: "a.B$1".into(),
            source_name: "B.java".into(),
            object: ObjectId(8),
        }),
        Event::MethodDef(MethodDef {
            method: MethodId(4),
            class,
            name: "<init>".into(),
            signature: "(I)V".into(),
            start_line: 10,
            end_line: 12,
        }),
        Event::MethodDef(MethodDef {
            method,
            class,
            name: "run".into(),
            signature: "()V".into(),
            ..Default::default()
        }),
        Event::ObjectAlloc(ObjectAlloc {
            thread,
            time: t(7),
            kind: ObjectKind::LONG,
            object: ObjectId(9),
            size: 24,
            line: 11,
            method: MethodId(4),
            class,
        }),
        Event::MethodEnter(MethodEnter {
            thread,
            time: t(8),
            method,
            class,
            ticket: 1,
            cpu_time: Duration(23_999),
            stack_depth: 1,
        }),
        Event::MonitorWait(MonitorWait {
            thread,
            time: t(9),
            object: ObjectId(9),
            timeout_ms: 250,
            stack: stack(),
        }),
        Event::MonitorWaited(MonitorWaited {
            thread,
            time: t(10),
            object: ObjectId(9),
            timed_out: 1,
            stack: Vec::new(),
        }),
        Event::MonitorContendedEnter(MonitorContendedEnter {
            thread: other,
            time: t(11),
            object: ObjectId(9),
            owner: thread,
            stack: stack(),
        }),
        Event::MonitorContendedEntered(MonitorContendedEntered {
            thread: other,
            time: t(12),
            object: ObjectId(9),
            stack: stack(),
        }),
        Event::MethodLeave(MethodLeave {
            thread,
            time: t(13),
            method,
            class,
            ticket: 1,
            cpu_time: Duration(24_000),
            by_exception: false,
        }),
        Event::GcStart(GcStart { time: t(14) }),
        Event::GcFinish(GcFinish {
            time: t(15),
            total_space: 1 << 30,
            used_space: 12_345,
            used_objects: 99,
        }),
        Event::ObjectFree(ObjectFree {
            time: t(15),
            object: ObjectId(9),
            age: 3,
        }),
        Event::HeapDump(HeapDump {
            dump: HeapDumpId(10),
            time: t(16),
            name: "dump".into(),
            base_time: t(3),
        }),
        Event::GcRoot(GcRoot {
            class,
            object: ObjectId(8),
            kind: "SYSTEM_CLASS".into(),
        }),
        Event::ObjectReference(ObjectReference {
            source: ObjectId(8),
            target: ObjectId(7),
            dump: HeapDumpId(10),
        }),
        Event::Custom(Custom {
            body: "free text, \n with a line feed".into(),
        }),
        Event::AggregatedEnter(AggregatedEnter {
            thread: other,
            method,
            base_time: Duration(5),
            min_time: Duration(2),
            max_time: Duration(3),
            base_cpu_time: Duration(4),
            calls: 2,
        }),
        Event::AggregatedLeave(AggregatedLeave {
            thread: other,
            method,
        }),
        Event::ThreadEnd(ThreadEnd {
            thread: other,
            time: t(17),
        }),
        Event::RuntimeShutdown(RuntimeShutdown {
            thread,
            time: t(18),
        }),
        Event::TraceEnd(TraceEnd {
            trace_id: "t".into(),
            time: t(19),
        }),
        Event::AgentDestroy(AgentDestroy {
            agent_id: "a".into(),
            time: t(20),
        }),
    ]
}

/// Returns [`every_message`] extended to all kinds of events.
pub fn every_event() -> Vec<Event<'static>> {
    let mut events = every_message();
    let inside_of_dump = events
        .iter()
        .position(|event| matches!(event, Event::Custom(_)))
        .expect("free text after the heap dump");
    events.splice(inside_of_dump..inside_of_dump, events_without_message());
    let method_after = 1 + events
        .iter()
        .rposition(|event| matches!(event, Event::MethodDef(_)))
        .expect("a method");
    let detail = Event::MethodDetail(MethodDetail {
        method: MethodId(5),
        size: 47,
    });
    events.insert(method_after, detail);
    events
}

/// Returns events that have no message in TPTP.
fn events_without_message() -> Vec<Event<'static>> {
    let time = Timestamp(1_700_000_000_000_016_500);
    let (thread, other) = (ThreadId(1), ThreadId(2));
    let (class, method, dump) = (ClassId(3), MethodId(5), HeapDumpId(10));
    let frame = |method: &'static str, line| Frame {
        method: method.into(),
        line,
    };
    let stack = vec![
        frame("a.B.<init>([Ljava/lang/String;)V", 14),
        frame("odd \"name\\ é\n.run()V", -2),
    ];
    let member = |name: &'static str, signature: &'static str, access| Member {
        name: name.into(),
        signature: signature.into(),
        access,
    };
    let heap_object = |object| {
        Event::HeapObject(HeapObject {
            dump,
            object: ObjectId(object),
            class,
            size: 24,
        })
    };
    vec![
        heap_object(7),
        heap_object(8),
        Event::HeapDumpEnd(HeapDumpEnd { dump, time }),
        Event::GcDetail(GcDetail {
            time,
            collector: "G1 Young Generation".into(),
            cause: "G1 Evacuation Pause".into(),
            generation: Generation::Young,
        }),
        Event::ObjectDef(ObjectDef {
            object: ObjectId(11),
            time,
            kind: ObjectKind::PLAIN,
            size: 16,
            class,
        }),
        Event::ExceptionThrow(ExceptionThrow {
            thread,
            time,
            object: ObjectId(11),
            class,
            stack: stack.clone(),
        }),
        Event::CatchDetail(CatchDetail {
            thread,
            time,
            entry: 2,
            takes_all: true,
        }),
        Event::ExceptionCatch(ExceptionCatch {
            thread,
            time,
            object: ObjectId(11),
            class,
            frame: frame("a.B.run()V", 17),
        }),
        Event::ThreadName(ThreadName {
            thread,
            time,
            name: "a new \"name\"".into(),
        }),
        Event::ThreadCpu(ThreadCpu {
            thread,
            time,
            cpu_time: Duration(25_000),
        }),
        Event::ThreadMount(ThreadMount {
            thread: other,
            time,
            carrier: thread,
        }),
        Event::ThreadPark(ThreadPark {
            thread: other,
            time,
            object: ObjectId(11),
            stack: stack.clone(),
        }),
        Event::ThreadUnmount(ThreadUnmount {
            thread: other,
            time,
            carrier: thread,
        }),
        Event::ThreadUnpark(ThreadUnpark {
            thread: other,
            time,
        }),
        ClassDetail {
            class,
            time,
            access: 0x21,
            super_name: "java.lang.Object".into(),
            interfaces: vec!["java.lang.Runnable".into(), "a.I".into()],
            loader: "com.acme.Loader@7".into(),
            size: 812,
            fields: vec![member("count", "I", 2), member("odd name", "La b;", 0)],
            methods: vec![member("<init>", "(I)V", 1), member("run", "()V", 1)],
        }
        .into(),
        Event::ClassRedefine(ClassRedefine {
            class,
            time,
            size: 840,
        }),
        Event::ClassInitStart(ClassInitStart {
            thread,
            time,
            class,
        }),
        Event::ClassInitEnd(ClassInitEnd {
            thread,
            time,
            class,
            failed: true,
        }),
        Event::MethodCompile(MethodCompile {
            method,
            time,
            address: 0x7f80_dead_beef,
            size: 416,
            ranges: vec![
                CodeRange {
                    offset: 0,
                    frames: stack.clone(),
                },
                CodeRange {
                    offset: 32,
                    frames: stack.clone(),
                },
            ],
        }),
        Event::MethodUncompile(MethodUncompile {
            method,
            time,
            address: 0x7f80_dead_beef,
        }),
        Event::Sample(Sample {
            thread,
            time,
            state: ThreadState::Parked,
            ticks: Ticks::default(),
            stack,
        }),
        Event::LineCounts(LineCounts {
            method,
            time,
            calls: 3,
            lines: vec![
                LineCount { line: 12, count: 3 },
                LineCount {
                    line: 13,
                    count: 300,
                },
            ],
        }),
        Event::ClassUnload(ClassUnload { class, time }),
        Event::TracePause(TracePause { time }),
        Event::TraceResume(TraceResume { time }),
    ]
}

/// Returns calls whose steps have very uneven frequencies, in no regular pattern, so that a trail
/// encodes them with variable-length codes.
pub fn uneven_calls() -> Vec<Event<'static>> {
    let mut random = 1_u64;
    let mut time = 1_700_000_000_000_000_000;
    let calls = (0..500_u64).map(|n| {
        random = random.wrapping_mul(6_364_136_223_846_793_005) + 1;
        time += 10 + (random >> 61) as i64 + (random >> 32 & 7) as i64;
        let (thread, time, ticket) = (ThreadId(1), Timestamp(time), n as u32 / 2 + 1);
        match n % 2 {
            0 => Event::MethodEnter(MethodEnter {
                thread,
                time,
                ticket,
                stack_depth: 1,
                ..MethodEnter::default()
            }),
            _ => Event::MethodLeave(MethodLeave {
                thread,
                time,
                ticket,
                ..MethodLeave::default()
            }),
        }
    });
    calls.collect()
}
