//! Virtual threads: they start, end, and move between carriers.
//!
//! Chunks belong to the carrier, an operating-system thread. When a virtual thread mounts, a record
//! says that the following records belong to the virtual thread. When it unmounts, a record says
//! that the following records belong to the carrier again. HotSpot reports mounts and unmounts by
//! extension events, which are not in the JVMTI specification.

use super::{Need, Source, Tracer, cpu, pending, threads};
use jtrail_jvm::jni::{Env, ThreadRef};
use jtrail_jvm::jvmti::abi::Capability;
use jtrail_options::{Events, Options, Server};
use jtrail_recorder::buffer::OwnBuffer;
use jtrail_recorder::buffer::record::Code;
use jtrail_records::record::NO_THREAD;

/// Kinds whose records belong to a thread, or mention a thread.
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

/// The source of `events=mounts`. It is also needed for other kinds whose records may belong to a
/// virtual thread.
pub(super) struct VirtualThreads;

impl Source for VirtualThreads {
    fn requested(&self, options: &Options) -> bool {
        are_requested(options)
    }

    fn capabilities(&self, _options: &Options) -> Vec<Need> {
        vec![Need::if_available(Capability::SupportVirtualThreads)]
    }
}

/// Returns true if these options need the events of virtual threads. The JVM slows virtual threads
/// down as soon as an agent has the capability for these events. With a command channel, a client
/// may request any kind later. A virtual thread may then already run on a carrier that has a
/// buffer. So with a command channel, mounts are followed from the start.
pub(crate) fn are_requested(options: &Options) -> bool {
    let has_triggers = options.has_call_triggers() || options.has_exception_triggers();
    let mut kinds = OF_THREADS.iter();
    kinds.any(|kind| options.events.contains(*kind))
        || has_triggers
        || options.server != Server::Standalone
}

/// Records that a virtual thread has started. Called on the mounted thread itself, before it runs
/// its own code.
pub(crate) fn started(tracer: &Tracer, env: &mut Env<'_>, thread: ThreadRef<'_>) {
    if let Some((buffer, number)) = switch(tracer, env, Some(thread)) {
        let payload = [number.into()];
        tracer.session.record(buffer, Code::ThreadStart, &payload);
    }
}

/// Records that a virtual thread ends. Called on the thread itself, after its own code.
pub(crate) fn ended(tracer: &Tracer, env: &mut Env<'_>, thread: ThreadRef<'_>) {
    if let Some((buffer, number)) = switch(tracer, env, Some(thread)) {
        finish(tracer, env, buffer, thread, number);
    }
}

/// A virtual thread has mounted the running thread.
pub(crate) fn mounted(tracer: &Tracer, env: &mut Env<'_>, thread: ThreadRef<'_>) {
    switch(tracer, env, Some(thread));
}

/// The virtual thread that ran on the running thread has unmounted.
pub(crate) fn unmounted(tracer: &Tracer, env: &mut Env<'_>) {
    switch(tracer, env, None);
}

/// Makes the carrier's next records belong to `thread`; for `None`, to the carrier itself. Returns
/// the carrier's buffer, and the number of the thread that the records belong to. Returns `None` if
/// `thread` has ended, or if nothing can be recorded.
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
        // The number is looked up by the thread's id. If it were stored with the thread, the JVM
        // would create an entry under a lock that all threads share. Many virtual threads would
        // wait for that lock longer than they run.
        Some(thread) => Some(threads::number_of(tracer, env, thread)?),
        None => None,
    };
    // The carrier has had a buffer since its own start, unless it started before the trace.
    let buffer = match OwnBuffer::current() {
        Some(buffer) => buffer,
        None if !session.may_record(env) => return None,
        None => session.buffer_of(carrier(tracer, env).unwrap_or(NO_THREAD)),
    };
    Some((buffer, move_to(tracer, buffer, number)))
}

/// Creates the running thread's buffer. Returns `None` if nothing can be recorded. Implements
/// [`crate::session::Upcalls::first_buffer`].
pub(crate) fn first_buffer(tracer: &Tracer, env: &mut Env<'_>) -> Option<OwnBuffer> {
    if !tracer.session.may_record(env) {
        return None;
    }
    let number = threads::name_running(tracer, env)?;
    Some(new_buffer(tracer, env, number))
}

/// Creates a buffer for the running thread, whose number is `number`. If the thread is a virtual
/// one that started before the trace, creates the buffer for its carrier.
pub(super) fn new_buffer(tracer: &Tracer, env: &mut Env<'_>, number: u32) -> OwnBuffer {
    let Some(carrier) = carrier(tracer, env) else {
        return tracer.session.buffer_of(number);
    };
    let buffer = tracer.session.buffer_of(carrier);
    move_to(tracer, buffer, Some(number));
    buffer
}

/// Returns the number of the carrier; `None` if the running thread is a platform thread.
fn carrier(tracer: &Tracer, env: &mut Env<'_>) -> Option<u32> {
    let jvmti = tracer.session.jvmti;
    let get_carrier = &tracer.virtual_threads.get_carrier;
    let find = || jvmti.get_carrier_thread().unwrap_or_default();
    let function = *get_carrier.get_or_init(find);
    let thread = jvmti.current_thread(env).ok()??;
    // For a platform thread, the function returns an error.
    let carrier = jvmti.other_thread(env, function?, thread).ok()??;
    threads::number_of(tracer, env, carrier)
}

/// Notes that the carrier runs the virtual thread `thread` from now on; for `None`, that it runs no
/// virtual thread. Records the mount and unmount. Returns the number of the thread that now runs.
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

/// Makes the next records belong to `thread`; for `None`, to the carrier itself. Stores the pending
/// objects of the thread that stops running, and fetches those of the thread that runs now.
fn switch_to(tracer: &Tracer, buffer: OwnBuffer, thread: Option<u32>) {
    let (before, carrier) = buffer.owners();
    if let Some(objects) = tracer.objects.get() {
        let next = thread.unwrap_or(carrier);
        let pending = buffer.pending();
        pending.exchange(&objects.elsewhere, before, next, carrier);
    }
    buffer.switch_to(tracer.session.now(), thread);
}

/// Records the end of the virtual thread that runs here: its last name, its CPU time, and its
/// unmount.
fn finish(
    tracer: &Tracer,
    env: &mut Env<'_>,
    buffer: OwnBuffer,
    thread: ThreadRef<'_>,
    number: u32,
) {
    let session = &tracer.session;
    threads::record_name_if_changed(tracer, env, buffer, thread, number);
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

/// Returns the payload of a mount or unmount: both numbers in one word.
fn pair(thread: u32, carrier: u32) -> [u64; 1] {
    [u64::from(thread) << 32 | u64::from(carrier)]
}
