//! What calls took without the time of recording, by the rules of `jtrail report --net`.

use crate::sums::{MethodSum, Sums, ThreadSum};
use jtrail_model::Cost;

/// Sums by call path without the time of recording.
#[derive(Debug)]
pub(crate) struct Net {
    /// By node of the tree, in ns.
    own: Vec<i64>,
    totals: Vec<i64>,
}

impl Net {
    /// Subtracts the time of recording, which may be 0.
    pub(crate) fn of(sums: &Sums, cost: Cost) -> Self {
        let records = sums.records();
        let own = records.iter().zip(0..);
        let own: Vec<i64> = own
            .map(|([count, _], node)| own_time(sums.path(node).self_time, *count, cost))
            .collect();
        let totals = sums.totals().into_iter().zip(&records).zip(&own);
        let mut totals: Vec<i64> = totals
            .map(|((time, [_, count]), own)| total_time(time, *count, cost).max(*own))
            .collect();
        let tree = sums.tree();
        totals[0] = (1..tree.len() as u32)
            .filter(|node| tree.parent(*node) == 0)
            .map(|node| totals[node as usize])
            .fold(0, i64::saturating_add);
        Self { own, totals }
    }

    /// Returns the self time of a path in ns.
    pub(crate) fn own(&self, node: u32) -> i64 {
        self.own[node as usize]
    }

    /// Returns for each path the time of its calls with their callees, in ns. The root has that of
    /// all outermost calls.
    pub(crate) fn totals(&self) -> &[i64] {
        &self.totals
    }
}

impl MethodSum {
    /// Returns what the calls took without the time of recording.
    pub(crate) fn net(&self, cost: Cost) -> Self {
        let [own, total] = self.records;
        let self_time = own_time(self.self_time, own, cost);
        Self {
            self_time,
            total: total_time(self.total, total, cost).max(self_time),
            ..*self
        }
    }
}

impl ThreadSum {
    /// Returns what the thread did, without the time of recording.
    pub(crate) fn net(&self, cost: Cost) -> Self {
        // The time of an outermost call has one of its two records.
        let records = self.calls.saturating_mul(2);
        let records = records.saturating_sub(self.outermost);
        Self {
            busy: own_time(self.busy, records, cost),
            ..*self
        }
    }
}

fn own_time(time: i64, records: u64, cost: Cost) -> i64 {
    total_time(time, records, cost).max(0)
}

fn total_time(time: i64, records: u64, cost: Cost) -> i64 {
    time.saturating_sub(cost.of(records))
}
