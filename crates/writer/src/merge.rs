//! All streams as one, in the order of time.

use super::stream::Stream;
use crate::ahead::Following;
use crate::helpers::Pool;
use jtrail_recorder::buffer::{BufferView, Chunk, Full, Returns};
use jtrail_recorder::message::BufferHandle;
use jtrail_records::Follower;
use jtrail_records::read::{Limits, Sink};
use jtrail_records::record::NO_THREAD;
use jtrail_records::spool::BufferState;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::sync::Arc;

/// A chunk being filled: its buffer's number, the chunk, and how many of its words are published.
pub(crate) type PublishedChunk = (u64, Chunk, usize);

/// The streams of all threads that record.
pub(crate) struct Merge {
    streams: HashMap<u64, Stream>,
    /// Where read chunks go.
    empty: Returns,
    /// Where they stay before, if that is asked for.
    held: Option<Held>,
    /// What is lost of threads that have ended since, and in no record.
    lost_of_ended: u64,
    /// For the merge, kept for its memory.
    heads: BinaryHeap<Reverse<(u64, u64)>>,
    /// Full chunks that are followed before.
    following: Following,
}

/// What is read, and stays until it is committed.
struct Held {
    /// With so many chunks, it is time.
    most: usize,
    /// With the numbers of their buffers.
    chunks: Vec<(u64, Chunk)>,
    has_reserve: bool,
    done: Vec<Stream>,
}

/// Most chunks that are held: enough for segments of a million events.
const MOST_HELD: usize = 32;
/// One more is held for so many threads: a commit tells of each, in a thousandth of the time that
/// it takes to read a chunk.
const THREADS_FOR_ONE: usize = 512;

impl Merge {
    /// With `holds`, chunks that are read are held until [`Self::let_go`].
    pub(crate) fn new(empty: Returns, holds: bool) -> Self {
        let held = holds.then(|| Held {
            most: usually_held(&empty),
            chunks: Vec::new(),
            has_reserve: false,
            done: Vec::new(),
        });
        Self {
            streams: HashMap::new(),
            empty,
            held,
            lost_of_ended: 0,
            heads: BinaryHeap::new(),
            following: Following::default(),
        }
    }

    /// Helpers follow the calls of chunks that are handed over from now on, where that is of use.
    pub(crate) fn follow_by(&mut self, follower: Option<Follower>, helpers: &Arc<Pool>) {
        self.following.follow_by(follower, helpers);
    }

    pub(crate) fn add_buffer(&mut self, buffer: BufferHandle) {
        let stream = Stream::new(buffer);
        self.streams.insert(stream.number(), stream);
    }

    /// What each thread has published now. `None` when a chunk is on its way to the writer, so that
    /// nobody can say what came before what.
    pub(crate) fn published(&self) -> Option<Vec<PublishedChunk>> {
        let mut all = Vec::with_capacity(self.streams.len());
        for (number, stream) in &self.streams {
            match stream.published() {
                BufferView::Nothing => {}
                BufferView::Chunk(chunk, words) => all.push((*number, chunk, words)),
                BufferView::InTransit => return None,
            }
        }
        Some(all)
    }

    pub(crate) fn add_full(&mut self, full: &Full) {
        match self.streams.get_mut(&full.buffer) {
            Some(stream) => stream.add_full(full, &mut self.following),
            // An empty chunk that a thread could not use after all.
            None => drop(full.chunk.map(|chunk| self.empty.give_back(chunk))),
        }
    }

    pub(crate) fn add_published(&mut self, published: Vec<PublishedChunk>) {
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

    /// See [`Following::follow_all`].
    #[cfg(test)]
    pub(crate) fn follow_all(&mut self) {
        self.following.follow_all();
    }

    /// See [`Following::followed`].
    #[cfg(test)]
    pub(crate) fn followed(&self) -> usize {
        self.following.followed()
    }

    /// Hands all records up to the time `limit` to `sink`, in the order of time, but that calls may
    /// be so many ticks `ahead` of what other threads did; `false` where some are left, because
    /// what is held is to be committed before, so many chunks are read to their end, or the sink is
    /// full.
    pub(crate) fn run(
        &mut self,
        limit: u64,
        ahead: u64,
        sink: &mut impl Sink,
        chunks: usize,
    ) -> bool {
        let mut read = 0;
        let (empty, held, following) = (&self.empty, &mut self.held, &mut self.following);
        let mut release = |stream: &Stream, chunk: Chunk| release(stream, chunk, empty, held);
        for (number, stream) in &mut self.streams {
            if let Some(time) = stream.head(following, &mut release)
                && time <= limit
            {
                self.heads.push(Reverse((time, *number)));
            }
        }
        let mut is_whole = true;
        while let Some(Reverse((first, number))) = self.heads.pop() {
            let others = self.heads.peek().map_or(limit, |Reverse((time, _))| *time);
            let limits = Limits {
                calls: first.saturating_add(ahead).max(others).min(limit),
                others: others.min(limit),
            };
            let Some(stream) = self.streams.get_mut(&number) else {
                continue;
            };
            let mut is_full = false;
            let mut release = |stream: &Stream, chunk: Chunk| {
                read += 1;
                is_full |= !release(stream, chunk) || read >= chunks;
                !is_full
            };
            if let Some(next) = stream.run(limits, following, sink, &mut release)
                && next <= limit
            {
                self.heads.push(Reverse((next, number)));
            }
            if is_full || sink.is_full() {
                is_whole = self.heads.is_empty();
                self.heads.clear();
            }
        }
        self.free_done();
        is_whole
    }

    /// An eighth of all chunks, one at least.
    pub(crate) fn some_chunks(&self) -> usize {
        (self.empty.all() / 8).max(1)
    }

    /// Time of the first record not yet read.
    pub(crate) fn next(&mut self) -> Option<u64> {
        let (empty, held, following) = (&self.empty, &mut self.held, &mut self.following);
        let mut release = |stream: &Stream, chunk: Chunk| release(stream, chunk, empty, held);
        let heads = self
            .streams
            .values_mut()
            .filter_map(|stream| stream.head(following, &mut release));
        heads.min()
    }

    /// Whether what is held is needed elsewhere, or more threads have ended than are to be held.
    pub(crate) fn is_to_let_go(&self) -> bool {
        let is_needed = |held: &Held| {
            held.has_reserve
                || held.done.len() > held.most
                || !held.chunks.is_empty() && self.is_short_of_chunks()
        };
        self.held.as_ref().is_some_and(is_needed)
    }

    /// How far all buffers are read, and which are read to their end since [`Self::let_go`].
    pub(crate) fn states(&self) -> (Vec<BufferState>, Vec<u64>) {
        let states = self.streams.values().map(Stream::state).collect();
        let done = self.held.iter().flat_map(|held| &held.done);
        (states, done.map(Stream::number).collect())
    }

    /// So many threads are told of in each commit.
    pub(crate) fn hold_for(&mut self, threads: usize) {
        let usual = usually_held(&self.empty);
        let most = (threads / THREADS_FOR_ONE).min(self.empty.all() / 2);
        if let Some(held) = &mut self.held {
            held.most = most.max(usual);
        }
    }

    /// What is held goes where it came from.
    pub(crate) fn let_go(&mut self) {
        let Some(held) = &mut self.held else { return };
        for (number, chunk) in held.chunks.drain(..) {
            // SAFETY: the chunk was handed over and read to its end, and the writer owns it until
            // `give_back`.
            unsafe { chunk.empty() };
            let stream = self.streams.get(&number);
            let stream = stream.or_else(|| held.done.iter().find(|s| s.number() == number));
            if let Some(stream) = stream {
                give_back(stream, chunk, &self.empty);
            }
        }
        held.has_reserve = false;
        held.done.drain(..).for_each(Stream::free);
    }

    /// Nothing is held any more.
    pub(crate) fn hold_nothing(&mut self) {
        self.let_go();
        self.held = None;
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
    pub(crate) fn report_lost(&mut self) {
        self.lost_of_ended = 0;
        self.streams.values_mut().for_each(Stream::report_lost);
    }

    /// Gives all chunks that were handed over back unread.
    pub(crate) fn discard(&mut self) {
        let (empty, held) = (&self.empty, &mut self.held);
        for stream in self.streams.values_mut() {
            stream.skip(&mut |stream, chunk| release(stream, chunk, empty, held));
        }
        self.free_done();
    }

    fn free_done(&mut self) {
        for (_, stream) in self.streams.extract_if(|_, stream| stream.is_done()) {
            self.lost_of_ended += stream.unwritten().1;
            match &mut self.held {
                Some(held) => held.done.push(stream),
                None => stream.free(),
            }
        }
    }
}

fn usually_held(empty: &Returns) -> usize {
    (empty.all() / 8).clamp(1, MOST_HELD)
}

/// A chunk is read. Whether to go on reading.
fn release(stream: &Stream, chunk: Chunk, empty: &Returns, held: &mut Option<Held>) -> bool {
    let Some(held) = held else {
        give_back(stream, chunk, empty);
        return true;
    };
    held.has_reserve |= chunk.is_reserve();
    held.chunks.push((stream.number(), chunk));
    held.chunks.len() < held.most
}

/// Sends a chunk back to where it came from.
fn give_back(stream: &Stream, chunk: Chunk, empty: &Returns) {
    match chunk.is_reserve() {
        true => stream.return_reserve(chunk),
        false => empty.give_back(chunk),
    }
}
