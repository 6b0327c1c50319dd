//! Keeps panics from crossing into the JVM: a panic switches the agent off and prints one message,
//! and the program continues.
//!
//! All calls from the JVM into the agent pass through [`run`], which counts the threads inside. So
//! the agent can be disposed of when no thread is inside. Many counters ([`Spread`]) keep threads
//! from competing for one.

use crate::log;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

static OFF: AtomicBool = AtomicBool::new(false);
/// True if an internal error was reported since recording last began.
static REPORTED: AtomicBool = AtomicBool::new(false);

/// Many copies of a value in separate cache lines, so that threads rarely compete for one. The
/// address of a thread's stack selects its copy.
pub struct Spread<T>([Apart<T>; SPREAD]);

#[repr(align(128))]
struct Apart<T>(T);

const SPREAD: usize = 64;

impl<T> Spread<T> {
    /// Returns the running thread's copy, which other threads may share.
    #[inline]
    pub fn own(&self) -> &T {
        let here = 0_u8;
        // Stacks take some megabytes each, so the upper bits of an address identify the thread.
        // They are distributed by Fibonacci hashing.
        let stack = (&raw const here).addr() as u64 >> 20;
        let at = stack.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - SPREAD.ilog2());
        &self.0[at as usize].0
    }

    /// Iterates over all copies.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|apart| &apart.0)
    }
}

impl<T: Default> Default for Spread<T> {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Apart(T::default())))
    }
}

/// The number of threads inside the agent.
static INSIDE: Spread<AtomicUsize> = Spread([const { Apart(AtomicUsize::new(0)) }; SPREAD]);

/// Marks a thread as inside the agent, until dropped.
struct Inside(&'static AtomicUsize);

impl Inside {
    #[inline]
    fn enter() -> Self {
        let counter = INSIDE.own();
        // The thread is counted before it looks up the agent, with sequentially consistent
        // ordering: see `wait_until_idle`.
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

/// Waits until all threads that entered before the call have left. They may still use the agent;
/// threads that enter later must not find it any more. Returns false if this takes longer than
/// `at_most`.
pub fn wait_until_idle(at_most: Duration) -> bool {
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

/// Returns true if recording has ended, by an error or with the trace.
#[inline]
pub fn is_off() -> bool {
    OFF.load(Ordering::Relaxed)
}

/// Counts how often recording has begun. State that was stored at a lower count belongs to an
/// earlier agent.
static ROUND: AtomicUsize = AtomicUsize::new(0);

/// Returns a number that changes each time recording begins.
pub fn round() -> usize {
    ROUND.load(Ordering::Acquire)
}

/// Begins recording.
pub fn switch_on() {
    ROUND.fetch_add(1, Ordering::AcqRel);
    REPORTED.store(false, Ordering::Relaxed);
    OFF.store(false, Ordering::Relaxed);
}

/// Ends recording for good.
pub fn switch_off() {
    OFF.store(true, Ordering::Relaxed);
}

/// Runs `f` for a call from the JVM. If `f` panics, recording ends, and the result is the default.
pub fn run<T: Default>(place: &str, f: impl FnOnce() -> T) -> T {
    let _inside = Inside::enter();
    run_thread(place, f)
}

/// Like [`run`], but for an agent thread. The thread is not counted as inside, because the agent
/// joins its threads.
pub fn run_thread<T: Default>(place: &str, f: impl FnOnce() -> T) -> T {
    catch_unwind(AssertUnwindSafe(f)).unwrap_or_else(|panic| {
        switch_off();
        let text = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("unknown");
        if !REPORTED.swap(true, Ordering::Relaxed) {
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

    /// No other test calls `wait_until_idle`. Other tests may enter at the same time, but leave
    /// soon.
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
        assert!(!wait_until_idle(Duration::from_millis(20)));
        drop(leave);
        assert!(wait_until_idle(Duration::from_secs(10)));
        thread.join().expect("no panic");
    }
}
