//! Calls, one by one and aggregated.

use crate::{ClassId, Duration, MethodId, ThreadId, Timestamp};

/// See [`crate::Event::MethodEnter`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MethodEnter {
    /// The calling thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// The called method.
    pub method: MethodId,
    /// Its declaring class.
    pub class: ClassId,
    /// Number of the call on its thread, from 1; its leave has the same.
    pub ticket: u32,
    /// CPU time of the thread, 0 when not measured.
    pub cpu_time: Duration,
    /// Recorded calls open on the thread, this one included.
    pub stack_depth: i64,
}

/// See [`crate::Event::MethodLeave`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MethodLeave {
    /// The calling thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// The method left.
    pub method: MethodId,
    /// Its declaring class.
    pub class: ClassId,
    /// Ticket of the matching enter.
    pub ticket: u32,
    /// CPU time of the thread, 0 when not measured.
    pub cpu_time: Duration,
    /// An exception ended the call. Formats that don't tell read as `false`.
    pub by_exception: bool,
}

/// See [`crate::Event::AggregatedEnter`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AggregatedEnter {
    /// The calling thread.
    pub thread: ThreadId,
    /// The called method.
    pub method: MethodId,
    /// Own time of all calls at this place of the tree, without callees.
    pub base_time: Duration,
    /// Smallest own time of one call.
    pub min_time: Duration,
    /// Largest own time of one call.
    pub max_time: Duration,
    /// Own CPU time, 0 if not measured.
    pub base_cpu_time: Duration,
    /// Calls counted.
    pub calls: i64,
}

/// See [`crate::Event::AggregatedLeave`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AggregatedLeave {
    /// The calling thread.
    pub thread: ThreadId,
    /// Method of the enter that it closes.
    pub method: MethodId,
}

/// See [`crate::Event::AggregatedDetail`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AggregatedDetail {
    /// The calling thread.
    pub thread: ThreadId,
    /// Method of the [`AggregatedEnter`] that it stands behind.
    pub method: MethodId,
    /// Calls that an exception ended.
    pub exceptions: u64,
    /// CPU time that the profiler itself took for these calls, without callees; 0 if not measured.
    pub overhead: Duration,
}
