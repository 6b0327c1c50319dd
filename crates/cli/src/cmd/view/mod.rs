//! `jtrail view`: shows traces in the browser, or writes a page that does.
//!
//! | Module | Contents |
//! |---|---|
//! | `source` | opens traces, whatever their format |
//! | `parts` | finds the files of a trace that the agent divided |
//! | `join` | joins them to a temporary trail |
//! | `running` | finds the trace that a JVM writes |
//! | `html` | writes a part of traces as a stand-alone page |
//! | `server` | the server on the loopback interface |

mod html;
mod join;
mod parts;
mod running;
mod server;
mod source;

use super::open::open_browser;
use crate::indexed::analysis_for_index;
use crate::outcome::{SOUND, Streams};
use crate::output::{Temporary, leave_signals};
use crate::select::{Span, ThreadSelector};
use anyhow::{Context, bail};
use jtrail_guard::memory;
use jtrail_view::api::{Opened, Session};
use server::Server;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Minimum time between two looks for what is new in a trail that is still being written.
const INTERVAL: Duration = Duration::from_millis(400);

/// Show traces in the browser, from the whole run down to one call
///
/// Starts a server on the loopback interface of this machine, and opens or prints the address of
/// its page. The page needs no network, and nothing leaves this machine. A trail is read in parts,
/// also if it is truncated or damaged: what is missing is shown as missing. A trace of another
/// format becomes a temporary trail first. Ends on Ctrl-C.
///
/// A trace that the agent divided into several files (maxsize) is shown as one, whichever of them
/// is named: they become one temporary trail first. So does a trail together with the events that
/// its killed process had not written, in the folder FILE.spool.
///
/// A trail that is still being written grows in the page. A process id stands for the trail that
/// the agent in that JVM writes to a file.
///
/// With --html it starts no server, and writes a page that has a part of the trace in itself: it
/// opens from a disk, and can be attached to a ticket. It holds up to a million calls and waits.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The trace, in any format, or the process id of a JVM; a second one is shown beside it
    #[arg(required = true, num_args = 1..=2, value_name = "TRACE|PID")]
    traces: Vec<PathBuf>,
    /// Show this file alone, and not the other files of a trace that the agent divided, nor what
    /// its killed process had not written
    #[arg(long)]
    one_file: bool,
    /// Print the address and open no browser
    #[arg(long)]
    no_browser: bool,
    /// Port on the loopback interface [default: any free one]
    #[arg(long)]
    port: Option<u16>,
    /// Write a page that needs no server; - for standard output
    #[arg(long, value_name = "FILE", conflicts_with_all = ["port", "no_browser"])]
    html: Option<PathBuf>,
    #[command(flatten)]
    span: Span,
    /// Only what this thread did: an id, or a name with * for any text (repeatable)
    #[arg(long, value_name = "ID|NAME", value_parser = ThreadSelector::parse)]
    thread: Vec<ThreadSelector>,
}

pub(crate) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    if args.traces.iter().any(|path| path == Path::new("-")) {
        bail!("a trace is read in parts, so it must be a file");
    }
    if let Some(output) = &args.html {
        return html::run(args, output, streams);
    }
    if !args.span.is_all() || !args.thread.is_empty() {
        bail!(
            "--from, --until and --thread select what --html writes; the page of the server shows the whole trace"
        );
    }
    // A port that is in use is an error before traces are read.
    let server = Server::new(args.port)?;
    let folder = Temporary::folder().context("can't make a folder for temporary trails")?;
    let mut opened = Vec::new();
    for (number, named) in args.traces.iter().enumerate() {
        let path = &running::trace_of(named, streams)?;
        let trail = folder.path().join(format!("{number}.trail"));
        let source = source::open(path, &trail, args.one_file, streams)?;
        let named = || source.index.display().to_string();
        let index = source.index.clone();
        let new = Opened::new(source.title, source.trace, index, analysis_for_index);
        let mut new = new
            .with_context(named)?
            .followed(running::is_written, INTERVAL);
        for remark in source.remarks {
            new = new.with_remark(remark);
        }
        opened.push(new);
    }
    leave_signals(); // from now on, they end the server
    // Several threads answer, and each of them would keep memory of its own.
    memory::share_heaps();
    let address = server.address();
    writeln!(
        streams.err,
        "jtrail: the page is at this address; Ctrl-C ends"
    )?;
    if let Some(hint) = remote_hint(server.port()) {
        writeln!(streams.err, "jtrail: {hint}")?;
    }
    writeln!(streams.out, "{address}")?;
    streams.out.flush()?;
    if !args.no_browser {
        open_browser(&address);
    }
    server.serve(Session::new(opened))?;
    Ok(SOUND)
}

/// Returns how a browser on another machine reaches the server, if this is a session of ssh.
fn remote_hint(port: u16) -> Option<String> {
    let connection = std::env::var("SSH_CONNECTION").ok()?;
    let host = connection.split(' ').nth(2).unwrap_or("this-host");
    let forward = format!("ssh -L {port}:127.0.0.1:{port} {host}");
    Some(format!("from another machine, first run there: {forward}"))
}
