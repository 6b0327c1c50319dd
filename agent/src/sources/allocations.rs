//! Allocations that the JVM reports (`alloc=jvm`).
//!
//! With a sampling interval of 0, the JVM reports every allocation in the Java heap: `new`, arrays,
//! clones, reflection, JNI, and objects that the JVM creates itself.

use super::{Environment, Need, Source, Tracer, stack};
use crate::error::Error;
use crate::objects::{HeapWalkScope, Objects};
use jtrail_jvm::jni::{ClassRef, Env, ObjectRef, ThreadRef, Vm};
use jtrail_jvm::jvmti::Jvmti;
use jtrail_jvm::jvmti::abi::{Capability, Event};
use jtrail_options::{AllocMode, Events, Options, Server};
use jtrail_recorder::buffer::OwnBuffer;
use jtrail_recorder::buffer::record::{Code, object};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// The source of `events=alloc` with `alloc=jvm`.
pub(super) struct Allocations;

impl Source for Allocations {
    fn requested(&self, options: &Options) -> bool {
        are_reported_by_jvm(options)
    }

    fn environment(&self) -> Environment {
        Environment::Objects
    }

    fn capabilities(&self, _options: &Options) -> Vec<Need> {
        let allocations = Capability::GenerateSampledObjectAllocEvents;
        vec![Need::of(allocations, "report allocations")]
    }

    fn events(&self, options: &Options, kinds: Events) -> &'static [Event] {
        match options.alloc == AllocMode::Jvm && kinds.contains(Events::ALLOC) {
            true => &[Event::SampledObjectAlloc],
            false => &[],
        }
    }

    fn started(&self, tracer: &'static Tracer, env: &mut Env<'_>) {
        if tracer.session.is_on(Events::ALLOC) {
            wake(env);
        }
    }
}

/// Returns true if these events mention objects, or find classes by the tags of their class
/// objects.
pub(super) fn name_objects(events: Events) -> bool {
    events.contains(Events::ALLOC) || events.contains(Events::DETAILS) || events.name_objects()
}

/// Returns true if the JVM reports allocations.
pub(super) fn are_reported_by_jvm(options: &Options) -> bool {
    options.events.contains(Events::ALLOC) && options.alloc == AllocMode::Jvm
}

/// Creates the numbers of objects and their JVMTI environment, if events mention objects.
///
/// # Errors
/// If the JVM creates no environment.
pub(crate) fn objects(vm: Vm, options: &Options) -> Result<Option<Objects>, Error> {
    let events = options.events;
    // With a command channel, a client may request events with objects later. So classes get their
    // tags from the start.
    if !name_objects(events) && options.server == Server::Standalone {
        return Ok(None);
    }
    let jvmti = Jvmti::of(vm)?;
    Ok(Some(Objects::new(vm, jvmti, options)))
}

/// Prepares the environment of objects for these options.
///
/// # Errors
/// If the JVM refuses.
pub(super) fn install(objects: &Objects, options: &Options) -> Result<(), Error> {
    if are_reported_by_jvm(options) {
        objects.jvmti.sample_every_object()?;
    }
    Ok(())
}

/// Restores the JVM's sampling of allocations, because the agent is detaching.
pub(crate) fn uninstall(objects: &Objects, tracer: &Tracer) {
    let session = &tracer.session;
    let is_available = session.kinds.available().contains(Events::ALLOC);
    if is_available && session.options.alloc == AllocMode::Jvm {
        let _ = objects.jvmti.sample_as_usual();
    }
}

/// True while any thread is in [`wake`].
static IS_WAKING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// While the thread is in [`wake`]: true if the JVM has reported the last object.
    static WAKING: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Maximum number of objects that [`wake`] creates. Together they are larger than any thread's
/// allocation area.
const MAX_WAKING: usize = 1 << 18;
/// Length of most of these objects, which are byte arrays.
const WAKING_BYTES: i32 = 480;

/// Makes the JVM report the running thread's allocations from now on.
///
///  The JVM reports a thread's allocations only from the thread's next allocation area on. The
///  thread that starts the program still has an area from before. So the area is used up with
///  objects that are not recorded. A report of a large object does not show that the area is new:
///  the JVM also reports an object that it puts outside the old area. A report of the smallest
///  possible object does.
fn wake(env: &mut Env<'_>) {
    IS_WAKING.store(true, Ordering::Relaxed);
    let mut bytes = 0;
    for _ in 0..MAX_WAKING {
        WAKING.set(Some(false));
        let made = env.with_garbage(bytes, |_| ()).is_some();
        let is_reported = WAKING.take() == Some(true);
        bytes = match (is_reported, bytes) {
            (true, 0) => break,
            (true, _) => 0,
            (false, _) => WAKING_BYTES,
        };
        if !made {
            break;
        }
    }
    IS_WAKING.store(false, Ordering::Relaxed);
}

/// The smallest size in bytes of an object that a JVM may put outside a thread's allocation area.
/// The JVM does so if the object does not fit into the rest of the area, and the rest is too large
/// to be wasted.
const MIN_OUTSIDE_AREA: u64 = 64;

/// Checks whether the JVM has put the object `new` of `size` bytes outside the running thread's
/// allocation area. If so, uses up the rest of the area. The JVM would not report later objects in
/// the rest. It does not report the objects that this function creates there, either. The addresses
/// show whether an object is still in the old area: it begins where the preceding one ends.
fn use_up_area(jvmti: Jvmti, env: &mut Env<'_>, new: ObjectRef<'_>, size: u64) {
    let mut make = |bytes| {
        env.with_garbage(bytes, |array| {
            let length = jvmti.object_size(array).unwrap_or_default();
            (array.address(), length)
        })
    };
    let end_of_new = new.address() + size;
    let Some((at, length)) = make(0) else { return };
    if at == end_of_new {
        return; // both are in the area, and the JVM still reports its objects
    }
    let mut end = at + length;
    let mut bytes = WAKING_BYTES;
    for _ in 0..MAX_WAKING {
        match make(bytes) {
            Some((at, length)) if at == end => end = at + length,
            Some(_) if bytes > 0 => bytes = 0, // the object is outside the area, or in a new one
            _ => return,                       // the smallest object is in a new area
        }
    }
}

/// A new object, as the JVM reports it.
#[derive(Clone, Copy)]
pub(crate) struct New<'e> {
    /// The thread that created the object.
    pub(crate) thread: Option<ThreadRef<'e>>,
    pub(crate) object: ObjectRef<'e>,
    pub(crate) class: ClassRef<'e>,
    /// The object's size in bytes.
    pub(crate) size: u64,
}

/// Returns true if [`wake`] has created the reported object, which must not be recorded.
pub(crate) fn is_waking() -> bool {
    let is_waking = IS_WAKING.load(Ordering::Relaxed) && WAKING.get().is_some();
    if is_waking {
        WAKING.set(Some(true));
    }
    is_waking
}

/// Records an object that the running thread has created.
pub(crate) fn allocated(tracer: &Tracer, env: &mut Env<'_>, new: New<'_>) {
    let Some(objects) = tracer.objects.get() else {
        return;
    };
    record(tracer, objects, env, new);
    if new.size >= MIN_OUTSIDE_AREA && objects.stops_reporting_in_area {
        use_up_area(objects.jvmti, env, new.object, new.size);
    }
}

fn record(tracer: &Tracer, objects: &Objects, env: &mut Env<'_>, new: New<'_>) {
    let session = &tracer.session;
    let Some(class) = objects.class_of_new(session, env, new.class, new.size) else {
        return;
    };
    // If a heap walk creates the object, compiled code had eliminated it, maybe on another thread.
    // So the running thread's stack is not its allocation site. Besides, from 21 on, the request
    // for a stack waits for virtual threads that mount or unmount.
    let has_site = session.options.alloc_sites && !HeapWalkScope::is_active();
    let site = match has_site {
        true => stack::innermost(tracer, env),
        false => None,
    };
    let mut own = OwnBuffer::current();
    // A thread's first object may be its own `Thread`. The creation of the buffer mentions that
    // object, so it gets its number before the buffer is created.
    let is_thread = |env: &Env<'_>| {
        new.thread
            .is_some_and(|thread| env.is_same(thread.as_object(), new.object))
    };
    if own.is_none() && !is_thread(env) {
        own = session.buffer(env);
        if own.is_none() {
            return; // the object gets no number
        }
    }
    if own.is_none() && !session.may_record(env) {
        return;
    }
    let _away = own.map(|_| objects.hold_off_heap_walks());
    let Some(number) = objects.number_new(env, new.object, class) else {
        return;
    };
    let Some(buffer) = own.or_else(|| session.buffer(env)) else {
        return;
    };
    let word = object(number, class.number());
    match site {
        Some(frame) => session.record(buffer, Code::AllocAt, &[word, new.size, frame]),
        None => session.record(buffer, Code::Alloc, &[word, new.size]),
    }
}
