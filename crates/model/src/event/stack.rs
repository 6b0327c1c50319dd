//! Stacks and samples.

use super::Text;
use crate::{ThreadId, Timestamp};
use std::num::NonZeroU64;

/// One frame of a stack. In lists of frames, the innermost comes first.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frame<'a> {
    /// `class.method(descriptor)result`, for instance `java.lang.Object.wait(J)V`.
    pub method: Text<'a>,
    /// Source line; -1 if unknown, -2 in a native method.
    pub line: i64,
}

/// State of a thread when it is sampled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ThreadState {
    /// The thread runs, or is ready to run.
    #[default]
    Runnable,
    /// The thread blocks on a monitor that another thread holds.
    Blocked,
    /// The thread waits in `Object.wait`.
    Waiting,
    /// The thread is parked.
    Parked,
    /// The thread sleeps.
    Sleeping,
}

impl ThreadState {
    /// All states.
    pub const ALL: [Self; 5] = [
        Self::Runnable,
        Self::Blocked,
        Self::Waiting,
        Self::Parked,
        Self::Sleeping,
    ];

    /// Returns the name of the state, in lower case.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Runnable => "runnable",
            Self::Blocked => "blocked",
            Self::Waiting => "waiting",
            Self::Parked => "parked",
            Self::Sleeping => "sleeping",
        }
    }
}

/// Number of successive samples with the same stack: at least 1, and 1 by default.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticks(pub NonZeroU64);

impl Ticks {
    /// Returns the number, or `None` for 0.
    pub const fn new(count: u64) -> Option<Self> {
        match NonZeroU64::new(count) {
            Some(count) => Some(Self(count)),
            None => None,
        }
    }

    /// Returns the number.
    pub const fn get(self) -> u64 {
        self.0.get()
    }
}

impl Default for Ticks {
    fn default() -> Self {
        Self(NonZeroU64::MIN)
    }
}

/// A sample of a thread's stack ([`crate::Event::Sample`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sample<'a> {
    /// The sampled thread.
    pub thread: ThreadId,
    /// Time of the last of these samples.
    pub time: Timestamp,
    /// State of the thread.
    pub state: ThreadState,
    /// Number of successive samples that found this stack.
    pub ticks: Ticks,
    /// Stack, innermost frame first, up to the requested depth.
    pub stack: Vec<Frame<'a>>,
}

/// Sum over samples with a common stack ([`crate::Event::SampleSum`]).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SampleSum<'a> {
    /// The sampled thread.
    pub thread: ThreadId,
    /// End of the interval whose samples are summed.
    pub time: Timestamp,
    /// Depth of the frame: 1 for an outermost frame. The caller of a frame with depth `n` is the
    /// last preceding frame with depth `n - 1`. If there is none, readers reduce the depth until
    /// there is one.
    pub depth: u64,
    /// The frame. Its method may have `()` in place of the descriptor if that is unknown.
    pub frame: Frame<'a>,
    /// Number of samples that ended in this frame while the thread ran or was ready to run.
    pub runnable: u64,
    /// Number of samples that ended in this frame, in any state of the thread.
    pub all: u64,
}
