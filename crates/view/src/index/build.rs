//! Makes the index of a trail.
//!
//! Workers read the segments and sum each one up. The calling thread joins their summaries: to
//! blocks of about a MiB of the trail, and each four nodes to one of the level above.

use super::encode::{DetailColumns, LaneColumns, PathColumns, SliceRow, TotalColumns, pack};
use super::events::EventColumns;
use super::facts::Facts;
use super::file::{
    Across, Directory, Entry, Fingerprint, OfThreads, Output, Reasons, Section, since,
};
use super::lanes::Spread;
use super::node::{Estimate, Node};
use super::readings::ReadingColumns;
use super::room::{IndexSizes, Taken, millionths};
use super::summary::{Summary, wait};
use super::totals::{OfThread, ThreadTotals};
use crate::events::Sites;
use crate::slice::{EARLIER, LATER, Slice};
use crate::sums::{Method, Subject, ThreadSum};
use crate::trace::Trace;
use jtrail_model::{ObjectId, ThreadId, Timestamp};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Number of nodes that are one node of the level above.
pub(super) const FANOUT: usize = 4;
/// Maximum number of summaries that a worker is ahead.
const AHEAD: usize = 2;

/// Builds the index of a trace and writes it to `out`. `progress` is called now and then with the
/// number of bytes of the trail that were read; if it returns false, nothing more is written.
/// Returns true if the index is complete.
///
/// # Errors
/// If the trail can't be read, the output fails, or `InvalidData` if a segment is damaged.
pub(super) fn build(
    trace: &Trace,
    fingerprint: Fingerprint,
    sizes: IndexSizes,
    out: impl Write,
    mut progress: impl FnMut(u64) -> bool,
) -> io::Result<bool> {
    let mut builder = Builder {
        trace,
        sizes,
        out: Output::new(out, fingerprint)?,
        estimate: Estimate::default(),
        block: None,
        open: Vec::new(),
        directory: Directory::default(),
        sum_bytes: [0; 3],
        bytes_per_path: 3.0,
        taken: BytesOf::default(),
        sites: Sites::default(),
        waits: FxHashMap::default(),
        last_open: BTreeMap::new(),
        across: BTreeMap::new(),
        reasons: BTreeMap::new(),
        facts: Facts::default(),
    };
    let stop = AtomicBool::new(false);
    let count = trace.segment_count();
    let workers = thread::available_parallelism().map_or(1, usize::from);
    let is_complete = thread::scope(|scope| -> io::Result<bool> {
        let start = |first| {
            let (sender, summaries) = sync_channel(AHEAD);
            let numbers = (first..count).step_by(workers);
            let stop = &stop;
            scope.spawn(move || summarise(trace, numbers, &sender, stop));
            summaries
        };
        let summaries: Vec<Receiver<_>> = (0..workers).map(start).collect();
        for number in 0..count {
            // A worker whose channel is closed has failed, and has said so.
            let Ok(summary) = summaries[number % workers].recv() else {
                return Ok(false);
            };
            let added = summary.and_then(|summary| builder.add(number, summary));
            if added.is_err() || !progress(trace.end_of(number)) {
                stop.store(true, Ordering::Relaxed);
                return added.map(|()| false);
            }
        }
        Ok(true)
    })?;
    if is_complete {
        builder.end()?;
    }
    Ok(is_complete)
}

/// Sums up segments.
fn summarise(
    trace: &Trace,
    numbers: impl Iterator<Item = usize>,
    sender: &SyncSender<io::Result<Summary>>,
    stop: &AtomicBool,
) {
    for number in numbers {
        let summary = Summary::read(trace, number);
        if stop.load(Ordering::Relaxed) || sender.send(summary).is_err() {
            return;
        }
    }
}

/// The object that a wait is for, and its owner.
type Reason = (ObjectId, ThreadId);

/// Bytes of parts of the index so far.
#[derive(Default)]
struct BytesOf {
    pictures: Taken,
    events: Taken,
    waits: Taken,
    readings: Taken,
    calls: Taken,
}

struct Builder<'t, W> {
    trace: &'t Trace,
    sizes: IndexSizes,
    out: Output<W>,
    estimate: Estimate,
    /// The block that is being made.
    block: Option<Node>,
    /// By level, the node that is being made above it, and how many nodes it has.
    open: Vec<Option<(Node, usize)>>,
    directory: Directory,
    /// Bytes of all sums by method, by edge and by call path so far, without those of the longest
    /// paths.
    sum_bytes: [u64; 3],
    /// How many bytes a call path took in the last node.
    bytes_per_path: f64,
    /// Bytes of other parts so far.
    taken: BytesOf,
    /// Sites of exceptions.
    sites: Sites,
    /// Waits that have begun, with what they are for and the first segments of their blocks.
    waits: FxHashMap<ThreadId, (Slice, Reason, u32)>,
    /// What is open at the end of each thread's latest segment.
    last_open: BTreeMap<ThreadId, Vec<Slice>>,
    across: BTreeMap<ThreadId, Vec<Slice>>,
    /// What the waits in `across` are for.
    reasons: BTreeMap<ThreadId, Vec<[u64; 2]>>,
    facts: Facts,
}

impl<W: Write> Builder<'_, W> {
    fn origin(&self) -> Timestamp {
        self.trace.span()[0]
    }

    fn add(&mut self, number: usize, mut summary: Summary) -> io::Result<()> {
        let begin = match number.checked_sub(1) {
            Some(before) => self.trace.end_of(before),
            None => 0,
        };
        let bytes = self.trace.end_of(number).saturating_sub(begin);
        let origin = self.origin();
        let block = self
            .block
            .get_or_insert_with(|| Node::new(origin, number as u32));
        let first = block.segments[0];
        let mut spreads = Vec::new();
        for (id, thread) in &mut summary.threads {
            if !thread.is_running {
                continue;
            }
            let before = self.waits.remove(id);
            if let Some(ended) = thread.ended_wait.take() {
                let begin = before.map_or(EARLIER, |(wait, ..)| wait.begin);
                let reason = before.map_or_else(Reason::default, |(_, reason, _)| reason);
                let ended = Slice { begin, ..ended };
                if before.is_some_and(|(.., block)| block == first) {
                    summary.waits.push(wait(*id, &ended, reason));
                    thread.detail.push_front(&ended, summary.bins);
                    spreads.push((*id, Spread::Wait([begin, ended.end], ended.kind)));
                } else {
                    self.across.entry(*id).or_default().push(ended);
                    self.reasons
                        .entry(*id)
                        .or_default()
                        .push([reason.0.0, reason.1.0]);
                }
            }
            if let Some(wait) = thread.open.last().filter(|open| !open.kind.is_call()) {
                self.waits.insert(*id, (*wait, thread.reason, first));
            }
            self.last_open.insert(*id, std::mem::take(&mut thread.open));
        }
        for event in summary.others.drain(..) {
            self.facts.event(&event);
        }
        for (id, thread) in &summary.threads {
            summary.paths.of_threads.insert(*id, thread.sum);
        }
        let sites = &mut self.sites;
        let own = summary.sites.all.iter();
        let numbers: Vec<u32> = own
            .map(|(method, line)| sites.number(method, *line))
            .collect();
        block.add_segment(summary, bytes, |site| numbers[site as usize]);
        block.spread(&spreads);
        if block.bytes >= self.sizes.block
            && let Some(block) = self.block.take()
        {
            self.finish(block, 0)?;
        }
        Ok(())
    }

    /// Writes a node, and adds it to the one above.
    fn finish(&mut self, mut node: Node, level: usize) -> io::Result<()> {
        let room = self.room_of_pictures(&node, level);
        node.fit(self.estimate, room);
        let of_calls = millionths(node.bytes, self.sizes.calls);
        let length = node.length();
        node.calls.fit(of_calls, length);
        let entry = self.write(&node, level)?;
        if self.directory.levels.len() <= level {
            self.directory.levels.push(Vec::new());
            self.open.push(None);
        }
        self.directory.levels[level].push(entry);
        let origin = self.origin();
        let first = node.segments[0];
        let (above, count) = self.open[level].get_or_insert_with(|| (Node::new(origin, first), 0));
        above.add_node(node);
        *count += 1;
        if *count == FANOUT
            && let Some((above, _)) = self.open[level].take()
        {
            self.finish(above, level + 1)?;
        }
        Ok(())
    }

    fn write(&mut self, node: &Node, level: usize) -> io::Result<Entry> {
        let before = self.out.size();
        let origin = self.origin();
        let mut threads = OfThreads::default();
        for (id, thread) in &node.threads {
            let section = match &thread.detail {
                Some(detail) => self.out.section(&DetailColumns::new(detail, origin))?,
                None => None,
            };
            threads.0.push((id.0, section));
        }
        let lanes = node.threads.iter().map(|(id, thread)| (*id, &thread.lanes));
        let lanes = self.out.section(&LaneColumns::new(lanes))?;
        let threads = self.out.section(&threads)?;
        let bytes = self.out.size() - before;
        self.estimate.learn(node, bytes as usize);
        self.taken.pictures.add(bytes, level);
        let calls = self.calls(node, level)?;
        let methods = self.totals(node, &node.methods, 0)?;
        let edges = self.totals(node, &node.edges, 1)?;
        let (paths, has_all_paths) = self.paths(node, level)?;
        Ok(Entry {
            segments: node.segments,
            times: node
                .times
                .map(|times| times.map(|time| since(time, origin))),
            power: node.bins.power,
            lane_power: node.lane_bins.power,
            threads,
            lanes,
            methods,
            edges,
            paths,
            has_all_paths,
            readings: self.readings(node, level)?,
            events: self.events(node, level)?,
            waits: self.waits(node, level)?,
            calls: calls.map(|(_, section)| section),
            call_power: calls.map_or(0, |(power, _)| power),
        })
    }

    /// Writes the sums by method (`which` is 0) or by edge (1) of a node, if there is room.
    fn totals<S: Subject>(
        &mut self,
        node: &Node,
        totals: &ThreadTotals<S>,
        which: usize,
    ) -> io::Result<Option<Section>> {
        let count: usize = totals.0.values().map(|of| of.sums.len()).sum();
        let part = [self.sizes.methods, self.sizes.edges][which];
        let room = self.room(node, self.sum_bytes[which], part);
        let columns = || TotalColumns::new(totals, self.origin());
        let Some(packed) = packed(count, room, columns) else {
            return Ok(None);
        };
        self.sum_bytes[which] += packed.len() as u64;
        self.out.bytes(&packed).map(Some)
    }

    /// Writes the sums by call path of a node; those of the longest ones, if there is no room for
    /// each. Also returns whether all are there.
    fn paths(&mut self, node: &Node, level: usize) -> io::Result<(Option<Section>, bool)> {
        let paths = &node.paths;
        let has_all = paths.sums.has_all();
        if has_all {
            let room = self.room(node, self.sum_bytes[2], self.sizes.paths);
            let columns = || PathColumns::new(paths, self.origin());
            if let Some(packed) = packed(paths.sums.tree.len(), room, columns) {
                self.sum_bytes[2] += packed.len() as u64;
                return Ok((Some(self.out.bytes(&packed)?), true));
            }
        }
        // The trail has those of blocks, and reading it there takes little time.
        if level == 0 {
            return Ok((None, false));
        }
        let own = millionths(node.bytes, self.sizes.longest_paths) >> (level - 1).min(62);
        let room = own.min(self.rest(node));
        let mut count = (room as f64 / self.bytes_per_path) as usize;
        for _ in 0..4 {
            let longest = paths.longest(count);
            let packed = pack(&PathColumns::new(&longest, self.origin())).unwrap_or_default();
            let size = packed.len() as f64;
            self.bytes_per_path = size / longest.sums.tree.len() as f64;
            if packed.len() as u64 <= room && !packed.is_empty() {
                let has_all = has_all && longest.sums.has_all();
                return Ok((Some(self.out.bytes(&packed)?), has_all));
            }
            count = (0.9 * count as f64 * (room as f64 / size).min(1.0)) as usize;
        }
        Ok((None, false))
    }

    /// Returns the position of the end of a node in the trail.
    fn end_of(&self, node: &Node) -> u64 {
        let last = node.segments[1].saturating_sub(1);
        self.trace.end_of(last as usize)
    }

    /// Returns how many bytes the pictures of a node may take. If those before took more than was
    /// estimated, it is less.
    fn room_of_pictures(&self, node: &Node, level: usize) -> u64 {
        let part = self.sizes.pictures;
        let own = millionths(node.bytes, part) >> (2 * level).min(62);
        // Each level takes a quarter of the one below.
        let all = part.saturating_add(part.div_ceil(3));
        own.min(self.taken.pictures.of_all(self.end_of(node), all))
    }

    /// Returns how many bytes the index may still take up to the end of a node.
    fn rest(&self, node: &Node) -> u64 {
        millionths(self.end_of(node), self.sizes.all).saturating_sub(self.out.size())
    }

    /// Writes the readings of CPU time of a node, if there is room.
    fn readings(&mut self, node: &Node, level: usize) -> io::Result<Option<Section>> {
        let end = self.end_of(node);
        let room = self.taken.readings.of_all(end, self.sizes.readings);
        let room = room.min(self.rest(node));
        let columns = || ReadingColumns::new(&node.readings, self.origin());
        let Some(packed) = packed(node.readings.0.len(), room, columns) else {
            return Ok(None);
        };
        self.taken.readings.add(packed.len() as u64, level);
        self.out.bytes(&packed).map(Some)
    }

    /// Writes the allocations and exceptions of a node, if there is room.
    fn events(&mut self, node: &Node, level: usize) -> io::Result<Option<Section>> {
        let Some(events) = &node.events else {
            return Ok(None);
        };
        let (end, part) = (self.end_of(node), self.sizes.events);
        let room = self.taken.events.of_node(node, level, end, part);
        let room = room.min(self.rest(node));
        let columns = || EventColumns::new(events, self.origin());
        let Some(packed) = packed(events.len(), room, columns) else {
            return Ok(None);
        };
        self.taken.events.add(packed.len() as u64, level);
        self.out.bytes(&packed).map(Some)
    }

    /// Writes the longest waits of a node, if there is room.
    fn waits(&mut self, node: &Node, level: usize) -> io::Result<Option<Section>> {
        let (end, part) = (self.end_of(node), self.sizes.waits);
        let room = self.taken.waits.of_node(node, level, end, part);
        let room = room.min(self.rest(node));
        let Some(packed) = node.waits.packed(room, self.origin()) else {
            return Ok(None);
        };
        self.taken.waits.add(packed.len() as u64, level);
        self.out.bytes(&packed).map(Some)
    }

    /// Writes the calls of each method of a node, if there is room. Returns the power of their bins
    /// too.
    fn calls(&mut self, node: &Node, level: usize) -> io::Result<Option<(u8, Section)>> {
        let (end, part) = (self.end_of(node), self.sizes.calls);
        let room = self.taken.calls.of_node(node, level, end, part);
        let room = room.min(self.rest(node));
        let packed = node.calls.packed(room, node.length(), self.origin());
        let Some((power, packed)) = packed else {
            return Ok(None);
        };
        self.taken.calls.add(packed.len() as u64, level);
        Ok(Some((power, self.out.bytes(&packed)?)))
    }

    /// Returns how many bytes sums of a node may take, if those of all others took `taken`, and
    /// they may take so many millionths of its size in the trail.
    fn room(&self, node: &Node, taken: u64, part: u64) -> u64 {
        let all = self.end_of(node);
        let of_all = millionths(2 * all, part).saturating_sub(taken);
        let own = millionths(node.bytes, part);
        of_all.min(own).min(self.rest(node))
    }

    /// Returns what each thread does in the whole trace. The calls that are open after a thread's
    /// last event last up to the trace's end.
    fn whole(&self, methods: &ThreadTotals<Method>) -> BTreeMap<ThreadId, ThreadSum> {
        let [_, last] = self.trace.ended(self.trace.span());
        let of_thread = |(id, of): (&ThreadId, &OfThread<Method>)| {
            let mut sum = of.sum;
            if !of.open[1].is_empty() {
                sum.pass(last.0.saturating_sub(of.times[1]).max(0));
            }
            (*id, sum)
        };
        methods.0.iter().map(of_thread).collect()
    }

    fn end(mut self) -> io::Result<()> {
        if let Some(block) = self.block.take() {
            self.finish(block, 0)?;
        }
        let mut level = 0;
        while level < self.open.len() {
            if let Some((above, count)) = self.open[level].take() {
                if count > 1 || level + 1 < self.open.len() {
                    self.finish(above, level + 1)?;
                } else {
                    // A single node at the top needs none above: it has everything.
                    self.facts.set_threads(&self.whole(&above.methods));
                }
            }
            level += 1;
        }
        for (id, open) in std::mem::take(&mut self.last_open) {
            let slices = open.into_iter().map(|slice| Slice {
                end: LATER,
                ..slice
            });
            self.across.entry(id).or_default().extend(slices);
            if let Some((_, (object, owner), _)) = self.waits.remove(&id) {
                self.reasons
                    .entry(id)
                    .or_default()
                    .push([object.0, owner.0]);
            }
        }
        let origin = self.origin();
        let rows = |slices: &Vec<Slice>| {
            slices
                .iter()
                .map(|slice| SliceRow::new(slice, origin))
                .collect()
        };
        let across = self.across.iter().filter(|(_, slices)| !slices.is_empty());
        let across = Across(across.map(|(id, slices)| (id.0, rows(slices))).collect());
        self.directory.across = self.out.section(&across)?;
        let reasons = std::mem::take(&mut self.reasons).into_iter();
        let reasons = Reasons(reasons.map(|(id, all)| (id.0, all)).collect());
        self.directory.reasons = self.out.section(&reasons)?;
        let sites: Vec<(&str, i64)> = self
            .sites
            .all
            .iter()
            .map(|(m, line)| (&**m, *line))
            .collect();
        self.directory.sites = self.out.section(&sites)?;
        self.directory.methods = self.out.section(&self.trace.method_ids())?;
        self.directory.facts = self.out.section(&self.facts)?;
        self.out.end(&self.directory)?;
        Ok(())
    }
}

/// Returns packed columns, if they have room. A sum takes some bytes: packing what has no room
/// takes time.
fn packed<T: Serialize>(sums: usize, room: u64, columns: impl FnOnce() -> T) -> Option<Vec<u8>> {
    if sums as u64 > room {
        return None;
    }
    pack(&columns()).filter(|packed| packed.len() as u64 <= room)
}
