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
        self.add(DropCount { what, count: 1 });
    }

    /// Counts the calls of a sum. A sum takes several events, whose number says nothing to users.
    pub(crate) fn summed_calls(&mut self, calls: i64) {
        match u64::try_from(calls) {
            // A sum of no calls stands for the caller of others.
            Err(_) | Ok(0) => {}
            Ok(count) => self.add(DropCount {
                what: "calls that were recorded as sums",
                count,
            }),
        }
    }

    /// Adds to what was dropped.
    pub(crate) fn add(&mut self, dropped: DropCount) {
        match self
            .counts
            .iter_mut()
            .find(|other| other.what == dropped.what)
        {
            Some(other) => other.count = other.count.saturating_add(dropped.count),
            None => self.counts.push(dropped),
        }
    }

    /// Returns what was dropped, in the order of the first events.
    pub(crate) fn counts(&self) -> Vec<DropCount> {
        self.counts.clone()
    }

    /// Returns the number of dropped events, with each call of a sum.
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
