//! Records become events: numbers become ids, and ticks become times.
//!
//! Ids of threads, classes, methods and heap dumps come from one counter, as TPTP has it, in the
//! order in which things are first mentioned. Objects have a counter of their own, which is the
//! agent's: their id is their number.

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
use jtrail_formats::{Encode, Loss, Patch};
use jtrail_model::{
    BurstNote, ByNumber, CallStack, ClassId, ClockNote, Custom, Duration, Event, LeftOut,
    MethodIds, Note, RuntimeInitDone, RuntimeShutdown, ThreadId, Timestamp, Totals, Uninstrumented,
};
use jtrail_options::Events;
use methods::{KnownMethods, Methods};
use objects::Objects;
use runs::Room;
use rustc_hash::FxHashMap;
use sites::Site;
use std::collections::BTreeSet;

/// What a translator has to know beforehand.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Write when threads start and end; otherwise they are only announced before their first call.
    pub emit_threads: bool,
    /// Calls are added up by path, and written when their thread ends.
    pub aggregate: bool,
    /// Allocations seen at their sites tell these.
    pub alloc_sites: bool,
    /// Kinds of events that are not in the trace. Most are off in the program too.
    pub off: Option<Events>,
    /// Another trace may begin, with the details of the classes that are there.
    pub keeps_details: bool,
    /// Another one may begin, with the compiled code that is there, of which nobody tells again.
    pub keeps_code: bool,
    /// Another one may begin at a time that is past, and mention objects of which nobody tells
    /// again.
    pub keeps_objects: bool,
    /// What heap dumps are called, before their number.
    pub heap_name: String,
    /// When the trace began.
    pub started: Timestamp,
    /// Calls are not seen while collection pauses.
    pub has_gate: bool,
    /// Calls that are under way where the trace begins or goes on are shown, though they are not
    /// counted.
    pub shows_calls_under_way: bool,
    /// Somebody asks what has been named.
    pub keeps_names: bool,
}

/// What becomes of calls that are open when a trace begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpenCalls {
    /// They are entered anew.
    Enter,
    /// They are not in the trace, and neither are their leaves.
    Hide,
}

/// Says what the counters of lines say, by their numbers; nothing where lines are not counted.
pub type LineCounters = Box<dyn Fn() -> Option<Vec<u64>> + Send>;

/// Encodes what the streams hand out.
pub struct Translator {
    encoder: Box<dyn Encode>,
    /// Encoded, and not yet written.
    pub out: Vec<u8>,
    timeline: Timeline,
    ids: Ids,
    /// By number; none before it is mentioned, and when it has ended. A program may have had
    /// millions of virtual threads.
    threads: FxHashMap<u32, Box<Thread>>,
    ended: NumberSet,
    classes: ByNumber<Class>,
    /// Those whose details are kept, in the order in which they were told: a class stands behind
    /// its supers.
    detailed: Vec<u32>,
    methods: Methods,
    known: KnownMethods,
    /// None of methods that the trace was not told of.
    ids_of_methods: MethodIds,
    room: Box<Room>,
    /// Bytes of the compiled code that the trace was told of, by method and address: an address may
    /// be taken again before its former code is told to be gone.
    code: FxHashMap<(u32, u64), u32>,
    /// Methods that should be recorded and are not, the first [`MOST_MISSING`] of them: each trace
    /// tells of them.
    missing: BTreeSet<Missing>,
    /// All of the code that is there, where another trace may be told of it.
    kept_code: FxHashMap<(u32, u64), Box<CompiledInfo>>,
    /// By number; the first one is empty.
    texts: Vec<Box<str>>,
    /// By number, until their records come.
    marks: FxHashMap<u64, MarkInfo>,
    objects: Objects,
    sites: Vec<Site>,
    collecting: bool,
    settings: Settings,
    totals: Totals,
    /// Snapshots taken on request.
    snapshots: u64,
    /// There is no trace.
    is_silent: bool,
    /// Since when collection pauses.
    paused: Option<Timestamp>,
    /// It does so because the trace ended there.
    is_cut: bool,
    /// The trace's encoder, until its end is written.
    cut_off: Option<Box<dyn Encode>>,
    /// How often methods were entered, by their numbers; none where lines are not counted.
    entered: Option<ByNumber<u64>>,
    /// What the counters of lines said when the trace began.
    lines_before: Vec<u64>,
    /// What they said when the trace was told of them.
    lines_reported: Vec<u64>,
    /// What they say now; none where lines are not counted.
    line_counters: LineCounters,
    /// Samples of this trace whose stacks lack innermost frames.
    cut_samples: u64,
    /// Calls of this trace that are added up in other places of the tree than they were.
    folded_calls: u64,
    /// Classes and methods that got ids, since somebody asked; only where somebody does.
    named: Vec<Named>,
    /// Events that no totals count: calls that are added up, and those of earlier traces.
    emitted_outside_totals: u64,
}

/// A method that should be recorded and is not: its class, the method or nothing for the whole
/// class, and why.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Missing([Box<str>; 3]);

/// More of them are only counted: a program may make classes without end.
const MOST_MISSING: usize = 10_000;

/// One counter for all kinds of things, as TPTP has it.
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
    /// Its name is not the one that was announced.
    is_renamed: bool,
    /// None until it is announced in the trace.
    id: ThreadId,
    last: Timestamp,
    /// CPU time at the last enter or leave, where it is measured.
    cpu: Duration,
    ticket: u32,
    /// Parking methods that it is in.
    parks: u32,
    /// It wants a monitor that another thread holds.
    is_blocked: bool,
    /// It waits on a monitor.
    is_waiting: bool,
    /// Classes that it is initialising, as the trace was told.
    initialising: Vec<u32>,
    calls: CallStack<Call>,
    /// How many of them began while collection paused.
    hidden: u32,
    /// Calls that were left while it does, innermost first.
    left_open: Vec<Call>,
    /// The calls added up, where they are.
    tree: Option<Box<CallTree>>,
    /// Names of records to come.
    names: Vec<Box<str>>,
}

impl Thread {
    /// Whether anything is known of it but what was announced.
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

    /// Takes in what was announced of it, before or after it got its present name.
    fn remember(&mut self, mut info: ThreadInfo) {
        if self.is_renamed {
            info.name = std::mem::take(&mut self.info.name);
        }
        self.info = info;
    }

    /// How many of the calls that were left while collection pauses are in the trace.
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
    /// None of a class that is gone.
    about: Option<Box<AboutClass>>,
}

impl Class {
    /// What is known of it.
    fn about(&mut self) -> &mut AboutClass {
        self.about.get_or_insert_default()
    }

    /// Its name, empty of a class that is gone.
    fn name(&self) -> &str {
        self.about.as_ref().map_or("", |about| &about.info.name)
    }
}

#[derive(Default)]
struct AboutClass {
    info: ClassInfo,
    /// Those that were announced.
    methods: Vec<u32>,
    /// What it declares, for traces to come.
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
    /// One that has seen nothing yet.
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

    /// Where the counters of lines are read, from number 0 on.
    pub fn count_lines_by(&mut self, counters: LineCounters) {
        self.line_counters = counters;
    }

    fn thread(&mut self, number: u32) -> &mut Thread {
        self.threads.entry(number).or_default()
    }

    /// Whether a thread has ended.
    fn has_ended(&self, number: u32) -> bool {
        self.ended.contains(number.into())
    }

    /// The numbers of the threads that are there, in order.
    fn thread_numbers(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = self.threads.keys().copied().collect();
        numbers.sort_unstable();
        numbers
    }

    /// Whether events of that kind are not in the trace.
    pub fn is_off(&self, kind: Events) -> bool {
        self.settings.off.is_some_and(|off| off.contains(kind))
    }

    /// Writes what stands before all events.
    pub fn begin(&mut self) {
        self.encoder.begin(&mut self.out);
    }

    /// Writes an event as it is.
    pub fn event(&mut self, event: &Event<'_>) {
        self.encoder.event(event, &mut self.out);
    }

    /// Takes in something that was announced, and tells what is to be told of it. Of a compilation
    /// when it is its time.
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

    /// Writes what became of compiled code.
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

    /// What a class is.
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
        if self.missing.len() < MOST_MISSING {
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

    /// Tells, at a tick, of what is there when a trace begins: methods that should be recorded and
    /// are not, what classes declare, their compiled code, and the calls that are open if they are
    /// to be entered.
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

    /// Writes what stands behind all events but the closing ones. With a coarse clock, what that
    /// did.
    pub fn totals(&mut self, time: Timestamp, clock: Option<ClockNote>) {
        self.encoder.settle(&mut self.out); // calls that may become sums stand before
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
            self.note(&Note::LeftOut(LeftOut {
                what: FOLDED.into(),
                count: self.folded_calls,
            }));
        }
        // Where it was cut, some ended behind its end.
        let open = |thread: &Thread| {
            thread.calls.len() as u64 - u64::from(thread.hidden) + thread.counted_left_open()
        };
        // Where calls are added up, none is in the trace by itself.
        if !self.settings.aggregate {
            self.totals.open += self.threads.values().map(|t| open(t)).sum::<u64>();
        }
        if let Some(clock) = clock {
            self.note(&Note::Clock(clock));
        }
        self.note(&Note::Totals(self.totals));
    }

    /// Writes what closes the document, or the next part of it. Whether more follows.
    pub fn end_part(&mut self) -> bool {
        self.encoder.end_part(&mut self.out)
    }

    /// Writes what waits in the encoder for more of its kind.
    pub fn flush(&mut self) {
        self.encoder.flush(&mut self.out);
    }

    /// How many bytes [`Self::flush`] would append, or some more.
    pub fn waiting(&self) -> usize {
        self.encoder.waiting()
    }

    /// What the trace lacks so far: what its format has no place for, and what is beyond a bound.
    pub fn losses(&self) -> Vec<Loss> {
        let cut = Loss {
            what: "innermost ends of sampled stacks beyond stackdepth",
            count: self.cut_samples,
        };
        let mut losses = self.encoder.losses();
        losses.extend((cut.count > 0).then_some(cut));
        losses
    }

    /// What is to be written over earlier bytes, once all is written.
    pub fn patches(&self) -> Vec<Patch> {
        self.encoder.patches()
    }

    /// What has been written so far.
    pub fn totals_so_far(&self) -> Totals {
        self.totals
    }

    /// How many events were written since the agent came, as a burst counts them. It never falls.
    pub fn emitted(&self) -> u64 {
        self.emitted_outside_totals + self.totals.events()
    }

    /// How it makes times of ticks.
    pub fn timeline(&self) -> Timeline {
        self.timeline
    }

    /// Says what began a burst, and on which thread.
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

    /// Events that no buffer had room for.
    pub fn lost_events(&self) -> u64 {
        self.totals.lost
    }

    /// Says that the process ended before its trace did, and how many events had not been written
    /// by then.
    pub(crate) fn recovered(&mut self, events: u64) {
        self.note(&Note::Recovered(events));
    }

    /// Writes what is not in the trace because its format has no place for it.
    pub fn left_out(&mut self, no_place: Events, losses: &[Loss]) {
        if !no_place.is_empty() {
            let what = format!("events={no_place}").into();
            self.note(&Note::LeftOut(LeftOut { what, count: 0 }));
        }
        for loss in losses {
            self.note(&Note::LeftOut(LeftOut {
                what: loss.what.into(),
                count: loss.count,
            }));
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
        if self.paused.is_some() && self.is_left_out(ticks, code, payload) {
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
                // Another thread may have read it since, and recorded it sooner.
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
                self.made_known(number, ticks, code, payload);
            }
            Code::AllocMany => self.made_many(number, ticks, payload),
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
            Code::Snapshot | Code::Burst => {} // the writer's
            Code::Time | Code::Running => {}   // the stream's own
        }
    }
}
