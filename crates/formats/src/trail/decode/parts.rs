//! Reader of selected segments of a trail, which it finds by the index.

use super::block::Block;
use super::copies::Copies;
use super::segments::{indexes, segment, size};
use crate::hash::Seed;
use crate::trail::calls::Threads;
use crate::trail::columns::unpack;
use crate::trail::index::Entry;
use crate::trail::recover::Window;
use crate::trail::value::Bytes;
use jtrail_model::{Event, ThreadId};
use std::collections::HashMap;
use std::io::{self, Read, Seek, SeekFrom};

/// The segments of events of a trail, one after the other. Segments that the caller does not ask
/// for are not read.
pub struct Parts<R> {
    window: Window<R>,
    entries: std::vec::IntoIter<Entry>,
    /// For each thread, the position of the last segment with events of the thread.
    last_of_threads: HashMap<u64, u64, Seed>,
    block: Block,
    read: u64,
    is_truncated: bool,
}

/// A segment of events, as the index describes it.
#[derive(Debug)]
pub struct Part {
    /// Smallest and largest time in the segment, in ns since 1970-01-01 UTC; 0 and 0 if it has no
    /// times.
    pub times: [i64; 2],
    /// Threads that have events in the segment; 0 stands for events without a thread.
    pub threads: Vec<ThreadId>,
    /// Number of events in the segment.
    pub events: u32,
    /// True if the segment has the last event of a thread, which is its end if the trace has that.
    pub has_last_of_thread: bool,
    /// True for the last segment of events, which has the end of the trace.
    pub is_last: bool,
    definitions: Option<u64>,
    place: u64,
}

impl<R: Read + Seek> Parts<R> {
    /// Reads the index. Returns `None` if the trace has no sound index, so that it must be read as
    /// a whole.
    ///
    /// # Errors
    /// If `source` fails.
    pub fn open(mut source: R) -> io::Result<Option<Self>> {
        let size = source.seek(SeekFrom::End(0))?;
        let mut parts = Self {
            window: Window::new(source)?,
            entries: Vec::new().into_iter(),
            last_of_threads: HashMap::default(),
            block: Block::default(),
            read: 0,
            is_truncated: false,
        };
        let Some(indexes) = indexes(&mut parts.window, size)? else {
            return Ok(None);
        };
        let ends = indexes.iter().filter_map(|index| index.found.end.as_ref());
        parts.is_truncated = ends.into_iter().any(|(_, is_truncated)| *is_truncated);
        let indexes = indexes.into_iter().map(|index| index.found.entries);
        let entries: Vec<Entry> = indexes.flatten().collect();
        for entry in entries.iter().filter(|entry| entry.is_events) {
            let threads = entry.threads.iter().filter(|thread| **thread != 0);
            let last = threads.map(|thread| (*thread, entry.offset));
            parts.last_of_threads.extend(last);
        }
        parts.entries = entries.into_iter();
        Ok(Some(parts))
    }

    /// Returns the next segment of events.
    pub fn next_part(&mut self) -> Option<Part> {
        let mut definitions = None;
        while let Some(entry) = self.entries.next() {
            if !entry.is_events {
                definitions = Some(entry.offset);
            } else if entry.events > 0 {
                let last = |thread| self.last_of_threads.get(thread) == Some(&entry.offset);
                let has_last_of_thread = entry.threads.iter().any(last);
                return Some(Part {
                    times: entry.times,
                    threads: entry.threads.into_iter().map(ThreadId).collect(),
                    events: entry.events,
                    has_last_of_thread,
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

    /// Returns the definitions of a segment, without reading the segment.
    ///
    /// # Errors
    /// If the source fails; `InvalidData` if the definitions are corrupt.
    pub fn definitions(&mut self, part: &Part) -> io::Result<impl Iterator<Item = Event<'static>>> {
        let mut column = [Vec::new()];
        if let Some(place) = part.definitions {
            let segment = segment(&mut self.window, place)?;
            let read = segment.and_then(|(header, payload)| {
                self.read += size(&header);
                unpack(header.version, &mut Bytes(payload), &mut column)
            });
            read.ok_or_else(|| damaged(place))?;
        }
        let [column] = column;
        Ok(Copies::of(column))
    }

    /// Passes the events of a segment to `visit`, until `visit` fails.
    ///
    /// # Errors
    /// If the source or `visit` fails; `InvalidData` if the segment is corrupt.
    pub fn events<E: From<io::Error>>(
        &mut self,
        part: &Part,
        mut visit: impl FnMut(&Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let segment = segment(&mut self.window, part.place)?;
        let begun = segment.and_then(|(header, payload)| {
            self.read += size(&header);
            self.block.begin(&header, payload, &Threads::default())
        });
        begun.ok_or_else(|| damaged(part.place))?;
        while self.block.left() > 0 {
            let event = self.block.next().ok_or_else(|| damaged(part.place))?;
            visit(&event)?;
        }
        Ok(())
    }

    /// Returns true if the end of the trace says that the trace is truncated.
    pub fn is_truncated(&self) -> bool {
        self.is_truncated
    }

    /// Returns the total size of the segments that were read, in bytes.
    pub fn bytes_read(&self) -> u64 {
        self.read
    }
}

fn damaged(place: u64) -> io::Error {
    let message =
        format!("trail: at byte {place}: damaged; `jtrail recover` makes a sound trace of it");
    io::Error::new(io::ErrorKind::InvalidData, message)
}
