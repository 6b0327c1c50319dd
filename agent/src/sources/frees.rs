//! The ends of objects and of classes. This module also ends the trace when the JVM ends, for the
//! reason below.
//!
//! The JVM reports the end of objects that have tags. So it also reports the end of a class, whose
//! class object has a tag and dies with the class. Some objects have weak references instead of
//! tags. For these, an agent thread polls the references after each collection.
//!
//! # The end of the JVM
//!
//! From 17 on, HotSpot reports dead objects on a thread of its own, the service thread, some time
//! after each collection. The last dead objects are reported on the thread that ends the JVM,
//! before VMDeath. There is a deadlock in the JVM (`JvmtiTagMap::flush_object_free_events`). One of
//! these two threads waits until the other has finished its list of dead objects; no safepoint can
//! begin meanwhile. The other thread, at the end of its list, waits for a safepoint that was
//! requested meanwhile, such as a collection. Then the JVM hangs for ever. This was seen after a
//! few attempts on 17, 21 and 25, with a program that creates garbage until its end.
//!
//! So the trace ends earlier: at the ThreadEnd event of the thread that ends the JVM. Then all tags
//! are removed, so that no later collection finds a dead object with a tag. After that, the agent
//! waits for the service thread, and disables the ObjectFree event.
//!
//! Tags are removed by a walk over all objects. The walk is omitted if few objects have tags:
//! without `heap`, and without `alloc` or with weak references. Then lists of dead objects are
//! short, and a small risk of the deadlock remains. It also remains with ZGC and Shenandoah,
//! because their walks don't find unreachable objects.

use super::{Environment, Need, Source, Tracer, gc, own_threads};
use crate::objects::{HeapWalkScope, Objects, class_in, number_in};
use jtrail_guard::{guard, log};
use jtrail_jvm::jni::{Env, GlobalRef, ThreadRef};
use jtrail_jvm::jvmti::abi::{Capability, Event};
use jtrail_options::{Events, Options};
use jtrail_recorder::buffer::OwnBuffer;
use jtrail_recorder::buffer::record::Code;
use std::cell::Cell;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long we wait for the service thread.
const PATIENCE: Duration = Duration::from_secs(10);
/// The service thread counts as finished if it reports no object for this time, before each of
/// [`QUIET_WALKS`] consecutive walks. One time is not enough: the thread may be at the end of its
/// list, but waiting for a processor. Other threads may be about to tag an object, too.
const QUIET: Duration = Duration::from_millis(1);
const QUIET_WALKS: u32 = 3;

/// The source of `events=free`, and of the ends of classes, which are the ends of their class
/// objects.
pub(super) struct Frees;

impl Source for Frees {
    /// Always requested. If objects have numbers, class objects have tags, and the end of a class
    /// must be known.
    fn requested(&self, _options: &Options) -> bool {
        true
    }

    fn environment(&self) -> Environment {
        Environment::Objects
    }

    fn capabilities(&self, _options: &Options) -> Vec<Need> {
        let frees = Capability::GenerateObjectFreeEvents;
        vec![
            Need::of(Capability::TagObjects, "tag objects"),
            // Also needed for classes, because the event shows that a class was unloaded.
            Need::of(frees, "report dead objects"),
        ]
    }

    fn permanent_events(&self) -> &'static [Event] {
        &[Event::ObjectFree]
    }

    fn begin(&self, tracer: &'static Tracer, env: &mut Env<'_>) {
        if tracer.objects.get().is_some()
            && let Ok(class) = env.vm_class()
        {
            let _ = tracer.frees.vm.set(class);
        }
    }

    /// Starts the thread that looks for dead objects with weak references.
    fn started(&self, tracer: &'static Tracer, env: &mut Env<'_>) {
        let is_weak = |objects: &Objects| objects.weak.is_some();
        if !tracer.objects.get().is_some_and(is_weak) {
            return;
        }
        let place = "the search for dead objects";
        let sweeper = &tracer.frees.sweeper;
        let started =
            own_threads::follow_collections(tracer, env, sweeper, ("jtrail sweeper", place), sweep);
        if let Err(error) = started {
            log::say(&format!(
                "{error}; dead objects are reported only at the end"
            ));
        }
    }

    fn end(&self, tracer: &'static Tracer, env: &mut Env<'_>, buffer: Option<OwnBuffer>) {
        if let Some(buffer) = buffer {
            sweep(tracer, env, buffer);
        }
    }
}

/// Records the ends of objects that have weak references.
fn sweep(tracer: &Tracer, env: &mut Env<'_>, buffer: OwnBuffer) {
    let weak = tracer
        .objects
        .get()
        .and_then(|objects| objects.weak.as_ref());
    if let Some(weak) = weak {
        weak.sweep(env, |number| {
            tracer.session.record(buffer, Code::ObjectFree, &[number]);
        });
    }
}

thread_local! {
    /// While the running thread walks the heap: the number of dead objects that the JVM has
    /// reported on it.
    static WALK: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Runs a heap walk, at the end of which the JVM reports dead objects. Returns the result of
/// `walk`, and how many objects the JVM reported on this thread.
pub(super) fn in_heap_walk<T>(walk: impl FnOnce() -> T) -> (T, u64) {
    WALK.set(Some(0));
    let walking = HeapWalkScope::begin();
    let result = walk();
    drop(walking);
    (result, WALK.take().unwrap_or(0))
}

/// Records that the object with that tag has died. If it was a class object, returns the number of
/// the class. The JVM may call this in the middle of a collection, so this function must not call
/// the JVM.
pub(crate) fn freed(tracer: &Tracer, tag: i64) -> Option<u32> {
    let session = &tracer.session;
    let number = number_in(tag);
    if number != 0 && session.is_on(Events::FREE) {
        gc::record_silent(tracer);
        if let Some(buffer) = session.native_buffer() {
            session.record(buffer, Code::ObjectFree, &[number]);
        }
    }
    class_in(tag)
}

/// Notes that the JVM reports a dead object, even if recording is off.
pub(crate) fn note_freed(tracer: &Tracer) {
    if let Some(count) = WALK.get() {
        return WALK.set(Some(count + 1));
    }
    let state = &tracer.frees;
    state.reported.fetch_add(1, Ordering::Relaxed);
    state.reporter.get_or_init(|| {
        // A thread that is unknown to Java has no environment.
        let found = tracer.session.vm.with_env(|env| {
            let thread = tracer.session.jvmti.current_thread(env).ok()??;
            GlobalRef::new(env, thread)
        });
        found.flatten()
    });
}

/// Called when a thread ends. If this thread ends the JVM, ends the trace, and stops the reports of
/// dead objects.
pub(super) fn thread_ended(
    tracer: &'static Tracer,
    env: &mut Env<'_>,
    thread: ThreadRef<'_>,
    has_frames: bool,
) {
    let Some(objects) = tracer.objects.get() else {
        return; // the trace can end at VMDeath
    };
    let state = &tracer.frees;
    // The thread that called `System.exit` has frames. A thread that destroys the JVM has none.
    let jvm_ends = has_frames || state.is_shut_down(env);
    let on_its_own_threads = matches!(state.reporter.get(), Some(None));
    if !jvm_ends || on_its_own_threads {
        return;
    }
    let mut is_settled = state.is_settled.lock();
    if !*is_settled {
        *is_settled = true;
        let _ = in_heap_walk(|| objects.jvmti.look_at(thread.as_object())); // the last dead objects
        tracer.session.life.upcalls.end(env);
        settle(tracer, objects, thread);
    }
}

/// Stops the JVM from reporting dead objects.
pub(crate) fn settle(tracer: &Tracer, objects: &Objects, thread: ThreadRef<'_>) {
    debug_assert!(guard::is_off(), "else objects get tags");
    sleep(QUIET);
    let events = tracer.session.options.events;
    let have_tags = events.contains(Events::ALLOC) && objects.weak.is_none();
    if have_tags || events.contains(Events::HEAP) {
        let _ = in_heap_walk(|| objects.jvmti.untag_all());
    }
    let state = &tracer.frees;
    let until = Instant::now() + PATIENCE;
    let mut quiet = 0;
    while quiet < QUIET_WALKS && Instant::now() < until {
        let reported = state.reported();
        sleep(QUIET);
        let (walked, here) = in_heap_walk(|| objects.jvmti.look_at(thread.as_object()));
        if walked.is_err() {
            return;
        }
        let is_quiet = here == 0 && state.reported() == reported;
        match is_quiet && !state.is_reporting(objects) {
            true => quiet += 1,
            false => quiet = 0,
        }
    }
    let _ = objects.jvmti.disable(Event::ObjectFree); // restores the state without the agent
}
