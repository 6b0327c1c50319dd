//! Types for the exchange of chunks between a thread that fills them and the writer.

use super::pool::Supply;
use crate::chunk::Chunk;
use crate::spool::Memory;
use crate::ticks::Ticks;
use crossbeam_channel::Sender;
use std::sync::Arc;

/// What a thread does when no chunk is empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WhenFull {
    /// The thread waits for the writer. Nothing is lost.
    Block,
    /// The thread goes on, and counts the events that it could not record.
    Drop,
}

/// A chunk that is sent to the writer.
#[derive(Debug)]
pub struct Full {
    /// Number of the buffer that filled the chunk.
    pub buffer: u64,
    /// The chunk; `None` if the buffer ended without one.
    pub chunk: Option<Chunk>,
    /// True if the buffer's thread has finished, so that nothing follows.
    pub last: bool,
}

/// The writer's view of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BufferView {
    /// No chunk; all chunks that the buffer filled before are in the channel.
    Nothing,
    /// The chunk that is being filled, and the number of its words that may be read.
    Chunk(Chunk, usize),
    /// A chunk that is being sent to the channel.
    InTransit,
}

/// Where a buffer gets empty chunks, and where it sends full ones.
#[derive(Clone)]
pub struct Exchange {
    /// Supply of empty chunks.
    pub empty: Supply,
    /// Sends full chunks to the writer.
    pub full: Sender<Full>,
    /// Wakes the writer.
    pub wake: Sender<()>,
    /// What threads do when no chunk is empty.
    pub when_full: WhenFull,
    /// The coarse clock with which compiled hooks record; `None` if each record reads the clock.
    pub ticks: Option<Arc<Ticks>>,
    /// Memory of the spool, which outlives the process; `None` without a spool.
    pub spool: Option<Arc<Memory>>,
}

/// Minimum number of full chunks for which the writer is woken. Waking it takes as long as
/// recording some hundred calls. The writer also reads chunks without being woken, at intervals.
const WORTH_WAKING: usize = 4;

impl Exchange {
    /// Sends a chunk to the writer, and wakes the writer if enough chunks are full or few are
    /// empty.
    pub(super) fn hand_over(&self, full: Full) {
        // Sending fails if the writer has ended; it needs no more chunks.
        let is_sent = self.full.send(full).is_ok();
        if is_sent && (self.full.len() >= WORTH_WAKING || self.empty.is_short()) {
            self.wake();
        }
    }

    /// Wakes the writer if it is not already awake.
    pub(super) fn wake(&self) {
        let _ = self.wake.try_send(());
    }
}
