//! Bursts that calls of methods, slow ones, and exceptions begin.

use super::Tracer;
use super::exceptions::CodeLocation;
use crate::session::{class_name, internal_name};
use jtrail_jvm::jni::{Env, ObjectRef};
use jtrail_recorder::buffer::OwnBuffer;
use jtrail_recorder::buffer::record::Code;
use jtrail_recorder::bursts::{Bursts, RECORDED};
use jtrail_writer::{Action, SaveReason};
use std::sync::Arc;

/// A burst's trigger has fired: the gate opens, and the writer will meet the record. A flight
/// recorder saves its events instead; the thread goes on at once.
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

/// Calls `look` with the bits of a method that has triggers, and the running thread's number.
/// Returns true if calls of the method are recorded, too.
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

/// A method that has triggers is called: the burst begins before the call does, which is its first
/// event. Returns true if the call is recorded where the gate is open.
pub(crate) fn called(tracer: &Tracer, env: &mut Env<'_>, method: u32) -> bool {
    with_method(tracer, env, method, |bursts, buffer, bits, thread| {
        bursts.called(bits, thread, method, |trigger| {
            begin(tracer, bursts, buffer, trigger);
        });
    })
}

/// A call of a method that has triggers ends. Returns true if that is recorded where the gate is
/// open.
pub(crate) fn left(tracer: &Tracer, env: &mut Env<'_>, method: u32) -> bool {
    with_method(tracer, env, method, |bursts, buffer, bits, thread| {
        bursts.left(bits, thread, method, |trigger| {
            begin(tracer, bursts, buffer, trigger);
        });
    })
}

/// An exception is thrown.
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
        return; // it is thrown again by a handler of ours
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
