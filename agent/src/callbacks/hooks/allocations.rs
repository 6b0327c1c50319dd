//! Hooks at places where code creates objects (`alloc=sites`).
//!
//! The probe knows its place by number, and the place's class, method and line are known to the
//! writer; so the hot path is that of a call: thread-local pointer, time stamp, store. The first
//! object of each place has its class looked up, and the first of each class has its size measured,
//! on an object that is created for that.

use super::super::{with, with_ref};
use crate::instrument::sites as places;
use crate::objects::next_number;
use crate::sources::sites::{self, identity};
use jni::sys::{JNIEnv, jclass, jint, jobject};
use jtrail_jvm::jni::Handle;
use jtrail_recorder::buffer::record::{self, Code};
use jtrail_recorder::buffer::tls;
use jtrail_recorder::clock::Clock;
use jtrail_recorder::pending::{PendingObject, stack_place};

/// # Safety
/// The JVM passed the arguments to a native method of the hook class. So for all functions here.
#[inline(always)]
pub(super) unsafe fn allocated<C: Clock>(env: *mut JNIEnv, hook: jclass, site: jint) {
    // SAFETY: the native method's environment and class.
    unsafe { made::<C>(env, hook, site as u32, 0) };
}

#[inline(always)]
pub(super) unsafe fn array_allocated<C: Clock>(
    env: *mut JNIEnv,
    hook: jclass,
    length: jint,
    site: jint,
) {
    // SAFETY: the native method's environment and class.
    unsafe { made::<C>(env, hook, site as u32, length as u32) };
}

/// # Safety
/// `env` and `hook` are the native method's environment and class.
#[inline(always)]
unsafe fn made<C: Clock>(env: *mut JNIEnv, hook: jclass, site: u32, length: u32) {
    let buffer = tls::get();
    let now = C::now();
    let low = record::coded(Code::AllocSite);
    let recorded = !buffer.is_null()
        && places::is_found(site)
        // SAFETY: the variable is null, or points to this thread's own buffer.
        && unsafe { (*buffer).try_record_with(now, low, [record::site(site, length)]) };
    if !recorded {
        // SAFETY: the native method's environment and class.
        unsafe { slow(env, hook, site, length) };
    }
}

/// No buffer, no room in the chunk, a new epoch, or the first object of the place.
///
/// # Safety
/// `env` and `hook` are the native method's environment and class.
#[cold]
#[inline(never)]
unsafe fn slow(env: *mut JNIEnv, hook: jclass, site: u32, length: u32) {
    // SAFETY: the native method's environment and class.
    unsafe {
        with_ref("an allocation", env, hook, |tracer, env, hook| {
            sites::allocated(tracer, env, hook, site, length);
        });
    }
}

/// A call made this object; it is null where somebody else's method of that name did not.
pub(super) unsafe fn call_allocated(env: *mut JNIEnv, _hook: jclass, object: jobject, site: jint) {
    // SAFETY: the native method's environment and argument.
    unsafe {
        with_ref("an allocation", env, object, |tracer, env, object| {
            sites::call_allocated(tracer, env, object, site as u32);
        });
    }
}

pub(super) unsafe fn multi_allocated(env: *mut JNIEnv, _hook: jclass, array: jobject, site: jint) {
    // SAFETY: the native method's environment and argument.
    unsafe {
        with_ref("an allocation", env, array, |tracer, env, array| {
            sites::multi_allocated(tracer, env, array, site as u32);
        });
    }
}

/// As [`allocated`], where the object gets a number, for its constructor to find.
#[inline(always)]
pub(super) unsafe fn allocated_with_identity<C: Clock>(env: *mut JNIEnv, hook: jclass, site: jint) {
    let (site, stack) = (site as u32, stack_place());
    let buffer = tls::get();
    let mut number = 0;
    if !buffer.is_null()
        && let Some(class) = places::class_at(site)
        // SAFETY: the variable is null, or points to this thread's own buffer; nobody else has what
        // waits here.
        && let (buffer, pending) = unsafe { (&*buffer, (*buffer).pending()) }
        && pending.takes_more(stack)
    {
        number = next_number();
        let low = record::coded(Code::AllocSiteObject);
        let payload = [record::site(site, 0), number];
        // SAFETY: this thread's own buffer.
        if unsafe { buffer.try_record_with(C::now(), low, payload) } {
            return pending.push(PendingObject {
                number,
                class,
                site,
                stack,
            });
        }
    }
    // SAFETY: the native method's environment and class.
    unsafe { slow_with_identity(env, hook, site, number, stack) };
}

/// As [`slow`], or some object has waited in vain. `number` is the object's, or 0 if it has none
/// yet.
///
/// # Safety
/// `env` and `hook` are the native method's environment and class.
#[cold]
#[inline(never)]
unsafe fn slow_with_identity(env: *mut JNIEnv, hook: jclass, site: u32, number: u64, stack: usize) {
    // SAFETY: the native method's environment and class.
    unsafe {
        with_ref("an allocation", env, hook, |tracer, env, hook| {
            identity::allocated(tracer, env, hook, (site, number, stack));
        });
    }
}

/// After the creation of an array of one dimension, which gets a number.
pub(super) unsafe fn array_handed_over(
    env: *mut JNIEnv,
    hook: jclass,
    array: jobject,
    length: jint,
    site: jint,
) {
    // SAFETY: the native method's environment, class and argument.
    unsafe {
        with("an allocation", env, |tracer, env| {
            let references = (Handle::from_raw(env, hook), Handle::from_raw(env, array));
            if let (Some(hook), Some(array)) = references {
                let place = (site as u32, length as u32);
                identity::array_allocated(tracer, env, hook, array, place);
            }
        });
    }
}

/// An object's constructor has called that of `Object`.
pub(super) unsafe fn constructed(env: *mut JNIEnv, _hook: jclass, object: jobject) {
    let buffer = tls::get();
    // SAFETY: the variable is null, or points to this thread's own buffer; nobody else has what
    // waits there.
    if buffer.is_null() || unsafe { (*buffer).pending() }.is_empty() {
        return; // no probe has seen it
    }
    let stack = stack_place();
    // SAFETY: the native method's environment and argument.
    unsafe {
        with_ref(
            "an object's constructor",
            env,
            object,
            |tracer, env, object| {
                identity::constructed(tracer, env, object, stack);
            },
        );
    }
}
