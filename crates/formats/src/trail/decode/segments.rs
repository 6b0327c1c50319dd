//! All segments of a complete trail, for readers that read them in any order and in parallel.
//!
//! Each segment can be read alone. A reader of segments must check three things that a reader of
//! the whole file checks on its way:
//!
//! - No bytes are between the segments. [`SegmentReader::begin`] checks this.
//! - Each thread continues from its state at the end of its previous segment.
//! - The counts at the end of the trace equal those of the events.

use super::block::Block;
use super::row::{Row, RowRoom};
use crate::trail::calls::{Thread, Threads};
use crate::trail::columns::unpack;
use crate::trail::index::{END, Totals};
use crate::trail::open::{OpenCall, OpenList};
use crate::trail::recover::Window;
use crate::trail::value::Bytes;
use crate::trail::wire::{HEADER, Header, Kind};
use crate::trail::{index, record};
use jtrail_model::{Event, ThreadId, Timestamp};
use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};

/// Size of the end of a trail, in bytes: the position of its last index, and a mark.
const ENDING: u64 = 16;

/// The segments of events of a trail in order, and the counts at its end.
#[derive(Debug)]
pub struct Segments {
    all: Vec<SegmentPosition>,
    totals: Totals,
    /// Identifies the trace.
    trace: u32,
}

/// A segment of events, and the definitions before it.
#[derive(Debug)]
struct SegmentPosition {
    /// Number of the segment among all segments, as its header gives it.
    number: usize,
    /// Position of the copies of the segment's definitions, and the times that the index gives for
    /// them. `None` if the segment has no definitions.
    definitions: Option<(u64, [i64; 2])>,
    at: u64,
    /// Position of the next segment of any kind.
    end: u64,
    /// Number of events before the segment.
    before: u64,
    /// Number of events in the segment.
    events: u32,
    times: [i64; 2],
    threads: Vec<u64>,
}

impl SegmentPosition {
    /// Reads the segment. Returns `None` if it does not match the index.
    fn segment<'w, R: Read + Seek>(
        &self,
        window: &'w mut Window<R>,
    ) -> io::Result<Option<(Header, &'w [u8])>> {
        let found = segment(window, self.at)?.filter(|(header, _)| {
            let reported = (header.kind, header.events, header.times, header.before);
            let expected = (Kind::Events, self.events, self.times, self.before);
            let number = usize::try_from(header.number);
            reported == expected && number == Ok(self.number) && end(self.at, header) == self.end
        });
        Ok(found)
    }
}

/// State of a thread: the number of its events, its last ticket, and the number of its open calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadState(Thread);

impl ThreadState {
    /// Returns the number of open calls. It is negative if more calls ended than began.
    pub fn depth(&self) -> i64 {
        self.0.depth
    }

    /// Returns the number of events of the thread so far.
    pub fn events(&self) -> u64 {
        self.0.events
    }
}

/// A thread and its open calls, outermost first.
pub type OpenOfThread = (ThreadId, Vec<OpenCall>);

/// A thread at the start of a segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StartOfThread {
    /// The thread.
    pub thread: ThreadId,
    /// Its state.
    pub state: ThreadState,
    /// Its open calls, outermost first.
    pub open: Vec<OpenCall>,
}

/// The calls that are open at the start of a segment, for the threads with a complete list.
type Outer = HashMap<ThreadId, Vec<OpenCall>>;

/// Maximum number of open calls that are assembled for a segment. The open calls of other segments
/// that are kept for it have the same maximum.
const MAX_OPEN: usize = 1 << 18;
/// Maximum number of segments whose lists of open calls are kept because other segments refer to
/// them. If a segment refers to more lists, its open calls are not read, because that would take
/// too long.
const MAX_OUTER: usize = 64;

/// Number of events of each kind.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts(Totals);

impl Counts {
    /// Adds the counts of other segments.
    pub fn add(&mut self, others: &Self) {
        self.0.add_all(&others.0);
    }
}

impl Segments {
    /// Reads the indexes. Returns `None` if the trace is truncated, or if its indexes are not
    /// sound. The trace must then be read from the start.
    ///
    /// # Errors
    /// If `source` fails.
    pub fn open(mut source: impl Read + Seek) -> io::Result<Option<Self>> {
        let size = source.seek(SeekFrom::End(0))?;
        let Some(mut indexes) = indexes(&mut Window::new(source)?, size)? else {
            return Ok(None);
        };
        let last = indexes.last_mut().filter(|last| last.end == size);
        let Some((totals, false)) = last.and_then(|last| last.found.end.take()) else {
            return Ok(None);
        };
        if indexes.iter().any(|index| index.found.end.is_some()) {
            return Ok(None); // only the last index may have an end
        }
        let trace = indexes.last().map_or(0, |last| last.header.trace);
        if indexes.iter().any(|index| index.header.trace != trace) {
            return Ok(None);
        }
        Ok(places(indexes).map(|all| Self { all, totals, trace }))
    }

    /// Returns the number of segments of events.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// Returns the number of events in all segments.
    pub fn events(&self) -> u64 {
        let all = self.all.iter().map(|place| u64::from(place.events));
        all.sum()
    }

    /// Returns the position of the end of a segment, in bytes from the start of the trace.
    pub fn end(&self, number: usize) -> u64 {
        self.all.get(number).map_or(0, |place| place.end)
    }

    /// Returns the number of events of a segment.
    pub fn events_of(&self, number: usize) -> u32 {
        self.all.get(number).map_or(0, |place| place.events)
    }

    /// Returns the smallest and the largest time in a segment; `None` if it has no times.
    pub fn times(&self, number: usize) -> Option<[Timestamp; 2]> {
        let times = self.all.get(number)?.times;
        (times != [0, 0]).then(|| times.map(Timestamp))
    }

    /// Returns the threads that have events in a segment. Id 0 stands for events without a thread.
    pub fn threads(&self, number: usize) -> impl Iterator<Item = ThreadId> {
        let threads = self.all.get(number).map_or(&[][..], |place| &place.threads);
        threads.iter().map(|thread| ThreadId(*thread))
    }

    /// Returns true if a segment belongs to this trace. Segment 0 does not identify its trace.
    fn have(&self, header: &Header) -> bool {
        [0, self.trace].contains(&header.trace)
    }

    /// Returns, for each thread with events, the number of its last segment.
    pub fn last_of_threads(&self) -> HashMap<ThreadId, usize> {
        let all = self.all.iter().enumerate();
        let threads = all.flat_map(|(number, place)| {
            let threads = place.threads.iter();
            threads.map(move |thread| (ThreadId(*thread), number))
        });
        threads.collect()
    }

    /// Returns true if `counts` equal the counts at the end of the trace.
    pub fn counts_match(&self, counts: &Counts) -> bool {
        let mut counts = counts.0.clone();
        counts.before = self.events();
        counts == self.totals
    }
}

/// An index of a trail.
pub(super) struct FoundIndex {
    header: Header,
    place: u64,
    /// Position of the end of the index. For the last index, this includes the end of the trail.
    end: u64,
    pub(super) found: index::IndexContents,
}

/// Returns the indexes of a trail of `size` bytes, in order. Returns `None` if they are not sound,
/// or if the last one is not at the end of the trail.
pub(super) fn indexes(
    window: &mut Window<impl Read + Seek>,
    size: u64,
) -> io::Result<Option<Vec<FoundIndex>>> {
    let Some(ending) = size.checked_sub(ENDING) else {
        return Ok(None);
    };
    let Some((place, mark)) = window.get(ending, ENDING as usize)?.split_first_chunk() else {
        return Ok(None);
    };
    if mark != END {
        return Ok(None);
    }
    let mut place = u64::from_le_bytes(*place);
    let mut indexes = Vec::new();
    loop {
        let Some((header, payload)) = segment(window, place)? else {
            return Ok(None);
        };
        let found = match header.kind {
            Kind::Index => index::IndexContents::get(header.version, payload),
            _ => None,
        };
        let Some(found) = found else {
            return Ok(None);
        };
        let (previous, end) = (found.previous, end(place, &header));
        indexes.push(FoundIndex {
            header,
            place,
            end,
            found,
        });
        match previous.checked_sub(1) {
            None => break,
            Some(previous) if previous < place => place = previous,
            Some(_) => return Ok(None),
        }
    }
    indexes.reverse();
    Ok(Some(indexes))
}

/// Returns the positions of the segments according to the indexes. Returns `None` if the indexes
/// omit something.
fn places(indexes: Vec<FoundIndex>) -> Option<Vec<SegmentPosition>> {
    // Each element has a position. It holds either the entry of a segment, or the header and the
    // end of an index.
    let mut all = Vec::new();
    for FoundIndex {
        header,
        place,
        end,
        found,
    } in indexes
    {
        let entries = found.entries.into_iter();
        all.extend(entries.map(|entry| (entry.offset, Ok(entry))));
        all.push((place, Err((header, end))));
    }
    let begins: Vec<u64> = all.iter().map(|(place, ..)| *place).collect();
    let mut places = Vec::new();
    let (mut definitions, mut before) = (None, 0_u64);
    for (number, (place, segment)) in all.into_iter().enumerate() {
        let next = begins.get(number + 1);
        let entry = match segment {
            Ok(entry) => entry,
            Err((header, end)) => {
                // The segment after an index must begin where the index ends.
                let is_followed = next.is_none_or(|next| *next == end);
                let is_there =
                    (usize::try_from(header.number).ok(), header.before) == (Some(number), before);
                if definitions.is_some() || !is_followed || !is_there {
                    return None;
                }
                continue;
            }
        };
        let end = *next.filter(|next| **next > place)?;
        if !entry.is_events {
            if definitions.replace((place, entry.times)).is_some() || entry.events != 0 {
                return None;
            }
            continue;
        }
        places.push(SegmentPosition {
            number,
            definitions: definitions.take(),
            at: place,
            end,
            before,
            events: entry.events,
            times: entry.times,
            threads: entry.threads,
        });
        before = before.checked_add(entry.events.into())?;
    }
    let begins_well = places
        .first()
        .is_some_and(|first| first.definitions.map_or(first.at, |(at, _)| at) == 0);
    begins_well.then_some(places)
}

/// Returns the size of a segment, in bytes.
pub(super) fn size(header: &Header) -> u64 {
    HEADER as u64 + u64::from(header.length)
}

/// Returns the position of the end of a segment.
fn end(place: u64, header: &Header) -> u64 {
    place.saturating_add(size(header))
}

/// Returns the segment at the position `place`; `None` if no sound segment is there.
pub(super) fn segment<R: Read + Seek>(
    window: &mut Window<R>,
    place: u64,
) -> io::Result<Option<(Header, &[u8])>> {
    let header = window.get(place, HEADER)?.first_chunk();
    let Some(header) = header.and_then(|bytes| Header::get(bytes).ok()) else {
        return Ok(None);
    };
    let length = HEADER + header.length as usize;
    let payload = window.get(place, length)?.get(HEADER..);
    let is_sound = |payload: &&[u8]| {
        payload.len() == header.length as usize && crc32c::crc32c(payload) == header.checksum
    };
    Ok(payload.filter(is_sound).map(|payload| (header, payload)))
}

/// A unit that [`SegmentReader::read`] passes to the visitor.
#[derive(Debug)]
pub enum SegmentItem<'f> {
    /// A row of calls of one thread.
    Row(Row<'f>),
    /// Any other event, which may also be a call.
    Event(Event<'f>),
}

/// Reader of single segments of a trail. After [`Self::begin`], callers ask for open calls and
/// events.
pub struct SegmentReader<R> {
    window: Window<R>,
    block: Block,
    /// Number of the current segment.
    number: Option<usize>,
    /// Another segment. Only its open calls are read.
    other: Block,
    /// Open calls of other segments, by number of the segment.
    outer: HashMap<usize, Outer>,
    /// Total number of open calls in `outer`.
    kept: usize,
    /// States of the segment's threads at its start.
    befores: Vec<Thread>,
    room: RowRoom,
    counts: Counts,
}

impl<R: Read + Seek> SegmentReader<R> {
    /// Returns a reader that has read nothing yet.
    ///
    /// # Errors
    /// If `source` can't seek.
    pub fn new(source: R) -> io::Result<Self> {
        Ok(Self {
            window: Window::new(source)?,
            block: Block::default(),
            number: None,
            other: Block::default(),
            outer: HashMap::new(),
            kept: 0,
            befores: Vec::new(),
            room: RowRoom::default(),
            counts: Counts::default(),
        })
    }

    /// Begins the segment with the number `number`, counted from 0. Returns false if the segment is
    /// malformed or does not match the index. It then has no events.
    ///
    /// # Errors
    /// If the source fails.
    pub fn begin(&mut self, segments: &Segments, number: usize) -> io::Result<bool> {
        self.number = None;
        self.befores.clear();
        let Some(place) = segments.all.get(number) else {
            return Ok(false);
        };
        if let Some((definitions, times)) = place.definitions {
            let Some((header, payload)) = segment(&mut self.window, definitions)? else {
                return Ok(false);
            };
            let mut column = [Vec::new()];
            let is_read = unpack(header.version, &mut Bytes(payload), &mut column).is_some();
            let number = place.number.checked_sub(1);
            let reported = (header.kind, header.events, header.before, header.times);
            let fits = reported == (Kind::Definitions, 0, place.before, times)
                && usize::try_from(header.number).ok() == number
                && end(definitions, &header) == place.at;
            if !is_read || !fits || !segments.have(&header) {
                return Ok(false);
            }
        }
        let Some((header, payload)) = place.segment(&mut self.window)? else {
            return Ok(false);
        };
        if !segments.have(&header) {
            return Ok(false);
        }
        let threads = Threads::default();
        if self.block.begin(&header, payload, &threads).is_none() {
            return Ok(false);
        }
        let threads = self.block.threads();
        if !threads.map(|(id, _)| id).eq(place.threads.iter().copied()) {
            return Ok(false);
        }
        self.befores
            .extend(self.block.threads().map(|(_, thread)| thread));
        self.number = Some(number);
        Ok(true)
    }

    /// Returns the calls that are open at the start of the segment, outermost first. The result has
    /// an entry for each thread with events in the segment, in the order of [`Self::threads`]. Must
    /// be called at most once for each segment. Returns `None` if the segments are malformed, if
    /// they list too many calls, or if they are of a version before 3.
    ///
    /// If a thread has more than 65,536 open calls, innermost ones may be missing.
    ///
    /// # Errors
    /// If the source fails.
    pub fn open_calls(&mut self, segments: &Segments) -> io::Result<Option<Vec<OpenOfThread>>> {
        let lists = self.block.take_open_lists();
        match self.number.zip(lists) {
            Some((number, lists)) => self.complete(segments, number, lists),
            None => Ok(None),
        }
    }

    /// Returns the threads of a segment at its start, without reading its events. Returns `None` if
    /// the segment does not match the index, or as [`Self::open_calls`] does. [`Self::begin`] must
    /// be called before anything else is read.
    ///
    /// # Errors
    /// If the source fails.
    pub fn start(
        &mut self,
        segments: &Segments,
        number: usize,
    ) -> io::Result<Option<Vec<StartOfThread>>> {
        self.number = None;
        let Some(place) = segments.all.get(number) else {
            return Ok(None);
        };
        let Some((header, payload)) = place.segment(&mut self.window)? else {
            return Ok(None);
        };
        let Some(lists) = self.block.read_open_lists(&header, payload) else {
            return Ok(None);
        };
        let states: Vec<_> = self.block.threads().collect();
        let Some(open) = self.complete(segments, number, lists)? else {
            return Ok(None);
        };
        let starts = states.into_iter().zip(open);
        let start = |((_, state), (thread, open))| StartOfThread {
            thread,
            state: ThreadState(state),
            open,
        };
        Ok(Some(starts.map(start).collect()))
    }

    /// Completes lists of open calls with those of other segments.
    fn complete(
        &mut self,
        segments: &Segments,
        number: usize,
        mut all: Vec<OpenList>,
    ) -> io::Result<Option<Vec<OpenOfThread>>> {
        let own: usize = all.iter().map(|list| list.calls.len()).sum();
        let Some(mut room) = MAX_OPEN.checked_sub(own) else {
            return Ok(None);
        };
        // Lists that refer to the same segment are completed together.
        let mut others: HashMap<u64, Vec<&mut OpenList>> = HashMap::new();
        for list in all.iter_mut().filter(|list| list.back > 0) {
            others.entry(list.back).or_default().push(list);
        }
        if others.len() > MAX_OUTER {
            return Ok(None);
        }
        for (back, inner) in others {
            let at = usize::try_from(back).ok();
            let Some(at) = at.and_then(|back| number.checked_sub(back)) else {
                return Ok(None);
            };
            let Some(outer) = self.outer(segments, at)? else {
                return Ok(None);
            };
            for list in inner {
                let from = usize::try_from(list.from).ok();
                let from = from.filter(|from| room >= *from);
                room = room.saturating_sub(from.unwrap_or_default());
                let outer = outer.get(&list.thread).zip(from);
                let Some(outer) = outer.and_then(|(outer, from)| outer.get(..from)) else {
                    return Ok(None);
                };
                list.calls.splice(..0, outer.iter().copied());
            }
        }
        let all = all.into_iter().map(|list| (list.thread, list.calls));
        Ok(Some(all.collect()))
    }

    /// Returns the complete lists of open calls in the segment with the number `number`.
    fn outer(&mut self, segments: &Segments, number: usize) -> io::Result<Option<&Outer>> {
        if !self.outer.contains_key(&number) {
            if self.outer.len() >= MAX_OUTER || self.kept > MAX_OPEN {
                self.outer.clear();
                self.kept = 0;
            }
            let Some(place) = segments.all.get(number) else {
                return Ok(None);
            };
            let Some((header, payload)) = place.segment(&mut self.window)? else {
                return Ok(None);
            };
            let Some(lists) = self.other.read_open_lists(&header, payload) else {
                return Ok(None);
            };
            let lists = lists.into_iter().filter(|list| list.back == 0);
            let all: Outer = lists.map(|list| (list.thread, list.calls)).collect();
            self.kept += all.values().map(Vec::len).sum::<usize>();
            self.outer.insert(number, all);
        }
        Ok(self.outer.get(&number))
    }

    /// Passes the events of the current segment to `visit`. Returns false if the segment is
    /// malformed; `visit` may have got some events by then.
    pub fn read(&mut self, visit: &mut dyn FnMut(SegmentItem<'_>)) -> bool {
        self.number.is_some() && self.hand_out(visit) && self.block.is_fully_read()
    }

    fn hand_out(&mut self, visit: &mut dyn FnMut(SegmentItem<'_>)) -> bool {
        while self.block.left() > 0 {
            if self.block.left() > 1
                && let Some(row) = self.block.row(&mut self.room)
            {
                let (begun, ended) = row.counts();
                self.counts.0.add_calls(begun, ended);
                visit(SegmentItem::Row(row));
                continue;
            }
            let Some(event) = self.block.next() else {
                return false;
            };
            let is_of_its_run = match &event {
                Event::MethodEnter(_) | Event::MethodLeave(_) | Event::ThreadEnd(_) => {
                    event.thread() == self.block.thread()
                }
                _ => true,
            };
            if !is_of_its_run {
                return false;
            }
            if let Some(code) = record::code(&event) {
                self.counts.0.add(code);
            }
            visit(SegmentItem::Event(event));
        }
        true
    }

    /// Returns the threads of the current segment, each with its state at the start of the segment
    /// and its current state.
    pub fn threads(&self) -> impl Iterator<Item = (ThreadId, ThreadState, ThreadState)> {
        let befores = self.befores.iter().copied();
        let threads = self.block.threads().zip(befores);
        threads.map(|((id, now), before)| (ThreadId(id), ThreadState(before), ThreadState(now)))
    }

    /// Returns the counts of all events that were handed out so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }
}
