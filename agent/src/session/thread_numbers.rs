//! The numbers of threads, by the ids that Java gives them.
//!
//! Each thread has its number in JVMTI's thread-local storage, but only the thread itself may call
//! `GetThreadLocalStorage`. HotSpot frees that storage while the thread exits. If another thread
//! reads the storage at that moment, the JVM crashes (seen on 17 with the sampler, after minutes).
//! So the numbers of other threads are looked up here.

use rustc_hash::{FxBuildHasher, FxHashMap};
use std::collections::VecDeque;
use std::hash::BuildHasher;

/// How many ended threads are remembered, because another thread may still hold a reference to one
/// of them.
const REMEMBERED: usize = 4096;

/// The number that marks a thread which has ended, or is not recorded.
pub(crate) const ENDED: u32 = u32::MAX;

/// Numbers of the threads that have not ended. A thread whose `Thread` object does not exist yet
/// has the id 0, and no entry.
#[derive(Default)]
pub(super) struct ThreadNumbers {
    by_id: FxHashMap<i64, NamedThread>,
    ended: VecDeque<i64>,
}

#[derive(Clone, Copy)]
struct NamedThread {
    number: u32,
    /// Hash of the name that was defined last; 0 for none.
    name: u64,
}

impl ThreadNumbers {
    /// Returns the number of a thread. Returns `None` if it has none, has ended, or is not
    /// recorded.
    pub(super) fn known(&self, id: i64) -> Option<u32> {
        self.find(id).flatten()
    }

    /// Like [`Self::known`], but distinguishes threads that were never seen: then the outer option
    /// is `None`.
    pub(super) fn find(&self, id: i64) -> Option<Option<u32>> {
        let number = self.by_id.get(&id)?.number;
        Some((number != ENDED).then_some(number))
    }

    /// Returns the number of a thread, and takes one from `new` if the thread has none. Returns
    /// `None` if the thread has ended, or is not recorded.
    pub(super) fn known_or(&mut self, id: i64, new: impl FnOnce() -> u32) -> Option<u32> {
        self.find(id).unwrap_or_else(|| {
            let number = new();
            self.set(id, number);
            Some(number)
        })
    }

    /// Sets the number of a thread.
    pub(super) fn set(&mut self, id: i64, number: u32) {
        if id != 0 {
            self.by_id.insert(id, NamedThread { number, name: 0 });
        }
    }

    /// Returns true if `name` is the last name that was defined for the thread.
    pub(super) fn has_name(&self, id: i64, name: &str) -> bool {
        self.by_id
            .get(&id)
            .is_some_and(|known| known.name == hash(name))
    }

    /// Notes that a thread's name was defined.
    pub(super) fn set_name(&mut self, id: i64, name: &str) {
        if let Some(known) = self.by_id.get_mut(&id) {
            known.name = hash(name);
        }
    }

    /// Notes that a thread has ended.
    pub(super) fn end(&mut self, id: i64) {
        if self.known(id).is_none() {
            return;
        }
        self.set(id, ENDED);
        self.ended.push_back(id);
        if self.ended.len() > REMEMBERED
            && let Some(oldest) = self.ended.pop_front()
        {
            self.by_id.remove(&oldest);
        }
    }
}

fn hash(name: &str) -> u64 {
    FxBuildHasher.hash_one(name).max(1)
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
    fn a_new_name_is_reported_and_the_same_name_is_not() {
        let mut numbers = ThreadNumbers::default();
        numbers.set_name(7, "a");
        assert!(!numbers.has_name(7, "a"), "nobody knows it");
        numbers.set(7, 1);
        assert!(!numbers.has_name(7, "") && !numbers.has_name(7, "a"));
        for name in ["a", "", "b"] {
            numbers.set_name(7, name);
            assert!(numbers.has_name(7, name) && !numbers.has_name(7, "another"));
        }
        numbers.end(7);
        assert!(!numbers.has_name(7, "b"));
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
