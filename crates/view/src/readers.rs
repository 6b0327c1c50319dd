//! The readers of segments of a trail.

use jtrail_formats::trail::SegmentReader;
use parking_lot::{Condvar, Mutex};
use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::thread;

/// The readers of segments of a trail: a few more than there are processors, so that segments that
/// are read at the same time take little memory. Who has a reader must not wait for another one.
#[derive(Debug)]
pub(crate) struct Readers {
    path: PathBuf,
    state: Mutex<State>,
    is_free: Condvar,
}

struct State {
    free: Vec<SegmentReader<File>>,
    /// Number of readers that may still be made.
    more: usize,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("free", &self.free.len())
            .field("more", &self.more)
            .finish()
    }
}

/// A reader that goes back when it is dropped.
pub(crate) struct Borrowed<'r> {
    readers: &'r Readers,
    /// There is one until it is dropped.
    reader: Option<SegmentReader<File>>,
}

impl Readers {
    pub(crate) fn new(path: PathBuf) -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        Self {
            path,
            state: Mutex::new(State {
                free: Vec::new(),
                more: processors + 1,
            }),
            is_free: Condvar::new(),
        }
    }

    /// Returns a reader; waits until one is free.
    ///
    /// # Errors
    /// If the file can't be opened.
    pub(crate) fn take(&self) -> io::Result<Borrowed<'_>> {
        let state = &mut self.state.lock();
        let reader = loop {
            if let Some(reader) = state.free.pop() {
                break reader;
            }
            if state.more > 0 {
                let reader = SegmentReader::new(File::open(&self.path)?)?;
                state.more -= 1;
                break reader;
            }
            self.is_free.wait(state);
        };
        Ok(Borrowed {
            readers: self,
            reader: Some(reader),
        })
    }
}

impl Deref for Borrowed<'_> {
    type Target = SegmentReader<File>;

    fn deref(&self) -> &SegmentReader<File> {
        self.reader.as_ref().expect("it is dropped last")
    }
}

impl DerefMut for Borrowed<'_> {
    fn deref_mut(&mut self) -> &mut SegmentReader<File> {
        self.reader.as_mut().expect("it is dropped last")
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        let state = &mut self.readers.state.lock();
        state.free.extend(self.reader.take());
        self.readers.is_free.notify_one();
    }
}
