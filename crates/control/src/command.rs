//! What a client asks for.
//!
//! Each command is an element. All take an attribute `id`, a text of at most [`LONGEST_ID`] bytes
//! that the answer repeats. What a command does not know, be it an attribute, an element or text,
//! is an error: a misspelt wish must not be taken for none.

use crate::part::{ErrorCode, Failure, Part, Value, parse, words};
use jtrail_options::{BurstLimit, Events, Filter, OutputFormat};
use jtrail_xml::Element;
use std::time::Duration;

/// Most bytes of an `id`.
pub const LONGEST_ID: usize = 64;
/// Most bytes of a [`Command::Mark`].
pub const LONGEST_MARK: usize = 4096;
/// Most bytes of a file's name.
pub const LONGEST_FILE: usize = 4096;

/// What a client asks for.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Command {
    /// `setOutputFormat`: the format of the data on this connection.
    SetOutputFormat {
        /// The word for it. One that the agent does not know changes nothing.
        format: String,
    },
    /// `start`: begin a trace.
    Start(Start),
    /// `stop`: end the trace.
    Stop,
    /// `pause`: record nothing for a while, the trace stays open.
    Pause,
    /// `resume`: record again.
    Resume,
    /// `burst`: record for a while only. What was paused is paused again, what was idle is idle
    /// again.
    Burst(BurstLimit),
    /// `go`: the program that waits for a client goes on, without a trace.
    Go,
    /// `rotate`: end the trace and begin a new one of the same kind.
    Rotate {
        /// Where to; without it, the agent finds a name. Not for a trace that goes to a client.
        file: Option<String>,
    },
    /// `save`: write the newest events, where only those are kept.
    Save {
        /// Where to; without it, the agent finds a name.
        file: Option<String>,
    },
    /// `snapshot`: write what is known now.
    Snapshot {
        /// Of what.
        kind: SnapshotKind,
        /// Where to; without it, the agent finds a name, or it goes into the trace.
        file: Option<String>,
    },
    /// `forceGc`: collect garbage.
    ForceGc,
    /// `setFilters`: trace other classes and methods from now on.
    SetFilters {
        /// `include` (true) and `exclude` values as the options have them. They are in place of all
        /// that were there.
        patterns: Vec<(bool, String)>,
    },
    /// `mark`: a text into the trace.
    Mark {
        /// The text, not empty.
        text: String,
    },
    /// `status`: how is it going?
    Status,
    /// `stream`: take the data stream, or give it back.
    Stream {
        /// Give it back.
        release: bool,
    },
    /// `detach`: end the trace, undo everything and leave the program.
    Detach,
}

/// What a trace shall be.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Start {
    /// Where to; without it, to the stream if this client has it, else to a file.
    pub to: Option<Destination>,
    /// Name of the file, with the letters of the option `file`. Only with [`Destination::File`] or
    /// without `to`.
    pub file: Option<String>,
    /// Its format; without it, that of the connection for the stream, that of the agent's options
    /// for a file.
    pub format: Option<OutputFormat>,
    /// Events in the spelling of the option `events`; without it, those of the agent's options.
    pub events: Option<String>,
    /// Filters as with [`Command::SetFilters`]; none changes nothing.
    pub patterns: Vec<(bool, String)>,
}

words! {
    /// Where a trace goes.
    Destination {
        /// To a file.
        File = "file",
        /// To the client that has the data stream.
        Stream = "stream",
        /// Nowhere yet: the newest events are kept, and become a trace when they are saved. No
        /// trace can be asked to go there.
        Ring = "ring",
    }
}

words! {
    /// What a snapshot is of.
    SnapshotKind {
        /// The totals so far (ProfilerJ).
        Profile = "profile",
        /// The heap.
        Heap = "heap",
    }
}

/// A command with the `id` that its answer repeats.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// The client's own.
    pub id: Option<String>,
    /// What it asks for.
    pub command: Command,
}

/// A document that is no command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadRequest {
    /// Its `id`, if that could be read.
    pub id: Option<String>,
    /// What is wrong.
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

    /// The name of its element.
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
                let text =
                    part(&["text"], &[])?.needed_as("text", |text| bounded(text, LONGEST_MARK))?;
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

/// What an agent answers to a command that it does not know.
pub(crate) fn unrecognized(name: &str) -> Failure {
    let name: String = name.chars().take(LONGEST_ID).collect();
    // The text is TPTP's.
    Failure::at(ErrorCode::Unrecognized, name, "unrecognized command")
}

impl Request {
    /// A command without an `id`.
    pub fn new(command: Command) -> Self {
        Self { id: None, command }
    }

    /// The document.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut element = self.command.element();
        if let Some(id) = &self.id {
            element.attributes.insert(0, ("id".to_owned(), id.clone()));
        }
        element.to_bytes()
    }

    /// Reads a document.
    ///
    /// # Errors
    /// What is wrong with it, to be answered.
    pub fn parse(bytes: &[u8]) -> Result<Self, BadRequest> {
        let bad = |id, failure| BadRequest { id, failure };
        let root = parse(bytes).map_err(|failure| bad(None, failure))?;
        let id = root.get("id").map(str::to_owned);
        if id.as_ref().is_some_and(|id| id.len() > LONGEST_ID) {
            let message = format!("it is longer than {LONGEST_ID} bytes");
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
    part.parsed("file", |name| bounded(name, LONGEST_FILE))
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
    // The default ones depend on the agent; the words don't.
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

/// The rules of an element, each of which the options would take.
fn patterns(part: &Part<'_>) -> Result<Vec<(bool, String)>, Failure> {
    let mut patterns = Vec::new();
    // What is wrong with each, if something is.
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
