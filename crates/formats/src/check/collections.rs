//! Garbage collections, and the order of object frees relative to them.

use super::findings::{Report, Rule};
use jtrail_model::{ObjectId, TraceOption};

/// The garbage collections of a trace.
///
/// An object can be freed only after a collection that ended after the object's allocation. Object
/// ids rise in the order of creation. So one number is enough to find objects that are freed too
/// early: the largest id at the end of the last collection.
#[derive(Debug, Default)]
pub(super) struct Collections {
    is_under_way: bool,
    /// Number of collections that began and whose details the JVM has not reported.
    unreported: u64,
    /// The first object that was freed during the current collection, and the number of such frees.
    early: Option<(ObjectId, u64)>,
    /// True if the trace contains all collections.
    are_reported: bool,
    /// True if only a collection can end an object whose allocation is in the trace.
    end_all: bool,
    /// The largest id of an allocated object.
    youngest: u64,
    /// The value of `youngest` at the end of the last collection, or at the last pause or resume.
    settled: u64,
}

impl Collections {
    /// Reads from an option of the trace which events were recorded.
    pub(super) fn option(&mut self, e: &TraceOption<'_>) {
        match &*e.key {
            "events" => self.are_reported = e.value.split('+').any(|kind| kind == "gc"),
            // With `sites`, an object whose constructor fails ends without a collection.
            "alloc" => self.end_all = e.value == "jvm",
            _ => {}
        }
    }

    pub(super) fn begin(&mut self, report: &mut Report) {
        if std::mem::replace(&mut self.is_under_way, true) {
            report.fault(Rule::Collections, || {
                "a collection begins inside of another".into()
            });
        }
        self.unreported += 1;
    }

    pub(super) fn finish(&mut self, report: &mut Report) {
        if !std::mem::replace(&mut self.is_under_way, false) {
            report.fault(Rule::Collections, || {
                "a collection ends, and did not begin".into()
            });
        }
        if let Some((object, count)) = self.early.take() {
            report.fault(Rule::Collections, || {
                format!("the collection ends after {count} frees inside of it, that of object {object} first")
            });
        }
        self.may_be_left_out();
    }

    /// Notes that the trace pauses or resumes here, so that collections may be missing.
    pub(super) fn may_be_left_out(&mut self) {
        self.settled = self.youngest;
    }

    /// Checks a collection's details: the JVM may report them late, but only once per collection.
    pub(super) fn detail(&mut self, report: &mut Report) {
        match self.unreported.checked_sub(1) {
            Some(left) => self.unreported = left,
            None => report.fault(Rule::Collections, || {
                "a detail of a collection that did not begin, or was reported already".into()
            }),
        }
    }

    pub(super) fn allocated(&mut self, object: ObjectId) {
        self.youngest = self.youngest.max(object.0);
    }

    /// Checks the free of an object in a trace of this agent. `is_allocated` is true if the trace
    /// contains the object's allocation.
    pub(super) fn freed(&mut self, object: ObjectId, is_allocated: bool, report: &mut Report) {
        if self.is_under_way {
            // The fault is reported when the collection ends. If the trace ends before, nothing is
            // reported.
            let (_, count) = self.early.get_or_insert((object, 0));
            *count += 1;
        } else if self.are_reported && self.end_all && is_allocated && object.0 > self.settled {
            report.fault(Rule::Collections, || {
                format!("object {object} is freed, and no collection ended since it was made")
            });
        }
    }

    /// True if the current collection has not ended.
    pub(super) fn is_under_way(&self) -> bool {
        self.is_under_way
    }
}
