//! The spool: records and definitions that are not written to the trace yet, in files that outlive
//! the process ([`jtrail_records::spool`]).
//!
//! The chunks and the cache lines, which say how far chunks are filled, are in [`Memory`], a mapped
//! file. Definitions pass through the [`Journal`]. The writer uses [`Commits`]: it names the folder
//! when the JVM starts the program, and removes it when the trace is complete.

mod commits;
mod folder;
mod journal;
mod memory;

pub use commits::Commits;
use folder::Folder;
pub use journal::Journal;
pub use memory::Memory;
pub(crate) use memory::TABLE_BYTES;

use jtrail_options::Options;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// All parts of a spool.
pub struct Spool {
    /// The chunks, and the cache lines that say how far chunks are filled.
    pub memory: Arc<Memory>,
    /// The definitions.
    pub journal: Journal,
    /// How far the trace is written.
    pub commits: Commits,
}

impl Spool {
    /// Creates a spool for the trace at `path`. Its folder gets its final name with
    /// [`Commits::go_to`].
    ///
    /// # Errors
    /// When there is no space for all parts.
    pub fn create(path: &Path, options: &Options) -> io::Result<Self> {
        let (folder, files) = Folder::create(path)?;
        let memory = Memory::create(files.memory, options.buffer_bytes);
        let memory = Arc::new(memory.inspect_err(|_| folder.remove())?);
        Ok(Self {
            journal: Journal::new(files.defined),
            commits: Commits::new(folder, Arc::clone(&memory), files.named, files.states),
            memory,
        })
    }
}
