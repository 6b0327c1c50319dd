//! What the JVM and instrumented code call. Each callback makes a record, or lets another module act,
//! and passes a guard on its way.
//!
//! A capability is asked for, and an event switched on, only when the options need it.

mod class;
mod cpu;
mod detail;
mod exception;
mod gc;
mod heap;
mod jit;
mod last_frees;
mod lifecycle;
mod method;
mod monitor;
mod object;
mod park;
mod request;
mod sampler;
mod stack;
mod thread;
mod virtual_thread;

use crate::agent::Agent;
use crate::buffer::ThreadBuffer;
use crate::buffer::record::Code;
use crate::guard;
use crate::jvmti::Jvmti;
use crate::jvmti::abi::{Callbacks, Capabilities, Capability, Event};
use jni::sys::JNIEnv;
use jtrail_options::{Engine, Events, Options};

pub(crate) use cpu::VirtualTimes;
pub(crate) use detail::ClassSizes;
pub(crate) use gc::Collections;
pub(crate) use heap::Snapshots;
pub(crate) use jit::CompiledCode;
pub(crate) use last_frees::Teller;
pub(crate) use lifecycle::bind_hook;
pub(crate) use object::{environment as objects, forgets_areas};
pub(crate) use sampler::Sampler;

/// Kinds of events that name methods which the filters may leave out.
const NAMED_METHODS: [Events; 5] = [
    Events::MONITORS,
    Events::PARKS,
    Events::EXCEPTIONS,
    Events::SAMPLES,
    Events::JIT,
];

/// Asks the JVM for what the options need.
///
/// # Errors
/// When the JVM can't do it, as a sentence.
pub(crate) fn add_capabilities(jvmti: Jvmti, options: &Options) -> Result<(), String> {
    let potential = jvmti.potential_capabilities().map_err(|e| e.to_string())?;
    let mut wanted = Capabilities::default();
    let mut need = |capability: Capability, what: &str| {
        wanted.add(capability);
        match potential.has(capability) {
            true => Ok(()),
            false => Err(format!(
                "this JVM can't {what}; another agent may have taken it"
            )),
        }
    };
    let events = options.events;
    let stacks = NAMED_METHODS.iter().any(|kind| events.contains(*kind)) || options.alloc_sites;
    if events.contains(Events::METHODS) || stacks || object::are_told(events) {
        need(Capability::TagObjects, "tag objects")?; // class loaders
    }
    if stacks || object::are_told(events) || options.engine == Engine::Jvmti {
        need(Capability::GetSourceFileName, "tell source files")?;
        need(Capability::GetLineNumbers, "tell line numbers")?;
    }
    if events.contains(Events::DETAILS) {
        // Without the first, retransformation by others is not shown.
        need(Capability::RetransformClasses, "retransform classes")?;
        need(
            Capability::GenerateAllClassHookEvents,
            "show all classes as they load",
        )?;
        need(
            Capability::MaintainOriginalMethodOrder,
            "keep methods in order",
        )?;
    }
    if events.contains(Events::JIT) {
        need(
            Capability::GenerateCompiledMethodLoadEvents,
            "tell of compiled methods",
        )?;
    }
    if events.contains(Events::MONITORS) {
        need(Capability::GenerateMonitorEvents, "tell of monitors")?;
        need(Capability::GetMonitorInfo, "tell who holds a monitor")?;
    }
    if events.contains(Events::PARKS) {
        need(Capability::AccessLocalVariables, "read local variables")?;
    }
    if events.contains(Events::EXCEPTIONS) {
        need(Capability::GenerateExceptionEvents, "tell of exceptions")?;
    }
    if rewrites(options) {
        need(Capability::RetransformClasses, "retransform classes")?;
        need(
            Capability::GenerateAllClassHookEvents,
            "show all classes as they load",
        )?;
        if potential.has(Capability::RetransformAnyClass) {
            need(Capability::RetransformAnyClass, "retransform every class")?;
        }
    } else if events.contains(Events::METHODS) {
        need(Capability::GenerateMethodEntryEvents, "tell method entries")?;
        need(Capability::GenerateMethodExitEvents, "tell method exits")?;
    }
    if gc::are_wanted(options) {
        need(
            Capability::GenerateGarbageCollectionEvents,
            "tell garbage collections",
        )?;
    }
    if events.contains(Events::CPU) {
        need(Capability::GetThreadCpuTime, "tell the CPU time of threads")?;
    }
    if potential.has(Capability::SupportVirtualThreads) {
        need(Capability::SupportVirtualThreads, "tell virtual threads")?;
    }
    jvmti.add_capabilities(wanted).map_err(|e| e.to_string())
}

/// Whether classes are rewritten.
fn rewrites(options: &Options) -> bool {
    let events = options.events;
    let kinds = [Events::METHODS, Events::LINES, Events::PARKS];
    options.engine == Engine::Bytecode && kinds.iter().any(|kind| events.contains(*kind))
}

/// Sets the callbacks, and switches on the events that may come from now on.
///
/// # Errors
/// When the JVM refuses, as a sentence.
pub(crate) fn install(agent: &Agent) -> Result<(), String> {
    let mut callbacks = Callbacks::default();
    callbacks.vm_init(lifecycle::vm_init);
    callbacks.vm_death(lifecycle::vm_death);
    callbacks.thread_start(thread::start);
    callbacks.thread_end(thread::end);
    callbacks.virtual_thread_start(virtual_thread::start);
    callbacks.virtual_thread_end(virtual_thread::end);
    let mut events = vec![
        Event::VmInit,
        Event::VmDeath,
        Event::ThreadStart,
        Event::ThreadEnd,
    ];
    if rewrites(&agent.options) {
        callbacks.vm_start(lifecycle::vm_start);
        callbacks.class_file_load_hook(class::file_load_hook);
        events.extend([Event::VmStart, Event::ClassFileLoadHook]);
    } else if agent.options.events.contains(Events::METHODS) {
        // Switched on when the JVM is ready.
        let with_cpu = agent.options.events.contains(Events::CPU);
        method::set_callbacks(&mut callbacks, with_cpu);
    }
    if agent.options.events.contains(Events::DETAILS) {
        callbacks.class_file_load_hook(class::file_load_hook);
        events.push(Event::ClassFileLoadHook);
        callbacks.class_prepare(detail::prepared); // switched on when the JVM is ready
    }
    if agent.options.events.contains(Events::JIT) {
        callbacks.compiled_method_load(jit::loaded); // likewise
        callbacks.compiled_method_unload(jit::unloaded);
    }
    if gc::are_wanted(&agent.options) {
        callbacks.garbage_collection_start(gc::start);
        callbacks.garbage_collection_finish(gc::finish);
        events.extend([
            Event::GarbageCollectionStart,
            Event::GarbageCollectionFinish,
        ]);
    }
    if request::is_wanted(&agent.options) {
        callbacks.data_dump_request(request::requested);
        events.push(Event::DataDumpRequest);
    }
    if agent.options.events.contains(Events::MONITORS) {
        callbacks.monitor_contended_enter(monitor::contended_enter);
        callbacks.monitor_contended_entered(monitor::contended_entered);
        callbacks.monitor_wait(monitor::wait);
        callbacks.monitor_waited(monitor::waited);
        events.extend([
            Event::MonitorContendedEnter,
            Event::MonitorContendedEntered,
            Event::MonitorWait,
            Event::MonitorWaited,
        ]);
    }
    if agent.options.events.contains(Events::EXCEPTIONS) {
        callbacks.exception(exception::thrown);
        callbacks.exception_catch(exception::caught);
        events.extend([Event::Exception, Event::ExceptionCatch]);
    }
    if let Some(objects) = &agent.objects {
        object::install(agent, objects)?;
    }
    agent
        .jvmti
        .set_callbacks(&callbacks)
        .map_err(|e| e.to_string())?;
    for event in events {
        agent.jvmti.enable(event).map_err(|e| e.to_string())?;
    }
    virtual_thread::install(agent.jvmti);
    Ok(())
}

/// Whether the running thread is one to record, at this time.
fn may_record(agent: &Agent, env: *mut JNIEnv) -> bool {
    let is_ours = heap::is_our_thread() || sampler::is_running();
    !guard::is_off() && !is_ours && lifecycle::ensure_live(agent, env)
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
    Some(agent.buffer_of(number))
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
