//! Virtual threads: they begin, end, and move between carriers.
//!
//! Chunks belong to the carrier, the operating system's thread. When a virtual thread mounts, a record
//! says that what follows is its own; when it unmounts, that the carrier is itself again. The JVM tells of both
//! by events of its own, beyond the specification.

use super::{lifecycle, record};
use crate::agent;
use crate::buffer::record::Code;
use crate::jvmti::Jvmti;
use crate::jvmti::abi::{Event, RawEnv, callback};
use crate::{guard, log};
use jni::sys::{JNIEnv, jobject};
use std::ffi::c_void;

const MOUNT: &str = "com.sun.hotspot.events.VirtualThreadMount";
const UNMOUNT: &str = "com.sun.hotspot.events.VirtualThreadUnmount";

/// Switches the events on, where the JVM has them.
pub(super) fn install(jvmti: Jvmti) {
    let has_virtual_threads = jvmti
        .enable(Event::VirtualThreadStart)
        .and_then(|()| jvmti.enable(Event::VirtualThreadEnd));
    if has_virtual_threads.is_err() {
        return; // an older JVM
    }
    let mut found = 0;
    for event in jvmti.extension_events().unwrap_or_default() {
        let callback: callback::Thread = match event.id.as_str() {
            MOUNT => mount,
            UNMOUNT => unmount,
            _ => continue,
        };
        // SAFETY: both events pass the JVMTI environment, the JNI environment and the virtual thread.
        found += i32::from(
            unsafe { jvmti.set_extension_callback(&event, callback as *const c_void) }.is_ok(),
        );
    }
    if found != 2 {
        log::say(
            "this JVM does not tell when virtual threads change carriers; their calls appear on the carrier threads",
        );
    }
}

/// On the new thread, mounted, before it runs any code of its own.
pub(super) unsafe extern "system" fn start(_jvmti: RawEnv, env: *mut JNIEnv, thread: jobject) {
    guard::run("a virtual thread's start", || {
        switch(env, Some(thread), Some(Code::ThreadStart))
    });
}

/// On the thread that ends, after all code of its own.
pub(super) unsafe extern "system" fn end(_jvmti: RawEnv, env: *mut JNIEnv, thread: jobject) {
    guard::run("a virtual thread's end", || {
        switch(env, Some(thread), Some(Code::ThreadEnd));
        if let Some(agent) = agent::get() {
            // SAFETY: the callback's own reference.
            unsafe { agent.forget_thread(thread) };
        }
        switch(env, None, None);
    });
}

unsafe extern "system" fn mount(_jvmti: RawEnv, env: *mut JNIEnv, thread: jobject) {
    guard::run("a virtual thread's mount", || {
        switch(env, Some(thread), None)
    });
}

unsafe extern "system" fn unmount(_jvmti: RawEnv, env: *mut JNIEnv, _thread: jobject) {
    guard::run("a virtual thread's unmount", || switch(env, None, None));
}

/// From now on, what the carrier records belongs to `thread`, or to itself; then writes a record of it.
fn switch(env: *mut JNIEnv, thread: Option<jobject>, code: Option<Code>) {
    let Some(agent) = agent::get() else { return };
    if !lifecycle::ensure_live(agent, env) {
        return;
    }
    let number = match thread {
        // SAFETY: the callback's own reference.
        Some(thread) => match unsafe { agent.name_thread(env, thread) } {
            Some(number) => Some(number),
            None => return, // it has ended
        },
        None => None,
    };
    // The carrier has a buffer since its own start, unless it began before the trace.
    let Some(buffer) = agent.native_buffer() else {
        return;
    };
    // SAFETY: it is the running thread's own.
    if !unsafe { buffer.switch_to((agent.now)(), number) } {
        guard::switch_off();
    }
    if let (Some(code), Some(number)) = (code, number) {
        record(agent, Some(buffer), code, &[u64::from(number)]);
    }
}
