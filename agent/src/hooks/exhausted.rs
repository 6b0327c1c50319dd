//! The JVM is out of memory, for an object or a thread: where the newest events are kept, they are written.

use crate::agent;
use jni::sys::{JNIEnv, jint};
use jtrail_guard::guard;
use jtrail_jvm::jvmti::abi::RawEnv;
use jtrail_options::{Options, SaveMoments};
use jtrail_writer::{Action, SaveReason};
use std::ffi::{c_char, c_void};

/// Whether the JVM has to tell of it.
pub(super) fn is_told(options: &Options) -> bool {
    options.saves_at(SaveMoments::OUT_OF_MEMORY)
}

/// The thread goes on at once: it may hold what others wait for.
pub(super) unsafe extern "system" fn exhausted(
    _jvmti: RawEnv,
    _env: *mut JNIEnv,
    _flags: jint,
    _reserved: *const c_void,
    _description: *const c_char,
) {
    guard::run("the end of memory", || {
        if let Some(agent) = agent::get() {
            let save = Action::Save(SaveReason::Moment(SaveMoments::OUT_OF_MEMORY));
            drop(agent.writer.begin(agent.moment(), save));
        }
    });
}
