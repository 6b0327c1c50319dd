//! The wait of a program before its `main`, until a client begins a trace or gives the command `go`
//! (`server=controlled`).

use parking_lot::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// How far the program has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// The program waits, or is about to.
    Before,
    /// The program runs, or need not wait.
    Running,
}

/// The wait of the program for a client.
#[derive(Debug)]
pub(super) struct ClientWait {
    stage: Mutex<Stage>,
    changed: Condvar,
}

impl ClientWait {
    pub(super) fn new(waits: bool) -> Self {
        Self {
            stage: Mutex::new(match waits {
                true => Stage::Before,
                false => Stage::Running,
            }),
            changed: Condvar::new(),
        }
    }

    /// Waits until a client lets the program continue, but at most `at_most`. Returns false if the
    /// time is over. The program continues in both cases.
    pub(super) fn wait(&self, at_most: Duration) -> bool {
        let begin = Instant::now();
        let mut stage = self.stage.lock();
        while *stage == Stage::Before {
            // The sum of `begin` and `at_most` may exceed the range of `Instant`. So each round
            // computes the remaining time.
            let left = at_most.saturating_sub(begin.elapsed());
            if left.is_zero() {
                *stage = Stage::Running;
                return false;
            }
            let turn = left.min(Duration::from_secs(3600));
            self.changed.wait_for(&mut stage, turn);
        }
        true
    }

    /// Lets the program continue. Returns true if it waited or was about to.
    pub(super) fn end(&self) -> bool {
        let waited = std::mem::replace(&mut *self.stage.lock(), Stage::Running) == Stage::Before;
        self.changed.notify_all();
        waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_once_by_time_or_by_word() {
        let waiting = ClientWait::new(true);
        assert!(!waiting.wait(Duration::from_millis(5)));
        assert!(!waiting.end(), "it went on by itself");
        let waiting = ClientWait::new(true);
        assert!(waiting.end(), "before it came to wait");
        assert!(waiting.wait(Duration::MAX));
        assert!(!ClientWait::new(false).end());
        let waiting = ClientWait::new(true);
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| waiting.wait(Duration::MAX));
            std::thread::sleep(Duration::from_millis(20));
            assert!(waiting.end());
            assert!(waits.join().expect("no panic"));
        });
    }
}
