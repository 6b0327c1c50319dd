//! Objects get their numbers from the threads that tell of them, or from a walk over the heap, which tells of each object once.

use parking_lot::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::cell::Cell;
use std::time::Duration;

/// How long a walk over the heap waits for threads that give an object its number: a debugger may have stopped one.
const WAIT_FOR_NUMBERS: Duration = Duration::from_secs(5);

thread_local! {
    /// The running thread keeps the others from giving objects numbers.
    static IS_STILL: Cell<bool> = const { Cell::new(false) };
}

/// Keeps walks and threads that give an object its number apart.
#[derive(Default)]
pub(super) struct Walks(RwLock<()>);

/// No other thread gives an object a number.
pub(super) struct Still<'a>(#[expect(dead_code)] RwLockWriteGuard<'a, ()>);

impl Walks {
    /// Keeps walks away. Nothing where the running thread is the one that walks: where its walk begins, HotSpot (from 17 on)
    /// makes the objects that compiled code did without, on that thread, and tells of them.
    pub(super) fn keep_away(&self) -> Option<RwLockReadGuard<'_, ()>> {
        (!IS_STILL.get()).then(|| self.0.read())
    }

    /// Keeps other threads from giving objects numbers; `None` if one of them does not come to an end with it.
    pub(super) fn keep_numbers(&self) -> Option<Still<'_>> {
        let still = self.0.try_write_for(WAIT_FOR_NUMBERS)?;
        IS_STILL.set(true);
        Some(Still(still))
    }
}

impl Drop for Still<'_> {
    fn drop(&mut self) {
        IS_STILL.set(false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use std::thread;

    #[test]
    fn the_thread_that_walks_keeps_no_walk_away_and_others_wait_for_it() {
        let walks = Walks::default();
        let still = walks.keep_numbers().expect("nobody is there");
        assert!(walks.keep_away().is_none());
        let (told, is_away) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(|| {
                let away = walks.keep_away();
                told.send(away.is_some()).expect("it is asked for");
            });
            assert!(is_away.recv_timeout(Duration::from_millis(20)).is_err());
            drop(still);
            assert_eq!(is_away.recv(), Ok(true));
        });
        assert!(walks.keep_away().is_some());
        assert!(walks.keep_numbers().is_some());
    }
}
