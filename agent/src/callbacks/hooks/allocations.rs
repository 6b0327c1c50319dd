//! Hooks at allocation sites (`alloc=sites`).
//!
//! A probe passes the number of its allocation site; the writer knows the site's class, method and
//! line. So the hot path is as short as for a call: thread-local pointer, time stamp, store. At the
//! first object of each site, the class is looked up. At the first object of each class, the agent
//! creates another object of the class, and measures its size.

use super::super::{with, with_ref};
use crate::instrument::sites as places;
use crate::objects::next_number;
use crate::sources::sites::{self, identity};
use jni::sys::{JNIEnv, jclass, jint, jobject};
use jtrail_jvm::jni::Handle;
use jtrail_recorder::buffer::record::{self, Code};
use jtrail_recorder::buffer::tls;
use jtrail_recorder::clock::Clock;
use jtrail_recorder::pending::{PendingObject, stack_address};

/// # Safety
/// The JVM passed the arguments to a native method of the hook class. This holds for all functions
/// in this module.
#[inline(always)]
pub(super) unsafe fn allocated<C: Clock>(env: *mut JNIEnv, hook: jclass, site: jint) {
    // SAFETY: the JVM passed `env` and `hook` to the native method.
    unsafe { made::<C>(env, hook, site as u32, 0) };
}

#[inline(always)]
pub(super) unsafe fn array_allocated<C: Clock>(
    env: *mut JNIEnv,
    hook: jclass,
    length: jint,
    site: jint,
) {
    // SAFETY: the JVM passed `env` and `hook` to the native method.
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
        // SAFETY: the caller passes the native method's environment and class.
        unsafe { slow(env, hook, site, length) };
    }
}

/// Records an allocation that [`made`] could not record. The thread has no buffer, its chunk has no
/// room, the epoch is new, or the object is the first of its site.
///
/// # Safety
/// `env` and `hook` are the native method's environment and class.
#[cold]
#[inline(never)]
unsafe fn slow(env: *mut JNIEnv, hook: jclass, site: u32, length: u32) {
    // SAFETY: the caller passes the native method's environment and class.
    unsafe {
        with_ref("an allocation", env, hook, |tracer, env, hook| {
            sites::allocated(tracer, env, hook, site, length);
        });
    }
}

/// The call at an allocation site has returned `object`. `object` is null if the call created none:
/// then the called method is not the JDK's, but another one of that name.
pub(super) unsafe fn call_allocated(env: *mut JNIEnv, _hook: jclass, object: jobject, site: jint) {
    // SAFETY: the JVM passed `env` and `object` to the native method.
    unsafe {
        with_ref("an allocation", env, object, |tracer, env, object| {
            sites::call_allocated(tracer, env, object, site as u32);
        });
    }
}

pub(super) unsafe fn multi_allocated(env: *mut JNIEnv, _hook: jclass, array: jobject, site: jint) {
    // SAFETY: the JVM passed `env` and `array` to the native method.
    unsafe {
        with_ref("an allocation", env, array, |tracer, env, array| {
            sites::multi_allocated(tracer, env, array, site as u32);
        });
    }
}

/// Like [`allocated`], but gives the object a number, which the hook [`constructed`] will find.
#[inline(always)]
pub(super) unsafe fn allocated_with_identity<C: Clock>(env: *mut JNIEnv, hook: jclass, site: jint) {
    let (site, stack) = (site as u32, stack_address());
    let buffer = tls::get();
    let mut number = 0;
    if !buffer.is_null()
        && let Some(class) = places::class_at(site)
        // SAFETY: the variable is null, or points to this thread's own buffer. No other reference
        // to its list of pending objects exists.
        && let (buffer, pending) = unsafe { (&*buffer, (*buffer).pending()) }
        && pending.takes_more(stack)
    {
        number = next_number();
        let low = record::coded(Code::AllocSiteObject);
        let payload = [record::site(site, 0), number];
        // SAFETY: `buffer` is this thread's own buffer.
        if unsafe { buffer.try_record_with(C::now(), low, payload) } {
            return pending.push(PendingObject {
                number,
                class,
                site,
                stack,
            });
        }
    }
    // SAFETY: the JVM passed `env` and `hook` to the native method.
    unsafe { slow_with_identity(env, hook, site, number, stack) };
}

/// Like [`slow`], for an object with a number. Also called if the list of pending objects has no
/// room, or an unreachable object at its end. `number` is the object's number, or 0 if it has none
/// yet.
///
/// # Safety
/// `env` and `hook` are the native method's environment and class.
#[cold]
#[inline(never)]
unsafe fn slow_with_identity(env: *mut JNIEnv, hook: jclass, site: u32, number: u64, stack: usize) {
    // SAFETY: the caller passes the native method's environment and class.
    unsafe {
        with_ref("an allocation", env, hook, |tracer, env, hook| {
            identity::allocated(tracer, env, hook, (site, number, stack));
        });
    }
}

/// Gives a number to a new array of one dimension.
pub(super) unsafe fn array_handed_over(
    env: *mut JNIEnv,
    hook: jclass,
    array: jobject,
    length: jint,
    site: jint,
) {
    // SAFETY: the JVM passed `env`, `hook` and `array` to the native method.
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

/// An object's constructor has called the constructor of `Object`.
pub(super) unsafe fn constructed(env: *mut JNIEnv, _hook: jclass, object: jobject) {
    let buffer = tls::get();
    // SAFETY: the variable is null, or points to this thread's own buffer. No other reference to
    // its list of pending objects exists.
    if buffer.is_null() || unsafe { (*buffer).pending() }.is_empty() {
        return; // no probe has seen the object
    }
    let stack = stack_address();
    // SAFETY: the JVM passed `env` and `object` to the native method.
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
