//! What a reader found on its way, summed up: a line for each kind.

use crate::mlpd::FORMAT;
use crate::unkept::unkept;
use crate::{Remark, Severity, Unkept};
use std::collections::BTreeMap;

unkept! {
    Metadata = "metadata" "images, assemblies, domains and contexts"
    ModuleIds = "metadata: loaded" "module ids of images"
    TableDomains = "metadata: loaded" "domains of tables"
    FailedClasses = "metadata: failed" "classes that could not be loaded"
    LateMethods = "code" "methods defined behind their use"
    Synchronizations = "synchronization" "synchronization points"
    Callers = "allocation" "callers of allocating methods"
    LongStacks = "exception, monitor" "stacks with more than 1 MiB of names, whose innermost frames are read"
    Moves = "moves" "moves of objects whose ids stay"
    Phases = "collection" "phases of collections"
    OldGenerations = "collection" "generations above 1, read as full collections"
    BeginGenerations = "collection" "generations at begins of collections that are not those of their ends"
    HeapSizes = "heap size" "heap sizes without an end of a collection behind them"
    ThreadEnds = "metadata: unloaded" "ends of threads that others tell of"
    OtherClauses = "clause" "filter and fault clauses"
    GivenUp = "monitor" "contentions given up"
    ObjectGenerations = "object of a dump" "generations of objects in heap dumps"
    FieldOffsets = "object of a dump" "offsets of references in heap dumps"
    RootAddresses = "roots" "addresses of roots"
    Sizes = "allocation, heap size, code, object of a dump" "sizes above 63 bits, read as the largest"
    Texts = "metadata, code" "texts that are no UTF-8, read with U+FFFD"
}

/// What the reader passes over.
pub(crate) const PASSED_OVER: &[Unkept] = Passed::ALL;

/// Kinds of findings, with their numbers and first places.
#[derive(Debug, Default)]
pub(super) struct Tally(BTreeMap<&'static str, Entry>);

#[derive(Debug)]
struct Entry {
    severity: Severity,
    first: u64,
    count: u64,
}

impl Tally {
    /// Counts something that the model has no event for.
    #[cold]
    pub(super) fn passed(&mut self, what: Passed, place: u64) {
        self.add(Severity::Info, what.unkept().what, place);
    }

    /// The same, if there is anything to count.
    #[inline]
    pub(super) fn passed_if(&mut self, found: bool, what: Passed, place: u64) {
        if found {
            self.passed(what, place);
        }
    }

    /// Counts something that is wrong.
    pub(super) fn fault(&mut self, what: &'static str, place: u64) {
        self.add(Severity::Fault, what, place);
    }

    fn add(&mut self, severity: Severity, what: &'static str, place: u64) {
        let entry = self.0.entry(what).or_insert(Entry {
            severity,
            first: place,
            count: 0,
        });
        entry.count += 1;
    }

    /// One finding after the other, and then none.
    pub(super) fn take(&mut self) -> Option<Remark> {
        let (what, entry) = self.0.pop_first()?;
        let count = entry.count;
        Some(Remark {
            offset: entry.first,
            severity: entry.severity,
            message: format!("{FORMAT}: {what} ({count} times, here first)"),
        })
    }
}
