//! The agent leaves the JVM, and all is as it was.
//!
//! The trace has ended, and recording is off. What is left is to take everything away that the agent has: its place as the one agent, the
//! environments, the memory. Threads of the program may be in the middle of anything:
//!
//! - **in a callback**, or in a hook that does more than to store a record. They are counted ([`guard::run`]). Once the agent can't be found any more, we
//!   wait until everybody is out who came before;
//! - **in a hook that stores a record.** That is a few instructions, uncounted, with the address of the thread's buffer in a register. So that
//!   address is taken away from all threads, and then we look at their stacks: whoever is not in a hook then has no such address, and
//!   gets none. The look is a safepoint: it orders what we stored before with all that the threads do after;
//! - **in a method with hooks**, for as long as they like. These hooks are of this agent's own hook class, and do nothing from now
//!   on; the next agent has another one.
//!
//! A thread may be stopped where it is, by a debugger for instance. Then the agent leaves all the same, and leaves its memory behind.

use super::{api, class, cpu, last_frees};
use crate::agent::{self, Agent};
use crate::hook_class::Hook;
use crate::instrument::sites;
use jni::sys::{JNIEnv, jmethodID};
use jtrail_guard::{guard, log};
use jtrail_jvm::jni::with_frame;
use jtrail_jvm::jvmti::abi::Event;
use jtrail_jvm::jvmti::{Result, frames};
use jtrail_options::{AllocMode, Events};
use jtrail_recorder::buffer::live;
use jtrail_recorder::pending;
use jvmti_sys::jvmtiStackInfo;
use rustc_hash::FxHashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long we wait for threads that are in our code.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause between two looks at all stacks.
const PAUSE: Duration = Duration::from_millis(2);
/// How many frames may be above a hook's that is Java code: those of the JDK's atomic addition.
const ABOVE_HOOK: u16 = 4;
/// How long a new agent waits until the one before is gone.
const LONGEST_LEAVE: Duration = Duration::from_secs(60);

/// The agent has begun to leave.
static LEAVING: AtomicBool = AtomicBool::new(false);

/// Waits until an agent that is about to leave is gone. `false` if that takes too long.
pub(crate) fn wait_until_gone() -> bool {
    let until = Instant::now() + LONGEST_LEAVE;
    while LEAVING.load(Ordering::Acquire) {
        if Instant::now() > until {
            return false;
        }
        sleep(PAUSE);
    }
    true
}

/// The trace has ended: the program gets its own code back. One of the agent's threads is to call [`leave`] then, when it does nothing else
/// any more.
pub(crate) fn begin(agent: &Agent, env: *mut JNIEnv) {
    LEAVING.store(true, Ordering::Release);
    crate::control::withdraw();
    guard::switch_off();
    pending::end_epoch();
    agent.stop_writer();
    agent.set_kinds(Events::NONE);
    agent.classes.set_open(false);
    class::restore(agent, env);
}

/// Takes the agent away. The caller is not counted as inside, and holds nothing of it; `env` is its environment, or null where the
/// JVM has none yet.
pub(crate) fn leave(env: *mut JNIEnv) {
    if let Some(agent) = agent::if_loaded() {
        LEAVING.store(true, Ordering::Release);
        crate::control::withdraw(); // of one that could not be set up
        guard::switch_off();
        match env.is_null() {
            true => go(agent, None),
            // SAFETY: the running thread's environment; no reference leaves.
            false => unsafe { with_frame(env, || go(agent, Some(env))) },
        }
    }
    LEAVING.store(false, Ordering::Release);
}

fn go(agent: &'static Agent, env: Option<*mut JNIEnv>) {
    if env.is_some() {
        end_objects(agent);
    }
    agent.snapshots.follower.end();
    agent.sweeper.end();
    let hidden = agent::hide();
    let mut is_empty = guard::wait_until_empty(PATIENCE);
    let buffers = live::hide_all();
    if let Some(ticks) = &agent.ticks {
        ticks.hide_all();
    }
    sites::forget_found();
    pending::end_epoch();
    cpu::forget();
    if let Some(env) = env {
        api::unbind_loaded(agent, env);
        // Classes that were on their way before.
        let stubborn = class::restore(agent, env);
        if stubborn > 0 {
            log::say(&format!(
                "the JVM does not give {stubborn} classes their own code back; their hooks do nothing any more"
            ));
        }
        if let Some(hook) = agent.hook.get() {
            hook.leave();
            let silenced = hook
                .set_lines(env, 0)
                .and_then(|()| hook.set_gate(env, 0))
                .and_then(|()| hook.set_ticks(env, 0));
            is_empty &= silenced.is_ok() && are_hooks_empty(agent, env, hook).unwrap_or(false);
        }
        // SAFETY: the running thread's environment, and nobody else has the agent any more, or uses these.
        unsafe { forget_references(agent, env) };
    }
    agent.jvmti.dispose();
    if let Some(objects) = agent.objects.get() {
        objects.jvmti.dispose();
    }
    if !is_empty {
        log::say("a thread is stopped in the middle of the agent, whose memory stays for that");
        return;
    }
    // SAFETY: no thread is in the middle of a record, nobody found the agent since it was hidden, and who had before is out. The agent's
    // own threads have ended, the writer among them.
    unsafe {
        buffers.free();
        drop(Box::from_raw(hidden));
    }
}

/// No object has a number any more, and the JVM's sampler is as it is without us.
fn end_objects(agent: &Agent) {
    let Some(objects) = agent.objects.get() else {
        return;
    };
    for event in [Event::SampledObjectAlloc, Event::VmObjectAlloc] {
        let _ = objects.jvmti.disable(event); // it may not have been on
    }
    if agent.held().contains(Events::ALLOC) && agent.options.alloc == AllocMode::Jvm {
        let _ = objects.jvmti.sample_as_usual();
    }
    if let Ok(thread) = agent.jvmti.current_thread() {
        // SAFETY: a local reference that the JVM just gave us.
        unsafe { last_frees::settle(agent, objects, thread) };
    }
}

/// # Safety
/// `env` is the running thread's, and nobody uses these references any more.
unsafe fn forget_references(agent: &Agent, env: *mut JNIEnv) {
    // SAFETY: the caller's promise.
    unsafe {
        if let Some(hook) = agent.hook.get() {
            hook.class.forget(env);
        }
        if let Some(arrays) = agent.arrays.get() {
            arrays.forget(env);
        }
        if let Some(objects) = agent.objects.get() {
            objects.forget(env);
            objects.teller.forget(env);
        }
        agent.classes.forget_references(env);
        agent.own_threads.forget(env);
        agent.snapshots.classes.forget(env);
    }
}

/// Waits until no thread is in a hook that may have found its buffer before; `false` if that takes too long.
fn are_hooks_empty(agent: &Agent, env: *mut JNIEnv, hook: &Hook) -> Result<bool> {
    // SAFETY: a live reference to a class that is initialised.
    let methods = unsafe { agent.jvmti.method_ids(hook.class.get()) }?;
    let methods: FxHashSet<jmethodID> = methods.into_iter().collect();
    let until = Instant::now() + PATIENCE;
    while is_any_in(agent, env, &methods)? {
        if Instant::now() > until {
            return Ok(false);
        }
        sleep(PAUSE);
    }
    Ok(true)
}

/// Whether a thread is in one of these methods, or was a moment ago.
fn is_any_in(agent: &Agent, env: *mut JNIEnv, methods: &FxHashSet<jmethodID>) -> Result<bool> {
    let jvmti = agent.jvmti;
    let is_in = |stack: &jvmtiStackInfo| {
        frames(stack)
            .iter()
            .any(|frame| methods.contains(&frame.method))
    };
    let mounted_on = jvmti.extension_function(super::GET_VIRTUAL_THREAD)?;
    let mut mounted = Vec::new();
    let mut found = jvmti.with_all_stacks(env, ABOVE_HOOK, |stacks| {
        if let Some(function) = mounted_on {
            mounted.extend(stacks.iter().filter_map(|stack| {
                // SAFETY: the function of that name, and a local reference that the JVM just gave us.
                let thread = unsafe { jvmti.other_thread(function, stack.thread) }.ok()?;
                (!thread.is_null()).then_some(thread)
            }));
        }
        stacks.iter().any(is_in)
    })?;
    if !mounted.is_empty() {
        // One that has left its carrier meanwhile has left the hook.
        // SAFETY: local references that the JVM just gave us.
        found |= unsafe {
            jvmti.with_stacks_of(&mounted, ABOVE_HOOK, |stacks| stacks.iter().any(is_in))
        }?;
    }
    Ok(found)
}
