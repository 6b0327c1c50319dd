//! The kinds of events that are recorded now.

use jtrail_options::{Events, Options};
use std::sync::atomic::{AtomicU32, Ordering};

/// The kinds of events that are on, and those that can be switched on.
pub(crate) struct Kinds {
    on: AtomicU32,
    available: AtomicU32,
}

impl Kinds {
    /// Returns the initial state, when the agent starts.
    pub(crate) fn of(options: &Options) -> Self {
        let on = match options.begins_idle() {
            true => Events::NONE,
            false => options.events,
        };
        Self {
            on: AtomicU32::new(on.bits()),
            available: AtomicU32::new(options.events.bits()),
        }
    }

    /// Returns the kinds that are on now: those of the active trace, and none between traces.
    #[inline]
    pub(crate) fn on(&self) -> Events {
        Events::from_bits(self.on.load(Ordering::Relaxed))
    }

    /// Switches exactly these kinds on. [`crate::sources`] enables the JVM's events for them.
    pub(crate) fn set_on(&self, kinds: Events) {
        self.on.store(kinds.bits(), Ordering::Relaxed);
    }

    /// Returns the kinds that can be switched on at once. They are the kinds in the agent's
    /// options, and those that were acquired later.
    pub(crate) fn available(&self) -> Events {
        Events::from_bits(self.available.load(Ordering::Relaxed))
    }

    pub(crate) fn set_available(&self, kinds: Events) {
        self.available.store(kinds.bits(), Ordering::Relaxed);
    }
}
