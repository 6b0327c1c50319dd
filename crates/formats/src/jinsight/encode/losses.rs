//! What the format has no place for.

use crate::Loss;

macro_rules! losses {
    ($($name:ident = $what:literal,)*) => {
        /// Something that was left out.
        #[derive(Clone, Copy)]
        pub(super) enum Lost { $($name,)* }

        const NAMES: &[&str] = &[$($what,)*];
    };
}

losses! {
    Event = "events of other kinds",
    Opening = "descriptions of machine, process and agent",
    Filter = "filters",
    Option = "options",
    ThreadGroup = "groups of threads",
    ThreadName = "new names of threads",
    ThreadCpu = "CPU times of threads",
    CallCpu = "CPU times of calls",
    ByException = "exceptions that ended calls",
    Mount = "changes of carriers",
    Exception = "throws and catches",
    Handler = "handlers of catches",
    Frames = "stacks of monitor events and parks",
    Sample = "samples",
    Aggregated = "aggregated calls",
    Heap = "objects, roots and references of heap dumps",
    GcDetail = "details of collections",
    GcSpace = "heap sizes after collections",
    GcTurn = "collections that do not begin and end in turn",
    GcCut = "collections cut by the end or a pause of the trace",
    Code = "compiled methods",
    Bytecode = "lengths of bytecode",
    Lines = "line counts",
    ClassChange = "unloads and redefinitions of classes",
    ClassInit = "class initialisations",
    ClassDetail = "access flags, loaders and sizes of classes",
    ClassSource = "source files of classes",
    ClassThread = "threads that loaded classes",
    ClassObject = "class objects",
    MethodLines = "line ranges of methods",
    ClassSplit = "classes split (methods turned up after the class was written)",
    ClassOverflow = "classes beyond the largest class id",
    Text = "texts over 65535 bytes",
    Member = "members beyond 65535 of one class",
    PlainSize = "sizes of plain objects",
    ArraySize = "sizes of arrays out of range",
    AllocPlace = "lines and methods of allocations",
    ObjectClass = "classes of objects",
    ObjectAge = "ages of freed objects",
    ObjectAgain = "second definitions and frees of objects",
    ObjectUnknown = "objects that were never defined",
    ObjectOverflow = "mentions of objects beyond the largest object id",
    Again = "second definitions of threads, classes and methods",
    Undefined = "threads, classes and methods that were never defined",
    LeaveAlone = "leaves without an open call",
    CallSkipped = "calls ended by the leave of a caller",
    CallCut = "calls ended by the end of their thread",
    Time = "times moved",
    Held = "records behind the last pause",
}

/// How many of each.
#[derive(Debug)]
pub(super) struct Losses {
    counts: [u64; NAMES.len()],
    /// Whole events, of all kinds.
    pub(super) events: u64,
}

impl Default for Losses {
    fn default() -> Self {
        Self {
            counts: [0; NAMES.len()],
            events: 0,
        }
    }
}

impl Losses {
    /// Part of an event is lost.
    pub(super) fn part(&mut self, what: Lost) {
        self.counts[what as usize] += 1;
    }

    /// Part of an event is lost, if `so`.
    pub(super) fn part_if(&mut self, so: bool, what: Lost) {
        self.counts[what as usize] += u64::from(so);
    }

    /// An event is lost.
    pub(super) fn event(&mut self, what: Lost) {
        self.event_many(what, 1);
    }

    /// An event is lost that stands for so many.
    pub(super) fn event_many(&mut self, what: Lost, count: u64) {
        let sum = &mut self.counts[what as usize];
        *sum = sum.saturating_add(count);
        self.events += 1;
    }

    pub(super) fn count(&self, what: Lost) -> u64 {
        self.counts[what as usize]
    }

    pub(super) fn all(&self) -> Vec<Loss> {
        let all = NAMES.iter().zip(self.counts);
        all.filter(|(_, count)| *count > 0)
            .map(|(&what, count)| Loss { what, count })
            .collect()
    }
}
