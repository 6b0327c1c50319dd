//! Garbage collections. These callbacks run while the program is stopped, on a thread of the JVM's own; they may
//! call neither JNI nor most of JVMTI. What they tell beyond the time is read from the JVM's counters, and with it collections that the JVM tells nothing of.

use super::{heap, record};
use crate::agent::{self, Agent};
use jtrail_guard::guard;
use jtrail_jvm::jvmti::abi::RawEnv;
use jtrail_jvm::perf::{self, Collection, GcCounters};
use jtrail_model::Generation;
use jtrail_options::{Events, HeapMoments, Options};
use jtrail_recorder::buffer::record::Code;
use jtrail_records::Announcement;
use parking_lot::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// What collections are told with.
#[derive(Default)]
pub(crate) struct Collections {
    /// None where the JVM has no counters, and before it is ready.
    counters: OnceLock<Mutex<GcCounters>>,
    /// The JVM may make collections without a word.
    may_be_silent: AtomicBool,
    /// Texts that the writer knows: their number is their place, from 1 on.
    texts: Mutex<Vec<String>>,
}

/// A JVM has a few dozen causes.
const MOST_TEXTS: usize = 1000;

impl Collections {
    /// The number of a text, which is announced if it is new; 0 for an empty one.
    fn text(&self, agent: &Agent, text: String) -> u64 {
        let mut texts = self.texts.lock();
        if text.is_empty() || texts.len() >= MOST_TEXTS {
            return 0;
        }
        if let Some(at) = texts.iter().position(|known| *known == text) {
            return at as u64 + 1;
        }
        texts.push(text.clone());
        let number = texts.len() as u32;
        agent.announce(Announcement::Text {
            number,
            text: text.into(),
        });
        number.into()
    }
}

/// Whether these kinds of events need to know of collections.
pub(super) fn are_wanted(options: &Options, kinds: Events) -> bool {
    are_counted(kinds) || heap::wanted(options, kinds, HeapMoments::GC)
}

/// Whether their starts are recorded: also without [`Events::GC`], as an object's age is told in collections.
fn are_counted(kinds: Events) -> bool {
    kinds.contains(Events::GC) || kinds.contains(Events::FREE)
}

/// The JVM is ready, or collections are asked for later.
pub(super) fn begin(agent: &Agent, kinds: Events) {
    if !kinds.contains(Events::GC) {
        return;
    }
    match agent.collections.counters.get() {
        Some(counters) => counters.lock().begin(),
        None => {
            if let Some(counters) = GcCounters::find() {
                let collections = &agent.collections;
                let may_be_silent = counters.may_be_silent();
                let _ = collections.counters.set(Mutex::new(counters));
                collections.may_be_silent.store(may_be_silent, Relaxed);
            }
        }
    }
}

/// Tells of the collections that the JVM said nothing of. Their times are not known: they stand where they are noticed, without a length.
pub(super) fn tell_untold(agent: &Agent) {
    // Asked for each object that is freed.
    if !agent.collections.may_be_silent.load(Relaxed) || !agent.kinds().contains(Events::GC) {
        return;
    }
    if let Some(counters) = agent.collections.counters.get() {
        // Held until they are told: another thread may be about to tell of the next one.
        tell_untold_of(agent, &mut counters.lock());
    }
}

fn tell_untold_of(agent: &Agent, counters: &mut GcCounters) {
    let Some(untold) = counters.untold() else {
        return;
    };
    for _ in 1..untold.count {
        tell_start(agent);
        tell(agent, None);
    }
    tell_start(agent);
    tell(agent, Some(untold.last));
}

fn tell_start(agent: &Agent) {
    let objects = agent.objects.get().map_or(0, |objects| objects.count());
    record(agent, agent.native_buffer(), Code::GcStart, &[objects]);
}

pub(super) unsafe extern "system" fn start(_jvmti: RawEnv) {
    guard::run("a collection's start", || {
        let Some(agent) = agent::get() else { return };
        if !are_counted(agent.kinds()) {
            return;
        }
        if let Some(counters) = agent.collections.counters.get() {
            let mut counters = counters.lock();
            if agent.kinds().contains(Events::GC) {
                tell_untold_of(agent, &mut counters);
            }
            counters.start();
        }
        tell_start(agent);
    });
}

pub(super) unsafe extern "system" fn finish(_jvmti: RawEnv) {
    guard::run("a collection's finish", || {
        let Some(agent) = agent::get() else { return };
        if agent.kinds().contains(Events::GC) {
            let counters = agent.collections.counters.get();
            tell(
                agent,
                counters.and_then(|counters| counters.lock().finish()),
            );
        }
        if heap::wanted(&agent.options, agent.kinds(), HeapMoments::GC) {
            agent.snapshots.follower.wake();
        }
        agent.sweeper.wake();
    });
}

fn tell(agent: &Agent, collection: Option<Collection>) {
    let buffer = agent.native_buffer();
    let mut sizes = [0, 0];
    if let Some(collection) = collection {
        sizes = [collection.heap, collection.used];
        if collection.has_detail() {
            let collector = agent.collections.text(agent, collection.collector);
            let cause = agent.collections.text(agent, collection.cause);
            let generation = generation(collection.generation) as u64;
            record(
                agent,
                buffer,
                Code::GcDetail,
                &[collector << 32 | cause, generation],
            );
        }
    }
    record(agent, buffer, Code::GcFinish, &sizes);
}

/// A generation as it is told.
fn generation(of: perf::Generation) -> Generation {
    match of {
        perf::Generation::Unknown => Generation::Unknown,
        perf::Generation::Young => Generation::Young,
        perf::Generation::Full => Generation::Full,
        perf::Generation::Concurrent => Generation::Concurrent,
    }
}
