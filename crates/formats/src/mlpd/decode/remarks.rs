//! Remarks of the reader of log profiles.

use crate::RemarkKind;
use crate::mlpd::value::Fault;
use crate::tally::{corrupt, fault, kinds, odd, skipped};

kinds! {
    /// Kind of a decoder's remark.
    pub(crate) enum Remarked: RemarkKind {
        Metadata = skipped("metadata", "images, assemblies, domains and contexts"),
        ModuleIds = skipped("metadata: loaded", "module ids of images"),
        TableDomains = skipped("metadata: loaded", "domains of tables"),
        FailedClasses = skipped("metadata: failed", "classes that could not be loaded"),
        LateMethods = odd("code", "methods defined after their use"),
        SyncPoints = skipped("synchronization", "synchronization points"),
        Callers = skipped("allocation", "callers of allocating methods"),
        LongStacks = odd("exception, monitor", "stacks with more than 1 MiB of names, cut"),
        Moves = skipped("moves", "moves of objects whose ids stay"),
        Phases = skipped("collection", "phases of collections"),
        OldGenerations = odd("collection", "generations above 1, read as full collections"),
        BeginGenerations = skipped(
            "collection",
            "generations at begins of collections that are not those of their ends"
        ),
        HeapSizes = skipped("heap size", "heap sizes without an end of a collection after them"),
        ThreadEnds = skipped("metadata: unloaded", "ends of threads in the buffers of others"),
        OtherClauses = skipped("clause", "filter and fault clauses"),
        FailedContentions = skipped("monitor", "contentions that failed"),
        ObjectGenerations = skipped("object of a dump", "generations of objects in heap dumps"),
        FieldOffsets = skipped("object of a dump", "offsets of references in heap dumps"),
        RootAddresses = skipped("roots", "addresses of roots"),
        Sizes = odd(
            "allocation, heap size, code, object of a dump",
            "sizes above 63 bits, read as the largest"
        ),
        Texts = odd("metadata, code", "texts not in UTF-8, read with U+FFFD"),
        FallingTimes = fault("all", "times of a thread that fall from buffer to buffer"),
        UndefinedClasses = fault("all", "classes used before their definition"),
        UndefinedMethods = fault("all", "methods used before their definition"),
        Leaves = corrupt("leave", "leaves of methods that are not open"),
        SkippedCalls = fault("leave", "leaves of calls around others that are open"),
        NestedCollections = corrupt("collection", "collections that begin inside others"),
        UnbegunCollections = corrupt("collection", "ends of collections that did not begin"),
        UnbegunDumps = corrupt("heap dump", "parts of heap dumps that did not begin"),
        NoReferences = corrupt("object of a dump", "references to nothing"),
        ShortEvents = corrupt("all", "rests of buffers, as an event runs past the end"),
        LongNumbers = corrupt("all", "rests of buffers, as a number has more than 64 bits"),
        EndlessTexts = corrupt("all", "rests of buffers, as a text has no end"),
        LargeCounts = corrupt("all", "rests of buffers, as a count is larger than what is left"),
        UnknownEvents = corrupt("all", "rests of buffers, as an event is unknown"),
        UnknownMetadata = corrupt("metadata", "rests of buffers, as metadata are unknown"),
        OtherValues = corrupt("all", "rests of buffers, as a value is out of range"),
    }
}

impl From<Fault> for Remarked {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Short => Self::ShortEvents,
            Fault::Number => Self::LongNumbers,
            Fault::Unended => Self::EndlessTexts,
            Fault::Count => Self::LargeCounts,
            Fault::Event(_) => Self::UnknownEvents,
            Fault::Metadata(_) => Self::UnknownMetadata,
            Fault::Value(..) => Self::OtherValues,
        }
    }
}
