//! Live objects by allocating thread and class.

use crate::check::table::Table;
use jtrail_model::{ObjectId, ThreadId};
use std::collections::HashMap;

/// A row of section `memory`.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// Number of the class's name.
    pub(super) class: u32,
    pub(super) live: u64,
    pub(super) peak: u64,
}

/// The rows, and for each object the row that counts it.
#[derive(Clone, Debug, Default)]
pub(in crate::profilerj) struct Objects {
    rows: Vec<Row>,
    /// Rows of each thread; threads and rows are in the order of their appearance.
    pub(super) threads: Vec<(ThreadId, Vec<u32>)>,
    by_key: HashMap<(ThreadId, u32), u32>,
    by_thread: HashMap<ThreadId, u32>,
    objects: Table<u32>,
}

/// Marks an object that was freed.
const DEAD: u32 = u32::MAX;

impl Objects {
    pub(super) fn allocated(&mut self, thread: ThreadId, class: u32, object: ObjectId) {
        let at = self.row(thread, class);
        let row = &mut self.rows[at as usize];
        row.live = row.live.saturating_add(1);
        row.peak = row.peak.max(row.live);
        if !object.is_none() && !self.objects.insert(object.0, at) {
            // The trace uses the id again. Ids are reused only after a free, so the earlier object
            // is freed.
            self.freed(object);
            if let Some(place) = self.objects.get_mut(object.0) {
                *place = at;
            }
        }
    }

    /// Counts a free. Returns false if the trace has no allocation of the object.
    pub(super) fn freed(&mut self, object: ObjectId) -> bool {
        let Some(place) = self.objects.get_mut(object.0) else {
            return false;
        };
        let at = std::mem::replace(place, DEAD);
        let Some(row) = self.rows.get_mut(at as usize) else {
            return false;
        };
        row.live = row.live.saturating_sub(1);
        true
    }

    /// Sets the counts of a row. The trace contains them as sums.
    pub(super) fn counted(&mut self, thread: ThreadId, class: u32, live: u64, peak: u64) {
        let at = self.row(thread, class);
        let row = &mut self.rows[at as usize];
        row.live = live;
        row.peak = row.peak.max(peak).max(live);
    }

    fn row(&mut self, thread: ThreadId, class: u32) -> u32 {
        let next = self.rows.len() as u32;
        let at = *self.by_key.entry((thread, class)).or_insert(next);
        if at == next {
            let (live, peak) = (0, 0);
            self.rows.push(Row { class, live, peak });
            let new = self.threads.len() as u32;
            let thread_at = *self.by_thread.entry(thread).or_insert(new);
            if thread_at == new {
                self.threads.push((thread, Vec::new()));
            }
            self.threads[thread_at as usize].1.push(at);
        }
        at
    }

    /// Returns the rows of a thread that have or had live objects, sorted by descending number of
    /// objects, then by class.
    pub(super) fn sorted<'n>(
        &self,
        rows: &[u32],
        name: impl Fn(u32) -> &'n str,
    ) -> Vec<(&'n str, &Row)> {
        let rows = rows.iter().map(|at| &self.rows[*at as usize]);
        let mut rows: Vec<_> = rows
            .filter(|row| row.peak > 0)
            .map(|row| (name(row.class), row))
            .collect();
        rows.sort_unstable_by_key(|(name, row)| (std::cmp::Reverse(row.live), *name));
        rows
    }
}
