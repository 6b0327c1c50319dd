//! The slices of a segment.

use crate::slice::{EARLIER, Kind, LATER, Slice};
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
}

impl ThreadSlices {
    /// Passes the slices that end here to `visit`, callees before their caller, and those that are
    /// open at the end if `is_last`, outermost first. `wait` is the begin of the wait that is open
    /// at the end of the thread's segment before, and becomes the one that is open at the end of
    /// this segment.
    pub(crate) fn visit(
        &self,
        wait: &mut Option<Timestamp>,
        is_last: bool,
        mut visit: impl FnMut(&Slice),
    ) {
        for slice in &self.ended {
            match wait.take() {
                Some(begin) if slice.begin == EARLIER => visit(&Slice { begin, ..*slice }),
                _ => visit(slice),
            }
        }
        if is_last {
            self.open.iter().for_each(visit);
        }
        let last = self.open.last().filter(|slice| !slice.kind.is_call());
        *wait = last.map(|slice| slice.begin);
    }
}

impl Segment {
    /// Decodes a segment.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if the segment is damaged.
    pub(crate) fn decode(trace: &Trace, number: usize) -> io::Result<Self> {
        let threads = trace.walk(&mut trace.reader()?, number, &mut Slices)?;
        let threads = threads.into_iter().map(|(id, thread)| {
            let mut ended = thread.state;
            ended.shrink_to_fit();
            let open = thread.open.into_iter().map(|open| open.extra).collect();
            (id, ThreadSlices { ended, open })
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

impl ThreadSlices {
    /// Returns the begin of the wait that is open at the end.
    pub(crate) fn open_wait(&self) -> Option<Timestamp> {
        let last = self.open.last().filter(|slice| !slice.kind.is_call());
        last.map(|slice| slice.begin)
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
        Slice {
            begin: begin.time,
            end: LATER,
            method: begin.method,
            level: open.len() as u32,
            kind: begin.kind,
        }
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
