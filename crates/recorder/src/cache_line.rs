//! A buffer's cache line: it says how many records are published, and holds the data for compiled
//! hooks (`clock=tick`).
//!
//! A compiled hook is Java code that records for the running thread. It reads the whole cache line
//! and writes the cursor only. If the clock's word differs from the tick in the cache line, the
//! hook calls the agent. A hook finds the line by its thread's id in [`crate::ticks`]. If another
//! buffer has taken that line, the buffer gets a line outside of the table, which hooks do not
//! find.

use crate::published::Published;
use jtrail_records::record;
use std::sync::atomic::{AtomicU64, Ordering};

/// A buffer's cache line. Its layout is fixed, for compiled hooks and for readers of a spool.
#[repr(C, align(64))]
pub struct CacheLine {
    pub(crate) published: Published,
    pub(crate) for_hooks: ForHooks,
    /// 1 if a buffer has taken the line, otherwise 0. Used for lines in a table only.
    is_taken: AtomicU64,
    /// Number of the buffer that has the line, for readers of a spool; 0 if none has it.
    pub(crate) buffer: AtomicU64,
    /// Number of the buffer's lost events that no record counts yet, for readers of a spool.
    pub(crate) unwritten: AtomicU64,
}

/// The data for compiled hooks. It is changed only by the owning thread, and by the thread on which
/// the agent leaves.
#[repr(C)]
pub(crate) struct ForHooks {
    /// Java id of the thread whose hooks find the line; 0 if no hook finds it.
    thread_id: AtomicU64,
    /// Value of the clock's word for which the stamp is valid; 0 if the stamp is not valid. The
    /// clock's word is never 0.
    tick: AtomicU64,
    /// Time of the last record, in the format of a record's first word.
    stamp: AtomicU64,
}

// The layout of a spool fixes these offsets. `JtrailHook.java` fixes the offset of the cursor.
#[cfg(not(feature = "loom"))]
const _: () = assert!(
    size_of::<CacheLine>() == 64
        && std::mem::offset_of!(CacheLine, published) == 0
        && std::mem::offset_of!(CacheLine, buffer) == 48
        && std::mem::offset_of!(CacheLine, unwritten) == 56
);

// SAFETY: all zeros are a line that no buffer has taken, with no published chunk. The type needs no
// drop. The atomics of the feature `loom` are not plain words, but no test makes zeroed lines with
// that feature.
unsafe impl crate::memory::Zeroed for CacheLine {}

impl CacheLine {
    /// Offset in bytes of the id of the thread whose hooks find the line, for compiled hooks.
    pub const THREAD_ID_OFFSET: usize = std::mem::offset_of!(Self, for_hooks.thread_id);
    /// Offset in bytes of the tick for which the stamp is valid, for compiled hooks.
    pub const TICK_OFFSET: usize = std::mem::offset_of!(Self, for_hooks.tick);
    /// Offset in bytes of the stamp, for compiled hooks.
    pub const STAMP_OFFSET: usize = std::mem::offset_of!(Self, for_hooks.stamp);

    /// Returns a line that is in no table.
    pub(crate) fn own() -> Self {
        Self {
            published: Published::new(),
            for_hooks: ForHooks {
                thread_id: AtomicU64::new(0),
                tick: AtomicU64::new(0),
                stamp: AtomicU64::new(0),
            },
            is_taken: AtomicU64::new(1),
            buffer: AtomicU64::new(0),
            unwritten: AtomicU64::new(0),
        }
    }

    /// Takes the line for a buffer. Returns false if another buffer has it.
    pub fn take(&self) -> bool {
        let taken = self
            .is_taken
            .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok()
    }

    /// Gives the line back. The writer and the owning thread must not use it for the buffer any
    /// more.
    pub(crate) fn give_back(&self) {
        self.published.retire();
        self.assign_to(0, 0);
        self.is_taken.store(0, Ordering::Release);
    }

    /// Assigns the line to the buffer with the number `buffer`, which has lost `unwritten` events
    /// that no record counts yet.
    pub(crate) fn assign_to(&self, buffer: u64, unwritten: u64) {
        self.unwritten.store(unwritten, Ordering::Relaxed);
        self.buffer.store(buffer, Ordering::Relaxed);
    }

    /// Hides the line from hooks. Some hooks may still be in the middle of recording.
    pub fn hide(&self) {
        if self.is_taken.load(Ordering::Relaxed) != 0 {
            self.for_hooks.disarm();
            self.for_hooks.set_thread_id(0);
        }
    }
}

impl ForHooks {
    pub(crate) fn thread_id(&self) -> u64 {
        self.thread_id.load(Ordering::Relaxed)
    }

    pub(crate) fn set_thread_id(&self, id: u64) {
        self.thread_id.store(id, Ordering::Relaxed);
    }

    /// Keeps a record's time as the stamp for hooks. `word` is the record's first word. Later
    /// records of the thread are not earlier.
    #[inline(always)]
    pub(crate) fn note_time(&self, word: u64) {
        self.stamp.store(record::stamp(word), Ordering::Relaxed);
    }

    /// Lets hooks record with the time of the last record, as long as the clock's word is `tick`.
    pub(crate) fn arm(&self, tick: u64) {
        self.tick.store(tick, Ordering::Relaxed);
    }

    /// Makes hooks call the agent.
    pub(crate) fn disarm(&self) {
        self.tick.store(0, Ordering::Relaxed);
    }
}
