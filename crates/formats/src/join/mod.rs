//! Joins the parts of a trace that the agent divided into several files to one trace.
//!
//! Each part is a trace of its own: it defines what it mentions, under ids of its own, and begins
//! with the calls that are open at its begin, entered again. The joined trace has each definition
//! and each call once.
//!
//! | Module | Contents |
//! |---|---|
//! | `definitions` | classes, methods and objects |
//! | `threads` | which threads of a part are those of the parts before |
//! | `calls` | the open calls of a thread |
//! | `notes` | notes and options, which each part has |

mod calls;
mod definitions;
mod notes;
mod threads;

use crate::hash::Seed;
use calls::Calls;
use definitions::Definitions;
use jtrail_model::{
    Custom, Event, IdMut, Lost, Note, ThreadId, ThreadName, ThreadStart, Timestamp,
};
use notes::Notes;
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use threads::{Found, Known, Pending};

/// Joins parts of a trace: takes their events, each part's in the order of time, and returns those
/// of one trace. Its memory depends on the number of definitions and of open calls.
#[derive(Debug, Default)]
pub struct Joiner {
    definitions: Definitions,
    notes: Notes,
    /// Threads that have not ended, by their joined ids.
    threads: BTreeMap<ThreadId, Known>,
    last_thread: u64,
    /// Largest id of a heap dump so far, and in the parts before.
    dumps: [u64; 2],
    part: Part,
    /// Number of parts that have begun.
    parts: usize,
    is_paused: bool,
    has_begun: bool,
    /// The time of the latest event.
    latest: Timestamp,
    /// The end of the part before.
    ended: Option<Timestamp>,
    /// The end of the latest part, which ends the trace if no other part follows.
    ending: Vec<Event<'static>>,
}

/// The part that is read.
#[derive(Debug, Default)]
struct Part {
    /// The joined ids of its threads.
    threads: HashMap<ThreadId, ThreadId, Seed>,
    /// Threads of which it is not known yet whether they are those of parts before.
    pending: Vec<Pending>,
    /// The time at which it begins, if it tells that.
    begin: Option<Timestamp>,
    /// Why events are missing before it.
    missing: Option<String>,
}

impl Joiner {
    /// Begins the next part. `missing` says why events are missing before it, if they are.
    pub fn begin_part(&mut self, missing: Option<String>, emit: &mut dyn FnMut(&Event<'_>)) {
        self.end_part(emit);
        self.parts += 1;
        self.definitions.begin_part();
        self.notes.begin_part();
        self.dumps[1] = self.dumps[0];
        self.ending.clear();
        self.part = Part {
            missing,
            ..Part::default()
        };
        for thread in self.threads.values_mut() {
            thread.begin_part();
        }
    }

    /// Takes the next event of the part, and passes those of the joined trace to `emit`.
    pub fn event(&mut self, event: &Event<'_>, emit: &mut dyn FnMut(&Event<'_>)) {
        self.latest = self.latest.max(event.time().unwrap_or(self.latest));
        if matches!(event, Event::TraceEnd(_) | Event::AgentDestroy(_)) {
            self.ending.push(event.clone().into_static());
            return;
        }
        if event.is_opening() && !matches!(event, Event::Option(_)) {
            // The opening of the first part is that of all.
            if self.parts == 1 {
                emit(event);
            }
            if let Event::TraceStart(start) = event {
                self.begin_at(start.time, emit);
            }
            return;
        }
        if let Some(thread) = event.thread()
            && let Some(place) = self.pending(thread)
            && !matches!(event, Event::ClassDef(_))
        {
            let pending = &mut self.part.pending[place];
            if pending.takes(event) {
                pending.events.push(event.clone().into_static());
                return;
            }
            self.find(place, emit);
        }
        self.take(event, emit);
    }

    /// Ends the joined trace.
    pub fn end(&mut self, emit: &mut dyn FnMut(&Event<'_>)) {
        self.end_part(emit);
        let open = self.threads.values().map(|thread| thread.calls.open());
        self.notes.end(open.sum::<usize>() as u64, emit);
        for event in std::mem::take(&mut self.ending) {
            emit(&event);
        }
    }

    fn begin_at(&mut self, begin: Timestamp, emit: &mut dyn FnMut(&Event<'_>)) {
        self.part.begin = Some(begin);
        let Some(reason) = self.part.missing.take() else {
            return;
        };
        let ended = self.ended.filter(|_| self.parts > 1);
        let note = Note::Lost(Lost {
            from: ended.unwrap_or(begin),
            to: begin,
            reason: reason.into(),
            ..Lost::default()
        });
        let body = Cow::Owned(note.to_string());
        emit(&Event::Custom(Custom { body }));
    }

    /// Ends calls that the part has not repeated: they ended before it began.
    fn end_part(&mut self, emit: &mut dyn FnMut(&Event<'_>)) {
        while !self.part.pending.is_empty() {
            self.find(0, emit);
        }
        let begin = self.part.begin.unwrap_or(self.latest);
        for (id, thread) in &mut self.threads {
            thread.calls.end_others(*id, begin.max(thread.latest), emit);
        }
        self.ended = Some(self.latest);
    }

    fn pending(&self, thread: ThreadId) -> Option<usize> {
        let mut pending = self.part.pending.iter();
        pending.position(|pending| pending.thread() == thread)
    }

    /// Finds out which known thread a pending one is.
    fn find(&mut self, place: usize, emit: &mut dyn FnMut(&Event<'_>)) {
        let pending = self.part.pending.remove(place);
        let methods: Vec<_> = pending
            .calls()
            .map(|enter| self.definitions.method(enter.method))
            .collect();
        match threads::best(&self.threads, &pending.start, &methods) {
            Some(id) => self.go_on(id, &pending.start, emit),
            None => self.start(&pending.start, emit),
        }
        for event in &pending.events {
            self.take(event, emit);
        }
    }

    /// A thread of a part is one that is known.
    fn go_on(&mut self, id: ThreadId, start: &ThreadStart<'_>, emit: &mut dyn FnMut(&Event<'_>)) {
        self.part.threads.insert(start.thread, id);
        let Some(known) = self.threads.get_mut(&id) else {
            return;
        };
        known.is_matched = true;
        if known.start.name != start.name {
            known.start.name = start.name.to_string().into();
            emit(&Event::ThreadName(ThreadName {
                thread: id,
                time: start.time,
                name: start.name.clone(),
            }));
        }
    }

    /// A thread of a part is new.
    fn start(&mut self, start: &ThreadStart<'_>, emit: &mut dyn FnMut(&Event<'_>)) {
        let id = self.new_thread();
        self.part.threads.insert(start.thread, id);
        let start = ThreadStart {
            thread: id,
            ..start.clone()
        };
        let event = Event::ThreadStart(start);
        emit(&event);
        if let Event::ThreadStart(start) = event.into_static() {
            self.threads.insert(id, Known::new(start));
        }
    }

    fn new_thread(&mut self) -> ThreadId {
        self.last_thread += 1;
        ThreadId(self.last_thread)
    }

    fn thread(&mut self, id: ThreadId) -> ThreadId {
        if id.is_none() {
            return id;
        }
        if let Some(known) = self.part.threads.get(&id) {
            return *known;
        }
        // The part does not define it: it is damaged.
        let new = self.new_thread();
        self.part.threads.insert(id, new);
        new
    }

    /// Takes the start of a thread, which may be one of the parts before.
    fn thread_start(&mut self, start: &ThreadStart<'_>, emit: &mut dyn FnMut(&Event<'_>)) {
        match threads::find(&self.threads, start) {
            Found::New => self.start(start, emit),
            Found::Known(id) => self.go_on(id, start, emit),
            Found::Several => {
                if let Event::ThreadStart(start) = Event::ThreadStart(start.clone()).into_static() {
                    self.part.pending.push(Pending::new(start));
                }
            }
        }
    }

    /// Takes an event whose own thread is known.
    fn take(&mut self, event: &Event<'_>, emit: &mut dyn FnMut(&Event<'_>)) {
        match event {
            Event::ThreadStart(start) => self.thread_start(start, emit),
            Event::ClassDef(class) => {
                let mut class = class.clone();
                class.thread = match self.pending(class.thread) {
                    Some(_) => ThreadId::NONE,
                    None => self.thread(class.thread),
                };
                self.definitions.class(class, emit);
            }
            Event::MethodDef(method) => self.definitions.define_method(method.clone(), emit),
            Event::ClassDetail(detail) if !self.definitions.is_new_class(detail.class) => {}
            Event::MethodDetail(detail) if !self.definitions.is_new_method(detail.method) => {}
            Event::MethodCompile(compile) if !self.definitions.compile(compile) => {}
            Event::ObjectDef(object) if !self.definitions.define_object(object.object) => {}
            Event::LineCounts(counts) => self.definitions.lines(counts, emit),
            Event::Option(option) => self.notes.option(option, emit),
            Event::Custom(custom) => self.note(custom, emit),
            Event::TracePause(_) if self.is_paused => {}
            Event::RuntimeInitDone(_) if std::mem::replace(&mut self.has_begun, true) => {}
            _ => {
                let mut event = event.clone();
                self.change_ids(&mut event, emit);
                match &event {
                    Event::TracePause(_) => self.is_paused = true,
                    Event::TraceResume(_) => self.is_paused = false,
                    Event::ObjectAlloc(alloc) => self.definitions.allocate(alloc.object),
                    Event::MethodUncompile(code) => {
                        self.definitions.uncompile(code.method, code.address);
                    }
                    _ => {}
                }
                self.of_thread(event, emit);
            }
        }
    }

    /// Takes an event with joined ids.
    fn of_thread(&mut self, mut event: Event<'_>, emit: &mut dyn FnMut(&Event<'_>)) {
        let id = event.thread().unwrap_or(ThreadId::NONE);
        let Some(thread) = self.threads.get_mut(&id) else {
            return emit(&event);
        };
        let time = event.time().unwrap_or(thread.latest);
        thread.latest = thread.latest.max(time);
        if thread.shows_end_of_wait(&event)
            && let Some(end) = thread.end_of_old_wait(id, time)
        {
            self.notes.add_end(&end);
            emit(&end);
        }
        let is_new = match &mut event {
            Event::MethodEnter(enter) => {
                let is_new = thread.calls.enter(enter, emit);
                self.notes.reentered += u64::from(!is_new);
                is_new
            }
            Event::MethodLeave(leave) => thread.calls.leave(leave, emit),
            Event::ThreadEnd(_) => {
                thread.calls.end_all(id, thread.latest, emit);
                self.threads.remove(&id);
                true
            }
            other => {
                let is_new = thread.is_new(other);
                let is_start = matches!(other, Event::ClassInitStart(_));
                self.notes.initialising_again += u64::from(!is_new && is_start);
                is_new
            }
        };
        if is_new {
            emit(&event);
        }
    }

    fn change_ids(&mut self, event: &mut Event<'_>, emit: &mut dyn FnMut(&Event<'_>)) {
        // The event may be about other threads than its own.
        while !self.part.pending.is_empty() {
            let mut found = None;
            event.for_each_id(|id| {
                if let IdMut::Thread(id) = id {
                    found = found.or(self.pending(*id));
                }
            });
            let Some(place) = found else { break };
            self.find(place, emit);
        }
        event.for_each_id(|id| match id {
            IdMut::Thread(id) => *id = self.thread(*id),
            IdMut::Class(id) => *id = self.definitions.class_id(*id),
            IdMut::Method(id) => *id = self.definitions.method(*id),
            IdMut::Dump(id) => {
                id.0 = id.0.saturating_add(self.dumps[1]);
                self.dumps[0] = self.dumps[0].max(id.0);
            }
            // The agent's numbers of objects are the same in all parts.
            IdMut::Object(_) => {}
        });
    }

    fn note(&mut self, custom: &Custom<'_>, emit: &mut dyn FnMut(&Event<'_>)) {
        let Some(mut note) = Note::parse(&custom.body) else {
            return emit(&Event::Custom(custom.clone()));
        };
        let mut thread = |id: &mut ThreadId| {
            if let Some(place) = self.pending(*id) {
                self.find(place, emit);
            }
            *id = self.thread(*id);
        };
        match &mut note {
            Note::Lost(lost) => thread(&mut lost.thread),
            Note::Burst(burst) => thread(&mut burst.thread),
            Note::SumsAbove(above) => thread(&mut above.thread),
            Note::Demoted(demoted) => demoted.method = self.definitions.method(demoted.method),
            _ => {}
        }
        self.notes.note(note, emit);
    }
}
