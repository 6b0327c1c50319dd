//! Actions of the writer on the trace while the program runs.

use crate::output::Output;
use crate::progress::{Progress, Saved};
use crossbeam_channel::{Receiver, Sender, bounded};
use jtrail_options::{BurstLimit, Options, SaveMoments};
use std::path::PathBuf;
use std::sync::Arc;

/// An action on the trace, requested while the program runs.
pub enum Action {
    /// Pauses the trace.
    Pause,
    /// Resumes the trace.
    Resume,
    /// Ends the trace. Events until the next trace are in no trace.
    End,
    /// Begins a trace without the calls that are open. With a burst, the trace consists of that
    /// burst. The writer waits at the handshake after the trace has begun, before it writes any
    /// event.
    Begin(NextTrace, Option<Burst>, Handshake),
    /// Ends the trace, and continues with the open calls in another trace. The new trace is paused
    /// if the old one is. The writer waits at the handshake after the old trace is complete, before
    /// it writes the new one.
    Rotate(NextTrace, Handshake),
    /// Continues the trace in another file. The current file is full, and contains all records up
    /// to the action's tick.
    Follow,
    /// Saves the events in the buffers of a flight recorder as a trace.
    Save(SaveReason),
    /// Like [`Self::Save`], on command, to the file with that name, or to one whose name the writer
    /// chooses.
    SaveTo(Option<PathBuf>, Sender<Result<Saved, String>>),
    /// Begins a burst, which ends by itself.
    Burst(Burst),
    /// Begins the burst of the trigger with that number.
    Triggered(usize),
    /// Writes a text of the user.
    Mark(String),
    /// Writes the current document of a format of totals, to the file with that name, or to one
    /// beside the trace.
    Document(Option<PathBuf>, Sender<Result<PathBuf, String>>),
}

impl Action {
    /// Returns true if the action requires a trace that has not ended.
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

/// Result of an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Acted {
    /// The action was carried out.
    Done,
    /// The trace has ended.
    TraceOver,
    /// The writer has ended, or its output failed.
    Off,
}

/// Reason for saving the flight recorder's events.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SaveReason {
    /// A moment that the options name.
    Moment(SaveMoments),
    /// The trigger with that number fired, on the thread with the given number; `None` for a
    /// trigger that fires by time.
    Trigger(usize, Option<u32>),
}

/// The writer's side of a rendezvous: the writer reaches a point, reports its progress, and waits
/// there for the requester.
pub struct Handshake {
    reached: Sender<Progress>,
    go_on: Receiver<()>,
}

/// The requester's side of a rendezvous with the writer.
pub struct Meeting {
    reached: Receiver<Progress>,
    go_on: Sender<()>,
}

impl Handshake {
    /// Returns both sides.
    pub fn new() -> (Self, Meeting) {
        let (sender, reached) = bounded(1);
        let (go_on, receiver) = bounded(1);
        let handshake = Self {
            reached: sender,
            go_on: receiver,
        };
        (handshake, Meeting { reached, go_on })
    }

    /// For the writer: reports that the point is reached, and waits for the requester. Does not
    /// wait if the requester has gone away.
    pub(crate) fn meet(self, progress: Progress) {
        if self.reached.send(progress).is_ok() {
            let _ = self.go_on.recv();
        }
    }
}

impl Meeting {
    /// Waits until the writer reaches the point, and runs `f` while the writer waits. Returns
    /// `None` if the writer never gets there.
    pub fn meet<T>(self, f: impl FnOnce(Progress) -> T) -> Option<T> {
        let result = f(self.reached.recv().ok()?);
        let _ = self.go_on.send(()); // the writer waits for this
        Some(result)
    }
}

/// A burst: a part of a trace, or a whole trace, that ends by itself.
pub struct Burst {
    /// Time or number of events after which the burst ends.
    pub limit: BurstLimit,
    /// True if the trace ends with the burst. Otherwise the trace is paused.
    pub ends_trace: bool,
    /// Called on the writer's thread when the burst is over and no other burst is going on. Not
    /// called if a pause or the end of the trace cuts the burst short.
    pub over: Box<dyn FnOnce(Progress) + Send>,
}

#[cfg(test)]
impl Burst {
    /// Returns a burst in an existing trace.
    pub(crate) fn within(limit: BurstLimit) -> Self {
        Self {
            limit,
            ends_trace: false,
            over: Box::new(|_| {}),
        }
    }
}

/// A trace that is to begin.
pub struct NextTrace {
    /// Options of the trace.
    pub options: Arc<Options>,
    /// Output of the trace.
    pub output: Output,
    /// Name of the output, for messages.
    pub target: String,
}
