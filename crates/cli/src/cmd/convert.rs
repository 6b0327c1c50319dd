//! `jtrail convert`: a trace in another format.

use crate::Streams;
use crate::input::{Ending, Input, same_file};
use crate::output::OutputFile;
use anyhow::{Context, anyhow, bail};
use jtrail_formats::{Encode, Format, Loss, mlpd};
use jtrail_model::{AgentCreate, Event, Node, ProcessCreate, TraceStart};
use jtrail_options::MlpdVersion;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Write a trace in another format
///
/// Runs in bounded memory, whatever the trace's size. A file is written under a name that ends in
/// .part, and gets its own name when it is whole. What the other format can't hold is counted, by kind.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The trace, in any format; - for standard input
    input: PathBuf,
    /// The file to write; - for standard output
    output: PathBuf,
    /// Format to write; without it, the ending of the output's name says (.trcxml, .trcbin, .trc, .mlpd, .log, .xml)
    #[arg(long, value_name = "FORMAT", value_parser = format_names())]
    to: Option<String>,
    /// Data version of a log profile; without it 1
    #[arg(long, value_name = "VERSION", value_parser = clap::builder::PossibleValuesParser::new(MlpdVersion::WORDS))]
    mlpd: Option<String>,
}

fn format_names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(Format::ALL.map(Format::name))
}

/// Encoded bytes that are gathered before they are written.
const CHUNK: usize = 256 << 10;

pub(crate) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    let format = format(args)?;
    let to_stdout = args.output == Path::new("-");
    if !to_stdout && same_file(&args.input, &args.output) {
        bail!("{} can't be read and written at once", args.input.display());
    }
    let mut encoder = encoder(format, args)?;
    let mut input = Input::open(&args.input, true)?;
    // A snapshot does not say where it comes from. Where a trace must open with that, it opens without names.
    let opens = matches!(format, Format::TptpXml | Format::TptpBinary | Format::Trail);
    let opening = match input.format() {
        Format::ProfilerJ if opens => opening().into(),
        _ => Vec::new(),
    };
    let ending = if to_stdout {
        encode(&mut input, &opening, &mut *encoder, &mut *streams.out)?
    } else {
        let mut file = OutputFile::create(&args.output)?;
        let done = encode(&mut input, &opening, &mut *encoder, &mut file)
            .and_then(|done| file.patch(&encoder.patches()).map(|()| done))
            .with_context(|| format!("can't write {}", args.output.display()))?;
        file.finish()?;
        done
    };
    ending.tell(&args.input, streams)?;
    let losses = encoder.losses();
    if !losses.is_empty() {
        let name = format.name();
        writeln!(
            streams.err,
            "jtrail: no place in {name} for {}",
            list(&losses)
        )?;
    }
    Ok(ending.code())
}

fn list(losses: &[Loss]) -> String {
    let told: Vec<_> = losses.iter().map(Loss::to_string).collect();
    told.join(", ")
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
            "the name {} tells no format; add --to {}",
            args.output.display(),
            known()
        )
    })
}

fn encoder(format: Format, args: &Args) -> anyhow::Result<Box<dyn Encode>> {
    let Some(version) = &args.mlpd else {
        return Ok(format.encoder());
    };
    if format != Format::Mlpd {
        bail!("--mlpd goes with mlpd, and not with {}", format.name());
    }
    let version = match version == MlpdVersion::V17.word() {
        true => mlpd::DataVersion::V17,
        false => mlpd::DataVersion::V1,
    };
    Ok(Box::new(mlpd::Encoder::new(version)))
}

/// What opens every trace, with nothing known.
fn opening() -> [Event<'static>; 4] {
    [
        Event::Node(Node::default()),
        Event::ProcessCreate(ProcessCreate::default()),
        Event::AgentCreate(AgentCreate::default()),
        Event::TraceStart(TraceStart::default()),
    ]
}

/// Reads to the end, behind events to open with; answers how reading ended.
fn encode(
    input: &mut Input,
    opening: &[Event<'_>],
    encoder: &mut dyn Encode,
    out: &mut dyn Write,
) -> anyhow::Result<Ending> {
    let mut buffer = Vec::with_capacity(CHUNK + (CHUNK >> 2));
    encoder.begin(&mut buffer);
    for event in opening {
        encoder.event(event, &mut buffer);
    }
    let ending = input.events(|event| {
        encoder.event(event, &mut buffer);
        if buffer.len() >= CHUNK {
            out.write_all(&buffer)?;
            buffer.clear();
        }
        Ok(())
    })?;
    // A trace that breaks off still does so in the other format, unless that has written only a part by then.
    let whole = !ending.truncated && ending.error.is_none();
    if !whole {
        encoder.break_off();
    }
    if whole || encoder.holds_back() {
        while encoder.end_part(&mut buffer) {
            out.write_all(&buffer)?;
            buffer.clear();
        }
    }
    out.write_all(&buffer)?;
    out.flush()?;
    Ok(ending)
}
