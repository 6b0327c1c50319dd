//! The floor under an object's identity: what the JVM takes for a tag on each object, and for telling of its end, with as little of
//! ours around it as can be. `scripts/bench --only events` sets the agent's own price beside it.
//!
//! An agent with one option. `hook`: Java code hands each new object over, to the native method `BenchEvents.made`. `sampled`: the
//! JVM tells of every object, as it does for `alloc=jvm`. Either way the object gets its number as a tag.

use jni::sys::{JNIEnv, JavaVM, jclass, jint, jlong, jobject};
use jvmti::{Callbacks, Capabilities, Capability, Event, RawEnv};
use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::sync::atomic::{AtomicI64, AtomicPtr, AtomicU64, Ordering};

#[allow(dead_code)] // nearly all of it
#[path = "../src/jvmti/abi.rs"]
mod jvmti;

static JVMTI: AtomicPtr<*const jvmti::Table> = AtomicPtr::new(ptr::null_mut());
static NEXT: AtomicI64 = AtomicI64::new(1);
static FREED: AtomicU64 = AtomicU64::new(0);

/// Gives an object its number.
///
/// # Safety
/// `object` is a live reference.
unsafe fn tag(object: jobject) {
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // SAFETY: the environment lives as long as the JVM; the caller's promise.
    unsafe { jvmti::set_tag(JVMTI.load(Ordering::Relaxed), object, number) };
}

/// `static native void made(Object object)` of the benchmark's class.
///
/// # Safety
/// Only the JVM calls it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_BenchEvents_made(_: *mut JNIEnv, _: jclass, object: jobject) {
    // SAFETY: the method's own argument.
    unsafe { tag(object) };
}

unsafe extern "system" fn allocated(
    _jvmti: RawEnv,
    _env: *mut JNIEnv,
    _thread: jobject,
    object: jobject,
    _class: jclass,
    _size: jlong,
) {
    // SAFETY: the callback's own reference.
    unsafe { tag(object) };
}

unsafe extern "system" fn freed(_jvmti: RawEnv, _tag: jlong) {
    FREED.fetch_add(1, Ordering::Relaxed);
}

/// The JVM calls this when it starts.
///
/// # Safety
/// Only the JVM calls it: `vm` is alive, and `options` null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(
    vm: *mut JavaVM,
    options: *const c_char,
    _reserved: *mut c_void,
) -> jint {
    let mut env: *mut c_void = ptr::null_mut();
    let version = jvmti_sys::JVMTI_VERSION_1_2 as jint;
    // SAFETY: the caller's promise; `env` takes the answer.
    let is_sampled = unsafe {
        ((**vm).v1_2.GetEnv)(vm, &mut env, version);
        !options.is_null() && CStr::from_ptr(options) == c"sampled"
    };
    if env.is_null() {
        return -1;
    }
    let env: RawEnv = env.cast();
    JVMTI.store(env, Ordering::Relaxed);
    let mut capabilities = Capabilities::default();
    capabilities.add(Capability::TagObjects);
    capabilities.add(Capability::GenerateObjectFreeEvents);
    let mut callbacks = Callbacks::default();
    callbacks.object_free(freed);
    let mut events = vec![Event::ObjectFree];
    if is_sampled {
        capabilities.add(Capability::GenerateSampledObjectAllocEvents);
        callbacks.sampled_object_alloc(allocated);
        events.push(Event::SampledObjectAlloc);
    }
    // SAFETY: a live environment, and arguments of the types that the functions ask for.
    let mut results = unsafe {
        vec![
            jvmti::add_capabilities(env, &capabilities),
            jvmti::set_event_callbacks(env, &callbacks, size_of::<Callbacks>() as jint),
        ]
    };
    const ENABLE: jint = 1;
    for event in events {
        // SAFETY: likewise; null means all threads.
        results.push(unsafe {
            jvmti::set_event_notification_mode(env, ENABLE, event as jint, ptr::null_mut())
        });
    }
    if is_sampled {
        // SAFETY: likewise.
        results.push(unsafe { jvmti::set_heap_sampling_interval(env, 0) });
    }
    match results.iter().all(|result| *result == jvmti::Error::NONE) {
        true => 0,
        false => -1,
    }
}
