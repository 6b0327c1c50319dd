//! Calls with the coarse clock (`clock=tick`): what compiled hooks leave to us. They record by themselves while the clock's word stays what it was, and
//! there is room ([`jtrail_recorder::ticks`]).

use crate::agent;
use jni::sys::{JNIEnv, jclass, jint, jlong};
use jtrail_guard::guard;
use jtrail_recorder::buffer::ThreadBuffer;
use jtrail_recorder::buffer::record::{self, Kind};

/// An enter or a leave. `id` is what Java calls the platform thread.
pub(super) unsafe fn stamp(env: *mut JNIEnv, _class: jclass, low: jint, id: jlong) {
    stamped(env, id, |buffer, now| {
        // SAFETY: it is the running thread's own.
        unsafe { buffer.record(now, u64::from(low as u32)) }
    });
}

/// Another record with a method.
pub(super) unsafe fn stamp_with_method(
    env: *mut JNIEnv,
    _class: jclass,
    low: jint,
    method: jint,
    id: jlong,
) {
    stamped(env, id, |buffer, now| {
        match record::kind(u64::from(low as u32)) {
            // SAFETY: it is the running thread's own.
            Some(Kind::Coded(code)) => unsafe {
                buffer.record_coded(now, code, &[u64::from(method as u32)])
            },
            _ => true, // the hook has no others
        }
    });
}

fn stamped(env: *mut JNIEnv, id: jlong, record: impl FnOnce(&ThreadBuffer, u64) -> bool) {
    guard::run("a call", || {
        let Some(agent) = agent::get() else { return };
        let Some(ticks) = &agent.ticks else { return };
        let Some(buffer) = super::buffer(agent, env) else {
            return;
        };
        // SAFETY: the running thread's own, and the id that the hook just looked up.
        unsafe { buffer.show_to_hooks(id as u64) };
        // In this order: where the clock ticks in between, the stamp is not good for what follows.
        let tick = ticks.word_for_stamp();
        let now = (agent.now)();
        if !record(buffer, now) {
            return guard::switch_off();
        }
        // SAFETY: the running thread's own.
        unsafe { buffer.arm(tick) };
    });
}
