//! The slices of a thread in a span, and what is missing there.

use crate::segment::{Segment, ThreadSlices};
use crate::slice::Slice;
use crate::trace::Trace;
use jtrail_model::{ThreadId, Timestamp};
use std::io;
use std::sync::Arc;

impl Trace {
    /// Returns the time that is missing of a thread between its preceding segment and this one.
    pub(crate) fn gap_before(&self, thread: ThreadId, number: usize) -> Option<[Timestamp; 2]> {
        let all = self.of_thread(thread);
        let place = all.partition_point(|other| (*other as usize) < number);
        let before = place.checked_sub(1).map(|place| all[place] as usize);
        self.gaps.between(thread, before, Some(number))
    }

    /// Returns the time that is missing of a thread between a segment and its following one.
    pub(crate) fn gap_after(&self, thread: ThreadId, number: usize) -> Option<[Timestamp; 2]> {
        let next = self.next_segment(thread, number + 1);
        self.gaps.between(thread, Some(number), next)
    }

    /// Returns the times in a span that are missing of a thread, in order.
    pub fn missing(&self, thread: ThreadId, span: [Timestamp; 2]) -> Vec<[Timestamp; 2]> {
        self.gaps.of_thread(thread, span)
    }

    /// Passes the slices of a thread that overlap a span to `visit`, each once, in no particular
    /// order.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub fn slices(
        &self,
        thread: ThreadId,
        span: [Timestamp; 2],
        mut visit: impl FnMut(&Slice),
    ) -> io::Result<()> {
        let mut visit = |slice: &Slice| {
            if slice.overlaps(span) {
                visit(slice);
            }
        };
        // The wait that is open at the end of the segment before.
        let mut wait: Option<Slice> = None;
        let mut before: Option<Arc<Segment>> = None;
        for number in self.segments_of(thread, span) {
            let segment = self.segment(number)?;
            let Some(slices) = segment.thread(thread) else {
                continue;
            };
            let gap = self.gap_before(thread, number);
            let of_before = before.as_ref().and_then(|before| before.thread(thread));
            if let Some(gap) = gap {
                let ended = of_before.map(|before| before.ended_by(wait, gap, Some(slices)));
                ended.iter().flatten().for_each(&mut visit);
                wait = None;
            }
            if wait.is_none() && (slices.begins_in_wait() || of_before.is_none()) {
                wait = match slices.needs_wait() {
                    true => self.open_wait(thread, number)?,
                    false => None,
                };
            }
            slices.visit(&mut wait, &mut visit);
            before = Some(segment);
        }
        let Some(last) = before.as_ref().and_then(|last| last.thread(thread)) else {
            return Ok(());
        };
        let gap = self.gap_at_end(thread, span);
        self.open_at_end(last, wait, gap).iter().for_each(visit);
        Ok(())
    }

    /// Returns what is open at the end of the last segment that a span of a thread needs. `gap`
    /// comes from [`Self::gap_at_end`].
    pub(crate) fn open_at_end(
        &self,
        last: &ThreadSlices,
        wait: Option<Slice>,
        gap: Option<[Timestamp; 2]>,
    ) -> Vec<Slice> {
        match gap {
            Some(gap) => last.ended_by(wait, gap, None),
            None => last.open_at_end(wait).collect(),
        }
    }

    /// Returns the time that is missing after the last segment that a span of a thread needs, if
    /// no later segment tells what is open.
    pub(crate) fn gap_at_end(
        &self,
        thread: ThreadId,
        span: [Timestamp; 2],
    ) -> Option<[Timestamp; 2]> {
        let last = self.segments_of(thread, span).last().copied()?;
        match self.next_segment(thread, last + 1) {
            Some(_) => None,
            None => self.gap_after(thread, last),
        }
    }

    /// Returns the wait that is open before a segment of a thread. After a gap, it is the one that
    /// ends in the segment, and begins at the end of the gap.
    pub(crate) fn open_wait(&self, thread: ThreadId, number: usize) -> io::Result<Option<Slice>> {
        let all = self.of_thread(thread);
        let place = all.partition_point(|other| (*other as usize) < number);
        let mut next = number;
        for before in all[..place]
            .iter()
            .rev()
            .map(|before| Some(*before as usize))
            .chain([None])
        {
            if let Some(gap) = self.gaps.between(thread, before, Some(next)) {
                let segment = self.segment(number)?;
                let slices = segment.thread(thread);
                return Ok(slices.and_then(|slices| slices.wait_after(gap)));
            }
            let Some(before) = before else {
                break;
            };
            let segment = self.segment(before)?;
            if let Some(slices) = segment.thread(thread).filter(|slices| slices.is_running) {
                return Ok(slices.open_wait());
            }
            next = before;
        }
        Ok(None)
    }
}
