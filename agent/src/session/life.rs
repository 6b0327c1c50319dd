//! The beginning of the trace: a thread finds the JVM ready.

use super::Session;
use crate::error::Error;
use jtrail_jvm::jni::{ClassRef, Env};
use jtrail_jvm::jvmti::Phase;
use jtrail_recorder::buffer::OwnBuffer;
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// Functions of the upper layers that the session and the sources of events call.
pub(crate) trait Upcalls: Sync {
    /// Begins the trace. Called once, on the thread that first found the JVM ready.
    fn go_live(&self, env: &mut Env<'_>);
    /// Called after the trace has begun: by the thread that began it, and by each thread that
    /// waited for the beginning.
    fn went_live(&self);
    /// Creates the running thread's buffer. Returns `None` if nothing can be recorded.
    fn first_buffer(&self, env: &mut Env<'_>) -> Option<OwnBuffer>;
    /// Defines the hook class, and binds its functions. From then on, classes can be rewritten.
    ///
    /// # Errors
    /// If the JVM refuses.
    fn install_hook(&self, env: &mut Env<'_>) -> Result<(), Error>;
    /// Binds the natives of a class `jtrail.Trace`.
    fn bind_api(&self, env: &mut Env<'_>, class: ClassRef<'_>);
    /// Carries out a call of `Trace.command`.
    ///
    /// # Errors
    /// The reason why the command was not carried out.
    fn command(&self, env: &mut Env<'_>, call: ApiCall) -> Result<(), Error>;
    /// Returns true if there is an active trace that is not paused.
    fn is_recording(&self) -> bool;
    /// Called when the agent was loaded at the JVM's start, and the program is about to begin.
    fn before_program(&self);
    /// Ends the trace, because the JVM ends.
    fn end(&self, env: &mut Env<'_>);
    /// Detaches the agent from the JVM. Called at the end of an agent thread, which holds no
    /// reference to the agent any more.
    fn leave(&self, env: &mut Env<'_>);
}

/// A call of `Trace.command`, with its arguments.
pub(crate) struct ApiCall {
    pub(crate) what: i32,
    pub(crate) text: Option<String>,
    pub(crate) more: Option<String>,
    pub(crate) number: i64,
}

/// Whether the trace has begun.
pub(crate) struct Life {
    pub(crate) upcalls: &'static dyn Upcalls,
    /// Set when the JVM runs the program and the trace has begun.
    live: OnceLock<()>,
    /// True while the agent is being attached to a running program, and the trace has not begun. No
    /// other thread than the attaching one may begin it then.
    is_attaching: AtomicBool,
}

thread_local! {
    /// True while this thread begins the trace. Calls of the thread are not recorded meanwhile.
    static IS_SETTING_UP: Cell<bool> = const { Cell::new(false) };
}

impl Life {
    pub(super) fn new(upcalls: &'static dyn Upcalls) -> Self {
        Self {
            upcalls,
            live: OnceLock::new(),
            is_attaching: AtomicBool::new(false),
        }
    }

    /// Notes whether the agent is being attached to a running program.
    pub(crate) fn set_attaching(&self, is_attaching: bool) {
        self.is_attaching.store(is_attaching, Ordering::Release);
    }

    /// Returns true while the agent is being attached, and the trace has not begun.
    pub(crate) fn is_attaching(&self) -> bool {
        self.is_attaching.load(Ordering::Acquire)
    }
}

impl Session {
    /// Returns true if the trace has begun.
    pub(crate) fn is_live(&self) -> bool {
        self.life.live.get().is_some()
    }

    /// Returns true if the trace has begun. The first caller that finds the JVM ready begins it.
    /// The VMInit event would be too late, because code of another agent may run before it. If the
    /// agent is being attached, only the attaching thread may begin the trace. Another thread may
    /// have no `Thread` object yet, because it is in the middle of attaching itself to the JVM.
    pub(crate) fn ensure_live(&self, env: &mut Env<'_>) -> bool {
        if self.is_live() {
            return true;
        }
        let is_early = self.life.is_attaching() || self.jvmti.phase() != Phase::Live;
        if IS_SETTING_UP.get() || is_early {
            return false;
        }
        self.go_live_once(env);
        true
    }

    /// Begins the trace, or waits until another thread has begun it.
    pub(crate) fn go_live_once(&self, env: &mut Env<'_>) {
        self.life.live.get_or_init(|| {
            IS_SETTING_UP.set(true);
            self.life.set_attaching(false); // other threads then wait for this one
            self.life.upcalls.go_live(env);
            IS_SETTING_UP.set(false);
        });
        self.life.upcalls.went_live();
    }
}
