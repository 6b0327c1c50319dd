//! Time stamps: the processor's counter where it can be trusted, the system's clock elsewhere.
//!
//! Records hold *ticks*. The writer turns them into nanoseconds since 1970 with a [`Timeline`]
//! through two readings of both clocks.

use jtrail_records::Timeline;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Where ticks come from. A type, so that the hot path has no branch for it.
pub trait Clock {
    /// The present tick. Never falls on one thread, and agrees between cores.
    fn now() -> u64;
}

/// The time-stamp counter.
pub struct Counter;

impl Clock for Counter {
    #[inline(always)]
    fn now() -> u64 {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: every x86-64 processor has the instruction.
        return unsafe { core::arch::x86_64::_rdtsc() };
        #[cfg(target_arch = "aarch64")]
        {
            let ticks: u64;
            // SAFETY: Linux lets user space read the virtual counter.
            unsafe {
                core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack))
            };
            return ticks;
        }
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        return System::now();
    }
}

/// The system's monotonic clock, in nanoseconds.
pub struct System;

impl Clock for System {
    #[inline(always)]
    fn now() -> u64 {
        let mut t = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: the call stores the time in `t`, which lives until it returns.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
        t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
    }
}

/// CPU time that the process has used, in nanoseconds.
pub fn process_cpu() -> u64 {
    cpu(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time that the running thread has used, in nanoseconds.
#[inline]
pub fn thread_cpu() -> u64 {
    cpu(libc::CLOCK_THREAD_CPUTIME_ID)
}

#[inline]
fn cpu(clock: libc::clockid_t) -> u64 {
    let mut used = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the call stores the time in `used`, which lives until it returns.
    unsafe { libc::clock_gettime(clock, &mut used) };
    used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64
}

/// From now on, the running thread is woken when its sleeps are over, and not some 50 µs later, as
/// the system likes to put off what is due at about the same time.
pub fn timer_is_exact() {
    #[cfg(target_os = "linux")]
    // SAFETY: sets a property of the running thread; it takes no address.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1)
    };
}

/// Whether the counter runs at one speed on all cores, whatever the power state.
pub fn counter_is_steady() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::__cpuid;
        const INVARIANT_TSC: u32 = 1 << 8;
        __cpuid(0x8000_0000).eax >= 0x8000_0007 && __cpuid(0x8000_0007).edx & INVARIANT_TSC != 0
    }
    #[cfg(not(target_arch = "x86_64"))]
    cfg!(target_arch = "aarch64")
}

/// A reading of the ticks and of the system's clocks at one moment.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    ticks: u64,
    monotonic: u64,
    since_1970: u64,
}

impl Reading {
    /// The ticks at that moment.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Reads the clocks; of several tries the one that was interrupted the least.
    pub fn take(now: fn() -> u64) -> Self {
        Self::least_interrupted(now, System::now, since_1970)
    }

    /// All three clocks are read between two looks at the ticks, so that an interruption at any
    /// place makes the try a long one.
    fn least_interrupted(
        mut now: impl FnMut() -> u64,
        mut monotonic: impl FnMut() -> u64,
        mut since_1970: impl FnMut() -> u64,
    ) -> Self {
        (0..8)
            .map(|_| {
                let before = now();
                let (monotonic, since_1970) = (monotonic(), since_1970());
                let width = now().wrapping_sub(before);
                let ticks = before.wrapping_add(width / 2);
                let reading = Self {
                    ticks,
                    monotonic,
                    since_1970,
                };
                (width, reading)
            })
            .min_by_key(|(width, _)| *width)
            .map(|(_, reading)| reading)
            .expect("eight readings")
    }
}

/// Nanoseconds since 1970-01-01 UTC.
fn since_1970() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_nanos() as u64
}

/// Shortest span between two readings that gives a speed good to a few parts in a million.
const LEAST_SPAN: Duration = Duration::from_millis(20);

/// The line from `first` to now. Sleeps for the rest of 20 ms when `first` is younger.
pub fn timeline(first: Reading, now: fn() -> u64) -> Timeline {
    let age = System::now().saturating_sub(first.monotonic);
    if let Some(rest) = LEAST_SPAN.checked_sub(Duration::from_nanos(age)) {
        std::thread::sleep(rest);
    }
    let second = Reading::take(now);
    let ticks = second.ticks.saturating_sub(first.ticks);
    let ns = second.monotonic.saturating_sub(first.monotonic);
    Timeline::new(first.ticks, first.since_1970, (ticks, ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agrees<C: Clock>() {
        let first = Reading::take(C::now);
        let line = timeline(first, C::now);
        std::thread::sleep(Duration::from_millis(5));
        let ours = line.at(C::now());
        let theirs = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .expect("after 1970")
            .as_nanos() as i64;
        assert!((ours - theirs).abs() < 5_000_000, "{ours} against {theirs}");
        let second = line.ticks_in(Duration::from_secs(1));
        let length = line.at(first.ticks + second) - line.at(first.ticks);
        assert!((length - 1_000_000_000).abs() < 10, "{length}");
        let back = line.time_of(second).as_nanos() as i64;
        assert!((back - 1_000_000_000).abs() < 10, "{back}");
    }

    /// Each clock is one step further at each look, and the thread is interrupted for 1,000 steps
    /// in all tries but one, each time at another place.
    #[test]
    fn a_reading_that_was_interrupted_anywhere_is_passed_over() {
        for good in 0..8 {
            let time = std::cell::Cell::new(0_u64);
            let looks = std::cell::Cell::new(0_u64);
            let look = || {
                let at = looks.replace(looks.get() + 1);
                let (attempt, place) = (at / 4, at % 4);
                // Before the first look of a try, an interruption does no harm.
                let interrupted = attempt != good && place == 1 + attempt % 3;
                time.set(time.get() + 1 + if interrupted { 1000 } else { 0 });
                time.get()
            };
            let reading = Reading::least_interrupted(look, look, look);
            assert_eq!(reading.monotonic, reading.ticks, "{good}");
            assert_eq!(reading.since_1970, reading.ticks + 1, "{good}");
        }
    }

    #[test]
    fn both_clocks_agree_with_the_system() {
        agrees::<System>();
        if counter_is_steady() {
            agrees::<Counter>();
        }
    }
}
