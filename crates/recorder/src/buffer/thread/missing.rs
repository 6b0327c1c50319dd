//! What a thread could not record: counted, and written down with the next chunk.

use super::{Owner, SWITCH_WORDS, ThreadBuffer};
use jtrail_records::record::{self, Code, word};
use std::sync::atomic::Ordering;

impl ThreadBuffer {
    /// Counts a record that is left out.
    pub(super) fn count_missing(&self, owner: &mut Owner, low: u64, payload: &[u64]) {
        let gap = owner.gaps.entry(owner.running).or_default();
        let before = gap.all();
        gap.count(low, payload);
        self.add_unwritten(gap.all() - before);
    }

    /// Writes down what is missing at this place, for each thread that it is missing for.
    pub(super) fn write_gaps(&self, owner: &mut Owner, now: u64) {
        for thread in owner.gaps.keys().copied().collect::<Vec<_>>() {
            self.write_gap_of(owner, now, thread); // or with the next chunk
        }
    }

    /// Writes down what is missing for a thread, and enters anew the calls that are still open, so
    /// that nesting stays exact; `false` if there is no room for that, but would be in another
    /// chunk.
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
        // Behind the record, so that a trace's end finds the loss in one of both places at least.
        self.add_unwritten(all.wrapping_neg());
        true
    }

    /// Adds to the number of what is left out and not written down; wraps. Only the owning thread
    /// writes it.
    fn add_unwritten(&self, events: u64) {
        let sum = self.unwritten.load(Ordering::Relaxed).wrapping_add(events);
        self.unwritten.store(sum, Ordering::Relaxed);
        self.line().unwritten.store(sum, Ordering::Relaxed);
    }
}
