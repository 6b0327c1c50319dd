//! The slices of a segment.

use crate::slice::{EARLIER, Kind, Slice};
use crate::trace::Trace;
use crate::walk::{Begin, Open, Walk};
use jtrail_model::{ThreadId, Timestamp};
use rustc_hash::FxHashMap;
use std::io;
use std::mem::size_of;

/// A decoded segment.
#[derive(Debug, Default)]
pub(crate) struct Segment {
    threads: FxHashMap<ThreadId, ThreadSlices>,
}

/// The slices of a thread in a segment.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ThreadSlices {
    /// Those that end here, in the order of their ends.
    pub(crate) ended: Vec<Slice>,
    /// Those that are open at the end, outermost first.
    pub(crate) open: Vec<Slice>,
    /// False if the thread goes on with what it did before.
    pub(crate) is_running: bool,
}

impl ThreadSlices {
    /// Returns true if a wait may be open at the begin.
    pub(crate) fn needs_wait(&self) -> bool {
        !self.is_running || self.begins_in_wait()
    }

    /// Returns true if the first thing that ends here is a wait that began earlier.
    pub(crate) fn begins_in_wait(&self) -> bool {
        self.ended.first().is_some_and(Slice::is_earlier_wait)
    }

    /// Passes the slices that end here to `visit`, callees before their caller. `wait` is the one
    /// that is open at the end of the thread's segment before, and becomes the one that is open at
    /// the end of this segment.
    pub(crate) fn visit(&self, wait: &mut Option<Slice>, mut visit: impl FnMut(&Slice)) {
        if !self.is_running {
            return;
        }
        for slice in &self.ended {
            match wait.take() {
                Some(Slice { begin, .. }) if slice.begin == EARLIER => {
                    visit(&Slice { begin, ..*slice });
                }
                _ => visit(slice),
            }
        }
        *wait = self.open_wait();
    }

    /// Returns what is open at the end, outermost first. `wait` is the wait that is open there.
    pub(crate) fn open_at_end(
        &self,
        wait: Option<Slice>,
    ) -> impl DoubleEndedIterator<Item = Slice> {
        let calls = self.open.iter().filter(|slice| slice.kind.is_call());
        calls.copied().chain(wait)
    }

    /// Returns the wait that begins here and is open at the end.
    pub(crate) fn open_wait(&self) -> Option<Slice> {
        self.open
            .last()
            .copied()
            .filter(|slice| !slice.kind.is_call())
    }
}

impl Segment {
    /// Decodes a segment.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if the segment is damaged.
    pub(crate) fn decode(trace: &Trace, number: usize) -> io::Result<Self> {
        let threads = trace.walk(number, &mut Slices)?;
        let threads = threads.into_iter().map(|(id, thread)| {
            let mut ended = thread.state;
            ended.shrink_to_fit();
            let slices = ThreadSlices {
                ended,
                open: thread.open.into_iter().map(|open| open.extra).collect(),
                is_running: thread.is_running,
            };
            (id, slices)
        });
        Ok(Self {
            threads: threads.collect(),
        })
    }

    /// Returns the slices of a thread.
    pub(crate) fn thread(&self, id: ThreadId) -> Option<&ThreadSlices> {
        self.threads.get(&id)
    }

    /// Returns about how many bytes of memory the segment takes.
    pub(crate) fn bytes(&self) -> usize {
        let slices = |t: &ThreadSlices| t.ended.capacity() + t.open.capacity();
        let all: usize = self.threads.values().map(slices).sum();
        let per_thread = size_of::<(ThreadId, ThreadSlices)>();
        size_of::<Self>() + all * size_of::<Slice>() + self.threads.capacity() * per_thread
    }
}

/// Makes slices of begins and ends.
struct Slices;

impl Walk for Slices {
    type Extra = Slice;
    type Thread = Vec<Slice>;

    fn thread(&mut self, _: ThreadId) -> Vec<Slice> {
        Vec::new()
    }

    #[inline]
    fn begin(&mut self, _: &mut Vec<Slice>, open: &[Open<Slice>], begin: Begin) -> Slice {
        begin.slice(open.len())
    }

    #[inline]
    fn end(
        &mut self,
        ended: &mut Vec<Slice>,
        _: &[Open<Slice>],
        open: Open<Slice>,
        (end, kind): (Timestamp, Kind),
    ) {
        ended.push(Slice {
            end,
            kind,
            ..open.extra
        });
    }
}
