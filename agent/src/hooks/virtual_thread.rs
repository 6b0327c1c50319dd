//! Virtual threads: they begin, end, and move between carriers.
//!
//! Chunks belong to the carrier, the operating system's thread. When a virtual thread mounts, a record
//! says that what follows is its own; when it unmounts, that the carrier is itself again. The JVM tells of both
//! by events of its own, beyond the specification.

use super::{cpu, identity, lifecycle, record};
use crate::agent::{self, Agent};
use jni::sys::{JNIEnv, jobject};
use jtrail_guard::{guard, log};
use jtrail_jvm::jvmti::Jvmti;
use jtrail_jvm::jvmti::abi::{Event, RawEnv, callback};
use jtrail_options::{Events, Options, Server};
use jtrail_recorder::buffer::ThreadBuffer;
use jtrail_recorder::buffer::record::Code;
use jtrail_records::record::NO_THREAD;
use std::ffi::c_void;

const MOUNT: &str = "com.sun.hotspot.events.VirtualThreadMount";
const UNMOUNT: &str = "com.sun.hotspot.events.VirtualThreadUnmount";
/// HotSpot's own function beyond the specification.
const GET_CARRIER_THREAD: &str = "com.sun.hotspot.functions.GetCarrierThread";

/// Kinds whose records belong to a thread, or name one.
const OF_THREADS: [Events; 9] = [
    Events::METHODS,
    Events::THREADS,
    Events::ALLOC,
    Events::MONITORS,
    Events::PARKS,
    Events::EXCEPTIONS,
    Events::CPU,
    Events::SAMPLES,
    Events::MOUNTS,
];

/// Whether these options need to know of virtual threads, which the JVM makes slower as soon as somebody wants to know. With a channel,
/// a client may ask for any kind later, and then a virtual thread may run on a carrier that has a buffer as its own: so all is known from the start.
pub(super) fn are_told(options: &Options) -> bool {
    let has_triggers = options.has_call_triggers() || options.has_exception_triggers();
    let mut kinds = OF_THREADS.iter();
    kinds.any(|kind| options.events.contains(*kind))
        || has_triggers
        || options.server != Server::Standalone
}

/// Switches the events on, where the JVM has them.
pub(super) fn install(jvmti: Jvmti) {
    let has_virtual_threads = jvmti
        .enable(Event::VirtualThreadStart)
        .and_then(|()| jvmti.enable(Event::VirtualThreadEnd));
    if has_virtual_threads.is_err() {
        return; // an older JVM
    }
    let mut found = 0;
    for event in jvmti.extension_events().unwrap_or_default() {
        let callback: callback::Thread = match event.id.as_str() {
            MOUNT => mount,
            UNMOUNT => unmount,
            _ => continue,
        };
        // SAFETY: both events pass the JVMTI environment, the JNI environment and the virtual thread.
        found += i32::from(
            unsafe { jvmti.set_extension_callback(&event, callback as *const c_void) }.is_ok(),
        );
    }
    if found != 2 {
        log::say(
            "this JVM does not tell when virtual threads change carriers; their calls appear on the carrier threads",
        );
    }
}

/// On the new thread, mounted, before it runs any code of its own.
pub(super) unsafe extern "system" fn start(_jvmti: RawEnv, env: *mut JNIEnv, thread: jobject) {
    guard::run("a virtual thread's start", || {
        if let Some((agent, buffer, number)) = switch(env, Some(thread)) {
            record(agent, Some(buffer), Code::ThreadStart, &[number.into()]);
        }
    });
}

/// On the thread that ends, after all code of its own.
pub(super) unsafe extern "system" fn end(_jvmti: RawEnv, env: *mut JNIEnv, thread: jobject) {
    guard::run("a virtual thread's end", || {
        if let Some((agent, buffer, number)) = switch(env, Some(thread)) {
            finish(agent, env, buffer, thread, number);
        }
    });
}

unsafe extern "system" fn mount(_jvmti: RawEnv, env: *mut JNIEnv, thread: jobject) {
    guard::run("a virtual thread's mount", || {
        switch(env, Some(thread));
    });
}

unsafe extern "system" fn unmount(_jvmti: RawEnv, env: *mut JNIEnv, _thread: jobject) {
    guard::run("a virtual thread's unmount", || {
        switch(env, None);
    });
}

/// From now on, what the carrier records belongs to `thread`, or to itself. The answer is its buffer, and whose that is now;
/// none for a thread that has ended, and when nothing can be recorded.
fn switch(
    env: *mut JNIEnv,
    thread: Option<jobject>,
) -> Option<(&'static Agent, &'static ThreadBuffer, u32)> {
    let agent = agent::get()?;
    if !lifecycle::ensure_live(agent, env) {
        return None;
    }
    let number = match thread {
        // By its id: to keep a number with a thread the JVM makes an entry for it, under a lock that all threads share, and with many threads these
        // then wait for each other for longer than they run.
        // SAFETY: the callback's own reference.
        Some(thread) => Some(unsafe { agent.number_of(env, thread) }?),
        None => None,
    };
    // The carrier has a buffer since its own start, unless it began before the trace.
    let buffer = match agent.buffer_if_any() {
        Some(buffer) => buffer,
        None if !super::may_record(agent, env) => return None,
        // SAFETY: the running thread's environment.
        None => agent.buffer_of(unsafe { carrier(agent, env) }.unwrap_or(NO_THREAD)),
    };
    Some((agent, buffer, move_to(agent, buffer, number)))
}

/// A buffer for the running thread, whose number is known: that of its carrier, if it is a virtual one that began before the trace.
///
/// # Safety
/// `env` is the running thread's.
pub(super) unsafe fn new_buffer(
    agent: &Agent,
    env: *mut JNIEnv,
    number: u32,
) -> &'static ThreadBuffer {
    // SAFETY: the caller's promise.
    let Some(carrier) = (unsafe { carrier(agent, env) }) else {
        return agent.buffer_of(number);
    };
    let buffer = agent.buffer_of(carrier);
    move_to(agent, buffer, Some(number));
    buffer
}

/// The number of the carrier, if the running thread is virtual.
///
/// # Safety
/// `env` is the running thread's.
unsafe fn carrier(agent: &Agent, env: *mut JNIEnv) -> Option<u32> {
    let function = *agent.get_carrier.get_or_init(|| {
        let function = agent.jvmti.extension_function(GET_CARRIER_THREAD);
        function.unwrap_or_default()
    });
    let thread = agent.jvmti.current_thread().ok()?;
    // SAFETY: the function of that name, and a local reference that the JVM just gave us. Of a platform thread it answers an error.
    let carrier = unsafe { agent.jvmti.other_thread(function?, thread) }.ok()?;
    if carrier.is_null() {
        return None;
    }
    // SAFETY: likewise.
    unsafe { agent.number_of(env, carrier) }
}

/// The carrier runs that virtual thread from now on, or none but itself; the answer is which.
fn move_to(agent: &Agent, buffer: &ThreadBuffer, thread: Option<u32>) -> u32 {
    // SAFETY: it is the running thread's own.
    let (running, carrier) = unsafe { buffer.owners() };
    let next = thread.unwrap_or(carrier);
    if next == running {
        return next;
    }
    let tell_mounts = agent.kinds().contains(Events::MOUNTS);
    if running != carrier {
        if let Some(times) = &agent.virtual_times {
            times.unmounted(running);
        }
        if tell_mounts {
            record(agent, Some(buffer), Code::Unmount, &pair(running, carrier));
        }
    }
    switch_to(agent, buffer, thread);
    if next != carrier {
        if let Some(times) = &agent.virtual_times {
            times.mounted(next, carrier);
        }
        if tell_mounts {
            record(agent, Some(buffer), Code::Mount, &pair(next, carrier));
        }
    }
    next
}

/// From now on, records belong to that thread, or to the carrier itself, and so do objects whose constructor is to come.
fn switch_to(agent: &Agent, buffer: &ThreadBuffer, thread: Option<u32>) {
    // SAFETY: it is the running thread's own.
    let (before, carrier) = unsafe { buffer.owners() };
    if let Some(objects) = agent.objects.get() {
        // SAFETY: likewise.
        let pending = unsafe { buffer.pending() };
        let next = thread.unwrap_or(carrier);
        objects.elsewhere.exchange(pending, before, next, carrier);
    }
    // SAFETY: likewise.
    unsafe { buffer.switch_to((agent.now)(), thread) };
}

/// The virtual thread that runs here is at its end: its last name, its CPU time, and that it leaves its carrier.
fn finish(agent: &Agent, env: *mut JNIEnv, buffer: &ThreadBuffer, thread: jobject, number: u32) {
    // SAFETY: the callback's own reference.
    unsafe { super::thread::look_at_name(agent, env, buffer, thread, number) };
    if let Some(times) = &agent.virtual_times {
        cpu::record_thread(agent, buffer, number, times.ended(number));
    }
    // SAFETY: it is the running thread's own.
    let (running, carrier) = unsafe { buffer.owners() };
    if running == number && agent.kinds().contains(Events::MOUNTS) {
        record(agent, Some(buffer), Code::Unmount, &pair(number, carrier));
    }
    identity::thread_ends(agent, buffer);
    record(agent, Some(buffer), Code::ThreadEnd, &[number.into()]);
    // SAFETY: the callback's own reference.
    unsafe { agent.forget_thread(env, thread) };
    switch_to(agent, buffer, None);
}

/// Payload of a mount or unmount.
fn pair(thread: u32, carrier: u32) -> [u64; 1] {
    [u64::from(thread) << 32 | u64::from(carrier)]
}
