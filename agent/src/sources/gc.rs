//! Garbage collections. The callbacks run on a thread of the JVM's own while the program is
//! stopped. They may call neither JNI nor most of JVMTI. The JVM's counters show all figures of a
//! collection except its time. They also show collections for which the JVM sends no event.

use super::{Need, Source, Tracer, heap};
use jtrail_jvm::jni::Env;
use jtrail_jvm::jvmti::abi::{Capability, Event};
use jtrail_jvm::perf::{self, Collection, GcCounters};
use jtrail_model::Generation;
use jtrail_options::{Events, HeapMoments, Options};
use jtrail_recorder::buffer::OwnBuffer;
use jtrail_recorder::buffer::record::Code;
use parking_lot::Mutex;
use std::sync::atomic::Ordering::Relaxed;

/// The source of `events=gc`. It is also needed for the ages of dead objects, and for heap
/// snapshots after collections.
pub(super) struct Collections;

impl Source for Collections {
    fn requested(&self, options: &Options) -> bool {
        are_requested(options, options.events)
    }

    fn capabilities(&self, _options: &Options) -> Vec<Need> {
        let collections = Capability::GenerateGarbageCollectionEvents;
        vec![Need::of(collections, "report garbage collections")]
    }

    fn events(&self, options: &Options, kinds: Events) -> &'static [Event] {
        match are_requested(options, kinds) {
            true => &[
                Event::GarbageCollectionStart,
                Event::GarbageCollectionFinish,
            ],
            false => &[],
        }
    }

    fn prepare(&self, tracer: &'static Tracer, _env: &mut Env<'_>) {
        begin(tracer);
    }

    fn switched(&self, tracer: &'static Tracer, _env: &mut Env<'_>) {
        begin(tracer);
    }

    fn end(&self, tracer: &'static Tracer, _env: &mut Env<'_>, _buffer: Option<OwnBuffer>) {
        record_silent(tracer);
    }
}

/// Returns true if these kinds of events need the events of collections.
fn are_requested(options: &Options, kinds: Events) -> bool {
    are_counted(kinds) || heap::is_requested(options, kinds, HeapMoments::GC)
}

/// Returns true if the starts of collections are recorded. [`Events::FREE`] needs them, too,
/// because an object's age is counted in collections.
fn are_counted(kinds: Events) -> bool {
    kinds.contains(Events::GC) || kinds.contains(Events::FREE)
}

/// Finds the JVM's counters. If they were found before, restarts counting. Called when the JVM is
/// ready, and when kinds are switched.
fn begin(tracer: &Tracer) {
    if !tracer.session.is_on(Events::GC) {
        return;
    }
    let state = &tracer.collections;
    match state.counters.get() {
        Some(counters) => counters.lock().begin(),
        None => {
            if let Some(counters) = GcCounters::find() {
                let may_be_silent = counters.may_be_silent();
                let _ = state.counters.set(Mutex::new(counters));
                state.may_be_silent.store(may_be_silent, Relaxed);
            }
        }
    }
}

/// Records the collections for which the JVM sent no event. Their times are unknown. So each is
/// recorded without a duration, at the time when it is noticed.
pub(super) fn record_silent(tracer: &Tracer) {
    let state = &tracer.collections;
    // A cheap check first, because this is called for each freed object.
    if !state.may_be_silent.load(Relaxed) || !tracer.session.is_on(Events::GC) {
        return;
    }
    if let Some(counters) = state.counters.get() {
        // Locked until the collections are recorded, because another thread may be about to record
        // the next one.
        record_silent_of(tracer, &mut counters.lock());
    }
}

fn record_silent_of(tracer: &Tracer, counters: &mut GcCounters) {
    let Some(unreported) = counters.unreported() else {
        return;
    };
    for _ in 1..unreported.count {
        record_start(tracer);
        record_finish(tracer, None);
    }
    record_start(tracer);
    record_finish(tracer, Some(unreported.last));
}

fn record_start(tracer: &Tracer) {
    let objects = tracer.objects.get().map_or(0, |objects| objects.count());
    if let Some(buffer) = tracer.session.native_buffer() {
        tracer.session.record(buffer, Code::GcStart, &[objects]);
    }
}

/// Records that a collection starts.
pub(crate) fn start(tracer: &Tracer) {
    let session = &tracer.session;
    if !are_counted(session.kinds.on()) {
        return;
    }
    if let Some(counters) = tracer.collections.counters.get() {
        let mut counters = counters.lock();
        if session.is_on(Events::GC) {
            record_silent_of(tracer, &mut counters);
        }
        counters.start();
    }
    record_start(tracer);
}

/// Records that a collection is over.
pub(crate) fn finish(tracer: &Tracer) {
    let session = &tracer.session;
    if session.is_on(Events::GC) {
        let counters = tracer.collections.counters.get();
        let collection = counters.and_then(|counters| counters.lock().finish());
        record_finish(tracer, collection);
    }
    if heap::is_requested(&session.options, session.kinds.on(), HeapMoments::GC) {
        heap::wake_after_collection(tracer);
    }
    tracer.frees.wake_after_collection();
}

fn record_finish(tracer: &Tracer, collection: Option<Collection>) {
    let session = &tracer.session;
    let Some(buffer) = session.native_buffer() else {
        return;
    };
    let mut sizes = [0, 0];
    if let Some(collection) = collection {
        sizes = [collection.heap, collection.used];
        if collection.has_detail() {
            let state = &tracer.collections;
            let collector = state.text(session, collection.collector);
            let cause = state.text(session, collection.cause);
            let generation = generation(collection.generation) as u64;
            let payload = [collector << 32 | cause, generation];
            session.record(buffer, Code::GcDetail, &payload);
        }
    }
    session.record(buffer, Code::GcFinish, &sizes);
}

/// Converts a generation for its record.
fn generation(of: perf::Generation) -> Generation {
    match of {
        perf::Generation::Unknown => Generation::Unknown,
        perf::Generation::Young => Generation::Young,
        perf::Generation::Full => Generation::Full,
        perf::Generation::Concurrent => Generation::Concurrent,
    }
}
