//! `jtrail record`: attaches to a running program, records for a while, stops, and detaches.
//!
//! If the JVM already has an idle agent with a command channel, that agent records. It then stays
//! loaded.

use super::attach::{attach, named};
use super::ctl::{ended_text, some_time};
use crate::agent::{AgentOptions, absolute};
use crate::attach::Jvm;
use crate::outcome::{SOUND, Streams, TRUNCATED};
use crate::parcel::Parcel;
use crate::process::Process;
use anyhow::{Context, anyhow, bail};
use indicatif::{ProgressBar, ProgressStyle};
use jtrail_control::{
    self as control, Answer, Client, ClientError, Command, EndReason, Ended, Incoming, Notice,
    Start, State,
};
use jtrail_options::OutputFormat;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Interval between checks of signals and of the time.
const TICK: Duration = Duration::from_millis(100);
/// Interval between requests for progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(1);
/// Maximum time for each answer.
///
/// The time is long because the agent writes the end of the trace and restores the classes before
/// it answers.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);
/// Time until the agent detaches after its client has disconnected (option `linger`).
const LINGER: &str = "5s";
/// Maximum time until the agent opens its command channel.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Record a running program for a while: attach, record, stop and detach
///
/// The recording ends after --for, on Ctrl-C, when the program ends, or when another client stops
/// it. The file is complete in each case. If the program already has an agent with a command
/// channel and without an active trace, this agent records, and stays loaded. Then only file,
/// format, events, include and exclude can be chosen. An agent that this command has loaded
/// detaches itself if the command is killed. If the JVM has its own file system (a container, a
/// private /tmp), the trace is written there and moved to the destination at the end.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Process id of the JVM
    #[arg(value_name = "PID")]
    pid: u32,
    /// How long to record, like 500ms, 10s or 1m [default: until Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = some_time)]
    time: Option<Duration>,
    /// File to write, like --file
    #[arg(short, long, value_name = "FILE", conflicts_with = "file")]
    output: Option<String>,
    /// The agent's library [default: JTRAIL_AGENT, or libjtrail beside this program]
    #[arg(long, value_name = "PATH")]
    agent: Option<PathBuf>,
    #[command(flatten)]
    options: AgentOptions,
}

pub(crate) fn run(args: Args, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("signals")?;
    }
    let mut options = args.options;
    if let Some(output) = args.output {
        options.pairs.push(("file".to_owned(), output));
    }
    let value = |key: &str| {
        let found = options.pairs.iter().find(|(k, _)| k == key);
        found.map(|(_, value)| value.clone())
    };
    match value("server").as_deref() {
        None | Some("enabled") => {}
        Some(_) => bail!("--server: a recording needs server=enabled"),
    }
    if value("format").as_deref() == Some("none") {
        bail!("--format: there would be nothing to write");
    }
    let process = Process::find(args.pid)?;
    let control = value("control").map(|path| path.replace("%p", &process.own_pid.to_string()));
    let connect = || {
        let found = Client::of_process(args.pid, ANSWER_TIMEOUT);
        match (&control, found) {
            (Some(path), Err(_)) => Client::of_socket(Path::new(path), ANSWER_TIMEOUT),
            (_, found) => found,
        }
    };
    let mut target = Destination::of(process);
    let (mut client, is_ours) = match connect() {
        Ok(mut client) => {
            start(&mut client, &options, &mut target)?;
            (client, false)
        }
        Err(_) => {
            if value("linger").is_none() {
                options.pairs.push(("linger".to_owned(), LINGER.to_owned()));
            }
            let jvm = Jvm::find(args.pid)?;
            let mut name_of = |key: &str, path: &str| target.name_of(key, path);
            attach(&jvm, args.agent, options, &mut name_of)?;
            (connect_with_retries(connect)?, true)
        }
    };
    let mut recording = Recording::default();
    let result = recording.run(&mut client, &stop, args.time);
    if is_ours && !recording.is_detached {
        let left = client.call(Command::Detach, |incoming| recording.take(incoming));
        if let Err(error) = left
            && !matches!(error, ClientError::Closed)
        {
            writeln!(
                streams.err,
                "jtrail: the agent stays in process {}: {error}",
                args.pid
            )?;
        }
    }
    // The files are fetched even after an error: if the JVM was killed, they can still be
    // recovered.
    let fetched = target.fetch();
    let Some(ended) = recording.ended else {
        let mut why = "the recording broke off".to_owned();
        if let Err(error) = result {
            why += &format!(": {error}");
        }
        if let Err(error) = fetched {
            why += &format!("; {error:#}");
        }
        bail!(why);
    };
    let file = ended.trace.file.as_deref();
    let file = file.map_or_else(|| "a client".to_owned(), |file| target.shown(file));
    fetched?;
    writeln!(streams.err, "jtrail: {}", ended_text(&file, &ended))?;
    match recording.failure {
        None => Ok(SOUND),
        Some(why) => {
            writeln!(streams.err, "jtrail: {file}: the trace is truncated: {why}")?;
            Ok(TRUNCATED)
        }
    }
}

/// Destination of the trace.
struct Destination {
    process: Process,
    /// The folder into which the JVM writes if it can't write to the destination itself.
    parcel: Option<Parcel>,
}

impl Destination {
    fn of(process: Process) -> Self {
        Self {
            process,
            parcel: None,
        }
    }

    /// Returns the JVM's path for a path in the option `key`.
    fn name_of(&mut self, key: &str, path: &str) -> anyhow::Result<String> {
        match named(&self.process, key, path) {
            Err(_) if key == "file" => {
                let path = Path::new(path);
                let folder = path.parent().unwrap_or(Path::new("/"));
                let text = folder
                    .to_str()
                    .ok_or_else(|| anyhow!("{} is not UTF-8", path.display()))?;
                let folder = text.replace("%%", "%");
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                let parcel = Parcel::make(&self.process, Path::new(&folder), &name)?;
                let path = parcel.path();
                self.parcel = Some(parcel);
                Ok(path)
            }
            result => result,
        }
    }

    /// Returns this program's final path of a file that the JVM has written.
    fn shown(&self, file: &str) -> String {
        match &self.parcel {
            Some(parcel) => parcel.destination(file),
            None => self.process.shown(file),
        }
    }

    fn fetch(&self) -> anyhow::Result<()> {
        self.parcel.as_ref().map_or(Ok(()), Parcel::fetch)
    }
}

/// Repeats `connect` until the agent accepts the connection.
///
/// The agent opens its command channel only after it has begun to record.
fn connect_with_retries(
    connect: impl Fn() -> Result<Client, ClientError>,
) -> anyhow::Result<Client> {
    let begin = Instant::now();
    loop {
        match connect() {
            Ok(client) => return Ok(client),
            Err(error) if begin.elapsed() > CONNECT_TIMEOUT => {
                return Err(error).context("the agent records, but can't be reached");
            }
            Err(_) => std::thread::sleep(TICK),
        }
    }
}

/// Makes an already loaded agent begin a trace.
fn start(
    client: &mut Client,
    options: &AgentOptions,
    target: &mut Destination,
) -> anyhow::Result<()> {
    match client.call(Command::Status, |_| Ok(()))? {
        Answer::Status(status) if status.state != State::Idle => {
            bail!("the agent has an active trace; stop it first (jtrail ctl)")
        }
        _ => {}
    }
    let mut start = Start {
        to: Some(control::Destination::File),
        ..Start::default()
    };
    for (key, value) in &options.pairs {
        match key.as_str() {
            "file" => {
                let here =
                    std::env::current_dir().context("the current directory no longer exists")?;
                let here = here
                    .to_str()
                    .ok_or_else(|| anyhow!("the current directory's name is not UTF-8"))?;
                start.file = Some(target.name_of("file", &absolute(here, value))?);
            }
            "format" => {
                let format = OutputFormat::parse(value);
                start.format = Some(format.map_err(|problem| anyhow!("--format: {problem}"))?);
            }
            "events" => start.events = Some(value.clone()),
            "include" | "exclude" => start.patterns.push((key == "include", value.clone())),
            "server" | "control" | "linger" => {}
            _ => bail!(
                "--{key}: an agent is there already, for which only file, format, events, include and exclude can be chosen"
            ),
        }
    }
    client.call(Command::Start(start), |_| Ok(()))?;
    Ok(())
}

/// State of the recording.
#[derive(Default)]
struct Recording {
    ended: Option<Ended>,
    /// Reason why the agent could not write the trace to its end.
    failure: Option<String>,
    /// True if the agent has detached, or if the program has ended.
    is_detached: bool,
}

impl Recording {
    fn take(&mut self, incoming: Incoming) -> io::Result<()> {
        match incoming {
            Incoming::Notice(Notice::TraceEnded {
                reason,
                ended,
                message,
            }) => {
                self.failure = (reason == EndReason::Failure).then_some(message);
                self.ended = Some(ended);
            }
            Incoming::Notice(Notice::Ending(_)) => self.is_detached = true,
            _ => {}
        }
        Ok(())
    }

    /// Waits until the trace has ended. Stops the trace when `time` is over or `stop` is set.
    fn run(
        &mut self,
        client: &mut Client,
        stop: &AtomicBool,
        time: Option<Duration>,
    ) -> Result<(), ClientError> {
        let result = self.until_stopped(client, stop, time);
        self.is_detached |= matches!(result, Err(ClientError::Closed));
        match self.ended {
            Some(_) => Ok(()),
            None => result,
        }
    }

    fn until_stopped(
        &mut self,
        client: &mut Client,
        stop: &AtomicBool,
        time: Option<Duration>,
    ) -> Result<(), ClientError> {
        let begin = Instant::now();
        let bar = io::stderr().is_terminal().then(|| bar(time));
        let mut looked = begin;
        while self.ended.is_none() {
            let left = time.map_or(TICK, |time| time.saturating_sub(begin.elapsed()));
            if stop.load(Ordering::Relaxed) || left.is_zero() {
                match client.call(Command::Stop, |incoming| self.take(incoming)) {
                    Ok(Answer::Ended(ended)) => self.ended = Some(ended),
                    // Another client has already stopped the trace.
                    Err(_) if self.ended.is_some() => {}
                    Ok(_) => {}
                    Err(error) => return Err(error),
                }
                break;
            }
            if let Some(incoming) = client.receive(left.min(TICK))? {
                let _ = self.take(incoming); // never fails
            }
            if let Some(bar) = &bar {
                bar.set_position(begin.elapsed().as_millis() as u64);
                if looked.elapsed() >= PROGRESS_INTERVAL {
                    looked = Instant::now();
                    let status = client.call(Command::Status, |incoming| self.take(incoming))?;
                    if let Answer::Status(status) = status
                        && let Some(trace) = status.trace
                    {
                        let events = crate::output::count(trace.figures.events);
                        bar.set_message(format!("{events} events"));
                    }
                }
            }
        }
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        Ok(())
    }
}

fn bar(time: Option<Duration>) -> ProgressBar {
    let (bar, style) = match time {
        Some(time) => {
            let bar = ProgressBar::new(time.as_millis() as u64);
            (bar, "{wide_bar} {elapsed}, {msg}")
        }
        None => (ProgressBar::no_length(), "{spinner} {elapsed}, {msg}"),
    };
    // Both templates are valid constants.
    bar.set_style(ProgressStyle::with_template(style).unwrap_or(ProgressStyle::default_bar()));
    bar
}
