//! What the writer is told to do with the trace while the program runs.

use crate::output::Output;
use crate::progress::{Progress, Saved};
use crossbeam_channel::{Receiver, Sender, bounded};
use jtrail_options::{BurstLimit, Options, SaveMoments};
use std::path::PathBuf;
use std::sync::Arc;

/// What becomes of the trace while the program runs on.
pub enum Action {
    /// Collection pauses.
    Pause,
    /// It goes on.
    Resume,
    /// The trace ends here. What happens until the next one is in none.
    End,
    /// A trace begins. Calls that are open are not in it. With a burst, it is for that one alone.
    /// They meet when it has begun, before anything is in it.
    Begin(NextTrace, Option<Burst>, Handshake),
    /// The trace ends here, and another one goes on with the calls that are open, paused if this
    /// one is. They meet when the first one is written, before anything of the second one is.
    Rotate(NextTrace, Handshake),
    /// The file is full, and all that was recorded by then is in it: the trace goes on in another
    /// one.
    Follow,
    /// What is in the buffers becomes a trace, at that moment, where they keep the newest events.
    Save(SaveReason),
    /// The same on command: into a file of that name, or of one that we find.
    SaveTo(Option<PathBuf>, Sender<Result<Saved, String>>),
    /// From here on, a burst: it ends by itself.
    Burst(Burst),
    /// A burst that began by itself, by the number of what began it.
    Triggered(usize),
    /// A text of the user's.
    Mark(String),
    /// The document of a format of totals as it is now, into a file of that name, or of one beside
    /// the trace.
    Document(Option<PathBuf>, Sender<Result<PathBuf, String>>),
}

impl Action {
    /// Returns true if the action is one for a trace that has not ended.
    pub(crate) fn needs_trace(&self) -> bool {
        match self {
            Self::Pause
            | Self::Resume
            | Self::End
            | Self::Rotate(..)
            | Self::Follow
            | Self::Burst(_)
            | Self::Mark(_) => true,
            Self::Begin(..)
            | Self::Save(_)
            | Self::SaveTo(..)
            | Self::Triggered(_)
            | Self::Document(..) => false,
        }
    }
}

/// What became of something that the writer was to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Acted {
    /// It was done.
    Done,
    /// There is no trace for it any more.
    TraceOver,
    /// The writer is gone, or its output failed.
    Off,
}

/// Why the newest events are saved.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SaveReason {
    /// The moment has come.
    Moment(SaveMoments),
    /// A trigger, by its number, and the thread on which it happened, if it did on one.
    Trigger(usize, Option<u32>),
}

/// The writer comes to a point, says how far it has come, and waits there for whoever asked it.
pub struct Handshake {
    reached: Sender<Progress>,
    go_on: Receiver<()>,
}

/// The other side of it.
pub struct Meeting {
    reached: Receiver<Progress>,
    go_on: Sender<()>,
}

impl Handshake {
    /// Both sides of one.
    pub fn new() -> (Self, Meeting) {
        let (sender, reached) = bounded(1);
        let (go_on, receiver) = bounded(1);
        let handshake = Self {
            reached: sender,
            go_on: receiver,
        };
        (handshake, Meeting { reached, go_on })
    }

    /// For the writer. It waits for nobody who is gone.
    pub(crate) fn meet(self, progress: Progress) {
        if self.reached.send(progress).is_ok() {
            let _ = self.go_on.recv();
        }
    }
}

impl Meeting {
    /// Waits until the writer is there, and has it wait during `f`. `None` if it never comes there.
    pub fn meet<T>(self, f: impl FnOnce(Progress) -> T) -> Option<T> {
        let result = f(self.reached.recv().ok()?);
        let _ = self.go_on.send(()); // it waits
        Some(result)
    }
}

/// A part of a trace, or a trace, that ends by itself.
pub struct Burst {
    /// When it ends.
    pub limit: BurstLimit,
    /// The trace ends with it; otherwise, collection pauses.
    pub ends_trace: bool,
    /// Called on the writer's thread when it is over, and no other lasts. Not when it is cut short:
    /// by a pause, or by the trace's end.
    pub over: Box<dyn FnOnce(Progress) + Send>,
}

#[cfg(test)]
impl Burst {
    /// A burst in a trace that is there.
    pub(crate) fn within(limit: BurstLimit) -> Self {
        Self {
            limit,
            ends_trace: false,
            over: Box::new(|_| {}),
        }
    }
}

/// A trace to be begun.
pub struct NextTrace {
    /// As they are for this trace.
    pub options: Arc<Options>,
    /// Where it goes.
    pub output: Output,
    /// The same, for messages.
    pub target: String,
}
