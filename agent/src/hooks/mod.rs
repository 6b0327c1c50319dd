//! What the JVM and instrumented code call. Each callback makes a record, or lets another module act,
//! and passes a guard on its way.
//!
//! A capability is asked for, and an event switched on, only when the options need it.

mod api;
mod capabilities;
mod class;
mod cpu;
mod detail;
mod exception;
mod exhausted;
mod follower;
mod gc;
mod heap;
mod heap_classes;
mod identity;
mod jit;
mod last_frees;
mod late;
pub(crate) mod leaving;
mod lifecycle;
mod made_threads;
mod method;
mod monitor;
mod object;
pub(crate) mod own_threads;
mod park;
mod request;
mod sampler;
mod site;
mod stack;
mod sweep;
mod switch;
mod thread;
mod tick;
mod trigger;
mod virtual_thread;

use crate::agent::Agent;
use crate::error::Error;
use jni::sys::JNIEnv;
use jtrail_guard::guard;
use jtrail_jvm::jvmti::Jvmti;
use jtrail_jvm::jvmti::abi::{Callbacks, Event};
use jtrail_jvm::perf::starts_from_cache;
use jtrail_options::{Engine, Events, HeapMoments, Options};
use jtrail_recorder::buffer::record::Code;
use jtrail_recorder::buffer::{ThreadBuffer, live};
use jtrail_records::record::Moment;
use std::cell::Cell;
use std::sync::atomic::Ordering;

pub(crate) use api::mark_from_outside;
pub(crate) use class::rewrite_anew;
pub(crate) use cpu::VirtualTimes;
pub(crate) use detail::ClassSizes;
pub(crate) use follower::Follower;
pub(crate) use gc::Collections;
pub(crate) use heap::Snapshots;
pub(crate) use jit::{CompiledCode, tell as tell_compiled_code};
pub(crate) use last_frees::Teller;
pub(crate) use late::acquire;
pub(crate) use lifecycle::attached;
pub(crate) use object::{environment as objects, forgets_areas};
pub(crate) use own_threads::OwnThreads;
pub(crate) use sampler::Sampler;
pub(crate) use site::Arrays;
pub(crate) use switch::switch;

/// Kinds of events that name methods which the filters may leave out.
const NAMED_METHODS: [Events; 5] = [
    Events::MONITORS,
    Events::PARKS,
    Events::EXCEPTIONS,
    Events::SAMPLES,
    Events::JIT,
];

/// HotSpot's own function beyond the specification: the virtual thread that runs on a carrier.
const GET_VIRTUAL_THREAD: &str = "com.sun.hotspot.functions.GetVirtualThread";

/// Asks the JVM for what the options need.
///
/// # Errors
/// When the JVM can't do it, as a sentence.
pub(crate) fn add_capabilities(jvmti: Jvmti, options: &Options) -> Result<(), Error> {
    capabilities::add(jvmti, |potential| capabilities::general(potential, options))
}

/// Whether classes are rewritten.
pub(crate) fn rewrites(options: &Options) -> bool {
    let events = options.events;
    let kinds = [Events::METHODS, Events::LINES, Events::PARKS];
    options.engine == Engine::Bytecode
        && (kinds.iter().any(|kind| events.contains(*kind))
            || options.has_alloc_probes()
            || options.has_call_triggers())
}

/// Returns true if class files pass the agent: to be rewritten, or for their details.
fn sees_class_files(options: &Options) -> bool {
    rewrites(options) || options.events.contains(Events::DETAILS)
}

/// The callbacks for what these options ask for.
fn callbacks(options: &Options) -> Callbacks {
    let events = options.events;
    let mut callbacks = Callbacks::default();
    callbacks.vm_init(lifecycle::vm_init);
    callbacks.vm_death(lifecycle::vm_death);
    callbacks.thread_start(thread::start);
    callbacks.thread_end(thread::end);
    callbacks.virtual_thread_start(virtual_thread::start);
    callbacks.virtual_thread_end(virtual_thread::end);
    if rewrites(options) {
        callbacks.vm_start(lifecycle::vm_start);
        callbacks.class_file_load_hook(class::file_load_hook);
    } else if events.contains(Events::METHODS) {
        method::set_callbacks(&mut callbacks, events.contains(Events::CPU));
    }
    if events.contains(Events::DETAILS) {
        callbacks.class_file_load_hook(class::file_load_hook);
    }
    callbacks.class_prepare(class::prepared); // switched on when the JVM is ready
    if events.contains(Events::JIT) {
        callbacks.compiled_method_load(jit::loaded);
        callbacks.compiled_method_unload(jit::unloaded);
    }
    if gc::are_wanted(options, events) {
        callbacks.garbage_collection_start(gc::start);
        callbacks.garbage_collection_finish(gc::finish);
    }
    if request::is_wanted(options) {
        callbacks.data_dump_request(request::requested);
    }
    if exhausted::is_told(options) {
        callbacks.resource_exhausted(exhausted::exhausted);
    }
    if events.contains(Events::MONITORS) {
        callbacks.monitor_contended_enter(monitor::contended_enter);
        callbacks.monitor_contended_entered(monitor::contended_entered);
        callbacks.monitor_wait(monitor::wait);
        callbacks.monitor_waited(monitor::waited);
    }
    if capabilities::needs_exceptions(options) {
        callbacks.exception(exception::thrown);
        callbacks.exception_catch(exception::caught);
    }
    callbacks
}

/// Sets the callbacks, and switches on the events that may come from now on: those that are always on, and those of kinds that
/// are on now. Some more are switched on when the JVM is ready.
///
/// # Errors
/// When the JVM refuses, as a sentence.
pub(crate) fn install(agent: &Agent) -> Result<(), Error> {
    let options = &agent.options;
    let mut events = vec![Event::VmInit, Event::VmDeath];
    if thread::are_told(options) {
        events.extend([Event::ThreadStart, Event::ThreadEnd]);
    }
    if rewrites(options) {
        events.push(Event::VmStart);
    }
    // Else the trace's beginning enables it.
    let is_late = !agent.is_coming.load(Ordering::Acquire) && starts_from_cache();
    if sees_class_files(options) && !is_late {
        events.push(Event::ClassFileLoadHook);
    }
    if request::is_wanted(options) {
        events.push(Event::DataDumpRequest);
    }
    if exhausted::is_told(options) {
        events.push(Event::ResourceExhausted);
    }
    if let Some(objects) = agent.objects.get() {
        object::install(objects, options)?;
    }
    let callbacks = callbacks(options);
    let set = agent.jvmti.set_callbacks(&callbacks);
    set?;
    for event in events {
        agent.jvmti.enable(event)?;
    }
    if virtual_thread::are_told(options) {
        virtual_thread::install(agent.jvmti);
    }
    switch::begin(agent)
}

thread_local! {
    static IS_AGENTS_OWN: Cell<bool> = const { Cell::new(false) };
}

/// The running thread is the agent's own: what it does is not recorded.
fn is_agents_own() {
    IS_AGENTS_OWN.set(true);
}

fn runs_agents_own() -> bool {
    IS_AGENTS_OWN.get()
}

/// Runs `f` as a thread of the agent's own does: what the running thread does meanwhile is not recorded.
pub(crate) fn unrecorded<T>(f: impl FnOnce() -> T) -> T {
    let before = IS_AGENTS_OWN.replace(true);
    let result = live::without_buffer(f);
    IS_AGENTS_OWN.set(before);
    result
}

/// Whether the running thread is one to record, at this time.
fn may_record(agent: &Agent, env: *mut JNIEnv) -> bool {
    !guard::is_off() && !runs_agents_own() && lifecycle::ensure_live(agent, env)
}

/// The running thread's buffer, which is made if need be. `None` when nothing can be recorded.
fn buffer(agent: &Agent, env: *mut JNIEnv) -> Option<&'static ThreadBuffer> {
    if let Some(buffer) = agent.buffer_if_any() {
        return Some(buffer);
    }
    if !may_record(agent, env) {
        return None;
    }
    // SAFETY: null means the running thread, whose environment it is.
    let number = unsafe { agent.name_thread(env, std::ptr::null_mut()) }?;
    // SAFETY: likewise.
    Some(unsafe { virtual_thread::new_buffer(agent, env, number) })
}

/// Ends what the agent records by itself: samples, and snapshots of the heap. What is under way is waited for.
pub(crate) fn end_own_work(agent: &Agent, env: *mut JNIEnv) {
    lifecycle::end_samples(agent);
    heap::end(agent, env, None);
}

/// Takes a snapshot of the heap on a thread of the agent's own; `false` where none are recorded.
pub(crate) fn take_heap_snapshot(agent: &Agent, env: *mut JNIEnv) -> bool {
    let Some(buffer) = agent.native_buffer() else {
        return false;
    };
    agent.kinds().contains(Events::HEAP) && {
        heap::take(agent, env, buffer);
        true
    }
}

/// Collects garbage, on a thread of the agent's own: between two snapshots of the heap, where the options ask for them.
///
/// # Errors
/// When the JVM does not, as a sentence.
pub(crate) fn force_gc(agent: &Agent, env: *mut JNIEnv) -> Result<(), Error> {
    let buffer = match heap::wanted(&agent.options, agent.kinds(), HeapMoments::FORCED) {
        true => agent.native_buffer(),
        false => None,
    };
    let take = |moment| {
        if let Some(buffer) = buffer {
            heap::take_at(agent, env, buffer, moment);
        }
    };
    take(Moment::BeforeCollection);
    agent.jvmti.force_gc()?;
    take(Moment::AfterCollection);
    Ok(())
}

/// Records what there is still to say at the end of a trace, also of threads that are alive, on a thread of the agent's own.
pub(crate) fn last_words(agent: &Agent, env: *mut JNIEnv) {
    gc::tell_untold(agent);
    if let Some(buffer) = agent.native_buffer() {
        thread::last_words(agent, env, buffer);
    }
}

/// Writes a record with a payload into the running thread's buffer, if it has one and recording goes on.
pub(crate) fn record(agent: &Agent, buffer: Option<&ThreadBuffer>, code: Code, payload: &[u64]) {
    if let Some(buffer) = buffer {
        record_at((agent.now)(), buffer, code, payload);
    }
}

/// As [`record`], with the time given.
fn record_at(now: u64, buffer: &ThreadBuffer, code: Code, payload: &[u64]) {
    // SAFETY: buffers come from `Agent::buffer`, which gives the running thread its own.
    if !unsafe { buffer.record_coded(now, code, payload) } {
        guard::switch_off();
    }
}
