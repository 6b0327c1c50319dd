//! Detaches the agent from the JVM, and restores the JVM's former state.
//!
//! Before that, the trace has ended and recording is off. What remains is to free the agent's slot,
//! its environments and its memory. Meanwhile, threads of the program may be anywhere:
//!
//! - **in a callback**, or in a hook that does more than store a record. [`guard::run`] counts
//!   these threads. First the agent is hidden, so that no more threads enter. Then we wait until
//!   all counted threads have left.
//! - **in a hook that stores a record.** Such a hook is a few instructions long, and holds the
//!   address of the thread's buffer in a register. Threads in such hooks are not counted. So the
//!   buffers of all threads are hidden, and then the stacks of all threads are examined. A thread
//!   that is in no hook at that moment has no address of a buffer, and finds none later. To examine
//!   all stacks, the JVM makes a safepoint. So the threads see the hidden buffers afterwards.
//! - **in a method with hooks**, for as long as they like. Such a method calls this agent's hook
//!   class. The methods of that class do nothing from now on. The next agent uses another hook
//!   class.
//!
//! A debugger may have stopped a thread in the agent's code. Then the agent detaches after a time
//! limit, but does not free its memory.

use crate::agent::{self, Agent};
use crate::callbacks::api;
use crate::control;
use crate::hook_class::Hook;
use crate::instrument::sites;
use crate::sources::{Tracer, allocations, classes, frees, program};
use jtrail_guard::{guard, log};
use jtrail_jvm::jni::{Env, ThreadRef};
use jtrail_jvm::jvmti::abi::Event;
use jtrail_jvm::jvmti::{Method, Result, Stack};
use jtrail_recorder::buffer::live;
use jtrail_recorder::pending;
use rustc_hash::FxHashSet;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long we wait until all threads have left the agent's code.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause between two examinations of all stacks.
const PAUSE: Duration = Duration::from_millis(2);
/// Maximum number of frames above the frame of a hook. A hook in Java may call the JDK's atomic
/// addition, which has some frames.
const MAX_FRAMES_ABOVE_HOOK: u16 = 4;
/// How long a new agent waits until the preceding one has detached.
const DETACH_TIMEOUT: Duration = Duration::from_secs(60);

/// Waits until an agent that is detaching has detached. Returns false if that takes too long.
pub(crate) fn wait_until_detached() -> bool {
    let until = Instant::now() + DETACH_TIMEOUT;
    while control::is_leaving() {
        if Instant::now() > until {
            return false;
        }
        sleep(PAUSE);
    }
    true
}

/// Detaches the agent. The calling thread is not inside [`guard::run`], and holds no reference to
/// the agent. `env` is `None` if this thread has no environment yet.
pub(crate) fn leave(env: Option<&mut Env<'_>>) {
    if let Some(agent) = agent::if_loaded() {
        control::set_leaving(true); // for an agent whose set-up failed
        guard::switch_off();
        match env {
            None => go(agent, None),
            Some(env) => env.with_frame(|env| go(agent, Some(env))),
        }
    }
    control::set_leaving(false);
}

fn go(agent: &'static Agent, mut env: Option<&mut Env<'_>>) {
    let tracer = &agent.tracer;
    if let Some(env) = &mut env {
        end_objects(tracer, env);
    }
    tracer.end_followers();
    let hidden = agent::hide();
    let mut is_empty = guard::wait_until_idle(PATIENCE);
    let buffers = live::hide_all();
    if let Some(ticks) = &tracer.session.clock.ticks {
        ticks.hide_all();
    }
    sites::forget_found();
    pending::end_epoch();
    if let Some(env) = env {
        is_empty &= restore_classes(tracer, env);
    }
    // SAFETY: every thread that found the environments has left, unless a debugger has stopped it
    // in the agent. If such a thread uses a disposed environment later, the JVM recognizes it and
    // returns an error.
    unsafe {
        tracer.session.jvmti.dispose();
        if let Some(objects) = tracer.objects.get() {
            objects.jvmti.dispose();
        }
    }
    if !is_empty {
        log::say("a thread is stopped in the middle of the agent, whose memory stays for that");
        return;
    }
    // SAFETY: no thread is storing a record. No thread has found the agent since it was hidden, and
    // the threads that had found it before have left. All agent threads and the writer have ended.
    unsafe {
        buffers.free();
        drop(Box::from_raw(hidden));
    }
}

/// Restores the original code of classes, and disables the hook class. Returns false if a thread
/// may still be in a hook that stores a record.
fn restore_classes(tracer: &Tracer, env: &mut Env<'_>) -> bool {
    program::for_loaded(tracer, env, |env, class| api::unbind(env, class));
    // `restore` includes classes that passed the load hook just before the agent was hidden.
    let stubborn = classes::restore(tracer, env);
    if stubborn > 0 {
        log::say(&format!(
            "the JVM does not give {stubborn} classes their own code back; their hooks do nothing any more"
        ));
    }
    let Some(hook) = tracer.instrument.hook.get() else {
        return true;
    };
    hook.leave();
    let silenced = hook
        .set_lines(env, 0)
        .and_then(|()| hook.set_gate(env, 0))
        .and_then(|()| hook.set_ticks(env, 0));
    silenced.is_ok() && are_hooks_empty(tracer, env, hook).unwrap_or(false)
}

/// Stops numbering objects, and restores the JVM's sampling of allocations.
fn end_objects(tracer: &Tracer, env: &mut Env<'_>) {
    let Some(objects) = tracer.objects.get() else {
        return;
    };
    for event in [Event::SampledObjectAlloc, Event::VmObjectAlloc] {
        let _ = objects.jvmti.disable(event); // the event may not have been enabled
    }
    allocations::uninstall(objects, tracer);
    if let Ok(Some(thread)) = tracer.session.jvmti.current_thread(env) {
        frees::settle(tracer, objects, thread);
    }
}

/// Waits for a moment at which no thread is in a hook. After that moment, no hook has the address
/// of a buffer. Returns false if that takes too long.
fn are_hooks_empty(tracer: &Tracer, env: &mut Env<'_>, hook: &Hook) -> Result<bool> {
    let methods = tracer.session.jvmti.method_ids(hook.class.get())?;
    let methods: FxHashSet<Method> = methods.into_iter().collect();
    let until = Instant::now() + PATIENCE;
    while env.with_frame(|env| is_any_in(tracer, env, &methods))? {
        if Instant::now() > until {
            return Ok(false);
        }
        sleep(PAUSE);
    }
    Ok(true)
}

/// Returns true if any thread was in one of these methods when its stack was examined.
fn is_any_in(tracer: &Tracer, env: &mut Env<'_>, methods: &FxHashSet<Method>) -> Result<bool> {
    let jvmti = tracer.session.jvmti;
    let is_in = |stack: &Stack<'_>| {
        let mut frames = stack.frames().iter();
        frames.any(|frame| methods.contains(&frame.method()))
    };
    let mounted_on = jvmti.get_virtual_thread()?;
    let mut mounted: Vec<ThreadRef<'_>> = Vec::new();
    let mut found = jvmti.with_all_stacks(env, MAX_FRAMES_ABOVE_HOOK, |env, stacks| {
        if let Some(function) = mounted_on {
            let threads = stacks.iter().filter_map(Stack::thread);
            mounted.extend(threads.filter_map(|thread| {
                let other = jvmti.other_thread(env, function, thread);
                other.ok().flatten()
            }));
        }
        stacks.iter().any(is_in)
    })?;
    if !mounted.is_empty() {
        // If a virtual thread has unmounted since the first examination, it has left the hook.
        found |= jvmti.with_stacks_of(env, &mounted, MAX_FRAMES_ABOVE_HOOK, |_, stacks| {
            stacks.iter().any(is_in)
        })?;
    }
    Ok(found)
}
