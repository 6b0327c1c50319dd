//! What the agent's end of the writer asks of its thread.

use crate::action::{Acted, Action};
use crossbeam_channel::Sender;
use jtrail_records::ownership::FileId;

/// The first trace, which begins when the JVM runs the program.
pub struct FirstTrace {
    /// Where it goes.
    pub target: String,
    /// Which file that is, if it is a regular one.
    pub file: Option<FileId>,
}

pub(crate) enum Command {
    /// The answer comes when the first trace has its file, or is why it has none.
    Open(Sender<Result<FirstTrace, String>>),
    /// With the tick at which recording began.
    Live(u64),
    /// Something to do when all is written that happened before this tick; and whom to tell then.
    At(u64, Action, Sender<Acted>),
    Stop,
}
