//! Slices of a block at higher resolutions than the index has, from the trail.
//!
//! A block is read when a picture needs bins that are shorter than those of the index. Until then,
//! the picture is coarse. What was read is kept with shorter bins than were asked for: people often
//! look closer next.

use crate::cache::Cache;
use crate::index::{Bins, Detail, DetailColumns, Index, PackedDetail, Place};
use crate::slice::{EARLIER, Kind, Slice};
use crate::trace::Trace;
use crate::walk::{Begin, Open, Walk};
use jtrail_model::{ThreadId, Timestamp};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Number of resolutions of a step, each of which has bins half as long as the one before. A block
/// is kept at the last one. With more, blocks are read less often when people look closer, but take
/// more memory: a picture needs hundreds of blocks at the first resolution.
const RESOLUTIONS: u8 = 2;
/// Maximum memory of blocks, in bytes.
const MAX_BYTES: usize = 40 << 20;
/// Number of locks, so that two do not read the same block at a time.
const LOCKS: usize = 64;
/// A block that no picture has needed for so long is not read any more.
const FORGOTTEN: Duration = Duration::from_secs(2);

/// A block, and which of its resolutions: the first two, the next two, and so on.
pub(crate) type Step = (Place, u8);

/// The blocks of a trace at higher resolutions than the index has.
#[derive(Debug)]
pub(crate) struct FinerBlocks {
    cache: Mutex<Cache<Step, Finer>>,
    locks: Vec<Mutex<()>>,
    /// What is to be read, and when a picture has needed it. The last one comes first.
    queue: Mutex<Vec<(Step, Instant)>>,
    /// What can't be read.
    failed: Mutex<BTreeSet<Step>>,
}

/// The slices of all threads that end in a block, at a resolution.
#[derive(Debug)]
pub(crate) struct Finer {
    bins: Bins,
    threads: FxHashMap<ThreadId, PackedDetail>,
}

impl Default for FinerBlocks {
    fn default() -> Self {
        Self {
            cache: Mutex::new(Cache::new(MAX_BYTES)),
            locks: (0..LOCKS).map(|_| Mutex::default()).collect(),
            queue: Mutex::default(),
            failed: Mutex::default(),
        }
    }
}

/// Returns the step that has the bins of 2^`power` ns of a block.
pub(crate) fn step(index: &Index, block: Place, power: u8) -> Step {
    let steps = index.bins(block).power.saturating_sub(power).max(1);
    (block, (steps - 1) / RESOLUTIONS)
}

/// Returns the bins of a step.
fn bins(index: &Index, (block, number): Step) -> Bins {
    let bins = index.bins(block);
    let less = number.saturating_add(1).saturating_mul(RESOLUTIONS);
    Bins {
        power: bins.power.saturating_sub(less),
        ..bins
    }
}

impl FinerBlocks {
    /// Returns a step of a block if it was read.
    pub(crate) fn get(&self, step: Step) -> Option<Arc<Finer>> {
        self.cache.lock().get(step)
    }

    /// Returns true if a step of a block can't be read.
    pub(crate) fn has_failed(&self, step: Step) -> bool {
        self.failed.lock().contains(&step)
    }

    /// Says that a picture needs steps of blocks. The last one is read first.
    pub(crate) fn ask(&self, steps: impl Iterator<Item = Step>) {
        let queue = &mut *self.queue.lock();
        let now = Instant::now();
        for step in steps {
            queue.retain(|(other, _)| *other != step);
            queue.push((step, now));
        }
    }

    /// Reads the step that was asked for last. Returns false if there is none.
    pub(crate) fn read_next(&self, trace: &Trace) -> bool {
        let next = {
            let queue = &mut *self.queue.lock();
            queue.retain(|(_, asked)| asked.elapsed() < FORGOTTEN);
            queue.pop()
        };
        let Some((step, _)) = next else {
            return false;
        };
        if let Some(index) = trace.index()
            && self.read(trace, &index, step).is_err()
        {
            self.failed.lock().insert(step);
        }
        true
    }

    /// Returns a step of a block, and reads it if needed.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub(crate) fn read(&self, trace: &Trace, index: &Index, step: Step) -> io::Result<Arc<Finer>> {
        let (level, number) = step.0;
        let _lock = self.locks[(level + number) % LOCKS].lock();
        if let Some(finer) = self.get(step) {
            return Ok(finer);
        }
        let finer = Finer::read(trace, index.segments(step.0), bins(index, step))?;
        let bytes = finer.bytes();
        let finer = Arc::new(finer);
        self.cache.lock().put(step, Arc::clone(&finer), bytes);
        Ok(finer)
    }
}

impl Finer {
    /// Reads a block.
    fn read(trace: &Trace, segments: [u32; 2], bins: Bins) -> io::Result<Self> {
        let threads = read_threads(trace, segments, bins)?;
        let packed = threads.into_iter().map(|(id, detail)| {
            let packed = PackedDetail::new(&detail, bins.origin);
            Ok((id, packed.ok_or(io::ErrorKind::FileTooLarge)?))
        });
        let threads = packed.collect::<io::Result<_>>()?;
        Ok(Self { bins, threads })
    }

    /// Returns the bins.
    pub(crate) fn bins(&self) -> Bins {
        self.bins
    }

    /// Returns the slices of a thread; `None` if they can't be unpacked.
    pub(crate) fn detail(&self, thread: ThreadId) -> Option<DetailColumns> {
        match self.threads.get(&thread) {
            Some(packed) => packed.columns(),
            None => Some(DetailColumns::default()),
        }
    }

    /// Returns about how many bytes of memory it takes.
    fn bytes(&self) -> usize {
        let all = self.threads.values();
        all.map(|packed| packed.bytes() + 100).sum()
    }
}

/// Reads the slices of all threads that end in a block.
fn read_threads(
    trace: &Trace,
    [first, end]: [u32; 2],
    bins: Bins,
) -> io::Result<FxHashMap<ThreadId, Detail>> {
    let mut threads: FxHashMap<ThreadId, Detail> = FxHashMap::default();
    // Waits that have begun in the block.
    let mut waits: FxHashMap<ThreadId, Timestamp> = FxHashMap::default();
    for number in first..end {
        let walked = trace.walk(number as usize, &mut Visitor { bins })?;
        for (id, thread) in walked {
            let mut state = thread.state;
            if !thread.is_running {
                continue;
            }
            let begin = waits.remove(&id);
            // A wait that began in another block is in the index.
            if let Some((wait, begin)) = state.ended_wait.zip(begin) {
                let wait = Slice { begin, ..wait };
                state.detail.push_front(&wait, bins);
            }
            let open = thread.open.last().map(|open| open.extra);
            if let Some(wait) = open.filter(|slice| !slice.kind.is_call()) {
                waits.insert(id, wait.begin);
            }
            threads.entry(id).or_default().append(state.detail);
        }
    }
    Ok(threads)
}

/// Collects the slices of a segment.
struct Visitor {
    bins: Bins,
}

#[derive(Default)]
struct State {
    detail: Detail,
    /// The wait that began in an earlier segment and ends here.
    ended_wait: Option<Slice>,
    has_ended: bool,
}

impl Walk for Visitor {
    type Extra = Slice;
    type Thread = State;

    fn thread(&mut self, _: ThreadId) -> State {
        State::default()
    }

    #[inline]
    fn begin(&mut self, _: &mut State, open: &[Open<Slice>], begin: Begin) -> Slice {
        begin.slice(open.len())
    }

    #[inline]
    fn end(
        &mut self,
        state: &mut State,
        _: &[Open<Slice>],
        ended: Open<Slice>,
        (end, kind): (Timestamp, Kind),
    ) {
        let slice = Slice {
            end,
            kind,
            ..ended.extra
        };
        if !kind.is_call() && slice.begin == EARLIER && !state.has_ended {
            state.ended_wait = Some(slice);
        } else {
            state.detail.push(&slice, self.bins);
        }
        state.has_ended = true;
    }
}
