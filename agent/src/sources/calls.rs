//! Calls of methods, recorded by rewritten code (`engine=bytecode`) or reported by the JVM
//! (`engine=jvmti`). Calls of static initializers also show class initializations.
//!
//! Rewritten code calls the hot path in [`crate::callbacks`]. This module records the calls that
//! the hot path can't record.

use super::cpu::Measure;
use super::{Need, Source, Tracer, initialisations};
use crate::instrument::CalledMethod;
use jtrail_guard::guard;
use jtrail_jvm::jni::Env;
use jtrail_jvm::jvmti::Method;
use jtrail_jvm::jvmti::abi::{Capability, Event};
use jtrail_options::{Engine, Events, Options};
use jtrail_recorder::buffer::OwnBuffer;
use jtrail_recorder::buffer::record::{self, Code};

/// The JVM's own method events.
pub(super) const JVM_EVENTS: &[Event] = &[Event::MethodEntry, Event::MethodExit];

/// The source of `events=methods` and `events=clinit` with `engine=jvmti`.
pub(super) struct ReportedCalls;

impl Source for ReportedCalls {
    fn requested(&self, options: &Options) -> bool {
        are_reported(options, options.events)
    }

    fn capabilities(&self, _options: &Options) -> Vec<Need> {
        vec![
            Need::of(
                Capability::GenerateMethodEntryEvents,
                "report method entries",
            ),
            Need::of(Capability::GenerateMethodExitEvents, "report method exits"),
        ]
    }

    fn events(&self, options: &Options, kinds: Events) -> &'static [Event] {
        match are_reported(options, kinds) {
            true => JVM_EVENTS,
            false => &[],
        }
    }
}

/// Returns true if the JVM reports calls for these kinds.
pub(super) fn are_reported(options: &Options, kinds: Events) -> bool {
    let needs_calls = kinds.contains(Events::METHODS) || kinds.contains(Events::CLINIT);
    options.engine == Engine::Jvmti && needs_calls
}

/// Records an enter or a leave that the hot path could not record. The thread has no buffer, its
/// chunk has no room, or the epoch is new. `low` is the lower part of the record.
pub(crate) fn called(tracer: &Tracer, env: &mut Env<'_>, now: u64, cpu: Option<u64>, low: u64) {
    let is_first = OwnBuffer::current().is_none();
    let Some(buffer) = tracer.session.buffer(env) else {
        return;
    };
    // A virtual thread's CPU time counts from when the agent first sees the thread.
    let cpu = cpu.map(|cpu| if is_first { super::cpu::now() } else { cpu });
    write(buffer, now, cpu, low);
}

/// Writes an enter or a leave into the running thread's buffer.
fn write(buffer: OwnBuffer, now: u64, cpu: Option<u64>, low: u64) {
    let recorded = match cpu {
        Some(cpu) => buffer.record_with_cpu(now, cpu, low, &[]),
        None => buffer.record(now, low),
    };
    if !recorded {
        guard::switch_off();
    }
}

/// Writes a record with a code about the running method.
pub(crate) fn coded<M: Measure>(tracer: &Tracer, env: &mut Env<'_>, code: Code, method: u32) {
    if let Some(buffer) = tracer.session.buffer(env) {
        coded_into::<M>(tracer, buffer, code, method);
    }
}

fn coded_into<M: Measure>(tracer: &Tracer, buffer: OwnBuffer, code: Code, method: u32) {
    let session = &tracer.session;
    let payload = [u64::from(method)];
    let Some(cpu) = M::now() else {
        return session.record(buffer, code, &payload);
    };
    if !buffer.record_with_cpu(session.now(), cpu, record::coded(code), &payload) {
        guard::switch_off();
    }
}

/// Returns the method of a call that the JVM reports, and the running thread's buffer; `None` if
/// the call is not recorded.
fn reported(
    tracer: &Tracer,
    env: &mut Env<'_>,
    method: Method,
) -> Option<(CalledMethod, OwnBuffer)> {
    let session = &tracer.session;
    let are_recorded = session.is_gate_open() && session.is_on(Events::METHODS);
    // An initialization that ends after a burst may have begun in the burst.
    if !are_recorded && !session.kinds.available().contains(Events::CLINIT) {
        return None;
    }
    let objects = tracer.objects.get();
    let mut called = (tracer.instrument).called_method(session, objects, env, method)?;
    called.is_included &= are_recorded;
    let is_recorded = called.is_included || called.is_initialiser;
    match is_recorded {
        true => Some((called, session.buffer(env)?)),
        false => None,
    }
}

/// Records that a method is entered. The JVM's event calls this.
pub(crate) fn entered<M: Measure>(tracer: &Tracer, env: &mut Env<'_>, method: Method) {
    let Some((called, buffer)) = reported(tracer, env, method) else {
        return;
    };
    if called.is_initialiser {
        initialisations::begin(tracer, buffer, called.number);
    }
    if called.is_included {
        let cpu = M::now();
        let low = record::enter(called.number);
        write(buffer, tracer.session.now(), cpu, low);
    }
}

/// Records that a method returns, or is left by an exception. The JVM's event calls this.
pub(crate) fn left<M: Measure>(
    tracer: &Tracer,
    env: &mut Env<'_>,
    method: Method,
    by_exception: bool,
) {
    let Some((called, buffer)) = reported(tracer, env, method) else {
        return;
    };
    let number = called.number;
    match by_exception {
        _ if !called.is_included => {}
        false => {
            let now = tracer.session.now();
            write(buffer, now, M::now(), record::leave(number));
        }
        true => coded_into::<M>(tracer, buffer, Code::LeaveByException, number),
    }
    if called.is_initialiser {
        initialisations::end(tracer, buffer, number, by_exception);
    }
}
