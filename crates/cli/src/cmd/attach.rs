//! `jtrail attach`: makes a running JVM load the agent.

use crate::agent::{AgentOptions, Naming, find_agent, option_text_for};
use crate::attach::{Jvm, NotLoaded};
use crate::outcome::Streams;
use crate::parcel::LibraryCopy;
use crate::process::Process;
use anyhow::{anyhow, bail};
use jtrail_control::{Answer, Client, Command, FoundAgent};
use jtrail_options::{Control, Engine, Events, Options, OutputFormat, Overflow, Server};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Maximum time until the agent names its trace file.
const PATIENCE: Duration = Duration::from_secs(10);

/// Load the agent into a running JVM
///
/// The program is recorded from this moment on. The trace does not contain calls that began
/// earlier. Some options are only possible from the start of a JVM: events=exceptions, events=parks
/// and engine=jvmti.
///
/// PID is the process id that this command sees, even for a JVM in a container. If the JVM has its
/// own file system, the agent's library is copied there. Files of this JVM are named by this
/// command's path: /proc/PID/root/PATH.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Process id of the JVM
    #[arg(value_name = "PID")]
    pid: u32,
    /// The agent's library [default: JTRAIL_AGENT, or libjtrail beside this program]
    #[arg(long, value_name = "PATH")]
    agent: Option<PathBuf>,
    #[command(flatten)]
    options: AgentOptions,
}

pub(crate) fn run(args: Args, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    let jvm = Jvm::find(args.pid)?;
    let (process, pid) = (jvm.process, args.pid);
    let mut name_of = |key: &str, path: &str| named(&process, key, path);
    let (options, agent) = attach(&jvm, args.agent, args.options, &mut name_of)?;
    if options.begins_idle() {
        writeln!(
            streams.err,
            "jtrail: JVM {pid} has the agent, which records nothing yet"
        )?;
    } else if options.format != OutputFormat::None {
        let file = options.file.text();
        let file = file.replace("%p", &process.own_pid.to_string());
        match options.overflow {
            Overflow::Ring => writeln!(
                streams.err,
                "jtrail: JVM {pid} keeps the newest events; what is saved of them is in {file}"
            ),
            _ => {
                let file = trace_file(pid).map_or(file, |file| process.shown(&file));
                writeln!(streams.err, "jtrail: JVM {pid} records into {file}")
            }
        }?;
    }
    if agent.socket.is_none()
        && options.server != Server::Standalone
        && options.control != Control::Off
    {
        writeln!(
            streams.err,
            "jtrail: the agent has no command channel, for a reason that is on the program's standard error; name a path for its socket with --control"
        )?;
    }
    Ok(crate::outcome::SOUND)
}

/// Returns the path of the trace file that the agent writes, in the JVM's view.
///
/// The path differs from the requested one if another process already writes that file.
fn trace_file(pid: u32) -> Option<String> {
    let mut client = Client::of_process(pid, PATIENCE).ok()?;
    match client.call(Command::Status, |_| Ok(())) {
        Ok(Answer::Status(status)) => status.trace?.trace.file,
        _ => None,
    }
}

/// Translates a path in the option `key` from this program's view to the JVM's view.
///
/// # Errors
/// If this path is a different file for the JVM.
pub(super) fn named(process: &Process, key: &str, path: &str) -> anyhow::Result<String> {
    let name = match key {
        // The agent reports its socket. So the path may lead to different files for the two
        // processes.
        "control" => Some(process.name_of(path).unwrap_or_else(|| path.to_owned())),
        _ => process.name_of(path),
    };
    name.ok_or_else(|| anyhow!("--{key}: {}", process.elsewhere(path)))
}

/// Makes the JVM load the agent, and returns the effective options and the new agent.
///
/// The agent gets a command channel unless the options set `server` or `control`. `name_of(key,
/// path)` translates a path of this program to the JVM's view.
///
/// # Errors
/// If the options are wrong, or if the JVM does not load the agent.
pub(super) fn attach(
    jvm: &Jvm,
    library: Option<PathBuf>,
    mut given: AgentOptions,
    name_of: &mut dyn FnMut(&str, &str) -> anyhow::Result<String>,
) -> anyhow::Result<(Options, FoundAgent)> {
    if !given
        .pairs
        .iter()
        .any(|(key, _)| key == "server" || key == "control")
    {
        given
            .pairs
            .push(("server".to_owned(), Server::Enabled.word().to_owned()));
    }
    let (text, options) = option_text_for(given, Naming::WithPid, name_of)?;
    if let Some(what) = only_from_the_start(&options) {
        bail!("{what} is available only from the start of a JVM: use `jtrail run`, or -agentpath");
    }
    let agent = load(jvm, library, &text)?;
    Ok((options, agent))
}

/// Makes the JVM load the agent's library.
///
/// The library is the file at the given absolute path in the JVM's file system, or else this
/// program's library. If the JVM can't see this program's library, it gets a copy.
fn load(jvm: &Jvm, given: Option<PathBuf>, options: &str) -> anyhow::Result<FoundAgent> {
    let process = &jvm.process;
    let own = given.as_deref().filter(|path| path.is_absolute());
    if let Some(own) = own.filter(|own| !process.sees_same(own) && process.within(own).is_file()) {
        return jvm.load(own, options);
    }
    let library = find_agent(given)?;
    check_library(&library)?;
    if process.sees_same(&library) {
        match jvm.load(&library, options) {
            // The JVM's user may not be allowed to read the library's folder. Then a copy is tried.
            Err(error) if error.is::<NotLoaded>() && !is_own(process) => {}
            result => return result,
        }
    }
    let copy = LibraryCopy::make(process, &library)?;
    jvm.load(&copy.path(), options)
}

/// Checks that the file is a library (ELF).
///
/// A JVM that tries to load another kind of file may lose the guard pages of its stacks.
fn check_library(path: &Path) -> anyhow::Result<()> {
    let mut magic = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut magic));
    if read.is_err() || magic != *b"\x7fELF" {
        bail!("{} is no library", path.display());
    }
    Ok(())
}

/// Returns true if the process belongs to this program's user.
fn is_own(process: &Process) -> bool {
    rustix::process::geteuid().as_raw() == process.user
}

/// Returns the requested option that HotSpot allows only to agents loaded at startup, if any.
fn only_from_the_start(options: &Options) -> Option<&'static str> {
    if options.engine == Engine::Jvmti {
        Some("engine=jvmti")
    } else if options.events.contains(Events::EXCEPTIONS) {
        Some("events=exceptions")
    } else if options.events.contains(Events::PARKS) {
        Some("events=parks")
    } else {
        None
    }
}
