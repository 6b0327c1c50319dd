//! `jtrail report`: summarises a trace in tables.
//!
//! | Module | Contents |
//! |---|---|
//! | `args` | arguments |
//! | `tables` | list of the tables, and rules when each is shown |
//! | `overall` | tables of the whole trace: figures, threads, gaps |
//! | `calls` | methods, call tree, compiled code, samples |
//! | `objects` | allocations, live objects, collections |
//! | `waits` | monitors and exceptions |
//! | `classes` | classes and coverage |
//! | `heap` | heap dumps |
//! | `indexed` | the analysis that the index of a trace contains |
//!
//! [`jtrail_analysis`] computes the figures, and [`crate::output`] writes them. This module turns
//! them into rows.

mod args;
mod calls;
mod classes;
mod heap;
mod indexed;
mod objects;
mod overall;
mod tables;
mod waits;

pub(crate) use args::Args;

use crate::analyse::analyse;
use crate::input::{Ending, Input};
use crate::outcome::Streams;
use crate::output::{Cell, Column, Section, Style, column, optional, write};
use anyhow::bail;
use jtrail_analysis::{Analysis, Site};
use jtrail_model::names::with_line;
use jtrail_model::{ClassId, MethodId, ObjectId, ThreadId, Timestamp};
use std::io::BufWriter;
use std::path::Path;
use tables::{ShownWhen, Table};

pub(crate) fn run(args: &Args, streams: &mut Streams<'_>) -> anyhow::Result<u8> {
    run_with(args, streams, indexed::analysis_of_index)
}

/// Like [`run`]. `saved` returns the saved analysis of a trace if there is one.
fn run_with(
    args: &Args,
    streams: &mut Streams<'_>,
    saved: impl FnOnce(&Path) -> Option<Vec<u8>>,
) -> anyhow::Result<u8> {
    let mut input = Input::open(&args.file, true)?;
    let file = input.file().filter(|_| args.is_whole());
    let saved = file.and_then(saved);
    let (mut analysis, ending) = match saved.and_then(|saved| indexed::analysis(args, &saved)) {
        // Only what was read without any remark is saved.
        Some(analysis) => (analysis, Ending::default()),
        None => analyse(&mut input, &args.span, &args.thread, args.subjects())?,
    };
    analysis.finish();
    if args.net {
        if analysis.cost.record == 0 {
            bail!(
                "{}: --net: the trace does not contain the time that recording took",
                args.file.display()
            );
        }
        analysis.without_cost();
    }
    let mut report = Report {
        args,
        analysis: &mut analysis,
        format: input.format().name(),
    };
    let sections = report.sections();
    write(
        args.format,
        &sections,
        &mut BufWriter::new(&mut *streams.out),
    )?;
    ending.print(&args.file, streams)?;
    Ok(ending.code())
}

/// Builder of the tables.
struct Report<'a> {
    args: &'a Args,
    analysis: &'a mut Analysis,
    format: &'static str,
}

/// Columns and rows of a table.
struct Content {
    columns: &'static [Column],
    rows: Vec<Vec<Cell>>,
    /// Number of omitted rows.
    more: usize,
}

impl Report<'_> {
    fn sections(&mut self) -> Vec<Section> {
        let overview = self.args.overview();
        let tables = self.args.tables();
        let sections = tables.into_iter().filter_map(|table| {
            let section = self.section(table);
            let empty = section.rows.is_empty() && section.more == 0;
            // TSV and JSON contain every base table. Other empty tables are omitted unless they
            // were requested.
            let always = table.place() == ShownWhen::Base && self.args.format != Style::Table;
            (!empty || !overview || always).then_some(section)
        });
        sections.collect()
    }

    fn section(&mut self, table: Table) -> Section {
        let content = match table {
            Table::Trace => self.trace(),
            Table::Origin => self.origin(),
            Table::Threads => self.threads(),
            Table::Uninstrumented => self.uninstrumented(),
            Table::Lost => self.lost(),
            Table::Bursts => self.bursts(),
            Table::Demoted => self.demoted(),
            Table::Methods => self.methods(),
            Table::Tree => self.tree(),
            Table::CodeTotals => self.code_totals(),
            Table::Code => self.code(),
            Table::Samples => self.samples(),
            Table::SampleThreads => self.sample_threads(),
            Table::Allocations => self.allocations(),
            Table::AllocationSites => self.allocation_sites(),
            Table::AllocationThreads => self.allocation_threads(),
            Table::Live => self.live(),
            Table::LiveThreads => self.live_threads(),
            Table::LiveCounts => self.live_counts(),
            Table::LiveAfterGc => self.live_after_gc(),
            Table::Gc => self.collections(),
            Table::GcKinds => self.collection_kinds(),
            Table::GcLengths => self.collection_lengths(),
            Table::Monitors => self.monitors(),
            Table::MonitorObjects => self.monitor_objects(),
            Table::MonitorClasses => self.monitor_classes(),
            Table::MonitorSites => self.monitor_sites(),
            Table::Waits => self.waits(),
            Table::Parks => self.parks(),
            Table::Exceptions => self.exceptions(),
            Table::Catches => self.catches(),
            Table::Uncaught => self.uncaught(),
            Table::Classes => self.classes(),
            Table::Members => self.members(),
            Table::SlowestClassInitialisations => self.slowest_initialisations(),
            Table::Coverage => self.coverage(),
            Table::CoverageMethods => self.coverage_methods(),
            Table::UncoveredLines => self.uncovered_lines(),
            Table::Heap => self.dumps(),
            Table::HeapClasses => self.dump_classes(),
            Table::HeapReferences => self.dump_references(),
            Table::HeapObjects => self.dump_objects(),
        };
        let section = Section {
            name: table.name(),
            columns: content.columns.to_vec(),
            rows: content.rows,
            more: content.more,
            unrecorded: table
                .events()
                .filter(|kind| self.analysis.origin.records(kind) == Some(false)),
            vertical: table.vertical(),
        };
        section.without_empty()
    }

    /// Returns a table with a row for each item, up to the table's maximum number of rows.
    fn table<T>(
        &self,
        table: Table,
        columns: &'static [Column],
        items: impl IntoIterator<Item = T>,
        row: impl FnMut(T) -> Vec<Cell>,
    ) -> Content {
        let mut items = items.into_iter();
        let rows = items
            .by_ref()
            .take(self.args.rows(table))
            .map(row)
            .collect();
        Content {
            columns,
            rows,
            more: items.count(),
        }
    }

    fn since_start(&self, time: Timestamp) -> Cell {
        let start = self.analysis.start.unwrap_or_default();
        Cell::Time(time.since(start).0)
    }

    fn method(&self, method: MethodId) -> Cell {
        if method.is_none() {
            return Cell::None;
        }
        let names = &self.analysis.names;
        Cell::Name {
            raw: names.raw_method(method),
            readable: names.readable_method(method),
        }
    }

    /// Returns a cell with a method and line.
    fn line(&self, method: MethodId, line: i64) -> Cell {
        match self.method(method) {
            Cell::Name { raw, readable } => Cell::Name {
                raw: with_line(&raw, line),
                readable: with_line(&readable, line),
            },
            other => other,
        }
    }

    /// Returns a cell with a site.
    fn site(&self, site: Site) -> Cell {
        if site == Site::NONE {
            return Cell::None;
        }
        let frames = &self.analysis.frames;
        Cell::Name {
            raw: frames.raw_site(site),
            readable: frames.readable_site(site),
        }
    }

    fn class(&self, class: ClassId) -> Cell {
        if class.is_none() {
            return Cell::None;
        }
        let names = &self.analysis.names;
        Cell::Name {
            raw: names.class(class),
            readable: names.readable_class(class),
        }
    }

    fn thread(&self, thread: ThreadId) -> Cell {
        some_text(&self.analysis.names.thread(thread))
    }
}

/// Returns a cell with a thread's id, or an empty one for no thread.
fn thread_id(thread: ThreadId) -> Cell {
    some(thread.0)
}

fn object_id(object: ObjectId) -> Cell {
    some(object.0)
}

/// Returns a cell with a number, or an empty one for 0.
fn some(n: u64) -> Cell {
    if n == 0 { Cell::None } else { Cell::Count(n) }
}

/// Returns a cell with a length of time, or an empty one for 0.
fn some_time(ns: i64) -> Cell {
    if ns == 0 { Cell::None } else { Cell::Time(ns) }
}

fn some_bytes(bytes: i64) -> Cell {
    if bytes == 0 {
        Cell::None
    } else {
        Cell::Bytes(bytes)
    }
}

fn some_text(text: &str) -> Cell {
    if text.is_empty() {
        Cell::None
    } else {
        Cell::Text(text.to_owned())
    }
}

fn share(part: i64, all: i64) -> Cell {
    if all <= 0 {
        Cell::None
    } else {
        Cell::Share(part as f64 / all as f64)
    }
}

fn share_of_count(part: u64, all: u64) -> Cell {
    if all == 0 {
        Cell::None
    } else {
        Cell::Share(part as f64 / all as f64)
    }
}
