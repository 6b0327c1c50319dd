//! `jtrail ctl`: sends one command to a running agent.

mod show;

use crate::agent::absolute;
use crate::outcome::{FAILED, SOUND, Streams};
use crate::process::Process;
use anyhow::{Context, anyhow, bail};
use clap::{Subcommand, ValueEnum};
use jtrail_control::{Answer, Client, ClientError, Command, Destination, SnapshotKind, Start};
use jtrail_options::{BurstLimit, OutputFormat, parse_duration};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) use show::ended_text;

/// Command the agent in a running program: start, stop, pause, mark, status …
///
/// The agent must have a command channel: server=enabled, controlled or application. Exits with 0
/// when the command was carried out, else with 2.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    agent: AgentArgs,
    #[command(subcommand)]
    action: Action,
    /// Write the answer as a JSON object
    #[arg(long, global = true)]
    json: bool,
}

/// Which agent, and how long to wait for it.
#[derive(clap::Args, Debug)]
pub(super) struct AgentArgs {
    /// Process id, or path of the agent's socket
    #[arg(value_name = "PID|SOCKET")]
    target: PathBuf,
    /// How long to wait for each answer, like 500ms, 10s or 1m
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = some_time, global = true)]
    timeout: Duration,
}

impl AgentArgs {
    pub(super) fn connect(&self) -> anyhow::Result<Client> {
        let digits = self
            .target
            .to_str()
            .filter(|t| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit()));
        let client = match digits {
            Some(digits) => {
                let pid = digits
                    .parse()
                    .map_err(|_| anyhow!("{digits} is no process id"))?;
                Client::of_process(pid, self.timeout)
            }
            None => Client::of_socket(&self.target, self.timeout),
        };
        Ok(client?)
    }
}

#[derive(Subcommand, Debug)]
enum Action {
    /// Show state, counts, losses, buffers, memory, overhead
    Status,
    /// Begin a trace into a file
    Start {
        /// Settings like the agent's options: file, format, events, include, exclude. The last two
        /// are applied in order and may be repeated
        #[arg(value_name = "KEY=VALUE")]
        settings: Vec<String>,
    },
    /// End the trace
    Stop,
    /// Record nothing for a while; the trace stays open
    Pause,
    /// Continue recording
    Resume,
    /// Record for a while, then pause or stop again
    Burst {
        /// For this time, like 500ms, 10s or 1m
        #[arg(long = "for", value_name = "TIME", value_parser = some_time, required_unless_present = "events", conflicts_with = "events")]
        time: Option<Duration>,
        /// For this number of events
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
        events: Option<u64>,
    },
    /// Let a program that waits for a client continue, without a trace
    Go,
    /// End the trace and begin a new one with the same settings
    Rotate {
        /// File of the new trace
        file: Option<String>,
    },
    /// Write the newest events (overflow=ring)
    Save {
        /// File to write [default: the agent's file, or the next name of this kind]
        file: Option<String>,
    },
    /// Write the totals so far, or a heap dump
    Snapshot {
        /// What to write
        kind: Kind,
        /// File to write
        #[arg(long)]
        file: Option<String>,
    },
    /// Collect garbage; with heap=forced, between two snapshots of the heap
    Gc,
    /// Trace other classes and methods from now on
    Filters {
        /// include=PATTERN or exclude=PATTERN, in order; none for the default rules
        #[arg(value_name = "RULE")]
        rules: Vec<String>,
    },
    /// Write a text into the trace
    Mark {
        /// The text
        text: String,
    },
    /// Ask whether the agent can send a client's data in this format
    Format {
        /// Requested format
        format: String,
    },
    /// End the trace, undo all changes and detach from the program
    Detach,
}

#[derive(Clone, Copy, ValueEnum, Debug)]
enum Kind {
    /// The totals so far
    Profile,
    /// The heap
    Heap,
}

pub(super) fn some_time(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        Duration::ZERO => Err("it is 0".to_owned()),
        time => Ok(time),
    }
}

pub(crate) fn run(args: Args, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    let mut command = command(args.action)?;
    let mut client = args.agent.connect()?;
    if let Some(pid) = client.pid() {
        name_for(&Process::find(pid)?, &mut command)?;
    }
    let answer = match client.call(command, |_| Ok(())) {
        Ok(answer) => answer,
        Err(ClientError::Refused(failure)) if args.json => {
            show::json(&Answer::Error(failure), streams.out)?;
            return Ok(FAILED);
        }
        Err(error) => return Err(error.into()),
    };
    if args.json {
        show::json(&answer, streams.out)?;
    } else {
        show::text(&answer, streams.out)?;
    }
    Ok(SOUND)
}

fn command(action: Action) -> anyhow::Result<Command> {
    Ok(match action {
        Action::Status => Command::Status,
        Action::Start { settings } => Command::Start(Start {
            to: Some(Destination::File),
            ..start(&settings)?
        }),
        Action::Stop => Command::Stop,
        Action::Pause => Command::Pause,
        Action::Resume => Command::Resume,
        Action::Burst { time, events } => Command::Burst(match (time, events) {
            (Some(time), _) => BurstLimit::Time(time),
            (None, Some(events)) => BurstLimit::Events(events),
            (None, None) => bail!("a burst has an end: give --for or --events"),
        }),
        Action::Go => Command::Go,
        Action::Rotate { file } => Command::Rotate {
            file: file.map(|file| here(&file)).transpose()?,
        },
        Action::Save { file } => Command::Save {
            file: file.map(|file| here(&file)).transpose()?,
        },
        Action::Snapshot { kind, file } => Command::Snapshot {
            kind: match kind {
                Kind::Profile => SnapshotKind::Profile,
                Kind::Heap => SnapshotKind::Heap,
            },
            file: file.map(|file| here(&file)).transpose()?,
        },
        Action::Gc => Command::ForceGc,
        Action::Filters { rules } => {
            let start = start(&rules)?;
            if start
                != (Start {
                    patterns: start.patterns.clone(),
                    ..Start::default()
                })
            {
                bail!("filters are include=PATTERN and exclude=PATTERN");
            }
            let patterns = start.patterns;
            Command::SetFilters { patterns }
        }
        Action::Mark { text } => Command::Mark { text },
        Action::Format { format } => Command::SetOutputFormat { format },
        Action::Detach => Command::Detach,
    })
}

/// Returns the settings of a trace from `KEY=VALUE` arguments.
///
/// The agent checks events and patterns.
pub(super) fn start(settings: &[String]) -> anyhow::Result<Start> {
    let mut start = Start::default();
    for setting in settings {
        let (key, value) = setting
            .split_once('=')
            .ok_or_else(|| anyhow!("{setting} is not KEY=VALUE"))?;
        let twice = match key {
            "file" => start.file.replace(here(value)?).is_some(),
            "format" => {
                let format =
                    OutputFormat::parse(value).map_err(|problem| anyhow!("format: {problem}"))?;
                start.format.replace(format).is_some()
            }
            "events" => start.events.replace(value.to_owned()).is_some(),
            "include" | "exclude" => {
                start.patterns.push((key == "include", value.to_owned()));
                false
            }
            _ => bail!("no such key {key}; there are file, format, events, include, exclude"),
        };
        if twice {
            bail!("{key} is given twice");
        }
    }
    Ok(start)
}

/// Replaces the file path in a command by the path by which the agent's process reaches this file.
///
/// # Errors
/// If this path is a different file for the agent's process.
fn name_for(process: &Process, command: &mut Command) -> anyhow::Result<()> {
    let file = match command {
        Command::Start(Start { file, .. })
        | Command::Rotate { file }
        | Command::Save { file }
        | Command::Snapshot { file, .. } => file,
        _ => return Ok(()),
    };
    if let Some(file) = file {
        let name = process.name_of(file);
        *file = name.ok_or_else(|| anyhow!("{}", process.elsewhere(file)))?;
    }
    Ok(())
}

/// Returns the absolute path of a file. The agent may have another current directory.
fn here(file: &str) -> anyhow::Result<String> {
    if file == "-" {
        bail!("the agent writes to a file; jtrail stream writes to standard output");
    }
    if Path::new(file).is_absolute() {
        return Ok(file.to_owned());
    }
    let here = std::env::current_dir().context("the current directory no longer exists")?;
    let here = here
        .to_str()
        .ok_or_else(|| anyhow!("the current directory's name is not UTF-8"))?;
    Ok(absolute(here, file))
}
