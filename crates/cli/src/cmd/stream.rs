//! `jtrail stream`: receives a trace from a running agent, live.
//!
//! The trace ends on a signal, after `--for`, when another client stops the trace, or when the
//! reader of the output closes the output. In each case, the rest of the data is received, so that
//! the trace is complete.

use super::ctl::{AgentArgs, ended_text, some_time, start};
use crate::outcome::{SOUND, Streams, TRUNCATED};
use anyhow::{Context, bail};
use jtrail_control::{
    Answer, Client, ClientError, Command, Destination, EndReason, Ended, Incoming, Notice, Start,
};
use jtrail_options::OutputFormat;
use jtrail_records::ownership;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// While no data arrives, signals and the time are checked at this interval.
const TICK: Duration = Duration::from_millis(100);

/// Receive a trace from a running program, live, into a file or a pipe
///
/// Begins a trace, and receives its data until Ctrl-C, until --for is over, or until the trace is
/// stopped elsewhere. For a slow reader, the agent either waits, or drops and counts events,
/// depending on its option overflow. Exits with 0 if the trace is complete, 3 if it is truncated, 2
/// if there is none.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    agent: AgentArgs,
    /// File to write; - for standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Format of the trace: any value of the agent's option format except none
    #[arg(long, default_value = "binary", value_parser = format)]
    format: OutputFormat,
    /// Stop after this time, like 500ms, 10s or 1m
    #[arg(long = "for", value_name = "TIME", value_parser = some_time)]
    time: Option<Duration>,
    /// Settings like the agent's options: events, include, exclude. The last two are applied in
    /// order and may be repeated
    #[arg(value_name = "KEY=VALUE")]
    settings: Vec<String>,
}

fn format(word: &str) -> Result<OutputFormat, String> {
    match OutputFormat::parse(word)? {
        OutputFormat::None => Err("there would be nothing to write".to_owned()),
        format => Ok(format),
    }
}

pub(crate) fn run(args: Args, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    let settings = start(&args.settings)?;
    if settings.file.is_some() || settings.format.is_some() {
        bail!("the file is --output, the format --format");
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("signals")?;
    }
    let mut client = args.agent.connect()?;
    let agreed = client.set_output_format(args.format)?;
    if agreed != args.format {
        writeln!(
            streams.err,
            "jtrail: this agent writes {agreed}, not {}",
            args.format
        )?;
    }
    client.call(Command::Stream { release: false }, |_| Ok(()))?;
    let to_stdout = args.output == Path::new("-");
    let mut file;
    let out: &mut dyn Write = if to_stdout {
        streams.out
    } else {
        let shown = args.output.display();
        file = ownership::open(&args.output).with_context(|| format!("can't write {shown}"))?;
        &mut file
    };
    let mut taking = Receiver {
        out,
        written: Ok(()),
        ended: None,
        failure: None,
    };
    let start = Command::Start(Start {
        to: Some(Destination::Stream),
        ..settings
    });
    client.call(start, |incoming| taking.take(incoming))?;
    let until = args.time.map(|time| Instant::now() + time);
    let broken = taking.until_stopped(&mut client, &stop, until);
    taking
        .written
        .and_then(|()| taking.out.flush())
        .context("the output failed; the trace was stopped")?;
    let name = match to_stdout {
        true => "standard output".to_owned(),
        false => args.output.display().to_string(),
    };
    let why = broken.map(|error| error.to_string()).or(taking.failure);
    match (why, taking.ended) {
        (None, Some(ended)) => {
            writeln!(streams.err, "jtrail: {}", ended_text(&name, &ended))?;
            Ok(SOUND)
        }
        (why, _) => {
            let why = why.unwrap_or_else(|| "its end is missing".to_owned());
            writeln!(streams.err, "jtrail: {name}: the trace is truncated: {why}")?;
            Ok(TRUNCATED)
        }
    }
}

/// Trace that is being received and written.
struct Receiver<'a> {
    out: &'a mut dyn Write,
    /// The first failure of the output. Data that is received after a failure is dropped.
    written: io::Result<()>,
    ended: Option<Ended>,
    /// Reason why the agent could not write the trace to its end.
    failure: Option<String>,
}

impl Receiver<'_> {
    fn take(&mut self, incoming: Incoming) -> io::Result<()> {
        match incoming {
            Incoming::Data(bytes) if self.written.is_ok() => {
                self.written = self.out.write_all(&bytes)
            }
            Incoming::Notice(Notice::TraceEnded {
                reason,
                ended,
                message,
            }) if ended.trace.to == Destination::Stream => {
                self.failure = (reason == EndReason::Failure).then_some(message);
                self.ended = Some(ended);
            }
            _ => {}
        }
        Ok(())
    }

    /// Receives data until the trace has ended. Stops the trace at the time `until`, or when `stop`
    /// is set. Returns the error that truncated the trace, if any.
    fn until_stopped(
        &mut self,
        client: &mut Client,
        stop: &AtomicBool,
        until: Option<Instant>,
    ) -> Option<ClientError> {
        while self.ended.is_none() {
            let left = until.map_or(TICK, |end| end.saturating_duration_since(Instant::now()));
            if stop.load(Ordering::Relaxed) || left.is_zero() || self.written.is_err() {
                return match client.call(Command::Stop, |incoming| self.take(incoming)) {
                    Ok(Answer::Ended(ended)) => {
                        self.ended = Some(ended);
                        None
                    }
                    // Another client has already stopped the trace.
                    _ if self.ended.is_some() => None,
                    Ok(_) => None,
                    Err(error) => Some(error),
                };
            }
            match client.receive(left.min(TICK)) {
                Ok(Some(incoming)) => {
                    // `take` stores failures in `self`, and never returns one.
                    let _ = self.take(incoming);
                }
                Ok(None) => {
                    if self.written.is_ok() {
                        self.written = self.out.flush();
                    }
                }
                Err(error) => return Some(error),
            }
        }
        None
    }
}
