//! What is recorded and not written yet, kept in files that outlive the process
//! ([`jtrail_records::spool`]).
//!
//! The chunks, and the lines that say how far they are filled, are in [`Memory`], which is a file
//! as well. What is announced goes through the [`Journal`]. The writer has the rest ([`Commits`]),
//! gives the folder its name when the JVM runs the program, and takes it away when the trace is
//! whole.

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
    /// The chunks, and the lines that say how far they are filled.
    pub memory: Arc<Memory>,
    /// What is announced.
    pub journal: Journal,
    /// How far the trace is written.
    pub commits: Commits,
}

impl Spool {
    /// A spool for the trace at `path`. It is not in the folder of that name before
    /// [`Commits::go_to`].
    ///
    /// # Errors
    /// When there is no room for all of it.
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
