//! The jtrail command line: a file for each subcommand in `cmd/`, and shared modules.
//!
//! | Module | Contents |
//! |---|---|
//! | `analyse` | the analysis of a trace, or of a part of it |
//! | `attach` | makes a running JVM load the agent |
//! | `process`, `parcel` | JVMs with a file system of their own: translation of paths, and transfer of files |
//! | `cmd` | subcommands: arguments and implementation |
//! | `agent` | the agent's library and options, for subcommands that start the agent |
//! | `http` | requests and responses of the servers on the loopback interface |
//! | `input` | opens a trace, drives the decoder, shows progress |
//! | `otlp` | sends OpenTelemetry traces to a collector |
//! | `outcome` | output streams and exit codes of subcommands |
//! | `output` | figures as table, TSV or JSON; files that are never left incomplete |
//! | `select` | selection of threads and time |
//! | `transcode` | turns a trace, or a part of it, into another format |
//!
//! Exit codes:
//!
//! - 0: done and sound.
//! - 1: the trace has faults, or traces differ.
//! - 2: the command line is wrong, or something failed.
//! - 3: the trace is truncated or parts are lost for good, but the remaining events are sound.
//!
//! `run` exits with the program's own code.
//!
//! Results go to standard output, and messages about them go to standard error. It is not an error
//! if the reader of standard output closes it.

#![forbid(unsafe_code)]

// Unit tests share the traces of the integration tests, which use this crate by its name.
#[cfg(test)]
extern crate self as jtrail_cli;

mod agent;
mod analyse;
mod attach;
mod cmd;
mod http;
mod indexed;
mod input;
// No subcommand sends traces yet.
mod otlp;
mod outcome;
mod output;
#[cfg(unix)]
mod parcel;
#[cfg(unix)]
mod process;
mod select;
mod transcode;

pub use outcome::{FAILED, FAULTY, SOUND, TRUNCATED};

use clap::error::{ContextKind, ContextValue};
use clap::{CommandFactory, Parser};
use outcome::Streams;
use std::ffi::OsString;
use std::io::{self, Write};
use std::process::ExitCode;

/// Traces Java programs, and reads the traces.
#[derive(Parser, Debug)]
#[command(name = "jtrail", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    subcommand: Subcommand,
}

#[derive(clap::Subcommand, Debug)]
enum Subcommand {
    Run(cmd::run::Args),
    Attach(cmd::attach::Args),
    #[cfg(unix)]
    Record(cmd::record::Args),
    Report(cmd::report::Args),
    Dump(cmd::dump::Args),
    Convert(cmd::convert::Args),
    Export(cmd::export::Args),
    Open(cmd::open::Args),
    View(cmd::view::Args),
    Index(cmd::index::Args),
    Verify(cmd::verify::Args),
    Recover(cmd::recover::Args),
    Compare(cmd::compare::Args),
    #[cfg(unix)]
    Ctl(cmd::ctl::Args),
    #[cfg(unix)]
    Request(cmd::request::Args),
    #[cfg(unix)]
    Stream(cmd::stream::Args),
    #[cfg(unix)]
    Top(cmd::top::Args),
    /// Print the completion script of a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// Runs the command line `args`, whose first element is the program's name.
///
/// `run` starts its program with this process's own standard streams, not with `out` and `err`.
pub fn main_with(
    args: impl IntoIterator<Item = OsString>,
    out: &mut dyn Write,
    err: &mut dyn Write,
) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let cli = match Cli::try_parse_from(&args) {
        Ok(cli) => cli,
        Err(error) => {
            let error = with_new_name(error, args.get(1));
            let text = error.render().to_string();
            // If this fails, there is no way to report it.
            let _ = if error.use_stderr() {
                err.write_all(text.as_bytes())
            } else {
                out.write_all(text.as_bytes())
            };
            return ExitCode::from(if error.use_stderr() { FAILED } else { SOUND });
        }
    };
    let mut streams = Streams { out, err };
    let result = match cli.subcommand {
        Subcommand::Run(args) => cmd::run::run(args, &mut streams),
        Subcommand::Attach(args) => cmd::attach::run(args, &mut streams),
        #[cfg(unix)]
        Subcommand::Record(args) => cmd::record::run(args, &mut streams),
        Subcommand::Report(args) => cmd::report::run(&args, &mut streams),
        Subcommand::Dump(args) => cmd::dump::run(&args, &mut streams),
        Subcommand::Convert(args) => cmd::convert::run(&args, &mut streams),
        Subcommand::Export(args) => cmd::export::run(&args, &mut streams),
        Subcommand::Open(args) => cmd::open::run(&args, &mut streams),
        Subcommand::View(args) => cmd::view::run(&args, &mut streams),
        Subcommand::Index(args) => cmd::index::run(&args, &mut streams),
        Subcommand::Verify(args) => cmd::verify::run(&args, &mut streams),
        Subcommand::Recover(args) => cmd::recover::run(&args, &mut streams),
        Subcommand::Compare(args) => cmd::compare::run(&args, &mut streams),
        #[cfg(unix)]
        Subcommand::Ctl(args) => cmd::ctl::run(args, &mut streams),
        #[cfg(unix)]
        Subcommand::Request(args) => cmd::request::run(args, &mut streams),
        #[cfg(unix)]
        Subcommand::Stream(args) => cmd::stream::run(args, &mut streams),
        #[cfg(unix)]
        Subcommand::Top(args) => cmd::top::run(args, &mut streams),
        Subcommand::Completions { shell } => completions(shell, streams.out),
        Subcommand::Man => manual(streams.out),
    };
    let result = result.and_then(|code| {
        streams.out.flush()?;
        Ok(code)
    });
    ExitCode::from(match result {
        Ok(code) => code,
        Err(error) if is_broken_pipe(&error) => SOUND,
        Err(error) => {
            let _ = writeln!(streams.err, "jtrail: {error:#}");
            FAILED
        }
    })
}

/// If the unknown argument is a former name of an agent's option, adds the present name to the
/// error as a suggestion.
fn with_new_name(mut error: clap::Error, subcommand: Option<&OsString>) -> clap::Error {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else {
        return error;
    };
    let name = given.trim_start_matches("--");
    let new = jtrail_options::renamed(name).map(|key| key.name);
    let command = Cli::command();
    let subcommand = subcommand.and_then(|subcommand| command.find_subcommand(subcommand));
    let mut known = subcommand
        .into_iter()
        .flat_map(|subcommand| subcommand.get_arguments());
    if let Some(new) = new.filter(|new| known.any(|arg| arg.get_long() == Some(new))) {
        let new = ContextValue::String(format!("--{new}"));
        error.insert(ContextKind::SuggestedArg, new);
    }
    error
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .chain()
        .filter_map(|cause| cause.downcast_ref::<io::Error>())
        .any(|e| e.kind() == io::ErrorKind::BrokenPipe)
}

fn completions(shell: clap_complete::Shell, out: &mut dyn Write) -> anyhow::Result<u8> {
    // The generators panic if a write fails. Therefore they write to a buffer.
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "jtrail", &mut text);
    out.write_all(&text)?;
    Ok(SOUND)
}

/// Writes the manual pages of the program and its subcommands as one document.
fn manual(out: &mut dyn Write) -> anyhow::Result<u8> {
    let mut command = Cli::command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(out)?;
    for subcommand in command.get_subcommands().filter(|c| c.get_name() != "help") {
        clap_mangen::Man::new(subcommand.clone()).render(out)?;
    }
    Ok(SOUND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definitions_are_consistent() {
        Cli::command().debug_assert();
    }
}
