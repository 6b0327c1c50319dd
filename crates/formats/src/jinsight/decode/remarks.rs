//! Remarks of the reader of JinsightLive traces.

use crate::RemarkKind;
use crate::tally::{corrupt, fault, kinds, odd, skipped};

kinds! {
    /// Kind of a decoder's remark.
    pub(crate) enum Remarked: RemarkKind {
        Promised = skipped("header", "numbers of events that are not those of the file"),
        EarlyTicks = odd("calls", "records from before startTicks"),
        Receivers = skipped("WIDE_METHOD_ENTER", "receivers of calls"),
        Lines = skipped("WIDE_METHOD_ENTER", "lines of calls"),
        CallOverheads = skipped("METHOD_LEAVE", "overheads of calls"),
        ThreadClasses = skipped("THREAD_DEFINE", "classes of threads"),
        LateStarts = skipped("THREAD_START", "starts of threads apart from their definition"),
        DefinitionTimes = skipped(
            "definitions",
            "times of definitions other than those of the load, creation or start after them"
        ),
        LateCreations = odd(
            "OBJECT_CREATED, ARRAY_CREATED",
            "objects created apart from their definition"
        ),
        Interfaces = odd("CLASS_LOAD", "lists of interfaces with more than 1 MiB of names, cut"),
        ClassIds = odd("CLASS_LOAD", "classes that take the id of another"),
        TextTimes = skipped("USER_EVENT", "times of texts"),
        MonitorClasses = skipped("USER_EVENT", "classes of monitors without an object"),
        EndNumbers = skipped("END_FILE", "numbers other than 5705 and 0xadde0000"),
        NestedBursts = fault("BEGIN_BURST", "bursts that begin inside another"),
        UnbegunBursts = fault("END_BURST", "ends of bursts that did not begin"),
        UnloadedClasses = corrupt("CLASS_DEFINE", "definitions of classes without a load"),
        UndefinedLoads = fault("CLASS_LOAD", "loads of classes without a definition"),
        UndefinedClasses = fault("all", "classes that are not defined"),
        UndefinedSupers = fault("CLASS_LOAD", "supers and interfaces that are not defined"),
        UndefinedThreads = fault("all", "threads that are not defined"),
        ThreadIds = fault("THREAD_DEFINE", "threads that take the id of another"),
        UnlistedMethods = fault("WIDE_METHOD_ENTER", "methods that their class does not list"),
        Leaves = corrupt("METHOD_LEAVE", "leaves without an open call"),
        OtherCreations = fault(
            "OBJECT_CREATED, ARRAY_CREATED",
            "objects created otherwise than defined"
        ),
        ArrayTypes = fault("ARRAY_DEFINED, ARRAY_CREATED", "arrays of an unknown type"),
        FurtherBytes = corrupt("END_FILE", "bytes after the end of the file"),
    }
}
