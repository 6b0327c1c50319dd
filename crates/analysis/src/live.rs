//! Live objects that a trace counts itself, instead of telling of each ([`super::Objects`] counts
//! those): by class and allocating thread, or all of them by class.

use super::objects::Amount;
use jtrail_model::{ClassId, Event, ThreadId, Timestamp};
use rustc_hash::FxHashMap;

/// Objects of one class that one thread allocated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LiveCount {
    /// Alive when they were counted last.
    pub live: u64,
    /// The most that were alive at once.
    pub peak: u64,
}

/// What the trace counts.
#[derive(Debug, Default)]
pub struct LiveCounts {
    /// By class and allocating thread.
    pub counts: FxHashMap<(ClassId, ThreadId), LiveCount>,
    /// How often all live objects were counted.
    pub tables: u64,
    /// When they were counted last.
    pub last: Timestamp,
    /// What was found then, by class.
    pub table: Vec<(ClassId, Amount)>,
}

impl LiveCounts {
    /// Takes counts of live objects; other events are passed over.
    pub fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::ObjectCounts(e) => {
                let count = self.counts.entry((e.class, e.thread)).or_default();
                count.live = e.live;
                count.peak = count.peak.max(e.peak);
            }
            Event::LiveObjects(e) => {
                self.tables += 1;
                self.last = e.time;
                let amount = |objects, bytes: u64| Amount {
                    objects,
                    bytes: i64::try_from(bytes).unwrap_or(i64::MAX),
                };
                let classes = e.classes.iter();
                self.table = classes
                    .map(|c| (c.class, amount(c.objects, c.bytes)))
                    .collect();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_model::{LiveClass, LiveObjects, ObjectCounts};

    #[test]
    fn the_last_counts_count() {
        let mut live = LiveCounts::default();
        for (class, count, peak) in [(3, 5, 9), (3, 7, 8), (4, 1, 1)] {
            live.event(&Event::ObjectCounts(ObjectCounts {
                thread: ThreadId(1),
                class: ClassId(class),
                live: count,
                peak,
                ..ObjectCounts::default()
            }));
        }
        let of = |class| live.counts[&(ClassId(class), ThreadId(1))];
        assert_eq!(of(3), LiveCount { live: 7, peak: 9 });
        assert_eq!(of(4), LiveCount { live: 1, peak: 1 });
        for (time, objects) in [(10, 3), (20, 2)] {
            live.event(&Event::LiveObjects(LiveObjects {
                time: Timestamp(time),
                classes: vec![LiveClass {
                    class: ClassId(3),
                    objects,
                    bytes: 24 * objects,
                }],
            }));
        }
        let (objects, bytes) = (2, 48);
        assert_eq!(live.table, [(ClassId(3), Amount { objects, bytes })]);
        assert_eq!((live.tables, live.last), (2, Timestamp(20)));
    }
}
