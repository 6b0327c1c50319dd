//! What a trace says, summed up. No input or output here: events in, figures out.
//!
//! | Module | Sums up |
//! |---|---|
//! | `names` | names of threads, classes and methods, as the trace announces them |
//! | `calls` | calls by method and by path, with total and self time |
//! | `threads` | CPU time and carriers of threads |
//! | `collections` | pauses by garbage collection |
//! | `objects` | class and life of each object |
//! | `allocations` | allocations by class, place and thread |
//! | `live` | live objects that the trace counts itself |
//! | `monitors` | contended monitors, `Object.wait`, parks |
//! | `exceptions` | throws and catches by class and place |
//! | `classes` | details of classes, unloading, redefinition |
//! | `initialisations` | class initialisations |
//! | `code` | compiled code |
//! | `samples` | hits of the sampler by method and thread |
//! | `coverage` | lines reached |
//! | `compare` | traces held against each other |
//! | `heap` | heap dumps: sums by class, dominators, retained sizes |
//! | `origin` | machine, process, agent, options |
//! | `frames` | the texts of stack frames, each kept once |
//! | [`ahead`], [`parallel`] | readers on several threads |
//! | `spans`, `table` | the longest of many; tables by id |
//!
//! Memory grows with threads, open calls, definitions, distinct places, and the call paths of the
//! levels that are asked for, never with the number of calls. What grows with more is made only
//! when it is asked for ([`Subjects`]).

#![forbid(unsafe_code)]

pub mod ahead;
mod allocations;
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
mod names;
mod objects;
mod origin;
pub mod parallel;
mod samples;
mod spans;
mod table;
mod threads;

pub use allocations::{AllocationSite, Allocations};
pub use calls::{Calls, MethodStat, OpenCall, ThreadCalls, Tree};
pub use classes::{ClassStat, Classes, Detail, Member, class_flags, field_flags, method_flags};
pub use code::{Code, CodeStat};
pub use collections::{Bucket, Collections, Pause, PauseStat};
pub use compare::{Amount as ComparedAmount, Compared, Difference, Outcome, Sums, compare};
pub use coverage::{Coverage, Covered, MethodLines};
pub use exceptions::{Exceptions, Throw, ThrowStat};
pub use frames::{Frames, Site, with_line};
pub use heap::{Dump, DumpClass, DumpObject, Heap, OBJECTS_KEPT};
pub use initialisations::{Initialisation, Initialisations};
pub use live::{LiveCount, LiveCounts};
pub use monitors::{Block, Monitors, WaitStat};
pub use names::{MethodName, Names, ThreadName, readable_signature, readable_type};
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

/// Notes and other things of one kind that are kept: a report shows fewer.
pub const KEPT: usize = 10_000;

fn keep<T>(kept: &mut Vec<T>, more: &mut u64, note: T) {
    if kept.len() < KEPT {
        kept.push(note);
    } else {
        *more += 1;
    }
}

/// What takes memory or time of its own, and is made when asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Subjects {
    /// Levels of the call tree: a hundred bytes for each path that is not further down.
    pub levels: usize,
    /// Class and life of each object, twelve bytes for each.
    pub objects: bool,
    /// What class files say.
    pub classes: bool,
    /// Graphs of heap dumps.
    pub heap: bool,
}

/// Everything that a report tells.
#[derive(Debug, Default)]
pub struct Analysis {
    /// Names.
    pub names: Names,
    /// Calls.
    pub calls: Calls,
    /// Threads.
    pub threads: Threads,
    /// Collections.
    pub collections: Collections,
    /// Objects; empty unless they were asked for.
    pub objects: Objects,
    /// Allocations.
    pub allocations: Allocations,
    /// Live objects that the trace counts itself.
    pub live: LiveCounts,
    /// Waits.
    pub monitors: Monitors,
    /// Exceptions.
    pub exceptions: Exceptions,
    /// Classes.
    pub classes: Classes,
    /// Class initialisations.
    pub initialisations: Initialisations,
    /// Compiled code.
    pub code: Code,
    /// Samples.
    pub samples: Samples,
    /// Lines.
    pub coverage: Coverage,
    /// Heap dumps.
    pub heap: Heap,
    /// Machine, process, agent, options.
    pub origin: Origin,
    /// Frames of stacks.
    pub frames: Frames,
    subjects: Subjects,
    /// Whether what a thread did counts.
    selected: FxHashMap<ThreadId, bool>,
    /// Gaps in the trace, the first [`KEPT`] of them.
    pub lost: Vec<Lost<'static>>,
    /// Gaps that are not kept.
    pub more_lost: u64,
    /// Methods that should be in the trace and are not, the first [`KEPT`] of them.
    pub uninstrumented: Vec<Uninstrumented<'static>>,
    /// Methods of that kind that are not kept.
    pub more_uninstrumented: u64,
    /// What began bursts, the first [`KEPT`] of them.
    pub bursts: Vec<BurstNote<'static>>,
    /// Bursts that are not kept.
    pub more_bursts: u64,
    /// Which calls are sums within the others, if some are.
    pub short_calls: Option<ShortCallsNote>,
    /// Methods whose calls became sums because there were so many, the first [`KEPT`] of them.
    pub demoted: Vec<Demoted>,
    /// Methods of that kind that are not kept.
    pub more_demoted: u64,
    lost_events: u64,
    /// What the agent counted itself, in a trace that ended well.
    pub totals: Option<Totals>,
    /// What recording took; zeros if the trace does not say.
    pub cost: Cost,
    /// By how much times of calls may be early.
    pub clock: Option<ClockNote>,
    /// The first time that the trace names, and the latest. Definitions may be older than the
    /// first, and a time of 0 is none.
    pub span: Option<(Timestamp, Timestamp)>,
    /// The trace says itself that collection ended.
    pub ended: bool,
    /// Times in which the trace paused.
    pub pauses: Spans,
    paused: Option<Timestamp>,
    /// CPU time of the process, as the trace told it last.
    pub process_cpu: Option<Duration>,
}

impl Analysis {
    /// Nothing so far; `subjects` says what to make.
    pub fn new(subjects: Subjects) -> Self {
        Self {
            subjects,
            calls: Calls::new(subjects.levels),
            classes: Classes::new(subjects.classes),
            heap: Heap::new(subjects.heap),
            ..Self::default()
        }
    }

    /// Takes the next event. `selected` says whether what a thread does counts; it is asked once for
    /// each, when the thread first does something.
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

    /// Takes an event of the kinds `alloc` and `free`.
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

    /// As [`Self::event`], of each of these calls.
    pub fn calls(
        &mut self,
        calls: &jtrail_model::Calls<'_>,
        selected: impl Fn(&Names, ThreadId) -> bool,
    ) {
        // Their time never falls.
        let first = calls.steps.iter().find(|step| step.time.0 != 0);
        for step in first.into_iter().chain(calls.steps.last()) {
            self.see(step.time);
        }
        let names = &self.names;
        self.calls.calls(calls, |thread| selected(names, thread));
    }

    /// Adds the calls of all parts of the trace, which were taken beside the other events, and what
    /// is open at its end. `first` is the first time that the trace names, and `last` the latest of
    /// a call.
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
        }
    }

    /// A time that the trace names.
    #[inline]
    fn see(&mut self, time: Timestamp) {
        if time != Timestamp::default() {
            let (_, last) = self.span.get_or_insert((time, time));
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

    /// Sums that threads add to, and that their ends end.
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

    /// Ends the calls and waits that are still open, at the last moment of the trace.
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

    /// Takes off what recording took, of times of calls.
    pub fn without_cost(&mut self) {
        self.calls.without(self.cost);
    }

    /// What recording the calls took of their threads, in ns.
    pub fn cost_of_calls(&self) -> i64 {
        self.cost.of(self.calls.count().saturating_mul(2))
    }

    /// Enters and leaves that the trace says it lost.
    pub fn lost_events(&self) -> u64 {
        self.lost_events.max(self.totals.map_or(0, |t| t.lost))
    }

    /// Methods that should be in the trace and are not.
    pub fn uninstrumented_methods(&self) -> u64 {
        let noted = self.uninstrumented.len() as u64 + self.more_uninstrumented;
        noted.max(self.totals.map_or(0, |t| t.uninstrumented))
    }
}
