//! Parking: `LockSupport.park` and its variants. The JVM has no event for parking, so hooks in
//! these methods report begin and end ([`crate::instrument::special`]).

use super::{Tracer, stack};
use jtrail_jvm::jni::Env;
use jtrail_recorder::buffer::record::Code;

/// Number of the hook's own frames, which are the innermost ones.
const HOOK_FRAMES: i32 = 1;

/// The running thread is about to park. `has_blocker` is true if the method's first argument is the
/// object that the thread waits for.
pub(crate) fn park(tracer: &Tracer, env: &mut Env<'_>, has_blocker: bool) {
    let session = &tracer.session;
    let Some(buffer) = session.buffer(env) else {
        return;
    };
    let blocker = match has_blocker {
        true => session.jvmti.local_object(env, HOOK_FRAMES, 0),
        // Locks set the thread's blocker before they call `park` without an argument.
        false => (session.jvmti.current_thread(env))
            .map(|thread| thread.and_then(|thread| env.park_blocker(thread))),
    };
    let number = match (tracer.objects.get(), blocker) {
        (Some(objects), Ok(blocker)) => objects.mention(session, env, buffer, blocker),
        _ => 0,
    };
    let depth = session.options.event_frames();
    let payload = stack::payload(tracer, env, number, 0, HOOK_FRAMES, depth);
    session.record(buffer, Code::Park, &payload);
}

/// The running thread has parked, or found its permit available.
pub(crate) fn unpark(tracer: &Tracer, env: &mut Env<'_>) {
    if let Some(buffer) = tracer.session.buffer(env) {
        tracer.session.record(buffer, Code::Unpark, &[0]);
    }
}
