//! The jtrail agent: a shared library that a JVM loads with `-agentpath:libjtrail.so=OPTIONS`.
//!
//! | Module | Holds |
//! |---|---|
//! | `startup` | the JVM loads the agent, and unloads it |
//! | `agent` | what lives from the loading until the agent leaves |
//! | `jvmti`, `jni` | the JVM's interfaces, made safe |
//! | `hooks` | what the JVM and instrumented code call: callback to record |
//! | `instrument` | which methods are rewritten, and their numbers |
//! | `objects`, `weak`, `pending` | objects: their numbers, references to them, those whose constructor is to come |
//! | `perf` | the JVM's performance counters, and variables of its heap |
//! | `buffer` | where application threads record |
//! | `bursts` | what begins bursts by itself, and the gate |
//! | `control` | the thread that serves clients |
//! | `writer` | the thread that makes a trace of the records |
//! | `clock`, `guard`, `log` | time stamps; panics; messages |
//!
//! How it all works together is told in `docs/architecture.md`.

mod agent;
mod allocated;
mod api_class;
mod control;
mod error;
mod hook_class;
mod hooks;
mod instrument;
mod java_constants;
mod objects;
mod program;
mod startup;
mod thread_numbers;

use ::jni::sys::{JavaVM, jint};
use jtrail_guard::{guard, log};
use startup::{Loaded, Moment};
use std::ffi::{CStr, c_char, c_void};

const JNI_OK: jint = 0;
const JNI_ERR: jint = -1;

/// The JVM calls this when it starts with `-agentpath` or `-agentlib`.
///
/// # Safety
/// Only the JVM calls it: `vm` is alive, and `options` null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(
    vm: *mut JavaVM,
    options: *const c_char,
    _reserved: *mut c_void,
) -> jint {
    // SAFETY: the caller's promise.
    unsafe { load(vm, options, Moment::Start) }
}

/// The JVM calls this when the agent is loaded into a running JVM.
///
/// # Safety
/// Only the JVM calls it: `vm` is alive, and `options` null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnAttach(
    vm: *mut JavaVM,
    options: *const c_char,
    _reserved: *mut c_void,
) -> jint {
    // SAFETY: the caller's promise.
    unsafe { load(vm, options, Moment::Attach) }
}

/// # Safety
/// `vm` is alive, and `options` null or a C string.
unsafe fn load(vm: *mut JavaVM, options: *const c_char, moment: Moment) -> jint {
    // A panic is reported by the guard, in one line.
    std::panic::set_hook(Box::new(|_| {}));
    let options = match options.is_null() {
        true => Ok(""),
        // SAFETY: the caller's promise.
        false => unsafe { CStr::from_ptr(options) }.to_str(),
    };
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
    if !hooks::leaving::wait_until_gone() {
        log::say("it is in this JVM already, and about to leave; try again");
        return JNI_ERR;
    }
    let loaded = guard::run("start-up", || {
        // SAFETY: the caller's promise.
        Some(unsafe { startup::load(vm, options, moment) })
    });
    // SAFETY: the caller's promise.
    unsafe { startup::clean_up(vm) };
    match (loaded, moment) {
        (Some(Loaded::Go), _) | (None, Moment::Start) => JNI_OK,
        _ => JNI_ERR,
    }
}

/// The JVM calls this when it is done with the agent.
///
/// # Safety
/// Only the JVM calls it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnUnload(_vm: *mut JavaVM) {
    guard::run("shutdown", startup::unload);
}
