//! The agent's answers and notices.
//!
//! Clients ignore unknown attributes and elements, since later versions of the agent may send more.
//! Texts that could have any length are truncated when they are written, so that every document
//! fits into a frame.

use crate::command::{Destination, SnapshotKind};
use crate::part::{ErrorCode, Failure, Part, Size, Value, parse, words};
use jtrail_options::OutputFormat;
use jtrail_xml::Element;
use std::time::Duration;

words! {
    /// The state of an agent.
    State {
        /// There is no active trace.
        Idle = "idle",
        /// Events are recorded.
        Recording = "recording",
        /// There is an active trace, but nothing is recorded.
        Paused = "paused",
    }
}

words! {
    /// The reason why a trace has ended.
    EndReason {
        /// A client stopped the trace.
        Stop = "stop",
        /// A client requested the next trace.
        Rotate = "rotate",
        /// The burst for which the trace was begun has ended.
        Burst = "burst",
        /// A client detached the agent.
        Detach = "detach",
        /// The JVM is shutting down.
        Shutdown = "shutdown",
        /// The client that received the data has disconnected or was too slow.
        StreamLost = "streamLost",
        /// The trace could not be written.
        Failure = "failure",
    }
}

words! {
    /// The use of the data stream.
    StreamUse {
        /// No client has it.
        Free = "free",
        /// The requesting client has it.
        Yours = "yours",
        /// Another client has it.
        Taken = "taken",
    }
}

/// An active trace, or one that has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trace {
    /// The format of the trace.
    pub format: OutputFormat,
    /// The destination of the trace.
    pub to: Destination,
    /// The name of the file. `None` for a stream, and for a flight recorder.
    pub file: Option<String>,
}

/// The figures of a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Figures {
    /// The time since the trace began.
    pub elapsed: Duration,
    /// The number of recorded events.
    pub events: u64,
    /// The number of lost events.
    pub lost: u64,
    /// The number of written bytes.
    pub bytes: u64,
}

/// A trace that has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// The trace.
    pub trace: Trace,
    /// The figures of the trace.
    pub figures: Figures,
}

/// The status of an agent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    /// The state of the agent.
    pub state: State,
    /// The id of the process.
    pub pid: u32,
    /// The agent's version.
    pub version: String,
    /// Time since the agent was loaded.
    pub uptime: Duration,
    /// The active trace with its figures so far. `None` when [`State::Idle`].
    pub trace: Option<Ended>,
    /// The total size of all buffers in bytes.
    pub buffer: u64,
    /// The size of the buffers that hold unwritten events, in bytes.
    pub buffered: u64,
    /// The memory that the agent has allocated besides its buffers, in bytes. `None` if unknown.
    pub memory: Option<u64>,
    /// The estimated share of the program's CPU time that recording takes, in millionths. `None` if
    /// unknown.
    pub overhead: Option<u32>,
    /// The number of connected clients. The server fills it in.
    pub clients: u32,
    /// The use of the data stream. The server fills it in.
    pub stream: StreamUse,
    /// The numbers of recorded events, by kind.
    pub counts: Vec<(String, u64)>,
    /// The numbers of lost events, by cause.
    pub losses: Vec<(String, u64)>,
}

/// An answer of the agent.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Answer {
    /// `enabledOutputFormat`: the format that applies on this connection.
    EnabledOutputFormat(OutputFormat),
    /// `done`: the command was executed.
    Done,
    /// `started`: a trace has begun.
    Started(Trace),
    /// `ended`: the trace has ended, and all of it is written.
    Ended(Ended),
    /// `rotated`: one trace has ended, and the next one has begun.
    Rotated {
        /// The trace that has ended.
        ended: Ended,
        /// The new trace.
        started: Trace,
    },
    /// `saved`: the newest events were written as a trace. The figure `elapsed` is the time that
    /// these events cover.
    Saved(Ended),
    /// `snapshot`: the snapshot was written.
    Snapshot {
        /// The kind of snapshot.
        kind: SnapshotKind,
        /// The file of the snapshot. `None` if it is in the trace.
        file: Option<String>,
    },
    /// `filters`: the new filters apply.
    Filters {
        /// The number of retransformed classes.
        retransformed: u64,
    },
    /// `status`: the status of the agent.
    Status(Status),
    /// `error`: the command was not executed.
    Error(Failure),
}

/// An answer with the `id` of the command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reply {
    /// The `id` of the command, if it had one.
    pub id: Option<String>,
    /// The answer.
    pub answer: Answer,
}

/// A notice of the agent, sent unsolicited to every client.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Notice {
    /// `traceStarted`: a trace has begun.
    TraceStarted(Trace),
    /// `traceEnded`: a trace has ended. Sent after its last data.
    TraceEnded {
        /// The reason for the end.
        reason: EndReason,
        /// The trace.
        ended: Ended,
        /// A description of the error; empty if there was none.
        message: String,
    },
    /// `traceSaved`: the newest events were written as a trace.
    TraceSaved {
        /// The reason for saving: `command`, or a moment or trigger, spelled as in the option
        /// `save`.
        reason: String,
        /// The trace.
        saved: Ended,
    },
    /// `state`: the trace was paused or resumed, by a client or by the begin or end of a burst.
    State(State),
    /// `streamLost`: the client that had the data stream has disconnected, or was disconnected.
    StreamLost {
        /// A description of the event.
        message: String,
    },
    /// `ending`: the agent ends, and so does the connection.
    Ending(EndReason),
}

/// The error for a document that is not an answer or notice.
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

/// The maximum length of a text in the agent's documents, in bytes.
const MAX_TEXT_BYTES: usize = 4096;

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT_BYTES)]
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
    /// Returns the document.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut element = self.answer.element();
        if let Some(id) = &self.id {
            element.attributes.insert(0, ("id".to_owned(), id.clone()));
        }
        element.to_bytes()
    }

    /// Parses a document. Also accepts the answer to `setOutputFormat` as old specifications print
    /// it: a second start tag `enabledOutputFormat` is in place of the end tag.
    ///
    /// # Errors
    /// If the document is not a valid answer.
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
    /// Returns the document.
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

    /// Parses a document.
    ///
    /// # Errors
    /// If the document is not a valid notice.
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
