//! Chunks of a recording that is written while the program runs.
//!
//! A chunk that is not written is lost if the process is killed, and a file whose size is limited
//! can't end within one. So the writer of the trace flushes about once a second. A chunk of few
//! events would be little more than constants and metadata: it waits for more of them, for at
//! most [`MAX_FLUSHES`] flushes.

use super::recording::Recording;
use jtrail_model::names::Names;

/// Size of the events of a chunk in bytes, from which on a flush writes it.
const MIN_CHUNK_SIZE: usize = if cfg!(test) { 16 << 10 } else { 64 << 10 };
/// Number of flushes after which the chunk is written whatever its size.
const MAX_FLUSHES: u32 = 10;
/// Bytes of the metadata and of some constants, for a chunk that has no predecessor.
const FIRST_CONSTANTS: usize = 16 << 10;

/// What is known of flushes.
#[derive(Debug)]
pub(super) struct Flushes {
    /// Number of flushes that have not written the current chunk.
    pub(super) waiting: u32,
    /// Bytes of the latest chunk that are not events.
    pub(super) constants: usize,
}

impl Default for Flushes {
    fn default() -> Self {
        Self {
            waiting: 0,
            constants: FIRST_CONSTANTS,
        }
    }
}

impl Recording {
    /// Writes the current chunk if it has [`MIN_CHUNK_SIZE`] bytes, or has waited for
    /// [`MAX_FLUSHES`] flushes.
    pub(super) fn write_waiting(&mut self, names: &Names) {
        let size = self.chunk_size();
        if size == 0 {
            return;
        }
        self.flushes.waiting += 1;
        if size >= MIN_CHUNK_SIZE || self.flushes.waiting >= MAX_FLUSHES {
            self.write_chunk(names, false);
        }
    }

    /// Returns about how many bytes the current chunk will have.
    pub(super) fn waiting_bytes(&self) -> usize {
        match self.chunk_size() {
            0 => 0,
            size => size + self.flushes.constants,
        }
    }
}
