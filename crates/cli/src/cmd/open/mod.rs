//! `jtrail open`: exports a trace, and has a tool in the browser load it.
//!
//! | Module | Contents |
//! |---|---|
//! | `viewer` | the tools and their addresses |
//! | `serve` | the server on the loopback interface |

pub(crate) mod serve;
mod viewer;

use super::export;
use super::export::CallSelection;
use crate::outcome::{SOUND, Streams};
use crate::output::{Temporary, leave_signals};
use anyhow::{Context, bail};
use serve::{Offer, Served};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use viewer::Viewer;

/// Open a trace in the browser: in Perfetto, the Firefox Profiler or speedscope
///
/// Exports the trace, offers the file on the loopback interface of this machine, and opens or
/// prints the address at which the tool's page loads it. The page runs in the browser: the trace
/// stays on this machine. Ends when the page has loaded the file, or on Ctrl-C.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The trace, in any format; - for standard input
    input: PathBuf,
    /// The tool
    #[arg(long = "in", value_name = "TOOL", default_value = Viewer::ALL[0].name(), value_parser = viewer_names())]
    viewer: String,
    #[command(flatten)]
    selection: CallSelection,
    /// Write all, even if the tool does not open so much
    #[arg(long)]
    force: bool,
    /// Print the address and open no browser
    #[arg(long)]
    print: bool,
    /// Port on the loopback interface [default: any free one, and 9001 for perfetto, whose page
    /// loads from no other]
    #[arg(long)]
    port: Option<u16>,
    /// Address of the tool's page, if it runs elsewhere: http://localhost:10000
    #[arg(long, value_name = "URL", value_parser = viewer::page)]
    page: Option<String>,
    /// End after this time, even if the file was not loaded
    #[arg(long = "for", value_name = "TIME", value_parser = jtrail_options::parse_duration)]
    time: Option<Duration>,
}

fn viewer_names() -> clap::builder::PossibleValuesParser {
    clap::builder::PossibleValuesParser::new(Viewer::ALL.map(Viewer::name))
}

pub(crate) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    let Some(viewer) = Viewer::by_name(&args.viewer) else {
        bail!("no tool {:?}", args.viewer);
    };
    let folder = Temporary::folder().context("can't make a folder for the export")?;
    let name = file_name(&args.input, viewer);
    let file = folder.path().join(&name);
    let page = args.page.as_deref().unwrap_or(viewer.page());
    let port = args.port.or(viewer.port());
    // A port that is in use is an error before the export.
    let offer = Offer::new(&file, &name, page, port)?;
    let export = export::Args::of_selection(
        export::Caller::Open,
        (args.input.clone(), file.clone()),
        viewer.target(),
        args.selection.clone(),
        args.force,
    );
    let code = export::run(&export, streams)?;

    leave_signals(); // from now on, they end the offer
    let address = viewer.address(page, &offer.address(), &name);
    writeln!(
        streams.err,
        "jtrail: {} loads it from here; Ctrl-C ends",
        viewer.title()
    )?;
    writeln!(streams.out, "{address}")?;
    streams.out.flush()?;
    if !args.print {
        open_browser(&address);
    }
    match offer.serve(args.time)? {
        Served::Loaded => {
            writeln!(streams.err, "jtrail: {} has loaded it", viewer.title())?;
            Ok(code)
        }
        Served::Stopped => Ok(SOUND),
        Served::TimedOut => bail!("{} did not load the file in time", viewer.title()),
    }
}

/// Returns the name under which the file is offered, which tools show.
fn file_name(input: &Path, viewer: Viewer) -> String {
    let stem = input.file_stem().map(|stem| stem.to_string_lossy());
    let stem = stem.filter(|stem| stem != "-").unwrap_or("trace".into());
    // The name is part of an address.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let stem: String = stem
        .chars()
        .map(|c| if is_plain(c) { c } else { '_' })
        .collect();
    format!("{stem}{}", viewer.target().extensions()[0])
}

/// Opens the address in the user's browser, if there is a desktop. The address has been printed, so
/// failures need no message.
pub(crate) fn open_browser(address: &str) {
    let has = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let opener = match () {
        () if cfg!(target_os = "macos") => "open",
        () if has("DISPLAY") || has("WAYLAND_DISPLAY") => "xdg-open",
        () => return,
    };
    let mut command = Command::new(opener);
    command
        .arg(address)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let _ = command.spawn();
}
