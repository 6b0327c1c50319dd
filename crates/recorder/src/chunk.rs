//! Chunks: blocks of records, each written by one thread and read by the writer thread.
//!
//! A chunk starts with a header of 64 bytes and is otherwise words of [`jtrail_records::record`].
//! While a thread fills it, the header belongs to that thread; handing it over through a channel
//! passes it on.

use jtrail_records::spool::layout;
use std::mem::offset_of;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a chunk of the pool, header included.
pub const CHUNK_BYTES: usize = 256 << 10;
/// Bytes of a thread's own reserve chunk, header included.
pub const RESERVE_BYTES: usize = 16 << 10;

/// First bytes of a chunk.
#[repr(C, align(64))]
#[derive(Debug)]
pub struct Header {
    /// Bytes of the whole chunk.
    pub bytes: u32,
    /// Words in use, set when the chunk is handed over.
    pub used: u32,
    /// Full time at which the chunk was begun.
    pub start: u64,
    /// Number of the thread that its first records belong to.
    pub running: u32,
    /// A thread's reserve, not one of the pool.
    pub is_reserve: bool,
    /// Number of the buffer that it was filled for last.
    pub buffer: u64,
    /// Number of its use, over all buffers; 0 while it is empty, and written last. For whoever
    /// finds it in a spool.
    pub sequence: AtomicU64,
}

const HEADER_BYTES: usize = size_of::<Header>();
const _: () = assert!(HEADER_BYTES == 64 && RESERVE_BYTES > HEADER_BYTES);

// A spool has them in these places, too.
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

/// The next one; they go up over all buffers.
static SEQUENCE: AtomicU64 = AtomicU64::new(1);

/// A chunk's address. Whoever holds it in its hands (thread, channel, writer) owns the chunk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Chunk(NonNull<Header>);

// SAFETY: an address. Whoever touches the memory behind it has received the chunk, through a
// channel or from the pool, and says so where it does.
unsafe impl Send for Chunk {}
// SAFETY: as above; a reference to an address gives no more than the address.
unsafe impl Sync for Chunk {}

impl Chunk {
    /// A chunk on `bytes` bytes of memory at `at`.
    ///
    /// # Safety
    /// The memory is writable, zeroed, aligned to 64, used by nobody else, and stays as long as the
    /// chunk is used.
    pub unsafe fn new(at: NonNull<u8>, bytes: usize, is_reserve: bool) -> Self {
        let header = at.cast::<Header>();
        let bytes = u32::try_from(bytes).expect("chunks are small");
        // SAFETY: the memory is writable, aligned and used by nobody else, as the caller says, and
        // longer than a header.
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

    /// A chunk from its address.
    ///
    /// # Safety
    /// The address comes from [`Self::as_ptr`].
    pub unsafe fn from_ptr(header: *mut Header) -> Option<Self> {
        NonNull::new(header).map(Self)
    }

    /// Its address, for [`Self::from_ptr`].
    pub fn as_ptr(self) -> *mut Header {
        self.0.as_ptr()
    }

    /// The header.
    ///
    /// # Safety
    /// The caller owns the chunk, or reads fields that its owner does not change.
    pub unsafe fn header<'a>(self) -> &'a Header {
        // SAFETY: the memory of a chunk stays as long as it is used. The caller owns the chunk, or
        // reads fields that do not change meanwhile.
        unsafe { self.0.as_ref() }
    }

    /// Begins to use it for a buffer: at that time, with records of that thread.
    ///
    /// # Safety
    /// The caller owns the chunk, and holds no reference to its header.
    pub unsafe fn begin(self, buffer: u64, start: u64, running: u32) {
        let header = self.as_ptr();
        let sequence = SEQUENCE.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the memory of a chunk stays as long as it is used. The caller owns this one;
        // whoever sees it meanwhile reads `bytes` and `is_reserve` alone, which stay as they are.
        unsafe {
            (*header).sequence.store(0, Ordering::Release);
            (*header).used = 0;
            (*header).start = start;
            (*header).running = running;
            (*header).buffer = buffer;
            (*header).sequence.store(sequence, Ordering::Release);
        }
    }

    /// What it holds is of no use any more.
    ///
    /// # Safety
    /// The caller owns the chunk.
    pub unsafe fn empty(self) {
        // SAFETY: the memory of a chunk stays as long as it is used, and the caller owns this one.
        unsafe { (*self.as_ptr()).sequence.store(0, Ordering::Release) };
    }

    /// Whether it is a thread's reserve.
    pub fn is_reserve(self) -> bool {
        // SAFETY: the memory of a chunk stays as long as it is used, and the field is written once,
        // in `new`.
        unsafe { (*self.as_ptr()).is_reserve }
    }

    /// Address of the first word.
    pub fn first(self) -> usize {
        self.0.as_ptr() as usize + HEADER_BYTES
    }

    /// Address behind the last word that fits.
    pub fn end(self) -> usize {
        // SAFETY: the memory of a chunk stays as long as it is used, and the field is written once,
        // in `new`.
        let bytes = unsafe { (*self.as_ptr()).bytes };
        self.as_ptr() as usize + bytes as usize
    }

    /// Whether `address` can be a cursor of this chunk.
    pub fn holds(self, address: usize) -> bool {
        (self.first()..=self.end()).contains(&address)
    }

    /// The first `count` words.
    ///
    /// # Safety
    /// They were written, and published to this thread (by the cursor, or by handing the chunk
    /// over), and the chunk is not used anew while the answer lives.
    pub unsafe fn words<'a>(self, count: usize) -> &'a [u64] {
        debug_assert!(count * 8 <= self.end() - self.first());
        // SAFETY: the words lie behind the header, inside the chunk, and are aligned to 8. They
        // were published to this thread, as the caller says, and words before the cursor do not
        // change until the chunk is used anew.
        unsafe { std::slice::from_raw_parts(self.0.as_ptr().add(1).cast::<u64>(), count) }
    }
}
