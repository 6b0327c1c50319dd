//! Random events of all kinds.

use jtrail_model::*;
use proptest::prelude::*;

/// A type that a field of an event may have.
trait Field: std::fmt::Debug + Sized + 'static {
    /// Returns a strategy for any value.
    fn random() -> BoxedStrategy<Self>;

    /// Passes the texts in the value to `see`.
    fn texts(&mut self, _see: &mut dyn FnMut(&mut Text<'static>)) {}
}

fn random<F: Field>() -> BoxedStrategy<F> {
    F::random()
}

macro_rules! fields {
    ($($type:ty: $strategy:expr;)*) => {
        $(impl Field for $type {
            fn random() -> BoxedStrategy<Self> {
                $strategy.boxed()
            }
        })*
    };
}

fields! {
    u8: any::<u8>();
    u16: any::<u16>();
    u32: any::<u32>();
    u64: count();
    i32: any::<i32>();
    i64: prop_oneof![2 => 0_i64..100, 5 => any::<i64>(), 1 => Just(i64::MAX), 1 => Just(i64::MIN)];
    // TPTP does not record whether an exception ended a call.
    bool: Just(false);
    ThreadId: id(ThreadId);
    ClassId: id(ClassId);
    MethodId: id(MethodId);
    ObjectId: id(ObjectId);
    HeapDumpId: id(HeapDumpId);
    ObjectKind: any::<u8>().prop_map(ObjectKind);
    ThreadState: prop::sample::select(&ThreadState::ALL[..]);
    Generation: prop::sample::select(&Generation::ALL[..]);
    Ticks: ticks();
    Timestamp: time();
    Duration: duration();
    LineCount: (any::<u32>(), count()).prop_map(|(line, count)| LineCount { line, count });
    LiveClass: (id(ClassId), count(), count())
        .prop_map(|(class, objects, bytes)| LiveClass { class, objects, bytes });
}

impl Field for Text<'static> {
    fn random() -> BoxedStrategy<Self> {
        text().boxed()
    }

    fn texts(&mut self, see: &mut dyn FnMut(&mut Text<'static>)) {
        see(self);
    }
}

impl<F: Field> Field for Vec<F> {
    fn random() -> BoxedStrategy<Self> {
        prop::collection::vec(F::random(), 0..4).boxed()
    }

    fn texts(&mut self, see: &mut dyn FnMut(&mut Text<'static>)) {
        self.iter_mut().for_each(|field| field.texts(see));
    }
}

/// Implements [`Field`] for structs. A field's strategy follows from its type, unless one is given.
macro_rules! strategy {
    ($made:expr, $($field:ident $(= $strategy:expr)?),*) => {
        ($(strategy!(@ $($strategy)?),)*).prop_map(|($($field,)*)| $made).boxed()
    };
    (@) => { random() };
    (@ $strategy:expr) => { $strategy };
}

macro_rules! structs {
    ($($type:ident { $($field:ident),* })*) => {
        $(impl Field for $type<'static> {
            fn random() -> BoxedStrategy<Self> {
                strategy!($type { $($field),* }, $($field),*)
            }

            fn texts(&mut self, see: &mut dyn FnMut(&mut Text<'static>)) {
                $(self.$field.texts(see);)*
            }
        })*
    };
}

structs! {
    Frame { method, line }
    Member { name, signature, access }
    CodeRange { offset, frames }
}

/// Takes lists of kinds of events. Defines a strategy for each list, and a function that visits the
/// texts of an event.
macro_rules! events {
    ($($list:ident { $($kind:ident($payload:ident) { $($field:ident $(= $strategy:expr)?),* })* })*) => {
        $(fn $list() -> impl Strategy<Value = Event<'static>> {
            prop::strategy::Union::new([
                $(strategy!(Event::$kind($payload { $($field),* }.into()), $($field $(= $strategy)?),*),)*
            ])
        })*

        fn texts(event: &mut Event<'static>, see: &mut dyn FnMut(&mut Text<'static>)) {
            match event {
                $($(Event::$kind(e) => { $(e.$field.texts(see);)* })*)*
                _ => panic!("a kind of event that no list has"),
            }
        }
    };
}

events! {
    with_message {
        Node(Node) { node_id, hostname, ip_address, timezone, time }
        ProcessCreate(ProcessCreate) { process_id, name, pid, node_id, time, executable }
        AgentCreate(AgentCreate) { agent_id, process_id, name, agent_type, time, parameters, version }
        AgentDestroy(AgentDestroy) { agent_id, time }
        TraceStart(TraceStart) { trace_id, agent_id, time }
        TraceEnd(TraceEnd) { trace_id, time }
        Filter(Filter) { trace_id, pattern, generic_pattern, mode, method_pattern, method_generic_pattern, method_mode }
        Option(TraceOption) { key, value }
        ThreadStart(ThreadStart) { thread, time, group, parent_group, object, name }
        ThreadEnd(ThreadEnd) { thread, time }
        ClassDef(ClassDef) { class, thread, time, name, source_name, object }
        MethodDef(MethodDef) { method, class, name, signature = signature(), start_line, end_line }
        ObjectAlloc(ObjectAlloc) { thread, time, kind, object, size, line, method, class }
        MethodEnter(MethodEnter) { thread, time, method, class, ticket, cpu_time, stack_depth }
        MethodLeave(MethodLeave) { thread, time, method, class, ticket, cpu_time, by_exception }
        GcStart(GcStart) { time }
        ObjectFree(ObjectFree) { time, object, age }
        GcFinish(GcFinish) { time, total_space, used_space, used_objects }
        RuntimeInitDone(RuntimeInitDone) { thread, time }
        RuntimeShutdown(RuntimeShutdown) { thread, time }
        MonitorWait(MonitorWait) { thread, time, object, timeout_ms, stack }
        MonitorWaited(MonitorWaited) { thread, time, object, timed_out, stack }
        MonitorContendedEnter(MonitorContendedEnter) { thread, time, object, owner, stack }
        MonitorContendedEntered(MonitorContendedEntered) { thread, time, object, stack }
        AggregatedEnter(AggregatedEnter) { thread, method, base_time, min_time, max_time, base_cpu_time, calls }
        AggregatedLeave(AggregatedLeave) { thread, method }
        HeapDump(HeapDump) { dump, time, name, base_time }
        GcRoot(GcRoot) { class, object, kind }
        ObjectReference(ObjectReference) { source, target, dump }
        Custom(Custom) { body }
    }
    without_message {
        ObjectDef(ObjectDef) { object, time, kind, size, class }
        ExceptionThrow(ExceptionThrow) { thread, time, object, class, stack }
        ExceptionCatch(ExceptionCatch) { thread, time, object, class, frame }
        ThreadName(ThreadName) { thread, time, name }
        ThreadCpu(ThreadCpu) { thread, time, cpu_time }
        ThreadMount(ThreadMount) { thread, time, carrier }
        ThreadUnmount(ThreadUnmount) { thread, time, carrier }
        ThreadPark(ThreadPark) { thread, time, object, stack }
        ThreadUnpark(ThreadUnpark) { thread, time }
        ClassDetail(ClassDetail) { class, time, access, super_name, interfaces, loader, size, fields, methods }
        ClassUnload(ClassUnload) { class, time }
        ClassRedefine(ClassRedefine) { class, time, size }
        MethodCompile(MethodCompile) { method, time, address, size, ranges }
        MethodUncompile(MethodUncompile) { method, time, address }
        Sample(Sample) { thread, time, state, ticks, stack }
        GcDetail(GcDetail) { time, collector, cause, generation }
        HeapObject(HeapObject) { dump, object, class, size }
        HeapDumpEnd(HeapDumpEnd) { dump, time }
        LineCounts(LineCounts) { method, time, calls, lines }
        TracePause(TracePause) { time }
        TraceResume(TraceResume) { time }
        AggregatedDetail(AggregatedDetail) { thread, method, exceptions, overhead }
        SampleSum(SampleSum) { thread, time, depth = prop_oneof![0_u64..5, count()], frame, runnable, all }
        ObjectCounts(ObjectCounts) { thread, time, class, live, peak }
        ClassSource(ClassSource) { class, source_name }
        MethodDetail(MethodDetail) { method, size }
        CatchDetail(CatchDetail) { thread, time, entry, takes_all = any::<bool>() }
        ThreadOsId(ThreadOsId) { thread, time, os_id }
        ProcessCpu(ProcessCpu) { time, cpu_time }
        AllocationSum(AllocationSum) { thread, time, class, objects, bytes }
        LiveObjects(LiveObjects) { time, classes }
        ClassInitStart(ClassInitStart) { thread, time, class }
        ClassInitEnd(ClassInitEnd) { thread, time, class, failed = any::<bool>() }
    }
}

/// Returns the event with each of its texts replaced by the result of `change`.
pub fn with_text(mut event: Event<'static>, change: &dyn Fn(&str) -> String) -> Event<'static> {
    texts(&mut event, &mut |text| *text = change(text).into());
    event
}

/// Returns a strategy for text with everything that a format may get wrong.
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

fn id<T: std::fmt::Debug>(new: fn(u64) -> T) -> impl Strategy<Value = T> {
    prop_oneof![2 => 0_u64..4, 3 => 0_u64..2000, 2 => any::<u64>()].prop_map(new)
}

/// Returns a strategy for numbers that are added to others. One more than the largest one must not
/// panic.
fn count() -> impl Strategy<Value = u64> {
    prop_oneof![1 => 0..100_u64, 5 => any::<u64>(), 2 => Just(u64::MAX)]
}

fn time() -> impl Strategy<Value = Timestamp> {
    let usual = 1_500_000_000_000_000_000..1_900_000_000_000_000_000_i64;
    prop_oneof![3 => usual, 1 => any::<i64>()].prop_map(Timestamp)
}

fn ticks() -> impl Strategy<Value = Ticks> {
    let more = prop_oneof![Just(u64::MAX), 2..100_u64, 1..=u64::MAX];
    prop_oneof![3 => Just(1), 1 => more].prop_map(|count| Ticks::new(count).expect("not 0"))
}

fn duration() -> impl Strategy<Value = Duration> {
    prop_oneof![2 => Just(0), 2 => 0_i64..100_000_000_000, 1 => any::<i64>()].prop_map(Duration)
}

/// Returns a strategy for a descriptor, or for none.
fn signature() -> impl Strategy<Value = Text<'static>> {
    prop_oneof![text(), Just("(I)V".into()), Just("()V".into())]
}

/// Returns a strategy for an event of any kind: with a message in TPTP, written as text in TPTP, or
/// text that is almost such an event.
pub fn event() -> impl Strategy<Value = Event<'static>> {
    prop_oneof![30 => with_message(), 25 => without_message(), 2 => nearly_event()]
}

/// Returns a strategy for free text that differs in one character from an event's text.
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

pub fn trace() -> impl Strategy<Value = Vec<Event<'static>>> {
    prop::collection::vec(event(), 0..20)
}
