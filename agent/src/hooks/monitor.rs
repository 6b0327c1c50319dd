//! Monitors: who wants one that another thread holds, and who waits on one. Parking is told elsewhere: it needs no monitor.

use super::{buffer, record, stack};
use crate::agent;
use jni::sys::{JNIEnv, jlong, jobject};
use jtrail_guard::guard;
use jtrail_jvm::jvmti::abi::RawEnv;
use jtrail_recorder::buffer::record::Code;
use jtrail_records::record::NO_THREAD;
use std::ffi::c_uchar;

/// Records what happens on a monitor, with the stack.
fn monitor(env: *mut JNIEnv, object: jobject, code: Code, value: impl FnOnce() -> u64) {
    guard::run("a monitor's event", || {
        let Some(agent) = agent::get() else { return };
        let Some(objects) = agent.objects.get() else {
            return;
        };
        let Some(buffer) = buffer(agent, env) else {
            return;
        };
        // SAFETY: the callback's own reference and environment.
        let number = unsafe { objects.mention(agent, env, buffer, object) };
        let depth = agent.options.event_frames();
        let payload = stack::payload(agent, number, value(), 0, depth);
        record(agent, Some(buffer), code, &payload);
    });
}

pub(super) unsafe extern "system" fn contended_enter(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    object: jobject,
) {
    let owner = || {
        let agent = agent::get()?;
        // SAFETY: the callback's own reference.
        let owner = unsafe { agent.jvmti.monitor_owner(object) }.ok()?;
        match owner.is_null() {
            true => None,
            // SAFETY: a local reference that the JVM just gave us.
            false => unsafe { agent.number_of(env, owner) },
        }
    };
    monitor(env, object, Code::MonitorContendedEnter, || {
        owner().unwrap_or(NO_THREAD).into()
    });
}

pub(super) unsafe extern "system" fn contended_entered(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    object: jobject,
) {
    monitor(env, object, Code::MonitorContendedEntered, || 0);
}

pub(super) unsafe extern "system" fn wait(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    object: jobject,
    milliseconds: jlong,
) {
    monitor(env, object, Code::MonitorWait, || {
        milliseconds.max(0) as u64
    });
}

pub(super) unsafe extern "system" fn waited(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    object: jobject,
    timed_out: c_uchar,
) {
    monitor(env, object, Code::MonitorWaited, || {
        u64::from(timed_out != 0)
    });
}
