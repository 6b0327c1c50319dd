//! `jtrail convert`: writes a trace in another format.

use crate::input::{Ending, Input, Selected, same_file};
use crate::outcome::Streams;
use crate::output::OutputFile;
use crate::select::{Selection, Span, ThreadSelector};
use anyhow::{Context, anyhow, bail};
use jtrail_analysis::Names;
use jtrail_formats::trail::Part;
use jtrail_formats::{Encode, Format, Quantity, Recorded, dropped_message, mlpd};
use jtrail_model::{
    AgentCreate, Custom, Event, Lost, Node, Note, ObjectKind, ProcessCreate, Timestamp, TraceStart,
};
use jtrail_options::MlpdVersion;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Write a trace in another format
///
/// Runs in bounded memory, whatever the trace's size. The output file has a name that ends in .part
/// until it is complete. Events that the other format can't store are dropped and counted by kind,
/// and so are objects whose required sizes are missing. With --from, --until or --thread,
/// definitions are kept, and the new trace contains the number of events left out.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The trace, in any format; - for standard input
    input: PathBuf,
    /// The file to write; - for standard output
    output: PathBuf,
    /// Format to write [default: by the extension of the output: .trcxml, .trcbin, .trc, .mlpd,
    /// .log, .xml, .trail]
    #[arg(long, value_name = "FORMAT", value_parser = format_names())]
    to: Option<String>,
    #[command(flatten)]
    span: Span,
    /// Only what this thread did: an id, or a name with * for any text (repeatable)
    #[arg(long, value_name = "ID|NAME", value_parser = ThreadSelector::parse)]
    thread: Vec<ThreadSelector>,
    /// Data version of a log profile [default: 1]
    #[arg(long = "mlpd.version", value_name = "VERSION", value_parser = clap::builder::PossibleValuesParser::new(MlpdVersion::WORDS))]
    mlpd_version: Option<String>,
}

fn format_names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(Format::ALL.map(Format::name))
}

/// Number of encoded bytes that are collected before they are written.
const CHUNK: usize = 256 << 10;

pub(crate) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    let format = format(args)?;
    let to_stdout = args.output == Path::new("-");
    if !to_stdout && same_file(&args.input, &args.output) {
        bail!("{} can't be read and written at once", args.input.display());
    }
    let mut encoder = encoder(format, args)?;
    let mut input = Input::open(&args.input, true)?.in_order();
    // A ProfilerJ snapshot does not name its process. Some formats must start with definitions of
    // node, process and agent: then these definitions get empty names.
    let opens = matches!(format, Format::TptpXml | Format::TptpBinary | Format::Trail);
    let opening = match input.format() {
        Format::ProfilerJ if opens => opening().into(),
        _ => Vec::new(),
    };
    let mut cut = Cut::new(Selection::new(&args.span, &args.thread));
    let mut sizes = Sizes::between(input.format(), format);
    let ending = if to_stdout {
        encode(
            &mut input,
            &opening,
            (&mut cut, &mut sizes),
            &mut *encoder,
            &mut *streams.out,
        )?
    } else {
        let mut file = OutputFile::create(&args.output)?;
        let seen = (&mut cut, &mut sizes);
        let done = encode(&mut input, &opening, seen, &mut *encoder, &mut file)
            .and_then(|done| file.patch(&encoder.patches()).map(|()| done))
            .with_context(|| format!("can't write {}", args.output.display()))?;
        file.finish()?;
        done
    };
    ending.print(&args.input, streams)?;
    if let Some(message) = dropped_message(format.name(), "", &encoder.dropped()) {
        writeln!(streams.err, "jtrail: {message}")?;
    }
    if sizes.missing > 0 {
        let (from, objects) = (input.format().name(), sizes.missing);
        writeln!(
            streams.err,
            "jtrail: {from}: missing: sizes of plain objects ({objects})"
        )?;
    }
    Ok(ending.code())
}

fn format(args: &Args) -> anyhow::Result<Format> {
    let known = || Format::ALL.map(Format::name).join(" or ");
    if let Some(name) = &args.to {
        return Format::by_name(name).ok_or_else(|| anyhow!("no format {name:?}"));
    }
    let extension = args
        .output
        .extension()
        .and_then(|e| e.to_str())
        .unwrap_or_default();
    Format::by_extension(extension).ok_or_else(|| {
        anyhow!(
            "no format has the extension of {}; add --to {}",
            args.output.display(),
            known()
        )
    })
}

fn encoder(format: Format, args: &Args) -> anyhow::Result<Box<dyn Encode>> {
    let Some(version) = &args.mlpd_version else {
        return Ok(format.encoder());
    };
    if format != Format::Mlpd {
        bail!(
            "--mlpd.version goes with mlpd, and not with {}",
            format.name()
        );
    }
    let version = match version == MlpdVersion::V17.word() {
        true => mlpd::DataVersion::V17,
        false => mlpd::DataVersion::V1,
    };
    Ok(Box::new(mlpd::Encoder::new(version)))
}

/// Returns the definitions at the start of every trace, with empty values.
fn opening() -> [Event<'static>; 4] {
    [
        Event::Node(Node::default()),
        ProcessCreate::default().into(),
        AgentCreate::default().into(),
        Event::TraceStart(TraceStart::default()),
    ]
}

/// Encodes the events of `opening` and then the whole input. Returns how reading ended.
fn encode(
    input: &mut Input,
    opening: &[Event<'_>],
    (cut, sizes): (&mut Cut<'_>, &mut Sizes),
    encoder: &mut dyn Encode,
    out: &mut dyn Write,
) -> anyhow::Result<Ending> {
    let mut buffer = Vec::with_capacity(CHUNK + (CHUNK >> 2));
    encoder.begin(&mut buffer);
    for event in opening {
        encoder.event(event, &mut buffer);
    }
    let ending = input.parts(cut.selection.is_all(), |seen| {
        match seen {
            Selected::Part(part, definitions) => return Ok(cut.wants(part, definitions)),
            Selected::Event(event) if cut.takes(event) => {
                if let Some(note) = cut.note(event) {
                    encoder.event(&note, &mut buffer);
                }
                sizes.see(event);
                encoder.event(event, &mut buffer);
            }
            Selected::Event(_) => {}
            Selected::Calls(calls) => encoder.calls(&calls, &mut buffer),
        }
        if buffer.len() >= CHUNK {
            out.write_all(&buffer)?;
            buffer.clear();
        }
        Ok(true)
    })?;
    if let Some(note) = cut.last_note() {
        encoder.event(&note, &mut buffer);
    }
    // If the source is truncated, the converted trace is truncated too. The encoder may have
    // buffered parts of the trace until now. They are written in any case.
    let whole = !ending.truncated && ending.error.is_none();
    if !whole {
        encoder.mark_truncated();
    }
    if whole || encoder.has_pending() {
        while encoder.end_part(&mut buffer) {
            out.write_all(&buffer)?;
            buffer.clear();
        }
    }
    out.write_all(&buffer)?;
    out.flush()?;
    Ok(ending)
}

/// Counts the objects for which the target format stores a size and the source trace has none.
struct Sizes {
    counts_sizes: bool,
    /// True if the target format stores objects that were allocated before the trace started.
    ///
    /// If false, these objects are left out, so their sizes do not count as missing.
    with_definitions: bool,
    missing: u64,
}

impl Sizes {
    fn between(from: Format, to: Format) -> Self {
        let arrays_only = matches!(from.recorded(Quantity::Bytes), Recorded::Arrays(_));
        Self {
            counts_sizes: arrays_only && to.recorded(Quantity::Bytes) == Recorded::Exactly,
            with_definitions: to != Format::Mlpd,
            missing: 0,
        }
    }

    fn see(&mut self, event: &Event<'_>) {
        let (kind, size) = match event {
            Event::ObjectAlloc(e) => (e.kind, e.size),
            Event::ObjectDef(e) if self.with_definitions => (e.kind, e.size),
            _ => return,
        };
        self.missing += u64::from(self.counts_sizes && kind == ObjectKind::PLAIN && size == 0);
    }
}

/// Selection of a part of a trace, with the number of events that are left out.
struct Cut<'a> {
    selection: Selection<'a>,
    names: Names,
    /// Number of events left out since the last note.
    left_out: u64,
    is_reported: bool,
    latest: Timestamp,
}

impl<'a> Cut<'a> {
    fn new(selection: Selection<'a>) -> Self {
        Self {
            selection,
            names: Names::default(),
            left_out: 0,
            is_reported: false,
            latest: Timestamp::default(),
        }
    }

    /// Returns true if a part of a trail may contain selected events.
    ///
    /// The definitions of the part are written in either case.
    fn wants(&mut self, part: &Part, definitions: &[Event<'_>]) -> bool {
        let wants = self.selection.may_have(&self.names, part, definitions);
        if !wants {
            self.left_out += u64::from(part.events).saturating_sub(definitions.len() as u64);
        }
        wants
    }

    /// Returns true if an event is written: every definition, every selected event, and the end of
    /// the trace.
    fn takes(&mut self, event: &Event<'_>) -> bool {
        if self.selection.is_all() {
            return true;
        }
        self.selection.see(event);
        if event.is_definition() {
            self.names.event(event);
            return true;
        }
        let takes = is_end(event)
            || (self.selection.has_time(event) && self.selection.has_thread(&self.names, event));
        self.left_out += u64::from(!takes);
        takes
    }

    /// Returns the note about left-out events that must be written before this event, if any.
    ///
    /// Notes are written at the first gap and at the end.
    fn note(&mut self, event: &Event<'_>) -> Option<Event<'static>> {
        if self.is_reported && !is_end(event) || event.is_definition() {
            return None;
        }
        self.latest = event.time().unwrap_or(self.latest);
        self.last_note()
    }

    fn last_note(&mut self) -> Option<Event<'static>> {
        let events = std::mem::take(&mut self.left_out);
        self.is_reported |= events > 0;
        let note = Note::Lost(Lost {
            events,
            from: self.latest,
            to: self.latest,
            reason: "selection".into(),
            ..Lost::default()
        });
        (events > 0).then(|| {
            Event::Custom(Custom {
                body: note.to_string().into(),
            })
        })
    }
}

/// Returns true for the events at the end of a trace.
fn is_end(event: &Event<'_>) -> bool {
    matches!(event, Event::TraceEnd(_) | Event::AgentDestroy(_))
}
