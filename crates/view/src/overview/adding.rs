//! Adds what happens in a segment: counts, and waits from one segment into another.

use super::{Overview, Part, Row};
use crate::trace::Trace;
use jtrail_model::{Event, ThreadId};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

impl Overview {
    /// Ends the wait of a thread at a gap before its segment, if there is one.
    fn end_wait_at_gap(&mut self, trace: &Trace, id: ThreadId, number: usize) -> io::Result<()> {
        let Some([missing, until]) = trace.gap_before(id, number) else {
            return Ok(());
        };
        self.after_gaps.insert(id, until);
        self.find_wait(trace, id)?;
        self.running.remove(&id);
        if let Some((begin, kind)) = self.waits.remove(&id) {
            let intervals = self.intervals;
            self.row(id).add_wait(intervals, [begin, missing], kind);
        }
        Ok(())
    }

    /// Finds the wait that lasts all through the segments of a thread so far, in which it has other
    /// events.
    fn find_wait(&mut self, trace: &Trace, id: ThreadId) -> io::Result<()> {
        if self.running.contains(&id) {
            return Ok(());
        }
        let wait = match self.latest.get(&id) {
            Some(latest) => trace.open_wait(id, *latest)?,
            None => None,
        };
        if let Some((wait, _)) = wait {
            self.waits.insert(id, (wait.begin, wait.kind));
        }
        Ok(())
    }

    /// Adds what happens in the next segment to some threads, or to all.
    pub(super) fn add(
        &mut self,
        trace: &Trace,
        number: usize,
        part: Part,
        threads: Option<&BTreeSet<ThreadId>>,
    ) -> io::Result<()> {
        let only = self.only.take();
        let added = self.add_part(trace, number, part, [only.as_ref(), threads]);
        self.only = only;
        added
    }

    /// Adds what happens in a segment to the threads that are in both sets.
    fn add_part(
        &mut self,
        trace: &Trace,
        number: usize,
        part: Part,
        [only, threads]: [Option<&BTreeSet<ThreadId>>; 2],
    ) -> io::Result<()> {
        let counts = |id: &ThreadId| only.is_none_or(|only| only.contains(id));
        let others = part.others.iter();
        // Definitions of threads name them, and belong to no selection.
        let others = others.filter(|event| match event {
            Event::ThreadStart(_) | Event::ThreadName(_) => true,
            _ => event.thread().is_none_or(|thread| counts(&thread)),
        });
        for event in others {
            let Event::ThreadCpu(_) = event else {
                self.analysis.event(event, |_, _| true);
                self.collect(event);
                continue;
            };
            if self.of_span.contains(&number) {
                self.collect(event);
            }
        }
        if trace.times_of(number).is_none() {
            // Sums of calls have no times, so a segment of theirs has no place among others.
            return Ok(());
        }
        let is_needed =
            |id: &ThreadId| counts(id) && threads.is_none_or(|threads| threads.contains(id));
        for (id, thread) in part.threads.into_iter().filter(|(id, _)| is_needed(id)) {
            self.end_wait_at_gap(trace, id, number)?;
            self.latest.insert(id, number);
            let intervals = self.intervals;
            // A thread may have other events while it waits, such as samples: then it still waits.
            let before = match thread.is_running {
                true => {
                    self.running.insert(id);
                    self.waits.remove(&id)
                }
                false => None,
            };
            let after_gap = self.after_gaps.get(&id).copied();
            if thread.is_running {
                self.after_gaps.remove(&id);
            }
            let row = self.row(id);
            row.add(thread.row);
            if let Some((end, kind)) = thread.ended {
                let begin = before.filter(|(_, of)| *of == kind).map(|(begin, _)| begin);
                let begin = begin.or(after_gap).unwrap_or(intervals.span[0]);
                row.add_wait(intervals, [begin, end], kind);
            }
            if let Some(wait) = thread.waits {
                self.waits.insert(id, wait);
            }
        }
        Ok(())
    }

    /// Adds the waits that never end.
    pub(super) fn end(&mut self, trace: &Trace) -> io::Result<()> {
        // Waits that last all through the span, in which their threads have other events.
        let all: Vec<ThreadId> = self.latest.keys().copied().collect();
        for id in all {
            self.find_wait(trace, id)?;
        }
        let (intervals, mut unended) = (self.intervals, BTreeMap::new());
        let end = trace.ended(intervals.span)[1];
        for (id, (begin, kind)) in &self.waits {
            let (id, begin, kind) = (*id, *begin, *kind);
            let last = trace.segments_of(id, intervals.span).last().copied();
            let gap = last.and_then(|last| trace.gap_after(id, last));
            if self.threads.contains_key(&id) {
                let wait = [begin, gap.map_or(end, |[missing, _]| missing.min(end))];
                let mut row = Row::default();
                row.add_wait(intervals, wait, kind);
                unended.insert(id, row);
            }
        }
        self.unended = Some(unended);
        Ok(())
    }
}
