//! Sums over the calls of a trace, by thread and call path.
//!
//! The profile is a tree. Its nodes below the root are threads, and all others are calls of a
//! method within the calls of the node above. Each node has the sums of its own calls, without
//! those of its callees ([`Weights`]). So the sum over a node and all nodes below it is a total.
//!
//! Memory grows with the number of distinct call paths, never with the number of calls.
//!
//! Calls that were recorded as sums are nodes too. [`placement`] takes their time from their
//! callers, of whose time it is part, and finds their call paths. A sum whose path is unknown is
//! below its caller, and both are below a node [`Frame::Sums`] of the thread.
//!
//! What calls and sums took that are not selected is part of the node that they were called in. It
//! is also kept by method ([`Profile::hidden`]), because it may contain the time of selected sums.
//!
//! A call path has at most [`MAX_FRAMES`] calls. Calls within so many others are callees of a node
//! [`Frame::Deeper`], whichever of them is the caller. So they keep their figures and their method,
//! and endless recursion does not make paths that no tool can read.

mod nodes;
mod placement;

use crate::per_thread::PerThread;
use crate::sink::{Cost, End, Sink, Slice, ThreadIndex, ThreadInfo, ThreadTime};
use crate::weights::Weights;
use jtrail_formats::DropCount;
use jtrail_model::names::Names;
use jtrail_model::{AggregatedEnter, Event, MethodId, Timestamp};
use nodes::Nodes;
use rustc_hash::FxHashMap;

/// What a node stands for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Frame {
    Root,
    Thread(ThreadIndex),
    /// Above the callers of sums whose call paths are unknown.
    Sums,
    /// Above calls whose paths are too deep.
    Deeper,
    Method(MethodId),
}

/// The text of [`Frame::Sums`]. Not in brackets, because these are around names of threads.
pub(crate) const SUMS: &str = "(calls recorded as sums)";

/// The text of [`Frame::Deeper`].
pub(crate) const DEEPER: &str = "(deeper calls)";

/// Maximum number of calls of a path. A tool that draws a line for each of them draws no more.
pub(crate) const MAX_FRAMES: usize = 1024;

/// The sums by thread and call path.
#[derive(Debug, Default)]
pub(crate) struct Profile {
    pub(crate) nodes: Nodes,
    pub(crate) threads: PerThread<ThreadInfo>,
    /// The thread that stands for all virtual threads without a name: there may be millions.
    pub(crate) nameless: Option<ThreadIndex>,
    /// How many threads it stands for.
    pub(crate) nameless_count: u64,
    open: PerThread<OpenCalls>,
    /// What calls and sums of a method took that are not selected, by the node that contains it. It
    /// is nowhere in the profile if this is a thread, and in the callers elsewhere if it is one of
    /// those below [`Frame::Sums`].
    hidden: FxHashMap<(u32, MethodId), Cost>,
    pub(crate) process_id: u64,
    pub(crate) program: String,
    /// What the trace says that it lacks, and other marks, without repetitions.
    pub(crate) marks: Vec<String>,
    /// Number of calls whose paths are too deep.
    deeper: u64,
    /// The first and the latest time of slices and allocations.
    pub(crate) span: Option<(Timestamp, Timestamp)>,
}

/// The open calls of a thread.
#[derive(Debug, Default)]
struct OpenCalls {
    /// The thread's node; 0 if it has none yet.
    root: u32,
    calls: Vec<OpenCall>,
    aggregated: Vec<OpenAggregate>,
    /// What calls took that are not selected and have no callers, by method.
    hidden: FxHashMap<MethodId, Cost>,
    /// CPU time of the thread at its latest end of a call, in ns.
    cpu: i64,
}

#[derive(Clone, Copy, Debug)]
struct OpenCall {
    node: u32,
    /// Time and CPU time of the callees so far, in ns.
    callees: i64,
    callees_cpu: i64,
}

#[derive(Clone, Copy, Debug)]
struct OpenAggregate {
    /// The node of the calls, or the one that contains them if they are not selected.
    node: u32,
    /// Number of frames of the node's path.
    frames: usize,
    /// Time and CPU time of the calls, with those of their callees so far, in ns.
    total: i64,
    cpu: i64,
    /// True if this aggregate stands for a caller whose time contains that of the aggregates in
    /// it. Its self time becomes negative.
    cancels: bool,
    /// True if the node has the time of the calls and of all in them that are not selected.
    has_time: bool,
}

/// Maximum number of different marks that are kept.
const MAX_MARKS: usize = 100;

impl Profile {
    /// Returns the node of a thread.
    fn root(&mut self, index: ThreadIndex) -> u32 {
        let root = self.open[index].root;
        if root != 0 {
            return root;
        }
        let info = &self.threads[index];
        let of_node = match info.is_virtual && info.name.is_empty() {
            true => {
                self.nameless_count += 1;
                *self.nameless.get_or_insert(index)
            }
            false => index,
        };
        let root = self.nodes.callee(0, Frame::Thread(of_node));
        self.open[index].root = root;
        root
    }

    #[inline]
    fn extend_time(&mut self, time: Timestamp) {
        let (first, last) = self.span.get_or_insert((time, time));
        *first = time.min(*first);
        *last = time.max(*last);
    }

    /// Adds to the weights of the innermost call of a thread, or of the thread.
    fn add_to_innermost(&mut self, index: ThreadIndex, weights: &Weights) {
        let node = self.innermost_node(index);
        self.nodes.add(node, weights);
    }

    /// Returns the node of the innermost call of a thread, or of the thread.
    #[inline]
    fn innermost_node(&mut self, index: ThreadIndex) -> u32 {
        match self.open[index].calls.last() {
            Some(call) => call.node,
            None => self.root(index),
        }
    }

    /// Returns the node for the callees of a call. The call is the innermost one of `frames` calls,
    /// and it begins `calls` callees.
    #[inline]
    fn parent_within_limit(&mut self, caller: u32, frames: usize, calls: u64) -> u32 {
        if frames < MAX_FRAMES {
            return caller;
        }
        self.deeper = self.deeper.saturating_add(calls);
        match frames {
            MAX_FRAMES => self.nodes.callee(caller, Frame::Deeper),
            _ => self.nodes.parent(caller),
        }
    }

    /// Begins a sum, which is selected or not.
    fn begin_aggregated(
        &mut self,
        index: ThreadIndex,
        above: usize,
        (e, is_selected): (&AggregatedEnter, bool),
    ) {
        let root = self.root(index);
        let open = &self.open[index];
        let cancels = e.calls == 0 && e.base_time.0 < 0;
        let (parent, frames, is_in_time) = match open.aggregated.last() {
            _ if cancels => (self.nodes.callee(root, Frame::Sums), 1, false),
            Some(call) => (call.node, call.frames, call.has_time),
            None => {
                let enclosing = open.calls.iter().nth_back(above);
                let frames = open.calls.len().saturating_sub(above);
                (enclosing.map_or(root, |call| call.node), frames, false)
            }
        };
        // A caller that is not selected is known by its node until its sums have a place.
        let has_node = is_selected || cancels;
        let own = Cost {
            time: e.base_time.0.max(0),
            cpu: e.base_cpu_time.0.max(0),
        };
        let calls = u64::try_from(e.calls).unwrap_or(0);
        let node = if has_node {
            let parent = self.parent_within_limit(parent, frames, calls);
            self.nodes.callee(parent, Frame::Method(e.method))
        } else {
            self.hidden.entry((parent, e.method)).or_default().add(own);
            parent
        };
        let has_time = is_in_time || (is_selected && !cancels);
        let taken = if has_time { own } else { Cost::default() };
        let weights = Weights {
            calls: if has_node { calls } else { 0 },
            self_time: taken.time,
            cpu: taken.cpu,
            ..Weights::default()
        };
        self.nodes.add(node, &weights);
        self.open[index].aggregated.push(OpenAggregate {
            node,
            frames: frames + usize::from(has_node),
            total: taken.time,
            cpu: taken.cpu,
            cancels,
            has_time,
        });
    }

    fn end_aggregated(&mut self, index: ThreadIndex, above: usize) {
        let open = &mut self.open[index];
        let Some(mut ended) = open.aggregated.pop() else {
            return;
        };
        if ended.cancels {
            let cancelled = Weights {
                self_time: ended.total.saturating_neg(),
                cpu: ended.cpu.saturating_neg(),
                ..Weights::default()
            };
            (ended.total, ended.cpu) = (0, 0);
            self.nodes.add(ended.node, &cancelled);
        }
        if let Some(caller) = open.aggregated.last_mut() {
            caller.total = caller.total.saturating_add(ended.total);
            caller.cpu = caller.cpu.saturating_add(ended.cpu);
        } else if let Some(caller) = open.calls.iter_mut().nth_back(above) {
            caller.callees = caller.callees.saturating_add(ended.total);
            caller.callees_cpu = caller.callees_cpu.saturating_add(ended.cpu);
        }
    }

    /// Adds what calls took that are not selected. They are in the innermost call of the thread.
    fn hide(&mut self, index: ThreadIndex, method: MethodId, cost: Cost) {
        let thread = &mut self.open[index];
        let costs = match thread.calls.last() {
            Some(call) => self.hidden.entry((call.node, method)),
            None => return thread.hidden.entry(method).or_default().add(cost),
        };
        costs.or_default().add(cost);
    }

    /// Moves what is hidden outside of calls to the node of the thread. A thread without one has
    /// no sums.
    fn settle_hidden(&mut self, index: ThreadIndex) {
        let thread = &mut self.open[index];
        let root = thread.root;
        for (method, cost) in thread.hidden.drain() {
            if root != 0 {
                self.hidden.entry((root, method)).or_default().add(cost);
            }
        }
    }

    fn end_call(&mut self, end: &End) {
        let thread = &mut self.open[end.end.thread];
        let Some(call) = thread.calls.pop() else {
            return;
        };
        let time = end.end.time.since(end.begin.time).0.max(0);
        thread.cpu = thread.cpu.max(end.end.cpu);
        let cpu = match end.begin.cpu {
            0 => 0,
            begin => thread.cpu.saturating_sub(begin).max(0),
        };
        if let Some(caller) = thread.calls.last_mut() {
            caller.callees = caller.callees.saturating_add(time);
            caller.callees_cpu = caller.callees_cpu.saturating_add(cpu);
        }
        let weights = Weights {
            calls: 1,
            self_time: time.saturating_sub(call.callees).max(0),
            cpu: cpu.saturating_sub(call.callees_cpu).max(0),
            ..Weights::default()
        };
        self.nodes.add(call.node, &weights);
    }
}

/// Writes a complete profile in the format of a target.
pub(crate) trait WriteProfile: Send {
    /// Appends the output, or the first part of a long one.
    fn write(&mut self, profile: Profile, names: &Names, out: &mut Vec<u8>);

    /// Appends another part of a long output. Returns true if more follow.
    fn write_more(&mut self, _out: &mut Vec<u8>) -> bool {
        false
    }
}

/// The sink of targets that show a profile.
#[derive(Debug)]
pub(crate) struct Profiler<W> {
    profile: Profile,
    writer: W,
    /// Number of calls whose paths are too deep, at the end.
    deeper: u64,
    out: Vec<u8>,
}

impl<W> Profiler<W> {
    /// Creates an empty profile that `writer` will write.
    pub(crate) fn new(writer: W) -> Self {
        Self {
            profile: Profile::default(),
            writer,
            deeper: 0,
            out: Vec::new(),
        }
    }

    /// Returns the writer.
    pub(crate) fn into_writer(self) -> W {
        self.writer
    }
}

impl<W: WriteProfile> Sink for Profiler<W> {
    const TAKES_ALLOCATIONS: bool = true;
    const TAKES_SUMS: bool = true;
    const TAKES_HIDDEN: bool = true;

    fn process(&mut self, id: u64, program: &str) {
        self.profile.process_id = id;
        self.profile.program = program.to_owned();
    }

    fn thread(&mut self, index: ThreadIndex, info: &ThreadInfo) {
        self.profile.threads[index] = info.clone();
    }

    fn forget_thread(&mut self, index: ThreadIndex) {
        self.profile.settle_hidden(index);
        let root = self.profile.open[index].root;
        self.profile.open.remove(index);
        if self.profile.nodes.frame(root) != Frame::Thread(index) {
            self.profile.threads.remove(index);
        }
    }

    #[inline]
    fn begin(&mut self, _: &Names, begin: ThreadTime, slice: Slice) {
        self.profile.extend_time(begin.time);
        if let Slice::Call(method) = slice {
            let parent = self.profile.innermost_node(begin.thread);
            let frames = self.profile.open[begin.thread].calls.len();
            let parent = self.profile.parent_within_limit(parent, frames, 1);
            let node = self.profile.nodes.callee(parent, Frame::Method(method));
            let calls = &mut self.profile.open[begin.thread].calls;
            calls.push(OpenCall {
                node,
                callees: 0,
                callees_cpu: 0,
            });
        }
    }

    #[inline]
    fn end(&mut self, _: &Names, end: &End) {
        self.profile.extend_time(end.end.time);
        let time = end.end.time.since(end.begin.time).0.max(0);
        match end.slice {
            Slice::Call(_) => self.profile.end_call(end),
            Slice::Blocked { .. } => {
                let blocked = Weights {
                    blocked: time,
                    ..Weights::default()
                };
                self.profile.add_to_innermost(end.end.thread, &blocked);
            }
            Slice::Waiting { .. } | Slice::Parked { .. } => {
                let waiting = Weights {
                    waiting: time,
                    ..Weights::default()
                };
                self.profile.add_to_innermost(end.end.thread, &waiting);
            }
        }
    }

    fn instant(&mut self, _: &Names, index: ThreadIndex, event: &Event<'_>) -> bool {
        let (objects, bytes) = match event {
            Event::ObjectAlloc(e) => (1, e.size),
            Event::AllocationSum(e) => (e.objects, i64::try_from(e.bytes).unwrap_or(i64::MAX)),
            _ => return false,
        };
        let allocated = Weights {
            objects,
            bytes,
            ..Weights::default()
        };
        self.profile.add_to_innermost(index, &allocated);
        true
    }

    fn aggregated(&mut self, _: &Names, index: ThreadIndex, above: usize, event: &Event<'_>) {
        match event {
            Event::AggregatedEnter(e) => self.profile.begin_aggregated(index, above, (e, true)),
            Event::AggregatedLeave(_) => self.profile.end_aggregated(index, above),
            _ => {}
        }
    }

    fn hidden(&mut self, index: ThreadIndex, method: MethodId, cost: Cost) {
        self.profile.hide(index, method, cost);
    }

    fn hidden_sum(&mut self, index: ThreadIndex, above: usize, event: &Event<'_>) {
        match event {
            Event::AggregatedEnter(e) => self.profile.begin_aggregated(index, above, (e, false)),
            Event::AggregatedLeave(_) => self.profile.end_aggregated(index, above),
            _ => {}
        }
    }

    fn mark(&mut self, _: Timestamp, text: &str) -> bool {
        let marks = &mut self.profile.marks;
        if marks.len() < MAX_MARKS && !marks.iter().any(|mark| mark == text) {
            marks.push(text.to_owned());
        }
        true
    }

    fn close(&mut self, names: &Names, _: Timestamp) {
        let mut profile = std::mem::take(&mut self.profile);
        for index in profile.open.indices() {
            profile.settle_hidden(index);
        }
        profile.place_sums();
        self.deeper = profile.deeper;
        if profile.deeper > 0 {
            profile.marks.push(format!(
                "jtrail: {} calls are within {MAX_FRAMES} others, and have no paths beyond these",
                profile.deeper
            ));
        }
        self.writer.write(profile, names, &mut self.out);
    }

    fn close_more(&mut self, _: &Names) -> bool {
        self.writer.write_more(&mut self.out)
    }

    fn take(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.out);
    }

    fn dropped(&self) -> Option<DropCount> {
        const { assert!(MAX_FRAMES == 1_024) };
        (self.deeper > 0).then_some(DropCount {
            what: "paths of calls within 1,024 others",
            count: self.deeper,
        })
    }

    fn size(&self) -> u64 {
        self.profile.nodes.len() as u64
    }
}

#[cfg(test)]
mod tests;
