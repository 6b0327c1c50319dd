//! The slices of a thread in a span, and what is missing there.

use crate::segment::Segment;
use crate::slice::{EARLIER, LATER, Slice};
use crate::trace::Trace;
use jtrail_model::{ThreadId, Timestamp};
use std::io;
use std::sync::Arc;

/// Number of segments in which the begin or end of a wait is looked for while an index is made.
const MAX_READ: usize = 16;

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
        let mut latest = Latest::default();
        for number in self.segments_of(thread, span) {
            let segment = self.segment(number)?;
            latest.follow(self, thread, (number, segment), &mut visit)?;
        }
        latest.end(self, thread, span, visit);
        Ok(())
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

    /// Returns the wait that is open before a segment of a thread, and the segment in which it
    /// begins.
    ///
    /// A wait that begins in a gap or before the trace is known by its end: it is open from the end
    /// of the gap, or from a time that is not known. It has no segment.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub(crate) fn open_wait(
        &self,
        thread: ThreadId,
        number: usize,
    ) -> io::Result<Option<(Slice, Option<usize>)>> {
        let index = self.index();
        let first = index.as_ref().map_or(0, |index| index.block_begin(number));
        let all = self.of_thread(thread);
        let place = all.partition_point(|other| (*other as usize) < number);
        let mut next = number;
        let mut gap = None;
        let earlier = all[..place].iter().rev().map(|before| *before as usize);
        for (read, before) in earlier.enumerate() {
            if read >= MAX_READ && self.waits_for_index() {
                return Ok(None);
            }
            if let Some(index) = index.as_ref().filter(|_| before < first) {
                // Waits from one block into another are in the index.
                let wait = index.wait_before(thread, number);
                return Ok(wait.map(|wait| {
                    let begin = self.segment_at(thread, wait.begin);
                    (Slice { end: LATER, ..wait }, begin)
                }));
            }
            gap = self.gaps.between(thread, Some(before), Some(next));
            if gap.is_some() {
                break;
            }
            let segment = self.segment(before)?;
            if let Some(slices) = segment.thread(thread).filter(|slices| slices.is_running) {
                return Ok(slices.open_wait().map(|wait| (wait, Some(before))));
            }
            next = before;
        }
        let gap = gap.or_else(|| self.gaps.between(thread, None, Some(next)));
        let gap = gap.filter(|[from, until]| from < until);
        let ended = self.ended_wait(thread, number)?;
        Ok(ended.map(|wait| {
            let begin = gap.map_or(EARLIER, |[_, until]| until.min(wait.end));
            let wait = Slice {
                begin,
                end: LATER,
                ..wait
            };
            (wait, None)
        }))
    }

    /// Returns the first segment of a thread that has events of it at a time or later.
    fn segment_at(&self, thread: ThreadId, time: Timestamp) -> Option<usize> {
        let mut all = self.of_thread(thread).iter().map(|number| *number as usize);
        all.find(|number| self.times_of(*number).is_some_and(|[_, last]| last >= time))
    }

    /// Returns the wait that is open before a segment of a thread and ends there, or in a later one
    /// up to which nothing is missing.
    fn ended_wait(&self, thread: ThreadId, number: usize) -> io::Result<Option<Slice>> {
        let all = self.of_thread(thread);
        let place = all.partition_point(|other| (*other as usize) < number);
        let mut before = None;
        for number in all[place..].iter().map(|number| *number as usize) {
            if before.is_some() && self.gaps.between(thread, before, Some(number)).is_some() {
                return Ok(None);
            }
            let segment = self.segment(number)?;
            if let Some(slices) = segment.thread(thread).filter(|slices| slices.is_running) {
                let first = slices.ended.first();
                return Ok(first.filter(|first| first.is_earlier_wait()).copied());
            }
            before = Some(number);
        }
        Ok(None)
    }

    /// Returns the end of a wait of a thread that is open at the end of a segment.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub(crate) fn end_of_wait(
        &self,
        thread: ThreadId,
        number: usize,
        wait: &Slice,
    ) -> io::Result<Timestamp> {
        let index = self.index();
        let first = index.as_ref().map_or(0, |index| index.block_begin(number));
        let mut last = number;
        for read in 0.. {
            if let Some([missing, _]) = self.gap_after(thread, last) {
                return Ok(missing);
            }
            let Some(next) = self.next_segment(thread, last + 1) else {
                return Ok(LATER);
            };
            if let Some(index) = &index
                && index.block_begin(next) != first
            {
                // Waits from one block into another are in the index.
                let found = index.across(thread).iter();
                let mut found = found.filter(|slice| slice.begin == wait.begin);
                let found = found.find(|slice| slice.kind == wait.kind);
                return Ok(found.map_or(LATER, |wait| wait.end));
            }
            if read >= MAX_READ && self.waits_for_index() {
                return Ok(LATER);
            }
            let segment = self.segment(next)?;
            if let Some(slices) = segment.thread(thread).filter(|slices| slices.is_running) {
                let first = slices.ended.first();
                let ended = first.filter(|first| first.is_earlier_wait());
                return Ok(ended.map_or(LATER, |wait| wait.end));
            }
            last = next;
        }
        Ok(LATER)
    }
}

/// The latest segment of a thread, while its segments are read one by one.
#[derive(Debug, Default)]
pub(crate) struct Latest {
    segment: Option<Arc<Segment>>,
    /// The wait that is open at its end.
    wait: Option<Slice>,
}

impl Latest {
    /// Passes the slices to `visit` that end in the next segment of the thread, or at a gap before
    /// it.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub(crate) fn follow(
        &mut self,
        trace: &Trace,
        thread: ThreadId,
        (number, segment): (usize, Arc<Segment>),
        mut visit: impl FnMut(&Slice),
    ) -> io::Result<()> {
        let Some(slices) = segment.thread(thread) else {
            return Ok(());
        };
        let before = self.segment.as_ref().and_then(|s| s.thread(thread));
        let gap = trace.gap_before(thread, number);
        if let Some((before, gap)) = before.zip(gap) {
            let ended = before.ended_by(self.wait, gap, Some(slices));
            ended.iter().rev().for_each(&mut visit);
            self.wait = None;
        }
        let is_unknown = before.is_none() || gap.is_some() || slices.begins_in_wait();
        if self.wait.is_none() && is_unknown && slices.needs_wait() {
            let open = trace.open_wait(thread, number)?;
            self.wait = open.map(|(wait, _)| wait);
        }
        slices.visit(&mut self.wait, visit);
        self.segment = Some(segment);
        Ok(())
    }

    /// Passes the slices to `visit` that are open at the end, callees before their caller. `span`
    /// is the one whose segments were followed.
    pub(crate) fn end(
        &self,
        trace: &Trace,
        thread: ThreadId,
        span: [Timestamp; 2],
        visit: impl FnMut(&Slice),
    ) {
        let Some(last) = self.segment.as_ref().and_then(|s| s.thread(thread)) else {
            return;
        };
        let open: Vec<Slice> = match trace.gap_at_end(thread, span) {
            Some(gap) => last.ended_by(self.wait, gap, None),
            None => last.open_at_end(self.wait).collect(),
        };
        open.iter().rev().for_each(visit);
    }
}
