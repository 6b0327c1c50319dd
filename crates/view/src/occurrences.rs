//! Calls of a method by interval of time, and the longest one.
//!
//! With an index, nodes tell how many calls begin in their bins, and the longest one that ends.
//! Where the longest call of a node does not end in the span, or a node does not know it, what it
//! consists of is searched, but not what can't have a longer call than the longest one so far.

use crate::index::{Index, Place};
use crate::remaining::Remaining;
use crate::search::{Found, is_longer};
use crate::slice::{Kind, Slice};
use crate::trace::Trace;
use crate::walk::{Begin, Open, Walk};
use jtrail_model::{ThreadId, Timestamp};
use std::collections::BTreeMap;
use std::io;
use std::time::Duration;

/// Time of a step, after which it is known which segments need not be read.
const STEP: Duration = Duration::from_millis(1);
/// Number of segments above which intervals are made longer, so that the index has them.
const MANY: usize = 64;
/// Minimum number of longer intervals.
const MIN_INTERVALS: u64 = 32;

/// The calls of a method in a span, as far as they have been counted.
#[derive(Debug)]
pub struct Occurrences {
    method: u32,
    span: [Timestamp; 2],
    /// Length of an interval in ns, with its remainder: the span is divided by `count`.
    count: usize,
    /// True once it is known which segments are to be read.
    is_planned: bool,
    remaining: Remaining<Item>,
    counts: Vec<u64>,
    slowest: Option<Found>,
}

/// A segment that is to be read.
#[derive(Clone, Copy, Debug)]
struct Item {
    number: usize,
    /// True if its calls are to be counted.
    counts: bool,
    /// Calls that end here take at most so many ns.
    longest: i64,
}

impl Item {
    /// All calls of a segment.
    fn all(number: usize) -> Self {
        Self {
            number,
            counts: true,
            longest: i64::MAX,
        }
    }
}

/// What is known of a segment.
struct Visitor {
    method: u32,
    span: [Timestamp; 2],
    /// Number of intervals of the span.
    count: usize,
    /// Empty if calls are not to be counted.
    counts: Vec<u64>,
    slowest: Option<Found>,
}

impl Occurrences {
    /// Begins to count the calls of a method in so many equal intervals of a span; at least one.
    pub fn new(method: u32, span: [Timestamp; 2], intervals: usize) -> Self {
        let count = intervals.max(1);
        Self {
            method,
            span,
            count,
            is_planned: false,
            remaining: Remaining::default(),
            counts: vec![0; count],
            slowest: None,
        }
    }

    /// Counts in the segments from `first` on, too: the trace has grown.
    pub(crate) fn grow(&mut self, trace: &Trace, first: usize) {
        if !self.is_planned {
            return;
        }
        let new = trace.segments_in(self.span).into_iter();
        let new: Vec<Item> = new
            .filter(|number| *number >= first)
            .map(Item::all)
            .collect();
        self.remaining.add(new);
    }

    /// Returns which share of the span has been counted: 1 if all has.
    pub fn share(&self) -> f64 {
        match self.is_planned {
            true => self.remaining.share(),
            false => 0.0,
        }
    }

    /// Returns the number of calls that begin in each interval. There may be fewer intervals than
    /// requested, which are longer then: see [`Self::interval`].
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Returns the length of an interval in ns.
    pub fn interval(&self) -> f64 {
        let [from, until] = self.span;
        until.0.abs_diff(from.0) as f64 / self.count as f64
    }

    /// Returns the longest call that ends in the span.
    pub fn slowest(&self) -> Option<Found> {
        self.slowest
    }

    /// Counts in more segments on all processors, until everything is counted or the time is over.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub fn advance(&mut self, trace: &Trace, time: Duration) -> io::Result<()> {
        if !self.is_planned {
            self.plan(trace)?;
            self.is_planned = true;
        }
        let longest = |found: &Option<Found>| found.map_or(i64::MIN, |(_, call)| length(&call));
        let begun = std::time::Instant::now();
        let mut remaining = std::mem::take(&mut self.remaining);
        let mut done = Ok(());
        // In steps: what is found makes other segments needless.
        while remaining.share() < 1.0 && begun.elapsed() < time && done.is_ok() {
            let so_far = longest(&self.slowest);
            let visitor = |item: &Item| Visitor {
                method: self.method,
                span: self.span,
                count: self.count,
                counts: vec![0; if item.counts { self.counts.len() } else { 0 }],
                slowest: None,
            };
            let read = |item: &Item| {
                let mut found = visitor(item);
                if item.counts || item.longest >= so_far {
                    trace.walk(item.number, &mut found)?;
                }
                Ok((found.counts, found.slowest))
            };
            let mut all = Vec::new();
            done = remaining.advance(STEP, read, |_, found| all.push(found));
            for (counts, slowest) in all {
                for (sum, more) in self.counts.iter_mut().zip(counts) {
                    *sum = sum.saturating_add(more);
                }
                slowest.into_iter().for_each(|found| self.add_ended(found));
            }
        }
        self.remaining = remaining;
        done
    }

    fn add_ended(&mut self, found: Found) {
        if self.slowest.is_none_or(|other| is_longer(&found, &other)) {
            self.slowest = Some(found);
        }
    }

    /// Takes what the index has, and finds out which segments are to be read.
    fn plan(&mut self, trace: &Trace) -> io::Result<()> {
        let numbers = trace.segments_in(self.span);
        let mut items: BTreeMap<usize, Item> = BTreeMap::new();
        match trace.index() {
            None => items.extend(
                numbers
                    .into_iter()
                    .map(|number| (number, Item::all(number))),
            ),
            Some(index) => {
                if numbers.len() > MANY {
                    self.lengthen(trace, &index)?;
                }
                self.count_nodes(trace, &index, &mut items)?;
                self.search_nodes(trace, &index, &mut items)?;
            }
        }
        let mut items: Vec<Item> = items.into_values().collect();
        // Those that may have the longest call come first.
        items.sort_by_key(|item| (std::cmp::Reverse(item.longest), item.number));
        self.remaining = Remaining::new(items.into_iter());
        Ok(())
    }

    /// Returns the power of the length of intervals, if the index can have them.
    fn power(&self, trace: &Trace) -> Option<u8> {
        let origin = trace.span()[0];
        let [from, until] = self.span.map(|time| time.0.checked_sub(origin.0));
        let (from, until) = (u64::try_from(from?).ok()?, u64::try_from(until?).ok()?);
        let length = until.checked_sub(from)? / self.count as u64;
        let fits = length.is_power_of_two()
            && length * self.count as u64 == until - from
            && from.is_multiple_of(length);
        fits.then(|| length.ilog2() as u8)
    }

    /// Makes intervals as long as the bins of the nodes at the top, if there are some of them left.
    fn lengthen(&mut self, trace: &Trace, index: &Index) -> io::Result<()> {
        let Some(power) = self.power(trace) else {
            return Ok(());
        };
        let mut longest = power;
        for place in index.top().filter(|place| self.overlaps(index, *place)) {
            let Some(bins) = index.call_bins(place) else {
                return Ok(());
            };
            longest = longest.max(bins.power);
        }
        let origin = trace.span()[0].0;
        let [from, until] = self.span.map(|time| time.0.abs_diff(origin));
        let (first, end) = (from >> longest, until.div_ceil(1 << longest));
        if longest > power && end - first >= MIN_INTERVALS {
            let time =
                |interval: u64| Timestamp(origin.saturating_add((interval << longest) as i64));
            // Only calls before the end of the trace are beyond the span: there are none.
            let is_whole = from == first << longest && self.span[1] >= trace.span()[1];
            if is_whole {
                self.count = (end - first) as usize;
                self.span = [time(first), time(end)];
                self.counts = vec![0; self.count];
            }
        }
        Ok(())
    }

    fn overlaps(&self, index: &Index, place: Place) -> bool {
        let [from, until] = self.span;
        let times = index.times(place);
        times.is_some_and(|[first, last]| first < until && last >= from)
    }

    /// Counts the calls of nodes whose bins are not longer than the intervals. Of others, what they
    /// consist of is counted, or their segments.
    fn count_nodes(
        &mut self,
        trace: &Trace,
        index: &Index,
        items: &mut BTreeMap<usize, Item>,
    ) -> io::Result<()> {
        let power = self.power(trace);
        let numbers = trace.segments_in(self.span);
        let mut nodes: Vec<Place> = index.top().collect();
        while let Some(place) = nodes.pop() {
            if !self.overlaps(index, place) {
                continue;
            }
            if let Some(bins) = index.call_bins(place)
                && let Some(calls) = index.calls_of(place, self.method)?
                && (calls.counts.is_empty() || power.is_some_and(|power| bins.power <= power))
            {
                for (bin, count) in calls.counts {
                    if let Some(interval) = interval(self.span, self.count, bins.begin(bin)) {
                        let all = &mut self.counts[interval];
                        *all = all.saturating_add(count);
                    }
                }
            } else if place.0 > 0 {
                nodes.extend(index.below(place));
            } else {
                let [first, end] = index.segments(place).map(|number| number as usize);
                let of_block = numbers.iter().filter(|n| (first..end).contains(*n));
                items.extend(of_block.map(|number| (*number, Item::all(*number))));
            }
        }
        Ok(())
    }

    /// Searches nodes for the longest call. Segments that may have it are to be read.
    fn search_nodes(
        &mut self,
        trace: &Trace,
        index: &Index,
        items: &mut BTreeMap<usize, Item>,
    ) -> io::Result<()> {
        let numbers = trace.segments_in(self.span);
        let mut nodes: Vec<(i64, Place)> = index.top().map(|place| (i64::MAX, place)).collect();
        while let Some(next) = (0..nodes.len()).max_by_key(|next| nodes[*next].0) {
            let (mut longest, place) = nodes.swap_remove(next);
            let so_far = self.slowest.map_or(i64::MIN, |(_, call)| length(&call));
            if longest < so_far {
                return Ok(());
            }
            if !self.overlaps(index, place) {
                continue;
            }
            if index.call_bins(place).is_some()
                && let Some(calls) = index.calls_of(place, self.method)?
            {
                let Some(found) = calls.longest else {
                    continue;
                };
                if (self.span[0]..self.span[1]).contains(&found.1.end) {
                    self.add_ended(found);
                    continue;
                }
                longest = longest.min(length(&found.1));
            }
            if place.0 > 0 {
                nodes.extend(index.below(place).map(|below| (longest, below)));
                continue;
            }
            let [first, end] = index.segments(place).map(|number| number as usize);
            for number in numbers.iter().filter(|n| (first..end).contains(*n)) {
                let item = Item {
                    number: *number,
                    counts: false,
                    longest,
                };
                items.entry(*number).or_insert(item);
            }
        }
        Ok(())
    }
}

/// Returns the length of a call in ns.
fn length(call: &Slice) -> i64 {
    call.end.0.saturating_sub(call.begin.0)
}

/// Returns the interval of a time, if it is in the span.
fn interval([from, until]: [Timestamp; 2], count: usize, time: Timestamp) -> Option<usize> {
    if !(from..until).contains(&time) {
        return None;
    }
    let length = u128::from(until.0.abs_diff(from.0));
    let since = u128::from(time.0.abs_diff(from.0));
    Some((since * count as u128 / length) as usize)
}

impl Walk for Visitor {
    type Extra = Option<Slice>;
    type Thread = ThreadId;

    fn thread(&mut self, id: ThreadId) -> ThreadId {
        id
    }

    #[inline]
    fn begin(&mut self, _: &mut ThreadId, open: &[Open<Self::Extra>], begin: Begin) -> Self::Extra {
        if begin.method != self.method {
            return None;
        }
        if !begin.is_earlier
            && let Some(interval) = interval(self.span, self.count, begin.time)
            && let Some(calls) = self.counts.get_mut(interval)
        {
            *calls += 1;
        }
        Some(begin.slice(open.len()))
    }

    #[inline]
    fn end(
        &mut self,
        thread: &mut ThreadId,
        _: &[Open<Self::Extra>],
        ended: Open<Self::Extra>,
        (end, kind): (Timestamp, Kind),
    ) {
        let Some(slice) = ended.extra else {
            return;
        };
        let found = (*thread, Slice { end, kind, ..slice });
        let is_longest = |other: &Found| is_longer(&found, other);
        let [from, until] = self.span;
        if (from..until).contains(&end) && self.slowest.as_ref().is_none_or(is_longest) {
            self.slowest = Some(found);
        }
    }
}
