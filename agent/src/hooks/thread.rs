//! Platform threads begin and end; so do those that native code attaches.

use super::{cpu, identity, last_frees, lifecycle, object, own_threads, record, virtual_thread};
use crate::agent::{self, Agent};
use jni::sys::{JNIEnv, jobject};
use jtrail_guard::guard;
use jtrail_jvm::jvmti::abi::RawEnv;
use jtrail_options::{Events, Options};
use jtrail_recorder::buffer::record::Code;
use jtrail_recorder::buffer::{ThreadBuffer, live};
use jtrail_records::Announcement;
use jtrail_records::record::NO_THREAD;
use rustc_hash::FxHashMap;

/// Whether these options need to know of threads: where records belong to one, and where the trace has to end with that of the thread
/// that ends the JVM ([`last_frees`]). A buffer that a thread has got without is given up by the system's own end of it.
pub(super) fn are_told(options: &Options) -> bool {
    virtual_thread::are_told(options) || object::are_told(options.events)
}

/// On the new thread, before it runs any Java code.
pub(super) unsafe extern "system" fn start(_jvmti: RawEnv, env: *mut JNIEnv, thread: jobject) {
    guard::run("a thread's start", || {
        let Some(agent) = agent::get() else { return };
        if super::runs_agents_own() {
            // SAFETY: the callback's own reference.
            unsafe { agent.pass_over_thread(env, thread) };
            return;
        }
        // SAFETY: the callback's own reference and environment.
        if unsafe { own_threads::is_starting(agent, env, thread) } {
            return;
        }
        if !lifecycle::ensure_live(agent, env) {
            return; // it will be among the first threads
        }
        // Java code may have run on it before, to make its `Thread`, which then had no name yet.
        let was_named = agent.jvmti.thread_number().is_ok_and(|n| n != NO_THREAD);
        // SAFETY: the callback's own reference.
        if let Some(number) = unsafe { agent.name_thread(env, thread) } {
            if was_named {
                // SAFETY: likewise.
                unsafe {
                    agent.thread_has_number(env, thread, number);
                    agent.announce_thread(env, thread, number);
                }
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
        if !lifecycle::ensure_live(agent, env) {
            return;
        }
        let has_frames = agent.jvmti.frame_count().is_ok_and(|count| count > 0);
        if has_frames {
            // SAFETY: the callback's own reference and environment.
            return unsafe { last_frees::thread_ended(agent, env, thread, true) };
        }
        // SAFETY: the callback's own reference.
        if let Some(number) = unsafe { agent.name_thread(env, thread) } {
            let buffer = agent.buffer_of(number);
            // SAFETY: likewise.
            unsafe { look_at_name(agent, env, buffer, thread, number) };
            if agent.kinds().contains(Events::CPU) {
                cpu::record_thread(agent, buffer, number, cpu::now());
            }
            identity::thread_ends(agent, buffer);
            record(agent, Some(buffer), Code::ThreadEnd, &[u64::from(number)]);
            if let Some(bursts) = &agent.bursts {
                bursts.forget(number);
            }
            // SAFETY: the callback's own reference.
            unsafe { agent.forget_thread(env, thread) };
        }
        live::finish();
        // SAFETY: the callback's own reference and environment.
        unsafe { last_frees::thread_ended(agent, env, thread, false) };
    });
}

/// Has the trace tell a thread's name again, if it has changed.
///
/// # Safety
/// `env` is the running thread's; `thread` is a live reference to a thread.
pub(super) unsafe fn look_at_name(
    agent: &Agent,
    env: *mut JNIEnv,
    buffer: &ThreadBuffer,
    thread: jobject,
    number: u32,
) {
    if agent.kinds().contains(Events::THREADS)
        // SAFETY: the caller's promise.
        && let Ok(name) = unsafe { agent.jvmti.thread_name(thread) }
        // SAFETY: likewise.
        && !unsafe { agent.has_name(env, thread, &name) }
    {
        let told = Announcement::ThreadName {
            number,
            name: (&*name).into(),
        };
        agent.announce(told);
        record(agent, Some(buffer), Code::ThreadName, &[number.into()]);
        // Who else looks at it may have told it as well, and before the thread's end.
        // SAFETY: likewise.
        unsafe { agent.set_name(env, thread, &name) };
    }
}

/// At the end of the trace: what there is to say of threads that are still alive.
pub(super) fn last_words(agent: &Agent, env: *mut JNIEnv, buffer: &ThreadBuffer) {
    let mut threads = FxHashMap::default();
    for thread in agent.jvmti.all_threads(env).unwrap_or_default() {
        // SAFETY: local references that the JVM just gave us.
        unsafe {
            let Some(number) = agent.known_number(env, thread) else {
                continue;
            };
            look_at_name(agent, env, buffer, thread, number);
            threads.insert(number, thread);
        }
    }
    if !agent.kinds().contains(Events::CPU) {
        return;
    }
    // SAFETY: likewise.
    let clock_of = |thread: &jobject| unsafe { agent.jvmti.thread_cpu_time(*thread) }.ok();
    for (number, thread) in &threads {
        if let Some(used) = clock_of(thread) {
            cpu::record_thread(agent, buffer, *number, used);
        }
    }
    cpu::record_virtual(agent, buffer, |carrier| {
        threads.get(&carrier).and_then(clock_of)
    });
}
