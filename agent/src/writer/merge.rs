//! All streams as one, in the order of time.

use super::announce::BufferHandle;
use super::stream::{Sink, Stream};
use crate::agent::NO_THREAD;
use crate::buffer::{Chunk, Full, Returns, Seen};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

/// The streams of all threads that record.
pub(crate) struct Merge {
    streams: HashMap<u64, Stream>,
    /// Where read chunks go.
    empty: Returns,
    /// What is lost of threads that have ended since, and in no record.
    lost_of_ended: u64,
    /// For the merge, kept for its memory.
    heads: BinaryHeap<Reverse<(u64, u64)>>,
}

impl Merge {
    pub(crate) fn new(empty: Returns) -> Self {
        Self {
            streams: HashMap::new(),
            empty,
            lost_of_ended: 0,
            heads: BinaryHeap::new(),
        }
    }

    pub(crate) fn add_buffer(&mut self, buffer: BufferHandle) {
        let stream = Stream::new(buffer);
        self.streams.insert(stream.number(), stream);
    }

    /// What each thread has published now. `None` when a chunk is on its way to the writer, so that nobody can
    /// say what came before what.
    pub(crate) fn published(&self) -> Option<Vec<(u64, Chunk, usize)>> {
        let mut all = Vec::with_capacity(self.streams.len());
        for (number, stream) in &self.streams {
            match stream.published() {
                Seen::Nothing => {}
                Seen::Chunk(chunk, words) => all.push((*number, chunk, words)),
                Seen::InTransit => return None,
            }
        }
        Some(all)
    }

    pub(crate) fn add_full(&mut self, full: &Full) {
        match self.streams.get_mut(&full.buffer) {
            Some(stream) => stream.add_full(full),
            // An empty chunk that a thread could not use after all.
            None => drop(full.chunk.map(|chunk| self.empty.give_back(chunk))),
        }
    }

    pub(crate) fn add_published(&mut self, published: Vec<(u64, Chunk, usize)>) {
        for (number, chunk, words) in published {
            if let Some(stream) = self.streams.get_mut(&number) {
                stream.add_published(chunk, words);
            }
        }
    }

    /// Whether few chunks are empty, so that holding records back would stop the program.
    pub(crate) fn is_short_of_chunks(&self) -> bool {
        self.empty.is_short()
    }

    /// Hands all records up to the time `limit` to `sink`, in the order of time.
    pub(crate) fn run(&mut self, limit: u64, sink: &mut impl Sink) {
        let empty = &self.empty;
        let mut release = |stream: &Stream, chunk: Chunk| release(stream, chunk, empty);
        for (number, stream) in &mut self.streams {
            if let Some(time) = stream.head(&mut release)
                && time <= limit
            {
                self.heads.push(Reverse((time, *number)));
            }
        }
        while let Some(Reverse((_, number))) = self.heads.pop() {
            let others = self.heads.peek().map_or(limit, |Reverse((time, _))| *time);
            let Some(stream) = self.streams.get_mut(&number) else {
                continue;
            };
            if let Some(next) = stream.run(others.min(limit), sink, &mut release)
                && next <= limit
            {
                self.heads.push(Reverse((next, number)));
            }
        }
        self.free_done();
    }

    /// By thread, how many events are lost that no record tells of, nor an earlier trace.
    pub(crate) fn unwritten(&self) -> Vec<(u32, u64)> {
        let of_ended = (NO_THREAD, self.lost_of_ended);
        let all = self.streams.values().map(Stream::unwritten);
        all.chain([of_ended])
            .filter(|(_, events)| *events > 0)
            .collect()
    }

    /// What is lost so far is told.
    pub(crate) fn tell_lost(&mut self) {
        self.lost_of_ended = 0;
        self.streams.values_mut().for_each(Stream::tell_lost);
    }

    /// Gives all chunks that were handed over back unread.
    pub(crate) fn discard(&mut self) {
        let empty = &self.empty;
        for stream in self.streams.values_mut() {
            stream.skip(&mut |stream, chunk| release(stream, chunk, empty));
        }
        self.free_done();
    }

    fn free_done(&mut self) {
        for (_, stream) in self.streams.extract_if(|_, stream| stream.is_done()) {
            self.lost_of_ended += stream.unwritten().1;
            stream.free();
        }
    }
}

/// Sends a chunk that was read back to where it came from.
fn release(stream: &Stream, chunk: Chunk, empty: &Returns) {
    // SAFETY: a chunk that is released is ours; `is_reserve` never changes.
    if unsafe { chunk.header() }.is_reserve {
        stream.return_reserve(chunk);
    } else {
        empty.give_back(chunk);
    }
}
