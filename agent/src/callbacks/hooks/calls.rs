//! Hooks at calls: enters, leaves, and what else is recorded of a method that runs.

use super::super::with;
use crate::sources::cpu::{Measure, Without};
use crate::sources::{Tracer, calls, initialisations, parks, triggers};
use jni::sys::{JNIEnv, jclass, jint, jlong};
use jtrail_guard::guard;
use jtrail_jvm::jni::Env;
use jtrail_recorder::buffer::record::{self, Code, Kind};
use jtrail_recorder::buffer::{OwnBuffer, tls};
use jtrail_recorder::bursts::is_gate_open;
use jtrail_recorder::clock::Clock;

/// # Safety
/// The JVM passed the arguments to a native method of the hook class. So for all functions here.
#[inline(always)]
pub(super) unsafe fn enter<C: Clock, M: Measure>(env: *mut JNIEnv, _class: jclass, method: jint) {
    // The system is asked before the time is read here, and after it at a leave: so it takes none
    // of the call's time.
    let cpu = M::now();
    // SAFETY: the native method's environment.
    unsafe { call::<C>(env, || cpu, record::enter(method as u32)) };
}

#[inline(always)]
pub(super) unsafe fn leave<C: Clock, M: Measure>(env: *mut JNIEnv, _class: jclass, method: jint) {
    // SAFETY: the native method's environment.
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
        // SAFETY: the native method's environment.
        unsafe { slow(env, now, cpu, low) };
    }
}

/// No buffer, no room in the chunk, or a new epoch.
///
/// # Safety
/// `env` is the native method's environment.
#[cold]
#[inline(never)]
unsafe fn slow(env: *mut JNIEnv, now: u64, cpu: Option<u64>, low: u64) {
    // SAFETY: the native method's environment.
    unsafe {
        with("a call", env, |tracer, env| {
            calls::called(tracer, env, now, cpu, low);
        });
    }
}

/// Records something else about a method that runs.
///
/// # Safety
/// `env` is the native method's environment.
unsafe fn coded<M: Measure>(env: *mut JNIEnv, code: Code, method: jint) {
    // SAFETY: the native method's environment.
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
    // SAFETY: the native method's environment.
    unsafe { coded::<M>(env, Code::LeaveByException, method) };
}

/// Calls may be found to have ended by it, which then have its CPU time.
pub(super) unsafe fn caught<M: Measure>(env: *mut JNIEnv, _class: jclass, method: jint) {
    // SAFETY: the native method's environment.
    unsafe { coded::<M>(env, Code::Caught, method) };
}

pub(super) unsafe fn super_call(env: *mut JNIEnv, _class: jclass, method: jint) {
    // SAFETY: the native method's environment.
    unsafe { coded::<Without>(env, Code::SuperCall, method) };
}

pub(super) unsafe fn super_returned(env: *mut JNIEnv, _class: jclass, method: jint) {
    // SAFETY: the native method's environment.
    unsafe { coded::<Without>(env, Code::SuperReturned, method) };
}

/// With the coarse clock, compiled hooks record by themselves while the clock's word stays what it
/// was, and there is room ([`jtrail_recorder::ticks`]). What they leave to us is an enter or a
/// leave; `id` is what Java calls the platform thread.
pub(super) unsafe fn stamp(env: *mut JNIEnv, _class: jclass, low: jint, id: jlong) {
    // SAFETY: the native method's environment, and the id that the hook has just looked up.
    unsafe {
        stamped(env, id, |buffer, now| {
            buffer.record(now, u64::from(low as u32))
        })
    };
}

/// As [`stamp`], for another record with a method.
pub(super) unsafe fn stamp_with_method(
    env: *mut JNIEnv,
    _class: jclass,
    low: jint,
    method: jint,
    id: jlong,
) {
    let record = |buffer: OwnBuffer, now| match record::kind(u64::from(low as u32)) {
        Some(Kind::Coded(code)) => buffer.record_coded(now, code, &[u64::from(method as u32)]),
        _ => true, // the hook has no others
    };
    // SAFETY: the native method's environment, and the id that the hook has just looked up.
    unsafe { stamped(env, id, record) };
}

/// # Safety
/// `env` is the native method's environment, and `id` the running thread's id.
unsafe fn stamped(env: *mut JNIEnv, id: jlong, record: impl FnOnce(OwnBuffer, u64) -> bool) {
    // SAFETY: the native method's environment, and the running thread's id.
    unsafe {
        with("a call", env, |tracer, env| {
            let Some(ticks) = &tracer.session.clock.ticks else {
                return;
            };
            let Some(buffer) = tracer.session.buffer(env) else {
                return;
            };
            buffer.show_to_hooks(id as u64);
            // In this order: where the clock ticks in between, the stamp is not good for what
            // follows.
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
    // SAFETY: the native method's environment.
    unsafe {
        if trigger(env, method, triggers::called) {
            // What compiled hooks record after it is not earlier: so it is written by the slow way.
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
    // SAFETY: the native method's environment.
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
    // SAFETY: the native method's environment and class.
    unsafe {
        if trigger(env, method, triggers::left) {
            leave_by_exception::<M>(env, class, method);
        }
    }
}

/// Returns true if the call of a method that may begin bursts is to be recorded.
///
/// # Safety
/// `env` is the native method's environment.
unsafe fn trigger(
    env: *mut JNIEnv,
    method: jint,
    act: fn(&Tracer, &mut Env<'_>, u32) -> bool,
) -> bool {
    // SAFETY: the native method's environment.
    let is_recorded = unsafe {
        with("a call that may begin a burst", env, |tracer, env| {
            act(tracer, env, method as u32)
        })
    };
    is_recorded && is_gate_open()
}

/// A class's static initialiser begins. `CALLED`: its calls are recorded as well.
pub(super) unsafe fn initialiser_enter<C: Clock, M: Measure, const CALLED: bool>(
    env: *mut JNIEnv,
    _class: jclass,
    method: jint,
) {
    // SAFETY: the native method's environment.
    unsafe {
        if initialisation(env, method, CALLED, initialisations::entered) {
            // As for triggers: what compiled hooks record after it is not earlier.
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
    // SAFETY: the native method's environment.
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
    // SAFETY: the native method's environment and class.
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
    // SAFETY: the native method's environment.
    unsafe {
        with("a class initialisation", env, |tracer, env| {
            act(tracer, env, method as u32, more)
        })
    }
}

pub(super) unsafe fn park(env: *mut JNIEnv, _class: jclass, has_blocker: jint) {
    // SAFETY: the native method's environment.
    unsafe {
        with("a park", env, |tracer, env| {
            parks::park(tracer, env, has_blocker != 0);
        });
    }
}

pub(super) unsafe fn unpark(env: *mut JNIEnv, _class: jclass, _ignored: jint) {
    // SAFETY: the native method's environment.
    unsafe {
        with("the end of a park", env, |tracer, env| {
            parks::unpark(tracer, env)
        })
    };
}
