//! Counts the calls and waits of a trace, to find out which part of it fits a target.

use crate::filter::CallFilter;
use crate::sink::{End, Sink, Slice, ThreadIndex, ThreadInfo, ThreadTime};
use crate::timeline::Timeline;
use jtrail_formats::Encode;
use jtrail_model::names::Names;
use jtrail_model::{Calls, Duration, Event, Timestamp};

/// Bounds of lengths within a power of ten, in tenths. They are easy to read and to type.
const STEPS: [i64; 8] = [10, 15, 20, 30, 40, 50, 60, 80];
/// Powers of ten of ns: 1 ns to some 30 years.
const POWERS: usize = 18;
/// Number of equal intervals of the trace's time.
const INTERVALS: usize = 1 << 12;

/// Numbers of the calls and waits of a trace, by length and by begin.
///
/// It takes the events of a trace like an encoder, and writes nothing.
pub struct Survey {
    timeline: Timeline<Counts>,
}

#[derive(Clone, Debug)]
struct Counts {
    /// For each bound of lengths, the number of slices that are at least as long, but shorter than
    /// the next bound. The first element has those that are shorter than all bounds.
    lengths: Vec<u64>,
    begins: Begins,
}

/// Numbers of begins in equal intervals of time.
#[derive(Clone, Debug)]
struct Begins {
    /// The first time of the trace.
    origin: Option<Timestamp>,
    /// Length of an interval in ns. It doubles when the trace turns out to be longer.
    width: i64,
    counts: Vec<u64>,
}

/// Returns a bound of lengths in ns.
fn bound(number: usize) -> i64 {
    let power = 10_i64.pow((number / STEPS.len()) as u32);
    // Bounds below 10 ns are rounded up to a whole number.
    (STEPS[number % STEPS.len()] * power + 9) / 10
}

impl Counts {
    fn add_length(&mut self, length: Duration) {
        // The first bound that exceeds the length.
        let (mut low, mut high) = (0, STEPS.len() * POWERS);
        while low < high {
            let middle = usize::midpoint(low, high);
            match bound(middle) <= length.0 {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        self.lengths[low] += 1;
    }
}

impl Begins {
    fn add(&mut self, time: Timestamp) {
        let origin = *self.origin.get_or_insert(time);
        let since = time.since(origin).0.max(0);
        while since / self.width >= INTERVALS as i64 {
            let pairs = self.counts.chunks(2).map(|pair| pair.iter().sum());
            self.counts = pairs.collect();
            self.counts.resize(INTERVALS, 0);
            self.width *= 2;
        }
        self.counts[(since / self.width) as usize] += 1;
    }
}

impl Survey {
    /// Creates a survey of the calls that the filter selects.
    pub fn new(filter: CallFilter) -> Self {
        let counts = || Counts {
            lengths: vec![0; STEPS.len() * POWERS + 1],
            begins: Begins {
                origin: None,
                width: 1_000,
                counts: vec![0; INTERVALS],
            },
        };
        Self {
            timeline: Timeline::new(filter, counts),
        }
    }

    fn begin_at(&mut self, time: Option<Timestamp>) {
        let origin = &mut self.timeline.sink_mut().begins.origin;
        *origin = origin.or(time);
    }

    /// Returns the number of slices.
    pub fn slices(&self) -> u64 {
        self.timeline.sink().lengths.iter().sum()
    }

    /// Returns the smallest readable length that at most `max` slices have or exceed, and the
    /// number of these slices. `None` if no slice is so long.
    pub fn min_for(&self, max: u64) -> Option<(Duration, u64)> {
        let mut remaining = self.slices();
        for (number, count) in self.timeline.sink().lengths.iter().enumerate() {
            remaining -= count;
            if remaining == 0 {
                return None;
            }
            if remaining <= max {
                return Some((Duration(bound(number)), remaining));
            }
        }
        None
    }

    /// Returns the longest time from the trace's first one in which at most `max` slices begin, and
    /// the number of these slices. `None` if there is no such time.
    pub fn until_for(&self, max: u64) -> Option<(Duration, u64)> {
        let begins = &self.timeline.sink().begins;
        let mut sum = 0;
        for (intervals, count) in (0..).zip(&begins.counts) {
            if sum + count > max {
                // The last selected time is before the begin of the next interval.
                let until = Duration(begins.width * intervals - 1);
                return (sum > 0).then_some((until, sum));
            }
            sum += count;
        }
        None
    }
}

impl Encode for Survey {
    fn begin(&mut self, out: &mut Vec<u8>) {
        self.timeline.begin(out);
    }

    fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>) {
        let time = event.time().filter(|time| *time != Timestamp::default());
        self.begin_at(time);
        self.timeline.event(event, out);
    }

    fn calls(&mut self, calls: &Calls<'_>, out: &mut Vec<u8>) {
        self.begin_at(calls.steps.first().map(|step| step.time));
        self.timeline.calls(calls, out);
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.timeline.end(out);
    }
}

impl Sink for Counts {
    fn thread(&mut self, _: ThreadIndex, _: &ThreadInfo) {}

    fn begin(&mut self, _: &Names, begin: ThreadTime, _: Slice) {
        self.begins.add(begin.time);
    }

    fn end(&mut self, _: &Names, end: &End) {
        self.add_length(end.end.time.since(end.begin.time));
    }

    fn close(&mut self, _: &Names, _: Timestamp) {}

    fn take(&mut self, _: &mut Vec<u8>) {}

    fn size(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{enter, leave, thread};

    /// Surveys calls of 1, 2, 3 … 100 ns, which begin every 1,000 ns, from 5,000 ns after the first
    /// time on.
    fn survey() -> Survey {
        let mut survey = Survey::new(CallFilter::default());
        let mut out = Vec::new();
        survey.begin(&mut out);
        survey.event(&thread(1, 0, "main", "main"), &mut out);
        for n in 1..=100 {
            let begin = 4_000 + 1_000 * i64::from(n);
            survey.event(&enter(1, begin, 1, n), &mut out);
            survey.event(&leave(1, begin + i64::from(n), 1, n), &mut out);
        }
        survey.end(&mut out);
        assert!(out.is_empty());
        survey
    }

    #[test]
    fn bounds_ascend() {
        let bounds: Vec<i64> = (0..STEPS.len() * POWERS).map(bound).collect();
        assert_eq!(bounds[..10], [1, 2, 2, 3, 4, 5, 6, 8, 10, 15]);
        assert!(bounds.is_sorted());
    }

    #[test]
    fn the_proposed_minimum_leaves_at_most_so_many() {
        let survey = survey();
        assert_eq!(survey.slices(), 100);
        let min = |max| survey.min_for(max).map(|(min, left)| (min.0, left));
        assert_eq!(min(100), Some((1, 100)));
        assert_eq!(min(95), Some((6, 95)));
        assert_eq!(min(94), Some((8, 93)));
        assert_eq!(min(41), Some((60, 41)));
        assert_eq!(min(40), Some((80, 21)));
        assert_eq!(min(1), Some((100, 1)));
        assert_eq!(min(0), None);
    }

    #[test]
    fn the_proposed_time_has_at_most_so_many_begins() {
        let survey = survey();
        let until = |max| survey.until_for(max).map(|(until, sum)| (until.0, sum));
        assert_eq!(until(1), Some((5_999, 1)));
        assert_eq!(until(30), Some((34_999, 30)));
        assert_eq!(until(0), None);
        assert_eq!(until(100), None);
    }

    #[test]
    fn intervals_grow_with_the_trace() {
        let mut begins = Begins {
            origin: None,
            width: 1_000,
            counts: vec![0; INTERVALS],
        };
        for n in 0..100_000 {
            begins.add(Timestamp(7 + n * 1_000));
        }
        assert_eq!((begins.width, begins.counts.len()), (32_000, INTERVALS));
        assert_eq!(begins.counts[..3], [32, 32, 32]);
        assert_eq!(begins.counts.iter().sum::<u64>(), 100_000);
    }
}
