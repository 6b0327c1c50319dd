//! Collections.

use super::Text;
use crate::Timestamp;

/// See [`crate::Event::GcStart`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GcStart {
    /// When.
    pub time: Timestamp,
}

/// See [`crate::Event::GcFinish`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GcFinish {
    /// When.
    pub time: Timestamp,
    /// Heap size in bytes, 0 if unknown.
    pub total_space: i64,
    /// Bytes in use, 0 if unknown.
    pub used_space: i64,
    /// Live objects, 0 if unknown.
    pub used_objects: i64,
}

/// Which part of the heap a collection was for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Generation {
    /// The JVM does not say.
    #[default]
    Unknown,
    /// Young objects only.
    Young,
    /// All, or the old ones.
    Full,
    /// A short stop within a collection that runs beside the program.
    Concurrent,
}

impl Generation {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Unknown, Self::Young, Self::Full, Self::Concurrent];

    /// A word for it, in small letters.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Young => "young",
            Self::Full => "full",
            Self::Concurrent => "concurrent",
        }
    }
}

/// See [`crate::Event::GcDetail`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GcDetail<'a> {
    /// When it was read.
    pub time: Timestamp,
    /// The JVM's name of the collector; empty if unknown.
    pub collector: Text<'a>,
    /// The JVM's words for the cause (`System.gc()`); empty if unknown.
    pub cause: Text<'a>,
    /// Which part of the heap.
    pub generation: Generation,
}
