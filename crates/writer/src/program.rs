//! What the writer needs of the program that is traced, and whom it tells how its trace gets on.

use crate::progress::{Progress, Saved};
use jtrail_options::Filter;
use jtrail_records::ownership::FileId;

/// The program that is traced, as far as the writer asks for it. Asked on the writer's thread.
pub trait Program: Send + Sync {
    /// Which methods are traced now, if that has changed since the options were read.
    fn filter(&self) -> Option<Filter>;

    /// Has the program tell again of each object that it mentions from now on. `false` if it tells
    /// of none.
    fn redefine_objects(&self) -> bool;

    /// What the counters of lines say, by their numbers, where lines are counted.
    fn line_counters(&self) -> Option<Vec<u64>>;
}

/// Who wants to know how the trace gets on. Told on the writer's thread, which goes on when the
/// call returns.
pub trait Observer: Send + Sync {
    /// Recording goes on, or pauses, as it was asked to.
    fn switched(&self, is_recording: bool);

    /// Recording goes on because a burst has begun by itself, or pauses because none lasts any
    /// more.
    fn burst(&self, is_recording: bool);

    /// The file is full with so much in it; the trace goes on in that one.
    fn file_full(&self, progress: Progress, target: &str, file: Option<FileId>);

    /// The newest events are a trace now, for that reason.
    fn saved(&self, reason: &str, saved: &Saved);

    /// The output takes no more; the writer ends.
    fn failed(&self, progress: Progress, message: &str);
}
