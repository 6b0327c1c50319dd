//! The JVM's own events of calls by themselves: an agent that has it tell of each enter and leave,
//! and does nothing when it does. What such an agent costs is the least that any tracer built on
//! these events can. `scripts/bench --only work` sets it beside the hooks.

use jni::sys::{JNIEnv, JavaVM, jint, jmethodID, jobject};
use jtrail_jvm::jvmti::abi::{self as jvmti, Callbacks, Capabilities, Capability, Event, RawEnv};
use std::ffi::{c_char, c_uchar, c_void};
use std::ptr;

unsafe extern "system" fn entered(
    _jvmti: RawEnv,
    _env: *mut JNIEnv,
    _thread: jobject,
    _method: jmethodID,
) {
}

unsafe extern "system" fn left(
    _jvmti: RawEnv,
    _env: *mut JNIEnv,
    _thread: jobject,
    _method: jmethodID,
    _by_exception: c_uchar,
    _value: u64,
) {
}

/// The JVM calls this when it starts.
///
/// # Safety
/// Only the JVM calls it: `vm` is alive.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(
    vm: *mut JavaVM,
    _options: *const c_char,
    _reserved: *mut c_void,
) -> jint {
    let mut env: *mut c_void = ptr::null_mut();
    let version = jvmti_sys::JVMTI_VERSION_1_2 as jint;
    // SAFETY: the JVM's own pointer; `env` takes the answer.
    unsafe { ((**vm).v1_2.GetEnv)(vm, &mut env, version) };
    if env.is_null() {
        return -1;
    }
    let env: RawEnv = env.cast();
    let mut callbacks = Callbacks::default();
    callbacks.method_entry(entered);
    callbacks.method_exit(left);
    let mut capabilities = Capabilities::default();
    capabilities.add(Capability::GenerateMethodEntryEvents);
    capabilities.add(Capability::GenerateMethodExitEvents);
    const ENABLE: jint = 1;
    // SAFETY: a live environment, and arguments of the types that the functions ask for; null means
    // all threads.
    let results = unsafe {
        [
            jvmti::add_capabilities(env, &capabilities),
            jvmti::set_event_callbacks(env, &callbacks, size_of::<Callbacks>() as jint),
            jvmti::set_event_notification_mode(
                env,
                ENABLE,
                Event::MethodEntry as jint,
                ptr::null_mut(),
            ),
            jvmti::set_event_notification_mode(
                env,
                ENABLE,
                Event::MethodExit as jint,
                ptr::null_mut(),
            ),
        ]
    };
    match results.iter().all(|result| *result == jvmti::Error::NONE) {
        true => 0,
        false => -1,
    }
}
