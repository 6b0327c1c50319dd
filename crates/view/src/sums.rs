//! What calls took in a span, by call path.
//!
//! Times are cut to the span: a call that is open at its begin or end counts with the time that it
//! has in the span. A call counts where it begins. So the sums of two spans that follow each other
//! are those of both together.
//!
//! Each segment is summed up by itself. The time between a thread's last event in a segment and its
//! first one in the next belongs to the innermost call that is open there. If something is missing
//! in between, only the times before and after the gap count.

mod between;
mod items;
mod paths;
mod subject;
mod worker;

pub(crate) use between::Between;
use items::path_items;
pub(crate) use items::{Item, items, with_nodes};
pub(crate) use paths::Paths;
pub use paths::{PathSum, SHORTER};
pub use subject::{Edge, Method};
pub(crate) use subject::{Subject, add_gap};
pub(crate) use worker::Worker;

use crate::remaining::Remaining;
use crate::trace::Trace;
use jtrail_analysis::CallTree;
use jtrail_formats::trail::Ending;
use jtrail_model::{ThreadId, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of segments of a span that are read, so that each call path is summed up by
/// itself.
const MAX_SEGMENTS: usize = 64;
/// Maximum number of call paths, up to those that the last segments add.
const MAX_PATHS: usize = 300_000;
/// Number of paths that remain if there are more.
const LONGEST_PATHS: usize = 100_000;

/// The sums of a span, as far as they have been made.
#[derive(Debug)]
pub struct Sums {
    span: [Timestamp; 2],
    /// The part of the span in which the trace has events.
    times: [Timestamp; 2],
    /// The threads whose calls are summed up.
    threads: Arc<BTreeSet<ThreadId>>,
    remaining: Remaining<Item>,
    /// See [`Self::from_segments`].
    most: usize,
    paths: Paths,
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

/// What the calls of a method took.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MethodSum {
    /// Number of calls that begin in the span.
    pub calls: u64,
    /// Self time in the span, in ns.
    pub self_time: i64,
    /// Time of the outermost calls of the method in the span, in ns.
    pub total: i64,
    /// Numbers of enters and leaves that were recorded within these times, of calls that begin in
    /// the span.
    pub records: [u64; 2],
}

/// What a thread did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadSum {
    /// Number of calls that begin in the span.
    pub calls: u64,
    /// Number of outermost ones of these.
    pub outermost: u64,
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

    /// Begins the sums of some threads in a span. In a long span of a trace with an index, one path
    /// may stand for several: [`SHORTER`].
    pub fn new(trace: &Trace, span: [Timestamp; 2], threads: BTreeSet<ThreadId>) -> Self {
        Self::from_segments(trace, span, threads, MAX_SEGMENTS)
    }

    /// Begins the sums of some threads in a span. If more than `most` segments would have to be
    /// read for each path by itself, one path may stand for several.
    pub fn from_segments(
        trace: &Trace,
        span: [Timestamp; 2],
        threads: BTreeSet<ThreadId>,
        most: usize,
    ) -> Self {
        let items = path_items(trace, &threads, span, most);
        Self {
            most,
            span,
            times: trace.ended(span),
            threads: threads.into(),
            remaining: Remaining::new(items.into_iter()),
            paths: Paths::default(),
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
        let mut items = path_items(trace, &self.threads, self.span, self.most);
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
        for (thread, part, _) in worker.parts {
            let innermost = part.innermost.map(|node| nodes[node as usize]);
            let part = Part { innermost, ..part };
            self.parts.insert((thread, number), part);
        }
        if self.paths.tree.len() > MAX_PATHS {
            let (longest, nodes) = self.paths.longest(LONGEST_PATHS, false);
            self.paths = longest;
            for part in self.parts.values_mut() {
                part.innermost = part.innermost.map(|node| nodes[node as usize]);
            }
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
            let node = found.innermost[usize::from(is_end)];
            if node != 0 {
                self.paths.get(node).pass(time);
            }
        }
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

    /// Returns for each path how many enters and leaves are within its self time, and within that
    /// time together with its callees.
    pub(crate) fn records(&self) -> Vec<[u64; 2]> {
        self.paths.records()
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
        add(&mut self.calls, other.calls);
        add(&mut self.outermost, other.outermost);
        self.pass(other.busy);
        self.levels = self.levels.max(other.levels);
    }
}

impl MethodSum {
    /// Adds what other calls took.
    pub fn add(&mut self, other: &Self) {
        add(&mut self.calls, other.calls);
        self.self_time = self.self_time.saturating_add(other.self_time);
        self.total = self.total.saturating_add(other.total);
        let records = self.records.iter_mut().zip(other.records);
        records.for_each(|(own, more)| add(own, more));
    }
}

/// Adds to a number of calls. An index may claim any number.
fn add(calls: &mut u64, more: u64) {
    *calls = calls.saturating_add(more);
}
