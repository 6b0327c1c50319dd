//! Equal intervals of a span.

use jtrail_model::Timestamp;

/// Equal intervals of a span.
#[derive(Clone, Copy, Debug)]
pub(super) struct Intervals {
    pub(super) span: [Timestamp; 2],
    pub(super) count: usize,
}

impl Intervals {
    /// Returns the power of the intervals: they are 2^power ns long, and begin at multiples of it
    /// after `origin`. `None` if they do not.
    pub(super) fn power(&self, origin: Timestamp) -> Option<u8> {
        let [from, until] = self.span.map(|time| time.0.checked_sub(origin.0));
        let (from, until) = (u64::try_from(from?).ok()?, u64::try_from(until?).ok()?);
        let length = until.checked_sub(from)? / self.count as u64;
        let fits = length.is_power_of_two()
            && length * self.count as u64 == until - from
            && from % length == 0;
        fits.then(|| length.ilog2() as u8)
    }

    pub(super) fn has(&self, time: Timestamp) -> bool {
        (self.span[0]..self.span[1]).contains(&time)
    }

    /// Returns the interval of a time; the nearest one if the time is not in the span.
    #[inline]
    pub(super) fn of(&self, time: Timestamp) -> usize {
        let [from, until] = self.span;
        let length = until.0.abs_diff(from.0);
        let since = time.max(from).0.abs_diff(from.0);
        // An interval has its begin, and not its end.
        let number = u128::from(since) * self.count as u128 / u128::from(length).max(1);
        (number as usize).min(self.count - 1)
    }

    /// Returns the first time of an interval.
    pub(super) fn begin(&self, interval: usize) -> Timestamp {
        interval
            .checked_sub(1)
            .map_or(self.span[0], |before| self.end(before))
    }

    /// Returns the first time that is not in an interval any more.
    pub(super) fn end(&self, interval: usize) -> Timestamp {
        let [from, until] = self.span.map(|time| i128::from(time.0));
        let length = until - from;
        let end = length * (interval as i128 + 1);
        let end = from + (end + self.count as i128 - 1) / self.count as i128;
        Timestamp(i64::try_from(end).unwrap_or(i64::MAX))
    }
}
