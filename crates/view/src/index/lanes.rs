//! What a thread does by bin of time.

use super::bins::Bins;
use crate::cpu::{Reading, share_of_cpu};
use crate::overview::Counts;
use crate::slice::Kind;
use jtrail_model::{ThreadId, Timestamp};

/// Spreading times over bins makes at most so many of them, and two more for each time. Times may
/// be wrong, and lie centuries apart.
const MAX_SPREAD: usize = 1 << 18;
/// Maximum power of bins.
pub(super) const MAX_POWER: u8 = 62;

/// A time that is to be spread over bins.
#[derive(Clone, Copy, Debug)]
pub(super) enum Spread {
    /// A wait: each bin has the time that lies in it.
    Wait([Timestamp; 2], Kind),
    /// The CPU time between two readings: it is spread evenly.
    Cpu([Reading; 2]),
}

impl Spread {
    /// Returns the number of bins in which the time lies.
    fn bins(&self, bins: Bins) -> u64 {
        let [begin, end] = match *self {
            Self::Wait(times, _) => times,
            Self::Cpu(readings) => readings.map(|reading| reading.time),
        };
        match bins.of(end).checked_sub(bins.of(begin)) {
            Some(more) if begin < end => more.saturating_add(1),
            _ => 0,
        }
    }
}

/// Returns bins of the same length or longer ones, over which times can be spread in little memory.
pub(super) fn bins_for(spreads: &[(ThreadId, Spread)], mut bins: Bins) -> Bins {
    let max = MAX_SPREAD.saturating_add(2 * spreads.len()) as u64;
    let count = |bins| {
        let counts = spreads.iter().map(|(_, spread)| spread.bins(bins));
        counts.fold(0, u64::saturating_add)
    };
    while bins.power < MAX_POWER && count(bins) > max {
        bins.power += 1;
    }
    bins
}

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
            Some((last, all)) if *last == bin => all.calls = all.calls.saturating_add(1),
            _ => self.add(
                bin,
                Counts {
                    calls: 1,
                    ..Counts::default()
                },
            ),
        }
    }

    /// Adds a time to the bins in which it lies.
    pub(super) fn spread(&mut self, spread: &Spread, bins: Bins) {
        match *spread {
            Spread::Wait(times, kind) => self.add_wait(times, kind, bins),
            Spread::Cpu(readings) => self.add_cpu(readings, bins),
        }
    }

    fn add_wait(&mut self, [begin, end]: [Timestamp; 2], kind: Kind, bins: Bins) {
        let mut begin = begin.max(bins.origin);
        while begin < end {
            let bin = bins.of(begin);
            let next = bins.end(bin).min(end);
            if next <= begin {
                return;
            }
            let time = next.0.abs_diff(begin.0);
            self.add(bin, Counts::of_wait(time, kind));
            begin = next;
        }
    }

    fn add_cpu(&mut self, [before, reading]: [Reading; 2], bins: Bins) {
        let until = share_of_cpu(before, reading);
        let (mut begin, end) = (before.time.max(bins.origin), reading.time);
        while begin < end {
            let bin = bins.of(begin);
            let next = bins.end(bin).min(end);
            if next <= begin {
                return;
            }
            let cpu = until(next).saturating_sub(until(begin));
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
