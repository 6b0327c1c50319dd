//! Figures of threads besides their calls: CPU time, ids, and mounts on carriers.

use crate::saved::by_key;
use jtrail_model::{Duration, Event, ThreadId, Timestamp};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// The figures of one thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ThreadStat {
    /// The CPU time of the thread, as last reported.
    pub cpu: Option<Duration>,
    /// The operating system's id of the thread. If the thread had several, the last one.
    pub os_id: Option<u64>,
    /// The number of mounts, for a virtual thread.
    pub mounts: u64,
    /// The time on carriers in ns.
    pub mounted: i64,
    #[serde(skip)]
    on_carrier_since: Option<Timestamp>,
}

/// The figures of all threads that have any.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Threads {
    /// Figures by thread.
    #[serde(with = "by_key")]
    pub all: FxHashMap<ThreadId, ThreadStat>,
}

impl Threads {
    /// Processes CPU times, ids, mounts, unmounts, and ends of threads. Ignores other events.
    pub fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::ThreadCpu(e) => {
                self.all.entry(e.thread).or_default().cpu = Some(e.cpu_time);
            }
            Event::ThreadOsId(e) => {
                self.all.entry(e.thread).or_default().os_id = Some(e.os_id);
            }
            Event::ThreadMount(e) => {
                let thread = self.all.entry(e.thread).or_default();
                thread.mounts += 1;
                thread.on_carrier_since = Some(e.time);
            }
            Event::ThreadUnmount(e) => self.unmount(e.thread, e.time),
            Event::ThreadEnd(e) => self.unmount(e.thread, e.time),
            _ => {}
        }
    }

    /// Ends the mounts that are open at the end of the trace.
    pub fn finish(&mut self, time: Timestamp) {
        self.all.values_mut().for_each(|t| t.unmount(time));
    }

    fn unmount(&mut self, thread: ThreadId, time: Timestamp) {
        if let Some(thread) = self.all.get_mut(&thread) {
            thread.unmount(time);
        }
    }
}

impl ThreadStat {
    fn unmount(&mut self, time: Timestamp) {
        if let Some(since) = self.on_carrier_since.take() {
            self.mounted = self.mounted.saturating_add(time.since(since).0.max(0));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_model::{ThreadCpu, ThreadEnd, ThreadMount, ThreadUnmount};

    #[test]
    fn cpu_time_and_carriers() {
        let mut threads = Threads::default();
        let cpu = |time, ns| {
            Event::ThreadCpu(ThreadCpu {
                thread: ThreadId(1),
                time: Timestamp(time),
                cpu_time: Duration(ns),
            })
        };
        let mount = |thread, time| {
            Event::ThreadMount(ThreadMount {
                thread: ThreadId(thread),
                time: Timestamp(time),
                carrier: ThreadId(1),
            })
        };
        let unmount = |thread, time| {
            Event::ThreadUnmount(ThreadUnmount {
                thread: ThreadId(thread),
                time: Timestamp(time),
                carrier: ThreadId(1),
            })
        };
        let end = Event::ThreadEnd(ThreadEnd {
            thread: ThreadId(3),
            time: Timestamp(40),
        });
        for event in [
            cpu(1, 500),
            mount(2, 10),
            unmount(2, 15),
            unmount(2, 16),
            mount(2, 20),
            mount(3, 30),
            end,
            cpu(2, 700),
        ] {
            threads.event(&event);
        }
        threads.finish(Timestamp(50));
        let stat = |id| {
            let t: ThreadStat = threads.all[&ThreadId(id)];
            (t.cpu.map(|c| c.0), t.mounts, t.mounted)
        };
        assert_eq!(stat(1), (Some(700), 0, 0));
        assert_eq!(stat(2), (None, 2, 35));
        assert_eq!(stat(3), (None, 1, 10));
    }
}
