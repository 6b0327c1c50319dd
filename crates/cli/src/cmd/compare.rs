//! `jtrail compare`: checks whether several traces of one run agree.
//!
//! [`jtrail_analysis`] computes and compares the figures. This module writes them as tables.

use crate::input::Input;
use crate::outcome::{FAULTY, SOUND, Streams, TRUNCATED, worse};
use crate::output::{Cell, Column, Section, Style, column, optional, write};
use anyhow::bail;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use jtrail_analysis::{Compared, ComparedAmount, Difference, Outcome, Sums, compare};
use jtrail_formats::{Bulk, Item, Quantity};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Compare traces of one run, in any formats
///
/// Calls, objects, collections, waits and more are counted by keys that are the same in all
/// formats: class, method with descriptor, and thread names. For each quantity, the reference is
/// the trace whose format contains most of it. Details that only one of two formats contains
/// (result types, thread names, sizes of plain objects, fractions of times) are ignored on both
/// sides. A quantity that a format does not contain is not comparable, with the reason.
///
/// Exits with 0 if everything comparable is equal, 1 if something differs or a trace has faults, 3
/// if a trace is truncated and everything is equal, 2 if a trace can't be read or nothing can be
/// compared.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The traces, two or more, in any format; - for standard input
    #[arg(required = true, num_args = 2.., value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Only these quantities
    #[arg(long, value_delimiter = ',', value_name = "QUANTITIES", value_parser = quantities())]
    only: Vec<Quantity>,
    /// Number of differences to show for each quantity and trace, biggest first, 0 for all
    #[arg(long, default_value_t = 5)]
    top: usize,
    /// How to write the figures
    #[arg(long, value_enum, default_value_t = Style::Table)]
    format: Style,
}

fn quantities() -> impl TypedValueParser<Value = Quantity> {
    let names = PossibleValuesParser::new(Quantity::ALL.map(Quantity::name));
    names.try_map(|name| Quantity::by_name(&name).ok_or("no such quantity"))
}

const TRACES: &[Column] = &[
    column("file", "trace"),
    column("format", "format"),
    column("events", "events"),
    column("verdict", "read"),
];

const COMPARISON: &[Column] = &[
    column("quantity", "quantity"),
    column("file", "trace"),
    column("result", "result"),
    column("keys", "keys"),
    column("sum", "all together"),
    optional("differing", "keys that differ"),
    optional("reason", "why"),
];

const DIFFERENCES: &[Column] = &[
    column("quantity", "quantity"),
    column("file", "trace"),
    column("expected", "reference"),
    column("found", "here"),
    column("key", "key"),
];

pub(crate) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    if args.files.iter().filter(|f| *f == Path::new("-")).count() > 1 {
        bail!("standard input can be read only once");
    }
    let quantities: Vec<Quantity> = Quantity::ALL
        .into_iter()
        .filter(|q| args.only.is_empty() || args.only.contains(q))
        .collect();
    let mut code = SOUND;
    let (mut traces, mut about) = (Vec::new(), Vec::new());
    for path in &args.files {
        let mut input = Input::open(path, true)?;
        let mut sums = Sums::new(input.format(), &quantities);
        let ending = input.bulks(|bulk| {
            match bulk {
                Bulk::Item(Item::Event { event, .. }) => sums.event(&event),
                Bulk::Calls { calls, .. } => sums.calls(&calls),
                Bulk::Item(Item::Remark(_)) => {} // the reader keeps remarks itself
            }
            Ok(())
        })?;
        sums.finish();
        ending.print(path, streams)?;
        code = worse(code, ending.code());
        about.push(vec![
            name(path),
            Cell::Text(input.format().name().to_owned()),
            Cell::Count(ending.events),
            Cell::Text(word(ending.code()).to_owned()),
        ]);
        traces.push(sums);
    }
    let compared: Vec<_> = quantities.iter().map(|q| compare(*q, &traces)).collect();
    let outcomes = || compared.iter().flat_map(|c| &c.traces);
    let differ = outcomes().any(|o| matches!(o, Outcome::Differs(..)));
    let sections = [
        section("traces", TRACES, about),
        section("comparison", COMPARISON, comparison(args, &compared)),
        differences(args, &compared),
    ];
    write(
        args.format,
        &sections[..if differ { 3 } else { 2 }],
        &mut BufWriter::new(&mut *streams.out),
    )?;
    if !outcomes().any(|o| matches!(o, Outcome::Equal(_) | Outcome::Differs(..))) {
        bail!("nothing to compare: no quantity is recorded by two of these formats");
    }
    Ok(if differ { worse(code, FAULTY) } else { code })
}

const fn word(code: u8) -> &'static str {
    match code {
        SOUND => "whole",
        TRUNCATED => "truncated",
        _ => "faulty",
    }
}

fn name(path: &Path) -> Cell {
    Cell::Text(path.display().to_string())
}

fn section(name: &'static str, columns: &[Column], rows: Vec<Vec<Cell>>) -> Section {
    let section = Section {
        name,
        columns: columns.to_vec(),
        rows,
        more: 0,
        unrecorded: None,
        vertical: false,
    };
    section.without_empty()
}

fn comparison(args: &Args, compared: &[Compared]) -> Vec<Vec<Cell>> {
    let mut rows = Vec::new();
    for Compared { quantity, traces } in compared {
        for (path, outcome) in args.files.iter().zip(traces) {
            let (result, amount, differing, reason) = match outcome {
                Outcome::Reference(amount) => ("reference", Some(amount), None, None),
                Outcome::Equal(amount) => ("equal", Some(amount), None, None),
                Outcome::Differs(amount, all) => ("differs", Some(amount), Some(all.len()), None),
                Outcome::NotComparable(why) => ("not comparable", None, None, Some(why)),
            };
            let figure = |figure: fn(&ComparedAmount) -> u64| amount.map(figure);
            rows.push(vec![
                Cell::Text(quantity.name().to_owned()),
                name(path),
                Cell::Text(result.to_owned()),
                figure(|a| a.keys).map_or(Cell::None, Cell::Count),
                figure(|a| a.sum).map_or(Cell::None, |sum| cell(*quantity, sum)),
                differing.map_or(Cell::None, |n| Cell::Count(n as u64)),
                reason.map_or(Cell::None, |why| Cell::Text(why.clone())),
            ]);
        }
    }
    rows
}

fn differences(args: &Args, compared: &[Compared]) -> Section {
    let top = if args.top == 0 { usize::MAX } else { args.top };
    let mut rows = Vec::new();
    let mut more = 0;
    for Compared { quantity, traces } in compared {
        for (path, outcome) in args.files.iter().zip(traces) {
            let Outcome::Differs(_, all) = outcome else {
                continue;
            };
            more += all.len().saturating_sub(top);
            rows.extend(all.iter().take(top).map(|d| row(*quantity, path, d)));
        }
    }
    let mut section = section("differences", DIFFERENCES, rows);
    section.more = more;
    section
}

fn row(quantity: Quantity, path: &Path, difference: &Difference) -> Vec<Cell> {
    vec![
        Cell::Text(quantity.name().to_owned()),
        name(path),
        cell(quantity, difference.expected),
        cell(quantity, difference.found),
        Cell::Text(difference.key.clone()),
    ]
}

/// Returns a cell with a figure and its unit. The figure is not rounded, so that small differences
/// are visible.
fn cell(quantity: Quantity, figure: u64) -> Cell {
    match quantity {
        Quantity::Elapsed => Cell::Exact(figure, "ns"),
        Quantity::Bytes => Cell::Exact(figure, "B"),
        _ => Cell::Count(figure),
    }
}
