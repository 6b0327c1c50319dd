//! What passes between a thread that fills chunks and the writer.

use super::chunk::Chunk;
use crate::ticks::Ticks;
use crossbeam_channel::{Receiver, Sender};
use std::sync::Arc;

/// What a thread does when no chunk is empty.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WhenFull {
    /// Waits for the writer. Nothing is lost.
    Block,
    /// Goes on, and counts what it could not record.
    Drop,
}

/// A chunk on its way to the writer.
#[derive(Debug)]
pub(crate) struct Full {
    /// Number of the buffer that it was filled for.
    pub(crate) buffer: u64,
    /// The chunk; none if the buffer ended without one.
    pub(crate) chunk: Option<Chunk>,
    /// The buffer's owner is gone; nothing follows.
    pub(crate) last: bool,
}

/// What the writer sees of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Seen {
    /// No chunk; all that it filled before is in the channel of full ones.
    Nothing,
    /// The chunk being filled, and how many of its words may be read.
    Chunk(Chunk, usize),
    /// A chunk is on its way into the channel.
    InTransit,
}

/// Where a buffer gets chunks from, and where it hands them to.
#[derive(Clone)]
pub(crate) struct Exchange {
    pub(crate) empty: Receiver<Chunk>,
    pub(crate) full: Sender<Full>,
    pub(crate) when_full: WhenFull,
    /// Where compiled hooks record without a look at the clock.
    pub(crate) ticks: Option<Arc<Ticks>>,
}
