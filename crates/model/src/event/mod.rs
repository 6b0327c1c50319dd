//! The events of a trace.
//!
//! If possible, texts are borrowed from the decoder's input or the agent's tables.

mod call;
mod class;
mod code;
mod exception;
mod gc;
mod heap;
mod ids;
mod kind;
mod monitor;
mod object;
mod owned;
mod stack;
mod thread;
mod trace;

pub use call::*;
pub use class::*;
pub use code::*;
pub use exception::*;
pub use gc::*;
pub use heap::*;
pub use ids::IdMut;
pub use kind::Kind;
pub use monitor::*;
pub use object::*;
pub use stack::*;
pub use thread::*;
pub use trace::*;

use crate::{ThreadId, Timestamp};
use std::borrow::Cow;

/// Text of an event.
pub type Text<'a> = Cow<'a, str>;

/// One event of a trace.
///
/// Traces contain hundreds of millions of events. The four kinds in boxes are large and rare.
/// Without the boxes, each event would take 168 bytes instead of 96.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// The machine on which the program ran.
    Node(Node<'a>),
    /// The traced process.
    ProcessCreate(Box<ProcessCreate<'a>>),
    /// The agent in the process.
    AgentCreate(Box<AgentCreate<'a>>),
    /// The agent was unloaded; nothing follows.
    AgentDestroy(AgentDestroy<'a>),
    /// Recording began.
    TraceStart(TraceStart<'a>),
    /// Recording ended.
    TraceEnd(TraceEnd<'a>),
    /// Recording paused.
    TracePause(TracePause),
    /// Recording resumed, or began in a trace that was paused from its start.
    TraceResume(TraceResume),
    /// A filter rule in force.
    Filter(Box<Filter<'a>>),
    /// An option in force.
    Option(TraceOption<'a>),
    /// A thread started, or was first seen.
    ThreadStart(ThreadStart<'a>),
    /// A thread ended.
    ThreadEnd(ThreadEnd),
    /// Definition of a class, before its first use.
    ClassDef(ClassDef<'a>),
    /// Definition of a method, before its first use.
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
    /// The JVM is initialised and runs the program.
    RuntimeInitDone(RuntimeInitDone),
    /// The JVM began to shut down.
    RuntimeShutdown(RuntimeShutdown),
    /// A thread begins to wait on a monitor.
    MonitorWait(MonitorWait<'a>),
    /// A thread stopped waiting on a monitor.
    MonitorWaited(MonitorWaited<'a>),
    /// A thread blocks on a monitor that another thread holds.
    MonitorContendedEnter(MonitorContendedEnter<'a>),
    /// A thread got the monitor that it blocked on.
    MonitorContendedEntered(MonitorContendedEntered<'a>),
    /// A node of an aggregated call tree begins. Its children follow, up to its leave.
    AggregatedEnter(AggregatedEnter),
    /// A node of an aggregated call tree ends.
    AggregatedLeave(AggregatedLeave),
    /// A heap dump; its roots and references follow.
    HeapDump(HeapDump<'a>),
    /// A root of the object graph.
    GcRoot(GcRoot<'a>),
    /// A reference from one object to another.
    ObjectReference(ObjectReference),
    /// Free text. See [`crate::Note`] for the notes of jtrail.
    Custom(Custom<'a>),
    /// Definition of an object at its first mention, if the object existed before the trace, or if
    /// its allocation was not recorded.
    ObjectDef(ObjectDef),
    /// An exception was thrown.
    ExceptionThrow(ExceptionThrow<'a>),
    /// An exception was caught.
    ExceptionCatch(ExceptionCatch<'a>),
    /// A thread got another name.
    ThreadName(ThreadName<'a>),
    /// CPU time that a thread has used so far.
    ThreadCpu(ThreadCpu),
    /// A virtual thread was mounted on a carrier.
    ThreadMount(ThreadMount),
    /// A virtual thread was unmounted from its carrier.
    ThreadUnmount(ThreadUnmount),
    /// A thread is about to park (`java.util.concurrent.locks.LockSupport`).
    ThreadPark(ThreadPark<'a>),
    /// A thread is back from parking.
    ThreadUnpark(ThreadUnpark),
    /// Contents of a class file, after the [`ClassDef`].
    ClassDetail(Box<ClassDetail<'a>>),
    /// A class was unloaded.
    ClassUnload(ClassUnload),
    /// A class got new code, by redefinition or retransformation.
    ClassRedefine(ClassRedefine),
    /// A method was compiled.
    MethodCompile(MethodCompile<'a>),
    /// Compiled code of a method was unloaded.
    MethodUncompile(MethodUncompile),
    /// The operating-system thread that runs a thread.
    ThreadOsId(ThreadOsId),
    /// CPU time that the process has used so far.
    ProcessCpu(ProcessCpu),
    /// Sum over the objects of one class that a thread allocated.
    AllocationSum(AllocationSum),
    /// Number of live objects, by class.
    LiveObjects(LiveObjects),
    /// Stack of a thread at a tick of the sampler.
    Sample(Sample<'a>),
    /// Details of a garbage collection, before its [`GcFinish`].
    GcDetail(GcDetail<'a>),
    /// An object in a heap dump.
    HeapObject(HeapObject),
    /// A heap dump is complete.
    HeapDumpEnd(HeapDumpEnd),
    /// For each line of a method, the number of times that it was reached since the start of the
    /// trace.
    LineCounts(LineCounts),
    /// Further data of an aggregated call, immediately after its [`AggregatedEnter`].
    AggregatedDetail(AggregatedDetail),
    /// Sum over samples: a frame in the tree of a thread's stacks. The frames that this frame calls
    /// follow.
    SampleSum(SampleSum<'a>),
    /// Number of live objects of a class that a thread allocated.
    ObjectCounts(ObjectCounts),
    /// Source file of a class, if it becomes known only after the [`ClassDef`].
    ClassSource(ClassSource<'a>),
    /// Further data of a method from the class file, immediately after its [`MethodDef`].
    MethodDetail(MethodDetail),
    /// Data of an exception handler from the class file, immediately before the handler's
    /// [`ExceptionCatch`].
    CatchDetail(CatchDetail),
    /// A thread begins to run a class's static initialiser. The initialisers of the superclasses
    /// have run.
    ClassInitStart(ClassInitStart),
    /// The innermost static initialiser that the thread runs has ended.
    ClassInitEnd(ClassInitEnd),
}

/// Implements the conversion from the payload types in boxes.
macro_rules! from_boxed {
    ($($kind:ident),*) => {$(
        impl<'a> From<$kind<'a>> for Event<'a> {
            fn from(event: $kind<'a>) -> Self {
                Event::$kind(Box::new(event))
            }
        }
    )*};
}
from_boxed!(ProcessCreate, AgentCreate, Filter, ClassDetail);

impl Event<'_> {
    /// Returns the time of the event, if it has one.
    pub fn time(&self) -> Option<Timestamp> {
        Some(match self {
            Event::Node(e) => e.time,
            Event::ProcessCreate(e) => e.time,
            Event::AgentCreate(e) => e.time,
            Event::AgentDestroy(e) => e.time,
            Event::TraceStart(e) => e.time,
            Event::TraceEnd(e) => e.time,
            Event::TracePause(e) => e.time,
            Event::TraceResume(e) => e.time,
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
            Event::CatchDetail(e) => e.time,
            Event::ThreadName(e) => e.time,
            Event::ThreadCpu(e) => e.time,
            Event::ThreadOsId(e) => e.time,
            Event::ProcessCpu(e) => e.time,
            Event::AllocationSum(e) => e.time,
            Event::LiveObjects(e) => e.time,
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
            Event::SampleSum(e) => e.time,
            Event::ObjectCounts(e) => e.time,
            Event::ClassInitStart(e) => e.time,
            Event::ClassInitEnd(e) => e.time,
            Event::Filter(_)
            | Event::Option(_)
            | Event::MethodDef(_)
            | Event::AggregatedEnter(_)
            | Event::AggregatedLeave(_)
            | Event::AggregatedDetail(_)
            | Event::ClassSource(_)
            | Event::MethodDetail(_)
            | Event::GcRoot(_)
            | Event::ObjectReference(_)
            | Event::HeapObject(_)
            | Event::Custom(_) => return None,
        })
    }

    /// Returns the thread of the event, if it belongs to one.
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
            Event::CatchDetail(e) => e.thread,
            Event::ThreadName(e) => e.thread,
            Event::ThreadCpu(e) => e.thread,
            Event::ThreadOsId(e) => e.thread,
            Event::AllocationSum(e) => e.thread,
            Event::ThreadMount(e) => e.thread,
            Event::ThreadUnmount(e) => e.thread,
            Event::ThreadPark(e) => e.thread,
            Event::ThreadUnpark(e) => e.thread,
            Event::Sample(e) => e.thread,
            Event::AggregatedDetail(e) => e.thread,
            Event::SampleSum(e) => e.thread,
            Event::ObjectCounts(e) => e.thread,
            Event::ClassInitStart(e) => e.thread,
            Event::ClassInitEnd(e) => e.thread,
            _ => return None,
        };
        (!thread.is_none()).then_some(thread)
    }

    /// Returns true if the event is one of those that open a trace: machine, process, agent,
    /// filters and options.
    pub fn is_opening(&self) -> bool {
        matches!(
            self,
            Event::Node(_)
                | Event::ProcessCreate(_)
                | Event::AgentCreate(_)
                | Event::TraceStart(_)
                | Event::Filter(_)
                | Event::Option(_)
        )
    }

    /// Returns true if other events refer to this one: to an opening event, or to the definition of
    /// a thread, class or method.
    pub fn is_definition(&self) -> bool {
        self.is_opening()
            || matches!(
                self,
                Event::ThreadStart(_)
                    | Event::ThreadName(_)
                    | Event::ClassDef(_)
                    | Event::MethodDef(_)
            )
    }
}
