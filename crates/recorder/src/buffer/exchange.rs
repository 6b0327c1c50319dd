//! What passes between a thread that fills chunks and the writer.

use super::pool::Supply;
use crate::chunk::Chunk;
use crate::spool::Memory;
use crate::ticks::Ticks;
use crossbeam_channel::Sender;
use std::sync::Arc;

/// What a thread does when no chunk is empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhenFull {
    /// Waits for the writer. Nothing is lost.
    Block,
    /// Goes on, and counts what it could not record.
    Drop,
}

/// A chunk on its way to the writer.
#[derive(Debug)]
pub struct Full {
    /// Number of the buffer that it was filled for.
    pub buffer: u64,
    /// The chunk; none if the buffer ended without one.
    pub chunk: Option<Chunk>,
    /// The buffer's owner is gone; nothing follows.
    pub last: bool,
}

/// What the writer sees of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferView {
    /// No chunk; all that it filled before is in the channel of full ones.
    Nothing,
    /// The chunk being filled, and how many of its words may be read.
    Chunk(Chunk, usize),
    /// A chunk is on its way into the channel.
    InTransit,
}

/// Where a buffer gets chunks from, and where it hands them to.
#[derive(Clone)]
pub struct Exchange {
    /// Empty chunks.
    pub empty: Supply,
    /// Takes full chunks to the writer.
    pub full: Sender<Full>,
    /// Wakes the writer.
    pub wake: Sender<()>,
    /// What threads do when no chunk is empty.
    pub when_full: WhenFull,
    /// Where compiled hooks record without a look at the clock.
    pub ticks: Option<Arc<Ticks>>,
    /// Where what is not written outlives the process.
    pub spool: Option<Arc<Memory>>,
}

/// So many chunks wait for the writer before it is woken; to wake it takes as long as to record
/// some hundred calls. It looks by itself as well, every now and then.
const WORTH_WAKING: usize = 4;

impl Exchange {
    /// Hands a chunk over to the writer, and wakes it when it is time.
    pub(super) fn hand_over(&self, full: Full) {
        // A writer that is gone needs no chunk.
        let is_sent = self.full.send(full).is_ok();
        if is_sent && (self.full.len() >= WORTH_WAKING || self.empty.is_short()) {
            self.wake();
        }
    }

    /// Wakes the writer, unless that is done already.
    pub(super) fn wake(&self) {
        let _ = self.wake.try_send(());
    }
}
