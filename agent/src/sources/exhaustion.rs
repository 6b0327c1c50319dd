//! When the JVM has no memory for an object or a thread, a flight recorder saves its events.

use super::{Need, Source, Tracer};
use jtrail_jvm::jvmti::abi::{Capability, Event};
use jtrail_options::{Options, SaveMoments};
use jtrail_writer::{Action, SaveReason};

/// The source of `save=oom`.
pub(super) struct Exhaustion;

impl Source for Exhaustion {
    fn requested(&self, options: &Options) -> bool {
        options.saves_at(SaveMoments::OUT_OF_MEMORY)
    }

    fn capabilities(&self, _options: &Options) -> Vec<Need> {
        let exhaustion = Capability::GenerateResourceExhaustionHeapEvents;
        vec![Need::of(exhaustion, "report that it is out of memory")]
    }

    fn permanent_events(&self) -> &'static [Event] {
        &[Event::ResourceExhausted]
    }
}

/// Makes the writer save the recorded events. The running thread does not wait for the writer,
/// because it may hold locks.
pub(crate) fn exhausted(tracer: &Tracer) {
    let save = Action::Save(SaveReason::Moment(SaveMoments::OUT_OF_MEMORY));
    drop(tracer.writer.begin(tracer.session.moment(), save));
}
