//! Merges buffers that were written together, in order of time.

use super::raw::{Buffer, Raw};
use crate::mlpd::value::Fault;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

/// Buffers of different threads. The events of each buffer keep their order. Of events in different
/// buffers, the earlier one comes first. At equal times, the order is that in which the buffers
/// were added.
#[derive(Debug, Default)]
pub(super) struct Batch {
    buffers: Vec<Buffer>,
    threads: HashSet<u64>,
    bytes: usize,
    /// Next event of each buffer: its time, and the index of the buffer.
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
    current: Option<usize>,
    /// True if all events of the first buffer come before the events of other buffers.
    first_buffer_leads: bool,
}

/// Next event of a batch.
pub(super) struct Next<'b> {
    pub(super) thread: u64,
    /// Offset of the event in the file.
    pub(super) place: u64,
    pub(super) time: u64,
    pub(super) raw: Result<Raw<'b>, Fault>,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.buffers.is_empty()
    }

    /// Returns the size of the batch in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// True if the batch contains a buffer of `thread`.
    pub(super) fn has(&self, thread: u64) -> bool {
        self.threads.contains(&thread)
    }

    /// Adds a buffer. If `first` is true, its events come before the events of all other buffers.
    pub(super) fn add(&mut self, buffer: Buffer, size: usize, first: bool) {
        let time = if first { 0 } else { buffer.next_time() };
        self.waiting.push(Reverse((time, self.buffers.len())));
        self.threads.insert(buffer.thread());
        self.bytes += size;
        self.buffers.push(buffer);
        self.first_buffer_leads |= first;
    }

    /// Returns the next event. Returns `None` after the last one, and clears the batch.
    #[inline]
    pub(super) fn next(&mut self) -> Option<Next<'_>> {
        let Some(at) = self.select() else {
            *self = Self::default();
            return None;
        };
        let buffer = self.buffers.get_mut(at)?;
        let (thread, place) = (buffer.thread(), buffer.place());
        let (time, raw) = buffer.next();
        Some(Next {
            thread,
            place,
            time,
            raw,
        })
    }

    /// Returns the index of the buffer that holds the next event.
    #[inline]
    fn select(&mut self) -> Option<usize> {
        loop {
            let at = match self.current {
                Some(at) => at,
                None => {
                    let Reverse((_, at)) = self.waiting.pop()?;
                    self.current = Some(at);
                    at
                }
            };
            let buffer = self.buffers.get(at)?;
            if buffer.is_empty() {
                self.current = None;
            } else if let Some(&Reverse(limit)) = self.waiting.peek()
                && !(self.first_buffer_leads && at == 0)
                && (buffer.next_time(), at) > limit
            {
                self.waiting.push(Reverse((buffer.next_time(), at)));
                self.current = None;
            } else {
                return Some(at);
            }
        }
    }
}
