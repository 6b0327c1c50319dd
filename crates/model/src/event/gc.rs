//! Garbage collections.

use super::Text;
use crate::Timestamp;
use serde::{Deserialize, Serialize};

/// The start of a garbage collection ([`crate::Event::GcStart`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GcStart {
    /// Start of the collection.
    pub time: Timestamp,
}

/// The end of a garbage collection ([`crate::Event::GcFinish`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GcFinish {
    /// End of the collection.
    pub time: Timestamp,
    /// Size of the heap in bytes; 0 if unknown.
    pub total_space: i64,
    /// Bytes in use; 0 if unknown.
    pub used_space: i64,
    /// Number of live objects; 0 if unknown.
    pub used_objects: i64,
}

/// The part of the heap that was collected.
#[derive(
    Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize,
)]
pub enum Generation {
    /// Unknown.
    #[default]
    Unknown,
    /// Young objects only.
    Young,
    /// All objects, or the old ones.
    Full,
    /// No part: a short pause within a collection that runs concurrently with the program.
    Concurrent,
}

impl Generation {
    /// All generations.
    pub const ALL: [Self; 4] = [Self::Unknown, Self::Young, Self::Full, Self::Concurrent];

    /// Returns the name of the generation, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Young => "young",
            Self::Full => "full",
            Self::Concurrent => "concurrent",
        }
    }
}

/// Details of a garbage collection ([`crate::Event::GcDetail`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GcDetail<'a> {
    /// Time at which the details were read.
    pub time: Timestamp,
    /// The JVM's name of the collector; empty if unknown.
    pub collector: Text<'a>,
    /// The JVM's name of the cause (`System.gc()`); empty if unknown.
    pub cause: Text<'a>,
    /// The part of the heap that was collected.
    pub generation: Generation,
}
