//! Commits: they note how far the trace is written, in two state files that are used in turn.

use super::folder::Folder;
use super::memory::Memory;
use jtrail_records::Named;
use jtrail_records::spool::{State, frame};
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// The writer's part of a spool.
pub struct Commits {
    folder: Folder,
    memory: Arc<Memory>,
    states: [File; 2],
    named: File,
    /// Offsets in `named` at which the current trace's names begin and end.
    names: (u64, u64),
    /// Number of the last committed state.
    number: u64,
    /// Scratch memory for frames.
    bytes: Vec<u8>,
}

impl Commits {
    pub(super) fn new(folder: Folder, memory: Arc<Memory>, named: File, states: [File; 2]) -> Self {
        Self {
            folder,
            memory,
            states,
            named,
            names: (0, 0),
            number: 0,
            bytes: Vec::new(),
        }
    }

    /// Begins a new trace: from now on, ids belong to that trace.
    pub fn begin_trace(&mut self) {
        self.names.0 = self.names.1;
    }

    /// Names the spool after the trace at `path`. The last committed state describes this trace.
    ///
    /// # Errors
    /// When the folder can't get that name. The kind is [`io::ErrorKind::WouldBlock`] if another
    /// process records there.
    pub fn go_to(&mut self, path: &Path) -> io::Result<()> {
        self.folder.go_to(path)
    }

    /// Commits `state`, with the names that were added since the last commit. This function sets
    /// the state's number and its range of names.
    ///
    /// # Errors
    /// When the system does not take the data. The previous state remains valid.
    pub fn commit(&mut self, mut state: State, named: &[Named]) -> io::Result<()> {
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

    /// Unlocks the spool, when recording has ended and the trace is incomplete. The trace can then
    /// be recovered while the process runs on.
    pub fn leave(&self) {
        self.memory.unlock();
    }

    /// Removes the spool's folder, when the trace is complete.
    pub fn remove(self) {
        self.memory.set_state(0);
        self.folder.remove();
    }
}
