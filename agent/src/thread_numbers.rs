//! The numbers of threads, by the ids that Java gives them.
//!
//! What the JVM keeps for us with a thread (`GetThreadLocalStorage`) only that thread may ask for: HotSpot gives it up on the thread's
//! way out, whoever looks at it at that moment, and falls over it (seen on 17 with the sampler, after minutes). So whoever wants to know
//! of another thread asks here.

use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Threads that ended last: somebody may still hold a reference to them.
const REMEMBERED: usize = 4096;

/// Stands for the number of a thread that has ended, or is not to be told.
pub(crate) const ENDED: u32 = u32::MAX;

/// Numbers of the threads that have not ended. A thread whose `Thread` is not made yet has no id, which is 0, and is not in here.
#[derive(Default)]
pub(crate) struct ThreadNumbers {
    by_id: FxHashMap<i64, u32>,
    ended: VecDeque<i64>,
}

impl ThreadNumbers {
    /// The number of a thread that has one. `None` for one that has ended, or is not to be told.
    pub(crate) fn known(&self, id: i64) -> Option<u32> {
        self.by_id
            .get(&id)
            .copied()
            .filter(|number| *number != ENDED)
    }

    /// As [`Self::known`], from `new` for a thread that has none.
    pub(crate) fn known_or(&mut self, id: i64, new: impl FnOnce() -> u32) -> Option<u32> {
        if self.by_id.contains_key(&id) {
            return self.known(id);
        }
        let number = new();
        self.set(id, number);
        Some(number)
    }

    /// A thread has that number.
    pub(crate) fn set(&mut self, id: i64, number: u32) {
        if id != 0 {
            self.by_id.insert(id, number);
        }
    }

    /// A thread has ended.
    pub(crate) fn end(&mut self, id: i64) {
        if self.known(id).is_none() {
            return;
        }
        self.by_id.insert(id, ENDED);
        self.ended.push_back(id);
        if self.ended.len() > REMEMBERED
            && let Some(oldest) = self.ended.pop_front()
        {
            self.by_id.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_its_number_until_its_end() {
        let mut numbers = ThreadNumbers::default();
        assert_eq!(numbers.known_or(7, || 1), Some(1));
        assert_eq!(numbers.known_or(7, || 2), Some(1));
        assert_eq!((numbers.known(7), numbers.known(8)), (Some(1), None));
        numbers.end(7);
        assert_eq!((numbers.known(7), numbers.known_or(7, || 2)), (None, None));
        numbers.set(8, ENDED);
        assert_eq!(numbers.known_or(8, || 2), None);
    }

    #[test]
    fn threads_without_an_id_are_not_mixed_up() {
        let mut numbers = ThreadNumbers::default();
        assert_eq!(numbers.known_or(0, || 1), Some(1));
        assert_eq!(numbers.known_or(0, || 2), Some(2));
        numbers.end(0);
        assert_eq!(numbers.known_or(0, || 3), Some(3));
    }

    #[test]
    fn memory_is_for_threads_that_live() {
        let mut numbers = ThreadNumbers::default();
        for id in 1..=10 * REMEMBERED as i64 {
            numbers.known_or(id, || 1);
            numbers.end(id);
        }
        assert_eq!(
            (numbers.by_id.len(), numbers.ended.len()),
            (REMEMBERED, REMEMBERED)
        );
    }
}
