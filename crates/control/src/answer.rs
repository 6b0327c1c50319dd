//! What the agent answers, and what it tells unasked.
//!
//! A client passes over attributes and elements that it does not know: a later agent may say more.
//! Texts that come from elsewhere are cut when they are written, so that every document fits into a
//! frame.

use crate::command::{Destination, SnapshotKind};
use crate::part::{ErrorCode, Failure, Part, Size, Value, parse, words};
use jtrail_options::OutputFormat;
use jtrail_xml::Element;
use std::time::Duration;

words! {
    /// What the agent is doing.
    State {
        /// There is no trace.
        Idle = "idle",
        /// Events are recorded.
        Recording = "recording",
        /// There is a trace, and nothing is recorded.
        Paused = "paused",
    }
}

words! {
    /// Why a trace has ended.
    EndReason {
        /// A client said so.
        Stop = "stop",
        /// A client asked for the next one.
        Rotate = "rotate",
        /// The burst that it was for is over.
        Burst = "burst",
        /// A client sent the agent away.
        Detach = "detach",
        /// The JVM ends.
        Shutdown = "shutdown",
        /// The client that took the data is gone, or was too slow.
        StreamLost = "streamLost",
        /// It could not be written.
        Failure = "failure",
    }
}

words! {
    /// Who has the data stream.
    StreamUse {
        /// Nobody.
        Free = "free",
        /// The client that asks.
        Yours = "yours",
        /// Another client.
        Taken = "taken",
    }
}

/// A trace that is under way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// Its format.
    pub format: OutputFormat,
    /// Where it goes.
    pub to: Destination,
    /// The file's name. None for a stream, and where the newest events are kept.
    pub file: Option<String>,
}

/// Figures of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// Time since it began.
    pub elapsed: Duration,
    /// Events that were recorded.
    pub events: u64,
    /// Events that were lost.
    pub lost: u64,
    /// Bytes that were written.
    pub bytes: u64,
}

/// A trace that has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// The trace.
    pub trace: Trace,
    /// Its figures.
    pub figures: Figures,
}

/// How it is going.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// What the agent is doing.
    pub state: State,
    /// The process.
    pub pid: u32,
    /// The agent's version.
    pub version: String,
    /// Time since the agent was loaded.
    pub uptime: Duration,
    /// The trace under way, and its figures so far. None when [`State::Idle`].
    pub trace: Option<Ended>,
    /// Bytes of all buffers together.
    pub buffer: u64,
    /// Bytes of buffers that hold events which are not written yet.
    pub buffered: u64,
    /// Bytes that the agent has allocated for itself beside its buffers. None where the agent does
    /// not say.
    pub memory: Option<u64>,
    /// Estimated part of the program's CPU time that recording takes, in millionths. None where it
    /// is not known.
    pub overhead: Option<u32>,
    /// Clients that are connected. The server fills it in.
    pub clients: u32,
    /// Who has the data stream. The server fills it in.
    pub stream: StreamUse,
    /// Recorded events by kind.
    pub counts: Vec<(String, u64)>,
    /// Lost events by cause.
    pub losses: Vec<(String, u64)>,
}

/// What the agent answers.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Answer {
    /// `enabledOutputFormat`: the format in force on this connection.
    EnabledOutputFormat(OutputFormat),
    /// `done`: nothing more to say.
    Done,
    /// `started`: a trace has begun.
    Started(Trace),
    /// `ended`: the trace has ended; all of it is written.
    Ended(Ended),
    /// `rotated`: one trace has ended, and the next has begun.
    Rotated {
        /// The one before.
        ended: Ended,
        /// The one under way.
        started: Trace,
    },
    /// `saved`: the newest events are a trace now, which began so long before its end.
    Saved(Ended),
    /// `snapshot`: it is written.
    Snapshot {
        /// Of what.
        kind: SnapshotKind,
        /// Where to. None if it is in the trace.
        file: Option<String>,
    },
    /// `filters`: they are in force.
    Filters {
        /// Classes that were retransformed for it.
        retransformed: u64,
    },
    /// `status`
    Status(Status),
    /// `error`: the command was not carried out.
    Error(Failure),
}

/// An answer with the `id` of the command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// As in the command.
    pub id: Option<String>,
    /// The answer.
    pub answer: Answer,
}

/// What the agent tells unasked, to every client.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// `traceStarted`
    TraceStarted(Trace),
    /// `traceEnded`: behind its last data.
    TraceEnded {
        /// Why.
        reason: EndReason,
        /// The trace.
        ended: Ended,
        /// What went wrong; empty if nothing did.
        message: String,
    },
    /// `traceSaved`: the newest events are a trace now.
    TraceSaved {
        /// What it was saved for: `command`, a moment, or a trigger as the option `save` has it.
        reason: String,
        /// The trace.
        saved: Ended,
    },
    /// `state`: paused or resumed, by a client, or by a burst that begins or ends.
    State(State),
    /// `streamLost`: the client that had the data stream is gone, or was cut off.
    StreamLost {
        /// What happened.
        message: String,
    },
    /// `ending`: the agent leaves, and the connection ends.
    Ending(EndReason),
}

/// A document that is no answer or notice.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the agent's answer is not understood: {0}")]
pub struct Unreadable(pub Failure);

impl From<Failure> for Unreadable {
    fn from(failure: Failure) -> Self {
        Self(failure)
    }
}

impl Trace {
    fn write(&self, element: Element) -> Element {
        element
            .with("format", self.format)
            .with("to", self.to)
            .with_some("file", self.file.as_ref())
    }

    fn read(part: &Part<'_>) -> Result<Self, Failure> {
        Ok(Self {
            format: part.needed_as("format", OutputFormat::parse)?,
            to: part.needed_as("to", Destination::parse)?,
            file: part.text("file"),
        })
    }
}

impl Ended {
    fn write(&self, element: Element) -> Element {
        let figures = &self.figures;
        self.trace
            .write(element)
            .with("elapsed", figures.elapsed.show())
            .with("events", figures.events)
            .with("lost", figures.lost)
            .with("bytes", Size(figures.bytes).show())
    }

    fn read(part: &Part<'_>) -> Result<Self, Failure> {
        Ok(Self {
            trace: Trace::read(part)?,
            figures: Figures {
                elapsed: part.needed_as("elapsed", Value::read)?,
                events: part.needed_as("events", Value::read)?,
                lost: part.needed_as("lost", Value::read)?,
                bytes: part.needed_as("bytes", Size::read)?.0,
            },
        })
    }
}

impl Status {
    fn element(&self) -> Element {
        let mut element = Element::new("status")
            .with("state", self.state)
            .with("pid", self.pid)
            .with("version", &self.version)
            .with("uptime", self.uptime.show())
            .with("buffer", Size(self.buffer).show())
            .with("buffered", Size(self.buffered).show())
            .with_some("memory", self.memory.map(|bytes| Size(bytes).show()))
            .with_some("overhead", self.overhead)
            .with("clients", self.clients)
            .with("stream", self.stream);
        if let Some(trace) = &self.trace {
            element = element.with_child(trace.write(Element::new("trace")));
        }
        for (name, counts) in [("count", &self.counts), ("loss", &self.losses)] {
            for (kind, events) in counts {
                let child = Element::new(name).with("kind", kind).with("events", events);
                element = element.with_child(child);
            }
        }
        element
    }

    fn read(part: &Part<'_>) -> Result<Self, Failure> {
        let (mut trace, mut counts, mut losses) = (None, Vec::new(), Vec::new());
        for child in part.children() {
            let list = match child.element.name.as_str() {
                "trace" => {
                    trace = Some(Ended::read(&child)?);
                    continue;
                }
                "count" => &mut counts,
                "loss" => &mut losses,
                _ => continue,
            };
            let kind = child.needed("kind")?.to_owned();
            list.push((kind, child.needed_as("events", Value::read)?));
        }
        Ok(Self {
            state: part.needed_as("state", State::parse)?,
            pid: part.needed_as("pid", Value::read)?,
            version: part.needed("version")?.to_owned(),
            uptime: part.needed_as("uptime", Value::read)?,
            trace,
            buffer: part.needed_as("buffer", Size::read)?.0,
            buffered: part.needed_as("buffered", Size::read)?.0,
            memory: part.parsed("memory", Size::read)?.map(|size| size.0),
            overhead: part.parsed("overhead", Value::read)?,
            clients: part.needed_as("clients", Value::read)?,
            stream: part.needed_as("stream", StreamUse::parse)?,
            counts,
            losses,
        })
    }
}

/// Most bytes of a text that the agent writes.
const LONGEST_TEXT: usize = 4096;

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(LONGEST_TEXT)]
}

fn failure_element(failure: &Failure) -> Element {
    let place = (!failure.place.is_empty()).then(|| cut(&failure.place));
    Element::new("error")
        .with("code", failure.code)
        .with_some("where", place)
        .with_child(Element::new("message").with_text(cut(&failure.message)))
}

fn failure(part: &Part<'_>) -> Result<Failure, Failure> {
    let code = part.needed_as("code", |word| {
        let found = ErrorCode::ALL.into_iter().find(|code| code.word() == word);
        found.ok_or_else(|| "no such code".to_owned())
    })?;
    Ok(Failure {
        code,
        place: part.text("where").unwrap_or_default(),
        message: part.needed_child("message")?.element.text.clone(),
    })
}

impl Answer {
    fn element(&self) -> Element {
        match self {
            Self::EnabledOutputFormat(format) => {
                let format = Element::new("format").with_text(format.word());
                Element::new("enabledOutputFormat").with_child(format)
            }
            Self::Done => Element::new("done"),
            Self::Started(trace) => trace.write(Element::new("started")),
            Self::Ended(ended) => ended.write(Element::new("ended")),
            Self::Rotated { ended, started } => Element::new("rotated")
                .with_child(ended.write(Element::new("ended")))
                .with_child(started.write(Element::new("started"))),
            Self::Saved(saved) => saved.write(Element::new("saved")),
            Self::Snapshot { kind, file } => Element::new("snapshot")
                .with("kind", kind)
                .with_some("file", file.as_ref()),
            Self::Filters { retransformed } => {
                Element::new("filters").with("retransformed", retransformed)
            }
            Self::Status(status) => status.element(),
            Self::Error(failure) => failure_element(failure),
        }
    }

    fn read(root: &Element) -> Result<Self, Failure> {
        let part = Part::root(root);
        Ok(match root.name.as_str() {
            "enabledOutputFormat" => {
                let format = part.needed_child("format")?.element.text.trim();
                let wrong = |problem| part.invalid("format", problem);
                Self::EnabledOutputFormat(OutputFormat::parse(format).map_err(wrong)?)
            }
            "done" => Self::Done,
            "started" => Self::Started(Trace::read(&part)?),
            "ended" => Self::Ended(Ended::read(&part)?),
            "rotated" => Self::Rotated {
                ended: Ended::read(&part.needed_child("ended")?)?,
                started: Trace::read(&part.needed_child("started")?)?,
            },
            "saved" => Self::Saved(Ended::read(&part)?),
            "snapshot" => Self::Snapshot {
                kind: part.needed_as("kind", SnapshotKind::parse)?,
                file: part.text("file"),
            },
            "filters" => Self::Filters {
                retransformed: part.needed_as("retransformed", Value::read)?,
            },
            "status" => Self::Status(Status::read(&part)?),
            "error" => Self::Error(failure(&part)?),
            _ => return Err(unknown(root)),
        })
    }
}

fn unknown(root: &Element) -> Failure {
    let name: String = root.name.chars().take(64).collect();
    Failure::at(ErrorCode::Unrecognized, name, "no such element")
}

impl Reply {
    /// The document.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut element = self.answer.element();
        if let Some(id) = &self.id {
            element.attributes.insert(0, ("id".to_owned(), id.clone()));
        }
        element.to_bytes()
    }

    /// Reads a document. The answer to `setOutputFormat` is also read as old specifications print
    /// it: with a second begin of `enabledOutputFormat` in place of its end.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Self, Unreadable> {
        const OLD_END: &[u8] = b"<enabledOutputFormat>";
        let bytes = bytes.trim_ascii();
        let root = match bytes.strip_suffix(OLD_END) {
            Some(begin) => parse(&[begin, b"</enabledOutputFormat>"].concat()),
            None => parse(bytes),
        }?;
        Ok(Self {
            id: root.get("id").map(str::to_owned),
            answer: Answer::read(&root)?,
        })
    }
}

impl Notice {
    /// The document.
    pub fn to_bytes(&self) -> Vec<u8> {
        let element = match self {
            Self::TraceStarted(trace) => trace.write(Element::new("traceStarted")),
            Self::TraceEnded {
                reason,
                ended,
                message,
            } => {
                let message = (!message.is_empty()).then(|| cut(message));
                let element = Element::new("traceEnded").with("reason", reason);
                ended.write(element).with_some("message", message)
            }
            Self::TraceSaved { reason, saved } => {
                saved.write(Element::new("traceSaved").with("reason", cut(reason)))
            }
            Self::State(state) => Element::new("state").with("state", state),
            Self::StreamLost { message } => {
                Element::new("streamLost").with("message", cut(message))
            }
            Self::Ending(reason) => Element::new("ending").with("reason", reason),
        };
        element.to_bytes()
    }

    /// Reads a document.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(bytes: &[u8]) -> Result<Self, Unreadable> {
        let root = parse(bytes)?;
        let part = Part::root(&root);
        Ok(match root.name.as_str() {
            "traceStarted" => Self::TraceStarted(Trace::read(&part)?),
            "traceEnded" => Self::TraceEnded {
                reason: part.needed_as("reason", EndReason::parse)?,
                ended: Ended::read(&part)?,
                message: part.text("message").unwrap_or_default(),
            },
            "traceSaved" => Self::TraceSaved {
                reason: part.needed("reason")?.to_owned(),
                saved: Ended::read(&part)?,
            },
            "state" => Self::State(part.needed_as("state", State::parse)?),
            "streamLost" => Self::StreamLost {
                message: part.needed("message")?.to_owned(),
            },
            "ending" => Self::Ending(part.needed_as("reason", EndReason::parse)?),
            _ => return Err(unknown(&root).into()),
        })
    }
}
