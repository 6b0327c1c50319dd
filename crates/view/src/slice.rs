//! Calls and waits of a thread.

use jtrail_model::Timestamp;

/// The begin of a slice that begins before the segments that were read. It is not known.
pub(crate) const EARLIER: Timestamp = Timestamp(i64::MIN);

/// The end of a slice that ends after the segments that were read, or never.
pub(crate) const LATER: Timestamp = Timestamp(i64::MAX);

/// What a thread does in a slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It calls a method, which returns or has not ended.
    Call,
    /// It calls a method, which an exception ends.
    Thrown,
    /// It is blocked on a monitor.
    Blocked,
    /// It waits in `Object.wait`.
    Waiting,
    /// It is parked.
    Parked,
    /// Nothing is known: a part of the trace is missing. Only pictures have it.
    Missing,
}

impl Kind {
    /// Returns true for a call.
    pub fn is_call(self) -> bool {
        matches!(self, Self::Call | Self::Thrown)
    }
}

/// A call or a wait of a thread. Slices of a thread nest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slice {
    /// The begin; the smallest time if it is unknown.
    pub begin: Timestamp,
    /// The end; the largest time if it is unknown.
    pub end: Timestamp,
    /// Number of the called method; [`crate::NO_METHOD`] for a wait.
    pub method: u32,
    /// Number of calls that the slice is within.
    pub level: u32,
    /// What the thread does.
    pub kind: Kind,
}

impl Slice {
    /// Returns true if a part of the slice lies in a span, which has its begin, but not its end.
    pub fn overlaps(&self, [from, until]: [Timestamp; 2]) -> bool {
        self.begin < until && (self.end > from || self.begin >= from)
    }

    /// Returns true for a wait that begins before the segments that were read.
    pub(crate) fn is_earlier_wait(&self) -> bool {
        self.begin == EARLIER && !self.kind.is_call()
    }
}
