//! How far the trace is written, in two files by turns.

use super::{Memory, clear};
use jtrail_records::Named;
use jtrail_records::spool::{self, NAMED, State, frame, state_name};
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The writer's part of a spool.
pub(crate) struct Commits {
    folder: PathBuf,
    memory: Arc<Memory>,
    states: [File; 2],
    named: File,
    /// Bytes of `named` where the trace begins, and where it ends.
    names: (u64, u64),
    number: u64,
    bytes: Vec<u8>,
}

impl Commits {
    pub(super) fn create(folder: &Path, memory: Arc<Memory>) -> io::Result<Self> {
        let create = |name| File::create_new(folder.join(name));
        Ok(Self {
            folder: folder.to_owned(),
            memory,
            states: [create(state_name(0))?, create(state_name(1))?],
            named: create(NAMED)?,
            names: (0, 0),
            number: 0,
            bytes: Vec::new(),
        })
    }

    /// From here on, ids are those of another trace.
    pub(crate) fn begin_trace(&mut self) {
        self.names.0 = self.names.1;
    }

    /// The trace that the last state tells of is, or will be, at that path.
    ///
    /// # Errors
    /// When the folder can't get the trace's name.
    pub(crate) fn go_to(&mut self, path: &Path) -> io::Result<()> {
        let folder = spool::folder_of(path);
        if folder != self.folder {
            clear(&folder);
            fs::rename(&self.folder, &folder)?;
            self.folder = folder;
        }
        Ok(())
    }

    /// What the state says is true from now on, with these new names; its number and names are given here.
    ///
    /// # Errors
    /// When the system does not take it. The state before still counts.
    pub(crate) fn commit(&mut self, mut state: State, named: &[Named]) -> io::Result<()> {
        if !named.is_empty() {
            self.bytes.clear();
            frame(&named, &mut self.bytes);
            self.named.write_all(&self.bytes)?;
            self.names.1 += self.bytes.len() as u64;
        }
        (state.number, state.named) = (self.number + 1, self.names);
        self.bytes.clear();
        frame(&state, &mut self.bytes);
        self.states[state.number as usize % 2].write_all_at(&self.bytes, 0)?;
        self.memory.set_state(state.number);
        self.number = state.number;
        Ok(())
    }

    /// Nothing is recorded any more, and the trace is not whole: it may be recovered while the process runs on.
    pub(crate) fn leave(&self) {
        self.memory.unlock();
    }

    /// Takes the folder away: the trace is whole.
    pub(crate) fn remove(self) {
        self.memory.set_state(0);
        clear(&self.folder);
    }
}
