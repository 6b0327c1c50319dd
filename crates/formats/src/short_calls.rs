//! Bounds for the calls of a trace: those that are short, or of methods that are called very often,
//! become sums.
//!
//! [`ShortCalls`] stands before an encoder. A call waits until it is known whether it is to be
//! written by itself: it is when it lasts as long as [`Bounds::min`], unless its method is called
//! more often than [`Bounds::rate`]; and when anything that is written happens within it, so
//! callers of a written call are written, and whatever else a thread tells of stands among its
//! calls as without bounds. All other calls are added up by the method that they are of and the one
//! that called them. So each call is in the trace once, by itself or in a sum. (By whole paths,
//! sums of a program such as a compiler take as much room as its calls: within a moment, few paths
//! repeat themselves.)
//!
//! Sums are told as aggregated calls when there are many, when somebody asks for all that there is
//! ([`Encode::flush`]), and at the end. They stand outside of the thread's open calls; a note
//! before them says so. A caller's part is an aggregated call that stands for no call. Its time is
//! less than nothing, by that of the calls below it, which have the time of their callees as well:
//! so each method's own time is what it was, and its time with callees too. Where a method is
//! called within itself, there is a part of it around the sum, so that nobody counts that time
//! twice.
//!
//! What waits is written by a flush, however short it may become.

use crate::hash::Seed;
use crate::{DropCount, Encode, Patch};
use jtrail_model::{
    AggregatedDetail, AggregatedEnter, AggregatedLeave, CallStep, Calls, ClassId, Custom, Demoted,
    Duration, Event, MethodEnter, MethodId, MethodLeave, Note, ShortCallsNote, SumsAbove, ThreadId,
    Timestamp,
};
use std::collections::HashMap;

/// Which calls are added up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bounds {
    /// Calls that take less; 0 for none.
    pub min: Duration,
    /// Calls of methods that are called more often than so many times a second, in all threads
    /// together, from then on.
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
    is_reported: bool,
    /// Calls and sums that are held here.
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

/// Sums of one thread; then they are told, and it begins anew.
const MOST_SUMS: usize = 1 << 16;
/// Bytes that a call or a sum may take.
const MOST_BYTES: usize = 96;

#[derive(Default)]
struct Thread {
    /// Open calls, the outermost first.
    open: Vec<Open>,
    /// How many of these are written: the first ones.
    written: usize,
    /// Methods that were called, each with its place in `called`.
    places: HashMap<MethodId, u32, Seed>,
    /// Each with how many calls of it are open.
    called: Vec<(MethodId, u32)>,
    /// Calls that ended, by whom they are of.
    sums: HashMap<Edge, Sums, Seed>,
}

/// Calls of a method by another one: the places of both among the methods that were called, in one
/// word.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Edge(u64);

impl Edge {
    /// Without a caller where nobody called; `is_nested` where the method was open already.
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
    /// With callees.
    time: i64,
    cpu: i64,
    /// Without callees, of one call.
    min: i64,
    max: i64,
}

/// The sums of no call.
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
struct Open {
    time: Timestamp,
    cpu: Duration,
    method: MethodId,
    class: ClassId,
    ticket: u32,
    depth: u32,
    /// True if the method is called too often.
    is_demoted: bool,
    is_nested: bool,
    /// Its method's place among those that were called.
    place: u32,
    /// Time of its callees.
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
        self.sums.len() + self.open.len() - self.written
    }

    #[inline(always)]
    fn push(&mut self, mut call: Open) {
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

    /// Keeps no more methods than are open.
    fn forget_methods(&mut self) {
        self.places.clear();
        self.called.clear();
        for call in &mut self.open {
            call.place = place(&mut self.places, &mut self.called, call.method);
            self.called[call.place as usize].1 += 1;
        }
    }

    /// A call that is not written ended.
    #[inline(always)]
    fn add(&mut self, call: &Open, end: End) {
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

/// The place of a method among those that were called, where it gets one if it has none.
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

/// What calls are handed to, beside their thread.
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

    /// Tells of calls that were added up.
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
        // Around each there is a part of its method, if that was open already, and one of its
        // caller.
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
        // Its room is kept.
        thread.sums.shrink_to(MOST_SUMS / 16);
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

    /// Writes the calls that wait.
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
    fn enter(&mut self, id: ThreadId, thread: &mut Thread, mut call: Open) {
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
        let is_its_end = |call: &&Open| call.ticket == end.ticket && call.method == end.method;
        let call = thread.open.last().filter(is_its_end).copied();
        if let Some(call) = call
            && waits
            && (call.is_demoted || end.time.since(call.time) < self.min)
        {
            thread.pop();
            thread.add(&call, end);
            if thread.sums.len() >= MOST_SUMS {
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
    /// Returns an encoder before `inner`, which has a field for aggregated calls.
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

    /// Takes calls in a row of one thread, with its CPU time, and how many were open before.
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
                    let call = Open {
                        time,
                        cpu,
                        method,
                        class,
                        ticket,
                        depth,
                        ..Open::default()
                    };
                    bounded.enter(id, thread, call);
                }
            }
        });
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
            is_reported: &mut self.is_reported,
        };
        let held = thread.held();
        work(&mut bounded, thread);
        self.held = self.held + thread.held() - held;
    }

    /// Writes all that waits of a thread, and, where `sums` says so, what was added up.
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
                let call = Open {
                    time: e.time,
                    cpu: e.cpu_time,
                    method: e.method,
                    class: e.class,
                    ticket: e.ticket,
                    depth: u32::try_from(e.stack_depth).unwrap_or(u32::MAX),
                    ..Open::default()
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
