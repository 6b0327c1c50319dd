//! The agent leaves the JVM, and all is as it was.
//!
//! The trace has ended, and recording is off. What is left is to take everything away that the
//! agent has: its place as the one agent, the environments, the memory. Threads of the program may
//! be in the middle of anything:
//!
//! - **in a callback**, or in a hook that does more than to store a record. They are counted
//!   ([`guard::run`]). Once the agent can't be found any more, we wait until everybody is out who
//!   came before;
//! - **in a hook that stores a record.** That is a few instructions, uncounted, with the address of
//!   the thread's buffer in a register. So that address is taken away from all threads, and then we
//!   look at their stacks: whoever is not in a hook then has no such address, and gets none. The
//!   look is a safepoint: it orders what we stored before with all that the threads do after;
//! - **in a method with hooks**, for as long as they like. These hooks are of this agent's own hook
//!   class, and do nothing from now on; the next agent has another one.
//!
//! A thread may be stopped where it is, by a debugger for instance. Then the agent leaves all the
//! same, and leaves its memory behind.

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

/// How long we wait for threads that are in our code.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause between two looks at all stacks.
const PAUSE: Duration = Duration::from_millis(2);
/// How many frames may be above a hook's that is Java code: those of the JDK's atomic addition.
const ABOVE_HOOK: u16 = 4;
/// How long a new agent waits until the one before is gone.
const LONGEST_LEAVE: Duration = Duration::from_secs(60);

/// Waits until an agent that is about to leave is gone. Returns false if that takes too long.
pub(crate) fn wait_until_detached() -> bool {
    let until = Instant::now() + LONGEST_LEAVE;
    while control::is_leaving() {
        if Instant::now() > until {
            return false;
        }
        sleep(PAUSE);
    }
    true
}

/// Takes the agent away. The caller is not counted as inside, and holds nothing of it; there is no
/// environment where the JVM has none yet.
pub(crate) fn leave(env: Option<&mut Env<'_>>) {
    if let Some(agent) = agent::if_loaded() {
        control::set_leaving(true); // of one that could not be set up
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
    let mut is_empty = guard::wait_until_empty(PATIENCE);
    let buffers = live::hide_all();
    if let Some(ticks) = &tracer.session.clock.ticks {
        ticks.hide_all();
    }
    sites::forget_found();
    pending::end_epoch();
    if let Some(env) = env {
        is_empty &= take_back(tracer, env);
    }
    // SAFETY: whoever found the environments has come out, unless a thread is stopped in the middle
    // of the agent; what it asks of them then is refused by the JVM, which keeps disposed
    // environments for that.
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
    // SAFETY: no thread is in the middle of a record, nobody found the agent since it was hidden,
    // and who had before is out. The agent's own threads have ended, the writer among them.
    unsafe {
        buffers.free();
        drop(Box::from_raw(hidden));
    }
}

/// Gives classes their own code back, and silences the hook class. Returns false if a thread may
/// still be in a hook that stores a record.
fn take_back(tracer: &Tracer, env: &mut Env<'_>) -> bool {
    program::for_loaded(tracer, env, |env, class| api::unbind(env, class));
    // Classes that were on their way before.
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

/// No object has a number any more, and the JVM's sampler is as it is without us.
fn end_objects(tracer: &Tracer, env: &mut Env<'_>) {
    let Some(objects) = tracer.objects.get() else {
        return;
    };
    for event in [Event::SampledObjectAlloc, Event::VmObjectAlloc] {
        let _ = objects.jvmti.disable(event); // it may not have been on
    }
    allocations::uninstall(objects, tracer);
    if let Ok(Some(thread)) = tracer.session.jvmti.current_thread(env) {
        frees::settle(tracer, objects, thread);
    }
}

/// Waits until no thread is in a hook that may have found its buffer before. Returns false if that
/// takes too long.
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

/// Returns true if a thread is in one of these methods, or was a moment ago.
fn is_any_in(tracer: &Tracer, env: &mut Env<'_>, methods: &FxHashSet<Method>) -> Result<bool> {
    let jvmti = tracer.session.jvmti;
    let is_in = |stack: &Stack<'_>| {
        let mut frames = stack.frames().iter();
        frames.any(|frame| methods.contains(&frame.method()))
    };
    let mounted_on = jvmti.get_virtual_thread()?;
    let mut mounted: Vec<ThreadRef<'_>> = Vec::new();
    let mut found = jvmti.with_all_stacks(env, ABOVE_HOOK, |env, stacks| {
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
        // One that has left its carrier meanwhile has left the hook.
        found |= jvmti.with_stacks_of(env, &mounted, ABOVE_HOOK, |_, stacks| {
            stacks.iter().any(is_in)
        })?;
    }
    Ok(found)
}
