//! The floor under an object's identity: what the JVM takes to tell of each object, to tag it or to
//! keep a weak reference to it, and to let know of its end, with as little of ours around it as can
//! be. `scripts/bench --only objects` sets the agent's own price beside it.
//!
//! An agent whose option is a list of words with `+`:
//!
//! - `hook`: Java code hands each new object over, to the native method `BenchEvents.made`; or
//!   `sampled`: the JVM tells of every object, as it does for `alloc=jvm`;
//! - `tag`: the object gets its number as a tag; or `weak`: a weak reference to it is kept; or
//!   neither: nothing is done;
//! - `free`: the ends of objects are counted. Of those with tags the JVM tells; for those with
//!   references a thread looks at all of them after each collection.

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
/// Looks at them.
static SWEEPER: OnceLock<Thread> = OnceLock::new();

/// Gives an object its number, if objects get any.
///
/// # Safety
/// `env` is the running thread's, and `object` a live reference.
unsafe fn name(env: *mut JNIEnv, object: jobject) {
    let number = || NEXT.fetch_add(1, Ordering::Relaxed);
    if TAGS.load(Ordering::Relaxed) {
        // SAFETY: the environment lives as long as the JVM; `object` is an argument of the callback
        // that runs.
        unsafe { jvmti::set_tag(JVMTI.load(Ordering::Relaxed), object, number()) };
    } else if IS_WEAK.load(Ordering::Relaxed) {
        // SAFETY: `env` and `object` are arguments of the callback that runs; the function is there
        // since version 1.2.
        let weak = unsafe { ((**env).v1_2.NewWeakGlobalRef)(env, object) };
        references().push((weak.expose_provenance(), number()));
    }
}

fn references() -> std::sync::MutexGuard<'static, Vec<(usize, i64)>> {
    REFERENCES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `static native void made(Object object)` of the benchmark's class.
///
/// # Safety
/// Only the JVM calls it.
#[unsafe(no_mangle)]
pub unsafe extern "system" fn Java_BenchEvents_made(env: *mut JNIEnv, _: jclass, object: jobject) {
    // SAFETY: the method's own environment and argument.
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
    // SAFETY: the callback's own environment and reference.
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

/// The JVM is ready: the thread that looks at references begins.
unsafe extern "system" fn begin(_jvmti: RawEnv, _env: *mut JNIEnv, _thread: jobject) {
    let sweeper = thread::spawn(|| {
        let vm = VM.load(Ordering::Relaxed);
        let mut env: *mut c_void = ptr::null_mut();
        // SAFETY: the JVM is alive; the thread is its daemon from now on, until the process ends.
        unsafe { ((**vm).v1_4.AttachCurrentThreadAsDaemon)(vm, &mut env, ptr::null_mut()) };
        let env: *mut JNIEnv = env.cast();
        let mut old = Vec::new();
        while !env.is_null() {
            thread::park();
            old.append(&mut take(&mut *references()));
            old.retain(|(weak, _)| {
                let weak = ptr::with_exposed_provenance_mut(*weak);
                // SAFETY: this thread's environment, and a reference that nobody else uses any
                // more.
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
    let _ = SWEEPER.set(sweeper.thread().clone()); // the first and only time
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
    if options.is_null() {
        return -1;
    }
    let mut env: *mut c_void = ptr::null_mut();
    let version = jvmti_sys::JVMTI_VERSION_1_2 as jint;
    // SAFETY: the JVM's own pointer, and its options, a C string; `env` takes the answer.
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
    // SAFETY: a live environment, and arguments of the types that the functions ask for.
    let mut results = unsafe {
        vec![
            jvmti::add_capabilities(env, &capabilities),
            jvmti::set_event_callbacks(env, &callbacks, size_of::<Callbacks>() as jint),
        ]
    };
    const ENABLE: jint = 1;
    for event in events {
        // SAFETY: a live environment; a null thread means all threads.
        results.push(unsafe {
            jvmti::set_event_notification_mode(env, ENABLE, event as jint, ptr::null_mut())
        });
    }
    if has("sampled") {
        // SAFETY: a live environment.
        results.push(unsafe { jvmti::set_heap_sampling_interval(env, 0) });
    }
    match results.iter().all(|result| *result == jvmti::Error::NONE) {
        true => 0,
        false => -1,
    }
}
