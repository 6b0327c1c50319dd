//! Random events of all kinds.

use jtrail_model::*;
use proptest::prelude::*;

/// Text with everything that a spelling may stumble over.
fn text() -> impl Strategy<Value = Text<'static>> {
    let odd = prop::sample::select(vec![
        '\0',
        '\u{1}',
        '\t',
        '\n',
        '\r',
        '\u{1f}',
        ' ',
        '"',
        '\'',
        '&',
        '<',
        '>',
        ';',
        '#',
        '\u{7f}',
        '\u{85}',
        'é',
        '\u{2028}',
        '\u{feff}',
        '\u{fffd}',
        '\u{fffe}',
        '\u{ffff}',
        '😀',
        '\u{10ffff}',
    ]);
    let character = prop_oneof![3 => any::<char>(), 2 => odd, 5 => prop::char::range('a', 'z')];
    prop_oneof![
        1 => Just("<init>".into()),
        1 => Just("&amp;]]>".into()),
        8 => prop::collection::vec(character, 0..12)
            .prop_map(|chars| Text::from(String::from_iter(chars))),
    ]
}

fn frame() -> impl Strategy<Value = Frame<'static>> {
    (text(), any::<i64>()).prop_map(|(method, line)| Frame { method, line })
}

fn stack() -> impl Strategy<Value = Vec<Frame<'static>>> {
    prop::collection::vec(frame(), 0..4)
}

fn members() -> impl Strategy<Value = Vec<Member<'static>>> {
    let member = (text(), text(), any::<u16>());
    let member = member.prop_map(|(name, signature, access)| Member {
        name,
        signature,
        access,
    });
    prop::collection::vec(member, 0..4)
}

fn code() -> impl Strategy<Value = Vec<CodeRange<'static>>> {
    let range = (any::<i64>(), stack()).prop_map(|(offset, frames)| CodeRange { offset, frames });
    prop::collection::vec(range, 0..4)
}

fn lines() -> impl Strategy<Value = Vec<LineCount>> {
    let line = (any::<u32>(), any::<u64>()).prop_map(|(line, count)| LineCount { line, count });
    prop::collection::vec(line, 0..4)
}

fn id<T>(new: fn(u64) -> T) -> impl Strategy<Value = T>
where
    T: std::fmt::Debug,
{
    prop_oneof![3 => 0_u64..2000, 1 => any::<u64>()].prop_map(new)
}

fn time() -> impl Strategy<Value = Timestamp> {
    let usual = 1_500_000_000_000_000_000..1_900_000_000_000_000_000_i64;
    prop_oneof![3 => usual, 1 => any::<i64>()].prop_map(Timestamp)
}

fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![2 => Just(0), 2 => 0_i64..100_000_000_000, 1 => any::<i64>()].prop_map(Duration)
}

/// A strategy for a struct from those for its fields.
macro_rules! event {
    ($variant:ident($payload:ident) { $($field:ident: $strategy:expr),* $(,)? }) => {
        ($($strategy,)*)
            .prop_map(|($($field,)*)| Event::$variant($payload { $($field,)* }))
            .boxed()
    };
}

/// An event of any kind.
pub fn event() -> impl Strategy<Value = Event<'static>> {
    prop_oneof![30 => with_message(), 21 => without_message(), 2 => nearly_event()]
}

/// Free text that is an event's but for one character.
fn nearly_event() -> impl Strategy<Value = Event<'static>> {
    let place = any::<prop::sample::Index>();
    (without_message(), place, text()).prop_map(|(event, place, inserted)| {
        let mut written = String::new();
        text::write(&event, &mut written);
        let mut body: Vec<char> = written.chars().collect();
        let at = place.index(body.len());
        body.splice(at..=at, inserted.chars());
        let body = String::from_iter(body).into();
        Event::Custom(Custom { body })
    })
}

/// Events that TPTP has messages for.
fn with_message() -> impl Strategy<Value = Event<'static>> {
    let (thread, class) = (|| id(ThreadId), || id(ClassId));
    let (method, object, dump) = (|| id(MethodId), || id(ObjectId), || id(HeapDumpId));
    prop::strategy::Union::new([
        event!(Node(Node) {
            node_id: text(),
            hostname: text(),
            ip_address: text(),
            timezone: any::<i32>(),
            time: time(),
        }),
        event!(ProcessCreate(ProcessCreate) {
            process_id: text(),
            name: text(),
            pid: any::<i32>(),
            node_id: text(),
            time: time(),
            executable: text(),
        }),
        event!(AgentCreate(AgentCreate) {
            agent_id: text(),
            process_id: text(),
            name: text(),
            agent_type: text(),
            time: time(),
            parameters: text(),
            version: text(),
        }),
        event!(AgentDestroy(AgentDestroy) { agent_id: text(), time: time() }),
        event!(TraceStart(TraceStart) { trace_id: text(), agent_id: text(), time: time() }),
        event!(TraceEnd(TraceEnd) { trace_id: text(), time: time() }),
        event!(Filter(Filter) {
            trace_id: text(),
            pattern: text(),
            generic_pattern: text(),
            mode: text(),
            method_pattern: text(),
            method_generic_pattern: text(),
            method_mode: text(),
        }),
        event!(Option(TraceOption) { key: text(), value: text() }),
        event!(ThreadStart(ThreadStart) {
            thread: thread(),
            time: time(),
            group: text(),
            parent_group: text(),
            object: object(),
            name: text(),
        }),
        event!(ThreadEnd(ThreadEnd) { thread: thread(), time: time() }),
        event!(ClassDef(ClassDef) {
            class: class(),
            thread: thread(),
            time: time(),
            name: text(),
            source_name: text(),
            object: object(),
        }),
        event!(MethodDef(MethodDef) {
            method: method(),
            class: class(),
            name: text(),
            signature: prop_oneof![text(), Just("(I)V".into()), Just("()V".into())],
            start_line: any::<i64>(),
            end_line: any::<i64>(),
        }),
        event!(ObjectAlloc(ObjectAlloc) {
            thread: thread(),
            time: time(),
            kind: any::<u8>().prop_map(ObjectKind),
            object: object(),
            size: any::<i64>(),
            line: any::<i64>(),
            method: method(),
            class: class(),
        }),
        event!(MethodEnter(MethodEnter) {
            thread: thread(),
            time: time(),
            method: method(),
            class: class(),
            ticket: any::<u32>(),
            cpu_time: duration(),
            stack_depth: prop_oneof![0_i64..100, any::<i64>()],
        }),
        event!(MethodLeave(MethodLeave) {
            thread: thread(),
            time: time(),
            method: method(),
            class: class(),
            ticket: any::<u32>(),
            cpu_time: duration(),
            by_exception: Just(false),
        }),
        event!(GcStart(GcStart) { time: time() }),
        event!(ObjectFree(ObjectFree) { time: time(), object: object(), age: any::<i64>() }),
        event!(GcFinish(GcFinish) {
            time: time(),
            total_space: any::<i64>(),
            used_space: any::<i64>(),
            used_objects: any::<i64>(),
        }),
        event!(RuntimeInitDone(RuntimeInitDone) { thread: thread(), time: time() }),
        event!(RuntimeShutdown(RuntimeShutdown) { thread: thread(), time: time() }),
        event!(MonitorWait(MonitorWait) {
            thread: thread(),
            time: time(),
            object: object(),
            timeout_ms: any::<i64>(),
            stack: stack(),
        }),
        event!(MonitorWaited(MonitorWaited) {
            thread: thread(),
            time: time(),
            object: object(),
            timed_out: any::<i64>(),
            stack: stack(),
        }),
        event!(MonitorContendedEnter(MonitorContendedEnter) {
            thread: thread(),
            time: time(),
            object: object(),
            owner: thread(),
            stack: stack(),
        }),
        event!(MonitorContendedEntered(MonitorContendedEntered) {
            thread: thread(),
            time: time(),
            object: object(),
            stack: stack(),
        }),
        event!(AggregatedEnter(AggregatedEnter) {
            thread: thread(),
            method: method(),
            base_time: duration(),
            min_time: duration(),
            max_time: duration(),
            base_cpu_time: duration(),
            calls: any::<i64>(),
        }),
        event!(AggregatedLeave(AggregatedLeave) { thread: thread(), method: method() }),
        event!(HeapDump(HeapDump) { dump: dump(), time: time(), name: text(), base_time: time() }),
        event!(GcRoot(GcRoot) { class: class(), object: object(), kind: text() }),
        event!(ObjectReference(ObjectReference) { source: object(), target: object(), dump: dump() }),
        event!(Custom(Custom) { body: text() }),
    ])
}

/// Events that travel as text.
fn without_message() -> impl Strategy<Value = Event<'static>> {
    let (thread, class) = (|| id(ThreadId), || id(ClassId));
    let (method, object, dump) = (|| id(MethodId), || id(ObjectId), || id(HeapDumpId));
    prop::strategy::Union::new([
        event!(ObjectDef(ObjectDef) {
            object: object(),
            time: time(),
            kind: any::<u8>().prop_map(ObjectKind),
            size: any::<i64>(),
            class: class(),
        }),
        event!(ExceptionThrow(ExceptionThrow) {
            thread: thread(),
            time: time(),
            object: object(),
            class: class(),
            stack: stack(),
        }),
        event!(ExceptionCatch(ExceptionCatch) {
            thread: thread(),
            time: time(),
            object: object(),
            class: class(),
            frame: frame(),
        }),
        event!(ThreadName(ThreadName) { thread: thread(), time: time(), name: text() }),
        event!(ThreadCpu(ThreadCpu) { thread: thread(), time: time(), cpu_time: duration() }),
        event!(ThreadMount(ThreadMount) { thread: thread(), time: time(), carrier: thread() }),
        event!(ThreadUnmount(ThreadUnmount) { thread: thread(), time: time(), carrier: thread() }),
        event!(ThreadPark(ThreadPark) {
            thread: thread(),
            time: time(),
            object: object(),
            stack: stack(),
        }),
        event!(ThreadUnpark(ThreadUnpark) { thread: thread(), time: time() }),
        event!(ClassDetail(ClassDetail) {
            class: class(),
            time: time(),
            access: any::<u16>(),
            super_name: text(),
            interfaces: prop::collection::vec(text(), 0..4),
            loader: text(),
            size: any::<i64>(),
            fields: members(),
            methods: members(),
        }),
        event!(ClassUnload(ClassUnload) { class: class(), time: time() }),
        event!(ClassRedefine(ClassRedefine) { class: class(), time: time(), size: any::<i64>() }),
        event!(MethodCompile(MethodCompile) {
            method: method(),
            time: time(),
            address: any::<u64>(),
            size: any::<i64>(),
            ranges: code(),
        }),
        event!(MethodUncompile(MethodUncompile) {
            method: method(),
            time: time(),
            address: any::<u64>(),
        }),
        event!(Sample(Sample) {
            thread: thread(),
            time: time(),
            state: prop::sample::select(&ThreadState::ALL[..]),
            stack: stack(),
        }),
        event!(GcDetail(GcDetail) {
            time: time(),
            collector: text(),
            cause: text(),
            generation: prop::sample::select(&Generation::ALL[..]),
        }),
        event!(HeapObject(HeapObject) {
            dump: dump(),
            object: object(),
            class: class(),
            size: any::<i64>(),
        }),
        event!(HeapDumpEnd(HeapDumpEnd) { dump: dump(), time: time() }),
        event!(LineCounts(LineCounts) {
            method: method(),
            time: time(),
            calls: any::<u64>(),
            lines: lines(),
        }),
        event!(TracePause(TracePause) { time: time() }),
        event!(TraceResume(TraceResume) { time: time() }),
    ])
}

pub fn trace() -> impl Strategy<Value = Vec<Event<'static>>> {
    prop::collection::vec(event(), 0..20)
}

/// Every text of an event, through `change`.
pub fn with_text(event: Event<'static>, change: &dyn Fn(&str) -> String) -> Event<'static> {
    let change = |text: &mut Text<'static>| *text = change(text).into();
    let mut event = event;
    let texts: Vec<&mut Text<'static>> = match &mut event {
        Event::Node(e) => vec![&mut e.node_id, &mut e.hostname, &mut e.ip_address],
        Event::ProcessCreate(e) => {
            vec![
                &mut e.process_id,
                &mut e.name,
                &mut e.node_id,
                &mut e.executable,
            ]
        }
        Event::AgentCreate(e) => vec![
            &mut e.agent_id,
            &mut e.process_id,
            &mut e.name,
            &mut e.agent_type,
            &mut e.parameters,
            &mut e.version,
        ],
        Event::AgentDestroy(e) => vec![&mut e.agent_id],
        Event::TraceStart(e) => vec![&mut e.trace_id, &mut e.agent_id],
        Event::TraceEnd(e) => vec![&mut e.trace_id],
        Event::Filter(e) => vec![
            &mut e.trace_id,
            &mut e.pattern,
            &mut e.generic_pattern,
            &mut e.mode,
            &mut e.method_pattern,
            &mut e.method_generic_pattern,
            &mut e.method_mode,
        ],
        Event::Option(e) => vec![&mut e.key, &mut e.value],
        Event::ThreadStart(e) => vec![&mut e.group, &mut e.parent_group, &mut e.name],
        Event::ClassDef(e) => vec![&mut e.name, &mut e.source_name],
        Event::MethodDef(e) => vec![&mut e.name, &mut e.signature],
        Event::MonitorWait(e) => e.stack.iter_mut().map(|f| &mut f.method).collect(),
        Event::MonitorWaited(e) => e.stack.iter_mut().map(|f| &mut f.method).collect(),
        Event::MonitorContendedEnter(e) => e.stack.iter_mut().map(|f| &mut f.method).collect(),
        Event::MonitorContendedEntered(e) => e.stack.iter_mut().map(|f| &mut f.method).collect(),
        Event::ExceptionThrow(e) => e.stack.iter_mut().map(|f| &mut f.method).collect(),
        Event::ExceptionCatch(e) => vec![&mut e.frame.method],
        Event::ThreadName(e) => vec![&mut e.name],
        Event::ThreadPark(e) => e.stack.iter_mut().map(|f| &mut f.method).collect(),
        Event::Sample(e) => e.stack.iter_mut().map(|f| &mut f.method).collect(),
        Event::GcDetail(e) => vec![&mut e.collector, &mut e.cause],
        Event::ClassDetail(e) => {
            let members = e.fields.iter_mut().chain(&mut e.methods);
            let members = members.flat_map(|member| [&mut member.name, &mut member.signature]);
            let names = [&mut e.super_name, &mut e.loader];
            names
                .into_iter()
                .chain(&mut e.interfaces)
                .chain(members)
                .collect()
        }
        Event::MethodCompile(e) => {
            let frames = e.ranges.iter_mut().flat_map(|range| &mut range.frames);
            frames.map(|f| &mut f.method).collect()
        }
        Event::HeapDump(e) => vec![&mut e.name],
        Event::GcRoot(e) => vec![&mut e.kind],
        Event::Custom(e) => vec![&mut e.body],
        _ => vec![],
    };
    texts.into_iter().for_each(change);
    event
}
