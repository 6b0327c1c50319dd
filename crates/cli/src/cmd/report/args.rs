//! Arguments of `report`, and the tables and rows that they select.

use super::tables::{Flags, ShownWhen, Table};
use crate::output::Style;
use crate::select::{Span, ThreadSelector};
use clap::ValueEnum;
use jtrail_analysis::Subjects;
use std::path::PathBuf;

/// Summarise a trace: threads, calls, objects, collections, waits and more
///
/// Without a selection of tables, the output is an overview: every table that has rows, except the
/// detailed ones. --only and the options under "Subjects" select tables.
///
/// The total time of a method does not count recursive calls twice. The self time is the total time
/// without the recorded callees. Calls and waits that are still open at the end of the trace count
/// until the end. TSV and JSON contain all times in ns. With --from or --until, definitions count,
/// and events within this time. Calls that began earlier do not count.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The trace, in any format; - for standard input
    pub(super) file: PathBuf,
    /// How to write the figures
    #[arg(long, value_enum, default_value_t = Style::Table)]
    pub(super) format: Style,
    /// Order of the methods
    #[arg(long, value_enum, default_value_t = Sort::Own)]
    pub(super) sort: Sort,
    /// Number of rows of each table, 0 for all [default: 20, or 10 for the subjects of an overview]
    #[arg(long)]
    pub(super) top: Option<usize>,
    /// Only what this thread did: an id, or a name with * for any text (repeatable)
    #[arg(long, value_name = "ID|NAME", value_parser = ThreadSelector::parse)]
    pub(super) thread: Vec<ThreadSelector>,
    #[command(flatten)]
    pub(super) span: Span,
    /// Levels of the call tree, 0 for none
    #[arg(long, default_value_t = 16)]
    pub(super) depth: usize,
    /// Omit branches of the call tree below this minimum: a share of the total time (1%) or a time
    /// (10ms)
    #[arg(long, value_name = "PART|TIME", default_value = "1%", value_parser = MinTime::parse)]
    pub(super) min: MinTime,
    /// Subtract the time that recording took, as measured by the agent, from the times of calls
    #[arg(long)]
    pub(super) net: bool,
    /// Only these tables
    #[arg(long, value_enum, value_delimiter = ',', value_name = "TABLES")]
    only: Vec<Table>,
    #[command(flatten)]
    flags: Flags,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(super) enum Sort {
    /// Self time
    #[value(name = "self")]
    Own,
    /// Total time
    Total,
    /// CPU time without callees
    Cpu,
    /// Number of calls
    Calls,
    /// Class and method
    Name,
}

impl Args {
    /// Returns true if the arguments name no tables.
    pub(super) fn overview(&self) -> bool {
        self.only.is_empty() && !self.flags.any()
    }

    /// Returns true if the report is of the whole trace: of all threads, at all times.
    pub(super) fn is_whole(&self) -> bool {
        self.span.is_all() && self.thread.is_empty()
    }

    /// Returns the tables to write, in order.
    pub(super) fn tables(&self) -> Vec<Table> {
        let all = Table::value_variants().iter().copied();
        let is_selected = |t: &Table| {
            if self.overview() {
                t.place() != ShownWhen::Detail
            } else {
                self.only.contains(t) || self.flags.want(*t)
            }
        };
        all.filter(is_selected).collect()
    }

    /// Returns the subjects to analyse for these tables.
    pub(super) fn subjects(&self) -> Subjects {
        let tables = self.tables();
        let any = |of: &[Table]| of.iter().any(|t| tables.contains(t));
        let heap = any(&[
            Table::HeapClasses,
            Table::HeapReferences,
            Table::HeapObjects,
        ]) || (any(&[Table::Heap]) && !self.overview());
        Subjects {
            // The omitted branches are counted in the level below the last one that is shown.
            levels: match tables.contains(&Table::Tree) {
                true => self.depth.saturating_add(1),
                false => 0,
            },
            objects: heap
                || any(&[
                    Table::Live,
                    Table::LiveThreads,
                    Table::Monitors,
                    Table::MonitorObjects,
                    Table::MonitorClasses,
                    Table::Waits,
                    Table::Parks,
                ]),
            classes: any(&[Table::Classes, Table::Members]),
            heap,
        }
    }

    /// Returns the maximum number of rows of a table.
    pub(super) fn rows(&self, table: Table) -> usize {
        let usual = match table.place() {
            ShownWhen::Subject if self.overview() => 10,
            ShownWhen::Detail if table == Table::Origin => 0,
            _ => 20,
        };
        match self.top.unwrap_or(usual) {
            0 => usize::MAX,
            top => top,
        }
    }
}

/// Minimum total time of a branch in the call tree.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum MinTime {
    /// Share of the total time, 0 to 1.
    Share(f64),
    Ns(i64),
}

impl MinTime {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let wrong = || "write a part like 1% or a time like 500us, 10ms, 2s".to_owned();
        let number = |digits: &str| match digits.parse::<f64>() {
            Ok(n) if n.is_finite() && n >= 0.0 => Ok(n),
            _ => Err(wrong()),
        };
        if text == "0" {
            return Ok(Self::Ns(0));
        }
        if let Some(digits) = text.strip_suffix('%') {
            return number(digits).map(|n| Self::Share(n / 100.0));
        }
        for (unit, ns) in [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)] {
            if let Some(digits) = text.strip_suffix(unit) {
                return number(digits).map(|n| Self::Ns((n * ns) as i64));
            }
        }
        Err(wrong())
    }

    /// Returns the minimum in ns for a total time of `all`.
    ///
    /// A share above 0 yields at least 1 ns. Otherwise the share would have no effect on a tree
    /// whose calls all take 0 ns.
    pub(super) fn of(self, all: i64) -> i64 {
        match self {
            Self::Share(share) => ((share * all as f64) as i64).max((share > 0.0).into()),
            Self::Ns(ns) => ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_values() {
        for (text, expected) in [
            ("0", Some(MinTime::Ns(0))),
            ("1%", Some(MinTime::Share(0.01))),
            ("0.5%", Some(MinTime::Share(0.005))),
            ("10ms", Some(MinTime::Ns(10_000_000))),
            ("1.5s", Some(MinTime::Ns(1_500_000_000))),
            ("500us", Some(MinTime::Ns(500_000))),
            ("7ns", Some(MinTime::Ns(7))),
            ("", None),
            ("%", None),
            ("-1%", None),
            ("nan%", None),
            ("1", None),
            ("ms", None),
        ] {
            assert_eq!(MinTime::parse(text).ok(), expected, "{text}");
        }
    }
}
