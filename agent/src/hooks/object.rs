//! Objects are made, and found dead.
//!
//! The JVM tells of every allocation in Java's heap when its sampling interval is 0: `new`, arrays, clones, reflection,
//! JNI, what the JVM makes itself. Frees are told of objects that have tags, and so of classes, whose objects die with them.

use super::{buffer, capabilities, last_frees, record, stack};
use crate::agent::{self, Agent};
use crate::error::Error;
use crate::objects::{Objects, Walking, class_in, number_in};
use jni::sys::{JNIEnv, JavaVM, jclass, jlong, jobject};
use jtrail_guard::guard;
use jtrail_jvm::jni::Vm;
use jtrail_jvm::jvmti::Jvmti;
use jtrail_jvm::jvmti::abi::{Callbacks, Event, RawEnv};
use jtrail_options::{AllocMode, Events, Options, Server};
use jtrail_recorder::buffer::record::{Code, object};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether these events tell of objects at all.
pub(super) fn are_told(events: Events) -> bool {
    events.contains(Events::ALLOC) || events.contains(Events::DETAILS) || events.name_objects()
}

/// Whether the JVM tells of allocations.
pub(super) fn is_told_by_jvm(options: &Options) -> bool {
    options.events.contains(Events::ALLOC) && options.alloc == AllocMode::Jvm
}

/// The environment for objects, where events tell of them.
///
/// # Safety
/// `vm` is the JVM that is starting.
///
/// # Errors
/// When the JVM can't do it, as a sentence.
pub(crate) unsafe fn environment(
    vm: *mut JavaVM,
    options: &Options,
) -> Result<Option<Objects>, Error> {
    let events = options.events;
    // Where a client may ask for them later, classes get their numbers as if they were told of.
    if !are_told(events) && options.server == Server::Standalone {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    let jvmti = unsafe { Jvmti::of(vm) }?;
    capabilities::add(jvmti, |potential| {
        capabilities::of_objects(potential, options)
    })
    .inspect_err(|_| jvmti.dispose())?;
    // SAFETY: the caller's promise.
    let vm = unsafe { Vm::new(vm) };
    Ok(Some(Objects::new(vm, jvmti, options)))
}

/// The JVM's event of allocations, as these options see them.
pub(super) fn told_by(options: &Options) -> Event {
    match options.alloc {
        AllocMode::Jvm => Event::SampledObjectAlloc,
        AllocMode::Sites => Event::VmObjectAlloc,
    }
}

/// Sets the callbacks of that environment, and switches on what is always on.
pub(super) fn install(objects: &Objects, options: &Options) -> Result<(), Error> {
    let jvmti = objects.jvmti;
    let mut callbacks = Callbacks::default();
    callbacks.object_free(freed);
    if is_told_by_jvm(options) {
        callbacks.sampled_object_alloc(allocated);
        jvmti.sample_every_object()?;
    }
    if options.has_alloc_probes() {
        callbacks.vm_object_alloc(super::site::made_by_vm);
    }
    jvmti.set_callbacks(&callbacks)?;
    Ok(jvmti.enable(Event::ObjectFree)?)
}

/// A thread is in [`wake`].
static IS_WAKING: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// While [`wake`] makes objects: whether the JVM told of one.
    static WAKING: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Most objects of [`wake`], together more than any thread's allocation area.
const MOST_WAKING: usize = 1 << 18;
/// Bytes of most of them, less their headers.
const WAKING_BYTES: i32 = 480;

/// Has the JVM tell of the running thread's allocations from now on. It does so once a thread takes a new area to allocate in; the
/// thread that starts the program has had one since before anything could be told. So we use that up, with objects that
/// nobody sees. An object that the JVM puts beside an area is told of and leaves the area as it is; so the smallest one that there is decides.
pub(super) fn wake(env: *mut JNIEnv) {
    IS_WAKING.store(true, Ordering::Relaxed);
    let mut bytes = 0;
    for _ in 0..MOST_WAKING {
        WAKING.set(Some(false));
        // SAFETY: the running thread's environment.
        let made = unsafe { jtrail_jvm::jni::with_garbage(env, bytes, |_| ()) }.is_some();
        let is_told = WAKING.take() == Some(true);
        bytes = match (is_told, bytes) {
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

/// The smallest object that a JVM may put beside a thread's area: one that does not fit into the rest, where the rest is more than
/// the part of an area that the JVM can afford to waste.
const MAY_BE_BESIDE: u64 = 64;

/// Whether the JVM forgets to tell of what goes into the rest of an area when an object was put beside it. Such is HotSpot 11:
/// `MemAllocator::allocate_inside_tlab_slow` takes the mark off the area, and sets it again only where the object fits.
pub(crate) fn forgets_areas(jvmti: Jvmti) -> bool {
    jvmti.java_version().is_some_and(|version| version < 17)
}

/// Uses up the rest of the running thread's area, if the JVM put `new` beside it and so would not tell of the rest. What is made here is not
/// told of, so addresses must show: of objects in one area, each begins where the one before it ends.
///
/// # Safety
/// `env` is the running thread's, `new` a local reference to its newest object, of that many bytes.
unsafe fn use_up_if_beside(jvmti: Jvmti, env: *mut JNIEnv, new: jobject, size: u64) {
    // SAFETY: the caller's promise, and the array's reference while it lives.
    let make = |bytes| unsafe {
        jtrail_jvm::jni::with_garbage(env, bytes, |array| {
            let length = jvmti.object_size(array).unwrap_or_default();
            (jtrail_jvm::jni::address(array), length)
        })
    };
    // SAFETY: the caller's promise.
    let end_of_new = unsafe { jtrail_jvm::jni::address(new) } + size;
    let Some((at, length)) = make(0) else { return };
    if at == end_of_new {
        return; // both are in the area, of which the JVM goes on to tell
    }
    let mut end = at + length;
    let mut bytes = WAKING_BYTES;
    for _ in 0..MOST_WAKING {
        match make(bytes) {
            Some((at, length)) if at == end => end = at + length,
            Some(_) if bytes > 0 => bytes = 0, // this one is beside the area, or in a new one
            _ => return,                       // the smallest one must be in a new one
        }
    }
}

unsafe extern "system" fn allocated(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    thread: jobject,
    new: jobject,
    class: jclass,
    size: jlong,
) {
    guard::run("an allocation", || {
        if IS_WAKING.load(Ordering::Relaxed) && WAKING.get().is_some() {
            return WAKING.set(Some(true));
        }
        let Some(agent) = agent::get() else { return };
        let Some(objects) = agent.objects.get() else {
            return;
        };
        let size = size.max(0) as u64;
        // SAFETY: the callback's own references.
        unsafe { tell(agent, objects, env, (thread, new), class, size) };
        if objects.forgets_areas && size >= MAY_BE_BESIDE {
            // SAFETY: likewise.
            unsafe { use_up_if_beside(objects.jvmti, env, new, size) };
        }
    });
}

/// # Safety
/// `env` is the running thread's; live references to that thread, and to a new object of that class.
unsafe fn tell(
    agent: &Agent,
    objects: &Objects,
    env: *mut JNIEnv,
    (thread, new): (jobject, jobject),
    class: jclass,
    size: u64,
) {
    // SAFETY: the caller's promise.
    let Some(class) = (unsafe { objects.class_of_new(agent, env, class, size) }) else {
        return;
    };
    // What a walk makes was made elsewhere; and from 21 on, a stack waits for virtual threads that change their carriers.
    let has_site = agent.options.alloc_sites && !Walking::is_now();
    let site = has_site
        .then(|| stack::innermost(agent, agent.jvmti))
        .flatten();
    let mut own = agent.buffer_if_any();
    // A thread's first object may be the thread itself, which is named with its buffer: then the object gets its number before.
    // SAFETY: likewise.
    if own.is_none() && !unsafe { jtrail_jvm::jni::is_same(env, thread, new) } {
        own = buffer(agent, env);
        if own.is_none() {
            return; // and the object has no number
        }
    }
    if own.is_none() && !super::may_record(agent, env) {
        return;
    }
    let _away = own.map(|_| objects.keep_walks_away());
    // SAFETY: likewise.
    let Some(number) = (unsafe { objects.number_new(env, new, class) }) else {
        return;
    };
    let Some(buffer) = own.or_else(|| buffer(agent, env)) else {
        return;
    };
    let word = object(number, class.number());
    match site {
        Some(frame) => record(agent, Some(buffer), Code::AllocAt, &[word, size, frame]),
        None => record(agent, Some(buffer), Code::Alloc, &[word, size]),
    }
}

/// Comes on a thread of the JVM's own, which may be in the middle of a collection: no call into the JVM.
unsafe extern "system" fn freed(_jvmti: RawEnv, tag: jlong) {
    guard::run("an object's end", || {
        if let Some(objects) = agent::if_loaded().and_then(|agent| agent.objects.get()) {
            last_frees::told(objects);
        }
        let Some(agent) = agent::get() else { return };
        let number = number_in(tag);
        if number != 0 && agent.kinds().contains(Events::FREE) {
            super::gc::tell_untold(agent);
            record(agent, agent.native_buffer(), Code::ObjectFree, &[number]);
        }
        if let Some(class) = class_in(tag) {
            agent.classes.changes.class_unloaded(class);
            record(
                agent,
                agent.native_buffer(),
                Code::ClassUnload,
                &[class.into()],
            );
        }
    });
}
