//! What calls took without the time of recording, by the rules of `jtrail report --net`.
//!
//! The time of a call has one record of its own (enter or leave), and two for each call below it.
//! Calls count where they begin, and their records with them.

use crate::sums::{MethodSum, PathSum, Sums, ThreadSum};
use jtrail_model::{Cost, ThreadId};
use rustc_hash::FxHashMap;

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
        let records = Records::of(sums);
        let totals = sums.totals().into_iter().zip(&records.totals);
        let own = records.own.iter().zip(0..);
        let own: Vec<i64> = own
            .map(|(count, node)| own_time(sums.path(node).self_time, *count, cost))
            .collect();
        let totals = totals.zip(&own);
        let mut totals: Vec<i64> = totals
            .map(|((time, count), own)| total_time(time, *count, cost).max(*own))
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

/// Returns what the calls of each method took, without the time of recording.
pub(crate) fn methods(sums: &Sums, cost: Cost) -> FxHashMap<u32, MethodSum> {
    let records = Records::of(sums);
    let number = |node: u32| PathSum {
        calls: 0,
        self_time: records.own[node as usize],
    };
    let numbers = sums.methods_with(&records.totals, number);
    let mut all = sums.methods();
    for (method, sum) in &mut all {
        let number = numbers.get(method).copied().unwrap_or_default();
        sum.self_time = own_time(sum.self_time, number.self_time, cost);
        sum.total = total_time(sum.total, number.total, cost).max(sum.self_time);
    }
    all
}

/// Returns what each thread did, without the time of recording.
pub(crate) fn threads(sums: &Sums, cost: Cost) -> Vec<(ThreadId, ThreadSum)> {
    let net = |(id, sum): (&ThreadId, &ThreadSum)| {
        let records = sum.calls.saturating_mul(2);
        let records = records.saturating_sub(sums.outermost(*id));
        let busy = own_time(sum.busy, number(records), cost);
        (*id, ThreadSum { busy, ..*sum })
    };
    sums.threads().iter().map(net).collect()
}

/// Numbers of enters and leaves within the times of each path.
struct Records {
    own: Vec<i64>,
    totals: Vec<i64>,
}

impl Records {
    fn of(sums: &Sums) -> Self {
        let tree = sums.tree();
        let calls = |node: u32| number(sums.path(node).calls);
        let mut own: Vec<i64> = (0..tree.len() as u32).map(calls).collect();
        for node in 1..tree.len() as u32 {
            add(&mut own[tree.parent(node) as usize], calls(node));
        }
        let mut totals = own.clone();
        for node in (1..tree.len() as u32).rev() {
            let callee = totals[node as usize];
            add(&mut totals[tree.parent(node) as usize], callee);
        }
        Self { own, totals }
    }
}

fn number(records: u64) -> i64 {
    i64::try_from(records).unwrap_or(i64::MAX)
}

fn add(records: &mut i64, more: i64) {
    *records = records.saturating_add(more);
}

fn own_time(time: i64, records: i64, cost: Cost) -> i64 {
    total_time(time, records, cost).max(0)
}

fn total_time(time: i64, records: i64, cost: Cost) -> i64 {
    time.saturating_sub(cost.of(records.max(0).unsigned_abs()))
}
