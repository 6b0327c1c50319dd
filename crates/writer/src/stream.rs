//! The records of one buffer, in order, from its chunks.

use crate::ahead::{Following, Reading, Strips};
use jtrail_recorder::buffer::{BufferView, Chunk, Full};
use jtrail_recorder::message::BufferHandle;
use jtrail_records::read::{Limits, Nothing, ReadPosition, Sink};
use jtrail_records::spool::BufferState;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

/// The chunks of one buffer that are not read completely.
pub(crate) struct Stream {
    buffer: BufferHandle,
    parts: VecDeque<Part>,
    /// Position in the first part.
    place: ReadPosition,
    /// Sequence number of the last chunk that was read completely.
    after: u64,
    /// True if the buffer's thread has finished, and its last chunk is in `parts`.
    finished: bool,
}

struct Part {
    chunk: Chunk,
    words: usize,
    /// True if the chunk was handed over, so that no words are added.
    full: bool,
    strips: Strips,
}

impl Stream {
    pub(crate) fn new(buffer: BufferHandle) -> Self {
        Self {
            buffer,
            parts: VecDeque::new(),
            place: ReadPosition::default(),
            after: 0,
            finished: false,
        }
    }

    pub(crate) fn number(&self) -> u64 {
        self.buffer.get().number()
    }

    /// Returns what the buffer's thread has published now.
    pub(crate) fn published(&self) -> BufferView {
        match self.finished {
            true => BufferView::Nothing,
            false => self.buffer.get().published(),
        }
    }

    /// Returns the thread that the next records belong to, and its number of unreported losses:
    /// events that no record counts and no earlier trace has reported.
    pub(crate) fn unwritten(&self) -> (u32, u64) {
        let all = self.buffer.get().unwritten();
        (
            self.place.running,
            all.saturating_sub(self.place.reported_lost),
        )
    }

    /// Notes that all losses so far are reported in the trace, before records count them.
    pub(crate) fn report_lost(&mut self) {
        self.place.reported_lost = self.buffer.get().unwritten();
    }

    /// Adds a chunk that was handed over.
    pub(crate) fn add_full(&mut self, full: &Full, following: &mut Following) {
        self.finished |= full.last;
        let Some(chunk) = full.chunk else { return };
        // SAFETY: the chunk was handed over, so the writer owns it until it is released.
        let words = unsafe { chunk.header() }.used as usize;
        // Some words of the first chunk may have been read.
        let read = match self.parts.front() {
            Some(part) if part.chunk == chunk => self.place.words,
            _ => 0,
        };
        // SAFETY: the chunk was handed over. It is removed from `parts` together with its strips
        // before it is released.
        let strips = unsafe { following.strips(chunk, read..words) };
        match self.parts.back_mut() {
            Some(part) if part.chunk == chunk && !part.full => {
                (part.words, part.strips) = (words, strips);
                part.full = true;
            }
            _ => self.parts.push_back(Part {
                chunk,
                words,
                full: true,
                strips,
            }),
        }
    }

    /// Adds the published words of the chunk that is being filled. Must be called after
    /// [`Self::add_full`] for all messages in the channel.
    pub(crate) fn add_published(&mut self, chunk: Chunk, words: usize) {
        match self.parts.iter_mut().rev().find(|part| part.chunk == chunk) {
            Some(part) if part.full => {} // the chunk was handed over in between
            Some(part) => part.words = words,
            None => self.parts.push_back(Part {
                chunk,
                words,
                full: false,
                strips: Strips::default(),
            }),
        }
    }

    /// Returns the time of the first record that is not read yet.
    pub(crate) fn head(
        &mut self,
        following: &mut Following,
        release: &mut impl FnMut(&Self, Chunk) -> bool,
    ) -> Option<u64> {
        self.run(Limits::NOTHING, following, &mut Nothing, release)
    }

    /// Reads records up to the limits, or until the sink is full. Returns the time of the next
    /// record. Chunks that are read completely are passed to `release`, which returns false to stop
    /// reading.
    pub(crate) fn run(
        &mut self,
        mut limits: Limits,
        following: &mut Following,
        sink: &mut impl Sink,
        release: &mut impl FnMut(&Self, Chunk) -> bool,
    ) -> Option<u64> {
        loop {
            let part = self.parts.front_mut()?;
            let (chunk, count, full) = (part.chunk, part.words, part.full);
            if self.place.words == 0 {
                // SAFETY: the owner writes these header fields before it publishes the first word,
                // and does not change them afterwards.
                let header = unsafe { chunk.header() };
                self.place.begin(header.start, header.running);
            }
            // SAFETY: the owner published `count` words, and the writer owns the chunk, or at least
            // its published part, until the chunk is released.
            let words = unsafe { chunk.words(count) };
            let strips = &mut part.strips;
            let mut ahead = Reading { strips, following };
            let next = self.place.read_with(words, limits, &mut ahead, sink);
            if next.is_some() || !full {
                return next;
            }
            self.parts.pop_front(); // waits until no helper reads the chunk
            self.place.words = 0;
            // SAFETY: the chunk is full, so it was handed over, and the writer owns it until
            // `release` below.
            self.after = unsafe { chunk.header() }.sequence.load(Ordering::Relaxed);
            if !release(self, chunk) {
                limits = Limits::NOTHING; // only looks at the next record
            }
        }
    }

    /// Returns the position up to which the buffer is read.
    pub(crate) fn state(&self) -> BufferState {
        BufferState {
            number: self.number(),
            after: self.after,
            place: self.place.clone(),
        }
    }

    /// Passes all chunks that were handed over to `release`, without reading them.
    pub(crate) fn skip(&mut self, release: &mut impl FnMut(&Self, Chunk) -> bool) {
        self.place.words = 0;
        while let Some(Part { chunk, strips, .. }) = self.parts.pop_front_if(|part| part.full) {
            drop(strips);
            release(self, chunk);
        }
        self.parts.clear(); // the rest is a view of a chunk that its thread still owns
    }

    /// Gives a reserve chunk back to its thread.
    pub(crate) fn return_reserve(&self, chunk: Chunk) {
        self.buffer.get().return_reserve(chunk);
    }

    /// Returns true if nothing is left to read, and nothing will be added.
    pub(crate) fn is_done(&self) -> bool {
        self.finished && self.parts.is_empty()
    }

    /// Frees the buffer of a stream for which [`Self::is_done`] returns true.
    pub(crate) fn free(self) {
        debug_assert!(self.is_done());
        // SAFETY: the stream is done, so the message of `ThreadBuffer::finish` was received.
        unsafe { self.buffer.free() };
    }
}
