//! `jtrail run`: starts a program with the agent.
//!
//! | Module | Does |
//! |---|---|
//! | `flags` | warns of JVM flags that don't work with an agent |
//! | `launch` | adds the agent to the command, passes on signals and the exit code |
//! | `summary` | reports afterwards what was recorded |

mod flags;
mod launch;
mod summary;

use crate::agent::{AgentOptions, Naming, find_agent, option_text};
use crate::outcome::Streams;
use anyhow::{Context, bail};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Run a program and record what it does
///
/// If the command's first word is a java program, the agent is added after it as -agentpath. Any
/// other command, such as a build tool or a start script, gets the agent by the variable
/// JAVA_TOOL_OPTIONS, which all its JVMs read. The file's name then contains the process id, even
/// if --file does not: app-4711.trail for app.trail. Other JVMs that a java program starts with the
/// agent write their traces beside its own. All traces are listed at the end.
///
/// Exits like the program: with its exit code, or with 128 plus the number of the signal that ended
/// it.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The agent's library [default: JTRAIL_AGENT, or libjtrail beside this program]
    #[arg(long, value_name = "PATH")]
    agent: Option<PathBuf>,
    /// Print no summary
    #[arg(long)]
    no_summary: bool,
    #[command(flatten)]
    options: AgentOptions,
    /// The command
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

pub(crate) fn run(args: Args, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    let Some((program, arguments)) = args.command.split_first() else {
        bail!("a command is missing after --");
    };
    let direct = launch::is_java(program);
    let naming = match direct {
        true => Naming::Plain,
        false => Naming::AlwaysWithPid,
    };
    let (text, options) = option_text(args.options, naming)?;
    let agent = find_agent(args.agent)?;
    let agent_path = launch::agent_path(&agent, &text)?;
    let mut command = launch::command(program, arguments, &agent_path, direct)?;

    for line in flags::warnings(arguments, direct, |name| std::env::var_os(name)) {
        writeln!(streams.err, "{line}")?;
    }
    let before = summary::Before::look(&options);
    let clock = Instant::now();
    let ended = launch::run(&mut command)
        .with_context(|| format!("can't start {}", Path::new(program).display()))?;
    if !args.no_summary {
        let ran = summary::Ran {
            options: &options,
            pid: ended.pid,
            direct: direct && !launch::is_script(program),
            before: &before,
            took: clock.elapsed(),
        };
        summary::write(&ran, streams)?;
    }
    Ok(ended.code)
}
