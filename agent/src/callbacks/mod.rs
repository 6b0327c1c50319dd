//! Entry points for the JVM and for instrumented code: functions that find the tracer, make
//! references safe, and delegate.
//!
//! Each callback runs inside a guard ([`guard::run`]). The guard counts the threads that are
//! inside, and keeps panics out of the JVM. The functions of the hook class are the hot path: they
//! record most calls and allocations without looking up the tracer.

pub(crate) mod api;
mod events;
pub(crate) mod hooks;

use crate::error::Error;
use crate::sources::{Tracer, switch, virtual_threads};
use jni::sys::{JNIEnv, jobject};
use jtrail_guard::{guard, log};
use jtrail_jvm::jni::{Env, Handle};
use jtrail_jvm::jvmti::Jvmti;
use jtrail_jvm::jvmti::abi::{Event, callback};
use std::ffi::c_void;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

static TRACER: AtomicPtr<Tracer> = AtomicPtr::new(ptr::null_mut());

/// Returns the tracer of this JVM; `None` if there is none, or if tracing is off.
pub(crate) fn tracer() -> Option<&'static Tracer> {
    if guard::is_off() { None } else { if_loaded() }
}

/// Returns the tracer of this JVM, even if tracing is off.
pub(crate) fn if_loaded() -> Option<&'static Tracer> {
    // SAFETY: the pointer is null, or points to the tracer that was passed to `show`. That tracer
    // lives until every thread that may have found it has left. The accesses are sequentially
    // consistent. So a thread that the guard counts only after the tracer was hidden does not find
    // it.
    unsafe { TRACER.load(Ordering::SeqCst).as_ref() }
}

/// Makes callbacks find the tracer.
///
/// # Safety
/// The tracer lives until [`hide`] was called, and every thread that may have found the tracer has
/// left ([`guard::wait_until_idle`]). It also lives until all agent threads have ended.
pub(crate) unsafe fn show(tracer: &'static Tracer) {
    TRACER.store(ptr::from_ref(tracer).cast_mut(), Ordering::SeqCst);
}

/// Hides the tracer: callbacks find none from now on.
pub(crate) fn hide() {
    TRACER.store(ptr::null_mut(), Ordering::SeqCst);
}

/// Runs `f` with the tracer and a callback's environment, inside the guard. Returns the default if
/// there is no tracer or no environment. `place` names the callback in messages.
///
/// # Safety
/// `env` is null, or the environment that the JVM passed to the running callback or native method.
#[inline]
unsafe fn with<T: Default>(
    place: &str,
    env: *mut JNIEnv,
    f: impl for<'e> FnOnce(&'static Tracer, &mut Env<'e>) -> T,
) -> T {
    guard::run(place, || {
        // SAFETY: the caller passes the running thread's environment. It is valid until the
        // callback returns, and `f` has returned by then.
        let env = unsafe { Env::from_raw(env) };
        match (tracer(), env) {
            (Some(tracer), Some(mut env)) => f(tracer, &mut env),
            _ => T::default(),
        }
    })
}

/// Like [`with`], for a callback about one object. Returns the default if the reference is null,
/// too.
///
/// # Safety
/// The conditions of [`with`]. `raw` is null, or a reference to an object of the kind `K` that the
/// JVM passed to the same callback.
#[inline]
unsafe fn with_ref<K, T: Default>(
    place: &str,
    env: *mut JNIEnv,
    raw: jobject,
    f: impl for<'e> FnOnce(&'static Tracer, &mut Env<'e>, Handle<'e, K>) -> T,
) -> T {
    // SAFETY: the caller passes the callback's environment, and an argument that is valid until the
    // callback returns.
    unsafe {
        with(place, env, |tracer, env| match Handle::from_raw(env, raw) {
            Some(object) => f(tracer, env, object),
            None => T::default(),
        })
    }
}

/// Sets all callbacks, and enables the events that are needed from now on.
///
/// # Errors
/// If the JVM refuses.
pub(crate) fn install(tracer: &Tracer) -> Result<(), Error> {
    let session = &tracer.session;
    let options = &session.options;
    session.jvmti.set_callbacks(&events::general(options))?;
    if let Some(objects) = tracer.objects.get() {
        objects.jvmti.set_callbacks(&events::of_objects())?;
    }
    switch::install(tracer)?;
    if virtual_threads::are_requested(options) {
        watch_virtual_threads(session.jvmti);
    }
    Ok(())
}

/// Enables the events of virtual threads, if the JVM has virtual threads. HotSpot reports mounts by
/// extension events, which are not in the JVMTI specification.
fn watch_virtual_threads(jvmti: Jvmti) {
    const MOUNT: &str = "com.sun.hotspot.events.VirtualThreadMount";
    const UNMOUNT: &str = "com.sun.hotspot.events.VirtualThreadUnmount";
    let has_virtual_threads = jvmti
        .enable(Event::VirtualThreadStart)
        .and_then(|()| jvmti.enable(Event::VirtualThreadEnd));
    if has_virtual_threads.is_err() {
        return; // an older JVM has no virtual threads
    }
    let mut found = 0;
    for event in jvmti.extension_events().unwrap_or_default() {
        let callback: callback::Thread = match event.id.as_str() {
            MOUNT => events::virtual_thread_mount,
            UNMOUNT => events::virtual_thread_unmount,
            _ => continue,
        };
        // SAFETY: both events pass the JVMTI environment, the JNI environment and the virtual
        // thread, which are the parameters of the callbacks.
        let set = unsafe { jvmti.set_extension_callback(&event, callback as *const c_void) };
        found += i32::from(set.is_ok());
    }
    if found != 2 {
        log::say(
            "this JVM does not report when virtual threads change carriers; their calls appear on the carrier threads",
        );
    }
}
