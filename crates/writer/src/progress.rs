//! How far the trace has come.

use jtrail_model::Totals;
use std::path::PathBuf;
use std::time::Duration;

/// How far a trace has come.
#[derive(Clone, Copy, Default, Debug)]
pub struct Progress {
    /// What is in it.
    pub totals: Totals,
    /// Bytes written.
    pub bytes: u64,
    /// CPU time that the writer has used since it was started, in ns.
    pub cpu: u64,
    /// Where only the newest events are kept.
    pub newest: Option<RingState>,
}

/// The newest events, and what was before them.
#[derive(Clone, Copy, Default, Debug)]
pub struct RingState {
    /// How far back they go.
    pub span: Duration,
    /// Records that were read since the agent came: passed, or saved.
    pub read: u64,
    /// Bytes that were saved.
    pub bytes: u64,
}

/// The newest events, which are a trace now.
#[derive(Debug)]
pub struct Saved {
    /// Its file.
    pub path: PathBuf,
    /// How far back they go.
    pub span: Duration,
    /// How much that is.
    pub progress: Progress,
}
