//! `jtrail run`: starts a program with the agent.
//!
//! | Module | Does |
//! |---|---|
//! | `args` | `--KEY VALUE` for each key of the agent's options |
//! | `launch` | finds the agent, puts it into the command, passes signals and exit code on |
//! | `summary` | says afterwards what was recorded |

mod args;
mod launch;
mod summary;

use crate::{Streams, cmd::run::args::AgentOptions};
use anyhow::{Context, anyhow, bail};
use jtrail_options::{OutputFormat, escape};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};

/// Run a program and record what it does
///
/// When the command's first word is a java program, the agent is put right behind it as -agentpath.
/// Any other command, a build tool or a start script, gets it by the variable JAVA_TOOL_OPTIONS,
/// which every JVM below it reads; the file's name then has the process id in it, so that several
/// JVMs don't overwrite each other.
///
/// Exits as the program does: with its exit code, or 128 and the signal that ended it.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The agent's library [default: JTRAIL_AGENT, or libjtrail beside this program]
    #[arg(long, value_name = "PATH")]
    agent: Option<PathBuf>,
    /// Say nothing afterwards
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
        bail!("a command is missing behind --");
    };
    let direct = launch::is_java(program);
    let (text, options) = option_text(args.options, direct)?;
    let agent = launch::find_agent(args.agent)?;
    let agent_path = launch::agent_path(&agent, &text)?;
    let mut command = launch::command(program, arguments, &agent_path, direct)?;

    let start = SystemTime::now();
    let clock = Instant::now();
    let ended = launch::run(&mut command)
        .with_context(|| format!("can't start {}", Path::new(program).display()))?;
    if !args.no_summary {
        let ran = summary::Ran {
            options: &options,
            pid: ended.pid,
            direct,
            start,
            took: clock.elapsed(),
        };
        summary::write(&ran, streams)?;
    }
    Ok(ended.code)
}

/// The agent's option text: what was given, and what `run` itself settles. Validated.
fn option_text(
    given: AgentOptions,
    direct: bool,
) -> anyhow::Result<(String, jtrail_options::Options)> {
    let mut pairs = given.pairs;
    if !pairs.iter().any(|(key, _)| key == "format") {
        pairs.insert(
            0,
            ("format".to_owned(), OutputFormat::Binary.word().to_owned()),
        );
    }
    let here = std::env::current_dir().context("the current directory is gone")?;
    let here = here
        .to_str()
        .ok_or_else(|| anyhow!("the current directory's name is not UTF-8"))?;
    let options = validate(&pairs)?;
    match pairs.iter_mut().find(|(key, _)| key == "file") {
        Some((_, file)) => *file = absolute(here, file),
        None if options.format != OutputFormat::None => {
            let name = match direct {
                true => options.file.text().to_owned(),
                false => format!("trace-%p.{}", options.format.extension()),
            };
            pairs.push(("file".to_owned(), absolute(here, &name)));
        }
        None => {}
    }
    for (key, path) in &mut pairs {
        if matches!(key.as_str(), "filters" | "options") && Path::new(path.as_str()).is_relative() {
            *path = format!("{here}/{path}");
        }
    }
    if let Some((_, path)) = pairs
        .iter_mut()
        .find(|(key, path)| key == "control" && path != "off")
    {
        *path = absolute(here, path);
    }
    let options = validate(&pairs)?;
    Ok((join(&pairs), options))
}

fn join(pairs: &[(String, String)]) -> String {
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(key, value)| format!("{key}={}", escape(value)))
        .collect();
    pairs.join(",")
}

fn validate(pairs: &[(String, String)]) -> anyhow::Result<jtrail_options::Options> {
    let options = jtrail_options::parse(&join(pairs), &jtrail_options::read_file);
    let options = options.and_then(jtrail_options::Options::available);
    options.map_err(|error| match error.key() {
        Some(key) => anyhow!("--{key}: {}", error.problem()),
        None => anyhow!("{error}"),
    })
}

/// A file pattern that does not depend on the program's current directory.
pub(crate) fn absolute(here: &str, file: &str) -> String {
    if file == "-" || file.is_empty() || Path::new(file).is_absolute() {
        return file.to_owned();
    }
    format!("{}/{file}", here.replace('%', "%%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(pairs: &[(&str, &str)], direct: bool) -> Result<String, String> {
        let pairs = pairs
            .iter()
            .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
            .collect();
        let here = std::env::current_dir().expect("there is one");
        option_text(AgentOptions { pairs }, direct)
            .map(|(text, _)| text.replace(here.to_str().expect("UTF-8"), "HERE"))
            .map_err(|e| e.to_string())
    }

    #[test]
    fn run_settles_format_and_file() {
        for (pairs, direct, expected) in [
            (&[][..], true, "format=binary,file=HERE/trace.trcbin"),
            (&[], false, "format=binary,file=HERE/trace-%p.trcbin"),
            (
                &[("format", "xml")],
                true,
                "format=xml,file=HERE/trace.trcxml",
            ),
            (&[("format", "none")], true, "format=none"),
            (&[("file", "-")], true, "format=binary,file=-"),
            (&[("file", "a,b")], true, "format=binary,file=\"HERE/a,b\""),
            (&[("file", "/x/%p")], false, "format=binary,file=/x/%p"),
            (
                &[("exclude", "a.*"), ("include", "b.*")],
                true,
                "format=binary,exclude=a.*,include=b.*,file=HERE/trace.trcbin",
            ),
        ] {
            assert_eq!(text(pairs, direct), Ok(expected.to_owned()));
        }
    }

    #[test]
    fn wrong_options_name_the_argument() {
        for (pairs, expected) in [
            (
                [("format", "binry")],
                "--format: no such value \"binry\"; allowed are xml, binary, jinsight, mlpd, tracelog, profilerj, none; did you mean \"binary\"?",
            ),
            (
                [("clock", "tick")],
                "--clock: \"tick\" is not available in this version",
            ),
            ([("file", "")], "--file: the path is missing"),
            (
                [("buffer", "1k")],
                "--buffer: \"1k\" is out of bounds; allowed is 1m to 64g",
            ),
        ] {
            assert_eq!(text(&pairs, true), Err(expected.to_owned()));
        }
    }
}
