//! Threads: their life, names, CPU time, carriers, and parking.

use super::{Frame, Text};
use crate::{Duration, ObjectId, ThreadId, Timestamp};

/// See [`crate::Event::ThreadStart`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ThreadStart<'a> {
    /// New id.
    pub thread: ThreadId,
    /// Start of the thread, or its first sight.
    pub time: Timestamp,
    /// Name of its thread group.
    pub group: Text<'a>,
    /// Name of the group above, empty at the top.
    pub parent_group: Text<'a>,
    /// The `java.lang.Thread`, where objects have ids.
    pub object: ObjectId,
    /// Name at that moment.
    pub name: Text<'a>,
}

/// See [`crate::Event::ThreadEnd`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadEnd {
    /// The thread that ended.
    pub thread: ThreadId,
    /// When it ended.
    pub time: Timestamp,
}

/// See [`crate::Event::ThreadName`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ThreadName<'a> {
    /// The thread.
    pub thread: ThreadId,
    /// When the name was seen.
    pub time: Timestamp,
    /// The new name.
    pub name: Text<'a>,
}

/// See [`crate::Event::ThreadCpu`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadCpu {
    /// The thread.
    pub thread: ThreadId,
    /// When it was read.
    pub time: Timestamp,
    /// User and system time since the thread began.
    pub cpu_time: Duration,
}

/// See [`crate::Event::ThreadOsId`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadOsId {
    /// The thread.
    pub thread: ThreadId,
    /// When it was seen.
    pub time: Timestamp,
    /// The operating system's number of the thread that runs it.
    pub os_id: u64,
}

/// See [`crate::Event::ProcessCpu`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProcessCpu {
    /// When it was read.
    pub time: Timestamp,
    /// User and system time of all threads since the process began.
    pub cpu_time: Duration,
}

/// See [`crate::Event::ThreadMount`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadMount {
    /// The virtual thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// The platform thread that runs it from now on; none if unknown.
    pub carrier: ThreadId,
}

/// See [`crate::Event::ThreadUnmount`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadUnmount {
    /// The virtual thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// The platform thread that ran it; none if unknown.
    pub carrier: ThreadId,
}

/// See [`crate::Event::ThreadPark`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ThreadPark<'a> {
    /// The thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// What it waits for (the blocker), none if the caller did not say or objects have no ids.
    pub object: ObjectId,
    /// Where, innermost frame first, as deep as asked for.
    pub stack: Vec<Frame<'a>>,
}

/// See [`crate::Event::ThreadUnpark`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadUnpark {
    /// The thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
}
