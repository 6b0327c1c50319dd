//! `jtrail convert`: writes a trace in another format.

use crate::cmd::export::{self, Caller};
use crate::input::{Input, check_distinct};
use crate::outcome::Streams;
use crate::output::OutputFile;
use crate::select::{Selection, Span, ThreadSelector};
use crate::transcode::{Excerpt, Source, transcode};
use anyhow::{anyhow, bail};
use jtrail_export::Target;
use jtrail_formats::{Encode, Format, Quantity, Readable, Recorded, dropped_message, mlpd};
use jtrail_model::{AgentCreate, Event, Node, ObjectKind, ProcessCreate, TraceStart};
use jtrail_options::MlpdVersion;
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
    /// Format to write, or target of an export [default: by the extension of the output: .trcxml,
    /// .trcbin, .trc, .mlpd, .log, .xml, .trail, or that of a target]
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

impl Args {
    /// Returns arguments that write a trail of a whole trace.
    pub(crate) fn to_trail(input: PathBuf, output: PathBuf) -> Self {
        Self {
            input,
            output,
            to: Some(Format::Trail.name().to_owned()),
            span: Span::default(),
            thread: Vec::new(),
            mlpd_version: None,
        }
    }
}

fn format_names() -> clap::builder::PossibleValuesParser {
    let formats = Format::ALL.into_iter().map(Format::name);
    clap::builder::PossibleValuesParser::new(formats.chain(Target::ALL.map(Target::name)))
}

pub(crate) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    if let Some(target) = target(args) {
        return export(args, target, streams);
    }
    let format = format(args)?;
    let to_stdout = args.output == Path::new("-");
    check_distinct(&[&args.input], &args.output)?;
    let mut encoder = encoder(format, args)?;
    let mut input = Input::open(&args.input, true)?.in_order();
    // A ProfilerJ snapshot does not name its process, and neither do the files of other tools. Some
    // formats must start with definitions of node, process and agent: then these definitions get
    // empty names.
    let opens = matches!(format, Format::TptpXml | Format::TptpBinary | Format::Trail);
    let opening = match input.format() {
        Readable::Trace(Format::ProfilerJ) | Readable::Import(_) if opens => opening().into(),
        _ => Vec::new(),
    };
    let mut excerpt = Excerpt::new(Selection::new(&args.span, &args.thread));
    let mut sizes = Sizes::between(input.format(), format);
    let mut source = Source {
        input: &mut input,
        opening: &opening,
        excerpt: &mut excerpt,
        observe: &mut |event| sizes.see(event),
    };
    let ending = if to_stdout {
        transcode(&mut source, &mut *encoder, &mut *streams.out)?
    } else {
        let mut file = OutputFile::create(&args.output)?;
        let done = transcode(&mut source, &mut *encoder, &mut file)?;
        file.patch(&encoder.patches())?;
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

/// Returns the export target that the arguments name, if they name no format.
fn target(args: &Args) -> Option<Target> {
    match &args.to {
        Some(name) => Target::by_name(name),
        None if format(args).is_ok() => None,
        None => export::by_file_name(&args.output),
    }
}

fn export(args: &Args, target: Target, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    if args.mlpd_version.is_some() {
        bail!(
            "--mlpd.version goes with mlpd, and not with {}",
            target.name()
        );
    }
    let selection = export::CallSelection::of_part(args.span.clone(), args.thread.clone());
    let paths = (args.input.clone(), args.output.clone());
    let args = export::Args::of_selection(Caller::Convert, paths, target, selection, false);
    export::run(&args, streams)
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
    fn between(from: Readable, to: Format) -> Self {
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
