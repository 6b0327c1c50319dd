//! Finds the segments of a trail by their headers, for trails without a sound index at their end:
//! the file is truncated or damaged, or the trail is still being written.
//!
//! The scan goes from header to header and reads the threads of each segment, but not its events.
//! The payload of a segment is checked only when the segment is read. If no header is where the
//! next one should be, the scan searches for one; the segments in between are missing. An index on
//! the way tells the positions of all segments since the preceding index, so that no part is
//! missing there any more.

use super::block::Block;
use super::segments::{Ending, Order, SegmentPosition, Segments, end, segment};
use crate::trail::columns::MAX_EVENTS;
use crate::trail::index::{Entry, IndexContents};
use crate::trail::recover::Window;
use crate::trail::wire::{HEADER, Header, Kind, MAGIC, MAX_PAYLOAD_BYTES};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;

/// Number of bytes of a segment in which its threads usually are, including the header.
const FIRST: usize = 4 << 10;
/// Number of bytes that are searched at once.
const CHUNK: usize = 64 << 10;
/// Maximum number of parts that are kept as missing. Further ones are not reported.
const MAX_MISSING: usize = 1 << 16;
/// Maximum number of threads of all segments together, and how many more each byte of the file
/// allows, as a fraction. A few bytes may expand to many threads. The limit bounds memory.
const MAX_THREADS: (u64, u64) = (1 << 22, 16);

/// A part of a trail in which segments are missing.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MissingPart {
    /// Position of the part in the file. It is empty if the bytes were removed.
    pub bytes: Range<u64>,
    /// Number of missing events.
    pub events: u64,
    /// Number of the segment of events that follows, counted from 0.
    pub next: usize,
}

/// How far a trail was scanned.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Position of the end of the last segment that was found.
    at: u64,
    /// Number of the next segment, and the number of events before it.
    next: (u32, u64),
    /// Position of the last segment that was found.
    last: Option<u64>,
    /// No header that is complete is between `at` and this position.
    searched: u64,
    /// Size of the file when it was scanned.
    size: u64,
    /// Copies of definitions for the next segment of events.
    definitions: Option<(u64, [i64; 2])>,
    /// Where the next segment of events is among all.
    order: Order,
    /// The last index, or the start of the trail.
    index: LastIndex,
    /// Total number of threads of all segments.
    threads: u64,
}

/// The state of the scan after an index, or at the start of the trail.
#[derive(Clone, Copy, Debug, Default)]
struct LastIndex {
    /// Position of the index plus one; 0 at the start of the trail.
    place: u64,
    /// Number of the segment after the index, and the number of events before it.
    next: (u32, u64),
    /// Number of segments of events that were found before.
    count: usize,
    /// Number of missing parts that were found before.
    missing: usize,
    order: Order,
}

impl Segments {
    /// Finds the segments of a trail that may lack its end or be damaged. Returns `None` if the
    /// source does not begin like a trail. An incomplete segment at the end is left out.
    ///
    /// # Errors
    /// If `source` fails.
    pub fn scan(source: impl Read + Seek) -> io::Result<Option<Self>> {
        let mut segments = Self::default();
        let mut scanner = Scanner::new(source)?;
        if scanner.window.get(0, MAGIC.len())? != MAGIC {
            return Ok(None);
        }
        scanner.run(&mut segments)?;
        Ok(Some(segments))
    }

    /// Finds the segments that were appended since the last look, and returns true if there are
    /// any, or the end of the trail. Segments that were found before keep their numbers. `source`
    /// must be the file of the same trail.
    ///
    /// # Errors
    /// If `source` fails.
    pub fn grow(&mut self, mut source: impl Read + Seek) -> io::Result<bool> {
        if self.ending != Ending::Missing || source.seek(SeekFrom::End(0))? <= self.scan.size {
            return Ok(false);
        }
        let before = self.scan.at;
        Scanner::new(source)?.run(self)?;
        Ok(self.scan.at > before)
    }

    /// Returns the position of the end of the last segment of any kind, in bytes from the start.
    /// Bytes after it are an incomplete segment or damaged.
    pub fn scanned(&self) -> u64 {
        self.scan.at
    }
}

/// Looks for segments.
struct Scanner<R> {
    window: Window<R>,
    block: Block,
    /// Size of the source, in bytes.
    size: u64,
    /// Number of bytes of payloads that were checked. A payload may be full of apparent headers,
    /// each of which claims a payload of the maximum size.
    checked: u64,
}

/// What is at a position.
enum Found {
    Header(Header),
    /// A header of a segment of which a later part is missing.
    Incomplete,
    Nothing,
}

impl<R: Read + Seek> Scanner<R> {
    fn new(mut source: R) -> io::Result<Self> {
        let size = source.seek(SeekFrom::End(0))?;
        Ok(Self {
            window: Window::new(source)?,
            block: Block::default(),
            size,
            checked: 0,
        })
    }

    fn run(&mut self, segments: &mut Segments) -> io::Result<()> {
        segments.scan.size = self.size;
        while segments.ending == Ending::Missing {
            let at = segments.scan.at;
            if let Found::Header(header) = self.header(segments, at)? {
                self.take(segments, at, &header)?;
            } else if let Some((at, header)) = self.search(segments)? {
                self.take(segments, at, &header)?;
            } else {
                break;
            }
        }
        Ok(())
    }

    /// Returns what is at a position, if it belongs to the trace and may follow.
    fn header(&mut self, segments: &Segments, at: u64) -> io::Result<Found> {
        let bytes = self.window.get(at, HEADER)?.first_chunk();
        let Some(header) = bytes.and_then(|bytes| Header::get(bytes).ok()) else {
            return Ok(Found::Nothing);
        };
        let (number, before) = segments.scan.next;
        let more = header.number.checked_sub(number);
        let events = header.before.checked_sub(before);
        let follows = more
            .zip(events)
            .is_some_and(|(more, events)| events <= u64::from(more) * u64::from(MAX_EVENTS));
        let is_of_trace = match (header.number, header.trace) {
            (0, trace) => trace == 0,
            (_, trace) => trace != 0 && [0, trace].contains(&segments.trace),
        };
        Ok(
            match follows && is_of_trace && header.events <= MAX_EVENTS {
                false => Found::Nothing,
                true if end(at, &header) > self.size => Found::Incomplete,
                true => Found::Header(header),
            },
        )
    }

    /// Searches for the next segment.
    fn search(&mut self, segments: &mut Segments) -> io::Result<Option<(u64, Header)>> {
        let scan = &segments.scan;
        let mut at = scan.at + 1;
        if scan.searched > scan.at {
            at = scan.searched;
        } else if let Some(last) = scan.last
            && self.checked <= 4 * last + 2 * MAX_PAYLOAD_BYTES as u64
        {
            self.checked += scan.at - last;
            if segment(&mut self.window, last)?.is_none() {
                // If a part of the last segment was removed, the next one begins in its range.
                at = last + HEADER as u64;
            }
        }
        let mut incomplete = None;
        while at + (HEADER as u64) <= self.size {
            let bytes = self.window.get(at, CHUNK)?;
            let found = bytes.windows(MAGIC.len()).position(|four| four == MAGIC);
            let Some(found) = found else {
                // The end of the chunk may have the first part of a magic word.
                at += (bytes.len().saturating_sub(MAGIC.len() - 1) as u64).max(1);
                continue;
            };
            at += found as u64;
            match self.header(segments, at)? {
                Found::Header(header) => return Ok(Some((at, header))),
                Found::Incomplete => incomplete = incomplete.or(Some(at)),
                Found::Nothing => {}
            }
            at += 1;
        }
        // The last bytes may be a part of a header.
        let rest = (self.size + 1).saturating_sub(HEADER as u64);
        segments.scan.searched = incomplete.unwrap_or(rest).max(segments.scan.at);
        Ok(None)
    }

    /// Adds a segment at a position.
    fn take(&mut self, segments: &mut Segments, at: u64, header: &Header) -> io::Result<()> {
        segments.skip(at, header);
        if segments.trace == 0 {
            segments.trace = header.trace;
        }
        match header.kind {
            Kind::Definitions => segments.scan.definitions = Some((at, header.times)),
            Kind::Events => {
                let threads = self.threads(at, header)?;
                segments.add_events(at, header, threads);
            }
            Kind::Index => {
                let found = segment(&mut self.window, at)?
                    .and_then(|(header, payload)| IndexContents::get(header.version, payload));
                segments.add_index(at, header, found);
            }
        }
        let scan = &mut segments.scan;
        let before = header.before.saturating_add(header.events.into());
        (scan.at, scan.last) = (end(at, header), Some(at));
        scan.next = (header.number.wrapping_add(1), before);
        if header.kind == Kind::Index {
            segments.note_index(at);
        }
        Ok(())
    }

    /// Returns the threads of a segment; none if they can't be read.
    fn threads(&mut self, at: u64, header: &Header) -> io::Result<Vec<u64>> {
        let length = HEADER + header.length as usize;
        for part in [FIRST.min(length), length] {
            let payload = self.window.get(at, part)?.get(HEADER..);
            let ids = payload.and_then(|p| self.block.read_thread_ids(header.version, p));
            if let Some(ids) = ids.filter(|ids| ids.len() <= header.events as usize) {
                return Ok(ids);
            }
        }
        Ok(Vec::new())
    }
}

impl Segments {
    /// Notes what is missing before a segment at a position.
    fn skip(&mut self, at: u64, header: &Header) {
        let scan = &mut self.scan;
        let (number, before) = scan.next;
        let lost = header.before.saturating_sub(before);
        let segments = header.number.wrapping_sub(number);
        if at != scan.at || segments > 0 {
            scan.definitions = None;
        }
        if segments == 0 {
            return;
        }
        if self.missing.len() < MAX_MISSING {
            self.missing.push(MissingPart {
                bytes: scan.at.min(at)..at,
                events: lost,
                next: self.all.len(),
            });
        }
        match (segments, lost) {
            // Definitions or an index.
            (1, 0) => {}
            (1, _) => scan.order.number += 1,
            // Nobody knows how many of them have events.
            _ => {
                scan.order = Order {
                    stretch: scan.order.stretch + 1,
                    number: 0,
                }
            }
        }
    }

    fn add_events(&mut self, at: u64, header: &Header, threads: Vec<u64>) {
        let scan = &mut self.scan;
        let total = scan.threads + threads.len() as u64;
        let threads = match total <= MAX_THREADS.0 + at / MAX_THREADS.1 {
            true => threads,
            false => Vec::new(),
        };
        scan.threads += threads.len() as u64;
        self.all.push(SegmentPosition {
            number: header.number as usize,
            order: scan.order,
            definitions: scan.definitions.take(),
            at,
            end: end(at, header),
            before: header.before,
            events: header.events,
            times: header.times,
            threads,
        });
        scan.order.number += 1;
    }

    /// Adds an index, which is `None` if it is damaged.
    fn add_index(&mut self, at: u64, header: &Header, found: Option<IndexContents>) {
        self.scan.definitions = None;
        let Some(found) = found else {
            return;
        };
        if let Some((totals, is_truncated)) = found.end {
            self.totals = Some(totals);
            self.ending = match is_truncated {
                true => Ending::Truncated,
                false => Ending::Complete,
            };
        }
        let index = self.scan.index;
        let has_all = index.next.0 as usize + found.entries.len() == header.number as usize;
        let Some(all) = index.positions(found.entries, at, header.before) else {
            return;
        };
        let of_index = &self.all[index.count..];
        let fits = |own: &SegmentPosition| {
            let place = all.binary_search_by_key(&own.at, |other| other.at);
            place.is_ok_and(|place| own.is_same(&all[place]))
        };
        if found.previous == index.place && has_all && of_index.iter().all(fits) {
            self.scan.order = Order {
                stretch: index.order.stretch,
                number: index.order.number + all.len() as u64,
            };
            self.all.truncate(index.count);
            self.all.extend(all);
            self.missing.truncate(index.missing);
        }
    }

    /// Notes that an index is the last segment that was found.
    fn note_index(&mut self, at: u64) {
        self.scan.index = LastIndex {
            place: at + 1,
            next: self.scan.next,
            count: self.all.len(),
            missing: self.missing.len(),
            order: self.scan.order,
        };
    }
}

impl LastIndex {
    /// Returns the segments of events according to the entries of the following index, which is at
    /// the position `at`. Returns `None` if the entries contradict each other, or the index.
    fn positions(&self, entries: Vec<Entry>, at: u64, events: u64) -> Option<Vec<SegmentPosition>> {
        let ends: Vec<u64> = entries.iter().skip(1).map(|entry| entry.offset).collect();
        let ends = ends.into_iter().chain([at]);
        let (number, mut before) = self.next;
        let mut definitions = None;
        let mut order = self.order;
        let mut all = Vec::new();
        for (number, (entry, end)) in (number as usize..).zip(entries.into_iter().zip(ends)) {
            let length = end.checked_sub(entry.offset)?;
            if length > (HEADER + MAX_PAYLOAD_BYTES) as u64 {
                return None;
            }
            if !entry.is_events {
                definitions = Some((entry.offset, entry.times));
                continue;
            }
            all.push(SegmentPosition {
                number,
                order,
                definitions: definitions.take(),
                at: entry.offset,
                end,
                before,
                events: entry.events,
                times: entry.times,
                threads: entry.threads,
            });
            order.number += 1;
            before = before.checked_add(entry.events.into())?;
        }
        (before == events).then_some(all)
    }
}

impl SegmentPosition {
    /// Returns true if another one is that of the same segment, whose threads may be unknown here.
    fn is_same(&self, other: &Self) -> bool {
        let key = |s: &Self| (s.number, s.at, s.end, s.before, s.events, s.times);
        key(self) == key(other) && (self.threads.is_empty() || self.threads == other.threads)
    }
}
