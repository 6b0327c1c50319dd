//! Pauses by garbage collection.

use super::spans::{Longest, Spans, Timed};
use jtrail_model::{Duration, Event, Generation, Timestamp};
use rustc_hash::FxHashMap;

/// One pause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pause {
    /// When it began.
    pub start: Timestamp,
    /// How long it was.
    pub length: Duration,
    /// Bytes in use behind it, 0 if the trace does not say.
    pub used: i64,
    /// Which part of the heap it was for.
    pub generation: Generation,
    /// Its collector and cause; see [`Collections::kind`].
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

/// Pauses of one kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PauseStat {
    /// Their lengths.
    pub spans: Spans,
    /// The most bytes in use behind one, 0 if the trace does not say.
    pub most_used: i64,
}

/// All pauses.
#[derive(Debug, Default)]
pub struct Collections {
    /// How many.
    pub count: u64,
    /// All together.
    pub total: Duration,
    /// How often the heap had another size than before, as far as the trace says.
    pub resizes: u64,
    /// The largest size of the heap, in bytes; 0 if the trace does not say.
    pub largest_heap: i64,
    /// The size that the trace told last.
    heap: i64,
    /// Sums by generation and by the number of collector and cause.
    stats: FxHashMap<(Generation, u32), PauseStat>,
    /// Numbers of collector and cause; 0 is that of none.
    kinds: FxHashMap<(Box<str>, Box<str>), u32>,
    kind_names: Vec<(Box<str>, Box<str>)>,
    /// How many pauses, and their time, by [`bucket`].
    lengths: FxHashMap<u32, Spans>,
    pauses: Longest<Pause>,
    open: Option<Timestamp>,
    detail: Option<(Generation, u32)>,
}

/// A range of lengths, and the pauses in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bucket {
    /// The shortest length that belongs to it, in ns.
    pub from: i64,
    /// The shortest length that is too long for it, in ns.
    pub to: i64,
    /// The pauses.
    pub spans: Spans,
}

/// Bounds of the buckets: 1, 2 and 5 times a power of ten. Bucket n is from bound n up to bound n +
/// 1; everything under 1 µs is bucket 0.
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

/// The bucket of a length.
fn bucket(ns: i64) -> u32 {
    (0..)
        .find(|n| ns < bound(n + 1) || bound(n + 1) == i64::MAX)
        .unwrap_or(0)
}

impl Collections {
    /// Takes starts, details and ends of collections; other events are passed over.
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
                // An end without a start is one that was under way when the trace began.
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

    /// Collector and cause of a pause, empty where the trace does not tell.
    pub fn kind(&self, pause: &Pause) -> (&str, &str) {
        self.kind_name(pause.kind)
    }

    fn kind_name(&self, kind: u32) -> (&str, &str) {
        self.kind_names
            .get(kind as usize)
            .map_or(("", ""), |(collector, cause)| (collector, cause))
    }

    /// The longest pauses, longest first: 10 000 at least, or all that there were.
    pub fn longest(&mut self) -> &[Pause] {
        self.pauses.sorted()
    }

    /// Sums by generation, collector and cause, in no particular order.
    pub fn stats(&self) -> impl Iterator<Item = (Generation, &str, &str, PauseStat)> {
        self.stats.iter().map(|((generation, kind), stat)| {
            let (collector, cause) = self.kind_name(*kind);
            (*generation, collector, cause, *stat)
        })
    }

    /// Pauses by length, from the shortest to the longest, with the empty ranges between.
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
            // Its detail is lost; that of the one before is not its own.
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
