//! Calls: the functions behind the hook class, and the JVM's own events, which are the other engine.
//!
//! The hook's functions are the hot path: thread-local pointer, time stamp, store. All else is in
//! [`slow`].

use super::cpu::{Measure, WithCpu, Without};
use super::{identity, park, site, tick, trigger};
use crate::agent::{self, Agent};
use crate::hook_class::HOOKS;
use crate::hook_class::HookFunctions;
use crate::hook_class::is_present;
use jni::sys::{JNIEnv, jclass, jint, jlong, jmethodID, jobject};
use jtrail_guard::guard;
use jtrail_jvm::jvmti::abi::{Callbacks, RawEnv};
use jtrail_recorder::buffer::record::Code;
use jtrail_recorder::buffer::{ThreadBuffer, record, tls};
use jtrail_recorder::clock::{Clock, Counter, System, counter_is_steady};
use std::ffi::{c_uchar, c_void};

/// A function of the hook class with the number `K`: calls one of ours if the agent of that class is here.
macro_rules! hook {
    ($function:path, $($argument:ident: $type:ty),*) => {{
        unsafe extern "system" fn hook<const K: u32, C: Clock, M: Measure>(
            env: *mut JNIEnv,
            class: jclass,
            $($argument: $type),*
        ) {
            if is_present(K) {
                // SAFETY: the JVM's own arguments.
                unsafe { $function(env, class, $($argument),*) };
            }
        }
        hook::<K, C, M> as unsafe extern "system" fn(*mut JNIEnv, jclass, $($type),*) as *mut c_void
    }};
}

/// The functions of the hook class with that number, for this machine's clock, and for what is measured.
pub(super) fn hook_functions(number: u32, with_cpu: bool, with_identity: bool) -> HookFunctions {
    fn of<const K: u32, C: Clock, M: Measure>(with_identity: bool) -> HookFunctions {
        HookFunctions {
            enter: hook!(enter::<C, M>, method: jint),
            leave: hook!(leave::<C, M>, method: jint),
            leave_by_exception: hook!(leave_by_exception::<M>, method: jint),
            caught: hook!(caught::<M>, method: jint),
            super_call: hook!(super_call, method: jint),
            super_returned: hook!(super_returned, method: jint),
            stamp: hook!(tick::stamp, low: jint, id: jlong),
            stamp_with_method: hook!(tick::stamp_with_method, low: jint, method: jint, id: jlong),
            allocated: match with_identity {
                false => hook!(site::allocated::<C>, site: jint),
                true => hook!(identity::allocated::<C>, site: jint),
            },
            array_allocated: hook!(site::array_allocated::<C>, length: jint, site: jint),
            array_handed_over: hook!(identity::array_allocated, array: jobject, length: jint, site: jint),
            multi_allocated: hook!(site::multi_allocated, array: jobject, site: jint),
            call_allocated: hook!(site::call_allocated, made: jobject, site: jint),
            constructed: hook!(identity::constructed, object: jobject),
            trigger_enter: hook!(trigger::enter::<C, M>, method: jint),
            trigger_leave: hook!(trigger::leave::<C, M>, method: jint),
            trigger_leave_by_exception: hook!(trigger::leave_by_exception::<M>, method: jint),
            park: hook!(park::park, has_blocker: jint),
            unpark: hook!(park::unpark, ignored: jint),
        }
    }
    fn measuring<const K: u32>(with_cpu: bool, with_identity: bool) -> HookFunctions {
        match (counter_is_steady(), with_cpu) {
            (true, false) => of::<K, Counter, Without>(with_identity),
            (true, true) => of::<K, Counter, WithCpu>(with_identity),
            (false, false) => of::<K, System, Without>(with_identity),
            (false, true) => of::<K, System, WithCpu>(with_identity),
        }
    }
    const { assert!(HOOKS == 8) };
    match number {
        0 => measuring::<0>(with_cpu, with_identity),
        1 => measuring::<1>(with_cpu, with_identity),
        2 => measuring::<2>(with_cpu, with_identity),
        3 => measuring::<3>(with_cpu, with_identity),
        4 => measuring::<4>(with_cpu, with_identity),
        5 => measuring::<5>(with_cpu, with_identity),
        6 => measuring::<6>(with_cpu, with_identity),
        _ => measuring::<7>(with_cpu, with_identity),
    }
}

#[inline(always)]
pub(super) unsafe fn enter<C: Clock, M: Measure>(env: *mut JNIEnv, _class: jclass, method: jint) {
    // The system is asked before the time is read here, and behind it at a leave: so it takes none of the call's time.
    let cpu = M::now();
    call::<C>(env, || cpu, record::enter(method as u32));
}

#[inline(always)]
pub(super) unsafe fn leave<C: Clock, M: Measure>(env: *mut JNIEnv, _class: jclass, method: jint) {
    call::<C>(env, M::now, record::leave(method as u32));
}

/// As [`enter`], from other native code: what compiled hooks record behind it is not earlier.
pub(super) fn enter_between<C: Clock, M: Measure>(env: *mut JNIEnv, method: jint) {
    let cpu = M::now();
    slow(env, C::now(), cpu, record::enter(method as u32));
}

/// As [`leave`], likewise.
pub(super) fn leave_between<C: Clock, M: Measure>(env: *mut JNIEnv, method: jint) {
    let now = C::now();
    slow(env, now, M::now(), record::leave(method as u32));
}

#[inline(always)]
fn call<C: Clock>(env: *mut JNIEnv, cpu: impl FnOnce() -> Option<u64>, low: u64) {
    let buffer = tls::get();
    let now = C::now();
    let cpu = cpu();
    let recorded = !buffer.is_null()
        && match cpu {
            // SAFETY: the variable is null, or points to this thread's own buffer.
            None => unsafe { (*buffer).try_record(now, low) },
            // SAFETY: likewise.
            Some(cpu) => unsafe { (*buffer).try_record_with_cpu(now, cpu, low) },
        };
    if !recorded {
        slow(env, now, cpu, low);
    }
}

/// No buffer, no room in the chunk, or a new epoch.
#[cold]
#[inline(never)]
fn slow(env: *mut JNIEnv, now: u64, cpu: Option<u64>, low: u64) {
    guard::run("a call", || {
        let Some(agent) = agent::get() else { return };
        let is_first = agent.buffer_if_any().is_none();
        let Some(buffer) = super::buffer(agent, env) else {
            return;
        };
        // A virtual thread's time counts from when we first see it.
        let cpu = cpu.map(|cpu| if is_first { super::cpu::now() } else { cpu });
        write(buffer, now, cpu, low);
    });
}

/// Writes an enter or a leave into the running thread's buffer.
fn write(buffer: &ThreadBuffer, now: u64, cpu: Option<u64>, low: u64) {
    let recorded = match cpu {
        // SAFETY: it is the running thread's own.
        Some(cpu) => unsafe { buffer.record_with_cpu(now, cpu, low, &[]) },
        // SAFETY: likewise.
        None => unsafe { buffer.record(now, low) },
    };
    if !recorded {
        guard::switch_off();
    }
}

/// A record of the running method.
fn coded<M: Measure>(env: *mut JNIEnv, code: Code, method: jint) {
    guard::run("a call", || {
        let Some(agent) = agent::get() else { return };
        let Some(buffer) = super::buffer(agent, env) else {
            return;
        };
        coded_into::<M>(agent, buffer, code, method as u32);
    });
}

fn coded_into<M: Measure>(agent: &Agent, buffer: &ThreadBuffer, code: Code, method: u32) {
    let payload = [u64::from(method)];
    let Some(cpu) = M::now() else {
        return super::record(agent, Some(buffer), code, &payload);
    };
    // SAFETY: it is the running thread's own.
    if !unsafe { buffer.record_with_cpu((agent.now)(), cpu, record::coded(code), &payload) } {
        guard::switch_off();
    }
}

pub(super) unsafe fn leave_by_exception<M: Measure>(
    env: *mut JNIEnv,
    _class: jclass,
    method: jint,
) {
    coded::<M>(env, Code::LeaveByException, method);
}

/// Calls may be found to have ended by it, which then have its CPU time.
unsafe fn caught<M: Measure>(env: *mut JNIEnv, _class: jclass, method: jint) {
    coded::<M>(env, Code::Caught, method);
}

unsafe fn super_call(env: *mut JNIEnv, _class: jclass, method: jint) {
    coded::<Without>(env, Code::SuperCall, method);
}

unsafe fn super_returned(env: *mut JNIEnv, _class: jclass, method: jint) {
    coded::<Without>(env, Code::SuperReturned, method);
}

/// The callbacks of the other engine.
pub(super) fn set_callbacks(callbacks: &mut Callbacks, with_cpu: bool) {
    match with_cpu {
        false => {
            callbacks.method_entry(jvmti_entry::<Without>);
            callbacks.method_exit(jvmti_exit::<Without>);
        }
        true => {
            callbacks.method_entry(jvmti_entry::<WithCpu>);
            callbacks.method_exit(jvmti_exit::<WithCpu>);
        }
    }
}

/// JVMTI's MethodEntry.
unsafe extern "system" fn jvmti_entry<M: Measure>(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    method: jmethodID,
) {
    guard::run("a method's entry", || {
        let Some(agent) = agent::get().filter(|agent| agent.is_gate_open()) else {
            return;
        };
        // SAFETY: the callback's own method, which is running.
        let Some(number) = (unsafe { agent.classes.method_of(agent, method) }) else {
            return;
        };
        let Some(buffer) = super::buffer(agent, env) else {
            return;
        };
        let cpu = M::now();
        write(buffer, (agent.now)(), cpu, record::enter(number));
    });
}

/// JVMTI's MethodExit.
unsafe extern "system" fn jvmti_exit<M: Measure>(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    method: jmethodID,
    by_exception: c_uchar,
    _value: u64,
) {
    guard::run("a method's exit", || {
        let Some(agent) = agent::get().filter(|agent| agent.is_gate_open()) else {
            return;
        };
        // SAFETY: the callback's own method, which is running.
        let Some(number) = (unsafe { agent.classes.method_of(agent, method) }) else {
            return;
        };
        let Some(buffer) = super::buffer(agent, env) else {
            return;
        };
        match by_exception {
            0 => write(buffer, (agent.now)(), M::now(), record::leave(number)),
            _ => coded_into::<M>(agent, buffer, Code::LeaveByException, number),
        }
    });
}
