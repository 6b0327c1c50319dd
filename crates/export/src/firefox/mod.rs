//! Profiles for the Firefox Profiler (`.firefox.json.gz`).

mod categories;
mod counters;
mod json;
mod markers;
mod samples;
mod sink;
mod tables;
mod thread;
mod write;

use counters::Track;
use jtrail_model::Timestamp;
use tables::Tables;
use thread::Thread;

/// Builds a profile in memory.
#[derive(Debug)]
pub(crate) struct Builder {
    process_id: u64,
    program: String,
    tables: Tables,
    threads: Vec<Thread>,
    /// The thread that stands for the process: collections and marks.
    process: Thread,
    counters: [Track; counters::ALL.len()],
    /// Begins and ends of spans in which the trace was paused.
    pauses: Vec<(i64, Option<i64>)>,
    first: i64,
    latest: i64,
    /// Number of samples, markers and allocations.
    items: u64,
    out: Vec<u8>,
}

impl Default for Builder {
    fn default() -> Self {
        Self {
            process_id: 0,
            program: String::new(),
            tables: Tables::default(),
            threads: Vec::new(),
            process: Thread::default(),
            counters: Default::default(),
            pauses: Vec::new(),
            first: i64::MAX,
            latest: i64::MIN,
            items: 0,
            out: Vec::new(),
        }
    }
}

impl Builder {
    /// Extends the time of the profile.
    #[inline]
    fn see(&mut self, time: Timestamp) {
        self.first = self.first.min(time.0);
        self.latest = self.latest.max(time.0);
    }
}
