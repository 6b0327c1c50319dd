//! Stacks, and the samples that are taken of them.

use super::Text;
use crate::{ThreadId, Timestamp};
use std::num::NonZeroU64;

/// One frame of a stack, innermost first in the lists that hold it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Frame<'a> {
    /// `class.method(descriptor)result`, for instance `java.lang.Object.wait(J)V`.
    pub method: Text<'a>,
    /// Source line, -1 if unknown, -2 in a native method.
    pub line: i64,
}

/// What a thread does when it is sampled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum ThreadState {
    /// It runs, or could run.
    #[default]
    Runnable,
    /// It wants to enter a monitor that another thread holds.
    Blocked,
    /// It waits in `Object.wait`.
    Waiting,
    /// It is parked.
    Parked,
    /// It sleeps.
    Sleeping,
}

impl ThreadState {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Runnable,
        Self::Blocked,
        Self::Waiting,
        Self::Parked,
        Self::Sleeping,
    ];

    /// A word for it, in small letters.
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

/// How many samples in a row found the same: 1 at least, and 1 by default.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Ticks(pub NonZeroU64);

impl Ticks {
    /// So many; `None` for 0.
    pub const fn new(count: u64) -> Option<Self> {
        match NonZeroU64::new(count) {
            Some(count) => Some(Self(count)),
            None => None,
        }
    }

    /// As a number.
    pub const fn get(self) -> u64 {
        self.0.get()
    }
}

impl Default for Ticks {
    fn default() -> Self {
        Self(NonZeroU64::MIN)
    }
}

/// See [`crate::Event::Sample`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sample<'a> {
    /// The sampled thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// What it did.
    pub state: ThreadState,
    /// Samples in a row that found this stack; the time is that of the last of them.
    pub ticks: Ticks,
    /// Its stack, innermost frame first, as deep as asked for.
    pub stack: Vec<Frame<'a>>,
}

/// See [`crate::Event::SampleSum`].
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SampleSum<'a> {
    /// The sampled thread.
    pub thread: ThreadId,
    /// Up to when samples are added up.
    pub time: Timestamp,
    /// 1 for an outermost frame. A deeper one is called by the last of the depth above that came
    /// before it; where there is none, it is as deep as it can be.
    pub depth: u64,
    /// The frame. Its method may have `()` in place of a descriptor, where that is not known.
    pub frame: Frame<'a>,
    /// Samples that ended in this frame while the thread ran or could run.
    pub runnable: u64,
    /// Samples that ended in this frame, whatever the thread did.
    pub all: u64,
}
