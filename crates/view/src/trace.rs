//! An open trail.

use crate::cache::Cache;
use crate::methods::Methods;
use crate::segment::Segment;
use crate::slice::{EARLIER, LATER, Slice};
use crate::walk::{Threads, Walk, walk};
use jtrail_formats::trail::{Parts, SegmentItem, SegmentReader, Segments};
use jtrail_model::names::Names;
use jtrail_model::{MethodId, ThreadId, Timestamp};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum memory of decoded segments, in bytes.
const MAX_CACHE: usize = 128 << 20;

/// An open trail, of which parts are read when they are asked for. Threads may ask at the same
/// time.
#[derive(Debug)]
pub struct Trace {
    path: PathBuf,
    segments: Segments,
    /// For each thread the segments that have events of it, ascending.
    of_threads: BTreeMap<ThreadId, Vec<u32>>,
    names: Names,
    methods: Methods,
    span: [Timestamp; 2],
    cache: Mutex<Cache>,
}

impl Trace {
    /// Opens a complete trail. Returns `None` if it must be read from its start: it is truncated,
    /// its index is not sound, or it is of a version before 3, which lists no open calls.
    ///
    /// # Errors
    /// If the file can't be read.
    pub fn open(path: &Path) -> io::Result<Option<Self>> {
        let Some(segments) = Segments::open(File::open(path)?)? else {
            return Ok(None);
        };
        if !lists_open_calls(path, &segments)? {
            return Ok(None);
        }
        let Some(names) = names(path)? else {
            return Ok(None);
        };
        let mut of_threads: BTreeMap<ThreadId, Vec<u32>> = BTreeMap::new();
        let mut span = None;
        for number in 0..segments.count() {
            for thread in segments.threads(number).filter(|thread| !thread.is_none()) {
                of_threads.entry(thread).or_default().push(number as u32);
            }
            if let Some([first, last]) = times(path, &segments, number)? {
                let [begin, end] = span.get_or_insert([first, last]);
                (*begin, *end) = (first.min(*begin), last.max(*end));
            }
        }
        Ok(Some(Self {
            path: path.to_owned(),
            segments,
            of_threads,
            names,
            methods: Methods::default(),
            span: span.map_or_else(Default::default, after_last),
            cache: Mutex::new(Cache::new(MAX_CACHE)),
        }))
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

    /// Returns the number of events.
    pub fn events(&self) -> u64 {
        self.segments.events()
    }

    /// Returns the names of threads, classes and methods.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Returns the threads that have events, in the order of their ids.
    pub fn threads(&self) -> impl Iterator<Item = ThreadId> {
        self.of_threads.keys().copied()
    }

    /// Returns the method with a number that a [`Slice`] has.
    pub fn method(&self, number: u32) -> Option<MethodId> {
        self.methods.id(number)
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
        let numbers = self.segments_of(thread, span);
        let mut visit = |slice: &Slice| {
            if slice.overlaps(span) {
                visit(slice);
            }
        };
        // The wait that is open at the end of the segment before.
        let mut wait = None;
        for (place, number) in numbers.iter().enumerate() {
            let segment = self.segment(*number)?;
            let Some(slices) = segment.thread(thread) else {
                continue;
            };
            for slice in &slices.ended {
                match wait.take() {
                    Some(begin) if slice.begin == EARLIER => visit(&Slice { begin, ..*slice }),
                    _ => visit(slice),
                }
            }
            let is_last = place + 1 == numbers.len();
            if is_last {
                slices.open.iter().for_each(&mut visit);
            }
            let last = slices.open.last().filter(|slice| !slice.kind.is_call());
            wait = last.map(|slice| slice.begin);
        }
        Ok(())
    }

    /// Returns the segments that have events in a span, or events without a time.
    pub(crate) fn segments_in(&self, [from, until]: [Timestamp; 2]) -> Vec<usize> {
        let is_in = |number: &usize| match self.segments.times(*number) {
            Some([first, last]) => first < until && last >= from,
            None => self.segments.events_of(*number) > 0,
        };
        (0..self.segments.count()).filter(is_in).collect()
    }

    /// Returns the segments with events of a thread that end at a time or later.
    pub(crate) fn segments_from(&self, thread: ThreadId, from: Timestamp) -> Vec<usize> {
        let all = self.of_threads.get(&thread).into_iter().flatten();
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
        let all = self.of_threads.get(&thread).into_iter().flatten();
        let numbers = all.map(|number| *number as usize);
        numbers
            .filter(|number| self.first_time(*number) <= until)
            .collect()
    }

    /// Returns the first time of a segment; the smallest one if it has no times.
    pub(crate) fn first_time(&self, number: usize) -> Timestamp {
        self.segments
            .times(number)
            .map_or(EARLIER, |[first, _]| first)
    }

    /// Returns the segments that tell all slices of a thread in a span: those in the span with
    /// events of the thread, and the next one, which lists what is open up to its begin. If there
    /// is none, the last one before the span tells what never ends.
    pub(crate) fn segments_of(
        &self,
        thread: ThreadId,
        [from, until]: [Timestamp; 2],
    ) -> Vec<usize> {
        let Some(all) = self.of_threads.get(&thread) else {
            return Vec::new();
        };
        let times = |number: u32| {
            let times = self.segments.times(number as usize);
            times.unwrap_or([LATER, EARLIER])
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
        numbers
    }

    /// Reads a segment. Returns its threads, with what is open at the end.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if the segment is damaged.
    pub(crate) fn walk<W: Walk>(
        &self,
        reader: &mut SegmentReader<File>,
        number: usize,
        visitor: &mut W,
    ) -> io::Result<Threads<W>> {
        let threads = walk(reader, &self.segments, number, &self.methods, visitor)?;
        threads.ok_or_else(|| self.damaged(number))
    }

    /// Returns a reader of segments.
    ///
    /// # Errors
    /// If the file can't be opened.
    pub(crate) fn reader(&self) -> io::Result<SegmentReader<File>> {
        SegmentReader::new(File::open(&self.path)?)
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
        if let Some(segment) = self.cache.lock().get(number) {
            return Ok(segment);
        }
        let segment = Segment::decode(self, number)?;
        let segment = Arc::new(segment);
        self.cache.lock().put(number, Arc::clone(&segment));
        Ok(segment)
    }
}

/// Returns the span that has the first and the last time.
fn after_last([first, last]: [Timestamp; 2]) -> [Timestamp; 2] {
    [first, Timestamp(last.0.saturating_add(1))]
}

/// Returns true if the segments of a trail list the calls that are open at their begins.
fn lists_open_calls(path: &Path, segments: &Segments) -> io::Result<bool> {
    let mut reader = SegmentReader::new(File::open(path)?)?;
    let Some(number) = (0..segments.count()).find(|number| segments.events_of(*number) > 0) else {
        return Ok(true);
    };
    // What is damaged is reported when it is shown.
    Ok(!reader.begin(segments, number)? || reader.open_calls(segments)?.is_some())
}

/// Returns the smallest and the largest time in a segment. A time of 0 is unknown: definitions may
/// have it.
fn times(path: &Path, segments: &Segments, number: usize) -> io::Result<Option<[Timestamp; 2]>> {
    let Some([first, last]) = segments.times(number) else {
        return Ok(None);
    };
    if first.0 != 0 {
        return Ok(Some([first, last]));
    }
    let mut reader = SegmentReader::new(File::open(path)?)?;
    let mut first = last;
    if reader.begin(segments, number)? {
        let mut earlier = |time: Timestamp| {
            if time.0 != 0 {
                first = first.min(time);
            }
        };
        // What is damaged is reported when it is shown.
        let _ = reader.read(&mut |item| match item {
            SegmentItem::Row(row) => row.times.iter().for_each(|time| earlier(*time)),
            SegmentItem::Event(event) => event.time().into_iter().for_each(&mut earlier),
        });
    }
    Ok((last.0 != 0).then_some([first, last]))
}

/// Reads the definitions of a trail. Returns `None` if it has no sound index.
fn names(path: &Path) -> io::Result<Option<Names>> {
    let Some(mut parts) = Parts::open(File::open(path)?)? else {
        return Ok(None);
    };
    let mut names = Names::default();
    while let Some(part) = parts.next_part() {
        parts
            .definitions(&part)?
            .for_each(|event| names.event(&event));
    }
    Ok(Some(names))
}
