//! Buffers that were written together, merged by time.

use super::raw::{Buffer, Raw};
use crate::mlpd::value::Fault;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};

/// Buffers of different threads. The events of each stay in order; between them, the earlier comes
/// first, and of one time the one whose buffer does.
#[derive(Debug, Default)]
pub(super) struct Batch {
    buffers: Vec<Buffer>,
    threads: HashSet<u64>,
    bytes: usize,
    /// The next event of each buffer: time and number of the buffer.
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
    current: Option<usize>,
    /// The first buffer comes before all others.
    leads: bool,
}

/// The next event of a batch.
pub(super) struct Next<'b> {
    pub(super) thread: u64,
    /// Where it stands in the file.
    pub(super) place: u64,
    pub(super) time: u64,
    pub(super) raw: Result<Raw<'b>, Fault>,
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.buffers.is_empty()
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether there is a buffer of that thread.
    pub(super) fn has(&self, thread: u64) -> bool {
        self.threads.contains(&thread)
    }

    /// Adds a buffer. All events of a `first` one come before those of others.
    pub(super) fn add(&mut self, buffer: Buffer, size: usize, first: bool) {
        let time = if first { 0 } else { buffer.next_time() };
        self.waiting.push(Reverse((time, self.buffers.len())));
        self.threads.insert(buffer.thread());
        self.bytes += size;
        self.buffers.push(buffer);
        self.leads |= first;
    }

    /// The next event. None when there is none left; the batch is empty then.
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

    /// The buffer whose event is next.
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
                && !(self.leads && at == 0)
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
