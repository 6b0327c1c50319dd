//! Classes go, and change: what the rest has to forget then.
//!
//! The end of a class is told on a thread of the JVM's own, maybe in the middle of a collection,
//! where nothing may wait for a lock. So it is only noted there, and dealt with at the next look
//! for a class or method.

use crossbeam_channel::{Receiver, Sender, unbounded};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// How long a redefinition may take from the last class that passes the load hook to the moment
/// when all have their new code. The JVM does not tell of that moment.
const REDEFINITION: Duration = Duration::from_secs(1);

/// How many changes somebody has followed.
#[derive(Default)]
pub(crate) struct FollowedChanges(AtomicU64);

/// What happened to classes.
pub(crate) struct Changes {
    /// How many changes there were.
    count: AtomicU64,
    unloaded: (Sender<u32>, Receiver<u32>),
    /// Some methods may have other lines at any moment.
    moving: AtomicBool,
    /// When the last class began to be redefined.
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
    /// A class of that number is gone. Takes no lock.
    pub(crate) fn class_unloaded(&self, class: u32) {
        let _ = self.unloaded.0.send(class); // the other end is ours too
        self.count.fetch_add(1, Ordering::Release);
    }

    /// A class is about to be redefined.
    pub(crate) fn class_redefined(&self) {
        *self.moved.lock() = Some(Instant::now());
        self.moving.store(true, Ordering::Release);
        self.count.fetch_add(1, Ordering::Release);
    }

    /// Returns true if there were changes that `seen` has not followed. The caller follows them.
    #[inline]
    pub(crate) fn take_news(&self, seen: &FollowedChanges) -> bool {
        let count = self.count.load(Ordering::Acquire);
        count != seen.0.load(Ordering::Relaxed) && count != seen.0.swap(count, Ordering::AcqRel)
    }

    /// Classes that were unloaded since the last call.
    pub(super) fn unloaded(&self) -> impl Iterator<Item = u32> {
        self.unloaded.1.try_iter()
    }

    /// Whether lines can't be relied upon for later.
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
        assert!(!changes.take_news(&seen));
        changes.class_unloaded(3);
        changes.class_unloaded(5);
        assert!(changes.take_news(&seen));
        assert!(!changes.take_news(&seen));
        assert!(changes.take_news(&other));
        assert_eq!(changes.unloaded().collect::<Vec<_>>(), [3, 5]);
        assert!(!changes.are_lines_moving());
    }

    #[test]
    fn lines_settle_after_a_redefinition() {
        let changes = Changes::default();
        changes.class_redefined();
        assert!(changes.take_news(&FollowedChanges::default()));
        assert!(changes.are_lines_moving());
        *changes.moved.lock() = Instant::now().checked_sub(REDEFINITION);
        assert!(!changes.are_lines_moving());
        assert!(!changes.moving.load(Ordering::Relaxed));
    }
}
