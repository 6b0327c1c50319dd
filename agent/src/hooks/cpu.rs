//! CPU time of threads: user and system time, in nanoseconds, as the kernel counts it.
//!
//! The kernel counts for its own threads. A virtual thread's time is put together from its mounts: when it takes a carrier, the
//! difference between what it has used so far and the carrier's clock is kept with the carrier, and added to each reading until it
//! leaves. So its time is its own, and never falls. A carrier's time is what the kernel says, its virtual threads' included, as
//! everywhere else in Java.

use super::record;
use crate::agent::Agent;
use jtrail_recorder::buffer::ThreadBuffer;
use jtrail_recorder::buffer::record::Code;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::array;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};

/// What goes with each enter and leave. A type, so that the hot path has no branch for it.
pub(super) trait Measure {
    /// The running thread's CPU time, where it is wanted.
    fn now() -> Option<u64>;
}

/// Nothing does.
pub(super) struct Without;

impl Measure for Without {
    #[inline(always)]
    fn now() -> Option<u64> {
        None
    }
}

/// CPU time does.
pub(super) struct WithCpu;

impl Measure for WithCpu {
    #[inline]
    fn now() -> Option<u64> {
        Some(now())
    }
}

thread_local! {
    /// For which agent this is; CPU time of the virtual thread that runs here, less that of this thread, which wraps. 0 while none does.
    static AHEAD: Cell<(u32, u64)> = const { Cell::new((0, 0)) };
}

/// How many agents have left: what threads know from an earlier one does not hold.
static ROUND: AtomicU32 = AtomicU32::new(0);

/// The agent leaves.
pub(super) fn forget() {
    ROUND.fetch_add(1, Ordering::Relaxed);
}

fn set_ahead(ahead: u64) {
    AHEAD.set((ROUND.load(Ordering::Relaxed), ahead));
}

/// CPU time of the running thread, virtual or not.
pub(super) fn now() -> u64 {
    let (round, ahead) = AHEAD.get();
    match round == ROUND.load(Ordering::Relaxed) {
        true => clock().wrapping_add(ahead),
        false => clock(),
    }
}

/// CPU time of the operating system's thread that runs this.
fn clock() -> u64 {
    let mut t = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `t` is a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    t.tv_sec as u64 * 1_000_000_000 + t.tv_nsec as u64
}

/// CPU times of live virtual threads, by number, in parts so that carriers rarely wait for each other.
pub(crate) struct VirtualTimes([Mutex<FxHashMap<u32, Time>>; 16]);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Time {
    /// What it has used.
    Unmounted(u64),
    /// What it is ahead of this carrier's clock; wraps.
    Mounted { carrier: u32, ahead: u64 },
}

impl Default for VirtualTimes {
    fn default() -> Self {
        Self(array::from_fn(|_| Mutex::default()))
    }
}

impl VirtualTimes {
    fn part(&self, thread: u32) -> &Mutex<FxHashMap<u32, Time>> {
        &self.0[thread as usize % self.0.len()]
    }

    /// The virtual thread runs on this carrier from now on.
    pub(super) fn mounted(&self, thread: u32, carrier: u32) {
        let mut part = self.part(thread).lock();
        let used = match part.get(&thread) {
            Some(Time::Unmounted(used)) => *used,
            _ => 0,
        };
        let ahead = used.wrapping_sub(clock());
        set_ahead(ahead);
        part.insert(thread, Time::Mounted { carrier, ahead });
    }

    /// It does not any more.
    pub(super) fn unmounted(&self, thread: u32) {
        let used = Time::Unmounted(now());
        set_ahead(0);
        self.part(thread).lock().insert(thread, used);
    }

    /// The virtual thread, which runs here, is at its end. The answer is what it used.
    pub(super) fn ended(&self, thread: u32) -> u64 {
        let used = now();
        set_ahead(0);
        self.part(thread).lock().remove(&thread);
        used
    }

    /// What all have used, by number; `clock_of` answers the CPU time of a carrier. Until the answer, none of them moves.
    fn all(&self, clock_of: impl Fn(u32) -> Option<u64>) -> Vec<(u32, u64)> {
        let parts = self.0.each_ref().map(Mutex::lock);
        let used = |(thread, time): (&u32, &Time)| match *time {
            Time::Unmounted(used) => Some((*thread, used)),
            Time::Mounted { carrier, ahead } => {
                Some((*thread, clock_of(carrier)?.wrapping_add(ahead)))
            }
        };
        let all = parts.iter().flat_map(|part| part.iter());
        all.filter_map(used).collect()
    }
}

/// Records what a thread has used.
pub(super) fn record_thread(agent: &Agent, buffer: &ThreadBuffer, thread: u32, used: u64) {
    let payload = [u64::from(thread), used];
    record(agent, Some(buffer), Code::ThreadCpu, &payload);
}

/// Records what each live virtual thread has used, by the clocks of the platform threads.
pub(super) fn record_virtual(
    agent: &Agent,
    buffer: &ThreadBuffer,
    clock_of: impl Fn(u32) -> Option<u64>,
) {
    let Some(times) = &agent.virtual_times else {
        return;
    };
    for (thread, used) in times.all(clock_of) {
        record_thread(agent, buffer, thread, used);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses some CPU time.
    fn burn() {
        let end = clock() + 3_000_000;
        while clock() < end {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn a_virtual_thread_takes_its_time_along_and_leaves_the_carriers_behind() {
        let times = VirtualTimes::default();
        burn();
        times.mounted(7, 1);
        assert!(now() < 1_000_000, "none of the carrier's time is its own");
        burn();
        times.unmounted(7);
        let (first, carrier) = (times.all(|_| None)[0].1, now());
        assert!(first >= 3_000_000);
        assert!(carrier >= 6_000_000, "the carrier's time is all of it");
        let second = std::thread::scope(|s| {
            let other = s.spawn(|| {
                burn();
                times.mounted(7, 2);
                assert!(now() >= first, "it never falls");
                burn();
                let all = times.all(|carrier| (carrier == 2).then(clock));
                assert!(all[0].1 >= first + 3_000_000, "{all:?}");
                times.ended(7)
            });
            other.join().expect("it ends")
        });
        assert!((first + 3_000_000..first + 6_000_000).contains(&second));
        assert_eq!(times.all(|_| None), []);
    }
}
