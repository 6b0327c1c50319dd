//! Excludes heap walks and the numbering of objects from each other. The thread that first reports
//! an object numbers it. A heap walk also numbers objects, and reports each object once.

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::cell::Cell;
use std::time::Duration;

/// How long a heap walk waits for threads that are numbering objects. A debugger may have stopped
/// one of them.
const WAIT_FOR_NUMBERS: Duration = Duration::from_secs(5);

thread_local! {
    /// Number of [`HeapWalkScope`]s that the running thread is in.
    static WALK_DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Scope in which the running thread walks the heap, or is about to. At the beginning of a walk,
/// HotSpot (from 17 on) allocates the objects that escape analysis had eliminated. It allocates and
/// reports them on the walking thread. Other threads are stopped meanwhile, for example while they
/// mount a carrier or number an object. So a callback that waits for another thread would never
/// return.
pub(crate) struct HeapWalkScope(());

impl HeapWalkScope {
    pub(crate) fn begin() -> Self {
        WALK_DEPTH.set(WALK_DEPTH.get() + 1);
        Self(())
    }

    /// Returns true if the running thread is in a heap-walk scope.
    pub(crate) fn is_active() -> bool {
        WALK_DEPTH.get() > 0
    }
}

impl Drop for HeapWalkScope {
    fn drop(&mut self) {
        WALK_DEPTH.set(WALK_DEPTH.get() - 1);
    }
}

/// The lock between heap walks and threads that number objects.
#[derive(Default)]
pub(super) struct HeapWalkLock(RwLock<()>);

/// While this guard lives, no other thread numbers objects.
pub(crate) struct HeapWalkGuard<'a> {
    _scope: HeapWalkScope,
    _alone: RwLockWriteGuard<'a, ()>,
}

impl HeapWalkLock {
    /// Holds off heap walks while the result lives. Returns `None` if the running thread itself is
    /// in a heap walk.
    pub(super) fn hold_off(&self) -> Option<RwLockReadGuard<'_, ()>> {
        (!HeapWalkScope::is_active()).then(|| self.0.read())
    }

    /// Keeps other threads from numbering objects while the guard lives. Returns `None` if a thread
    /// that is numbering an object does not finish in time.
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
        // A thread that walks the heap without the lock does not hold off heap walks either.
        let walking = HeapWalkScope::begin();
        assert!(walks.hold_off().is_none());
        drop(walking);
        assert!(!HeapWalkScope::is_active() && walks.hold_off().is_some());
        assert!(walks.lock_for_heap_walk().is_some());
    }
}
