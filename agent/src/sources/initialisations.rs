//! Class initializations: a thread runs the static initializer of a class, its `<clinit>`.
//!
//! The JVM has no event for class initializations. With `engine=bytecode`, hooks in the static
//! initializers report begin and end ([`crate::instrument`]). With `engine=jvmti`, the JVM's method
//! events report them ([`super::calls`]).

use super::{Tracer, triggers};
use jtrail_jvm::jni::Env;
use jtrail_options::Events;
use jtrail_recorder::buffer::OwnBuffer;
use jtrail_recorder::buffer::record::Code;
use jtrail_recorder::bursts::is_gate_open;

/// The running thread enters a static initializer. `is_called` is true if calls of this initializer
/// are traced. Records that the initialization begins. Returns true if the caller is to record the
/// call, too.
pub(crate) fn entered(tracer: &Tracer, env: &mut Env<'_>, method: u32, is_called: bool) -> bool {
    // This comes first, because a burst begins before the call that triggers it.
    let is_recorded = is_call_recorded(tracer, env, method, is_called, triggers::called);
    if let Some(buffer) = tracer.session.buffer(env) {
        begin(tracer, buffer, method);
    }
    is_recorded
}

/// The running thread is about to leave a static initializer. Returns true if the end of the call
/// is to be recorded. [`left`] is called afterwards.
pub(crate) fn leaves(tracer: &Tracer, env: &mut Env<'_>, method: u32, is_called: bool) -> bool {
    is_call_recorded(tracer, env, method, is_called, triggers::left)
}

/// The running thread leaves a static initializer; `failed` is true if it does so by an exception.
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

/// Records that a class is about to be initialized; `method` is its static initializer.
pub(super) fn begin(tracer: &Tracer, buffer: OwnBuffer, method: u32) {
    if tracer.session.is_on(Events::CLINIT) {
        tracer
            .session
            .record(buffer, Code::ClassInit, &[method.into()]);
    }
}

/// Records that a class is initialized, or that its initializer failed. The end is recorded even if
/// the kind is off by now, because the begin may have been recorded. The writer skips an end
/// without a begin.
pub(super) fn end(tracer: &Tracer, buffer: OwnBuffer, method: u32, failed: bool) {
    let payload = [method.into(), failed.into()];
    tracer.session.record(buffer, Code::ClassInitEnd, &payload);
}
