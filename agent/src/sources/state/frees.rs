//! The threads that report dead objects.

use super::follower::Follower;
use crate::objects::Objects;
use jtrail_jvm::jni::{Env, GlobalRef, kind};
use parking_lot::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// The threads that report dead objects. The JVM also reports dead objects at the end of the
/// agent's own heap walks, which don't count here.
#[derive(Default)]
pub(in crate::sources) struct Frees {
    /// The JVM's service thread, once it has reported an object. None if the JVM reports objects on
    /// a thread that has no `Thread` object.
    pub(in crate::sources) reporter: OnceLock<Option<GlobalRef<kind::Thread>>>,
    /// Number of objects that were reported outside the agent's heap walks.
    pub(in crate::sources) reported: AtomicU64,
    /// The JDK's class that knows whether shutdown hooks have run and the JVM is about to end.
    pub(in crate::sources) vm: OnceLock<GlobalRef<kind::Class>>,
    /// The thread that looks for dead objects after collections.
    pub(in crate::sources) sweeper: Follower,
    pub(in crate::sources) is_settled: Mutex<bool>,
}

impl Frees {
    /// Wakes the thread that looks for dead objects, because a collection is over.
    pub(in crate::sources) fn wake_after_collection(&self) {
        self.sweeper.wake();
    }

    /// Ends the thread that looks for dead objects, because the agent is detaching.
    pub(in crate::sources) fn end_sweeper(&self) {
        self.sweeper.end();
    }

    /// Returns true if Java's shutdown is complete: the shutdown hooks have run. On 11, always
    /// returns false.
    pub(in crate::sources) fn is_shut_down(&self, env: &Env<'_>) -> bool {
        /// `VM.SYSTEM_SHUTDOWN`.
        const SHUT_DOWN: i32 = 5;
        let level = |class: &GlobalRef<kind::Class>| env.static_int(class.get(), c"initLevel");
        self.vm.get().and_then(level) == Some(SHUT_DOWN)
    }

    pub(in crate::sources) fn reported(&self) -> u64 {
        self.reported.load(Ordering::Relaxed)
    }

    /// Returns true if the service thread is reporting its list of dead objects.
    pub(in crate::sources) fn is_reporting(&self, objects: &Objects) -> bool {
        let thread = self.reporter.get().and_then(Option::as_ref);
        thread.is_some_and(|thread| objects.jvmti.is_in_native(thread.get()) != Ok(false))
    }
}
