//! Garbage-collection pauses.

use super::spans::{Longest, Spans, Timed};
use crate::saved::by_key;
use jtrail_model::{Duration, Event, Generation, Timestamp};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// One pause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Pause {
    /// The start of the pause.
    pub start: Timestamp,
    /// The length of the pause.
    pub length: Duration,
    /// The bytes in use after the pause; 0 if the trace does not have it.
    pub used: i64,
    /// The part of the heap that was collected.
    pub generation: Generation,
    /// The number of the pair of collector and cause; see [`Collections::kind`].
    kind: u32,
}

impl Timed for Pause {
    fn start(&self) -> Timestamp {
        self.start
    }

    fn length(&self) -> i64 {
        self.length.0
    }
}

/// Sums over pauses of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct PauseStat {
    /// The lengths of the pauses.
    pub spans: Spans,
    /// The maximum number of bytes in use after a pause; 0 if the trace does not have it.
    pub most_used: i64,
}

/// All pauses of a trace.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Collections {
    /// The number of pauses.
    pub count: u64,
    /// The total length of all pauses.
    pub total: Duration,
    /// The number of changes of the heap size that the trace shows.
    pub resizes: u64,
    /// The maximum heap size in bytes; 0 if the trace does not have it.
    pub largest_heap: i64,
    /// The latest heap size in the trace.
    #[serde(skip)]
    heap: i64,
    /// Sums by generation, and by the number of collector and cause.
    #[serde(with = "by_key")]
    stats: FxHashMap<(Generation, u32), PauseStat>,
    /// The numbers of pairs of collector and cause. Number 0 is the first pair seen.
    #[serde(skip)]
    kinds: FxHashMap<(Box<str>, Box<str>), u32>,
    kind_names: Vec<(Box<str>, Box<str>)>,
    /// The number and total length of pauses, by [`bucket`].
    #[serde(with = "by_key")]
    lengths: FxHashMap<u32, Spans>,
    pauses: Longest<Pause>,
    #[serde(skip)]
    open: Option<Timestamp>,
    #[serde(skip)]
    detail: Option<(Generation, u32)>,
}

/// A range of lengths, and the pauses within it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bucket {
    /// The inclusive lower bound, in ns.
    pub from: i64,
    /// The exclusive upper bound, in ns.
    pub to: i64,
    /// The pauses in this range.
    pub spans: Spans,
}

/// Returns the lower bound of a bucket: 1, 2 or 5 times a power of ten. Bucket `n` reaches from
/// bound `n` to bound `n + 1`; everything below 1 µs is in bucket 0.
fn bound(n: u32) -> i64 {
    if n == 0 {
        return 0;
    }
    let step = [1_000, 2_000, 5_000][(n - 1) as usize % 3];
    10_i64
        .checked_pow((n - 1) / 3)
        .and_then(|p| p.checked_mul(step))
        .unwrap_or(i64::MAX)
}

/// Returns the bucket of a length.
fn bucket(ns: i64) -> u32 {
    (0..)
        .find(|n| ns < bound(n + 1) || bound(n + 1) == i64::MAX)
        .unwrap_or(0)
}

impl Collections {
    /// Processes starts, details and ends of collections. Ignores other events.
    pub fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::GcStart(e) => (self.open, self.detail) = (Some(e.time), None),
            Event::GcDetail(e) => {
                let kind = self.kind_number(&e.collector, &e.cause);
                self.detail = Some((e.generation, kind));
            }
            Event::GcFinish(e) => {
                if e.total_space > 0 {
                    self.resizes += u64::from(e.total_space != self.heap);
                    self.heap = e.total_space;
                    self.largest_heap = self.largest_heap.max(e.total_space);
                }
                let (generation, kind) = match self.detail.take() {
                    Some(detail) => detail,
                    None => (Generation::Unknown, self.kind_number("", "")),
                };
                // An end without a start belongs to a collection that was running when the trace
                // began.
                let Some(start) = self.open.take() else {
                    return;
                };
                let length = Duration(e.time.since(start).0.max(0));
                self.count += 1;
                self.total.0 = self.total.0.saturating_add(length.0);
                let stat = self.stats.entry((generation, kind)).or_default();
                stat.spans.add(length.0);
                stat.most_used = stat.most_used.max(e.used_space);
                self.lengths
                    .entry(bucket(length.0))
                    .or_default()
                    .add(length.0);
                self.pauses.add(Pause {
                    start,
                    length,
                    used: e.used_space,
                    generation,
                    kind,
                });
            }
            _ => {}
        }
    }

    fn kind_number(&mut self, collector: &str, cause: &str) -> u32 {
        let key = (collector.into(), cause.into());
        let next = self.kind_names.len() as u32;
        let number = *self.kinds.entry(key).or_insert(next);
        if number == next {
            self.kind_names.push((collector.into(), cause.into()));
        }
        number
    }

    /// Returns the collector and cause of a pause; empty if the trace does not have them.
    pub fn kind(&self, pause: &Pause) -> (&str, &str) {
        self.kind_name(pause.kind)
    }

    fn kind_name(&self, kind: u32) -> (&str, &str) {
        self.kind_names
            .get(kind as usize)
            .map_or(("", ""), |(collector, cause)| (collector, cause))
    }

    /// Returns the longest pauses, longest first: at least 10,000, or all if there are fewer.
    pub fn longest(&mut self) -> &[Pause] {
        self.pauses.sorted()
    }

    /// Returns true if all loaded lengths are in buckets.
    pub(super) fn is_consistent(&self) -> bool {
        let most = bucket(i64::MAX);
        self.lengths.keys().all(|number| *number <= most)
    }

    /// Returns the sums by generation, collector and cause, in no particular order.
    pub fn stats(&self) -> impl Iterator<Item = (Generation, &str, &str, PauseStat)> {
        self.stats.iter().map(|((generation, kind), stat)| {
            let (collector, cause) = self.kind_name(*kind);
            (*generation, collector, cause, *stat)
        })
    }

    /// Returns the pauses by length, from the shortest to the longest, including empty ranges in
    /// between.
    pub fn lengths(&self) -> Vec<Bucket> {
        let numbers = || self.lengths.keys().copied();
        let (Some(first), Some(last)) = (numbers().min(), numbers().max()) else {
            return Vec::new();
        };
        let bucket = |n| Bucket {
            from: bound(n),
            to: bound(n + 1),
            spans: self.lengths.get(&n).copied().unwrap_or_default(),
        };
        (first..=last).map(bucket).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_model::{GcDetail, GcFinish, GcStart};

    fn start(time: i64) -> Event<'static> {
        Event::GcStart(GcStart {
            time: Timestamp(time),
        })
    }

    fn finish(time: i64, used_space: i64) -> Event<'static> {
        Event::GcFinish(GcFinish {
            time: Timestamp(time),
            used_space,
            ..GcFinish::default()
        })
    }

    fn detail(
        collector: &'static str,
        cause: &'static str,
        generation: Generation,
    ) -> Event<'static> {
        Event::GcDetail(GcDetail {
            collector: collector.into(),
            cause: cause.into(),
            generation,
            ..GcDetail::default()
        })
    }

    #[test]
    fn pauses_are_paired_and_sorted() {
        let mut gc = Collections::default();
        gc.event(&finish(5, 0));
        for (from, to) in [(10, 12), (20, 29), (40, 39)] {
            gc.event(&start(from));
            gc.event(&finish(to, 0));
        }
        assert_eq!((gc.count, gc.total), (3, Duration(11)));
        let lengths: Vec<_> = gc
            .longest()
            .iter()
            .map(|p| (p.start.0, p.length.0))
            .collect();
        assert_eq!(lengths, [(20, 9), (10, 2), (40, 0)]);
    }

    #[test]
    fn pauses_are_summed_by_kind() {
        let mut gc = Collections::default();
        for event in [
            start(0),
            detail("G1", "System.gc()", Generation::Full),
            finish(100, 50),
            start(200),
            detail("G1", "Pause", Generation::Young),
            finish(210, 40),
            start(300),
            detail("G1", "Pause", Generation::Young),
            finish(330, 30),
            // This collection has no detail event. The detail of the previous one must not be used
            // for it.
            start(400),
            finish(401, 0),
        ] {
            gc.event(&event);
        }
        let mut stats: Vec<_> = gc
            .stats()
            .map(|(g, collector, cause, s)| {
                let Spans {
                    count,
                    total,
                    longest,
                } = s.spans;
                (count, total, longest, s.most_used, g, collector, cause)
            })
            .collect();
        stats.sort_by_key(|s| (s.0, s.1));
        assert_eq!(
            stats,
            [
                (1, 1, 1, 0, Generation::Unknown, "", ""),
                (1, 100, 100, 50, Generation::Full, "G1", "System.gc()"),
                (2, 40, 30, 40, Generation::Young, "G1", "Pause"),
            ]
        );
        let longest = gc.longest()[0];
        assert_eq!(gc.kind(&longest), ("G1", "System.gc()"));
    }

    #[test]
    fn lengths_fall_into_buckets() {
        for (ns, from, to) in [
            (0, 0, 1_000),
            (999, 0, 1_000),
            (1_000, 1_000, 2_000),
            (4_999, 2_000, 5_000),
            (5_000, 5_000, 10_000),
            (1_500_000_000, 1_000_000_000, 2_000_000_000),
        ] {
            let n = bucket(ns);
            assert_eq!((bound(n), bound(n + 1)), (from, to), "{ns}");
        }
        let n = bucket(i64::MAX);
        assert!(bound(n) < bound(n + 1));
        let mut gc = Collections::default();
        for (from, length) in [(0, 1_200), (10_000, 1_999), (20_000, 7_000)] {
            gc.event(&start(from));
            gc.event(&finish(from + length, 0));
        }
        let rows: Vec<_> = gc
            .lengths()
            .iter()
            .map(|b| (b.from, b.to, b.spans.count, b.spans.total))
            .collect();
        assert_eq!(
            rows,
            [
                (1_000, 2_000, 2, 3_199),
                (2_000, 5_000, 0, 0),
                (5_000, 10_000, 1, 7_000)
            ]
        );
    }
}
