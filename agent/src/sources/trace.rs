//! The begin and the end of the trace.

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
/// If the JVM lacks one of them.
pub(super) fn add_capabilities(tracer: &Tracer, options: &Options) -> Result<(), Error> {
    for environment in [Environment::General, Environment::Objects] {
        if let Some(jvmti) = tracer.jvmti(environment) {
            capabilities::add(jvmti, environment, options)?;
        }
    }
    Ok(())
}

/// Returns true if the agent needs to see class files: to rewrite them, or to record their details.
fn sees_class_files(options: &Options) -> bool {
    classes::are_rewritten(options) || options.events.contains(Events::DETAILS)
}

/// Begins the trace, when the JVM is ready.
pub(crate) fn go_live(tracer: &'static Tracer, env: &mut Env<'_>) {
    let session = &tracer.session;
    let started = session.now();
    // If the JVM starts from an ahead-of-time cache, it has accepted the cache by now. So the load
    // hook can be enabled (`perf::starts_from_cache`).
    if sees_class_files(&session.options)
        && let Err(error) = session.jvmti.enable(Event::ClassFileLoadHook)
    {
        log::say(&format!("{error}; classes are not rewritten as they load"));
    }
    let (classes, jvmti) = (&session.classes, session.jvmti);
    classes.find_platform_loader(jvmti, env);
    // The event is enabled before the existing classes are reported below, so that no class is
    // missed.
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
            let _ = tracer.writer.begin(session.now(), action); // does not wait for the outcome
        }
    }
    threads::record_first(tracer, env, &numbers);
    for source in requested(&session.options) {
        source.begin(tracer, env);
    }
}

/// Enables the method events, which stay disabled until the trace begins.
pub(crate) fn went_live(tracer: &Tracer) {
    switch::enable_late(tracer);
}

/// Called when the program can be traced. `starts` is true if the program is about to begin. It is
/// false if the program already runs.
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
            // The heap walk is needed only for its safepoint. It stops at the first object.
            let walk = session.jvmti.visit_objects(|_| {
                set();
                false
            });
            _ = walk; // if the walk fails, hooks return as before
        });
    }
    for source in requested(&session.options) {
        source.started(tracer, env);
    }
}

/// Records what remains to be recorded when the JVM ends. The trace ends, too. Other threads may
/// still run Java code.
pub(crate) fn end(tracer: &'static Tracer, env: &mut Env<'_>) {
    let session = &tracer.session;
    // The thread that ends the JVM may already have ended as a Java thread.
    let own = session.buffer(env).or_else(|| session.native_buffer());
    for source in TABLE {
        source.end(tracer, env, own);
    }
    if let Some(own) = own {
        session.record(own, Code::Shutdown, &[0]);
    }
}

/// Records that a class was unloaded. This may be called in the middle of a collection. So it takes
/// no lock, and does not call the JVM.
pub(crate) fn class_unloaded(tracer: &Tracer, class: u32) {
    for source in TABLE {
        source.class_unloaded(tracer, class);
    }
    if let Some(buffer) = tracer.session.native_buffer() {
        let payload = [class.into()];
        tracer.session.record(buffer, Code::ClassUnload, &payload);
    }
}

/// Ends the writer. Before that, the writer writes everything that is recorded.
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

/// Ends samples and heap snapshots. Waits for a sample or snapshot that is being taken.
pub(crate) fn end_own_work(tracer: &'static Tracer, env: &mut Env<'_>) {
    Samples.end(tracer, env, None);
    HeapSnapshots.end(tracer, env, None);
}

/// Restores the program's own code after the end of the trace, because the agent is about to
/// detach.
pub(crate) fn give_back(tracer: &Tracer, env: &mut Env<'_>) {
    guard::switch_off();
    pending::end_epoch();
    stop_writer(tracer);
    tracer.session.kinds.set_on(Events::NONE);
    tracer.instrument.set_open(false);
    classes::restore(tracer, env);
}

/// Takes a heap snapshot. Called on an agent thread. Returns false if heap snapshots are not
/// recorded.
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

/// Makes the JVM collect garbage. If the options request it, takes heap snapshots before and after
/// the collection. Called on an agent thread.
///
/// # Errors
/// If the JVM refuses.
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

/// Records what remains to be recorded at the end of a trace, for example about live threads.
/// Called on an agent thread.
pub(crate) fn record_final(tracer: &Tracer, env: &mut Env<'_>) {
    gc::record_silent(tracer);
    if let Some(buffer) = tracer.session.native_buffer() {
        threads::record_final(tracer, env, buffer);
    }
}
