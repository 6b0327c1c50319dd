//! Platform threads, including threads that native code attaches: their starts, ends, numbers and
//! names.

use super::{Source, Tracer, allocations, cpu, frees, own_threads, pending, virtual_threads};
use crate::session::{ENDED, Threads as Numbers, runs_agent_code};
use jtrail_jvm::jni::{Env, ThreadRef};
use jtrail_jvm::jvmti::ThreadNames;
use jtrail_jvm::jvmti::abi::Event;
use jtrail_options::{Events, Options};
use jtrail_recorder::buffer::record::Code;
use jtrail_recorder::buffer::{OwnBuffer, live};
use jtrail_records::Definition;
use jtrail_records::definition::{ObjectInfo, ThreadInfo};
use jtrail_records::record::NO_THREAD;
use rustc_hash::FxHashMap;

/// The source of `events=threads`. It is also needed for other kinds whose records belong to a
/// thread.
pub(super) struct Threads;

impl Source for Threads {
    /// Thread events are needed in two cases: if records belong to threads, and if the trace must
    /// end at the ThreadEnd event of the thread that ends the JVM ([`frees`]). Without thread
    /// events, the system releases a thread's buffer with the thread-local variables.
    fn requested(&self, options: &Options) -> bool {
        virtual_threads::are_requested(options) || allocations::name_objects(options.events)
    }

    fn permanent_events(&self) -> &'static [Event] {
        &[Event::ThreadStart, Event::ThreadEnd]
    }

    fn end(&self, tracer: &'static Tracer, env: &mut Env<'_>, buffer: Option<OwnBuffer>) {
        if let Some(buffer) = buffer {
            record_final(tracer, env, buffer);
        }
    }
}

/// Defines the threads that existed before the trace, before the writer starts. Returns the numbers
/// of these threads.
pub(super) fn name_first(tracer: &Tracer, env: &mut Env<'_>) -> Vec<u32> {
    env.with_frame(|env| {
        let threads = tracer.session.jvmti.all_threads(env).unwrap_or_default();
        let numbers = threads.into_iter();
        let numbers = numbers.filter_map(|thread| number_of(tracer, env, thread));
        numbers.collect()
    })
}

/// Records the starts of the threads that existed before the trace.
pub(super) fn record_first(tracer: &Tracer, env: &mut Env<'_>, numbers: &[u32]) {
    let Some(first) = numbers.first() else { return };
    // The running thread is one of these threads. Its buffer can't be created in the usual way yet.
    let own = name_running(tracer, env).unwrap_or(*first);
    let buffer = virtual_threads::new_buffer(tracer, env, own);
    for number in numbers {
        let payload = [u64::from(*number)];
        tracer.session.record(buffer, Code::ThreadStart, &payload);
    }
}

/// Records that a platform thread has started. Called on the thread itself, before it runs any Java
/// code.
pub(crate) fn started(tracer: &Tracer, env: &mut Env<'_>, thread: ThreadRef<'_>) {
    let session = &tracer.session;
    if runs_agent_code() {
        return own_threads::skip(tracer, env, thread);
    }
    if own_threads::is_starting(tracer, env, thread) || !session.ensure_live(env) {
        return; // a thread from before the trace is recorded by `record_first`
    }
    // To create the thread's `Thread` object, Java code may have run on the thread before. The
    // object had no name then.
    let was_named = session.jvmti.thread_number().is_ok_and(|n| n != NO_THREAD);
    let Some(number) = name_thread(tracer, env, Some(thread)) else {
        return;
    };
    if was_named {
        numbers(tracer).set(env.thread_id(Some(thread)), number);
        define(tracer, env, thread, number);
    }
    let buffer = session.buffer_of(number);
    session.record(buffer, Code::ThreadStart, &[u64::from(number)]);
}

/// Records that a platform thread ends. Called on the thread itself, after its Java code. The JVM
/// also sends the event for the thread that stops the JVM (`System.exit`). Calls of that thread are
/// still open, so its end is not recorded.
pub(crate) fn ended(tracer: &'static Tracer, env: &mut Env<'_>, thread: ThreadRef<'_>) {
    let session = &tracer.session;
    if !session.ensure_live(env) {
        return;
    }
    let has_frames = session.jvmti.frame_count().is_ok_and(|count| count > 0);
    if has_frames {
        return frees::thread_ended(tracer, env, thread, true);
    }
    if let Some(number) = name_thread(tracer, env, Some(thread)) {
        let buffer = session.buffer_of(number);
        record_name_if_changed(tracer, env, buffer, thread, number);
        if session.is_on(Events::CPU) {
            cpu::record_thread(tracer, buffer, number, cpu::now());
        }
        pending::thread_ends(tracer, buffer);
        session.record(buffer, Code::ThreadEnd, &[u64::from(number)]);
        if let Some(bursts) = &session.bursts {
            bursts.forget(number);
        }
        forget(tracer, env, thread);
    }
    live::finish();
    frees::thread_ended(tracer, env, thread, false);
}

fn numbers(tracer: &Tracer) -> &Numbers {
    &tracer.session.threads
}

/// Returns the number of the running thread, and numbers the thread if it has none. Returns `None`
/// if the thread has ended.
pub(super) fn name_running(tracer: &Tracer, env: &mut Env<'_>) -> Option<u32> {
    name_thread(tracer, env, None)
}

/// Like [`name_running`]. `thread` is a reference to the running thread, if the caller has one.
fn name_thread(tracer: &Tracer, env: &mut Env<'_>, thread: Option<ThreadRef<'_>>) -> Option<u32> {
    let jvmti = tracer.session.jvmti;
    match jvmti.thread_number().ok()? {
        NO_THREAD => {}
        ENDED => return None,
        number => return Some(number),
    }
    let thread = match thread {
        Some(thread) => Some(thread),
        None => jvmti.current_thread(env).ok()?,
    };
    let id = env.thread_id(thread);
    let number = number_by_id(tracer, env, id, thread)?;
    jvmti.set_thread_number(number).ok()?;
    Some(number)
}

/// Returns the number of any thread, and numbers the thread if it has none. Returns `None` if the
/// thread has ended, or its `Thread` object is being created.
pub(super) fn number_of(tracer: &Tracer, env: &mut Env<'_>, thread: ThreadRef<'_>) -> Option<u32> {
    match env.thread_id(Some(thread)) {
        0 => None,
        id => number_by_id(tracer, env, id, Some(thread)),
    }
}

/// Returns the number of any thread; `None` if the thread has none.
pub(super) fn known_number(tracer: &Tracer, env: &Env<'_>, thread: ThreadRef<'_>) -> Option<u32> {
    numbers(tracer).known(env.thread_id(Some(thread)))
}

/// Returns the number of the thread with that id, and numbers the thread if it has none. The id 0
/// means the running thread, if its `Thread` object does not exist yet.
fn number_by_id(
    tracer: &Tracer,
    env: &mut Env<'_>,
    id: i64,
    thread: Option<ThreadRef<'_>>,
) -> Option<u32> {
    if let Some(found) = numbers(tracer).find(id) {
        return found;
    }
    // The thread is described before the lock is taken, so that other threads need not wait for the
    // JVM.
    let info = describe(tracer, env, thread);
    let name = info.name.clone();
    numbers(tracer).number(id, &name, |number| {
        let info = ThreadInfo { number, ..info };
        let definition = Definition::Thread(Box::new(info));
        tracer.session.define(definition);
    })
}

/// Defines a thread again, because its name is known now.
fn define(tracer: &Tracer, env: &mut Env<'_>, thread: ThreadRef<'_>, number: u32) {
    let info = describe(tracer, env, Some(thread));
    numbers(tracer).set_name(env.thread_id(Some(thread)), &info.name);
    let info = ThreadInfo { number, ..info };
    let definition = Definition::Thread(Box::new(info));
    tracer.session.define(definition);
}

/// Describes a thread, without its number.
fn describe(tracer: &Tracer, env: &mut Env<'_>, thread: Option<ThreadRef<'_>>) -> ThreadInfo {
    let names = tracer.session.jvmti.thread_names(thread);
    let ThreadNames {
        name,
        group,
        parent_group,
    } = names.unwrap_or_default();
    ThreadInfo {
        number: NO_THREAD,
        name: name.into(),
        group: group.into(),
        parent_group: parent_group.into(),
        object: thread.and_then(|thread| object_of(tracer, env, thread)),
    }
}

fn object_of(tracer: &Tracer, env: &mut Env<'_>, thread: ThreadRef<'_>) -> Option<ObjectInfo> {
    let objects = tracer.objects.get()?;
    let described = objects.describe(&tracer.session, env, thread.as_object());
    Some(described?.0)
}

/// Notes that the running thread has ended.
pub(super) fn forget(tracer: &Tracer, env: &Env<'_>, thread: ThreadRef<'_>) {
    let jvmti = tracer.session.jvmti;
    // Only platform threads store their number in the JVM, except for virtual threads that
    // [`name_thread`] has numbered.
    if jvmti.thread_number().is_ok_and(|n| n != NO_THREAD) {
        let _ = jvmti.set_thread_number(ENDED);
    }
    numbers(tracer).end(env.thread_id(Some(thread)));
}

/// Records a thread's name if it has changed since it was last defined.
pub(super) fn record_name_if_changed(
    tracer: &Tracer,
    env: &Env<'_>,
    buffer: OwnBuffer,
    thread: ThreadRef<'_>,
    number: u32,
) {
    let session = &tracer.session;
    if !session.is_on(Events::THREADS) {
        return;
    }
    let Ok(name) = session.jvmti.thread_name(thread) else {
        return;
    };
    let id = env.thread_id(Some(thread));
    if numbers(tracer).has_name(id, &name) {
        return;
    }
    session.define(Definition::ThreadName {
        number,
        name: (&*name).into(),
    });
    session.record(buffer, Code::ThreadName, &[number.into()]);
    // Another thread may have reported the same name already; a duplicate is harmless.
    numbers(tracer).set_name(id, &name);
}

/// Records what remains to be recorded about live threads at the end of the trace.
pub(crate) fn record_final(tracer: &Tracer, env: &mut Env<'_>, buffer: OwnBuffer) {
    let session = &tracer.session;
    let mut threads = FxHashMap::default();
    for thread in session.jvmti.all_threads(env).unwrap_or_default() {
        if let Some(number) = known_number(tracer, env, thread) {
            record_name_if_changed(tracer, env, buffer, thread, number);
            threads.insert(number, thread);
        }
    }
    if !session.is_on(Events::CPU) {
        return;
    }
    let clock_of = |thread: &ThreadRef<'_>| session.jvmti.thread_cpu_time(*thread).ok();
    for (number, thread) in &threads {
        if let Some(used) = clock_of(thread) {
            cpu::record_thread(tracer, buffer, *number, used);
        }
    }
    cpu::record_virtual(tracer, buffer, |carrier| {
        threads.get(&carrier).and_then(clock_of)
    });
}
