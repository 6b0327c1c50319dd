//! `jtrail recover`: writes a sound trail from a damaged one, and from the events in its spool that
//! the process had not written yet.

mod spooled;

use crate::input::{check_distinct, open_file};
use crate::outcome::{SOUND, Streams, TRUNCATED};
use crate::output::{OutputFile, count};
use anyhow::{Context, bail};
use jtrail_formats::trail::recover::{Gap, More, Other, Recovered, recover_with};
use serde_json::{Value, json};
use spooled::{First, Spooled, TracePrefix};
use std::io::{self, Cursor, Read, Seek};
use std::path::{Path, PathBuf};

/// Recover a sound trail from a damaged one
///
/// For trails (format=trail) that are truncated because the process was killed, or that are
/// damaged: cut, overwritten, or with missing, repeated or foreign parts. Events that the process
/// had recorded but not yet written are taken from the folder FILE.spool beside the trail, if it
/// still exists. Reports which bytes are damaged and which events are missing, also in the new
/// trace. No event is invented.
///
/// For a flight recorder (overflow=ring), FILE need not exist. The newest events of a killed
/// process are in FILE.spool.
///
/// Exits with 0 if nothing is missing, 3 if something is missing, 2 if nothing can be recovered.
/// Memory is bounded, whatever the file's size. The output file has a name that ends in .part until
/// it is complete.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The damaged trail: a file, which is read twice
    file: PathBuf,
    /// The file to write; - for standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Number of damaged places to show, 0 for all; JSON always contains all
    #[arg(long, default_value_t = 20)]
    top: usize,
    /// Write the findings to standard output, as a JSON object
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Returns arguments that write a sound trail of a file.
    pub(crate) fn of(file: &Path, output: &Path) -> Self {
        Self {
            file: file.to_owned(),
            output: output.to_owned(),
            top: 20,
            json: false,
        }
    }
}

/// Returns true if a process that has ended left events of a trail in a spool.
///
/// # Errors
/// If the spool exists but can't be used, with a sentence as the reason.
pub(crate) fn has_spool(file: &Path) -> Result<bool, String> {
    Spooled::of(file).map(|spooled| spooled.is_some())
}

pub(crate) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    if args.file == Path::new("-") {
        bail!("a trail is recovered from a file, which is read twice; standard input can't be");
    }
    let to_stdout = args.output == Path::new("-");
    if to_stdout && args.json {
        bail!("--json and the trace can't both go to standard output");
    }
    check_distinct(&[&args.file], &args.output)?;
    let spooled = match Spooled::of(&args.file) {
        Ok(spooled) => spooled,
        Err(why) => {
            writeln!(streams.err, "jtrail: {why}")?;
            None
        }
    };
    let spool = spooled.as_ref().map(|spooled| spooled.folder.clone());
    let (source, is_newest): (Box<dyn Source>, bool) = match spooled.as_ref().map(|s| &s.before) {
        Some(TracePrefix::Opening(opening)) => (Box::new(Cursor::new(opening.clone())), true),
        Some(TracePrefix::File(length)) => {
            (Box::new(First::new(open_file(&args.file)?, *length)), false)
        }
        None => (Box::new(open_file(&args.file)?), false),
    };
    let mut more: Box<dyn More> = match spooled {
        Some(spooled) => Box::new(spooled),
        None => Box::new(()),
    };
    let named = || format!("can't recover {}", args.file.display());
    let recovered = if to_stdout {
        recover_with(source, &mut *streams.out, &mut *more).with_context(named)?
    } else {
        let mut file = OutputFile::create(&args.output)?;
        let recovered = recover_with(source, &mut file, &mut *more).with_context(named)?;
        file.finish()?;
        recovered
    };
    if args.json {
        let found = as_json(args, &recovered, is_newest);
        serde_json::to_writer_pretty(&mut *streams.out, &found).map_err(io::Error::from)?;
        writeln!(streams.out)?;
    } else {
        print(args, &recovered, spool.as_deref(), is_newest, streams)?;
    }
    Ok(match recovered.is_complete() {
        true => SOUND,
        false => TRUNCATED,
    })
}

/// Source of the recovered trace, except for the events from the spool.
trait Source: Read + Seek {}

impl<S: Read + Seek> Source for S {}

/// Prints what is missing, in the order of the file. Then prints the totals.
fn print(
    args: &Args,
    recovered: &Recovered,
    spool: Option<&Path>,
    is_newest: bool,
    streams: &mut Streams<'_>,
) -> io::Result<()> {
    let path = args.file.display();
    let mut lines: Vec<(u64, String)> = Vec::new();
    lines.extend(recovered.gaps.iter().map(|g| (g.bytes.start, of_gap(g))));
    lines.extend(
        recovered
            .others
            .iter()
            .map(|o| (o.bytes.start, of_other(o))),
    );
    lines.sort_by_key(|(at, _)| *at);
    let shown = match args.top {
        0 => lines.len(),
        top => lines.len().min(top),
    };
    for (_, line) in &lines[..shown] {
        writeln!(streams.err, "jtrail: {path}: {line}")?;
    }
    if lines.len() > shown {
        let more = count((lines.len() - shown) as u64);
        writeln!(
            streams.err,
            "jtrail: {path}: … {more} more; --top 0 shows them"
        )?;
    }
    if recovered.is_cut {
        writeln!(
            streams.err,
            "jtrail: {path}: damaged in too many places; the rest was not read"
        )?;
    }
    if recovered.is_added
        && let Some(spool) = spool
    {
        let (added, spool) = (count(recovered.added), spool.display());
        match is_newest {
            true => writeln!(
                streams.err,
                "jtrail: {path}: its process ended before it saved anything there; the newest {added} events are from {spool}"
            )?,
            false => writeln!(
                streams.err,
                "jtrail: {path}: its process ended before the trace did; {added} events that it had not written yet are from {spool}"
            )?,
        }
    } else if !recovered.has_end {
        writeln!(
            streams.err,
            "jtrail: {path}: the trace is truncated; how many events followed is not known"
        )?;
    }
    writeln!(
        streams.err,
        "jtrail: {}: {} events, lost: {}, calls open at the end: {}",
        args.output.display(),
        count(recovered.events),
        count(recovered.lost),
        count(recovered.open_calls)
    )
}

/// Returns a range of positions as text: `bytes 812 to 4095`. Positions count from 0.
fn bytes(of: &std::ops::Range<u64>) -> String {
    match of.end.checked_sub(1) {
        Some(last) if last >= of.start => format!("bytes {} to {last}", of.start),
        _ => format!("at byte {}", of.start),
    }
}

fn of_gap(gap: &Gap) -> String {
    let mut line = format!("{}: ", bytes(&gap.bytes));
    if gap.damaged > 0 {
        line += &format!("{} bytes are damaged, ", count(gap.damaged));
    }
    line += &match gap.events.is_empty() {
        true => "no event is known to be missing".to_owned(),
        false => format!(
            "events {} to {} are missing",
            gap.events.start.saturating_add(1),
            gap.events.end
        ),
    };
    if gap.definitions > 0 {
        line += &format!(
            "; {} definitions are taken from their copies",
            gap.definitions
        );
    }
    line
}

fn of_other(other: &Other) -> String {
    let what = match other.is_repeated {
        true => "are there twice",
        false => "are of another trace, and are left out",
    };
    format!(
        "{}: {} segments with {} events {what}",
        bytes(&other.bytes),
        count(other.segments),
        count(other.events)
    )
}

fn as_json(args: &Args, recovered: &Recovered, is_newest: bool) -> Value {
    let gap = |gap: &Gap| {
        json!({
            "from": gap.bytes.start,
            "to": gap.bytes.end,
            "damaged": gap.damaged,
            "events_before": gap.events.start,
            "lost": gap.lost(),
            "definitions": gap.definitions,
        })
    };
    let other = |other: &Other| {
        json!({
            "from": other.bytes.start,
            "to": other.bytes.end,
            "segments": other.segments,
            "events": other.events,
            "repeated": other.is_repeated,
        })
    };
    json!({
        "file": args.file.display().to_string(),
        "output": args.output.display().to_string(),
        "complete": recovered.is_complete(),
        "has_end": recovered.has_end,
        "bytes": recovered.size,
        "events": recovered.events,
        "added": recovered.added,
        "newest": is_newest,
        "lost": recovered.lost,
        "open_calls": recovered.open_calls,
        "gaps": recovered.gaps.iter().map(gap).collect::<Vec<_>>(),
        "others": recovered.others.iter().map(other).collect::<Vec<_>>(),
        "cut": recovered.is_cut,
    })
}
