//! What a thread could not record: counted, and written down with the next chunk.

use super::super::record::{self, Code, word};
use super::{Owner, SWITCH_WORDS, ThreadBuffer};
use std::sync::atomic::Ordering;

impl ThreadBuffer {
    /// Counts a record that is left out.
    pub(super) fn count_missing(&self, owner: &mut Owner, low: u64, payload: &[u64]) {
        let gap = owner.gaps.entry(owner.running).or_default();
        let before = (gap.events, gap.others);
        gap.count(low, payload);
        self.add_unwritten(gap.events - before.0, gap.others - before.1);
    }

    /// Writes down what is missing at this place, for each thread that it is missing for.
    pub(super) fn write_gaps(&self, owner: &mut Owner, now: u64) {
        for thread in owner.gaps.keys().copied().collect::<Vec<_>>() {
            self.write_gap_of(owner, now, thread); // or with the next chunk
        }
    }

    /// Writes down what is missing for a thread, and enters anew the calls that are still open, so that nesting stays exact; `false` if
    /// there is no room for that, but would be in another chunk.
    pub(super) fn write_gap_of(&self, owner: &mut Owner, now: u64, thread: u32) -> bool {
        let Some(gap) = owner.gaps.get(&thread) else {
            return true;
        };
        let words = 2 * SWITCH_WORDS + 3 + gap.open.len();
        if !self.has_room(owner, owner.limit, now, words) {
            return gap.is_deep();
        }
        let gap = owner.gaps.remove(&thread).unwrap_or_default();
        let running = std::mem::replace(&mut owner.running, thread);
        self.tell_running(owner, now);
        let lost = gap.events - gap.open.len() as u64;
        self.push(
            word(now, record::coded(Code::Lost)),
            &[record::lost(lost, gap.closed), gap.others],
        );
        for method in gap.open {
            self.push(word(now, record::enter(method)), &[]);
        }
        owner.running = running;
        self.tell_running(owner, now);
        self.add_unwritten(gap.events.wrapping_neg(), gap.others.wrapping_neg());
        true
    }

    /// Adds to the numbers of what is left out and not written down; wraps. Only the owning thread writes them.
    fn add_unwritten(&self, calls: u64, others: u64) {
        let (all_calls, all_others) = &self.unwritten;
        for (all, more) in [(all_calls, calls), (all_others, others)] {
            let sum = all.load(Ordering::Relaxed).wrapping_add(more);
            all.store(sum, Ordering::Relaxed);
        }
    }
}
