//! Finds calls of a method, and the ends of long calls.

use crate::slice::{LATER, Slice};
use crate::trace::Trace;
use jtrail_model::{ThreadId, Timestamp};
use std::cmp::Reverse;
use std::io;
use std::time::{Duration, Instant};

/// A call, and the thread that makes it.
pub type Found = (ThreadId, Slice);

/// Returns true if a call takes longer than another one. Of two that take the same time, the one
/// that begins first counts.
pub(crate) fn is_longer((thread, call): &Found, (other_thread, other): &Found) -> bool {
    let key = |thread: &ThreadId, call: &Slice| {
        let length = call.end.0.saturating_sub(call.begin.0);
        (Reverse(length), call.begin, *thread, call.level)
    };
    key(thread, call) < key(other_thread, other)
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
