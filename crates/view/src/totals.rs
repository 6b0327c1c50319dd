//! What calls took in a span, by method or by edge of the call graph, and by thread.

use crate::index::{OfThread, ThreadTotals};
use crate::remaining::Remaining;
use crate::sums::{
    Between, Item, LastParts, MethodSum, Subject, ThreadSum, Worker, add_gap, items,
};
use crate::trace::Trace;
use jtrail_formats::trail::Ending;
use jtrail_model::{ThreadId, Timestamp};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// What calls and threads took in a span, as far as it has been summed up. Times
/// are cut to the span, and calls count where they begin, as in [`crate::Sums`].
#[derive(Debug)]
pub struct Totals<S> {
    span: [Timestamp; 2],
    /// The part of the span in which the trace has events.
    times: [Timestamp; 2],
    threads: Arc<BTreeSet<ThreadId>>,
    remaining: Remaining<Item>,
    sums: FxHashMap<S, MethodSum>,
    of_threads: BTreeMap<ThreadId, ThreadSum>,
    /// For each thread its parts, by segment. At the end, there are the last ones at most.
    parts: BTreeMap<(ThreadId, u32), Part>,
    last: LastParts,
}

/// A thread in some segments.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    times: [i64; 2],
    /// The methods of the calls that are open before the first and after the last event.
    open: [Vec<u32>; 2],
}

/// What was summed up of some segments.
#[derive(Debug)]
struct Done<S> {
    sums: FxHashMap<S, MethodSum>,
    parts: Vec<((ThreadId, u32), Part, ThreadSum)>,
}

#[expect(private_bounds, reason = "calls are summed up by Method or Edge")]
impl<S: Subject> Totals<S> {
    /// Begins the sums of some threads in a span.
    pub fn new(trace: &Trace, span: [Timestamp; 2], threads: BTreeSet<ThreadId>) -> Self {
        let items = items(trace, &threads, span, S::is_in);
        Self {
            span,
            times: trace.ended(span),
            threads: threads.into(),
            remaining: Remaining::new(items.into_iter()),
            sums: FxHashMap::default(),
            of_threads: BTreeMap::new(),
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
        let mut items = items(trace, &self.threads, self.span, S::is_in);
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

    /// Returns what the calls took, as far as it is known.
    pub fn all(&self) -> &FxHashMap<S, MethodSum> {
        &self.sums
    }

    /// Returns what each thread did, as far as it is known.
    pub fn threads(&self) -> &BTreeMap<ThreadId, ThreadSum> {
        &self.of_threads
    }

    /// Sums up more segments on all processors, until everything is summed up or the time is over.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub fn advance(&mut self, trace: &Trace, time: Duration) -> io::Result<()> {
        let (spans, threads) = ([self.span, self.times], Arc::clone(&self.threads));
        let index = trace.index();
        let segment = |done: &mut Done<S>, number: u32| -> io::Result<()> {
            let worker = Worker::new(spans, Arc::clone(&threads)).run(trace, number)?;
            done.add_worker(number, &worker);
            Ok(())
        };
        let read = |item: &Item| -> io::Result<Done<S>> {
            let mut done = Done {
                sums: FxHashMap::default(),
                parts: Vec::new(),
            };
            match (item, &index) {
                (Item::Segment(number), _) => segment(&mut done, *number)?,
                (Item::Node(place), Some(index)) => {
                    let [first, end] = index.segments(*place);
                    match S::read(index, *place)? {
                        Some(totals) => done.add_node(first, totals, &threads),
                        // What is damaged in the index is still in the trail.
                        None => (first..end).try_for_each(|n| segment(&mut done, n))?,
                    }
                }
                (Item::Node(_), None) => {}
            }
            Ok(done)
        };
        let mut remaining = std::mem::take(&mut self.remaining);
        let done = remaining.advance(time, read, |_, done| self.add(done));
        self.remaining = remaining;
        done?;
        if self.share() >= 1.0 && !self.last.is_done {
            self.add_gaps(trace);
        }
        Ok(())
    }

    fn add(&mut self, done: Done<S>) {
        for (subject, sum) in done.sums {
            self.sums.entry(subject).or_default().add(&sum);
        }
        for (key, part, sum) in done.parts {
            self.of_threads.entry(key.0).or_default().add(&sum);
            self.parts.insert(key, part);
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
        let Some(found) = self.parts.get(&part) else {
            return;
        };
        let busy = add_gap(&mut self.sums, &found.open[usize::from(is_end)], time);
        if busy != 0 {
            self.of_threads.entry(part.0).or_default().pass(busy);
        }
    }
}

impl<S: Subject> Done<S> {
    fn add_worker(&mut self, number: u32, worker: &Worker) {
        for (subject, sum) in worker.paths.by() {
            self.sums.entry(subject).or_default().add(&sum);
        }
        for (thread, part, sum) in &worker.parts {
            let open = part.innermost.map(|node| worker.paths.stack(node, 0));
            let times = part.times;
            self.parts
                .push(((*thread, number), Part { times, open }, *sum));
        }
    }

    fn add_node(&mut self, number: u32, all: ThreadTotals<S>, threads: &BTreeSet<ThreadId>) {
        let is_selected = |(id, _): &(ThreadId, OfThread<S>)| threads.contains(id);
        for (thread, of_thread) in all.0.into_iter().filter(is_selected) {
            for (subject, sum) in of_thread.sums {
                self.sums.entry(subject).or_default().add(&sum);
            }
            let (times, open) = (of_thread.times, of_thread.open);
            self.parts
                .push(((thread, number), Part { times, open }, of_thread.sum));
        }
    }
}
