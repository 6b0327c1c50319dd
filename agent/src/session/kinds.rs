//! Which kinds of events are on.

use jtrail_options::{Events, Options};
use std::sync::atomic::{AtomicU32, Ordering};

/// Kinds of events that are on, and that can be switched on.
pub(crate) struct Kinds {
    on: AtomicU32,
    available: AtomicU32,
}

impl Kinds {
    /// Those that the agent begins with.
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

    /// Those that are on now: the ones of the active trace, and none between traces.
    #[inline]
    pub(crate) fn on(&self) -> Events {
        Events::from_bits(self.on.load(Ordering::Relaxed))
    }

    /// Switches exactly these on. The JVM's events follow in [`crate::sources`].
    pub(crate) fn set_on(&self, kinds: Events) {
        self.on.store(kinds.bits(), Ordering::Relaxed);
    }

    /// Those that can be switched on at once: the ones that the agent was loaded for, and those
    /// that were acquired since.
    pub(crate) fn available(&self) -> Events {
        Events::from_bits(self.available.load(Ordering::Relaxed))
    }

    pub(crate) fn set_available(&self, kinds: Events) {
        self.available.store(kinds.bits(), Ordering::Relaxed);
    }
}
