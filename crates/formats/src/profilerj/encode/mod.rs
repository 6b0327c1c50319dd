//! Encoder: events to sums, which become the document at the end.

mod coverage;
mod definitions;
mod document;
mod dropped;
mod objects;
mod threads;
mod tree;
mod value;

use super::MAX_CALL_NODES;
use super::wire::{HEAD, NATIVE};
use crate::tally::DropTally;
use crate::{DropCount, Encode};
use coverage::Coverage;
use definitions::Definitions;
use document::Written;
use dropped::Dropped;
use jtrail_model::{
    AggregatedDetail, AggregatedEnter, Cost, Event, MethodEnter, ObjectAlloc, RECORD_OVERHEAD,
    Sample, SampleSum, ThreadId, ThreadState, Timestamp,
};
use objects::Objects;
use threads::{Calls, Hits, Room, Rooms, Thread, Threads, nanoseconds};
use tree::{NONE, Place, Spot, Tree};
use value::legal;

/// Maximum number of nodes of all trees of samples together.
const MAX_SAMPLE_NODES: usize = 1 << 18;
/// Factor on the maximum number of nodes, for trees that the trace already contains as sums. With
/// more nodes, such trees are kept unchanged.
const ROOM_FOR_SUMS: usize = 4;

/// Sums up events, and writes the document at the end.
#[derive(Clone, Debug)]
pub struct Encoder {
    pub(super) definitions: Definitions,
    pub(super) threads: Threads,
    pub(super) calls: Tree<Calls>,
    pub(super) samples: Tree<Hits>,
    /// Threads with calls, and threads with samples, in the order of their first call or sample.
    pub(super) calling: Vec<ThreadId>,
    pub(super) sampled: Vec<ThreadId>,
    pub(super) objects: Objects,
    pub(super) coverage: Coverage,
    /// The latest time of an event.
    last: Option<Timestamp>,
    rooms: Rooms,
    /// Cost of recording an event.
    cost: Cost,
    hits: Room,
    dropped: DropTally<Dropped>,
    /// Progress in writing the document; `None` until all events are summed up.
    written: Option<Written>,
}

impl Default for Encoder {
    fn default() -> Self {
        Self {
            definitions: Definitions::default(),
            threads: Threads::default(),
            calls: Tree::new(MAX_CALL_NODES),
            samples: Tree::new(MAX_SAMPLE_NODES),
            calling: Vec::new(),
            sampled: Vec::new(),
            objects: Objects::default(),
            coverage: Coverage::default(),
            last: None,
            rooms: Rooms::default(),
            cost: Cost::default(),
            hits: Room::default(),
            dropped: DropTally::default(),
            written: None,
        }
    }
}

impl Encode for Encoder {
    fn begin(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(HEAD);
    }

    fn has_pending(&self) -> bool {
        true
    }

    fn event(&mut self, event: &Event<'_>, _out: &mut Vec<u8>) {
        if let Some(time) = event.time() {
            self.last = self.last.max(Some(time));
        }
        match event {
            Event::MethodEnter(e) => self.enter(e),
            Event::MethodLeave(e) => {
                let thread = self.threads.get_mut(e.thread, e.time);
                if !thread.leave(e, &mut self.calls, &mut self.rooms) {
                    self.dropped.event(Dropped::Leaves);
                }
            }
            Event::TracePause(e) => self.threads.pause(e.time, &mut self.calls, &mut self.rooms),
            // Nothing to do: the pause has already ended all open calls.
            Event::TraceResume(_) => {}
            Event::ObjectAlloc(e) => self.alloc(e),
            Event::ObjectFree(e) => {
                if !self.objects.freed(e.object) {
                    self.dropped.event(Dropped::UnknownFrees);
                }
            }
            Event::Sample(e) => self.sample(e),
            Event::ThreadStart(e) => {
                self.threads.start(e.thread, &legal(&e.name), e.time);
                self.dropped
                    .part_if(!e.group.is_empty(), Dropped::ThreadGroups);
            }
            Event::ThreadEnd(e) => {
                self.threads
                    .end(e.thread, e.time, &mut self.calls, &mut self.rooms);
            }
            Event::ThreadName(e) => {
                let thread = self.threads.get_mut(e.thread, e.time);
                let before = std::mem::replace(&mut thread.name, legal(&e.name).into());
                self.dropped
                    .part_if(!before.is_empty(), Dropped::ThreadNames);
            }
            Event::ThreadCpu(e) => {
                self.threads.get_mut(e.thread, e.time).uses_cpu(e.cpu_time);
            }
            Event::ClassDef(e) => self.definitions.class_def(e),
            Event::ClassSource(e) => self.definitions.class_source(e),
            Event::MethodDef(e) => self.definitions.method_def(e),
            Event::LineCounts(e) => {
                let class = self.definitions.class_of(e.method);
                let lines = self.coverage.counts(class, e);
                self.dropped.parts(Dropped::Lines, lines);
            }
            Event::AggregatedEnter(e) => self.aggregated(e),
            Event::AggregatedLeave(e) => {
                let now = self.last();
                let thread = self.threads.get_mut(e.thread, now);
                if thread.aggregated.pop().is_none() {
                    self.dropped.event(Dropped::Leaves);
                }
            }
            Event::AggregatedDetail(e) => self.aggregated_detail(e),
            Event::Option(e) if e.key == RECORD_OVERHEAD && self.cost.take(e) => {}
            Event::SampleSum(e) => self.sample_sum(e),
            Event::ObjectCounts(e) => {
                let class = self.definitions.class_number(e.class);
                self.threads.get_mut(e.thread, e.time).allocates = true;
                self.objects.counted(e.thread, class, e.live, e.peak);
            }
            _ => self.dropped.event(Dropped::of(event)),
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        while self.end_part(out) {}
    }

    fn end_part(&mut self, out: &mut Vec<u8>) -> bool {
        let mut written = self.written.take().unwrap_or_else(|| {
            let now = self.last();
            self.threads.finish(now, &mut self.calls, &mut self.rooms);
            self.add_cost();
            self.calls.finish(Calls::add_times);
            self.samples.finish(Hits::add);
            Written::default()
        });
        let more = written.write(self, out);
        self.written = Some(written);
        more
    }

    fn copy(&self) -> Option<Box<dyn Encode>> {
        Some(Box::new(self.clone()))
    }

    fn dropped(&self) -> Vec<DropCount> {
        self.dropped.counts()
    }

    fn dropped_events(&self) -> u64 {
        self.dropped.events()
    }
}

impl Encoder {
    /// Returns the latest time of the trace so far.
    pub(super) fn last(&self) -> Timestamp {
        self.last.unwrap_or_default()
    }

    fn enter(&mut self, e: &MethodEnter) {
        let name = self.definitions.call_number(e.method);
        let trees = (&mut self.threads, &mut self.calls);
        let thread = calling(trees, &mut self.calling, e.thread, e.time);
        let folded = thread.enter(e, name, &mut self.calls);
        self.dropped.part_if(folded, Dropped::FoldedCalls);
        self.dropped.part(Dropped::CallTimes);
    }

    fn aggregated(&mut self, e: &AggregatedEnter) {
        let name = self.definitions.call_number(e.method);
        let now = self.last();
        let trees = (&mut self.threads, &mut self.calls);
        let thread = calling(trees, &mut self.calling, e.thread, now);
        let parent = thread.aggregated.last().copied();
        let parent = parent.unwrap_or(thread.calls.into());
        let spot = self.calls.step(parent, name, ROOM_FOR_SUMS);
        thread.aggregated.push(spot);
        let sums = self.calls.sums(spot.at);
        let count = u64::try_from(e.calls).unwrap_or(0);
        sums.count = sums.count.saturating_add(count);
        sums.elapsed += self.rooms.elapsed.take(nanoseconds(e.base_time));
        sums.cpu += self.rooms.cpu.take(nanoseconds(e.base_cpu_time));
        if spot.folded {
            self.dropped.parts(Dropped::FoldedCalls, count);
        }
        let bounds = (e.min_time.0, e.max_time.0) != (0, 0);
        self.dropped.part_if(bounds, Dropped::CallBounds);
    }

    fn aggregated_detail(&mut self, e: &AggregatedDetail) {
        let now = self.last();
        let thread = self.threads.get_mut(e.thread, now);
        let Some(spot) = thread.aggregated.last() else {
            self.dropped.event(Dropped::Leaves);
            return;
        };
        let sums = self.calls.sums(spot.at);
        sums.exceptions = sums.exceptions.saturating_add(e.exceptions);
        sums.overhead += self.rooms.overhead.take(nanoseconds(e.overhead));
    }

    fn sample(&mut self, e: &Sample<'_>) {
        let ticks = e.ticks.get();
        if e.stack.is_empty() {
            self.dropped.event_of(Dropped::EmptySamples, ticks);
            return;
        }
        let trees = (&mut self.threads, &mut self.samples);
        let thread = sampled(trees, &mut self.sampled, e.thread, e.time);
        let mut spot = Spot::from(thread.samples);
        for frame in e.stack.iter().rev() {
            let name = self
                .definitions
                .frame_number(&frame.method, frame.line == NATIVE);
            spot = self.samples.step(spot, name, 1);
        }
        let runnable = match e.state {
            ThreadState::Runnable => ticks,
            _ => 0,
        };
        self.hit(spot, runnable, ticks);
        self.dropped.parts(Dropped::SampleTimes, ticks);
    }

    fn sample_sum(&mut self, e: &SampleSum<'_>) {
        let trees = (&mut self.threads, &mut self.samples);
        let thread = sampled(trees, &mut self.sampled, e.thread, e.time);
        thread.sampled_until = thread.sampled_until.max(Some(e.time));
        let depth = usize::try_from(e.depth).unwrap_or(usize::MAX);
        thread.sampled.truncate(depth.saturating_sub(1));
        let parent = thread.sampled.last().copied();
        let parent = parent.unwrap_or(thread.samples.into());
        let name = self
            .definitions
            .frame_number(&e.frame.method, e.frame.line == NATIVE);
        let spot = self.samples.step(parent, name, ROOM_FOR_SUMS);
        thread.sampled.push(spot);
        self.hit(spot, e.runnable, e.all);
    }

    fn hit(&mut self, spot: Spot, runnable: u64, all: u64) {
        if spot.folded {
            self.dropped.parts(Dropped::FoldedSamples, all);
        }
        let sums = self.samples.sums(spot.at);
        let all = self.hits.take(all);
        for (sum, hits) in [runnable.min(all), all].into_iter().enumerate() {
            sums.own[sum] += hits;
            sums.all[sum] += hits;
        }
    }

    /// Adds to the overhead the cost of recording an enter and a leave for each call.
    fn add_cost(&mut self) {
        let (cost, rooms) = (self.cost, &mut self.rooms);
        self.calls.for_each(|sums| {
            let records = sums.count.saturating_mul(2);
            sums.overhead += rooms.overhead.take(cost.of(records).unsigned_abs());
        });
    }

    fn alloc(&mut self, e: &ObjectAlloc) {
        let class = self.definitions.class_number(e.class);
        self.threads.get_mut(e.thread, e.time).allocates = true;
        self.objects.allocated(e.thread, class, e.object);
        self.dropped.part(Dropped::Allocations);
    }
}

/// Returns the thread. Adds the root of its call tree if the tree has none.
fn calling<'t>(
    (threads, calls): (&'t mut Threads, &mut Tree<Calls>),
    calling: &mut Vec<ThreadId>,
    id: ThreadId,
    time: Timestamp,
) -> &'t mut Thread {
    let thread = threads.get_mut(id, time);
    plant(&mut thread.calls, calls, calling, id);
    thread
}

/// If a thread's tree has no root yet, adds the root, and adds the thread to `with`.
fn plant<S: Default>(root: &mut Place, tree: &mut Tree<S>, with: &mut Vec<ThreadId>, id: ThreadId) {
    if *root == NONE {
        *root = tree.root();
        with.push(id);
    }
}

/// Returns the thread. Adds the root of its tree of samples if the tree has none.
fn sampled<'t>(
    (threads, samples): (&'t mut Threads, &mut Tree<Hits>),
    sampled: &mut Vec<ThreadId>,
    id: ThreadId,
    time: Timestamp,
) -> &'t mut Thread {
    let thread = threads.get_mut(id, time);
    plant(&mut thread.samples, samples, sampled, id);
    thread
}
