//! Writes a part of traces as a stand-alone page.

use super::{Args, running, source};
use crate::input::check_distinct;
use crate::outcome::{SOUND, Streams};
use crate::output::{OutputFile, Temporary, bytes, count, time, write_error};
use crate::select::{selected, time_argument};
use anyhow::{Context, anyhow, bail};
use jtrail_model::{ThreadId, Timestamp};
use jtrail_view::{MAX_SLICES, Page, PageError, Selection, Trace};
use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};
use std::path::Path;

pub(super) fn run(args: &Args, output: &Path, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    let inputs: Vec<&Path> = args.traces.iter().map(|path| &**path).collect();
    check_distinct(&inputs, output)?;
    let to_stdout = output == Path::new("-");
    // An output that can't be written is an error before traces are read.
    let mut file = match to_stdout {
        true => None,
        false => Some(OutputFile::create(output)?),
    };
    let folder = Temporary::folder().context("can't make a folder for temporary trails")?;
    let (mut traces, mut spans, mut origins) = (Vec::new(), Vec::new(), Vec::new());
    let mut remarks = Vec::new();
    for (number, path) in args.traces.iter().enumerate() {
        let trail = folder.path().join(format!("{number}.trail"));
        let path = &running::trace_of(path, streams)?;
        let source = source::open(path, &trail, args.one_file, streams)?;
        let (title, trace) = (source.title, source.trace);
        for remark in &source.remarks {
            writeln!(streams.err, "jtrail: {title}: {remark}")?;
        }
        remarks.push(source.remarks);
        let selection = selection(args, path, &trace)?;
        origins.push(trace.span()[0]);
        spans.push(since(&selection, trace.span()[0]));
        traces.push((title, trace, selection));
    }
    let page = Page::new(traces, MAX_SLICES);
    let mut page = page.map_err(|error| explained(args, &origins, error))?;
    for (trace, remarks) in remarks.into_iter().enumerate() {
        for remark in remarks {
            page = page.with_remark(trace, remark);
        }
    }
    if page.calls() + page.waits() == 0 {
        bail!(
            "{}: the selection has no calls or waits; nothing is written",
            inputs
                .iter()
                .map(|path| path.display().to_string())
                .collect::<Vec<_>>()
                .join(", ")
        );
    }
    let out: &mut dyn Write = match &mut file {
        Some(file) => file,
        None => &mut *streams.out,
    };
    let size = write(&page, out).map_err(|error| match to_stdout {
        true => write_error(output, error),
        false => error,
    })?;
    if let Some(file) = file {
        file.finish()?;
    }
    let name = match to_stdout {
        true => "standard output".to_owned(),
        false => output.display().to_string(),
    };
    writeln!(
        streams.err,
        "jtrail: {name}: {} calls and {} waits of {} threads, {}; {}",
        count(page.calls() as u64),
        count(page.waits() as u64),
        count(page.threads() as u64),
        spans.join(" and "),
        bytes(size),
    )?;
    Ok(SOUND)
}

/// Returns what the arguments select of a trace.
fn selection(args: &Args, path: &Path, trace: &Trace) -> anyhow::Result<Selection> {
    let is_selected = |id: &ThreadId| selected(&args.thread, trace.names(), *id);
    let threads: Option<BTreeSet<ThreadId>> = match args.thread.is_empty() {
        true => None,
        false => Some(trace.threads().filter(is_selected).collect()),
    };
    if threads.as_ref().is_some_and(BTreeSet::is_empty) {
        bail!("{}: --thread selects no thread with events", path.display());
    }
    let span = args.span.within(trace.span());
    Ok(Selection { span, threads })
}

/// Returns a selected span in words.
fn since(selection: &Selection, origin: Timestamp) -> String {
    let [from, until] = selection.span;
    format!(
        "{} from {}",
        time(until.since(from).0),
        argument(from, origin)
    )
}

/// Returns a time as --from and --until take it.
fn argument(time: Timestamp, origin: Timestamp) -> String {
    time_argument(time.since(origin).0.max(0).unsigned_abs())
}

/// Returns an error that says which selection fits.
fn explained(args: &Args, origins: &[Timestamp], error: PageError) -> anyhow::Error {
    let (trace, found, max, fits) = match error {
        PageError::Read(error) => return error.into(),
        PageError::TooMany {
            trace,
            found,
            max,
            fits,
        } => (trace, found, max, fits),
    };
    let number = |n: usize| count(n as u64);
    let text = format!(
        "{}: the selection has at least {} calls and waits; a page holds {}{}; nothing is written",
        args.traces[trace].display(),
        number(found),
        number(max),
        if origins.len() > 1 {
            " of each trace"
        } else {
            ""
        },
    );
    match fits {
        Some(([from, until], slices)) => {
            // The time of --until is selected.
            let [from, last] =
                [from, Timestamp(until.0 - 1)].map(|time| argument(time, origins[trace]));
            anyhow!(
                "{text}; select less by --from, --until or --thread, for example:\n  --from {from} --until {last}    calls and waits: {}",
                number(slices)
            )
        }
        None => anyhow!("{text}; select fewer threads by --thread"),
    }
}

/// Writes a page. Returns its size in bytes.
fn write(page: &Page, out: &mut dyn Write) -> io::Result<u64> {
    let mut out = BufWriter::with_capacity(1 << 16, Counting { out, written: 0 });
    page.write(&mut out)?;
    out.flush()?;
    Ok(out.get_ref().written)
}

/// Counts what is written.
struct Counting<'a> {
    out: &'a mut dyn Write,
    written: u64,
}

impl Write for Counting<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.written += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
