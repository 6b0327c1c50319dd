//! Reader of single segments of a trail.
//!
//! Each segment can be read alone. A reader of segments must check three things that a reader of
//! the whole file checks on its way:
//!
//! - No bytes are between the segments. [`SegmentReader::begin`] checks this.
//! - Each thread continues from its state at the end of its previous segment.
//! - The counts at the end of the trace equal those of the events.

use super::block::Block;
use super::copies::Copies;
use super::row::{Row, RowRoom};
use super::segments::{SegmentPosition, Segments, end, segment};
use crate::trail::calls::{Thread, Threads};
use crate::trail::columns::unpack;
use crate::trail::index::Totals;
use crate::trail::open::{OpenCall, OpenList};
use crate::trail::record;
use crate::trail::recover::Window;
use crate::trail::value::Bytes;
use crate::trail::wire::Kind;
use jtrail_model::{Event, ThreadId};
use std::collections::{HashMap, HashSet};
use std::io::{self, Read, Seek};

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

/// A thread and its open calls, outermost first; `None` if they are not known.
pub type KnownOfThread = (ThreadId, Option<Vec<OpenCall>>);

/// A thread at the start of a segment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StartOfThread {
    /// The thread.
    pub thread: ThreadId,
    /// Its state.
    pub state: ThreadState,
    /// Its open calls, outermost first; `None` if they are not known.
    pub open: Option<Vec<OpenCall>>,
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
pub struct Counts(pub(super) Totals);

impl Counts {
    /// Adds the counts of other segments.
    pub fn add(&mut self, others: &Self) {
        self.0.add_all(&others.0);
    }
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
        if self.copies(segments, place)?.is_none() {
            return Ok(false);
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

    /// Returns the copies of the definitions of the segment with the number `number`, without
    /// reading the segment. Returns `None` if they are damaged; see
    /// [`Segments::ignore_definitions`].
    ///
    /// # Errors
    /// If the source fails.
    pub fn definitions(
        &mut self,
        segments: &Segments,
        number: usize,
    ) -> io::Result<Option<impl Iterator<Item = Event<'static>> + use<R>>> {
        let Some(place) = segments.all.get(number) else {
            return Ok(None);
        };
        Ok(self.copies(segments, place)?.map(Copies::of))
    }

    /// Returns the copies of a segment's definitions, which may be empty. Returns `None` if they
    /// are malformed or do not match the index.
    fn copies(
        &mut self,
        segments: &Segments,
        place: &SegmentPosition,
    ) -> io::Result<Option<Vec<u8>>> {
        let Some((definitions, times)) = place.definitions else {
            return Ok(Some(Vec::new()));
        };
        let Some((header, payload)) = segment(&mut self.window, definitions)? else {
            return Ok(None);
        };
        let mut column = [Vec::new()];
        let is_read = unpack(header.version, &mut Bytes(payload), &mut column).is_some();
        let number = place.number.checked_sub(1);
        let reported = (header.kind, header.events, header.before, header.times);
        let fits = reported == (Kind::Definitions, 0, place.before, times)
            && usize::try_from(header.number).ok() == number
            && end(definitions, &header) == place.at;
        let [copies] = column;
        Ok((is_read && fits && segments.have(&header)).then_some(copies))
    }

    /// Returns the calls that are open at the start of the segment, outermost first. The result has
    /// an entry for each thread with events in the segment, in the order of [`Self::threads`]. Must
    /// be called at most once for each segment. Returns `None` if the segments are malformed, if
    /// they list too many calls, if an earlier segment that has a part of the lists is missing, or
    /// if they are of a version before 3.
    ///
    /// If a thread has more than 65,536 open calls, innermost ones may be missing.
    ///
    /// # Errors
    /// If the source fails.
    pub fn open_calls(&mut self, segments: &Segments) -> io::Result<Option<Vec<OpenOfThread>>> {
        let Some(all) = self.known_open_calls(segments)? else {
            return Ok(None);
        };
        let known = all.into_iter().map(|(id, calls)| Some((id, calls?)));
        Ok(known.collect())
    }

    /// Like [`Self::open_calls`], but also returns the calls of some threads if those of others are
    /// not known; the latter have `None`. Returns `None` if the segments list too many calls, or if
    /// they are of a version before 3.
    ///
    /// # Errors
    /// If the source fails.
    pub fn known_open_calls(
        &mut self,
        segments: &Segments,
    ) -> io::Result<Option<Vec<KnownOfThread>>> {
        let lists = self.block.take_open_lists();
        match self.number.zip(lists) {
            Some((number, lists)) => self.complete(segments, number, lists),
            None => Ok(None),
        }
    }

    /// Returns the threads of a segment at its start, without reading its events. Returns `None` if
    /// the segment does not match the index, or as [`Self::known_open_calls`] does. [`Self::begin`]
    /// must be called before anything else is read.
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

    /// Checks the segment with the number `number` without reading its events. Returns `None` if it
    /// is damaged. Otherwise, returns its threads whose open calls are not known, because an
    /// earlier segment that lists them is missing or damaged. If `all_before` is true, no earlier
    /// segment is, and the lists are not read.
    ///
    /// # Errors
    /// If the source fails.
    pub fn check(
        &mut self,
        segments: &Segments,
        number: usize,
        all_before: bool,
    ) -> io::Result<Option<Vec<ThreadId>>> {
        let Some(place) = segments.all.get(number) else {
            return Ok(None);
        };
        let Some((header, payload)) = place.segment(&mut self.window)? else {
            return Ok(None);
        };
        if !segments.have(&header) || (place.threads.is_empty() && place.events > 0) {
            return Ok(None);
        }
        if all_before || header.version < 3 {
            return Ok(Some(Vec::new()));
        }
        let Some(lists) = self.other.read_open_lists(&header, payload) else {
            return Ok(None);
        };
        let Some(all) = self.complete(segments, number, lists)? else {
            return Ok(None);
        };
        let unknown = all.into_iter().filter(|(_, calls)| calls.is_none());
        Ok(Some(unknown.map(|(id, _)| id).collect()))
    }

    /// Completes lists of the calls that are open at the start of a segment. Returns `None` if they
    /// have too many calls.
    fn complete(
        &mut self,
        segments: &Segments,
        number: usize,
        mut all: Vec<OpenList>,
    ) -> io::Result<Option<Vec<KnownOfThread>>> {
        let own: usize = all.iter().map(|list| list.calls.len()).sum();
        let Some(mut room) = MAX_OPEN.checked_sub(own) else {
            return Ok(None);
        };
        let mut unknown = HashSet::new();
        // Lists that refer to the same segment are completed together.
        let mut others: HashMap<u64, Vec<&mut OpenList>> = HashMap::new();
        for list in all.iter_mut().filter(|list| list.back > 0) {
            others.entry(list.back).or_default().push(list);
        }
        if others.len() > MAX_OUTER {
            return Ok(None);
        }
        for (back, inner) in others {
            let outer = match segments.earlier(number, back) {
                Some(at) => self.outer(segments, at)?,
                None => None,
            };
            for list in inner {
                let from = usize::try_from(list.from).ok();
                let from = from.filter(|from| room >= *from);
                room = room.saturating_sub(from.unwrap_or_default());
                let outer = outer.and_then(|outer| outer.get(&list.thread)).zip(from);
                match outer.and_then(|(outer, from)| outer.get(..from)) {
                    Some(outer) => _ = list.calls.splice(..0, outer.iter().copied()),
                    None => _ = unknown.insert(list.thread),
                }
            }
        }
        let all = all.into_iter().map(|list| {
            let is_known = !unknown.contains(&list.thread);
            (list.thread, is_known.then_some(list.calls))
        });
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
                    // Id 0 stands for events without a thread.
                    event.thread().unwrap_or_default() == self.block.thread().unwrap_or_default()
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
