//! What the counters tell of a collection, at the moment when the JVM says that it is over.
//!
//! Found out by experiment on 11, 17, 21 and 25, and against the JVM's own log (`-Xlog:gc`):
//!
//! | Collector | `sun.gc.cause` in the pause | its own counter moves | sizes at the finish |
//! |---|---|---|---|
//! | Serial, Parallel | 11: `No GC`, but `lastCause` is right at the finish; newer: right | within the pause | right |
//! | G1, young and full | right | within the pause | right (11: young regions count as full) |
//! | G1, remark and cleanup | `No GC`; `lastCause` is that of some other collection | before the start | the heap's is right, what is in use is old |
//! | ZGC (11: no counter) | right | within the pause | right |
//! | Shenandoah | right | any time, and by more than one | old |
//!
//! Sizes that are old by then are read from the collector itself ([`super::sizes`]). What else is
//! not right is not told.
//!
//! Of the collections that Serial and Parallel make for a histogram of classes or a heap dump, a
//! JVM before 25 tells agents nothing. Their counters move all the same, so [`GcCounters::unreported`]
//! finds them.

use super::sizes::HeapFields;
use super::{Long, PerfData, Text};

/// What the JVM says when no collection is on.
const NO_CAUSE: &str = "No GC";

/// A heap is a number of whole pages; G1 adds a few bytes to its figures, so that nobody divides by
/// zero.
const PAGE: u64 = 4096;

/// Counters of collections.
pub struct GcCounters {
    cause: Option<Text>,
    last_cause: Option<Text>,
    collectors: Vec<Collector>,
    /// Of each space.
    used: Vec<Long>,
    /// Of each generation.
    capacity: Vec<Long>,
    /// Where sizes are when these are old.
    fields: Option<HeapFields>,
    /// A collection's start was told.
    started: bool,
}

struct Collector {
    name: String,
    kind: CollectorKind,
    invocations: Long,
    /// When the last collection finished.
    at_finish: i64,
    /// When this one started.
    at_start: i64,
}

impl Collector {
    /// By how much its counter moved since the last finish.
    fn moved(&self) -> i64 {
        self.invocations.get().wrapping_sub(self.at_finish)
    }
}

/// What a collector collects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Generation {
    /// The JVM does not tell.
    Unknown,
    /// Young objects.
    Young,
    /// All of the heap.
    Full,
    /// All of the heap, or the old generation, while the program runs.
    Concurrent,
}

/// What is known of a collector by its name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct CollectorKind {
    generation: Generation,
    /// The counters of sizes are right when one of its collections finishes.
    reports_sizes: bool,
    /// The JVM makes some of its collections without a word. Its counter moves in pauses only.
    may_be_silent: bool,
}

/// A collection that is over; texts are empty, and sizes 0, where the JVM does not tell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Collection {
    /// The JVM's name of the collector.
    pub collector: String,
    /// Why it collected.
    pub cause: String,
    /// What it collected.
    pub generation: Generation,
    /// Bytes of the heap.
    pub heap: u64,
    /// Bytes in use.
    pub used: u64,
}

/// Collections that the JVM said nothing of.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnreportedCollections {
    /// How many.
    pub count: u64,
    /// The last of them.
    pub last: Collection,
}

impl Collection {
    /// Whether there is more to say than sizes.
    pub fn has_detail(&self) -> bool {
        !self.collector.is_empty() || !self.cause.is_empty()
    }
}

/// By the names that HotSpot's collectors have in their counters.
fn kind_of(name: &str) -> CollectorKind {
    let (generation, reports_sizes) = match name {
        "Copy" | "PSScavenge" | "PCopy" | "G1 incremental collections" => (Generation::Young, true),
        "MSC"
        | "PSParallelCompact"
        | "PSMarkSweep"
        | "CMS"
        | "G1 stop-the-world full collections" => (Generation::Full, true),
        "G1 stop-the-world phases" | "CMS stop-the-world phases" | "G1 concurrent cycle pauses" => {
            (Generation::Concurrent, false)
        }
        "Z concurrent cycle pauses"
        | "ZGC minor collection pauses"
        | "ZGC major collection pauses" => (Generation::Concurrent, true),
        _ if name.ends_with(" young collection pauses") => (Generation::Young, true),
        _ if name.ends_with(" full collection pauses") => (Generation::Full, true),
        _ => (Generation::Unknown, false),
    };
    CollectorKind {
        generation,
        reports_sizes,
        may_be_silent: matches!(name, "Copy" | "MSC")
            || ["PS", "Serial ", "Parallel "]
                .iter()
                .any(|begin| name.starts_with(begin)),
    }
}

/// How the collector is called in a trace: Shenandoah counts all that it does as "full".
fn shown(name: &str) -> &str {
    match name.starts_with("Shenandoah") {
        true => "Shenandoah",
        false => name,
    }
}

impl GcCounters {
    /// Those of the running JVM; `None` if it has none.
    pub fn find() -> Option<Self> {
        let data = PerfData::find()?;
        let longs = |begin, end| -> Vec<Long> {
            data.names(begin, end)
                .filter_map(|n| data.long(n))
                .collect()
        };
        let collector = |name: &str| {
            let of = name.strip_suffix("invocations")?;
            let name = data.text(&format!("{of}name"))?.get();
            let invocations = data.long(&format!("{of}invocations"))?;
            Some(Collector {
                kind: kind_of(&name),
                name,
                at_finish: invocations.get(),
                at_start: invocations.get(),
                invocations,
            })
        };
        let capacity = data
            .names("sun.gc.generation.", ".capacity")
            .filter(|name| !name.contains(".space."))
            .filter_map(|name| data.long(name))
            .collect();
        let collectors: Vec<Collector> = data
            .names("sun.gc.collector.", ".invocations")
            .filter_map(collector)
            .collect();
        Some(Self {
            cause: data.text("sun.gc.cause"),
            last_cause: data.text("sun.gc.lastCause"),
            fields: collectors.first().and_then(|c| HeapFields::find(&c.name)),
            collectors,
            used: longs("sun.gc.generation.", ".used"),
            capacity,
            started: false,
        })
    }

    /// Whether [`Self::unreported`] may ever find anything.
    pub fn may_be_silent(&self) -> bool {
        self.collectors.iter().any(|c| c.kind.may_be_silent)
    }

    /// Collections are told from now on.
    pub fn begin(&mut self) {
        if !self.started {
            self.settle();
        }
    }

    /// All that was is told.
    fn settle(&mut self) {
        for collector in &mut self.collectors {
            collector.at_finish = collector.invocations.get();
        }
    }

    /// A collection starts.
    pub fn start(&mut self) {
        for collector in &mut self.collectors {
            collector.at_start = collector.invocations.get();
        }
        self.started = true;
    }

    /// Collections since the last finish of which the JVM said nothing, each of them once. Nobody
    /// knows how large the heap was behind them.
    pub fn unreported(&mut self) -> Option<UnreportedCollections> {
        if self.started {
            return None;
        }
        let silent = self.collectors.iter().filter(|c| c.kind.may_be_silent);
        let count = silent
            .map(Collector::moved)
            .max()
            .filter(|count| *count > 0)?;
        let (_, last) = self.last(|_| true);
        self.settle();
        Some(UnreportedCollections {
            count: count.unsigned_abs(),
            last,
        })
    }

    /// It finishes. `None` if its start was not told.
    pub fn finish(&mut self) -> Option<Collection> {
        let (kind, mut collection) = self.last(|c| c.invocations.get() != c.at_start);
        let (heap, used) = self.sizes(kind);
        collection.heap = heap & !(PAGE - 1);
        collection.used = used;
        self.settle();
        std::mem::take(&mut self.started).then_some(collection)
    }

    /// What moved a counter since the last finish, without sizes.
    ///
    /// A concurrent collector counts before the start of its pauses. When the young objects are
    /// collected first, and then all, that is one collection of all.
    fn last(&self, moved_in_pause: impl Fn(&Collector) -> bool) -> (CollectorKind, Collection) {
        let moved = self.collectors.iter().filter(|c| c.moved() != 0);
        // The first of the highest rank.
        let ours = moved.rev().max_by_key(|c| rank(c.kind));
        let kind = ours.map_or(kind_of(""), |c| c.kind);
        let text = |text: &Option<Text>| {
            let text = text.as_ref().map(Text::get).unwrap_or_default();
            match text == NO_CAUSE {
                true => String::new(),
                false => text,
            }
        };
        let stops_program = matches!(kind.generation, Generation::Young | Generation::Full);
        let mut cause = text(&self.cause);
        // It was set and taken back within the pause.
        if cause.is_empty() && stops_program && ours.is_some_and(moved_in_pause) {
            cause = text(&self.last_cause);
        }
        let collection = Collection {
            collector: ours.map_or("", |c| shown(&c.name)).to_owned(),
            cause,
            generation: kind.generation,
            heap: 0,
            used: 0,
        };
        (kind, collection)
    }

    /// Bytes of the heap and bytes in use, when a collection of that kind finishes; 0 where the JVM
    /// does not tell.
    fn sizes(&self, kind: CollectorKind) -> (u64, u64) {
        let sum = |counters: &[Long]| counters.iter().map(|c| c.get().max(0) as u64).sum();
        let is_zgc_11 = self.collectors.is_empty();
        if kind.reports_sizes || is_zgc_11 {
            return (sum(&self.capacity), sum(&self.used));
        }
        self.fields.as_ref().map_or((0, 0), |fields| {
            let (heap, used) = fields.get();
            (heap.unwrap_or_else(|| sum(&self.capacity)), used)
        })
    }
}

/// Which of two that moved is the collection.
fn rank(kind: CollectorKind) -> u8 {
    match kind.generation {
        Generation::Full => 3,
        Generation::Young => 2,
        Generation::Concurrent => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicI64, AtomicU8, Ordering};

    fn text(text: &str) -> &'static [AtomicU8] {
        let bytes = text.bytes().chain([0; 32]).map(AtomicU8::new);
        Vec::leak(bytes.collect())
    }

    fn set(place: &[AtomicU8], text: &str) {
        for (place, byte) in place.iter().zip(text.bytes().chain([0])) {
            place.store(byte, Ordering::Relaxed);
        }
    }

    struct Jvm {
        cause: &'static [AtomicU8],
        last: &'static [AtomicU8],
        counts: Vec<&'static AtomicI64>,
        counters: GcCounters,
    }

    fn jvm(collectors: &[&str]) -> Jvm {
        let (cause, last) = (text(NO_CAUSE), text("Metadata GC Threshold"));
        let long = |value| -> &'static AtomicI64 { Box::leak(Box::new(AtomicI64::new(value))) };
        let counts: Vec<_> = collectors.iter().map(|_| long(0)).collect();
        let collectors = collectors
            .iter()
            .zip(&counts)
            .map(|(name, count)| Collector {
                name: (*name).to_owned(),
                kind: kind_of(name),
                invocations: Long(count),
                at_finish: 0,
                at_start: 0,
            });
        Jvm {
            cause,
            last,
            counters: GcCounters {
                cause: Some(Text(cause)),
                last_cause: Some(Text(last)),
                collectors: collectors.collect(),
                used: vec![Long(long(100)), Long(long(11))],
                capacity: vec![Long(long(8192)), Long(long(32))],
                fields: None,
                started: false,
            },
            counts,
        }
    }

    fn reported(jvm: &mut Jvm) -> (String, String, Generation, u64, u64) {
        let c = jvm.counters.finish().expect("started");
        (c.collector, c.cause, c.generation, c.heap, c.used)
    }

    #[test]
    fn a_cause_that_was_set_and_taken_back_is_found() {
        let mut jvm = jvm(&["Copy", "MSC"]);
        jvm.counters.start();
        jvm.counts[0].fetch_add(1, Ordering::Relaxed);
        set(jvm.last, "Allocation Failure");
        let expected = (
            "Copy".into(),
            "Allocation Failure".into(),
            Generation::Young,
            8192,
            111,
        );
        assert_eq!(reported(&mut jvm), expected);
        assert_eq!(jvm.counters.finish(), None);
    }

    #[test]
    fn both_at_once_is_a_full_collection() {
        let mut jvm = jvm(&["PSScavenge", "PSParallelCompact"]);
        jvm.counters.start();
        jvm.counts
            .iter()
            .for_each(|count| _ = count.fetch_add(1, Ordering::Relaxed));
        set(jvm.cause, "System.gc()");
        let reported = reported(&mut jvm);
        assert_eq!(
            (reported.1.as_str(), reported.2),
            ("System.gc()", Generation::Full)
        );
    }

    #[test]
    fn what_the_jvm_says_nothing_of_is_found_once() {
        let mut jvm = jvm(&["Copy", "MSC"]);
        assert!(jvm.counters.may_be_silent());
        assert_eq!(jvm.counters.unreported(), None);
        for _ in 0..2 {
            jvm.counts[1].fetch_add(1, Ordering::Relaxed);
        }
        set(jvm.last, "Heap Inspection Initiated GC");
        let found = jvm.counters.unreported().expect("two");
        let last = Collection {
            collector: "MSC".into(),
            cause: "Heap Inspection Initiated GC".into(),
            generation: Generation::Full,
            heap: 0,
            used: 0,
        };
        assert_eq!(found, UnreportedCollections { count: 2, last });
        assert_eq!(jvm.counters.unreported(), None);
        // One that the JVM tells of, also in the middle of it.
        jvm.counters.start();
        jvm.counts[0].fetch_add(1, Ordering::Relaxed);
        assert_eq!(jvm.counters.unreported(), None);
        reported(&mut jvm);
        assert_eq!(jvm.counters.unreported(), None);
        // One while nothing was told.
        jvm.counts[0].fetch_add(1, Ordering::Relaxed);
        jvm.counters.begin();
        assert_eq!(jvm.counters.unreported(), None);
    }

    #[test]
    fn collectors_that_report_all_are_not_polled() {
        let mut jvm = jvm(&["G1 young collection pauses", "Z concurrent cycle pauses"]);
        for count in &jvm.counts {
            count.fetch_add(1, Ordering::Relaxed);
        }
        assert_eq!(jvm.counters.unreported(), None);
        assert!(!jvm.counters.may_be_silent());
    }

    #[test]
    fn what_is_old_is_not_reported() {
        let mut jvm = jvm(&["G1 young collection pauses", "G1 concurrent cycle pauses"]);
        jvm.counts[1].fetch_add(1, Ordering::Relaxed);
        jvm.counters.start();
        let name = "G1 concurrent cycle pauses".to_owned();
        assert_eq!(
            reported(&mut jvm),
            (name, String::new(), Generation::Concurrent, 0, 0)
        );
        // Nothing moved at all.
        jvm.counters.start();
        let nothing = (String::new(), String::new(), Generation::Unknown, 0, 0);
        assert_eq!(reported(&mut jvm), nothing);
    }
}
