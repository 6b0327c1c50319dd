//! Bursts that triggers begin (`burst=`): the triggers, and the gate that is open during a burst.
//!
//! Between bursts, the probes of calls stop at the gate, a word of memory that they read
//! (`JtrailHook.java`). Methods whose calls may begin a burst have probes of their own, which call
//! this module. A trigger that fires opens the gate at once and stores a record. The writer resumes
//! the trace when it reads that record. It also counts the burst's events and time, and ends the
//! burst.

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

/// The gate, which probes read: 0 while nothing is recorded, 1 otherwise.
static GATE: AtomicU32 = AtomicU32::new(0);

/// Flag beside a method's trigger bits: calls of the method are recorded, too.
pub const RECORDED: u32 = 1 << 31;

/// Returns the address of the gate.
pub fn gate_address() -> usize {
    GATE.as_ptr() as usize
}

/// Returns true if the gate is open: something is recorded now, or may be.
#[inline]
pub fn is_gate_open() -> bool {
    GATE.load(Ordering::Acquire) != 0
}

/// All triggers, with their state.
pub struct Bursts {
    triggers: Box<[TriggerState]>,
    /// By method number: the triggers that watch the method, as bits, and [`RECORDED`].
    methods: Zeros<AtomicU32>,
    /// True while there is a trace, so that triggers may fire.
    armed: AtomicBool,
    /// Reasons for which the gate is open.
    gate: Mutex<Gate>,
    /// Open calls of methods that may be too slow.
    open_calls: OpenCalls,
    /// True once [`Self::never_begun`] has returned its list.
    reported: AtomicBool,
    /// True if everything is recorded, and a trigger makes the flight recorder save its events.
    saves: bool,
    /// Time of the last save that a trigger started, in nanoseconds of the system's clock; 0 if
    /// there was none.
    saved: AtomicU64,
}

/// Minimum time between two saves that triggers start, in nanoseconds. Triggers that fire earlier
/// are ignored.
const PAUSE: u64 = 10_000_000_000;

/// A trigger, with its state.
struct TriggerState {
    burst: Burst,
    /// Number of calls of the trigger's methods in this trace.
    calls: AtomicU64,
    /// True during the trigger's burst.
    is_going_on: AtomicBool,
    /// Number of bursts that the trigger began.
    begun: AtomicU64,
}

/// The reasons for which the gate is open.
#[derive(Default)]
struct Gate {
    /// Number of bursts that are going on.
    bursts: u32,
    /// True if recording was resumed on command.
    resumed: bool,
    /// True if probes must run between bursts as well. They must if the trace's format keeps the
    /// calls that are open when a burst begins, or if everything is recorded.
    stacks: bool,
}

impl Gate {
    fn is_recording(&self) -> bool {
        self.bursts > 0 || self.resumed
    }

    fn set(&self) {
        let is_open = self.is_recording() || self.stacks;
        if is_open && !is_gate_open() {
            pending::skip_epoch(); // constructors were missed while the gate was closed
        }
        GATE.store(is_open.into(), Ordering::Release);
    }
}

impl Bursts {
    /// Returns the triggers of the options, or `None` if the options have none.
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
            is_going_on: AtomicBool::new(false),
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

    /// Begins to count calls for a new trace, which is paused at first. From now on, triggers may
    /// fire.
    pub fn arm(&self) {
        self.open_calls.clear();
        for seen in &self.triggers {
            seen.calls.store(0, Ordering::Relaxed);
        }
        self.armed.store(true, Ordering::Release);
    }

    /// Begins the bursts that are due at the start of the trace. Returns the numbers of their
    /// triggers.
    pub fn begin_at_once(&self) -> Vec<usize> {
        let is_due =
            |number: &usize| self.triggers[*number].burst.trigger == Trigger::At(Duration::ZERO);
        let due = (0..self.triggers.len()).filter(is_due);
        due.filter(|number| self.begin(*number)).collect()
    }

    /// Ends counting, before the trace ends.
    pub fn disarm(&self) {
        self.armed.store(false, Ordering::Release);
    }

    /// Returns the triggers whose bits are set, with their numbers.
    fn of_bits(&self, bits: u32) -> impl Iterator<Item = (usize, &TriggerState)> {
        let all = self.triggers.iter().enumerate();
        all.filter(move |(number, _)| bits & 1 << number != 0)
    }

    /// Returns true if a trigger may watch methods of the class (`com.acme.Foo`).
    pub fn fits_class(&self, class: &str) -> bool {
        let mut triggers = self.triggers.iter();
        triggers.any(|seen| seen.burst.trigger.fits_class(class))
    }

    /// Returns the triggers that watch a method, as bits.
    pub fn fits_method(&self, class: &str, method: &str) -> u32 {
        let mut bits = 0;
        for (number, seen) in self.triggers.iter().enumerate() {
            let trigger = &seen.burst.trigger;
            // If `super(...)` throws an exception, the constructor that called it has no leave
            // event. So constructors can't be timed.
            let has_end = method != "<init>" || !matches!(trigger, Trigger::Slow { .. });
            if has_end && trigger.fits_method(class, method) {
                bits |= 1 << number;
            }
        }
        bits
    }

    /// Sets which triggers watch a method from now on, and whether its calls are recorded.
    pub fn set_method(&self, number: u32, bits: u32, is_recorded: bool) {
        if let Some(method) = self.methods.all().get(number as usize) {
            let recorded = if is_recorded { RECORDED } else { 0 };
            method.store(bits | recorded, Ordering::Release);
        }
    }

    /// Returns what [`Self::set_method`] set: the trigger bits, and [`RECORDED`].
    pub fn method(&self, number: u32) -> u32 {
        let method = self.methods.all().get(number as usize);
        method.map_or(0, |bits| bits.load(Ordering::Relaxed))
    }

    /// Counts a call of a method that the triggers `bits` watch, on the thread `thread`. Calls
    /// `begin` for each trigger that fires.
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

    /// Notes the end of a call that [`Self::called`] counted. Calls `begin` for each trigger whose
    /// time limit the call exceeded.
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

    /// Calls `found` for each trigger of `bits` whose limit a call of the age `age` exceeds. `age`
    /// is in nanoseconds.
    fn overdue(&self, bits: u32, age: u64, mut found: impl FnMut(usize)) {
        for (number, seen) in self.of_bits(bits) {
            if let Trigger::Slow { longer_than, .. } = &seen.burst.trigger
                && u128::from(age) > longer_than.as_nanos()
            {
                found(number);
            }
        }
    }

    /// Forgets the open calls of a thread that has ended.
    pub fn forget(&self, thread: u32) {
        self.open_calls.forget(thread);
    }

    /// Calls `begin` for each open call that has become too slow. Returns the nanoseconds until the
    /// next open call becomes too slow.
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

    /// Calls `begin` for each trigger that an exception fires. `fits` returns true if the
    /// exception's class matches a pattern.
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

    /// Returns true if a trigger for exceptions can fire now.
    pub fn awaits_exceptions(&self) -> bool {
        let is_one = |seen: &TriggerState| matches!(seen.burst.trigger, Trigger::Exception { .. });
        let mut triggers = self.triggers.iter();
        triggers.any(|seen| is_one(seen) && self.is_ready(seen))
    }

    fn is_ready(&self, seen: &TriggerState) -> bool {
        self.armed.load(Ordering::Acquire) && !seen.is_going_on.load(Ordering::Relaxed)
    }

    /// Begins a trigger's burst and opens the gate. Returns false if there is no trace, or if the
    /// trigger's burst is already going on.
    #[must_use]
    pub fn begin(&self, number: usize) -> bool {
        let Some(seen) = self.triggers.get(number) else {
            return false;
        };
        if !self.armed.load(Ordering::Acquire) || seen.is_going_on.swap(true, Ordering::AcqRel) {
            return false;
        }
        seen.begun.fetch_add(1, Ordering::Relaxed);
        self.keep_open();
        true
    }

    /// Returns true if triggers save the flight recorder's events instead of beginning bursts.
    pub fn saves(&self) -> bool {
        self.saves
    }

    /// Returns true if a trigger that fires now shall save the flight recorder's events. Returns
    /// false if a trigger has started a save shortly before.
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

    /// Returns the text of a trigger, as in the options.
    pub fn trigger(&self, number: usize) -> String {
        let seen = self.triggers.get(number);
        seen.map_or_else(String::new, |seen| match self.saves {
            true => seen.burst.trigger.to_string(),
            false => seen.burst.to_string(),
        })
    }

    /// Returns the burst that [`Self::begin`] has begun, and the guard that ends it.
    pub fn burst(self: &Arc<Self>, number: usize) -> Option<(Burst, BurstGuard)> {
        let burst = self.triggers.get(number)?.burst.clone();
        let begin_on_command = BurstGuard {
            bursts: Arc::clone(self),
            trigger: Some(number),
        };
        Some((burst, begin_on_command))
    }

    /// Like [`Self::begin`], for a burst on command.
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

    /// Returns true if events go into the trace now.
    pub fn is_recording(&self) -> bool {
        self.gate.lock().is_recording()
    }

    /// Prepares the gate for a trace with the format `format`.
    pub fn keep_stacks(&self, format: OutputFormat) {
        let mut gate = self.gate.lock();
        gate.stacks = format.keeps_stacks();
        gate.set();
    }

    /// Notes that recording is resumed (true) or paused (false) on command.
    pub fn resume(&self, resumed: bool) {
        let mut gate = self.gate.lock();
        gate.resumed = resumed;
        gate.set();
    }

    /// Returns the triggers that have begun no burst. Returns them once; further calls return none.
    pub fn never_begun(&self) -> Vec<String> {
        let first = !self.reported.swap(true, Ordering::Relaxed);
        // With a flight recorder, a trigger that never fired is not worth a message.
        let all = self.triggers.iter().filter(|_| first && !self.saves);
        all.filter(|seen| seen.begun.load(Ordering::Relaxed) == 0)
            .map(|seen| seen.burst.to_string())
            .collect()
    }
}

/// A burst that is going on. The gate stays open at least until the guard is dropped.
pub struct BurstGuard {
    bursts: Arc<Bursts>,
    /// Number of the burst's trigger; `None` for a burst on command.
    trigger: Option<usize>,
}

impl Drop for BurstGuard {
    fn drop(&mut self) {
        let seen = self.trigger.and_then(|n| self.bursts.triggers.get(n));
        if let Some(seen) = seen {
            seen.is_going_on.store(false, Ordering::Release);
        }
        let mut gate = self.bursts.gate.lock();
        gate.bursts = gate.bursts.saturating_sub(1);
        gate.set();
    }
}

/// An open call of a method that may be too slow.
#[derive(Clone, Copy)]
struct OpenCall {
    method: u32,
    /// Start of the call, in nanoseconds of the system's clock.
    since: u64,
    /// Triggers that have fired for this call, as bits.
    reported: u32,
}

/// The open calls, by thread number. The calls of a virtual thread can't be kept with its carrier,
/// because virtual threads change carriers.
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

    /// Removes and returns the innermost call of the method. Open calls within it have ended
    /// without a leave event, and are removed, too.
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

    /// Returns the triggers that a call fires.
    fn called(bursts: &Bursts, bits: u32) -> Vec<usize> {
        let mut begun = Vec::new();
        bursts.called(bits, 1, 7, |number| begun.push(number));
        begun
    }

    /// One test, because all tests of the process share the gate.
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

        // Without a trace, calls are not counted, and no burst begins.
        assert_eq!(called(&all, 0b111), [0; 0]);
        assert!(!all.begin(0) && all.begin_at_once().is_empty() && !all.awaits_exceptions());
        all.arm();
        assert_eq!(called(&all, 0b111), [2]);
        assert_eq!(called(&all, 0b001), [0; 0]);
        assert_eq!(called(&all, 0b111 | RECORDED), [0]);
        assert_eq!(called(&all, 0b111), [0; 0], "once");

        // The gate is open until the last guard is dropped.
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
        assert_eq!(all.never_begun(), [""; 0], "reported once");
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
        // `watch` was not called between enter and leave. An inner call without a leave ends with
        // the outer one.
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
