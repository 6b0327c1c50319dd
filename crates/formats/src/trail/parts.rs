//! Reads some segments of a trail, which its index finds.

use super::block::Block;
use super::calls::Threads;
use super::columns::unpack;
use super::copies::Copies;
use super::index::{END, Entry, Found};
use super::recover::Window;
use super::segment::{HEADER, Header, Kind};
use super::value::Bytes;
use jtrail_model::{Event, ThreadId};
use std::io::{self, Read, Seek, SeekFrom};

/// Bytes of a trail's end: the place of its last index, and a mark.
const ENDING: u64 = 16;

/// The segments of events of a trail, one after the other. Those that are not wanted are not read.
pub struct Parts<R> {
    window: Window<R>,
    entries: std::vec::IntoIter<Entry>,
    block: Block,
    read: u64,
    breaks_off: bool,
}

/// What the index says of a segment of events.
#[derive(Debug)]
pub struct Part {
    /// Smallest and largest time in it, in ns since 1970-01-01 UTC; 0 and 0 if there is none.
    pub times: [i64; 2],
    /// Threads that have events in it, and 0 for events of no thread.
    pub threads: Vec<ThreadId>,
    /// How many events it has.
    pub events: u32,
    /// It is the last one, with the trace's end.
    pub is_last: bool,
    definitions: Option<u64>,
    place: u64,
}

impl<R: Read + Seek> Parts<R> {
    /// Reads the index; `None` without a sound one, so that the trace must be read as a whole.
    ///
    /// # Errors
    /// Those of the source.
    pub fn open(mut source: R) -> io::Result<Option<Self>> {
        let size = source.seek(SeekFrom::End(0))?;
        let mut parts = Self {
            window: Window::new(source)?,
            entries: Vec::new().into_iter(),
            block: Block::default(),
            read: 0,
            breaks_off: false,
        };
        let Some(ending) = size.checked_sub(ENDING) else {
            return Ok(None);
        };
        let ending = parts.window.get(ending, ENDING as usize)?;
        let Some((place, mark)) = ending.split_first_chunk() else {
            return Ok(None);
        };
        if mark != END {
            return Ok(None);
        }
        let mut place = u64::from_le_bytes(*place);
        let mut indexes = Vec::new();
        loop {
            let found = match parts.segment(place)? {
                Some((Kind::Index, _, payload)) => Found::get(&payload),
                _ => None,
            };
            let Some(found) = found else {
                return Ok(None);
            };
            parts.breaks_off |= matches!(found.end, Some((_, true)));
            indexes.push(found.entries);
            match found.previous.checked_sub(1) {
                None => break,
                Some(previous) if previous < place => place = previous,
                Some(_) => return Ok(None),
            }
        }
        let entries: Vec<Entry> = indexes.into_iter().rev().flatten().collect();
        parts.entries = entries.into_iter();
        Ok(Some(parts))
    }

    /// The next segment of events.
    pub fn next_part(&mut self) -> Option<Part> {
        let mut definitions = None;
        while let Some(entry) = self.entries.next() {
            if !entry.is_events {
                definitions = Some(entry.offset);
            } else if entry.events > 0 {
                return Some(Part {
                    times: entry.times,
                    threads: entry.threads.into_iter().map(ThreadId).collect(),
                    events: entry.events,
                    is_last: !self.entries.as_slice().iter().any(|e| e.is_events),
                    definitions,
                    place: entry.offset,
                });
            } else {
                definitions = None;
            }
        }
        None
    }

    /// Hands out the definitions of a segment, without the segment.
    ///
    /// # Errors
    /// Those of the source, and `InvalidData` where it is damaged.
    pub fn definitions(&mut self, part: &Part) -> io::Result<impl Iterator<Item = Event<'static>>> {
        let mut column = [Vec::new()];
        if let Some(place) = part.definitions {
            let segment = self.segment(place)?;
            let read =
                segment.and_then(|(_, _, payload)| unpack(&mut Bytes(&payload), &mut column));
            read.ok_or_else(|| damaged(place))?;
        }
        let [column] = column;
        Ok(Copies::of(column))
    }

    /// Hands out the events of a segment, until `visit` fails.
    ///
    /// # Errors
    /// Those of the source and of `visit`, and `InvalidData` where it is damaged.
    pub fn events<E: From<io::Error>>(
        &mut self,
        part: &Part,
        mut visit: impl FnMut(&Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let segment = self.segment(part.place)?;
        let begun = segment.and_then(|(_, header, payload)| {
            self.block.begin(&header, &payload, &Threads::default())
        });
        begun.ok_or_else(|| damaged(part.place))?;
        while self.block.left() > 0 {
            let event = self.block.next().ok_or_else(|| damaged(part.place))?;
            visit(&event)?;
        }
        Ok(())
    }

    /// Whether the trace says that it broke off at its end.
    pub fn breaks_off(&self) -> bool {
        self.breaks_off
    }

    /// Bytes of the segments that were read.
    pub fn bytes_read(&self) -> u64 {
        self.read
    }

    /// The segment at a place; `None` if there is no sound one.
    fn segment(&mut self, place: u64) -> io::Result<Option<(Kind, Header, Vec<u8>)>> {
        let header = self.window.get(place, HEADER)?.first_chunk();
        let Some(header) = header.and_then(|bytes| Header::get(bytes).ok()) else {
            return Ok(None);
        };
        let length = HEADER + header.length as usize;
        let payload = self.window.get(place, length)?.get(HEADER..);
        let sound = payload.filter(|payload| {
            payload.len() == header.length as usize && crc32c::crc32c(payload) == header.checksum
        });
        self.read += length as u64;
        Ok(sound.map(|payload| (header.kind, header, payload.to_vec())))
    }
}

fn damaged(place: u64) -> io::Error {
    let message =
        format!("trail: at byte {place}: damaged; `jtrail recover` makes a sound trace of it");
    io::Error::new(io::ErrorKind::InvalidData, message)
}
