//! Allocations and exceptions of a node, as bytes.

use crate::events::{Allocated, EventSums, Throws};
use jtrail_model::{ClassId, ThreadId, Timestamp};
use serde::{Deserialize, Serialize};

/// [`EventSums`].
#[derive(Serialize, Deserialize, Default)]
pub(super) struct EventColumns {
    /// Of allocations, by thread and class: threads, differences of classes, objects and bytes.
    threads: Vec<u64>,
    classes: Vec<i64>,
    objects: Vec<u64>,
    bytes: Vec<u64>,
    /// Thread, class, site, number of throws, and the first and the last time.
    throws: Vec<(u64, u64, u32, u64, [i64; 2])>,
}

impl EventColumns {
    pub(super) fn new(sums: &EventSums, origin: Timestamp) -> Self {
        let mut columns = Self::default();
        let mut allocations: Vec<_> = sums.allocations.iter().collect();
        allocations.sort_unstable_by_key(|(key, _)| **key);
        let mut before = 0;
        for ((thread, class), sum) in allocations {
            columns.threads.push(thread.0);
            let class = class.0 as i64;
            columns.classes.push(class.wrapping_sub(before));
            before = class;
            columns.objects.push(sum.objects);
            columns.bytes.push(sum.bytes);
        }
        let mut throws: Vec<_> = sums.throws.iter().collect();
        throws.sort_unstable_by_key(|(key, _)| **key);
        for ((thread, class, site), sum) in throws {
            let [first, last] = sum.times;
            let times = [first.0.wrapping_sub(origin.0), last.0.wrapping_sub(first.0)];
            columns
                .throws
                .push((thread.0, class.0, *site, sum.count, times));
        }
        columns
    }

    /// Returns the sums; `None` if the columns do not fit together.
    pub(super) fn sums(&self, origin: Timestamp) -> Option<EventSums> {
        let mut sums = EventSums::default();
        let mut class = 0_i64;
        for (place, thread) in self.threads.iter().enumerate() {
            class = class.wrapping_add(*self.classes.get(place)?);
            let allocated = Allocated {
                objects: *self.objects.get(place)?,
                bytes: *self.bytes.get(place)?,
            };
            let key = (ThreadId(*thread), ClassId(class as u64));
            sums.allocations.insert(key, allocated);
        }
        for (thread, class, site, count, [since, length]) in &self.throws {
            let first = since.wrapping_add(origin.0);
            let times = [first, first.wrapping_add(*length)].map(Timestamp);
            let count = *count;
            let key = (ThreadId(*thread), ClassId(*class), *site);
            sums.throws.insert(key, Throws { count, times });
        }
        Some(sums)
    }
}
