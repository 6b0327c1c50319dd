//! Finds calls of a method, and the ends of long calls.

use crate::slice::{Kind, LATER, Slice};
use crate::trace::Trace;
use crate::walk::{Begin, Open, Walk};
use jtrail_model::{ThreadId, Timestamp};
use std::io;
use std::time::{Duration, Instant};

/// A call, and the thread that makes it.
pub type Found = (ThreadId, Slice);

/// The calls of a method in a span, as far as they have been counted.
#[derive(Debug)]
pub struct Occurrences {
    method: u32,
    span: [Timestamp; 2],
    /// The segments that remain, the next one last.
    remaining: Vec<usize>,
    all: usize,
    counts: Vec<u64>,
    slowest: Option<Found>,
}

impl Occurrences {
    /// Begins to count the calls of a method in so many equal intervals of a span; at least one.
    pub fn new(trace: &Trace, method: u32, span: [Timestamp; 2], intervals: usize) -> Self {
        let mut remaining = trace.segments_in(span);
        remaining.reverse();
        Self {
            method,
            span,
            all: remaining.len(),
            remaining,
            counts: vec![0; intervals.max(1)],
            slowest: None,
        }
    }

    /// Counts in the segments from `first` on, too: the trace has grown.
    pub(crate) fn grow(&mut self, trace: &Trace, first: usize) {
        let before = self.remaining.len();
        let new = trace.segments_in(self.span).into_iter().rev();
        let mut remaining: Vec<usize> = new.take_while(|number| *number >= first).collect();
        remaining.append(&mut self.remaining);
        self.remaining = remaining;
        self.all += self.remaining.len() - before;
    }

    /// Returns which share of the span has been counted: 1 if all has.
    pub fn share(&self) -> f64 {
        match self.all {
            0 => 1.0,
            all => 1.0 - self.remaining.len() as f64 / all as f64,
        }
    }

    /// Returns the number of calls that begin in each interval.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// Returns the longest call that has ended.
    pub fn slowest(&self) -> Option<Found> {
        self.slowest
    }

    /// Counts in more segments, until everything is counted or the time is over.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub fn advance(&mut self, trace: &Trace, time: Duration) -> io::Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < time {
            let Some(number) = self.remaining.last().copied() else {
                break;
            };
            trace.walk(number, self)?;
            // A segment that can't be read remains, so that the next attempt fails too.
            self.remaining.pop();
        }
        Ok(())
    }
}

impl Walk for Occurrences {
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
        let [from, until] = self.span;
        if !begin.is_earlier && (from..until).contains(&begin.time) {
            let length = u128::from(until.0.abs_diff(from.0));
            let since = u128::from(begin.time.0.abs_diff(from.0));
            let interval = since * self.counts.len() as u128 / length;
            self.counts[interval as usize] += 1;
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
        let slice = Slice { end, kind, ..slice };
        let length = |slice: &Slice| slice.end.since(slice.begin).0;
        let is_slower = |(_, other): (ThreadId, Slice)| length(&slice) > length(&other);
        if slice.overlaps(self.span) && self.slowest.is_none_or(is_slower) {
            self.slowest = Some((*thread, slice));
        }
    }
}

impl Trace {
    /// Returns the call or wait of a thread at a time and a level, with its end if it has one.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub fn slice_at(
        &self,
        thread: ThreadId,
        time: Timestamp,
        level: u32,
    ) -> io::Result<Option<Slice>> {
        let mut found = None;
        let span = [time, Timestamp(time.0.saturating_add(1))];
        self.slices(thread, span, |slice| {
            // Of two that touch, the later one begins here.
            let is_later = |other: Slice| slice.begin > other.begin;
            if slice.level == level && found.is_none_or(is_later) {
                found = Some(*slice);
            }
        })?;
        found.map(|slice| self.with_end(thread, slice)).transpose()
    }

    /// Returns a slice with its end, which may be many segments later.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub fn with_end(&self, thread: ThreadId, slice: Slice) -> io::Result<Slice> {
        if slice.end != LATER {
            return Ok(slice);
        }
        let numbers = self.segments_from(thread, slice.begin);
        // Segments at whose ends the call is open precede all others.
        let (mut low, mut high) = (0, numbers.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            let segment = self.segment(numbers[middle])?;
            let key = |slice: &Slice| (slice.begin, slice.level, slice.method);
            let same = |other: &&Slice| key(other) == key(&slice);
            let slices = segment.thread(thread);
            if slices.is_some_and(|s| s.open.iter().any(|other| same(&other))) {
                low = middle + 1;
                continue;
            }
            // Of several that begin at the same time, the last one has ended last.
            if let Some(ended) = slices.and_then(|s| s.ended.iter().rfind(same)) {
                return Ok(*ended);
            }
            high = middle;
        }
        // A call that is not open any more has ended in a gap.
        let last = low.checked_sub(1).and_then(|last| numbers.get(last));
        let gap = last.and_then(|last| self.gap_after(thread, *last));
        Ok(match gap {
            Some([missing, _]) => Slice {
                end: missing.max(slice.begin),
                ..slice
            },
            None => slice,
        })
    }

    /// Returns the first call of a method on a thread that begins after a time, if it is found in
    /// some time.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub fn next_call(
        &self,
        (thread, method): (ThreadId, u32),
        after: Timestamp,
        time: Duration,
    ) -> io::Result<Option<Slice>> {
        let begun = Instant::now();
        for number in self.segments_from(thread, after) {
            let first = self.calls_in(number, thread, method)?;
            let first = first.filter(|call| call.begin > after);
            if let Some(call) = first.min_by_key(|call| (call.begin, call.level)) {
                return self.with_end(thread, call).map(Some);
            }
            if begun.elapsed() > time {
                break;
            }
        }
        Ok(None)
    }

    /// Returns the last call of a method on a thread that begins before a time, if it is found in
    /// some time.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub fn previous_call(
        &self,
        (thread, method): (ThreadId, u32),
        before: Timestamp,
        time: Duration,
    ) -> io::Result<Option<Slice>> {
        let begun = Instant::now();
        for number in self.segments_until(thread, before).into_iter().rev() {
            let first = self.first_time(number);
            let calls = self.calls_in(number, thread, method)?;
            // Calls that are open at the begin of the segment may not be the last ones before it.
            let calls = calls.filter(|call| call.begin < before && call.begin >= first);
            if let Some(call) = calls.max_by_key(|call| (call.begin, call.level)) {
                return self.with_end(thread, call).map(Some);
            }
            if begun.elapsed() > time {
                break;
            }
        }
        Ok(None)
    }

    /// Returns the calls of a method on a thread that end in a segment or are open at its end.
    fn calls_in(
        &self,
        number: usize,
        thread: ThreadId,
        method: u32,
    ) -> io::Result<impl Iterator<Item = Slice>> {
        let segment = self.segment(number)?;
        let slices = segment.thread(thread);
        let all = slices.map(|s| s.ended.iter().chain(&s.open));
        let calls = all
            .into_iter()
            .flatten()
            .filter(|call| call.method == method);
        Ok(calls.copied().collect::<Vec<Slice>>().into_iter())
    }
}
