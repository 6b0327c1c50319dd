//! All segments of a trail that is whole, for readers that take them in any order, and several at
//! once.
//!
//! Each segment can be read by itself. What a reader of the whole file sees as it comes along,
//! whoever reads segments has to put together: that no byte is between them
//! ([`SegmentReader::begin`] looks at that), that threads go on where they were, and that the
//! counts at the end are those of the events.

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
use jtrail_model::{Event, ThreadId};
use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};

/// Bytes of a trail's end: the place of its last index, and a mark.
const ENDING: u64 = 16;

/// Where the segments of events are, in their order, and what the trace says of itself.
#[derive(Debug)]
pub struct Segments {
    all: Vec<Place>,
    totals: Totals,
    /// What tells the trace from others.
    trace: u32,
}

/// A segment of events, and what stands before it.
#[derive(Debug)]
struct Place {
    /// Its number among all segments, as they tell it.
    number: usize,
    /// Where the copies of its definitions are, if there are any, and the times that the index has
    /// for them.
    definitions: Option<(u64, [i64; 2])>,
    at: u64,
    /// Where the next segment of any kind begins.
    end: u64,
    /// Events before it, and in it.
    before: u64,
    events: u32,
    times: [i64; 2],
    threads: Vec<u64>,
}

impl Place {
    /// The segment; `None` where it is not as the index says.
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

/// How far a thread has come: its events, its last ticket, its open calls.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadState(Thread);

impl ThreadState {
    /// How many calls are open; below 0 where more have ended than begun.
    pub fn depth(&self) -> i64 {
        self.0.depth
    }
}

/// A thread, and its open calls, outermost first.
pub type OpenOfThread = (ThreadId, Vec<OpenCall>);

/// Which calls are open where a segment begins, of the threads of which it tells of all.
type Outer = HashMap<ThreadId, Vec<OpenCall>>;

/// Most open calls of a segment that are put together, and most of others that are kept for it.
const MOST_OPEN: usize = 1 << 18;
/// Most segments to which others refer that are kept. Where one refers to more, it would take too
/// long.
const MOST_OUTER: usize = 64;

/// How many events there are of each kind.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts(Totals);

impl Counts {
    /// Adds those of other segments.
    pub fn add(&mut self, others: &Self) {
        self.0.add_all(&others.0);
    }
}

impl Segments {
    /// Reads the indexes. `None` where the trace is not whole, or its indexes are not sound, so
    /// that it must be read from the front.
    ///
    /// # Errors
    /// Those of the source.
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
            return Ok(None); // there is one end
        }
        let trace = indexes.last().map_or(0, |last| last.header.trace);
        if indexes.iter().any(|index| index.header.trace != trace) {
            return Ok(None);
        }
        Ok(places(indexes).map(|all| Self { all, totals, trace }))
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.all.len()
    }

    /// How many events are in all of them.
    pub fn events(&self) -> u64 {
        let all = self.all.iter().map(|place| u64::from(place.events));
        all.sum()
    }

    /// Where a segment ends, in bytes from the start of the trace.
    pub fn end(&self, number: usize) -> u64 {
        self.all.get(number).map_or(0, |place| place.end)
    }

    /// Whether a segment is of this trace. Segment 0 does not say of which it is.
    fn have(&self, header: &Header) -> bool {
        [0, self.trace].contains(&header.trace)
    }

    /// The last segment of each thread that has events.
    pub fn last_of_threads(&self) -> HashMap<ThreadId, usize> {
        let all = self.all.iter().enumerate();
        let threads = all.flat_map(|(number, place)| {
            let threads = place.threads.iter();
            threads.map(move |thread| (ThreadId(*thread), number))
        });
        threads.collect()
    }

    /// Whether these are the counts that the trace tells at its end.
    pub fn are_counts(&self, counts: &Counts) -> bool {
        let mut counts = counts.0.clone();
        counts.before = self.events();
        counts == self.totals
    }
}

/// An index of a trail.
pub(super) struct FoundIndex {
    header: Header,
    place: u64,
    /// Where it ends, with what stands behind the last one.
    end: u64,
    pub(super) found: index::Found,
}

/// The indexes of a trail of that size, in their order; `None` if they are not sound, or the last
/// one is not its end.
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
            Kind::Index => index::Found::get(header.version, payload),
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

/// Where segments are, by the indexes; `None` where these leave something out.
fn places(indexes: Vec<FoundIndex>) -> Option<Vec<Place>> {
    // Of each segment where it begins, and what an index says of it; or an index, and where it
    // ends.
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
                // What comes behind an index begins where it ends.
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
        places.push(Place {
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

/// Bytes of a segment.
pub(super) fn size(header: &Header) -> u64 {
    HEADER as u64 + u64::from(header.length)
}

/// Where a segment ends.
fn end(place: u64, header: &Header) -> u64 {
    place.saturating_add(size(header))
}

/// The segment at a place; `None` if there is no sound one.
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

/// What is found in a segment.
#[derive(Debug)]
pub enum Found<'f> {
    /// Calls of a thread.
    Row(Row<'f>),
    /// Anything else, and also calls.
    Event(Event<'f>),
}

/// Reads segments of one trail, each by itself: first one begins, and then it is asked for open
/// calls and events.
pub struct SegmentReader<R> {
    window: Window<R>,
    block: Block,
    /// The segment that was begun.
    number: Option<usize>,
    /// Another one, of which the begin alone is read.
    other: Block,
    /// By number of the segment, and how many calls they have.
    outer: HashMap<usize, Outer>,
    kept: usize,
    /// What the threads of the segment had at its begin.
    befores: Vec<Thread>,
    room: RowRoom,
    counts: Counts,
}

impl<R: Read + Seek> SegmentReader<R> {
    /// Returns a reader that has read nothing yet.
    ///
    /// # Errors
    /// When the source can't seek.
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

    /// Begins the segment of that number, from 0. `false` where it is not as it should be, or not
    /// as the index says; then it has no events.
    ///
    /// # Errors
    /// Those of the source.
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

    /// The calls that are open where the segment begins, outermost first, of each thread that has
    /// events in it, in the order of [`Self::threads`]; once. `None` where the segments are not as
    /// they should be, where they tell of very many calls, and where they are of a version
    /// before 3.
    ///
    /// Of a thread with calls deeper than 65,536, innermost ones may be missing.
    ///
    /// # Errors
    /// Those of the source.
    pub fn open_calls(&mut self, segments: &Segments) -> io::Result<Option<Vec<OpenOfThread>>> {
        let lists = self.block.take_open_lists();
        let Some((number, mut all)) = self.number.zip(lists) else {
            return Ok(None);
        };
        let own: usize = all.iter().map(|list| list.calls.len()).sum();
        let Some(mut room) = MOST_OPEN.checked_sub(own) else {
            return Ok(None);
        };
        // Those that refer to the same segment are completed together.
        let mut others: HashMap<u64, Vec<&mut OpenList>> = HashMap::new();
        for list in all.iter_mut().filter(|list| list.back > 0) {
            others.entry(list.back).or_default().push(list);
        }
        if others.len() > MOST_OUTER {
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

    /// What the segment of that number has for others.
    fn outer(&mut self, segments: &Segments, number: usize) -> io::Result<Option<&Outer>> {
        if !self.outer.contains_key(&number) {
            if self.outer.len() >= MOST_OUTER || self.kept > MOST_OPEN {
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

    /// Hands out the events of the segment that was begun. `false` where it is not as it should be;
    /// some events may have been handed out by then.
    pub fn read(&mut self, visit: &mut dyn FnMut(Found<'_>)) -> bool {
        self.number.is_some() && self.hand_out(visit) && self.block.is_used_up()
    }

    fn hand_out(&mut self, visit: &mut dyn FnMut(Found<'_>)) -> bool {
        while self.block.left() > 0 {
            if self.block.left() > 1
                && let Some(row) = self.block.row(&mut self.room)
            {
                let (begun, ended) = row.counts();
                self.counts.0.add_calls(begun, ended);
                visit(Found::Row(row));
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
            visit(Found::Event(event));
        }
        true
    }

    /// The threads of the segment that was begun: how far each had come before it, and has come in
    /// it so far.
    pub fn threads(&self) -> impl Iterator<Item = (ThreadId, ThreadState, ThreadState)> {
        let befores = self.befores.iter().copied();
        let threads = self.block.threads().zip(befores);
        threads.map(|((id, now), before)| (ThreadId(id), ThreadState(before), ThreadState(now)))
    }

    /// How many events were handed out so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }
}
