//! What other events than those of calls tell: collections, CPU times and exceptions.

use super::{MAX_COLLECTIONS, Overview};
use jtrail_model::Event;

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
                let before = self.cpu.insert(e.thread, (e.time, e.cpu_time.0));
                if let Some((time, cpu)) = before.filter(|(_, cpu)| *cpu < e.cpu_time.0) {
                    let (intervals, more) = (self.intervals, e.cpu_time.0 - cpu);
                    let counts = self.counts(e.thread);
                    intervals.add_cpu(counts, [time, e.time], more);
                }
            }
            Event::ExceptionThrow(e) => {
                let site = self.analysis.frames.top(&e.stack);
                let times = self.throws.entry((e.class, site)).or_insert([e.time; 2]);
                *times = [times[0].min(e.time), times[1].max(e.time)];
            }
            _ => {}
        }
    }
}
