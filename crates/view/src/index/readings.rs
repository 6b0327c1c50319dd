//! The first and the last readings of CPU time in a node, as bytes.

use crate::cpu::{Reading, Readings};
use jtrail_model::{ThreadId, Timestamp};
use serde::{Deserialize, Serialize};

/// [`Readings`].
#[derive(Serialize, Deserialize, Default)]
pub(super) struct ReadingColumns {
    threads: Vec<u64>,
    /// First times since the trace's first time, and the times up to the last ones.
    times: Vec<[i64; 2]>,
    /// First readings, and the differences of the last ones.
    cpu: Vec<[i64; 2]>,
}

impl ReadingColumns {
    pub(super) fn new(readings: &Readings, origin: Timestamp) -> Self {
        let mut columns = Self::default();
        for (thread, [first, last]) in &readings.0 {
            columns.threads.push(thread.0);
            let since = first.time.0.wrapping_sub(origin.0);
            let length = last.time.0.wrapping_sub(first.time.0);
            columns.times.push([since, length]);
            let more = last.cpu.wrapping_sub(first.cpu);
            columns.cpu.push([first.cpu, more]);
        }
        columns
    }

    /// Returns the readings; `None` if the columns do not fit together.
    pub(super) fn readings(&self, origin: Timestamp) -> Option<Readings> {
        let mut all = Readings::default();
        for (place, thread) in self.threads.iter().enumerate() {
            let [since, length] = *self.times.get(place)?;
            let [cpu, more] = *self.cpu.get(place)?;
            let time = since.wrapping_add(origin.0);
            let first = Reading {
                time: Timestamp(time),
                cpu,
            };
            let last = Reading {
                time: Timestamp(time.wrapping_add(length)),
                cpu: cpu.wrapping_add(more),
            };
            all.0.insert(ThreadId(*thread), [first, last]);
        }
        Some(all)
    }
}
