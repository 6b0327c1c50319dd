//! The JVM is out of memory, for an object, a thread or a class: where the newest events are kept, they are written. Where classes have
//! hooks, the user is told how much of the memory for classes is theirs.

use crate::agent::{self, Agent};
use crate::guard;
use crate::jvmti::abi::RawEnv;
use crate::log;
use crate::writer::{Action, SaveReason};
use jni::sys::{JNIEnv, jint};
use jtrail_options::{Options, SaveMoments};
use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

/// What HotSpot calls the memory for classes in its `OutOfMemoryError`.
const METASPACE: &CStr = c"Metaspace";

/// Whether the JVM has to tell of it, or the agent does not work.
pub(super) fn is_told(options: &Options) -> bool {
    options.saves_at(SaveMoments::OUT_OF_MEMORY)
}

/// The thread goes on at once: it may hold what others wait for.
pub(super) unsafe extern "system" fn exhausted(
    _jvmti: RawEnv,
    _env: *mut JNIEnv,
    _flags: jint,
    _reserved: *const c_void,
    description: *const c_char,
) {
    guard::run("the end of memory", || {
        let Some(agent) = agent::get() else { return };
        // SAFETY: null, or the text that the JVM passed to this callback.
        let is_metaspace =
            !description.is_null() && unsafe { CStr::from_ptr(description) } == METASPACE;
        if is_metaspace {
            tell_share(agent);
        }
        if is_told(&agent.options) {
            let save = Action::Save(SaveReason::Moment(SaveMoments::OUT_OF_MEMORY));
            drop(agent.writer.begin(agent.moment(), save));
        }
    });
}

/// Tells once how much larger hooks have made the program's classes.
fn tell_share(agent: &Agent) {
    static IS_TOLD: AtomicBool = AtomicBool::new(false);
    let kilobytes = agent.classes.added_bytes() >> 10;
    if kilobytes > 0 && !IS_TOLD.swap(true, Ordering::Relaxed) {
        log::say(&format!(
            "the JVM is out of Metaspace; hooks have made its classes {kilobytes} KB larger: raise -XX:MaxMetaspaceSize, or include fewer classes"
        ));
    }
}
