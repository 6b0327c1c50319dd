//! Allocations at their sites, with identity (`alloc=sites` with `free`).
//!
//! The probe behind `new` gives the object its number and records it, as in [`super::site`], but can't have the object. The probe in `Object`'s
//! constructor gets it, and finds the number among those that the thread has left ([`jtrail_recorder::pending`]). An array is handed over where it is made.

use super::site::{LOOKING_UP, look_up};
use super::{buffer, record};
use crate::agent::{self, Agent};
use crate::instrument::sites;
use crate::objects::{Objects, next_number};
use ::jni::sys::{JNIEnv, jclass, jint, jobject};
use jtrail_guard::guard;
use jtrail_jvm::jni;
use jtrail_options::Events;
use jtrail_recorder::buffer::record::{self, Code};
use jtrail_recorder::buffer::{ThreadBuffer, tls};
use jtrail_recorder::clock::Clock;
use jtrail_recorder::pending::NewClass;
use jtrail_recorder::pending::{Pending, Waiting, stack_place};

/// Behind `new`.
#[inline(always)]
pub(super) unsafe fn allocated<C: Clock>(env: *mut JNIEnv, hook: jclass, site: jint) {
    let (site, stack) = (site as u32, stack_place());
    let buffer = tls::get();
    let mut number = 0;
    if !buffer.is_null()
        && let Some(class) = sites::class_at(site)
        // SAFETY: the variable is null, or points to this thread's own buffer; nobody else has what waits here.
        && let (buffer, pending) = unsafe { (&*buffer, (*buffer).pending()) }
        && pending.takes_more(stack)
    {
        number = next_number();
        let low = record::coded(Code::AllocSiteObject);
        let payload = [record::site(site, 0), number];
        // SAFETY: as above.
        if unsafe { buffer.try_record_with(C::now(), low, payload) } {
            return pending.push(Waiting {
                number,
                class,
                site,
                stack,
            });
        }
    }
    slow(env, hook, site, number, stack);
}

/// As `slow` of [`super::site`], or some object has waited in vain. `number` is the object's, or 0 if it has none yet.
#[cold]
#[inline(never)]
fn slow(env: *mut JNIEnv, hook: jclass, site: u32, number: u64, stack: usize) {
    guard::run("an allocation", || {
        let Some(agent) = agent::get() else { return };
        // SAFETY: a hook gets the running thread's environment and its own class.
        let made = unsafe { made(agent, env, hook, (site, 0), number) };
        if let Some((buffer, class, number)) = made {
            let object = Waiting {
                number,
                class,
                site,
                stack,
            };
            wait(agent, buffer, object);
        }
    });
}

/// Behind the creation of an array of one dimension.
pub(super) unsafe fn array_allocated(
    env: *mut JNIEnv,
    hook: jclass,
    array: jobject,
    length: jint,
    site: jint,
) {
    guard::run("an allocation", || {
        let Some(agent) = agent::get() else { return };
        let Some(objects) = agent.objects.get() else {
            return;
        };
        // SAFETY: a hook gets the running thread's environment, its own class, and its arguments.
        unsafe {
            if let Some((_, class, number)) =
                made(agent, env, hook, (site as u32, length as u32), 0)
            {
                objects.keep(env, array, class, number);
            }
        }
    });
}

/// Records an object that a place has made. None if its end can't be told.
///
/// # Safety
/// `env` is the running thread's, which runs a hook at the place; `hook` is the hook class.
unsafe fn made(
    agent: &Agent,
    env: *mut JNIEnv,
    hook: jclass,
    (site, length): (u32, u32),
    number: u64,
) -> Option<(&'static ThreadBuffer, NewClass, u64)> {
    let known = sites::class_at(site);
    if known.is_none() && LOOKING_UP.get() {
        return None;
    }
    let buffer = buffer(agent, env)?;
    // SAFETY: the caller's promise.
    let class = known.or_else(|| unsafe { look_up(agent, env, hook, site) });
    let number = match number {
        0 => next_number(),
        taken => taken,
    };
    let payload = [record::site(site, length), number];
    record(agent, Some(buffer), Code::AllocSiteObject, &payload);
    Some((buffer, class?, number))
}

/// Leaves an object for its constructor.
fn wait(agent: &Agent, buffer: &ThreadBuffer, object: Waiting) {
    if !pending(buffer).is_open() {
        return;
    }
    tell_gone(agent, buffer, object.stack);
    for number in pending(buffer).make_room() {
        tell_free(agent, buffer, number);
    }
    pending(buffer).push(object);
}

/// Whether objects of that class wait, so that one which was made by a call could be taken for one of them.
pub(super) fn may_be_confused(buffer: &ThreadBuffer, class: NewClass) -> bool {
    pending(buffer).is_open() && pending(buffer).has(class.number())
}

/// Such an object has its number as a tag; its constructor may still come, or not.
pub(super) fn made_by_call(buffer: &ThreadBuffer, class: NewClass, number: u64) {
    pending(buffer).push(Waiting {
        number,
        class,
        site: Waiting::KNOWN,
        stack: stack_place(),
    });
}

/// An object's constructor has come to that of `Object`.
pub(super) unsafe fn constructed(env: *mut JNIEnv, _hook: jclass, object: jobject) {
    let buffer = tls::get();
    // SAFETY: the variable is null, or points to this thread's own buffer; nobody else has what waits there.
    if buffer.is_null() || unsafe { (*buffer).pending() }.is_empty() {
        return; // no probe has seen it
    }
    let stack = stack_place();
    guard::run("an object's constructor", || {
        let Some(agent) = agent::get() else { return };
        if let (Some(objects), Some(buffer)) = (agent.objects.get(), agent.buffer_if_any())
            && pending(buffer).is_open()
        {
            tell_gone(agent, buffer, stack);
            // SAFETY: the hook's environment and argument.
            let found = unsafe { take(agent, objects, env, buffer, object) };
            if let Some(found) = found {
                // SAFETY: likewise.
                unsafe { objects.keep(env, object, found.class, found.number) };
            }
        }
    });
}

/// The innermost object of that class which waits; those above it wait in vain. None if no probe has seen the object, or it has its number.
///
/// # Safety
/// `env` is the running thread's, and `object` a live reference.
unsafe fn take(
    agent: &Agent,
    objects: &Objects,
    env: *mut JNIEnv,
    buffer: &ThreadBuffer,
    object: jobject,
) -> Option<Waiting> {
    // SAFETY: the caller's promise; the JVM gives the local reference back when the hook returns.
    let class = unsafe { jni::class_of(env, object) };
    let mut number = None; // of the class, once it is asked for
    loop {
        let last = pending(buffer).last()?;
        let is_its = match number {
            // SAFETY: likewise.
            None => unsafe { objects.is_class(env, class, last.class) },
            Some(number) => number == last.class.number(),
        };
        if !is_its {
            // SAFETY: likewise.
            number = number.or_else(|| unsafe { objects.class_if_known(class) });
            if !pending(buffer).has(number?) {
                return None;
            }
        }
        pending(buffer).pop();
        match last.lost() {
            Some(_) if is_its => return Some(last),
            Some(lost) => tell_free(agent, buffer, lost),
            // SAFETY: likewise.
            None if unsafe { objects.has_number(object, last.number) } => return None,
            None => {}
        }
    }
}

/// Tells of objects whose frame is gone.
fn tell_gone(agent: &Agent, buffer: &ThreadBuffer, stack: usize) {
    while let Some(gone) = pending(buffer).pop_gone(stack) {
        if let Some(number) = gone.lost() {
            tell_free(agent, buffer, number);
        }
    }
}

/// The running thread is at its end.
pub(super) fn thread_ends(agent: &Agent, buffer: &ThreadBuffer) {
    if pending(buffer).is_open() {
        for number in pending(buffer).take_all() {
            tell_free(agent, buffer, number);
        }
    }
}

fn tell_free(agent: &Agent, buffer: &ThreadBuffer, number: u64) {
    if agent.kinds().contains(Events::FREE) {
        record(agent, Some(buffer), Code::ObjectFree, &[number]);
    }
}

/// What waits on the running thread, whose own buffer it is.
#[expect(clippy::mut_from_ref, reason = "as for what is behind it")]
fn pending(buffer: &ThreadBuffer) -> &mut Pending {
    // SAFETY: the callers have the running thread's own buffer, and no other reference.
    unsafe { buffer.pending() }
}
