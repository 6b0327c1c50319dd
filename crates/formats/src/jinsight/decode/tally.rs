//! What is found more than once, and told once at the end.

use crate::unkept::unkept;
use crate::{Remark, Severity};
use std::collections::VecDeque;

unkept! {
    Promised = "header" "numbers of events in the header that are not those of the file"
    EarlyTicks = "calls" "records from before startTicks"
    Receivers = "WIDE_METHOD_ENTER" "receivers of calls are passed over"
    Lines = "WIDE_METHOD_ENTER" "lines of calls are passed over"
    CallOverheads = "METHOD_LEAVE" "overheads of calls are passed over"
    ThreadClasses = "THREAD_DEFINE" "classes of threads are passed over"
    LateStarts = "THREAD_START" "starts of threads apart from their definition"
    DefinitionTimes = "definitions" "other times of definitions than of the load, creation or start behind them"
    LateCreations = "OBJECT_CREATED, ARRAY_CREATED" "objects made apart from their definition"
    Interfaces = "CLASS_LOAD" "interfaces with more than 1 MiB of names, of which the first are read"
    ClassIds = "CLASS_LOAD" "classes that take the id of another"
    TextTimes = "USER_EVENT" "times of texts are passed over"
    MonitorClasses = "USER_EVENT" "classes of monitors without an object"
    EndNumbers = "END_FILE" "other numbers in END_FILE"
}

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

    /// Something that no event has a place for, or that is odd and read.
    pub(super) fn passed(&mut self, what: Passed, offset: u64) {
        self.add(Severity::Info, what.unkept().what, offset, 1);
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
