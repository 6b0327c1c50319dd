//! What calls took in a span, by call path and thread.
//!
//! Times are cut to the span: a call that is open at its begin or end counts with the time that it
//! has in the span. A call counts where it begins. So the sums of two spans that follow each other
//! are those of both together.
//!
//! Each segment is summed up by itself. The time between a thread's last event in a segment and its
//! first one in the next belongs to the innermost call that is open there. If something is missing
//! in between, only the times before and after the gap count.

use crate::index::{Index, Place, ThreadPaths};
use crate::methods::NO_METHOD;
use crate::remaining::Remaining;
use crate::slice::Kind;
use crate::trace::Trace;
use crate::walk::{Begin, Open, Threads, Walk};
use jtrail_analysis::{CallTree, Callees};
use jtrail_formats::trail::Ending;
use jtrail_model::{ThreadId, Timestamp};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// The sums of a span, as far as they have been made.
#[derive(Debug)]
pub struct Sums {
    span: [Timestamp; 2],
    /// The part of the span in which the trace has events.
    times: [Timestamp; 2],
    /// The threads whose calls are summed up.
    threads: Arc<BTreeSet<ThreadId>>,
    remaining: Remaining<Item>,
    paths: Paths,
    of_threads: BTreeMap<ThreadId, ThreadSum>,
    /// Numbers of outermost calls.
    outermost: FxHashMap<ThreadId, u64>,
    /// For each thread its parts, by segment. At the end, there are the last ones at most.
    parts: BTreeMap<(ThreadId, u32), Part>,
    last: LastParts,
}

/// The last parts of threads, of a trace that may still grow.
#[derive(Debug, Default)]
pub(crate) struct LastParts {
    /// By thread: the segment, and the time after the thread's last event that was added.
    pub(crate) all: BTreeMap<ThreadId, (u32, i64)>,
    /// True if the times between the parts have been added.
    pub(crate) is_done: bool,
}

impl LastParts {
    /// Returns which times between parts are to be added, and notes the last parts.
    pub(crate) fn add(&mut self, between: Vec<Between>) -> Vec<Between> {
        let before = std::mem::take(&mut self.all);
        self.is_done = true;
        // What is before a part that was the last one has been added.
        let is_new = |between: &Between| {
            let (thread, number) = between.part;
            let is_known = before.get(&thread).is_some_and(|(last, _)| *last == number);
            between.is_end || !is_known
        };
        let new: Vec<Between> = between.into_iter().filter(is_new).collect();
        for Between { part, is_end, time } in &new {
            if *is_end {
                self.all.insert(part.0, (part.1, *time));
            }
        }
        new
    }

    /// Returns the times after the last parts, which are not added any more: a trace has grown.
    pub(crate) fn undo(&mut self) -> Vec<Between> {
        self.is_done = false;
        let last = self.all.iter_mut();
        last.map(|(thread, (number, time))| Between {
            part: (*thread, *number),
            is_end: true,
            time: std::mem::take(time).saturating_neg(),
        })
        .collect()
    }

    /// Returns true if a part is the last one of its thread.
    pub(crate) fn has(&self, (thread, number): (ThreadId, u32)) -> bool {
        self.all
            .get(&thread)
            .is_some_and(|(last, _)| *last == number)
    }
}

/// Segments that are summed up together.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Item {
    Segment(u32),
    /// A node of the index, whose sums are there.
    Node(Place),
}

impl Item {
    /// Returns true for the segment with a number and later ones.
    pub(crate) fn is_from(&self, first: usize) -> bool {
        matches!(self, Self::Segment(number) if *number as usize >= first)
    }
}

/// The sums by call path.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    /// The frames are numbers of methods.
    pub(crate) tree: CallTree,
    /// By node of the tree; nodes beyond the end have nothing.
    sums: Vec<PathSum>,
}

/// What the calls of a path took, without their callees.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathSum {
    /// Number of calls that begin in the span.
    pub calls: u64,
    /// Self time in the span, in ns.
    pub self_time: i64,
}

/// What the calls of a method took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MethodSum {
    /// Number of calls that begin in the span.
    pub calls: u64,
    /// Self time in the span, in ns.
    pub self_time: i64,
    /// Time of the outermost calls of the method in the span, in ns.
    pub total: i64,
}

/// What a thread did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadSum {
    /// Number of calls that begin in the span.
    pub calls: u64,
    /// Time in calls in the span, in ns.
    pub busy: i64,
    /// Maximum number of calls and waits that are open at a time.
    pub levels: u32,
}

/// A thread in some segments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    /// The times of the first and the last event in ns, cut to the span.
    pub(crate) times: [i64; 2],
    /// The innermost calls that are open before the first and after the last event; the root if
    /// none is.
    pub(crate) innermost: [u32; 2],
}

impl Sums {
    /// Returns the number of call paths so far.
    pub(crate) fn path_count(&self) -> usize {
        self.paths.tree.len()
    }

    /// Begins the sums of some threads in a span.
    pub fn new(trace: &Trace, span: [Timestamp; 2], threads: BTreeSet<ThreadId>) -> Self {
        let items = items(trace, &threads, span, Index::has_paths);
        Self {
            span,
            times: trace.ended(span),
            threads: threads.into(),
            remaining: Remaining::new(items.into_iter()),
            paths: Paths::default(),
            of_threads: BTreeMap::new(),
            outermost: FxHashMap::default(),
            parts: BTreeMap::new(),
            last: LastParts::default(),
        }
    }

    /// Sums up the segments from `first` on, too: the trace has grown. `threads` are all that are
    /// to be summed up; those as before if it is `None`.
    pub(crate) fn grow(
        &mut self,
        trace: &Trace,
        first: usize,
        threads: Option<BTreeSet<ThreadId>>,
    ) {
        for between in self.last.undo() {
            self.add_between(between);
        }
        if let Some(threads) = threads {
            self.threads = threads.into();
        }
        self.times = trace.ended(self.span);
        let mut items = items(trace, &self.threads, self.span, Index::has_paths);
        items.retain(|item| item.is_from(first));
        self.remaining.add(items);
        if self.share() >= 1.0 {
            self.add_gaps(trace);
        }
    }

    /// Returns which share of the span has been summed up: 1 if all is.
    pub fn share(&self) -> f64 {
        self.remaining.share()
    }

    /// Sums up more segments on all processors, until everything is summed up or the time is over.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub fn advance(&mut self, trace: &Trace, time: Duration) -> io::Result<()> {
        let (spans, threads) = ([self.span, self.times], Arc::clone(&self.threads));
        let index = trace.index();
        let segment = |number: u32| -> io::Result<(u32, Worker)> {
            let worker = Worker::new(spans, Arc::clone(&threads)).run(trace, number)?;
            Ok((number, worker))
        };
        let read = |item: &Item| match (item, &index) {
            (Item::Segment(number), _) => Ok(vec![segment(*number)?]),
            (Item::Node(place), Some(index)) => match index.paths(*place)? {
                Some(paths) => {
                    let worker = Worker::new(spans, Arc::clone(&threads)).take(&paths);
                    Ok(vec![(index.segments(*place)[0], worker)])
                }
                // What is damaged in the index is still in the trail.
                None => {
                    let [first, end] = index.segments(*place);
                    (first..end).map(segment).collect()
                }
            },
            (Item::Node(_), None) => Ok(Vec::new()),
        };
        let mut remaining = std::mem::take(&mut self.remaining);
        let done = remaining.advance(time, read, |_, workers| {
            for (number, worker) in workers {
                self.add(number, worker);
            }
        });
        self.remaining = remaining;
        done?;
        if self.share() >= 1.0 && !self.last.is_done {
            self.add_gaps(trace);
        }
        Ok(())
    }

    fn add(&mut self, number: u32, worker: Worker) {
        let nodes = self.paths.add(&worker.paths);
        for (thread, calls) in worker.outermost {
            add(self.outermost.entry(thread).or_default(), calls);
        }
        for (thread, part, sum) in worker.parts {
            self.of_threads.entry(thread).or_default().add(&sum);
            let innermost = part.innermost.map(|node| nodes[node as usize]);
            let part = Part { innermost, ..part };
            self.parts.insert((thread, number), part);
        }
    }

    /// Adds the time between the parts of each thread, and before and after them.
    fn add_gaps(&mut self, trace: &Trace) {
        let (parts, keys) = (&self.parts, self.parts.keys().copied());
        let between = Between::all(trace, self.times, keys, |key| parts[key].times);
        for between in self.last.add(between) {
            self.add_between(between);
        }
        let may_grow = trace.ending() == Ending::Missing;
        self.parts.retain(|key, _| may_grow && self.last.has(*key));
    }

    fn add_between(&mut self, Between { part, is_end, time }: Between) {
        if let Some(found) = self.parts.get(&part) {
            self.add_gap(part.0, found.innermost[usize::from(is_end)], time);
        }
    }

    fn add_gap(&mut self, thread: ThreadId, node: u32, time: i64) {
        if node != 0 {
            self.paths.get(node).pass(time);
            self.of_threads.entry(thread).or_default().pass(time);
        }
    }

    /// Returns what each thread did, as far as it is known.
    pub(crate) fn threads(&self) -> &BTreeMap<ThreadId, ThreadSum> {
        &self.of_threads
    }

    /// Returns the number of outermost calls of a thread that begin in the span.
    pub(crate) fn outermost(&self, thread: ThreadId) -> u64 {
        self.outermost.get(&thread).copied().unwrap_or_default()
    }

    /// Returns what the calls of each method took.
    pub(crate) fn methods(&self) -> FxHashMap<u32, MethodSum> {
        self.paths.methods()
    }

    /// Returns the sums by method of other figures of the paths: `path` has what is summed up like
    /// the self time, and `totals` the sums over each path and those below it.
    pub(crate) fn methods_with(
        &self,
        totals: &[i64],
        path: impl Fn(u32) -> PathSum,
    ) -> FxHashMap<u32, MethodSum> {
        let callees = self.paths.tree.callees();
        self.paths.methods_below(0, &callees, totals, path)
    }

    /// Returns the call paths. The frames are numbers of methods.
    pub fn tree(&self) -> &CallTree {
        &self.paths.tree
    }

    /// Returns what the calls of a path took.
    pub fn path(&self, node: u32) -> PathSum {
        self.paths.path(node)
    }

    /// Returns for each path the time of its calls with their callees, in ns.
    pub fn totals(&self) -> Vec<i64> {
        self.paths.totals()
    }
}

/// A time in which a thread has no events, and which is not missing.
pub(crate) struct Between {
    /// The thread and the segment that tells which calls are open: those at its end, or those at
    /// its begin.
    pub(crate) part: (ThreadId, u32),
    pub(crate) is_end: bool,
    /// Length in ns.
    pub(crate) time: i64,
}

impl Between {
    /// Returns the times before, between and after the parts of threads in a span. `parts` are in
    /// order, and `times` returns the first and the last time of one.
    pub(crate) fn all(
        trace: &Trace,
        span: [Timestamp; 2],
        parts: impl Iterator<Item = (ThreadId, u32)>,
        times: impl Fn(&(ThreadId, u32)) -> [i64; 2],
    ) -> Vec<Self> {
        let [from, until] = span.map(|time| time.0);
        let mut all = Vec::new();
        let mut push = |part: (ThreadId, u32), is_end, begin: i64, end: i64| {
            let time = end.saturating_sub(begin).max(0);
            all.push(Self { part, is_end, time });
        };
        let after_last = |(thread, number): (ThreadId, u32)| {
            let gap = trace.gap_after(thread, number as usize);
            gap.map_or(until, |[missing, _]| missing.0.clamp(from, until))
        };
        let mut before: Option<(ThreadId, u32)> = None;
        for part in parts {
            let (thread, number) = part;
            let gap = trace.gap_before(thread, number as usize);
            let gap = gap.map(|gap| gap.map(|time| time.0.clamp(from, until)));
            let same = before.filter(|before| before.0 == thread);
            if let (Some(other), None) = (before, same) {
                push(other, true, times(&other)[1], after_last(other));
            }
            let mut begin = same.map_or(from, |same| times(&same)[1]);
            if let Some([missing, end]) = gap {
                if let Some(same) = same {
                    push(same, true, begin, missing);
                }
                begin = begin.max(end);
            }
            push(part, false, begin, times(&part)[0]);
            before = Some(part);
        }
        if let Some(last) = before {
            push(last, true, times(&last)[1], after_last(last));
        }
        all
    }
}

/// Returns what is to be summed up for some threads in a span: nodes of the index for which `has`
/// is true and which have no segment with a part outside of the span, and segments.
pub(crate) fn items(
    trace: &Trace,
    threads: &BTreeSet<ThreadId>,
    span: [Timestamp; 2],
    has: impl Fn(&Index, Place) -> bool,
) -> Vec<Item> {
    let mut numbers = BTreeSet::new();
    for thread in threads {
        let of_thread = trace.segments_of(*thread, span).into_iter();
        numbers.extend(of_thread.map(|number| number as u32));
    }
    with_nodes(trace, &numbers, span, has)
}

/// Returns segments with nodes of the index in place of those that are in one: nodes for which
/// `has` is true and which have no segment with a part outside of the span.
pub(crate) fn with_nodes(
    trace: &Trace,
    numbers: &BTreeSet<u32>,
    [from, until]: [Timestamp; 2],
    has: impl Fn(&Index, Place) -> bool,
) -> Vec<Item> {
    let Some(index) = trace.index() else {
        return numbers.iter().copied().map(Item::Segment).collect();
    };
    let mut items = Vec::new();
    let mut rest = 0;
    let mut nodes: Vec<Place> = index.top().collect();
    nodes.reverse();
    while let Some(place) = nodes.pop() {
        let is_inside = |[first, last]: [Timestamp; 2]| first >= from && last < until;
        if !index.times(place).is_some_and(is_inside) || !has(&index, place) {
            nodes.extend(index.below(place).rev());
            continue;
        }
        let [first, end] = index.segments(place);
        items.extend(numbers.range(rest..first).copied().map(Item::Segment));
        items.push(Item::Node(place));
        rest = end;
    }
    items.extend(numbers.range(rest..).copied().map(Item::Segment));
    items
}

/// Adds to a number of calls. An index may claim any number.
fn add(calls: &mut u64, more: u64) {
    *calls = calls.saturating_add(more);
}

impl MethodSum {
    /// Adds what the calls took in another span.
    pub(crate) fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.self_time = self.self_time.saturating_add(other.self_time);
        self.total = self.total.saturating_add(other.total);
    }
}

/// Adds a time in which the same calls are open: outermost first, these methods. Returns the time,
/// or 0 if none is open.
pub(crate) fn add_gap(methods: &mut FxHashMap<u32, MethodSum>, open: &[u32], time: i64) -> i64 {
    let Some(innermost) = open.last() else {
        return 0;
    };
    let sum = methods.entry(*innermost).or_default();
    sum.self_time = sum.self_time.saturating_add(time);
    let mut outermost: FxHashSet<u32> = FxHashSet::default();
    for method in open.iter().filter(|method| outermost.insert(**method)) {
        let sum = methods.entry(*method).or_default();
        sum.total = sum.total.saturating_add(time);
    }
    time
}

impl PathSum {
    /// Adds time without callees, in ns.
    #[inline]
    pub(crate) fn pass(&mut self, time: i64) {
        self.self_time = self.self_time.saturating_add(time);
    }
}

impl ThreadSum {
    /// Adds time in calls, in ns.
    #[inline]
    pub(crate) fn pass(&mut self, time: i64) {
        self.busy = self.busy.saturating_add(time);
    }

    /// Adds what the thread did in another span.
    pub(crate) fn add(&mut self, other: &Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.pass(other.busy);
        self.levels = self.levels.max(other.levels);
    }
}

impl Paths {
    /// Returns what the calls of a path took.
    pub(crate) fn path(&self, node: u32) -> PathSum {
        self.sums.get(node as usize).copied().unwrap_or_default()
    }

    /// Adds calls of a path.
    pub(crate) fn add_path(&mut self, node: u32, sum: PathSum) {
        if sum != PathSum::default() {
            let all = self.get(node);
            add(&mut all.calls, sum.calls);
            all.pass(sum.self_time);
        }
    }

    /// Returns for each path the time of its calls with their callees, in ns.
    pub(crate) fn totals(&self) -> Vec<i64> {
        let nodes = 0..self.tree.len() as u32;
        let mut totals: Vec<i64> = nodes
            .clone()
            .map(|node| self.path(node).self_time)
            .collect();
        for node in nodes.skip(1).rev() {
            let parent = self.tree.parent(node) as usize;
            totals[parent] = totals[parent].saturating_add(totals[node as usize]);
        }
        totals
    }

    /// Returns the methods of a path below a node, outermost first.
    pub(crate) fn stack(&self, mut node: u32, below: u32) -> Vec<u32> {
        let mut frames = Vec::new();
        while node != below && node != 0 {
            frames.push(self.tree.frame(node));
            node = self.tree.parent(node);
        }
        frames.reverse();
        frames
    }

    /// Returns what the calls of each method took.
    pub(crate) fn methods(&self) -> FxHashMap<u32, MethodSum> {
        let (callees, totals) = (self.tree.callees(), self.totals());
        self.methods_below(0, &callees, &totals, |node| self.path(node))
    }

    /// Returns what the calls of each method took below each callee of the root.
    pub(crate) fn methods_below_roots(&self) -> Vec<(u32, FxHashMap<u32, MethodSum>)> {
        let (callees, totals) = (self.tree.callees(), self.totals());
        let roots = callees.of(0).iter();
        roots
            .map(|root| {
                let path = |node| self.path(node);
                (*root, self.methods_below(*root, &callees, &totals, path))
            })
            .collect()
    }

    fn methods_below(
        &self,
        root: u32,
        callees: &Callees,
        totals: &[i64],
        path: impl Fn(u32) -> PathSum,
    ) -> FxHashMap<u32, MethodSum> {
        let tree = &self.tree;
        let mut sums: FxHashMap<u32, MethodSum> = FxHashMap::default();
        // Paths that are left, and how many of the open ones have each method.
        let mut open: Vec<(u32, bool)> =
            callees.of(root).iter().map(|node| (*node, false)).collect();
        let mut on_stack: FxHashSet<u32> = FxHashSet::default();
        let mut outermost = Vec::new();
        while let Some((node, is_left)) = open.pop() {
            let method = tree.frame(node);
            if is_left {
                if outermost.pop() == Some(true) {
                    on_stack.remove(&method);
                }
                continue;
            }
            let path = path(node);
            let sum = sums.entry(method).or_default();
            add(&mut sum.calls, path.calls);
            sum.self_time = sum.self_time.saturating_add(path.self_time);
            let is_outermost = on_stack.insert(method);
            if is_outermost {
                sum.total = sum.total.saturating_add(totals[node as usize]);
            }
            outermost.push(is_outermost);
            open.push((node, true));
            open.extend(callees.of(node).iter().map(|callee| (*callee, false)));
        }
        sums
    }

    #[inline]
    pub(crate) fn get(&mut self, node: u32) -> &mut PathSum {
        let count = self.tree.len().max(node as usize + 1);
        if self.sums.len() < count {
            self.sums.resize(count, PathSum::default());
        }
        &mut self.sums[node as usize]
    }

    /// Adds other sums. Returns the own node of each of their nodes.
    fn add(&mut self, other: &Self) -> Vec<u32> {
        let mut nodes = vec![0];
        for node in 1..other.tree.len() as u32 {
            let parent = nodes[other.tree.parent(node) as usize];
            let own = self.tree.callee(parent, other.tree.frame(node));
            self.add_path(own, other.path(node));
            nodes.push(own);
        }
        nodes
    }
}

/// Sums up one segment.
pub(crate) struct Worker {
    span: [Timestamp; 2],
    times: [Timestamp; 2],
    threads: Arc<BTreeSet<ThreadId>>,
    pub(crate) paths: Paths,
    pub(crate) parts: Vec<(ThreadId, Part, ThreadSum)>,
    /// Numbers of outermost calls that begin in the span.
    outermost: FxHashMap<ThreadId, u64>,
}

/// A thread, while its segment is summed up.
pub(crate) struct State {
    is_selected: bool,
    /// The times of its first and latest event, cut to the span.
    times: Option<[i64; 2]>,
    /// The innermost call that is open at the begin.
    innermost: u32,
    sum: ThreadSum,
    /// Number of outermost calls that begin in the span.
    outermost: u64,
}

impl Worker {
    pub(crate) fn new(
        [span, times]: [[Timestamp; 2]; 2],
        threads: Arc<BTreeSet<ThreadId>>,
    ) -> Self {
        Self {
            span,
            times,
            threads,
            paths: Paths::default(),
            parts: Vec::new(),
            outermost: FxHashMap::default(),
        }
    }

    /// Takes the sums of a node, which lies in the span.
    fn take(mut self, all: &ThreadPaths) -> Self {
        let tree = &all.sums.tree;
        // The own node of each node; none if its thread is not selected.
        let mut nodes: Vec<Option<u32>> = vec![None; tree.len()];
        for node in 1..tree.len() as u32 {
            let (parent, frame) = (tree.parent(node), tree.frame(node));
            let own = match parent {
                0 => {
                    let thread = all.threads[frame as usize];
                    self.threads.contains(&thread).then_some(0)
                }
                _ => nodes[parent as usize].map(|parent| self.paths.tree.callee(parent, frame)),
            };
            if let Some(own) = own {
                let path = all.sums.path(node);
                self.paths.add_path(own, path);
                // The callees of the root stand for threads, and theirs are outermost calls.
                if parent != 0 && tree.parent(parent) == 0 {
                    let thread = all.threads[tree.frame(parent) as usize];
                    add(self.outermost.entry(thread).or_default(), path.calls);
                }
            }
            nodes[node as usize] = own;
        }
        for (thread, part) in &all.parts {
            let [before, after] = part.innermost.map(|node| nodes[node as usize]);
            if let Some((before, after)) = before.zip(after) {
                let innermost = [before, after];
                let sum = all.of_threads.get(thread).copied().unwrap_or_default();
                self.parts.push((*thread, Part { innermost, ..*part }, sum));
            }
        }
        self
    }

    pub(crate) fn run(mut self, trace: &Trace, number: u32) -> io::Result<Self> {
        let threads: Threads<Self> = trace.walk(number as usize, &mut self)?;
        // A thread that goes on with what it did before has no times of its own.
        let first = trace.first_time(number as usize).0;
        let first = first.clamp(self.times[0].0, self.times[1].0);
        for (id, thread) in threads {
            let state = thread.state;
            if state.is_selected {
                let last = thread.open.last().map_or(0, |open| open.extra);
                let part = Part {
                    times: state.times.unwrap_or([first; 2]),
                    innermost: [state.innermost, last],
                };
                self.parts.push((id, part, state.sum));
                self.outermost.insert(id, state.outermost);
            }
        }
        Ok(self)
    }

    /// Adds the time since the latest event of a thread to its innermost open call.
    #[inline]
    fn pass(&mut self, state: &mut State, innermost: u32, time: Timestamp) {
        let time = time.0.clamp(self.times[0].0, self.times[1].0);
        let times = state.times.get_or_insert([time; 2]);
        let passed = time.saturating_sub(times[1]);
        if passed > 0 {
            times[1] = time;
            if innermost != 0 {
                self.paths.get(innermost).pass(passed);
                state.sum.pass(passed);
            }
        }
    }
}

impl Walk for Worker {
    /// The node of the call, or of the call that waits.
    type Extra = u32;
    type Thread = State;

    fn thread(&mut self, id: ThreadId) -> State {
        State {
            is_selected: self.threads.contains(&id),
            times: None,
            innermost: 0,
            sum: ThreadSum::default(),
            outermost: 0,
        }
    }

    #[inline]
    fn begin(&mut self, state: &mut State, open: &[Open<u32>], begin: Begin) -> u32 {
        if !state.is_selected {
            return 0;
        }
        let innermost = open.last().map_or(0, |open| open.extra);
        state.sum.levels = state.sum.levels.max(open.len() as u32 + 1);
        if !begin.is_earlier {
            self.pass(state, innermost, begin.time);
        }
        if begin.method == NO_METHOD {
            return innermost;
        }
        let node = self.paths.tree.callee(innermost, begin.method);
        if begin.is_earlier {
            state.innermost = node;
        } else if (self.span[0]..self.span[1]).contains(&begin.time) {
            self.paths.get(node).calls += 1;
            state.sum.calls += 1;
            state.outermost += u64::from(innermost == 0);
        }
        node
    }

    #[inline]
    fn end(
        &mut self,
        state: &mut State,
        _: &[Open<u32>],
        ended: Open<u32>,
        (time, _): (Timestamp, Kind),
    ) {
        if state.is_selected {
            self.pass(state, ended.extra, time);
        }
    }
}
