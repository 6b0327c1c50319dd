//! The memory that is a file: where everything is in it, and who has what.

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

/// Lines that are in no table. Threads beyond that have one that no file keeps.
const LINES: usize = 1 << 14;
/// Reserves, likewise. The file has room for them when they are needed.
const RESERVES: usize = 1 << 14;
/// For so many of them at once.
const RESERVES_AT_ONCE: usize = 64;

const LINES_AT: usize = HEAD_BYTES as usize;
/// Lines of the table that compiled hooks look into, and of the clock's word in front of it.
const TABLE_LINES: usize = 1 + (1 << 14);
/// Bytes of that.
pub(crate) const TABLE_BYTES: usize = TABLE_LINES * LINE_BYTES as usize;
const TABLE_AT: usize = LINES_AT + LINES * LINE_BYTES as usize;
const RESERVES_AT: usize = (TABLE_AT + TABLE_BYTES).next_multiple_of(RESERVE_BYTES);
const CHUNKS_AT: usize = (RESERVES_AT + RESERVES * RESERVE_BYTES).next_multiple_of(CHUNK_BYTES);

/// See the module.
pub struct Memory {
    mapping: Arc<Mapping>,
    head: Zeros<AtomicU64>,
    lines: Zeros<CacheLine>,
    /// Where the next line that nobody has may be.
    next_line: AtomicUsize,
    reserves: Mutex<Reserves>,
    has_given_table: AtomicBool,
    chunks: usize,
    /// Locked, as long as the process is there.
    file: File,
}

#[derive(Default)]
struct Reserves {
    free: Vec<usize>,
    /// The file has room for so many.
    made: usize,
}

impl Memory {
    /// Memory for chunks of so many bytes, in a new file.
    ///
    /// # Errors
    /// When there is no room for it in the file system, or it can't be mapped.
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
        // SAFETY: a new file is all zeros. The head and the lines are apart in it, and nothing else
        // of this type touches these bytes; both begin at a multiple of a line's size.
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
            has_given_table: AtomicBool::new(false),
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

    /// Identity of the file.
    pub fn file_id(&self) -> Option<FileId> {
        FileId::of(&self.file)
    }

    fn set(&self, at: usize, word: u64) {
        self.head.all()[at].store(word, Ordering::Release);
    }

    /// From now on, that state counts.
    pub(super) fn set_state(&self, number: u64) {
        self.set(head::STATE, number);
    }

    /// From now on, others may read it, though the process is there.
    pub(super) fn unlock(&self) {
        let _ = self.file.unlock(); // it ends with the process all the same
    }

    /// A line that nobody has, if there is one.
    pub fn line(&self) -> Option<&CacheLine> {
        let lines = self.lines.all();
        let first = self.next_line.fetch_add(1, Ordering::Relaxed) % lines.len();
        let (before, after) = lines.split_at(first);
        after.iter().chain(before).find(|line| line.take())
    }

    /// The memory of the table that compiled hooks look into: [`TABLE_BYTES`] zeros, for whoever
    /// asks first.
    pub(crate) fn table(&self) -> Option<Zeros<u8>> {
        // SAFETY: a new file is all zeros, and the bytes from `TABLE_AT` on are the table's alone,
        // which is given out once.
        let table = || unsafe { Zeros::within(&self.mapping, TABLE_AT, TABLE_BYTES) };
        let is_first = !self.has_given_table.swap(true, Ordering::Relaxed);
        is_first.then(table)
    }

    /// The memory of all chunks, and how many there are.
    pub fn chunks(&self) -> (NonNull<u8>, usize) {
        (self.at(CHUNKS_AT), self.chunks)
    }

    fn at(&self, place: usize) -> NonNull<u8> {
        // SAFETY: `create` has mapped the file up to the last chunk, and the callers pass the place
        // of a chunk or reserve.
        unsafe { self.mapping.start().add(place) }
    }

    /// A reserve that nobody has, if the file has room for one.
    pub fn reserve(&self) -> Option<Chunk> {
        let mut reserves = self.reserves.lock();
        if reserves.free.is_empty() {
            let first = reserves.made;
            let end = (first + RESERVES_AT_ONCE).min(RESERVES);
            let bytes = (end - first) * RESERVE_BYTES;
            if bytes == 0 || make_room(&self.file, place_of(first) as u64, bytes).is_err() {
                return None;
            }
            reserves.made = end;
            reserves.free.extend((first..end).rev());
            self.set(head::RESERVES + 1, end as u64);
        }
        let number = reserves.free.pop()?;
        // SAFETY: the file has room for the reserve, at a multiple of its size; the number was
        // free, so nobody else has the memory until `take_back`. What it held before is no matter:
        // the chunk gets a new header.
        Some(unsafe { Chunk::new(self.at(place_of(number)), RESERVE_BYTES, true) })
    }

    /// Takes a reserve back; `false` if it is none of these.
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

fn place_of(reserve: usize) -> usize {
    RESERVES_AT + reserve * RESERVE_BYTES
}
