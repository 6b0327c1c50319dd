//! Waits with what they are for.

use crate::methods::NO_METHOD;
use crate::slice::{EARLIER, Kind, LATER, Slice};
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
            let open = match numbers.first() {
                Some(first) => self.open_wait(*thread, *first)?,
                None => None,
            };
            let before = open.and_then(|(_, number)| number);
            for number in before.into_iter().chain(numbers) {
                needs.entry(number).or_default().insert(*thread);
            }
        }
        let [from, until] = span;
        let mut visit = |wait: Wait| {
            if wait.begin < until && (wait.end > from || wait.begin >= from) {
                visit(wait);
            }
        };
        // For each thread its latest segment, and the wait that is open at its end, if it is known.
        let mut latest: BTreeMap<ThreadId, (usize, Option<Wait>)> = BTreeMap::new();
        for (number, threads) in needs {
            let mut waits = Waits::of(&threads);
            let walked = self.walk(number, &mut waits)?;
            let mut open: BTreeMap<ThreadId, Wait> = BTreeMap::new();
            for thread in &threads {
                let before = latest.get(thread).copied();
                let gap = self.gap_before(*thread, number);
                match (before, gap) {
                    (Some((_, Some(begun))), Some([missing, _])) => {
                        let end = missing.max(begun.begin);
                        visit(Wait { end, ..begun });
                    }
                    (Some((_, Some(begun))), None) => _ = open.insert(*thread, begun),
                    _ => {}
                }
                let of_thread = walked.get(thread);
                let is_silent = of_thread.is_none_or(|thread| !thread.is_running);
                let mut found = waits.found.iter().filter(|wait| wait.thread == *thread);
                let needs = is_silent || found.any(|wait| wait.begin == EARLIER);
                if (before.is_none() || gap.is_some())
                    && needs
                    && let Some((wait, _)) = self.open_wait(*thread, number)?
                {
                    open.insert(*thread, Wait::unknown(*thread, &wait));
                }
            }
            for wait in waits.found {
                let begun = open.remove(&wait.thread);
                match begun.filter(|_| wait.begin == EARLIER) {
                    Some(begun) => {
                        let end = wait.end;
                        visit(Wait { end, ..begun });
                    }
                    None => visit(wait),
                }
            }
            for thread in &threads {
                let walked = walked.get(thread).filter(|thread| thread.is_running);
                let wait = match walked {
                    Some(walked) => walked.open.last().and_then(|open| open.extra),
                    None => open.remove(thread),
                };
                latest.insert(*thread, (number, wait));
            }
        }
        for (thread, (number, wait)) in latest {
            if let Some(wait) = wait {
                let end = self.end_of_wait(thread, number, &wait.slice())?;
                let end = end.max(wait.begin);
                visit(Wait { end, ..wait });
            }
        }
        Ok(())
    }
}

impl Wait {
    fn slice(&self) -> Slice {
        Slice {
            begin: self.begin,
            end: self.end,
            method: NO_METHOD,
            level: self.level,
            kind: self.kind,
        }
    }

    /// Returns a wait of which only its times are known.
    fn unknown(thread: ThreadId, wait: &Slice) -> Self {
        Self {
            thread,
            begin: wait.begin,
            end: wait.end,
            level: wait.level,
            kind: wait.kind,
            object: ObjectId::NONE,
            owner: ThreadId::NONE,
        }
    }
}
