//! Records become events: numbers become ids, ticks become times, and each thread's calls are kept
//! on a stack, so that every leave closes the innermost open call.

use super::announce::{ClassInfo, MethodInfo, ThreadInfo};
use super::stream::Sink;
use crate::agent::NO_THREAD;
use crate::buffer::record::{self, Code};
use crate::clock::Timeline;
use jtrail_classfile::SuperMarks;
use jtrail_formats::Encode;
use jtrail_model::{
    ClassDef, ClassId, Custom, Duration, Event, GcFinish, GcStart, Lost, MethodDef, MethodEnter,
    MethodId, MethodLeave, Note, RuntimeInitDone, RuntimeShutdown, ThreadEnd, ThreadId,
    ThreadStart, Timestamp, Totals, Uncovered,
};

/// Encodes what the streams hand out.
pub(crate) struct Translator {
    encoder: Box<dyn Encode>,
    /// Encoded, and not yet written.
    pub(crate) out: Vec<u8>,
    timeline: Timeline,
    ids: Ids,
    /// By number; none before it is mentioned, and when it has ended.
    threads: Vec<Option<Box<Thread>>>,
    /// By number; a program may have had millions of virtual threads.
    ended: Vec<bool>,
    classes: Vec<Class>,
    methods: Vec<Method>,
    collecting: bool,
    /// Write when threads start and end; otherwise they are only announced before their first call.
    tell_threads: bool,
    totals: Totals,
}

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
    /// None until it is announced in the trace.
    id: ThreadId,
    last: Timestamp,
    ticket: u32,
    calls: Vec<Call>,
}

/// An open call.
#[derive(Clone, Copy)]
struct Call {
    method: u32,
    ticket: u32,
    phase: Phase,
}

/// How far a constructor came, as its marks tell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Phase {
    /// It began.
    Begun,
    /// It is about to call `this(...)` or `super(...)`, or in it.
    InSuper,
    /// It came back from there.
    Constructed,
}

#[derive(Default)]
struct Class {
    info: ClassInfo,
    id: ClassId,
}

#[derive(Default)]
struct Method {
    /// None until it is announced in the trace.
    id: MethodId,
    class_id: ClassId,
    class: u32,
    info: MethodInfo,
}

impl Method {
    fn is_constructor(&self) -> bool {
        &*self.info.name == "<init>"
    }
}

fn slot<T: Default>(table: &mut Vec<T>, number: u32) -> &mut T {
    let at = number as usize;
    if table.len() <= at {
        table.resize_with(at + 1, T::default);
    }
    &mut table[at]
}

impl Translator {
    pub(crate) fn new(encoder: Box<dyn Encode>, timeline: Timeline, tell_threads: bool) -> Self {
        Self {
            encoder,
            out: Vec::new(),
            timeline,
            ids: Ids::default(),
            threads: Vec::new(),
            ended: Vec::new(),
            classes: Vec::new(),
            methods: Vec::new(),
            collecting: false,
            tell_threads,
            totals: Totals::default(),
        }
    }

    fn thread(&mut self, number: u32) -> &mut Thread {
        slot(&mut self.threads, number).get_or_insert_default()
    }

    /// Writes what stands before all events.
    pub(crate) fn begin(&mut self) {
        self.encoder.begin(&mut self.out);
    }

    /// Writes an event as it is.
    pub(crate) fn event(&mut self, event: &Event<'_>) {
        self.encoder.event(event, &mut self.out);
    }

    pub(crate) fn add_thread(&mut self, info: ThreadInfo) {
        let number = info.number;
        self.thread(number).info = info;
    }

    pub(crate) fn add_class(&mut self, info: ClassInfo) {
        let number = info.number;
        slot(&mut self.classes, number).info = info;
    }

    pub(crate) fn add_methods(&mut self, class: u32, methods: Vec<MethodInfo>) {
        for info in methods {
            let method = slot(&mut self.methods, info.number);
            method.class = class;
            method.info = info;
        }
    }

    pub(crate) fn count_instrumented(&mut self, methods: u64) {
        self.totals.classes += 1;
        self.totals.methods += methods;
    }

    pub(crate) fn uncovered(&mut self, class: &str, method: &str, reason: &str) {
        self.totals.uncovered += 1;
        self.note(&Note::Uncovered(Uncovered {
            class: class.into(),
            method: method.into(),
            reason: reason.into(),
        }));
    }

    /// Writes what stands behind all events but the closing ones.
    pub(crate) fn totals(&mut self) {
        self.totals.open = self
            .threads
            .iter()
            .flatten()
            .map(|t| t.calls.len() as u64)
            .sum();
        self.note(&Note::Totals(self.totals));
    }

    /// Writes what closes the document.
    pub(crate) fn end(&mut self) {
        self.encoder.end(&mut self.out);
    }

    fn note(&mut self, note: &Note<'_>) {
        self.event(&Event::Custom(Custom {
            body: note.to_string().into(),
        }));
    }

    /// The time of a record on its thread, where it never falls, and the thread's id; announces the thread
    /// if need be. `None` when the thread has ended.
    #[inline]
    fn at(&mut self, number: u32, ticks: u64) -> Option<(ThreadId, Timestamp)> {
        let time = Timestamp(self.timeline.at(ticks));
        if number == NO_THREAD {
            return Some((ThreadId::NONE, time));
        }
        if *slot(&mut self.ended, number) {
            return None;
        }
        let thread = slot(&mut self.threads, number).get_or_insert_default();
        thread.last = thread.last.max(time);
        if thread.id.is_none() {
            thread.id = ThreadId(self.ids.next());
            let event = Event::ThreadStart(ThreadStart {
                thread: thread.id,
                time: thread.last,
                group: (&*thread.info.group).into(),
                parent_group: (&*thread.info.parent_group).into(),
                object: Default::default(),
                name: (&*thread.info.name).into(),
            });
            self.encoder.event(&event, &mut self.out);
        }
        Some((thread.id, thread.last))
    }

    /// A method's ids; announces it and its class if need be.
    #[inline]
    fn method(&mut self, number: u32, time: Timestamp) -> (MethodId, ClassId) {
        match self.methods.get(number as usize) {
            Some(method) if !method.id.is_none() => (method.id, method.class_id),
            _ => self.announce(number, time),
        }
    }

    #[cold]
    fn announce(&mut self, number: u32, time: Timestamp) -> (MethodId, ClassId) {
        let method = slot(&mut self.methods, number);
        let class = slot(&mut self.classes, method.class);
        if class.id.is_none() {
            class.id = ClassId(self.ids.next());
            let event = Event::ClassDef(ClassDef {
                class: class.id,
                thread: ThreadId::NONE,
                time,
                name: (&*class.info.name).into(),
                source_name: (&*class.info.source_file).into(),
                object: Default::default(),
            });
            self.encoder.event(&event, &mut self.out);
        }
        method.class_id = class.id;
        method.id = MethodId(self.ids.next());
        let event = Event::MethodDef(MethodDef {
            method: method.id,
            class: class.id,
            name: (&*method.info.name).into(),
            signature: (&*method.info.descriptor).into(),
            start_line: method.info.lines.0.into(),
            end_line: method.info.lines.1.into(),
        });
        self.encoder.event(&event, &mut self.out);
        (method.id, method.class_id)
    }

    /// Closes the calls of a thread from `keep` on, innermost first. All but the outermost of these were
    /// gone without a leave.
    fn close(&mut self, number: u32, ticks: u64, keep: usize, by_exception: bool) {
        let Some((thread, time)) = self.at(number, ticks) else {
            return;
        };
        while self.thread(number).calls.len() > keep {
            let Some(call) = self.thread(number).calls.pop() else {
                return;
            };
            let is_last = self.thread(number).calls.len() == keep;
            let (method, class) = self.method(call.method, time);
            let event = Event::MethodLeave(MethodLeave {
                thread,
                time,
                method,
                class,
                ticket: call.ticket,
                cpu_time: Duration::default(),
                by_exception: by_exception || !is_last,
            });
            self.encoder.event(&event, &mut self.out);
            self.totals.leaves += 1;
            self.totals.repaired += u64::from(!is_last);
        }
    }

    /// The open call of `method` that an event of its own can belong to: the innermost, less those
    /// that are known to be gone.
    ///
    /// An exception that leaves a constructor out of `super(...)` passes by every handler, so the call
    /// ends without a leave. A constructor has by then begun, and not come back from there; one that
    /// leaves by itself either came back, or is still before its call.
    fn innermost(&self, number: u32, method: u32) -> Option<usize> {
        let marks = self
            .methods
            .get(method as usize)
            .map(|m| m.info.marks)
            .unwrap_or_default();
        let calls = &self.threads.get(number as usize)?.as_ref()?.calls;
        let is_alive = |call: &Call| match (marks, call.phase) {
            (SuperMarks::None, _)
            | (_, Phase::Constructed)
            | (SuperMarks::Around, Phase::Begun) => true,
            (SuperMarks::Behind, _) | (SuperMarks::Around, Phase::InSuper) => false,
        };
        calls
            .iter()
            .rposition(|call| call.method == method && is_alive(call))
            .or_else(|| calls.iter().rposition(|call| call.method == method))
    }

    fn left(&mut self, number: u32, ticks: u64, method: u32, by_exception: bool) {
        let Some(at) = self.innermost(number, method) else {
            return; // it was running before the trace began
        };
        self.close(number, ticks, at, by_exception);
        if by_exception && self.methods[method as usize].is_constructor() {
            self.left_with_super(number, ticks, method);
        }
    }

    /// Behind a constructor that was left by an exception: those that had called it as `this(...)` or
    /// `super(...)` are gone with it, at this very moment, so nothing is repaired.
    fn left_with_super(&mut self, number: u32, ticks: u64, mut inner: u32) {
        while let Some(call) = self.thread(number).calls.last().copied() {
            let outer = &self.methods[call.method as usize];
            let in_super = match outer.info.marks {
                SuperMarks::None => false,
                SuperMarks::Behind => call.phase != Phase::Constructed,
                SuperMarks::Around => call.phase == Phase::InSuper,
            };
            let inner_class = self.methods[inner as usize].class;
            let is_super = inner_class == outer.class
                || self.classes[inner_class as usize].info.name
                    == self.classes[outer.class as usize].info.super_name;
            if !in_super || !is_super {
                return;
            }
            inner = call.method;
            let keep = self.thread(number).calls.len() - 1;
            self.close(number, ticks, keep, true);
        }
    }

    fn set_phase(&mut self, number: u32, method: u32, phase: Phase) {
        let calls = &mut self.thread(number).calls;
        if let Some(call) = calls
            .iter_mut()
            .rev()
            .find(|c| c.method == method && c.phase < phase)
        {
            call.phase = phase;
        }
    }

    fn lost(&mut self, number: u32, ticks: u64, payload: u64) {
        let (events, closed) = record::lost_parts(payload);
        let from = self.thread(number).last;
        let Some((thread, to)) = self.at(number, ticks) else {
            return;
        };
        let keep = self
            .thread(number)
            .calls
            .len()
            .saturating_sub(closed as usize);
        let open = self.thread(number).calls.len();
        // Their leaves are among the lost events, and are given back here, with the time of the gap's end.
        let given_back = (open - keep) as u64;
        let repaired = self.totals.repaired;
        self.close(number, ticks, keep, false);
        self.totals.repaired = repaired + given_back;
        let events = events.saturating_sub(given_back);
        self.totals.lost += events;
        let from = if from == Timestamp::default() {
            to
        } else {
            from
        };
        self.note(&Note::Lost(Lost {
            thread,
            events,
            from,
            to,
            reason: "overflow".into(),
        }));
    }

    /// At the end of the trace: events that were lost since the thread's last record.
    pub(crate) fn lost_at_end(&mut self, number: u32, ticks: u64, events: u64) {
        self.lost(number, ticks, record::lost(events, 0));
    }

    fn thread_ended(&mut self, number: u32, ticks: u64) {
        // Calls still open here were left without a trace: nothing of a thread outlives it.
        let open = self.thread(number).calls.len();
        if open > 0 {
            self.close(number, ticks, 0, true);
            self.totals.repaired += 1; // `close` took the outermost for a real leave
        }
        if self.tell_threads
            && let Some((thread, time)) = self.at(number, ticks)
        {
            self.event(&Event::ThreadEnd(ThreadEnd { thread, time }));
        }
        *slot(&mut self.ended, number) = true;
        self.threads[number as usize] = None;
    }
}

impl Sink for Translator {
    #[inline]
    fn enter(&mut self, number: u32, ticks: u64, method: u32) {
        let Some((thread, time)) = self.at(number, ticks) else {
            self.totals.lost += 1;
            return;
        };
        let (id, class) = self.method(method, time);
        let state = self.thread(number);
        state.ticket = state.ticket.checked_add(1).unwrap_or(1);
        state.calls.push(Call {
            method,
            ticket: state.ticket,
            phase: Phase::Begun,
        });
        let (ticket, depth) = (state.ticket, state.calls.len());
        let event = Event::MethodEnter(MethodEnter {
            thread,
            time,
            method: id,
            class,
            ticket,
            cpu_time: Duration::default(),
            stack_depth: depth as i64,
        });
        self.encoder.event(&event, &mut self.out);
        self.totals.enters += 1;
    }

    #[inline]
    fn leave(&mut self, number: u32, ticks: u64, method: u32) {
        // The common case: the innermost call returns.
        let calls = &self.thread(number).calls;
        let (open, last) = (calls.len(), calls.last().copied());
        if let Some(call) = last
            && call.method == method
            && (call.phase == Phase::Constructed
                || self.methods[method as usize].info.marks == SuperMarks::None)
        {
            self.close(number, ticks, open - 1, false);
        } else {
            self.left(number, ticks, method, false);
        }
    }

    fn coded(&mut self, number: u32, ticks: u64, code: Code, payload: u64) {
        let value = payload as u32;
        match code {
            Code::LeaveByException => self.left(number, ticks, value, true),
            Code::Caught => {
                if let Some(at) = self.innermost(number, value) {
                    let gone = self.thread(number).calls.len() - at - 1;
                    if gone > 0 {
                        self.close(number, ticks, at + 1, true);
                        self.totals.repaired += 1; // here, the outermost had no leave either
                    }
                }
            }
            Code::SuperCall => self.set_phase(number, value, Phase::InSuper),
            Code::SuperReturned => self.set_phase(number, value, Phase::Constructed),
            Code::ThreadStart if self.tell_threads => {
                self.at(value, ticks);
            }
            Code::ThreadStart => {}
            Code::ThreadEnd => self.thread_ended(value, ticks),
            Code::Lost => self.lost(number, ticks, payload),
            Code::GcStart => {
                let time = Timestamp(self.timeline.at(ticks));
                if !std::mem::replace(&mut self.collecting, true) {
                    self.event(&Event::GcStart(GcStart { time }));
                }
            }
            Code::GcFinish => {
                let time = Timestamp(self.timeline.at(ticks));
                if std::mem::replace(&mut self.collecting, false) {
                    self.event(&Event::GcFinish(GcFinish {
                        time,
                        ..GcFinish::default()
                    }));
                }
            }
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
            Code::Time | Code::Running => {} // the stream's own
        }
    }
}
