//! What a thread does by interval, in little memory.

use super::{Counts, Intervals};
use crate::cpu::{Reading, share_of_cpu};
use crate::slice::Kind;
use jtrail_model::Timestamp;

/// What a thread does by interval. Only intervals in which it does something take memory, since
/// there may be a hundred thousand threads that each live for a moment. So do not those that it
/// waits through.
#[derive(Clone, Debug, Default)]
pub(super) struct Row {
    /// In the order of their intervals.
    counts: Vec<(u32, Counts)>,
    /// Intervals that are waited through: from the first one up to the one after the last.
    waits: Vec<([u32; 2], Kind)>,
}

impl Row {
    /// Returns the counts of an interval.
    #[inline]
    pub(super) fn at(&mut self, interval: usize) -> &mut Counts {
        let interval = interval as u32;
        let place = match self.counts.last() {
            Some((last, _)) if *last == interval => self.counts.len() - 1,
            Some((last, _)) if *last > interval => {
                let found = self.counts.binary_search_by_key(&interval, |(at, _)| *at);
                found.unwrap_or_else(|place| {
                    self.counts.insert(place, (interval, Counts::default()));
                    place
                })
            }
            _ => {
                self.counts.push((interval, Counts::default()));
                self.counts.len() - 1
            }
        };
        &mut self.counts[place].1
    }

    /// Adds another row.
    pub(super) fn add(&mut self, other: Self) {
        if self.counts.is_empty() {
            self.counts = other.counts;
        } else {
            for (interval, counts) in other.counts {
                *self.at(interval as usize) += counts;
            }
        }
        self.waits.extend(other.waits);
    }

    /// Adds to each interval the time that it has of a wait.
    pub(super) fn add_wait(
        &mut self,
        intervals: Intervals,
        [begin, end]: [Timestamp; 2],
        kind: Kind,
    ) {
        let [from, until] = intervals.span;
        let (begin, end) = (begin.max(from), end.min(until));
        if begin >= end {
            return;
        }
        let (first, last) = (intervals.of(begin), intervals.of(end));
        let in_first = intervals.end(first).min(end);
        *self.at(first) += Counts::of_wait(in_first.0.abs_diff(begin.0), kind);
        if last == first {
            return;
        }
        if last - first > 1 {
            let through = [first as u32 + 1, last as u32];
            self.waits.push((through, kind));
        }
        let in_last = intervals.begin(last).0.abs_diff(end.0);
        if in_last > 0 {
            *self.at(last) += Counts::of_wait(in_last, kind);
        }
    }

    /// Spreads the CPU time between two readings evenly over the time between them.
    pub(super) fn add_cpu(&mut self, intervals: Intervals, [before, reading]: [Reading; 2]) {
        let until = share_of_cpu(before, reading);
        let [begin, end] = intervals.span;
        let mut from = before.time.max(begin);
        while from < reading.time.min(end) {
            let interval = intervals.of(from);
            let next = intervals.end(interval).min(reading.time).min(end);
            let cpu = until(next).saturating_sub(until(from));
            if cpu > 0 {
                let counts = self.at(interval);
                counts.cpu = counts.cpu.saturating_add(cpu);
            }
            if next <= from {
                return;
            }
            from = next;
        }
    }

    /// Returns the sum over all intervals, without waits.
    pub(super) fn sum(&self) -> Counts {
        let mut sum = Counts::default();
        self.counts.iter().for_each(|(_, counts)| sum += *counts);
        Counts {
            blocked: 0,
            waiting: 0,
            ..sum
        }
    }

    /// Adds the row to what happens by interval.
    pub(super) fn add_to(&self, all: &mut [Counts], intervals: Intervals) {
        for (interval, counts) in &self.counts {
            all[*interval as usize] += *counts;
        }
        for ([first, end], kind) in &self.waits {
            let through = all.iter_mut().enumerate().take(*end as usize);
            for (interval, sum) in through.skip(*first as usize) {
                let [begin, end] = [intervals.begin(interval), intervals.end(interval)];
                *sum += Counts::of_wait(end.0.abs_diff(begin.0), *kind);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INTERVALS: Intervals = Intervals {
        span: [Timestamp(1000), Timestamp(2000)],
        count: 300,
    };

    fn expanded(row: &Row) -> Vec<Counts> {
        let mut all = vec![Counts::default(); INTERVALS.count];
        row.add_to(&mut all, INTERVALS);
        all
    }

    #[test]
    fn a_wait_through_many_intervals_takes_little_memory() {
        let mut row = Row::default();
        row.add_wait(INTERVALS, [Timestamp(0), Timestamp(1995)], Kind::Parked);
        assert!((row.counts.len(), row.waits.len()) <= (2, 1), "{row:?}");
        let all = expanded(&row);
        assert_eq!(all.iter().map(|counts| counts.waiting).sum::<u64>(), 995);
        // Intervals of 3 1/3 ns have 3 or 4 whole ones.
        let whole = &all[..298];
        assert!(whole.iter().all(|counts| (3..=4).contains(&counts.waiting)));
        assert_eq!(all[299], Counts::default());
    }

    #[test]
    fn intervals_are_counted_in_any_order() {
        let mut row = Row::default();
        for interval in [7, 3, 299, 3, 7, 0] {
            row.at(interval).calls += 1;
        }
        let mut other = Row::default();
        other.at(3).calls += 10;
        other.at(100).calls += 1;
        row.add(other);
        let calls = expanded(&row).into_iter().map(|counts| counts.calls);
        let found: Vec<_> = calls.enumerate().filter(|(_, calls)| *calls > 0).collect();
        assert_eq!(found, [(0, 1), (3, 12), (7, 2), (100, 1), (299, 1)]);
        assert_eq!(row.sum().calls, 17);
    }
}
