//! Tables of waits and exceptions.

use super::tables::Table;
use super::{Content, Report, column, object_id, optional, some, thread_id};
use crate::output::{Cell, Column};
use jtrail_analysis::{Site, Spans, Timed, WaitStat};
use jtrail_model::ClassId;
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

const MONITORS: &[Column] = &[
    column("start_ns", "start"),
    column("blocked_ns", "blocked"),
    optional("open", "to the end"),
    column("thread", "id"),
    column("name", "thread"),
    column("owner", "held by id"),
    column("owner_name", "held by"),
    optional("object", "object"),
    column("class", "class"),
    column("site", "blocked in"),
];

const MONITOR_OBJECTS: &[Column] = &[
    column("waits", "waits"),
    column("total_ns", "blocked"),
    column("longest_ns", "longest"),
    optional("object", "object"),
    column("class", "class"),
];

const MONITOR_CLASSES: &[Column] = &[
    column("waits", "waits"),
    column("total_ns", "blocked"),
    column("longest_ns", "longest"),
    column("class", "class"),
];

const MONITOR_SITES: &[Column] = &[
    column("waits", "waits"),
    column("total_ns", "blocked"),
    column("longest_ns", "longest"),
    column("site", "blocked in"),
];

const WAITS: &[Column] = &[
    column("waits", "waits"),
    column("timed_out", "timed out"),
    optional("open", "to the end"),
    column("total_ns", "waited"),
    column("longest_ns", "longest"),
    column("class", "class"),
    column("site", "waited in"),
];

const PARKS: &[Column] = &[
    column("parks", "parks"),
    optional("open", "to the end"),
    column("total_ns", "parked"),
    column("longest_ns", "longest"),
    column("class", "blocker"),
    column("site", "parked in"),
];

const EXCEPTIONS: &[Column] = &[
    column("thrown", "thrown"),
    column("uncaught", "never caught"),
    column("class", "class"),
    column("site", "thrown in"),
];

const CATCHES: &[Column] = &[
    column("caught", "caught"),
    column("class", "class"),
    column("site", "caught in"),
];

const UNCAUGHT: &[Column] = &[
    column("time_ns", "time"),
    column("thread", "id"),
    column("name", "thread"),
    optional("object", "object"),
    column("class", "class"),
    column("site", "thrown in"),
];

impl Report<'_> {
    pub(super) fn monitors(&mut self) -> Content {
        let blocks = self.analysis.monitors.blocks.sorted().to_vec();
        let blocked = self.analysis.monitors.blocked.count;
        let kept = blocks.len() as u64;
        let mut content = self.table(Table::Monitors, MONITORS, blocks, |b| {
            vec![
                self.since_start(b.start()),
                Cell::Time(b.length()),
                some(u64::from(b.open)),
                thread_id(b.thread),
                self.thread(b.thread),
                thread_id(b.owner),
                self.thread(b.owner),
                object_id(b.object),
                self.class(b.class),
                self.site(b.site),
            ]
        });
        content.more += blocked.saturating_sub(kept) as usize;
        content
    }

    pub(super) fn monitor_objects(&self) -> Content {
        let known = &self.analysis.monitors.by_object;
        let mut objects: Vec<_> = known
            .iter()
            .map(|(id, (class, s))| (*id, *class, *s))
            .collect();
        objects.sort_by_key(|(id, _, spans)| (Reverse((spans.total, spans.count)), *id));
        let columns = MONITOR_OBJECTS;
        self.table(
            Table::MonitorObjects,
            columns,
            objects,
            |(id, class, spans)| {
                let [count, total, longest] = times(spans);
                vec![count, total, longest, object_id(id), self.class(class)]
            },
        )
    }

    pub(super) fn monitor_classes(&self) -> Content {
        let classes = longest(&self.analysis.monitors.by_class);
        let columns = MONITOR_CLASSES;
        self.table(Table::MonitorClasses, columns, classes, |(class, spans)| {
            let [count, total, longest] = times(spans);
            vec![count, total, longest, self.class(class)]
        })
    }

    pub(super) fn monitor_sites(&self) -> Content {
        let sites = longest(&self.analysis.monitors.by_site);
        let columns = MONITOR_SITES;
        self.table(Table::MonitorSites, columns, sites, |(site, spans)| {
            let [count, total, longest] = times(spans);
            vec![count, total, longest, self.site(site)]
        })
    }

    pub(super) fn waits(&self) -> Content {
        let waits = by_total(&self.analysis.monitors.waits);
        self.table(Table::Waits, WAITS, waits, |((site, class), stat)| {
            let [count, total, longest] = times(stat.spans);
            vec![
                count,
                Cell::Count(stat.timed_out),
                some(stat.open),
                total,
                longest,
                self.class(class),
                self.site(site),
            ]
        })
    }

    pub(super) fn parks(&self) -> Content {
        let parks = by_total(&self.analysis.monitors.parks);
        self.table(Table::Parks, PARKS, parks, |((site, class), stat)| {
            let [count, total, longest] = times(stat.spans);
            let open = some(stat.open);
            let (class, site) = (self.class(class), self.site(site));
            vec![count, open, total, longest, class, site]
        })
    }

    pub(super) fn exceptions(&self) -> Content {
        let mut throws: Vec<_> = self.analysis.exceptions.throws.iter().collect();
        throws.sort_by_key(|(place, t)| (Reverse((t.thrown, t.uncaught)), **place));
        let columns = EXCEPTIONS;
        self.table(Table::Exceptions, columns, throws, |((class, site), t)| {
            vec![
                Cell::Count(t.thrown),
                Cell::Count(t.uncaught),
                self.class(*class),
                self.site(*site),
            ]
        })
    }

    pub(super) fn catches(&self) -> Content {
        let mut catches: Vec<_> = self.analysis.exceptions.catches.iter().collect();
        catches.sort_by_key(|(place, caught)| (Reverse(**caught), **place));
        let columns = CATCHES;
        self.table(Table::Catches, columns, catches, |((class, site), n)| {
            vec![Cell::Count(*n), self.class(*class), self.site(*site)]
        })
    }

    pub(super) fn uncaught(&self) -> Content {
        let mut uncaught = self.analysis.exceptions.uncaught.clone();
        uncaught.sort_by_key(|t| (t.time, t.thread));
        let mut content = self.table(Table::Uncaught, UNCAUGHT, uncaught, |t| {
            vec![
                self.since_start(t.time),
                thread_id(t.thread),
                self.thread(t.thread),
                object_id(t.object),
                self.class(t.class),
                self.site(t.site),
            ]
        });
        content.more += self.analysis.exceptions.more_uncaught as usize;
        content
    }
}

fn times(spans: Spans) -> [Cell; 3] {
    [
        Cell::Count(spans.count),
        Cell::Time(spans.total),
        Cell::Time(spans.longest),
    ]
}

/// Returns the entries, longest total time first.
fn longest<K: Ord + Copy>(all: &FxHashMap<K, Spans>) -> Vec<(K, Spans)> {
    let mut all: Vec<_> = all.iter().map(|(key, spans)| (*key, *spans)).collect();
    all.sort_by_key(|(key, spans)| (Reverse((spans.total, spans.count)), *key));
    all
}

type WaitSite = (Site, ClassId);

fn by_total(all: &FxHashMap<WaitSite, WaitStat>) -> Vec<(WaitSite, WaitStat)> {
    let mut all: Vec<_> = all.iter().map(|(place, stat)| (*place, *stat)).collect();
    all.sort_by_key(|(place, stat)| (Reverse((stat.spans.total, stat.spans.count)), *place));
    all
}
