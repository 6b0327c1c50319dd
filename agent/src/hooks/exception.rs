//! Exceptions are thrown, and caught.
//!
//! Each rewritten method has a handler of ours, which catches what leaves the method, records that, and throws on. What the JVM tells of these
//! handlers is left out.

use super::{buffer, record, stack};
use crate::agent;
use crate::buffer::record::{Code, object};
use crate::guard;
use crate::jvmti::abi::RawEnv;
use jni::sys::{JNIEnv, jlong, jmethodID, jobject};

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
        let Some(agent) = agent::get() else { return };
        let Some(objects) = &agent.objects else {
            return;
        };
        // SAFETY: the callback's own method.
        if unsafe { stack::is_ours(agent, method, location) } {
            return;
        }
        let Some(buffer) = buffer(agent, env) else {
            return;
        };
        // SAFETY: the callback's own references and environment.
        let (number, class) = unsafe {
            let number = objects.mention(agent, env, buffer, exception);
            let class = crate::jni::class_of(env, exception);
            (number, objects.class(agent, class))
        };
        let Some(class) = class else { return };
        let depth = agent.options.stack_depth.max(1);
        let payload = stack::payload(agent, number, class.into(), 0, depth);
        record(agent, Some(buffer), Code::Throw, &payload);
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
        let Some(agent) = agent::get() else { return };
        let Some(objects) = &agent.objects else {
            return;
        };
        let Some(buffer) = buffer(agent, env) else {
            return;
        };
        // SAFETY: the callback's own method.
        if unsafe { stack::is_ours(agent, method, location) } {
            return;
        }
        // SAFETY: the callback's own references and environment.
        let (number, class, frame) = unsafe {
            let number = objects.mention(agent, env, buffer, exception);
            let class = crate::jni::class_of(env, exception);
            let frame = stack::frame(agent, method, location);
            (number, objects.class(agent, class), frame)
        };
        let (Some(class), Some(frame)) = (class, frame) else {
            return;
        };
        let payload = [object(number, 1), class.into(), frame];
        record(agent, Some(buffer), Code::Catch, &payload);
    });
}
