//! Threads: start and end, names, CPU time, carriers, and parking.

use super::{Frame, Text};
use crate::{Duration, ObjectId, ThreadId, Timestamp};

/// The start of a thread, or its first appearance ([`crate::Event::ThreadStart`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ThreadStart<'a> {
    /// New id of the thread.
    pub thread: ThreadId,
    /// Start of the thread, or its first appearance.
    pub time: Timestamp,
    /// Name of the thread's group.
    pub group: Text<'a>,
    /// Name of the parent group; empty at the top.
    pub parent_group: Text<'a>,
    /// The `java.lang.Thread` object, if objects have ids.
    pub object: ObjectId,
    /// Name of the thread at that time.
    pub name: Text<'a>,
}

/// The end of a thread ([`crate::Event::ThreadEnd`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadEnd {
    /// The thread that ended.
    pub thread: ThreadId,
    /// End of the thread.
    pub time: Timestamp,
}

/// A new name of a thread ([`crate::Event::ThreadName`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ThreadName<'a> {
    /// The thread.
    pub thread: ThreadId,
    /// Time at which the name was read.
    pub time: Timestamp,
    /// The new name.
    pub name: Text<'a>,
}

/// CPU time of a thread ([`crate::Event::ThreadCpu`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadCpu {
    /// The thread.
    pub thread: ThreadId,
    /// Time at which the CPU time was read.
    pub time: Timestamp,
    /// User and system time since the start of the thread.
    pub cpu_time: Duration,
}

/// The operating-system thread that runs a thread ([`crate::Event::ThreadOsId`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadOsId {
    /// The thread.
    pub thread: ThreadId,
    /// Time at which the id was read.
    pub time: Timestamp,
    /// The operating system's id of the thread.
    pub os_id: u64,
}

/// CPU time of the process ([`crate::Event::ProcessCpu`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProcessCpu {
    /// Time at which the CPU time was read.
    pub time: Timestamp,
    /// User and system time of all threads since the start of the process.
    pub cpu_time: Duration,
}

/// The mounting of a virtual thread ([`crate::Event::ThreadMount`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadMount {
    /// The virtual thread.
    pub thread: ThreadId,
    /// Time of the event.
    pub time: Timestamp,
    /// The platform thread that runs the virtual thread from now on; none if unknown.
    pub carrier: ThreadId,
}

/// The unmounting of a virtual thread ([`crate::Event::ThreadUnmount`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadUnmount {
    /// The virtual thread.
    pub thread: ThreadId,
    /// Time of the event.
    pub time: Timestamp,
    /// The platform thread that ran the virtual thread; none if unknown.
    pub carrier: ThreadId,
}

/// A thread that is about to park ([`crate::Event::ThreadPark`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ThreadPark<'a> {
    /// The thread.
    pub thread: ThreadId,
    /// Time of the event.
    pub time: Timestamp,
    /// The blocker, for which the thread waits; none if the caller did not pass one, or if objects
    /// have no ids.
    pub object: ObjectId,
    /// Stack, innermost frame first, up to the requested depth.
    pub stack: Vec<Frame<'a>>,
}

/// The return of a thread from parking ([`crate::Event::ThreadUnpark`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ThreadUnpark {
    /// The thread.
    pub thread: ThreadId,
    /// Time of the event.
    pub time: Timestamp,
}
