//! Requests for data: `jcmd PID JVMTI.data_dump`, or a SIGQUIT.
//!
//! The answer is a heap snapshot, if snapshots at requests are recorded. For a format of totals,
//! the answer is also the document of the totals so far. A flight recorder may save its events.

use super::{Source, Tracer, heap, threads};
use jtrail_jvm::jni::Env;
use jtrail_jvm::jvmti::abi::Event;
use jtrail_options::{HeapMoments, Options, OutputFormat, SaveMoments};
use jtrail_recorder::buffer::record::Code;
use jtrail_writer::{Action, SaveReason};

/// The source of requests for data, if the agent's options have an answer.
pub(super) struct Requests;

impl Source for Requests {
    fn requested(&self, options: &Options) -> bool {
        heap::is_requested(options, options.events, HeapMoments::REQUEST)
            || has_document(options)
            || options.saves_at(SaveMoments::REQUEST)
    }

    fn permanent_events(&self) -> &'static [Event] {
        &[Event::DataDumpRequest]
    }
}

/// Returns true if the trace is one document of totals, which can be written before the trace ends.
fn has_document(options: &Options) -> bool {
    options.format == OutputFormat::ProfilerJ
}

/// Answers a request for data.
pub(crate) fn answer(tracer: &Tracer, env: &mut Env<'_>) {
    let session = &tracer.session;
    if !session.is_live() {
        return; // nothing is recorded yet
    }
    let Some(buffer) = session.buffer(env) else {
        return;
    };
    let options = &session.options;
    if heap::is_requested(options, session.kinds.on(), HeapMoments::REQUEST) {
        heap::take(tracer, env, buffer);
    }
    if has_document(options) {
        threads::record_final(tracer, env, buffer);
        session.record(buffer, Code::Snapshot, &[0]);
    }
    if options.saves_at(SaveMoments::REQUEST) {
        threads::record_final(tracer, env, buffer);
        let save = Action::Save(SaveReason::Moment(SaveMoments::REQUEST));
        tracer.writer.act(session.moment(), save);
    }
}
