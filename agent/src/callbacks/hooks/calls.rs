//! Hooks at calls: enters, leaves, and other records about the running method.

use super::super::with;
use crate::sources::cpu::{Measure, WithoutCpu};
use crate::sources::{Tracer, calls, initialisations, parks, triggers};
use jni::sys::{JNIEnv, jclass, jint, jlong};
use jtrail_guard::guard;
use jtrail_jvm::jni::Env;
use jtrail_recorder::buffer::record::{self, Code, Kind};
use jtrail_recorder::buffer::{OwnBuffer, tls};
use jtrail_recorder::bursts::is_gate_open;
use jtrail_recorder::clock::Clock;

/// # Safety
/// The JVM passed the arguments to a native method of the hook class. This holds for all functions
/// in this module.
#[inline(always)]
pub(super) unsafe fn enter<C: Clock, M: Measure>(env: *mut JNIEnv, _class: jclass, method: jint) {
    // At an enter, the CPU time is read before the time stamp; at a leave, after it. So the system
    // call is not part of the call's time.
    let cpu = M::now();
    // SAFETY: the JVM passed `env` to the native method.
    unsafe { call::<C>(env, || cpu, record::enter(method as u32)) };
}

#[inline(always)]
pub(super) unsafe fn leave<C: Clock, M: Measure>(env: *mut JNIEnv, _class: jclass, method: jint) {
    // SAFETY: the JVM passed `env` to the native method.
    unsafe { call::<C>(env, M::now, record::leave(method as u32)) };
}

/// # Safety
/// `env` is the native method's environment.
#[inline(always)]
unsafe fn call<C: Clock>(env: *mut JNIEnv, cpu: impl FnOnce() -> Option<u64>, low: u64) {
    let buffer = tls::get();
    let now = C::now();
    let cpu = cpu();
    // SAFETY: the variable is null, or points to this thread's own buffer.
    let recorded = !buffer.is_null()
        && unsafe {
            match cpu {
                None => (*buffer).try_record(now, low),
                Some(cpu) => (*buffer).try_record_with_cpu(now, cpu, low),
            }
        };
    if !recorded {
        // SAFETY: the caller passes the native method's environment.
        unsafe { slow(env, now, cpu, low) };
    }
}

/// Records an enter or leave that [`call`] could not record. The thread has no buffer, its chunk
/// has no room, or the epoch is new.
///
/// # Safety
/// `env` is the native method's environment.
#[cold]
#[inline(never)]
unsafe fn slow(env: *mut JNIEnv, now: u64, cpu: Option<u64>, low: u64) {
    // SAFETY: the caller passes the native method's environment.
    unsafe {
        with("a call", env, |tracer, env| {
            calls::called(tracer, env, now, cpu, low);
        });
    }
}

/// Writes a record with a code about the running method.
///
/// # Safety
/// `env` is the native method's environment.
unsafe fn coded<M: Measure>(env: *mut JNIEnv, code: Code, method: jint) {
    // SAFETY: the caller passes the native method's environment.
    unsafe {
        with("a call", env, |tracer, env| {
            calls::coded::<M>(tracer, env, code, method as u32);
        });
    }
}

pub(super) unsafe fn leave_by_exception<M: Measure>(
    env: *mut JNIEnv,
    _class: jclass,
    method: jint,
) {
    // SAFETY: the JVM passed `env` to the native method.
    unsafe { coded::<M>(env, Code::LeaveByException, method) };
}

/// The method caught an exception. If the exception has ended calls, they end at the CPU time of
/// this record.
pub(super) unsafe fn caught<M: Measure>(env: *mut JNIEnv, _class: jclass, method: jint) {
    // SAFETY: the JVM passed `env` to the native method.
    unsafe { coded::<M>(env, Code::Caught, method) };
}

pub(super) unsafe fn super_call(env: *mut JNIEnv, _class: jclass, method: jint) {
    // SAFETY: the JVM passed `env` to the native method.
    unsafe { coded::<WithoutCpu>(env, Code::SuperCall, method) };
}

pub(super) unsafe fn super_returned(env: *mut JNIEnv, _class: jclass, method: jint) {
    // SAFETY: the JVM passed `env` to the native method.
    unsafe { coded::<WithoutCpu>(env, Code::SuperReturned, method) };
}

/// Records an enter or a leave for a compiled hook (`clock=tick`). A compiled hook records without
/// this function while the coarse clock is unchanged and the chunk has room
/// ([`jtrail_recorder::ticks`]). `id` is the Java id of the platform thread.
pub(super) unsafe fn stamp(env: *mut JNIEnv, _class: jclass, low: jint, id: jlong) {
    // SAFETY: the JVM passed `env` to the native method, and the hook has just read the id of the
    // running thread.
    unsafe {
        stamped(env, id, |buffer, now| {
            buffer.record(now, u64::from(low as u32))
        })
    };
}

/// Like [`stamp`], for a record that has a code and the method's number.
pub(super) unsafe fn stamp_with_method(
    env: *mut JNIEnv,
    _class: jclass,
    low: jint,
    method: jint,
    id: jlong,
) {
    let record = |buffer: OwnBuffer, now| match record::kind(u64::from(low as u32)) {
        Some(Kind::Coded(code)) => buffer.record_coded(now, code, &[u64::from(method as u32)]),
        _ => true, // the hook has no other records
    };
    // SAFETY: the JVM passed `env` to the native method, and the hook has just read the id of the
    // running thread.
    unsafe { stamped(env, id, record) };
}

/// # Safety
/// `env` is the native method's environment, and `id` the running thread's id.
unsafe fn stamped(env: *mut JNIEnv, id: jlong, record: impl FnOnce(OwnBuffer, u64) -> bool) {
    // SAFETY: the caller passes the native method's environment and the running thread's id.
    unsafe {
        with("a call", env, |tracer, env| {
            let Some(ticks) = &tracer.session.clock.ticks else {
                return;
            };
            let Some(buffer) = tracer.session.buffer(env) else {
                return;
            };
            buffer.show_to_hooks(id as u64);
            // The tick is read before the time. If the clock ticks in between, `tick` is outdated,
            // and no later record reuses the stamp.
            let tick = ticks.word_for_stamp();
            if !record(buffer, tracer.session.now()) {
                return guard::switch_off();
            }
            buffer.arm(tick);
        });
    }
}

pub(super) unsafe fn trigger_enter<C: Clock, M: Measure>(
    env: *mut JNIEnv,
    _class: jclass,
    method: jint,
) {
    // SAFETY: the JVM passed `env` to the native method.
    unsafe {
        if trigger(env, method, triggers::called) {
            // Later records of compiled hooks must not have an earlier time than this enter. So the
            // slow path records the enter, and notes its time for compiled hooks.
            let cpu = M::now();
            slow(env, C::now(), cpu, record::enter(method as u32));
        }
    }
}

pub(super) unsafe fn trigger_leave<C: Clock, M: Measure>(
    env: *mut JNIEnv,
    _class: jclass,
    method: jint,
) {
    // SAFETY: the JVM passed `env` to the native method.
    unsafe {
        if trigger(env, method, triggers::left) {
            let now = C::now();
            slow(env, now, M::now(), record::leave(method as u32));
        }
    }
}

pub(super) unsafe fn trigger_leave_by_exception<M: Measure>(
    env: *mut JNIEnv,
    class: jclass,
    method: jint,
) {
    // SAFETY: the JVM passed `env` and `class` to the native method.
    unsafe {
        if trigger(env, method, triggers::left) {
            leave_by_exception::<M>(env, class, method);
        }
    }
}

/// Reports a call of a method that may begin bursts. Returns true if the call is to be recorded.
///
/// # Safety
/// `env` is the native method's environment.
unsafe fn trigger(
    env: *mut JNIEnv,
    method: jint,
    act: fn(&Tracer, &mut Env<'_>, u32) -> bool,
) -> bool {
    // SAFETY: the caller passes the native method's environment.
    let is_recorded = unsafe {
        with("a call that may begin a burst", env, |tracer, env| {
            act(tracer, env, method as u32)
        })
    };
    is_recorded && is_gate_open()
}

/// The static initializer of a class begins. `CALLED` is true if the initializer is also recorded
/// as a call.
pub(super) unsafe fn initialiser_enter<C: Clock, M: Measure, const CALLED: bool>(
    env: *mut JNIEnv,
    _class: jclass,
    method: jint,
) {
    // SAFETY: the JVM passed `env` to the native method.
    unsafe {
        if initialisation(env, method, CALLED, initialisations::entered) {
            // Like in [`trigger_enter`], the slow path notes the time for compiled hooks.
            let cpu = M::now();
            slow(env, C::now(), cpu, record::enter(method as u32));
        }
    }
}

pub(super) unsafe fn initialiser_leave<C: Clock, M: Measure, const CALLED: bool>(
    env: *mut JNIEnv,
    _class: jclass,
    method: jint,
) {
    // SAFETY: the JVM passed `env` to the native method.
    unsafe {
        if initialisation(env, method, CALLED, initialisations::leaves) {
            let now = C::now();
            slow(env, now, M::now(), record::leave(method as u32));
        }
        initialisation(env, method, false, initialisations::left);
    }
}

pub(super) unsafe fn initialiser_leave_by_exception<M: Measure, const CALLED: bool>(
    env: *mut JNIEnv,
    class: jclass,
    method: jint,
) {
    // SAFETY: the JVM passed `env` and `class` to the native method.
    unsafe {
        if initialisation(env, method, CALLED, initialisations::leaves) {
            leave_by_exception::<M>(env, class, method);
        }
        initialisation(env, method, true, initialisations::left);
    }
}

/// # Safety
/// `env` is the native method's environment.
unsafe fn initialisation<T: Default>(
    env: *mut JNIEnv,
    method: jint,
    more: bool,
    act: fn(&Tracer, &mut Env<'_>, u32, bool) -> T,
) -> T {
    // SAFETY: the caller passes the native method's environment.
    unsafe {
        with("a class initialisation", env, |tracer, env| {
            act(tracer, env, method as u32, more)
        })
    }
}

pub(super) unsafe fn park(env: *mut JNIEnv, _class: jclass, has_blocker: jint) {
    // SAFETY: the JVM passed `env` to the native method.
    unsafe {
        with("a park", env, |tracer, env| {
            parks::park(tracer, env, has_blocker != 0);
        });
    }
}

pub(super) unsafe fn unpark(env: *mut JNIEnv, _class: jclass, _ignored: jint) {
    // SAFETY: the JVM passed `env` to the native method.
    unsafe {
        with("the end of a park", env, |tracer, env| {
            parks::unpark(tracer, env)
        })
    };
}
