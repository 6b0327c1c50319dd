//! Overviews that the index makes, and estimates.

use super::{Counts, Intervals, MAX_COLLECTIONS, Overview};
use crate::index::{Bins, Facts, Lanes, Place};
use crate::remaining::Remaining;
use crate::trace::Trace;
use jtrail_model::{ThreadId, Timestamp};
use std::io;

impl Overview {
    /// Returns what happens by interval as the index has it, without allocations by class and the
    /// like. `None` if there is no index, or the intervals do not consist of its bins.
    ///
    /// # Errors
    /// If the index can't be read.
    pub fn of_index(
        trace: &Trace,
        span: [Timestamp; 2],
        intervals: usize,
    ) -> io::Result<Option<Self>> {
        let Some(index) = trace.index() else {
            return Ok(None);
        };
        let intervals = Intervals {
            span,
            count: intervals.max(1),
        };
        let Some(power) = intervals.power(trace.span()[0]) else {
            return Ok(None);
        };
        let has_cpu = index.has_cpu()?;
        let mut overview = Self::empty(intervals, Remaining::default());
        overview.has_readings = [true; 2];
        let mut nodes: Vec<Place> = index.top().collect();
        nodes.reverse();
        while let Some(place) = nodes.pop() {
            let is_in = |[first, last]: [Timestamp; 2]| first < span[1] && last >= span[0];
            let bins = index.lane_bins(place);
            if index.times(place).is_some_and(is_in) {
                if bins.power > power {
                    if place.0 == 0 {
                        return Ok(None);
                    }
                    nodes.extend(index.below(place).rev());
                    continue;
                }
                let Some(lanes) = index.lanes(place)? else {
                    return Ok(None);
                };
                for (thread, lanes) in lanes {
                    overview.add_lanes(thread, &lanes, bins);
                }
            }
            // The lanes have the CPU time between two readings in the node.
            if has_cpu {
                for (thread, both) in trace.readings_of(&index, place)?.0 {
                    overview.read_cpu(thread, both);
                }
            }
        }
        let end = trace.ended(span)[1];
        for (thread, slices) in index.all_across() {
            for wait in slices.iter().filter(|slice| !slice.kind.is_call()) {
                let times = [wait.begin.max(span[0]), wait.end.min(end)];
                overview.row(thread).add_wait(intervals, times, wait.kind);
            }
        }
        overview.add_facts(index.facts());
        Ok(Some(overview))
    }

    /// Returns an overview in which nothing is counted. Its share is 0.
    pub(crate) fn unknown(span: [Timestamp; 2], intervals: usize) -> Self {
        let intervals = Intervals {
            span,
            count: intervals.max(1),
        };
        let mut overview = Self::empty(intervals, Remaining::default());
        overview.is_estimate = true;
        overview.has_readings = [true; 2];
        overview
    }

    /// Spreads what happens evenly over a span.
    pub(crate) fn add_evenly(
        &mut self,
        thread: ThreadId,
        [from, to]: [Timestamp; 2],
        counts: Counts,
    ) {
        let intervals = self.intervals;
        let row = self.row(thread);
        let length = u128::from(to.0.abs_diff(from.0)).max(1);
        let (mut begin, mut given) = (from, 0);
        while begin < to {
            let next = intervals
                .end(intervals.of(begin))
                .min(to)
                .max(Timestamp(begin.0.saturating_add(1)));
            let since = u128::from(next.0.abs_diff(from.0));
            let calls = (u128::from(counts.calls) * since / length) as u64;
            if intervals.has(begin) {
                let all = &mut row.at(intervals.of(begin)).calls;
                *all = all.saturating_add(calls.saturating_sub(given));
            }
            (begin, given) = (next, calls);
            if begin >= intervals.span[1] {
                break;
            }
        }
    }

    fn add_lanes(&mut self, thread: ThreadId, lanes: &Lanes, bins: Bins) {
        let intervals = self.intervals;
        let row = self.row(thread);
        for (bin, more) in lanes.bins() {
            let begin = bins.begin(*bin);
            if intervals.has(begin) {
                *row.at(intervals.of(begin)) += *more;
            }
        }
    }

    fn add_facts(&mut self, facts: &Facts) {
        let span = self.intervals.span;
        for collection in facts.collections(span) {
            if collection.used > 0 && self.intervals.has(collection.end) {
                self.heap[self.intervals.of(collection.end)] = Some(collection.used);
            }
            if self.collections.len() < MAX_COLLECTIONS {
                self.collections.push(collection);
            }
        }
        self.analysis = facts.analysis();
    }
}
