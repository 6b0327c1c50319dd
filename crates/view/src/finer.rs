//! Slices of a block at a higher resolution than the index has, from the trail.

use crate::index::{Bins, Detail};
use crate::slice::{EARLIER, Kind, Slice};
use crate::trace::Trace;
use crate::walk::{Begin, Open, Walk};
use jtrail_model::{ThreadId, Timestamp};
use rustc_hash::FxHashMap;
use std::io;
use std::mem::size_of;

/// The slices of all threads that end in a block, at a resolution.
#[derive(Debug)]
pub(crate) struct Finer {
    pub(crate) bins: Bins,
    pub(crate) threads: FxHashMap<ThreadId, Detail>,
}

impl Finer {
    /// Reads a block.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub(crate) fn read(trace: &Trace, [first, end]: [u32; 2], bins: Bins) -> io::Result<Self> {
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
        threads.values_mut().for_each(Detail::shrink);
        Ok(Self { bins, threads })
    }

    /// Returns about how many bytes of memory it takes.
    pub(crate) fn bytes(&self) -> usize {
        let all = self.threads.values().map(Detail::counts);
        let sizes = all.map(|[cells, long]| {
            cells * size_of::<crate::index::Cell>() + long * size_of::<Slice>() + 200
        });
        sizes.sum()
    }
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
