//! `jtrail top`: shows live what a running program does.
//!
//! | Module | Does |
//! |---|---|
//! | `source` | requests figures from the agent, once for each interval |
//! | `round` | figures of one interval |
//! | `screen` | contents of the screen |
//! | `terminal` | keys and redraws; every exit restores the terminal |
//! | `text` | figures of an interval as tables |

mod round;
mod screen;
mod source;
mod terminal;
mod text;

use super::ctl::{AgentArgs, some_time, start};
use crate::outcome::{SOUND, Streams};
use crate::output::{Style, write};
use anyhow::{Context, bail};
use round::{Round, Sort};
use screen::Screen;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use source::Source;
use std::io::{IsTerminal, stdin, stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Show the hottest methods of a running program, live
///
/// If the agent is idle, this command begins a trace of totals, and ends it on exit. Nothing else
/// is left behind. If another trace is active, or if another client has the data stream, only rates
/// of events are shown. Times are those of the last interval. 100 % means one thread all the time.
/// Without a terminal, tables are written for each interval. Exits with 0, or with 2 if the agent
/// has disconnected or another client has ended the trace.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    agent: AgentArgs,
    /// Length of an interval, like 500ms, 2s or 1m
    #[arg(short, long, value_name = "TIME", default_value = "2s", value_parser = some_time)]
    interval: Duration,
    /// Order of the methods
    #[arg(long, value_enum, default_value_t = Sort::Own)]
    sort: Sort,
    /// Write tables of this number of intervals, then exit
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    batch: Option<u64>,
    /// The same as --batch 1
    #[arg(long, conflicts_with = "batch")]
    once: bool,
    /// How to write the tables
    #[arg(long, value_enum, default_value_t = Style::Table)]
    format: Style,
    /// Rows of each table, 0 for all
    #[arg(long, default_value_t = 20)]
    top: usize,
    /// Settings like the agent's options: events, include, exclude. The last two are applied in
    /// order and may be repeated
    #[arg(value_name = "KEY=VALUE")]
    settings: Vec<String>,
}

/// Interval between checks of signals.
const TICK: Duration = Duration::from_millis(100);

pub(crate) fn run(args: Args, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    let settings = start(&args.settings)?;
    if settings.file.is_some() || settings.format.is_some() {
        bail!("file and format are not allowed: top keeps no trace");
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stop)).context("signals")?;
    }
    let rounds = match args.once {
        true => Some(1),
        false => args.batch,
    };
    let is_live = rounds.is_none() && stdout().is_terminal() && stdin().is_terminal();
    let mut source = Source::new(args.agent.connect()?, settings)?;
    let result = match is_live {
        true => {
            let screen = Screen {
                interval: args.interval,
                sort: args.sort,
                ..Screen::default()
            };
            terminal::run(&mut source, screen, &stop)
        }
        false => batch(&args, rounds, &mut source, &stop, streams),
    };
    // If both fail, the earlier error is more informative than that of `end`.
    let ended = source.end();
    result.and(ended)?;
    Ok(SOUND)
}

/// Writes the tables of each interval.
fn batch(
    args: &Args,
    rounds: Option<u64>,
    source: &mut Source,
    stop: &AtomicBool,
    streams: &mut Streams<'_>,
) -> anyhow::Result<()> {
    let rows = match args.top {
        0 => usize::MAX,
        rows => rows,
    };
    let mut done = 0;
    while rounds.is_none_or(|rounds| done < rounds) {
        let begun = Instant::now();
        // If the agent provides only counts, a rate is the difference of two of them.
        let first = done == 0 && source.why_not.is_some();
        if first {
            source.look()?;
        }
        while begun.elapsed() < args.interval {
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            std::thread::sleep(TICK.min(args.interval.saturating_sub(begun.elapsed())));
        }
        let mut round: Round = source.look()?;
        if let Some(calls) = &mut round.calls {
            calls.sort(args.sort);
        }
        if let Some(why_not) = source.why_not.filter(|_| done == 0) {
            writeln!(streams.err, "jtrail: {why_not}")?;
        }
        if done > 0 {
            writeln!(streams.out)?;
        }
        write(args.format, &text::sections(&round, rows), streams.out)?;
        streams.out.flush()?;
        done += 1;
    }
    Ok(())
}
