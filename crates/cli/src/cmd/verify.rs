//! `jtrail verify`: checks whether a trace is sound.
//!
//! The decoder finds faults in the bytes, the checker finds faults in the events.

use crate::input::Input;
use crate::outcome::{FAILED, FAULTY, SOUND, Streams, TRUNCATED, worse};
use crate::output::{count, time};
use jtrail_formats::{Bulk, Checker, Item, Severity};
use jtrail_model::{ClockNote, Note, ShortCallsNote, Totals};
use jtrail_records::spool::folder_of;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

/// Check that traces are sound: structure, references, order, balance of calls, losses
///
/// Exits with 0 if all traces are sound, 1 if one has faults, 3 if one is truncated but otherwise
/// sound, 2 if one can't be read at all. Of several results, the worst counts: 2, then 1, then 3.
/// Events that the trace itself reports as lost are shown, and are no fault.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The traces, in any format; - for standard input
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Number of findings to show for each trace, 0 for all that are kept
    #[arg(long, default_value_t = 20)]
    top: usize,
    /// Show the number of events of each kind; JSON always contains it
    #[arg(long)]
    counts: bool,
    /// Show the agent's own counts, and reasons why methods are not instrumented; JSON always
    /// contains them
    #[arg(long)]
    notes: bool,
    /// Write JSON: an array with an object for each trace
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    let mut worst = SOUND;
    let mut objects = Vec::new();
    for path in &args.files {
        let verdict = check(path).unwrap_or_else(|error| Verdict::unreadable(&error));
        worst = worse(worst, verdict.code);
        if args.json {
            objects.push(verdict.json(path, args.top));
        } else {
            verdict.write(path, args, streams)?;
        }
    }
    if args.json {
        serde_json::to_writer_pretty(&mut *streams.out, &objects).map_err(io::Error::from)?;
        writeln!(streams.out)?;
    }
    Ok(worst)
}

/// Final result for one trace.
struct Verdict {
    code: u8,
    /// Name of the format, or `None` for a trace that can't be read at all.
    format: Option<&'static str>,
    events: u64,
    /// Number of events by kind, in the order of the model.
    kinds: Vec<(&'static str, u64)>,
    /// Number of events that the trace reports as lost.
    lost: u64,
    /// The agent's own counts.
    totals: Option<Totals>,
    /// Number of methods and classes that are not instrumented, by reason.
    uninstrumented: BTreeMap<String, u64>,
    /// The criteria by which calls were recorded as sums, and the number of calls in these sums.
    short_calls: Option<(ShortCallsNote, u64)>,
    /// Maximum error of the times of calls, which may be too early.
    clock: Option<ClockNote>,
    /// Number of events that the process had not written when it ended, and that were recovered.
    recovered: Option<u64>,
    faults: u64,
    /// Findings, worst severity first. Findings of one severity are in the order of the trace.
    findings: Vec<Finding>,
    /// Reason why the trace can't be read, or can't be read to its end.
    error: Option<String>,
}

/// Finding of the decoder or the checker.
struct Finding {
    offset: u64,
    severity: Severity,
    /// Violated rule, or `structure` for findings of the decoder.
    rule: &'static str,
    message: String,
}

fn check(path: &Path) -> anyhow::Result<Verdict> {
    let mut input = Input::open(path, true)?;
    let mut checker = Checker::of(input.format());
    let ending = input.bulks(|bulk| {
        match bulk {
            Bulk::Item(Item::Event { offset, event }) => checker.event(offset, &event),
            Bulk::Calls { offset, calls } => checker.calls(offset, &calls),
            Bulk::Item(Item::Remark(_)) => {} // kept in `ending`
        }
        Ok(())
    })?;
    let checked = checker.finish();
    let code = match ending.code() {
        SOUND | TRUNCATED if checked.faults() > 0 => FAULTY,
        SOUND if checked.is_truncated() => TRUNCATED,
        code => code,
    };
    let structure = ending.remarks.into_iter().map(|r| Finding {
        offset: r.offset,
        severity: r.severity,
        rule: "structure",
        message: r.message,
    });
    let meaning = checked.findings.iter().map(|f| Finding {
        offset: f.offset,
        severity: f.severity,
        rule: f.rule.name(),
        message: f.message.clone(),
    });
    let mut findings: Vec<Finding> = structure.chain(meaning).collect();
    // The findings that determine the verdict come first, since the list may be cut.
    findings.sort_by_key(|f| (std::cmp::Reverse(f.severity), f.offset));
    Ok(Verdict {
        code,
        format: Some(input.format().name()),
        events: ending.events,
        lost: checked.counts.lost,
        totals: checked.counts.totals,
        short_calls: checked.counts.short_calls,
        clock: checked.counts.clock,
        recovered: checked.counts.recovered,
        faults: ending.faults + checked.faults(),
        kinds: checked.counts.kinds,
        uninstrumented: checked.counts.uninstrumented,
        findings,
        error: ending.error,
    })
}

/// Returns as text the criteria by which calls were recorded as sums.
pub(crate) fn why_short(note: ShortCallsNote) -> String {
    let mut which = Vec::new();
    if note.min.0 > 0 {
        which.push(format!("those that took less than {}", time(note.min.0)));
    }
    if note.rate > 0 {
        which.push(format!(
            "those of methods that are called more than {} times a second",
            count(note.rate)
        ));
    }
    which.join(", and ")
}

const fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Truncated => "truncated",
        Severity::Fault => "fault",
    }
}

impl Verdict {
    fn unreadable(error: &anyhow::Error) -> Self {
        Self {
            code: FAILED,
            format: None,
            events: 0,
            kinds: Vec::new(),
            lost: 0,
            totals: None,
            uninstrumented: BTreeMap::new(),
            short_calls: None,
            clock: None,
            recovered: None,
            faults: 0,
            findings: Vec::new(),
            error: Some(format!("{error:#}")),
        }
    }

    fn word(&self) -> &'static str {
        match self.code {
            SOUND => "sound",
            FAULTY => "faulty",
            TRUNCATED => "truncated",
            _ => "unreadable",
        }
    }

    fn shown(&self, top: usize) -> &[Finding] {
        let n = if top == 0 {
            self.findings.len()
        } else {
            self.findings.len().min(top)
        };
        &self.findings[..n]
    }

    fn write(&self, path: &Path, args: &Args, streams: &mut Streams<'_>) -> io::Result<()> {
        let mut text = format!("{}: {}", path.display(), self.word());
        // Writing to a `String` never fails.
        if let Some(format) = self.format {
            let _ = write!(text, " ({format}, {} events", count(self.events));
            if self.faults > 0 {
                let _ = write!(text, ", faults: {}", count(self.faults));
            }
            let _ = write!(text, ", events lost: {})", count(self.lost));
        }
        if let Some((note, calls)) = self.short_calls {
            let _ = write!(
                text,
                "\n  {} more calls are sums: {}",
                count(calls),
                why_short(note)
            );
        }
        if let Some(ClockNote { tick, longest }) = self.clock {
            let (tick, longest) = (time(tick.0), time(longest.0));
            let _ = write!(
                text,
                "\n  clock=tick: times of calls are up to {tick} early, {longest} at most"
            );
        }
        if let Some(events) = self.recovered {
            let _ = write!(
                text,
                "\n  recovered: its process ended before the trace did; {} events had not been written by then",
                count(events)
            );
        }
        let spool = folder_of(path);
        if self.code == TRUNCATED && spool.exists() {
            let spool = spool.display();
            let _ = write!(
                text,
                "\n  the missing events are in {spool}; see jtrail recover"
            );
        }
        let shown = self.shown(args.top);
        for finding in shown {
            let (kind, message) = (severity(finding.severity), &finding.message);
            let (offset, rule) = (finding.offset, finding.rule);
            let _ = write!(text, "\n  at byte {offset}: {kind} ({rule}): {message}");
        }
        let more = self.findings.len() - shown.len();
        if more > 0 {
            let _ = write!(text, "\n  … {more} more; --top 0 shows them");
        }
        if let Some(error) = &self.error {
            let _ = write!(text, "\n  {error}");
        }
        if args.counts {
            for (kind, events) in &self.kinds {
                let _ = write!(text, "\n  {kind}: {}", count(*events));
            }
        }
        if args.notes {
            if let Some(totals) = self.totals {
                let _ = write!(text, "\n  {}", Note::Totals(totals));
            }
            for (reason, n) in &self.uninstrumented {
                let _ = write!(text, "\n  not instrumented: {} × {reason}", count(*n));
            }
        }
        writeln!(streams.out, "{text}")
    }

    fn json(&self, path: &Path, top: usize) -> Value {
        let finding = |f: &Finding| {
            json!({
                "offset": f.offset,
                "severity": severity(f.severity),
                "rule": f.rule,
                "message": f.message,
            })
        };
        let kinds: serde_json::Map<String, Value> = self
            .kinds
            .iter()
            .map(|(kind, events)| ((*kind).to_owned(), json!(events)))
            .collect();
        json!({
            "file": path.display().to_string(),
            "verdict": self.word(),
            "format": self.format,
            "events": self.events,
            "kinds": kinds,
            "lost": self.lost,
            "totals": self.totals,
            "uninstrumented": self.uninstrumented,
            "sums": self.short_calls.map(|(note, calls)| json!({
                "calls": calls,
                "min_ns": note.min.0,
                "maxrate": note.rate,
            })),
            "tick_ns": self.clock.map(|clock| clock.tick.0),
            "longest_tick_ns": self.clock.map(|clock| clock.longest.0),
            "faults": self.faults,
            "findings": self.shown(top).iter().map(finding).collect::<Vec<_>>(),
            "error": self.error,
        })
    }
}
