//! What happens in a segment, by equal intervals of time.

use super::{Counts, Intervals, Row};
use crate::slice::{EARLIER, Kind};
use crate::trace::Trace;
use crate::walk::{Begin, Open, Threads, Walk};
use jtrail_model::{Event, ThreadId, Timestamp};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;

/// What happens in a segment.
pub(super) struct Part {
    intervals: Intervals,
    pub(super) threads: BTreeMap<ThreadId, ThreadPart>,
    /// The other events than calls.
    pub(super) others: Vec<Event<'static>>,
}

/// What a thread does in a segment.
#[derive(Default)]
pub(super) struct ThreadPart {
    pub(super) row: Row,
    /// The end of a wait that began in an earlier segment.
    pub(super) ended: Option<(Timestamp, Kind)>,
    /// True if a call or wait has ended here.
    has_ended: bool,
    /// The wait that is open at the end.
    pub(super) waits: Option<(Timestamp, Kind)>,
    /// True if a call or wait begins or ends here.
    pub(super) is_running: bool,
}

impl Part {
    pub(super) fn of(trace: &Trace, number: usize, intervals: Intervals) -> io::Result<Self> {
        let mut part = Self {
            intervals,
            threads: BTreeMap::new(),
            others: Vec::new(),
        };
        let threads: Threads<Self> = trace.walk(number, &mut part)?;
        for (id, thread) in threads {
            let mut state = thread.state;
            let open = thread.open.last().and_then(|open| open.extra);
            (state.waits, state.is_running) = (open, thread.is_running);
            match part.threads.entry(id) {
                Entry::Vacant(entry) => _ = entry.insert(state),
                Entry::Occupied(mut entry) => {
                    state.row.add(std::mem::take(&mut entry.get_mut().row));
                    entry.insert(state);
                }
            }
        }
        Ok(part)
    }

    fn count(&mut self, thread: ThreadId, time: Timestamp, counts: Counts) {
        if self.intervals.has(time) {
            let interval = self.intervals.of(time);
            let thread = self.threads.entry(thread).or_default();
            *thread.row.at(interval) += counts;
        }
    }
}

impl Walk for Part {
    /// The begin and kind of a wait.
    type Extra = Option<(Timestamp, Kind)>;
    type Thread = ThreadPart;

    fn thread(&mut self, _: ThreadId) -> ThreadPart {
        ThreadPart::default()
    }

    #[inline]
    fn begin(
        &mut self,
        thread: &mut ThreadPart,
        _: &[Open<Self::Extra>],
        begin: Begin,
    ) -> Self::Extra {
        if !begin.kind.is_call() {
            return Some((begin.time, begin.kind));
        }
        if !begin.is_earlier && self.intervals.has(begin.time) {
            thread.row.at(self.intervals.of(begin.time)).calls += 1;
        }
        None
    }

    #[inline]
    fn end(
        &mut self,
        thread: &mut ThreadPart,
        _: &[Open<Self::Extra>],
        ended: Open<Self::Extra>,
        (end, kind): (Timestamp, Kind),
    ) {
        match ended.extra {
            None => {}
            // The begin of a wait that is not the first thing that ends is not known.
            Some((EARLIER, _)) if thread.has_ended => {}
            Some((EARLIER, _)) => thread.ended = Some((end, kind)),
            Some((begin, _)) => thread.row.add_wait(self.intervals, [begin, end], kind),
        }
        thread.has_ended = true;
    }

    fn other(&mut self, event: &Event<'_>) {
        let counts = Counts::default();
        match event {
            Event::ObjectAlloc(e) => {
                let bytes = e.size.max(0).unsigned_abs();
                self.count(
                    e.thread,
                    e.time,
                    Counts {
                        objects: 1,
                        bytes,
                        ..counts
                    },
                );
            }
            Event::AllocationSum(e) => {
                let (objects, bytes) = (e.objects, e.bytes);
                self.count(
                    e.thread,
                    e.time,
                    Counts {
                        objects,
                        bytes,
                        ..counts
                    },
                );
            }
            Event::ExceptionThrow(e) => {
                self.count(
                    e.thread,
                    e.time,
                    Counts {
                        exceptions: 1,
                        ..counts
                    },
                );
            }
            _ => {}
        }
        // `Events` sums these up.
        let is_summed = matches!(
            event,
            Event::ObjectAlloc(_) | Event::AllocationSum(_) | Event::ExceptionThrow(_)
        );
        let is_timeless = |time: &Timestamp| *time == Timestamp::default();
        // The agent's definition has the cost of recording. CPU time is spread over the time
        // between two readings, which may lie around the span.
        let is_of_trace = matches!(event, Event::AgentCreate(_) | Event::ThreadCpu(_));
        let is_in_span = |time| is_timeless(&time) || self.intervals.has(time);
        if !is_summed && (is_of_trace || event.time().is_none_or(is_in_span)) {
            self.others.push(event.clone().into_static());
        }
    }
}
