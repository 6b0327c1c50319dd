//! Class initialisations: their times, and their nesting.

use crate::spans::{Longest, Timed};
use jtrail_model::{ClassId, ClassInitEnd, ClassInitStart, Event, ThreadId, Timestamp};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// One run of a class's static initialiser.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Initialisation {
    /// The initialised class.
    pub class: ClassId,
    /// The thread that ran the initialiser.
    pub thread: ThreadId,
    /// The start of the initialisation.
    pub start: Timestamp,
    /// The total time in ns.
    pub total: i64,
    /// The time without nested initialisations, in ns.
    pub own: i64,
    /// The class whose initialiser enclosed this one; none if it was outermost.
    pub within: ClassId,
    /// True if an exception ended the initialiser.
    pub failed: bool,
    /// True if the initialiser had not ended when the trace did.
    pub open: bool,
}

impl Timed for Initialisation {
    fn start(&self) -> Timestamp {
        self.start
    }

    fn length(&self) -> i64 {
        self.total
    }
}

/// The end of an initialisation is searched for among at most this many open ones.
const FARTHEST: usize = 1000;

/// An open initialisation.
#[derive(Clone, Copy, Debug)]
struct OpenInitialisation {
    class: ClassId,
    start: Timestamp,
    /// The time of nested initialisations, in ns.
    inner: i64,
    /// True if the trace has a gap after the start, so that the initialisation may have ended.
    may_have_ended: bool,
}

/// All class initialisations of a trace.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Initialisations {
    /// The number of initialisations.
    pub count: u64,
    /// The number of failed ones.
    pub failed: u64,
    /// The slowest initialisations.
    pub slowest: Longest<Initialisation>,
    /// The open initialisations of each thread, the innermost last.
    #[serde(skip)]
    open: FxHashMap<ThreadId, Vec<OpenInitialisation>>,
}

impl Initialisations {
    /// Processes starts and ends of initialisations, and ends of threads. Ignores other events.
    pub fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::ClassInitStart(e) => self.begin(e),
            Event::ClassInitEnd(e) => self.end(e),
            Event::ThreadEnd(e) => {
                let open = self.open.remove(&e.thread);
                self.unended(e.thread, open.unwrap_or_default(), e.time);
            }
            _ => {}
        }
    }

    /// Ends the open initialisations at the end of the trace.
    pub fn finish(&mut self, time: Timestamp) {
        let mut open: Vec<_> = self.open.drain().collect();
        open.sort_by_key(|(thread, _)| *thread);
        for (thread, begun) in open {
            self.unended(thread, begun, time);
        }
    }

    fn begin(&mut self, e: &ClassInitStart) {
        self.open
            .entry(e.thread)
            .or_default()
            .push(OpenInitialisation {
                class: e.class,
                start: e.time,
                inner: 0,
                may_have_ended: false,
            });
    }

    /// Handles a gap in the trace. The gap concerns one thread, or all threads for
    /// `ThreadId::NONE`.
    pub(super) fn lost(&mut self, thread: ThreadId) {
        for (id, open) in &mut self.open {
            if thread.is_none() || *id == thread {
                open.iter_mut()
                    .for_each(|begun| begun.may_have_ended = true);
            }
        }
    }

    /// Ends an initialisation. Nested ones whose ends are missing in the trace are not counted.
    fn end(&mut self, e: &ClassInitEnd) {
        let Some(open) = self.open.get_mut(&e.thread) else {
            return;
        };
        let mut near = open.iter().rev().take(FARTHEST);
        let Some(inner) = near.position(|begun| begun.class == e.class) else {
            return;
        };
        open.truncate(open.len() - inner);
        let ended = end_last(open, e.thread, e.time);
        self.add(ended.map(|ended| Initialisation {
            failed: e.failed,
            ..ended
        }));
    }

    fn unended(&mut self, thread: ThreadId, mut open: Vec<OpenInitialisation>, time: Timestamp) {
        while let Some(begun) = open.last() {
            let may_have_ended = begun.may_have_ended;
            let ended = end_last(&mut open, thread, time);
            let ended = ended.filter(|_| !may_have_ended);
            self.add(ended.map(|ended| Initialisation {
                open: true,
                ..ended
            }));
        }
    }

    fn add(&mut self, ended: Option<Initialisation>) {
        let Some(ended) = ended else { return };
        self.count += 1;
        self.failed += u64::from(ended.failed);
        self.slowest.add(ended);
    }
}

/// Ends the innermost initialisation.
fn end_last(
    open: &mut Vec<OpenInitialisation>,
    thread: ThreadId,
    time: Timestamp,
) -> Option<Initialisation> {
    let begun = open.pop()?;
    let total = time.since(begun.start).0.max(0);
    let outer = open.last_mut();
    let within = outer.map_or(ClassId::NONE, |outer| {
        outer.inner = outer.inner.saturating_add(total);
        match outer.may_have_ended {
            true => ClassId::NONE,
            false => outer.class,
        }
    });
    Some(Initialisation {
        class: begun.class,
        thread,
        start: begun.start,
        total,
        own: total.saturating_sub(begun.inner).max(0),
        within,
        failed: false,
        open: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_model::ThreadEnd;

    fn start(thread: u64, class: u64, time: i64) -> Event<'static> {
        Event::ClassInitStart(ClassInitStart {
            thread: ThreadId(thread),
            time: Timestamp(time),
            class: ClassId(class),
        })
    }

    fn end(thread: u64, class: u64, time: i64, failed: bool) -> Event<'static> {
        Event::ClassInitEnd(ClassInitEnd {
            thread: ThreadId(thread),
            time: Timestamp(time),
            class: ClassId(class),
            failed,
        })
    }

    /// Class, total time, own time, enclosing class, failed, open.
    type Row = (u64, i64, i64, u64, bool, bool);

    fn rows(events: &[Event<'_>], last: i64) -> Vec<Row> {
        let mut all = Initialisations::default();
        events.iter().for_each(|event| all.event(event));
        all.finish(Timestamp(last));
        let rows = all.slowest.sorted().iter();
        rows.map(|i| (i.class.0, i.total, i.own, i.within.0, i.failed, i.open))
            .collect()
    }

    #[test]
    fn those_of_each_thread_nest() {
        let events = [
            start(1, 10, 100),
            start(2, 20, 110),
            start(1, 11, 120),
            end(1, 11, 150, true),
            start(1, 12, 160),
            end(2, 20, 165, false),
            end(1, 12, 170, false),
            end(1, 10, 200, false),
        ];
        let expected = [
            (10, 100, 60, 0, false, false),
            (20, 55, 55, 0, false, false),
            (11, 30, 30, 10, true, false),
            (12, 10, 10, 10, false, false),
        ];
        assert_eq!(rows(&events, 900), expected);
    }

    #[test]
    fn what_is_open_counts_up_to_the_end_of_thread_or_trace() {
        let thread_end = Event::ThreadEnd(ThreadEnd {
            thread: ThreadId(2),
            time: Timestamp(130),
        });
        let events = [
            start(1, 10, 100),
            start(1, 11, 150),
            start(2, 20, 120),
            thread_end,
        ];
        let expected = [
            (10, 900, 50, 0, false, true),
            (11, 850, 850, 10, false, true),
            (20, 10, 10, 0, false, true),
        ];
        assert_eq!(rows(&events, 1000), expected);
    }

    /// After a gap, open initialisations may have ended. So they do not count as enclosing later
    /// ones, and they do not count as open at the end.
    #[test]
    fn what_may_have_ended_unseen_is_around_nothing() {
        let mut all = Initialisations::default();
        all.event(&start(1, 10, 100));
        all.event(&start(2, 20, 110));
        all.lost(ThreadId(1));
        all.event(&start(1, 11, 120));
        all.event(&end(1, 11, 130, false));
        all.event(&start(2, 21, 140));
        all.event(&end(2, 21, 145, false));
        all.finish(Timestamp(200));
        let rows = all.slowest.sorted().iter();
        let rows: Vec<_> = rows
            .map(|i| (i.class.0, i.total, i.within.0, i.open))
            .collect();
        let expected = [(20, 90, 0, true), (11, 10, 0, false), (21, 5, 20, false)];
        assert_eq!(rows, expected);
    }

    #[test]
    fn ends_and_begins_without_the_other_do_no_harm() {
        let events = [
            end(1, 9, 90, false),
            start(1, 10, 100),
            start(1, 11, 110),
            end(1, 12, 120, false),
            end(1, 10, 130, false),
            end(1, 11, 140, false),
        ];
        assert_eq!(rows(&events, 200), [(10, 30, 30, 0, false, false)]);
    }
}
