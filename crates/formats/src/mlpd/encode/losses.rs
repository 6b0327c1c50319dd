//! What the format has no place for, counted by kind.

use crate::Loss;

macro_rules! lacks {
    ($($lack:ident = $what:literal)*) => {
        /// Something that the format has no place for.
        #[derive(Clone, Copy, Debug)]
        pub(in crate::mlpd) enum Lack { $($lack,)* }

        const WHAT: &[&str] = &[$($what,)*];
    };
}

lacks! {
    Identities = "names and ids of machine, process, agent and trace"
    Filters = "filters"
    Options = "options"
    Runtime = "starts and stops of the runtime"
    Texts = "texts"
    LongNames = "ends of names longer than a million bytes"
    ThreadGroups = "groups of threads"
    ThreadObjects = "objects of threads"
    ThreadCpu = "CPU times of threads"
    Mounts = "carriers of virtual threads"
    Parks = "parks"
    Samples = "samples"
    WideThreads = "events of threads whose ids pass 48 bits"
    FallingTimes = "times that fall along a thread"
    FarTimes = "times far from the start of the trace"
    ClassThreads = "threads of class definitions"
    ClassSources = "source files of classes"
    ClassObjects = "objects of classes"
    ClassDetails = "class details but for the loader"
    ClassUnloads = "class unloads"
    ClassRedefinitions = "class redefinitions"
    ClassInits = "class initialisations"
    MethodLines = "line ranges of methods"
    MethodResults = "result types of methods"
    LateLengths = "lengths of bytecode told when the method had its name"
    CodeLines = "lines of compiled code"
    Compiles = "compilations without an address of their own"
    Uncompiles = "compiled code thrown away"
    LineCounts = "line counts"
    CallCpu = "CPU times of calls"
    Leaves = "leaves without an open call"
    Aggregated = "aggregated calls"
    ObjectKinds = "kinds of objects that their class does not tell"
    AllocLines = "lines of allocations"
    Objects = "objects older than the trace"
    Frees = "object frees"
    Sizes = "sizes that can't be"
    Collections = "collections that begin inside of others, or do not begin"
    GcDetails = "collectors and causes of collections"
    Generations = "generations of collections"
    GcFigures = "bytes and objects in use after collections"
    Waits = "waits"
    Owners = "owners of monitors"
    EnteredStacks = "stacks of entered monitors"
    FrameLines = "lines of frames"
    Handlers = "handlers without a catch right behind"
    CaughtObjects = "objects of caught exceptions"
    DumpNames = "names of heap dumps"
    DumpObjects = "objects that a heap dump repeats or lists outside of it"
    DumpRoots = "roots of heap dumps"
    DumpRootClasses = "classes of roots"
    DumpReferences = "references between objects that a heap dump does not list"
    Other = "other events"
}

/// How many of each.
#[derive(Debug)]
pub(in crate::mlpd) struct Losses([u64; WHAT.len()]);

impl Default for Losses {
    fn default() -> Self {
        Self([0; WHAT.len()])
    }
}

impl Losses {
    #[inline]
    pub(in crate::mlpd) fn one(&mut self, lack: Lack) {
        self.many(lack, 1);
    }

    #[inline]
    pub(super) fn many(&mut self, lack: Lack, count: u64) {
        let sum = &mut self.0[lack as usize];
        *sum = sum.saturating_add(count);
    }

    #[inline]
    pub(in crate::mlpd) fn one_if(&mut self, lost: bool, lack: Lack) {
        if lost {
            self.one(lack);
        }
    }

    pub(super) fn all(&self) -> Vec<Loss> {
        let kinds = WHAT.iter().zip(self.0);
        kinds
            .filter(|(_, count)| *count > 0)
            .map(|(&what, count)| Loss { what, count })
            .collect()
    }
}
