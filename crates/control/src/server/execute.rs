//! The effects of the commands, and the states in which they are allowed.

use super::{ClientId, Server};
use crate::agent::{Agent, TraceRequest, unavailable};
use crate::answer::{Answer, EndReason, Notice, State, StreamUse, Trace};
use crate::command::{Command, Destination, Start};
use crate::outbox::DataStream;
use crate::part::{ErrorCode, Failure};
use jtrail_options::{BurstLimit, OutputFormat, TraceChange};
use std::sync::Arc;

/// The pseudo-client for commands from within the process. It has no stream.
const WITHIN: ClientId = ClientId(0);

impl<A: Agent> Server<A> {
    /// Executes a command from within the process. Clients are notified as usual.
    ///
    /// # Errors
    /// The failure that a client would get as the answer.
    pub fn command(&mut self, command: Command) -> Result<Answer, Failure> {
        self.execute(WITHIN, command)
    }

    /// Executes a command of a client.
    pub(super) fn execute(&mut self, id: ClientId, command: Command) -> Result<Answer, Failure> {
        if self.keeps_newest() && needs_trace_of_its_own(&command) {
            return Err(unavailable(
                "the agent is a flight recorder (overflow=ring): it records until it leaves, and save writes what is newest",
            ));
        }
        match command {
            Command::SetOutputFormat { format } => self.set_output_format(id, &format),
            Command::Start(start) => {
                self.idle()?;
                let request = self.trace_request(id, start)?;
                let trace = self.agent.start(request)?;
                self.notify(&Notice::TraceStarted(trace.clone()));
                Ok(Answer::Started(trace))
            }
            Command::Stop => {
                self.active_state()?;
                let ended = self.agent.stop()?;
                self.notify(&Notice::TraceEnded {
                    reason: EndReason::Stop,
                    ended: ended.clone(),
                    message: String::new(),
                });
                Ok(Answer::Ended(ended))
            }
            Command::Pause => {
                if self.active_state()? == State::Paused {
                    return Err(state("it is paused already"));
                }
                self.agent.pause()?;
                self.notify(&Notice::State(State::Paused));
                Ok(Answer::Done)
            }
            Command::Resume => {
                if self.active_state()? == State::Recording {
                    return Err(state("it is not paused"));
                }
                self.agent.resume()?;
                self.notify(&Notice::State(State::Recording));
                Ok(Answer::Done)
            }
            Command::Burst(limit) => self.burst(id, limit),
            Command::Go => self.agent.go().map(|()| Answer::Done),
            Command::Rotate { file } => self.rotate(file.as_deref()),
            Command::Save { file } => {
                self.active_state()?;
                let saved = self.agent.save(file.as_deref())?;
                self.notify(&Notice::TraceSaved {
                    reason: "command".to_owned(),
                    saved: saved.clone(),
                });
                Ok(Answer::Saved(saved))
            }
            Command::Snapshot { kind, file } => {
                self.active_state()?;
                let file = self.agent.snapshot(kind, file.as_deref())?;
                Ok(Answer::Snapshot { kind, file })
            }
            Command::ForceGc => self.agent.force_gc().map(|()| Answer::Done),
            Command::SetFilters { patterns } => {
                let retransformed = self.agent.set_filters(&patterns)?;
                Ok(Answer::Filters { retransformed })
            }
            Command::Mark { text } => {
                self.active_state()?;
                self.agent.mark(&text).map(|()| Answer::Done)
            }
            Command::Status => {
                let mut status = self.agent.status();
                // There can't be more than `u32::MAX` clients.
                status.clients = u32::try_from(self.clients.len()).unwrap_or(u32::MAX);
                status.stream = match self.streaming {
                    None => StreamUse::Free,
                    Some(other) if other != id => StreamUse::Taken,
                    Some(_) => StreamUse::Yours,
                };
                Ok(Answer::Status(status))
            }
            Command::Stream { release: false } => match self.streaming {
                Some(other) if other != id => Err(taken()),
                _ => {
                    self.streaming = Some(id);
                    Ok(Answer::Done)
                }
            },
            Command::Stream { release: true } => {
                if self.streaming != Some(id) {
                    return Err(state("this client does not have the data stream"));
                }
                if self.streamed_format().is_some() {
                    return Err(state("a trace goes to the stream; stop it first"));
                }
                self.streaming = None;
                Ok(Answer::Done)
            }
            Command::Detach => {
                let ended = self.agent.detach()?;
                if let Some(ended) = ended {
                    self.notify(&Notice::TraceEnded {
                        reason: EndReason::Detach,
                        ended,
                        message: String::new(),
                    });
                }
                self.detached = true;
                Ok(Answer::Done)
            }
        }
    }

    fn set_output_format(&mut self, id: ClientId, word: &str) -> Result<Answer, Failure> {
        let streamed = self
            .streamed_format()
            .filter(|_| self.streaming == Some(id));
        let wish = OutputFormat::parse(word)
            .ok()
            .filter(|f| *f != OutputFormat::None);
        let Some(client) = self.client(id) else {
            return Err(Failure::new(
                ErrorCode::Failed,
                "the client has disconnected",
            ));
        };
        if let (None, Some(format)) = (streamed, wish) {
            client.format = format;
        }
        Ok(Answer::EnabledOutputFormat(
            streamed.unwrap_or(client.format),
        ))
    }

    /// Translates a `start` or `burst` of this client into a request to the agent.
    fn trace_request(&mut self, id: ClientId, start: Start) -> Result<TraceRequest, Failure> {
        let patience = self.settings.patience;
        let has_stream = self.streaming == Some(id);
        let stream = match start.to {
            Some(to) => to == Destination::Stream,
            None => has_stream && start.file.is_none(),
        };
        if stream && !has_stream {
            return Err(match self.streaming {
                Some(_) => taken(),
                None => state("take the data stream first"),
            });
        }
        let mut change = TraceChange {
            format: start.format,
            file: start.file,
            events: start.events,
            patterns: start.patterns,
        };
        let mut data = None;
        if let Some(client) = self.client(id).filter(|_| stream) {
            if change.format == Some(OutputFormat::None) {
                let problem = "nothing would go to the stream";
                return Err(Failure::at(ErrorCode::Invalid, "start/@format", problem));
            }
            client.format = change.format.unwrap_or(client.format);
            change.format = Some(client.format);
            data = Some(DataStream::new(Arc::clone(&client.outbox), patience));
        }
        Ok(TraceRequest {
            change,
            stream: data,
        })
    }

    fn burst(&mut self, id: ClientId, limit: BurstLimit) -> Result<Answer, Failure> {
        match self.agent.state() {
            State::Recording => return Err(state("it is recording already")),
            State::Paused => {
                let notifier = self.notifier.clone();
                let mut began = |_: &Trace| notifier.notify(&Notice::State(State::Recording));
                self.agent.burst(limit, None, &mut began)?;
            }
            State::Idle => {
                let request = self.trace_request(id, Start::default())?;
                let notifier = self.notifier.clone();
                let mut began =
                    |trace: &Trace| notifier.notify(&Notice::TraceStarted(trace.clone()));
                self.agent.burst(limit, Some(request), &mut began)?;
            }
        }
        Ok(Answer::Done)
    }

    fn rotate(&mut self, file: Option<&str>) -> Result<Answer, Failure> {
        self.active_state()?;
        if file.is_some() && self.streamed_format().is_some() {
            let problem = "the trace goes to the stream, which has no file";
            return Err(Failure::at(ErrorCode::Invalid, "rotate/@file", problem));
        }
        let notifier = self.notifier.clone();
        let mut last = None;
        let started = self.agent.rotate(file, &mut |ended| {
            notifier.notify(&Notice::TraceEnded {
                reason: EndReason::Rotate,
                ended: ended.clone(),
                message: String::new(),
            });
            last = Some(ended);
        })?;
        let ended = last.ok_or_else(|| Failure::new(ErrorCode::Failed, "nothing has ended"))?;
        self.notify(&Notice::TraceStarted(started.clone()));
        Ok(Answer::Rotated { ended, started })
    }

    /// Returns the format of the trace that goes to the stream, if a trace does.
    fn streamed_format(&self) -> Option<OutputFormat> {
        let trace = self.agent.trace()?;
        (trace.to == Destination::Stream).then_some(trace.format)
    }

    /// Returns true if the agent is a flight recorder.
    fn keeps_newest(&self) -> bool {
        let is_kept = |trace: Trace| trace.to == Destination::Ring;
        self.agent.trace().is_some_and(is_kept)
    }

    fn idle(&self) -> Result<(), Failure> {
        match self.agent.state() {
            State::Idle => Ok(()),
            _ => Err(state("a trace is active; stop it first")),
        }
    }

    fn active_state(&self) -> Result<State, Failure> {
        match self.agent.state() {
            State::Idle => Err(state("there is no trace")),
            state => Ok(state),
        }
    }
}

/// Returns true if a command starts or changes a trace that is written continuously.
fn needs_trace_of_its_own(command: &Command) -> bool {
    matches!(
        command,
        Command::Start(_)
            | Command::Stop
            | Command::Pause
            | Command::Resume
            | Command::Burst(_)
            | Command::Rotate { .. }
            | Command::Snapshot { .. }
            | Command::Stream { release: false }
    )
}

fn state(message: &str) -> Failure {
    Failure::new(ErrorCode::State, message)
}

fn taken() -> Failure {
    Failure::new(ErrorCode::Busy, "another client has the data stream")
}
