//! The state of a translator, with which another one can continue ([`crate::spool`]).
//!
//! Three things are not part of it. Definitions, and the ids of classes and methods ([`Named`]),
//! are many and do not change. So they are written to files as they come. The objects that the
//! trace defines can be read from the trace. A trace with aggregated calls can't be continued.

use super::calls::{Call, LAST_TICKET, Phase};
use super::objects::SkippedObject;
use super::{Ids, Missing, OpenCalls, Settings, Thread, Translator};
use crate::NumberSet;
use crate::definition::{Compilation, Definition, MarkInfo, ThreadInfo};
use crate::record::NO_THREAD;
use crate::timeline::Timeline;
use jtrail_formats::Encode;
use jtrail_model::{
    CallStack, ClassId, Duration, HeapDumpId, MethodId, ThreadId, Timestamp, Totals,
};
use jtrail_options::Events;
use serde::{Deserialize, Serialize};

/// A class or method that got its id.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Named {
    /// Number and id of a class.
    Class(u32, u64),
    /// Number and id of a method. Its class has got an id before.
    Method(u32, u64),
}

/// State of a translator. Times are in nanoseconds since 1970.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Saved {
    timeline: Timeline,
    settings: SavedSettings,
    ids: u64,
    /// Threads that have not ended and have done something.
    threads: Vec<SavedThread>,
    /// Numbers of the threads that have done nothing yet. Most virtual threads may be among them.
    waiting: Vec<u32>,
    marks: Vec<(u64, Box<str>)>,
    collections: Vec<u64>,
    dying: Vec<u64>,
    dump: u64,
    collecting: bool,
    totals: Totals,
    paused: Option<i64>,
    cut_samples: u64,
    /// True if there is no trace. A later trace may contain what was not written so far.
    is_silent: bool,
    /// If there is no trace, the existing classes whose declarations a trace would contain.
    detailed: Vec<u32>,
    /// Objects that the trace, or the next one, may mention although their records came before its
    /// start.
    objects: Vec<SavedObject>,
}

/// Number, class and size in bytes of an object, and the time of its record.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct SavedObject(u64, u32, u64, i64);

impl SavedObject {
    fn of((number, passed): (u64, SkippedObject)) -> Self {
        Self(number, passed.class, passed.size, passed.time.0)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedSettings {
    emit_threads: bool,
    alloc_sites: bool,
    off: Option<u32>,
    heap_name: String,
    started: i64,
    has_gate: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct SavedThread {
    number: u32,
    /// Name of the thread, if it differs from that in its definition.
    name: Option<Box<str>>,
    id: u64,
    last: i64,
    cpu: i64,
    ticket: u32,
    parks: u32,
    is_blocked: bool,
    is_waiting: bool,
    initialising: Vec<u32>,
    calls: Vec<SavedCall>,
    left_open: Vec<SavedCall>,
    names: Vec<Box<str>>,
}

/// Method, ticket and flags of a call. Bits 0 and 1 of the flags are the phase; bit 2 is set if the
/// call is hidden.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct SavedCall(u32, u32, u8);

const HIDDEN: u8 = 4;

impl SavedCall {
    fn of(call: &Call) -> Self {
        let hidden = if call.is_hidden() { HIDDEN } else { 0 };
        Self(call.method(), call.ticket(), call.phase() as u8 | hidden)
    }

    fn call(self) -> Call {
        let phase = match self.2 & !HIDDEN {
            0 => Phase::Begun,
            1 => Phase::InSuper,
            _ => Phase::Constructed,
        };
        let mut call = Call::new(self.0, self.1.min(LAST_TICKET), phase);
        if self.2 & HIDDEN != 0 {
            call.hide();
        }
        call
    }
}

impl Saved {
    /// Returns true if the state is plausible; a state from a file may be damaged. The given
    /// functions return true for numbers that may exist.
    pub(crate) fn is_sound(
        &self,
        is_thread: impl Fn(u32) -> bool,
        is_class: impl Fn(u32) -> bool,
        is_method: impl Fn(u32) -> bool,
        is_object: impl Fn(u64, u32, u64) -> bool,
    ) -> bool {
        const MAX_TOTAL: u64 = 1 << 56;
        let is_call = |call: &SavedCall| is_method(call.0);
        let thread = |thread: &SavedThread| {
            is_thread(thread.number)
                && thread.parks < u32::MAX / 2
                && thread.calls.iter().all(is_call)
                && thread.left_open.iter().all(is_call)
                && thread.initialising.iter().all(|class| is_class(*class))
        };
        let all = &self.totals;
        let totals = [
            all.enters,
            all.leaves,
            all.repaired,
            all.lost,
            all.open,
            all.classes,
            all.methods,
            all.uninstrumented,
            all.objects,
            all.frees,
            all.monitors,
            all.parks,
            all.throws,
            all.catches,
            all.samples,
            all.initialisations,
            self.ids,
            self.cut_samples,
        ];
        totals.iter().all(|total| *total < MAX_TOTAL)
            && self.threads.iter().all(thread)
            && self.waiting.iter().all(|number| is_thread(*number))
            && self.detailed.iter().all(|class| is_class(*class))
            && self
                .objects
                .iter()
                .all(|object| is_object(object.0, object.1, object.2))
    }
}

impl SavedThread {
    fn of(number: u32, thread: &Thread) -> Self {
        Self {
            number,
            name: thread.is_renamed.then(|| thread.info.name.clone()),
            id: thread.id.0,
            last: thread.last.0,
            cpu: thread.cpu.0,
            ticket: thread.ticket,
            parks: thread.parks,
            is_blocked: thread.is_blocked,
            is_waiting: thread.is_waiting,
            initialising: thread.initialising.clone(),
            calls: thread.calls.iter().map(SavedCall::of).collect(),
            left_open: thread.left_open.iter().map(SavedCall::of).collect(),
            names: thread.names.clone(),
        }
    }

    fn thread(self) -> Thread {
        let calls: CallStack<Call> = self.calls.into_iter().map(SavedCall::call).collect();
        Thread {
            is_renamed: self.name.is_some(),
            info: ThreadInfo {
                number: self.number,
                name: self.name.unwrap_or_default(),
                ..ThreadInfo::default()
            },
            id: ThreadId(self.id),
            last: Timestamp(self.last),
            cpu: Duration(self.cpu),
            ticket: self.ticket.min(LAST_TICKET),
            parks: self.parks,
            is_blocked: self.is_blocked,
            is_waiting: self.is_waiting,
            initialising: self.initialising,
            hidden: calls.iter().filter(|call| call.is_hidden()).count() as u32,
            calls,
            left_open: self.left_open.into_iter().map(SavedCall::call).collect(),
            tree: None,
            names: self.names,
        }
    }
}

impl Translator {
    /// Returns true if another translator could continue from here.
    pub fn can_be_saved(&self) -> bool {
        !self.is_cut && !self.settings.aggregate
    }

    /// Returns the number of threads that have not ended.
    pub fn living(&self) -> usize {
        self.threads.len()
    }

    /// Returns the state.
    pub fn save(&self) -> Saved {
        let settings = &self.settings;
        let (mut threads, mut waiting) = (Vec::new(), Vec::new());
        for (&number, thread) in &self.threads {
            match thread.has_begun() {
                true => threads.push(SavedThread::of(number, thread)),
                false => waiting.push(number),
            }
        }
        Saved {
            timeline: self.timeline,
            settings: SavedSettings {
                emit_threads: settings.emit_threads,
                alloc_sites: settings.alloc_sites,
                off: settings.off.map(Events::bits),
                heap_name: settings.heap_name.clone(),
                started: settings.started.0,
                has_gate: settings.has_gate,
            },
            ids: self.ids.0,
            threads,
            waiting,
            marks: self
                .marks
                .values()
                .map(|mark| (mark.number, mark.text.clone()))
                .collect(),
            collections: self.objects.collections().to_vec(),
            dying: self.objects.dying.iter().collect(),
            dump: self.objects.dump.0,
            collecting: self.collecting,
            totals: self.totals,
            paused: self.paused.map(|time| time.0),
            cut_samples: self.cut_samples,
            is_silent: self.is_silent,
            detailed: match self.is_silent {
                true => self.with_details().collect(),
                false => Vec::new(),
            },
            objects: self.objects.passed().map(SavedObject::of).collect(),
        }
    }

    /// Returns a translator that continues from `saved`, in a trace that contains the definitions
    /// of the objects `defined`. Earlier definitions must be passed to [`Self::remember`], and
    /// earlier ids to [`Self::name`]. If there was no trace, [`Self::begin_at`] must be called
    /// next, and only then the encoder is used.
    pub fn restore(encoder: Box<dyn Encode>, saved: Saved, defined: NumberSet) -> Self {
        let settings = Settings {
            emit_threads: saved.settings.emit_threads,
            aggregate: false,
            alloc_sites: saved.settings.alloc_sites,
            off: saved.settings.off.map(Events::from_bits),
            keeps_details: saved.is_silent,
            keeps_code: saved.is_silent,
            keeps_objects: false,
            heap_name: saved.settings.heap_name,
            started: Timestamp(saved.settings.started),
            has_gate: saved.settings.has_gate,
            shows_open_calls: false,
            keeps_names: false,
        };
        let mut translator = Self::new(encoder, saved.timeline, settings);
        translator.ids = Ids(saved.ids);
        for thread in saved.threads {
            let number = thread.number;
            *translator.thread(number) = thread.thread();
        }
        for number in saved.waiting {
            translator.thread(number);
        }
        for (number, text) in saved.marks {
            translator.add_mark(MarkInfo::new(number, text));
        }
        let objects = &mut translator.objects;
        objects.defined = defined;
        for made in saved.collections {
            objects.collection(made);
        }
        for object in saved.dying {
            objects.dying.insert(object);
        }
        objects.dump = HeapDumpId(saved.dump);
        for SavedObject(number, class, size, time) in saved.objects {
            let time = Timestamp(time);
            objects.pass(number, SkippedObject { class, size, time });
        }
        translator.collecting = saved.collecting;
        translator.totals = saved.totals;
        translator.paused = saved.paused.map(Timestamp);
        translator.cut_samples = saved.cut_samples;
        translator.is_silent = saved.is_silent;
        translator.detailed = saved.detailed;
        translator
    }

    /// If there is no trace, begins one at that tick, with the open calls.
    pub fn begin_at(&mut self, encoder: Box<dyn Encode>, ticks: u64) {
        let settings = Settings {
            started: Timestamp(self.timeline.at(ticks)),
            ..self.settings.clone()
        };
        self.restart(encoder, settings, OpenCalls::Enter);
        self.begin();
        self.emit_present_state(ticks, OpenCalls::Enter);
    }

    /// Handles a definition that came before the state was saved. Nothing is written, because the
    /// trace contains what follows from it.
    pub fn remember(&mut self, emitted: Definition) {
        match emitted {
            // A thread that is not in the state has ended.
            Definition::Thread(info) if info.number != NO_THREAD => {
                let (number, thread) = (info.number, self.threads.get_mut(&info.number));
                match thread {
                    Some(thread) => thread.remember(*info),
                    None => _ = self.ended.insert(number.into()),
                }
            }
            // A new trace writes what exists.
            Definition::Compilation(emitted) if self.is_silent => self.compilation(emitted),
            Definition::Uninstrumented {
                class,
                method,
                reason,
            } if self.is_silent => self.keep_missing(Missing([class, method, reason])),
            Definition::ClassDetail(info) if self.is_silent => {
                let class = info.class;
                self.classes.at(class).about().detail = Some(info);
            }
            Definition::Compilation(Compilation::Loaded(info)) => {
                self.code.insert((info.method, info.address), info.size);
            }
            Definition::Compilation(Compilation::Unloaded {
                method, address, ..
            }) => _ = self.code.remove(&(method, address)),
            Definition::Thread(_)
            | Definition::ThreadName { .. }
            | Definition::ClassDetail(_)
            | Definition::Mark(_)
            | Definition::Instrumented { .. }
            | Definition::Uninstrumented { .. } => {}
            // Nothing is written for these before they are used.
            Definition::Class(_)
            | Definition::Methods { .. }
            | Definition::Lines { .. }
            | Definition::AllocSites { .. }
            | Definition::AllocClass { .. }
            | Definition::Text { .. } => self.define(emitted),
        }
    }

    /// Assigns an id to a class or method in the trace. It was defined before.
    pub fn name(&mut self, named: Named) {
        match named {
            Named::Class(number, id) => self.classes.at(number).id = ClassId(id),
            Named::Method(number, id) => {
                let class = self.methods.at(number).class;
                let class = self.classes.at(class).id;
                self.give_ids(number, MethodId(id), class);
            }
        }
    }

    /// Returns the classes and methods that got ids since the last call.
    pub fn take_named(&mut self) -> Vec<Named> {
        std::mem::take(&mut self.named)
    }
}
