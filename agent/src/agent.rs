//! What lives from the agent's loading until it leaves. It only puts the layers together.
//!
//! There is one at a time. It goes when nobody can have found it any more ([`crate::startup`]): so
//! references to it may be used inside of [`jtrail_guard::guard::run`], and on agent threads, which
//! end before it goes.

use crate::callbacks;
use crate::control::{self, Channel, ChannelSlot};
use crate::sources::Tracer;
use jtrail_recorder::memory::Mapping;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

static AGENT: AtomicPtr<Agent> = AtomicPtr::new(ptr::null_mut());

/// The agent, from its loading on.
pub(crate) struct Agent {
    pub(crate) tracer: Tracer,
    /// Where clients may come.
    pub(crate) channel: ChannelSlot,
    /// It could not be set up, and is to leave.
    pub(crate) is_stillborn: AtomicBool,
    /// The chunks' memory, where it is no spool's.
    _memory: Option<Mapping>,
}

/// The agent; `None` if none was loaded.
pub(crate) fn if_loaded() -> Option<&'static Agent> {
    // SAFETY: null, or what `Agent::create` made, which stays while somebody may have found it
    // ([`callbacks::show`]).
    unsafe { AGENT.load(Ordering::SeqCst).as_ref() }
}

/// From now on, nobody finds the agent. The caller frees it, once nobody uses it any more.
pub(crate) fn hide() -> *mut Agent {
    callbacks::hide();
    AGENT.swap(ptr::null_mut(), Ordering::SeqCst)
}

impl Agent {
    /// Creates the one agent of this JVM, for there is none.
    pub(crate) fn create(
        tracer: Tracer,
        channel: ChannelSlot,
        memory: Option<Mapping>,
    ) -> &'static Self {
        let agent = Box::leak(Box::new(Self {
            tracer,
            channel,
            is_stillborn: AtomicBool::new(false),
            _memory: memory,
        }));
        AGENT.store(agent, Ordering::SeqCst);
        // SAFETY: who frees the agent hides it first, and waits (`startup::leaving`).
        unsafe { callbacks::show(&agent.tracer) };
        agent
    }

    pub(crate) fn channel(&self) -> Option<&Channel> {
        self.channel.get()
    }

    /// Ends recording and the trace. The JVM may go on running Java code.
    pub(crate) fn stop(&self) {
        control::stop(&self.tracer, self.channel());
    }
}
