//! Time stamps: from the processor's counter if it is reliable, from the system's clock otherwise.
//!
//! Records hold *ticks*. The writer converts them to nanoseconds since 1970 with a [`Timeline`],
//! which is made from two readings of both clocks.

use jtrail_records::Timeline;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// A source of ticks. It is a type parameter, so that the hot path needs no branch to choose the
/// clock.
pub trait Clock {
    /// Returns the current tick. Ticks never decrease on one thread, and the cores agree on them.
    fn now() -> u64;
}

/// The processor's time-stamp counter.
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
        // SAFETY: the call stores the time in `t`, which lives until the call returns.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
        t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
    }
}

/// Returns the CPU time that the process has used, in nanoseconds.
pub fn process_cpu() -> u64 {
    cpu(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Returns the CPU time that the running thread has used, in nanoseconds.
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
    // SAFETY: the call stores the time in `used`, which lives until the call returns.
    unsafe { libc::clock_gettime(clock, &mut used) };
    used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64
}

/// Sets the timer slack of the running thread to 1 ns, so that its sleeps end on time. By default,
/// Linux ends them some 50 µs late, to handle several timers at once.
pub fn make_timers_exact() {
    #[cfg(target_os = "linux")]
    // SAFETY: the call sets a property of the running thread and takes no address.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1)
    };
}

/// Returns true if the counter has the same constant rate on all cores, in every power state.
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

/// One reading of the ticks and the system's clocks, all at the same moment.
#[derive(Clone, Copy, Debug)]
pub struct Reading {
    ticks: u64,
    monotonic: u64,
    since_1970: u64,
}

impl Reading {
    /// Returns the ticks of this reading.
    pub fn ticks(&self) -> u64 {
        self.ticks
    }

    /// Reads all clocks several times, and returns the reading that was interrupted the least.
    pub fn take(now: fn() -> u64) -> Self {
        Self::least_interrupted(now, System::now, since_1970)
    }

    /// Like [`Self::take`], with any clocks. Both system clocks are read between two readings of
    /// the ticks. So an interruption at any point makes the try longer, and the shortest try is the
    /// best.
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

/// Returns the nanoseconds since 1970-01-01 UTC.
fn since_1970() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.unwrap_or_default().as_nanos() as u64
}

/// Shortest time between two readings from which the counter's rate follows with an error of a few
/// parts per million.
const MIN_SPAN: Duration = Duration::from_millis(20);

/// Returns the timeline through `first` and a reading taken now. If `first` is younger than 20 ms,
/// the function sleeps until it is 20 ms old.
pub fn timeline(first: Reading, now: fn() -> u64) -> Timeline {
    let age = System::now().saturating_sub(first.monotonic);
    if let Some(rest) = MIN_SPAN.checked_sub(Duration::from_nanos(age)) {
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

    /// Each clock advances by one step per reading. In all tries but one, the thread is interrupted
    /// for 1,000 steps, each time at another point.
    #[test]
    fn a_reading_that_was_interrupted_anywhere_is_passed_over() {
        for good in 0..8 {
            let time = std::cell::Cell::new(0_u64);
            let looks = std::cell::Cell::new(0_u64);
            let look = || {
                let at = looks.replace(looks.get() + 1);
                let (attempt, place) = (at / 4, at % 4);
                // An interruption before the first reading of a try does no harm.
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
