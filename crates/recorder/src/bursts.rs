//! Bursts that begin by themselves (`burst=`): what begins them, and the gate that is open while
//! one lasts.
//!
//! Outside of bursts, the probes of calls stop at the gate, a word of memory that they look at
//! (`JtrailHook.java`). Methods whose calls may begin a burst have probes of their own, which come
//! here. What begins a burst opens the gate at once, and leaves a record; the writer resumes where
//! it meets that, counts, and lets the burst end.

use crate::buffer::record::METHOD_LIMIT;
use crate::clock::{Clock, System};
use crate::memory::Zeros;
use crate::pending;
use jtrail_options::{Burst, Options, OutputFormat, Pattern, Trigger};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// What probes look at: 0 while nothing is recorded.
static GATE: AtomicU32 = AtomicU32::new(0);

/// The method's calls are recorded too.
pub const RECORDED: u32 = 1 << 31;

/// Address of the gate.
pub fn gate_address() -> usize {
    GATE.as_ptr() as usize
}

/// Whether something is recorded now, or may be.
#[inline]
pub fn is_gate_open() -> bool {
    GATE.load(Ordering::Acquire) != 0
}

/// All triggers, and what they have seen.
pub struct Bursts {
    triggers: Box<[TriggerState]>,
    /// By number of the method: the triggers that it is for, as bits, and [`RECORDED`].
    methods: Zeros<AtomicU32>,
    /// There is a trace for them.
    armed: AtomicBool,
    gate: Mutex<Gate>,
    open_calls: OpenCalls,
    reported: AtomicBool,
    /// All is recorded, and a trigger has the newest events saved.
    saves: bool,
    /// When that was last, in nanoseconds of the system's clock; 0 for never.
    saved: AtomicU64,
}

/// So long behind a trigger that has the newest events saved, others are passed over.
const PAUSE: u64 = 10_000_000_000;

/// A trigger, and what became of it.
struct TriggerState {
    burst: Burst,
    /// Calls of its methods in this trace.
    calls: AtomicU64,
    /// Its burst is under way.
    lasts: AtomicBool,
    /// How many bursts it began.
    begun: AtomicU64,
}

/// Who needs the gate to be open.
#[derive(Default)]
struct Gate {
    bursts: u32,
    /// Recording was resumed on command.
    resumed: bool,
    /// The trace's format wants the calls that are under way when a burst begins.
    stacks: bool,
}

impl Gate {
    fn is_recording(&self) -> bool {
        self.bursts > 0 || self.resumed
    }

    fn set(&self) {
        let is_open = self.is_recording() || self.stacks;
        if is_open && !is_gate_open() {
            pending::skip_epoch(); // constructors came by meanwhile that nobody heard of
        }
        GATE.store(is_open.into(), Ordering::Release);
    }
}

impl Bursts {
    /// Those of the options; none where there are none.
    ///
    /// # Errors
    /// When the system has no such range of addresses.
    pub fn of(options: &Options) -> io::Result<Option<Arc<Self>>> {
        if options.bursts.is_empty() {
            return Ok(None);
        }
        let methods = Zeros::new(METHOD_LIMIT as usize)?;
        let seen = |burst: &Burst| TriggerState {
            burst: burst.clone(),
            calls: AtomicU64::new(0),
            lasts: AtomicBool::new(false),
            begun: AtomicU64::new(0),
        };
        let gate = Gate {
            stacks: options.format.keeps_stacks() || !options.has_bursts(),
            ..Gate::default()
        };
        gate.set();
        Ok(Some(Arc::new(Self {
            triggers: options.bursts.iter().map(seen).collect(),
            methods,
            armed: AtomicBool::new(false),
            gate: Mutex::new(gate),
            open_calls: OpenCalls::default(),
            reported: AtomicBool::new(false),
            saves: !options.has_bursts(),
            saved: AtomicU64::new(0),
        })))
    }

    /// A trace begins, paused: from now on, triggers count.
    pub fn arm(&self) {
        self.open_calls.clear();
        for seen in &self.triggers {
            seen.calls.store(0, Ordering::Relaxed);
        }
        self.armed.store(true, Ordering::Release);
    }

    /// The bursts that begin with the trace begin; those that do.
    pub fn begin_at_once(&self) -> Vec<usize> {
        let is_due =
            |number: &usize| self.triggers[*number].burst.trigger == Trigger::At(Duration::ZERO);
        let due = (0..self.triggers.len()).filter(is_due);
        due.filter(|number| self.begin(*number)).collect()
    }

    /// The trace is about to end.
    pub fn disarm(&self) {
        self.armed.store(false, Ordering::Release);
    }

    /// Which of the triggers these bits stand for.
    fn of_bits(&self, bits: u32) -> impl Iterator<Item = (usize, &TriggerState)> {
        let all = self.triggers.iter().enumerate();
        all.filter(move |(number, _)| bits & 1 << number != 0)
    }

    /// Whether triggers may be about methods of that class (`com.acme.Foo`).
    pub fn fits_class(&self, class: &str) -> bool {
        let mut triggers = self.triggers.iter();
        triggers.any(|seen| seen.burst.trigger.fits_class(class))
    }

    /// The triggers that are about a method, as bits.
    pub fn fits_method(&self, class: &str, method: &str) -> u32 {
        let mut bits = 0;
        for (number, seen) in self.triggers.iter().enumerate() {
            let trigger = &seen.burst.trigger;
            // A constructor that is left out of `super(...)` has no end.
            let has_end = method != "<init>" || !matches!(trigger, Trigger::Slow { .. });
            if has_end && trigger.fits_method(class, method) {
                bits |= 1 << number;
            }
        }
        bits
    }

    /// Which triggers a method is for from now on, and whether its calls are recorded.
    pub fn set_method(&self, number: u32, bits: u32, is_recorded: bool) {
        if let Some(method) = self.methods.all().get(number as usize) {
            let recorded = if is_recorded { RECORDED } else { 0 };
            method.store(bits | recorded, Ordering::Release);
        }
    }

    /// Reverses [`Self::set_method`].
    pub fn method(&self, number: u32) -> u32 {
        let method = self.methods.all().get(number as usize);
        method.map_or(0, |bits| bits.load(Ordering::Relaxed))
    }

    /// A method with these triggers is called on a thread. `begin` is called for those whose burst
    /// begins here.
    pub fn called(&self, bits: u32, thread: u32, method: u32, mut begin: impl FnMut(usize)) {
        let mut is_timed = false;
        for (number, seen) in self.of_bits(bits) {
            match &seen.burst.trigger {
                Trigger::Call { nth, .. } => {
                    let is_armed = self.armed.load(Ordering::Acquire);
                    if is_armed && seen.calls.fetch_add(1, Ordering::Relaxed) + 1 == *nth {
                        begin(number);
                    }
                }
                Trigger::Slow { .. } => is_timed = true,
                _ => {}
            }
        }
        if is_timed {
            self.open_calls.enter(thread, method, System::now());
        }
    }

    /// It ends there.
    pub fn left(&self, bits: u32, thread: u32, method: u32, begin: impl FnMut(usize)) {
        let is_timed = |seen: &TriggerState| matches!(seen.burst.trigger, Trigger::Slow { .. });
        if !self.of_bits(bits).any(|(_, seen)| is_timed(seen)) {
            return;
        }
        if let Some(call) = self.open_calls.leave(thread, method) {
            let age = System::now().saturating_sub(call.since);
            self.overdue(bits & !call.reported, age, begin);
        }
    }

    /// The slow ones of these for which a call is that old, in nanoseconds.
    fn overdue(&self, bits: u32, age: u64, mut found: impl FnMut(usize)) {
        for (number, seen) in self.of_bits(bits) {
            if let Trigger::Slow { longer_than, .. } = &seen.burst.trigger
                && u128::from(age) > longer_than.as_nanos()
            {
                found(number);
            }
        }
    }

    /// A thread has ended.
    pub fn forget(&self, thread: u32) {
        self.open_calls.forget(thread);
    }

    /// The calls under way that have become too slow by now; and when the next one will be, in
    /// nanoseconds from now.
    pub fn watch(&self, mut begin: impl FnMut(usize)) -> Option<u64> {
        let now = System::now();
        let mut next: Option<u64> = None;
        self.open_calls.for_each(|call| {
            let age = now.saturating_sub(call.since);
            let bits = self.method(call.method) & !call.reported;
            self.overdue(bits, age, |number| {
                call.reported |= 1 << number;
                begin(number);
            });
            for (_, seen) in self.of_bits(bits & !call.reported) {
                if let Trigger::Slow { longer_than, .. } = &seen.burst.trigger {
                    let limit = u64::try_from(longer_than.as_nanos()).unwrap_or(u64::MAX);
                    let left = limit.saturating_sub(age).saturating_add(1);
                    next = Some(next.map_or(left, |next| next.min(left)));
                }
            }
        });
        next
    }

    /// The trigger for exceptions of which `fits` finds the class's pattern right.
    pub fn thrown(&self, fits: impl Fn(&Pattern) -> bool, mut begin: impl FnMut(usize)) {
        for (number, seen) in self.triggers.iter().enumerate() {
            if let Trigger::Exception { class } = &seen.burst.trigger
                && self.is_ready(seen)
                && fits(class)
            {
                begin(number);
            }
        }
    }

    /// Whether a trigger for exceptions waits for one.
    pub fn awaits_exceptions(&self) -> bool {
        let is_one = |seen: &TriggerState| matches!(seen.burst.trigger, Trigger::Exception { .. });
        let mut triggers = self.triggers.iter();
        triggers.any(|seen| is_one(seen) && self.is_ready(seen))
    }

    fn is_ready(&self, seen: &TriggerState) -> bool {
        self.armed.load(Ordering::Acquire) && !seen.lasts.load(Ordering::Relaxed)
    }

    /// A trigger's burst begins now: the gate is open behind this. `false` if there is no trace for
    /// it, or it lasts already.
    #[must_use]
    pub fn begin(&self, number: usize) -> bool {
        let Some(seen) = self.triggers.get(number) else {
            return false;
        };
        if !self.armed.load(Ordering::Acquire) || seen.lasts.swap(true, Ordering::AcqRel) {
            return false;
        }
        seen.begun.fetch_add(1, Ordering::Relaxed);
        self.keep_open();
        true
    }

    /// Whether triggers have the newest events saved, and begin no bursts.
    pub fn saves(&self) -> bool {
        self.saves
    }

    /// A trigger has the newest events saved now. `false` if one did shortly before.
    #[must_use]
    pub fn is_save_due(&self, number: usize) -> bool {
        if number >= self.triggers.len() || !self.armed.load(Ordering::Acquire) {
            return false;
        }
        let now = System::now().max(1);
        let last = self.saved.load(Ordering::Relaxed);
        if last != 0 && now.saturating_sub(last) < PAUSE {
            return false;
        }
        let swapped = self
            .saved
            .compare_exchange(last, now, Ordering::AcqRel, Ordering::Relaxed);
        swapped.is_ok()
    }

    /// A trigger, as the options have it.
    pub fn trigger(&self, number: usize) -> String {
        let seen = self.triggers.get(number);
        seen.map_or_else(String::new, |seen| match self.saves {
            true => seen.burst.trigger.to_string(),
            false => seen.burst.to_string(),
        })
    }

    /// What [`Self::begin`] has begun.
    pub fn burst(self: &Arc<Self>, number: usize) -> Option<(Burst, BurstGuard)> {
        let burst = self.triggers.get(number)?.burst.clone();
        let begin_on_command = BurstGuard {
            bursts: Arc::clone(self),
            trigger: Some(number),
        };
        Some((burst, begin_on_command))
    }

    /// As [`Self::begin`], for a burst on command.
    pub fn begin_on_command(self: &Arc<Self>) -> BurstGuard {
        self.keep_open();
        BurstGuard {
            bursts: Arc::clone(self),
            trigger: None,
        }
    }

    fn keep_open(&self) {
        let mut gate = self.gate.lock();
        gate.bursts += 1;
        gate.set();
    }

    /// Whether something goes into the trace now.
    pub fn is_recording(&self) -> bool {
        self.gate.lock().is_recording()
    }

    /// A trace of that format is about to begin.
    pub fn keep_stacks(&self, format: OutputFormat) {
        let mut gate = self.gate.lock();
        gate.stacks = format.keeps_stacks();
        gate.set();
    }

    /// Recording is resumed on command, or paused.
    pub fn resume(&self, resumed: bool) {
        let mut gate = self.gate.lock();
        gate.resumed = resumed;
        gate.set();
    }

    /// The triggers that have begun no burst, the first time that this is asked.
    pub fn never_begun(&self) -> Vec<String> {
        let first = !self.reported.swap(true, Ordering::Relaxed);
        // That there was nothing to save is no news.
        let all = self.triggers.iter().filter(|_| first && !self.saves);
        all.filter(|seen| seen.begun.load(Ordering::Relaxed) == 0)
            .map(|seen| seen.burst.to_string())
            .collect()
    }
}

/// A burst that lasts: as long as this is there, the gate is open.
pub struct BurstGuard {
    bursts: Arc<Bursts>,
    /// None for one on command.
    trigger: Option<usize>,
}

impl Drop for BurstGuard {
    fn drop(&mut self) {
        let seen = self.trigger.and_then(|n| self.bursts.triggers.get(n));
        if let Some(seen) = seen {
            seen.lasts.store(false, Ordering::Release);
        }
        let mut gate = self.bursts.gate.lock();
        gate.bursts = gate.bursts.saturating_sub(1);
        gate.set();
    }
}

/// A call under way of a method that may be too slow.
#[derive(Clone, Copy)]
struct OpenCall {
    method: u32,
    /// In nanoseconds of the system's clock.
    since: u64,
    /// Triggers that it was too slow for already, as bits.
    reported: u32,
}

/// The calls under way, by thread. Virtual threads change their carriers, so it can't be kept with
/// these.
#[derive(Default)]
struct OpenCalls([Mutex<FxHashMap<u32, Vec<OpenCall>>>; 16]);

impl OpenCalls {
    fn of(&self, thread: u32) -> &Mutex<FxHashMap<u32, Vec<OpenCall>>> {
        &self.0[thread as usize % self.0.len()]
    }

    fn enter(&self, thread: u32, method: u32, since: u64) {
        let mut calls = self.of(thread).lock();
        calls.entry(thread).or_default().push(OpenCall {
            method,
            since,
            reported: 0,
        });
    }

    /// The innermost call of that method ends; those above it have ended without a word.
    fn leave(&self, thread: u32, method: u32) -> Option<OpenCall> {
        let mut calls = self.of(thread).lock();
        let open = calls.get_mut(&thread)?;
        let at = open.iter().rposition(|call| call.method == method)?;
        let call = open[at];
        open.truncate(at);
        if at == 0 {
            calls.remove(&thread);
        }
        Some(call)
    }

    fn forget(&self, thread: u32) {
        self.of(thread).lock().remove(&thread);
    }

    fn clear(&self) {
        self.0.iter().for_each(|calls| calls.lock().clear());
    }

    fn for_each(&self, mut look: impl FnMut(&mut OpenCall)) {
        for calls in &self.0 {
            let mut calls = calls.lock();
            calls.values_mut().flatten().for_each(&mut look);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bursts(text: &str) -> Arc<Bursts> {
        let options = jtrail_options::parse(text, &|path| Err(io::Error::other(path.to_owned())));
        let bursts = Bursts::of(&options.expect(text)).expect("addresses");
        bursts.expect("some")
    }

    /// Those that begin at a call.
    fn called(bursts: &Bursts, bits: u32) -> Vec<usize> {
        let mut begun = Vec::new();
        bursts.called(bits, 1, 7, |number| begun.push(number));
        begun
    }

    /// One test, for the gate is one.
    #[test]
    fn triggers_count_and_hold_the_gate() {
        let all = bursts(
            "burst=call:a.B.c:3/9,burst=slow:a.B.c:1h,burst=call:*.c,burst=exception:x.Y,burst=at:0s",
        );
        assert_eq!(all.fits_method("a.B", "c"), 0b111);
        assert_eq!(all.fits_method("a.C", "c"), 0b100);
        assert_eq!(all.fits_method("a.B", "<init>"), 0);
        assert!(all.fits_class("a.B") && all.fits_class("z.Z"));
        all.set_method(7, 0b111, true);
        assert_eq!(all.method(7), 0b111 | RECORDED);
        assert_eq!(all.method(u32::MAX), 0);

        // Without a trace nothing counts, and nothing begins.
        assert_eq!(called(&all, 0b111), [0; 0]);
        assert!(!all.begin(0) && all.begin_at_once().is_empty() && !all.awaits_exceptions());
        all.arm();
        assert_eq!(called(&all, 0b111), [2]);
        assert_eq!(called(&all, 0b001), [0; 0]);
        assert_eq!(called(&all, 0b111 | RECORDED), [0]);
        assert_eq!(called(&all, 0b111), [0; 0], "once");

        // As long as somebody holds it.
        assert!(!is_gate_open());
        assert!(all.begin(0) && !all.begin(0) && is_gate_open());
        let (burst, first) = all.burst(0).expect("begun");
        assert_eq!(burst.to_string(), "call:a.B#c:3/9");
        let second = all.begin_on_command();
        drop(first);
        assert!(is_gate_open());
        all.resume(true);
        drop(second);
        assert!(is_gate_open());
        all.resume(false);
        assert!(!is_gate_open());
        assert_eq!(all.begin_at_once(), [4]);
        drop(all.burst(4));
        assert!(!is_gate_open() && all.begin(0), "it may begin again");
        drop(all.burst(0));

        let thrown = |name: &str| {
            let mut begun = Vec::new();
            all.thrown(|pattern| pattern.matches(name), |number| begun.push(number));
            begun
        };
        assert!(all.awaits_exceptions());
        assert_eq!((thrown("x.Z"), thrown("x.Y")), (vec![], vec![3]));
        all.disarm();
        assert_eq!(thrown("x.Y"), [0; 0]);
        let never = ["slow:a.B#c:1h/10s", "call:*#c:1/10s", "exception:x.Y/10s"];
        assert_eq!(all.never_begun(), never);
        assert_eq!(all.never_begun(), [""; 0], "told once");
    }

    #[test]
    fn slow_calls_are_seen_once() {
        let all = bursts("burst=slow:a.B.c:1us,burst=slow:a.B.c:1h");
        all.set_method(3, 0b11, false);
        all.called(0b11, 5, 3, |_| panic!("not by the call"));
        all.called(0b11, 5, 3, |_| panic!("not by the call"));
        std::thread::sleep(Duration::from_micros(10));
        let mut begun = Vec::new();
        let next = all.watch(|number| begun.push(number));
        assert_eq!(begun, [0, 0], "both calls");
        assert!(next.is_some_and(|ns| ns > 3_500_000_000_000), "{next:?}");
        all.watch(|number| panic!("{number} again"));
        all.left(0b11, 5, 3, |number| panic!("{number} again"));
        all.left(0b11, 5, 3, |number| panic!("{number} again"));
        all.left(0b11, 5, 3, |_| panic!("there is none"));
        assert_eq!(all.watch(|_| {}), None);
        // Nobody has looked in between; an inner call without an end goes with the outer one.
        all.called(0b11, 5, 3, |_| {});
        all.called(0b11, 5, 4, |_| {});
        std::thread::sleep(Duration::from_micros(10));
        all.left(0b11, 5, 3, |number| begun.push(number));
        assert_eq!(begun, [0, 0, 0]);
        assert_eq!(all.watch(|_| {}), None);
        all.called(0b11, 6, 3, |_| {});
        all.forget(6);
        assert_eq!(all.watch(|_| {}), None);
    }
}
