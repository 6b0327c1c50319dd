//! What is recorded and not written yet, kept in files that outlive the process ([`jtrail_records::spool`]).
//!
//! The chunks, and the lines that say how far they are filled, are in [`Memory`], which is a file as well. What is announced goes through the
//! [`Journal`]. The writer has the rest ([`Commits`]), and takes the folder away when the trace is whole.

mod commits;
mod journal;
mod memory;

pub(crate) use commits::Commits;
pub(crate) use journal::Journal;
pub(crate) use memory::Memory;

use jtrail_options::Options;
use jtrail_records::spool;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// All parts of a spool.
pub(crate) struct Spool {
    pub(crate) memory: Arc<Memory>,
    pub(crate) journal: Journal,
    pub(crate) commits: Commits,
}

impl Spool {
    /// A spool for the trace at `path`. What a process that is gone left there is gone as well, as its trace is.
    ///
    /// # Errors
    /// When another process has it, or there is no room for all of it.
    pub(crate) fn create(path: &Path, options: &Options) -> io::Result<Self> {
        let folder = spool::folder_of(path);
        let created = Self::create_in(&folder, options);
        if created
            .as_ref()
            .is_err_and(|error| error.kind() != io::ErrorKind::WouldBlock)
        {
            clear(&folder);
        }
        created
    }

    fn create_in(folder: &Path, options: &Options) -> io::Result<Self> {
        match File::open(folder.join(spool::MEMORY)).map(|file| file.try_lock()) {
            Ok(Err(TryLockError::WouldBlock)) => {
                return Err(io::Error::new(
                    io::ErrorKind::WouldBlock,
                    "another process records there",
                ));
            }
            Ok(_) => clear(folder),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        fs::create_dir_all(folder)?;
        let memory = Arc::new(Memory::create(folder, options.buffer_bytes)?);
        Ok(Self {
            journal: Journal::create(folder)?,
            commits: Commits::create(folder, Arc::clone(&memory))?,
            memory,
        })
    }
}

/// Takes a spool away, and its folder if nothing else is in it.
fn clear(folder: &Path) {
    let states = [0, 1].map(spool::state_name);
    for name in [spool::MEMORY, spool::ANNOUNCED, spool::NAMED]
        .into_iter()
        .chain(states)
    {
        let _ = fs::remove_file(folder.join(name)); // it may not be there
    }
    let _ = fs::remove_dir(folder);
}
