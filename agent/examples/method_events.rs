//! Measures the JVM's own method events: an agent that enables them for each enter and leave, and
//! does nothing in its callbacks. Its cost is the minimum for any tracer that is built on these
//! events. `python3 scripts/bench --only work` compares it with the hooks.

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

/// The JVM calls this function when it starts.
///
/// # Safety
/// Only the JVM may call this function; `vm` is alive.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(
    vm: *mut JavaVM,
    _options: *const c_char,
    _reserved: *mut c_void,
) -> jint {
    let mut env: *mut c_void = ptr::null_mut();
    let version = jvmti_sys::JVMTI_VERSION_1_2 as jint;
    // SAFETY: the JVM passed `vm` to its entry point, and `env` receives the result.
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
    // SAFETY: `env` is a live environment of this JVM, and the arguments have the types that the
    // functions demand; a null thread means all threads.
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
