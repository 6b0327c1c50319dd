//! The records of one buffer, in order, from its chunks.

use crate::ahead::{Following, Reading, Strips};
use jtrail_recorder::buffer::{BufferView, Chunk, Full};
use jtrail_recorder::message::BufferHandle;
use jtrail_records::read::{Limits, Nothing, ReadPosition, Sink};
use jtrail_records::spool::BufferState;
use std::collections::VecDeque;
use std::sync::atomic::Ordering;

/// The chunks of one buffer that are not yet read to their end.
pub(crate) struct Stream {
    buffer: BufferHandle,
    parts: VecDeque<Part>,
    /// How far the first part is read.
    place: ReadPosition,
    /// Sequence number of the last chunk that was read to its end.
    after: u64,
    /// The buffer's owner is gone, and its last chunk is in `parts`.
    finished: bool,
}

struct Part {
    chunk: Chunk,
    words: usize,
    /// Handed over: nothing will be added.
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

    /// What the buffer's thread has published at this moment.
    pub(crate) fn published(&self) -> BufferView {
        match self.finished {
            true => BufferView::Nothing,
            false => self.buffer.get().published(),
        }
    }

    /// The thread that records belong to now, and how many events are lost that no record tells of,
    /// nor an earlier trace.
    pub(crate) fn unwritten(&self) -> (u32, u64) {
        let all = self.buffer.get().unwritten();
        (
            self.place.running,
            all.saturating_sub(self.place.reported_lost),
        )
    }

    /// What is lost so far is told, though the record of it is still to come.
    pub(crate) fn report_lost(&mut self) {
        self.place.reported_lost = self.buffer.get().unwritten();
    }

    /// Takes in a chunk that was handed over.
    pub(crate) fn add_full(&mut self, full: &Full, following: &mut Following) {
        self.finished |= full.last;
        let Some(chunk) = full.chunk else { return };
        // SAFETY: the chunk was handed over, so the writer owns it until it is released.
        let words = unsafe { chunk.header() }.used as usize;
        // Of the first chunk, some may be read.
        let read = match self.parts.front() {
            Some(part) if part.chunk == chunk => self.place.words,
            _ => 0,
        };
        // SAFETY: it was handed over, and goes from `parts` together with its strips, before it is
        // released.
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

    /// Takes in what was published of the chunk being filled; to be called after [`Self::add_full`]
    /// for all that the channel held.
    pub(crate) fn add_published(&mut self, chunk: Chunk, words: usize) {
        match self.parts.iter_mut().rev().find(|part| part.chunk == chunk) {
            Some(part) if part.full => {} // it was handed over between the two looks
            Some(part) => part.words = words,
            None => self.parts.push_back(Part {
                chunk,
                words,
                full: false,
                strips: Strips::default(),
            }),
        }
    }

    /// Time of the first record not yet read.
    pub(crate) fn head(
        &mut self,
        following: &mut Following,
        release: &mut impl FnMut(&Self, Chunk) -> bool,
    ) -> Option<u64> {
        self.run(Limits::NOTHING, following, &mut Nothing, release)
    }

    /// Reads records up to some time, or until the sink is full, and returns the time of the next
    /// one. Chunks that are read to their end are given to `release`, which says whether to go on.
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
                // SAFETY: these fields are written before the first word is published.
                let header = unsafe { chunk.header() };
                self.place.begin(header.start, header.running);
            }
            // SAFETY: `count` words were published, and the chunk stays ours until it is released.
            let words = unsafe { chunk.words(count) };
            let strips = &mut part.strips;
            let mut ahead = Reading { strips, following };
            let next = self.place.read_with(words, limits, &mut ahead, sink);
            if next.is_some() || !full {
                return next;
            }
            self.parts.pop_front(); // when that is through, nobody else reads it
            self.place.words = 0;
            // SAFETY: the chunk is full, so it was handed over, and the writer owns it until
            // `release` below.
            self.after = unsafe { chunk.header() }.sequence.load(Ordering::Relaxed);
            if !release(self, chunk) {
                limits = Limits::NOTHING; // look at the next record only
            }
        }
    }

    /// How far it is read.
    pub(crate) fn state(&self) -> BufferState {
        BufferState {
            number: self.number(),
            after: self.after,
            place: self.place.clone(),
        }
    }

    /// Gives all that was handed over to `release` without reading it.
    pub(crate) fn skip(&mut self, release: &mut impl FnMut(&Self, Chunk) -> bool) {
        self.place.words = 0;
        while let Some(Part { chunk, strips, .. }) = self.parts.pop_front_if(|part| part.full) {
            drop(strips);
            release(self, chunk);
        }
        self.parts.clear(); // what is left is a view of a chunk that its thread still has
    }

    /// Gives a reserve chunk back to its thread.
    pub(crate) fn return_reserve(&self, chunk: Chunk) {
        self.buffer.get().return_reserve(chunk);
    }

    /// Whether nothing is left to read, and nothing will come.
    pub(crate) fn is_done(&self) -> bool {
        self.finished && self.parts.is_empty()
    }

    /// Frees the buffer of a stream that [`Self::is_done`].
    pub(crate) fn free(self) {
        debug_assert!(self.is_done());
        // SAFETY: a finished stream's thread has called `ThreadBuffer::finish`.
        unsafe { self.buffer.free() };
    }
}
