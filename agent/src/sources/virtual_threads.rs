//! Virtual threads: they begin, end, and move between carriers.
//!
//! Chunks belong to the carrier, the operating system's thread. When a virtual thread mounts, a
//! record says that what follows is its own; when it unmounts, that the carrier is itself again.
//! The JVM tells of both by events of its own, beyond the specification.

use super::{Need, Source, Tracer, cpu, pending, threads};
use jtrail_jvm::jni::{Env, ThreadRef};
use jtrail_jvm::jvmti::abi::Capability;
use jtrail_options::{Events, Options, Server};
use jtrail_recorder::buffer::OwnBuffer;
use jtrail_recorder::buffer::record::Code;
use jtrail_records::record::NO_THREAD;

/// Kinds whose records belong to a thread, or name one.
const OF_THREADS: [Events; 10] = [
    Events::METHODS,
    Events::THREADS,
    Events::ALLOC,
    Events::MONITORS,
    Events::PARKS,
    Events::CLINIT,
    Events::EXCEPTIONS,
    Events::CPU,
    Events::SAMPLES,
    Events::MOUNTS,
];

/// `events=mounts`, and whatever records belong to a virtual thread.
pub(super) struct VirtualThreads;

impl Source for VirtualThreads {
    fn requested(&self, options: &Options) -> bool {
        are_requested(options)
    }

    fn capabilities(&self, _options: &Options) -> Vec<Need> {
        vec![Need::if_available(Capability::SupportVirtualThreads)]
    }
}

/// Returns true if these options need to know of virtual threads, which the JVM makes slower as
/// soon as somebody wants to know. With a channel, a client may ask for any kind later, and then a
/// virtual thread may run on a carrier that has a buffer as its own: so all is known from the
/// start.
pub(crate) fn are_requested(options: &Options) -> bool {
    let has_triggers = options.has_call_triggers() || options.has_exception_triggers();
    let mut kinds = OF_THREADS.iter();
    kinds.any(|kind| options.events.contains(*kind))
        || has_triggers
        || options.server != Server::Standalone
}

/// A virtual thread has started. Called on it, mounted, before it runs any code of its own.
pub(crate) fn started(tracer: &Tracer, env: &mut Env<'_>, thread: ThreadRef<'_>) {
    if let Some((buffer, number)) = switch(tracer, env, Some(thread)) {
        let payload = [number.into()];
        tracer.session.record(buffer, Code::ThreadStart, &payload);
    }
}

/// A virtual thread ends. Called on it, after all code of its own.
pub(crate) fn ended(tracer: &Tracer, env: &mut Env<'_>, thread: ThreadRef<'_>) {
    if let Some((buffer, number)) = switch(tracer, env, Some(thread)) {
        finish(tracer, env, buffer, thread, number);
    }
}

/// A virtual thread has mounted the running thread.
pub(crate) fn mounted(tracer: &Tracer, env: &mut Env<'_>, thread: ThreadRef<'_>) {
    switch(tracer, env, Some(thread));
}

/// The virtual thread that ran here has unmounted.
pub(crate) fn unmounted(tracer: &Tracer, env: &mut Env<'_>) {
    switch(tracer, env, None);
}

/// From now on, what the carrier records belongs to `thread`, or to itself. Returns its buffer, and
/// whose that is now; `None` for a thread that has ended, and if nothing can be recorded.
fn switch(
    tracer: &Tracer,
    env: &mut Env<'_>,
    thread: Option<ThreadRef<'_>>,
) -> Option<(OwnBuffer, u32)> {
    let session = &tracer.session;
    if !session.ensure_live(env) {
        return None;
    }
    let number = match thread {
        // By its id: to keep a number with a thread the JVM makes an entry for it, under a lock
        // that all threads share, and with many threads these then wait for each other for longer
        // than they run.
        Some(thread) => Some(threads::number_of(tracer, env, thread)?),
        None => None,
    };
    // The carrier has a buffer since its own start, unless it began before the trace.
    let buffer = match OwnBuffer::current() {
        Some(buffer) => buffer,
        None if !session.may_record(env) => return None,
        None => session.buffer_of(carrier(tracer, env).unwrap_or(NO_THREAD)),
    };
    Some((buffer, move_to(tracer, buffer, number)))
}

/// Creates the running thread's buffer, where one can be used; see
/// [`crate::session::Upcalls::first_buffer`].
pub(crate) fn first_buffer(tracer: &Tracer, env: &mut Env<'_>) -> Option<OwnBuffer> {
    if !tracer.session.may_record(env) {
        return None;
    }
    let number = threads::name_running(tracer, env)?;
    Some(new_buffer(tracer, env, number))
}

/// A buffer for the running thread, whose number is known: that of its carrier, if it is a virtual
/// one that began before the trace.
pub(super) fn new_buffer(tracer: &Tracer, env: &mut Env<'_>, number: u32) -> OwnBuffer {
    let Some(carrier) = carrier(tracer, env) else {
        return tracer.session.buffer_of(number);
    };
    let buffer = tracer.session.buffer_of(carrier);
    move_to(tracer, buffer, Some(number));
    buffer
}

/// The number of the carrier, if the running thread is virtual.
fn carrier(tracer: &Tracer, env: &mut Env<'_>) -> Option<u32> {
    let jvmti = tracer.session.jvmti;
    let get_carrier = &tracer.virtual_threads.get_carrier;
    let find = || jvmti.get_carrier_thread().unwrap_or_default();
    let function = *get_carrier.get_or_init(find);
    let thread = jvmti.current_thread(env).ok()??;
    // Of a platform thread it answers an error.
    let carrier = jvmti.other_thread(env, function?, thread).ok()??;
    threads::number_of(tracer, env, carrier)
}

/// The carrier runs that virtual thread from now on, or none but itself. Returns the number of the
/// one that it runs.
fn move_to(tracer: &Tracer, buffer: OwnBuffer, thread: Option<u32>) -> u32 {
    let session = &tracer.session;
    let times = &tracer.virtual_threads.times;
    let (running, carrier) = buffer.owners();
    let next = thread.unwrap_or(carrier);
    if next == running {
        return next;
    }
    let records_mounts = session.is_on(Events::MOUNTS);
    if running != carrier {
        if let Some(times) = times {
            times.unmounted(running);
        }
        if records_mounts {
            session.record(buffer, Code::Unmount, &pair(running, carrier));
        }
    }
    switch_to(tracer, buffer, thread);
    if next != carrier {
        if let Some(times) = times {
            times.mounted(next, carrier);
        }
        if records_mounts {
            session.record(buffer, Code::Mount, &pair(next, carrier));
        }
    }
    next
}

/// From now on, records belong to that thread, or to the carrier itself, and so do objects whose
/// constructor is to come.
fn switch_to(tracer: &Tracer, buffer: OwnBuffer, thread: Option<u32>) {
    let (before, carrier) = buffer.owners();
    if let Some(objects) = tracer.objects.get() {
        let next = thread.unwrap_or(carrier);
        let pending = buffer.pending();
        pending.exchange(&objects.elsewhere, before, next, carrier);
    }
    buffer.switch_to(tracer.session.now(), thread);
}

/// The virtual thread that runs here is at its end: its last name, its CPU time, and that it leaves
/// its carrier.
fn finish(
    tracer: &Tracer,
    env: &mut Env<'_>,
    buffer: OwnBuffer,
    thread: ThreadRef<'_>,
    number: u32,
) {
    let session = &tracer.session;
    threads::look_at_name(tracer, env, buffer, thread, number);
    if let Some(times) = &tracer.virtual_threads.times {
        cpu::record_thread(tracer, buffer, number, times.ended(number));
    }
    let (running, carrier) = buffer.owners();
    if running == number && session.is_on(Events::MOUNTS) {
        session.record(buffer, Code::Unmount, &pair(number, carrier));
    }
    pending::thread_ends(tracer, buffer);
    session.record(buffer, Code::ThreadEnd, &[number.into()]);
    threads::forget(tracer, env, thread);
    switch_to(tracer, buffer, None);
}

/// Payload of a mount or unmount.
fn pair(thread: u32, carrier: u32) -> [u64; 1] {
    [u64::from(thread) << 32 | u64::from(carrier)]
}
