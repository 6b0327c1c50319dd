//! `jtrail index`: makes the index of a trail, with which long traces are read quickly.

use crate::indexed::analysis_for_index;
use crate::input::Bar;
use crate::outcome::{SOUND, Streams};
use crate::output::bytes;
use anyhow::{Context, bail};
use jtrail_view::api::MIN_INDEXED;
use jtrail_view::{EXTENSION, Trace, save_analysis};
use std::path::PathBuf;

/// Make the index of a long trail
///
/// The index is a file beside the trail, FILE.idx. With it, `jtrail view` shows a trace of any
/// length at once, and `jtrail report` answers in a second. It takes 3 % of the trail's size at
/// most. `jtrail view` makes it when it is missing. A trail below 4 MiB needs none. An index that
/// does not belong to the trail any more is as good as missing.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The trails
    #[arg(required = true, value_name = "FILE")]
    traces: Vec<PathBuf>,
    /// Make the index even if there is a sound one
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    for path in &args.traces {
        let index = path.with_added_extension(EXTENSION);
        let named = || path.display().to_string();
        let trace = Trace::open(path).with_context(named)?;
        let Some(trace) = trace.filter(Trace::is_complete) else {
            bail!(
                "{}: only a complete trail of this version has an index; `jtrail convert` or \
                 `jtrail recover` makes one",
                path.display()
            );
        };
        let size = trace.bytes();
        if size < MIN_INDEXED {
            writeln!(
                streams.out,
                "{}: it is short and needs no index",
                path.display()
            )?;
            continue;
        }
        if !args.force && trace.use_index(&index).with_context(named)? {
            writeln!(streams.out, "{}: it has an index", path.display())?;
            continue;
        }
        let mut bar = Bar::new(Some(size), true);
        let written = trace.build_index(&index, |bytes| {
            bar.is_at(bytes);
            true
        });
        drop(bar);
        written.with_context(named)?;
        if let Some(analysis) = analysis_for_index(path) {
            save_analysis(path, &index, &analysis).with_context(named)?;
        }
        let taken = index.metadata().with_context(named)?.len();
        writeln!(
            streams.out,
            "{}: {} ({:.1} % of the trail)",
            index.display(),
            bytes(taken),
            100.0 * taken as f64 / size as f64
        )?;
    }
    Ok(SOUND)
}
