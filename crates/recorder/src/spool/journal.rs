//! What is announced, written down before the writer gets it.

use crate::memory::Growing;
use crossbeam_channel::Sender;
use jtrail_records::Definition;
use jtrail_records::spool::frame;
use parking_lot::Mutex;
use std::fs::File;

/// A file with all announcements, in the order in which they are sent.
pub struct Journal(Mutex<Pages>);

struct Pages {
    file: Growing,
    /// Room for one.
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

    /// Writes an announcement down and sends it, in one order with all others. Where it can't be
    /// written, nothing that comes behind it is of use: whoever reads the file sees that some are
    /// missing.
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
        let _ = to.send(wrap(definition)); // fails when the writer is gone
    }
}
