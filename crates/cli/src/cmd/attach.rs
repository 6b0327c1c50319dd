//! `jtrail attach`: has a JVM that runs load the agent.

use crate::Streams;
use crate::agent::{AgentOptions, Naming, find_agent, option_text};
use crate::attach::Jvm;
use anyhow::bail;
use jtrail_options::{Engine, Events, Options, OutputFormat, Overflow, Server};
use std::path::PathBuf;

/// Load the agent into a JVM that runs already
///
/// What the program does from then on is recorded; calls that are under way have begun before, and are not in the trace. Some things
/// can only be had from the start of a JVM: events=exceptions, events=parks, and engine=jvmti.
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
    let pid = args.pid;
    let options = attach(Attach {
        pid,
        agent: args.agent,
        options: args.options,
    })?;
    if options.begins_idle() {
        writeln!(
            streams.err,
            "jtrail: JVM {pid} has the agent, which records nothing yet"
        )?;
    } else if options.format != OutputFormat::None {
        let file = options.file.text().replace("%p", &pid.to_string());
        match options.overflow {
            Overflow::Ring => writeln!(
                streams.err,
                "jtrail: JVM {pid} keeps the newest events; what is saved of them is in {file}"
            ),
            _ => writeln!(streams.err, "jtrail: JVM {pid} records into {file}"),
        }?;
    }
    Ok(crate::SOUND)
}

/// Which agent is to come to which JVM.
pub(super) struct Attach {
    pub(super) pid: u32,
    pub(super) agent: Option<PathBuf>,
    pub(super) options: AgentOptions,
}

/// Has the JVM load the agent, with a command channel unless the options say otherwise; with which options it was.
///
/// # Errors
/// When the options are wrong, or the JVM does not take it.
pub(super) fn attach(attach: Attach) -> anyhow::Result<Options> {
    let jvm = Jvm::find(attach.pid)?;
    let mut given = attach.options;
    if !given
        .pairs
        .iter()
        .any(|(key, _)| key == "server" || key == "control")
    {
        given
            .pairs
            .push(("server".to_owned(), Server::Enabled.word().to_owned()));
    }
    let (text, options) = option_text(given, Naming::WithPid)?;
    if let Some(what) = only_from_the_start(&options) {
        bail!("{what} can only be had from the start of a JVM: use `jtrail run`, or -agentpath");
    }
    jvm.load(&find_agent(attach.agent)?, &text)?;
    Ok(options)
}

/// What HotSpot refuses an agent that comes later.
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
