//! How far the trace is written, in two files by turns.

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
    /// Bytes of `named` where the trace begins, and where it ends.
    names: (u64, u64),
    number: u64,
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

    /// From here on, ids are those of another trace.
    pub fn begin_trace(&mut self) {
        self.names.0 = self.names.1;
    }

    /// The trace that the last state tells of is, or will be, at that path.
    ///
    /// # Errors
    /// When the folder can't get the trace's name; with [`io::ErrorKind::WouldBlock`], because
    /// another process records there.
    pub fn go_to(&mut self, path: &Path) -> io::Result<()> {
        self.folder.go_to(path)
    }

    /// What the state says is true from now on, with these new names; its number and names are
    /// given here.
    ///
    /// # Errors
    /// When the system does not take it. The state before still counts.
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

    /// Nothing is recorded any more, and the trace is not whole: it may be recovered while the
    /// process runs on.
    pub fn leave(&self) {
        self.memory.unlock();
    }

    /// Takes the folder away: the trace is whole.
    pub fn remove(self) {
        self.memory.set_state(0);
        self.folder.remove();
    }
}
