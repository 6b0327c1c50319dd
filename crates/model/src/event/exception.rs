//! Exceptions thrown and caught.

use super::Frame;
use crate::{ClassId, ObjectId, ThreadId, Timestamp};

/// A thrown exception ([`crate::Event::ExceptionThrow`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExceptionThrow<'a> {
    /// The throwing thread.
    pub thread: ThreadId,
    /// Time of the throw.
    pub time: Timestamp,
    /// The exception; none if it has no id.
    pub object: ObjectId,
    /// Class of the exception.
    pub class: ClassId,
    /// Stack, innermost frame first, up to the requested depth; at least one frame.
    pub stack: Vec<Frame<'a>>,
}

/// A caught exception ([`crate::Event::ExceptionCatch`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ExceptionCatch<'a> {
    /// The catching thread.
    pub thread: ThreadId,
    /// Time of the catch.
    pub time: Timestamp,
    /// The exception; none if it has no id.
    pub object: ObjectId,
    /// Class of the exception.
    pub class: ClassId,
    /// The catching method, and the line of its handler.
    pub frame: Frame<'a>,
}

/// Data of the handler that catches an exception ([`crate::Event::CatchDetail`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CatchDetail {
    /// The catching thread.
    pub thread: ThreadId,
    /// Time of the [`ExceptionCatch`].
    pub time: Timestamp,
    /// Index of the first entry of the method's exception table that leads to this handler, from 0
    /// on.
    pub entry: u64,
    /// True if the handler catches all exceptions. Compilers generate such handlers for `finally`
    /// and `synchronized`.
    pub takes_all: bool,
}
