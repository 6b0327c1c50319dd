//! What the JVM and instrumented code call. Each callback makes a record, or lets another module act,
//! and passes a guard on its way.
//!
//! A capability is asked for, and an event switched on, only when the options need it.

mod class;
mod gc;
mod lifecycle;
mod method;
mod thread;
mod virtual_thread;

use crate::agent::Agent;
use crate::buffer::record::Code;
use crate::guard;
use crate::jvmti::Jvmti;
use crate::jvmti::abi::{Callbacks, Capabilities, Capability, Event, callback};
use jtrail_options::{Engine, Events, Options};
use std::ffi::c_void;

pub(crate) use lifecycle::{after_live, bind_hook, record_first_threads};

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
    if options.events.contains(Events::METHODS) {
        need(Capability::TagObjects, "tag objects")?;
        match options.engine {
            Engine::Bytecode => {
                need(Capability::RetransformClasses, "retransform classes")?;
                need(
                    Capability::GenerateAllClassHookEvents,
                    "show all classes as they load",
                )?;
                if potential.has(Capability::RetransformAnyClass) {
                    need(Capability::RetransformAnyClass, "retransform every class")?;
                }
            }
            Engine::Jvmti => {
                need(Capability::GenerateMethodEntryEvents, "tell method entries")?;
                need(Capability::GenerateMethodExitEvents, "tell method exits")?;
                need(Capability::GetSourceFileName, "tell source files")?;
                need(Capability::GetLineNumbers, "tell line numbers")?;
            }
        }
    }
    if options.events.contains(Events::GC) {
        need(
            Capability::GenerateGarbageCollectionEvents,
            "tell garbage collections",
        )?;
    }
    if potential.has(Capability::SupportVirtualThreads) {
        need(Capability::SupportVirtualThreads, "tell virtual threads")?;
    }
    jvmti.add_capabilities(wanted).map_err(|e| e.to_string())
}

/// Sets the callbacks, and switches on the events that may come from now on.
///
/// # Errors
/// When the JVM refuses, as a sentence.
pub(crate) fn install(agent: &Agent) -> Result<(), String> {
    let mut callbacks = Callbacks::default();
    let mut events = vec![
        Event::VmInit,
        Event::VmDeath,
        Event::ThreadStart,
        Event::ThreadEnd,
    ];
    // SAFETY: each callback has the type that the header gives its event.
    unsafe {
        callbacks.set(
            Event::VmInit,
            lifecycle::vm_init as callback::Thread as *const c_void,
        );
        callbacks.set(
            Event::VmDeath,
            lifecycle::vm_death as callback::Vm as *const c_void,
        );
        callbacks.set(
            Event::ThreadStart,
            thread::start as callback::Thread as *const c_void,
        );
        callbacks.set(
            Event::ThreadEnd,
            thread::end as callback::Thread as *const c_void,
        );
        if agent.options.events.contains(Events::METHODS) {
            if agent.uses_bytecode() {
                callbacks.set(
                    Event::VmStart,
                    lifecycle::vm_start as callback::Vm as *const c_void,
                );
                callbacks.set(
                    Event::ClassFileLoadHook,
                    class::file_load_hook as callback::ClassFileLoadHook as *const c_void,
                );
                events.extend([Event::VmStart, Event::ClassFileLoadHook]);
            } else {
                // Switched on when the JVM is ready.
                callbacks.set(
                    Event::MethodEntry,
                    method::jvmti_entry as callback::MethodEntry as *const c_void,
                );
                callbacks.set(
                    Event::MethodExit,
                    method::jvmti_exit as callback::MethodExit as *const c_void,
                );
            }
        }
        if agent.options.events.contains(Events::GC) {
            callbacks.set(
                Event::GarbageCollectionStart,
                gc::start as callback::Gc as *const c_void,
            );
            callbacks.set(
                Event::GarbageCollectionFinish,
                gc::finish as callback::Gc as *const c_void,
            );
            events.extend([
                Event::GarbageCollectionStart,
                Event::GarbageCollectionFinish,
            ]);
        }
        virtual_thread::set_callbacks(&mut callbacks);
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

/// Writes a two-word record into the running thread's buffer, if it has one and recording goes on.
fn record(agent: &Agent, buffer: Option<&crate::buffer::ThreadBuffer>, code: Code, payload: u64) {
    // SAFETY: buffers come from `Agent::buffer`, which gives the running thread its own.
    let recorded = buffer.is_none_or(|b| unsafe { b.record_coded((agent.now)(), code, payload) });
    if !recorded {
        guard::switch_off();
    }
}
