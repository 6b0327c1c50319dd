//! Classes that were unloaded or redefined. Each table of classes follows these changes, and
//! removes its outdated entries.
//!
//! The JVM may report an unloaded class in the middle of a collection, on a thread of its own. That
//! thread must not wait for a lock. So it only notes the class. The next lookup of a class or
//! method removes the entries.

use crossbeam_channel::{Receiver, Sender, unbounded};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Assumed maximum time from the last class that passes the load hook until all redefined classes
/// have their new code. The JVM does not report the end of a redefinition.
const REDEFINITION: Duration = Duration::from_secs(1);

/// The number of changes that one table has followed.
#[derive(Default)]
pub(crate) struct FollowedChanges(AtomicU64);

/// The changes of classes.
pub(crate) struct Changes {
    /// Number of changes so far.
    count: AtomicU64,
    unloaded: (Sender<u32>, Receiver<u32>),
    /// True if a redefinition may be changing line numbers of methods.
    moving: AtomicBool,
    /// When the last redefinition of a class began.
    moved: Mutex<Option<Instant>>,
}

impl Default for Changes {
    fn default() -> Self {
        Self {
            count: AtomicU64::new(0),
            unloaded: unbounded(),
            moving: AtomicBool::new(false),
            moved: Mutex::new(None),
        }
    }
}

impl Changes {
    /// Notes that the class with that number was unloaded. Takes no lock.
    pub(crate) fn class_unloaded(&self, class: u32) {
        let _ = self.unloaded.0.send(class); // can't fail: the receiver is in `self`, too
        self.count.fetch_add(1, Ordering::Release);
    }

    /// Notes that a class is about to be redefined.
    pub(crate) fn class_redefined(&self) {
        *self.moved.lock() = Some(Instant::now());
        self.moving.store(true, Ordering::Release);
        self.count.fetch_add(1, Ordering::Release);
    }

    /// Returns true if there were changes that `seen` has not followed, and marks them as followed.
    /// The caller then removes its outdated entries.
    #[inline]
    pub(crate) fn take_changes(&self, seen: &FollowedChanges) -> bool {
        let count = self.count.load(Ordering::Acquire);
        count != seen.0.load(Ordering::Relaxed) && count != seen.0.swap(count, Ordering::AcqRel)
    }

    /// Returns the classes that were unloaded since the last call.
    pub(super) fn unloaded(&self) -> impl Iterator<Item = u32> {
        self.unloaded.1.try_iter()
    }

    /// Returns true while a redefinition may be changing line numbers. They must not be cached
    /// then.
    #[inline]
    pub(crate) fn are_lines_moving(&self) -> bool {
        self.moving.load(Ordering::Acquire) && self.is_within_redefinition()
    }

    #[cold]
    fn is_within_redefinition(&self) -> bool {
        let moved = self.moved.lock();
        let within = moved.is_some_and(|moved| moved.elapsed() < REDEFINITION);
        if !within {
            self.moving.store(false, Ordering::Release);
        }
        within
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_classes_is_news_once() {
        let changes = Changes::default();
        let (seen, other) = (FollowedChanges::default(), FollowedChanges::default());
        assert!(!changes.take_changes(&seen));
        changes.class_unloaded(3);
        changes.class_unloaded(5);
        assert!(changes.take_changes(&seen));
        assert!(!changes.take_changes(&seen));
        assert!(changes.take_changes(&other));
        assert_eq!(changes.unloaded().collect::<Vec<_>>(), [3, 5]);
        assert!(!changes.are_lines_moving());
    }

    #[test]
    fn lines_settle_after_a_redefinition() {
        let changes = Changes::default();
        changes.class_redefined();
        assert!(changes.take_changes(&FollowedChanges::default()));
        assert!(changes.are_lines_moving());
        *changes.moved.lock() = Instant::now().checked_sub(REDEFINITION);
        assert!(!changes.are_lines_moving());
        assert!(!changes.moving.load(Ordering::Relaxed));
    }
}
