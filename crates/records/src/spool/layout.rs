//! What the file `memory` holds, byte for byte.
//!
//! Everything is little-endian, and addresses are those of the process that recorded. The first
//! page is words of 64 bits, at the places that [`head`] names; the first two say what the file is.
//! Then come, where the head says, *lines*, one for each thread that records, *reserves* and
//! *chunks*.
//!
//! A line has 64 bytes: at 0 the address behind the last word that its thread has published, and at
//! 8 the address of the chunk that it is in. Where these do not belong together, there is no such
//! chunk. At 48 stands the number of the buffer that the line is of, 0 while it is of none, and at
//! 56 how many of its events are lost and told of by no record.
//!
//! A chunk begins with 64 bytes: its size in bytes (4 bytes), the words in use once it is full (4),
//! the full time at which it was begun (8), the thread that its first records belong to (4), 4
//! bytes that mean nothing here, the buffer that it was filled for (8), and its sequence number, 0
//! while it is empty (8). All other bytes are words, as [`crate::record`] has them. A reserve is a
//! small chunk. Sequence numbers go up, over all buffers.

/// Bytes of the first page.
pub const HEAD_BYTES: u64 = 4096;
/// `jtrspool`.
pub const MAGIC: u64 = u64::from_le_bytes(*b"jtrspool");
/// Of the layout, and of the other files.
pub const VERSION: u64 = 4;

/// Places in the first page, in words.
pub mod head {
    /// [`MAGIC`](super::MAGIC).
    pub const MAGIC: usize = 0;
    /// [`VERSION`](super::VERSION).
    pub const VERSION: usize = 1;
    /// Address of the first byte.
    pub const ADDRESS: usize = 2;
    /// Place of the lines in bytes from the start, and how many.
    pub const LINES: usize = 3;
    /// Place of the reserves, and how many.
    pub const RESERVES: usize = 5;
    /// Place of the chunks, and how many.
    pub const CHUNKS: usize = 7;
    /// Number of the state that counts; 0 while there is none.
    pub const STATE: usize = 9;
    /// The process.
    pub const PID: usize = 10;
    /// How many words there are.
    pub const WORDS: usize = 11;
}

/// Bytes of a line.
pub const LINE_BYTES: u64 = 64;
/// Bytes in front of a chunk's first word.
pub const CHUNK_HEAD_BYTES: u64 = 64;
/// Bytes of a chunk.
pub const CHUNK_BYTES: u64 = 256 << 10;
/// Bytes of a reserve.
pub const RESERVE_BYTES: u64 = 16 << 10;
