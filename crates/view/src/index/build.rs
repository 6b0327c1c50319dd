//! Makes the index of a trail.
//!
//! Workers read the segments and sum each one up. The calling thread joins their summaries: to
//! blocks of about a MiB of the trail, and each four nodes to one of the level above.

use super::encode::{DetailColumns, LaneColumns, MethodColumns, PathColumns, SliceRow, pack};
use super::facts::Facts;
use super::file::{Across, Directory, Entry, Fingerprint, OfThreads, Output, Section, since};
use super::methods::{OfThread, ThreadMethods};
use super::node::{Estimate, Node};
use super::summary::Summary;
use crate::slice::{EARLIER, LATER, Slice};
use crate::sums::ThreadSum;
use crate::trace::Trace;
use jtrail_model::{ThreadId, Timestamp};
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// Sizes of the parts of an index.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexSizes {
    /// Minimum size of a block in the trail, in bytes.
    pub block: u64,
    /// What pictures of a block take, in millionths of its size in the trail. Those of all levels
    /// together take a third more.
    pub pictures: u64,
    /// What sums by method of a node may take, in millionths of its size in the trail. Those of all
    /// nodes together may take twice that of the trail.
    pub methods: u64,
    /// What sums by call path of a node may take, in millionths of its size in the trail. Those of
    /// all nodes together may take twice that of the trail.
    pub paths: u64,
}

impl Default for IndexSizes {
    fn default() -> Self {
        Self {
            block: 1 << 20,
            pictures: 12_000,
            methods: 2_500,
            paths: 3_000,
        }
    }
}

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
        sum_bytes: [0; 2],
        waits: FxHashMap::default(),
        last_open: BTreeMap::new(),
        across: BTreeMap::new(),
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
    /// Bytes of all sums by method and by call path so far.
    sum_bytes: [u64; 2],
    /// Waits that have begun, with the first segments of their blocks.
    waits: FxHashMap<ThreadId, (Slice, u32)>,
    /// What is open at the end of each thread's latest segment.
    last_open: BTreeMap<ThreadId, Vec<Slice>>,
    across: BTreeMap<ThreadId, Vec<Slice>>,
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
        for (id, thread) in &mut summary.threads {
            if !thread.is_running {
                continue;
            }
            let before = self.waits.remove(id);
            if let Some(ended) = thread.ended_wait.take() {
                let begin = before.map_or(EARLIER, |(wait, _)| wait.begin);
                let wait = Slice { begin, ..ended };
                if before.is_some_and(|(_, block)| block == first) {
                    thread.detail.push_front(&wait, summary.bins);
                    thread
                        .lanes
                        .add_wait([begin, wait.end], wait.kind, summary.bins);
                } else {
                    self.across.entry(*id).or_default().push(wait);
                }
            }
            if let Some(wait) = thread.open.last().filter(|open| !open.kind.is_call()) {
                self.waits.insert(*id, (*wait, first));
            }
            self.last_open.insert(*id, std::mem::take(&mut thread.open));
        }
        for event in summary.others.drain(..) {
            self.facts.event(&event);
        }
        for (id, thread) in &summary.threads {
            summary.paths.of_threads.insert(*id, thread.sum);
        }
        block.add_segment(summary, bytes);
        if block.bytes >= self.sizes.block
            && let Some(block) = self.block.take()
        {
            self.finish(block, 0)?;
        }
        Ok(())
    }

    /// Writes a node, and adds it to the one above.
    fn finish(&mut self, mut node: Node, level: usize) -> io::Result<()> {
        let of_blocks = node.bytes * self.sizes.pictures / 1_000_000;
        node.fit(self.estimate, of_blocks >> (2 * level).min(62));
        let entry = self.write(&node)?;
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

    fn write(&mut self, node: &Node) -> io::Result<Entry> {
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
        Ok(Entry {
            segments: node.segments,
            times: node
                .times
                .map(|times| times.map(|time| since(time, origin))),
            power: node.bins.power,
            lane_power: node.lane_bins.power,
            threads,
            lanes,
            methods: self.methods(node)?,
            paths: self.paths(node)?,
        })
    }

    /// Writes the sums by method of a node, if there is room.
    fn methods(&mut self, node: &Node) -> io::Result<Option<Section>> {
        let count: usize = node.methods.0.values().map(|of| of.methods.len()).sum();
        let room = self.room(node, self.sum_bytes[0], self.sizes.methods);
        let columns = || MethodColumns::new(&node.methods, self.origin());
        let Some(packed) = packed(count, room, columns) else {
            return Ok(None);
        };
        self.sum_bytes[0] += packed.len() as u64;
        self.out.bytes(&packed).map(Some)
    }

    /// Writes the sums by call path of a node, if there is room.
    fn paths(&mut self, node: &Node) -> io::Result<Option<Section>> {
        let Some(paths) = &node.paths else {
            return Ok(None);
        };
        let room = self.room(node, self.sum_bytes[1], self.sizes.paths);
        let columns = || PathColumns::new(paths, self.origin());
        let Some(packed) = packed(paths.sums.tree.len(), room, columns) else {
            return Ok(None);
        };
        self.sum_bytes[1] += packed.len() as u64;
        self.out.bytes(&packed).map(Some)
    }

    /// Returns how many bytes sums of a node may take, if those of all others took `taken`, and
    /// they may take so many millionths of its size in the trail.
    fn room(&self, node: &Node, taken: u64, part: u64) -> u64 {
        let all = self
            .trace
            .end_of(node.segments[1].saturating_sub(1) as usize);
        let part = |bytes: u64| bytes * part / 1_000_000;
        part(2 * all).saturating_sub(taken).min(part(node.bytes))
    }

    /// Returns what each thread does in the whole trace. The calls that are open after a thread's
    /// last event last up to the trace's end.
    fn whole(&self, methods: &ThreadMethods) -> BTreeMap<ThreadId, ThreadSum> {
        let [_, last] = self.trace.ended(self.trace.span());
        let of_thread = |(id, of): (&ThreadId, &OfThread)| {
            let mut sum = of.sum;
            if !of.open[1].is_empty() {
                sum.busy += last.0.saturating_sub(of.times[1]).max(0);
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
