//! What begins bursts: calls of methods, slow ones, exceptions.

use super::cpu::Measure;
use super::{buffer, method, record};
use crate::agent::{self, Agent};
use crate::instrument::class_name;
use ::jni::sys::{JNIEnv, jclass, jint, jlong, jmethodID, jobject};
use jtrail_guard::guard;
use jtrail_jvm::jni;
use jtrail_recorder::buffer::ThreadBuffer;
use jtrail_recorder::buffer::record::Code;
use jtrail_recorder::bursts::{Bursts, RECORDED, is_gate_open};
use jtrail_recorder::clock::Clock;
use jtrail_writer::{Action, SaveReason};
use std::sync::Arc;

/// A burst's trigger has come: the gate opens, and the writer will meet the record.
/// Where the buffers keep the newest events, these are to be saved; the thread goes on at once.
fn begin(agent: &Agent, bursts: &Arc<Bursts>, buffer: &ThreadBuffer, trigger: usize) {
    if bursts.saves() {
        if bursts.is_save_due(trigger) {
            // SAFETY: it is the running thread's own.
            let (thread, _) = unsafe { buffer.owners() };
            let save = Action::Save(SaveReason::Trigger(trigger, Some(thread)));
            drop(agent.writer.begin(agent.moment(), save));
        }
        return;
    }
    if bursts.begin(trigger) {
        record(agent, Some(buffer), Code::Burst, &[trigger as u64]);
    }
}

/// What `look` has to do with a method that has triggers; answers its bits.
fn with_method(
    env: *mut JNIEnv,
    number: jint,
    look: impl FnOnce(&Agent, &Arc<Bursts>, &ThreadBuffer, u32, u32),
) -> u32 {
    guard::run("a call that may begin a burst", || {
        let Some(agent) = agent::get() else { return 0 };
        let Some(bursts) = &agent.bursts else {
            return 0;
        };
        let bits = bursts.method(number as u32);
        if bits & !RECORDED != 0
            && let Some(buffer) = buffer(agent, env)
        {
            // SAFETY: it is the running thread's own.
            let (thread, _) = unsafe { buffer.owners() };
            look(agent, bursts, buffer, bits, thread);
        }
        bits
    })
}

pub(super) unsafe fn enter<C: Clock, M: Measure>(env: *mut JNIEnv, _class: jclass, number: jint) {
    // The burst begins before the call does, which is its first event.
    let bits = with_method(env, number, |agent, bursts, buffer, bits, thread| {
        bursts.called(bits, thread, number as u32, |trigger| {
            begin(agent, bursts, buffer, trigger);
        });
    });
    if bits & RECORDED != 0 && is_gate_open() {
        method::enter_between::<C, M>(env, number);
    }
}

pub(super) unsafe fn leave<C: Clock, M: Measure>(env: *mut JNIEnv, _class: jclass, number: jint) {
    if ended(env, number) && is_gate_open() {
        method::leave_between::<C, M>(env, number);
    }
}

pub(super) unsafe fn leave_by_exception<M: Measure>(env: *mut JNIEnv, class: jclass, number: jint) {
    if ended(env, number) && is_gate_open() {
        // SAFETY: the caller's promise.
        unsafe { method::leave_by_exception::<M>(env, class, number) };
    }
}

/// A call ends; whether it is to be recorded.
fn ended(env: *mut JNIEnv, number: jint) -> bool {
    let bits = with_method(env, number, |agent, bursts, buffer, bits, thread| {
        bursts.left(bits, thread, number as u32, |trigger| {
            begin(agent, bursts, buffer, trigger);
        });
    });
    bits & RECORDED != 0
}

/// An exception is thrown.
///
/// # Safety
/// The arguments are the callback's own.
pub(super) unsafe fn thrown(
    agent: &Agent,
    env: *mut JNIEnv,
    place: (jmethodID, jlong),
    exception: jobject,
) {
    let Some(bursts) = &agent.bursts else { return };
    if !bursts.awaits_exceptions() {
        return;
    }
    // SAFETY: the caller's promise.
    let method = unsafe { agent.classes.frame_method(agent, place.0) };
    if method.is_some_and(|method| method.is_ours(place.1)) {
        return; // it is thrown on
    }
    let Some(buffer) = buffer(agent, env) else {
        return;
    };
    let mut names = Vec::new();
    // SAFETY: the caller's promise, and local references that the JVM gives us, which the frame takes back.
    let look = || unsafe {
        let mut class = jni::class_of(env, exception);
        while !class.is_null() {
            let signature = agent.jvmti.class_signature(class).unwrap_or_default();
            let name = signature.trim_start_matches('L').trim_end_matches(';');
            names.push(class_name(name));
            class = jni::superclass_of(env, class);
        }
    };
    // SAFETY: the running thread's environment; no reference leaves.
    unsafe { jni::with_frame(env, look) };
    bursts.thrown(
        |pattern| names.iter().any(|name| pattern.matches(name)),
        |trigger| begin(agent, bursts, buffer, trigger),
    );
}
