//! Monitor events: waiting on monitors, and blocking on them.

use super::Frame;
use crate::{ObjectId, ThreadId, Timestamp};

/// The start of a wait on a monitor ([`crate::Event::MonitorWait`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MonitorWait<'a> {
    /// The waiting thread.
    pub thread: ThreadId,
    /// Time of the event.
    pub time: Timestamp,
    /// Object of the monitor; none if it has no id.
    pub object: ObjectId,
    /// Limit in milliseconds; 0 for none.
    pub timeout_ms: i64,
    /// Stack, up to the requested depth.
    pub stack: Vec<Frame<'a>>,
}

/// The end of a wait on a monitor ([`crate::Event::MonitorWaited`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MonitorWaited<'a> {
    /// The waiting thread.
    pub thread: ThreadId,
    /// Time of the event.
    pub time: Timestamp,
    /// Object of the monitor; none if it has no id.
    pub object: ObjectId,
    /// 1 if the limit ended the wait, otherwise 0.
    pub timed_out: i64,
    /// Stack, up to the requested depth.
    pub stack: Vec<Frame<'a>>,
}

/// A thread that blocks on a monitor ([`crate::Event::MonitorContendedEnter`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MonitorContendedEnter<'a> {
    /// The blocked thread.
    pub thread: ThreadId,
    /// Time of the event.
    pub time: Timestamp,
    /// Object of the monitor; none if it has no id.
    pub object: ObjectId,
    /// Thread that holds the monitor; none if unknown.
    pub owner: ThreadId,
    /// Stack, up to the requested depth.
    pub stack: Vec<Frame<'a>>,
}

/// A thread that got the monitor it blocked on ([`crate::Event::MonitorContendedEntered`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MonitorContendedEntered<'a> {
    /// The thread that got the monitor.
    pub thread: ThreadId,
    /// Time of the event.
    pub time: Timestamp,
    /// Object of the monitor; none if it has no id.
    pub object: ObjectId,
    /// Stack, up to the requested depth.
    pub stack: Vec<Frame<'a>>,
}
