//! Allocations at their sites, with identity (`alloc=sites` with `free`).
//!
//! The probe after `new` gives the object a number and records the allocation, but does not receive
//! the object. The probe in `Object`'s constructor receives the object. It finds the number in the
//! thread's list of pending objects ([`jtrail_recorder::pending`]). For an array, the probe after
//! its creation receives the array.

use super::super::{Tracer, pending};
use super::{IS_LOOKING_UP, look_up};
use crate::instrument::sites;
use crate::objects::next_number;
use jtrail_jvm::jni::{ClassRef, Env, ObjectRef};
use jtrail_recorder::buffer::OwnBuffer;
use jtrail_recorder::buffer::record::{self, Code};
use jtrail_recorder::pending::{NewClass, PendingObject};

/// Records an object that a site has created, if the hot path could not record it. `number` is the
/// object's number, or 0 if it has none yet. `stack` is the address of the hook's stack frame.
pub(crate) fn allocated(
    tracer: &Tracer,
    env: &mut Env<'_>,
    hook: ClassRef<'_>,
    (site, number, stack): (u32, u64, usize),
) {
    if let Some((buffer, class, number)) = record(tracer, env, hook, (site, 0), number) {
        let object = PendingObject {
            number,
            class,
            site,
            stack,
        };
        pending::wait(tracer, buffer, object);
    }
}

/// Records an array of one dimension that a site has created.
pub(crate) fn array_allocated(
    tracer: &Tracer,
    env: &mut Env<'_>,
    hook: ClassRef<'_>,
    array: ObjectRef<'_>,
    (site, length): (u32, u32),
) {
    if let Some(objects) = tracer.objects.get()
        && let Some((_, class, number)) = record(tracer, env, hook, (site, length), 0)
    {
        objects.keep(env, array, class, number);
    }
}

/// Records an object that a site has created. Returns the buffer, and the object's class and
/// number. Returns `None` if the object's free can't be recorded.
fn record(
    tracer: &Tracer,
    env: &mut Env<'_>,
    hook: ClassRef<'_>,
    (site, length): (u32, u32),
    number: u64,
) -> Option<(OwnBuffer, NewClass, u64)> {
    let known = sites::class_at(site);
    if known.is_none() && IS_LOOKING_UP.get() {
        return None;
    }
    let buffer = tracer.session.buffer(env)?;
    let class = known.or_else(|| look_up(tracer, env, hook, site));
    let number = match number {
        0 => next_number(),
        taken => taken,
    };
    let payload = [record::site(site, length), number];
    let code = Code::AllocSiteObject;
    tracer.session.record(buffer, code, &payload);
    Some((buffer, class?, number))
}

/// An object's constructor has called the constructor of `Object`. The hook's frame is at the
/// address `stack`. The running thread has pending objects.
pub(crate) fn constructed(tracer: &Tracer, env: &mut Env<'_>, object: ObjectRef<'_>, stack: usize) {
    if let (Some(objects), Some(buffer)) = (tracer.objects.get(), OwnBuffer::current())
        && buffer.pending().is_open()
    {
        pending::record_lost(tracer, buffer, stack);
        if let Some(found) = pending::take(tracer, objects, env, buffer, object) {
            objects.keep(env, object, found.class, found.number);
        }
    }
}
