//! Calls of methods: seen by rewritten code (`engine=bytecode`), or reported by the JVM (`engine=jvmti`).
//!
//! What rewritten code calls is the hot path, in [`crate::callbacks`]. Here is what it comes to when it is not enough to store a record.

use super::cpu::Measure;
use super::{Need, Source, Tracer};
use jtrail_guard::guard;
use jtrail_jvm::jni::Env;
use jtrail_jvm::jvmti::Method;
use jtrail_jvm::jvmti::abi::{Capability, Event};
use jtrail_options::{Engine, Events, Options};
use jtrail_recorder::buffer::OwnBuffer;
use jtrail_recorder::buffer::record::{self, Code};

/// The JVM's own events of calls.
pub(super) const JVM_EVENTS: &[Event] = &[Event::MethodEntry, Event::MethodExit];

/// `events=methods` with `engine=jvmti`.
pub(super) struct ReportedCalls;

impl Source for ReportedCalls {
    fn requested(&self, options: &Options) -> bool {
        options.events.contains(Events::METHODS) && options.engine == Engine::Jvmti
    }

    fn capabilities(&self, _options: &Options) -> Vec<Need> {
        vec![
            Need::of(Capability::GenerateMethodEntryEvents, "tell method entries"),
            Need::of(Capability::GenerateMethodExitEvents, "tell method exits"),
        ]
    }

    fn events(&self, options: &Options, kinds: Events) -> &'static [Event] {
        match options.engine == Engine::Jvmti && kinds.contains(Events::METHODS) {
            true => JVM_EVENTS,
            false => &[],
        }
    }
}

/// Records an enter or a leave for which the hot path had no buffer, no room in the chunk, or a new epoch. `low` is the lower part of
/// the record.
pub(crate) fn called(tracer: &Tracer, env: &mut Env<'_>, now: u64, cpu: Option<u64>, low: u64) {
    let is_first = OwnBuffer::current().is_none();
    let Some(buffer) = tracer.session.buffer(env) else {
        return;
    };
    // A virtual thread's time counts from when we first see it.
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

/// Records something else about a method that runs.
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

/// The number of a method whose call the JVM reports, and the buffer; `None` if the call is not recorded.
fn reported(tracer: &Tracer, env: &mut Env<'_>, method: Method) -> Option<(u32, OwnBuffer)> {
    let session = &tracer.session;
    if !session.is_gate_open() {
        return None;
    }
    let objects = tracer.objects.get();
    let number = (tracer.instrument).called_method(session, objects, env, method)?;
    Some((number, session.buffer(env)?))
}

/// The JVM reports that a method is entered.
pub(crate) fn entered<M: Measure>(tracer: &Tracer, env: &mut Env<'_>, method: Method) {
    if let Some((number, buffer)) = reported(tracer, env, method) {
        let cpu = M::now();
        write(buffer, tracer.session.now(), cpu, record::enter(number));
    }
}

/// The JVM reports that a method returns, or is left by an exception.
pub(crate) fn left<M: Measure>(
    tracer: &Tracer,
    env: &mut Env<'_>,
    method: Method,
    by_exception: bool,
) {
    let Some((number, buffer)) = reported(tracer, env, method) else {
        return;
    };
    match by_exception {
        false => {
            let now = tracer.session.now();
            write(buffer, now, M::now(), record::leave(number));
        }
        true => coded_into::<M>(tracer, buffer, Code::LeaveByException, number),
    }
}
