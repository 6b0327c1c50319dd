//! What all formats have in common: the traits of encoders and decoders, and what a decoder
//! returns.

use crate::DropCount;
use jtrail_model::{CallRun, Calls, Event, MethodEnter};
use std::ops::ControlFlow;

/// Turns events into the bytes of one format.
///
/// The caller orders the events: definitions before use, and what else the format requires. An
/// encoder keeps only the state that its format needs.
pub trait Encode: Send {
    /// Appends what stands before the first event.
    fn begin(&mut self, out: &mut Vec<u8>);

    /// Appends one event. What the format has no field for is counted in [`Self::dropped`].
    fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>);

    /// Appends calls of one thread: the bytes that [`Self::event`] appends for each, in less time
    /// if the format is made for that.
    fn calls(&mut self, calls: &Calls<'_>, out: &mut Vec<u8>) {
        for event in calls.events() {
            self.event(&event, out);
        }
    }

    /// Like [`Self::calls`], for calls with numbers of methods. All runs of an encoder are of one
    /// program, so a number stands for one method.
    fn run(&mut self, run: &CallRun<'_>, out: &mut Vec<u8>) {
        self.calls(&run.calls(&mut Vec::new()), out);
    }

    /// Appends a call that has no enter event, because it is open when the trace begins or resumes.
    /// The outermost call of a thread comes first. Its leave is an event like any other. Only
    /// JinsightLive has a field for such calls; other encoders must get neither of the two.
    fn under_way(&mut self, _call: &MethodEnter, _out: &mut Vec<u8>) {}

    /// Appends what stands after the last event.
    fn end(&mut self, out: &mut Vec<u8>);

    /// Like [`Self::end`], but appends a part at a time if that is much. Returns true if more
    /// follows.
    fn end_part(&mut self, out: &mut Vec<u8>) -> bool {
        self.end(out);
        false
    }

    /// Returns true if [`Self::end`] writes events that are pending. It must then be called for a
    /// truncated trace, too.
    fn holds_back(&self) -> bool {
        false
    }

    /// Marks the trace as truncated: [`Self::end`] appends no end of a whole trace, if the format
    /// has one.
    fn break_off(&mut self) {}

    /// Appends what is pending only because more of its kind may follow, so that the trace of a
    /// program that pauses is complete up to then.
    fn flush(&mut self, _out: &mut Vec<u8>) {}

    /// Appends what is pending only until its outcome is known, if the end of the trace does not
    /// bring the outcome.
    fn settle(&mut self, _out: &mut Vec<u8>) {}

    /// Returns an upper bound of the bytes that [`Self::flush`] would append.
    fn waiting(&self) -> usize {
        0
    }

    /// Returns a copy if the format is written by [`Self::end`] alone. Ended, the copy writes the
    /// trace as it would be if it ended now.
    fn copy(&self) -> Option<Box<dyn Encode>> {
        None
    }

    /// Returns what the encoder dropped so far, by kind: the format has no field for it.
    fn dropped(&self) -> Vec<DropCount> {
        Vec::new()
    }

    /// Returns the number of events of which the encoder wrote nothing so far.
    fn dropped_events(&self) -> u64 {
        0
    }

    /// Returns bytes to write over earlier ones if the output can seek. To be called after
    /// [`Self::end`].
    fn patches(&self) -> Vec<Patch> {
        Vec::new()
    }
}

/// A piece of work that any thread can do.
pub type Job = Box<dyn FnOnce() + Send>;

/// Threads that do work of an encoder, in no order.
pub trait Helpers: Send + Sync {
    /// Returns the number of threads.
    fn count(&self) -> usize;

    /// Hands `job` to one of the threads, which does it at some time.
    fn give(&self, job: Job);

    /// Does a job that no thread has begun, on the calling thread. Returns false if there is none.
    fn help(&self) -> bool;
}

/// Bytes for a place in the trace that was written before they were known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Patch {
    /// The place, in bytes from the start of the trace.
    pub offset: u64,
    /// The new bytes, as many as the old ones.
    pub bytes: Vec<u8>,
}

/// Turns the bytes of one format into events.
pub trait Decode: Send {
    /// Looks at `input`, which starts right behind the bytes that the last call used, and answers
    /// with one step. `last` says that nothing follows `input`. A step that uses no bytes hands out
    /// an event of those used before.
    ///
    /// Never panics, whatever the bytes; allocates no more than in proportion to `input`. After an
    /// error, [`Step::End`] or [`Step::NeedMore`] with `last`, the decoder is done.
    ///
    /// # Errors
    /// When nothing behind this place can be understood.
    fn step<'a>(&mut self, input: &'a [u8], last: bool) -> Result<Decoded<'a>, DecodeError>;

    /// Hands out events of bytes used before, where that takes less time than by steps; until
    /// `visit` is truncated. Others, and what is left, come by steps. Asked for behind
    /// [`Step::Nothing`].
    fn hand_out(&mut self, _visit: &mut dyn FnMut(Handed<'_>) -> ControlFlow<()>) {}
}

/// What a decoder hands out at once.
#[derive(Debug)]
pub enum Handed<'a> {
    /// An event.
    Event(Event<'a>),
    /// Calls of one thread in a row, each an event.
    Calls(Calls<'a>),
}

/// One step of a decoder.
#[derive(Debug)]
pub struct Decoded<'a> {
    /// Bytes of the input that this step used up.
    pub used: usize,
    /// What they said.
    pub step: Step<'a>,
}

/// What a decoder found.
#[derive(Debug)]
pub enum Step<'a> {
    /// An event.
    Event(Event<'a>),
    /// Bytes that carry no event: headers, white space.
    Nothing,
    /// Something worth a remark; decoding goes on behind it.
    Remark(Remark),
    /// More input is needed for the next step. Never when `last` was given.
    NeedMore,
    /// The trace is complete.
    End,
}

/// A finding of a decoder that does not stop it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remark {
    /// Where, in bytes from the start of the trace.
    pub offset: u64,
    /// How bad it is.
    pub severity: Severity,
    /// What was found, as a sentence without the place.
    pub message: String,
}

/// How bad a [`Remark`] is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// Something unusual that was read, or skipped because no event holds it: an unknown message,
    /// attribute, element.
    Info,
    /// The trace is truncated here; what came before is whole.
    Truncated,
    /// The trace is damaged here, and something of it is missing.
    Fault,
}

/// Why nothing behind a place can be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{format}: at byte {offset}: {message}")]
pub struct DecodeError {
    /// Name of the format.
    pub format: &'static str,
    /// Where, in bytes from the start of the trace.
    pub offset: u64,
    /// What was found and what was expected.
    pub message: String,
}
