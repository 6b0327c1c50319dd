//! Commands from the agent to the writer's thread.

use crate::action::{Acted, Action};
use crossbeam_channel::Sender;
use jtrail_records::ownership::FileId;

/// The first trace, which begins when the JVM starts the program.
pub struct FirstTrace {
    /// Name of its output.
    pub target: String,
    /// Identity of its file, if it is a regular one.
    pub file: Option<FileId>,
}

pub(crate) enum Command {
    /// Opens the file of the first trace. Answers with the trace, or with the reason for which its
    /// file can't be opened.
    Open(Sender<Result<FirstTrace, String>>),
    /// The JVM is live. Recording began at that tick.
    Live(u64),
    /// Carries out an action after all records before that tick are written, and sends the result.
    At(u64, Action, Sender<Acted>),
    Stop,
}
