//! The source of the figures: a connection to the agent.
//!
//! If the agent is idle, this client starts a trace of totals (`profilerj`) to itself. The agent's
//! writer sums up calls by path. This client rotates the trace at the end of each interval, and the
//! writer then sends one document. So no single calls are written, and the program never waits for
//! a client that would have to read them.
//!
//! If another trace is active or another client has the stream, only the counts in the answer to
//! `status` are available.

use super::round::{Calls, DocumentAnalysis, Round};
use anyhow::bail;
use jtrail_control::{
    Answer, Client, ClientError, Command, Destination, EndReason, ErrorCode, Incoming, Notice,
    Start, State, Status,
};
use jtrail_options::OutputFormat;
use std::time::{Duration, Instant};

/// Connection to a running agent that is queried at intervals.
pub(super) struct Source {
    client: Client,
    request: Start,
    /// This client's trace, if one is active.
    own: Option<OwnTrace>,
    /// Reason why this client has no trace.
    pub(super) why_not: Option<&'static str>,
    /// Time and status of the previous query. Used only if another client has the trace.
    before: Option<(Instant, Status)>,
}

/// Data received from this client's trace.
#[derive(Default)]
struct OwnTrace {
    analysis: DocumentAnalysis,
    /// Calls of a complete document.
    whole: Option<Result<Calls, String>>,
    /// Reason why the trace has ended, if it was not ended by this client.
    ended: Option<String>,
}

impl OwnTrace {
    fn take(&mut self, incoming: Incoming) {
        match incoming {
            Incoming::Data(bytes) => self.analysis.take(&bytes),
            Incoming::Notice(Notice::TraceEnded {
                reason,
                ended,
                message,
            }) if ended.trace.to == Destination::Stream => {
                self.whole = Some(std::mem::take(&mut self.analysis).finish());
                self.ended = match reason {
                    EndReason::Rotate => None,
                    EndReason::Stop => Some("another client has stopped the trace".to_owned()),
                    EndReason::Shutdown => Some("the program has ended".to_owned()),
                    reason if message.is_empty() => Some(format!("the trace has ended: {reason}")),
                    _ => Some(message),
                };
            }
            _ => {}
        }
    }
}

impl Source {
    /// Creates the source, and begins a trace if the agent is idle.
    pub(super) fn new(client: Client, request: Start) -> anyhow::Result<Self> {
        let mut source = Self {
            client,
            request,
            own: None,
            why_not: None,
            before: None,
        };
        source.begin()?;
        Ok(source)
    }

    fn begin(&mut self) -> anyhow::Result<()> {
        let status = self.status()?;
        if status.state != State::Idle {
            self.why_not = Some("a trace is active, so only rates are shown");
            return Ok(());
        }
        match self.call(Command::Stream { release: false }) {
            Ok(_) => {}
            Err(ClientError::Refused(failure)) if failure.code == ErrorCode::Busy => {
                self.why_not = Some("another client has the data stream, so only rates are shown");
                return Ok(());
            }
            Err(error) => return Err(error.into()),
        }
        let agreed = self.client.set_output_format(OutputFormat::ProfilerJ)?;
        if agreed != OutputFormat::ProfilerJ {
            bail!("this agent writes no totals, only {agreed}");
        }
        let start = Start {
            to: Some(Destination::Stream),
            ..self.request.clone()
        };
        self.own = Some(OwnTrace::default());
        match self.call(Command::Start(start)) {
            Ok(_) => self.why_not = None,
            // Another client has begun a trace in the meantime.
            Err(ClientError::Refused(failure)) if failure.code == ErrorCode::State => {
                self.own = None;
                self.call(Command::Stream { release: true })?;
                self.why_not = Some("a trace is active, so only rates are shown");
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    fn call(&mut self, command: Command) -> Result<Answer, ClientError> {
        let own = &mut self.own;
        self.client.call(command, |incoming| {
            if let Some(own) = own {
                own.take(incoming);
            }
            Ok(())
        })
    }

    fn status(&mut self) -> anyhow::Result<Status> {
        match self.call(Command::Status)? {
            Answer::Status(status) => Ok(status),
            other => bail!("the agent answers a question for its status by {other:?}"),
        }
    }

    /// Returns the figures since the previous call.
    ///
    /// # Errors
    /// If the agent has disconnected, or if this client's trace was ended.
    pub(super) fn look(&mut self) -> anyhow::Result<Round> {
        let status = self.status()?;
        if self.own.is_none() {
            let round = self.rates(status);
            if round.status.state == State::Idle {
                self.begin()?;
            }
            return Ok(round);
        }
        let rotated = self.call(Command::Rotate { file: None });
        let Some(own) = &mut self.own else {
            bail!("there is no trace");
        };
        if let Some(why) = own.ended.take() {
            bail!("{why}");
        }
        let Answer::Rotated { ended, .. } = rotated? else {
            bail!("the agent does not say what it has rotated");
        };
        let calls = match own.whole.take() {
            Some(Ok(calls)) => calls,
            Some(Err(problem)) => bail!("the agent sent an invalid document of totals: {problem}"),
            None => bail!("the agent sent no totals"),
        };
        Ok(Round {
            length: ended.figures.elapsed,
            events: status.counts.clone(),
            lost: ended.figures.lost,
            status,
            calls: Some(calls),
        })
    }

    /// Returns the increase of the counts since the previous query.
    fn rates(&mut self, status: Status) -> Round {
        let now = Instant::now();
        let trace = |status: &Status| status.trace.as_ref().map(|t| t.figures);
        let figures = trace(&status);
        let before = self.before.replace((now, status.clone()));
        // If the trace began after the previous query, its counts started at 0.
        let same = before.filter(|(_, before)| {
            matches!((trace(before), figures), (Some(then), Some(now)) if then.elapsed <= now.elapsed)
        });
        let (length, lost) = match &same {
            Some((then, before)) => (
                now.duration_since(*then),
                trace(before).map_or(0, |figures| figures.lost),
            ),
            None => (figures.map_or(Duration::ZERO, |figures| figures.elapsed), 0),
        };
        let known = |kind: &str| {
            let counts = same.iter().flat_map(|(_, before)| &before.counts);
            counts
                .filter(|(k, _)| k == kind)
                .map(|(_, n)| *n)
                .sum::<u64>()
        };
        let events = status.counts.iter();
        Round {
            length,
            events: events
                .map(|(kind, n)| (kind.clone(), n.saturating_sub(known(kind))))
                .collect(),
            lost: figures.map_or(0, |figures| figures.lost.saturating_sub(lost)),
            status,
            calls: None,
        }
    }

    /// Ends this client's trace.
    pub(super) fn end(mut self) -> anyhow::Result<()> {
        if self.own.is_some() {
            match self.call(Command::Stop) {
                // Another client may have ended the trace already.
                Ok(_) | Err(ClientError::Refused(_)) => {}
                Err(error) => return Err(error.into()),
            }
            self.call(Command::Stream { release: true })?;
        }
        Ok(())
    }
}
