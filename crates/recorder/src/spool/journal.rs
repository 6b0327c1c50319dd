//! The journal: definitions are written to a file before the writer receives them.

use crate::memory::Growing;
use crossbeam_channel::Sender;
use jtrail_records::Definition;
use jtrail_records::spool::frame;
use parking_lot::Mutex;
use std::fs::File;

/// A file with all definitions, in the order in which they are sent.
pub struct Journal(Mutex<Pages>);

struct Pages {
    file: Growing,
    /// Scratch memory for one definition.
    bytes: Vec<u8>,
    has_failed: bool,
}

impl Journal {
    pub(super) fn new(file: File) -> Self {
        Self(Mutex::new(Pages {
            file: Growing::new(file),
            bytes: Vec::new(),
            has_failed: false,
        }))
    }

    /// Writes a definition to the journal and sends it, in the same order as all others. After a
    /// failed write, no further definition is written: a reader could not use definitions that
    /// follow a missing one.
    pub fn send<M>(&self, definition: Definition, wrap: fn(Definition) -> M, to: &Sender<M>) {
        let mut pages = self.0.lock();
        let Pages {
            file,
            bytes,
            has_failed,
        } = &mut *pages;
        if !*has_failed {
            bytes.clear();
            frame(&definition, bytes);
            *has_failed = file.write(bytes).is_err();
        }
        let _ = to.send(wrap(definition)); // fails if the writer has ended
    }
}
