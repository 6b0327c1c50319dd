//! Ends of objects that have weak references: a thread of our own looks for them after each collection.

use super::record;
use crate::agent::Agent;
use jni::sys::JNIEnv;
use jtrail_guard::log;
use jtrail_recorder::buffer::ThreadBuffer;
use jtrail_recorder::buffer::record::Code;

/// The JVM is ready: dead objects can be told of from now on.
pub(super) fn begin(agent: &Agent, env: *mut JNIEnv) {
    let is_weak = |agent: &Agent| agent.objects.get().is_some_and(|o| o.weak.is_some());
    if !is_weak(agent) {
        return;
    }
    let place = "the search for dead objects";
    let started = agent
        .sweeper
        .start(agent, env, "jtrail sweeper", place, sweep);
    if let Err(error) = started {
        log::say(&format!(
            "{error}; dead objects are told of at the end only"
        ));
    }
}

/// Tells of the objects that have died.
pub(super) fn sweep(agent: &Agent, env: *mut JNIEnv, buffer: &ThreadBuffer) {
    if let Some(weak) = agent
        .objects
        .get()
        .and_then(|objects| objects.weak.as_ref())
    {
        // SAFETY: the running thread's environment.
        unsafe {
            weak.sweep(env, |number| {
                record(agent, Some(buffer), Code::ObjectFree, &[number]);
            });
        }
    }
}
