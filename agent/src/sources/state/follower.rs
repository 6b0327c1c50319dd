//! An agent thread that does something after each collection, where nothing of the JVM may be
//! called.

use crossbeam_channel::{Receiver, Sender, bounded};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The agent's end of the thread; empty while there is none.
#[derive(Default)]
pub(in crate::sources) struct Follower(OnceLock<Thread>);

/// The agent's end of a thread.
pub(in crate::sources) struct Thread {
    wake: Sender<()>,
    is_over: Arc<AtomicBool>,
    /// Disconnected when the thread has ended.
    ended: Receiver<()>,
}

/// The thread's own end.
pub(in crate::sources) struct Wakes {
    collected: Receiver<()>,
    is_over: Arc<AtomicBool>,
    /// Dropped when the thread has ended.
    _alive: Sender<()>,
}

impl Wakes {
    /// Waits for the next collection. Returns false if the thread has to end.
    pub(in crate::sources) fn wait(&self) -> bool {
        self.collected.recv().is_ok() && !self.is_over.load(Ordering::Acquire)
    }
}

/// Both ends of a thread that is to follow collections.
pub(in crate::sources) fn pair() -> (Thread, Wakes) {
    let (wake, collected) = bounded(1);
    let (alive, ended) = bounded::<()>(0);
    let is_over = Arc::<AtomicBool>::default();
    let wakes = Wakes {
        collected,
        is_over: Arc::clone(&is_over),
        _alive: alive,
    };
    let thread = Thread {
        wake,
        is_over,
        ended,
    };
    (thread, wakes)
}

impl Follower {
    /// The thread has been started.
    pub(in crate::sources) fn set(&self, thread: Thread) {
        let _ = self.0.set(thread); // the first and only time
    }

    /// A collection is over. Called where nothing of the JVM may be called; several calls before
    /// the thread wakes are one.
    pub(in crate::sources) fn wake(&self) {
        if let Some(thread) = self.0.get() {
            let _ = thread.wake.try_send(());
        }
    }

    /// Ends the thread, as the agent leaves, and waits until it has ended.
    pub(in crate::sources) fn end(&self) {
        if let Some(thread) = self.0.get() {
            thread.is_over.store(true, Ordering::Release);
            let _ = thread.wake.try_send(()); // or it is about to look anyway
            let _ = thread.ended.recv(); // nothing is ever sent
        }
    }
}
