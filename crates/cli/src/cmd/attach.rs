//! `jtrail attach`: has a JVM that runs load the agent.

use crate::Streams;
use crate::agent::{AgentOptions, Naming, find_agent, option_text};
use crate::attach::Jvm;
use anyhow::bail;
use jtrail_options::{Engine, Events, Options, OutputFormat, Server};
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
    let jvm = Jvm::find(args.pid)?;
    let mut given = args.options;
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
    let agent = find_agent(args.agent)?;
    jvm.load(&agent, &text)?;
    if options.format != OutputFormat::None {
        let file = options.file.text().replace("%p", &args.pid.to_string());
        writeln!(streams.err, "jtrail: JVM {} records into {file}", args.pid)?;
    }
    Ok(crate::SOUND)
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
