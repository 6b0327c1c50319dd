//! A fake program and a fake observer.

use crate::{Observer, Program, Progress, Saved};
use jtrail_options::Filter;
use jtrail_records::ownership::FileId;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// A fake program without line counters, whose filter does not change. It is also an observer.
#[derive(Default)]
pub(super) struct Fake {
    /// Number of calls of [`Program::redefine_objects`].
    pub(super) asked: AtomicU32,
    /// Notifications of the observer.
    reported: Mutex<Vec<String>>,
}

impl Fake {
    pub(super) fn reported(&self) -> Vec<String> {
        std::mem::take(&mut self.reported.lock())
    }

    fn report(&self, what: String) {
        self.reported.lock().push(what);
    }
}

impl Program for Fake {
    fn filter(&self) -> Option<Filter> {
        None
    }

    fn redefine_objects(&self) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed);
        true
    }

    fn line_counters(&self) -> Option<Vec<u64>> {
        None
    }
}

impl Observer for Fake {
    fn switched(&self, is_recording: bool) {
        self.report(format!("switched {is_recording}"));
    }

    fn burst(&self, is_recording: bool) {
        self.report(format!("burst {is_recording}"));
    }

    fn file_full(&self, progress: Progress, target: &str, file: Option<FileId>) {
        assert!(progress.bytes > 0 && file.is_some(), "{progress:?}");
        let name = target.rsplit('/').next().unwrap_or_default();
        self.report(format!("on in {name}"));
    }

    fn saved(&self, reason: &str, _saved: &Saved) {
        self.report(format!("saved: {reason}"));
    }

    fn failed(&self, _progress: Progress, message: &str) {
        self.report(format!("failed: {message}"));
    }
}
