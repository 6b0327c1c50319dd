//! Report of `run` after the program has exited.
//!
//! Counts are read from the trace, so they describe the contents of the file. If a trace is large,
//! only its end is read: it contains the agent's totals.

use crate::input::Input;
use crate::outcome::Streams;
use crate::output::{bytes, count, time};
use jtrail_analysis::Analysis;
use jtrail_formats::dropped_message;
use jtrail_formats::trail::Parts;
use jtrail_model::{Event, Note, Totals};
use jtrail_options::{Events, Options, OutputFormat, Overflow, Pattern};
use jtrail_records::ownership;
use jtrail_records::spool::SPOOL;
use std::collections::HashMap;
use std::fs::{self, DirEntry, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A program that has run.
pub(super) struct Ran<'a> {
    pub(super) options: &'a Options,
    pub(super) pid: u32,
    /// True if the program is the JVM itself, so that its process id is in the file's name.
    pub(super) direct: bool,
    pub(super) before: &'a Before,
    pub(super) took: Duration,
}

/// Maximum size of a trace that is read completely.
const READ_WHOLE: u64 = 256 << 20;

pub(super) fn write(ran: &Ran<'_>, streams: &mut Streams<'_>) -> anyhow::Result<()> {
    let took = time(i64::try_from(ran.took.as_nanos()).unwrap_or(i64::MAX));
    let pattern = ran.options.file.text();
    if ran.options.format == OutputFormat::None || pattern == "-" {
        writeln!(
            streams.err,
            "jtrail: ran {took}; no trace file was asked for"
        )?;
        return Ok(());
    }
    let files = files(ran);
    if files.is_empty() && ran.options.overflow == Overflow::Ring {
        writeln!(
            streams.err,
            "jtrail: ran {took}; nothing was saved (overflow=ring, save={})",
            ran.options.save
        )?;
        return report_spools(ran, streams);
    }
    if files.is_empty() {
        writeln!(
            streams.err,
            "jtrail: ran {took}; there is no trace at {pattern}"
        )?;
        writeln!(
            streams.err,
            "jtrail: check that a JVM started, and look for messages of the agent above"
        )?;
        return Ok(());
    }
    if ran.options.max_size.is_some() && files.len() > 1 {
        // There may be thousands of files, and the agent has listed them.
        let all = files.iter().map(|(_, size)| size).sum();
        writeln!(
            streams.err,
            "jtrail: {} files ({}), time: {took}",
            files.len(),
            bytes(all)
        )?;
        report_spools(ran, streams)?;
        return unrecorded(ran, streams);
    }
    for (path, size) in files {
        let line = match one(&path, size, ran.options) {
            Ok(line) => line,
            Err(error) => format!("{error:#}"),
        };
        writeln!(streams.err, "jtrail: {line}, time: {took}")?;
        writeln!(streams.err, "jtrail: {} ({})", path.display(), bytes(size))?;
    }
    report_spools(ran, streams)?;
    unrecorded(ran, streams)
}

/// Reports spools with unwritten events, left by killed processes.
fn report_spools(ran: &Ran<'_>, streams: &mut Streams<'_>) -> anyhow::Result<()> {
    for (path, _) in found(ran, SPOOL) {
        writeln!(
            streams.err,
            "jtrail: recorded events that were not written are in {path}{SPOOL} (see `jtrail recover {path}`)",
            path = path.display()
        )?;
    }
    Ok(())
}

/// Reports kinds of events that were requested but not recorded, because the format has no field
/// for them.
fn unrecorded(ran: &Ran<'_>, streams: &mut Streams<'_>) -> anyhow::Result<()> {
    let (format, events) = (ran.options.format, ran.options.unsupported);
    if !events.is_empty()
        && let Some(message) = dropped_message(format, &format!("events={events}"), &[])
    {
        writeln!(streams.err, "jtrail: {message}")?;
    }
    Ok(())
}

/// Returns true if traces of the format contain the agent's notes: lost events, methods not
/// covered, totals.
fn has_notes(format: OutputFormat) -> bool {
    !matches!(
        format,
        OutputFormat::Mlpd | OutputFormat::TraceLog | OutputFormat::ProfilerJ
    )
}

/// Returns true if traces of the format mark their end.
fn has_end(format: OutputFormat) -> bool {
    !matches!(format, OutputFormat::TraceLog | OutputFormat::ProfilerJ)
}

/// Returns the trace files of the run with their sizes.
fn files(ran: &Ran<'_>) -> Vec<(PathBuf, u64)> {
    found(ran, "")
}

/// Finds the traces of the run for which a file or folder at the trace's path plus `ending` exists.
/// Returns the path of each trace, and the size of that file or folder.
///
/// If `ending` is not empty, the path with the ending leads to a folder. Then the trace file itself
/// may be missing.
fn found(ran: &Ran<'_>, ending: &str) -> Vec<(PathBuf, u64)> {
    let pid = ran.direct.then_some(ran.pid);
    let fits = existing_paths(ran.options, pid, ending).into_iter();
    let changed =
        fits.filter(|fit| ran.before.0.get(&fit.entry) != Some(&FileStamp::of(&fit.about)));
    // If a trace is still being written, another program writes it.
    let is_written =
        |path: &Path| ownership::check(path).is_err() || ownership::spool_in_use(path).is_some();
    let mut found: Vec<_> = changed
        .filter(|fit| !is_written(&fit.trace))
        .map(|fit| (fit.trace, fit.about.len()))
        .collect();
    found.sort();
    found
}

/// Files and folders that existed before the program was started.
#[derive(Default)]
pub(super) struct Before(HashMap<PathBuf, FileStamp>);

impl Before {
    /// Records all existing paths that the program's traces may have.
    pub(super) fn look(options: &Options) -> Self {
        let all = ["", SPOOL].map(|ending| existing_paths(options, None, ending));
        let seen = |fit: ExistingPath| (fit.entry, FileStamp::of(&fit.about));
        Self(all.into_iter().flatten().map(seen).collect())
    }
}

/// Metadata that changes when a file is replaced or written.
#[derive(PartialEq, Eq)]
struct FileStamp {
    inode: u64,
    length: u64,
    modified: (i64, i64),
}

impl FileStamp {
    fn of(about: &Metadata) -> Self {
        Self {
            inode: about.ino(),
            length: about.len(),
            modified: (about.mtime(), about.mtime_nsec()),
        }
    }
}

/// A file or folder whose name says that it belongs to a trace.
struct ExistingPath {
    entry: PathBuf,
    trace: PathBuf,
    about: Metadata,
}

/// Returns existing paths that traces of a run may have, with an additional ending.
///
/// In place of `%p`, `%t` and `%h`, the names may have any process id, time and host name. If `pid`
/// is known, the JVM's process id must be `pid`.
fn existing_paths(options: &Options, pid: Option<u32>, ending: &str) -> Vec<ExistingPath> {
    let mut name = options.file.text().replace("%%", "\0");
    if let Some(pid) = pid {
        name = name.replace("%p", &pid.to_string());
    }
    let path = PathBuf::from(&name);
    let (Some(folder), Some(name)) = (path.parent(), path.file_name().and_then(|n| n.to_str()))
    else {
        return Vec::new();
    };
    let stars = ["%p", "%t", "%h"]
        .iter()
        .fold(name.to_owned(), |n, letters| n.replace(letters, "*"));
    let file_pattern = Pattern::new(&stars.replace('\0', "%"));
    let folder = folder.to_string_lossy().replace('\0', "%");
    // The names of a trace's further files end in a number. The names of other processes' traces
    // end in the process id.
    let is_trace_name = |name: &str| {
        let names = std::iter::successors(Some(name.to_owned()), |name| without_number(name));
        names.take(3).any(|name| file_pattern.matches(&name))
    };
    let entries = fs::read_dir(if folder.is_empty() { "." } else { &folder });
    let entries = entries.into_iter().flatten().flatten();
    let fit = |entry: DirEntry| {
        let name = entry.file_name();
        let name = name.to_str()?.strip_suffix(ending)?;
        let about = fs::metadata(entry.path()).ok()?;
        let has_right_kind = match ending {
            "" => about.is_file(),
            _ => about.is_dir(),
        };
        (has_right_kind && is_trace_name(name)).then(|| ExistingPath {
            entry: entry.path(),
            trace: Path::new(&folder).join(name),
            about,
        })
    };
    entries.filter_map(fit).collect()
}

/// Removes the number at the end of a name: `trace-7.trail` becomes `trace.trail`. Returns `None`
/// if the name has no number.
fn without_number(name: &str) -> Option<String> {
    let path = Path::new(name);
    let (stem, number) = path.file_stem()?.to_str()?.rsplit_once('-')?;
    if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let extension = path.extension().and_then(|e| e.to_str());
    Some(match extension {
        Some(extension) => format!("{stem}.{extension}"),
        None => stem.to_owned(),
    })
}

/// Returns a summary of one trace as a line.
fn one(path: &Path, size: u64, options: &Options) -> anyhow::Result<String> {
    let format = options.format;
    if format.is_export() {
        return Ok("for other tools; jtrail does not read it".to_owned());
    }
    if size > READ_WHOLE && !has_notes(format) {
        return Ok("too much to count here (see `jtrail report`)".to_owned());
    }
    let at_end = || match format {
        OutputFormat::Trail => totals_of_trail(path),
        _ => Ok(totals_at_end(path)?),
    };
    if size > READ_WHOLE
        && let Some(totals) = at_end()?
    {
        return Ok(format!(
            "calls: {}, classes: {}, events lost: {}, methods not instrumented: {}",
            count(totals.enters),
            count(totals.classes),
            count(totals.lost),
            count(totals.uninstrumented)
        ));
    }
    let mut analysis = Analysis::default();
    let ending = Input::open(path, true)?.events(|event| {
        analysis.event(event, |_, _| true);
        Ok(())
    })?;
    analysis.finish();
    let mut line = format!(
        "calls: {}, threads: {}, classes: {}",
        count(analysis.calls.count()),
        count(analysis.names.threads.len() as u64),
        count(analysis.names.class_count() as u64)
    );
    if has_notes(format) {
        line += &format!(
            ", events lost: {}, methods not instrumented: {}",
            count(analysis.lost_events()),
            count(analysis.uninstrumented_methods())
        );
    }
    if analysis.calls.count() == 0 && options.events.contains(Events::METHODS) {
        line += ", no method was called that the filter selects (see --include)";
    }
    if ending.code() != crate::outcome::SOUND {
        line += ", the trace is damaged (see `jtrail verify`)";
    } else if !analysis.ended && has_end(format) {
        line += ", the trace has no end (the JVM was stopped from outside, or crashed)";
    }
    Ok(line)
}

/// Returns the agent's totals from the last segment of a trail.
fn totals_of_trail(path: &Path) -> anyhow::Result<Option<Totals>> {
    let mut totals = None;
    let Some(mut parts) = Parts::open(File::open(path)?)? else {
        return Ok(None);
    };
    while let Some(part) = parts.next_part() {
        if part.is_last {
            parts.events(&part, |event| -> io::Result<()> {
                if let Event::Custom(custom) = event
                    && let Some(Note::Totals(found)) = Note::parse(&custom.body)
                {
                    totals = Some(found);
                }
                Ok(())
            })?;
        }
    }
    Ok(totals)
}

/// Returns the agent's totals from the last bytes of a trace in another format.
///
/// In every format, the totals are plain ASCII, and only end marks follow them.
fn totals_at_end(path: &Path) -> io::Result<Option<Totals>> {
    const TAIL: u64 = 4_096;
    let mut file = File::open(path)?;
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL)))?;
    let mut tail = Vec::new();
    file.take(TAIL).read_to_end(&mut tail)?;
    let text = String::from_utf8_lossy(&tail);
    let Some(at) = text.rfind("jtrail totals ") else {
        return Ok(None);
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, ' ' | '=');
    let end = text[at..]
        .find(|c| !plain(c))
        .map_or(text.len(), |n| at + n);
    Ok(match Note::parse(&text[at..end]) {
        Some(Note::Totals(totals)) => Some(totals),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_formats::Format;
    use jtrail_model::Custom;

    #[test]
    fn totals_are_found_at_the_end() {
        let totals = Totals {
            enters: 12,
            leaves: 11,
            lost: 3,
            open: 1,
            ..Totals::default()
        };
        let note = Note::Totals(totals).to_string();
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x");
        let before = "x".repeat(10_000);
        for after in ["", "\0\x04\x00", "\"/>\n</TRACE>\n"] {
            fs::write(&path, format!("{before}{note}{after}")).expect("written");
            assert_eq!(
                totals_at_end(&path).expect("read"),
                Some(totals),
                "{after:?}"
            );
        }
        fs::write(&path, "short").expect("written");
        assert_eq!(totals_at_end(&path).expect("read"), None);
    }

    #[test]
    fn totals_are_found_in_the_last_segment_of_a_trail() {
        let totals = Totals {
            enters: 12,
            open: 1,
            ..Totals::default()
        };
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x");
        let mut bytes = Vec::new();
        let mut encoder = Format::Trail.encoder();
        encoder.begin(&mut bytes);
        for body in ["a mark".to_owned(), Note::Totals(totals).to_string()] {
            let body = body.into();
            encoder.event(&Event::Custom(Custom { body }), &mut bytes);
            encoder.flush(&mut bytes);
        }
        encoder.end(&mut bytes);
        fs::write(&path, &bytes).expect("written");
        assert_eq!(totals_of_trail(&path).expect("read"), Some(totals));
        fs::write(&path, &bytes[..bytes.len() - 1]).expect("written");
        assert_eq!(totals_of_trail(&path).expect("read"), None);
    }

    #[test]
    fn what_another_process_writes_is_none_of_the_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("a.trail");
        let text = format!("file={}", path.to_str().expect("UTF-8"));
        let options = jtrail_options::parse(&text, &|_| Ok(String::new())).expect("right");
        let ran = Ran {
            options: &options,
            pid: 7,
            direct: true,
            before: &Before::default(),
            took: Duration::ZERO,
        };
        let file = ownership::open(&path).expect("nobody writes there");
        assert_eq!(files(&ran), []);
        drop(file);
        assert_eq!(files(&ran), [(path, 0)]);
    }

    #[test]
    fn what_was_there_before_is_none_of_the_run() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        let names = ["a.trail", "a-2.trail", "a-3.trail"];
        for name in names {
            fs::write(path(name), "earlier").expect("written");
        }
        fs::create_dir(path("a.trail.spool")).expect("made");
        let text = format!("file={}", path("a.trail").to_str().expect("UTF-8"));
        let options = jtrail_options::parse(&text, &|_| Ok(String::new())).expect("right");
        let before = Before::look(&options);
        let ran = Ran {
            options: &options,
            pid: 7,
            direct: true,
            before: &before,
            took: Duration::ZERO,
        };
        assert_eq!((files(&ran), found(&ran, SPOOL)), (vec![], vec![]));
        std::thread::sleep(Duration::from_millis(20)); // timestamps are coarse
        // A replaced file, a file that was written, and a new file.
        fs::write(path("b"), "earlier").expect("written");
        fs::rename(path("b"), path("a.trail")).expect("ours");
        fs::write(path("a-2.trail"), "written").expect("written");
        fs::write(path("a-4.trail"), "").expect("written");
        fs::remove_dir(path("a.trail.spool")).expect("empty");
        fs::create_dir(path("a.trail.spool")).expect("made");
        let expected = [("a-2.trail", 7), ("a-4.trail", 0), ("a.trail", 7)];
        let expected = expected.map(|(name, length)| (path(name), length));
        assert_eq!(files(&ran), expected);
        let spools = found(&ran, SPOOL).into_iter().map(|(path, _)| path);
        assert_eq!(spools.collect::<Vec<_>>(), [path("a.trail")]);
    }

    #[test]
    fn trace_files_are_found_by_their_pattern() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        let plain = ["a-7.trcbin", "a-8.trcbin", "a-x.trcxml", "b%7.trcbin"];
        let others = ["d", "d-12", "d-12-2", "d-x", "e-12"];
        for name in plain.iter().chain(&others) {
            fs::write(at(name), "x").expect("written");
        }
        for (pattern, direct, expected) in [
            ("a-%p.trcbin", true, &["a-7.trcbin"][..]),
            ("a-%p.trcbin", false, &["a-7.trcbin", "a-8.trcbin"]),
            ("a-%t%h.trcbin", true, &["a-7.trcbin", "a-8.trcbin"]),
            ("b%%%p.trcbin", true, &["b%7.trcbin"]),
            ("c", true, &[]),
            ("a.trcbin,maxsize=1m", true, &["a-7.trcbin", "a-8.trcbin"]),
            ("a-%p.trcxml,maxsize=1m", true, &[]),
            ("a.trcbin", true, &["a-7.trcbin", "a-8.trcbin"]),
            ("d", true, &["d", "d-12", "d-12-2"]),
            ("d-12", true, &["d-12", "d-12-2"]),
        ] {
            let (pattern, more) = match pattern.split_once(',') {
                Some((pattern, more)) => (pattern, format!(",{more}")),
                None => (pattern, String::new()),
            };
            let text = format!(
                "file={}{more}",
                jtrail_options::escape(at(pattern).to_str().expect("UTF-8"))
            );
            let options = jtrail_options::parse(&text, &|_| Ok(String::new())).expect("right");
            let ran = Ran {
                options: &options,
                pid: 7,
                direct,
                before: &Before::default(),
                took: Duration::ZERO,
            };
            let found: Vec<_> = files(&ran).into_iter().map(|(path, _)| path).collect();
            let expected: Vec<_> = expected.iter().map(|name| at(name)).collect();
            assert_eq!(found, expected, "{pattern}");
        }
    }
}
