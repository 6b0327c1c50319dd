//! The callbacks of the JVM's events. All callbacks are set at once; [`crate::sources`] decides
//! which events are enabled.
//!
//! Each callback is sound for two reasons. The callback has the type of its event, because the
//! setters of [`Callbacks`] check the type. The JVM passes the running thread's environment, and
//! references that are valid until the callback returns.

use super::{if_loaded, tracer, with, with_ref};
use crate::sources::allocations::{self, New};
use crate::sources::classes::{self, Load};
use crate::sources::cpu::{Measure, WithCpu, WithoutCpu};
use crate::sources::exceptions::{self, CodeLocation};
use crate::sources::{
    calls, exhaustion, frees, gc, jit, monitors, requests, sites, threads, trace, virtual_threads,
};
use jni::sys::{JNIEnv, jclass, jint, jlong, jmethodID, jobject};
use jtrail_guard::{guard, log};
use jtrail_jvm::jni::{Env, Handle, kind};
use jtrail_jvm::jvmti::abi::{Callbacks, RawEnv};
use jtrail_jvm::jvmti::{CompiledCode, Method, text};
use jtrail_options::{Events, Options};
use jvmti_sys::jvmtiAddrLocationMap;
use std::ffi::{CStr, c_char, c_uchar, c_void};

/// Returns the callbacks of the general JVMTI environment.
pub(super) fn general(options: &Options) -> Callbacks {
    let mut callbacks = Callbacks::default();
    callbacks.vm_start(vm_start);
    callbacks.vm_init(vm_init);
    callbacks.vm_death(vm_death);
    callbacks.thread_start(thread_start);
    callbacks.thread_end(thread_end);
    callbacks.virtual_thread_start(virtual_thread_start);
    callbacks.virtual_thread_end(virtual_thread_end);
    callbacks.class_file_load_hook(class_file_load_hook);
    callbacks.class_prepare(class_prepare);
    match options.events.contains(Events::CPU) {
        false => {
            callbacks.method_entry(method_entry::<WithoutCpu>);
            callbacks.method_exit(method_exit::<WithoutCpu>);
        }
        true => {
            callbacks.method_entry(method_entry::<WithCpu>);
            callbacks.method_exit(method_exit::<WithCpu>);
        }
    }
    callbacks.compiled_method_load(compiled_method_load);
    callbacks.compiled_method_unload(compiled_method_unload);
    callbacks.garbage_collection_start(garbage_collection_start);
    callbacks.garbage_collection_finish(garbage_collection_finish);
    callbacks.data_dump_request(data_dump_request);
    callbacks.resource_exhausted(resource_exhausted);
    callbacks.monitor_contended_enter(monitor_contended_enter);
    callbacks.monitor_contended_entered(monitor_contended_entered);
    callbacks.monitor_wait(monitor_wait);
    callbacks.monitor_waited(monitor_waited);
    callbacks.exception(exception);
    callbacks.exception_catch(exception_catch);
    callbacks
}

/// Returns the callbacks of the JVMTI environment for objects.
pub(super) fn of_objects() -> Callbacks {
    let mut callbacks = Callbacks::default();
    callbacks.object_free(object_free);
    callbacks.sampled_object_alloc(sampled_object_alloc);
    callbacks.vm_object_alloc(vm_object_alloc);
    callbacks
}

/// Returns a reference that the JVM passed to the callback with the environment `env`; `None` for
/// null.
///
/// # Safety
/// The JVM passed `raw` to the same callback as `env`, as a reference to an object of the kind `K`.
unsafe fn passed<'e, K>(env: &Env<'e>, raw: jobject) -> Option<Handle<'e, K>> {
    // SAFETY: the caller passes an argument of the callback, which is valid until the callback
    // returns.
    unsafe { Handle::from_raw(env, raw) }
}

/// Java code can run from now on. Defines the hook class, before any class of the program can load.
unsafe extern "system" fn vm_start(_jvmti: RawEnv, env: *mut JNIEnv) {
    // SAFETY: `env` is the environment that the JVM passed to this callback.
    unsafe {
        with("the start of the JVM", env, |tracer, env| {
            if let Err(error) = tracer.session.life.upcalls.install_hook(env) {
                log::say(&format!(
                    "{error}; the program goes on without calls in the trace"
                ));
            }
        });
    }
}

/// The JVM is ready to run the program.
unsafe extern "system" fn vm_init(_jvmti: RawEnv, env: *mut JNIEnv, _thread: jobject) {
    // SAFETY: `env` is the environment that the JVM passed to this callback.
    unsafe {
        with("the JVM's initialisation", env, |tracer, env| {
            trace::start(tracer, env, true);
            tracer.session.life.upcalls.before_program();
        });
    }
}

/// The JVM begins to stop. Ends the trace, unless the end of the last thread has already ended it
/// ([`frees`]).
unsafe extern "system" fn vm_death(_jvmti: RawEnv, env: *mut JNIEnv) {
    // SAFETY: `env` is the environment that the JVM passed to this callback.
    unsafe {
        with("the JVM's end", env, |tracer, env| {
            tracer.session.life.upcalls.end(env);
        });
    }
}

unsafe extern "system" fn thread_start(_jvmti: RawEnv, env: *mut JNIEnv, thread: jobject) {
    // SAFETY: the JVM passed `env` and `thread` to this callback.
    unsafe {
        with_ref("a thread's start", env, thread, threads::started);
    }
}

unsafe extern "system" fn thread_end(_jvmti: RawEnv, env: *mut JNIEnv, thread: jobject) {
    // SAFETY: the JVM passed `env` and `thread` to this callback.
    unsafe {
        with_ref("a thread's end", env, thread, threads::ended);
    }
}

unsafe extern "system" fn virtual_thread_start(_jvmti: RawEnv, env: *mut JNIEnv, thread: jobject) {
    // SAFETY: the JVM passed `env` and `thread` to this callback.
    unsafe {
        with_ref(
            "a virtual thread's start",
            env,
            thread,
            virtual_threads::started,
        );
    }
}

unsafe extern "system" fn virtual_thread_end(_jvmti: RawEnv, env: *mut JNIEnv, thread: jobject) {
    // SAFETY: the JVM passed `env` and `thread` to this callback.
    unsafe {
        with_ref(
            "a virtual thread's end",
            env,
            thread,
            virtual_threads::ended,
        );
    }
}

/// Callback of an extension event of HotSpot.
pub(super) unsafe extern "system" fn virtual_thread_mount(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    thread: jobject,
) {
    // SAFETY: the JVM passed `env` and `thread` to this callback.
    unsafe {
        with_ref(
            "a virtual thread's mount",
            env,
            thread,
            virtual_threads::mounted,
        );
    }
}

/// Callback of an extension event of HotSpot.
pub(super) unsafe extern "system" fn virtual_thread_unmount(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
) {
    // SAFETY: `env` is the environment that the JVM passed to this callback.
    unsafe {
        with(
            "a virtual thread's unmount",
            env,
            virtual_threads::unmounted,
        );
    }
}

unsafe extern "system" fn class_file_load_hook(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    redefined: jclass,
    loader: jobject,
    name: *const c_char,
    _protection_domain: jobject,
    length: jint,
    bytes: *const c_uchar,
    new_length: *mut jint,
    new_bytes: *mut *mut c_uchar,
) {
    // SAFETY: the JVM passed `env` and the references to this callback. `name` is null or a C
    // string, and `bytes` has `length` bytes; both are valid until the callback returns.
    // `new_length` and `new_bytes` point to memory for the results. The memory of the new bytes
    // comes from the JVM's `Allocate`, as the JVM requires.
    unsafe {
        with("a class's load", env, |tracer, env| {
            if bytes.is_null() {
                return;
            }
            let length = usize::try_from(length).unwrap_or_default();
            let load = Load {
                redefined: passed(env, redefined),
                loader: passed(env, loader),
                name: (!name.is_null()).then(|| text(CStr::from_ptr(name).to_bytes())),
                bytes: std::slice::from_raw_parts(bytes, length),
            };
            let Some(rewritten) = classes::loaded(tracer, env, &load) else {
                return;
            };
            if let Ok(size) = jint::try_from(rewritten.len())
                && let Ok(memory) = tracer.session.jvmti.copy_for_jvm(&rewritten)
            {
                *new_bytes = memory;
                *new_length = size;
            }
        });
    }
}

unsafe extern "system" fn class_prepare(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    class: jclass,
) {
    // SAFETY: the JVM passed `env` and `class` to this callback.
    unsafe {
        with_ref("a class's preparation", env, class, classes::prepared);
    }
}

unsafe extern "system" fn method_entry<M: Measure>(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    method: jmethodID,
) {
    // SAFETY: the JVM passed `env` and `method` to this callback.
    unsafe {
        with("a method's entry", env, |tracer, env| {
            calls::entered::<M>(tracer, env, Method::new(method));
        });
    }
}

unsafe extern "system" fn method_exit<M: Measure>(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    method: jmethodID,
    by_exception: c_uchar,
    _value: u64,
) {
    // SAFETY: the JVM passed `env` and `method` to this callback.
    unsafe {
        with("a method's exit", env, |tracer, env| {
            calls::left::<M>(tracer, env, Method::new(method), by_exception != 0);
        });
    }
}

/// The JVM passes no environment, but the thread has one.
unsafe extern "system" fn compiled_method_load(
    _jvmti: RawEnv,
    method: jmethodID,
    size: jint,
    address: *const c_void,
    map_length: jint,
    map: *const jvmtiAddrLocationMap,
    records: *const c_void,
) {
    guard::run("a method's compilation", || {
        let Some(tracer) = tracer() else { return };
        // SAFETY: the JVM passed the method, the map and the records to this callback; they are
        // valid until it returns.
        let code = unsafe { CompiledCode::new(method, size, address, (map, map_length), records) };
        let reported = tracer
            .session
            .vm
            .with_env(|env| jit::compiled(tracer, env, &code));
        _ = reported; // a thread without an environment compiles nothing
    });
}

/// The method may have been unloaded, so nothing is read about it from the JVM.
unsafe extern "system" fn compiled_method_unload(
    _jvmti: RawEnv,
    method: jmethodID,
    address: *const c_void,
) {
    guard::run("the end of compiled code", || {
        if let Some(tracer) = tracer() {
            // SAFETY: the JVM passed `method` to this callback.
            let method = unsafe { Method::new(method) };
            jit::discarded(tracer, method, address as u64);
        }
    });
}

unsafe extern "system" fn garbage_collection_start(_jvmti: RawEnv) {
    guard::run("a collection's start", || {
        if let Some(tracer) = tracer() {
            gc::start(tracer);
        }
    });
}

unsafe extern "system" fn garbage_collection_finish(_jvmti: RawEnv) {
    guard::run("a collection's finish", || {
        if let Some(tracer) = tracer() {
            gc::finish(tracer);
        }
    });
}

/// The JVM passes no environment, but the thread has one.
unsafe extern "system" fn data_dump_request(_jvmti: RawEnv) {
    guard::run("a request for data", || {
        if let Some(tracer) = tracer() {
            let vm = tracer.session.vm;
            // SAFETY: the JVM passed no environment to this callback, nor to a caller of it. So the
            // thread uses no other environment.
            unsafe { vm.with_env_mut(|env| requests::answer(tracer, env)) };
        }
    });
}

/// The JVM is out of memory, for an object or a thread.
unsafe extern "system" fn resource_exhausted(
    _jvmti: RawEnv,
    _env: *mut JNIEnv,
    _flags: jint,
    _reserved: *const c_void,
    _description: *const c_char,
) {
    guard::run("the end of memory", || {
        if let Some(tracer) = tracer() {
            exhaustion::exhausted(tracer);
        }
    });
}

unsafe extern "system" fn monitor_contended_enter(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    monitor: jobject,
) {
    // SAFETY: the JVM passed `env` and `monitor` to this callback.
    unsafe {
        with_ref("a monitor's event", env, monitor, monitors::contended_enter);
    }
}

unsafe extern "system" fn monitor_contended_entered(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    monitor: jobject,
) {
    // SAFETY: the JVM passed `env` and `monitor` to this callback.
    unsafe {
        with_ref(
            "a monitor's event",
            env,
            monitor,
            monitors::contended_entered,
        );
    }
}

unsafe extern "system" fn monitor_wait(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    monitor: jobject,
    milliseconds: jlong,
) {
    // SAFETY: the JVM passed `env` and `monitor` to this callback.
    unsafe {
        with_ref("a monitor's event", env, monitor, |tracer, env, monitor| {
            let milliseconds = u64::try_from(milliseconds).unwrap_or_default();
            monitors::wait(tracer, env, monitor, milliseconds);
        });
    }
}

unsafe extern "system" fn monitor_waited(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    monitor: jobject,
    timed_out: c_uchar,
) {
    // SAFETY: the JVM passed `env` and `monitor` to this callback.
    unsafe {
        with_ref("a monitor's event", env, monitor, |tracer, env, monitor| {
            monitors::waited(tracer, env, monitor, timed_out != 0);
        });
    }
}

unsafe extern "system" fn exception(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    method: jmethodID,
    location: jlong,
    exception: jobject,
    _catch_method: jmethodID,
    _catch_location: jlong,
) {
    // SAFETY: the JVM passed `env`, `method` and `exception` to this callback.
    unsafe {
        let method = Method::new(method);
        with_ref("a throw", env, exception, |tracer, env, exception| {
            exceptions::thrown(tracer, env, CodeLocation { method, location }, exception);
        });
    }
}

unsafe extern "system" fn exception_catch(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    method: jmethodID,
    location: jlong,
    exception: jobject,
) {
    // SAFETY: the JVM passed `env`, `method` and `exception` to this callback.
    unsafe {
        let method = Method::new(method);
        with_ref("a catch", env, exception, |tracer, env, exception| {
            exceptions::caught(tracer, env, CodeLocation { method, location }, exception);
        });
    }
}

unsafe extern "system" fn sampled_object_alloc(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    thread: jobject,
    object: jobject,
    class: jclass,
    size: jlong,
) {
    if allocations::is_waking() {
        return;
    }
    // SAFETY: the JVM passed `env` and the references to this callback.
    unsafe {
        with("an allocation", env, |tracer, env| {
            let references = (passed(env, object), passed::<kind::Class>(env, class));
            if let (Some(object), Some(class)) = references {
                let new = New {
                    thread: passed(env, thread),
                    object,
                    class,
                    size: u64::try_from(size).unwrap_or_default(),
                };
                allocations::allocated(tracer, env, new);
            }
        });
    }
}

unsafe extern "system" fn vm_object_alloc(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    object: jobject,
    class: jclass,
    size: jlong,
) {
    // SAFETY: the JVM passed `env` and the references to this callback.
    unsafe {
        with("an allocation of the JVM", env, |tracer, env| {
            let references = (passed(env, object), passed::<kind::Class>(env, class));
            if let (Some(object), Some(class)) = references {
                let size = u64::try_from(size).unwrap_or_default();
                sites::created_by_jvm(tracer, env, object, class, size);
            }
        });
    }
}

/// The JVM calls this on a thread of its own, maybe in the middle of a collection. So this function
/// must not call the JVM.
unsafe extern "system" fn object_free(_jvmti: RawEnv, tag: jlong) {
    guard::run("an object's end", || {
        if let Some(tracer) = if_loaded() {
            frees::note_freed(tracer);
        }
        if let Some(tracer) = tracer()
            && let Some(class) = frees::freed(tracer, tag)
        {
            trace::class_unloaded(tracer, class);
        }
    });
}
