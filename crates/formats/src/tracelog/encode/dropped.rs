//! Kinds of data that the format has no field for.

use crate::tally::kinds;
use jtrail_model::Event;

kinds! {
    /// Kinds of dropped data.
    pub(super) enum Dropped: &'static str {
        Opening = "descriptions of machine, process and agent",
        TimeZones = "time zones",
        FurtherStarts = "further starts of the trace",
        Ends = "ends of trace and agent",
        Runtime = "begins and ends of the Java program",
        Filters = "filters",
        Options = "options",
        Pauses = "repeated pauses or resumes",
        Fractions = "fractions of milliseconds",
        EarlyTimes = "times before the start of the trace",
        ThreadTimes = "times of starts and ends of threads",
        ThreadNames = "names of threads",
        NewThreadNames = "new names of threads",
        ThreadGroups = "groups of threads",
        ThreadsAgain = "second definitions of threads",
        OtherThreads = "events of threads that are not defined, or ended",
        ThreadCpu = "CPU times of threads",
        ProcessCpu = "CPU times of the process",
        Mounts = "carriers of virtual threads",
        Parks = "parks",
        Waits = "waits",
        Contentions = "contended monitors",
        Throws = "throws",
        Catches = "catches",
        Handlers = "handlers of catches",
        Calls = "calls",
        PausedCalls = "calls while the trace paused",
        UndefinedMethods = "calls of methods that are not defined",
        Leaves = "leaves without an open call",
        UnwrittenLeaves = "leaves of calls that were left at a pause, or not written",
        Exceptions = "exceptions that ended calls",
        Aggregated = "aggregated calls",
        Samples = "samples",
        PausedSamples = "samples while the trace paused",
        SampleStates = "states of sampled threads",
        SampleLines = "lines of sampled frames",
        SampleFrames = "sampled frames that can't be named",
        SampleTimes = "times of samples of an unchanged stack",
        ClassObjects = "objects of threads and classes",
        ClassSources = "source files of classes",
        ClassMembers = "members and supertypes of classes",
        ClassLoaders = "class loaders reported late",
        ClassesAgain = "second definitions of classes",
        ClassUnloads = "class unloads",
        ClassRedefinitions = "class redefinitions",
        ClassInits = "class initialisations",
        UnusedClasses = "classes that nothing refers to",
        MethodLines = "line ranges of methods",
        MethodsAgain = "second definitions of methods",
        UnusedMethods = "methods that nothing refers to",
        BytecodeLengths = "lengths of bytecode",
        UndefinedCode = "compiled methods that are not defined",
        CodeMaps = "code maps",
        InlinedFrames = "inlined frames of compiled code",
        CodeRanges = "ranges of compiled code without a line",
        Uncompiles = "discarded code",
        LineCounts = "line counts",
        Allocations = "allocations",
        AllocTimes = "times and ids of single allocations",
        AllocLines = "lines of allocations",
        AllocMethods = "methods of allocations",
        AllocSums = "sums of allocations",
        UndefinedClasses = "objects of classes that are not defined",
        UnknownClasses = "counts of objects of unknown classes",
        OldObjects = "objects older than the trace",
        Frees = "frees of objects that are not counted",
        LiveTables = "tables of live objects",
        GcStarts = "begins of collections",
        GcEnds = "ends of collections",
        GcDetails = "details of collections",
        GcNames = "collectors and causes of collections",
        GcFigures = "heap figures of collections",
        HeapDumps = "objects, roots and references of heap dumps",
        Texts = "notes and other free text",
        OtherEvents = "events of other kinds",
    }
}

impl Dropped {
    /// Returns the kind of an event that the format has no record for.
    pub(super) fn of(event: &Event<'_>) -> Self {
        match event {
            Event::Node(_) | Event::ProcessCreate(_) | Event::AgentCreate(_) => Self::Opening,
            Event::TraceStart(_) => Self::FurtherStarts,
            Event::TraceEnd(_) | Event::AgentDestroy(_) => Self::Ends,
            Event::RuntimeInitDone(_) | Event::RuntimeShutdown(_) => Self::Runtime,
            Event::Filter(_) => Self::Filters,
            Event::Option(_) => Self::Options,
            Event::ThreadName(_) => Self::NewThreadNames,
            Event::ThreadMount(_) | Event::ThreadUnmount(_) => Self::Mounts,
            Event::ThreadPark(_) | Event::ThreadUnpark(_) => Self::Parks,
            Event::MonitorWait(_) | Event::MonitorWaited(_) => Self::Waits,
            Event::MonitorContendedEnter(_) | Event::MonitorContendedEntered(_) => {
                Self::Contentions
            }
            Event::ExceptionThrow(_) => Self::Throws,
            Event::ExceptionCatch(_) => Self::Catches,
            Event::CatchDetail(_) => Self::Handlers,
            Event::AggregatedEnter(_) | Event::AggregatedLeave(_) => Self::Aggregated,
            Event::HeapDump(_)
            | Event::GcRoot(_)
            | Event::ObjectReference(_)
            | Event::HeapObject(_)
            | Event::HeapDumpEnd(_) => Self::HeapDumps,
            Event::ClassUnload(_) => Self::ClassUnloads,
            Event::ClassRedefine(_) => Self::ClassRedefinitions,
            Event::ClassInitStart(_) | Event::ClassInitEnd(_) => Self::ClassInits,
            Event::MethodDetail(_) => Self::BytecodeLengths,
            Event::MethodUncompile(_) => Self::Uncompiles,
            Event::LineCounts(_) => Self::LineCounts,
            Event::Custom(_) => Self::Texts,
            _ => Self::OtherEvents,
        }
    }
}
