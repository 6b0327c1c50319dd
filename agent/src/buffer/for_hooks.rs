//! What compiled hooks need of a thread's buffer (`clock=tick`): Java code that records for the thread that runs it.
//!
//! It reads all of it and changes none; the cursor, which it moves, is in front. While the word of the clock is not the one here, it calls the agent.

use super::record;
use std::cell::Cell;
use std::mem::offset_of;

/// Only the owning thread looks at it.
#[derive(Default)]
#[repr(C)]
pub(super) struct ForHooks {
    /// What Java calls the thread that finds the buffer; 0 if none does.
    thread_id: Cell<u64>,
    /// The clock's word that the stamp is good for. The clock's is never 0.
    tick: Cell<u64>,
    /// Address behind the last word of the chunk.
    end: Cell<u64>,
    /// The time of the last record, as it stands in a record.
    stamp: Cell<u64>,
}

// `JtrailHook.java` has these places, too.
const _: () = assert!(
    offset_of!(ForHooks, thread_id) == 0
        && offset_of!(ForHooks, tick) == 8
        && offset_of!(ForHooks, end) == 16
        && offset_of!(ForHooks, stamp) == 24
);

impl ForHooks {
    pub(super) fn thread_id(&self) -> u64 {
        self.thread_id.get()
    }

    pub(super) fn set_thread_id(&self, id: u64) {
        self.thread_id.set(id);
    }

    /// A record with that first word is stored: those that follow are not earlier.
    #[inline(always)]
    pub(super) fn note_time(&self, word: u64) {
        self.stamp.set(record::stamp(word));
    }

    /// Hooks may record up to `end`, with the time of the last record, while the clock's word is `tick`.
    pub(super) fn arm(&self, tick: u64, end: usize) {
        self.tick.set(tick);
        self.end.set(end as u64);
    }

    /// Hooks call the agent.
    pub(super) fn disarm(&self) {
        self.tick.set(0);
    }
}
