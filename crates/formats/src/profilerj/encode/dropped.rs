//! What the snapshot encoder drops.

use crate::tally::kinds;
use jtrail_model::Event;

kinds! {
    /// What an encoder drops.
    pub(super) enum Dropped: &'static str {
        Opening = "descriptions of machine and process",
        TraceBounds = "begins and ends of agent and trace",
        Runtime = "begins and ends of the Java program",
        Filters = "filters",
        Options = "options",
        Collections = "events of collections",
        Monitors = "events of monitors",
        Parks = "parks",
        Mounts = "carriers of virtual threads",
        Throws = "throws",
        Catches = "catches",
        Handlers = "handlers of catches",
        ClassDetails = "details of classes",
        BytecodeLengths = "lengths of bytecode",
        ClassChanges = "unloads and redefinitions of classes",
        ClassInits = "class initialisations",
        CompiledCode = "events of compiled code",
        HeapDumps = "events of heap dumps",
        Texts = "notes and other text",
        OtherEvents = "events of other kinds",
        OldObjects = "objects older than the trace",
        UnknownFrees = "frees of unknown objects",
        Leaves = "leaves without an open call",
        EmptySamples = "samples without a stack",
        FoldedCalls = "callers of calls, beyond the bounds of the tree",
        FoldedSamples = "callers of samples, beyond the bounds of the tree",
        CallTimes = "times of single calls",
        CallBounds = "shortest and longest times of calls",
        SampleTimes = "times, lines and waits of single samples",
        Allocations = "times, sizes and places of single allocations",
        ThreadGroups = "groups of threads",
        ThreadNames = "earlier names of threads",
        Lines = "lines that no class file can have",
    }
}

impl Dropped {
    /// Returns the kind of an event that the document has no element for.
    pub(super) fn of(event: &Event<'_>) -> Self {
        match event {
            Event::Node(_) | Event::ProcessCreate(_) => Self::Opening,
            Event::AgentCreate(_)
            | Event::AgentDestroy(_)
            | Event::TraceStart(_)
            | Event::TraceEnd(_) => Self::TraceBounds,
            Event::RuntimeInitDone(_) | Event::RuntimeShutdown(_) => Self::Runtime,
            Event::Filter(_) => Self::Filters,
            Event::Option(_) => Self::Options,
            Event::GcStart(_) | Event::GcFinish(_) | Event::GcDetail(_) => Self::Collections,
            Event::MonitorWait(_)
            | Event::MonitorWaited(_)
            | Event::MonitorContendedEnter(_)
            | Event::MonitorContendedEntered(_) => Self::Monitors,
            Event::ThreadPark(_) | Event::ThreadUnpark(_) => Self::Parks,
            Event::ThreadMount(_) | Event::ThreadUnmount(_) => Self::Mounts,
            Event::ObjectDef(_) => Self::OldObjects,
            Event::ExceptionThrow(_) => Self::Throws,
            Event::ExceptionCatch(_) => Self::Catches,
            Event::CatchDetail(_) => Self::Handlers,
            Event::ClassDetail(_) => Self::ClassDetails,
            Event::MethodDetail(_) => Self::BytecodeLengths,
            Event::ClassUnload(_) | Event::ClassRedefine(_) => Self::ClassChanges,
            Event::ClassInitStart(_) | Event::ClassInitEnd(_) => Self::ClassInits,
            Event::MethodCompile(_) | Event::MethodUncompile(_) => Self::CompiledCode,
            Event::HeapDump(_)
            | Event::GcRoot(_)
            | Event::ObjectReference(_)
            | Event::HeapObject(_)
            | Event::HeapDumpEnd(_) => Self::HeapDumps,
            Event::Custom(_) => Self::Texts,
            _ => Self::OtherEvents,
        }
    }
}
