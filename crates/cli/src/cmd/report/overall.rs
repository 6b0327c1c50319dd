//! Tables of the whole trace: figures, threads, methods not instrumented, gaps.

use super::tables::Table;
use super::{Content, Report, column, optional, some, some_bytes, some_text, some_time};
use crate::output::{Cell, Column, Style};
use crate::select::selected;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

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
    column("uninstrumented", "methods not instrumented"),
    column("unmatched", "leaves without enter"),
    column("cut", "calls without leave"),
    optional("summed_calls", "calls that are sums"),
    optional("min_ns", "those that took less than"),
    optional(
        "maxrate",
        "those of methods called more often a second than",
    ),
    optional("cost_ns", "recording the calls took"),
    optional("tick_ns", "times of calls early by up to"),
    optional("longest_tick_ns", "at most by"),
    optional("methods_defined", "methods defined"),
    optional("heap_resizes", "changes of heap size"),
    optional("largest_heap_bytes", "largest heap"),
    optional("process_cpu_ns", "CPU time of the process"),
    optional("pauses", "pauses of the trace"),
    optional("pauses_ns", "time in pauses"),
    optional("allocated_objects", "objects allocated"),
    optional("allocated_bytes", "bytes allocated"),
    optional("freed_objects", "objects freed"),
    optional("freed_bytes", "bytes freed"),
    optional("live_tables", "tables of live objects"),
    optional("live_table_ns", "the last one at"),
    optional("blocked", "waits for monitors"),
    optional("blocked_ns", "time in them"),
    optional("thrown", "exceptions thrown"),
    optional("caught", "exceptions caught"),
    optional("caught_by_all", "of them in finally"),
    optional("bytecode_bytes", "bytes of bytecode"),
    optional("compiled", "compilations"),
    optional("compiled_bytes", "bytes compiled"),
    optional("classes_unloaded", "classes unloaded"),
    optional("classes_redefined", "classes redefined"),
    optional("classes_initialised", "classes initialised"),
    optional("initialisations_failed", "of them failed"),
    optional("samples", "samples"),
    optional("heap_dumps", "heap dumps"),
];

const ORIGIN: &[Column] = &[column("key", "what"), column("value", "value")];

const THREADS: &[Column] = &[
    column("thread", "id"),
    column("name", "thread"),
    column("group", "group"),
    column("start_ns", "start"),
    column("end_ns", "end"),
    column("calls", "calls"),
    column("busy_ns", "in calls"),
    optional("os_id", "system's id"),
    optional("cpu_ns", "CPU"),
    optional("mounts", "mounts"),
    optional("mounted_ns", "mounted"),
    optional("renames", "renames"),
    optional("first_name", "first name"),
];

const UNINSTRUMENTED: &[Column] = &[
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

const BURSTS: &[Column] = &[
    column("at_ns", "at"),
    column("trigger", "burst"),
    column("thread", "id"),
    column("name", "thread"),
];

const DEMOTED: &[Column] = &[
    column("at_ns", "since"),
    column("method", "method"),
    column("rate", "called more often a second than"),
];

const WAITS_UNRECORDED: &str = "not recorded, part of self times (--events +monitors+parks)";

impl Report<'_> {
    pub(super) fn trace(&self) -> Content {
        let a = &*self.analysis;
        let (first, last) = a.span.unwrap_or_default();
        let row = vec![
            Cell::Text(self.format.to_owned()),
            Cell::Time(first.0),
            Cell::Time(last.since(first).0),
            Cell::Count(a.names.threads.len() as u64),
            Cell::Count(a.names.class_count() as u64),
            Cell::Count(a.calls.method_count() as u64),
            Cell::Count(a.calls.count()),
            Cell::Count(a.calls.open),
            Cell::Count(a.collections.count),
            Cell::Time(a.collections.total.0),
            Cell::Count(a.lost_events()),
            Cell::Count(a.uninstrumented_methods()),
            Cell::Count(a.calls.unmatched),
            Cell::Count(a.calls.cut),
            some(a.short_calls.map_or(0, |_| a.calls.summed())),
            some_time(a.short_calls.unwrap_or_default().min.0),
            some(a.short_calls.unwrap_or_default().rate),
            some_time(a.cost_of_calls()),
            some_time(a.clock.unwrap_or_default().tick.0),
            some_time(a.clock.unwrap_or_default().longest.0),
            some(a.names.method_count() as u64),
            some(a.collections.resizes),
            some_bytes(a.collections.largest_heap),
            a.process_cpu.map_or(Cell::None, |cpu| Cell::Time(cpu.0)),
            some(a.pauses.count),
            some_time(a.pauses.total),
            some(a.allocations.all.objects),
            some_bytes(a.allocations.all.bytes),
            some(a.objects.freed.objects),
            some_bytes(a.objects.freed.bytes),
            some(a.live.tables),
            if a.live.tables > 0 {
                self.since_start(a.live.last)
            } else {
                Cell::None
            },
            self.blocked(),
            some_time(a.monitors.blocked.total),
            some(a.exceptions.thrown),
            some(a.exceptions.caught),
            some(a.exceptions.taken_by_all),
            some_bytes(a.code.bytecode),
            some(a.code.compiled),
            some_bytes(a.code.bytes),
            some(a.classes.unloaded),
            some(a.classes.redefined),
            some(a.initialisations.count),
            some(a.initialisations.failed),
            some(a.samples.count),
            some(a.heap.dumps.len() as u64),
        ];
        Content {
            columns: TRACE,
            rows: vec![row],
            more: 0,
        }
    }

    /// Returns the number of waits for monitors. A table warns if they were not recorded, because
    /// the self time of a method that waits looks like work.
    fn blocked(&self) -> Cell {
        let is_table = self.args.format == Style::Table;
        match self.analysis.origin.records("monitors") {
            Some(false) if is_table && self.analysis.calls.count() > 0 => {
                Cell::Text(WAITS_UNRECORDED.to_owned())
            }
            _ => some(self.analysis.monitors.blocked.count),
        }
    }

    pub(super) fn origin(&self) -> Content {
        let origin = &self.analysis.origin;
        let mut content = self.table(Table::Origin, ORIGIN, &origin.facts, |(key, value)| {
            vec![Cell::Text((*key).to_owned()), Cell::Text(value.clone())]
        });
        content.more += origin.more as usize;
        content
    }

    pub(super) fn threads(&self) -> Content {
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
        rows.sort_by_key(|(id, _, (calls, busy))| (Reverse((*busy, *calls)), *id));
        self.table(
            Table::Threads,
            THREADS,
            rows,
            |(id, thread, (calls, busy))| {
                let stat = self.analysis.threads.all.get(&id);
                let stat = stat.copied().unwrap_or_default();
                vec![
                    Cell::Count(id.0),
                    Cell::Text(thread.name.clone()),
                    Cell::Text(thread.group.clone()),
                    self.since_start(thread.start),
                    thread.end.map_or(Cell::None, |end| self.since_start(end)),
                    Cell::Count(calls),
                    Cell::Time(busy),
                    stat.os_id.map_or(Cell::None, Cell::Count),
                    stat.cpu.map_or(Cell::None, |cpu| Cell::Time(cpu.0)),
                    some(stat.mounts),
                    some_time(stat.mounted),
                    some(thread.renames),
                    some_text(thread.first_name.as_deref().unwrap_or_default()),
                ]
            },
        )
    }

    pub(super) fn uninstrumented(&self) -> Content {
        let uninstrumented = &self.analysis.uninstrumented;
        let mut content = self.table(Table::Uninstrumented, UNINSTRUMENTED, uninstrumented, |u| {
            vec![
                Cell::Text(u.class.to_string()),
                Cell::Text(u.method.to_string()),
                Cell::Text(u.reason.to_string()),
            ]
        });
        content.more += self.analysis.more_uninstrumented as usize;
        content
    }

    pub(super) fn bursts(&self) -> Content {
        let bursts = &self.analysis.bursts;
        let mut content = self.table(Table::Bursts, BURSTS, bursts, |burst| {
            let thread = self.analysis.names.threads.get(&burst.thread);
            vec![
                self.since_start(burst.time),
                Cell::Text(burst.trigger.to_string()),
                some(burst.thread.0),
                thread.map_or(Cell::None, |t| Cell::Text(t.name.clone())),
            ]
        });
        content.more += self.analysis.more_bursts as usize;
        content
    }

    pub(super) fn demoted(&self) -> Content {
        let mut content = self.table(Table::Demoted, DEMOTED, &self.analysis.demoted, |e| {
            vec![
                self.since_start(e.time),
                self.method(e.method),
                Cell::Count(e.rate),
            ]
        });
        content.more += self.analysis.more_demoted as usize;
        content
    }

    pub(super) fn lost(&self) -> Content {
        let mut content = self.table(Table::Lost, LOST, &self.analysis.lost, |l| {
            let thread = self.analysis.names.threads.get(&l.thread);
            vec![
                Cell::Count(l.thread.0),
                thread.map_or(Cell::None, |t| Cell::Text(t.name.clone())),
                Cell::Count(l.events),
                self.since_start(l.from),
                self.since_start(l.to),
                Cell::Text(l.reason.to_string()),
            ]
        });
        content.more += self.analysis.more_lost as usize;
        content
    }
}
