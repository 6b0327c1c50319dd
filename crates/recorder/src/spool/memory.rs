//! The spool's file `memory`: its layout, and which parts are in use.

use crate::cache_line::CacheLine;
use crate::chunk::{CHUNK_BYTES, Chunk, RESERVE_BYTES};
use crate::memory::{Mapping, Zeros, make_room};
use jtrail_records::ownership::FileId;
use jtrail_records::spool::layout::{HEAD_BYTES, LINE_BYTES, MAGIC, VERSION, head};
use parking_lot::Mutex;
use std::fs::File;
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// Number of cache lines outside of the hooks' table. Further threads have a line on the heap,
/// which no file keeps.
const LINES: usize = 1 << 14;
/// Maximum number of reserves in the file. Further threads have one on the heap. The file gets
/// space for reserves as they are needed.
const RESERVES: usize = 1 << 14;
/// Number of reserves for which the file gets space at a time.
const RESERVES_AT_ONCE: usize = 64;

const LINES_AT: usize = HEAD_BYTES as usize;
/// Number of cache lines in the table that compiled hooks read, and one for the clock's word before
/// it.
const TABLE_LINES: usize = 1 + (1 << 14);
/// Size in bytes of the table and the clock's word.
pub(crate) const TABLE_BYTES: usize = TABLE_LINES * LINE_BYTES as usize;
const TABLE_AT: usize = LINES_AT + LINES * LINE_BYTES as usize;
const RESERVES_AT: usize = (TABLE_AT + TABLE_BYTES).next_multiple_of(RESERVE_BYTES);
const CHUNKS_AT: usize = (RESERVES_AT + RESERVES * RESERVE_BYTES).next_multiple_of(CHUNK_BYTES);

/// The spool's file `memory`, mapped.
pub struct Memory {
    mapping: Arc<Mapping>,
    head: Zeros<AtomicU64>,
    lines: Zeros<CacheLine>,
    /// Index at which the search for a free line begins.
    next_line: AtomicUsize,
    reserves: Mutex<Reserves>,
    /// True if [`Self::table`] has returned the table.
    is_table_taken: AtomicBool,
    /// Number of chunks.
    chunks: usize,
    /// The file, locked as long as the process lives.
    file: File,
}

#[derive(Default)]
struct Reserves {
    free: Vec<usize>,
    /// Number of reserves for which the file has space.
    made: usize,
}

impl Memory {
    /// Creates a memory file with chunks of `bytes` bytes in total, in the empty file `file`.
    ///
    /// # Errors
    /// When the file system has no space for it, or can't map it.
    pub(super) fn create(file: File, bytes: u64) -> io::Result<Self> {
        let chunks = (usize::try_from(bytes).unwrap_or(usize::MAX) / CHUNK_BYTES).max(1);
        let all = chunks
            .checked_mul(CHUNK_BYTES)
            .and_then(|bytes| bytes.checked_add(CHUNKS_AT))
            .ok_or(io::ErrorKind::OutOfMemory)?;
        file.lock()?;
        file.set_len(all as u64)?;
        make_room(&file, 0, RESERVES_AT)?;
        make_room(&file, CHUNKS_AT as u64, all - CHUNKS_AT)?;
        let mapping = Arc::new(Mapping::of_file(&file, all, CHUNK_BYTES)?);
        mapping.read_nothing_ahead(CHUNKS_AT);
        // SAFETY: a new file is all zeros. The head and the lines do not overlap, and no other
        // value in this struct refers to these bytes. Both begin at a multiple of a cache line's
        // size.
        let (head, lines) = unsafe {
            (
                Zeros::within(&mapping, 0, HEAD_BYTES as usize / 8),
                Zeros::within(&mapping, LINES_AT, LINES),
            )
        };
        let memory = Self {
            mapping,
            head,
            lines,
            next_line: AtomicUsize::new(0),
            reserves: Mutex::default(),
            is_table_taken: AtomicBool::new(false),
            chunks,
            file,
        };
        let lines = LINES + TABLE_LINES;
        for (at, word) in [
            (head::ADDRESS, memory.mapping.start().addr().get() as u64),
            (head::PID, std::process::id().into()),
            (head::LINES, LINES_AT as u64),
            (head::LINES + 1, lines as u64),
            (head::RESERVES, RESERVES_AT as u64),
            (head::RESERVES + 1, 0),
            (head::CHUNKS, CHUNKS_AT as u64),
            (head::CHUNKS + 1, chunks as u64),
            (head::VERSION, VERSION),
            (head::MAGIC, MAGIC),
        ] {
            memory.set(at, word);
        }
        Ok(memory)
    }

    /// Returns the identity of the file.
    pub fn file_id(&self) -> Option<FileId> {
        FileId::of(&self.file)
    }

    fn set(&self, at: usize, word: u64) {
        self.head.all()[at].store(word, Ordering::Release);
    }

    /// Makes the state with that number the valid one.
    pub(super) fn set_state(&self, number: u64) {
        self.set(head::STATE, number);
    }

    /// Unlocks the file: from now on, other processes may recover the trace, although this one
    /// still runs.
    pub(super) fn unlock(&self) {
        let _ = self.file.unlock(); // the lock ends with the process anyway
    }

    /// Takes a free cache line. Returns `None` if there is none.
    pub fn line(&self) -> Option<&CacheLine> {
        let lines = self.lines.all();
        let first = self.next_line.fetch_add(1, Ordering::Relaxed) % lines.len();
        let (before, after) = lines.split_at(first);
        after.iter().chain(before).find(|line| line.take())
    }

    /// Returns the memory of the hooks' table: [`TABLE_BYTES`] zeros. Returns `None` from the
    /// second call on.
    pub(crate) fn table(&self) -> Option<Zeros<u8>> {
        // SAFETY: a new file is all zeros. The bytes from `TABLE_AT` on belong to the table alone,
        // and `is_table_taken` makes sure that they are handed out once.
        let table = || unsafe { Zeros::within(&self.mapping, TABLE_AT, TABLE_BYTES) };
        let is_first = !self.is_table_taken.swap(true, Ordering::Relaxed);
        is_first.then(table)
    }

    /// Returns the address of the first chunk, and the number of chunks.
    pub fn chunks(&self) -> (NonNull<u8>, usize) {
        (self.at(CHUNKS_AT), self.chunks)
    }

    fn at(&self, place: usize) -> NonNull<u8> {
        // SAFETY: `create` has mapped the file to the end of the last chunk. The callers pass the
        // offset of a chunk or reserve.
        unsafe { self.mapping.start().add(place) }
    }

    /// Takes a free reserve. Returns `None` if there is none and the file has no space for another.
    pub fn reserve(&self) -> Option<Chunk> {
        let mut reserves = self.reserves.lock();
        if reserves.free.is_empty() {
            let first = reserves.made;
            let end = (first + RESERVES_AT_ONCE).min(RESERVES);
            let bytes = (end - first) * RESERVE_BYTES;
            if bytes == 0 || make_room(&self.file, offset_of_reserve(first) as u64, bytes).is_err()
            {
                return None;
            }
            reserves.made = end;
            reserves.free.extend((first..end).rev());
            self.set(head::RESERVES + 1, end as u64);
        }
        let number = reserves.free.pop()?;
        // SAFETY: the file has space for the reserve, at a multiple of its size. The number was
        // free, so nobody else has the memory until `take_back`. Old contents do no harm: the chunk
        // gets a new header.
        Some(unsafe { Chunk::new(self.at(offset_of_reserve(number)), RESERVE_BYTES, true) })
    }

    /// Takes a reserve back. Returns false if the reserve is not one of this file.
    pub fn take_back(&self, reserve: Chunk) -> bool {
        let first = self.at(RESERVES_AT).addr().get();
        let place = reserve.as_ptr().addr().wrapping_sub(first);
        let number = place / RESERVE_BYTES;
        if number >= RESERVES {
            return false;
        }
        self.reserves.lock().free.push(number);
        true
    }
}

fn offset_of_reserve(reserve: usize) -> usize {
    RESERVES_AT + reserve * RESERVE_BYTES
}
