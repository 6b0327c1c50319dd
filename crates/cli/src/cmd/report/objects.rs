//! Tables of objects: allocations, live objects, collections.

use super::tables::Table;
use super::{Content, Report, column, optional, share, share_of_count, some_text, thread_id};
use crate::output::{Cell, Column};
use jtrail_analysis::{Amount, Bucket};
use jtrail_model::{ClassId, Generation, ThreadId};
use std::cmp::Reverse;

const BY_CLASS: &[Column] = &[
    column("objects", "objects"),
    column("bytes", "bytes"),
    column("bytes_share", "bytes %"),
    column("class", "class"),
];

const BY_SITE: &[Column] = &[
    column("objects", "objects"),
    column("bytes", "bytes"),
    column("bytes_share", "bytes %"),
    column("class", "class"),
    column("site", "allocated in"),
];

const BY_THREAD: &[Column] = &[
    column("objects", "objects"),
    column("bytes", "bytes"),
    column("bytes_share", "bytes %"),
    column("thread", "id"),
    column("name", "thread"),
];

const LIVE_COUNTS: &[Column] = &[
    column("live", "alive"),
    column("peak", "most at once"),
    column("thread", "id"),
    column("name", "allocated by"),
    column("class", "class"),
];

const GC: &[Column] = &[
    column("start_ns", "start"),
    column("pause_ns", "pause"),
    column("used_bytes", "used after"),
    optional("generation", "generation"),
    optional("collector", "collector"),
    optional("cause", "cause"),
];

const GC_KINDS: &[Column] = &[
    column("collections", "collections"),
    column("total_ns", "paused"),
    column("longest_ns", "longest"),
    column("most_used_bytes", "most used after"),
    column("generation", "generation"),
    column("collector", "collector"),
    column("cause", "cause"),
];

const GC_LENGTHS: &[Column] = &[
    column("from_ns", "pauses from"),
    column("to_ns", "below"),
    column("collections", "collections"),
    column("collections_share", "of all %"),
    column("total_ns", "paused"),
];

/// Returns the amounts sorted by bytes, most first. Equal amounts are sorted by key.
fn sorted<K: Ord + Copy>(all: impl Iterator<Item = (K, Amount)>) -> Vec<(K, Amount)> {
    let mut all: Vec<_> = all.collect();
    all.sort_by_key(|(key, a)| (Reverse((a.bytes, a.objects)), *key));
    all
}

fn amount(amount: Amount, all: i64) -> [Cell; 3] {
    [
        Cell::Count(amount.objects),
        Cell::Bytes(amount.bytes),
        share(amount.bytes, all),
    ]
}

fn bytes<K>(all: &[(K, Amount)]) -> i64 {
    all.iter()
        .fold(0, |sum, (_, a)| sum.saturating_add(a.bytes))
}

impl Report<'_> {
    fn by_class(&self, table: Table, all: impl Iterator<Item = (ClassId, Amount)>) -> Content {
        let classes = sorted(all);
        let bytes = bytes(&classes);
        self.table(table, BY_CLASS, classes, |(class, a)| {
            let [objects, bytes, share] = amount(a, bytes);
            vec![objects, bytes, share, self.class(class)]
        })
    }

    fn by_thread(&self, table: Table, all: impl Iterator<Item = (ThreadId, Amount)>) -> Content {
        let threads = sorted(all);
        let bytes = bytes(&threads);
        self.table(table, BY_THREAD, threads, |(thread, a)| {
            let [objects, bytes, share] = amount(a, bytes);
            let id = thread_id(thread);
            vec![objects, bytes, share, id, self.thread(thread)]
        })
    }

    pub(super) fn allocations(&self) -> Content {
        let classes = self.analysis.allocations.classes.iter();
        self.by_class(Table::Allocations, classes.map(|(c, a)| (*c, *a)))
    }

    pub(super) fn allocation_sites(&self) -> Content {
        let allocations = &self.analysis.allocations;
        let sites = sorted(allocations.sites.iter().map(|(s, a)| (*s, *a)));
        let all = allocations.all.bytes;
        self.table(Table::AllocationSites, BY_SITE, sites, |(site, a)| {
            let [objects, bytes, share] = amount(a, all);
            let class = self.class(site.class);
            let line = self.line(site.method, site.line);
            vec![objects, bytes, share, class, line]
        })
    }

    pub(super) fn allocation_threads(&self) -> Content {
        let threads = self.analysis.allocations.threads.iter();
        self.by_thread(Table::AllocationThreads, threads.map(|(t, a)| (*t, *a)))
    }

    /// Returns true if tables of live objects are meaningful.
    ///
    /// If a trace contains no frees, all objects count as live. An overview does not show such
    /// tables.
    fn has_frees(&self) -> bool {
        self.analysis.objects.freed.objects > 0 || !self.args.overview()
    }

    pub(super) fn live(&self) -> Content {
        let live = self.analysis.objects.live_by_class();
        let shown = self.has_frees();
        self.by_class(Table::Live, live.filter(|_| shown))
    }

    pub(super) fn live_threads(&self) -> Content {
        let live = self.analysis.objects.live_by_thread();
        let shown = self.has_frees();
        self.by_thread(Table::LiveThreads, live.filter(|_| shown))
    }

    pub(super) fn live_counts(&self) -> Content {
        let reported = &self.analysis.live.counts;
        let reported = reported.iter().map(|(key, count)| (*key, *count));
        // An overview shows only the sums of these counts.
        let shown = !self.args.overview();
        let counted = self.analysis.objects.live_counts().filter(|_| shown);
        let mut counts: Vec<_> = reported.chain(counted).collect();
        counts.sort_by_key(|(key, count)| (Reverse((count.live, count.peak)), *key));
        let columns = LIVE_COUNTS;
        self.table(
            Table::LiveCounts,
            columns,
            counts,
            |((class, thread), c)| {
                vec![
                    Cell::Count(c.live),
                    Cell::Count(c.peak),
                    thread_id(thread),
                    self.thread(thread),
                    self.class(class),
                ]
            },
        )
    }

    pub(super) fn live_after_gc(&self) -> Content {
        self.by_class(Table::LiveAfterGc, self.analysis.live.table.iter().copied())
    }

    pub(super) fn collections(&mut self) -> Content {
        let pauses = self.analysis.collections.longest().to_vec();
        self.table(Table::Gc, GC, pauses, |pause| {
            let (collector, cause) = self.analysis.collections.kind(&pause);
            vec![
                self.since_start(pause.start),
                Cell::Time(pause.length.0),
                Cell::Bytes(pause.used),
                some_text(generation(pause.generation)),
                some_text(collector),
                some_text(cause),
            ]
        })
    }

    pub(super) fn collection_kinds(&self) -> Content {
        let mut kinds: Vec<_> = self.analysis.collections.stats().collect();
        // If generation, collector and cause are all unknown, the only row would repeat sums of the
        // table `trace`.
        let reported = |(g, collector, cause, _): &(Generation, &str, &str, _)| {
            *g != Generation::Unknown || !collector.is_empty() || !cause.is_empty()
        };
        if self.args.overview() && !kinds.iter().any(reported) {
            kinds.clear();
        }
        kinds.sort_by_key(|(g, collector, cause, stat)| {
            (
                Reverse(stat.spans.total),
                generation(*g),
                *collector,
                *cause,
            )
        });
        let columns = GC_KINDS;
        self.table(
            Table::GcKinds,
            columns,
            kinds,
            |(g, collector, cause, stat)| {
                vec![
                    Cell::Count(stat.spans.count),
                    Cell::Time(stat.spans.total),
                    Cell::Time(stat.spans.longest),
                    Cell::Bytes(stat.most_used),
                    some_text(generation(g)),
                    some_text(collector),
                    some_text(cause),
                ]
            },
        )
    }

    /// Returns the histogram of pauses, in the order of lengths. All rows are shown, because there
    /// are few.
    pub(super) fn collection_lengths(&self) -> Content {
        let collections = &self.analysis.collections;
        let row = |b: &Bucket| {
            vec![
                Cell::Time(b.from),
                Cell::Time(b.to),
                Cell::Count(b.spans.count),
                share_of_count(b.spans.count, collections.count),
                Cell::Time(b.spans.total),
            ]
        };
        Content {
            columns: GC_LENGTHS,
            rows: collections.lengths().iter().map(row).collect(),
            more: 0,
        }
    }
}

const fn generation(generation: Generation) -> &'static str {
    match generation {
        Generation::Unknown => "",
        Generation::Young => "young",
        Generation::Full => "full",
        Generation::Concurrent => "concurrent",
    }
}
