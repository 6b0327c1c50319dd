//! Objects get their numbers from the threads that tell of them, or from a walk over the heap,
//! which tells of each object once.

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::cell::Cell;
use std::time::Duration;

/// How long a walk over the heap waits for threads that give an object its number: a debugger may
/// have stopped one.
const WAIT_FOR_NUMBERS: Duration = Duration::from_secs(5);

thread_local! {
    /// In how many walks the running thread is, or about to be.
    static WALK_DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// The running thread walks over the heap, or is about to. Where its walk begins, HotSpot (from 17
/// on) makes the objects that compiled code did without, on that thread, and tells of them, while
/// other threads are held wherever they are: in the middle of taking a carrier, for instance, or of
/// giving an object a number. What waits for one of these never ends.
pub(crate) struct HeapWalkScope(());

impl HeapWalkScope {
    pub(crate) fn begin() -> Self {
        WALK_DEPTH.set(WALK_DEPTH.get() + 1);
        Self(())
    }

    /// Whether the running thread does.
    pub(crate) fn is_active() -> bool {
        WALK_DEPTH.get() > 0
    }
}

impl Drop for HeapWalkScope {
    fn drop(&mut self) {
        WALK_DEPTH.set(WALK_DEPTH.get() - 1);
    }
}

/// Keeps walks and threads that give an object its number apart.
#[derive(Default)]
pub(super) struct HeapWalkLock(RwLock<()>);

/// No other thread gives an object a number.
pub(crate) struct HeapWalkGuard<'a> {
    _scope: HeapWalkScope,
    _alone: RwLockWriteGuard<'a, ()>,
}

impl HeapWalkLock {
    /// Keeps walks away. Nothing where the running thread is the one that walks.
    pub(super) fn hold_off(&self) -> Option<RwLockReadGuard<'_, ()>> {
        (!HeapWalkScope::is_active()).then(|| self.0.read())
    }

    /// Keeps other threads from giving objects numbers; `None` if one of them does not come to an
    /// end with it.
    pub(super) fn lock_for_heap_walk(&self) -> Option<HeapWalkGuard<'_>> {
        let alone = self.0.try_write_for(WAIT_FOR_NUMBERS)?;
        Some(HeapWalkGuard {
            _scope: HeapWalkScope::begin(),
            _alone: alone,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;

    #[test]
    fn the_walking_thread_does_not_lock_itself_out_and_others_wait_for_it() {
        let walks = HeapWalkLock::default();
        let guard = walks.lock_for_heap_walk().expect("nobody is there");
        assert!(walks.hold_off().is_none());
        let (reported, is_away) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                let away = walks.hold_off();
                reported.send(away.is_some()).expect("it is asked for");
            });
            assert!(is_away.recv_timeout(Duration::from_millis(20)).is_err());
            drop(guard);
            assert_eq!(is_away.recv(), Ok(true));
        });
        assert!(walks.hold_off().is_some());
        // Nor does one that walks without that.
        let walking = HeapWalkScope::begin();
        assert!(walks.hold_off().is_none());
        drop(walking);
        assert!(!HeapWalkScope::is_active() && walks.hold_off().is_some());
        assert!(walks.lock_for_heap_walk().is_some());
    }
}
