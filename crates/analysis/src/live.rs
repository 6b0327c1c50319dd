//! Counts of live objects that are events of the trace, by class and allocating thread or by class
//! only. ([`super::Objects`] counts objects from their single allocations and frees.)

use super::objects::Amount;
use crate::saved::by_key;
use jtrail_model::{ClassId, Event, ThreadId, Timestamp};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Objects of one class that one thread allocated.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LiveCount {
    /// The number of live objects at the last count.
    pub live: u64,
    /// The maximum number of objects alive at the same time.
    pub peak: u64,
}

/// All counts of live objects in the trace.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct LiveCounts {
    /// Counts by class and allocating thread.
    #[serde(with = "by_key")]
    pub counts: FxHashMap<(ClassId, ThreadId), LiveCount>,
    /// The number of counts of all live objects.
    pub tables: u64,
    /// The time of the last count of all live objects.
    pub last: Timestamp,
    /// The result of the last count of all live objects, by class.
    pub table: Vec<(ClassId, Amount)>,
}

impl LiveCounts {
    /// Processes counts of live objects. Ignores other events.
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
