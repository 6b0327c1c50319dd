//! The state that lives from loading the agent to detaching it. This module only joins the layers.
//!
//! A process has at most one agent at a time. The agent is freed when no thread can have a
//! reference to it any more ([`crate::startup`]). So references to the agent are valid inside
//! [`jtrail_guard::guard::run`]. They are also valid on agent threads, which end before the agent
//! is freed.

use crate::callbacks;
use crate::control::{self, Channel, ChannelSlot};
use crate::sources::Tracer;
use jtrail_recorder::memory::Mapping;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

static AGENT: AtomicPtr<Agent> = AtomicPtr::new(ptr::null_mut());

/// The agent, from loading to detaching.
pub(crate) struct Agent {
    pub(crate) tracer: Tracer,
    /// The command channel for clients, if the options ask for one.
    pub(crate) channel: ChannelSlot,
    /// True if the set-up failed. The agent is then detached at once.
    pub(crate) has_failed_setup: AtomicBool,
    /// Memory of the chunks; none if the chunks are in a spool.
    _memory: Option<Mapping>,
}

/// Returns the agent; `None` if none is loaded.
pub(crate) fn if_loaded() -> Option<&'static Agent> {
    // SAFETY: the pointer is null or comes from `Agent::create`. The agent is freed only after it
    // is hidden, and after every thread that may have found it has left ([`callbacks::show`]).
    unsafe { AGENT.load(Ordering::SeqCst).as_ref() }
}

/// Hides the agent: from now on, `if_loaded` returns `None`. The caller frees the agent when no
/// thread uses it any more.
pub(crate) fn hide() -> *mut Agent {
    callbacks::hide();
    AGENT.swap(ptr::null_mut(), Ordering::SeqCst)
}

impl Agent {
    /// Creates the one agent of this JVM. The caller makes sure that there is none yet.
    pub(crate) fn create(
        tracer: Tracer,
        channel: ChannelSlot,
        memory: Option<Mapping>,
    ) -> &'static Self {
        let agent = Box::leak(Box::new(Self {
            tracer,
            channel,
            has_failed_setup: AtomicBool::new(false),
            _memory: memory,
        }));
        AGENT.store(agent, Ordering::SeqCst);
        // SAFETY: `startup::leaving` frees the agent. It hides the agent first, and then waits
        // until no thread uses it.
        unsafe { callbacks::show(&agent.tracer) };
        agent
    }

    pub(crate) fn channel(&self) -> Option<&Channel> {
        self.channel.get()
    }

    /// Ends recording and the trace. Java code may still run afterwards.
    pub(crate) fn stop(&self) {
        control::stop(&self.tracer, self.channel());
    }
}
