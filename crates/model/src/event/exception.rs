//! Exceptions thrown and caught.

use super::Frame;
use crate::{ClassId, ObjectId, ThreadId, Timestamp};

/// See [`crate::Event::ExceptionThrow`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExceptionThrow<'a> {
    /// The throwing thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// The exception, none if it has no id.
    pub object: ObjectId,
    /// Class of the exception.
    pub class: ClassId,
    /// Where, innermost frame first, as deep as asked for; at least one frame.
    pub stack: Vec<Frame<'a>>,
}

/// See [`crate::Event::ExceptionCatch`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExceptionCatch<'a> {
    /// The catching thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// The exception, none if it has no id.
    pub object: ObjectId,
    /// Class of the exception.
    pub class: ClassId,
    /// The catching method, and the line of its handler.
    pub frame: Frame<'a>,
}

/// See [`crate::Event::CatchDetail`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CatchDetail {
    /// The catching thread.
    pub thread: ThreadId,
    /// When: the time of the [`ExceptionCatch`].
    pub time: Timestamp,
    /// The first entry of the method's exception table, from 0, that leads to this handler.
    pub entry: u64,
    /// Whether it takes whatever is thrown: so compilers make `finally` and `synchronized`.
    pub takes_all: bool,
}
