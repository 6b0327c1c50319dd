//! Measures the minimum cost of an object's identity: the time that the JVM takes to report each
//! object, to tag it or to keep a weak reference to it, and to report its end. This agent adds as
//! little code as possible. `python3 scripts/bench --only objects` compares it with the cost of
//! jtrail's agent.
//!
//! The option of this agent is a list of words, joined by `+`:
//!
//! - `hook`: Java code passes each new object to the native method `BenchEvents.made`; or
//!   `sampled`: the JVM reports every object, as for `alloc=jvm`;
//! - `tag`: the object gets its number as a tag; or `weak`: the agent keeps a weak reference to it;
//!   or neither: nothing is done;
//! - `free`: the ends of objects are counted. The JVM reports the end of objects with tags. For
//!   objects with weak references, a thread polls all references after each collection.

use jni::sys::{JNIEnv, JavaVM, jclass, jint, jlong, jobject};
use jtrail_jvm::jvmti::abi::{self as jvmti, Callbacks, Capabilities, Capability, Event, RawEnv};
use std::ffi::{CStr, c_char, c_void};
use std::mem::take;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::{self, Thread};

static JVMTI: AtomicPtr<*const jvmti::Table> = AtomicPtr::new(ptr::null_mut());
static VM: AtomicPtr<JavaVM> = AtomicPtr::new(ptr::null_mut());
static TAGS: AtomicBool = AtomicBool::new(false);
static IS_WEAK: AtomicBool = AtomicBool::new(false);
static NEXT: AtomicI64 = AtomicI64::new(1);
static FREED: AtomicU64 = AtomicU64::new(0);
/// Weak references, and the numbers of their objects.
static REFERENCES: Mutex<Vec<(usize, i64)>> = Mutex::new(Vec::new());
/// The thread that polls the weak references.
static SWEEPER: OnceLock<Thread> = OnceLock::new();

/// Gives an object its number, if objects get any.
///
/// # Safety
/// `env` is the running thread's environment, and `object` a live reference.
unsafe fn name(env: *mut JNIEnv, object: jobject) {
    let number = || NEXT.fetch_add(1, Ordering::Relaxed);
    if TAGS.load(Ordering::Relaxed) {
        // SAFETY: the environment in `JVMTI` lives as long as the JVM. The caller passes `object`,
        // a live reference.
        unsafe { jvmti::set_tag(JVMTI.load(Ordering::Relaxed), object, number()) };
    } else if IS_WEAK.load(Ordering::Relaxed) {
        // SAFETY: the caller passes the running thread's environment and a live reference. The
        // function exists since version 1.2.
        let weak = unsafe { ((**env).v1_2.NewWeakGlobalRef)(env, object) };
        references().push((weak.expose_provenance(), number()));
    }
}

fn references() -> std::sync::MutexGuard<'static, Vec<(usize, i64)>> {
    REFERENCES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The native method `static native void made(Object object)` of the benchmark's class.
///
/// # Safety
/// Only the JVM may call this function.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_BenchEvents_made(env: *mut JNIEnv, _: jclass, object: jobject) {
    // SAFETY: the JVM passed `env` and `object` to this native method.
    unsafe { name(env, object) };
}

unsafe extern "system" fn allocated(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    object: jobject,
    _class: jclass,
    _size: jlong,
) {
    // SAFETY: the JVM passed `env` and `object` to this callback.
    unsafe { name(env, object) };
}

unsafe extern "system" fn freed(_jvmti: RawEnv, _tag: jlong) {
    FREED.fetch_add(1, Ordering::Relaxed);
}

unsafe extern "system" fn collected(_jvmti: RawEnv) {
    if let Some(thread) = SWEEPER.get() {
        thread.unpark();
    }
}

/// Starts the thread that polls references; the JVM is ready.
unsafe extern "system" fn begin(_jvmti: RawEnv, _env: *mut JNIEnv, _thread: jobject) {
    let sweeper = thread::spawn(|| {
        let vm = VM.load(Ordering::Relaxed);
        let mut env: *mut c_void = ptr::null_mut();
        // SAFETY: the JVM is alive. The thread is a daemon of the JVM from now on, until the
        // process ends.
        unsafe { ((**vm).v1_4.AttachCurrentThreadAsDaemon)(vm, &mut env, ptr::null_mut()) };
        let env: *mut JNIEnv = env.cast();
        let mut old = Vec::new();
        while !env.is_null() {
            thread::park();
            old.append(&mut take(&mut *references()));
            old.retain(|(weak, _)| {
                let weak = ptr::with_exposed_provenance_mut(*weak);
                // SAFETY: `env` is this thread's environment, and only this thread has the
                // reference, since it took it out of the list.
                unsafe {
                    let is_dead = ((**env).v1_1.IsSameObject)(env, weak, ptr::null_mut());
                    if is_dead {
                        ((**env).v1_2.DeleteWeakGlobalRef)(env, weak);
                        FREED.fetch_add(1, Ordering::Relaxed);
                    }
                    !is_dead
                }
            });
        }
    });
    let _ = SWEEPER.set(sweeper.thread().clone()); // can't fail: set only once
}

/// The JVM calls this function when it starts.
///
/// # Safety
/// Only the JVM may call this function. `vm` is alive; `options` is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Agent_OnLoad(
    vm: *mut JavaVM,
    options: *const c_char,
    _reserved: *mut c_void,
) -> jint {
    if options.is_null() {
        return -1;
    }
    let mut env: *mut c_void = ptr::null_mut();
    let version = jvmti_sys::JVMTI_VERSION_1_2 as jint;
    // SAFETY: the JVM passed `vm` and `options` to its entry point; `options` is a C string. `env`
    // receives the result.
    let options = unsafe {
        ((**vm).v1_2.GetEnv)(vm, &mut env, version);
        CStr::from_ptr(options).to_string_lossy()
    };
    if env.is_null() {
        return -1;
    }
    let env: RawEnv = env.cast();
    let has = |word: &str| options.split('+').any(|other| other == word);
    JVMTI.store(env, Ordering::Relaxed);
    VM.store(vm, Ordering::Relaxed);
    TAGS.store(has("tag"), Ordering::Relaxed);
    IS_WEAK.store(has("weak"), Ordering::Relaxed);
    let mut callbacks = Callbacks::default();
    callbacks.object_free(freed);
    callbacks.sampled_object_alloc(allocated);
    callbacks.garbage_collection_finish(collected);
    callbacks.vm_init(begin);
    let mut needs = Vec::new();
    if has("sampled") {
        let capability = Capability::GenerateSampledObjectAllocEvents;
        needs.push((capability, Some(Event::SampledObjectAlloc)));
    }
    if has("tag") {
        needs.push((Capability::TagObjects, None));
    }
    if has("tag") && has("free") {
        let capability = Capability::GenerateObjectFreeEvents;
        needs.push((capability, Some(Event::ObjectFree)));
    }
    let sweeps = has("weak") && has("free");
    if sweeps {
        let capability = Capability::GenerateGarbageCollectionEvents;
        needs.push((capability, Some(Event::GarbageCollectionFinish)));
    }
    let mut capabilities = Capabilities::default();
    needs.iter().for_each(|(needs, _)| capabilities.add(*needs));
    let events = needs.iter().filter_map(|(_, event)| *event);
    let events = events.chain(sweeps.then_some(Event::VmInit));
    // SAFETY: `env` is a live environment of this JVM, and the arguments have the types that the
    // functions demand.
    let mut results = unsafe {
        vec![
            jvmti::add_capabilities(env, &capabilities),
            jvmti::set_event_callbacks(env, &callbacks, size_of::<Callbacks>() as jint),
        ]
    };
    const ENABLE: jint = 1;
    for event in events {
        // SAFETY: `env` is a live environment of this JVM; a null thread means all threads.
        results.push(unsafe {
            jvmti::set_event_notification_mode(env, ENABLE, event as jint, ptr::null_mut())
        });
    }
    if has("sampled") {
        // SAFETY: `env` is a live environment of this JVM.
        results.push(unsafe { jvmti::set_heap_sampling_interval(env, 0) });
    }
    match results.iter().all(|result| *result == jvmti::Error::NONE) {
        true => 0,
        false => -1,
    }
}
