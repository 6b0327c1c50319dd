//! Bounds for the calls of a trace: those that are short, or of methods that are called very often, become sums.
//!
//! [`ShortCalls`] stands before an encoder. A call waits until it is known whether it is to be written by itself: it is when it lasts
//! as long as [`Bounds::min`], unless its method is called more often than [`Bounds::rate`]; and when anything that is written happens
//! within it, so callers of a written call are written, and whatever else a thread tells of stands among its calls as without bounds. All
//! other calls are added up in a tree of call paths, which is told as aggregated calls within the innermost call that was written, before
//! the next one is, and before that one ends. So each call is in the trace once, by itself or in a sum, and below its caller.
//!
//! What waits is written when somebody asks for all that there is ([`Encode::flush`]), however short it may become.

use crate::call_tree::{CallTree, FOLDED};
use crate::hash::Seed;
use crate::{Encode, Loss, Patch};
use jtrail_model::{
    CallStep, Calls, ClassId, Custom, Demoted, Duration, Event, LeftOut, MethodEnter, MethodId,
    MethodLeave, Note, ShortCallsNote, ThreadId, Timestamp,
};
use std::collections::HashMap;

/// Which calls are added up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bounds {
    /// Calls that take less; 0 for none.
    pub min: Duration,
    /// Calls of methods that are called more often than so many times a second, in all threads together, from then on.
    pub rate: Option<u64>,
}

impl Bounds {
    /// Whether any call may be added up.
    pub fn is_any(self) -> bool {
        self != Self::default()
    }
}

/// An encoder of the calls that are written, and of the sums of the others. See the module.
pub struct ShortCalls {
    inner: Box<dyn Encode>,
    min: Duration,
    rates: Option<Rates>,
    threads: HashMap<ThreadId, Thread, Seed>,
    /// The trace says that it has sums.
    is_told: bool,
    /// Calls and paths that are held here.
    held: usize,
}

/// Calls of each method, by time.
struct Rates {
    rate: u64,
    /// By the method's id.
    methods: Vec<Rate>,
}

#[derive(Clone, Copy, Default)]
struct Rate {
    window: i64,
    calls: u64,
    is_demoted: bool,
}

/// How long calls are counted.
const WINDOW: i64 = 100_000_000;
const WINDOWS: u64 = 10;

/// Steps of a thread that wait, beside two for each call that is open. What is more is added up as it is.
const MOST_STEPS: usize = 4096;
/// Paths of one thread that are added up; then they are told, and it begins anew.
const MOST_PATHS: usize = 1 << 16;
/// Bytes that a call or a path may take.
const MOST_BYTES: usize = 64;

#[derive(Default)]
struct Thread {
    /// Calls that ended within the innermost one that was written.
    sums: CallTree<MethodId>,
    /// What happened since the outermost call that waits.
    steps: Vec<Step>,
    /// Open calls that wait, the outermost first.
    waiting: Vec<Waiting>,
}

struct Waiting {
    /// Its begin among the steps.
    at: usize,
    /// Calls within it that ended, and are no steps any more.
    sums: Option<Box<CallTree<MethodId>>>,
}

#[derive(Clone, Copy)]
struct Step {
    time: Timestamp,
    cpu: Duration,
    method: MethodId,
    class: ClassId,
    ticket: u32,
    depth: u32,
    what: What,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Enter,
    /// Of a method that is called too often.
    DemotedEnter,
    Leave,
    LeaveByException,
}

impl Rates {
    /// A call begins; whether its method is called too often, and since just now.
    fn called(&mut self, method: MethodId, time: Timestamp) -> (bool, bool) {
        let at = method.0 as usize;
        if self.methods.len() <= at {
            self.methods.resize(at + 1, Rate::default());
        }
        let rate = &mut self.methods[at];
        if rate.is_demoted {
            return (true, false);
        }
        let window = time.0.div_euclid(WINDOW);
        if rate.window != window {
            (rate.window, rate.calls) = (window, 0);
        }
        rate.calls += 1;
        rate.is_demoted = rate.calls > (self.rate / WINDOWS).max(1);
        (rate.is_demoted, rate.is_demoted)
    }
}

impl Thread {
    fn held(&self) -> usize {
        self.sums.len() + self.steps.len()
    }

    /// Adds up steps: calls that have ended.
    fn add_steps(sums: &mut CallTree<MethodId>, steps: &[Step]) {
        for step in steps {
            match step.what {
                What::Enter | What::DemotedEnter => sums.enter(step.method, step.time, step.cpu),
                What::Leave => sums.leave(step.time, step.cpu, false),
                What::LeaveByException => sums.leave(step.time, step.cpu, true),
            }
        }
    }

    /// Adds up all calls that have ended, each within the one that waits and that it belongs to.
    #[cold]
    fn compact(&mut self) {
        let mut kept = Vec::with_capacity(self.waiting.len());
        for at in 0..self.waiting.len() {
            let begin = self.waiting[at].at;
            let end = self.waiting.get(at + 1).map_or(self.steps.len(), |w| w.at);
            let ended = &self.steps[begin + 1..end];
            let waiting = &mut self.waiting[at];
            if !ended.is_empty() {
                Self::add_steps(waiting.sums.get_or_insert_default(), ended);
            }
            waiting.at = kept.len();
            kept.push(self.steps[begin]);
        }
        self.steps = kept;
    }

    /// The innermost call that waits ends, and is added up.
    fn add_call(&mut self, call: Waiting, leave: Step) {
        let sums = match self.waiting.last_mut() {
            None => &mut self.sums,
            // Its caller has sums too when it has some, or takes it as steps.
            Some(_) if call.sums.is_none() => {
                self.steps.push(leave);
                if self.steps.len() > MOST_STEPS + 2 * self.waiting.len() {
                    self.compact();
                }
                return;
            }
            Some(caller) => caller.sums.get_or_insert_default(),
        };
        let (begin, ended) = (self.steps[call.at], &self.steps[call.at + 1..]);
        sums.enter(begin.method, begin.time, begin.cpu);
        Self::add_steps(sums, ended);
        if let Some(below) = call.sums {
            sums.add(&below);
        }
        Self::add_steps(sums, &[leave]);
        self.steps.truncate(call.at);
    }
}

impl Step {
    fn enter(&self, thread: ThreadId) -> MethodEnter {
        MethodEnter {
            thread,
            time: self.time,
            method: self.method,
            class: self.class,
            ticket: self.ticket,
            cpu_time: self.cpu,
            stack_depth: self.depth.into(),
        }
    }

    fn leave(&self, thread: ThreadId) -> MethodLeave {
        MethodLeave {
            thread,
            time: self.time,
            method: self.method,
            class: self.class,
            ticket: self.ticket,
            cpu_time: self.cpu,
            by_exception: self.what == What::LeaveByException,
        }
    }
}

/// What calls are handed to, beside their thread.
struct Bounded<'b> {
    inner: &'b mut dyn Encode,
    out: &'b mut Vec<u8>,
    min: Duration,
    rates: Option<&'b mut Rates>,
    is_told: &'b mut bool,
}

impl Bounded<'_> {
    fn note(&mut self, note: &Note<'_>) {
        let body = note.to_string().into();
        self.inner.event(&Event::Custom(Custom { body }), self.out);
    }

    /// Tells of calls that were added up.
    fn tell_sums(&mut self, id: ThreadId, thread: &mut Thread, time: Timestamp) {
        if thread.sums.is_empty() {
            return;
        }
        if !std::mem::replace(self.is_told, true) {
            self.note(&Note::ShortCalls(ShortCallsNote {
                min: self.min,
                rate: self.rates.as_ref().map_or(0, |rates| rates.rate),
            }));
        }
        if thread.sums.folded() > 0 {
            self.note(&Note::LeftOut(LeftOut {
                what: FOLDED.into(),
                count: thread.sums.folded(),
            }));
        }
        let (inner, out) = (&mut *self.inner, &mut *self.out);
        thread
            .sums
            .tell(id, time, |id| id, |event| inner.event(&event, out));
        thread.sums.clear();
    }

    /// Writes the calls that wait.
    fn write_waiting(&mut self, id: ThreadId, thread: &mut Thread) {
        let mut waiting = std::mem::take(&mut thread.waiting);
        for at in 0..waiting.len() {
            let begin = thread.steps[waiting[at].at];
            self.tell_sums(id, thread, begin.time);
            let enter = Event::MethodEnter(begin.enter(id));
            self.inner.event(&enter, self.out);
            let end = waiting.get(at + 1).map_or(thread.steps.len(), |w| w.at);
            let ended = &thread.steps[waiting[at].at + 1..end];
            if let Some(sums) = waiting[at].sums.take() {
                thread.sums = *sums;
            }
            Thread::add_steps(&mut thread.sums, ended);
        }
        waiting.clear();
        thread.waiting = waiting;
        thread.steps.clear();
    }

    #[inline]
    fn enter(&mut self, id: ThreadId, thread: &mut Thread, mut step: Step) {
        if let Some(rates) = &mut self.rates {
            let (is_demoted, is_new) = rates.called(step.method, step.time);
            if is_demoted {
                step.what = What::DemotedEnter;
            }
            if is_new {
                let rate = rates.rate;
                self.note(&Note::Demoted(Demoted {
                    method: step.method,
                    time: step.time,
                    rate,
                }));
            }
        }
        thread.waiting.push(Waiting {
            at: thread.steps.len(),
            sums: None,
        });
        thread.steps.push(step);
        if self.min.0 <= 0 && step.what == What::Enter {
            self.write_waiting(id, thread);
        }
    }

    #[inline]
    fn leave(&mut self, id: ThreadId, thread: &mut Thread, step: Step) {
        if let Some(call) = thread.waiting.last() {
            let begin = &thread.steps[call.at];
            let is_its_end = begin.ticket == step.ticket && begin.method == step.method;
            let is_short =
                begin.what == What::DemotedEnter || step.time.since(begin.time) < self.min;
            if is_its_end
                && is_short
                && let Some(call) = thread.waiting.pop()
            {
                thread.add_call(call, step);
                if thread.sums.len() > MOST_PATHS {
                    self.tell_sums(id, thread, step.time);
                }
                return;
            }
            self.write_waiting(id, thread);
        }
        self.tell_sums(id, thread, step.time);
        let leave = Event::MethodLeave(step.leave(id));
        self.inner.event(&leave, self.out);
    }
}

impl ShortCalls {
    /// One that hands on to `inner`, which has a place for aggregated calls.
    pub fn new(inner: Box<dyn Encode>, bounds: Bounds) -> Self {
        Self {
            inner,
            min: bounds.min,
            rates: bounds.rate.map(|rate| Rates {
                rate,
                methods: Vec::new(),
            }),
            threads: HashMap::default(),
            is_told: false,
            held: 0,
        }
    }

    /// Does something with a thread.
    #[inline]
    fn with(
        &mut self,
        id: ThreadId,
        out: &mut Vec<u8>,
        work: impl FnOnce(&mut Bounded<'_>, &mut Thread),
    ) {
        let thread = self.threads.entry(id).or_default();
        let mut bounded = Bounded {
            inner: &mut *self.inner,
            out,
            min: self.min,
            rates: self.rates.as_mut(),
            is_told: &mut self.is_told,
        };
        let held = thread.held();
        work(&mut bounded, thread);
        self.held = self.held + thread.held() - held;
    }

    /// Writes all that waits of a thread, and, where `sums` says so, what was added up.
    fn write(&mut self, id: ThreadId, sums: bool, out: &mut Vec<u8>) {
        self.with(id, out, |bounded, thread| {
            let last = thread.steps.last().map_or(Timestamp(0), |step| step.time);
            bounded.write_waiting(id, thread);
            if sums {
                bounded.tell_sums(id, thread, last);
            }
        });
    }

    fn write_all(&mut self, out: &mut Vec<u8>) {
        if self.held == 0 {
            return;
        }
        let held = |(id, thread): (&ThreadId, &Thread)| (thread.held() > 0).then_some(*id);
        let mut threads: Vec<ThreadId> = self.threads.iter().filter_map(held).collect();
        threads.sort_unstable();
        for id in threads {
            self.write(id, true, out);
        }
    }
}

impl Encode for ShortCalls {
    fn begin(&mut self, out: &mut Vec<u8>) {
        self.inner.begin(out);
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        match event {
            Event::MethodEnter(e) => {
                let step = Step {
                    time: e.time,
                    cpu: e.cpu_time,
                    method: e.method,
                    class: e.class,
                    ticket: e.ticket,
                    depth: u32::try_from(e.stack_depth).unwrap_or(u32::MAX),
                    what: What::Enter,
                };
                self.with(e.thread, out, |b, thread| b.enter(e.thread, thread, step));
                return;
            }
            Event::MethodLeave(e) => {
                let step = Step {
                    time: e.time,
                    cpu: e.cpu_time,
                    method: e.method,
                    class: e.class,
                    ticket: e.ticket,
                    depth: 0,
                    what: match e.by_exception {
                        true => What::LeaveByException,
                        false => What::Leave,
                    },
                };
                self.with(e.thread, out, |b, thread| b.leave(e.thread, thread, step));
                return;
            }
            Event::ThreadEnd(e) => {
                self.write(e.thread, true, out);
                self.threads.remove(&e.thread);
            }
            Event::TracePause(_) | Event::TraceEnd(_) => self.write_all(out),
            _ => {
                if let Some(thread) = event.thread()
                    && self.threads.contains_key(&thread)
                {
                    self.write(thread, false, out);
                }
            }
        }
        self.inner.event(event, out);
    }

    fn calls(&mut self, calls: &Calls<'_>, out: &mut Vec<u8>) {
        let (id, cpu) = (calls.thread, calls.cpu_time);
        self.with(id, out, |bounded, thread| {
            let mut depth = calls.depth;
            for &CallStep {
                time,
                method,
                class,
                ticket,
                ends,
            } in calls.steps
            {
                let step = |depth, what| Step {
                    time,
                    cpu,
                    method,
                    class,
                    ticket,
                    depth,
                    what,
                };
                if ends {
                    depth = depth.wrapping_sub(1);
                    bounded.leave(id, thread, step(0, What::Leave));
                } else {
                    depth = depth.wrapping_add(1);
                    bounded.enter(id, thread, step(depth, What::Enter));
                }
            }
        });
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.write_all(out);
        self.inner.end(out);
    }

    fn end_part(&mut self, out: &mut Vec<u8>) -> bool {
        self.write_all(out);
        self.inner.end_part(out)
    }

    fn holds_back(&self) -> bool {
        self.inner.holds_back()
    }

    fn break_off(&mut self) {
        self.inner.break_off();
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        self.write_all(out);
        self.inner.flush(out);
    }

    fn settle(&mut self, out: &mut Vec<u8>) {
        self.write_all(out);
    }

    fn waiting(&self) -> usize {
        self.inner.waiting() + self.held * MOST_BYTES
    }

    fn losses(&self) -> Vec<Loss> {
        self.inner.losses()
    }

    fn patches(&self) -> Vec<Patch> {
        self.inner.patches()
    }
}
