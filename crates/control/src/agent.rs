//! The interface that an agent implements to be controlled.

use crate::answer::{Ended, State, Status, Trace};
use crate::command::SnapshotKind;
use crate::outbox::DataStream;
use crate::part::{ErrorCode, Failure};
use jtrail_options::{BurstLimit, TraceChange};

/// The properties of a requested trace.
#[derive(Debug)]
pub struct TraceRequest {
    /// The differences between the trace's options and the agent's.
    /// [`Options::changed`](jtrail_options::Options::changed) applies them, or reports what is
    /// wrong. For a stream, the change has a format and no file.
    pub change: TraceChange,
    /// The client that gets the trace; `None` for a trace in a file.
    pub stream: Option<DataStream>,
}

/// The agent, as the [`Server`](crate::Server) controls it.
///
/// The server calls the methods from one thread, and only in states in which they make sense. The
/// state may change between the server's check and the call, so each method may refuse. A slow
/// method delays all clients. It delays neither the program nor the data of a trace.
///
/// The server notifies all clients of the effects of a command. The agent notifies clients of all
/// other events (a burst ends, the disk is full, the JVM ends) with a
/// [`Notifier`](crate::Notifier).
pub trait Agent {
    /// Returns the state of the agent.
    fn state(&self) -> State;

    /// Completes a trace that has ended without a command. Called before each command, and soon
    /// after [`Stopper::wake`](crate::Stopper::wake).
    fn settle(&mut self) {}

    /// Returns the active trace, recording or paused.
    fn trace(&self) -> Option<Trace>;

    /// Begins a trace. Called only when idle.
    ///
    /// # Errors
    /// If the file can't be created, or the format does not support the events.
    fn start(&mut self, request: TraceRequest) -> Result<Trace, Failure>;

    /// Ends the trace. Returns when the whole trace is written. Called only with an active trace.
    ///
    /// # Errors
    /// If the trace could not be written completely. Then there is no active trace any more, and
    /// the agent sends a notice with [`EndReason::Failure`](crate::EndReason::Failure).
    fn stop(&mut self) -> Result<Ended, Failure>;

    /// Suspends recording until [`Self::resume`]. Called only when recording.
    ///
    /// # Errors
    /// If the agent can't pause.
    fn pause(&mut self) -> Result<(), Failure>;

    /// Resumes recording. Called only when paused.
    ///
    /// # Errors
    /// If the agent can't resume.
    fn resume(&mut self) -> Result<(), Failure>;

    /// Records a burst. Called only when paused or idle. When paused, the trace is paused again
    /// after the burst. When idle, a trace begins and ends with the burst; `begin` describes this
    /// trace.
    ///
    /// The agent calls `began` with the trace after recording has begun and before the burst can
    /// end. In `began`, the server notifies the clients. The agent itself sends the notice of the
    /// burst's end.
    ///
    /// # Errors
    /// Those of [`Self::start`].
    fn burst(
        &mut self,
        limit: BurstLimit,
        begin: Option<TraceRequest>,
        began: &mut dyn FnMut(&Trace),
    ) -> Result<(), Failure>;

    /// Lets a program that waits for a client before its `main` start, without a trace.
    ///
    /// # Errors
    /// If the program does not wait for a client, or no longer waits.
    fn go(&mut self) -> Result<(), Failure> {
        let message = "the program does not wait";
        Err(Failure::new(ErrorCode::State, message))
    }

    /// Ends the trace and begins a new one with the same settings. A trace in a stream continues in
    /// the stream. Otherwise the new trace is in the file `file`, or in a file that the agent
    /// names. Called only with an active trace. If the trace goes to a stream, `file` is `None`.
    ///
    /// The agent calls `ended` when the old trace is completely written and the new one has no
    /// bytes yet. At this point, clients that read the stream separate the two traces.
    ///
    /// # Errors
    /// If the file can't be created. Before `ended` was called, the trace then continues in the old
    /// file. After that, there is no active trace.
    fn rotate(
        &mut self,
        file: Option<&str>,
        ended: &mut dyn FnMut(Ended),
    ) -> Result<Trace, Failure>;

    /// Writes the newest events as a trace, to the file `file` or to a file that the agent names.
    /// Called only with an active trace.
    ///
    /// # Errors
    /// If the agent does not keep the newest events ([`ErrorCode::Unavailable`]), or writing fails.
    fn save(&mut self, file: Option<&str>) -> Result<Ended, Failure> {
        let _ = file;
        Err(unavailable(NOT_KEPT))
    }

    /// Writes a snapshot. Returns the snapshot's file, or `None` if the snapshot is in the trace.
    /// Called only with an active trace.
    ///
    /// # Errors
    /// If the data for the snapshot is not recorded ([`ErrorCode::Unavailable`]), or writing fails.
    fn snapshot(
        &mut self,
        kind: SnapshotKind,
        file: Option<&str>,
    ) -> Result<Option<String>, Failure>;

    /// Forces a garbage collection.
    ///
    /// # Errors
    /// If the agent can't do this.
    fn force_gc(&mut self) -> Result<(), Failure>;

    /// Replaces the filters. Returns the number of classes that were retransformed. `patterns` are
    /// valid values of the options `include` (true) and `exclude`; an empty list means the default
    /// filters.
    ///
    /// # Errors
    /// If the filters can't be changed.
    fn set_filters(&mut self, patterns: &[(bool, String)]) -> Result<u64, Failure>;

    /// Writes a text into the trace. Called only with an active trace.
    ///
    /// # Errors
    /// If the trace's format does not support such texts.
    fn mark(&mut self, text: &str) -> Result<(), Failure>;

    /// Returns the agent's status. The server fills in clients and stream.
    fn status(&self) -> Status;

    /// Handles the loss of the client that had the data stream: the client has disconnected or was
    /// disconnected. Ends the trace that went to the client, if it is still active, and returns it.
    /// If the trace has already ended because a write failed, it is returned too: the agent sends
    /// no notice of such an end.
    fn stream_lost(&mut self) -> Option<Ended>;

    /// Ends the trace, undoes all changes to the program, and detaches from it. Returns the trace
    /// that ended.
    ///
    /// # Errors
    /// If the agent can't detach. Then everything continues as before.
    fn detach(&mut self) -> Result<Option<Ended>, Failure>;
}

/// The error message of an agent that does not keep the newest events.
pub const NOT_KEPT: &str = "only with overflow=ring are the newest events kept, to be saved";

/// Creates the failure of a command that the agent can't execute because of the options with which
/// it was started.
pub fn unavailable(message: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::Unavailable, message)
}
