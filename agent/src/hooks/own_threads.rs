//! Threads of the agent's own that call the JVM: the JVM makes them for agents, as daemons that Java code can't see. The trace leaves
//! them out: their number is that of an ended thread.

use crate::agent::{self, Agent};
use crate::guard;
use crate::jvmti::abi::RawEnv;
use jni::sys::{JNIEnv, jobject};
use parking_lot::RwLock;
use std::ffi::c_void;

/// Their `java.lang.Thread` objects, for ever.
#[derive(Default)]
pub(crate) struct OwnThreads(RwLock<Vec<Lasting>>);

/// A global reference that is never given up.
struct Lasting(jobject);

// SAFETY: a global reference may be used on any thread.
unsafe impl Send for Lasting {}
// SAFETY: likewise, at the same time.
unsafe impl Sync for Lasting {}

type Body = Box<dyn FnOnce(&'static Agent, *mut JNIEnv) + Send>;

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
) -> Result<(), String> {
    let groups = agent.jvmti.top_groups().map_err(|e| e.to_string())?;
    let group = groups.first().ok_or("this JVM has no thread group")?;
    // SAFETY: a local reference that the JVM just gave us.
    let thread = unsafe { crate::jni::new_thread(env, *group, name) }?;
    agent.own_threads.0.write().push(Lasting(thread));
    let start = Box::into_raw(Box::new(Start { place, body }));
    // SAFETY: a new thread; the function takes the box over.
    let started = unsafe { agent.jvmti.run_agent_thread(thread, run, start.cast()) };
    started.map_err(|error| {
        // SAFETY: nobody has taken it.
        drop(unsafe { Box::from_raw(start) });
        error.to_string()
    })
}

unsafe extern "system" fn run(_jvmti: RawEnv, env: *mut JNIEnv, start: *mut c_void) {
    // SAFETY: made by `start` for us.
    let start = unsafe { Box::from_raw(start.cast::<Start>()) };
    guard::run(start.place, || {
        if let Some(agent) = agent::get() {
            (start.body)(agent, env);
        }
    });
}

/// Whether a thread that starts is one of them.
///
/// # Safety
/// `env` is the running thread's, and `thread` a live reference to it.
pub(super) unsafe fn is_starting(agent: &Agent, env: *mut JNIEnv, thread: jobject) -> bool {
    let threads = agent.own_threads.0.read();
    // SAFETY: the caller's promise, and global references.
    let is = |own: &Lasting| unsafe { crate::jni::is_same(env, own.0, thread) };
    let is_one = threads.iter().any(is);
    drop(threads);
    if is_one {
        super::is_agents_own();
        // SAFETY: the caller's promise.
        unsafe { agent.forget_thread(thread) };
    }
    is_one
}
