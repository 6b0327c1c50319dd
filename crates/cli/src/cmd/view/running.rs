//! Finds the trace that a running JVM writes, and tells if a trace is still being written.

use crate::outcome::Streams;
use crate::process::Process;
use anyhow::{anyhow, bail};
use jtrail_control::{Answer, Client, ClientError, Command, Destination, Status};
use jtrail_formats::trail::Segments;
use jtrail_options::OutputFormat;
use jtrail_records::ownership;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Maximum time for the answer of an agent.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum time until a new trace has its first events.
const FIRST_EVENTS: Duration = Duration::from_secs(30);
/// Interval between looks for the first events.
const TICK: Duration = Duration::from_millis(100);
/// Size from which a trail has events, in bytes.
const SOME_EVENTS: u64 = 4 << 20;
/// Time after which a file that nobody has locked, and that does not change, is not being written.
/// Writers on file systems without locks, and copies, have no lock.
const RECENT: Duration = Duration::from_secs(10);

/// Returns the trace that an argument names: a file, or the process id of a JVM that writes one.
/// Waits for the first events of a trail that is being written.
pub(super) fn trace_of(named: &Path, streams: &mut Streams<'_>) -> anyhow::Result<PathBuf> {
    let pid = named.to_str().and_then(|text| text.parse::<u32>().ok());
    let path = match pid {
        Some(pid) if !named.exists() => {
            let path = trace_of_process(pid)?;
            let shown = path.display();
            writeln!(streams.err, "jtrail: JVM {pid} records into {shown}")?;
            path
        }
        _ => named.to_owned(),
    };
    wait_for_events(&path, streams)?;
    Ok(path)
}

/// Returns true if a process still writes a trace.
pub(super) fn is_written(path: &Path) -> bool {
    let changed = fs::metadata(path).and_then(|found| found.modified());
    let age = changed.ok().and_then(|changed| changed.elapsed().ok());
    ownership::is_locked(path) || age.is_some_and(|age| age < RECENT)
}

/// Returns the trail that the agent in a JVM writes to a file.
fn trace_of_process(pid: u32) -> anyhow::Result<PathBuf> {
    let process = Process::find(pid)
        .map_err(|error| anyhow!("{pid}: there is no file of this name; {error:#}"))?;
    let found = Client::of_process(pid, ANSWER_TIMEOUT);
    let mut client = found.map_err(|error| not_reached(pid, &error))?;
    let answer = client.call(Command::Status, |_| Ok(()));
    let status = match answer.map_err(|error| anyhow!("process {pid}: {error}"))? {
        Answer::Status(status) => status,
        _ => bail!("process {pid}: the agent did not say what it records"),
    };
    let file = file_of(pid, &status)?;
    Ok(PathBuf::from(process.shown(file)))
}

fn not_reached(pid: u32, error: &ClientError) -> anyhow::Error {
    anyhow!(
        "process {pid}: no jtrail agent answers ({error}); jtrail attach {pid} --format trail --file FILE makes it \
         record, and jtrail view FILE shows a file that an agent without a command channel writes"
    )
}

/// Returns the file of the trail that an agent writes.
fn file_of(pid: u32, status: &Status) -> anyhow::Result<&str> {
    let Some(active) = &status.trace else {
        bail!(
            "process {pid}: the agent records nothing now; jtrail ctl {pid} start format=trail begins a trace"
        );
    };
    let trace = &active.trace;
    match &trace.file {
        _ if trace.to == Destination::Stream => bail!(
            "process {pid}: the trace goes to another client, and not to a file; show the file that this client writes"
        ),
        None => bail!(
            "process {pid}: the agent keeps the newest events in memory; jtrail request {pid} writes them to a file"
        ),
        Some(file) if trace.format != OutputFormat::Trail => bail!(
            "process {pid}: the agent writes {} into {file}; only a trail can be shown while it is being written: \
             jtrail ctl {pid} stop, then jtrail record {pid} --format trail --file FILE",
            trace.format
        ),
        Some(file) => Ok(file),
    }
}

/// Waits until a trail that is being written has events.
fn wait_for_events(path: &Path, streams: &mut Streams<'_>) -> anyhow::Result<()> {
    let begun = Instant::now();
    let mut has_said = false;
    while ownership::is_locked(path) && is_empty(path) {
        if begun.elapsed() > FIRST_EVENTS {
            bail!(
                "{}: the trace has no events yet, after {} s; try again when the program has done something",
                path.display(),
                FIRST_EVENTS.as_secs()
            );
        }
        if !has_said {
            let path = path.display();
            writeln!(streams.err, "jtrail: {path}: waiting for the first events")?;
            has_said = true;
        }
        sleep(TICK);
    }
    Ok(())
}

/// Returns true for a trail that has no complete segment with events, and for an empty file.
fn is_empty(path: &Path) -> bool {
    let Ok(file) = File::open(path) else {
        return false;
    };
    match file.metadata().map(|found| found.len()) {
        Ok(0) => return true,
        // Definitions alone do not take that much, and a long trail is not searched through twice.
        Ok(SOME_EVENTS..) | Err(_) => return false,
        Ok(_) => {}
    }
    match Segments::scan(file) {
        Ok(Some(segments)) => segments.events() == 0,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_control::{Ended, Figures, State, StreamUse, Trace};

    fn status(trace: Option<Trace>) -> Status {
        Status {
            state: State::Recording,
            pid: 1,
            version: String::new(),
            uptime: Duration::ZERO,
            trace: trace.map(|trace| Ended {
                trace,
                figures: Figures::default(),
            }),
            buffer: 0,
            buffered: 0,
            memory: None,
            overhead: None,
            clients: 0,
            stream: StreamUse::Free,
            counts: Vec::new(),
            losses: Vec::new(),
        }
    }

    #[test]
    fn what_an_agent_does_not_write_as_a_trail_is_an_error_with_advice() {
        let trace = |format, to, file: Option<&str>| {
            let file = file.map(str::to_owned);
            status(Some(Trace { format, to, file }))
        };
        let (trail, xml) = (OutputFormat::Trail, OutputFormat::Xml);
        let own = trace(trail, Destination::File, Some("/tmp/a.trail"));
        assert_eq!(file_of(7, &own).expect("a file"), "/tmp/a.trail");
        for (status, advice) in [
            (status(None), "ctl 7 start"),
            (trace(trail, Destination::File, None), "request 7"),
            (trace(xml, Destination::File, Some("a.trcxml")), "record 7"),
            (trace(trail, Destination::Stream, None), "this client"),
        ] {
            let error = file_of(7, &status).expect_err("no trail").to_string();
            assert!(error.starts_with("process 7: "), "{error}");
            assert!(error.contains(advice), "{error}");
        }
    }
}
