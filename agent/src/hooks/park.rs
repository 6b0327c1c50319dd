//! Parking: `LockSupport.park` and its like. The JVM has no event for it; these methods call us when they begin and end.

use super::{buffer, record, stack};
use crate::agent;
use jni::sys::{JNIEnv, jclass, jint};
use jtrail_guard::guard;
use jtrail_recorder::buffer::record::Code;

/// Our own hook's frame, which is innermost.
const HOOK_FRAMES: i32 = 1;

pub(super) unsafe fn park(env: *mut JNIEnv, _class: jclass, has_blocker: jint) {
    guard::run("a park", || {
        let Some(agent) = agent::get() else { return };
        let Some(buffer) = buffer(agent, env) else {
            return;
        };
        let blocker = match has_blocker != 0 {
            true => agent.jvmti.local_object(HOOK_FRAMES, 0),
            // Locks set it before they park without an argument.
            // SAFETY: the running thread's environment, and a local reference that the JVM just gave us.
            false => (agent.jvmti.current_thread())
                .map(|thread| unsafe { jtrail_jvm::jni::park_blocker(env, thread) }),
        };
        let number = match (agent.objects.get(), blocker.ok()) {
            // SAFETY: a local reference that the JVM just gave us, and the running thread's environment.
            (Some(objects), Some(blocker)) => unsafe {
                objects.mention(agent, env, buffer, blocker)
            },
            _ => 0,
        };
        let depth = agent.options.event_frames();
        let payload = stack::payload(agent, number, 0, HOOK_FRAMES, depth);
        record(agent, Some(buffer), Code::Park, &payload);
    });
}

pub(super) unsafe fn unpark(env: *mut JNIEnv, _class: jclass, _ignored: jint) {
    guard::run("the end of a park", || {
        let Some(agent) = agent::get() else { return };
        record(agent, buffer(agent, env), Code::Unpark, &[0]);
    });
}
