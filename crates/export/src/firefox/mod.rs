//! Profiles for the Firefox Profiler (`.firefox.json.gz`): what <https://profiler.firefox.com> and
//! `profiler-cli` read.
//!
//! A profile is a JSON object of Mozilla's *processed profile format*, compressed by gzip. Its
//! version is 66; later viewers convert it. Its order is `meta`, `counters`, `shared`, `threads`.
//!
//! The format is made of columns, so a profile is built in memory: some 7 bytes for a sample, 40
//! and the data for a marker, 24 for a row of allocations, 40 for a call path. In the file, a
//! sample has some 20 to 25 bytes, or 2 to 6 with compression.
//!
//! | Module | Contents |
//! |---|---|
//! | `sink` | what becomes samples, markers and counters |
//! | `thread`, `samples`, `markers`, `counters` | the tables of threads, and counters |
//! | `tables` | the tables that threads share: strings, functions, frames, stacks |
//! | `categories` | categories of frames and markers |
//! | `write`, `json` | the profile as a whole, and its text |
//!
//! # Times
//!
//! `meta.startTime` is a whole millisecond, at or before the first time of the trace. All times are
//! milliseconds since then, with six decimals, so that nanoseconds are exact. Times of samples are
//! written as differences (`timeDeltas`).
//!
//! If the export has several files, each begins where the preceding one ends, and so do its
//! threads.
//!
//! # Samples
//!
//! A thread has a sample for each stretch of time in which its stack stays the same, with the
//! length of the stretch as weight (`tracing-ms`). So self and total times by call path are exact.
//! Successive stretches with one stack are one sample: the viewer cannot tell two calls of a method
//! apart if no time passes between them. Numbers of calls are not in the format.
//!
//! | Stretch | Stack | Weight |
//! |---|---|---|
//! | in a call | the open calls | length |
//! | in a wait within a call | the same functions; the innermost frame has the wait's category | length |
//! | in a wait outside of calls | a root `Parked`, `Object.wait` or `Blocked on a monitor` | length |
//! | outside of calls | a root `(no call)` of the category "Idle" | 0 |
//! | calls that were recorded as sums | their call path | their self time |
//! | the caller of such calls | its call path | what they took, negative |
//!
//! The last two take no time of the time line. A stretch of at least a 4000th of the profile has
//! two samples, the second one for its last nanosecond: the viewer's graph draws a sample from
//! half-way to the preceding one until half-way to the following one.
//!
//! # Frames
//!
//! A function is a method, named like `Shop.pay(Order, int)`. Its package is the function's
//! resource, which the viewer shows beside the name, and can collapse.
//!
//! | Category | Colour | Frames |
//! |---|---|---|
//! | Application | blue | methods of other classes than the JDK's |
//! | JDK | light blue | methods of `java`, `javax`, `jdk`, `sun`, `com.sun` |
//! | Blocked on a monitor | red | calls that are blocked |
//! | Waiting | dark grey | calls in `Object.wait`, or parked (subcategories) |
//! | Garbage collection | purple | collections |
//! | Other | grey | none; the viewer shows calls so that both run and wait |
//! | Idle | none | `(no call)` |
//!
//! # Threads
//!
//! The first thread stands for the process (`isMainThread`), because the viewer shows a process as
//! its main thread. It has the collections as samples and markers, and the marks. After it come the
//! threads with calls, with waits, and with markers or allocations only. Other threads are left
//! out. The id of a thread is that of the trace. A thread without name is `virtual thread 7` or
//! `thread 7`. At first, the viewer shows the 20 threads that ran code for the longest time.
//!
//! # Markers
//!
//! | Marker | Data |
//! |---|---|
//! | Blocked on a monitor | class and number of the object, owner, stack |
//! | Object.wait | class and number of the object, time limit, stack |
//! | Parked | class and number of the blocker, stack |
//! | Throw, Catch | class and number of the exception, stack with lines |
//! | Sample | state of the thread, number of successive samples, stack with lines |
//! | Garbage collection | kind, collector, cause, bytes in use after it |
//! | Mark | text: marks, and notes on what is missing |
//!
//! # Counters and allocations
//!
//! Counters are heap used, allocation rate, CPU of the process and live threads. The viewer shows
//! the changes of a counter within the visible range. The table `nativeAllocations` of a thread has
//! the allocated bytes by call path; allocations with one stack within a millisecond are one row.
//!
//! Pauses of the trace are `pausedRanges`. The format has no place for CPU times of calls.

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
    /// The end of the preceding file, if there is one.
    file_start: Option<Timestamp>,
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
            file_start: None,
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
    fn extend_time(&mut self, time: Timestamp) {
        self.first = self.first.min(time.0);
        self.latest = self.latest.max(time.0);
    }
}

#[cfg(test)]
mod tests;
