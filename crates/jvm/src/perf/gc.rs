//! The details of a garbage collection, from the JVM's counters, at the moment when its
//! GarbageCollectionFinish event arrives.
//!
//! The table was found by experiment on JDK 11, 17, 21 and 25, and compared with `-Xlog:gc`.
//! "Right" means that the value is correct, "11:" that an entry is for JDK 11:
//!
//! | Collector | `sun.gc.cause` in the pause | the collector's own counter moves | sizes at the finish event |
//! |---|---|---|---|
//! | Serial, Parallel | 11: `No GC`, but `lastCause` is right at the finish event; newer: right | within the pause | right |
//! | G1, young and full | right | within the pause | right (11: young regions count as full) |
//! | G1, remark and cleanup | `No GC`; `lastCause` is that of another collection | before the start event | heap size right, used size stale |
//! | ZGC (11: no counter) | right | within the pause | right |
//! | Shenandoah | right | any time, and by more than one | stale |
//!
//! Stale sizes are read from the collector's own variables instead ([`super::sizes`]). Other wrong
//! values are not reported.
//!
//! JVMs before 25 send no events for the collections that Serial and Parallel make for a class
//! histogram or a heap dump. The counters move nevertheless, so [`GcCounters::unreported`] finds
//! these collections.

use super::sizes::HeapFields;
use super::{Long, PerfData, Text};

/// The value of `sun.gc.cause` while no collection runs.
const NO_CAUSE: &str = "No GC";

/// Heap sizes are rounded down to multiples of the page size: G1 adds a few bytes to its counters,
/// to prevent a division by zero.
const PAGE: u64 = 4096;

/// The JVM's counters about garbage collections.
pub struct GcCounters {
    cause: Option<Text>,
    last_cause: Option<Text>,
    collectors: Vec<Collector>,
    /// Bytes in use, for each space.
    used: Vec<Long>,
    /// Capacity in bytes, for each generation.
    capacity: Vec<Long>,
    /// The collector's own variables, for when the size counters are stale.
    fields: Option<HeapFields>,
    /// True if the start event of a collection has arrived, but not its finish event.
    started: bool,
}

struct Collector {
    name: String,
    kind: CollectorKind,
    invocations: Long,
    /// The value of `invocations` when the last collection finished.
    at_finish: i64,
    /// The value of `invocations` when this collection started.
    at_start: i64,
}

impl Collector {
    /// Returns by how much the counter has moved since the last finish event.
    fn moved(&self) -> i64 {
        self.invocations.get().wrapping_sub(self.at_finish)
    }
}

/// What a collector collects.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Generation {
    /// Not known.
    Unknown,
    /// Young objects.
    Young,
    /// The whole heap.
    Full,
    /// The whole heap, or the old generation, concurrently with the program.
    Concurrent,
}

/// What the name of a collector implies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct CollectorKind {
    generation: Generation,
    /// True if the size counters are up to date at the collector's finish event.
    reports_sizes: bool,
    /// True if the JVM sends no events for some collections of this collector, and the collector's
    /// counter moves only in pauses.
    may_be_silent: bool,
}

/// A finished collection. Texts are empty, and sizes 0, where the JVM does not give them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Collection {
    /// The JVM's name for the collector.
    pub collector: String,
    /// The cause of the collection.
    pub cause: String,
    /// What was collected.
    pub generation: Generation,
    /// The size of the heap in bytes.
    pub heap: u64,
    /// The bytes in use.
    pub used: u64,
}

/// Collections for which the JVM sent no events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnreportedCollections {
    /// The number of these collections.
    pub count: u64,
    /// The last of these collections.
    pub last: Collection,
}

impl Collection {
    /// Returns true if the collector or the cause is known.
    pub fn has_detail(&self) -> bool {
        !self.collector.is_empty() || !self.cause.is_empty()
    }
}

/// Returns what is known about a collector, by its name in HotSpot's counters.
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

/// Returns a collector's name for traces. Shenandoah counts all its collections as "full".
fn shown(name: &str) -> &str {
    match name.starts_with("Shenandoah") {
        true => "Shenandoah",
        false => name,
    }
}

impl GcCounters {
    /// Finds the counters of the running JVM; `None` if it has none.
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

    /// Returns true if [`Self::unreported`] can ever return collections.
    pub fn may_be_silent(&self) -> bool {
        self.collectors.iter().any(|c| c.kind.may_be_silent)
    }

    /// Begins a trace: [`Self::unreported`] will not return earlier collections.
    pub fn begin(&mut self) {
        if !self.started {
            self.settle();
        }
    }

    /// Marks all collections so far as reported.
    fn settle(&mut self) {
        for collector in &mut self.collectors {
            collector.at_finish = collector.invocations.get();
        }
    }

    /// Handles the start event of a collection.
    pub fn start(&mut self) {
        for collector in &mut self.collectors {
            collector.at_start = collector.invocations.get();
        }
        self.started = true;
    }

    /// Returns the collections for which the JVM sent no events. They are counted from the last
    /// finish event on, and each is returned once. Their heap sizes are unknown.
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

    /// Handles the finish event of a collection. Returns `None` if its start event was missed.
    pub fn finish(&mut self) -> Option<Collection> {
        let (kind, mut collection) = self.last(|c| c.invocations.get() != c.at_start);
        let (heap, used) = self.sizes(kind);
        collection.heap = heap & !(PAGE - 1);
        collection.used = used;
        self.settle();
        std::mem::take(&mut self.started).then_some(collection)
    }

    /// Returns the collection that moved a counter since the last finish event, without sizes.
    ///
    /// A concurrent collector's counter moves before the start of its pauses. If both the young and
    /// the full collector's counters moved, it was one collection of the whole heap.
    fn last(&self, moved_in_pause: impl Fn(&Collector) -> bool) -> (CollectorKind, Collection) {
        let moved = self.collectors.iter().filter(|c| c.moved() != 0);
        // `max_by_key` returns the last of several maxima. After `rev`, that is the first
        // collector.
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
        // `sun.gc.cause` was set and reset within the pause.
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

    /// Returns the size of the heap and the bytes in use when a collection of this kind finishes; 0
    /// where the JVM does not give them.
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

/// Ranks the collectors whose counters moved: the highest one made the collection.
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
        // A collection with events, checked also between start and finish.
        jvm.counters.start();
        jvm.counts[0].fetch_add(1, Ordering::Relaxed);
        assert_eq!(jvm.counters.unreported(), None);
        reported(&mut jvm);
        assert_eq!(jvm.counters.unreported(), None);
        // A collection before the trace begins.
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
        // No counter moved at all.
        jvm.counters.start();
        let nothing = (String::new(), String::new(), Generation::Unknown, 0, 0);
        assert_eq!(reported(&mut jvm), nothing);
    }
}
