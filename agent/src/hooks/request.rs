//! Somebody asks the JVM for its data: `jcmd PID JVMTI.data_dump`, or a signal to quit.
//!
//! The answer is a snapshot of the heap, where those are recorded, and for a format of totals its document as it is now.

use super::{buffer, heap, record, thread};
use crate::agent::{self, Agent};
use jtrail_guard::guard;
use jtrail_jvm::jni;
use jtrail_jvm::jvmti::abi::RawEnv;
use jtrail_options::{HeapMoments, Options, OutputFormat, SaveMoments};
use jtrail_recorder::buffer::record::Code;
use jtrail_writer::{Action, SaveReason};

/// Whether these options have something to do at a request.
pub(super) fn is_wanted(options: &Options) -> bool {
    heap::wanted(options, options.events, HeapMoments::REQUEST)
        || has_document(options)
        || options.saves_at(SaveMoments::REQUEST)
}

/// Whether the trace is one document, which can be had before its end.
fn has_document(options: &Options) -> bool {
    options.format == OutputFormat::ProfilerJ
}

pub(super) unsafe extern "system" fn requested(_jvmti: RawEnv) {
    guard::run("a request for data", || {
        if let Some(agent) = agent::get() {
            answer(agent);
        }
    });
}

fn answer(agent: &Agent) {
    let Some(vm) = agent.snapshots.vm.get() else {
        return;
    };
    // SAFETY: the JVM runs.
    let Some(env) = (unsafe { jni::env_of(*vm) }) else {
        return;
    };
    let Some(buffer) = buffer(agent, env) else {
        return;
    };
    if heap::wanted(&agent.options, agent.kinds(), HeapMoments::REQUEST) {
        heap::take(agent, env, buffer);
    }
    if has_document(&agent.options) {
        thread::last_words(agent, env, buffer);
        record(agent, Some(buffer), Code::Snapshot, &[0]);
    }
    if agent.options.saves_at(SaveMoments::REQUEST) {
        thread::last_words(agent, env, buffer);
        let save = Action::Save(SaveReason::Moment(SaveMoments::REQUEST));
        agent.writer.act(agent.moment(), save);
    }
}
