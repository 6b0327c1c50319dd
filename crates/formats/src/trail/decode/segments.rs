//! The segments of a trail, for readers that read them in any order and in parallel.

use super::scan::{MissingPart, Scan};
use super::segment_reader::Counts;
use crate::trail::index;
use crate::trail::index::{END, Totals};
use crate::trail::recover::Window;
use crate::trail::wire::{HEADER, Header, Kind};
use jtrail_model::{ThreadId, Timestamp};
use std::collections::{BTreeSet, HashMap};
use std::io::{self, Read, Seek, SeekFrom};

/// Size of the end of a trail, in bytes: the position of its last index, and a mark.
const ENDING: u64 = 16;

/// The segments of events of a trail in order, and the counts at its end.
///
/// [`Self::open`] reads the indexes of a complete trail; [`Self::scan`] finds the segments of any
/// trail.
#[derive(Debug, Default)]
pub struct Segments {
    pub(super) all: Vec<SegmentPosition>,
    /// The counts at the end of the trace; `None` if the end is missing.
    pub(super) totals: Option<Totals>,
    /// Identifies the trace; 0 if no segment does so yet.
    pub(super) trace: u32,
    pub(super) ending: Ending,
    pub(super) missing: Vec<MissingPart>,
    /// Segments whose copies of definitions are damaged.
    forgotten: BTreeSet<usize>,
    pub(super) scan: Scan,
}

/// How a trail ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Ending {
    /// The end is missing: the file is truncated, or is still being written.
    #[default]
    Missing,
    /// The end says that the trace is truncated.
    Truncated,
    /// The trace is complete.
    Complete,
}

/// A segment of events, and the definitions before it.
#[derive(Debug)]
pub(super) struct SegmentPosition {
    /// Number of the segment among all segments, as its header gives it.
    pub(super) number: usize,
    pub(super) order: Order,
    /// Position of the copies of the segment's definitions, and the times that the index gives for
    /// them. `None` if the segment has no definitions.
    pub(super) definitions: Option<(u64, [i64; 2])>,
    pub(super) at: u64,
    /// Position of the next segment of any kind.
    pub(super) end: u64,
    /// Number of events before the segment.
    pub(super) before: u64,
    /// Number of events in the segment.
    pub(super) events: u32,
    pub(super) times: [i64; 2],
    pub(super) threads: Vec<u64>,
}

/// Where a segment is among the segments of events.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Order {
    /// Number of preceding gaps that lack an unknown number of segments of events.
    pub(super) stretch: u32,
    /// Number of the segment among those of its stretch, including the missing ones.
    pub(super) number: u64,
}

impl SegmentPosition {
    /// Reads the segment. Returns `None` if it does not match the index.
    pub(super) fn segment<'w, R: Read + Seek>(
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
        let totals = Some(totals);
        if indexes.iter().any(|index| index.found.end.is_some()) {
            return Ok(None); // only the last index may have an end
        }
        let trace = indexes.last().map_or(0, |last| last.header.trace);
        if indexes.iter().any(|index| index.header.trace != trace) {
            return Ok(None);
        }
        Ok(places(indexes).map(|all| Self {
            all,
            totals,
            trace,
            ending: Ending::Complete,
            ..Self::default()
        }))
    }

    /// Returns how the trail ends.
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// Returns the parts that are missing between the segments, in the order of the file. Segments
    /// that are listed may be damaged, too: [`crate::trail::SegmentReader::check`] tells.
    pub fn missing(&self) -> &[MissingPart] {
        &self.missing
    }

    /// Forgets the copies of a segment's definitions, which are damaged. The events of the segment
    /// have the same definitions.
    pub fn ignore_definitions(&mut self, number: usize) {
        if let Some(place) = self.all.get_mut(number) {
            place.definitions = None;
            self.forgotten.insert(number);
        }
    }

    /// Returns true if definitions of a segment may have no sound copies: they were forgotten, or a
    /// part of the trail is missing before the segment.
    pub fn lacks_definitions(&self, number: usize) -> bool {
        let Some(place) = self.all.get(number) else {
            return false;
        };
        let gap = self.missing.binary_search_by_key(&number, |part| part.next);
        place.definitions.is_none() && (self.forgotten.contains(&number) || gap.is_ok())
    }

    /// Returns the number of the segment that is `back` segments of events before the segment
    /// `number`; `None` if that is not known or the segment is missing.
    pub(super) fn earlier(&self, number: usize, back: u64) -> Option<usize> {
        let mut order = self.all.get(number)?.order;
        order.number = order.number.checked_sub(back)?;
        let all = self.all.binary_search_by_key(&order, |place| place.order);
        all.ok()
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

    /// Returns the number of events before a segment in the trace, including missing ones.
    pub fn before(&self, number: usize) -> u64 {
        self.all.get(number).map_or(0, |place| place.before)
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
    pub(super) fn have(&self, header: &Header) -> bool {
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

    /// Returns true if `counts` equal the counts at the end of the trace; false if the end is
    /// missing.
    pub fn counts_match(&self, counts: &Counts) -> bool {
        let mut counts = counts.0.clone();
        counts.before = self.events();
        self.totals.as_ref() == Some(&counts)
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
            order: Order {
                stretch: 0,
                number: places.len() as u64,
            },
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
pub(super) fn end(place: u64, header: &Header) -> u64 {
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
