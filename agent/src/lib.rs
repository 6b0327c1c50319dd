//! The jtrail agent: a shared library that a JVM loads with `-agentpath:libjtrail.so=OPTIONS`.
//!
//! The modules are layers; each imports only those below it (`layers.rs` checks that).
//!
//! | Module | Holds |
//! |---|---|
//! | `startup` | loading and unloading by the JVM; detaching |
//! | `agent` | the state from loading to detaching: all layers together |
//! | `control` | the thread that serves clients |
//! | `callbacks` | entry points for the JVM and instrumented code: guard, safe references, hot path |
//! | `sources` | the kinds of events: what each needs from the JVM, and how it records |
//! | `instrument` | which methods are rewritten |
//! | `objects` | the numbers of objects |
//! | `session` | options, enabled kinds, clock, definitions, thread and class numbers, buffers |
//! | `hook_class`, `error`, `allocated` | the classes that hold hooks; errors; memory in use |
//!
//! `docs/architecture.md` describes how the modules work together.

mod agent;
mod allocated;
mod callbacks;
#[forbid(unsafe_code)]
mod control;
#[forbid(unsafe_code)]
mod error;
#[forbid(unsafe_code)]
mod hook_class;
#[deny(unsafe_code)]
mod instrument;
#[forbid(unsafe_code)]
mod java_constants;
#[cfg(test)]
mod layers;
#[forbid(unsafe_code)]
mod objects;
#[forbid(unsafe_code)]
mod session;
#[forbid(unsafe_code)]
mod sources;
mod startup;

use ::jni::sys::{JavaVM, jint};
use jtrail_guard::{guard, log};
use jtrail_jvm::jni::Vm;
use startup::{LoadPhase, Loaded};
use std::ffi::{CStr, c_char, c_void};

const JNI_OK: jint = 0;
const JNI_ERR: jint = -1;

/// The JVM calls this function when it starts with `-agentpath` or `-agentlib`.
///
/// # Safety
/// Only the JVM may call this function. `vm` is alive; `options` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(
    vm: *mut JavaVM,
    options: *const c_char,
    _reserved: *mut c_void,
) -> jint {
    // SAFETY: the JVM passed `vm` and `options` to this entry point, and they meet the conditions
    // of `load`.
    unsafe { load(vm, options, LoadPhase::Start) }
}

/// The JVM calls this function when the agent is loaded into a running JVM.
///
/// # Safety
/// Only the JVM may call this function. `vm` is alive; `options` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnAttach(
    vm: *mut JavaVM,
    options: *const c_char,
    _reserved: *mut c_void,
) -> jint {
    // SAFETY: the JVM passed `vm` and `options` to this entry point, and they meet the conditions
    // of `load`.
    unsafe { load(vm, options, LoadPhase::Attach) }
}

/// # Safety
/// `vm` is alive; `options` is null or a C string. The JVM passed both to one of the agent's entry
/// points.
unsafe fn load(vm: *mut JavaVM, options: *const c_char, moment: LoadPhase) -> jint {
    // The guard reports a panic in one line; the default hook would print it a second time.
    std::panic::set_hook(Box::new(|_| {}));
    // SAFETY: the caller passes on the arguments of the JVM, so `vm` is alive, and `options` is a C
    // string if it is not null.
    let (vm, options) = unsafe {
        let options = match options.is_null() {
            true => Ok(""),
            false => CStr::from_ptr(options).to_str(),
        };
        (Vm::new(vm), options)
    };
    let Some(vm) = vm else { return JNI_ERR };
    let options = match options {
        Ok(options) => options,
        Err(error) => {
            if agent::if_loaded().is_none() {
                guard::switch_off();
            }
            let at = error.valid_up_to();
            log::say(&format!(
                "the options are not UTF-8 at byte {at}; write them in UTF-8"
            ));
            return JNI_ERR;
        }
    };
    if !startup::leaving::wait_until_detached() {
        log::say("it is in this JVM already, and about to leave; try again");
        return JNI_ERR;
    }
    let loaded = guard::run("start-up", || Some(startup::load(vm, options, moment)));
    startup::clean_up(vm);
    match (loaded, moment) {
        (Some(Loaded::Go), _) | (None, LoadPhase::Start) => JNI_OK,
        _ => JNI_ERR,
    }
}

/// The JVM calls this function before it unloads the agent's library.
///
/// # Safety
/// Only the JVM may call this function.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnUnload(_vm: *mut JavaVM) {
    guard::run("shutdown", startup::unload);
}
