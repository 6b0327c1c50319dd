//! The running thread's stack, as words of records.

use crate::agent::Agent;
use jni::sys::jmethodID;
use jtrail_jvm::jvmti::Jvmti;
use jtrail_recorder::buffer::record::{self, MOST_FRAMES};
use jvmti_sys::jvmtiFrameInfo;
use std::cell::RefCell;

/// What a record with a stack consists of: two words of its own, and the frames.
type Words = Vec<u64>;

thread_local! {
    /// Kept for its memory.
    static FRAMES: RefCell<Vec<jvmtiFrameInfo>> = const { RefCell::new(Vec::new()) };
}

/// The payload of a record with the running thread's stack, less its `skip` innermost frames.
pub(super) fn payload(agent: &Agent, object: u64, value: u64, skip: i32, depth: u16) -> Words {
    let mut words = vec![0, value];
    FRAMES.with_borrow_mut(|frames| {
        let depth = usize::from(depth).min(MOST_FRAMES);
        frames.resize(depth, jvmtiFrameInfo::default());
        let count = match depth {
            0 => 0,
            _ => agent.jvmti.own_stack(skip, frames).unwrap_or_default(),
        };
        words.extend(
            frames[..count.min(depth)]
                .iter()
                // SAFETY: the JVM just told us of these methods, which are on the stack.
                .filter_map(|f| unsafe { frame(agent, f.method, f.location) }),
        );
    });
    words[0] = record::object(object, (words.len() - 2) as u32);
    words
}

/// The word of one frame.
///
/// # Safety
/// `method` is alive.
pub(super) unsafe fn frame(agent: &Agent, method: jmethodID, location: i64) -> Option<u64> {
    // SAFETY: the caller's promise.
    let found = unsafe { agent.classes.frame_method(agent, method) }?;
    Some(record::frame(found.number, found.lines.at(location)))
}

/// The method of the running thread's innermost frame, less `skip` frames.
pub(super) fn caller(agent: &Agent, skip: i32) -> Option<jmethodID> {
    let mut frames = [jvmtiFrameInfo::default()];
    match agent.jvmti.own_stack(skip, &mut frames) {
        Ok(1..) => Some(frames[0].method),
        _ => None,
    }
}

/// The innermost frame of the running thread.
pub(super) fn innermost(agent: &Agent, jvmti: Jvmti) -> Option<u64> {
    let mut frames = [jvmtiFrameInfo::default()];
    match jvmti.own_stack(0, &mut frames) {
        // SAFETY: the JVM just told us of the method, which is on the stack.
        Ok(1..) => unsafe { frame(agent, frames[0].method, frames[0].location) },
        _ => None,
    }
}
