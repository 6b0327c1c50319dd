//! Waiting for monitors and on them.

use super::Frame;
use crate::{ObjectId, ThreadId, Timestamp};

/// See [`crate::Event::MonitorWait`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MonitorWait<'a> {
    /// The waiting thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// The monitor's object, none if it has no id.
    pub object: ObjectId,
    /// Limit in milliseconds, 0 for none.
    pub timeout_ms: i64,
    /// Where, as deep as asked for.
    pub stack: Vec<Frame<'a>>,
}

/// See [`crate::Event::MonitorWaited`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MonitorWaited<'a> {
    /// The waiting thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// The monitor's object, none if it has no id.
    pub object: ObjectId,
    /// 1 if the limit ended the wait, else 0.
    pub timed_out: i64,
    /// Where, as deep as asked for.
    pub stack: Vec<Frame<'a>>,
}

/// See [`crate::Event::MonitorContendedEnter`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MonitorContendedEnter<'a> {
    /// The blocked thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// The monitor's object, none if it has no id.
    pub object: ObjectId,
    /// Thread that holds the monitor, none if unknown.
    pub owner: ThreadId,
    /// Where, as deep as asked for.
    pub stack: Vec<Frame<'a>>,
}

/// See [`crate::Event::MonitorContendedEntered`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MonitorContendedEntered<'a> {
    /// The thread that got the monitor.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// The monitor's object, none if it has no id.
    pub object: ObjectId,
    /// Where, as deep as asked for.
    pub stack: Vec<Frame<'a>>,
}
