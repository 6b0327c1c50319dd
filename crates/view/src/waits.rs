//! Waits with what they are for.

use crate::slice::{EARLIER, Kind, LATER};
use crate::trace::Trace;
use crate::walk::{Begin, Open, Walk};
use jtrail_model::{Event, ObjectId, ThreadId, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::io;

/// A wait of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Wait {
    /// The thread.
    pub thread: ThreadId,
    /// The begin; the smallest time if it is unknown.
    pub begin: Timestamp,
    /// The end; the largest time if it never ends.
    pub end: Timestamp,
    /// Number of calls that the wait is within.
    pub level: u32,
    /// Blocked, waiting or parked.
    pub kind: Kind,
    /// The monitor's object or the blocker; none if it is unknown.
    pub object: ObjectId,
    /// The thread that holds the monitor when the wait begins; none if it is unknown.
    pub owner: ThreadId,
}

/// Collects the waits of threads in a segment.
pub(crate) struct Waits<'a> {
    threads: &'a BTreeSet<ThreadId>,
    /// Object and owner of the wait that begins.
    begins: (ObjectId, ThreadId),
    pub(crate) found: Vec<Wait>,
}

impl<'a> Waits<'a> {
    pub(crate) fn of(threads: &'a BTreeSet<ThreadId>) -> Self {
        Self {
            threads,
            begins: Default::default(),
            found: Vec::new(),
        }
    }
}

impl Walk for Waits<'_> {
    type Extra = Option<Wait>;
    type Thread = ThreadId;

    fn thread(&mut self, id: ThreadId) -> ThreadId {
        id
    }

    #[inline]
    fn begin(
        &mut self,
        thread: &mut ThreadId,
        open: &[Open<Self::Extra>],
        begin: Begin,
    ) -> Self::Extra {
        if begin.kind.is_call() || !self.threads.contains(thread) {
            return None;
        }
        let (object, owner) = std::mem::take(&mut self.begins);
        Some(Wait {
            thread: *thread,
            begin: begin.time,
            end: LATER,
            level: open.len() as u32,
            kind: begin.kind,
            object,
            owner,
        })
    }

    #[inline]
    fn end(
        &mut self,
        _: &mut ThreadId,
        _: &[Open<Self::Extra>],
        ended: Open<Self::Extra>,
        (end, _): (Timestamp, Kind),
    ) {
        self.found
            .extend(ended.extra.map(|wait| Wait { end, ..wait }));
    }

    fn other(&mut self, event: &Event<'_>) {
        self.begins = reason(event);
    }
}

/// Returns the object and the owner of the wait that an event begins; none if it begins none.
pub(crate) fn reason(event: &Event<'_>) -> (ObjectId, ThreadId) {
    match event {
        Event::MonitorContendedEnter(e) => (e.object, e.owner),
        Event::MonitorWait(e) => (e.object, ThreadId::NONE),
        Event::ThreadPark(e) => (e.object, ThreadId::NONE),
        _ => Default::default(),
    }
}

impl Trace {
    /// Returns the waits of a thread that overlap a span, in the order of their ends.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub fn waits(&self, thread: ThreadId, span: [Timestamp; 2]) -> io::Result<Vec<Wait>> {
        let mut all = Vec::new();
        self.waits_of(&BTreeSet::from([thread]), span, |wait| all.push(wait))?;
        Ok(all)
    }

    /// Returns the waits of a thread that overlap a span, in the order of their ends. Of a long
    /// span, those of its first segments only.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub(crate) fn waits_within(
        &self,
        thread: ThreadId,
        [from, until]: [Timestamp; 2],
        segments: usize,
    ) -> io::Result<Vec<Wait>> {
        let numbers = self.segments_of(thread, [from, until]);
        let end = numbers.get(segments).map(|number| self.first_time(*number));
        self.waits(thread, [from, end.unwrap_or(until).min(until)])
    }

    /// Passes the waits of some threads that overlap a span to `visit`, those of each thread in the
    /// order of their ends.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub(crate) fn waits_of(
        &self,
        threads: &BTreeSet<ThreadId>,
        span: [Timestamp; 2],
        mut visit: impl FnMut(Wait),
    ) -> io::Result<()> {
        // Only segments that a thread needs have its waits.
        let mut needs: BTreeMap<usize, BTreeSet<ThreadId>> = BTreeMap::new();
        for thread in threads {
            let numbers = self.segments_of(*thread, span);
            // A wait that is open at the begin of the span begins in the thread's segment before.
            let before = self.segments_until(*thread, span[0]).into_iter().rev();
            let before = before.skip_while(|number| numbers.first().is_some_and(|n| number >= n));
            for number in before.take(1).chain(numbers.iter().copied()) {
                needs.entry(number).or_default().insert(*thread);
            }
        }
        let [from, until] = span;
        let mut visit = |wait: Wait| {
            if wait.begin < until && (wait.end > from || wait.begin >= from) {
                visit(wait);
            }
        };
        let mut open: BTreeMap<ThreadId, Wait> = BTreeMap::new();
        // Threads that begin and end nothing, with the first segments that they need.
        let mut silent: BTreeMap<ThreadId, usize> = BTreeMap::new();
        for (number, threads) in needs.iter().rev() {
            silent.extend(threads.iter().map(|thread| (*thread, *number)));
        }
        for (number, threads) in needs {
            let mut waits = Waits::of(&threads);
            let walked = self.walk(number, &mut waits)?;
            for thread in &threads {
                if let Some([missing, _]) = self.gap_before(*thread, number)
                    && let Some(begun) = open.remove(thread)
                {
                    let end = missing.max(begun.begin);
                    visit(Wait { end, ..begun });
                }
            }
            for wait in waits.found {
                match open.remove(&wait.thread) {
                    Some(begun) if wait.begin == EARLIER => visit(Wait {
                        end: wait.end,
                        ..begun
                    }),
                    None if wait.begin == EARLIER => {
                        let begun = self.begun_wait(wait.thread, number)?;
                        let end = wait.end;
                        visit(begun.map_or(wait, |begun| Wait { end, ..begun }));
                    }
                    _ => visit(wait),
                }
            }
            for thread in &threads {
                let Some(walked) = walked.get(thread).filter(|thread| thread.is_running) else {
                    continue;
                };
                silent.remove(thread);
                match walked.open.last().and_then(|open| open.extra) {
                    Some(wait) => open.insert(*thread, wait),
                    None => open.remove(thread),
                };
            }
        }
        for (thread, number) in silent {
            open.extend(self.begun_wait(thread, number)?.map(|wait| (thread, wait)));
        }
        for (thread, wait) in open {
            let gap = self.gap_at_end(thread, span);
            let end = match gap {
                Some([missing, _]) => missing.max(wait.begin),
                None => self.end_of_wait(thread, span)?,
            };
            visit(Wait { end, ..wait });
        }
        Ok(())
    }

    /// Returns the wait of a thread that is open at the begin of a segment, with what it is for.
    fn begun_wait(&self, thread: ThreadId, number: usize) -> io::Result<Option<Wait>> {
        let threads = BTreeSet::from([thread]);
        let Some(slice) = self.open_wait(thread, number)? else {
            return Ok(None);
        };
        let before = self.segments_until(thread, slice.begin).into_iter().rev();
        for number in before.filter(|before| *before < number) {
            let mut waits = Waits::of(&threads);
            let walked = self.walk(number, &mut waits)?;
            let walked = walked.get(&thread).filter(|walked| walked.is_running);
            if let Some(walked) = walked {
                return Ok(walked.open.last().and_then(|open| open.extra));
            }
        }
        Ok(None)
    }

    /// Returns the end of the wait that is open in the last segment which tells what a thread does
    /// in a span. It may be later: a waiting thread may have other events, such as samples.
    fn end_of_wait(&self, thread: ThreadId, span: [Timestamp; 2]) -> io::Result<Timestamp> {
        let of_span = self.segments_of(thread, span);
        let mut next = of_span.last().map_or(0, |last| last + 1);
        while let Some(number) = self.next_segment(thread, next) {
            let segment = self.segment(number)?;
            let slices = segment.thread(thread).filter(|slices| slices.is_running);
            if let Some(slices) = slices {
                let wait = slices.ended.first().filter(|_| slices.begins_in_wait());
                return Ok(wait.map_or(LATER, |wait| wait.end));
            }
            next = number + 1;
        }
        Ok(LATER)
    }
}
