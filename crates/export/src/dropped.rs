//! Counts of what a target has no place for.

use jtrail_formats::DropCount;
use jtrail_model::Kind;

/// Counts dropped events by their kind in words.
#[derive(Clone, Debug, Default)]
pub(crate) struct DropTally {
    counts: Vec<DropCount>,
}

impl DropTally {
    /// Counts a dropped event, unless nobody expects it in the target.
    pub(crate) fn event(&mut self, kind: Kind) {
        let Some(what) = words(kind) else {
            return;
        };
        match self.counts.iter_mut().find(|count| count.what == what) {
            Some(count) => count.count += 1,
            None => self.counts.push(DropCount { what, count: 1 }),
        }
    }

    /// Returns the kinds that occurred, in the order of their first events.
    pub(crate) fn counts(&self) -> Vec<DropCount> {
        self.counts.clone()
    }

    /// Returns the number of dropped events.
    pub(crate) fn events(&self) -> u64 {
        self.counts.iter().map(|count| count.count).sum()
    }
}

/// Returns the kind in words, in the plural. `None` for definitions and for the frame of a trace,
/// from which targets take what they need.
fn words(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::ObjectAlloc | Kind::AllocationSum => "allocations",
        Kind::ObjectFree => "object frees",
        Kind::ObjectCounts | Kind::LiveObjects => "counts of live objects",
        Kind::GcStart | Kind::GcFinish | Kind::GcDetail => "collections",
        Kind::Custom => "marks",
        Kind::AggregatedEnter | Kind::AggregatedLeave | Kind::AggregatedDetail => {
            "calls that were recorded as sums"
        }
        Kind::HeapDump
        | Kind::HeapDumpEnd
        | Kind::GcRoot
        | Kind::HeapObject
        | Kind::ObjectReference => "contents of heap dumps",
        Kind::ExceptionThrow => "throws",
        Kind::ExceptionCatch => "catches",
        Kind::CatchDetail => "handlers of exceptions",
        Kind::ThreadCpu => "CPU times of threads",
        Kind::ProcessCpu => "CPU times of the process",
        Kind::ThreadMount | Kind::ThreadUnmount => "carriers of virtual threads",
        Kind::Sample | Kind::SampleSum => "samples",
        Kind::ClassDetail => "details of classes",
        Kind::ClassUnload => "class unloads",
        Kind::ClassRedefine => "class redefinitions",
        Kind::ClassInitStart | Kind::ClassInitEnd => "class initialisations",
        Kind::MethodCompile | Kind::MethodUncompile | Kind::MethodDetail => "compiled code",
        Kind::LineCounts => "line counts",
        Kind::TracePause | Kind::TraceResume => "pauses of the trace",
        _ => return None,
    })
}
