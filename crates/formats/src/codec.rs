//! The interface that all formats share: the traits of encoders and decoders, and the results of a
//! decoder.

use crate::DropCount;
use jtrail_model::{CallRun, Calls, Event, MethodEnter, Timestamp};
use std::ops::ControlFlow;

/// Turns events into the bytes of one format.
///
/// The caller passes the events in the order that the format requires, for example definitions
/// before their use. An encoder keeps only the state that its format needs.
pub trait Encode: Send {
    /// Appends the bytes before the first event.
    fn begin(&mut self, out: &mut Vec<u8>);

    /// Appends one event. Counts in [`Self::dropped`] what the format has no field for.
    fn event(&mut self, event: &Event<'_>, out: &mut Vec<u8>);

    /// Appends calls of one thread: the same bytes as [`Self::event`] for each call. Some formats
    /// implement this method to save time.
    fn calls(&mut self, calls: &Calls<'_>, out: &mut Vec<u8>) {
        for event in calls.events() {
            self.event(&event, out);
        }
    }

    /// Takes an event that is not selected: of another thread, or not within `times`, the first and
    /// the last selected time. It may tell what is true within that time, such as which threads are
    /// alive. By default, definitions are encoded, and other events are skipped.
    fn unselected(&mut self, event: &Event<'_>, _times: [Timestamp; 2], out: &mut Vec<u8>) {
        if event.is_definition() {
            self.event(event, out);
        }
    }

    /// Like [`Self::calls`], but the run identifies each method by a number. All runs passed to one
    /// encoder come from one program, so a number always stands for the same method.
    fn run(&mut self, run: &CallRun<'_>, out: &mut Vec<u8>) {
        self.calls(&run.calls(&mut Vec::new()), out);
    }

    /// Appends a call without an enter event: a call that is already open when the trace begins or
    /// resumes. The caller passes a thread's outermost call first. The leave of the call is an
    /// ordinary event. Only JinsightLive has a field for such calls; the caller must not pass them
    /// or their leaves to other encoders.
    fn open_call(&mut self, _call: &MethodEnter, _out: &mut Vec<u8>) {}

    /// Appends the bytes after the last event.
    fn end(&mut self, out: &mut Vec<u8>);

    /// Like [`Self::end`], but appends a long end in several parts. Returns true if another part
    /// follows.
    fn end_part(&mut self, out: &mut Vec<u8>) -> bool {
        self.end(out);
        false
    }

    /// Returns true if [`Self::end`] writes pending events. The caller must then call [`Self::end`]
    /// for a truncated trace, too.
    fn has_pending(&self) -> bool {
        false
    }

    /// Marks the trace as truncated. [`Self::end`] then omits the end mark of a format that has
    /// one.
    fn mark_truncated(&mut self) {}

    /// Appends data that was held back to be combined with later data. The caller calls this when
    /// the program pauses, so that the trace is complete up to the pause.
    fn flush(&mut self, _out: &mut Vec<u8>) {}

    /// Appends calls that are held back because they may still become part of a sum.
    fn settle(&mut self, _out: &mut Vec<u8>) {}

    /// Returns an upper bound of the bytes that [`Self::flush`] would append.
    fn waiting(&self) -> usize {
        0
    }

    /// Returns a copy of the encoder, if the encoder writes all its data in [`Self::end`]. Calling
    /// `end` on the copy writes the trace as if the trace ended now.
    fn copy(&self) -> Option<Box<dyn Encode>> {
        None
    }

    /// Returns the number of things of each kind that the encoder dropped so far because the format
    /// has no field for them.
    fn dropped(&self) -> Vec<DropCount> {
        Vec::new()
    }

    /// Returns the number of events for which the encoder wrote nothing so far.
    fn dropped_events(&self) -> u64 {
        0
    }

    /// Returns bytes that replace earlier bytes if the output can seek. Must be called after
    /// [`Self::end`].
    fn patches(&self) -> Vec<Patch> {
        Vec::new()
    }
}

/// A piece of work that any thread can do.
pub type Job = Box<dyn FnOnce() + Send>;

/// Threads that run jobs for an encoder, in no particular order.
pub trait Helpers: Send + Sync {
    /// Returns the number of threads.
    fn count(&self) -> usize;

    /// Hands `job` to one of the threads, which runs it some time later.
    fn give(&self, job: Job);

    /// Runs one job on the calling thread: a job that no other thread has started. Returns false if
    /// there is none.
    fn help(&self) -> bool;
}

/// Bytes that replace earlier bytes of the trace. They were not yet known when the earlier bytes
/// were written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Patch {
    /// The position, in bytes from the start of the trace.
    pub offset: u64,
    /// The new bytes. They replace the same number of bytes.
    pub bytes: Vec<u8>,
}

/// Turns the bytes of one format into events.
pub trait Decode: Send {
    /// Decodes one step from `input`, which starts directly after the bytes that the last call
    /// used. `last` is true if nothing follows `input`. A step may use no bytes: it then returns an
    /// event from bytes that an earlier step used.
    ///
    /// Never panics, whatever the bytes are. Allocates at most in proportion to `input`. The
    /// decoder is done after an error, after [`Step::End`], and after [`Step::NeedMore`] with
    /// `last`.
    ///
    /// # Errors
    /// If nothing after this position can be understood.
    fn step<'a>(&mut self, input: &'a [u8], last: bool) -> Result<Decoded<'a>, DecodeError>;

    /// Passes events to `visit`, until `visit` breaks. The events come from bytes that an earlier
    /// step used. A decoder implements this method if it can return many events faster than by
    /// steps. Later steps return the events that remain after a break. Must be called directly
    /// after [`Step::Nothing`].
    fn hand_out(&mut self, _visit: &mut dyn FnMut(Handed<'_>) -> ControlFlow<()>) {}
}

/// A unit that a decoder passes to the visitor of [`Decode::hand_out`].
#[derive(Debug)]
pub enum Handed<'a> {
    /// An event.
    Event(Event<'a>),
    /// Consecutive calls of one thread, each of them an event.
    Calls(Calls<'a>),
}

/// One step of a decoder.
#[derive(Debug)]
pub struct Decoded<'a> {
    /// Number of input bytes that this step used.
    pub used: usize,
    /// What the decoder found in these bytes.
    pub step: Step<'a>,
}

/// What a decoder found.
#[derive(Debug)]
pub enum Step<'a> {
    /// An event.
    Event(Event<'a>),
    /// Bytes that carry no event: headers, white space.
    Nothing,
    /// A finding that is worth a remark; decoding continues after it.
    Remark(Remark),
    /// More input is needed for the next step. Never returned if `last` was true.
    NeedMore,
    /// The trace is complete.
    End,
}

/// A finding of a decoder that does not stop it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Remark {
    /// Position of the finding, in bytes from the start of the trace.
    pub offset: u64,
    /// Severity of the finding.
    pub severity: Severity,
    /// The finding as a sentence, without its position.
    pub message: String,
}

/// Severity of a [`Remark`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// Something unusual that was read, or something that was skipped because no event has a field
    /// for it. An example is an unknown message, attribute or element.
    Info,
    /// The trace is truncated here; everything before is complete.
    Truncated,
    /// The trace is corrupt here, and part of it is missing.
    Fault,
}

/// The reason why nothing after a position of the trace can be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{format}: at byte {offset}: {message}")]
pub struct DecodeError {
    /// Name of the format.
    pub format: &'static str,
    /// Position of the error, in bytes from the start of the trace.
    pub offset: u64,
    /// What was found and what was expected.
    pub message: String,
}
