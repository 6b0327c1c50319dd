//! Exceptions are thrown, and caught.
//!
//! Each rewritten method has a handler of ours, which catches what leaves the method, records that, and throws on. What the JVM tells of these
//! handlers is left out.

use super::{buffer, record, stack, trigger};
use crate::agent::{self, Agent};
use jni::sys::{JNIEnv, jlong, jmethodID, jobject};
use jtrail_classfile::Handler;
use jtrail_guard::guard;
use jtrail_jvm::jvmti::abi::RawEnv;
use jtrail_options::Events;
use jtrail_recorder::buffer::record::{Code, frame, handler, object};

/// What is told of a throw or a catch.
struct Happening {
    /// The exception's number, and that of its class.
    number: u64,
    class: u64,
    /// Where; none if the method is not known.
    frame: Option<u64>,
    /// The handler that begins there, if one is known to.
    handler: Option<Handler>,
}

/// Records an exception at a place, unless that is in a handler of ours. No record without a payload.
///
/// # Safety
/// The arguments are a callback's own.
unsafe fn tell(
    env: *mut JNIEnv,
    method: jmethodID,
    location: jlong,
    exception: jobject,
    code: Code,
    payload: impl FnOnce(&Agent, Happening) -> Option<Vec<u64>>,
) {
    let Some(agent) = agent::get() else { return };
    let Some(objects) = agent.objects.get() else {
        return;
    };
    if !agent.kinds().contains(Events::EXCEPTIONS) {
        return;
    }
    // SAFETY: the caller's promise.
    let place = unsafe { agent.classes.frame_method(agent, method) };
    if place.as_ref().is_some_and(|place| place.is_ours(location)) {
        return;
    }
    let Some(buffer) = buffer(agent, env) else {
        return;
    };
    // SAFETY: the caller's promise.
    let (number, class) = unsafe {
        let number = objects.mention(agent, env, buffer, exception);
        let class = jtrail_jvm::jni::class_of(env, exception);
        (number, objects.class(agent, class))
    };
    let Some(class) = class else { return };
    let happening = Happening {
        number,
        class: class.into(),
        handler: place.as_ref().and_then(|place| place.handler(location)),
        frame: place.map(|place| frame(place.number, place.lines.at(location))),
    };
    if let Some(payload) = payload(agent, happening) {
        record(agent, Some(buffer), code, &payload);
    }
}

pub(super) unsafe extern "system" fn thrown(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    method: jmethodID,
    location: jlong,
    exception: jobject,
    _catch_method: jmethodID,
    _catch_location: jlong,
) {
    guard::run("a throw", || {
        if let Some(agent) = agent::get() {
            // SAFETY: the callback's own.
            unsafe { trigger::thrown(agent, env, (method, location), exception) };
        }
        let payload = |agent: &Agent, Happening { number, class, .. }| {
            let depth = agent.options.event_frames().max(1);
            Some(stack::payload(agent, number, class, 0, depth))
        };
        // SAFETY: the callback's own.
        unsafe { tell(env, method, location, exception, Code::Throw, payload) };
    });
}

pub(super) unsafe extern "system" fn caught(
    _jvmti: RawEnv,
    env: *mut JNIEnv,
    _thread: jobject,
    method: jmethodID,
    location: jlong,
    exception: jobject,
) {
    guard::run("a catch", || {
        let payload = |_: &Agent, happening: Happening| {
            let number = object(happening.number, 1);
            let class = happening.class | handler(happening.handler);
            Some(vec![number, class, happening.frame?])
        };
        // SAFETY: the callback's own.
        unsafe { tell(env, method, location, exception, Code::Catch, payload) };
    });
}
