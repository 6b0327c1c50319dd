//! Counts the records that a thread could not store, and notes the losses in the next chunk.

use super::{Owner, SWITCH_WORDS, ThreadBuffer};
use jtrail_records::record::{self, Code, word};
use std::sync::atomic::Ordering;

impl ThreadBuffer {
    /// Counts a record that is dropped.
    pub(super) fn count_missing(&self, owner: &mut Owner, low: u64, payload: &[u64]) {
        let gap = owner.gaps.entry(owner.running).or_default();
        let before = gap.all();
        gap.count(low, payload);
        self.add_unwritten(gap.all() - before);
    }

    /// Records the losses of all threads.
    pub(super) fn write_gaps(&self, owner: &mut Owner, now: u64) {
        for thread in owner.gaps.keys().copied().collect::<Vec<_>>() {
            self.write_gap_of(owner, now, thread); // if there is no room, the next chunk gets it
        }
    }

    /// Records the losses of a thread, and repeats the enters of its calls that are still open, so
    /// that the nesting stays exact. Returns false if this chunk has no room for that, and an empty
    /// chunk would have.
    pub(super) fn write_gap_of(&self, owner: &mut Owner, now: u64, thread: u32) -> bool {
        let Some(gap) = owner.gaps.get(&thread) else {
            return true;
        };
        let words = 2 * SWITCH_WORDS + 4 + gap.open.len();
        if !self.has_room(owner, owner.limit, now, words) {
            return gap.is_deep();
        }
        let gap = owner.gaps.remove(&thread).unwrap_or_default();
        let all = gap.all();
        let running = std::mem::replace(&mut owner.running, thread);
        self.store_header(owner, now);
        let open = gap.open.len() as u64;
        let lost = record::lost(gap.events - open, gap.closed);
        self.push(
            word(now, record::coded(Code::Lost)),
            &[lost, gap.others, open],
        );
        for method in gap.open {
            self.push(word(now, record::enter(method)), &[]);
        }
        owner.running = running;
        self.store_header(owner, now);
        // The number decreases only after the record is published. So when a trace ends, the writer
        // finds the loss in the record, in the number, or in both.
        self.add_unwritten(all.wrapping_neg());
        true
    }

    /// Adds `events` to the number of lost events that no record counts yet. The sum wraps, so that
    /// numbers can be subtracted. Only the owning thread calls this.
    fn add_unwritten(&self, events: u64) {
        let sum = self.unwritten.load(Ordering::Relaxed).wrapping_add(events);
        self.unwritten.store(sum, Ordering::Relaxed);
        self.line().unwritten.store(sum, Ordering::Relaxed);
    }
}
