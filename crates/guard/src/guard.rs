//! No panic crosses into the JVM: one switches the agent off, says so once, and the program runs
//! on.
//!
//! Whoever comes from the JVM into the agent comes through here, and is counted while inside, so
//! that the agent can leave when nobody is. There are many counters ([`Spread`]).

use crate::log;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

static OFF: AtomicBool = AtomicBool::new(false);
/// An internal error was told.
static SAID: AtomicBool = AtomicBool::new(false);

/// As many of one thing, far apart, so that threads rarely meet at one; which it is says the
/// thread's stack.
pub struct Spread<T>([Apart<T>; SPREAD]);

#[repr(align(128))]
struct Apart<T>(T);

const SPREAD: usize = 64;

impl<T> Spread<T> {
    /// The running thread's, and some others'.
    #[inline]
    pub fn own(&self) -> &T {
        let here = 0_u8;
        // Stacks are some megabytes each: what is above that tells threads apart. Spread by
        // Fibonacci's hash.
        let stack = (&raw const here).addr() as u64 >> 20;
        let at = stack.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - SPREAD.ilog2());
        &self.0[at as usize].0
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|apart| &apart.0)
    }
}

impl<T: Default> Default for Spread<T> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Apart(T::default())))
    }
}

/// How many are inside.
static INSIDE: Spread<AtomicUsize> = Spread([const { Apart(AtomicUsize::new(0)) }; SPREAD]);

/// Somebody is inside.
struct Inside(&'static AtomicUsize);

impl Inside {
    #[inline]
    fn enter() -> Self {
        let counter = INSIDE.own();
        // Before the look for the agent, in the one order of all such accesses: see
        // `wait_until_empty`.
        counter.fetch_add(1, Ordering::SeqCst);
        Self(counter)
    }
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Release);
    }
}

/// Waits until everybody is out who came in before the call: they may have found an agent that is
/// hidden by now. `false` if that takes longer.
pub fn wait_until_empty(at_most: Duration) -> bool {
    let until = Instant::now() + at_most;
    INSIDE.iter().all(|counter| {
        while counter.load(Ordering::SeqCst) != 0 {
            if Instant::now() > until {
                return false;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        true
    })
}

/// Whether recording has ended, by an error or with the trace.
#[inline]
pub fn is_off() -> bool {
    OFF.load(Ordering::Relaxed)
}

/// How often recording has begun: what was there before the last time is of an earlier agent.
static ROUND: AtomicUsize = AtomicUsize::new(0);

/// Returns a number that is another one each time that recording begins.
pub fn round() -> usize {
    ROUND.load(Ordering::Acquire)
}

/// Lets recording begin.
pub fn switch_on() {
    ROUND.fetch_add(1, Ordering::AcqRel);
    SAID.store(false, Ordering::Relaxed);
    OFF.store(false, Ordering::Relaxed);
}

/// Ends recording for good.
pub fn switch_off() {
    OFF.store(true, Ordering::Relaxed);
}

/// Runs `f`; a panic in it ends recording, and the answer is the default.
pub fn run<T: Default>(place: &str, f: impl FnOnce() -> T) -> T {
    let _inside = Inside::enter();
    run_thread(place, f)
}

/// As [`run`], for a thread of the agent's own, which is not counted: the agent waits for its end
/// by other means.
pub fn run_thread<T: Default>(place: &str, f: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        switch_off();
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("unknown");
        if !SAID.swap(true, Ordering::Relaxed) {
            log::say(&format!(
                "internal error in {place}: {text}; tracing is off, the program goes on. Please report this"
            ));
        }
        T::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    /// The only test that waits for others; those that come in meanwhile leave soon.
    #[test]
    fn who_is_inside_is_waited_for() {
        let (inside, is_inside) = channel();
        let (leave, may_leave) = channel::<()>();
        let thread = std::thread::spawn(move || {
            run("a test", || {
                inside.send(()).expect("it waits");
                let _ = may_leave.recv();
            });
        });
        is_inside.recv().expect("it runs");
        assert!(!wait_until_empty(Duration::from_millis(20)));
        drop(leave);
        assert!(wait_until_empty(Duration::from_secs(10)));
        thread.join().expect("no panic");
    }
}
