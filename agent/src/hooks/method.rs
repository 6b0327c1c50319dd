//! Calls: the functions behind the hook class, and the JVM's own events, which are the other engine.
//!
//! The hook's functions are the hot path: thread-local pointer, time stamp, store. All else is in
//! [`slow`].

use crate::agent;
use crate::buffer::record::Code;
use crate::buffer::{record, tls};
use crate::clock::{Clock, Counter, System, counter_is_steady};
use crate::guard;
use crate::jni::HookFunctions;
use crate::jvmti::abi::RawEnv;
use jni::sys::{JNIEnv, jclass, jint, jlong, jmethodID, jobject};
use std::ffi::{c_uchar, c_void};

type Hook = unsafe extern "system" fn(*mut JNIEnv, jclass, jint);
type LineCounters = unsafe extern "system" fn(*mut JNIEnv, jclass) -> jlong;

/// The functions for this machine's clock.
pub(super) fn hook_functions() -> HookFunctions {
    fn of<C: Clock>() -> HookFunctions {
        let pointer = |hook: Hook| hook as *mut c_void;
        HookFunctions {
            enter: pointer(enter::<C>),
            leave: pointer(leave::<C>),
            leave_by_exception: pointer(leave_by_exception),
            caught: pointer(caught),
            super_call: pointer(super_call),
            super_returned: pointer(super_returned),
            park: pointer(super::park::park),
            unpark: pointer(super::park::unpark),
            line_counters: line_counters as LineCounters as *mut c_void,
        }
    }
    if counter_is_steady() {
        of::<Counter>()
    } else {
        of::<System>()
    }
}

unsafe extern "system" fn enter<C: Clock>(env: *mut JNIEnv, _class: jclass, method: jint) {
    call::<C>(env, record::enter(method as u32));
}

unsafe extern "system" fn leave<C: Clock>(env: *mut JNIEnv, _class: jclass, method: jint) {
    call::<C>(env, record::leave(method as u32));
}

#[inline(always)]
fn call<C: Clock>(env: *mut JNIEnv, low: u64) {
    let buffer = tls::get();
    let now = C::now();
    // SAFETY: the variable is null, or points to this thread's own buffer.
    if buffer.is_null() || !unsafe { (*buffer).try_record(now, low) } {
        slow(env, now, low);
    }
}

/// No buffer, no room in the chunk, or a new epoch.
#[cold]
#[inline(never)]
fn slow(env: *mut JNIEnv, now: u64, low: u64) {
    guard::run("a call", || {
        let Some(agent) = agent::get() else { return };
        let Some(buffer) = super::buffer(agent, env) else {
            return;
        };
        // SAFETY: it is the running thread's own.
        if !unsafe { buffer.record(now, low) } {
            guard::switch_off();
        }
    });
}

/// A record of the running method.
fn coded(env: *mut JNIEnv, code: Code, method: jint) {
    guard::run("a call", || {
        let Some(agent) = agent::get() else { return };
        super::record(
            agent,
            super::buffer(agent, env),
            code,
            &[u64::from(method as u32)],
        );
    });
}

/// Where the hook class counts lines.
unsafe extern "system" fn line_counters(_env: *mut JNIEnv, _class: jclass) -> jlong {
    guard::run("the binding of the hook", || {
        let counters = agent::get().and_then(|agent| agent.classes.lines.get());
        counters.map_or(0, |counters| counters.address() as jlong)
    })
}

unsafe extern "system" fn leave_by_exception(env: *mut JNIEnv, _class: jclass, method: jint) {
    coded(env, Code::LeaveByException, method);
}

unsafe extern "system" fn caught(env: *mut JNIEnv, _class: jclass, method: jint) {
    coded(env, Code::Caught, method);
}

unsafe extern "system" fn super_call(env: *mut JNIEnv, _class: jclass, method: jint) {
    coded(env, Code::SuperCall, method);
}

unsafe extern "system" fn super_returned(env: *mut JNIEnv, _class: jclass, method: jint) {
    coded(env, Code::SuperReturned, method);
}

/// JVMTI's MethodEntry.
pub(super) unsafe extern "system" fn jvmti_entry(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    method: jmethodID,
) {
    guard::run("a method's entry", || {
        let Some(agent) = agent::get() else { return };
        // SAFETY: the callback's own method, which is running.
        let Some(number) = (unsafe { agent.classes.method_of(agent, method) }) else {
            return;
        };
        let Some(buffer) = super::buffer(agent, env) else {
            return;
        };
        // SAFETY: it is the running thread's own.
        if !unsafe { buffer.record((agent.now)(), record::enter(number)) } {
            guard::switch_off();
        }
    });
}

/// JVMTI's MethodExit.
pub(super) unsafe extern "system" fn jvmti_exit(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    method: jmethodID,
    by_exception: c_uchar,
    _value: u64,
) {
    guard::run("a method's exit", || {
        let Some(agent) = agent::get() else { return };
        // SAFETY: the callback's own method, which is running.
        let Some(number) = (unsafe { agent.classes.method_of(agent, method) }) else {
            return;
        };
        let Some(buffer) = super::buffer(agent, env) else {
            return;
        };
        if by_exception != 0 {
            super::record(
                agent,
                Some(buffer),
                Code::LeaveByException,
                &[u64::from(number)],
            );
        // SAFETY: it is the running thread's own.
        } else if !unsafe { buffer.record((agent.now)(), record::leave(number)) } {
            guard::switch_off();
        }
    });
}
