//! A buffer's line of the processor's cache: how far it is filled, and what compiled hooks need
//! (`clock=tick`).
//!
//! Such a hook is Java code that records for the thread that runs it. It reads all of the line and
//! changes the cursor alone. While the word of the clock is not the one here, it calls the agent.
//! It finds the line by its thread's id in [`crate::ticks`]; a buffer without a place there has a
//! line of its own.

use crate::published::Published;
use jtrail_records::record;
use std::sync::atomic::{AtomicU64, Ordering};

/// See the module.
#[repr(C, align(64))]
pub struct CacheLine {
    pub(crate) published: Published,
    pub(crate) for_hooks: ForHooks,
    /// Whether a buffer has it, where lines are in a table.
    is_taken: AtomicU64,
    /// For whoever finds it in a spool: the number of the buffer, and its events that are lost and
    /// that no record tells of yet.
    pub(crate) buffer: AtomicU64,
    pub(crate) unwritten: AtomicU64,
}

/// What compiled hooks need. Only the owning thread changes it, but when the agent leaves.
#[repr(C)]
pub(crate) struct ForHooks {
    /// What Java calls the thread that finds the line; 0 if none does.
    thread_id: AtomicU64,
    /// The clock's word that the stamp is good for. The clock's is never 0.
    tick: AtomicU64,
    /// The time of the last record, as it stands in a record.
    stamp: AtomicU64,
}

// A spool has them at these offsets, and `JtrailHook.java` the cursor.
#[cfg(not(feature = "loom"))]
const _: () = assert!(
    size_of::<CacheLine>() == 64
        && std::mem::offset_of!(CacheLine, published) == 0
        && std::mem::offset_of!(CacheLine, buffer) == 48
        && std::mem::offset_of!(CacheLine, unwritten) == 56
);

// SAFETY: zeros are a line that nobody has, with no chunk in view, and it needs no drop. With the
// feature `loom`, whose atomics are no plain words, no test makes one.
unsafe impl crate::memory::Zeroed for CacheLine {}

impl CacheLine {
    /// Offset in bytes of the id of the thread that finds the line, for compiled hooks.
    pub const THREAD_ID_OFFSET: usize = std::mem::offset_of!(Self, for_hooks.thread_id);
    /// Offset in bytes of the clock's word that the stamp is good for, for compiled hooks.
    pub const TICK_OFFSET: usize = std::mem::offset_of!(Self, for_hooks.tick);
    /// Offset in bytes of the stamp, for compiled hooks.
    pub const STAMP_OFFSET: usize = std::mem::offset_of!(Self, for_hooks.stamp);

    /// A line that is in no table.
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

    /// Takes it for a buffer; `false` if another one has it.
    pub fn take(&self) -> bool {
        let taken = self
            .is_taken
            .compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed);
        taken.is_ok()
    }

    /// Gives it back. Nobody looks at it for the buffer any more.
    pub(crate) fn give_back(&self) {
        self.published.retire();
        self.be_of(0, 0);
        self.is_taken.store(0, Ordering::Release);
    }

    /// It is that buffer's, of which so many events are lost.
    pub(crate) fn be_of(&self, buffer: u64, unwritten: u64) {
        self.unwritten.store(unwritten, Ordering::Relaxed);
        self.buffer.store(buffer, Ordering::Relaxed);
    }

    /// No hook finds it any more; some may still be in the middle of recording.
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

    /// A record with that first word is stored: those that follow are not earlier.
    #[inline(always)]
    pub(crate) fn note_time(&self, word: u64) {
        self.stamp.store(record::stamp(word), Ordering::Relaxed);
    }

    /// Hooks may record with the time of the last record while the clock's word is `tick`.
    pub(crate) fn arm(&self, tick: u64) {
        self.tick.store(tick, Ordering::Relaxed);
    }

    /// Hooks call the agent.
    pub(crate) fn disarm(&self) {
        self.tick.store(0, Ordering::Relaxed);
    }
}
