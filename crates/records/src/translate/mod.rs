//! Translation of records to events: numbers become ids, and ticks become times.
//!
//! Threads, classes, methods and heap dumps get ids from one counter, as TPTP requires, in the
//! order in which they are first mentioned. Objects have a counter of their own, in the agent: the
//! id of an object is its number.

mod aggregate;
mod ahead;
mod call_tree;
mod calls;
mod classes;
mod collections;
mod lines;
mod methods;
mod objects;
mod pause;
mod runs;
mod saved;
mod sites;
mod snapshot;
mod stacks;
#[cfg(test)]
mod tests;
mod threads;

use crate::definition::{
    ClassDetailInfo, ClassInfo, Compilation, CompiledInfo, Definition, MarkInfo, ThreadInfo,
};
use crate::numbers::NumberSet;
use crate::read::{Run, Sink, Taken};
use crate::record::Code;
use crate::timeline::Timeline;
pub use ahead::{Followed, Follower, Piece};
pub use saved::{Named, Saved};

use call_tree::{CallTree, FOLDED};
use calls::Call;
use jtrail_formats::{DropCount, Encode, Patch};
use jtrail_model::{
    BurstNote, ByNumber, CallStack, ClassId, ClockNote, Custom, DroppedNote, Duration, Event,
    MethodIds, Note, RuntimeInitDone, RuntimeShutdown, ThreadId, Timestamp, Totals, Uninstrumented,
};
use jtrail_options::Events;
use methods::{KnownMethods, Methods};
use objects::Objects;
use runs::Room;
use rustc_hash::FxHashMap;
use sites::Site;
use std::collections::BTreeSet;

/// Settings of a translator for a trace.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// True if starts and ends of threads are written. Otherwise a thread is only defined before
    /// its first event.
    pub emit_threads: bool,
    /// True if calls are aggregated by call path. The sums are written when the thread ends.
    pub aggregate: bool,
    /// True if an allocation that was recorded at a site is written with its method and line.
    pub alloc_sites: bool,
    /// Kinds of events that are not in the trace. Most of them are disabled in the program, too.
    pub off: Option<Events>,
    /// True if another trace may follow, which needs the details of the loaded classes.
    pub keeps_details: bool,
    /// True if another trace may follow, which needs the compiled code that exists then. The JVM
    /// does not report it again.
    pub keeps_code: bool,
    /// True if another trace may begin at a time in the past. That trace may mention objects that
    /// the agent does not record again.
    pub keeps_objects: bool,
    /// Prefix of the names of heap dumps, before their number.
    pub heap_name: String,
    /// Start of the trace.
    pub started: Timestamp,
    /// True if calls are not recorded while the trace is paused.
    pub has_gate: bool,
    /// True if the encoder gets the calls that are open when the trace begins or resumes. Totals do
    /// not count these calls.
    pub shows_open_calls: bool,
    /// True if new ids are collected for [`Translator::take_named`].
    pub keeps_names: bool,
}

/// How a new trace treats calls that are open when it begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenCalls {
    /// The trace enters them at its start.
    Enter,
    /// The trace contains neither the calls nor their leaves.
    Hide,
}

/// A function that returns the values of all line counters, by number; `None` if lines are not
/// counted.
pub type LineCounters = Box<dyn Fn() -> Option<Vec<u64>> + Send>;

/// Translates records and definitions to events, and encodes these.
pub struct Translator {
    encoder: Box<dyn Encode>,
    /// Bytes that are encoded and not yet written.
    pub out: Vec<u8>,
    timeline: Timeline,
    ids: Ids,
    /// Threads by number. A thread is inserted when it is first mentioned, and removed when it
    /// ends, because a program may have millions of virtual threads.
    threads: FxHashMap<u32, Box<Thread>>,
    /// Numbers of the threads that have ended.
    ended: NumberSet,
    classes: ByNumber<Class>,
    /// Numbers of the classes whose details are kept, in the order of their definition:
    /// superclasses come first.
    detailed: Vec<u32>,
    methods: Methods,
    known: KnownMethods,
    /// Ids of the methods that are defined in the trace.
    ids_of_methods: MethodIds,
    room: Box<Room>,
    /// Size in bytes of the compiled code that the trace has reported, by method and address. An
    /// address may be reused before the unload of its former code is reported.
    code: FxHashMap<(u32, u64), u32>,
    /// Methods that the filters include and that are not instrumented, the first [`MAX_MISSING`]
    /// of them. Each trace reports them.
    missing: BTreeSet<Missing>,
    /// Compiled code that exists, by method and address, if another trace may report it.
    kept_code: FxHashMap<(u32, u64), Box<CompiledInfo>>,
    /// Texts by number; the first one is empty.
    texts: Vec<Box<str>>,
    /// Marks by number, until their records are read.
    marks: FxHashMap<u64, MarkInfo>,
    objects: Objects,
    sites: Vec<Site>,
    /// True between the start and the end of a garbage collection.
    collecting: bool,
    settings: Settings,
    totals: Totals,
    /// Number of snapshots taken on request.
    snapshots: u64,
    /// True if there is no trace.
    is_silent: bool,
    /// Time at which the trace was paused, if it is paused.
    paused: Option<Timestamp>,
    /// True if the trace is paused because it ended at that time.
    is_cut: bool,
    /// The encoder of a trace that was cut, until the end of the trace is written.
    cut_off: Option<Box<dyn Encode>>,
    /// Number of enters by method; `None` if lines are not counted.
    entered: Option<ByNumber<u64>>,
    /// Values of the line counters at the start of the trace.
    lines_before: Vec<u64>,
    /// Values of the line counters when they were last written to the trace.
    lines_reported: Vec<u64>,
    /// Returns the current values of the line counters; `None` if lines are not counted.
    line_counters: LineCounters,
    /// Number of samples in this trace whose stacks lack innermost frames.
    cut_samples: u64,
    /// Number of calls in this trace that are aggregated at another node of the tree than that of
    /// their path.
    folded_calls: u64,
    /// Classes and methods that got ids since [`Translator::take_named`] was last called.
    named: Vec<Named>,
    /// Number of events that are not in the totals: aggregated calls, and events of earlier traces.
    emitted_outside_totals: u64,
}

/// A method that the filters include and that is not instrumented: its class, the method (empty for
/// the whole class) and the reason.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Missing([Box<str>; 3]);

/// Maximum number of reported [`Missing`] methods. Further ones are only counted, because a program
/// may generate classes without end.
const MAX_MISSING: usize = 10_000;

/// Counter for the ids of threads, classes, methods and heap dumps.
#[derive(Default)]
struct Ids(u64);

impl Ids {
    fn next(&mut self) -> u64 {
        self.0 += 1;
        self.0
    }
}

#[derive(Default)]
struct Thread {
    info: ThreadInfo,
    /// True if the name differs from that in the thread's definition.
    is_renamed: bool,
    /// Id of the thread; [`ThreadId::NONE`] until the trace defines the thread.
    id: ThreadId,
    /// Time of the thread's last event.
    last: Timestamp,
    /// CPU time at the last enter or leave, if CPU times are measured.
    cpu: Duration,
    /// Ticket of the last call.
    ticket: u32,
    /// Number of open calls of parking methods.
    parks: u32,
    /// True if the thread blocks on a monitor.
    is_blocked: bool,
    /// True if the thread waits on a monitor.
    is_waiting: bool,
    /// Classes that the thread is initialising according to the trace, outermost first.
    initialising: Vec<u32>,
    /// Open calls.
    calls: CallStack<Call>,
    /// Number of open calls that are hidden because they began while the trace was paused.
    hidden: u32,
    /// Calls that were left while the trace is paused, innermost first.
    left_open: Vec<Call>,
    /// Aggregated calls, if calls are aggregated.
    tree: Option<Box<CallTree>>,
    /// Names for [`Code::ThreadName`] records that are still to be read.
    names: Vec<Box<str>>,
}

impl Thread {
    /// Returns true if anything is known of the thread besides its definition.
    fn has_begun(&self) -> bool {
        !self.id.is_none()
            || self.last != Timestamp::default()
            || self.is_renamed
            || !self.names.is_empty()
            || !self.calls.is_empty()
            || !self.left_open.is_empty()
            || self.tree.is_some()
            || self.parks > 0
            || self.is_blocked
            || self.is_waiting
            || !self.initialising.is_empty()
    }

    /// Takes the thread's definition, which may be older or newer than its current name.
    fn remember(&mut self, mut info: ThreadInfo) {
        if self.is_renamed {
            info.name = std::mem::take(&mut self.info.name);
        }
        self.info = info;
    }

    /// Returns the number of calls in [`Self::left_open`] whose enters are in the trace.
    fn counted_left_open(&self) -> u64 {
        self.left_open
            .iter()
            .filter(|call| !call.is_hidden())
            .count() as u64
    }
}

#[derive(Default)]
struct Class {
    id: ClassId,
    /// Details of the class; `None` for a forgotten class.
    about: Option<Box<AboutClass>>,
}

impl Class {
    /// Returns the details of the class, after creating them if needed.
    fn about(&mut self) -> &mut AboutClass {
        self.about.get_or_insert_default()
    }

    /// Returns the class's name; empty for a forgotten class.
    fn name(&self) -> &str {
        self.about.as_ref().map_or("", |about| &about.info.name)
    }
}

#[derive(Default)]
struct AboutClass {
    info: ClassInfo,
    /// Numbers of the class's methods.
    methods: Vec<u32>,
    /// The class's declaration, for later traces.
    detail: Option<Box<ClassDetailInfo>>,
}

fn slot<T: Default>(table: &mut Vec<T>, number: u32) -> &mut T {
    let at = number as usize;
    if table.len() <= at {
        table.resize_with(at + 1, T::default);
    }
    &mut table[at]
}

impl Translator {
    /// Returns a translator without any definitions.
    pub fn new(encoder: Box<dyn Encode>, timeline: Timeline, settings: Settings) -> Self {
        Self {
            encoder,
            out: Vec::new(),
            timeline,
            ids: Ids::default(),
            threads: FxHashMap::default(),
            ended: NumberSet::default(),
            classes: ByNumber::default(),
            detailed: Vec::new(),
            methods: Methods::default(),
            known: KnownMethods::default(),
            ids_of_methods: MethodIds::default(),
            room: Box::default(),
            code: FxHashMap::default(),
            missing: BTreeSet::new(),
            kept_code: FxHashMap::default(),
            texts: Vec::new(),
            marks: FxHashMap::default(),
            objects: Objects::default(),
            sites: Vec::new(),
            collecting: false,
            settings,
            totals: Totals::default(),
            snapshots: 0,
            is_silent: false,
            paused: None,
            is_cut: false,
            cut_off: None,
            entered: None,
            lines_before: Vec::new(),
            lines_reported: Vec::new(),
            line_counters: Box::new(|| None),
            cut_samples: 0,
            folded_calls: 0,
            named: Vec::new(),
            emitted_outside_totals: 0,
        }
    }

    /// Sets the function that reads the line counters.
    pub fn count_lines_by(&mut self, counters: LineCounters) {
        self.line_counters = counters;
    }

    fn thread(&mut self, number: u32) -> &mut Thread {
        self.threads.entry(number).or_default()
    }

    /// Returns true if a thread has ended.
    fn has_ended(&self, number: u32) -> bool {
        self.ended.contains(number.into())
    }

    /// Returns the numbers of all threads that have not ended, in order.
    fn thread_numbers(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.threads.keys().copied().collect();
        numbers.sort_unstable();
        numbers
    }

    /// Returns true if events of that kind are not in the trace.
    pub fn is_off(&self, kind: Events) -> bool {
        self.settings.off.is_some_and(|off| off.contains(kind))
    }

    /// Writes the format's header.
    pub fn begin(&mut self) {
        self.encoder.begin(&mut self.out);
    }

    /// Writes an event unchanged.
    pub fn event(&mut self, event: &Event<'_>) {
        self.encoder.event(event, &mut self.out);
    }

    /// Handles a definition, and writes events for it if needed. A [`Definition::Compilation`] must
    /// be passed at its own time, in order with the records.
    pub fn define(&mut self, emitted: Definition) {
        match emitted {
            Definition::Compilation(emitted) => self.compilation(emitted),
            Definition::Thread(info) => self.add_thread(*info),
            Definition::ThreadName { number, name } => self.add_name(number, name),
            Definition::Class(info) => self.add_class(info),
            Definition::Methods { class, methods } => self.add_methods(class, methods),
            Definition::ClassDetail(info) => self.add_detail(info),
            Definition::Lines {
                method,
                counters,
                entry,
            } => self.add_lines(method, &counters, entry),
            Definition::AllocSites {
                method,
                first,
                lines,
            } => self.add_sites(method, first, &lines),
            Definition::AllocClass {
                site,
                class,
                sizing,
            } => self.set_site(site, class, sizing),
            Definition::Text { number, text } => self.add_text(number, text),
            Definition::Mark(mark) => self.add_mark(mark),
            Definition::Instrumented { methods } => self.count_instrumented(methods),
            Definition::Uninstrumented {
                class,
                method,
                reason,
            } => self.uninstrumented(Missing([class, method, reason])),
        }
    }

    /// Writes the load or unload of compiled code.
    pub fn compilation(&mut self, emitted: Compilation) {
        match emitted {
            _ if self.is_off(Events::JIT) => {}
            Compilation::Loaded(info) => {
                self.compiled(&info);
                if self.settings.keeps_code {
                    self.kept_code.insert((info.method, info.address), info);
                }
            }
            Compilation::Unloaded {
                method,
                time,
                address,
            } => self.uncompiled(method, time, address),
        }
    }

    /// Handles the definition of a class.
    pub fn add_class(&mut self, info: ClassInfo) {
        let number = info.number;
        self.classes.at(number).about().info = info;
    }

    pub(crate) fn add_text(&mut self, number: u32, text: Box<str>) {
        *slot(&mut self.texts, number) = text;
    }

    pub(crate) fn add_mark(&mut self, mark: MarkInfo) {
        self.marks.insert(mark.number, mark);
    }

    fn count_instrumented(&mut self, methods: u64) {
        self.totals.classes += 1;
        self.totals.methods += methods;
    }

    fn uninstrumented(&mut self, method: Missing) {
        self.totals.uninstrumented += 1;
        self.emit_uninstrumented(&method);
        self.keep_missing(method);
    }

    fn keep_missing(&mut self, method: Missing) {
        if self.missing.len() < MAX_MISSING {
            self.missing.insert(method);
        }
    }

    fn emit_uninstrumented(&mut self, Missing([class, method, reason]): &Missing) {
        self.note(&Note::Uninstrumented(Uninstrumented {
            class: (&**class).into(),
            method: (&**method).into(),
            reason: (&**reason).into(),
        }));
    }

    /// Writes the state at the start of a trace, at the tick `ticks`: methods that are not
    /// instrumented, class declarations and compiled code. With [`OpenCalls::Enter`], also enters
    /// the open calls.
    pub fn emit_present_state(&mut self, ticks: u64, calls: OpenCalls) {
        let missing = std::mem::take(&mut self.missing);
        missing
            .iter()
            .for_each(|method| self.emit_uninstrumented(method));
        self.missing = missing;
        self.emit_details();
        self.emit_code(ticks);
        if calls == OpenCalls::Enter {
            self.enter_open_calls(ticks);
        }
    }

    /// Writes the totals, which precede only the closing events. Also writes what a coarse clock
    /// did, if there is one.
    pub fn totals(&mut self, time: Timestamp, clock: Option<ClockNote>) {
        self.encoder.settle(&mut self.out); // calls that may become sums come before the totals
        if let Some(since) = self.paused {
            for number in self.thread_numbers() {
                self.write_left_open(number, since);
            }
        }
        for number in self.thread_numbers() {
            if let Some(thread) = self.threads.get_mut(&number)
                && let Some(tree) = thread.tree.take()
            {
                let (id, time) = (thread.id, thread.last.max(time));
                self.write_tree(id, *tree, time);
            }
        }
        if self.folded_calls > 0 {
            self.note(&Note::Dropped(DroppedNote {
                what: FOLDED.into(),
                count: self.folded_calls,
            }));
        }
        // If the trace was cut, the calls in `left_open` ended after its end.
        let open = |thread: &Thread| {
            thread.calls.len() as u64 - u64::from(thread.hidden) + thread.counted_left_open()
        };
        // Aggregated calls are not in the trace individually.
        if !self.settings.aggregate {
            self.totals.open += self.threads.values().map(|t| open(t)).sum::<u64>();
        }
        if let Some(clock) = clock {
            self.note(&Note::Clock(clock));
        }
        self.note(&Note::Totals(self.totals));
    }

    /// Writes the end of the document, or the next part of it. Returns true if more parts follow.
    pub fn end_part(&mut self) -> bool {
        self.encoder.end_part(&mut self.out)
    }

    /// Writes events that the encoder holds back to combine them with later ones.
    pub fn flush(&mut self) {
        self.encoder.flush(&mut self.out);
    }

    /// Returns an upper bound of the number of bytes that [`Self::flush`] would append.
    pub fn waiting(&self) -> usize {
        self.encoder.waiting()
    }

    /// Returns what was dropped so far: the format has no field for it, or it is beyond a bound.
    pub fn dropped(&self) -> Vec<DropCount> {
        let cut = DropCount {
            what: "innermost ends of sampled stacks beyond stackdepth",
            count: self.cut_samples,
        };
        let mut dropped = self.encoder.dropped();
        dropped.extend((cut.count > 0).then_some(cut));
        dropped
    }

    /// Returns the patches to earlier bytes, to be applied when all other bytes are written.
    pub fn patches(&self) -> Vec<Patch> {
        self.encoder.patches()
    }

    /// Returns the totals of the events written so far.
    pub fn totals_so_far(&self) -> Totals {
        self.totals
    }

    /// Returns the number of events written since the agent started, as bursts count them. The
    /// number never decreases.
    pub fn emitted(&self) -> u64 {
        self.emitted_outside_totals + self.totals.events()
    }

    /// Returns the timeline that converts ticks to times.
    pub fn timeline(&self) -> Timeline {
        self.timeline
    }

    /// Writes which trigger began a burst, and on which thread.
    pub fn burst(&mut self, ticks: u64, thread: Option<u32>, trigger: &str) {
        let on_thread = thread.and_then(|number| self.at(number, ticks));
        let time = Timestamp(self.timeline.at(ticks));
        let (thread, time) = on_thread.unwrap_or((ThreadId::NONE, time));
        self.note(&Note::Burst(BurstNote {
            trigger: trigger.into(),
            thread,
            time,
        }));
    }

    /// Returns the number of events that were lost because no buffer had room.
    pub fn lost_events(&self) -> u64 {
        self.totals.lost
    }

    /// Writes that the process ended before its trace did. `events` is the number of events that
    /// had not been written by then.
    pub(crate) fn recovered(&mut self, events: u64) {
        self.note(&Note::Recovered(events));
    }

    /// Writes notes of what is not in the trace, because its format has no field for it: kinds of
    /// events that are not recorded, and what the encoder dropped.
    pub fn note_dropped(&mut self, unrecorded: Events, dropped: &[DropCount]) {
        if !unrecorded.is_empty() {
            let what = format!("events={unrecorded}").into();
            self.note(&Note::Dropped(DroppedNote { what, count: 0 }));
        }
        for &DropCount { what, count } in dropped {
            let what = what.into();
            self.note(&Note::Dropped(DroppedNote { what, count }));
        }
    }

    fn note(&mut self, note: &Note<'_>) {
        self.event(&Event::Custom(Custom {
            body: note.to_string().into(),
        }));
    }
}

impl Sink for Translator {
    fn run(&mut self, number: u32, run: Run<'_>) -> Taken {
        self.called(number, run)
    }

    fn enter(&mut self, number: u32, ticks: u64, method: u32) {
        self.entered(number, ticks, method);
    }

    fn leave(&mut self, number: u32, ticks: u64, method: u32) {
        self.returned(number, ticks, method);
    }

    fn coded(&mut self, number: u32, ticks: u64, code: Code, payload: &[u64]) {
        if self.paused.is_some() && self.is_skipped(ticks, code, payload) {
            return;
        }
        let first = payload[0];
        let value = first as u32;
        match code {
            Code::LeaveByException => self.left(number, ticks, value, true),
            Code::Caught => self.caught(number, ticks, value),
            Code::SuperCall => self.super_call(number, value),
            Code::SuperReturned => self.super_returned(number, value),
            Code::Cpu if self.is_off(Events::CPU) => {}
            Code::Cpu => {
                // Another thread may have read this CPU time, too. The records may not be in the
                // order of the readings.
                let emitted = &mut self.thread(number).cpu;
                *emitted = Duration(first as i64).max(*emitted);
            }
            Code::ThreadStart if self.settings.emit_threads => {
                self.at(value, ticks);
            }
            Code::ThreadStart => {}
            Code::ThreadEnd => self.thread_ended(value, ticks),
            Code::ThreadName => self.named(value, ticks),
            Code::ThreadCpu => self.thread_cpu(value, ticks, Duration(payload[1] as i64)),
            Code::ThreadOs => self.thread_os(value, ticks, payload[1]),
            Code::Mount => self.mounted((first >> 32) as u32, ticks, value),
            Code::Unmount => self.unmounted((first >> 32) as u32, ticks, value),
            Code::Lost => self.lost(number, ticks, payload),
            Code::GcStart => self.collection_started(ticks, first),
            Code::GcDetail => self.collection_detail(ticks, first, payload[1]),
            Code::GcFinish => self.collection_finished(ticks, first, payload[1]),
            Code::InitDone => {
                if let Some((thread, time)) = self.at(number, ticks) {
                    self.event(&Event::RuntimeInitDone(RuntimeInitDone { thread, time }));
                }
            }
            Code::Shutdown => {
                if let Some((thread, time)) = self.at(number, ticks) {
                    self.event(&Event::RuntimeShutdown(RuntimeShutdown { thread, time }));
                }
            }
            Code::ClassUnload => self.class_unloaded(value, ticks),
            Code::ClassForgotten => self.class_forgotten(value, ticks),
            Code::ClassRedefine => self.class_redefined(value, ticks, payload[1]),
            Code::ClassInit => self.initialisation_began(number, ticks, value),
            Code::ClassInitEnd => {
                self.initialisation_ended(number, ticks, value, payload[1] != 0);
            }
            Code::Alloc | Code::AllocAt | Code::ObjectDef | Code::ObjectFree => {
                self.object(number, ticks, code, payload);
            }
            Code::AllocSite => self.made(number, ticks, first),
            Code::AllocSiteObject | Code::AllocCallObject => {
                self.identified_at_site(number, ticks, code, payload);
            }
            Code::AllocMany => self.many_at_site(number, ticks, payload),
            Code::HeapDump
            | Code::HeapRoot
            | Code::HeapObject
            | Code::HeapReference
            | Code::HeapDumpEnd => self.heap(ticks, code, payload),
            Code::MonitorContendedEnter
            | Code::MonitorContendedEntered
            | Code::MonitorWait
            | Code::MonitorWaited
            | Code::Park
            | Code::Unpark
            | Code::Throw
            | Code::Catch
            | Code::Sample => self.stack(number, ticks, code, payload),
            Code::Mark => {
                if let Some(mark) = self.marks.remove(&first) {
                    let body = (&*mark.text).into();
                    self.event(&Event::Custom(Custom { body }));
                }
            }
            Code::Snapshot | Code::Burst => {} // handled by the writer
            Code::Time | Code::Running => {}   // handled by the reader of the stream
        }
    }
}
