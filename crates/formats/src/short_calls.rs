//! Bounds for the calls of a trace: short calls, and calls of very frequently called methods, are
//! aggregated into sums.
//!
//! [`ShortCalls`] wraps an encoder. It holds back a call until it knows whether the call is written
//! individually. That is so in two cases:
//!
//! - The call lasts at least [`Bounds::min`], and its method is not called more often than
//!   [`Bounds::rate`].
//! - An event that is written happens within the call. So all callers of a written call are
//!   written, and all events of a thread have the same callers as without bounds.
//!
//! All other calls are added up by method and caller. So each call is in the trace once,
//! individually or in a sum. (Sums are not kept by whole call path. In a program such as a
//! compiler, few call paths repeat within a short time, so these sums would take as much space as
//! the calls.)
//!
//! Sums are written as aggregated calls in three cases: when there are many, on a flush
//! ([`Encode::flush`]), and at the end. The sums are written while calls of the thread are open,
//! but these calls are not their callers: a note before the sums says so. Each sum is nested in an
//! aggregated call of the caller. This outer aggregated call stands for zero calls. Its time is
//! negative: it cancels the time of the sums in it, which includes callees. So the caller's time
//! without callees and its time with callees stay correct. For recursive methods, an aggregated
//! call of the method surrounds the sum, so that readers do not count its time twice.
//!
//! A flush writes all waiting calls, even those that turn out to be short.

use crate::hash::Seed;
use crate::{DropCount, Encode, Patch};
use jtrail_model::{
    AggregatedDetail, AggregatedEnter, AggregatedLeave, CallStep, Calls, ClassId, Custom, Demoted,
    Duration, Event, MethodEnter, MethodId, MethodLeave, Note, ShortCallsNote, SumsAbove, ThreadId,
    Timestamp,
};
use std::collections::HashMap;

/// Limits that decide which calls are added up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bounds {
    /// Calls that take less time are added up; 0 for no limit.
    pub min: Duration,
    /// Maximum number of calls of a method per second, in all threads together. Once a method
    /// exceeds it, its further calls are added up.
    pub rate: Option<u64>,
}

impl Bounds {
    /// Returns true if any limit is set.
    pub fn is_any(self) -> bool {
        self != Self::default()
    }
}

/// Encoder that writes long calls individually and others as sums. The module's documentation has
/// the rules.
pub struct ShortCalls {
    inner: Box<dyn Encode>,
    min: Duration,
    rates: Option<Rates>,
    threads: HashMap<ThreadId, Thread, Seed>,
    /// True if the trace already has the note about its sums.
    is_reported: bool,
    /// Number of calls and sums that are held back.
    held: usize,
}

/// Call rate of each method.
struct Rates {
    rate: u64,
    /// Indexed by the method's id.
    methods: Vec<Rate>,
}

#[derive(Clone, Copy, Default)]
struct Rate {
    window: i64,
    calls: u64,
    is_demoted: bool,
}

/// Length of the window in which calls are counted, in ns.
const WINDOW: i64 = 100_000_000;
const WINDOWS: u64 = 10;

/// Maximum number of sums of one thread. When they reach it, they are written, and a new set
/// begins.
const MAX_SUMS: usize = 1 << 16;
/// Maximum encoded size of a call or a sum, in bytes.
const MAX_BYTES: usize = 96;

#[derive(Default)]
struct Thread {
    /// Open calls, the outermost first.
    open: Vec<OpenCall>,
    /// Number of open calls that are already written; they are the outermost ones.
    written: usize,
    /// Index in `called` of each called method.
    places: HashMap<MethodId, u32, Seed>,
    /// Called methods, each with the number of its open calls.
    called: Vec<(MethodId, u32)>,
    /// Sums of the calls that ended, by caller and method.
    sums: HashMap<Edge, Sums, Seed>,
}

/// A method and its caller, packed into one word: the indexes of both in [`Thread::called`].
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Edge(u64);

impl Edge {
    /// Creates an edge. `caller` is `None` for an outermost call. `is_nested` is true if the method
    /// is already open.
    #[inline]
    fn new(caller: Option<u32>, method: u32, is_nested: bool) -> Self {
        let caller = caller.map_or(0, |place| u64::from(place) + 1);
        Self(caller << 32 | u64::from(method) << 1 | u64::from(is_nested))
    }

    fn caller(self) -> Option<u32> {
        (self.0 >> 32).checked_sub(1).map(|place| place as u32)
    }

    fn method(self) -> u32 {
        self.0 as u32 >> 1
    }

    fn is_nested(self) -> bool {
        self.0 & 1 == 1
    }
}

#[derive(Clone, Copy)]
struct Sums {
    calls: u64,
    exceptions: u64,
    /// Time including callees.
    time: i64,
    cpu: i64,
    /// Shortest and longest time of one call without callees.
    min: i64,
    max: i64,
}

/// The sums of zero calls.
const NOTHING: Sums = Sums {
    calls: 0,
    exceptions: 0,
    time: 0,
    cpu: 0,
    min: i64::MAX,
    max: 0,
};

/// A call that has not ended.
#[derive(Clone, Copy, Default)]
struct OpenCall {
    time: Timestamp,
    cpu: Duration,
    method: MethodId,
    class: ClassId,
    ticket: u32,
    depth: u32,
    /// True if the method is called too often.
    is_demoted: bool,
    is_nested: bool,
    /// Index of the method in [`Thread::called`].
    place: u32,
    /// Total time of the call's callees.
    callees: i64,
}

/// The end of a call.
#[derive(Clone, Copy)]
struct End {
    time: Timestamp,
    cpu: Duration,
    method: MethodId,
    class: ClassId,
    ticket: u32,
    by_exception: bool,
}

impl Rates {
    /// Counts the start of a call. The first result is true if the method is called too often. The
    /// second is true if this call is the first one above the rate.
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
        self.sums.len() + self.open.len() - self.written
    }

    #[inline(always)]
    fn push(&mut self, mut call: OpenCall) {
        call.place = place(&mut self.places, &mut self.called, call.method);
        let (_, open) = &mut self.called[call.place as usize];
        call.is_nested = *open > 0;
        *open += 1;
        self.open.push(call);
    }

    #[inline(always)]
    fn pop(&mut self) {
        if let Some(call) = self.open.pop() {
            self.written = self.written.min(self.open.len());
            self.called[call.place as usize].1 -= 1;
        }
    }

    /// Forgets all methods except those of open calls.
    fn forget_methods(&mut self) {
        self.places.clear();
        self.called.clear();
        for call in &mut self.open {
            call.place = place(&mut self.places, &mut self.called, call.method);
            self.called[call.place as usize].1 += 1;
        }
    }

    /// Adds a call that ended without being written to the sums.
    #[inline(always)]
    fn add(&mut self, call: &OpenCall, end: End) {
        let time = end.time.since(call.time).0;
        let own = time - call.callees;
        let caller = self.open.last_mut().map(|caller| {
            caller.callees += time;
            caller.place
        });
        let edge = Edge::new(caller, call.place, call.is_nested);
        let sums = self.sums.entry(edge).or_insert(NOTHING);
        sums.calls += 1;
        sums.exceptions += u64::from(end.by_exception);
        sums.time += time;
        sums.cpu += end.cpu.0 - call.cpu.0;
        sums.min = sums.min.min(own);
        sums.max = sums.max.max(own);
    }
}

/// Returns the index of `method` in `called`, and adds the method if it is missing.
#[inline]
fn place(
    places: &mut HashMap<MethodId, u32, Seed>,
    called: &mut Vec<(MethodId, u32)>,
    method: MethodId,
) -> u32 {
    *places.entry(method).or_insert_with(|| {
        called.push((method, 0));
        called.len() as u32 - 1
    })
}

/// The parts of [`ShortCalls`] that are needed to handle a thread's calls, without the thread.
struct Bounded<'b> {
    inner: &'b mut dyn Encode,
    out: &'b mut Vec<u8>,
    min: Duration,
    rates: Option<&'b mut Rates>,
    is_reported: &'b mut bool,
}

impl Bounded<'_> {
    fn note(&mut self, note: &Note<'_>) {
        let body = note.to_string().into();
        self.inner.event(&Event::Custom(Custom { body }), self.out);
    }

    /// Writes the sums of a thread as aggregated calls.
    #[cold]
    fn emit_sums(&mut self, id: ThreadId, thread: &mut Thread) {
        if thread.sums.is_empty() {
            return;
        }
        if !std::mem::replace(self.is_reported, true) {
            self.note(&Note::ShortCalls(ShortCallsNote {
                min: self.min,
                rate: self.rates.as_ref().map_or(0, |rates| rates.rate),
            }));
        }
        if thread.written > 0 {
            self.note(&Note::SumsAbove(SumsAbove {
                thread: id,
                calls: thread.written as u64,
            }));
        }
        let mut sums: Vec<(Edge, Sums)> = thread.sums.drain().collect();
        let method = |place: u32| thread.called[place as usize].0;
        // Each sum is nested in an aggregated call of its caller. If the method of the sum was
        // already open, an aggregated call of that method surrounds both.
        let around = |edge: &Edge| {
            let (of, caller) = (edge.method(), edge.caller());
            let is_within = edge.is_nested() && caller != Some(of);
            (is_within.then(|| method(of)), caller.map(method))
        };
        sums.sort_by_cached_key(|(edge, _)| {
            (around(edge), method(edge.method()), edge.is_nested())
        });
        for group in sums.chunk_by(|(one, _), (other, _)| around(one) == around(other)) {
            let (nested, caller) = around(&group[0].0);
            let (mut time, mut cpu) = (0, 0);
            for (_, sums) in group {
                time += sums.time;
                cpu += sums.cpu;
            }
            self.begin_part(id, nested, 0, 0);
            self.begin_part(id, caller, -time, -cpu);
            for (edge, sums) in group {
                self.emit_sum(id, method(edge.method()), sums);
            }
            self.end_sum(id, caller);
            self.end_sum(id, nested);
        }
        // Part of the table's memory is kept for the next sums.
        thread.sums.shrink_to(MAX_SUMS / 16);
        thread.forget_methods();
    }

    fn emit_sum(&mut self, thread: ThreadId, method: MethodId, sums: &Sums) {
        let enter = Event::AggregatedEnter(AggregatedEnter {
            thread,
            method,
            base_time: Duration(sums.time),
            min_time: Duration(sums.min.min(sums.max)),
            max_time: Duration(sums.max),
            base_cpu_time: Duration(sums.cpu),
            calls: sums.calls as i64,
        });
        self.inner.event(&enter, self.out);
        if sums.exceptions > 0 {
            let detail = Event::AggregatedDetail(AggregatedDetail {
                thread,
                method,
                exceptions: sums.exceptions,
                overhead: Duration(0),
            });
            self.inner.event(&detail, self.out);
        }
        self.end_sum(thread, Some(method));
    }

    fn begin_part(&mut self, thread: ThreadId, method: Option<MethodId>, time: i64, cpu: i64) {
        let Some(method) = method else { return };
        let enter = Event::AggregatedEnter(AggregatedEnter {
            thread,
            method,
            base_time: Duration(time),
            base_cpu_time: Duration(cpu),
            ..AggregatedEnter::default()
        });
        self.inner.event(&enter, self.out);
    }

    fn end_sum(&mut self, thread: ThreadId, method: Option<MethodId>) {
        let Some(method) = method else { return };
        let leave = Event::AggregatedLeave(AggregatedLeave { thread, method });
        self.inner.event(&leave, self.out);
    }

    /// Writes the thread's waiting calls.
    #[inline(never)]
    fn write_waiting(&mut self, thread: ThreadId, calls: &mut Thread) {
        for call in &calls.open[calls.written..] {
            let enter = Event::MethodEnter(MethodEnter {
                thread,
                time: call.time,
                method: call.method,
                class: call.class,
                ticket: call.ticket,
                cpu_time: call.cpu,
                stack_depth: call.depth.into(),
            });
            self.inner.event(&enter, self.out);
        }
        calls.written = calls.open.len();
    }

    #[inline(always)]
    fn enter(&mut self, id: ThreadId, thread: &mut Thread, mut call: OpenCall) {
        if let Some(rates) = &mut self.rates {
            let (is_demoted, is_new) = rates.called(call.method, call.time);
            call.is_demoted = is_demoted;
            if is_new {
                let rate = rates.rate;
                self.note(&Note::Demoted(Demoted {
                    method: call.method,
                    time: call.time,
                    rate,
                }));
            }
        }
        thread.push(call);
        if self.min.0 <= 0 && !call.is_demoted {
            self.write_waiting(id, thread);
        }
    }

    #[inline(always)]
    fn leave(&mut self, id: ThreadId, thread: &mut Thread, end: End) {
        let waits = thread.open.len() > thread.written;
        let is_its_end = |call: &&OpenCall| call.ticket == end.ticket && call.method == end.method;
        let call = thread.open.last().filter(is_its_end).copied();
        if let Some(call) = call
            && waits
            && (call.is_demoted || end.time.since(call.time) < self.min)
        {
            thread.pop();
            thread.add(&call, end);
            if thread.sums.len() >= MAX_SUMS {
                self.emit_sums(id, thread);
            }
            return;
        }
        self.write_waiting(id, thread);
        let leave = Event::MethodLeave(MethodLeave {
            thread: id,
            time: end.time,
            method: end.method,
            class: end.class,
            ticket: end.ticket,
            cpu_time: end.cpu,
            by_exception: end.by_exception,
        });
        self.inner.event(&leave, self.out);
        if call.is_some() {
            thread.pop();
        }
    }
}

impl ShortCalls {
    /// Returns an encoder that wraps `inner`. The format of `inner` must have a field for
    /// aggregated calls.
    pub fn new(inner: Box<dyn Encode>, bounds: Bounds) -> Self {
        Self {
            inner,
            min: bounds.min,
            rates: bounds.rate.map(|rate| Rates {
                rate,
                methods: Vec::new(),
            }),
            threads: HashMap::default(),
            is_reported: false,
            held: 0,
        }
    }

    /// Takes consecutive steps of one thread. The tuple holds the thread, its CPU time, and the
    /// number of calls that were open before the first step.
    fn steps(
        &mut self,
        (id, cpu, mut depth): (ThreadId, Duration, u32),
        steps: impl Iterator<Item = CallStep>,
        out: &mut Vec<u8>,
    ) {
        self.with(id, out, |bounded, thread| {
            for CallStep {
                time,
                method,
                class,
                ticket,
                ends,
            } in steps
            {
                if ends {
                    depth = depth.wrapping_sub(1);
                    let end = End {
                        time,
                        cpu,
                        method,
                        class,
                        ticket,
                        by_exception: false,
                    };
                    bounded.leave(id, thread, end);
                } else {
                    depth = depth.wrapping_add(1);
                    let call = OpenCall {
                        time,
                        cpu,
                        method,
                        class,
                        ticket,
                        depth,
                        ..OpenCall::default()
                    };
                    bounded.enter(id, thread, call);
                }
            }
        });
    }

    /// Runs `work` with the state of a thread, and updates `held`.
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
            is_reported: &mut self.is_reported,
        };
        let held = thread.held();
        work(&mut bounded, thread);
        self.held = self.held + thread.held() - held;
    }

    /// Writes all waiting calls of a thread, and its sums too if `sums` is true.
    fn write(&mut self, id: ThreadId, sums: bool, out: &mut Vec<u8>) {
        self.with(id, out, |bounded, thread| {
            bounded.write_waiting(id, thread);
            if sums {
                bounded.emit_sums(id, thread);
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
                let call = OpenCall {
                    time: e.time,
                    cpu: e.cpu_time,
                    method: e.method,
                    class: e.class,
                    ticket: e.ticket,
                    depth: u32::try_from(e.stack_depth).unwrap_or(u32::MAX),
                    ..OpenCall::default()
                };
                self.with(e.thread, out, |b, thread| b.enter(e.thread, thread, call));
                return;
            }
            Event::MethodLeave(e) => {
                let end = End {
                    time: e.time,
                    cpu: e.cpu_time,
                    method: e.method,
                    class: e.class,
                    ticket: e.ticket,
                    by_exception: e.by_exception,
                };
                self.with(e.thread, out, |b, thread| b.leave(e.thread, thread, end));
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
        let of = (calls.thread, calls.cpu_time, calls.depth);
        self.steps(of, calls.steps.iter().copied(), out);
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.write_all(out);
        self.inner.end(out);
    }

    fn end_part(&mut self, out: &mut Vec<u8>) -> bool {
        self.write_all(out);
        self.inner.end_part(out)
    }

    fn has_pending(&self) -> bool {
        self.inner.has_pending()
    }

    fn mark_truncated(&mut self) {
        self.inner.mark_truncated();
    }

    fn flush(&mut self, out: &mut Vec<u8>) {
        self.write_all(out);
        self.inner.flush(out);
    }

    fn settle(&mut self, out: &mut Vec<u8>) {
        self.write_all(out);
    }

    fn waiting(&self) -> usize {
        self.inner.waiting() + self.held * MAX_BYTES
    }

    fn dropped(&self) -> Vec<DropCount> {
        self.inner.dropped()
    }

    fn dropped_events(&self) -> u64 {
        self.inner.dropped_events()
    }

    fn patches(&self) -> Vec<Patch> {
        self.inner.patches()
    }
}
