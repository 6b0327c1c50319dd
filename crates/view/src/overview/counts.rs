//! What happens in an interval, and a collection.

use crate::slice::Kind;
use jtrail_model::{Generation, Timestamp};
use std::ops::AddAssign;

/// What happens in an interval.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Number of calls that begin.
    pub calls: u64,
    /// Number of allocated objects.
    pub objects: u64,
    /// Bytes of allocated objects.
    pub bytes: u64,
    /// Number of exceptions.
    pub exceptions: u64,
    /// Time blocked on monitors, in ns.
    pub blocked: u64,
    /// Time in `Object.wait` and parked, in ns.
    pub waiting: u64,
    /// CPU time in ns, as far as it is between two readings in the span. 0 in counts of an index.
    pub cpu: u64,
}

impl Counts {
    /// Returns the counts of a wait of so many ns.
    pub(crate) fn of_wait(time: u64, kind: Kind) -> Self {
        let counts = Self::default();
        match kind {
            Kind::Blocked => Self {
                blocked: time,
                ..counts
            },
            _ => Self {
                waiting: time,
                ..counts
            },
        }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.objects = self.objects.saturating_add(other.objects);
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.exceptions = self.exceptions.saturating_add(other.exceptions);
        self.blocked = self.blocked.saturating_add(other.blocked);
        self.waiting = self.waiting.saturating_add(other.waiting);
        self.cpu = self.cpu.saturating_add(other.cpu);
    }
}

/// A garbage collection.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Collection {
    /// The begin; that of the span if it is earlier.
    pub begin: Timestamp,
    /// The end.
    pub end: Timestamp,
    /// The part of the heap.
    pub generation: Generation,
    /// The JVM's name of the cause; empty if unknown.
    pub cause: String,
    /// Bytes in use after the collection; 0 if unknown.
    pub used: i64,
}
