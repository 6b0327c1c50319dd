//! A node: a block of segments, or up to four nodes that follow each other.

use super::bins::{Bins, Detail};
use super::calls::MethodCalls;
use super::lanes::{Lanes, MAX_POWER, Spread, bins_for};
use super::paths::ThreadPaths;
use super::summary::Summary;
use super::totals::ThreadTotals;
use super::waits::NodeWaits;
use crate::cpu::Readings;
use crate::events::EventSums;
use crate::sums::{Edge, Method};
use jtrail_model::{ThreadId, Timestamp};
use std::collections::BTreeMap;

/// Part of the room that lanes may take.
const LANES: f64 = 0.15;
/// Maximum number of call paths of a node, up to those that the last part adds.
const MAX_PATHS: usize = 200_000;
/// Number of paths that remain if there are more.
const LONGEST_PATHS: usize = 60_000;
/// Maximum number of sums of allocations and exceptions of a node, up to those that the last part
/// adds.
const MAX_EVENTS: usize = 200_000;
/// While a node is made, its lanes take at most as much memory as so many cells, and some more for
/// each thread.
const MAX_LANES: usize = 1 << 20;
/// A node with fewer bins has no pictures of the threads with the fewest cells.
const MIN_BINS: u64 = 4;

/// A node while it is made, and after it was read.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) bins: Bins,
    /// Bins of lanes, which take less room than slices.
    pub(super) lane_bins: Bins,
    /// The segments, from the first one up to the one after the last.
    pub(super) segments: [u32; 2],
    /// Size of its segments in the trail, in bytes.
    pub(super) bytes: u64,
    /// The first and the last time.
    pub(super) times: Option<[Timestamp; 2]>,
    pub(super) threads: BTreeMap<ThreadId, OfThread>,
    pub(super) methods: ThreadTotals<Method>,
    pub(super) edges: ThreadTotals<Edge>,
    /// Sums of the longest paths, if there are too many.
    pub(super) paths: ThreadPaths,
    pub(super) readings: Readings,
    /// `None` if there are too many.
    pub(super) events: Option<EventSums>,
    pub(super) waits: NodeWaits,
    pub(super) calls: MethodCalls,
}

/// What a thread does in a node.
#[derive(Debug, Default)]
pub(super) struct OfThread {
    /// `None` if there is no room for it.
    pub(super) detail: Option<Detail>,
    pub(super) lanes: Lanes,
}

/// How many bytes things take in the index, as far as it is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    per_cell: f64,
}

impl Default for Estimate {
    fn default() -> Self {
        Self { per_cell: 3.0 }
    }
}

impl Estimate {
    /// Learns from a node that took so many bytes.
    pub(super) fn learn(&mut self, node: &Node, bytes: usize) {
        let cells: usize = node.threads.values().map(OfThread::cells).sum();
        let lanes: usize = node.threads.values().map(OfThread::lanes).sum();
        let per_cell = bytes as f64 / (cells + lanes).max(1) as f64;
        self.per_cell = (0.75 * self.per_cell + 0.25 * per_cell).clamp(0.5, 10.0);
    }

    /// Returns how many cells have room in so many bytes.
    fn cells_in(self, bytes: u64) -> f64 {
        bytes as f64 / self.per_cell
    }
}

impl OfThread {
    /// Returns about how many cells take as many bytes as the slices.
    fn cells(&self) -> usize {
        let counts = self.detail.as_ref().map(Detail::counts);
        counts.map_or(4, |[cells, long]| cells + 3 * long + 8)
    }

    /// Returns about how many cells take as many bytes as the lanes.
    fn lanes(&self) -> usize {
        2 * self.lanes.bins().len()
    }
}

impl Node {
    pub(super) fn new(origin: Timestamp, segment: u32) -> Self {
        Self {
            bins: Bins { origin, power: 0 },
            lane_bins: Bins { origin, power: 0 },
            segments: [segment; 2],
            bytes: 0,
            times: None,
            threads: BTreeMap::new(),
            methods: ThreadTotals::default(),
            edges: ThreadTotals::default(),
            paths: ThreadPaths::default(),
            readings: Readings::default(),
            events: Some(EventSums::default()),
            waits: NodeWaits::default(),
            calls: MethodCalls::new(Bins { origin, power: 0 }),
        }
    }

    fn extend(&mut self, bytes: u64, times: Option<[Timestamp; 2]>) {
        self.bytes += bytes;
        if let Some([first, last]) = times {
            let [begin, end] = self.times.get_or_insert([first, last]);
            (*begin, *end) = (first.min(*begin), last.max(*end));
        }
    }

    /// Adds the next segment, which has so many bytes in the trail.
    pub(super) fn add_segment(&mut self, summary: Summary, bytes: u64, site: impl Fn(u32) -> u32) {
        self.segments[1] += 1;
        self.extend(bytes, summary.times);
        let [bins, lane_bins] = self.align([summary.bins, summary.lane_bins]);
        for (id, mut thread) in summary.threads {
            thread.detail.coarsen(summary.bins, bins);
            thread.lanes.coarsen(summary.lane_bins, lane_bins);
            let own = self.threads.entry(id).or_default();
            own.detail.get_or_insert_default().append(thread.detail);
            own.lanes.append(thread.lanes);
        }
        self.methods.append(ThreadTotals::of(&summary.paths));
        self.edges.append(ThreadTotals::of(&summary.paths));
        self.add_paths(&summary.paths);
        self.add_readings(&summary.readings);
        self.add_events(Some(&summary.events), site);
        self.waits.append(summary.waits);
        self.calls.append(summary.calls);
    }

    /// Adds the next node.
    pub(super) fn add_node(&mut self, node: Self) {
        self.segments[1] = node.segments[1];
        self.extend(node.bytes, node.times);
        let [bins, lane_bins] = self.align([node.bins, node.lane_bins]);
        let is_first = self.segments[0] == node.segments[0];
        let mut missing: Vec<ThreadId> = Vec::new();
        for (id, mut thread) in node.threads {
            let is_new = !self.threads.contains_key(&id);
            let own = self.threads.entry(id).or_default();
            thread.lanes.coarsen(node.lane_bins, lane_bins);
            own.lanes.append(thread.lanes);
            match thread.detail {
                Some(mut detail) if is_new || is_first || own.detail.is_some() => {
                    detail.coarsen(node.bins, bins);
                    own.detail.get_or_insert_default().append(detail);
                }
                _ => missing.push(id),
            }
        }
        for id in missing {
            if let Some(own) = self.threads.get_mut(&id) {
                own.detail = None;
            }
        }
        self.methods.append(node.methods);
        self.edges.append(node.edges);
        self.add_paths(&node.paths);
        self.add_readings(&node.readings);
        self.add_events(node.events.as_ref(), |site| site);
        self.waits.append(node.waits);
        self.calls.append(node.calls);
    }

    /// Adds later readings, and the CPU time in between.
    fn add_readings(&mut self, later: &Readings) {
        let before = &self.readings.0;
        let spreads = later.0.iter().filter_map(|(thread, [first, _])| {
            let [_, before] = before.get(thread)?;
            Some((*thread, Spread::Cpu([*before, *first])))
        });
        let spreads: Vec<_> = spreads.collect();
        self.spread(&spreads);
        self.readings.append(later);
    }

    /// Adds times to the lanes of threads. Makes bins larger if that takes much memory.
    pub(super) fn spread(&mut self, spreads: &[(ThreadId, Spread)]) {
        self.coarsen_lanes(bins_for(spreads, self.lane_bins).power);
        for (thread, spread) in spreads {
            // A thread without calls and waits has an empty picture, which takes no room.
            let own = self.threads.entry(*thread).or_insert_with(|| OfThread {
                detail: Some(Detail::default()),
                lanes: Lanes::default(),
            });
            own.lanes.spread(spread, self.lane_bins);
        }
        let lanes = |node: &Self| node.threads.values().map(OfThread::lanes).sum::<usize>();
        let max = MAX_LANES.saturating_add(8 * self.threads.len());
        if lanes(self) > max {
            self.sort_lanes();
        }
        while lanes(self) > max && self.lane_bins.power < MAX_POWER {
            self.coarsen_lanes(self.lane_bins.power + 1);
        }
    }

    fn sort_lanes(&mut self) {
        let threads = self.threads.values_mut();
        threads.for_each(|thread| thread.lanes.sort());
    }

    fn add_events(&mut self, more: Option<&EventSums>, site: impl Fn(u32) -> u32) {
        match (&mut self.events, more) {
            (Some(events), Some(more)) if events.len() <= MAX_EVENTS => events.append(more, site),
            _ => self.events = None,
        }
    }

    /// Returns the time from the first to the last event in ns.
    pub(super) fn length(&self) -> u64 {
        let times = self.times;
        times.map_or(0, |[first, last]| last.0.abs_diff(first.0))
    }

    fn add_paths(&mut self, more: &ThreadPaths) {
        self.paths.append(more);
        if self.paths.sums.tree.len() > MAX_PATHS {
            self.paths = self.paths.longest(LONGEST_PATHS);
        }
    }

    /// Makes the bins of slices and those of lanes at least as large as others. Returns them.
    fn align(&mut self, [others, other_lanes]: [Bins; 2]) -> [Bins; 2] {
        self.coarsen(others.power);
        self.coarsen_lanes(other_lanes.power);
        [self.bins, self.lane_bins]
    }

    /// Makes the bins of slices as large as 2^`power` ns, if they are smaller.
    fn coarsen(&mut self, power: u8) {
        let to = Bins { power, ..self.bins };
        if power <= self.bins.power {
            return;
        }
        for thread in self.threads.values_mut() {
            if let Some(detail) = &mut thread.detail {
                detail.coarsen(self.bins, to);
            }
        }
        self.bins = to;
    }

    /// Makes the bins of lanes as large as 2^`power` ns, if they are smaller.
    fn coarsen_lanes(&mut self, power: u8) {
        let to = Bins {
            power,
            ..self.lane_bins
        };
        if power <= self.lane_bins.power {
            return;
        }
        for thread in self.threads.values_mut() {
            thread.lanes.coarsen(self.lane_bins, to);
        }
        self.lane_bins = to;
    }

    /// Makes the bins so large that the node takes about so many bytes.
    pub(super) fn fit(&mut self, estimate: Estimate, bytes: u64) {
        let room = estimate.cells_in(bytes);
        let length = self.length();
        let is_large = |bins: Bins| length >> bins.power <= MIN_BINS || bins.power >= MAX_POWER;
        let of_lanes = (room * LANES) as usize;
        self.sort_lanes();
        let lanes = |node: &Self| node.threads.values().map(OfThread::lanes).sum::<usize>();
        while lanes(self) > of_lanes && !is_large(self.lane_bins) {
            self.coarsen_lanes(self.lane_bins.power + 1);
        }
        let of_cells = (room * (1.0 - LANES)) as usize;
        let cells = |node: &Self| node.threads.values().map(OfThread::cells).sum::<usize>();
        while cells(self) > of_cells && !is_large(self.bins) {
            self.coarsen(self.bins.power + 1);
        }
        self.drop_slices(cells(self).saturating_sub(of_cells));
    }

    /// Drops the slices of the threads with the fewest: they are the quickest to read in the trail.
    fn drop_slices(&mut self, mut cells: usize) {
        let threads = self.threads.values_mut();
        let mut all: Vec<_> = threads.map(|thread| (thread.cells(), thread)).collect();
        all.sort_by_key(|(cells, _)| *cells);
        for (of_thread, thread) in all {
            if cells == 0 {
                return;
            }
            thread.detail = None;
            cells = cells.saturating_sub(of_thread - thread.cells().min(of_thread));
        }
    }
}
