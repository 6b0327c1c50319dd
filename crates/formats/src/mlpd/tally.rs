//! What a reader found on its way, summed up: a line for each kind.

use super::FORMAT;
use crate::{Remark, Severity};
use std::collections::BTreeMap;

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
    pub(super) fn info(&mut self, what: &'static str, place: u64) {
        self.add(Severity::Info, what, place);
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
