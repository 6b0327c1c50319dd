//! Agent threads: threads that the JVM creates for the agent, as daemons that Java code can't see.
//! They are not recorded: the session treats them as threads that have ended.

use super::Tracer;
use super::state::follower::{self, Follower};
use crate::error::Error;
use crate::session::{ENDED, mark_agent_thread};
use jtrail_guard::guard;
use jtrail_jvm::jni::{Env, ThreadRef};
use jtrail_recorder::buffer::{OwnBuffer, live};
use std::sync::Arc;

/// The body of an agent thread. Returns whether the agent is to detach afterwards.
pub(crate) type Body = Box<dyn FnOnce(&'static Tracer, &mut Env<'_>) -> Leaves + Send>;

/// Whether the agent is to detach when one of its threads ends.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Leaves {
    #[default]
    No,
    Yes,
}

/// Starts an agent thread with the name `name`. `place` is what messages call the thread.
///
/// # Errors
/// If the JVM does not create a thread.
pub(crate) fn start(
    tracer: &'static Tracer,
    env: &mut Env<'_>,
    name: &str,
    place: &'static str,
    body: Body,
) -> Result<(), Error> {
    let jvmti = tracer.session.jvmti;
    let groups = jvmti.top_groups(env)?;
    let group = groups.first().ok_or("this JVM has no thread group")?;
    let thread = Arc::new(env.new_thread(*group, name)?);
    // The thread is added before it starts, so that `is_starting` recognizes it.
    tracer.own_threads.write().push(Arc::clone(&thread));
    let upcalls = tracer.session.life.upcalls;
    let round = guard::round();
    let run = move |env: &mut Env<'_>| {
        // If the thread starts too late, the agent may have detached, and another agent may be
        // loaded. Then the thread must do nothing.
        let is_late = guard::is_off() || guard::round() != round;
        let leaves = guard::run_thread(place, || match is_late {
            false => body(tracer, env),
            true => Leaves::No,
        });
        if leaves == Leaves::Yes {
            upcalls.leave(env);
        }
    };
    Ok(jvmti.run_agent_thread(thread.get(), Box::new(run))?)
}

/// Starts an agent thread that calls `act` after each collection, until [`Follower::end`] or the
/// end of the process.
///
/// # Errors
/// If the JVM does not create a thread.
pub(super) fn follow_collections(
    tracer: &'static Tracer,
    env: &mut Env<'_>,
    follower: &Follower,
    (name, place): (&str, &'static str),
    act: impl Fn(&Tracer, &mut Env<'_>, OwnBuffer) + Send + 'static,
) -> Result<(), Error> {
    let (thread, wakes) = follower::pair();
    let body = move |tracer: &'static Tracer, env: &mut Env<'_>| {
        while wakes.wait() {
            if !guard::is_off()
                && let Some(buffer) = tracer.session.native_buffer()
            {
                act(tracer, env, buffer);
            }
        }
        live::finish();
        Leaves::No
    };
    start(tracer, env, name, place, Box::new(body))?;
    follower.set(thread);
    Ok(())
}

/// Marks the running thread as an agent thread, which is not recorded.
pub(super) fn skip(tracer: &Tracer, env: &Env<'_>, thread: ThreadRef<'_>) {
    let _ = tracer.session.jvmti.set_thread_number(ENDED);
    let threads = &tracer.session.threads;
    threads.set(env.thread_id(Some(thread)), ENDED);
}

/// Returns true if the starting thread is an agent thread, and marks the thread as one.
pub(super) fn is_starting(tracer: &Tracer, env: &Env<'_>, thread: ThreadRef<'_>) -> bool {
    let threads = tracer.own_threads.read();
    let is_one = threads
        .iter()
        .any(|own| env.is_same_thread(own.get(), thread));
    drop(threads);
    if is_one {
        mark_agent_thread();
        skip(tracer, env, thread);
    }
    is_one
}
