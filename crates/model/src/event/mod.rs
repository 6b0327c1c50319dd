//! The events of a trace.
//!
//! Text is borrowed where it can be: from the decoder's input, or from the agent's tables.

mod call;
mod class;
mod code;
mod exception;
mod gc;
mod heap;
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
/// Programs hand on events by the hundred million. The four kinds in boxes are large and rare:
/// without, each event would be as large as they are (168 bytes in place of 96).
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
    /// Collection began.
    TraceStart(TraceStart<'a>),
    /// Collection ended.
    TraceEnd(TraceEnd<'a>),
    /// Collection paused.
    TracePause(TracePause),
    /// Collection goes on, or begins in a trace that was paused from its start.
    TraceResume(TraceResume),
    /// A filter rule in force.
    Filter(Box<Filter<'a>>),
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
    /// An object that was there before the trace, or that was not seen when it was made, at its
    /// first mention.
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
    ClassDetail(Box<ClassDetail<'a>>),
    /// A class was unloaded.
    ClassUnload(ClassUnload),
    /// A class got new code, by redefinition or retransformation.
    ClassRedefine(ClassRedefine),
    /// A method was compiled.
    MethodCompile(MethodCompile<'a>),
    /// A method's compiled code was thrown away.
    MethodUncompile(MethodUncompile),
    /// Which thread of the operating system runs a thread.
    ThreadOsId(ThreadOsId),
    /// How much CPU time the process has used so far.
    ProcessCpu(ProcessCpu),
    /// Objects of one class that a thread allocated, added up.
    AllocationSum(AllocationSum),
    /// All objects that are alive, counted by class.
    LiveObjects(LiveObjects),
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
    /// What a format that adds up calls says besides, right behind an [`AggregatedEnter`].
    AggregatedDetail(AggregatedDetail),
    /// Samples added up: a frame of a thread's tree of stacks. Frames that it calls follow.
    SampleSum(SampleSum<'a>),
    /// How many objects of a class that a thread allocated are alive.
    ObjectCounts(ObjectCounts),
    /// The source file of a class, where it is known only behind its [`ClassDef`].
    ClassSource(ClassSource<'a>),
    /// What the class file says of a method besides, right behind its [`MethodDef`].
    MethodDetail(MethodDetail),
    /// What the class file says of a handler, right before the [`ExceptionCatch`] in it.
    CatchDetail(CatchDetail),
    /// A thread begins to run a class's static initialiser. Those of its superclasses have run.
    ClassInitStart(ClassInitStart),
    /// The static initialiser that the thread began last, and did not end yet, is over.
    ClassInitEnd(ClassInitEnd),
}

/// Puts what stands in a box into one.
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
    /// The point in time that the event carries, if it carries one.
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

    /// Whether it is one of those that open a trace: who ran, and what was asked for.
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

    /// Whether it says what other events stand on: what opens a trace, threads, classes, methods.
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
