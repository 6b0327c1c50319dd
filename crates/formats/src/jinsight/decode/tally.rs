//! What is found more than once, and told once at the end.

use crate::{Remark, Severity};
use std::collections::VecDeque;

#[derive(Debug)]
struct Row {
    severity: Severity,
    what: &'static str,
    first: u64,
    count: u64,
}

#[derive(Debug, Default)]
pub(super) struct Tally(VecDeque<Row>);

impl Tally {
    /// Takes note of some of `what` (in the plural) from a place on.
    #[cold]
    fn add(&mut self, severity: Severity, what: &'static str, offset: u64, some: u64) {
        match self.0.iter_mut().find(|row| row.what == what) {
            Some(row) => row.count += some,
            None => self.0.push_back(Row {
                severity,
                what,
                first: offset,
                count: some,
            }),
        }
    }

    pub(super) fn fault(&mut self, what: &'static str, offset: u64) {
        self.add(Severity::Fault, what, offset, 1);
    }

    pub(super) fn faults(&mut self, what: &'static str, offset: u64, some: usize) {
        self.add(Severity::Fault, what, offset, some as u64);
    }

    pub(super) fn info(&mut self, what: &'static str, offset: u64) {
        self.add(Severity::Info, what, offset, 1);
    }

    /// Takes the next remark.
    pub(super) fn pop(&mut self) -> Option<Remark> {
        let row = self.0.pop_front()?;
        Some(Remark {
            offset: row.first,
            severity: row.severity,
            message: format!("{}: {}, first here", row.what, row.count),
        })
    }
}
