//! The JVM starts, is ready, and ends.

use super::{class, method, record};
use crate::agent::{self, Agent};
use crate::buffer::record::Code;
use crate::jvmti::abi::{Event, RawEnv};
use crate::{guard, log};
use jni::sys::{JNIEnv, jclass, jobject};
use jtrail_options::Events;

/// Java code can run: the hook class goes in, before any class of the program can load.
pub(super) unsafe extern "system" fn vm_start(_jvmti: RawEnv, env: *mut JNIEnv) {
    guard::run("the start of the JVM", || {
        let Some(agent) = agent::get() else { return };
        match crate::jni::define_hook(env) {
            Ok(()) => agent.classes.open(),
            Err(error) => {
                log::say(&format!(
                    "cannot define the hook class: {error}; the program goes on without calls in the trace"
                ));
            }
        }
    });
}

/// The hook class asks for its methods.
///
/// # Safety
/// Called by the JVM as `JtrailHook.bindNatives`.
pub(crate) unsafe fn bind_hook(env: *mut JNIEnv, class: jclass) {
    guard::run("the binding of the hook", || {
        // SAFETY: these are the hook's functions.
        if let Err(error) = unsafe { crate::jni::bind_hook(env, class, &method::hook_functions()) }
        {
            log::say(&format!(
                "cannot bind the hook class: {error}; tracing is off, the program goes on"
            ));
            guard::switch_off();
        }
    });
}

/// The JVM is ready to run the program.
pub(super) unsafe extern "system" fn vm_init(_jvmti: RawEnv, env: *mut JNIEnv, _thread: jobject) {
    guard::run("the JVM's initialisation", || {
        let Some(agent) = agent::get() else { return };
        agent.ensure_live(env);
        record(agent, agent.buffer(env), Code::InitDone, 0);
        if agent.uses_bytecode() && agent.options.events.contains(Events::METHODS) {
            class::retransform_early(agent);
        }
    });
}

/// The JVM begins to stop. Other threads may still run Java code; the trace ends here.
pub(super) unsafe extern "system" fn vm_death(_jvmti: RawEnv, env: *mut JNIEnv) {
    guard::run("the JVM's end", || {
        let Some(agent) = agent::get() else { return };
        // The thread that ends the JVM may have ended for Java already.
        let buffer = agent.buffer(env).or_else(|| agent.native_buffer());
        record(agent, buffer, Code::Shutdown, 0);
        agent.stop();
    });
}

/// Tells the trace of the threads that were there before it.
pub(crate) fn record_first_threads(agent: &Agent, numbers: &[u32]) {
    let Some(first) = numbers.first() else { return };
    // The running thread is one of them; its buffer can't be asked for yet.
    // SAFETY: null means the running thread.
    let own = unsafe { agent.name_thread(std::ptr::null_mut()) }.unwrap_or(*first);
    let buffer = agent.buffer_of(own);
    for number in numbers {
        record(agent, Some(buffer), Code::ThreadStart, u64::from(*number));
    }
}

/// Switches on what may only come when the trace has begun.
pub(crate) fn after_live(agent: &Agent) {
    if agent.options.events.contains(Events::METHODS) && !agent.uses_bytecode() {
        for event in [Event::MethodEntry, Event::MethodExit] {
            if let Err(error) = agent.jvmti.enable(event) {
                log::say(&format!(
                    "{error}; the program goes on without calls in the trace"
                ));
            }
        }
    }
}
