//! `jtrail report`: what a trace says, summed up.

use crate::Streams;
use crate::analysis::{Analysis, MethodStat};
use crate::input::Input;
use crate::output::{Cell, Column, Section, Style, write};
use crate::select::{ThreadSelector, selected};
use jtrail_model::{MethodId, Timestamp};
use rustc_hash::FxHashMap;
use std::io::BufWriter;
use std::path::PathBuf;

/// Show threads, hot methods, call tree, collections and gaps of a trace
///
/// Total time of a method does not count its recursive calls twice. Self time is what remains
/// without the calls that the trace holds. Calls still open at the trace's end count up to there.
/// TSV and JSON have all times in ns.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// The trace, in any format; - for standard input
    file: PathBuf,
    /// How to write the figures
    #[arg(long, value_enum, default_value_t = Style::Table)]
    format: Style,
    /// Order of the methods
    #[arg(long, value_enum, default_value_t = Sort::Own)]
    sort: Sort,
    /// Rows of each table, 0 for all
    #[arg(long, default_value_t = 20)]
    top: usize,
    /// Only calls of this thread: an id, or a name with * for any text (repeatable)
    #[arg(long, value_name = "ID|NAME", value_parser = ThreadSelector::parse)]
    thread: Vec<ThreadSelector>,
    /// Levels of the call tree, 0 for none
    #[arg(long, default_value_t = 16)]
    depth: usize,
    /// Leave out branches of the call tree below this: part of all time (1%) or a time (10ms)
    #[arg(long, value_name = "PART|TIME", default_value = "1%", value_parser = Least::parse)]
    min: Least,
    /// Only these tables
    #[arg(long, value_enum, value_delimiter = ',')]
    only: Vec<Table>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Sort {
    /// Self time
    #[value(name = "self")]
    Own,
    /// Total time
    Total,
    /// Number of calls
    Calls,
    /// Class and method
    Name,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
enum Table {
    /// Figures of the whole trace
    Trace,
    /// Threads, busiest first
    Threads,
    /// Methods
    Methods,
    /// The call tree
    Tree,
    /// Pauses by garbage collection, longest first
    Gc,
    /// Methods that should be in the trace and are not
    Uncovered,
    /// Gaps in the trace
    Lost,
}

/// The least total time that a branch must have.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Least {
    /// Of all time, 0 to 1.
    Share(f64),
    Ns(i64),
}

impl Least {
    fn parse(text: &str) -> Result<Self, String> {
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

    fn of(self, all: i64) -> i64 {
        match self {
            Self::Share(share) => (share * all as f64) as i64,
            Self::Ns(ns) => ns,
        }
    }
}

pub(crate) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    let mut input = Input::open(&args.file, true)?;
    let mut analysis = Analysis::default();
    let ending = input.events(|event| {
        analysis.event(event, |names, thread| selected(&args.thread, names, thread));
        Ok(())
    })?;
    analysis.finish();
    let sections = Sections {
        args,
        analysis: &mut analysis,
        format: input.format().name(),
    }
    .all();
    write(
        args.format,
        &sections,
        &mut BufWriter::new(&mut *streams.out),
    )?;
    ending.tell(&args.file, streams)?;
    Ok(ending.code())
}

/// Makes the tables.
struct Sections<'a> {
    args: &'a Args,
    analysis: &'a mut Analysis,
    format: &'static str,
}

const fn column(key: &'static str, head: &'static str) -> Column {
    Column { key, head }
}

const TRACE: &[Column] = &[
    column("format", "format"),
    column("start_ns", ""),
    column("duration_ns", "time"),
    column("threads", "threads"),
    column("classes", "classes"),
    column("methods", "methods called"),
    column("calls", "calls"),
    column("open", "calls open at the end"),
    column("collections", "collections"),
    column("collections_ns", "paused"),
    column("lost", "events lost"),
    column("uncovered", "methods not covered"),
    column("unmatched", "leaves without enter"),
    column("cut", "calls without leave"),
];

const THREADS: &[Column] = &[
    column("thread", "id"),
    column("name", "thread"),
    column("group", "group"),
    column("start_ns", "start"),
    column("end_ns", "end"),
    column("calls", "calls"),
    column("busy_ns", "in calls"),
];

const METHODS: &[Column] = &[
    column("calls", "calls"),
    column("self_ns", "self"),
    column("self_share", "self %"),
    column("total_ns", "total"),
    column("total_share", "total %"),
    column("method", "method"),
];

const TREE: &[Column] = &[
    column("depth", ""),
    column("calls", "calls"),
    column("total_ns", "total"),
    column("total_share", "total %"),
    column("self_ns", "self"),
    column("method", "method"),
];

const GC: &[Column] = &[
    column("start_ns", "start"),
    column("pause_ns", "pause"),
    column("used_bytes", "used behind"),
];

const UNCOVERED: &[Column] = &[
    column("class", "class"),
    column("method", "method"),
    column("reason", "reason"),
];

const LOST: &[Column] = &[
    column("thread", "id"),
    column("name", "thread"),
    column("events", "events"),
    column("from_ns", "from"),
    column("to_ns", "to"),
    column("reason", "reason"),
];

/// Levels of the call tree that are shown by indentation.
const DEEPEST_INDENT: usize = 40;

impl Sections<'_> {
    fn all(&mut self) -> Vec<Section> {
        let wanted = |table| self.args.only.is_empty() || self.args.only.contains(&table);
        let tables = [
            Table::Trace,
            Table::Threads,
            Table::Methods,
            Table::Tree,
            Table::Gc,
            Table::Uncovered,
            Table::Lost,
        ];
        let tables: Vec<Table> = tables.into_iter().filter(|t| wanted(*t)).collect();
        // Programs find every section; people are spared the empty ones that they did not ask for.
        let spare = self.args.format == Style::Table && self.args.only.is_empty();
        let sections = tables.into_iter().map(|table| self.section(table));
        sections
            .filter(|s| !(spare && s.rows.is_empty() && s.more == 0))
            .collect()
    }

    fn section(&mut self, table: Table) -> Section {
        let a = &*self.analysis;
        let (more_uncovered, more_lost) = (a.more_uncovered, a.more_lost);
        let (name, columns, (rows, more)) = match table {
            Table::Trace => ("trace", TRACE, (vec![self.trace()], 0)),
            Table::Threads => ("threads", THREADS, self.top(self.threads(), 0)),
            Table::Methods => ("methods", METHODS, self.methods()),
            Table::Tree => ("tree", TREE, self.tree()),
            Table::Gc => {
                let rows = self.collections();
                ("gc", GC, self.top(rows, 0))
            }
            Table::Uncovered => (
                "uncovered",
                UNCOVERED,
                self.top(self.uncovered(), more_uncovered),
            ),
            Table::Lost => ("lost", LOST, self.top(self.lost(), more_lost)),
        };
        Section {
            name,
            columns,
            rows,
            more,
            vertical: table == Table::Trace,
        }
    }

    /// The rows to show, and how many there are besides.
    fn top(&self, mut rows: Vec<Vec<Cell>>, more: u64) -> (Vec<Vec<Cell>>, usize) {
        let cut = match self.args.top {
            0 => 0,
            top => rows.len().saturating_sub(top),
        };
        rows.truncate(rows.len() - cut);
        (rows, cut + more as usize)
    }

    fn since_start(&self, time: Timestamp) -> Cell {
        let (first, _) = self.analysis.span.unwrap_or_default();
        Cell::Time(time.since(first).0)
    }

    fn trace(&self) -> Vec<Cell> {
        let a = &*self.analysis;
        let (first, last) = a.span.unwrap_or_default();
        vec![
            Cell::Text(self.format.to_owned()),
            Cell::Time(first.0),
            Cell::Time(last.since(first).0),
            Cell::Count(a.names.threads.len() as u64),
            Cell::Count(a.names.class_count() as u64),
            Cell::Count(a.calls.methods().len() as u64),
            Cell::Count(a.calls.count()),
            Cell::Count(a.calls.open),
            Cell::Count(a.collections.count),
            Cell::Time(a.collections.total.0),
            Cell::Count(a.lost_events()),
            Cell::Count(a.uncovered_methods()),
            Cell::Count(a.calls.unmatched),
            Cell::Count(a.calls.cut),
        ]
    }

    fn threads(&self) -> Vec<Vec<Cell>> {
        let names = &self.analysis.names;
        let calls: FxHashMap<_, _> = self
            .analysis
            .calls
            .threads()
            .iter()
            .map(|t| (t.thread, (t.calls, t.busy)))
            .collect();
        let mut rows: Vec<_> = names
            .threads
            .iter()
            .filter(|(id, _)| selected(&self.args.thread, names, **id))
            .map(|(id, thread)| (*id, thread, calls.get(id).copied().unwrap_or_default()))
            .collect();
        rows.sort_by_key(|(id, _, (calls, busy))| (std::cmp::Reverse((*busy, *calls)), *id));
        let row = rows.into_iter().map(|(id, thread, (calls, busy))| {
            vec![
                Cell::Count(id.0),
                Cell::Text(thread.name.clone()),
                Cell::Text(thread.group.clone()),
                self.since_start(thread.start),
                thread.end.map_or(Cell::None, |end| self.since_start(end)),
                Cell::Count(calls),
                Cell::Time(busy),
            ]
        });
        row.collect()
    }

    fn name(&self, method: MethodId, depth: usize) -> Cell {
        let names = &self.analysis.names;
        // Deep recursions would make the lines longer than anyone can read.
        let indent = match depth {
            0..=DEEPEST_INDENT => "  ".repeat(depth),
            _ => format!("{}[{depth}] ", "  ".repeat(DEEPEST_INDENT)),
        };
        let readable = indent + &names.readable_method(method);
        Cell::Name {
            raw: names.raw_method(method),
            readable,
        }
    }

    /// Time in outermost calls of all threads.
    fn all_time(&self) -> i64 {
        self.analysis
            .calls
            .threads()
            .iter()
            .fold(0, |sum, t| sum.saturating_add(t.busy))
    }

    fn methods(&self) -> (Vec<Vec<Cell>>, usize) {
        let names = &self.analysis.names;
        let mut methods: Vec<&MethodStat> = self.analysis.calls.methods().iter().collect();
        match self.args.sort {
            Sort::Own => methods.sort_by_key(|m| (-m.own, m.method)),
            Sort::Total => methods.sort_by_key(|m| (-m.total, m.method)),
            Sort::Calls => methods.sort_by_key(|m| (std::cmp::Reverse(m.calls), m.method)),
            Sort::Name => methods.sort_by_cached_key(|m| names.raw_method(m.method)),
        }
        let more = match self.args.top {
            0 => 0,
            top => methods.len().saturating_sub(top),
        };
        methods.truncate(methods.len() - more);
        let all = self.all_time();
        let row = methods.into_iter().map(|m| {
            vec![
                Cell::Count(m.calls),
                Cell::Time(m.own),
                share(m.own, all),
                Cell::Time(m.total),
                share(m.total, all),
                self.name(m.method, 0),
            ]
        });
        (row.collect(), more)
    }

    /// The tree from the top, each caller before its callees, and how many branches were left out.
    fn tree(&self) -> (Vec<Vec<Cell>>, usize) {
        let paths = self.analysis.calls.paths();
        let all = self.all_time();
        let least = self.args.min.of(all);
        let mut children: FxHashMap<Option<u32>, Vec<u32>> = FxHashMap::default();
        for (index, path) in (0_u32..).zip(paths) {
            children.entry(path.parent).or_default().push(index);
        }
        let mut rows = Vec::new();
        let mut left_out = 0;
        let mut todo = vec![(None, 0)];
        while let Some((path, depth)) = todo.pop() {
            if let Some(path) = path {
                let stat = &paths[path as usize].stat;
                rows.push(vec![
                    Cell::Count(depth as u64),
                    Cell::Count(stat.calls),
                    Cell::Time(stat.total),
                    share(stat.total, all),
                    Cell::Time(stat.own),
                    self.name(stat.method, depth - 1),
                ]);
            }
            let mut callees = children.remove(&path).unwrap_or_default();
            let before = callees.len();
            callees.retain(|p| depth < self.args.depth && paths[*p as usize].stat.total >= least);
            left_out += before - callees.len();
            // The stack hands out the last one first.
            callees.sort_by_key(|p| (paths[*p as usize].stat.total, std::cmp::Reverse(*p)));
            todo.extend(callees.into_iter().map(|p| (Some(p), depth + 1)));
        }
        (rows, left_out)
    }

    fn collections(&mut self) -> Vec<Vec<Cell>> {
        let pauses = self.analysis.collections.longest().to_vec();
        let row = pauses.into_iter().map(|pause| {
            vec![
                self.since_start(pause.start),
                Cell::Time(pause.length.0),
                Cell::Bytes(pause.used),
            ]
        });
        row.collect()
    }

    fn uncovered(&self) -> Vec<Vec<Cell>> {
        let row = self.analysis.uncovered.iter().map(|u| {
            vec![
                Cell::Text(u.class.to_string()),
                Cell::Text(u.method.to_string()),
                Cell::Text(u.reason.to_string()),
            ]
        });
        row.collect()
    }

    fn lost(&self) -> Vec<Vec<Cell>> {
        let row = self.analysis.lost.iter().map(|l| {
            let name = self
                .analysis
                .names
                .threads
                .get(&l.thread)
                .map(|t| t.name.clone());
            vec![
                Cell::Count(l.thread.0),
                name.map_or(Cell::None, Cell::Text),
                Cell::Count(l.events),
                self.since_start(l.from),
                self.since_start(l.to),
                Cell::Text(l.reason.to_string()),
            ]
        });
        row.collect()
    }
}

fn share(part: i64, all: i64) -> Cell {
    if all <= 0 {
        Cell::None
    } else {
        Cell::Share(part as f64 / all as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn least_values() {
        for (text, expected) in [
            ("0", Some(Least::Ns(0))),
            ("1%", Some(Least::Share(0.01))),
            ("0.5%", Some(Least::Share(0.005))),
            ("10ms", Some(Least::Ns(10_000_000))),
            ("1.5s", Some(Least::Ns(1_500_000_000))),
            ("500us", Some(Least::Ns(500_000))),
            ("7ns", Some(Least::Ns(7))),
            ("", None),
            ("%", None),
            ("-1%", None),
            ("nan%", None),
            ("1", None),
            ("ms", None),
        ] {
            assert_eq!(Least::parse(text).ok(), expected, "{text}");
        }
    }
}
