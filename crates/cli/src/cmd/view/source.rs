//! Opens traces, whatever their format.

use crate::cmd::convert;
use crate::outcome::Streams;
use anyhow::{Context, bail};
use jtrail_view::Trace;
use jtrail_view::api::Opened;
use std::fs::File;
use std::path::Path;

/// Opens a trace. One that can't be read in parts becomes a trail at `trail` first: one of another
/// format or an earlier version, or one that is truncated or damaged.
pub(super) fn open(path: &Path, trail: &Path, streams: &mut Streams<'_>) -> anyhow::Result<Opened> {
    let title = path.file_name().unwrap_or(path.as_os_str());
    let title = title.to_string_lossy().into_owned();
    File::open(path).with_context(|| format!("{}", path.display()))?;
    let trace = Trace::open(path).with_context(|| format!("{}", path.display()))?;
    if let Some(trace) = trace {
        return Ok(Opened::new(title, trace));
    }
    writeln!(
        streams.err,
        "jtrail: {}: it can't be read in parts, so it becomes a temporary trail first",
        path.display()
    )?;
    let args = convert::Args::to_trail(path.to_owned(), trail.to_owned());
    convert::run(&args, streams)?;
    match Trace::open(trail).context("the temporary trail")? {
        Some(trace) => Ok(Opened::new(title, trace)),
        None => bail!("{}: it has no events", path.display()),
    }
}
