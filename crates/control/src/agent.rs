//! What an agent must be able to do to be commanded.

use crate::answer::{Ended, State, Status, Trace};
use crate::command::SnapshotKind;
use crate::outbox::DataStream;
use crate::part::{ErrorCode, Failure};
use jtrail_options::{BurstLimit, TraceChange};

/// What a trace shall be.
#[derive(Debug)]
pub struct TraceRequest {
    /// What is different from the agent's options;
    /// [`Options::changed`](jtrail_options::Options::changed) makes new ones of it, or says what is
    /// wrong. For a stream it has a format and no file.
    pub change: TraceChange,
    /// The client that it goes to; none for a file.
    pub stream: Option<DataStream>,
}

/// The agent, as the [`Server`](crate::Server) commands it.
///
/// The server calls it from one thread, and only in states where the command makes sense; a state
/// may change meanwhile, so each method may refuse. What takes long holds up all clients, but
/// neither the program nor the data of a trace.
///
/// What a command does, the server tells to all clients. What happens by itself (a burst is over,
/// the disk is full, the JVM ends), the agent tells with a [`Notifier`](crate::Notifier).
pub trait Agent {
    /// What it is doing.
    fn state(&self) -> State;

    /// Does what is left to do for a trace that has ended by itself. Called before each command,
    /// and soon after [`Stopper::wake`](crate::Stopper::wake).
    fn settle(&mut self) {}

    /// The trace under way, recording or paused.
    fn trace(&self) -> Option<Trace>;

    /// Begins a trace. Called when idle.
    ///
    /// # Errors
    /// The file can't be created, or format and events don't go together.
    fn start(&mut self, request: TraceRequest) -> Result<Trace, Failure>;

    /// Ends the trace, and answers when all of it is written. Called when there is one.
    ///
    /// # Errors
    /// It could not be written to its end. There is none any more then, and the agent tells so with
    /// [`EndReason::Failure`](crate::EndReason::Failure).
    fn stop(&mut self) -> Result<Ended, Failure>;

    /// Records nothing until [`Self::resume`]. Called when recording.
    ///
    /// # Errors
    /// It can't.
    fn pause(&mut self) -> Result<(), Failure>;

    /// Records again. Called when paused.
    ///
    /// # Errors
    /// It can't.
    fn resume(&mut self) -> Result<(), Failure>;

    /// Records for a while. Called when paused, and it is paused again behind it; or when idle,
    /// then `begin` says what trace the burst shall be, and that ends with it. The agent calls
    /// `began` with the trace when it records, and before the burst can be over, for the server to
    /// tell it; how it ends the agent tells.
    ///
    /// # Errors
    /// As for [`Self::start`].
    fn burst(
        &mut self,
        limit: BurstLimit,
        begin: Option<TraceRequest>,
        began: &mut dyn FnMut(&Trace),
    ) -> Result<(), Failure>;

    /// The program waits for a client before its `main`: it goes on, without a trace.
    ///
    /// # Errors
    /// It does not wait, or no longer.
    fn go(&mut self) -> Result<(), Failure> {
        let message = "the program does not wait";
        Err(Failure::new(ErrorCode::State, message))
    }

    /// Ends the trace and begins one like it: in another file, of that name or one that the agent
    /// finds; or in the same stream. Called when there is a trace, and without a file when it goes
    /// to a stream.
    ///
    /// The agent calls `ended` when all of the old trace is written and nothing of the new one:
    /// clients that read a stream part the two there.
    ///
    /// # Errors
    /// The file can't be created; the trace then goes on in the old one. If `ended` was called,
    /// there is none any more.
    fn rotate(
        &mut self,
        file: Option<&str>,
        ended: &mut dyn FnMut(Ended),
    ) -> Result<Trace, Failure>;

    /// Writes the newest events, which become a trace: into a file of that name, or of one that the
    /// agent finds. Called when there is a trace.
    ///
    /// # Errors
    /// The agent does not keep them ([`ErrorCode::Unavailable`]), or they can't be written.
    fn save(&mut self, file: Option<&str>) -> Result<Ended, Failure> {
        let _ = file;
        Err(unavailable(NOT_KEPT))
    }

    /// Writes what is known now, and answers where to; none if it is in the trace. Called when
    /// there is a trace.
    ///
    /// # Errors
    /// What a snapshot needs is not recorded ([`ErrorCode::Unavailable`]), or it can't be written.
    fn snapshot(
        &mut self,
        kind: SnapshotKind,
        file: Option<&str>,
    ) -> Result<Option<String>, Failure>;

    /// Collects garbage.
    ///
    /// # Errors
    /// It can't.
    fn force_gc(&mut self) -> Result<(), Failure>;

    /// Puts other filters in force, and answers how many classes were retransformed for it.
    /// `patterns` are `include` (true) and `exclude` values that the options take; none means the
    /// usual.
    ///
    /// # Errors
    /// It can't.
    fn set_filters(&mut self, patterns: &[(bool, String)]) -> Result<u64, Failure>;

    /// Writes a text into the trace. Called when there is one.
    ///
    /// # Errors
    /// The format has no place for it.
    fn mark(&mut self, text: &str) -> Result<(), Failure>;

    /// How it is going. The server fills in clients and stream.
    fn status(&self) -> Status;

    /// The client that had the data stream is gone, or was cut off. Ends the trace that went to it,
    /// if that is still under way, and answers it; also if it ended before because a write failed,
    /// of which the agent tells nothing itself.
    fn stream_lost(&mut self) -> Option<Ended>;

    /// Ends the trace, undoes all that was done to the program, and leaves it. Answers the trace
    /// that ended.
    ///
    /// # Errors
    /// It can't; everything goes on.
    fn detach(&mut self) -> Result<Option<Ended>, Failure>;
}

/// What an agent answers that keeps no events to be saved.
pub const NOT_KEPT: &str = "only with overflow=ring are the newest events kept, to be saved";

/// What an agent answers to a command that it can't do.
pub fn unavailable(message: impl Into<String>) -> Failure {
    Failure::new(ErrorCode::Unavailable, message)
}
