//! Parts of the index as bytes: columns of numbers, compressed by zstd.

use super::bins::{Cell, Detail, MAX_LEVELS};
use super::lanes::Lanes;
use super::paths::ThreadPaths;
use super::totals::{OfThread, ThreadTotals};
use crate::overview::Counts;
use crate::slice::{Kind, Slice};
use crate::sums::{MethodSum, Part, PathSum, Subject, ThreadSum};
use jtrail_model::{ThreadId, Timestamp};
use rustc_hash::FxHashMap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use zstd::bulk::Decompressor;

/// zstd's compression level for files. Parts are small, and are written once.
const LEVEL: i32 = 6;
/// zstd's compression level for memory.
const QUICK_LEVEL: i32 = 1;
/// Maximum size of a part before compression, in bytes.
const MAX_BYTES: usize = 256 << 20;

/// Compresses a value. Returns `None` if it is too large for the index.
pub(super) fn pack(value: &impl Serialize) -> Option<Vec<u8>> {
    pack_at(LEVEL, value)
}

fn pack_at(level: i32, value: &impl Serialize) -> Option<Vec<u8>> {
    let bytes = postcard::to_stdvec(value).ok()?;
    if bytes.len() > MAX_BYTES {
        return None;
    }
    let mut out = (bytes.len() as u32).to_le_bytes().to_vec();
    out.extend(zstd::bulk::compress(&bytes, level).ok()?);
    Some(out)
}

/// Returns a value that [`pack`] has compressed; `None` if the bytes are malformed.
pub(super) fn unpack<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    let (length, bytes) = bytes.split_first_chunk()?;
    let length = u32::from_le_bytes(*length) as usize;
    if length > MAX_BYTES {
        return None;
    }
    let bytes = DECOMPRESSOR.with_borrow_mut(|decompressor| {
        let decompressor = match decompressor {
            Some(decompressor) => decompressor,
            None => decompressor.insert(Decompressor::new().ok()?),
        };
        decompressor.decompress(bytes, length).ok()
    })?;
    postcard::from_bytes(&bytes).ok()
}

thread_local! {
    /// To make one takes as long as to decompress some kilobytes.
    static DECOMPRESSOR: RefCell<Option<Decompressor<'static>>> = const { RefCell::new(None) };
}

/// Adds differences, beginning with 0.
pub(super) fn sums(differences: impl Iterator<Item = u64>) -> impl Iterator<Item = u64> {
    differences.scan(0_u64, |sum, difference| {
        *sum = sum.wrapping_add(difference);
        Some(*sum)
    })
}

/// A [`Detail`] in columns.
#[derive(Serialize, Deserialize, Default, Debug)]
pub(crate) struct DetailColumns {
    /// Number of cells and of long slices by level.
    counts: Vec<[u32; 2]>,
    /// Of cells: differences of bins within a level.
    bins: Vec<u64>,
    slices: Vec<u32>,
    /// Numbers of methods plus 1.
    methods: Vec<u32>,
    lengths: Vec<u16>,
    kinds: Vec<u8>,
    /// Of long slices: times from the end of the one before to the begin.
    begins: Vec<i64>,
    long_lengths: Vec<u64>,
    long_methods: Vec<u32>,
    long_kinds: Vec<u8>,
}

impl DetailColumns {
    pub(super) fn new(detail: &Detail, origin: Timestamp) -> Self {
        let mut columns = Self::default();
        for level in &detail.levels {
            columns
                .counts
                .push([level.cells.len() as u32, level.long.len() as u32]);
            let mut bin = 0;
            for cell in &level.cells {
                columns.bins.push(cell.bin.wrapping_sub(bin));
                bin = cell.bin;
                columns.slices.push(cell.count);
                columns.methods.push(cell.method.wrapping_add(1));
                columns.lengths.push(cell.length);
                columns.kinds.push(kind_number(cell.kind));
            }
            let mut end = origin.0;
            for slice in &level.long {
                columns.begins.push(slice.begin.0.wrapping_sub(end));
                let length = slice.end.0.wrapping_sub(slice.begin.0);
                columns.long_lengths.push(length as u64);
                columns.long_methods.push(slice.method.wrapping_add(1));
                columns.long_kinds.push(kind_number(slice.kind));
                end = slice.end.0;
            }
        }
        columns
    }

    /// Returns true if the columns fit together.
    pub(super) fn is_consistent(&self) -> bool {
        let [cells, long] = [0, 1].map(|of| {
            let counts = self.counts.iter().map(|counts| counts[of] as usize);
            counts.fold(0, usize::saturating_add)
        });
        let is_kind = |number: &u8| kind_of(*number).is_some();
        self.counts.len() <= MAX_LEVELS
            && [
                self.bins.len(),
                self.slices.len(),
                self.methods.len(),
                self.lengths.len(),
                self.kinds.len(),
            ] == [cells; 5]
            && [
                self.begins.len(),
                self.long_lengths.len(),
                self.long_methods.len(),
                self.long_kinds.len(),
            ] == [long; 4]
            && self.kinds.iter().chain(&self.long_kinds).all(is_kind)
    }

    /// Returns the levels with their cells, in the order of their bins.
    pub(crate) fn cells(&self) -> impl Iterator<Item = (u32, impl Iterator<Item = Cell>)> {
        let mut end = 0;
        self.counts.iter().enumerate().map(move |(level, counts)| {
            let begin = end;
            end += counts[0] as usize;
            let bins = sums(self.bins[begin..end].iter().copied());
            let cells = (begin..end).zip(bins).map(|(at, bin)| Cell {
                bin,
                count: self.slices[at],
                method: self.methods[at].wrapping_sub(1),
                length: self.lengths[at],
                kind: kind_of(self.kinds[at]).unwrap_or(Kind::Call),
            });
            (level as u32, cells)
        })
    }

    /// Returns the long slices, level by level. `origin` is the one of [`Self::new`].
    pub(crate) fn long(&self, origin: Timestamp) -> impl Iterator<Item = Slice> {
        let mut end = 0;
        self.counts
            .iter()
            .enumerate()
            .flat_map(move |(level, counts)| {
                let begin = end;
                end += counts[1] as usize;
                let mut time = origin.0;
                (begin..end).map(move |at| {
                    let begin = time.wrapping_add(self.begins[at]);
                    time = begin.wrapping_add(self.long_lengths[at] as i64);
                    Slice {
                        begin: Timestamp(begin),
                        end: Timestamp(time),
                        method: self.long_methods[at].wrapping_sub(1),
                        level: level as u32,
                        kind: kind_of(self.long_kinds[at]).unwrap_or(Kind::Call),
                    }
                })
            })
    }
}

/// A [`Detail`] in little memory.
#[derive(Debug)]
pub(crate) struct PackedDetail(Vec<u8>);

impl PackedDetail {
    /// Compresses the slices of a thread. Returns `None` if they are too large.
    pub(crate) fn new(detail: &Detail, origin: Timestamp) -> Option<Self> {
        let packed = pack_at(QUICK_LEVEL, &DetailColumns::new(detail, origin))?;
        Some(Self(packed))
    }

    /// Returns how many bytes of memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        self.0.len()
    }

    /// Returns the slices.
    pub(crate) fn columns(&self) -> Option<DetailColumns> {
        unpack(&self.0).filter(DetailColumns::is_consistent)
    }
}

/// Slices of a thread in any order.
#[derive(Serialize, Deserialize)]
pub(super) struct SliceRow {
    begin: i64,
    length: i64,
    method: u32,
    level: u32,
    kind: u8,
}

impl SliceRow {
    pub(super) fn new(slice: &Slice, origin: Timestamp) -> Self {
        Self {
            begin: slice.begin.0.wrapping_sub(origin.0),
            length: slice.end.0.wrapping_sub(slice.begin.0),
            method: slice.method.wrapping_add(1),
            level: slice.level,
            kind: kind_number(slice.kind),
        }
    }

    pub(super) fn slice(&self, origin: Timestamp) -> Option<Slice> {
        let begin = self.begin.wrapping_add(origin.0);
        Some(Slice {
            begin: Timestamp(begin),
            end: Timestamp(begin.wrapping_add(self.length)),
            method: self.method.wrapping_sub(1),
            level: self.level,
            kind: kind_of(self.kind)?,
        })
    }
}

/// The [`Lanes`] of all threads of a node.
#[derive(Serialize, Deserialize, Default)]
pub(super) struct LaneColumns {
    threads: Vec<u64>,
    /// Number of bins by thread.
    counts: Vec<u32>,
    /// Differences of bins within a thread.
    bins: Vec<u64>,
    calls: Vec<u64>,
    /// Bins with more than calls, by their places, and what they have.
    more: Vec<(u32, [u64; 6])>,
}

impl LaneColumns {
    pub(super) fn new<'l>(threads: impl Iterator<Item = (ThreadId, &'l Lanes)>) -> Self {
        let mut columns = Self::default();
        for (id, lanes) in threads.filter(|(_, lanes)| !lanes.bins().is_empty()) {
            columns.threads.push(id.0);
            columns.counts.push(lanes.bins().len() as u32);
            let mut last = 0;
            for (bin, counts) in lanes.bins() {
                columns.bins.push(bin.wrapping_sub(last));
                last = *bin;
                let more = [
                    counts.objects,
                    counts.bytes,
                    counts.exceptions,
                    counts.blocked,
                    counts.waiting,
                    counts.cpu,
                ];
                if more != [0; 6] {
                    columns.more.push((columns.calls.len() as u32, more));
                }
                columns.calls.push(counts.calls);
            }
        }
        columns
    }

    /// Returns the lanes by thread; `None` if the columns do not fit together.
    pub(super) fn lanes(&self) -> Option<Vec<(ThreadId, Lanes)>> {
        let mut all = Vec::new();
        let mut more = self.more.iter().peekable();
        let mut at = 0_usize;
        for (thread, count) in self.threads.iter().zip(&self.counts) {
            let of = at..at.checked_add(*count as usize)?;
            let bins = sums(self.bins.get(of.clone())?.iter().copied());
            let mut lanes = Vec::new();
            for (at, bin) in of.clone().zip(bins) {
                let mut counts = Counts {
                    calls: *self.calls.get(at)?,
                    ..Counts::default()
                };
                if let Some((_, numbers)) = more.next_if(|(place, _)| *place as usize == at) {
                    [
                        counts.objects,
                        counts.bytes,
                        counts.exceptions,
                        counts.blocked,
                        counts.waiting,
                        counts.cpu,
                    ] = *numbers;
                }
                lanes.push((bin, counts));
            }
            at = of.end;
            all.push((ThreadId(*thread), Lanes::from_bins(lanes)));
        }
        Some(all)
    }
}

/// [`ThreadPaths`].
#[derive(Serialize, Deserialize, Default)]
pub(super) struct PathColumns {
    threads: Vec<u64>,
    /// Of nodes: number of the node minus that of its parent.
    parents: Vec<u32>,
    frames: Vec<u32>,
    calls: Vec<u64>,
    self_times: Vec<i64>,
    /// By thread in `of_parts`.
    of_parts: Vec<u64>,
    times: Vec<[i64; 2]>,
    innermost: Vec<[u32; 2]>,
    of_sums: Vec<u64>,
    sums: Vec<SumRow>,
}

impl PathColumns {
    pub(super) fn new(paths: &ThreadPaths, origin: Timestamp) -> Self {
        let mut columns = Self {
            threads: paths.threads.iter().map(|id| id.0).collect(),
            ..Self::default()
        };
        let tree = &paths.sums.tree;
        for node in 1..tree.len() as u32 {
            columns.parents.push(node - tree.parent(node));
            columns.frames.push(tree.frame(node));
            let sum = paths.sums.path(node);
            columns.calls.push(sum.calls);
            columns.self_times.push(sum.self_time);
        }
        for (thread, part) in &paths.parts {
            columns.of_parts.push(thread.0);
            let [first, last] = part.times;
            let times = [first.wrapping_sub(origin.0), last.wrapping_sub(first)];
            columns.times.push(times);
            columns.innermost.push(part.innermost);
        }
        for (thread, sum) in &paths.of_threads {
            columns.of_sums.push(thread.0);
            columns.sums.push(sum_row(sum));
        }
        columns
    }

    /// Returns the sums; `None` if the columns do not fit together.
    pub(super) fn paths(&self, origin: Timestamp) -> Option<ThreadPaths> {
        let mut paths = ThreadPaths::default();
        let threads: Vec<ThreadId> = self.threads.iter().map(|id| ThreadId(*id)).collect();
        for (at, difference) in self.parents.iter().enumerate() {
            let node = at as u32 + 1;
            let parent = node
                .checked_sub(*difference)
                .filter(|parent| *parent < node)?;
            let frame = *self.frames.get(at)?;
            let own = match parent {
                0 => paths.root(*threads.get(frame as usize)?),
                _ => paths.sums.tree.callee(parent, frame),
            };
            if own != node {
                return None;
            }
            let (calls, self_time) = (*self.calls.get(at)?, *self.self_times.get(at)?);
            paths.sums.add_path(node, PathSum { calls, self_time });
        }
        for (at, thread) in self.of_parts.iter().enumerate() {
            let [first, length] = *self.times.get(at)?;
            let first = first.wrapping_add(origin.0);
            let innermost = *self.innermost.get(at)?;
            if innermost
                .iter()
                .any(|node| *node as usize >= paths.sums.tree.len())
            {
                return None;
            }
            let times = [first, first.wrapping_add(length)];
            paths
                .parts
                .insert(ThreadId(*thread), Part { times, innermost });
        }
        for (thread, sum) in self.of_sums.iter().zip(&self.sums) {
            paths.of_threads.insert(ThreadId(*thread), sum_of(*sum));
        }
        Some(paths)
    }
}

/// [`ThreadTotals`].
#[derive(Serialize, Deserialize, Default)]
pub(super) struct TotalColumns {
    threads: Vec<u64>,
    /// By thread.
    times: Vec<[i64; 2]>,
    sums: Vec<SumRow>,
    open: Vec<[Vec<u32>; 2]>,
    counts: Vec<u32>,
    /// Differences within a thread.
    callers: Vec<u32>,
    /// Differences of those with the same caller.
    methods: Vec<u32>,
    calls: Vec<u64>,
    self_times: Vec<i64>,
    /// Differences to those in self times.
    totals: Vec<i64>,
    /// Differences to the numbers of calls.
    records: Vec<u64>,
    /// Differences to those in self times.
    total_records: Vec<u64>,
}

impl TotalColumns {
    pub(super) fn new<S: Subject>(totals: &ThreadTotals<S>, origin: Timestamp) -> Self {
        let mut columns = Self::default();
        for (thread, of_thread) in &totals.0 {
            columns.threads.push(thread.0);
            let [first, last] = of_thread.times;
            let times = [first.wrapping_sub(origin.0), last.wrapping_sub(first)];
            columns.times.push(times);
            columns.sums.push(sum_row(&of_thread.sum));
            columns.open.push(of_thread.open.clone());
            columns.counts.push(of_thread.sums.len() as u32);
            let numbers = |(subject, sum): (&S, _)| (subject.numbers(), sum);
            let mut all: Vec<([u32; 2], &MethodSum)> = of_thread.sums.iter().map(numbers).collect();
            all.sort_unstable_by_key(|(numbers, _)| *numbers);
            let mut before = [0; 2];
            for ([caller, method], sum) in all {
                if caller != before[0] {
                    before[1] = 0;
                }
                columns.callers.push(caller - before[0]);
                columns.methods.push(method - before[1]);
                before = [caller, method];
                columns.calls.push(sum.calls);
                columns.self_times.push(sum.self_time);
                columns.totals.push(sum.total.wrapping_sub(sum.self_time));
                let [own, total] = sum.records;
                columns.records.push(own.wrapping_sub(sum.calls));
                columns.total_records.push(total.wrapping_sub(own));
            }
        }
        columns
    }

    /// Returns the sums; `None` if the columns do not fit together.
    pub(super) fn totals<S: Subject>(&self, origin: Timestamp) -> Option<ThreadTotals<S>> {
        let mut all = ThreadTotals::default();
        let mut open = self.open.iter();
        let mut at = 0;
        for (place, thread) in self.threads.iter().enumerate() {
            let [first, length] = *self.times.get(place)?;
            let first = first.wrapping_add(origin.0);
            let mut of_thread = OfThread {
                sums: FxHashMap::default(),
                sum: sum_of(*self.sums.get(place)?),
                times: [first, first.wrapping_add(length)],
                open: open.next()?.clone(),
            };
            let mut before = [0_u32; 2];
            for _ in 0..*self.counts.get(place)? {
                let more = *self.callers.get(at)?;
                if more != 0 {
                    before = [before[0].wrapping_add(more), 0];
                }
                before[1] = before[1].wrapping_add(*self.methods.get(at)?);
                let sum = self.sum(at)?;
                of_thread.sums.insert(S::from_numbers(before), sum);
                at += 1;
            }
            all.0.insert(ThreadId(*thread), of_thread);
        }
        Some(all)
    }

    fn sum(&self, at: usize) -> Option<MethodSum> {
        let (calls, self_time) = (*self.calls.get(at)?, *self.self_times.get(at)?);
        let own = self.records.get(at)?.wrapping_add(calls);
        Some(MethodSum {
            calls,
            self_time,
            total: self.totals.get(at)?.wrapping_add(self_time),
            records: [own, self.total_records.get(at)?.wrapping_add(own)],
        })
    }
}

/// Numbers of calls and outermost calls, time in calls, and levels of a thread.
pub(super) type SumRow = (u64, u64, i64, u32);

pub(super) fn sum_row(sum: &ThreadSum) -> SumRow {
    (sum.calls, sum.outermost, sum.busy, sum.levels)
}

pub(super) fn sum_of((calls, outermost, busy, levels): SumRow) -> ThreadSum {
    ThreadSum {
        calls,
        outermost,
        busy,
        levels,
    }
}

pub(super) fn kind_number(kind: Kind) -> u8 {
    match kind {
        Kind::Call => 0,
        Kind::Thrown => 1,
        Kind::Blocked => 2,
        Kind::Waiting => 3,
        Kind::Parked => 4,
        Kind::Missing => 5, // an index has none
    }
}

pub(super) fn kind_of(number: u8) -> Option<Kind> {
    let kinds = [
        Kind::Call,
        Kind::Thrown,
        Kind::Blocked,
        Kind::Waiting,
        Kind::Parked,
    ];
    kinds.get(usize::from(number)).copied()
}
