//! What happens in a span, by equal intervals of time.

use crate::index::{Bins, Facts, Lanes, Place};
use crate::remaining::Remaining;
use crate::slice::{EARLIER, Kind};
use crate::trace::Trace;
use crate::walk::{Begin, Open, Threads, Walk};
use jtrail_analysis::{Analysis, Site, Subjects};
use jtrail_formats::trail::Ending;
use jtrail_model::{ClassId, Event, Generation, ThreadId, Timestamp};
use rustc_hash::FxHashMap;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::AddAssign;
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
    /// By thread and interval.
    threads: BTreeMap<ThreadId, Vec<Counts>>,
    /// Waits that have begun, by thread, and have not ended in the segments so far.
    waits: BTreeMap<ThreadId, (Timestamp, Kind)>,
    /// What was added for waits that do not end in the segments so far. `None` if it has not been
    /// added.
    unended: Option<Vec<(ThreadId, Vec<Counts>)>>,
    /// The ends of gaps after which nothing has begun or ended, by thread.
    after_gaps: BTreeMap<ThreadId, Timestamp>,
    /// Threads that have begun or ended a call or wait in the segments so far.
    running: BTreeSet<ThreadId>,
    /// Bytes in use after the latest collection of each interval.
    heap: Vec<Option<i64>>,
    collections: Vec<Collection>,
    collection: Collection,
    analysis: Analysis,
    /// The latest reading of each thread's CPU time, in ns.
    cpu: FxHashMap<ThreadId, (Timestamp, i64)>,
    /// The first and the last throw, by class of the exception and site.
    throws: FxHashMap<(ClassId, Site), [Timestamp; 2]>,
}

/// What happens in an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Number of calls that begin.
    pub calls: u64,
    /// Number of allocated objects.
    pub objects: u64,
    /// Bytes of allocated objects.
    pub bytes: u64,
    /// Number of exceptions.
    pub exceptions: u64,
    /// Time blocked on monitors, in ns.
    pub blocked: u64,
    /// Time in `Object.wait` and parked, in ns.
    pub waiting: u64,
    /// CPU time in ns, as far as it is between two readings in the span. 0 in counts of an index.
    pub cpu: u64,
}

impl Counts {
    /// Returns the counts of a wait of so many ns.
    pub(crate) fn of_wait(time: u64, kind: Kind) -> Self {
        let counts = Self::default();
        match kind {
            Kind::Blocked => Self {
                blocked: time,
                ..counts
            },
            _ => Self {
                waiting: time,
                ..counts
            },
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.objects += other.objects;
        self.bytes += other.bytes;
        self.exceptions += other.exceptions;
        self.blocked += other.blocked;
        self.waiting += other.waiting;
        self.cpu += other.cpu;
    }
}

/// A garbage collection.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Collection {
    /// The begin; that of the span if it is earlier.
    pub begin: Timestamp,
    /// The end.
    pub end: Timestamp,
    /// The part of the heap.
    pub generation: Generation,
    /// The JVM's name of the cause; empty if unknown.
    pub cause: String,
    /// Bytes in use after the collection; 0 if unknown.
    pub used: i64,
}

/// Equal intervals of a span.
#[derive(Clone, Copy, Debug)]
struct Intervals {
    span: [Timestamp; 2],
    count: usize,
}

impl Intervals {
    /// Returns the power of the intervals: they are 2^power ns long, and begin at multiples of it
    /// after `origin`. `None` if they do not.
    fn power(&self, origin: Timestamp) -> Option<u8> {
        let [from, until] = self.span.map(|time| time.0.checked_sub(origin.0));
        let (from, until) = (u64::try_from(from?).ok()?, u64::try_from(until?).ok()?);
        let length = until.checked_sub(from)? / self.count as u64;
        let fits = length.is_power_of_two()
            && length * self.count as u64 == until - from
            && from % length == 0;
        fits.then(|| length.ilog2() as u8)
    }

    fn has(&self, time: Timestamp) -> bool {
        (self.span[0]..self.span[1]).contains(&time)
    }

    /// Returns the interval of a time; the nearest one if the time is not in the span.
    #[inline]
    fn of(&self, time: Timestamp) -> usize {
        let [from, until] = self.span;
        let length = until.0.saturating_sub(from.0).max(0) as u64;
        let since = time.0.saturating_sub(from.0).max(0) as u64;
        // An interval has its begin, and not its end.
        let number = u128::from(since) * self.count as u128 / u128::from(length).max(1);
        (number as usize).min(self.count - 1)
    }

    /// Returns the first time that is not in an interval any more.
    fn end(&self, interval: usize) -> Timestamp {
        let [from, until] = self.span.map(|time| i128::from(time.0));
        let length = until - from;
        let end = length * (interval as i128 + 1);
        Timestamp((from + (end + self.count as i128 - 1) / self.count as i128) as i64)
    }

    /// Spreads CPU time evenly over the time between two readings.
    fn add_cpu(&self, counts: &mut [Counts], [begin, end]: [Timestamp; 2], cpu: i64) {
        let length = i128::from(end.since(begin).0).max(1);
        let until = |time: Timestamp| i128::from(time.since(begin).0) * i128::from(cpu) / length;
        let mut from = begin.max(self.span[0]);
        while from < end.min(self.span[1]) {
            let interval = self.of(from);
            let next = self.end(interval).min(end).min(self.span[1]);
            counts[interval].cpu += (until(next) - until(from)) as u64;
            if next <= from {
                return;
            }
            from = next;
        }
    }

    /// Adds to each interval the time that it has of a wait.
    fn add_wait(&self, counts: &mut [Counts], [begin, end]: [Timestamp; 2], kind: Kind) {
        let [from, until] = self.span;
        let (mut begin, end) = (begin.max(from), end.min(until));
        while begin < end {
            let interval = self.of(begin);
            let next = self.end(interval).min(end);
            let time = next.since(begin).0.max(0).unsigned_abs();
            counts[interval] += Counts::of_wait(time, kind);
            if next <= begin {
                return;
            }
            begin = next;
        }
    }
}

impl Overview {
    /// Begins to count what happens in so many intervals of a span; at least one.
    pub fn new(trace: &Trace, span: [Timestamp; 2], intervals: usize) -> Self {
        let needs = Self::needs(trace, span);
        let intervals = Intervals {
            span,
            count: intervals.max(1),
        };
        Self::empty(intervals, Remaining::new(needs.into_iter()))
    }

    /// Counts in the segments from `first` on, too: the trace has grown.
    pub(crate) fn grow(&mut self, trace: &Trace, first: usize) {
        for (thread, unended) in self.unended.take().into_iter().flatten() {
            let counts = self.threads.entry(thread).or_default();
            for (all, less) in counts.iter_mut().zip(unended) {
                all.blocked -= less.blocked;
                all.waiting -= less.waiting;
            }
        }
        let needs = Self::needs(trace, self.intervals.span);
        let new: Vec<_> = needs.into_iter().filter(|(n, _)| *n >= first).collect();
        self.remaining.add(new.into_iter());
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

    /// Returns what happens by interval as the index has it, without allocations by class and the
    /// like. `None` if there is no index, or the intervals do not consist of its bins.
    ///
    /// # Errors
    /// If the index can't be read.
    pub fn of_index(
        trace: &Trace,
        span: [Timestamp; 2],
        intervals: usize,
    ) -> io::Result<Option<Self>> {
        let Some(index) = trace.index() else {
            return Ok(None);
        };
        let intervals = Intervals {
            span,
            count: intervals.max(1),
        };
        let Some(power) = intervals.power(trace.span()[0]) else {
            return Ok(None);
        };
        let mut overview = Self::empty(intervals, Remaining::default());
        let mut nodes: Vec<Place> = index.top().collect();
        while let Some(place) = nodes.pop() {
            let is_in = |[first, last]: [Timestamp; 2]| first < span[1] && last >= span[0];
            if !index.times(place).is_some_and(is_in) {
                continue;
            }
            let bins = index.lane_bins(place);
            if bins.power <= power {
                let Some(lanes) = index.lanes(place)? else {
                    return Ok(None);
                };
                for (thread, lanes) in lanes {
                    overview.add_lanes(thread, &lanes, bins);
                }
            } else if place.0 == 0 {
                return Ok(None);
            } else {
                nodes.extend(index.below(place));
            }
        }
        let end = trace.ended(span)[1];
        for (thread, slices) in index.all_across() {
            for wait in slices.iter().filter(|slice| !slice.kind.is_call()) {
                let counts = overview.counts(thread);
                let times = [wait.begin.max(span[0]), wait.end.min(end)];
                intervals.add_wait(counts, times, wait.kind);
            }
        }
        overview.add_facts(index.facts());
        Ok(Some(overview))
    }

    /// Returns an overview in which nothing is counted. Its share is 0.
    pub(crate) fn unknown(span: [Timestamp; 2], intervals: usize) -> Self {
        let intervals = Intervals {
            span,
            count: intervals.max(1),
        };
        let mut overview = Self::empty(intervals, Remaining::default());
        overview.is_estimate = true;
        overview
    }

    /// Spreads what happens evenly over a span.
    pub(crate) fn add_evenly(
        &mut self,
        thread: ThreadId,
        [from, to]: [Timestamp; 2],
        counts: Counts,
    ) {
        let intervals = self.intervals;
        let of_thread = self.counts(thread);
        let length = to.0.saturating_sub(from.0).max(1) as u128;
        let (mut begin, mut given) = (from, 0);
        while begin < to {
            let next = intervals
                .end(intervals.of(begin))
                .min(to)
                .max(Timestamp(begin.0 + 1));
            let since = next.0.saturating_sub(from.0) as u128;
            let calls = (u128::from(counts.calls) * since / length) as u64;
            if intervals.has(begin) {
                of_thread[intervals.of(begin)].calls += calls - given;
            }
            (begin, given) = (next, calls);
            if begin >= intervals.span[1] {
                break;
            }
        }
    }

    fn add_lanes(&mut self, thread: ThreadId, lanes: &Lanes, bins: Bins) {
        let intervals = self.intervals;
        let counts = self.counts(thread);
        for (bin, more) in lanes.bins() {
            let begin = bins.begin(*bin);
            if intervals.has(begin) {
                counts[intervals.of(begin)] += *more;
            }
        }
    }

    fn add_facts(&mut self, facts: &Facts) {
        let span = self.intervals.span;
        for collection in facts.collections(span) {
            if collection.used > 0 && self.intervals.has(collection.end) {
                self.heap[self.intervals.of(collection.end)] = Some(collection.used);
            }
            if self.collections.len() < MAX_COLLECTIONS {
                self.collections.push(collection);
            }
        }
        self.analysis = facts.analysis();
    }

    fn counts(&mut self, thread: ThreadId) -> &mut Vec<Counts> {
        let count = self.intervals.count;
        let none = || vec![Counts::default(); count];
        self.threads.entry(thread).or_insert_with(none)
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
            heap: vec![None; intervals.count],
            collections: Vec::new(),
            collection: Collection::default(),
            analysis: Analysis::new(Subjects::default()),
            is_estimate: false,
            cpu: FxHashMap::default(),
            throws: FxHashMap::default(),
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
        let read = |(number, _): &(usize, _)| Part::of(trace, *number, intervals);
        let mut remaining = std::mem::take(&mut self.remaining);
        let done = remaining.advance(time, read, |(number, threads), part| {
            self.end_waits_at_gaps(trace, number, &part);
            self.add(part, threads.as_ref());
        });
        self.remaining = remaining;
        done?;
        if self.share() >= 1.0 && self.unended.is_none() {
            self.end(trace)?;
        }
        Ok(())
    }

    /// Ends the waits of a segment's threads before which something is missing.
    fn end_waits_at_gaps(&mut self, trace: &Trace, number: usize, part: &Part) {
        if trace.gaps().is_empty() {
            return;
        }
        for id in part.threads.keys() {
            let Some([missing, until]) = trace.gap_before(*id, number) else {
                continue;
            };
            self.after_gaps.insert(*id, until);
            if let Some((begin, kind)) = self.waits.remove(id) {
                let intervals = self.intervals;
                intervals.add_wait(self.counts(*id), [begin, missing], kind);
            }
        }
    }

    /// Adds what happens in the next segment to some threads, or to all.
    fn add(&mut self, part: Part, threads: Option<&BTreeSet<ThreadId>>) {
        let only = self.only.take();
        let counts = |id: &ThreadId| only.as_ref().is_none_or(|only| only.contains(id));
        let others = part.others.iter();
        // Definitions of threads name them, and belong to no selection.
        let others = others.filter(|event| match event {
            Event::ThreadStart(_) | Event::ThreadName(_) => true,
            _ => event.thread().is_none_or(|thread| counts(&thread)),
        });
        for event in others {
            self.analysis.event(event, |_, _| true);
            self.collect(event);
        }
        let is_needed =
            |id: &ThreadId| counts(id) && threads.is_none_or(|threads| threads.contains(id));
        for (id, thread) in part.threads.into_iter().filter(|(id, _)| is_needed(id)) {
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
            let counts = self.counts(id);
            for (all, more) in counts.iter_mut().zip(thread.counts) {
                *all += more;
            }
            if let Some((end, kind)) = thread.ended {
                let begin = before.filter(|(_, of)| *of == kind).map(|(begin, _)| begin);
                let begin = begin.or(after_gap).unwrap_or(intervals.span[0]);
                intervals.add_wait(counts, [begin, end], kind);
            }
            if let Some(wait) = thread.waits {
                self.waits.insert(id, wait);
            }
        }
        self.only = only;
    }

    /// Adds the waits that never end.
    fn end(&mut self, trace: &Trace) -> io::Result<()> {
        let mut waits = self.waits.clone();
        // Waits that last all through the span, in which their threads have other events.
        let silent = self.threads.keys().filter(|id| !self.running.contains(id));
        for id in silent {
            let first = trace.segments_of(*id, self.intervals.span).first().copied();
            let wait = match first {
                Some(first) => trace.open_wait(*id, first)?,
                None => None,
            };
            if let Some(wait) = wait {
                waits.insert(*id, (wait.begin, wait.kind));
            }
        }
        let (intervals, mut unended) = (self.intervals, Vec::new());
        let may_grow = trace.ending() == Ending::Missing;
        let end = trace.ended(intervals.span)[1];
        for (id, (begin, kind)) in waits {
            let last = trace.segments_of(id, self.intervals.span).last().copied();
            let gap = last.and_then(|last| trace.gap_after(id, last));
            if let Some(counts) = self.threads.get_mut(&id) {
                let wait = [begin, gap.map_or(end, |[missing, _]| missing.min(end))];
                let mut of_wait = vec![Counts::default(); intervals.count];
                intervals.add_wait(&mut of_wait, wait, kind);
                for (all, more) in counts.iter_mut().zip(&of_wait) {
                    *all += *more;
                }
                if may_grow {
                    unended.push((id, of_wait));
                }
            }
        }
        self.unended = Some(unended);
        Ok(())
    }

    fn collect(&mut self, event: &Event<'_>) {
        match event {
            Event::GcStart(e) => self.collection.begin = e.time,
            Event::GcDetail(e) => {
                self.collection.generation = e.generation;
                self.collection.cause = e.cause.to_string();
            }
            Event::GcFinish(e) => {
                let mut collection = std::mem::take(&mut self.collection);
                (collection.end, collection.used) = (e.time, e.used_space);
                collection.begin = collection.begin.max(self.intervals.span[0]);
                if e.used_space > 0 {
                    self.heap[self.intervals.of(e.time)] = Some(e.used_space);
                }
                if self.collections.len() < MAX_COLLECTIONS {
                    self.collections.push(collection);
                }
            }
            Event::ThreadCpu(e) => {
                let before = self.cpu.insert(e.thread, (e.time, e.cpu_time.0));
                if let Some((time, cpu)) = before.filter(|(_, cpu)| *cpu < e.cpu_time.0) {
                    let (intervals, more) = (self.intervals, e.cpu_time.0 - cpu);
                    let counts = self.counts(e.thread);
                    intervals.add_cpu(counts, [time, e.time], more);
                }
            }
            Event::ExceptionThrow(e) => {
                let site = self.analysis.frames.top(&e.stack);
                let times = self.throws.entry((e.class, site)).or_insert([e.time; 2]);
                *times = [times[0].min(e.time), times[1].max(e.time)];
            }
            _ => {}
        }
    }

    /// Returns what each thread does in each interval.
    pub fn threads(&self) -> &BTreeMap<ThreadId, Vec<Counts>> {
        &self.threads
    }

    /// Returns what some threads do in each interval, together; all threads if there are none.
    pub fn all(&self, threads: &[ThreadId]) -> Vec<Counts> {
        let mut all = vec![Counts::default(); self.intervals.count];
        let of = |id: &ThreadId| threads.is_empty() || threads.contains(id);
        for (_, counts) in self.threads.iter().filter(|(id, _)| of(id)) {
            for (sum, more) in all.iter_mut().zip(counts) {
                *sum += *more;
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

    /// Returns the times of the first and the last throw of exceptions of a class at a site.
    pub fn throw_times(&self, place: (ClassId, Site)) -> Option<[Timestamp; 2]> {
        self.throws.get(&place).copied()
    }

    /// Returns the sums over all other events than calls. Their times are not closed.
    pub fn analysis(&self) -> &Analysis {
        &self.analysis
    }
}

/// What happens in a segment.
struct Part {
    intervals: Intervals,
    threads: BTreeMap<ThreadId, ThreadPart>,
    /// The other events than calls.
    others: Vec<Event<'static>>,
}

/// What a thread does in a segment.
struct ThreadPart {
    counts: Vec<Counts>,
    /// The end of a wait that began in an earlier segment.
    ended: Option<(Timestamp, Kind)>,
    /// The wait that is open at the end.
    waits: Option<(Timestamp, Kind)>,
    /// True if a call or wait begins or ends here.
    is_running: bool,
}

impl Part {
    fn of(trace: &Trace, number: usize, intervals: Intervals) -> io::Result<Self> {
        let mut part = Self {
            intervals,
            threads: BTreeMap::new(),
            others: Vec::new(),
        };
        let threads: Threads<Self> = trace.walk(number, &mut part)?;
        for (id, thread) in threads {
            let mut state = thread.state;
            let open = thread.open.last().and_then(|open| open.extra);
            (state.waits, state.is_running) = (open, thread.is_running);
            match part.threads.entry(id) {
                Entry::Vacant(entry) => _ = entry.insert(state),
                Entry::Occupied(mut entry) => {
                    let of_others = std::mem::take(&mut entry.get_mut().counts);
                    for (all, more) in state.counts.iter_mut().zip(of_others) {
                        *all += more;
                    }
                    entry.insert(state);
                }
            }
        }
        Ok(part)
    }

    fn empty(&self) -> ThreadPart {
        ThreadPart {
            counts: vec![Counts::default(); self.intervals.count],
            ended: None,
            waits: None,
            is_running: false,
        }
    }

    fn count(&mut self, thread: ThreadId, time: Timestamp, counts: Counts) {
        if self.intervals.has(time) {
            let interval = self.intervals.of(time);
            let empty = self.empty();
            let thread = self.threads.entry(thread).or_insert(empty);
            thread.counts[interval] += counts;
        }
    }
}

impl Walk for Part {
    /// The begin and kind of a wait.
    type Extra = Option<(Timestamp, Kind)>;
    type Thread = ThreadPart;

    fn thread(&mut self, _: ThreadId) -> ThreadPart {
        self.empty()
    }

    #[inline]
    fn begin(
        &mut self,
        thread: &mut ThreadPart,
        _: &[Open<Self::Extra>],
        begin: Begin,
    ) -> Self::Extra {
        if !begin.kind.is_call() {
            return Some((begin.time, begin.kind));
        }
        if !begin.is_earlier && self.intervals.has(begin.time) {
            thread.counts[self.intervals.of(begin.time)].calls += 1;
        }
        None
    }

    #[inline]
    fn end(
        &mut self,
        thread: &mut ThreadPart,
        _: &[Open<Self::Extra>],
        ended: Open<Self::Extra>,
        (end, kind): (Timestamp, Kind),
    ) {
        match ended.extra {
            None => {}
            Some((EARLIER, _)) => thread.ended = Some((end, kind)),
            Some((begin, _)) => self
                .intervals
                .add_wait(&mut thread.counts, [begin, end], kind),
        }
    }

    fn other(&mut self, event: &Event<'_>) {
        let counts = Counts::default();
        match event {
            Event::ObjectAlloc(e) => {
                let bytes = e.size.max(0).unsigned_abs();
                self.count(
                    e.thread,
                    e.time,
                    Counts {
                        objects: 1,
                        bytes,
                        ..counts
                    },
                );
            }
            Event::AllocationSum(e) => {
                let (objects, bytes) = (e.objects, e.bytes);
                self.count(
                    e.thread,
                    e.time,
                    Counts {
                        objects,
                        bytes,
                        ..counts
                    },
                );
            }
            Event::ExceptionThrow(e) => {
                self.count(
                    e.thread,
                    e.time,
                    Counts {
                        exceptions: 1,
                        ..counts
                    },
                );
            }
            _ => {}
        }
        let is_timeless = |time: &Timestamp| *time == Timestamp::default();
        // The agent's definition has the cost of recording.
        let is_of_trace = matches!(event, Event::AgentCreate(_));
        let is_in_span = |time| is_timeless(&time) || self.intervals.has(time);
        if is_of_trace || event.time().is_none_or(is_in_span) {
            self.others.push(event.clone().into_static());
        }
    }
}
