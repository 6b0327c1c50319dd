//! What the document has no place for.

use crate::Loss;
use jtrail_model::Event;
use std::collections::BTreeMap;

/// Counts what is left out.
#[derive(Clone, Debug, Default)]
pub(super) struct Losses {
    /// Events of kinds that the document does not have.
    events: BTreeMap<&'static str, u64>,
    /// Leaves without an enter.
    pub(super) leaves_alone: u64,
    /// Frees of objects whose allocation was not told of.
    pub(super) frees_alone: u64,
    /// Samples without a stack.
    empty_samples: u64,
    /// Events of such samples.
    empty_sample_events: u64,
    /// Calls and samples whose path is folded.
    pub(super) folded_calls: u64,
    pub(super) folded_samples: u64,
    /// Of events that are in the sums, what is not.
    pub(super) calls: u64,
    pub(super) samples: u64,
    pub(super) objects: u64,
    pub(super) bounds: u64,
    pub(super) thread_groups: u64,
    pub(super) thread_names: u64,
    pub(super) lines: u64,
}

impl Losses {
    /// Counts an event that leaves no trace.
    pub(super) fn event(&mut self, event: &Event<'_>) {
        *self.events.entry(kind(event)).or_default() += 1;
    }

    /// Counts an event of so many samples without a stack.
    pub(super) fn empty_sample(&mut self, ticks: u64) {
        self.empty_samples = self.empty_samples.saturating_add(ticks);
        self.empty_sample_events += 1;
    }

    /// Events that leave no trace.
    pub(super) fn events(&self) -> u64 {
        let kinds: u64 = self.events.values().sum();
        kinds + self.leaves_alone + self.frees_alone + self.empty_sample_events
    }

    pub(super) fn all(&self) -> Vec<Loss> {
        let kinds = self.events.iter().map(|(what, count)| (*what, *count));
        let others = [
            ("leaves without an enter", self.leaves_alone),
            (
                "frees of objects that were not seen allocated",
                self.frees_alone,
            ),
            ("samples without a stack", self.empty_samples),
            (
                "callers of calls, beyond the bounds of the tree",
                self.folded_calls,
            ),
            (
                "callers of samples, beyond the bounds of the tree",
                self.folded_samples,
            ),
            ("times of single calls", self.calls),
            ("times, lines and waits of single samples", self.samples),
            (
                "times, sizes and places of single allocations",
                self.objects,
            ),
            ("shortest and longest times of calls", self.bounds),
            ("groups of threads", self.thread_groups),
            ("earlier names of threads", self.thread_names),
            ("lines that no class file can have", self.lines),
        ];
        kinds
            .chain(others)
            .filter(|(_, count)| *count > 0)
            .map(|(what, count)| Loss { what, count })
            .collect()
    }
}

fn kind(event: &Event<'_>) -> &'static str {
    match event {
        Event::Node(_) | Event::ProcessCreate(_) => "descriptions of host and process",
        Event::AgentCreate(_)
        | Event::AgentDestroy(_)
        | Event::TraceStart(_)
        | Event::TraceEnd(_) => "begins and ends of agent and trace",
        Event::RuntimeInitDone(_) | Event::RuntimeShutdown(_) => "begins and ends of the runtime",
        Event::Filter(_) => "filters",
        Event::Option(_) => "options",
        Event::GcStart(_) | Event::GcFinish(_) | Event::GcDetail(_) => "events of collections",
        Event::MonitorWait(_)
        | Event::MonitorWaited(_)
        | Event::MonitorContendedEnter(_)
        | Event::MonitorContendedEntered(_) => "events of monitors",
        Event::ThreadPark(_) | Event::ThreadUnpark(_) => "parks and unparks",
        Event::ThreadMount(_) | Event::ThreadUnmount(_) => "carriers of virtual threads",
        Event::ObjectDef(_) => "objects that were not seen allocated",
        Event::ExceptionThrow(_) => "throws",
        Event::ExceptionCatch(_) => "catches",
        Event::CatchDetail(_) => "handlers of catches",
        Event::ClassDetail(_) => "details of classes",
        Event::MethodDetail(_) => "lengths of bytecode",
        Event::ClassUnload(_) | Event::ClassRedefine(_) => "changes of classes",
        Event::ClassInitStart(_) | Event::ClassInitEnd(_) => "class initialisations",
        Event::MethodCompile(_) | Event::MethodUncompile(_) => "events of compiled code",
        Event::HeapDump(_)
        | Event::GcRoot(_)
        | Event::ObjectReference(_)
        | Event::HeapObject(_)
        | Event::HeapDumpEnd(_) => "events of heap dumps",
        Event::Custom(_) => "notes and other text",
        _ => "other events",
    }
}
