//! All chunks together: one block of memory of the size that `buffer=` asks for.
//!
//! Threads take empty chunks from a channel and hand full ones to the writer through another. The
//! writer alone holds the sending end of the first: when it ends, so does the supply, and recording stops.
//!
//! A thread that finds no empty chunk falls back on a small reserve of its own, so that a program with more
//! threads than chunks can't come to a halt.

use super::chunk::{CHUNK_BYTES, Chunk, RESERVE_BYTES};
use crate::memory::Mapping;
use crossbeam_channel::{Receiver, Sender, bounded};
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::io;
use std::ptr::NonNull;

/// Maps memory for as many chunks as `bytes` holds, one at least, and returns the two ends of the supply, and the memory.
///
/// The memory is only used up as it is written to. Whoever gives it back sees to it that no thread has a chunk any more.
///
/// # Errors
/// When the system has no such range of addresses.
pub(crate) fn create(bytes: u64) -> io::Result<(Sender<Chunk>, Receiver<Chunk>, Mapping)> {
    let count = usize::try_from(bytes).unwrap_or(usize::MAX) / CHUNK_BYTES;
    let count = count.max(1);
    let length = count
        .checked_mul(CHUNK_BYTES)
        .ok_or(io::ErrorKind::OutOfMemory)?;
    let memory = Mapping::new(length)?;
    let start = memory.start();
    let (sender, receiver) = bounded(count);
    for i in 0..count {
        // SAFETY: each chunk is a range of its own of the mapping, which is page-aligned and outlives them.
        let chunk = unsafe { Chunk::new(start.add(i * CHUNK_BYTES), CHUNK_BYTES, false) };
        sender.send(chunk).expect("there is room for each");
    }
    Ok((sender, receiver, memory))
}

fn reserve_layout() -> Layout {
    Layout::from_size_align(RESERVE_BYTES, 64).expect("a valid layout")
}

/// A reserve chunk for one thread.
pub(crate) fn allocate_reserve() -> Chunk {
    // SAFETY: the layout is not empty.
    let at = NonNull::new(unsafe { alloc_zeroed(reserve_layout()) })
        .unwrap_or_else(|| std::alloc::handle_alloc_error(reserve_layout()));
    // SAFETY: fresh memory that only `free_reserve` gives back.
    unsafe { Chunk::new(at, RESERVE_BYTES, true) }
}

/// Gives a reserve chunk back.
///
/// # Safety
/// It comes from [`allocate_reserve`], and nobody else knows of it any more.
pub(crate) unsafe fn free_reserve(chunk: Chunk) {
    // SAFETY: the caller's promise.
    unsafe { dealloc(chunk.as_ptr().cast(), reserve_layout()) };
}
