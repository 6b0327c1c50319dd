//! What other events than those of calls tell: collections and CPU times.

use super::{MAX_COLLECTIONS, Overview};
use crate::cpu::Reading;
use crate::trace::Trace;
use jtrail_model::{Event, ThreadId};
use std::io;
use std::ops::Range;

impl Overview {
    pub(super) fn collect(&mut self, event: &Event<'_>) {
        match event {
            Event::GcStart(e) => self.collection.begin = e.time,
            Event::GcDetail(e) => {
                self.collection.generation = e.generation;
                self.collection.cause = e.cause.to_string();
            }
            Event::GcFinish(e) => {
                let mut collection = std::mem::take(&mut self.collection);
                (collection.end, collection.used) = (e.time, e.used_space);
                collection.begin = collection.begin.max(self.intervals.span[0]);
                if e.used_space > 0 {
                    self.heap[self.intervals.of(e.time)] = Some(e.used_space);
                }
                if self.collections.len() < MAX_COLLECTIONS {
                    self.collections.push(collection);
                }
            }
            Event::ThreadCpu(e) => {
                let (time, cpu) = (e.time, e.cpu_time.0);
                self.read_cpu(e.thread, [Reading { time, cpu }; 2]);
            }
            _ => {}
        }
    }

    /// Adds the next reading of a thread's CPU time, and leaves its last one for those that follow.
    pub(super) fn read_cpu(&mut self, thread: ThreadId, [first, last]: [Reading; 2]) {
        if let Some(before) = self.cpu.insert(thread, last) {
            let intervals = self.intervals;
            self.row(thread).add_cpu(intervals, [before, first]);
        }
    }

    /// Adds the readings in a range of segments, of which no time lies in the span.
    pub(super) fn read_outside(&mut self, trace: &Trace, range: Range<usize>) -> io::Result<()> {
        for (thread, both) in trace.readings(range)?.0 {
            if self.only.as_ref().is_none_or(|only| only.contains(&thread)) {
                self.read_cpu(thread, both);
            }
        }
        Ok(())
    }
}
