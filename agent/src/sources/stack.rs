//! The running thread's stack, as words of records.

use super::Tracer;
use jtrail_jvm::jni::Env;
use jtrail_jvm::jvmti::{Frame, Method};
use jtrail_recorder::buffer::record::{self, MAX_FRAMES};
use std::cell::RefCell;

/// The payload of a record with a stack: two other words, then a word for each frame.
type Words = Vec<u64>;

thread_local! {
    /// Memory for the frames of one stack, which is reused.
    static FRAMES: RefCell<Vec<Frame>> = const { RefCell::new(Vec::new()) };
}

/// Returns the payload of a record with the running thread's stack. The stack has at most `depth`
/// frames, without the `skip` innermost ones.
pub(crate) fn payload(
    tracer: &Tracer,
    env: &Env<'_>,
    object: u64,
    value: u64,
    skip: i32,
    depth: u16,
) -> Words {
    let mut words = vec![0, value];
    FRAMES.with_borrow_mut(|frames| {
        let depth = usize::from(depth).min(MAX_FRAMES);
        frames.resize(depth, Frame::default());
        let jvmti = tracer.session.jvmti;
        let count = match depth {
            0 => 0,
            _ => jvmti.own_stack(skip, frames).unwrap_or_default(),
        };
        words.extend(
            frames[..count.min(depth)]
                .iter()
                .filter_map(|f| frame(tracer, env, f.method(), f.location())),
        );
    });
    words[0] = record::object(object, (words.len() - 2) as u32);
    words
}

/// Returns the word of one frame; `None` if the JVM does not name the method.
pub(crate) fn frame(tracer: &Tracer, env: &Env<'_>, method: Method, location: i64) -> Option<u64> {
    let found = tracer.frame_method(env, method)?;
    Some(record::frame(found.number, found.lines.at(location)))
}

/// Returns the method of the running thread's innermost frame, not counting `skip` frames.
pub(crate) fn caller(tracer: &Tracer, skip: i32) -> Option<Method> {
    let mut frames = [Frame::default()];
    match tracer.session.jvmti.own_stack(skip, &mut frames) {
        Ok(1..) => Some(frames[0].method()),
        _ => None,
    }
}

/// Returns the word of the running thread's innermost frame.
pub(crate) fn innermost(tracer: &Tracer, env: &Env<'_>) -> Option<u64> {
    let mut frames = [Frame::default()];
    match tracer.session.jvmti.own_stack(0, &mut frames) {
        Ok(1..) => frame(tracer, env, frames[0].method(), frames[0].location()),
        _ => None,
    }
}
