//! Class initialisations: a thread runs the static initialiser of a class, its `<clinit>`.
//!
//! The JVM has no event for it. With `engine=bytecode` the initialisers call us when they begin and
//! end ([`crate::instrument`]); with `engine=jvmti`, the JVM's events of calls tell it
//! ([`super::calls`]).

use super::{Tracer, triggers};
use jtrail_jvm::jni::Env;
use jtrail_options::Events;
use jtrail_recorder::buffer::OwnBuffer;
use jtrail_recorder::buffer::record::Code;
use jtrail_recorder::bursts::is_gate_open;

/// The running thread enters an initialiser; `is_called`: its calls are traced. Returns true if
/// this call is to be recorded, behind what is recorded here.
pub(crate) fn entered(tracer: &Tracer, env: &mut Env<'_>, method: u32, is_called: bool) -> bool {
    // A burst begins before the call that begins it.
    let is_recorded = is_call_recorded(tracer, env, method, is_called, triggers::called);
    if let Some(buffer) = tracer.session.buffer(env) {
        begin(tracer, buffer, method);
    }
    is_recorded
}

/// The running thread is about to leave an initialiser. Returns true if the end of the call is to
/// be recorded; [`left`] comes behind it.
pub(crate) fn leaves(tracer: &Tracer, env: &mut Env<'_>, method: u32, is_called: bool) -> bool {
    is_call_recorded(tracer, env, method, is_called, triggers::left)
}

/// The running thread leaves an initialiser, because an exception does if it `failed`.
pub(crate) fn left(tracer: &Tracer, env: &mut Env<'_>, method: u32, failed: bool) {
    if let Some(buffer) = tracer.session.buffer(env) {
        end(tracer, buffer, method, failed);
    }
}

fn is_call_recorded(
    tracer: &Tracer,
    env: &mut Env<'_>,
    method: u32,
    is_called: bool,
    act: fn(&Tracer, &mut Env<'_>, u32) -> bool,
) -> bool {
    match tracer.session.bursts {
        Some(_) => act(tracer, env, method) && is_gate_open(),
        None => is_called,
    }
}

/// Records that the class of this initialiser is about to be initialised.
pub(super) fn begin(tracer: &Tracer, buffer: OwnBuffer, method: u32) {
    if tracer.session.is_on(Events::CLINIT) {
        tracer
            .session
            .record(buffer, Code::ClassInit, &[method.into()]);
    }
}

/// Records that it is initialised, or that this failed; also if the kind is off by now, for it may
/// have been on at the begin. The writer leaves out ends without a begin.
pub(super) fn end(tracer: &Tracer, buffer: OwnBuffer, method: u32, failed: bool) {
    let payload = [method.into(), failed.into()];
    tracer.session.record(buffer, Code::ClassInitEnd, &payload);
}
