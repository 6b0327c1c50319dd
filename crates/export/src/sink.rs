//! What happens on a time line, and the interface of the targets that show it.

use jtrail_formats::DropCount;
use jtrail_model::names::Names;
use jtrail_model::{ClassId, Event, Generation, MethodId, ObjectId, ThreadId, Timestamp};

/// Number of a thread in an export: 0, 1, 2 … in the order of first mentions.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ThreadIndex(pub(crate) u32);

/// A time of a thread, on the wall clock and in CPU time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ThreadTime {
    pub(crate) thread: ThreadIndex,
    pub(crate) time: Timestamp,
    /// CPU time of the thread in ns; 0 if not measured.
    pub(crate) cpu: i64,
}

/// What a thread does in a slice of its time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Slice {
    /// It calls a method.
    Call(MethodId),
    /// It is blocked on a monitor, which `owner` holds.
    Blocked {
        /// The monitor's object.
        object: ObjectId,
        /// Class of the object; none if unknown.
        class: ClassId,
        /// The thread that holds the monitor, if known.
        owner: Option<(ThreadId, ThreadIndex)>,
    },
    /// It waits in `Object.wait`.
    Waiting {
        /// The monitor's object.
        object: ObjectId,
        /// Class of the object; none if unknown.
        class: ClassId,
        /// Time limit in ms; 0 for none.
        timeout_ms: i64,
    },
    /// It is parked.
    Parked {
        /// The blocker; none if unknown.
        object: ObjectId,
        /// Class of the blocker; none if unknown.
        class: ClassId,
    },
}

impl Slice {
    /// Returns true for a call.
    pub(crate) fn is_call(self) -> bool {
        matches!(self, Self::Call(_))
    }
}

/// The end of a slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct End {
    pub(crate) slice: Slice,
    /// The begin of the slice.
    pub(crate) begin: ThreadTime,
    /// The end of the slice.
    pub(crate) end: ThreadTime,
    /// True if an exception ended the call.
    pub(crate) by_exception: bool,
}

/// What a call took, without its callees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Cost {
    /// Time in ns.
    pub(crate) time: i64,
    /// CPU time in ns; 0 if not measured.
    pub(crate) cpu: i64,
}

impl Cost {
    /// Adds another cost.
    pub(crate) fn add(&mut self, other: Self) {
        self.time = self.time.saturating_add(other.time);
        self.cpu = self.cpu.saturating_add(other.cpu);
    }
}

/// What is known of a thread.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ThreadInfo {
    /// The thread's id in the trace.
    pub(crate) id: ThreadId,
    pub(crate) name: String,
    /// Name of the thread group; empty if unknown.
    pub(crate) group: String,
    /// Id in the operating system; 0 if unknown.
    pub(crate) os_id: u64,
    /// True if the thread is a virtual one.
    pub(crate) is_virtual: bool,
    /// The start of the thread, if the trace has it.
    pub(crate) start: Option<Timestamp>,
}

impl ThreadInfo {
    /// Returns a name for a label. It is not empty: `virtual thread 912`.
    pub(crate) fn label(&self) -> String {
        match (self.name.as_str(), self.is_virtual) {
            ("", true) => format!("virtual thread {}", self.id),
            ("", false) => format!("thread {}", self.id),
            (name, _) => name.to_owned(),
        }
    }

    /// Returns a name for a label of all threads that have this thread's name. It is not empty:
    /// there may be millions of virtual threads without a name, which are shown as one.
    pub(crate) fn shared_label(&self) -> &str {
        match (self.name.as_str(), self.is_virtual) {
            ("", true) => "virtual threads without a name",
            ("", false) => "threads without a name",
            (name, _) => name,
        }
    }
}

/// Returns the last part of a program's path.
pub(crate) fn program_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// A garbage collection that has ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Collection {
    pub(crate) start: Timestamp,
    pub(crate) end: Timestamp,
    /// The collector's name; empty if unknown.
    pub(crate) collector: String,
    /// The reason; empty if unknown.
    pub(crate) cause: String,
    pub(crate) generation: Generation,
    /// Bytes in use after the collection; 0 if unknown.
    pub(crate) used: i64,
    /// Size of the heap in bytes after the collection; 0 if unknown.
    pub(crate) total: i64,
}

impl Collection {
    /// Returns a name for a label: `young collection`.
    pub(crate) fn name(&self) -> String {
        match self.generation {
            Generation::Unknown => "collection".to_owned(),
            generation => format!("{} collection", generation.name()),
        }
    }
}

/// A quantity whose value changes over time.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Counter {
    /// Bytes of the heap that are in use.
    HeapUsed,
    /// Bytes allocated per second.
    AllocationRate,
    /// Number of threads that have started and not ended.
    LiveThreads,
    /// CPU time of the process in ns.
    ProcessCpu,
    /// CPU time of a thread in ns.
    ThreadCpu(ThreadIndex),
}

impl Counter {
    /// Returns the counter's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::HeapUsed => "Heap used",
            Self::AllocationRate => "Allocation rate (bytes per second)",
            Self::LiveThreads => "Live threads",
            Self::ProcessCpu => "CPU time of the process",
            Self::ThreadCpu(_) => "CPU time",
        }
    }
}

/// Writes what happens on a time line.
///
/// The slices of a thread nest strictly, and its times never decrease. A thread is defined before
/// its first slice. What a sink has no place for, it drops: the methods with a result return false
/// then.
pub(crate) trait Sink: Send {
    /// True if [`Self::instant`] takes allocations.
    const TAKES_ALLOCATIONS: bool = false;

    /// True if the sink has a place for [`Counter::AllocationRate`].
    const TAKES_RATE: bool = false;

    /// True if the sink has a place for calls that were recorded as sums ([`Self::aggregated`]).
    const TAKES_SUMS: bool = false;

    /// True if the sink needs to know what became part of callers, because it is not selected
    /// ([`Self::hidden`], [`Self::hidden_sum`]).
    const TAKES_HIDDEN: bool = false;

    /// Begins the output. It is called first.
    fn open(&mut self) {}

    /// Continues after a file that has ended, in the next one. Takes from the sink of that file
    /// what the time line does not pass again: it passes the first time of the trace, the process,
    /// the threads, what is open, and the values of counters that change rarely. Called before
    /// [`Self::open`].
    fn continue_from(&mut self, _ended: Self)
    where
        Self: Sized,
    {
    }

    /// Sets the first time of the trace that is not 0. Called at most once, before any method that
    /// has a time. An allocation rate may begin up to 10 ms earlier.
    fn start(&mut self, _first: Timestamp) {}

    /// Defines the process. In most traces this is before the first thread.
    fn process(&mut self, _id: u64, _program: &str) {}

    /// Defines a thread, or updates its definition.
    fn thread(&mut self, index: ThreadIndex, info: &ThreadInfo);

    /// Writes that a thread has ended. All its slices have.
    fn end_thread(&mut self, _index: ThreadIndex, _time: Timestamp) {}

    /// Forgets a thread that ended long ago. Nothing of it follows. A pending slice of another
    /// thread may name it as the owner of a monitor.
    fn forget_thread(&mut self, _index: ThreadIndex) {}

    /// Takes the definition of a class or method, and the thread that caused it, if known. `names`
    /// already has it.
    fn define(&mut self, _names: &Names, _thread: Option<ThreadIndex>, _event: &Event<'_>) {}

    /// Takes the event that begins or ends a wait, before its slice begins or ends. The slice may
    /// begin later, or never if it is too short.
    fn wait_event(&mut self, _index: ThreadIndex, _event: &Event<'_>) {}

    /// Writes the begin of a slice.
    fn begin(&mut self, names: &Names, begin: ThreadTime, slice: Slice);

    /// Writes the end of the innermost slice of the thread.
    fn end(&mut self, names: &Names, end: &End);

    /// Writes an event that happens within the innermost slice of a thread: a throw or a catch, a
    /// sample, an allocation.
    fn instant(&mut self, _names: &Names, _index: ThreadIndex, _event: &Event<'_>) -> bool {
        false
    }

    /// Writes an event of an aggregated call tree, if [`Self::TAKES_SUMS`]. The tree is within the
    /// innermost slice of the thread but `above` calls.
    fn aggregated(
        &mut self,
        _names: &Names,
        _index: ThreadIndex,
        _above: usize,
        _event: &Event<'_>,
    ) {
    }

    /// Takes what a call took that is not selected, if [`Self::TAKES_HIDDEN`]. It is part of the
    /// innermost call of the thread.
    fn hidden(&mut self, _index: ThreadIndex, _method: MethodId, _cost: Cost) {}

    /// Takes an event of an aggregated call that is not selected, if [`Self::TAKES_HIDDEN`]. See
    /// [`Self::aggregated`].
    fn hidden_sum(&mut self, _index: ThreadIndex, _above: usize, _event: &Event<'_>) {}

    /// Writes a garbage collection.
    fn collection(&mut self, _collection: &Collection) -> bool {
        false
    }

    /// Writes the value that a counter has from a time on.
    fn counter(&mut self, _counter: Counter, _time: Timestamp, _value: i64) -> bool {
        false
    }

    /// Writes a text that belongs to a time.
    fn mark(&mut self, _time: Timestamp, _text: &str) -> bool {
        false
    }

    /// Writes an event of any other kind.
    fn other(&mut self, _names: &Names, _event: &Event<'_>) -> bool {
        false
    }

    /// Ends the output. All slices have ended. `latest` is the latest time of the trace.
    fn close(&mut self, names: &Names, latest: Timestamp);

    /// Writes another part of a long end. Returns true if more follow.
    fn close_more(&mut self, _names: &Names) -> bool {
        false
    }

    /// Writes what is kept for later, as far as the format allows. Called about once a second while
    /// the program runs, and when a file is nearly full.
    fn flush(&mut self, _names: &Names) {}

    /// Returns how many bytes [`Self::flush`] may write.
    fn waiting(&self) -> usize {
        0
    }

    /// Moves the bytes that were written to the end of `out`.
    fn take(&mut self, out: &mut Vec<u8>);

    /// Returns what events lacked a place for, although they were written.
    fn dropped(&self) -> Option<DropCount> {
        None
    }

    /// Returns the number of items that the target's ceiling limits, so far.
    fn size(&self) -> u64;
}
