//! What to do about an export that its tool does not open.

use super::{Args, Caller, feed};
use crate::select::time_argument;
use anyhow::anyhow;
use jtrail_export::{Ceiling, Export, Survey, Target};
use jtrail_model::MethodId;
use jtrail_options::duration_text;
use rustc_hash::FxHashSet;
use std::path::Path;
use std::time::Duration;

/// Returns an error that says how much there is, and which selections fit. `encoder` has just
/// exceeded the ceiling.
pub(super) fn proposal(
    args: &Args,
    target: Target,
    encoder: &dyn Export,
    top: Option<FxHashSet<MethodId>>,
) -> anyhow::Error {
    let Some(ceiling) = target.ceiling() else {
        return anyhow!("the export is too large");
    };
    let input = args.input.display();
    let (max, what) = (number(ceiling.items), ceiling.what);
    let tool = ceiling.tool;
    // Standard input can't be read again.
    if args.input == Path::new("-") {
        let instead = without_survey(args);
        return anyhow!(
            "{input}: more than {max} {what}; {tool} opens no more in reasonable time; {instead}"
        );
    }
    let survey = match survey(args, top) {
        Ok(survey) => survey,
        Err(error) => return error,
    };
    let share = Share::new(encoder, ceiling);
    let all = share.items(survey.slices());
    let about = if share.is_exact() { "" } else { "about " };
    let mut text = format!(
        "{input}: {about}{} {what}; {tool} opens {max} in reasonable time",
        number(all)
    );
    let (own, others): (Vec<_>, Vec<_>) = proposals(target, &survey, &share)
        .into_iter()
        .partition(|proposal| takes(args, proposal.choice));
    if !own.is_empty() {
        list("; add one of these:", &own, &mut text);
    }
    if args.caller == Caller::Convert {
        let head = match own.is_empty() {
            true => "; use jtrail export with one of these:",
            false => "\nor use jtrail export with one of these:",
        };
        list(head, &others, &mut text);
    }
    anyhow!("{text}")
}

/// What an export has of the items that the ceiling limits, up to the ceiling.
struct Share {
    ceiling: Ceiling,
    slices: u64,
    items: u64,
}

impl Share {
    fn new(encoder: &dyn Export, ceiling: Ceiling) -> Self {
        Self {
            ceiling,
            slices: encoder.slices().max(1),
            items: encoder.size().max(1),
        }
    }

    /// Returns true if the items are the slices.
    fn is_exact(&self) -> bool {
        self.items == self.slices
    }

    /// Returns how many items so many slices are, if all are like those up to the ceiling.
    fn items(&self, slices: u64) -> u64 {
        let items = u128::from(slices) * u128::from(self.items) / u128::from(self.slices);
        u64::try_from(items).unwrap_or(u64::MAX)
    }

    /// Returns how many slices fit. A tenth is kept in reserve unless the items are the slices.
    fn slices_that_fit(&self) -> u64 {
        if self.is_exact() {
            return self.ceiling.items;
        }
        let slices = u128::from(self.ceiling.items) * u128::from(self.slices) * 9 / 10;
        (slices / u128::from(self.items)) as u64
    }
}

/// An option that is proposed.
struct Proposal {
    choice: Choice,
    /// With its value.
    option: String,
    means: String,
}

/// Returns all options that make the export fit, or be written all the same.
fn proposals(target: Target, survey: &Survey, share: &Share) -> Vec<Proposal> {
    let fits = share.slices_that_fit();
    let all = share.items(survey.slices());
    let mut proposals = Vec::new();
    let mut add = |choice, option: String, means: String| {
        proposals.push(Proposal {
            choice,
            option,
            means,
        });
    };
    if let Some((min, left)) = survey.min_for(fits) {
        let min = duration_text(Duration::from_nanos(min.0 as u64));
        let means = format!("calls and waits that take so long: {}", number(left));
        add(Choice::Min, format!("--min {min}"), means);
    }
    if let Some((until, left)) = survey.until_for(fits) {
        let until = time_argument(until.0 as u64);
        let means = format!("calls and waits up to then: {}", number(left));
        add(Choice::Until, format!("--until {until}"), means);
    }
    let files = all.div_ceil(share.ceiling.items.max(1));
    let about = if share.is_exact() { "" } else { "about " };
    let means = format!("{about}{files} files, each with a part of the time");
    add(Choice::Split, "--split".to_owned(), means);
    let means = match target.kept_bytes() {
        Some(bytes) => {
            let size = crate::output::bytes(all.saturating_mul(bytes));
            format!("one file all the same; it is kept in memory until the end: some {size}")
        }
        None => "one file all the same".to_owned(),
    };
    add(Choice::Force, "--force".to_owned(), means);
    proposals
}

/// Appends proposals below a head.
fn list(head: &str, proposals: &[Proposal], text: &mut String) {
    *text += head;
    for Proposal { option, means, .. } in proposals {
        *text += &format!("\n  {option:<22} {means}");
    }
}

/// An option that makes an export fit, or be written all the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Choice {
    Min,
    Until,
    Split,
    Force,
}

/// Returns whether the subcommand that exports takes an option.
fn takes(args: &Args, choice: Choice) -> bool {
    match args.caller {
        Caller::Export => choice != Choice::Split || args.output() != Path::new("-"),
        Caller::Send | Caller::Open => choice != Choice::Split,
        Caller::Convert => choice == Choice::Until,
    }
}

/// Returns what to do if the trace can't be read again.
fn without_survey(args: &Args) -> &'static str {
    match args.caller {
        Caller::Export if takes(args, Choice::Split) => {
            "select less by --min, --from or --until, or add --split or --force"
        }
        Caller::Export | Caller::Send | Caller::Open => {
            "select less by --min, --from or --until, or add --force"
        }
        Caller::Convert => {
            "select less by --from or --until, or use jtrail export, which also takes --min, --split and --force"
        }
    }
}

/// Says that an export which may exceed the ceiling is kept in memory, if so.
pub(super) fn warn_of_memory(target: Target, err: &mut dyn std::io::Write) -> std::io::Result<()> {
    let (Some(bytes), Some(ceiling)) = (target.kept_bytes(), target.ceiling()) else {
        return Ok(());
    };
    writeln!(
        err,
        "jtrail: {}: {} are kept in memory until the end, some {bytes} bytes for each",
        target.name(),
        ceiling.what
    )
}

/// Reads the trace again, and counts its calls and waits.
fn survey(args: &Args, top: Option<FxHashSet<MethodId>>) -> anyhow::Result<Survey> {
    let mut survey = Survey::new(args.selection.filter(top));
    feed(&args.selection, &args.input, &mut survey)?;
    Ok(survey)
}

/// Returns a number with separators between thousands.
fn number(n: u64) -> String {
    crate::output::count(n)
}
