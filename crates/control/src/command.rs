//! The commands of clients.
//!
//! Each command is an XML element. Every command may have an attribute `id`, a text of at most
//! [`MAX_ID_BYTES`] bytes. The answer repeats the `id`. Unknown attributes, elements and texts are
//! errors: a misspelled option must not be ignored.

use crate::part::{ErrorCode, Failure, Part, Value, parse, words};
use jtrail_options::{BurstLimit, Events, Filter, OutputFormat};
use jtrail_xml::Element;
use std::time::Duration;

/// The maximum length of an `id` in bytes.
pub const MAX_ID_BYTES: usize = 64;
/// The maximum length of a [`Command::Mark`] in bytes.
pub const MAX_MARK_BYTES: usize = 4096;
/// The maximum length of a file's name in bytes.
pub const MAX_FILE_NAME_BYTES: usize = 4096;

/// A command of a client.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Command {
    /// `setOutputFormat`: sets the format of the data on this connection.
    SetOutputFormat {
        /// The name of the format. An unknown name changes nothing.
        format: String,
    },
    /// `start`: begins a trace.
    Start(Start),
    /// `stop`: ends the trace.
    Stop,
    /// `pause`: suspends recording; the trace stays open.
    Pause,
    /// `resume`: resumes recording.
    Resume,
    /// `burst`: records for a limited time only. Afterwards, a paused trace is paused again, and an
    /// idle agent is idle again.
    Burst(BurstLimit),
    /// `go`: lets a program that waits for a client start, without a trace.
    Go,
    /// `rotate`: ends the trace and begins a new one like it.
    Rotate {
        /// The name of the new file; without it, the agent chooses one. Not allowed for a trace
        /// that goes to a client.
        file: Option<String>,
    },
    /// `save`: writes the newest events of a flight recorder.
    Save {
        /// The name of the file; without it, the agent chooses one.
        file: Option<String>,
    },
    /// `snapshot`: writes a snapshot.
    Snapshot {
        /// The kind of snapshot.
        kind: SnapshotKind,
        /// The name of the file; without it, the agent chooses one, or writes into the trace.
        file: Option<String>,
    },
    /// `forceGc`: forces a garbage collection.
    ForceGc,
    /// `setFilters`: replaces the filters for classes and methods.
    SetFilters {
        /// Values of the options `include` (true) and `exclude` (false). They replace all existing
        /// filters.
        patterns: Vec<(bool, String)>,
    },
    /// `mark`: writes a text into the trace.
    Mark {
        /// The text; not empty.
        text: String,
    },
    /// `status`: requests the status.
    Status,
    /// `stream`: acquires or releases the data stream.
    Stream {
        /// True to release the stream.
        release: bool,
    },
    /// `detach`: ends the trace, undoes all changes, and detaches from the program.
    Detach,
}

/// The properties of a trace to start.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Start {
    /// The destination. Without it, the trace goes to the stream if this client has the stream,
    /// else to a file.
    pub to: Option<Destination>,
    /// The name of the file, with placeholders as in the option `file`. Only with
    /// [`Destination::File`] or without `to`.
    pub file: Option<String>,
    /// The format. Without it, a trace in the stream has the connection's format, and a trace in a
    /// file has the format of the agent's options.
    pub format: Option<OutputFormat>,
    /// Kinds of events, spelled as in the option `events`. Without it, those of the agent's options
    /// are recorded.
    pub events: Option<String>,
    /// Filters as in [`Command::SetFilters`]; an empty list changes nothing.
    pub patterns: Vec<(bool, String)>,
}

words! {
    /// The destination of a trace.
    Destination {
        /// A file.
        File = "file",
        /// The client that has the data stream.
        Stream = "stream",
        /// Memory: the flight recorder keeps the newest events, which become a trace when they are
        /// saved. It can't be requested in a command.
        Ring = "ring",
    }
}

words! {
    /// The kind of a snapshot.
    SnapshotKind {
        /// The totals so far (ProfilerJ).
        Profile = "profile",
        /// The heap.
        Heap = "heap",
    }
}

/// A command with its `id`, which the answer repeats.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The command's id, chosen by the client.
    pub id: Option<String>,
    /// The command itself.
    pub command: Command,
}

/// The error for a document that is not a valid command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadRequest {
    /// The document's `id`, if it could be read.
    pub id: Option<String>,
    /// A description of the error.
    pub failure: Failure,
}

impl Command {
    /// The names of all commands.
    pub const NAMES: [&'static str; 16] = [
        "setOutputFormat",
        "start",
        "stop",
        "pause",
        "resume",
        "burst",
        "go",
        "rotate",
        "save",
        "snapshot",
        "forceGc",
        "setFilters",
        "mark",
        "status",
        "stream",
        "detach",
    ];

    /// Returns the name of the command's element.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::SetOutputFormat { .. } => "setOutputFormat",
            Self::Start(_) => "start",
            Self::Stop => "stop",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Burst(_) => "burst",
            Self::Go => "go",
            Self::Rotate { .. } => "rotate",
            Self::Save { .. } => "save",
            Self::Snapshot { .. } => "snapshot",
            Self::ForceGc => "forceGc",
            Self::SetFilters { .. } => "setFilters",
            Self::Mark { .. } => "mark",
            Self::Status => "status",
            Self::Stream { .. } => "stream",
            Self::Detach => "detach",
        }
    }

    fn element(&self) -> Element {
        let element = Element::new(self.name());
        match self {
            Self::SetOutputFormat { format } => {
                element.with_child(Element::new("format").with_text(format))
            }
            Self::Start(start) => rules(
                element
                    .with_some("to", start.to)
                    .with_some("file", start.file.as_ref())
                    .with_some("format", start.format)
                    .with_some("events", start.events.as_ref()),
                &start.patterns,
            ),
            Self::Burst(BurstLimit::Time(time)) => element.with("for", time.show()),
            Self::Burst(BurstLimit::Events(events)) => element.with("count", events),
            Self::Rotate { file } | Self::Save { file } => element.with_some("file", file.as_ref()),
            Self::Snapshot { kind, file } => {
                element.with("kind", kind).with_some("file", file.as_ref())
            }
            Self::SetFilters { patterns } => rules(element, patterns),
            Self::Mark { text } => element.with("text", text),
            Self::Stream { release: true } => element.with("release", "true"),
            _ => element,
        }
    }

    fn read(root: &Element) -> Result<Self, Failure> {
        let name = root.name.as_str();
        let part = |attributes: &[&str], children: &[&str]| {
            let attributes = [&["id"], attributes].concat();
            Part::new(root, name.to_owned(), &attributes, children)?.without_text()
        };
        let bare = |command| part(&[], &[]).map(|_| command);
        match name {
            "setOutputFormat" => output_format(&part(&[], &["format"])?),
            "start" => {
                let attributes = ["to", "file", "format", "events"];
                start(&part(&attributes, &["include", "exclude"])?).map(Self::Start)
            }
            "stop" => bare(Self::Stop),
            "pause" => bare(Self::Pause),
            "resume" => bare(Self::Resume),
            "burst" => burst(&part(&["for", "count"], &[])?).map(Self::Burst),
            "go" => bare(Self::Go),
            "rotate" => {
                let file = file(&part(&["file"], &[])?)?;
                Ok(Self::Rotate { file })
            }
            "save" => {
                let file = file(&part(&["file"], &[])?)?;
                Ok(Self::Save { file })
            }
            "snapshot" => {
                let part = part(&["kind", "file"], &[])?;
                let kind = part.needed_as("kind", SnapshotKind::parse)?;
                let file = file(&part)?;
                Ok(Self::Snapshot { kind, file })
            }
            "forceGc" => bare(Self::ForceGc),
            "setFilters" => {
                let patterns = patterns(&part(&[], &["include", "exclude"])?)?;
                Ok(Self::SetFilters { patterns })
            }
            "mark" => {
                let text = part(&["text"], &[])?
                    .needed_as("text", |text| bounded(text, MAX_MARK_BYTES))?;
                Ok(Self::Mark { text })
            }
            "status" => bare(Self::Status),
            "stream" => {
                let release = part(&["release"], &[])?.parsed("release", |word| match word {
                    "true" => Ok(true),
                    "false" => Ok(false),
                    _ => Err("no such value; allowed are true, false".to_owned()),
                })?;
                let release = release.unwrap_or(false);
                Ok(Self::Stream { release })
            }
            "detach" => bare(Self::Detach),
            _ => Err(unrecognized(name)),
        }
    }
}

/// Creates the failure for an unknown command.
pub(crate) fn unrecognized(name: &str) -> Failure {
    let name: String = name.chars().take(MAX_ID_BYTES).collect();
    // The text of the message is the same as in TPTP.
    Failure::at(ErrorCode::Unrecognized, name, "unrecognized command")
}

impl Request {
    /// Creates a request without an `id`.
    pub fn new(command: Command) -> Self {
        Self { id: None, command }
    }

    /// Returns the document.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut element = self.command.element();
        if let Some(id) = &self.id {
            element.attributes.insert(0, ("id".to_owned(), id.clone()));
        }
        element.to_bytes()
    }

    /// Parses a document.
    ///
    /// # Errors
    /// If the document is not a valid command: the failure to send as the answer.
    pub fn parse(bytes: &[u8]) -> Result<Self, BadRequest> {
        let bad = |id, failure| BadRequest { id, failure };
        let root = parse(bytes).map_err(|failure| bad(None, failure))?;
        let id = root.get("id").map(str::to_owned);
        if id.as_ref().is_some_and(|id| id.len() > MAX_ID_BYTES) {
            let message = format!("it is longer than {MAX_ID_BYTES} bytes");
            let place = format!("{}/@id", unrecognized(&root.name).place);
            return Err(bad(None, Failure::at(ErrorCode::Invalid, place, message)));
        }
        match Command::read(&root) {
            Ok(command) => Ok(Self { id, command }),
            Err(failure) => Err(bad(id, failure)),
        }
    }
}

fn rules(element: Element, patterns: &[(bool, String)]) -> Element {
    patterns
        .iter()
        .fold(element, |element, (include, pattern)| {
            let name = if *include { "include" } else { "exclude" };
            element.with_child(Element::new(name).with("pattern", pattern))
        })
}

fn bounded(text: &str, longest: usize) -> Result<String, String> {
    match text.len() {
        0 => Err("it is empty".to_owned()),
        n if n > longest => Err(format!("it is longer than {longest} bytes")),
        _ => Ok(text.to_owned()),
    }
}

fn file(part: &Part<'_>) -> Result<Option<String>, Failure> {
    part.parsed("file", |name| bounded(name, MAX_FILE_NAME_BYTES))
}

fn output_format(part: &Part<'_>) -> Result<Command, Failure> {
    if part.element.children.len() != 1 {
        return Err(part.invalid("format", "there must be one"));
    }
    let format = part.needed_child("format")?.of(&[], &[])?.element;
    let format = format.text.trim().to_owned();
    Ok(Command::SetOutputFormat { format })
}

fn start(part: &Part<'_>) -> Result<Start, Failure> {
    let to = part.parsed("to", |word| {
        let to = Destination::parse(word).ok();
        let to = to.filter(|to| *to != Destination::Ring);
        to.ok_or_else(|| "no such value; allowed are file, stream".to_owned())
    })?;
    let file = file(part)?;
    if to == Some(Destination::Stream) && file.is_some() {
        return Err(part.invalid("@file", "the stream has no file"));
    }
    // The default events depend on the agent. They do not matter here: any default gives the same
    // result of the check.
    let events = part.parsed("events", |text| {
        Events::parse(text, Events::default()).map(|_| text.to_owned())
    })?;
    Ok(Start {
        to,
        file,
        format: part.parsed("format", OutputFormat::parse)?,
        events,
        patterns: patterns(part)?,
    })
}

fn burst(part: &Part<'_>) -> Result<BurstLimit, Failure> {
    let time = part.parsed("for", |text| match Duration::read(text)? {
        Duration::ZERO => Err("it is 0".to_owned()),
        time => Ok(BurstLimit::Time(time)),
    })?;
    let count = part.parsed("count", |text| match u64::read(text)? {
        0 => Err("it is 0".to_owned()),
        events => Ok(BurstLimit::Events(events)),
    })?;
    match (time, count) {
        (Some(limit), None) | (None, Some(limit)) => Ok(limit),
        _ => Err(Failure::at(
            ErrorCode::Invalid,
            "burst",
            "it needs either for or count",
        )),
    }
}

/// Parses the filter rules of an element, and checks that the options would accept them.
fn patterns(part: &Part<'_>) -> Result<Vec<(bool, String)>, Failure> {
    let mut patterns = Vec::new();
    // For each rule, the failure to report if the rule is wrong. Its message is still empty.
    let mut places = Vec::new();
    for rule in part.children() {
        let rule = rule.of(&["pattern"], &[])?.without_text()?;
        let include = rule.element.name == "include";
        patterns.push((include, rule.needed("pattern")?.to_owned()));
        places.push(rule.invalid("@pattern", ""));
    }
    match Filter::from_patterns(&patterns) {
        Ok(_) => Ok(patterns),
        Err((n, message)) => Err(Failure {
            message,
            ..places.swap_remove(n)
        }),
    }
}
