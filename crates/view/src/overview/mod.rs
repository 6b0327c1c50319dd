//! What happens in a span, by equal intervals of time.
//!
//! | Module | Contents |
//! |---|---|
//! | `counts` | what happens in an interval, and a collection |
//! | `intervals` | equal intervals of a span |
//! | `row` | what a thread does by interval |
//! | `part` | what happens in a segment |
//! | `adding` | adds it, with waits from one segment into another |
//! | `others` | what other events than those of calls tell |
//! | `from_index` | overviews that the index makes, and estimates |

mod adding;
mod counts;
mod from_index;
mod intervals;
mod others;
mod part;
mod row;

pub use counts::{Collection, Counts};

use crate::cpu::Reading;
use crate::remaining::Remaining;
use crate::slice::Kind;
use crate::trace::Trace;
use intervals::Intervals;
use jtrail_analysis::{Analysis, Subjects};
use jtrail_model::{ThreadId, Timestamp};
use part::Part;
use row::Row;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::Range;
use std::time::Duration;

/// Maximum number of collections that are listed.
const MAX_COLLECTIONS: usize = 1000;

/// What happens in a span, by equal intervals of time, as far as it has been counted.
#[derive(Debug)]
pub struct Overview {
    intervals: Intervals,
    /// True if numbers are estimates, which are replaced by an index later.
    is_estimate: bool,
    /// Of a segment outside of the span, only the waits of some threads are needed.
    remaining: Remaining<(usize, Option<BTreeSet<ThreadId>>)>,
    /// The only threads whose events count; all if `None`.
    only: Option<BTreeSet<ThreadId>>,
    threads: BTreeMap<ThreadId, Row>,
    /// Waits that have begun, by thread, and have not ended in the segments so far.
    waits: BTreeMap<ThreadId, (Timestamp, Kind)>,
    /// Times of waits that do not end in the segments so far. `None` until all are known.
    unended: Option<BTreeMap<ThreadId, Row>>,
    /// The ends of gaps after which nothing has begun or ended, by thread.
    after_gaps: BTreeMap<ThreadId, Timestamp>,
    /// Threads that have begun or ended a call or wait in the segments so far, since the latest
    /// gap.
    running: BTreeSet<ThreadId>,
    /// The latest segment of each thread.
    latest: BTreeMap<ThreadId, usize>,
    /// Bytes in use after the latest collection of each interval.
    heap: Vec<Option<i64>>,
    collections: Vec<Collection>,
    collection: Collection,
    analysis: Analysis,
    /// The latest reading of each thread's CPU time, in ns.
    cpu: FxHashMap<ThreadId, Reading>,
    /// The segments whose readings are counted when they are read: those of the span.
    of_span: Range<usize>,
    /// True if the readings before the span are there, and those after it.
    has_readings: [bool; 2],
}

impl Overview {
    /// Begins to count what happens in so many intervals of a span; at least one.
    pub fn new(trace: &Trace, span: [Timestamp; 2], intervals: usize) -> Self {
        let needs = Self::needs(trace, span);
        let intervals = Intervals {
            span,
            count: intervals.max(1),
        };
        Self {
            of_span: trace.range_in(span),
            ..Self::empty(intervals, Remaining::new(needs.into_iter()))
        }
    }

    /// Counts in the segments from `first` on, too: the trace has grown.
    pub(crate) fn grow(&mut self, trace: &Trace, first: usize) {
        self.unended = None;
        self.of_span = trace.range_in(self.intervals.span);
        let needs = Self::needs(trace, self.intervals.span);
        let new: Vec<_> = needs.into_iter().filter(|(n, _)| *n >= first).collect();
        self.remaining.add(new);
    }

    /// Returns the segments that tell what happens in a span. Of those outside of it, only some
    /// threads are needed, whose waits may begin or end there.
    fn needs(trace: &Trace, span: [Timestamp; 2]) -> BTreeMap<usize, Option<BTreeSet<ThreadId>>> {
        let mut needs: BTreeMap<usize, Option<BTreeSet<ThreadId>>> = BTreeMap::new();
        for thread in trace.threads() {
            for number in trace.segments_of(thread, span) {
                let threads = needs.entry(number).or_default();
                threads.get_or_insert_default().insert(thread);
            }
        }
        for number in trace.segments_in(span) {
            needs.insert(number, None);
        }
        // Of segments between these, without times in the span, CPU times are needed.
        let between = trace.range_in(span).filter(|n| !trace.is_damaged(*n));
        for number in between {
            needs.entry(number).or_insert_with(|| Some(BTreeSet::new()));
        }
        needs
    }

    /// Begins to count what some threads do in a span. What belongs to no thread is counted too.
    pub(crate) fn of_threads(
        trace: &Trace,
        span: [Timestamp; 2],
        intervals: usize,
        threads: BTreeSet<ThreadId>,
    ) -> Self {
        Self {
            only: Some(threads),
            ..Self::new(trace, span, intervals)
        }
    }

    /// Begins to count what some threads do in a part of a trace; all threads if `only` is `None`.
    /// What the first and the last segment tell about the whole trace is there too.
    pub(crate) fn of_part(
        trace: &Trace,
        span: [Timestamp; 2],
        intervals: usize,
        only: Option<BTreeSet<ThreadId>>,
    ) -> Self {
        let mut needs = Self::needs(trace, span);
        if let Some(last) = trace.last_segment() {
            for number in [0, last].into_iter().filter(|n| !trace.is_damaged(*n)) {
                needs.entry(number).or_insert_with(|| Some(BTreeSet::new()));
            }
        }
        Self {
            remaining: Remaining::new(needs.into_iter()),
            only,
            ..Self::new(trace, span, intervals)
        }
    }

    fn row(&mut self, thread: ThreadId) -> &mut Row {
        self.threads.entry(thread).or_default()
    }

    fn empty(
        intervals: Intervals,
        remaining: Remaining<(usize, Option<BTreeSet<ThreadId>>)>,
    ) -> Self {
        Self {
            remaining,
            only: None,
            threads: BTreeMap::new(),
            waits: BTreeMap::new(),
            unended: None,
            after_gaps: BTreeMap::new(),
            running: BTreeSet::new(),
            latest: BTreeMap::new(),
            heap: vec![None; intervals.count],
            collections: Vec::new(),
            collection: Collection::default(),
            analysis: Analysis::new(Subjects::default()),
            is_estimate: false,
            cpu: FxHashMap::default(),
            of_span: 0..0,
            has_readings: [false; 2],
            intervals,
        }
    }

    /// Returns which share of the span has been counted: 1 if all has.
    pub fn share(&self) -> f64 {
        match self.is_estimate {
            true => 0.0,
            false => self.remaining.share(),
        }
    }

    /// Counts in more segments on all processors, until everything is counted or the time is over.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub fn advance(&mut self, trace: &Trace, time: Duration) -> io::Result<()> {
        let intervals = self.intervals;
        if !self.has_readings[0] {
            self.read_outside(trace, 0..self.of_span.start)?;
            self.has_readings[0] = true;
        }
        let read = |(number, _): &(usize, _)| Part::of(trace, *number, intervals);
        let mut remaining = std::mem::take(&mut self.remaining);
        let mut added = Ok(());
        let done = remaining.advance(time, read, |(number, threads), part| {
            if added.is_ok() {
                added = self.add(trace, number, part, threads.as_ref());
            }
        });
        self.remaining = remaining;
        done.and(added)?;
        if self.share() >= 1.0 && self.unended.is_none() {
            if !self.has_readings[1] {
                self.read_outside(trace, self.of_span.end..trace.segment_count())?;
                self.has_readings[1] = true;
            }
            self.end(trace)?;
        }
        Ok(())
    }

    /// Returns the threads with what each one does in the whole span, without its waits.
    pub fn threads(&self) -> impl Iterator<Item = (ThreadId, Counts)> {
        self.threads.iter().map(|(id, row)| (*id, row.sum()))
    }

    /// Returns what some threads do in each interval, together; all threads if there are none.
    pub fn all(&self, threads: &[ThreadId]) -> Vec<Counts> {
        let mut all = vec![Counts::default(); self.intervals.count];
        let rows = [Some(&self.threads), self.unended.as_ref()];
        for rows in rows.into_iter().flatten() {
            let mut add = |row: &Row| row.add_to(&mut all, self.intervals);
            match threads.is_empty() {
                true => rows.values().for_each(&mut add),
                false => threads
                    .iter()
                    .filter_map(|id| rows.get(id))
                    .for_each(&mut add),
            }
        }
        all
    }

    /// Returns the bytes in use after the latest collection of each interval.
    pub fn heap(&self) -> &[Option<i64>] {
        &self.heap
    }

    /// Returns the first thousand collections.
    pub fn collections(&self) -> &[Collection] {
        &self.collections
    }

    /// Returns true if CPU times of threads have been read in the span.
    pub fn has_cpu(&self) -> bool {
        !self.cpu.is_empty()
    }

    /// Returns the sums over all other events than calls. Their times are not closed.
    pub fn analysis(&self) -> &Analysis {
        &self.analysis
    }
}
