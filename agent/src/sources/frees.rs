//! Ends of objects, and of classes; and the end of the JVM while it reports them.
//!
//! The JVM reports the end of objects that have tags, and so of classes, whose objects die with
//! them. Objects that have weak references instead are looked for by an agent thread after each
//! collection.
//!
//! # The end of the JVM
//!
//! Since 17, HotSpot reports dead objects on a thread of its own, the service thread, some time
//! after each collection; and once more on the thread that ends the JVM, before VMDeath. One waits
//! for the other to come to the end of its list, and does so in a state in which no safepoint can
//! begin (`JvmtiTagMap::flush_object_free_events`). The other one, at the end of its list, waits
//! for a safepoint that somebody has asked for meanwhile, such as a collection: then the JVM stands
//! still for ever. A program that makes garbage until its end comes by this within a few runs, on
//! 17, 21 and 25.
//!
//! So the trace ends before that, when the JVM says that the ending thread ends; then all tags are
//! taken away, and no collection finds a dead object with a tag any more. What is left is to wait
//! for the service thread, and to switch the event off.
//!
//! Tags are taken away in a walk over all objects. Where only few have one (events name them, and
//! there is no `heap`, and no `alloc` or weak references in place of tags), that is saved: there is
//! little to tell of, and a list is short. The same is left of ZGC and Shenandoah, whose walks
//! don't come by objects that can't be reached any more.

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
/// How long, and before how many walks in a row, it must not have reported an object. It may be at
/// the end of its list, and have no processor to come away from there; and other threads may be
/// about to give an object a tag.
const QUIET: Duration = Duration::from_millis(1);
const QUIET_WALKS: u32 = 3;

/// `events=free`, and the ends of classes, which also have an object.
pub(super) struct Frees;

impl Source for Frees {
    /// Wherever objects have numbers: they may be classes, which are unloaded.
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
            // Also for classes, which are objects too: this shows when they are unloaded.
            Need::of(frees, "tell of dead objects"),
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
                "{error}; dead objects are told of at the end only"
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
    /// While the running thread walks over the heap: how many dead objects it reported.
    static WALK: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Runs a walk over the heap, after which the JVM reports dead objects. Returns how many it did.
pub(super) fn in_heap_walk<T>(walk: impl FnOnce() -> T) -> (T, u64) {
    WALK.set(Some(0));
    let walking = HeapWalkScope::begin();
    let result = walk();
    drop(walking);
    (result, WALK.take().unwrap_or(0))
}

/// The object with that tag has died. Returns the number of the class that it stood for. Called on
/// a thread of the JVM's own, which may be in the middle of a collection: no call into the JVM.
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

/// Notes that the JVM reports a dead object, also when recording is off.
pub(crate) fn note_freed(tracer: &Tracer) {
    if let Some(count) = WALK.get() {
        return WALK.set(Some(count + 1));
    }
    let state = &tracer.frees;
    state.reported.fetch_add(1, Ordering::Relaxed);
    state.reporter.get_or_init(|| {
        // On a thread that is none of Java's there is no environment.
        let found = tracer.session.vm.with_env(|env| {
            let thread = tracer.session.jvmti.current_thread(env).ok()??;
            GlobalRef::new(env, thread)
        });
        found.flatten()
    });
}

/// A thread has ended. If the JVM ends with it, so does the trace, and no dead objects are reported
/// any more.
pub(super) fn thread_ended(
    tracer: &'static Tracer,
    env: &mut Env<'_>,
    thread: ThreadRef<'_>,
    has_frames: bool,
) {
    let Some(objects) = tracer.objects.get() else {
        return; // VMDeath is early enough
    };
    let state = &tracer.frees;
    // The thread that called `System.exit` has frames; one that destroys the JVM has none.
    let jvm_ends = has_frames || state.is_shut_down(env);
    let on_its_own_threads = matches!(state.reporter.get(), Some(None));
    if !jvm_ends || on_its_own_threads {
        return;
    }
    let mut is_settled = state.is_settled.lock();
    if !*is_settled {
        *is_settled = true;
        let _ = in_heap_walk(|| objects.jvmti.look_at(thread.as_object())); // the last frees
        tracer.session.life.upcalls.end(env);
        settle(tracer, objects, thread);
    }
}

/// Makes the JVM report no dead object any more.
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
    let _ = objects.jvmti.disable(Event::ObjectFree); // then all is as it was
}
