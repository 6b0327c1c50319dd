//! The events of a trace.
//!
//! Text is borrowed where it can be: from the decoder's input, or from the agent's tables.

use crate::{ClassId, Duration, HeapDumpId, MethodId, ObjectId, ThreadId, Timestamp};
use std::borrow::Cow;

/// Text of an event.
pub type Text<'a> = Cow<'a, str>;

/// One event of a trace.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The machine on which the program ran.
    Node(Node<'a>),
    /// The traced process.
    ProcessCreate(ProcessCreate<'a>),
    /// The agent in the process.
    AgentCreate(AgentCreate<'a>),
    /// The agent was unloaded; nothing follows.
    AgentDestroy(AgentDestroy<'a>),
    /// Collection began.
    TraceStart(TraceStart<'a>),
    /// Collection ended.
    TraceEnd(TraceEnd<'a>),
    /// A filter rule in force.
    Filter(Filter<'a>),
    /// An option in force.
    Option(TraceOption<'a>),
    /// A thread began, or was seen for the first time.
    ThreadStart(ThreadStart<'a>),
    /// A thread ended.
    ThreadEnd(ThreadEnd),
    /// A class, announced before its first use.
    ClassDef(ClassDef<'a>),
    /// A method, announced before its first use.
    MethodDef(MethodDef<'a>),
    /// An object was allocated.
    ObjectAlloc(ObjectAlloc),
    /// A call began.
    MethodEnter(MethodEnter),
    /// A call ended, by return or by exception.
    MethodLeave(MethodLeave),
    /// A garbage collection began.
    GcStart(GcStart),
    /// An object was found dead.
    ObjectFree(ObjectFree),
    /// A garbage collection ended.
    GcFinish(GcFinish),
    /// The JVM is ready to run the program.
    RuntimeInitDone(RuntimeInitDone),
    /// The JVM began to stop.
    RuntimeShutdown(RuntimeShutdown),
    /// A thread begins to wait on a monitor.
    MonitorWait(MonitorWait<'a>),
    /// A thread stopped waiting on a monitor.
    MonitorWaited(MonitorWaited<'a>),
    /// A thread blocks on a monitor that another holds.
    MonitorContendedEnter(MonitorContendedEnter<'a>),
    /// A thread got the monitor that it blocked on.
    MonitorContendedEntered(MonitorContendedEntered<'a>),
    /// A node of an aggregated call tree; its children follow up to its leave.
    AggregatedEnter(AggregatedEnter),
    /// The end of a node of an aggregated call tree.
    AggregatedLeave(AggregatedLeave),
    /// A heap dump; its roots and references follow.
    HeapDump(HeapDump<'a>),
    /// A root of the object graph.
    GcRoot(GcRoot<'a>),
    /// A reference from one object to another.
    ObjectReference(ObjectReference),
    /// Free text; see [`crate::Note`] for what jtrail itself writes there.
    Custom(Custom<'a>),
    /// An object that was there before the trace, or that was not seen when it was made, at its first mention.
    ObjectDef(ObjectDef),
    /// An exception was thrown.
    ExceptionThrow(ExceptionThrow<'a>),
    /// An exception was caught.
    ExceptionCatch(ExceptionCatch<'a>),
    /// A thread got another name.
    ThreadName(ThreadName<'a>),
    /// How much CPU time a thread has used so far.
    ThreadCpu(ThreadCpu),
    /// A virtual thread took a carrier.
    ThreadMount(ThreadMount),
    /// A virtual thread left its carrier.
    ThreadUnmount(ThreadUnmount),
    /// A thread is about to park (`java.util.concurrent.locks.LockSupport`).
    ThreadPark(ThreadPark<'a>),
    /// A thread came back from parking.
    ThreadUnpark(ThreadUnpark),
    /// All that a class file says of a class, behind its [`ClassDef`].
    ClassDetail(ClassDetail<'a>),
    /// A class was unloaded.
    ClassUnload(ClassUnload),
    /// A class got new code, by redefinition or retransformation.
    ClassRedefine(ClassRedefine),
    /// A method was compiled.
    MethodCompile(MethodCompile<'a>),
    /// A method's compiled code was thrown away.
    MethodUncompile(MethodUncompile),
    /// A thread's stack at one tick of the sampler.
    Sample(Sample<'a>),
    /// What the JVM says of a collection, before its [`GcFinish`].
    GcDetail(GcDetail<'a>),
    /// An object in a heap dump.
    HeapObject(HeapObject),
    /// A heap dump is complete.
    HeapDumpEnd(HeapDumpEnd),
    /// How often the lines of a method were reached since the trace began.
    LineCounts(LineCounts),
}

/// See [`Event::Node`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Node<'a> {
    /// Identity of the machine, stable while it is up.
    pub node_id: Text<'a>,
    /// Its name.
    pub hostname: Text<'a>,
    /// Its addresses, joined with `,`, loopback last.
    pub ip_address: Text<'a>,
    /// Minutes west of UTC (UTC+8 is -480).
    pub timezone: i32,
    /// When the agent was loaded.
    pub time: Timestamp,
}

/// See [`Event::ProcessCreate`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ProcessCreate<'a> {
    /// Identity of this run of the process.
    pub process_id: Text<'a>,
    /// Name of the process.
    pub name: Text<'a>,
    /// The operating system's process id.
    pub pid: i32,
    /// [`Node::node_id`] of its machine.
    pub node_id: Text<'a>,
    /// When the agent was loaded.
    pub time: Timestamp,
    /// Program file.
    pub executable: Text<'a>,
}

/// See [`Event::AgentCreate`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AgentCreate<'a> {
    /// Identity of this run of the agent.
    pub agent_id: Text<'a>,
    /// [`ProcessCreate::process_id`] of its process.
    pub process_id: Text<'a>,
    /// Product name.
    pub name: Text<'a>,
    /// Kind of agent.
    pub agent_type: Text<'a>,
    /// When the agent was loaded.
    pub time: Timestamp,
    /// Option text as the agent received it.
    pub parameters: Text<'a>,
    /// Product version.
    pub version: Text<'a>,
}

/// See [`Event::AgentDestroy`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct AgentDestroy<'a> {
    /// [`AgentCreate::agent_id`].
    pub agent_id: Text<'a>,
    /// When it was unloaded.
    pub time: Timestamp,
}

/// See [`Event::TraceStart`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceStart<'a> {
    /// Identity of this trace.
    pub trace_id: Text<'a>,
    /// [`AgentCreate::agent_id`].
    pub agent_id: Text<'a>,
    /// When collection began.
    pub time: Timestamp,
}

/// See [`Event::TraceEnd`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceEnd<'a> {
    /// [`TraceStart::trace_id`]; empty in our own traces.
    pub trace_id: Text<'a>,
    /// When collection ended.
    pub time: Timestamp,
}

/// See [`Event::Filter`]. The words are those of TPTP (its specification, message 1007).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter<'a> {
    /// [`TraceStart::trace_id`].
    pub trace_id: Text<'a>,
    /// Class pattern without its `*`.
    pub pattern: Text<'a>,
    /// Where the star stood: `SUFFIX` (at the end), `PREFIX` (at the begin, or alone), `NONE`.
    pub generic_pattern: Text<'a>,
    /// `INCLUDE` or `EXCLUDE`.
    pub mode: Text<'a>,
    /// Method pattern without its `*`.
    pub method_pattern: Text<'a>,
    /// As `generic_pattern`, for the method pattern.
    pub method_generic_pattern: Text<'a>,
    /// As `mode`, for the method pattern.
    pub method_mode: Text<'a>,
}

/// See [`Event::Option`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TraceOption<'a> {
    /// Key of the option.
    pub key: Text<'a>,
    /// Value in force.
    pub value: Text<'a>,
}

/// See [`Event::ThreadStart`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ThreadStart<'a> {
    /// New id.
    pub thread: ThreadId,
    /// Start of the thread, or its first sight.
    pub time: Timestamp,
    /// Name of its thread group.
    pub group: Text<'a>,
    /// Name of the group above, empty at the top.
    pub parent_group: Text<'a>,
    /// The `java.lang.Thread`, where objects have ids.
    pub object: ObjectId,
    /// Name at that moment.
    pub name: Text<'a>,
}

/// See [`Event::ThreadEnd`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadEnd {
    /// The thread that ended.
    pub thread: ThreadId,
    /// When it ended.
    pub time: Timestamp,
}

/// See [`Event::ClassDef`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClassDef<'a> {
    /// New id.
    pub class: ClassId,
    /// Thread that caused it, where the format says so.
    pub thread: ThreadId,
    /// When the class was first used by the trace.
    pub time: Timestamp,
    /// Name with dots between packages and `$` before inner names, as `Class.getName` prints it.
    pub name: Text<'a>,
    /// Source file, empty if unknown.
    pub source_name: Text<'a>,
    /// The `java.lang.Class`, where objects have ids.
    pub object: ObjectId,
}

/// See [`Event::MethodDef`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MethodDef<'a> {
    /// New id.
    pub method: MethodId,
    /// Its class.
    pub class: ClassId,
    /// Raw name (`<init>` stays `<init>`).
    pub name: Text<'a>,
    /// VM descriptor, with slashes.
    pub signature: Text<'a>,
    /// Smallest source line, 0 if unknown.
    pub start_line: i64,
    /// Largest source line, 0 if unknown.
    pub end_line: i64,
}

/// What an allocated object is. The numbers are TPTP's (message 1014, "is array").
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ObjectKind(pub u8);

impl ObjectKind {
    /// Not an array.
    pub const PLAIN: Self = Self(0);
    /// Array of references.
    pub const REFERENCES: Self = Self(2);
    /// `boolean[]`
    pub const BOOLEAN: Self = Self(4);
    /// `char[]`
    pub const CHAR: Self = Self(5);
    /// `float[]`
    pub const FLOAT: Self = Self(6);
    /// `double[]`
    pub const DOUBLE: Self = Self(7);
    /// `byte[]`
    pub const BYTE: Self = Self(8);
    /// `short[]`
    pub const SHORT: Self = Self(9);
    /// `int[]`
    pub const INT: Self = Self(10);
    /// `long[]`
    pub const LONG: Self = Self(11);
}

/// See [`Event::ObjectAlloc`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ObjectAlloc {
    /// Allocating thread, none if unknown.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// Plain object or which array.
    pub kind: ObjectKind,
    /// New id.
    pub object: ObjectId,
    /// Bytes.
    pub size: i64,
    /// Source line of the allocation, 0 if unknown.
    pub line: i64,
    /// Allocating method, none if filtered away or unknown.
    pub method: MethodId,
    /// Class of the object.
    pub class: ClassId,
}

/// See [`Event::MethodEnter`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MethodEnter {
    /// The calling thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// The called method.
    pub method: MethodId,
    /// Its declaring class.
    pub class: ClassId,
    /// Number of the call on its thread, from 1; its leave has the same.
    pub ticket: u32,
    /// CPU time of the thread, 0 when not measured.
    pub cpu_time: Duration,
    /// Recorded calls open on the thread, this one included.
    pub stack_depth: i64,
}

/// See [`Event::MethodLeave`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MethodLeave {
    /// The calling thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// The method left.
    pub method: MethodId,
    /// Its declaring class.
    pub class: ClassId,
    /// Ticket of the matching enter.
    pub ticket: u32,
    /// CPU time of the thread, 0 when not measured.
    pub cpu_time: Duration,
    /// An exception ended the call. Formats that don't tell read as `false`.
    pub by_exception: bool,
}

/// See [`Event::GcStart`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GcStart {
    /// When.
    pub time: Timestamp,
}

/// See [`Event::ObjectFree`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ObjectFree {
    /// End of the collection that freed it.
    pub time: Timestamp,
    /// The dead object.
    pub object: ObjectId,
    /// Collections that it lived through.
    pub age: i64,
}

/// See [`Event::GcFinish`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GcFinish {
    /// When.
    pub time: Timestamp,
    /// Heap size in bytes, 0 if unknown.
    pub total_space: i64,
    /// Bytes in use, 0 if unknown.
    pub used_space: i64,
    /// Live objects, 0 if unknown.
    pub used_objects: i64,
}

/// See [`Event::RuntimeInitDone`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RuntimeInitDone {
    /// Thread that told us.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
}

/// See [`Event::RuntimeShutdown`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RuntimeShutdown {
    /// Thread that told us, none if it was never announced.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
}

/// One frame of a stack, innermost first in the lists that hold it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frame<'a> {
    /// `class.method(descriptor)result`, for instance `java.lang.Object.wait(J)V`.
    pub method: Text<'a>,
    /// Source line, -1 if unknown, -2 in a native method.
    pub line: i64,
}

/// See [`Event::MonitorWait`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MonitorWait<'a> {
    /// The waiting thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// The monitor's object, none if it has no id.
    pub object: ObjectId,
    /// Limit in milliseconds, 0 for none.
    pub timeout_ms: i64,
    /// Where, as deep as asked for.
    pub stack: Vec<Frame<'a>>,
}

/// See [`Event::MonitorWaited`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MonitorWaited<'a> {
    /// The waiting thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// The monitor's object, none if it has no id.
    pub object: ObjectId,
    /// 1 if the limit ended the wait, else 0.
    pub timed_out: i64,
    /// Where, as deep as asked for.
    pub stack: Vec<Frame<'a>>,
}

/// See [`Event::MonitorContendedEnter`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MonitorContendedEnter<'a> {
    /// The blocked thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// The monitor's object, none if it has no id.
    pub object: ObjectId,
    /// Thread that holds the monitor, none if unknown.
    pub owner: ThreadId,
    /// Where, as deep as asked for.
    pub stack: Vec<Frame<'a>>,
}

/// See [`Event::MonitorContendedEntered`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MonitorContendedEntered<'a> {
    /// The thread that got the monitor.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// The monitor's object, none if it has no id.
    pub object: ObjectId,
    /// Where, as deep as asked for.
    pub stack: Vec<Frame<'a>>,
}

/// See [`Event::AggregatedEnter`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AggregatedEnter {
    /// The calling thread.
    pub thread: ThreadId,
    /// The called method.
    pub method: MethodId,
    /// Own time of all calls at this place of the tree, without callees.
    pub base_time: Duration,
    /// Smallest own time of one call.
    pub min_time: Duration,
    /// Largest own time of one call.
    pub max_time: Duration,
    /// Own CPU time, 0 if not measured.
    pub base_cpu_time: Duration,
    /// Calls counted.
    pub calls: i64,
}

/// See [`Event::AggregatedLeave`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AggregatedLeave {
    /// The calling thread.
    pub thread: ThreadId,
    /// Method of the enter that it closes.
    pub method: MethodId,
}

/// See [`Event::HeapDump`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct HeapDump<'a> {
    /// New id.
    pub dump: HeapDumpId,
    /// When.
    pub time: Timestamp,
    /// Name of the dump.
    pub name: Text<'a>,
    /// When the trace began.
    pub base_time: Timestamp,
}

/// See [`Event::GcRoot`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GcRoot<'a> {
    /// Class of the object, none if never announced.
    pub class: ClassId,
    /// The object.
    pub object: ObjectId,
    /// `JNI_GLOBAL`, `SYSTEM_CLASS`, `MONITOR`, `STACK_LOCAL`, `JNI_LOCAL`, `THREAD` or `OTHER`.
    pub kind: Text<'a>,
}

/// See [`Event::ObjectReference`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ObjectReference {
    /// Object that holds the reference.
    pub source: ObjectId,
    /// Object referred to.
    pub target: ObjectId,
    /// The dump that it belongs to.
    pub dump: HeapDumpId,
}

/// See [`Event::Custom`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Custom<'a> {
    /// The text.
    pub body: Text<'a>,
}

/// See [`Event::ObjectDef`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ObjectDef {
    /// New id.
    pub object: ObjectId,
    /// When it was first mentioned.
    pub time: Timestamp,
    /// Plain object or which array.
    pub kind: ObjectKind,
    /// Bytes, 0 if unknown.
    pub size: i64,
    /// Class of the object.
    pub class: ClassId,
}

/// See [`Event::ExceptionThrow`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExceptionThrow<'a> {
    /// The throwing thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// The exception, none if it has no id.
    pub object: ObjectId,
    /// Class of the exception.
    pub class: ClassId,
    /// Where, innermost frame first, as deep as asked for; at least one frame.
    pub stack: Vec<Frame<'a>>,
}

/// See [`Event::ExceptionCatch`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExceptionCatch<'a> {
    /// The catching thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// The exception, none if it has no id.
    pub object: ObjectId,
    /// Class of the exception.
    pub class: ClassId,
    /// The catching method, and the line of its handler.
    pub frame: Frame<'a>,
}

/// See [`Event::ThreadName`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ThreadName<'a> {
    /// The thread.
    pub thread: ThreadId,
    /// When the name was seen.
    pub time: Timestamp,
    /// The new name.
    pub name: Text<'a>,
}

/// See [`Event::ThreadCpu`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadCpu {
    /// The thread.
    pub thread: ThreadId,
    /// When it was read.
    pub time: Timestamp,
    /// User and system time since the thread began.
    pub cpu_time: Duration,
}

/// See [`Event::ThreadMount`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadMount {
    /// The virtual thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// The platform thread that runs it from now on; none if unknown.
    pub carrier: ThreadId,
}

/// See [`Event::ThreadUnmount`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadUnmount {
    /// The virtual thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// The platform thread that ran it; none if unknown.
    pub carrier: ThreadId,
}

/// See [`Event::ThreadPark`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ThreadPark<'a> {
    /// The thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// What it waits for (the blocker), none if the caller did not say or objects have no ids.
    pub object: ObjectId,
    /// Where, innermost frame first, as deep as asked for.
    pub stack: Vec<Frame<'a>>,
}

/// See [`Event::ThreadUnpark`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadUnpark {
    /// The thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
}

/// A field or method of a class, as its class file names it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Member<'a> {
    /// Raw name.
    pub name: Text<'a>,
    /// VM descriptor, with slashes.
    pub signature: Text<'a>,
    /// Access flags of the class file.
    pub access: u16,
}

/// See [`Event::ClassDetail`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClassDetail<'a> {
    /// The class.
    pub class: ClassId,
    /// When it was prepared.
    pub time: Timestamp,
    /// Access flags of the class file.
    pub access: u16,
    /// Name of the superclass, as in [`ClassDef::name`]; empty where there is none.
    pub super_name: Text<'a>,
    /// Names of the direct interfaces, in the order of the declaration.
    pub interfaces: Vec<Text<'a>>,
    /// `bootstrap`, `platform`, `app`, or the loader's class and number (`com.acme.Loader@7`).
    pub loader: Text<'a>,
    /// Bytes of the class file, 0 if unknown.
    pub size: i64,
    /// Declared fields, in the order of the class file.
    pub fields: Vec<Member<'a>>,
    /// Declared methods, in the order of the class file.
    pub methods: Vec<Member<'a>>,
}

/// See [`Event::ClassUnload`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClassUnload {
    /// The class.
    pub class: ClassId,
    /// When.
    pub time: Timestamp,
}

/// See [`Event::ClassRedefine`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClassRedefine {
    /// The class.
    pub class: ClassId,
    /// When.
    pub time: Timestamp,
    /// Bytes of the new class file.
    pub size: i64,
}

/// A range of compiled code that came from one method, itself or inlined.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct CodeRange<'a> {
    /// First byte of the range, counted from the start of the code.
    pub offset: i64,
    /// The frames at that place: innermost (inlined) method first, the compiled method last. Lines as in [`Frame`].
    pub frames: Vec<Frame<'a>>,
}

/// See [`Event::MethodCompile`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MethodCompile<'a> {
    /// The method.
    pub method: MethodId,
    /// When.
    pub time: Timestamp,
    /// Address of the code.
    pub address: u64,
    /// Bytes of the code.
    pub size: i64,
    /// Where the code of which line is, where the JVM says so.
    pub ranges: Vec<CodeRange<'a>>,
}

/// See [`Event::MethodUncompile`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MethodUncompile {
    /// The method.
    pub method: MethodId,
    /// When.
    pub time: Timestamp,
    /// Address of the code.
    pub address: u64,
}

/// What a thread does when it is sampled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ThreadState {
    /// It runs, or could run.
    #[default]
    Runnable,
    /// It wants to enter a monitor that another thread holds.
    Blocked,
    /// It waits in `Object.wait`.
    Waiting,
    /// It is parked.
    Parked,
    /// It sleeps.
    Sleeping,
}

/// See [`Event::Sample`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sample<'a> {
    /// The sampled thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// What it did.
    pub state: ThreadState,
    /// Its stack, innermost frame first, as deep as asked for.
    pub stack: Vec<Frame<'a>>,
}

/// Which part of the heap a collection was for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Generation {
    /// The JVM does not say.
    #[default]
    Unknown,
    /// Young objects only.
    Young,
    /// All, or the old ones.
    Full,
    /// A short stop within a collection that runs beside the program.
    Concurrent,
}

/// See [`Event::GcDetail`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GcDetail<'a> {
    /// When it was read.
    pub time: Timestamp,
    /// The JVM's name of the collector; empty if unknown.
    pub collector: Text<'a>,
    /// The JVM's words for the cause (`System.gc()`); empty if unknown.
    pub cause: Text<'a>,
    /// Which part of the heap.
    pub generation: Generation,
}

/// See [`Event::HeapObject`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HeapObject {
    /// The dump that it belongs to.
    pub dump: HeapDumpId,
    /// The object.
    pub object: ObjectId,
    /// Its class.
    pub class: ClassId,
    /// Bytes.
    pub size: i64,
}

/// See [`Event::HeapDumpEnd`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HeapDumpEnd {
    /// The dump.
    pub dump: HeapDumpId,
    /// When it was complete.
    pub time: Timestamp,
}

/// How often one line was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LineCount {
    /// Source line.
    pub line: u32,
    /// How often one of its line table entries was executed; several entries of one line are added up.
    pub count: u64,
}

/// See [`Event::LineCounts`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LineCounts {
    /// The method.
    pub method: MethodId,
    /// When they were read.
    pub time: Timestamp,
    /// How often the method was called.
    pub calls: u64,
    /// All lines of its line table, ascending, each once. Replaces what was told of this method before.
    pub lines: Vec<LineCount>,
}

impl Event<'_> {
    /// The point in time that the event carries, if it carries one.
    pub fn time(&self) -> Option<Timestamp> {
        Some(match self {
            Event::Node(e) => e.time,
            Event::ProcessCreate(e) => e.time,
            Event::AgentCreate(e) => e.time,
            Event::AgentDestroy(e) => e.time,
            Event::TraceStart(e) => e.time,
            Event::TraceEnd(e) => e.time,
            Event::ThreadStart(e) => e.time,
            Event::ThreadEnd(e) => e.time,
            Event::ClassDef(e) => e.time,
            Event::ObjectAlloc(e) => e.time,
            Event::MethodEnter(e) => e.time,
            Event::MethodLeave(e) => e.time,
            Event::GcStart(e) => e.time,
            Event::ObjectFree(e) => e.time,
            Event::GcFinish(e) => e.time,
            Event::RuntimeInitDone(e) => e.time,
            Event::RuntimeShutdown(e) => e.time,
            Event::MonitorWait(e) => e.time,
            Event::MonitorWaited(e) => e.time,
            Event::MonitorContendedEnter(e) => e.time,
            Event::MonitorContendedEntered(e) => e.time,
            Event::HeapDump(e) => e.time,
            Event::ObjectDef(e) => e.time,
            Event::ExceptionThrow(e) => e.time,
            Event::ExceptionCatch(e) => e.time,
            Event::ThreadName(e) => e.time,
            Event::ThreadCpu(e) => e.time,
            Event::ThreadMount(e) => e.time,
            Event::ThreadUnmount(e) => e.time,
            Event::ThreadPark(e) => e.time,
            Event::ThreadUnpark(e) => e.time,
            Event::ClassDetail(e) => e.time,
            Event::ClassUnload(e) => e.time,
            Event::ClassRedefine(e) => e.time,
            Event::MethodCompile(e) => e.time,
            Event::MethodUncompile(e) => e.time,
            Event::Sample(e) => e.time,
            Event::GcDetail(e) => e.time,
            Event::HeapDumpEnd(e) => e.time,
            Event::LineCounts(e) => e.time,
            Event::Filter(_)
            | Event::Option(_)
            | Event::MethodDef(_)
            | Event::AggregatedEnter(_)
            | Event::AggregatedLeave(_)
            | Event::GcRoot(_)
            | Event::ObjectReference(_)
            | Event::HeapObject(_)
            | Event::Custom(_) => return None,
        })
    }

    /// The thread that the event belongs to, if it belongs to one.
    pub fn thread(&self) -> Option<ThreadId> {
        let thread = match self {
            Event::ThreadStart(e) => e.thread,
            Event::ThreadEnd(e) => e.thread,
            Event::ClassDef(e) => e.thread,
            Event::ObjectAlloc(e) => e.thread,
            Event::MethodEnter(e) => e.thread,
            Event::MethodLeave(e) => e.thread,
            Event::RuntimeInitDone(e) => e.thread,
            Event::RuntimeShutdown(e) => e.thread,
            Event::MonitorWait(e) => e.thread,
            Event::MonitorWaited(e) => e.thread,
            Event::MonitorContendedEnter(e) => e.thread,
            Event::MonitorContendedEntered(e) => e.thread,
            Event::AggregatedEnter(e) => e.thread,
            Event::AggregatedLeave(e) => e.thread,
            Event::ExceptionThrow(e) => e.thread,
            Event::ExceptionCatch(e) => e.thread,
            Event::ThreadName(e) => e.thread,
            Event::ThreadCpu(e) => e.thread,
            Event::ThreadMount(e) => e.thread,
            Event::ThreadUnmount(e) => e.thread,
            Event::ThreadPark(e) => e.thread,
            Event::ThreadUnpark(e) => e.thread,
            Event::Sample(e) => e.thread,
            _ => return None,
        };
        (!thread.is_none()).then_some(thread)
    }
}
