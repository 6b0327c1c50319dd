//! Tables of calls: methods, call tree, compiled code, samples.

use super::args::Sort;
use super::tables::Table;
use super::{
    Content, Report, column, optional, share, share_of_count, some, some_bytes, some_time,
};
use crate::output::{Cell, Column};
use crate::select::selected;
use jtrail_analysis::{MethodStat, STATES, Tree};
use jtrail_model::{MethodId, ThreadState};
use std::cmp::Reverse;

const METHODS: &[Column] = &[
    column("calls", "calls"),
    column("self_ns", "self"),
    column("self_share", "self %"),
    column("total_ns", "total"),
    column("total_share", "total %"),
    optional("cpu_self_ns", "CPU self"),
    optional("cpu_total_ns", "CPU total"),
    optional("min_ns", "self min"),
    optional("max_ns", "self max"),
    optional("exceptions", "by exception"),
    optional("overhead_ns", "overhead"),
    column("method", "method"),
];

const TREE: &[Column] = &[
    column("depth", ""),
    column("calls", "calls"),
    column("total_ns", "total"),
    column("total_share", "total %"),
    column("self_ns", "self"),
    optional("cpu_total_ns", "CPU total"),
    optional("cpu_self_ns", "CPU self"),
    optional("min_ns", "self min"),
    optional("max_ns", "self max"),
    column("method", "method"),
];

const CODE_TOTALS: &[Column] = &[
    column("methods", "methods compiled"),
    column("compiled", "compilations"),
    column("uncompiled", "code thrown away"),
    column("bytes", "bytes of all code"),
    column("live_bytes", "left at the end"),
    column("most_bytes", "most at once"),
];

const CODE: &[Column] = &[
    column("compiled", "compilations"),
    column("uncompiled", "thrown away"),
    column("size_bytes", "latest"),
    column("bytes", "all"),
    optional("inlined", "inlined methods"),
    optional("bytecode_bytes", "bytecode"),
    column("method", "method"),
];

const SAMPLES: &[Column] = &[
    column("runnable_self", "self"),
    column("runnable_self_share", "self %"),
    column("runnable_total", "total"),
    column("runnable_total_share", "total %"),
    column("self", "self, any state"),
    column("total", "total, any state"),
    column("method", "method"),
];

const SAMPLE_THREADS: &[Column] = &[
    column("thread", "id"),
    column("name", "thread"),
    column("samples", "samples"),
    column("runnable", "runnable"),
    column("blocked", "blocked"),
    column("waiting", "waiting"),
    column("parked", "parked"),
    column("sleeping", "sleeping"),
];

// `SAMPLE_THREADS` has one column for each state, in the order of `STATES`.
const _: () = assert!(STATES.len() == 5);

/// Maximum indentation of a method in the call tree, in levels.
const MAX_INDENT: usize = 40;

impl Report<'_> {
    /// Returns a cell with a method's name, indented by its depth in the call tree.
    fn indented(&self, method: MethodId, depth: usize) -> Cell {
        let names = &self.analysis.names;
        // Indentation of deep recursions would make the lines unreadably long.
        let indent = match depth {
            0..=MAX_INDENT => "  ".repeat(depth),
            _ => format!("{}[{depth}] ", "  ".repeat(MAX_INDENT)),
        };
        let readable = indent + &names.readable_method(method);
        Cell::Name {
            raw: names.raw_method(method),
            readable,
        }
    }

    /// Returns the time in outermost calls, summed over all threads.
    fn all_time(&self) -> i64 {
        self.analysis
            .calls
            .threads()
            .iter()
            .fold(0, |sum, t| sum.saturating_add(t.busy))
    }

    pub(super) fn methods(&self) -> Content {
        let names = &self.analysis.names;
        let mut methods = self.analysis.calls.methods();
        match self.args.sort {
            Sort::Own => methods.sort_by_key(|m| (Reverse(m.own), m.method)),
            Sort::Total => methods.sort_by_key(|m| (Reverse(m.total), m.method)),
            Sort::Cpu => methods.sort_by_key(|m| (Reverse(m.cpu_own), m.method)),
            Sort::Calls => methods.sort_by_key(|m| (Reverse(m.calls), m.method)),
            Sort::Name => methods.sort_by_cached_key(|m| names.raw_method(m.method)),
        }
        let all = self.all_time();
        self.table(Table::Methods, METHODS, methods, |m| {
            let (min, max) = bounds(&m);
            vec![
                Cell::Count(m.calls),
                Cell::Time(m.own),
                share(m.own, all),
                Cell::Time(m.total),
                share(m.total, all),
                some_time(m.cpu_own),
                some_time(m.cpu_total),
                min,
                max,
                some(m.exceptions),
                some_time(m.overhead),
                self.indented(m.method, 0),
            ]
        })
    }

    /// Returns the call tree from the root, each caller before its callees. `more` is the number of
    /// omitted branches.
    pub(super) fn tree(&self) -> Content {
        let calls = &self.analysis.calls;
        let tree = calls.tree();
        let all = self.all_time();
        let least = self.args.min.of(all);
        let mut rows = Vec::new();
        let mut left_out = 0;
        let mut todo = vec![(Tree::ROOT, 0)];
        while let Some((path, depth)) = todo.pop() {
            if path != Tree::ROOT {
                let stat = calls.path(path);
                let (min, max) = bounds(&stat);
                rows.push(vec![
                    Cell::Count(depth as u64),
                    Cell::Count(stat.calls),
                    Cell::Time(stat.total),
                    share(stat.total, all),
                    Cell::Time(stat.own),
                    some_time(stat.cpu_total),
                    some_time(stat.cpu_own),
                    min,
                    max,
                    self.indented(stat.method, depth - 1),
                ]);
            }
            // A loaded tree lacks branches that are too small to be shown.
            left_out += tree.omitted(path);
            let mut callees = Vec::new();
            for callee in tree.callees(path) {
                let MethodStat { total, method, .. } = calls.path(callee);
                if depth < self.args.depth && total >= least {
                    callees.push((total, Reverse(method), callee));
                } else {
                    left_out += 1;
                }
            }
            // The last element is popped first.
            callees.sort_unstable();
            todo.extend(
                callees
                    .into_iter()
                    .map(|(_, _, callee)| (callee, depth + 1)),
            );
        }
        Content {
            columns: TREE,
            rows,
            more: left_out,
        }
    }

    pub(super) fn code_totals(&self) -> Content {
        let code = &self.analysis.code;
        let row = vec![
            Cell::Count(code.methods.len() as u64),
            Cell::Count(code.compiled),
            Cell::Count(code.uncompiled),
            Cell::Bytes(code.bytes),
            Cell::Bytes(code.live_bytes()),
            Cell::Bytes(code.most_live),
        ];
        let any = !code.methods.is_empty() || !self.args.overview();
        Content {
            columns: CODE_TOTALS,
            rows: any.then_some(row).into_iter().collect(),
            more: 0,
        }
    }

    pub(super) fn code(&self) -> Content {
        let mut methods: Vec<_> = self.analysis.code.methods.iter().collect();
        methods.sort_by_key(|(m, c)| (Reverse((c.compiled, c.size)), **m));
        self.table(Table::Code, CODE, methods, |(method, code)| {
            vec![
                Cell::Count(code.compiled),
                Cell::Count(code.uncompiled),
                Cell::Bytes(code.size),
                Cell::Bytes(code.bytes),
                some(code.inlined),
                some_bytes(code.bytecode),
                self.method(*method),
            ]
        })
    }

    pub(super) fn samples(&self) -> Content {
        let samples = &self.analysis.samples;
        let frames = &self.analysis.frames;
        let mut methods: Vec<_> = samples.methods().collect();
        methods.sort_by_key(|(m, s)| {
            let hits = (s.own_runnable, s.total_runnable, s.own, s.total);
            (Reverse(hits), frames.raw_method(*m))
        });
        self.table(Table::Samples, SAMPLES, methods, |(method, s)| {
            vec![
                Cell::Count(s.own_runnable),
                share_of_count(s.own_runnable, samples.runnable),
                Cell::Count(s.total_runnable),
                share_of_count(s.total_runnable, samples.runnable),
                Cell::Count(s.own),
                Cell::Count(s.total),
                Cell::Name {
                    raw: frames.raw_method(method).to_owned(),
                    readable: frames.readable_method(method),
                },
            ]
        })
    }

    pub(super) fn sample_threads(&self) -> Content {
        let names = &self.analysis.names;
        let all = self.analysis.samples.threads.iter();
        let mut threads: Vec<_> = all
            .filter(|(id, _)| selected(&self.args.thread, names, **id))
            .map(|(id, thread)| (*id, thread.states, thread.all))
            .collect();
        let runnable = STATES.iter().position(|s| *s == ThreadState::Runnable);
        let runnable = runnable.unwrap_or_default();
        threads.sort_by_key(|(id, states, sum)| (Reverse((states[runnable], *sum)), *id));
        let columns = SAMPLE_THREADS;
        self.table(
            Table::SampleThreads,
            columns,
            threads,
            |(id, states, sum)| {
                let head = [super::thread_id(id), self.thread(id), Cell::Count(sum)];
                let states = states.into_iter().map(Cell::Count);
                head.into_iter().chain(states).collect()
            },
        )
    }
}

fn bounds(stat: &MethodStat) -> (Cell, Cell) {
    match stat.bounds {
        Some((min, max)) => (Cell::Time(min), Cell::Time(max)),
        None => (Cell::None, Cell::None),
    }
}
