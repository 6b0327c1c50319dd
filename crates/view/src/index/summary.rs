//! What the index says of a segment.

use super::bins::{Bins, Detail};
use super::calls::MethodCalls;
use super::facts::Facts;
use super::lanes::{Lanes, Spread, bins_for};
use super::paths::ThreadPaths;
use super::waits::NodeWaits;
use crate::cpu::{Reading, Readings};
use crate::events::{EventSums, Sites};
use crate::methods::NO_METHOD;
use crate::overview::Counts;
use crate::slice::{EARLIER, Kind, Slice};
use crate::sums::{Part, ThreadSum};
use crate::trace::Trace;
use crate::waits::{Wait, reason};
use crate::walk::{Begin, Open, Walk};
use jtrail_model::{Event, ObjectId, ThreadId, Timestamp};
use rustc_hash::FxHashMap;
use std::io;

/// A segment has at most so many bins.
const MAX_BINS: u64 = 512;
/// How many bins of a segment are one bin of the calls of methods, as a power of two.
const CALLS: u8 = 6;
/// A segment has at most so many bins of the calls of methods, if its times are right.
const MAX_CALL_BINS: usize = 10;

/// What the index says of a segment.
#[derive(Debug)]
pub(super) struct Summary {
    pub(super) bins: Bins,
    /// Bins of lanes.
    pub(super) lane_bins: Bins,
    /// The first and the last time of its events.
    pub(super) times: Option<[Timestamp; 2]>,
    pub(super) threads: FxHashMap<ThreadId, OfThread>,
    pub(super) paths: ThreadPaths,
    pub(super) calls: MethodCalls,
    pub(super) readings: Readings,
    pub(super) events: EventSums,
    /// The sites of [`Self::events`].
    pub(super) sites: Sites,
    /// The longest waits that begin and end here.
    pub(super) waits: NodeWaits,
    /// Events that tell about the whole trace.
    pub(super) others: Vec<Event<'static>>,
}

/// A thread in a segment.
#[derive(Debug, Default)]
pub(super) struct OfThread {
    pub(super) detail: Detail,
    pub(super) lanes: Lanes,
    /// The wait that began in an earlier segment and ends here. Its begin is not known.
    pub(super) ended_wait: Option<Slice>,
    /// What is open at the end, outermost first.
    pub(super) open: Vec<Slice>,
    /// The object and the owner of the wait that is open at the end.
    pub(super) reason: (ObjectId, ThreadId),
    pub(super) sum: ThreadSum,
    /// False if the thread goes on with what it did before.
    pub(super) is_running: bool,
}

impl Summary {
    /// Reads a segment.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if the segment is damaged.
    pub(super) fn read(trace: &Trace, number: usize) -> io::Result<Self> {
        let times = trace.times_of(number);
        let length = times.map_or(0, |[first, last]| last.0.abs_diff(first.0));
        let bins = Bins {
            origin: trace.span()[0],
            power: (length / MAX_BINS)
                .checked_ilog2()
                .map_or(0, |log| log as u8 + 1),
        };
        let mut visitor = Visitor {
            bins,
            paths: ThreadPaths::default(),
            lanes: FxHashMap::default(),
            spreads: Vec::new(),
            readings: Readings::default(),
            events: EventSums::default(),
            sites: Sites::default(),
            waits: NodeWaits::default(),
            reason: Default::default(),
            calls: OfPaths::new(bins, times.map_or(bins.origin, |[first, _]| first)),
            others: Vec::new(),
        };
        let mut walked = trace.walk(number, &mut visitor)?;
        if times.is_none() {
            // Sums of calls have no times, so a segment of theirs has no place among others.
            walked.clear();
            visitor.paths = ThreadPaths::default();
            visitor.spreads.clear();
        }
        let mut threads: FxHashMap<ThreadId, OfThread> = FxHashMap::default();
        let first = trace.first_time(number).max(bins.origin).0;
        for (id, thread) in walked {
            let state = thread.state;
            let innermost = thread.open.last();
            let innermost = innermost.map_or(state.root, |open| open.extra.node);
            let part = Part {
                // A thread that goes on with what it did before has no times of its own.
                times: state.times.unwrap_or([first; 2]),
                innermost: [state.innermost, innermost],
            };
            visitor.paths.parts.insert(id, part);
            let open = thread.open.into_iter().map(|open| open.extra.slice);
            threads.insert(
                id,
                OfThread {
                    detail: state.detail,
                    lanes: state.lanes,
                    ended_wait: state.ended_wait,
                    open: open.collect(),
                    reason: state.reason,
                    sum: state.sum,
                    is_running: thread.is_running,
                },
            );
        }
        for (id, lanes) in visitor.lanes {
            threads.entry(id).or_default().lanes.append(lanes);
        }
        let lane_bins = bins_for(&visitor.spreads, bins);
        for thread in threads.values_mut() {
            thread.lanes.coarsen(bins, lane_bins);
        }
        for (id, spread) in &visitor.spreads {
            let of_thread = threads.entry(*id).or_default();
            of_thread.lanes.spread(spread, lane_bins);
        }
        threads.values_mut().for_each(|thread| thread.lanes.sort());
        Ok(Self {
            bins,
            lane_bins,
            times,
            threads,
            calls: visitor.calls.by_method(&visitor.paths),
            paths: visitor.paths,
            readings: visitor.readings,
            events: visitor.events,
            sites: visitor.sites,
            waits: visitor.waits,
            others: visitor.others,
        })
    }
}

/// Returns a wait with what it is for.
pub(super) fn wait(thread: ThreadId, slice: &Slice, reason: (ObjectId, ThreadId)) -> Wait {
    let (object, owner) = reason;
    Wait {
        thread,
        begin: slice.begin,
        end: slice.end,
        level: slice.level,
        kind: slice.kind,
        object,
        owner,
    }
}

/// The calls of each path while a segment is read.
struct OfPaths {
    bins: Bins,
    first: u64,
    /// By node of the paths: numbers of calls by bin, and the longest call that has ended.
    nodes: Vec<([u32; MAX_CALL_BINS], Option<Slice>)>,
    /// Nodes and bins of calls in other bins, which only wrong times have.
    others: Vec<(u32, u64)>,
}

impl OfPaths {
    fn new(bins: Bins, first: Timestamp) -> Self {
        let bins = Bins {
            power: bins.power + CALLS,
            ..bins
        };
        Self {
            bins,
            first: bins.of(first),
            nodes: Vec::new(),
            others: Vec::new(),
        }
    }

    #[inline]
    fn node(&mut self, node: u32) -> &mut ([u32; MAX_CALL_BINS], Option<Slice>) {
        let node = node as usize;
        if node >= self.nodes.len() {
            self.nodes.resize(node + 1, ([0; MAX_CALL_BINS], None));
        }
        &mut self.nodes[node]
    }

    #[inline]
    fn add(&mut self, node: u32, time: Timestamp) {
        let bin = self.bins.of(time);
        let place = bin.wrapping_sub(self.first);
        match self.node(node).0.get_mut(place as usize) {
            Some(calls) => *calls += 1,
            None => self.others.push((node, bin)),
        }
    }

    #[inline]
    fn add_ended(&mut self, node: u32, slice: &Slice) {
        let length = |slice: &Slice| slice.end.0.saturating_sub(slice.begin.0);
        let (_, longest) = self.node(node);
        if longest.is_none_or(|longest| length(slice) > length(&longest)) {
            *longest = Some(*slice);
        }
    }

    fn by_method(self, paths: &ThreadPaths) -> MethodCalls {
        let mut calls = MethodCalls::new(self.bins);
        let tree = &paths.sums.tree;
        // The threads of nodes: parents stand before their callees.
        let mut threads = vec![ThreadId::NONE; tree.len()];
        for (node, (counts, longest)) in self.nodes.into_iter().enumerate().skip(1) {
            let (number, parent) = (node as u32, tree.parent(node as u32));
            threads[node] = match parent {
                0 => paths.threads[tree.frame(number) as usize],
                _ => threads[parent as usize],
            };
            let filled = (self.first..).zip(counts).filter(|(_, count)| *count > 0);
            for (bin, count) in filled {
                calls.add(tree.frame(number), bin, u64::from(count));
            }
            if let Some(slice) = longest {
                calls.add_ended((threads[node], slice));
            }
        }
        for (node, bin) in self.others {
            calls.add(tree.frame(node), bin, 1);
        }
        calls.sort();
        calls
    }
}

/// Makes the summary while a segment is read.
struct Visitor {
    bins: Bins,
    paths: ThreadPaths,
    /// Allocations and exceptions.
    lanes: FxHashMap<ThreadId, Lanes>,
    /// Waits and CPU times.
    spreads: Vec<(ThreadId, Spread)>,
    readings: Readings,
    events: EventSums,
    sites: Sites,
    waits: NodeWaits,
    /// The object and the owner of the wait that begins.
    reason: (ObjectId, ThreadId),
    calls: OfPaths,
    others: Vec<Event<'static>>,
}

/// A thread while its segment is read.
struct State {
    id: ThreadId,
    detail: Detail,
    lanes: Lanes,
    ended_wait: Option<Slice>,
    has_ended: bool,
    /// The object and the owner of the latest wait.
    reason: (ObjectId, ThreadId),
    /// The path without calls.
    root: u32,
    /// The times of its first and latest event.
    times: Option<[i64; 2]>,
    /// The path that is open at the begin.
    innermost: u32,
    sum: ThreadSum,
}

/// What is known of an open call or wait.
#[derive(Clone, Copy)]
struct Known {
    slice: Slice,
    /// The path of the call, or of the call that waits.
    node: u32,
}

impl Visitor {
    /// Adds the time since the latest event of a thread to its innermost open call.
    #[inline]
    fn pass(&mut self, state: &mut State, innermost: u32, time: Timestamp) {
        let times = state.times.get_or_insert([time.0; 2]);
        let passed = time.since(Timestamp(times[1])).0;
        if passed > 0 {
            times[1] = time.0;
            if innermost != state.root {
                self.paths.sums.get(innermost).pass(passed);
                state.sum.pass(passed);
            }
        }
    }

    fn count(&mut self, thread: ThreadId, time: Timestamp, counts: Counts) {
        let bin = self.bins.of(time);
        self.lanes.entry(thread).or_default().add(bin, counts);
    }
}

impl Walk for Visitor {
    type Extra = Known;
    type Thread = State;

    fn thread(&mut self, id: ThreadId) -> State {
        let root = self.paths.root(id);
        State {
            id,
            reason: Default::default(),
            detail: Detail::default(),
            lanes: Lanes::default(),
            ended_wait: None,
            has_ended: false,
            root,
            times: None,
            innermost: root,
            sum: ThreadSum::default(),
        }
    }

    #[inline]
    fn begin(&mut self, state: &mut State, open: &[Open<Known>], begin: Begin) -> Known {
        let innermost = open.last().map_or(state.root, |open| open.extra.node);
        state.sum.levels = state.sum.levels.max(open.len() as u32 + 1);
        let slice = begin.slice(open.len());
        if !begin.is_earlier {
            self.pass(state, innermost, begin.time);
        }
        if begin.method == NO_METHOD {
            state.reason = std::mem::take(&mut self.reason);
            return Known {
                slice,
                node: innermost,
            };
        }
        let node = self.paths.sums.tree.callee(innermost, begin.method);
        if begin.is_earlier {
            state.innermost = node;
        } else {
            self.paths.sums.get(node).calls += 1;
            self.calls.add(node, begin.time);
            state.sum.calls += 1;
            state.sum.outermost += u64::from(innermost == state.root);
            state.lanes.add_call(self.bins.of(begin.time));
        }
        Known { slice, node }
    }

    #[inline]
    fn end(
        &mut self,
        state: &mut State,
        _: &[Open<Known>],
        ended: Open<Known>,
        (end, kind): (Timestamp, Kind),
    ) {
        let Known { slice, node } = ended.extra;
        self.pass(state, node, end);
        let slice = Slice { end, kind, ..slice };
        if kind.is_call() {
            state.detail.push(&slice, self.bins);
            self.calls.add_ended(node, &slice);
        } else if slice.begin == EARLIER && !state.has_ended {
            state.ended_wait = Some(slice);
        } else {
            state.detail.push(&slice, self.bins);
            if slice.begin != EARLIER {
                let spread = Spread::Wait([slice.begin, end], kind);
                self.spreads.push((state.id, spread));
                self.waits.push(wait(state.id, &slice, state.reason));
            }
        }
        state.has_ended = true;
    }

    fn other(&mut self, event: &Event<'_>) {
        self.reason = reason(event);
        self.events.event(event, &mut self.sites);
        let none = Counts::default();
        match event {
            Event::ObjectAlloc(e) => {
                let bytes = e.size.max(0).unsigned_abs();
                let counts = Counts {
                    objects: 1,
                    bytes,
                    ..none
                };
                self.count(e.thread, e.time, counts);
            }
            Event::AllocationSum(e) => {
                let (objects, bytes) = (e.objects, e.bytes);
                let counts = Counts {
                    objects,
                    bytes,
                    ..none
                };
                self.count(e.thread, e.time, counts);
            }
            Event::ExceptionThrow(e) => {
                let counts = Counts {
                    exceptions: 1,
                    ..none
                };
                self.count(e.thread, e.time, counts);
            }
            Event::ThreadCpu(e) => {
                let (time, cpu) = (e.time, e.cpu_time.0);
                let reading = Reading { time, cpu };
                if let Some(before) = self.readings.add(e.thread, reading) {
                    let spread = Spread::Cpu([before, reading]);
                    self.spreads.push((e.thread, spread));
                }
            }
            _ => {}
        }
        if Facts::has(event) {
            self.others.push(event.clone().into_static());
        }
    }
}
