//! The numbers of threads.

use super::thread_numbers::ThreadNumbers;
use jtrail_records::record::NO_THREAD;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// The numbers of threads, by the ids that Java gives them (`Thread.getId`).
pub(crate) struct Threads {
    next: AtomicU32,
    /// Locked while a thread gets its number.
    numbers: Mutex<ThreadNumbers>,
}

impl Default for Threads {
    fn default() -> Self {
        Self {
            next: AtomicU32::new(NO_THREAD + 1),
            numbers: Mutex::default(),
        }
    }
}

impl Threads {
    /// Returns the number of a thread. Returns `None` if it has none, has ended, or is not
    /// recorded.
    pub(crate) fn known(&self, id: i64) -> Option<u32> {
        self.numbers.lock().known(id)
    }

    /// Like [`Self::known`], but distinguishes threads that were never seen: then the outer option
    /// is `None`.
    pub(crate) fn find(&self, id: i64) -> Option<Option<u32>> {
        self.numbers.lock().find(id)
    }

    /// Returns the number of a thread. If the thread has none, it gets the next number, and
    /// `define` is called with that number. The lock is held meanwhile. So nobody finds a number
    /// that is not defined yet.
    pub(crate) fn number(&self, id: i64, name: &str, define: impl FnOnce(u32)) -> Option<u32> {
        let mut numbers = self.numbers.lock();
        let mut is_new = false;
        let number = numbers.known_or(id, || {
            is_new = true;
            self.next.fetch_add(1, Ordering::Relaxed)
        });
        if is_new && let Some(number) = number {
            numbers.set_name(id, name);
            define(number);
        }
        number
    }

    /// Returns true if `name` is the last name that was defined for the thread.
    pub(crate) fn has_name(&self, id: i64, name: &str) -> bool {
        self.numbers.lock().has_name(id, name)
    }

    /// Notes that a thread's name was defined.
    pub(crate) fn set_name(&self, id: i64, name: &str) {
        self.numbers.lock().set_name(id, name);
    }

    /// Sets the number of a thread that was numbered before it had a `Thread` object.
    pub(crate) fn set(&self, id: i64, number: u32) {
        self.numbers.lock().set(id, number);
    }

    /// Notes that a thread has ended.
    pub(crate) fn end(&self, id: i64) {
        self.numbers.lock().end(id);
    }
}
