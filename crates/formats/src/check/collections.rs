//! Collections of garbage, and where the ends of objects stand among them.

use super::findings::{Report, Rule};
use jtrail_model::{ObjectId, TraceOption};

/// The collections of a trace.
///
/// An object is found dead by a collection that finishes behind its allocation, and its free stands
/// behind that finish. Numbers of objects rise in the order of creation, so the largest one before
/// each finish tells which objects are too young to be freed: one number for all.
#[derive(Debug, Default)]
pub(super) struct Collections {
    is_under_way: bool,
    /// Those that began, less those that the JVM has told of.
    unreported: u64,
    /// Freed in the one under way: the first object, and how many.
    early: Option<(ObjectId, u64)>,
    /// The trace has all collections.
    are_reported: bool,
    /// Each object that the trace has the allocation of is there when it is told, and only a
    /// collection ends it.
    end_all: bool,
    /// The largest number of an allocated object.
    youngest: u64,
    /// The same, before the last collection that finished, or that may have been left out.
    settled: u64,
}

impl Collections {
    /// What was recorded, as the trace says itself.
    pub(super) fn option(&mut self, e: &TraceOption<'_>) {
        match &*e.key {
            "events" => self.are_reported = e.value.split('+').any(|kind| kind == "gc"),
            // With sites, constructors may fail.
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

    /// The trace pauses or goes on, so that collections may be missing here.
    pub(super) fn may_be_left_out(&mut self) {
        self.settled = self.youngest;
    }

    /// What the JVM says of a collection may come late, but once for each.
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

    /// An object is freed, in a trace of ours. `is_allocated`: the trace has its allocation.
    pub(super) fn freed(&mut self, object: ObjectId, is_allocated: bool, report: &mut Report) {
        if self.is_under_way {
            // No fault if the trace ends here, with the collection under way.
            let (_, count) = self.early.get_or_insert((object, 0));
            *count += 1;
        } else if self.are_reported && self.end_all && is_allocated && object.0 > self.settled {
            report.fault(Rule::Collections, || {
                format!("object {object} is freed, and no collection ended since it was made")
            });
        }
    }

    /// Whether one has not ended.
    pub(super) fn is_under_way(&self) -> bool {
        self.is_under_way
    }
}
