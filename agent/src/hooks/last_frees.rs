//! The JVM ends, while it tells of dead objects.
//!
//! Since 17, HotSpot tells of them on a thread of its own, the service thread, some time after each collection; and once more on the thread that ends the
//! JVM, before VMDeath. One waits for the other to come to the end of its list, and does so in a state in which no safepoint can begin
//! (`JvmtiTagMap::flush_object_free_events`). The other one, at the end of its list, waits for a safepoint that somebody has asked for meanwhile, such as
//! a collection: then the JVM stands still for ever. A program that makes garbage until its end comes by this within a few runs, on 17, 21 and 25.
//!
//! So the trace ends before that, when the JVM says that the ending thread ends; then all tags are taken away, and no collection finds a dead object with a
//! tag any more. What is left is to wait for the service thread, and to switch the event off.
//!
//! Tags are taken away in a walk over all objects. Where only few have one (events name them, and there is no `heap`, and no `alloc` or weak references in place of tags), that is saved: there is little to tell of,
//! and a list is short. The same is left of ZGC and Shenandoah, whose walks don't come by objects that can't be reached any more.

use super::lifecycle;
use crate::agent::Agent;
use crate::objects::{Objects, Walking};
use ::jni::sys::{JNIEnv, jobject};
use jtrail_guard::guard;
use jtrail_jvm::jni::{self, Lasting};
use jtrail_jvm::jvmti::abi::Event;
use jtrail_options::Events;
use parking_lot::Mutex;
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long we wait for the service thread.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long, and before how many walks in a row, it must not have told of an object. It may be at the end of its list, and have no processor to come away
/// from there; and other threads may be about to give an object a tag.
const QUIET: Duration = Duration::from_millis(1);
const QUIET_WALKS: u32 = 3;

/// Who tells of dead objects beside our own walks.
#[derive(Default)]
pub(crate) struct Teller {
    /// The service thread; none where the JVM tells of objects on threads that are none of Java's.
    thread: OnceLock<Option<Lasting>>,
    told: AtomicU64,
    /// Java's class that knows whether hooks have run and the JVM is about to end.
    vm: OnceLock<Lasting>,
    is_settled: Mutex<bool>,
}

thread_local! {
    /// While the running thread walks over the heap: of how many dead objects it told.
    static WALK: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Runs a walk over the heap, behind which the JVM tells of dead objects. Of how many it did.
pub(super) fn while_walking<T>(walk: impl FnOnce() -> T) -> (T, u64) {
    WALK.set(Some(0));
    let walking = Walking::begin();
    let result = walk();
    drop(walking);
    (result, WALK.take().unwrap_or(0))
}

/// The JVM is ready.
pub(super) fn begin(agent: &Agent, env: *mut JNIEnv) {
    if let Some(objects) = agent.objects.get()
        && let Ok(class) = jni::vm_class(env)
    {
        let _ = objects.teller.vm.set(class);
    }
}

/// The JVM tells of a dead object.
pub(super) fn told(objects: &Objects) {
    if let Some(told) = WALK.get() {
        return WALK.set(Some(told + 1));
    }
    let teller = &objects.teller;
    teller.told.fetch_add(1, Ordering::Relaxed);
    teller.thread.get_or_init(|| {
        // SAFETY: the JVM runs. On a thread that is none of Java's there is no environment.
        let env = unsafe { jni::env_of(objects.vm) }?;
        let thread = objects.jvmti.current_thread().ok()?;
        // SAFETY: the running thread's environment, and a local reference that the JVM just gave us.
        Some(unsafe { Lasting::new(env, thread) })
    });
}

impl Teller {
    /// Whether Java's part of the JVM's end is over. 11 does not say.
    ///
    /// # Safety
    /// `env` is the running thread's.
    unsafe fn is_shut_down(&self, env: *mut JNIEnv) -> bool {
        /// `VM.SYSTEM_SHUTDOWN`.
        const SHUT_DOWN: i32 = 5;
        // SAFETY: the class that `begin` found.
        let level = |class: &Lasting| unsafe { jni::vm_level(env, class.get()) };
        self.vm
            .get()
            .is_some_and(|class| level(class).is_ok_and(|level| level == SHUT_DOWN))
    }

    /// Gives up what it refers to.
    ///
    /// # Safety
    /// `env` is the running thread's, and nobody tells of objects any more.
    pub(super) unsafe fn forget(&self, env: *mut JNIEnv) {
        let thread = self.thread.get().and_then(Option::as_ref);
        for reference in thread.into_iter().chain(self.vm.get()) {
            // SAFETY: the caller's promise.
            unsafe { reference.forget(env) };
        }
    }

    fn told(&self) -> u64 {
        self.told.load(Ordering::Relaxed)
    }

    /// Whether the service thread is in the middle of its list.
    fn is_telling(&self, objects: &Objects) -> bool {
        // SAFETY: a global reference.
        let runs = |thread: &Lasting| unsafe { objects.jvmti.is_in_native(thread.get()) };
        let thread = self.thread.get().and_then(Option::as_ref);
        thread.is_some_and(|thread| runs(thread) != Ok(false))
    }
}

/// A thread has ended. If the JVM ends with it, so does the trace, and no dead objects are told of any more.
///
/// # Safety
/// `env` is the running thread's, and `thread` a live reference to it.
pub(super) unsafe fn thread_ended(
    agent: &Agent,
    env: *mut JNIEnv,
    thread: jobject,
    has_frames: bool,
) {
    let Some(objects) = agent.objects.get() else {
        return; // VMDeath is early enough
    };
    // The thread that called `System.exit` has frames; one that destroys the JVM has none.
    // SAFETY: the caller's promise.
    let jvm_ends = has_frames || unsafe { objects.teller.is_shut_down(env) };
    let on_its_own_threads = matches!(objects.teller.thread.get(), Some(None));
    if !jvm_ends || on_its_own_threads {
        return;
    }
    let mut is_settled = objects.teller.is_settled.lock();
    if !*is_settled {
        *is_settled = true;
        // SAFETY: the caller's promise.
        let _ = while_walking(|| unsafe { objects.jvmti.look_at(thread) }); // the last frees
        lifecycle::end(agent, env);
        // SAFETY: likewise.
        unsafe { settle(agent, objects, thread) };
    }
}

/// Has the JVM tell of no dead object any more.
///
/// # Safety
/// `thread` is a live reference.
pub(super) unsafe fn settle(agent: &Agent, objects: &Objects, thread: jobject) {
    debug_assert!(guard::is_off(), "else objects get tags");
    sleep(QUIET);
    let events = agent.options.events;
    let have_tags = events.contains(Events::ALLOC) && objects.weak.is_none();
    if have_tags || events.contains(Events::HEAP) {
        let _ = while_walking(|| objects.jvmti.untag_all());
    }
    let until = Instant::now() + PATIENCE;
    let mut quiet = 0;
    while quiet < QUIET_WALKS && Instant::now() < until {
        let told = objects.teller.told();
        sleep(QUIET);
        // SAFETY: the caller's promise.
        let (walked, told_here) = while_walking(|| unsafe { objects.jvmti.look_at(thread) });
        if walked.is_err() {
            return;
        }
        let is_quiet = told_here == 0 && objects.teller.told() == told;
        match is_quiet && !objects.teller.is_telling(objects) {
            true => quiet += 1,
            false => quiet = 0,
        }
    }
    let _ = objects.jvmti.disable(Event::ObjectFree); // then all is as it was
}
