//! Triggers of bursts: calls of methods, slow calls, and exceptions.

use super::Tracer;
use super::exceptions::CodeLocation;
use crate::session::{class_name, internal_name};
use jtrail_jvm::jni::{Env, ObjectRef};
use jtrail_recorder::buffer::OwnBuffer;
use jtrail_recorder::buffer::record::Code;
use jtrail_recorder::bursts::{Bursts, RECORDED};
use jtrail_writer::{Action, SaveReason};
use std::sync::Arc;

/// A trigger has fired. Opens the gate, and records the begin of a burst for the writer. With a
/// flight recorder, makes the writer save the events instead, and does not wait for the writer.
fn begin(tracer: &Tracer, bursts: &Arc<Bursts>, buffer: OwnBuffer, trigger: usize) {
    let session = &tracer.session;
    if bursts.saves() {
        if bursts.is_save_due(trigger) {
            let (thread, _) = buffer.owners();
            let save = Action::Save(SaveReason::Trigger(trigger, Some(thread)));
            drop(tracer.writer.begin(session.moment(), save));
        }
        return;
    }
    if bursts.begin(trigger) {
        session.record(buffer, Code::Burst, &[trigger as u64]);
    }
}

/// If the method has triggers, calls `look` with the method's trigger bits and the running thread's
/// number. Returns true if calls of the method are recorded, too.
fn with_method(
    tracer: &Tracer,
    env: &mut Env<'_>,
    method: u32,
    look: impl FnOnce(&Arc<Bursts>, OwnBuffer, u32, u32),
) -> bool {
    let Some(bursts) = &tracer.session.bursts else {
        return false;
    };
    let bits = bursts.method(method);
    if bits & !RECORDED != 0
        && let Some(buffer) = tracer.session.buffer(env)
    {
        let (thread, _) = buffer.owners();
        look(bursts, buffer, bits, thread);
    }
    bits & RECORDED != 0
}

/// Called when a method that has triggers is called. If a burst begins, the call is its first
/// event. Returns true if the call is recorded while the gate is open.
pub(crate) fn called(tracer: &Tracer, env: &mut Env<'_>, method: u32) -> bool {
    with_method(tracer, env, method, |bursts, buffer, bits, thread| {
        bursts.called(bits, thread, method, |trigger| {
            begin(tracer, bursts, buffer, trigger);
        });
    })
}

/// Called when a call of a method that has triggers ends. Returns true if the end is recorded while
/// the gate is open.
pub(crate) fn left(tracer: &Tracer, env: &mut Env<'_>, method: u32) -> bool {
    with_method(tracer, env, method, |bursts, buffer, bits, thread| {
        bursts.left(bits, thread, method, |trigger| {
            begin(tracer, bursts, buffer, trigger);
        });
    })
}

/// Called when an exception is thrown.
pub(super) fn thrown(
    tracer: &Tracer,
    env: &mut Env<'_>,
    place: CodeLocation,
    exception: ObjectRef<'_>,
) {
    let session = &tracer.session;
    let Some(bursts) = &session.bursts else {
        return;
    };
    if !bursts.awaits_exceptions() {
        return;
    }
    let method = tracer.frame_method(env, place.method);
    if method.is_some_and(|method| method.is_ours(place.location)) {
        return; // a handler of the rewriter has thrown the exception again
    }
    let Some(buffer) = session.buffer(env) else {
        return;
    };
    let mut names = Vec::new();
    env.with_class_of(exception, |env, class| {
        env.for_superclasses(class, |_, class| {
            let signature = session.jvmti.class_signature(class).unwrap_or_default();
            names.push(class_name(internal_name(&signature)));
            true
        });
    });
    bursts.thrown(
        |pattern| names.iter().any(|name| pattern.matches(name)),
        |trigger| begin(tracer, bursts, buffer, trigger),
    );
}
