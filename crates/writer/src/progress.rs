//! Progress of a trace.

use jtrail_model::Totals;
use std::path::PathBuf;
use std::time::Duration;

/// Progress of a trace.
#[derive(Clone, Copy, Default, Debug)]
pub struct Progress {
    /// Totals of the events in the trace.
    pub totals: Totals,
    /// Number of bytes written.
    pub bytes: u64,
    /// CPU time that the writer has used since its start, in nanoseconds.
    pub cpu: u64,
    /// State of the flight recorder, if there is one.
    pub newest: Option<RingState>,
}

/// State of the flight recorder.
#[derive(Clone, Copy, Default, Debug)]
pub struct RingState {
    /// Age of the oldest event in the buffers.
    pub span: Duration,
    /// Number of records read since the agent started: passed over or saved.
    pub read: u64,
    /// Number of bytes saved.
    pub bytes: u64,
}

/// Events of the flight recorder that were saved as a trace.
#[derive(Debug)]
pub struct Saved {
    /// Path of the trace.
    pub path: PathBuf,
    /// Length of time that the trace covers.
    pub span: Duration,
    /// Totals and size of the trace.
    pub progress: Progress,
}
