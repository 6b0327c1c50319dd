//! Chunks: blocks of records, each written by one thread and read by the writer thread.
//!
//! A chunk starts with a header of 64 bytes; the rest is words of [`jtrail_records::record`]. While
//! a thread fills the chunk, the header belongs to that thread. Sending the chunk through a channel
//! passes the header on.

use jtrail_records::spool::layout;
use std::mem::offset_of;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Size of a chunk of the pool in bytes, header included.
pub const CHUNK_BYTES: usize = 256 << 10;
/// Size of a thread's reserve chunk in bytes, header included.
pub const RESERVE_BYTES: usize = 16 << 10;

/// Header of a chunk: its first 64 bytes.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Header {
    /// Size of the whole chunk in bytes.
    pub bytes: u32,
    /// Number of words in use, set when the chunk is handed over.
    pub used: u32,
    /// Full time, in ticks, at which the chunk was begun.
    pub start: u64,
    /// Number of the thread that the chunk's first records belong to.
    pub running: u32,
    /// True for a thread's reserve chunk, false for a chunk of the pool.
    pub is_reserve: bool,
    /// Number of the buffer that last used the chunk.
    pub buffer: u64,
    /// Sequence number of the chunk's current use, unique over all buffers; 0 while the chunk is
    /// empty. [`Chunk::begin`] writes it last, so that a reader of the spool sees complete headers
    /// only.
    pub sequence: AtomicU64,
}

const HEADER_BYTES: usize = size_of::<Header>();
const _: () = assert!(HEADER_BYTES == 64 && RESERVE_BYTES > HEADER_BYTES);

// The layout of a spool fixes the same sizes and offsets.
const _: () = assert!(
    HEADER_BYTES as u64 == layout::CHUNK_HEAD_BYTES
        && CHUNK_BYTES as u64 == layout::CHUNK_BYTES
        && RESERVE_BYTES as u64 == layout::RESERVE_BYTES
        && offset_of!(Header, used) == 4
        && offset_of!(Header, start) == 8
        && offset_of!(Header, running) == 16
        && offset_of!(Header, buffer) == 24
        && offset_of!(Header, sequence) == 32
);

/// Sequence number of the next use of a chunk. Sequence numbers grow over all buffers.
static SEQUENCE: AtomicU64 = AtomicU64::new(1);

/// Address of a chunk. The holder (a thread, the channel or the writer) owns the chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chunk(NonNull<Header>);

// SAFETY: a `Chunk` is an address. All methods that access more than the chunk's constant fields
// are unsafe. Their callers have received the chunk through a channel or from the pool, so they own
// it.
unsafe impl Send for Chunk {}
// SAFETY: `&Chunk` gives no more access than a copy of the address, which is `Send`.
unsafe impl Sync for Chunk {}

impl Chunk {
    /// Makes a chunk of `bytes` bytes of memory at `at`, and writes its header.
    ///
    /// # Safety
    /// The memory is writable, zeroed and aligned to 64. Nobody else uses it, and it stays mapped
    /// as long as the chunk is used.
    pub unsafe fn new(at: NonNull<u8>, bytes: usize, is_reserve: bool) -> Self {
        let header = at.cast::<Header>();
        let bytes = u32::try_from(bytes).expect("chunks are small");
        // SAFETY: the caller of `new` promises writable, aligned memory that nobody else uses.
        // `bytes` is at least `RESERVE_BYTES`, which is more than a header.
        unsafe {
            header.write(Header {
                bytes,
                used: 0,
                start: 0,
                running: 0,
                is_reserve,
                buffer: 0,
                sequence: AtomicU64::new(0),
            })
        };
        Self(header)
    }

    /// Returns the chunk at the address `header`, or `None` if `header` is null.
    ///
    /// # Safety
    /// A non-null `header` comes from [`Self::as_ptr`].
    pub unsafe fn from_ptr(header: *mut Header) -> Option<Self> {
        NonNull::new(header).map(Self)
    }

    /// Returns the chunk's address, for [`Self::from_ptr`].
    pub fn as_ptr(self) -> *mut Header {
        self.0.as_ptr()
    }

    /// Returns the header.
    ///
    /// # Safety
    /// The caller owns the chunk, or reads only fields that the owner does not change.
    pub unsafe fn header<'a>(self) -> &'a Header {
        // SAFETY: by the contract of `new`, the memory stays mapped as long as the chunk is used.
        // The caller owns the chunk, or reads only fields that nobody changes meanwhile.
        unsafe { self.0.as_ref() }
    }

    /// Begins a use of the chunk by the buffer with the number `buffer`, at the time `start` (in
    /// ticks). The first records belong to the thread `running`.
    ///
    /// # Safety
    /// The caller owns the chunk and holds no reference to its header.
    pub unsafe fn begin(self, buffer: u64, start: u64, running: u32) {
        let header = self.as_ptr();
        let sequence = SEQUENCE.fetch_add(1, Ordering::Relaxed);
        // SAFETY: by the contract of `new`, the memory stays mapped as long as the chunk is used.
        // The caller owns the chunk. Others read only `bytes` and `is_reserve` meanwhile, which do
        // not change.
        unsafe {
            (*header).sequence.store(0, Ordering::Release);
            (*header).used = 0;
            (*header).start = start;
            (*header).running = running;
            (*header).buffer = buffer;
            (*header).sequence.store(sequence, Ordering::Release);
        }
    }

    /// Marks the chunk as empty, so that a reader of the spool ignores its records.
    ///
    /// # Safety
    /// The caller owns the chunk.
    pub unsafe fn empty(self) {
        // SAFETY: by the contract of `new`, the memory stays mapped as long as the chunk is used,
        // and the caller owns the chunk.
        unsafe { (*self.as_ptr()).sequence.store(0, Ordering::Release) };
    }

    /// Returns true if the chunk is a thread's reserve.
    pub fn is_reserve(self) -> bool {
        // SAFETY: by the contract of `new`, the memory stays mapped as long as the chunk is used.
        // Only `new` writes the field.
        unsafe { (*self.as_ptr()).is_reserve }
    }

    /// Returns the address of the first word.
    pub fn first(self) -> usize {
        self.0.as_ptr() as usize + HEADER_BYTES
    }

    /// Returns the address after the last word that fits.
    pub fn end(self) -> usize {
        // SAFETY: by the contract of `new`, the memory stays mapped as long as the chunk is used.
        // Only `new` writes the field.
        let bytes = unsafe { (*self.as_ptr()).bytes };
        self.as_ptr() as usize + bytes as usize
    }

    /// Returns true if `address` can be a cursor of this chunk.
    pub fn holds(self, address: usize) -> bool {
        (self.first()..=self.end()).contains(&address)
    }

    /// Returns the first `count` words.
    ///
    /// # Safety
    /// The words were stored, and then published to this thread by the cursor or by handing the
    /// chunk over. The chunk is not reused while the slice lives.
    pub unsafe fn words<'a>(self, count: usize) -> &'a [u64] {
        debug_assert!(count * 8 <= self.end() - self.first());
        // SAFETY: the words follow the header inside the chunk and are aligned to 8. The caller
        // promises that they were published to this thread. Words before the cursor do not change
        // until the chunk is reused.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().add(1).cast::<u64>(), count) }
    }
}
