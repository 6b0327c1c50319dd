//! The trace begins, and ends.

use super::heap::{self, HeapSnapshots};
use super::sampler::Samples;
use super::table::{TABLE, requested};
use super::{Environment, Source, Tracer, capabilities, classes, gc, switch, threads};
use crate::error::Error;
use jtrail_guard::{guard, log};
use jtrail_jvm::jni::Env;
use jtrail_jvm::jvmti::abi::Event;
use jtrail_options::{Events, HeapMoments, Options};
use jtrail_recorder::buffer::record::Code;
use jtrail_recorder::pending;
use jtrail_records::record::SnapshotMoment;
use jtrail_writer::Action;

/// Adds the capabilities of these options to both environments.
///
/// # Errors
/// When the JVM can't do it.
pub(super) fn add_capabilities(tracer: &Tracer, options: &Options) -> Result<(), Error> {
    for environment in [Environment::General, Environment::Objects] {
        if let Some(jvmti) = tracer.jvmti(environment) {
            capabilities::add(jvmti, environment, options)?;
        }
    }
    Ok(())
}

/// Returns true if class files pass the agent: to be rewritten, or for their details.
fn sees_class_files(options: &Options) -> bool {
    classes::are_rewritten(options) || options.events.contains(Events::DETAILS)
}

/// The JVM is ready: the trace begins.
pub(crate) fn go_live(tracer: &'static Tracer, env: &mut Env<'_>) {
    let session = &tracer.session;
    let started = session.now();
    // A JVM that starts from an ahead-of-time cache has refused none of it so far
    // (`perf::starts_from_cache`).
    if sees_class_files(&session.options)
        && let Err(error) = session.jvmti.enable(Event::ClassFileLoadHook)
    {
        log::say(&format!("{error}; classes are not rewritten as they load"));
    }
    let (classes, jvmti) = (&session.classes, session.jvmti);
    classes.find_platform_loader(jvmti, env);
    // First, so that none is left out below.
    if let Err(error) = jvmti.enable(Event::ClassPrepare) {
        log::say(&format!(
            "{error}; the trace has no details of classes, and the program no word in it"
        ));
    }
    let numbers = threads::name_first(tracer, env);
    for source in requested(&session.options) {
        source.prepare(tracer, env);
    }
    if let Err(error) = tracer.writer.open() {
        log::say(&format!("{error}; tracing is off, the program goes on"));
    }
    tracer.writer.live(started);
    if let Some(bursts) = &session.bursts
        && !session.options.begins_idle()
    {
        bursts.arm();
        for number in bursts.begin_at_once() {
            let action = Action::Triggered(number);
            let _ = tracer.writer.begin(session.now(), action); // in its own time
        }
    }
    threads::record_first(tracer, env, &numbers);
    for source in requested(&session.options) {
        source.begin(tracer, env);
    }
}

/// The trace has begun: enables the events that would have come too early before.
pub(crate) fn went_live(tracer: &Tracer) {
    switch::enable_late(tracer);
}

/// The program can be traced: `starts` says that it is about to begin, and else it runs already.
pub(crate) fn start(tracer: &'static Tracer, env: &mut Env<'_>, starts: bool) {
    let session = &tracer.session;
    match starts {
        true => _ = session.ensure_live(env),
        false => session.go_live_once(env),
    }
    let buffer = session.buffer(env);
    if starts {
        if let Some(buffer) = buffer {
            session.record(buffer, Code::InitDone, &[0]);
        }
        tracer.instrument.returns.set(|set| {
            // The walk is a safepoint, and over with the first object.
            let walk = session.jvmti.pass_objects(|_| {
                set();
                false
            });
            _ = walk; // if there is none, all stays as it is
        });
    }
    for source in requested(&session.options) {
        source.started(tracer, env);
    }
}

/// The JVM ends, and the trace with it. Other threads may still run Java code.
pub(crate) fn end(tracer: &'static Tracer, env: &mut Env<'_>) {
    let session = &tracer.session;
    // The thread that ends the JVM may have ended for Java already.
    let own = session.buffer(env).or_else(|| session.native_buffer());
    for source in TABLE {
        source.end(tracer, env, own);
    }
    if let Some(own) = own {
        session.record(own, Code::Shutdown, &[0]);
    }
}

/// A class was unloaded. Called in the middle of a collection: no lock, no call into the JVM.
pub(crate) fn class_unloaded(tracer: &Tracer, class: u32) {
    for source in TABLE {
        source.class_unloaded(tracer, class);
    }
    if let Some(buffer) = tracer.session.native_buffer() {
        let payload = [class.into()];
        tracer.session.record(buffer, Code::ClassUnload, &payload);
    }
}

/// Makes the writer write all that is recorded, and end.
pub(crate) fn stop_writer(tracer: &Tracer) {
    let session = &tracer.session;
    tracer.writer.stop();
    if let Some(ticks) = &session.clock.ticks {
        ticks.stop();
    }
    for trigger in session
        .bursts
        .iter()
        .flat_map(|bursts| bursts.never_begun())
    {
        log::say(&format!("burst={trigger} never happened"));
    }
}

/// Ends what the agent records by itself: samples, and snapshots of the heap. What is in progress
/// is waited for.
pub(crate) fn end_own_work(tracer: &'static Tracer, env: &mut Env<'_>) {
    Samples.end(tracer, env, None);
    HeapSnapshots.end(tracer, env, None);
}

/// The agent is about to leave: the trace has ended, and the program gets its own code back.
pub(crate) fn give_back(tracer: &Tracer, env: &mut Env<'_>) {
    guard::switch_off();
    pending::end_epoch();
    stop_writer(tracer);
    tracer.session.kinds.set_on(Events::NONE);
    tracer.instrument.set_open(false);
    classes::restore(tracer, env);
}

/// Takes a snapshot of the heap on an agent thread. Returns false where none are recorded.
pub(crate) fn take_heap_snapshot(tracer: &Tracer, env: &mut Env<'_>) -> bool {
    let Some(buffer) = tracer.session.native_buffer() else {
        return false;
    };
    let records_heap = tracer.session.is_on(Events::HEAP);
    if records_heap {
        heap::take(tracer, env, buffer);
    }
    records_heap
}

/// Collects garbage, on an agent thread: between two snapshots of the heap, where the options ask
/// for them.
///
/// # Errors
/// When the JVM does not.
pub(crate) fn force_gc(tracer: &Tracer, env: &mut Env<'_>) -> Result<(), Error> {
    let session = &tracer.session;
    let kinds = session.kinds.on();
    let buffer = match heap::is_requested(&session.options, kinds, HeapMoments::FORCED) {
        true => session.native_buffer(),
        false => None,
    };
    if let Some(buffer) = buffer {
        heap::take_at(tracer, env, buffer, SnapshotMoment::BeforeCollection);
    }
    session.jvmti.force_gc()?;
    if let Some(buffer) = buffer {
        heap::take_at(tracer, env, buffer, SnapshotMoment::AfterCollection);
    }
    Ok(())
}

/// Records what there is still to say at the end of a trace, also of threads that are alive, on an
/// agent thread.
pub(crate) fn last_words(tracer: &Tracer, env: &mut Env<'_>) {
    gc::record_silent(tracer);
    if let Some(buffer) = tracer.session.native_buffer() {
        threads::last_words(tracer, env, buffer);
    }
}
