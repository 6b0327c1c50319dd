//! Opens traces, whatever their format, and also if the agent divided them into several files.

use super::join::join;
use super::parts::Parts;
use crate::cmd::{convert, recover};
use crate::outcome::Streams;
use anyhow::{Context, bail};
use jtrail_records::{ownership, spool};
use jtrail_view::{EXTENSION, Trace};
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};

/// A trace that is open.
pub(super) struct Source {
    pub(super) title: String,
    pub(super) trace: Trace,
    /// Where its index is.
    pub(super) index: PathBuf,
    /// What people should know about files that are missing or not shown.
    pub(super) remarks: Vec<String>,
}

/// What is opened in place of a file that was named.
struct Found {
    /// The files of the trace.
    parts: Option<Parts>,
    /// The file that was named, or what was recovered of it.
    path: PathBuf,
    remarks: Vec<String>,
}

/// Opens a trace with all of its files, or that file alone.
///
/// A trace of one sound file that can be read in parts is opened where it is. Others become a trail
/// at `trail` first: those of several files, of other formats or earlier versions, and those with
/// events in the buffers of a process that was killed.
pub(super) fn open(
    path: &Path,
    trail: &Path,
    is_alone: bool,
    streams: &mut Streams<'_>,
) -> anyhow::Result<Source> {
    let title = name(path);
    let Found {
        parts,
        path,
        remarks,
    } = find(path, trail, is_alone, streams)?;
    let of = |trace: Trace, index: PathBuf| Source {
        title: title.clone(),
        trace,
        index,
        remarks: remarks.clone(),
    };
    let named = || path.display().to_string();
    match &parts {
        Some(parts) if parts.files.len() > 1 => {
            writeln!(
                streams.err,
                "jtrail: {title}: the trace is in {} files, which become one temporary trail first",
                parts.files.len()
            )?;
            join(parts, trail, streams)?;
        }
        _ => {
            File::open(&path).with_context(named)?;
            if let Some(trace) = Trace::open(&path).with_context(named)? {
                return Ok(of(trace, index_of(&path, trail)));
            }
            writeln!(
                streams.err,
                "jtrail: {}: it can't be read in parts, so it becomes a temporary trail first",
                path.display()
            )?;
            convert::run(
                &convert::Args::to_trail(path.clone(), trail.to_owned()),
                streams,
            )?;
        }
    }
    match Trace::open(trail).context("the temporary trail")? {
        Some(trace) => Ok(of(trace, trail.with_added_extension(EXTENSION))),
        None => bail!("{}: it has no events", path.display()),
    }
}

/// Finds the files of a trace, and recovers what a killed process had not written yet.
fn find(
    path: &Path,
    trail: &Path,
    is_alone: bool,
    streams: &mut Streams<'_>,
) -> anyhow::Result<Found> {
    let mut found = Found {
        parts: None,
        path: path.to_owned(),
        remarks: Vec::new(),
    };
    if is_alone {
        return Ok(found);
    }
    found.parts = Parts::of(path);
    if let Some(parts) = &mut found.parts {
        if parts.files.iter().any(|file| ownership::is_locked(file)) {
            found.remarks.push(format!(
                "only {} is shown of the {} files of the trace, which is still being written",
                name(path),
                parts.files.len()
            ));
            found.parts = None;
        } else {
            found.remarks.extend(missing(parts));
        }
    }
    let last = match &mut found.parts {
        Some(parts) => parts.files.last_mut(),
        None => Some(&mut found.path),
    };
    if let Some(last) = last {
        let recovered = trail.with_extension("recovered.trail");
        match recover_spool(last, &recovered, streams)? {
            Spool::None => {}
            Spool::Recovered => *last = recovered,
            Spool::Unused(why) => found.remarks.push(why),
        }
    }
    if let Some(parts) = &found.parts
        && let [only] = &parts.files[..]
    {
        found.path.clone_from(only);
    }
    Ok(found)
}

/// Returns a remark about each place where files are missing.
fn missing(parts: &Parts) -> Vec<String> {
    let all = parts.files.iter().zip(&parts.missing);
    let missing = all.filter_map(|(file, before)| Some((file, before.as_ref()?)));
    missing
        .map(|(file, before)| {
            format!(
                "the trace has files before {} that are not there, the last one of them {before}: what they had is missing",
                name(file)
            )
        })
        .collect()
}

/// What became of the buffers beside a trace.
enum Spool {
    None,
    Recovered,
    /// They are there, and are not shown.
    Unused(String),
}

/// Recovers a trace with the events in the buffers of its process, if it has ended.
fn recover_spool(
    path: &Path,
    recovered: &Path,
    streams: &mut Streams<'_>,
) -> anyhow::Result<Spool> {
    let folder = spool::folder_of(path);
    // A process that still writes the trace writes what is in its buffers, too.
    if !folder.is_dir() || ownership::is_locked(path) {
        return Ok(Spool::None);
    }
    match recover::has_spool(path) {
        Ok(true) => {
            recover::run(&recover::Args::of(path, recovered), streams)?;
            Ok(Spool::Recovered)
        }
        Ok(false) => Ok(Spool::None),
        Err(why) => Ok(Spool::Unused(why)),
    }
}

fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or(path.as_os_str());
    OsStr::to_string_lossy(name).into_owned()
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
