//! An agent thread that acts after each collection, because the event of the collection must not
//! call the JVM.

use crossbeam_channel::{Receiver, Sender, bounded};
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The agent's handle of the thread; empty if no thread was started.
#[derive(Default)]
pub(in crate::sources) struct Follower(OnceLock<Thread>);

/// The agent's handle of a running thread.
pub(in crate::sources) struct Thread {
    wake: Sender<()>,
    is_over: Arc<AtomicBool>,
    /// Disconnected when the thread has ended.
    ended: Receiver<()>,
}

/// The thread's own part: it receives the wakes.
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

/// Creates the handle and the own part of a thread that follows collections.
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
    /// Stores the handle of a thread that was started.
    pub(in crate::sources) fn set(&self, thread: Thread) {
        let _ = self.0.set(thread); // can't fail: set only once
    }

    /// Wakes the thread, because a collection is over. The caller is an event that must not call
    /// the JVM. If there are several calls before the thread wakes, it acts once.
    pub(in crate::sources) fn wake(&self) {
        if let Some(thread) = self.0.get() {
            let _ = thread.wake.try_send(());
        }
    }

    /// Ends the thread, because the agent is detaching, and waits until it has ended.
    pub(in crate::sources) fn end(&self) {
        if let Some(thread) = self.0.get() {
            thread.is_over.store(true, Ordering::Release);
            let _ = thread.wake.try_send(()); // fails if the thread has a wake already
            let _ = thread.ended.recv(); // ends when the sender is dropped
        }
    }
}
