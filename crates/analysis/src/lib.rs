//! Analysis of traces: sums over events. No input or output here: events in, figures out.
//!
//! | Module | Content |
//! |---|---|
//! | `calls` | calls by method and by call path, with total and self time |
//! | `call_tree` | call paths of any frames, as a tree |
//! | `threads` | CPU time and carriers of threads |
//! | `collections` | garbage-collection pauses |
//! | `objects` | class and life of each object |
//! | `allocations` | allocations by class, site and thread |
//! | `live` | live objects counted in the trace itself |
//! | `monitors` | contended monitors, `Object.wait`, parks |
//! | `exceptions` | throws and catches by class and site |
//! | `classes` | details of classes, unloading, redefinition |
//! | `initialisations` | class initialisations |
//! | `code` | compiled code |
//! | `samples` | samples by method and thread |
//! | `coverage` | line coverage |
//! | `compare` | comparison of traces |
//! | `heap` | heap dumps: sums by class, dominators, retained sizes |
//! | `origin` | machine, process, agent, options |
//! | `frames` | the texts of stack frames, each kept once |
//! | [`saved`] | the analysis of a whole trace as bytes |
//! | [`ahead`], [`parallel`] | reading on several threads |
//! | `spans`, `table` | the longest time spans; tables by id |
//!
//! Memory grows with the number of threads, open calls, definitions, distinct sites, and call paths
//! of the requested levels, but never with the number of calls. Anything that would take more is
//! computed only on request ([`Subjects`]).

#![forbid(unsafe_code)]

pub mod ahead;
mod allocations;
mod call_tree;
mod calls;
mod classes;
mod code;
mod collections;
mod compare;
mod coverage;
mod exceptions;
mod frames;
mod heap;
mod initialisations;
mod live;
mod monitors;
mod objects;
mod origin;
pub mod parallel;
mod samples;
pub mod saved;
mod spans;
mod table;
mod threads;

pub use allocations::{AllocationSite, Allocations};
pub use call_tree::{CallTree, Callees};
pub use calls::{Calls, MethodStat, OpenCall, ThreadCalls, Tree, TreeCut};
pub use classes::{ClassStat, Classes, Detail, Member, class_flags, field_flags, method_flags};
pub use code::{Code, CodeStat};
pub use collections::{Bucket, Collections, Pause, PauseStat};
pub use compare::{Amount as ComparedAmount, Compared, Difference, Outcome, Sums, compare};
pub use coverage::{Coverage, Covered, MethodLines};
pub use exceptions::{Exceptions, Throw, ThrowStat};
pub use frames::{Frames, Site};
pub use heap::{Dump, DumpClass, DumpObject, Heap, OBJECTS_KEPT};
pub use initialisations::{Initialisation, Initialisations};
pub use jtrail_model::names::{MethodName, Names, ThreadName, readable_signature, readable_type};
pub use live::{LiveCount, LiveCounts};
pub use monitors::{Block, Monitors, WaitStat};
pub use objects::{Amount, Objects};
pub use origin::Origin;
pub use samples::{STATES, SampleStat, Samples, ThreadSamples};
pub use spans::{Longest, Spans, Timed};
pub use threads::{ThreadStat, Threads};

use jtrail_model::{
    BurstNote, ClockNote, Cost, Demoted, Duration, Event, Lost, Note, ShortCallsNote, ThreadId,
    Timestamp, Totals, Uninstrumented,
};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// The maximum length of each list of notes and the like. A report shows fewer entries.
pub const KEPT: usize = 10_000;

fn keep<T>(kept: &mut Vec<T>, more: &mut u64, note: T) {
    if kept.len() < KEPT {
        kept.push(note);
    } else {
        *more += 1;
    }
}

/// Optional parts of an analysis, which take memory or time of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Subjects {
    /// The number of levels of the call tree. Each path in the tree takes a hundred bytes.
    pub levels: usize,
    /// True to keep the class of each object, and whether it is alive: twelve bytes for each
    /// object.
    pub objects: bool,
    /// True to keep the contents of class files.
    pub classes: bool,
    /// True to build the graphs of heap dumps.
    pub heap: bool,
}

/// The results of an analysis: everything that a report shows.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Analysis {
    /// The names.
    pub names: Names,
    /// The calls.
    pub calls: Calls,
    /// The threads.
    pub threads: Threads,
    /// The garbage collections.
    pub collections: Collections,
    /// The objects; empty unless requested.
    pub objects: Objects,
    /// The allocations.
    pub allocations: Allocations,
    /// The live objects counted in the trace itself.
    pub live: LiveCounts,
    /// Contended monitors, waits and parks.
    pub monitors: Monitors,
    /// The exceptions.
    pub exceptions: Exceptions,
    /// The classes.
    pub classes: Classes,
    /// The class initialisations.
    pub initialisations: Initialisations,
    /// The compiled code.
    pub code: Code,
    /// The samples.
    pub samples: Samples,
    /// The line coverage.
    pub coverage: Coverage,
    /// The heap dumps.
    pub heap: Heap,
    /// The machine, process, agent and options.
    pub origin: Origin,
    /// The stack frames.
    pub frames: Frames,
    subjects: Subjects,
    /// For each thread, true if its events are selected.
    #[serde(skip)]
    selected: FxHashMap<ThreadId, bool>,
    /// The first [`KEPT`] gaps in the trace.
    pub lost: Vec<Lost<'static>>,
    /// The number of further gaps.
    pub more_lost: u64,
    /// The first [`KEPT`] methods that should have been instrumented and were not.
    pub uninstrumented: Vec<Uninstrumented<'static>>,
    /// The number of further such methods.
    pub more_uninstrumented: u64,
    /// The first [`KEPT`] bursts, with what triggered them.
    pub bursts: Vec<BurstNote<'static>>,
    /// The number of further bursts.
    pub more_bursts: u64,
    /// The rules by which short calls became sums, if some did.
    pub short_calls: Option<ShortCallsNote>,
    /// The first [`KEPT`] methods whose calls became sums because there were too many.
    pub demoted: Vec<Demoted>,
    /// The number of further such methods.
    pub more_demoted: u64,
    lost_events: u64,
    /// The agent's own counts, if the trace has a proper end.
    pub totals: Option<Totals>,
    /// The cost of recording; zeros if the trace does not have it.
    pub cost: Cost,
    /// The note that says by how much the times of calls may be early.
    pub clock: Option<ClockNote>,
    /// The time of the first event that has one; a time of 0 counts as none. Later definitions may
    /// have older times.
    pub start: Option<Timestamp>,
    /// The first and the latest time of the analysed events: of the whole trace or of its selected
    /// part.
    pub span: Option<(Timestamp, Timestamp)>,
    /// True if the trace has an end event.
    pub ended: bool,
    /// The pauses of the trace.
    pub pauses: Spans,
    #[serde(skip)]
    paused: Option<Timestamp>,
    /// The latest CPU time of the process in the trace.
    pub process_cpu: Option<Duration>,
}

impl Analysis {
    /// Creates an empty analysis with these optional parts.
    pub fn new(subjects: Subjects) -> Self {
        Self {
            subjects,
            calls: Calls::new(subjects.levels),
            classes: Classes::new(subjects.classes),
            heap: Heap::new(subjects.heap),
            ..Self::default()
        }
    }

    /// Processes an event. `selected` decides whether events of a thread are selected; it is called
    /// once for each thread, at its first event.
    pub fn event(&mut self, event: &Event<'_>, selected: impl Fn(&Names, ThreadId) -> bool) {
        if let Some(time) = event.time() {
            self.see(time);
        }
        match event {
            Event::MethodEnter(_)
            | Event::MethodLeave(_)
            | Event::AggregatedEnter(_)
            | Event::AggregatedDetail(_)
            | Event::AggregatedLeave(_) => {
                let names = &self.names;
                self.calls.event(event, |thread| selected(names, thread));
            }
            Event::ObjectAlloc(_)
            | Event::AllocationSum(_)
            | Event::ObjectCounts(_)
            | Event::LiveObjects(_)
            | Event::ObjectDef(_)
            | Event::ObjectFree(_) => self.of_objects(event, selected),
            Event::MonitorWait(_)
            | Event::MonitorWaited(_)
            | Event::MonitorContendedEnter(_)
            | Event::MonitorContendedEntered(_)
            | Event::ThreadPark(_)
            | Event::ThreadUnpark(_)
            | Event::ExceptionThrow(_)
            | Event::ExceptionCatch(_)
            | Event::CatchDetail(_)
            | Event::ClassInitStart(_)
            | Event::ClassInitEnd(_)
            | Event::Sample(_)
            | Event::SampleSum(_) => {
                if self.is_selected(event.thread().unwrap_or_default(), selected) {
                    self.by_thread(event);
                }
            }
            Event::ThreadEnd(_) => {
                self.names.event(event);
                self.calls.event(event, |_| true);
                self.threads.event(event);
                self.by_thread(event);
            }
            Event::ThreadCpu(_)
            | Event::ThreadOsId(_)
            | Event::ThreadMount(_)
            | Event::ThreadUnmount(_) => {
                self.threads.event(event);
            }
            Event::GcStart(_) | Event::GcDetail(_) | Event::GcFinish(_) => {
                self.collections.event(event);
            }
            Event::ClassDetail(_) | Event::ClassUnload(_) | Event::ClassRedefine(_) => {
                self.classes.event(event);
            }
            Event::MethodDetail(_) | Event::MethodCompile(_) | Event::MethodUncompile(_) => {
                self.code.event(event)
            }
            Event::LineCounts(_) => self.coverage.event(event),
            Event::HeapDump(_)
            | Event::GcRoot(_)
            | Event::HeapObject(_)
            | Event::ObjectReference(_)
            | Event::HeapDumpEnd(_) => self.heap.event(event, &self.objects),
            Event::Option(e) => {
                self.cost.take(e);
                self.origin.event(event);
            }
            Event::Node(_) | Event::ProcessCreate(_) | Event::AgentCreate(_) | Event::Filter(_) => {
                self.origin.event(event)
            }
            Event::TraceEnd(_) => self.ended = true,
            Event::TracePause(e) => _ = self.paused.get_or_insert(e.time),
            Event::TraceResume(e) => self.resume(e.time),
            Event::ProcessCpu(e) => self.process_cpu = Some(e.cpu_time),
            Event::Custom(custom) => self.note(&custom.body, selected),
            _ => self.names.event(event),
        }
    }

    /// Processes an event of the kinds `alloc` and `free`.
    fn of_objects(&mut self, event: &Event<'_>, selected: impl Fn(&Names, ThreadId) -> bool) {
        match event {
            Event::ObjectAlloc(e) => {
                let selected = self.is_selected(e.thread, selected);
                if selected {
                    self.allocations.event(event);
                }
                if self.subjects.objects {
                    self.objects.event(event, selected);
                }
            }
            Event::AllocationSum(e) => {
                if self.is_selected(e.thread, selected) {
                    self.allocations.event(event);
                }
            }
            Event::ObjectCounts(e) => {
                if self.is_selected(e.thread, selected) {
                    self.live.event(event);
                }
            }
            Event::LiveObjects(_) => self.live.event(event),
            _ => {
                if self.subjects.objects {
                    let selected = self.is_selected(ThreadId::NONE, selected);
                    self.objects.event(event, selected);
                }
            }
        }
    }

    /// Processes each of these calls like [`Self::event`].
    pub fn calls(
        &mut self,
        calls: &jtrail_model::Calls<'_>,
        selected: impl Fn(&Names, ThreadId) -> bool,
    ) {
        // The times of the steps never decrease.
        let first = calls.steps.iter().find(|step| step.time.0 != 0);
        for step in first.into_iter().chain(calls.steps.last()) {
            self.see(step.time);
        }
        let names = &self.names;
        self.calls.calls(calls, |thread| selected(names, thread));
    }

    /// Adds the calls of all parts of the trace, and the calls that are open at the trace's end.
    /// The parts were processed separately from the other events. `first` is the first time in the
    /// trace, and `last` the latest time of a call.
    pub fn add_parts(
        &mut self,
        parts: Vec<Calls>,
        open: Vec<(ThreadId, Vec<OpenCall>)>,
        first: Option<Timestamp>,
        last: Timestamp,
    ) {
        for part in parts {
            self.calls.add_part(part);
        }
        for (thread, calls) in open {
            self.calls.begin_part(thread, &calls);
        }
        self.see(last);
        if let (Some(first), Some((from, _))) = (first, &mut self.span) {
            *from = first;
            self.start = Some(first);
        }
    }

    /// Extends the span of the trace by a time.
    #[inline]
    fn see(&mut self, time: Timestamp) {
        if time != Timestamp::default() {
            let start = *self.start.get_or_insert(time);
            let (_, last) = self.span.get_or_insert((start, time));
            *last = time.max(*last);
        }
    }

    fn resume(&mut self, time: Timestamp) {
        if let Some(since) = self.paused.take() {
            self.pauses.add(time.since(since).0.max(0));
        }
    }

    fn is_selected(
        &mut self,
        thread: ThreadId,
        selected: impl Fn(&Names, ThreadId) -> bool,
    ) -> bool {
        let names = &self.names;
        let known = self.selected.entry(thread);
        *known.or_insert_with(|| selected(names, thread))
    }

    /// Processes an event that belongs to a thread, or ends one.
    fn by_thread(&mut self, event: &Event<'_>) {
        self.monitors.event(event, &self.objects, &mut self.frames);
        self.exceptions.event(event, &mut self.frames);
        self.initialisations.event(event);
        self.samples.event(event, &mut self.frames);
    }

    fn note(&mut self, text: &str, selected: impl Fn(&Names, ThreadId) -> bool) {
        match Note::parse(text) {
            Some(Note::SumsAbove(e)) => {
                let names = &self.names;
                self.calls
                    .sums_above(e.thread, e.calls, |thread| selected(names, thread));
            }
            Some(Note::Lost(lost)) => {
                self.lost_events = self.lost_events.saturating_add(lost.events);
                self.initialisations.lost(lost.thread);
                keep(&mut self.lost, &mut self.more_lost, lost);
            }
            Some(Note::Uninstrumented(uninstrumented)) => {
                keep(
                    &mut self.uninstrumented,
                    &mut self.more_uninstrumented,
                    uninstrumented,
                );
            }
            Some(Note::Burst(burst)) => keep(&mut self.bursts, &mut self.more_bursts, burst),
            Some(Note::ShortCalls(note)) => self.short_calls = Some(note),
            Some(Note::Demoted(method)) => {
                keep(&mut self.demoted, &mut self.more_demoted, method);
            }
            Some(Note::Clock(clock)) => self.clock = Some(clock),
            Some(Note::Totals(totals)) => self.totals = Some(totals),
            _ => {}
        }
    }

    /// Ends the calls and waits that are still open, at the last time of [`Self::span`].
    pub fn finish(&mut self) {
        let (_, last) = self.span.unwrap_or_default();
        self.resume(last);
        self.calls.finish(last);
        self.threads.finish(last);
        self.monitors.finish(last, &self.objects);
        self.exceptions.finish();
        self.initialisations.finish(last);
        self.heap.finish(&self.objects);
    }

    /// Subtracts the cost of recording from the times of calls.
    pub fn without_cost(&mut self) {
        self.calls.without(self.cost);
    }

    /// Returns the time that recording calls took on their threads, in ns.
    pub fn cost_of_calls(&self) -> i64 {
        self.cost.of(self.calls.count().saturating_mul(2))
    }

    /// Returns the number of enters and leaves that the trace reports as lost.
    pub fn lost_events(&self) -> u64 {
        self.lost_events.max(self.totals.map_or(0, |t| t.lost))
    }

    /// Returns the number of methods that should have been instrumented and were not.
    pub fn uninstrumented_methods(&self) -> u64 {
        let noted = (self.uninstrumented.len() as u64).saturating_add(self.more_uninstrumented);
        noted.max(self.totals.map_or(0, |t| t.uninstrumented))
    }
}
