//! All chunks together: one block of memory of the size that `buffer=` asks for.
//!
//! Threads take empty chunks from a channel and hand full ones to the writer through another. The
//! writer alone holds the sending end of the first: when it ends, so does the supply, and recording
//! stops. Chunks that were never used lie in a channel of their own, from which threads take when
//! no chunk came back: so no more memory is used than is needed, and what is used stays in the
//! processor's caches where that is little.
//!
//! A thread that finds no empty chunk falls back on a small reserve of its own, so that a program
//! with more threads than chunks can't come to a halt.

use crate::chunk::{CHUNK_BYTES, Chunk, RESERVE_BYTES};
use crate::memory::Mapping;
use crate::spool::Memory;
use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io;
use std::ptr::NonNull;

/// Memory of a chunk that nobody ever had. It is touched when somebody takes it, not before: where
/// it is a file's, the first touch of some hundred chunks takes longer than a JVM takes to start.
#[derive(Debug)]
struct Fresh(NonNull<u8>);

// SAFETY: an address of memory that nobody uses before whoever receives it from the channel.
unsafe impl Send for Fresh {}

impl Fresh {
    fn into_chunk(self) -> Chunk {
        // SAFETY: `of` made it of a whole chunk's memory, aligned and of all zeros, and the channel
        // gives each out once.
        unsafe { Chunk::new(self.0, CHUNK_BYTES, false) }
    }
}

/// Where threads get empty chunks.
#[derive(Clone, Debug)]
pub struct Supply {
    returned: Receiver<Chunk>,
    fresh: Receiver<Fresh>,
}

impl Supply {
    /// An empty chunk, if there is one.
    pub(super) fn try_take(&self) -> Result<Chunk, TryRecvError> {
        match self.returned.try_recv() {
            Err(TryRecvError::Empty) => match self.fresh.try_recv() {
                Ok(fresh) => Ok(fresh.into_chunk()),
                Err(_) => Err(TryRecvError::Empty),
            },
            other => other,
        }
    }

    /// Where the next one comes from when there is none.
    pub(super) fn returned(&self) -> &Receiver<Chunk> {
        &self.returned
    }

    /// Whether few chunks are empty.
    pub(super) fn is_short(&self) -> bool {
        is_short(&self.fresh, self.returned.len(), self.returned.capacity())
    }

    /// Bytes of the chunks that are not empty.
    pub fn used_bytes(&self) -> u64 {
        let empty = self.returned.len() + self.fresh.len();
        let all = self.returned.capacity().unwrap_or_default();
        all.saturating_sub(empty) as u64 * CHUNK_BYTES as u64
    }
}

/// Where the writer gives them back.
#[derive(Clone, Debug)]
pub struct Returns {
    returned: Sender<Chunk>,
    fresh: Receiver<Fresh>,
}

impl Returns {
    /// Puts a chunk of the pool back, whose records were read.
    pub fn give_back(&self, chunk: Chunk) {
        let sent = self.returned.try_send(chunk);
        debug_assert!(sent.is_ok(), "there is room for each chunk");
    }

    /// How many chunks there are.
    pub fn all(&self) -> usize {
        self.returned.capacity().unwrap_or_default()
    }

    /// Whether few chunks are empty, so that holding records back would stop the program.
    pub fn is_short(&self) -> bool {
        is_short(&self.fresh, self.returned.len(), self.returned.capacity())
    }
}

fn is_short(fresh: &Receiver<Fresh>, returned: usize, all: Option<usize>) -> bool {
    returned + fresh.len() <= all.unwrap_or(usize::MAX) / 4
}

/// Maps memory for as many chunks as `bytes` holds, one at least, and returns the two ends of the
/// supply, and the memory.
///
/// The memory is only used up as it is written to. Whoever gives it back sees to it that no thread
/// has a chunk any more.
///
/// # Errors
/// When the system has no such range of addresses.
pub fn create(bytes: u64) -> io::Result<(Returns, Supply, Mapping)> {
    let count = usize::try_from(bytes).unwrap_or(usize::MAX) / CHUNK_BYTES;
    let count = count.max(1);
    // One more, for chunks begin at multiples of their size: compiled hooks see their end by that.
    let length = count
        .checked_add(1)
        .and_then(|chunks| chunks.checked_mul(CHUNK_BYTES))
        .ok_or(io::ErrorKind::OutOfMemory)?;
    let memory = Mapping::new(length)?;
    let unaligned = memory.start();
    // SAFETY: the next multiple of a chunk's size is less than a chunk away. So there are `count`
    // chunks behind it in the new mapping, whose memory is all zeros, and which nobody else has.
    let (returns, supply) =
        unsafe { of(unaligned.add(unaligned.align_offset(CHUNK_BYTES)), count) };
    Ok((returns, supply, memory))
}

/// As [`create`], of the chunks of a spool.
pub fn create_in(spool: &Memory) -> (Returns, Supply) {
    let (start, count) = spool.chunks();
    // SAFETY: `Memory::create` mapped so many chunks of a new file, at a multiple of their size;
    // there is one pool for each spool.
    unsafe { of(start, count) }
}

/// A pool of so many chunks.
///
/// # Safety
/// From `start` on there is memory of `count` chunks, of all zeros, aligned to their size, which
/// nobody else uses.
unsafe fn of(start: NonNull<u8>, count: usize) -> (Returns, Supply) {
    let (returned, returns) = bounded(count);
    let (unused, fresh) = bounded(count);
    for i in 0..count {
        // SAFETY: the caller says that there are `count` chunks from `start` on, and `i` is less.
        let place = unsafe { start.add(i * CHUNK_BYTES) };
        unused.send(Fresh(place)).expect("there is room for each");
    }
    let supply = Supply {
        returned: returns,
        fresh: fresh.clone(),
    };
    (Returns { returned, fresh }, supply)
}

fn reserve_layout() -> Layout {
    Layout::from_size_align(RESERVE_BYTES, 64).expect("a valid layout")
}

/// A reserve chunk for one thread: of a spool, if it has room for one.
pub(super) fn allocate_reserve(spool: Option<&Memory>) -> Chunk {
    if let Some(reserve) = spool.and_then(Memory::reserve) {
        return reserve;
    }
    // SAFETY: the layout has `RESERVE_BYTES` bytes, so it is not empty.
    let at = NonNull::new(unsafe { alloc_zeroed(reserve_layout()) })
        .unwrap_or_else(|| std::alloc::handle_alloc_error(reserve_layout()));
    // SAFETY: fresh memory of that layout, which only `free_reserve` gives back.
    unsafe { Chunk::new(at, RESERVE_BYTES, true) }
}

/// Gives a reserve chunk back.
///
/// # Safety
/// It comes from [`allocate_reserve`] with the same spool, and nobody else knows of it any more.
pub(super) unsafe fn free_reserve(chunk: Chunk, spool: Option<&Memory>) {
    if spool.is_some_and(|memory| memory.take_back(chunk)) {
        return;
    }
    // SAFETY: the spool has not given it out, so `allocate_reserve` allocated it with this layout;
    // the caller says that nobody else knows of it.
    unsafe { dealloc(chunk.as_ptr().cast(), reserve_layout()) };
}
