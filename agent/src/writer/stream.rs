//! The records of one buffer, in order, from its chunks.

use super::announce::BufferHandle;
use crate::buffer::record::{self, Code, Kind};
use crate::buffer::{Chunk, Full, Seen};
use std::collections::VecDeque;

/// What a stream's records are handed to.
pub(crate) trait Sink {
    fn enter(&mut self, thread: u32, time: u64, method: u32);
    fn leave(&mut self, thread: u32, time: u64, method: u32);
    fn coded(&mut self, thread: u32, time: u64, code: Code, payload: &[u64]);

    /// Takes the first enters and leaves of a run, as many as go a faster way than one by one; says how many.
    fn run(&mut self, _thread: u32, _run: Run<'_>) -> usize {
        0
    }
}

/// Words of one thread, the first of which are enters and leaves by return.
#[derive(Clone, Copy)]
pub(crate) struct Run<'w> {
    pub(crate) words: &'w [u64],
    epoch: u64,
    first_tick: u64,
    most_ticks: u64,
}

impl<'w> Run<'w> {
    /// None where the first word is later than is read.
    fn new(words: &'w [u64], epoch: u64, limit: u64) -> Option<Self> {
        let first_tick = record::tick(*words.first()?);
        let most_ticks = record::last_tick(limit, epoch)?.checked_sub(first_tick)?;
        Some(Self {
            words,
            epoch,
            first_tick,
            most_ticks,
        })
    }

    /// The time of one of the words.
    pub(crate) fn time(self, word: u64) -> u64 {
        record::time(word, self.epoch)
    }

    /// How many ticks a word is behind the first one. Before it is very many.
    #[inline(always)]
    pub(crate) fn ticks_behind_first(self, word: u64) -> u64 {
        record::tick(word).wrapping_sub(self.first_tick)
    }

    /// What is more ticks behind the first word is later than is read.
    pub(crate) fn most_ticks(self) -> u64 {
        self.most_ticks
    }
}

/// The chunks of one buffer that are not yet read to their end.
pub(crate) struct Stream {
    buffer: BufferHandle,
    parts: VecDeque<Part>,
    /// Words read of the first part.
    position: usize,
    epoch: u64,
    running: u32,
    /// The buffer's owner is gone, and its last chunk is in `parts`.
    finished: bool,
    /// Events that an earlier trace has told as lost, before there is a record of it.
    told_lost: u64,
}

struct Part {
    chunk: Chunk,
    words: usize,
    /// Handed over: nothing will be added.
    full: bool,
}

impl Stream {
    pub(crate) fn new(buffer: BufferHandle) -> Self {
        Self {
            buffer,
            parts: VecDeque::new(),
            position: 0,
            epoch: 0,
            running: 0,
            finished: false,
            told_lost: 0,
        }
    }

    pub(crate) fn number(&self) -> u64 {
        self.buffer.get().number()
    }

    /// What the buffer's thread has published at this moment.
    pub(crate) fn published(&self) -> Seen {
        match self.finished {
            true => Seen::Nothing,
            false => self.buffer.get().published(),
        }
    }

    /// The thread that records belong to now, and how many events are lost that no record tells of, nor an earlier trace.
    pub(crate) fn unwritten(&self) -> (u32, u64) {
        let all = self.buffer.get().unwritten();
        (self.running, all.saturating_sub(self.told_lost))
    }

    /// What is lost so far is told, though the record of it is still to come.
    pub(crate) fn tell_lost(&mut self) {
        self.told_lost = self.buffer.get().unwritten();
    }

    /// What the sink gets of a [`Code::Lost`] record: its payload, and how much of it an earlier trace has told.
    fn lost(&mut self, payload: &[u64]) -> [u64; 4] {
        let &[calls, others, open] = payload else {
            return [0; 4]; // the code has so many words
        };
        let all = record::lost_parts(calls).0 + others + open;
        let told = all.min(self.told_lost);
        self.told_lost -= told;
        [calls, others, open, told]
    }

    /// Takes in a chunk that was handed over.
    pub(crate) fn add_full(&mut self, full: &Full) {
        self.finished |= full.last;
        let Some(chunk) = full.chunk else { return };
        // SAFETY: the chunk was handed over, so its header is ours.
        let words = unsafe { chunk.header() }.used as usize;
        match self.parts.back_mut() {
            Some(part) if part.chunk == chunk && !part.full => {
                part.words = words;
                part.full = true;
            }
            _ => self.parts.push_back(Part {
                chunk,
                words,
                full: true,
            }),
        }
    }

    /// Takes in what was published of the chunk being filled; to be called after [`Self::add_full`] for
    /// all that the channel held.
    pub(crate) fn add_published(&mut self, chunk: Chunk, words: usize) {
        match self.parts.iter_mut().rev().find(|part| part.chunk == chunk) {
            Some(part) if part.full => {} // it was handed over between the two looks
            Some(part) => part.words = words,
            None => self.parts.push_back(Part {
                chunk,
                words,
                full: false,
            }),
        }
    }

    /// Time of the first record not yet read.
    pub(crate) fn head(&mut self, release: &mut impl FnMut(&Self, Chunk)) -> Option<u64> {
        self.run(0, &mut Nothing, release)
    }

    /// Reads records up to the time `limit`, and returns the time of the next one. Chunks that are
    /// read to their end are given to `release`.
    pub(crate) fn run(
        &mut self,
        limit: u64,
        sink: &mut impl Sink,
        release: &mut impl FnMut(&Self, Chunk),
    ) -> Option<u64> {
        loop {
            let part = self.parts.front()?;
            let (chunk, count, full) = (part.chunk, part.words, part.full);
            if self.position == 0 {
                // SAFETY: these fields are written before the first word is published.
                let header = unsafe { chunk.header() };
                self.epoch = record::epoch(header.start);
                self.running = header.running;
            }
            // SAFETY: `count` words were published, and the chunk stays ours until it is released.
            let words = unsafe { chunk.words(count) };
            let mut position = self.position;
            while let Some(&word) = words.get(position) {
                if record::is_call(word)
                    && let Some(run) = Run::new(&words[position..], self.epoch, limit)
                {
                    let taken = sink.run(self.running, run);
                    position += taken;
                    if taken > 0 {
                        continue;
                    }
                }
                let time = record::time(word, self.epoch);
                let kind = record::kind(word);
                if time > limit && kind != Some(Kind::Coded(Code::Time)) {
                    self.position = position;
                    return Some(time);
                }
                position += 1;
                match kind {
                    Some(Kind::Enter(method)) => sink.enter(self.running, time, method),
                    Some(Kind::Leave(method)) => sink.leave(self.running, time, method),
                    Some(Kind::Coded(code)) => {
                        // A record is published as a whole, so its payload is there.
                        let first = words.get(position).copied().unwrap_or_default();
                        let end = code.words(first).map(|count| position + count);
                        let Some(payload) = end.and_then(|end| words.get(position..end)) else {
                            debug_assert!(false, "a record that nobody writes");
                            continue;
                        };
                        position += payload.len();
                        match code {
                            Code::Time => self.epoch = record::epoch(first),
                            Code::Running => self.running = first as u32,
                            Code::Lost => {
                                let lost = self.lost(payload);
                                sink.coded(self.running, time, code, &lost);
                            }
                            _ => sink.coded(self.running, time, code, payload),
                        }
                    }
                    None => debug_assert!(false, "a word that nobody writes"),
                }
            }
            self.position = position;
            if !full {
                return None;
            }
            self.parts.pop_front();
            self.position = 0;
            release(self, chunk);
        }
    }

    /// Gives all that was handed over to `release` without reading it.
    pub(crate) fn skip(&mut self, release: &mut impl FnMut(&Self, Chunk)) {
        self.position = 0;
        while let Some(part) = self.parts.pop_front_if(|part| part.full) {
            release(self, part.chunk);
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

/// For looking at the head only: with a limit of 0 nothing is handed out.
struct Nothing;

impl Sink for Nothing {
    fn enter(&mut self, _: u32, _: u64, _: u32) {}
    fn leave(&mut self, _: u32, _: u64, _: u32) {}
    fn coded(&mut self, _: u32, _: u64, _: Code, _: &[u64]) {}
}
