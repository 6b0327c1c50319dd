//! Interfaces to the traced program, and to the observer of a trace.

use crate::progress::{Progress, Saved};
use jtrail_options::Filter;
use jtrail_records::ownership::FileId;

/// Data of the traced program that the writer needs. The methods are called on the writer's thread.
pub trait Program: Send + Sync {
    /// Returns the current filter, if it has changed since the options were parsed.
    fn filter(&self) -> Option<Filter>;

    /// Makes the program record each object again at its next mention. Returns false if the program
    /// records no objects.
    fn redefine_objects(&self) -> bool;

    /// Returns the values of the line counters, by number; `None` if lines are not counted.
    fn line_counters(&self) -> Option<Vec<u64>>;
}

/// An observer of a trace. The methods are called on the writer's thread, which waits until they
/// return.
pub trait Observer: Send + Sync {
    /// Recording was resumed or paused on request.
    fn switched(&self, is_recording: bool);

    /// Recording was resumed because a trigger began a burst, or paused because no burst is going
    /// on any more.
    fn burst(&self, is_recording: bool);

    /// A file of the trace is full, with the given progress. The trace continues in another file.
    fn file_full(&self, progress: Progress, target: &str, file: Option<FileId>);

    /// The events of the flight recorder were saved, for the given reason.
    fn saved(&self, reason: &str, saved: &Saved);

    /// Writing the output failed; the writer ends.
    fn failed(&self, progress: Progress, message: &str);
}
