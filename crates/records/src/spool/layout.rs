//! Layout of the file `memory`, byte for byte.
//!
//! Numbers are little-endian, and addresses are those of the process that recorded. The first page
//! is the head: words of 64 bits, at the indices that [`head`] names. The first two words identify
//! the file. The head holds the offsets of the cache lines (*lines*, one for each recording
//! thread), the *reserves* and the *chunks*.
//!
//! A line has 64 bytes:
//!
//! | Offset | Content |
//! |---|---|
//! | 0 | address after the last word that the line's thread has published |
//! | 8 | address of the chunk with that word; if the two do not match, the thread has no chunk |
//! | 48 | number of the buffer that uses the line; 0 if none does |
//! | 56 | number of the buffer's lost events that no record counts |
//!
//! A chunk begins with a header of 64 bytes:
//!
//! | Offset | Bytes | Content |
//! |---|---|---|
//! | 0 | 4 | size of the chunk in bytes |
//! | 4 | 4 | number of words in use, once the chunk is full |
//! | 8 | 8 | full time at which the chunk was begun |
//! | 16 | 4 | thread that the first records belong to |
//! | 24 | 8 | buffer that the chunk was filled for |
//! | 32 | 8 | sequence number; 0 while the chunk is empty |
//!
//! The rest of a chunk is words as described in [`crate::record`]. A reserve is a small chunk.
//! Sequence numbers grow over all buffers.

/// Size of the first page in bytes.
pub const HEAD_BYTES: u64 = 4096;
/// The bytes `jtrspool`, with which the file begins.
pub const MAGIC: u64 = u64::from_le_bytes(*b"jtrspool");
/// Version of this layout and of the other files.
pub const VERSION: u64 = 4;

/// Indices of the words in the first page.
pub mod head {
    /// Index of [`MAGIC`](super::MAGIC).
    pub const MAGIC: usize = 0;
    /// Index of [`VERSION`](super::VERSION).
    pub const VERSION: usize = 1;
    /// Address of the mapping's first byte.
    pub const ADDRESS: usize = 2;
    /// Offset of the lines in bytes. The next word is their number.
    pub const LINES: usize = 3;
    /// Offset of the reserves in bytes. The next word is their number.
    pub const RESERVES: usize = 5;
    /// Offset of the chunks in bytes. The next word is their number.
    pub const CHUNKS: usize = 7;
    /// Number of the valid state; 0 while there is none.
    pub const STATE: usize = 9;
    /// Id of the process.
    pub const PID: usize = 10;
    /// Number of words.
    pub const WORDS: usize = 11;
}

/// Size of a line in bytes.
pub const LINE_BYTES: u64 = 64;
/// Size of a chunk's header in bytes.
pub const CHUNK_HEAD_BYTES: u64 = 64;
/// Size of a chunk in bytes.
pub const CHUNK_BYTES: u64 = 256 << 10;
/// Size of a reserve in bytes.
pub const RESERVE_BYTES: u64 = 16 << 10;
