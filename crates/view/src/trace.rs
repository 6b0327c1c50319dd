//! An open trail.

use crate::cache::Cache;
use crate::cpu::Readings;
use crate::finer::FinerBlocks;
use crate::gaps::{Gap, Gaps};
use crate::index::{self, Index, IndexSizes};
use crate::methods::Methods;
use crate::opening::{lists_open_calls, read_names, times};
use crate::readers::Readers;
use crate::segment::Segment;
use crate::slice::{EARLIER, Kind, LATER, Slice};
use crate::walk::{Threads, Walk, walk};
use jtrail_formats::trail::{Ending, OpenCall, SegmentReader, Segments, StartOfThread};
use jtrail_model::names::Names;
use jtrail_model::{MethodId, ThreadId, Timestamp};
use parking_lot::{Mutex, RwLock};
use std::fs::File;
use std::io::{self, Write};
use std::mem::size_of;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum memory of decoded segments, in bytes.
const MAX_SEGMENTS: usize = 32 << 20;
/// Maximum memory of the states of threads at the begins of segments, in bytes.
const MAX_STARTS: usize = 8 << 20;
/// Maximum memory of the readings of CPU time of segments, in bytes.
const MAX_READINGS: usize = 2 << 20;
/// Number of locks, so that two do not decode the same segment at a time.
const LOCKS: usize = 16;

/// An open trail, of which parts are read when they are asked for. Threads may ask at the same
/// time.
#[derive(Debug)]
pub struct Trace {
    pub(crate) path: PathBuf,
    readers: Readers,
    pub(crate) segments: Segments,
    pub(crate) gaps: Gaps,
    pub(crate) names: Names,
    /// False if copies of definitions are damaged.
    pub(crate) has_all_names: bool,
    pub(crate) methods: Methods,
    pub(crate) span: [Timestamp; 2],
    cache: Mutex<Cache<usize, Segment>>,
    index: RwLock<Option<Arc<Index>>>,
    /// True if an index is being made.
    is_waiting: AtomicBool,
    starts: Mutex<Cache<usize, Vec<StartOfThread>>>,
    /// The readings of CPU time of segments.
    pub(crate) readings: Mutex<Cache<usize, Readings>>,
    pub(crate) finer: FinerBlocks,
    locks: Vec<Mutex<()>>,
}

impl Trace {
    /// Opens a trail, which may be truncated or damaged: what is missing is in [`Self::gaps`].
    /// Returns `None` if it must be read from its start: nothing in it can be read in parts, or it
    /// is of a version before 3, which lists no open calls.
    ///
    /// A trail without a sound index is checked, which takes as long as reading the file. Damage of
    /// others is found by [`Self::verify`].
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        let mut segments = match Segments::open(File::open(path)?)? {
            Some(segments) => segments,
            None => match Segments::scan(File::open(path)?)? {
                Some(segments) if segments.events() > 0 => segments,
                _ => return Ok(None),
            },
        };
        if !lists_open_calls(path, &segments)? {
            return Ok(None);
        }
        let mut names = Names::default();
        let has_all_names = read_names(path, &mut segments, 0, &mut names)?;
        let times = (0..segments.count()).map(|number| times(path, &segments, number));
        let times = times.collect::<io::Result<Vec<_>>>()?;
        let known = times.iter().flatten().copied();
        let span = known.reduce(|[begin, end], [first, last]| [begin.min(first), end.max(last)]);
        let is_checked = segments.ending() == Ending::Complete && segments.missing().is_empty();
        let mut trace = Self {
            path: path.to_owned(),
            readers: Readers::new(path.to_owned()),
            gaps: Gaps::known(&segments, |number| times[number]),
            segments,
            names,
            has_all_names,
            methods: Methods::default(),
            span: span.map_or_else(Default::default, after_last),
            cache: Mutex::new(Cache::new(MAX_SEGMENTS)),
            index: RwLock::default(),
            is_waiting: AtomicBool::default(),
            starts: Mutex::new(Cache::new(MAX_STARTS)),
            readings: Mutex::new(Cache::new(MAX_READINGS)),
            finer: FinerBlocks::default(),
            locks: (0..LOCKS).map(|_| Mutex::default()).collect(),
        };
        if !is_checked {
            trace.verify()?;
        }
        Ok(Some(trace))
    }

    /// Finds damaged segments. Reads the whole file, but no events. Without it, questions about a
    /// damaged segment fail.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn verify(&mut self) -> io::Result<()> {
        self.check(0)
    }

    /// Finds damaged segments from a number on. Those before it are known to be sound.
    pub(crate) fn check(&mut self, first: usize) -> io::Result<()> {
        self.gaps = self.find_gaps(first)?;
        Ok(())
    }

    /// Takes the gaps that [`Self::find_gaps`] found.
    pub(crate) fn set_gaps(&mut self, gaps: Gaps) {
        self.gaps = gaps;
    }

    /// Returns damaged segments from a number on, and the gaps that they make.
    pub(crate) fn find_gaps(&self, first: usize) -> io::Result<Gaps> {
        let mut reader = SegmentReader::new(File::open(&self.path)?)?;
        // A time of 0 is unknown: definitions may have it.
        let times = |number| match self.segments.times(number)? {
            [Timestamp(0), last] => Some([last; 2]),
            times => Some(times),
        };
        Gaps::find(&mut reader, &self.segments, times, first)
    }

    /// Returns what is missing, in the order of the trace.
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps.all
    }

    /// Returns how the trace ends.
    pub fn ending(&self) -> Ending {
        self.segments.ending()
    }

    /// Returns true if the trace has its end, and nothing is known to be missing.
    pub fn is_complete(&self) -> bool {
        self.ending() == Ending::Complete
            && self.gaps.all.is_empty()
            && self.gaps.damaged.is_empty()
    }

    /// Returns the segments with events of a thread that can be read, ascending.
    pub(crate) fn of_thread(&self, thread: ThreadId) -> &[u32] {
        self.gaps.of_threads.get(&thread).map_or(&[], Vec::as_slice)
    }

    /// Returns the span of the trace: its first time, and the one after its last.
    pub fn span(&self) -> [Timestamp; 2] {
        self.span
    }

    /// Returns a span in which what never ends has ended: it ends at the trace's last time at the
    /// latest.
    pub(crate) fn ended(&self, [from, until]: [Timestamp; 2]) -> [Timestamp; 2] {
        let last = Timestamp(self.span[1].0.saturating_sub(1));
        [from, until.min(last).max(from)]
    }

    /// Returns the number of events that can be read.
    pub fn events(&self) -> u64 {
        let damaged = self.gaps.damaged.iter();
        let damaged = damaged.map(|number| u64::from(self.segments.events_of(*number as usize)));
        self.segments.events() - damaged.sum::<u64>()
    }

    /// Returns the names of threads, classes and methods.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Returns the threads that have events, in the order of their ids.
    pub fn threads(&self) -> impl Iterator<Item = ThreadId> {
        self.gaps.of_threads.keys().copied()
    }

    /// Returns the method with a number that a [`Slice`] has.
    pub fn method(&self, number: u32) -> Option<MethodId> {
        self.methods.id(number)
    }

    /// Returns the segments that have events in a span, or events without a time.
    pub(crate) fn segments_in(&self, [from, until]: [Timestamp; 2]) -> Vec<usize> {
        let is_in = |number: &usize| match self.segments.times(*number) {
            _ if self.gaps.damaged.contains(&(*number as u32)) => false,
            Some([first, last]) => first < until && last >= from,
            None => self.segments.events_of(*number) > 0,
        };
        (0..self.segments.count()).filter(is_in).collect()
    }

    /// Returns the range of the segments that have times in a span; an empty one where they would
    /// be if there are none.
    pub(crate) fn range_in(&self, [from, until]: [Timestamp; 2]) -> Range<usize> {
        let times = |number: &usize| self.segments.times(*number);
        let is_in = |number: &usize| {
            times(number).is_some_and(|[first, last]| first < until && last >= from)
        };
        let mut all = (0..self.segments.count()).filter(is_in);
        if let Some(first) = all.next() {
            return first..all.next_back().unwrap_or(first) + 1;
        }
        let is_later = |number: &usize| times(number).is_some_and(|[first, _]| first >= until);
        let next = (0..self.segments.count()).find(is_later);
        let next = next.unwrap_or(self.segments.count());
        next..next
    }

    /// Returns the segments with events of a thread that end at a time or later.
    pub(crate) fn segments_from(&self, thread: ThreadId, from: Timestamp) -> Vec<usize> {
        let all = self.of_thread(thread).iter();
        let is_later = |number: &usize| {
            let times = self.segments.times(*number);
            times.is_none_or(|[_, last]| last >= from)
        };
        all.map(|number| *number as usize)
            .filter(is_later)
            .collect()
    }

    /// Returns the segments with events of a thread that begin at a time or earlier.
    pub(crate) fn segments_until(&self, thread: ThreadId, until: Timestamp) -> Vec<usize> {
        let all = self.of_thread(thread).iter();
        let numbers = all.map(|number| *number as usize);
        numbers
            .filter(|number| self.first_time(*number) <= until)
            .collect()
    }

    /// Returns the first and the last time of a segment; `None` if it has no times.
    pub(crate) fn times_of(&self, number: usize) -> Option<[Timestamp; 2]> {
        self.segments.times(number)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the ids of methods by their numbers.
    pub(crate) fn method_ids(&self) -> Vec<u64> {
        self.methods.ids().into_iter().map(|id| id.0).collect()
    }

    /// Gives methods numbers, as an index has them. Returns false if they have others already.
    pub(crate) fn set_methods(&self, ids: impl Iterator<Item = MethodId>) -> bool {
        self.methods.assign(ids)
    }

    /// Returns the number of segments.
    pub(crate) fn segment_count(&self) -> usize {
        self.segments.count()
    }

    /// Returns the position of the end of a segment, in bytes from the start of the trace.
    pub(crate) fn end_of(&self, number: usize) -> u64 {
        self.segments.end(number)
    }

    /// Returns the first time of a segment; the smallest one if it has no times.
    pub(crate) fn first_time(&self, number: usize) -> Timestamp {
        self.segments
            .times(number)
            .map_or(EARLIER, |[first, _]| first)
    }

    /// Returns the last segment, if there are any.
    pub(crate) fn last_segment(&self) -> Option<usize> {
        self.segments.count().checked_sub(1)
    }

    /// Returns true if nothing of a segment can be read.
    pub(crate) fn is_damaged(&self, number: usize) -> bool {
        self.gaps.damaged.contains(&(number as u32))
    }

    /// Returns the segments that tell all slices of a thread in a span: those in the span with
    /// events of the thread, and the next one, which lists what is open up to its begin. If there
    /// is none, the last one before the span tells what never ends. If something is missing before
    /// the first one, the preceding one tells what is open up to the gap.
    pub(crate) fn segments_of(
        &self,
        thread: ThreadId,
        [from, until]: [Timestamp; 2],
    ) -> Vec<usize> {
        let all = self.of_thread(thread);
        let times = |number: u32| {
            let times = self.segments.times(number as usize);
            times.unwrap_or([EARLIER; 2])
        };
        // Segments follow each other in time, but for the events of some microseconds.
        let mut numbers: Vec<usize> = Vec::new();
        let mut next = None;
        for number in all {
            let [first, last] = times(*number);
            if first < until && last >= from {
                numbers.push(*number as usize);
            } else if first >= until {
                next = next.or(Some(*number as usize));
            }
        }
        let before = all.iter().rev().find(|number| times(**number)[1] < from);
        match next {
            Some(next) => numbers.push(next),
            None if numbers.is_empty() => numbers.extend(before.map(|number| *number as usize)),
            None => {}
        }
        if let Some(first) = numbers.first().copied()
            && let Some([missing, _]) = self.gap_before(thread, first)
            && missing > from
        {
            let place = all.partition_point(|other| (*other as usize) < first);
            let before = place.checked_sub(1).map(|place| all[place] as usize);
            numbers.splice(..0, before);
        }
        numbers
    }

    /// Reads a segment. Returns its threads, with what is open at the end.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if the segment is damaged.
    pub(crate) fn walk<W: Walk>(&self, number: usize, visitor: &mut W) -> io::Result<Threads<W>> {
        let reader = &mut *self.readers.take()?;
        let threads = walk(reader, &self.segments, number, &self.methods, visitor)?;
        threads.ok_or_else(|| self.damaged(number))
    }

    fn damaged(&self, number: usize) -> io::Error {
        let message = format!(
            "{}: segment {number} is damaged; `jtrail recover` makes a sound trace of it",
            self.path.display()
        );
        io::Error::new(io::ErrorKind::InvalidData, message)
    }

    /// Returns a decoded segment.
    pub(crate) fn segment(&self, number: usize) -> io::Result<Arc<Segment>> {
        let cached = || self.cache.lock().get(number);
        if let Some(segment) = cached() {
            return Ok(segment);
        }
        let _lock = self.locks[number % LOCKS].lock();
        if let Some(segment) = cached() {
            return Ok(segment);
        }
        let segment = Segment::decode(self, number)?;
        let bytes = segment.bytes();
        let segment = Arc::new(segment);
        self.cache.lock().put(number, Arc::clone(&segment), bytes);
        Ok(segment)
    }

    /// Returns true if long spans are shown as far as they are known without reading them, until
    /// there is an index.
    pub(crate) fn waits_for_index(&self) -> bool {
        self.is_waiting.load(Ordering::Relaxed) && self.index.read().is_none()
    }

    /// Says if there will be an index.
    pub(crate) fn set_waiting(&self, is_waiting: bool) {
        self.is_waiting.store(is_waiting, Ordering::Relaxed);
    }

    /// Reads more of what pictures need that were coarse. Returns false if there is nothing to
    /// read.
    pub fn read_ahead(&self) -> bool {
        self.finer.read_next(self)
    }

    /// Returns the index, if there is one.
    pub(crate) fn index(&self) -> Option<Arc<Index>> {
        self.index.read().clone()
    }

    /// Uses the index in a file from now on. Returns false if the file is missing, damaged, or the
    /// index of another trail.
    ///
    /// # Errors
    /// If a file can't be read.
    pub fn use_index(&self, path: &Path) -> io::Result<bool> {
        if !self.is_complete() {
            return Ok(false);
        }
        let index = Index::open(path, self)?;
        let is_there = index.is_some();
        if let Some(index) = index {
            *self.index.write() = Some(Arc::new(index));
        }
        Ok(is_there)
    }

    /// Returns the size of the trail up to the end of its last segment, in bytes.
    pub fn bytes(&self) -> u64 {
        let count = self.segments.count();
        count
            .checked_sub(1)
            .map_or(0, |last| self.segments.end(last))
    }

    /// Makes the index in a file, which is there when it is complete. See [`Self::write_index`].
    ///
    /// # Errors
    /// If the trail can't be read, `InvalidData` if a segment is damaged, `AlreadyExists` if the
    /// file is no index, or if it can't be written.
    pub fn build_index(&self, path: &Path, progress: impl FnMut(u64) -> bool) -> io::Result<bool> {
        index::write_to(path, |out| {
            self.write_index(IndexSizes::default(), out, progress)
        })
    }

    /// Makes the index and writes it to `out`. `progress` is called now and then with the number of
    /// bytes of the trail that were read; if it returns false, the index stays incomplete. Returns
    /// true if it is complete.
    ///
    /// # Errors
    /// If the trail can't be read, the output fails, or `InvalidData` if the trail is not complete
    /// or a segment is damaged.
    pub fn write_index(
        &self,
        sizes: IndexSizes,
        out: impl Write,
        progress: impl FnMut(u64) -> bool,
    ) -> io::Result<bool> {
        if !self.is_complete() {
            let message = format!(
                "{}: only a complete trail has an index",
                self.path.display()
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Index::build(self, sizes, out, progress)
    }

    /// Returns the first segment with events of a thread, from a segment on.
    pub(crate) fn next_segment(&self, thread: ThreadId, from: usize) -> Option<usize> {
        let all = self.of_thread(thread);
        let place = all.partition_point(|number| (*number as usize) < from);
        all.get(place).map(|number| *number as usize)
    }

    /// Returns the first segment with events of a thread that begins at a time or later.
    pub(crate) fn segment_after(&self, thread: ThreadId, time: Timestamp) -> Option<usize> {
        let mut all = self.of_thread(thread).iter();
        let begins = |number: &&u32| self.first_time(**number as usize) >= time;
        all.find(begins).map(|number| *number as usize)
    }

    /// Returns the number of a method.
    pub(crate) fn number_of(&self, method: MethodId) -> u32 {
        self.methods.number(method)
    }

    /// Returns the threads of a segment at its begin.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if the segment is damaged.
    pub(crate) fn start_of(&self, number: usize) -> io::Result<Arc<Vec<StartOfThread>>> {
        if let Some(starts) = self.starts.lock().get(number) {
            return Ok(starts);
        }
        let starts = self.readers.take()?.start(&self.segments, number)?;
        let starts = Arc::new(starts.ok_or_else(|| self.damaged(number))?);
        let calls: usize = starts
            .iter()
            .flat_map(|start| &start.open)
            .map(Vec::len)
            .sum();
        let bytes = calls * size_of::<OpenCall>() + starts.len() * size_of::<StartOfThread>();
        self.starts
            .lock()
            .put(number, Arc::clone(&starts), bytes + 100);
        Ok(starts)
    }

    /// Returns the calls of a thread that are open at the begin of a segment, outermost first.
    /// Their ends are not known.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if the segment is damaged.
    pub(crate) fn open_at(&self, number: usize, thread: ThreadId) -> io::Result<Vec<Slice>> {
        let starts = self.start_of(number)?;
        let start = starts.iter().find(|start| start.thread == thread);
        let calls = start
            .and_then(|start| start.open.as_deref())
            .unwrap_or_default();
        let slice = |(level, call): (usize, &OpenCall)| Slice {
            begin: call.start,
            end: LATER,
            method: self.methods.number(call.method),
            level: level as u32,
            kind: Kind::Call,
        };
        Ok(calls.iter().enumerate().map(slice).collect())
    }
}

/// Returns the span that has the first and the last time.
pub(crate) fn after_last([first, last]: [Timestamp; 2]) -> [Timestamp; 2] {
    [first, Timestamp(last.0.saturating_add(1))]
}
