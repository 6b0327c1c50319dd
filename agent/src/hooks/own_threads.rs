//! Threads of the agent's own that call the JVM: the JVM makes them for agents, as daemons that Java code can't see. The trace leaves
//! them out: their number is that of an ended thread.

use super::leaving;
use crate::agent::{self, Agent};
use crate::error::Error;
use jni::sys::{JNIEnv, jobject};
use jtrail_guard::guard;
use jtrail_jvm::jni::Lasting;
use jtrail_jvm::jvmti::abi::RawEnv;
use parking_lot::RwLock;
use std::ffi::c_void;

/// Their `java.lang.Thread` objects, until the agent leaves.
#[derive(Default)]
pub(crate) struct OwnThreads(RwLock<Vec<Lasting>>);

/// What a thread does; whether the agent is to leave then.
type Body = Box<dyn FnOnce(&'static Agent, *mut JNIEnv) -> Leaves + Send>;

/// Whether the agent is to leave when one of its threads ends.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Leaves {
    #[default]
    No,
    Yes,
}

struct Start {
    place: &'static str,
    body: Body,
}

/// Starts a thread of that name; `place` is for messages.
///
/// # Errors
/// When the JVM does not make one, as a sentence.
pub(crate) fn start(
    agent: &Agent,
    env: *mut JNIEnv,
    name: &str,
    place: &'static str,
    body: Body,
) -> Result<(), Error> {
    let groups = agent.jvmti.top_groups()?;
    let group = groups.first().ok_or("this JVM has no thread group")?;
    // SAFETY: a local reference that the JVM just gave us.
    let thread = unsafe { jtrail_jvm::jni::new_thread(env, *group, name) }?;
    let reference = thread.get();
    agent.own_threads.0.write().push(thread);
    let start = Box::into_raw(Box::new(Start { place, body }));
    // SAFETY: a new thread; the function takes the box over.
    let started = unsafe { agent.jvmti.run_agent_thread(reference, run, start.cast()) };
    Ok(started.inspect_err(|_| {
        // SAFETY: nobody has taken it.
        drop(unsafe { Box::from_raw(start) });
    })?)
}

unsafe extern "system" fn run(_jvmti: RawEnv, env: *mut JNIEnv, start: *mut c_void) {
    // SAFETY: made by `start` for us.
    let start = unsafe { Box::from_raw(start.cast::<Start>()) };
    let leaves = guard::run_thread(start.place, || match agent::get() {
        Some(agent) => (start.body)(agent, env),
        None => Leaves::No,
    });
    if leaves == Leaves::Yes {
        leaving::leave(env);
    }
}

impl OwnThreads {
    /// Gives them up.
    ///
    /// # Safety
    /// `env` is the running thread's, and nobody asks for them any more.
    pub(super) unsafe fn forget(&self, env: *mut JNIEnv) {
        for thread in self.0.write().drain(..) {
            // SAFETY: the caller's promise.
            unsafe { thread.forget(env) };
        }
    }
}

/// Whether a thread that starts is one of them.
///
/// # Safety
/// `env` is the running thread's, and `thread` a live reference to it.
pub(super) unsafe fn is_starting(agent: &Agent, env: *mut JNIEnv, thread: jobject) -> bool {
    let threads = agent.own_threads.0.read();
    // SAFETY: the caller's promise, and global references.
    let is = |own: &Lasting| unsafe { jtrail_jvm::jni::is_same(env, own.get(), thread) };
    let is_one = threads.iter().any(is);
    drop(threads);
    if is_one {
        super::is_agents_own();
        // SAFETY: the caller's promise.
        unsafe { agent.pass_over_thread(env, thread) };
    }
    is_one
}
