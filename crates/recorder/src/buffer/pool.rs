//! The pool of all chunks: one block of memory of the size that `buffer=` sets.
//!
//! Threads receive empty chunks from one channel and send full ones to the writer through another.
//! Only the writer holds the sending end of the first channel. So when the writer ends, the supply
//! ends as well, and recording stops. Chunks that were never used are in a third channel. Threads
//! take a chunk from there only if the first channel is empty. So no more memory is used than
//! needed, and a small working set stays in the processor's caches.
//!
//! A thread that finds no empty chunk uses a small reserve of its own. So a program with more
//! threads than chunks can't come to a halt.

use crate::chunk::{CHUNK_BYTES, Chunk, RESERVE_BYTES};
use crate::memory::Mapping;
use crate::spool::Memory;
use crossbeam_channel::{Receiver, Sender, TryRecvError, bounded};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io;
use std::ptr::NonNull;

/// Memory of a chunk that was never used. It is first written to when a thread takes it. Writing to
/// all chunks earlier would delay the start: in a mapped file, the first access to some hundred
/// chunks takes longer than a JVM takes to start.
#[derive(Debug)]
struct Fresh(NonNull<u8>);

// SAFETY: `Fresh` is an address of memory that nobody uses before it is received from the channel.
unsafe impl Send for Fresh {}

impl Fresh {
    fn into_chunk(self) -> Chunk {
        // SAFETY: `of` made the address from the memory of a whole chunk, aligned and zeroed. The
        // channel hands out each address once.
        unsafe { Chunk::new(self.0, CHUNK_BYTES, false) }
    }
}

/// The threads' end of the pool, which supplies empty chunks.
#[derive(Clone, Debug)]
pub struct Supply {
    returned: Receiver<Chunk>,
    fresh: Receiver<Fresh>,
}

impl Supply {
    /// Takes an empty chunk, if there is one.
    pub(super) fn try_take(&self) -> Result<Chunk, TryRecvError> {
        match self.returned.try_recv() {
            Err(TryRecvError::Empty) => match self.fresh.try_recv() {
                Ok(fresh) => Ok(fresh.into_chunk()),
                Err(_) => Err(TryRecvError::Empty),
            },
            other => other,
        }
    }

    /// Returns the channel on which a thread waits for an empty chunk.
    pub(super) fn returned(&self) -> &Receiver<Chunk> {
        &self.returned
    }

    /// Returns true if few chunks are empty.
    pub(super) fn is_short(&self) -> bool {
        is_short(&self.fresh, self.returned.len(), self.returned.capacity())
    }

    /// Returns the size in bytes of all chunks that are not empty.
    pub fn used_bytes(&self) -> u64 {
        let empty = self.returned.len() + self.fresh.len();
        let all = self.returned.capacity().unwrap_or_default();
        all.saturating_sub(empty) as u64 * CHUNK_BYTES as u64
    }
}

/// The writer's end of the pool, which takes empty chunks back.
#[derive(Clone, Debug)]
pub struct Returns {
    returned: Sender<Chunk>,
    fresh: Receiver<Fresh>,
}

impl Returns {
    /// Gives back a chunk of the pool whose records have been read.
    pub fn give_back(&self, chunk: Chunk) {
        let sent = self.returned.try_send(chunk);
        debug_assert!(sent.is_ok(), "there is room for each chunk");
    }

    /// Returns the number of all chunks, empty or not.
    pub fn all(&self) -> usize {
        self.returned.capacity().unwrap_or_default()
    }

    /// Returns true if few chunks are empty. If the writer kept more chunks, the program would have
    /// to wait.
    pub fn is_short(&self) -> bool {
        is_short(&self.fresh, self.returned.len(), self.returned.capacity())
    }
}

fn is_short(fresh: &Receiver<Fresh>, returned: usize, all: Option<usize>) -> bool {
    returned + fresh.len() <= all.unwrap_or(usize::MAX) / 4
}

/// Maps memory for as many chunks as fit into `bytes`, at least one. Returns the two ends of the
/// pool, and the memory.
///
/// Pages take up memory only once they are written to. Whoever drops the mapping must make sure
/// that no thread has a chunk any more.
///
/// # Errors
/// When the system has no such range of addresses.
pub fn create(bytes: u64) -> io::Result<(Returns, Supply, Mapping)> {
    let count = usize::try_from(bytes).unwrap_or(usize::MAX) / CHUNK_BYTES;
    let count = count.max(1);
    // Room for one chunk more, because chunks begin at multiples of their size: compiled hooks
    // detect the end of a chunk by its address.
    let length = count
        .checked_add(1)
        .and_then(|chunks| chunks.checked_mul(CHUNK_BYTES))
        .ok_or(io::ErrorKind::OutOfMemory)?;
    let memory = Mapping::new(length)?;
    let unaligned = memory.start();
    // SAFETY: the next multiple of a chunk's size is less than a chunk away. So `count` chunks fit
    // into the new mapping from there on. Its memory is zeroed, and nobody else has it.
    let (returns, supply) =
        unsafe { of(unaligned.add(unaligned.align_offset(CHUNK_BYTES)), count) };
    Ok((returns, supply, memory))
}

/// Like [`create`], with the chunks of a spool.
pub fn create_in(spool: &Memory) -> (Returns, Supply) {
    let (start, count) = spool.chunks();
    // SAFETY: `Memory::create` mapped `count` zeroed chunks of a new file at `start`, a multiple of
    // their size. One pool is made for each spool.
    unsafe { of(start, count) }
}

/// Returns a pool of `count` chunks.
///
/// # Safety
/// At `start`, there is zeroed memory for `count` chunks. It is aligned to the size of a chunk, and
/// nobody else uses it.
unsafe fn of(start: NonNull<u8>, count: usize) -> (Returns, Supply) {
    let (returned, returns) = bounded(count);
    let (unused, fresh) = bounded(count);
    for i in 0..count {
        // SAFETY: the caller promises `count` chunks at `start`, and `i` is less than `count`.
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

/// Returns a reserve chunk for one thread, from the spool if it has room for one.
pub(super) fn allocate_reserve(spool: Option<&Memory>) -> Chunk {
    if let Some(reserve) = spool.and_then(Memory::reserve) {
        return reserve;
    }
    // SAFETY: the layout has `RESERVE_BYTES` bytes, so it is not empty.
    let at = NonNull::new(unsafe { alloc_zeroed(reserve_layout()) })
        .unwrap_or_else(|| std::alloc::handle_alloc_error(reserve_layout()));
    // SAFETY: the memory was just allocated, zeroed, with that layout, and only `free_reserve`
    // gives it back.
    unsafe { Chunk::new(at, RESERVE_BYTES, true) }
}

/// Gives a reserve chunk back.
///
/// # Safety
/// The chunk comes from [`allocate_reserve`] with the same spool, and nobody else refers to it any
/// more.
pub(super) unsafe fn free_reserve(chunk: Chunk, spool: Option<&Memory>) {
    if spool.is_some_and(|memory| memory.take_back(chunk)) {
        return;
    }
    // SAFETY: the chunk is not one of the spool, so `allocate_reserve` allocated it with this
    // layout. The caller promises that nobody else refers to it.
    unsafe { dealloc(chunk.as_ptr().cast(), reserve_layout()) };
}
