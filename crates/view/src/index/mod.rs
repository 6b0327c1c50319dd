//! The index of a trail: what pictures and sums of long spans need, so that they read a small part
//! of the trail.
//!
//! Segments of about a MiB together are a *block*. Each four blocks are a *node* of level 1, each
//! four of these one of level 2, and so on; blocks are the nodes of level 0. A node has
//!
//! - for each thread its slices, at a resolution of its own: what is shorter than a bin of 2^n ns
//!   is counted by bin and level, and everything else is there with its exact times
//! - for each thread what it does by bin
//! - sums by thread and method, and by thread and call path, if they take few bytes
//! - allocations, exceptions, the longest waits, and the calls of each method by bin, if they take
//!   few bytes
//!
//! A node takes as many bytes as others of its level: with each level, bins get four times as long.
//! So a picture of any width takes nodes whose bins are not longer than its pixels, and nothing
//! else. Where the bins of blocks are longer, the trail is read.
//!
//! | Module | Contents |
//! |---|---|
//! | `summary` | what the index says of a segment |
//! | `bins` | slices at a resolution |
//! | `lanes` | what a thread does by bin |
//! | `paths` | sums by thread and call path |
//! | `totals` | sums by thread, and by method or edge of the call graph |
//! | `readings` | the first and the last readings of CPU time |
//! | `events` | allocations and exceptions |
//! | `waits` | the longest waits |
//! | `calls` | calls of each method by bin, and the longest one |
//! | `facts` | what it says of the whole trace |
//! | `node` | nodes, and how long their bins are |
//! | `build` | makes the index |
//! | `encode` | its parts as bytes |
//! | `file` | the file |
//! | `new_file` | a file that appears when it is complete |

mod bins;
mod build;
mod calls;
mod encode;
mod events;
mod facts;
mod file;
mod lanes;
mod new_file;
mod node;
mod paths;
mod readings;
mod room;
mod summary;
mod totals;
mod waits;

pub(crate) use bins::{Bins, Cell, Detail, MAX_LEVELS};
pub(crate) use calls::CallsOf;
pub(crate) use encode::{DetailColumns, PackedDetail};
pub(crate) use facts::Facts;
pub(crate) use lanes::Lanes;
pub(crate) use paths::ThreadPaths;
pub use room::IndexSizes;
pub(crate) use totals::{OfThread, ThreadTotals};
pub(crate) use waits::NodeWaits;

use crate::cache::Cache;
use crate::cpu::Readings;
use crate::events::{EventSums, Sites};
use crate::slice::Slice;
use crate::sums::{Edge, Method, Subject};
use crate::trace::Trace;
use crate::waits::Wait;
use calls::CallColumns;
use encode::{PathColumns, TotalColumns};
use events::EventColumns;
use file::{Across, Directory, Entry, Fingerprint, OfThreads, Reasons, Section};
use jtrail_model::{MethodId, ObjectId, ThreadId, Timestamp};
use lanes::MAX_POWER;
use new_file::NewFile;
use parking_lot::Mutex;
use readings::ReadingColumns;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::mem::size_of;
use std::path::Path;
use std::sync::Arc;
use waits::WaitColumns;

/// What is added to the name of a trail for that of its index.
pub const EXTENSION: &str = "idx";

/// Maximum memory of the places of the slices of threads, in bytes.
const MAX_THREADS: usize = 8 << 20;

/// The index of a trail.
#[derive(Debug)]
pub(crate) struct Index {
    file: File,
    origin: Timestamp,
    directory: Directory,
    facts: Facts,
    across: BTreeMap<ThreadId, Vec<Slice>>,
    sites: Sites,
    threads: Mutex<Cache<Place, OfThreads>>,
}

/// A node's place: its level, and its number there.
pub(crate) type Place = (usize, usize);

impl Index {
    /// Opens the index of a trace. Returns `None` if it is missing, damaged, or of another trail.
    /// Numbers of methods are those of the index from now on.
    ///
    /// # Errors
    /// If a file can't be read.
    pub(crate) fn open(path: &Path, trace: &Trace) -> io::Result<Option<Self>> {
        let Some((file, directory)) = opened(trace.path(), path)? else {
            return Ok(None);
        };
        let mut entries = directory.levels.iter().flatten();
        if entries.any(|entry| entry.powers().iter().any(|power| *power > MAX_POWER)) {
            return Ok(None);
        }
        let origin = trace.span()[0];
        let Some(methods) = section::<Vec<u64>>(&file, directory.methods)? else {
            return Ok(None);
        };
        let Some(Across(rows)) = section(&file, directory.across)? else {
            return Ok(None);
        };
        let Some(facts) = section(&file, directory.facts)? else {
            return Ok(None);
        };
        let Some(sites) = section::<Vec<(String, i64)>>(&file, directory.sites)? else {
            return Ok(None);
        };
        let mut across = BTreeMap::new();
        for (id, rows) in rows {
            let slices: Option<Vec<Slice>> = rows.iter().map(|row| row.slice(origin)).collect();
            let Some(slices) = slices else {
                return Ok(None);
            };
            across.insert(ThreadId(id), slices);
        }
        if !trace.set_methods(methods.into_iter().map(MethodId)) {
            return Ok(None);
        }
        Ok(Some(Self {
            file,
            origin,
            directory,
            facts,
            across,
            sites: Sites::from_iter(sites),
            threads: Mutex::new(Cache::new(MAX_THREADS)),
        }))
    }

    /// Makes the index of a trace and writes it to `out`. `progress` is called now and then with
    /// the number of bytes of the trail that were read. If it returns false, the index stays
    /// incomplete. Returns true if it is complete.
    ///
    /// # Errors
    /// If the trail can't be read, the output fails, or `InvalidData` if a segment is damaged.
    pub(crate) fn build(
        trace: &Trace,
        sizes: IndexSizes,
        out: impl Write,
        progress: impl FnMut(u64) -> bool,
    ) -> io::Result<bool> {
        let fingerprint = Fingerprint::of(&mut File::open(trace.path())?)?;
        build::build(trace, fingerprint, sizes, out, progress)
    }

    /// Returns what the index says of the whole trace.
    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Returns the waits of a thread from one block into another, and its slices that never end.
    pub(crate) fn across(&self, thread: ThreadId) -> &[Slice] {
        self.across.get(&thread).map_or(&[], Vec::as_slice)
    }

    /// Returns the first segment of the block that has a segment.
    pub(crate) fn block_begin(&self, segment: usize) -> usize {
        let block = self.block(segment);
        block.map_or(0, |block| block.segments[0] as usize)
    }

    fn block(&self, segment: usize) -> Option<&Entry> {
        let blocks = self.directory.levels.first()?;
        let after = blocks.partition_point(|block| block.segments[0] as usize <= segment);
        blocks.get(after.checked_sub(1)?)
    }

    /// Returns the wait of a thread that begins before the block of a segment, and does not end
    /// before it.
    pub(crate) fn wait_before(&self, thread: ThreadId, segment: usize) -> Option<Slice> {
        let [first, _] = self.block(segment)?.times?;
        let time = Timestamp(self.origin.0.wrapping_add(first));
        let waits = self.across(thread).iter();
        waits
            .filter(|slice| !slice.kind.is_call() && slice.begin < time && slice.end >= time)
            .max_by_key(|wait| wait.begin)
            .copied()
    }

    /// Returns the nodes at the top.
    pub(crate) fn top(&self) -> impl DoubleEndedIterator<Item = Place> + use<> {
        // The last nodes of a level may have none above.
        let levels = &self.directory.levels;
        let mut all = Vec::new();
        let mut covered = 0;
        for (level, nodes) in levels.iter().enumerate().rev() {
            all.extend((covered..nodes.len()).map(|number| (level, number)));
            covered = nodes.len() * build::FANOUT;
        }
        all.into_iter()
    }

    /// Returns the nodes that a node consists of; none if it is a block.
    pub(crate) fn below(
        &self,
        (level, number): Place,
    ) -> impl DoubleEndedIterator<Item = Place> + use<> {
        let below = level.checked_sub(1);
        let count = below.map_or(0, |below| self.directory.levels[below].len());
        let first = number * build::FANOUT;
        let range = first.min(count)..(first + build::FANOUT).min(count);
        range.map(move |number| (level - 1, number))
    }

    fn entry(&self, (level, number): Place) -> &Entry {
        &self.directory.levels[level][number]
    }

    /// Returns the bins of a node.
    pub(crate) fn bins(&self, place: Place) -> Bins {
        Bins {
            origin: self.origin,
            power: self.entry(place).power,
        }
    }

    /// Returns the bins of lanes of a node.
    pub(crate) fn lane_bins(&self, place: Place) -> Bins {
        Bins {
            origin: self.origin,
            power: self.entry(place).lane_power,
        }
    }

    /// Returns all waits from one block into another, and slices that never end, by thread.
    pub(crate) fn all_across(&self) -> impl Iterator<Item = (ThreadId, &[Slice])> {
        self.across.iter().map(|(id, slices)| (*id, &**slices))
    }

    /// Returns the segments of a node, from the first one up to the one after the last.
    pub(crate) fn segments(&self, place: Place) -> [u32; 2] {
        self.entry(place).segments
    }

    /// Returns the first and the last time of a node.
    pub(crate) fn times(&self, place: Place) -> Option<[Timestamp; 2]> {
        let times = self.entry(place).times?;
        Some(times.map(|since| Timestamp(self.origin.0.wrapping_add(since))))
    }

    /// Returns the slices of a thread that end in a node; `None` if they are not in the index, but
    /// in the trail.
    ///
    /// # Errors
    /// If the file can't be read.
    pub(crate) fn detail(
        &self,
        place: Place,
        thread: ThreadId,
    ) -> io::Result<Option<DetailColumns>> {
        let Some(threads) = self.threads(place)? else {
            return Ok(None);
        };
        let found = threads.0.binary_search_by_key(&thread.0, |(id, _)| *id);
        let Ok(at) = found else {
            // The thread has no events here.
            return Ok(Some(DetailColumns::default()));
        };
        let columns = section(&self.file, threads.0[at].1)?;
        Ok(columns.filter(DetailColumns::is_consistent))
    }

    fn threads(&self, place: Place) -> io::Result<Option<Arc<OfThreads>>> {
        if let Some(threads) = self.threads.lock().get(place) {
            return Ok(Some(threads));
        }
        let threads = section::<OfThreads>(&self.file, self.entry(place).threads)?;
        let Some(threads) = threads.map(Arc::new) else {
            return Ok(None);
        };
        let bytes = threads.0.len() * size_of::<(u64, Option<Section>)>() + 100;
        self.threads.lock().put(place, Arc::clone(&threads), bytes);
        Ok(Some(threads))
    }

    /// Returns what each thread does by bin; `None` if it is damaged.
    ///
    /// # Errors
    /// If the file can't be read.
    pub(crate) fn lanes(&self, place: Place) -> io::Result<Option<Vec<(ThreadId, Lanes)>>> {
        let columns = section::<encode::LaneColumns>(&self.file, self.entry(place).lanes)?;
        Ok(columns.and_then(|columns| columns.lanes()))
    }

    /// Returns the first and the last readings of CPU time; `None` if they are not known.
    ///
    /// # Errors
    /// If the file can't be read.
    pub(crate) fn readings(&self, place: Place) -> io::Result<Option<Readings>> {
        let columns = section::<ReadingColumns>(&self.file, self.entry(place).readings)?;
        Ok(columns.and_then(|columns| columns.readings(self.origin)))
    }

    /// Returns false if the trace has no readings of CPU time.
    ///
    /// # Errors
    /// If the file can't be read.
    pub(crate) fn has_cpu(&self) -> io::Result<bool> {
        for place in self.top() {
            let readings = self.readings(place)?;
            if readings.is_none_or(|readings| !readings.0.is_empty()) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns true if a node has sums of allocations and exceptions.
    pub(crate) fn has_events(&self, place: Place) -> bool {
        self.entry(place).events.is_some()
    }

    /// Returns the sums of allocations and exceptions; `None` if there are none or they are
    /// damaged.
    ///
    /// # Errors
    /// If the file can't be read.
    pub(crate) fn events(&self, place: Place) -> io::Result<Option<EventSums>> {
        let columns = section::<EventColumns>(&self.file, self.entry(place).events)?;
        Ok(columns.and_then(|columns| columns.sums(self.origin)))
    }

    /// Returns the sites of exceptions.
    pub(crate) fn sites(&self) -> &Sites {
        &self.sites
    }

    /// Returns the longest waits that begin and end in one block of a node; `None` if there are
    /// none or they are damaged.
    ///
    /// # Errors
    /// If the file can't be read.
    pub(crate) fn waits(&self, place: Place) -> io::Result<Option<NodeWaits>> {
        let columns = section::<WaitColumns>(&self.file, self.entry(place).waits)?;
        Ok(columns.and_then(|columns| columns.waits(self.origin)))
    }

    /// Returns the waits from one block into another, and those that never end.
    ///
    /// # Errors
    /// If the file can't be read.
    pub(crate) fn crossing_waits(&self) -> io::Result<Vec<Wait>> {
        let reasons = section::<Reasons>(&self.file, self.directory.reasons)?;
        let reasons: BTreeMap<u64, _> = reasons.unwrap_or_default().0.into_iter().collect();
        let mut all = Vec::new();
        for (thread, slices) in &self.across {
            let waits = slices.iter().filter(|slice| !slice.kind.is_call());
            let of_thread = reasons.get(&thread.0).map_or(&[][..], Vec::as_slice);
            for (place, wait) in waits.enumerate() {
                let [object, owner] = of_thread.get(place).copied().unwrap_or_default();
                all.push(Wait {
                    thread: *thread,
                    begin: wait.begin,
                    end: wait.end,
                    level: wait.level,
                    kind: wait.kind,
                    object: ObjectId(object),
                    owner: ThreadId(owner),
                });
            }
        }
        Ok(all)
    }

    /// Returns the bins of the calls of methods of a node; `None` if it has none.
    pub(crate) fn call_bins(&self, place: Place) -> Option<Bins> {
        let entry = self.entry(place);
        entry.calls.map(|_| Bins {
            origin: self.origin,
            power: entry.call_power,
        })
    }

    /// Returns the calls of a method; `None` if there are none or they are damaged.
    ///
    /// # Errors
    /// If the file can't be read.
    pub(crate) fn calls_of(&self, place: Place, method: u32) -> io::Result<Option<CallsOf>> {
        let columns = section::<CallColumns>(&self.file, self.entry(place).calls)?;
        Ok(columns.and_then(|columns| columns.of(method, self.origin)))
    }

    /// Returns true if a node has sums by method.
    pub(crate) fn has_methods(&self, place: Place) -> bool {
        self.entry(place).methods.is_some()
    }

    /// Returns the sums by thread and method; `None` if there are none or they are damaged.
    ///
    /// # Errors
    /// If the file can't be read.
    pub(crate) fn methods(&self, place: Place) -> io::Result<Option<ThreadTotals<Method>>> {
        self.totals(self.entry(place).methods)
    }

    /// Returns true if a node has sums by edge of the call graph.
    pub(crate) fn has_edges(&self, place: Place) -> bool {
        self.entry(place).edges.is_some()
    }

    /// Returns the sums by thread and edge of the call graph; `None` if there are none or they are
    /// damaged.
    ///
    /// # Errors
    /// If the file can't be read.
    pub(crate) fn edges(&self, place: Place) -> io::Result<Option<ThreadTotals<Edge>>> {
        self.totals(self.entry(place).edges)
    }

    fn totals<S: Subject>(&self, place: Option<Section>) -> io::Result<Option<ThreadTotals<S>>> {
        let columns = section::<TotalColumns>(&self.file, place)?;
        Ok(columns.and_then(|columns| columns.totals(self.origin)))
    }

    /// Returns true if a node has sums by call path.
    pub(crate) fn has_paths(&self, place: Place) -> bool {
        self.entry(place).paths.is_some()
    }

    /// Returns true if a node has sums of each call path by itself.
    pub(crate) fn has_all_paths(&self, place: Place) -> bool {
        self.has_paths(place) && self.entry(place).has_all_paths
    }

    /// Returns the sums by thread and call path, in which one may stand for several; `None` if
    /// there are none or they are damaged.
    ///
    /// # Errors
    /// If the file can't be read.
    pub(crate) fn paths(&self, place: Place) -> io::Result<Option<ThreadPaths>> {
        let columns = section::<PathColumns>(&self.file, self.entry(place).paths)?;
        Ok(columns.and_then(|columns| columns.paths(self.origin)))
    }
}

/// Returns the saved analysis of a trail; `None` if its index is missing, damaged, that of another
/// trail, or has none.
///
/// # Errors
/// If a file can't be read.
pub fn saved_analysis(trail: &Path) -> io::Result<Option<Vec<u8>>> {
    let Some((file, directory)) = opened(trail, &trail.with_added_extension(EXTENSION))? else {
        return Ok(None);
    };
    let section = directory.analysis;
    section.map_or(Ok(None), |section| file::bytes(&file, section))
}

/// Opens an index. Returns `None` if it is missing, damaged, or that of another trail, or if the
/// trail was written later.
fn opened(trail: &Path, index: &Path) -> io::Result<Option<(File, Directory)>> {
    let mut file = match File::open(index) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut trail = File::open(trail)?;
    if trail.metadata()?.modified()? > file.metadata()?.modified()? {
        return Ok(None);
    }
    let fingerprint = Fingerprint::of(&mut trail)?;
    let directory = file::directory(&mut file, fingerprint)?;
    Ok(directory.map(|directory| (file, directory)))
}

/// Saves the analysis of a trail, which a report shows, in an index. Returns false if the index is
/// missing, damaged, or that of another trail.
///
/// # Errors
/// If a file can't be read or written.
pub fn save_analysis(trail: &Path, index: &Path, analysis: &[u8]) -> io::Result<bool> {
    let mut file = match File::options().read(true).write(true).open(index) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    let fingerprint = Fingerprint::of(&mut File::open(trail)?)?;
    file::add_analysis(&mut file, fingerprint, analysis)
}

/// Writes a file that is there when it is complete, in place of an index that is there. Returns
/// what `write` returns; if that is false, there is no file.
///
/// # Errors
/// If `write` fails, the file can't be written, or `AlreadyExists` if another file than an index is
/// there.
pub(crate) fn write_to(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<&mut File>) -> io::Result<bool>,
) -> io::Result<bool> {
    let is_other = match File::open(path) {
        Ok(mut file) => !file::is_index(&mut file)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(error),
    };
    if is_other {
        let message = format!("{}: another file than an index is there", path.display());
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, message));
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mut file = NewFile::create(folder)?;
    let mut out = BufWriter::new(file.file());
    if !write(&mut out)? {
        return Ok(false);
    }
    out.flush()?;
    drop(out);
    file.name(path, folder)?;
    Ok(true)
}

/// Reads a section; `None` if there is none, or it is damaged.
fn section<T: serde::de::DeserializeOwned>(
    file: &File,
    section: Option<Section>,
) -> io::Result<Option<T>> {
    section.map_or(Ok(None), |section| file::read(file, section))
}
