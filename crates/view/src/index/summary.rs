//! What the index says of a segment.

use super::bins::{Bins, Detail};
use super::lanes::Lanes;
use super::paths::ThreadPaths;
use crate::methods::NO_METHOD;
use crate::overview::Counts;
use crate::slice::{EARLIER, Kind, Slice};
use crate::sums::{Part, ThreadSum};
use crate::trace::Trace;
use crate::walk::{Begin, Open, Walk};
use jtrail_model::{Event, ThreadId, Timestamp};
use rustc_hash::FxHashMap;
use std::io;

/// A segment has at most so many bins.
const MAX_BINS: u64 = 512;

/// What the index says of a segment.
#[derive(Debug)]
pub(super) struct Summary {
    pub(super) bins: Bins,
    /// The first and the last time of its events.
    pub(super) times: Option<[Timestamp; 2]>,
    pub(super) threads: FxHashMap<ThreadId, OfThread>,
    pub(super) paths: ThreadPaths,
    /// Other events than calls and waits.
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
            others: Vec::new(),
        };
        let walked = trace.walk(number, &mut visitor)?;
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
                    sum: state.sum,
                    is_running: thread.is_running,
                },
            );
        }
        for (id, lanes) in visitor.lanes {
            threads.entry(id).or_default().lanes.append(lanes);
        }
        threads.values_mut().for_each(|thread| thread.lanes.sort());
        Ok(Self {
            bins,
            times,
            threads,
            paths: visitor.paths,
            others: visitor.others,
        })
    }
}

/// Makes the summary while a segment is read.
struct Visitor {
    bins: Bins,
    paths: ThreadPaths,
    /// Allocations and exceptions.
    lanes: FxHashMap<ThreadId, Lanes>,
    others: Vec<Event<'static>>,
}

/// A thread while its segment is read.
struct State {
    detail: Detail,
    lanes: Lanes,
    ended_wait: Option<Slice>,
    has_ended: bool,
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
        let passed = time.0 - times[1];
        if passed > 0 {
            times[1] = time.0;
            if innermost != state.root {
                self.paths.sums.get(innermost).self_time += passed;
                state.sum.busy += passed;
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
            state.sum.calls += 1;
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
        } else if slice.begin == EARLIER && !state.has_ended {
            state.ended_wait = Some(slice);
        } else {
            state.detail.push(&slice, self.bins);
            state.lanes.add_wait([slice.begin, end], kind, self.bins);
        }
        state.has_ended = true;
    }

    fn other(&mut self, event: &Event<'_>) {
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
            _ => {}
        }
        self.others.push(event.clone().into_static());
    }
}
