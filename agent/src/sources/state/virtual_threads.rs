//! CPU times of virtual threads, and other state about them.

use jtrail_guard::guard;
use jtrail_jvm::jvmti::ThreadFunction;
use jtrail_options::{Events, Options};
use jtrail_recorder::clock::thread_cpu;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::array;
use std::cell::Cell;
use std::sync::OnceLock;

/// The state of virtual threads.
pub(in crate::sources) struct VirtualThreads {
    /// CPU times of virtual threads, if they are measured.
    pub(in crate::sources) times: Option<VirtualTimes>,
    /// HotSpot's `GetCarrierThread`, if it exists.
    pub(in crate::sources) get_carrier: OnceLock<Option<ThreadFunction>>,
}

impl VirtualThreads {
    pub(in crate::sources) fn of(options: &Options) -> Self {
        let has_times = options.events.contains(Events::CPU);
        Self {
            times: has_times.then(VirtualTimes::default),
            get_carrier: OnceLock::new(),
        }
    }
}

thread_local! {
    /// A round of recording ([`guard::round`]), and a value that is valid only in that round. The
    /// value is the CPU time of the virtual thread that runs here, minus the CPU time of this
    /// carrier. The difference wraps around. The value is 0 while no virtual thread runs here.
    static AHEAD: Cell<(usize, u64)> = const { Cell::new((0, 0)) };
}

fn set_ahead(ahead: u64) {
    AHEAD.set((guard::round(), ahead));
}

/// Returns the CPU time of the running thread, virtual or not, in nanoseconds.
pub(crate) fn now() -> u64 {
    let (round, ahead) = AHEAD.get();
    match round == guard::round() {
        true => thread_cpu().wrapping_add(ahead),
        false => thread_cpu(),
    }
}

/// CPU times of live virtual threads, by number. The map is split, so that carriers rarely wait for
/// each other.
pub(crate) struct VirtualTimes([Mutex<FxHashMap<u32, Time>>; 16]);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Time {
    /// The CPU time that the virtual thread has used.
    Unmounted(u64),
    /// `ahead` is the virtual thread's CPU time minus the carrier's CPU time. The difference wraps
    /// around.
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

    /// Notes that the virtual thread has mounted `carrier`, which is the running thread.
    pub(in crate::sources) fn mounted(&self, thread: u32, carrier: u32) {
        let mut part = self.part(thread).lock();
        let used = match part.get(&thread) {
            Some(Time::Unmounted(used)) => *used,
            _ => 0,
        };
        let ahead = used.wrapping_sub(thread_cpu());
        set_ahead(ahead);
        part.insert(thread, Time::Mounted { carrier, ahead });
    }

    /// Notes that the virtual thread has unmounted the running thread.
    pub(in crate::sources) fn unmounted(&self, thread: u32) {
        let used = Time::Unmounted(now());
        set_ahead(0);
        self.part(thread).lock().insert(thread, used);
    }

    /// Notes that the virtual thread that runs here ends. Returns its CPU time.
    pub(in crate::sources) fn ended(&self, thread: u32) -> u64 {
        let used = now();
        set_ahead(0);
        self.part(thread).lock().remove(&thread);
        used
    }

    /// Returns the CPU times of all virtual threads, by number. `clock_of` returns the CPU time of
    /// a carrier. Meanwhile, no virtual thread can mount or unmount.
    pub(in crate::sources) fn all(&self, clock_of: impl Fn(u32) -> Option<u64>) -> Vec<(u32, u64)> {
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Uses some CPU time.
    fn burn() {
        let end = thread_cpu() + 3_000_000;
        while thread_cpu() < end {
            std::hint::spin_loop();
        }
    }

    #[test]
    fn cpu_time_follows_a_virtual_thread_and_excludes_its_carriers() {
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
                let all = times.all(|carrier| (carrier == 2).then(thread_cpu));
                assert!(all[0].1 >= first + 3_000_000, "{all:?}");
                times.ended(7)
            });
            other.join().expect("it ends")
        });
        assert!((first + 3_000_000..first + 6_000_000).contains(&second));
        assert_eq!(times.all(|_| None), []);
    }
}
