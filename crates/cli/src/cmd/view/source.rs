//! Opens traces, whatever their format.

use crate::cmd::convert;
use crate::outcome::Streams;
use anyhow::{Context, bail};
use jtrail_records::ownership;
use jtrail_view::{EXTENSION, Trace};
use std::fs::File;
use std::path::{Path, PathBuf};

/// Opens a trace, and returns it with its title and the place of its index. One that can't be read
/// in parts becomes a trail at `trail` first: one of another format, or of an earlier version.
pub(super) fn open(
    path: &Path,
    trail: &Path,
    streams: &mut Streams<'_>,
) -> anyhow::Result<(String, Trace, PathBuf)> {
    let title = path.file_name().unwrap_or(path.as_os_str());
    let title = title.to_string_lossy().into_owned();
    File::open(path).with_context(|| format!("{}", path.display()))?;
    let trace = Trace::open(path).with_context(|| format!("{}", path.display()))?;
    if let Some(trace) = trace {
        return Ok((title, trace, index_of(path, trail)));
    }
    writeln!(
        streams.err,
        "jtrail: {}: it can't be read in parts, so it becomes a temporary trail first",
        path.display()
    )?;
    let args = convert::Args::to_trail(path.to_owned(), trail.to_owned());
    convert::run(&args, streams)?;
    match Trace::open(trail).context("the temporary trail")? {
        Some(trace) => Ok((title, trace, trail.with_added_extension(EXTENSION))),
        None => bail!("{}: it has no events", path.display()),
    }
}

/// Returns a remark about files beside a trace that have events of the same run and are not shown.
pub(super) fn remark(path: &Path) -> Option<String> {
    let spool = path.with_added_extension("spool");
    // A process that still writes the trace writes what is in its buffers, too.
    let is_left = spool.is_dir() && !ownership::is_locked(path);
    is_left.then(|| {
        format!(
            "the buffers in {} have further events, which are not shown; `jtrail recover` adds \
             those of a process that has ended",
            spool.display()
        )
    })
}

/// Returns where the index of a trail is: beside it, or beside the temporary trail if that folder
/// can't be written.
fn index_of(path: &Path, temporary: &Path) -> PathBuf {
    let beside = path.with_added_extension(EXTENSION);
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let is_writable = tempfile::tempfile_in(folder.unwrap_or(Path::new("."))).is_ok();
    if beside.exists() || is_writable {
        return beside;
    }
    temporary.with_added_extension(EXTENSION)
}
