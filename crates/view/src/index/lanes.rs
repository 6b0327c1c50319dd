//! What a thread does by bin of time.

use super::bins::Bins;
use crate::cpu::{Reading, share_of_cpu};
use crate::overview::Counts;
use crate::slice::Kind;
use jtrail_model::Timestamp;

/// What a thread does, by bin. Bins without anything are left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Lanes {
    /// In the order of the bins, once [`Self::sort`] was called.
    bins: Vec<(u64, Counts)>,
}

impl Lanes {
    /// Adds what happens in a bin.
    #[inline]
    pub(crate) fn add(&mut self, bin: u64, counts: Counts) {
        match self.bins.last_mut() {
            Some((last, all)) if *last == bin => *all += counts,
            _ => self.bins.push((bin, counts)),
        }
    }

    /// Adds a call.
    #[inline]
    pub(crate) fn add_call(&mut self, bin: u64) {
        match self.bins.last_mut() {
            Some((last, all)) if *last == bin => all.calls += 1,
            _ => self.add(
                bin,
                Counts {
                    calls: 1,
                    ..Counts::default()
                },
            ),
        }
    }

    /// Adds a wait: to each bin the time that lies in it.
    pub(crate) fn add_wait(&mut self, [begin, end]: [Timestamp; 2], kind: Kind, bins: Bins) {
        let mut begin = begin.max(bins.origin);
        while begin < end {
            let bin = bins.of(begin);
            let next = bins.begin(bin + 1).min(end);
            if next <= begin {
                return;
            }
            self.add(
                bin,
                Counts::of_wait(next.since(begin).0.unsigned_abs(), kind),
            );
            begin = next;
        }
    }

    /// Spreads the CPU time between two readings evenly over the bins.
    pub(crate) fn add_cpu(&mut self, [before, reading]: [Reading; 2], bins: Bins) {
        let until = share_of_cpu(before, reading);
        let (mut begin, end) = (before.time.max(bins.origin), reading.time);
        while begin < end {
            let bin = bins.of(begin);
            let next = bins.begin(bin + 1).min(end);
            if next <= begin {
                return;
            }
            let cpu = until(next) - until(begin);
            if cpu > 0 {
                let none = Counts::default();
                self.add(bin, Counts { cpu, ..none });
            }
            begin = next;
        }
    }

    /// Puts bins in order, each once.
    pub(crate) fn sort(&mut self) {
        self.bins.sort_by_key(|(bin, _)| *bin);
        let all = std::mem::take(&mut self.bins);
        for (bin, counts) in all {
            self.add(bin, counts);
        }
    }

    /// Adds what happens in later segments.
    pub(crate) fn append(&mut self, later: Self) {
        for (bin, counts) in later.bins {
            self.add(bin, counts);
        }
    }

    /// Makes bins larger.
    pub(crate) fn coarsen(&mut self, from: Bins, to: Bins) {
        if to.power <= from.power {
            return;
        }
        let shift = to.power - from.power;
        let all = std::mem::take(&mut self.bins);
        for (bin, counts) in all {
            self.add(bin >> shift, counts);
        }
    }

    /// Returns what happens by bin.
    pub(crate) fn bins(&self) -> &[(u64, Counts)] {
        &self.bins
    }

    pub(crate) fn from_bins(bins: Vec<(u64, Counts)>) -> Self {
        Self { bins }
    }
}
