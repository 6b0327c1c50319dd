//! Platform threads begin and end; so do those that native code attaches.

use super::{heap, lifecycle, record};
use crate::agent::{self, NO_THREAD};
use crate::buffer::record::Code;
use crate::guard;
use crate::jvmti::abi::RawEnv;
use jni::sys::{JNIEnv, jobject};

/// On the new thread, before it runs any Java code.
pub(super) unsafe extern "system" fn start(_jvmti: RawEnv, env: *mut JNIEnv, thread: jobject) {
    guard::run("a thread's start", || {
        let Some(agent) = agent::get() else { return };
        if heap::is_our_thread() {
            // SAFETY: the callback's own reference.
            unsafe { agent.forget_thread(thread) };
            return;
        }
        if !lifecycle::ensure_live(agent, env) {
            return; // it will be among the first threads
        }
        // Java code may have run on it before, to make its `Thread`, which then had no name yet.
        // SAFETY: the callback's own reference.
        let was_named = unsafe { agent.jvmti.thread_number(thread) }.is_ok_and(|n| n != NO_THREAD);
        // SAFETY: likewise.
        if let Some(number) = unsafe { agent.name_thread(env, thread) } {
            if was_named {
                // SAFETY: likewise.
                unsafe { agent.announce_thread(env, thread, number) };
            }
            record(
                agent,
                Some(agent.buffer_of(number)),
                Code::ThreadStart,
                &[u64::from(number)],
            );
        }
    });
}

/// On the thread that ends, after the last of its Java code. The JVM also says so of the thread that
/// stops it (`System.exit`), whose calls are still open: that one does not end before the trace.
pub(super) unsafe extern "system" fn end(_jvmti: RawEnv, env: *mut JNIEnv, thread: jobject) {
    guard::run("a thread's end", || {
        let Some(agent) = agent::get() else { return };
        if !lifecycle::ensure_live(agent, env)
            || agent.jvmti.frame_count().is_ok_and(|count| count > 0)
        {
            return;
        }
        // SAFETY: the callback's own reference.
        if let Some(number) = unsafe { agent.name_thread(env, thread) } {
            record(
                agent,
                Some(agent.buffer_of(number)),
                Code::ThreadEnd,
                &[u64::from(number)],
            );
            // SAFETY: the callback's own reference.
            unsafe { agent.forget_thread(thread) };
        }
        agent.finish_buffer();
    });
}
