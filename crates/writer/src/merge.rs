//! Merges all streams in the order of time.

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

/// A chunk that is being filled: the number of its buffer, the chunk, and the number of published
/// words.
pub(crate) type PublishedChunk = (u64, Chunk, usize);

/// The streams of all recording threads.
pub(crate) struct Merge {
    streams: HashMap<u64, Stream>,
    /// Takes chunks that were read.
    empty: Returns,
    /// Chunks that were read and are kept until the next commit, if chunks must be kept.
    held: Option<Held>,
    /// Number of lost events that no record counts, of threads that have ended.
    lost_of_ended: u64,
    /// Scratch memory of the merge: for each stream, the time of its next record, and its number.
    heads: BinaryHeap<Reverse<(u64, u64)>>,
    /// Follows full chunks before they are read.
    following: Following,
}

/// Chunks and streams that are kept until the next commit.
struct Held {
    /// Maximum number of chunks to keep before a commit.
    most: usize,
    /// The chunks, with the numbers of their buffers.
    chunks: Vec<(u64, Chunk)>,
    /// True if a thread's reserve is among the chunks.
    has_reserve: bool,
    /// Streams of buffers that have ended.
    done: Vec<Stream>,
}

/// Maximum number of kept chunks for few threads: enough for segments of a million events.
const MAX_HELD: usize = 32;
/// One more chunk is kept for each group of this many threads. A commit writes the state of each
/// thread, and each state takes a thousandth of the time of reading a chunk.
const THREADS_FOR_ONE: usize = 512;

impl Merge {
    /// Returns a merge without streams. With `holds`, chunks that were read are kept until
    /// [`Self::let_go`].
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

    /// Lets helpers follow the calls of chunks that are handed over from now on, if there is a
    /// follower.
    pub(crate) fn follow_by(&mut self, follower: Option<Follower>, helpers: &Arc<Pool>) {
        self.following.follow_by(follower, helpers);
    }

    pub(crate) fn add_buffer(&mut self, buffer: BufferHandle) {
        let stream = Stream::new(buffer);
        self.streams.insert(stream.number(), stream);
    }

    /// Returns what each thread has published now. Returns `None` if a chunk is being sent to the
    /// writer, because its order among the others is not known then.
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
            // An empty chunk that a thread could not use.
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

    /// Returns true if few chunks are empty, so that keeping chunks would stop the program.
    pub(crate) fn is_short_of_chunks(&self) -> bool {
        self.empty.is_short()
    }

    /// Like [`Following::follow_all`].
    #[cfg(test)]
    pub(crate) fn follow_all(&mut self) {
        self.following.follow_all();
    }

    /// Like [`Following::followed`].
    #[cfg(test)]
    pub(crate) fn followed(&self) -> usize {
        self.following.followed()
    }

    /// Hands all records up to the time `limit` to `sink`, in the order of time. Calls may precede
    /// earlier records of other threads by up to `ahead` ticks. Returns false if records remain
    /// unread. There are three reasons: kept chunks must be committed first, `chunks` chunks were
    /// read completely, or the sink is full.
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

    /// Returns an eighth of the number of chunks, at least 1.
    pub(crate) fn some_chunks(&self) -> usize {
        (self.empty.all() / 8).max(1)
    }

    /// Returns the time of the first record that is not read yet.
    pub(crate) fn next(&mut self) -> Option<u64> {
        let (empty, held, following) = (&self.empty, &mut self.held, &mut self.following);
        let mut release = |stream: &Stream, chunk: Chunk| release(stream, chunk, empty, held);
        let heads = self
            .streams
            .values_mut()
            .filter_map(|stream| stream.head(following, &mut release));
        heads.min()
    }

    /// Returns true if a commit is due: kept chunks are needed elsewhere, or too many threads have
    /// ended since the last commit.
    pub(crate) fn must_commit(&self) -> bool {
        let is_needed = |held: &Held| {
            held.has_reserve
                || held.done.len() > held.most
                || !held.chunks.is_empty() && self.is_short_of_chunks()
        };
        self.held.as_ref().is_some_and(is_needed)
    }

    /// Returns the positions up to which all buffers are read, and the numbers of those that were
    /// read completely since [`Self::let_go`].
    pub(crate) fn states(&self) -> (Vec<BufferState>, Vec<u64>) {
        let states = self.streams.values().map(Stream::state).collect();
        let done = self.held.iter().flat_map(|held| &held.done);
        (states, done.map(Stream::number).collect())
    }

    /// Sets the number of threads whose state each commit contains.
    pub(crate) fn set_thread_count(&mut self, threads: usize) {
        let usual = usually_held(&self.empty);
        let most = (threads / THREADS_FOR_ONE).min(self.empty.all() / 2);
        if let Some(held) = &mut self.held {
            held.most = most.max(usual);
        }
    }

    /// Gives all kept chunks back, after a commit.
    pub(crate) fn let_go(&mut self) {
        let Some(held) = &mut self.held else { return };
        for (number, chunk) in held.chunks.drain(..) {
            // SAFETY: the chunk was handed over and is read completely. The writer owns it until
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

    /// Gives all kept chunks back, and keeps none from now on.
    pub(crate) fn hold_nothing(&mut self) {
        self.let_go();
        self.held = None;
    }

    /// Returns, for each thread, the number of lost events that no record counts and no earlier
    /// trace has reported.
    pub(crate) fn unwritten(&self) -> Vec<(u32, u64)> {
        let of_ended = (NO_THREAD, self.lost_of_ended);
        let all = self.streams.values().map(Stream::unwritten);
        all.chain([of_ended])
            .filter(|(_, events)| *events > 0)
            .collect()
    }

    /// Notes that all losses so far are reported in the trace.
    pub(crate) fn report_lost(&mut self) {
        self.lost_of_ended = 0;
        self.streams.values_mut().for_each(Stream::report_lost);
    }

    /// Gives back all chunks that were handed over, without reading them.
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
    (empty.all() / 8).clamp(1, MAX_HELD)
}

/// Keeps a chunk that was read, or gives it back. Returns false if no further chunk may be read.
fn release(stream: &Stream, chunk: Chunk, empty: &Returns, held: &mut Option<Held>) -> bool {
    let Some(held) = held else {
        give_back(stream, chunk, empty);
        return true;
    };
    held.has_reserve |= chunk.is_reserve();
    held.chunks.push((stream.number(), chunk));
    held.chunks.len() < held.most
}

/// Gives a chunk back to the pool or to its thread.
fn give_back(stream: &Stream, chunk: Chunk, empty: &Returns) {
    match chunk.is_reserve() {
        true => stream.return_reserve(chunk),
        false => empty.give_back(chunk),
    }
}
