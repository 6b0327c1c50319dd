//! Objects are made, and found dead.
//!
//! The JVM tells of every allocation in Java's heap when its sampling interval is 0: `new`, arrays, clones, reflection,
//! JNI, what the JVM makes itself. Frees are told of objects that have tags, and so of classes, whose objects die with them.

use super::{buffer, last_frees, record, stack};
use crate::agent::{self, Agent};
use crate::buffer::record::{Code, object};
use crate::guard;
use crate::jni::Vm;
use crate::jvmti::Jvmti;
use crate::jvmti::abi::{Callbacks, Capabilities, Capability, Event, RawEnv};
use crate::objects::{Objects, are_named, class_in, number_in};
use jni::sys::{JNIEnv, JavaVM, jclass, jlong, jobject};
use jtrail_options::Events;
use std::cell::Cell;

/// Whether these events tell of objects at all.
pub(super) fn are_told(events: Events) -> bool {
    events.contains(Events::ALLOC) || events.contains(Events::DETAILS) || are_named(events)
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
    events: Events,
) -> Result<Option<Objects>, String> {
    if !are_told(events) {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    let jvmti = unsafe { Jvmti::of(vm) }
        .map_err(|code| format!("this JVM has no second tool environment (error {code})"))?;
    let potential = jvmti.potential_capabilities().map_err(|e| e.to_string())?;
    let mut wanted = Capabilities::default();
    let mut need = |capability: Capability, what: &str| {
        wanted.add(capability);
        match potential.has(capability) {
            true => Ok(()),
            false => Err(format!("this JVM can't {what}")),
        }
    };
    need(Capability::TagObjects, "tag objects")?;
    if events.contains(Events::ALLOC) {
        need(
            Capability::GenerateSampledObjectAllocEvents,
            "tell of allocations",
        )?;
    }
    // Also for classes, which are objects too: this tells when they are unloaded.
    need(Capability::GenerateObjectFreeEvents, "tell of dead objects")?;
    jvmti.add_capabilities(wanted).map_err(|e| e.to_string())?;
    // SAFETY: the caller's promise.
    let vm = unsafe { Vm::new(vm) };
    Ok(Some(Objects::new(vm, jvmti, events)))
}

/// Sets the callbacks of that environment, and switches on its events.
pub(super) fn install(agent: &Agent, objects: &Objects) -> Result<(), String> {
    let jvmti = objects.jvmti;
    let mut callbacks = Callbacks::default();
    callbacks.object_free(freed);
    let mut events = vec![Event::ObjectFree];
    if agent.options.events.contains(Events::ALLOC) {
        callbacks.sampled_object_alloc(allocated);
        events.push(Event::SampledObjectAlloc);
        jvmti.sample_every_object().map_err(|e| e.to_string())?;
    }
    jvmti.set_callbacks(&callbacks).map_err(|e| e.to_string())?;
    for event in events {
        jvmti.enable(event).map_err(|e| e.to_string())?;
    }
    Ok(())
}

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
    let mut bytes = 0;
    for _ in 0..MOST_WAKING {
        WAKING.set(Some(false));
        // SAFETY: the running thread's environment.
        let made = unsafe { crate::jni::make_garbage(env, bytes) };
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
}

/// The smallest object that a JVM may put beside a thread's area: one that does not fit into the rest, where the rest is more than
/// a part of the area that the JVM can afford to waste.
const MAY_BE_BESIDE: u64 = 64;

/// Whether the JVM forgets to tell of what goes into the rest of an area when an object was put beside it. Such is HotSpot 11
/// (`MemAllocator::allocate_inside_tlab_slow` takes the mark off the area, and sets it again only where the object fits).
pub(crate) fn forgets_areas(jvmti: Jvmti) -> bool {
    jvmti.java_version().is_some_and(|version| version < 17)
}

unsafe extern "system" fn allocated(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    new: jobject,
    class: jclass,
    size: jlong,
) {
    guard::run("an allocation", || {
        if WAKING.get().is_some() {
            return WAKING.set(Some(true));
        }
        let Some(agent) = agent::get() else { return };
        let Some(objects) = &agent.objects else {
            return;
        };
        let size = size.max(0) as u64;
        // SAFETY: the callback's own references.
        unsafe { tell(agent, objects, env, new, class, size) };
        if objects.forgets_areas && size >= MAY_BE_BESIDE {
            wake(env);
        }
    });
}

/// # Safety
/// `env` is the running thread's, `new` a live reference to a new object of that class.
unsafe fn tell(
    agent: &Agent,
    objects: &Objects,
    env: *mut JNIEnv,
    new: jobject,
    class: jclass,
    size: u64,
) {
    // SAFETY: the caller's promise.
    let Some(class) = (unsafe { objects.class_of_new(agent, env, class, size) }) else {
        return;
    };
    let site = match agent.options.alloc_sites {
        true => stack::innermost(agent, agent.jvmti),
        false => None,
    };
    // A thread's first object may be the thread itself, which is named with its buffer: then the object gets its number before.
    let own = agent.buffer_if_any();
    if own.is_none() && !super::may_record(agent, env) {
        return; // and has no number
    }
    let _away = own.map(|_| objects.keep_walks_away());
    // SAFETY: likewise.
    let Some(number) = (unsafe { objects.number_new(new) }) else {
        return;
    };
    let Some(buffer) = own.or_else(|| buffer(agent, env)) else {
        return;
    };
    let word = object(number, class);
    match site {
        Some(frame) => record(agent, Some(buffer), Code::AllocAt, &[word, size, frame]),
        None => record(agent, Some(buffer), Code::Alloc, &[word, size]),
    }
}

/// Comes on a thread of the JVM's own, which may be in the middle of a collection: no call into the JVM.
unsafe extern "system" fn freed(_jvmti: RawEnv, tag: jlong) {
    guard::run("an object's end", || {
        if let Some(objects) = agent::if_loaded().and_then(|agent| agent.objects.as_ref()) {
            last_frees::told(objects);
        }
        let Some(agent) = agent::get() else { return };
        let number = number_in(tag);
        if number != 0 && agent.options.events.contains(Events::FREE) {
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
