//! Heap dumps: their contents, and whether they are complete.

use super::findings::{Report, Rule};
use super::objects::Objects;
use super::table::Table;
use crate::Severity;
use jtrail_model::{
    GcRoot, HeapDump, HeapDumpEnd, HeapDumpId, HeapObject, ObjectReference, Timestamp,
};

/// The heap dumps of a trace.
#[derive(Debug, Default)]
pub(super) struct Dumps {
    known: Table<()>,
    open: Option<Open>,
}

/// The heap dump that began and has not ended.
#[derive(Debug)]
struct Open {
    id: HeapDumpId,
    time: Timestamp,
    /// True if the dump lists objects, so that it must list every object that it refers to.
    lists: bool,
}

impl Dumps {
    /// Begins a heap dump. `ours` is true if jtrail recorded the trace; all its dumps must have an
    /// end.
    pub(super) fn begin(
        &mut self,
        e: &HeapDump<'_>,
        ours: bool,
        objects: &mut Objects,
        report: &mut Report,
    ) {
        super::defined(&mut self.known, e.dump.0, (), "heap dump", report);
        objects.unmark();
        let open = Open {
            id: e.dump,
            time: e.time,
            lists: false,
        };
        if let Some(before) = self.open.replace(open)
            && ours
        {
            report.fault(Rule::HeapDumps, || {
                format!("heap dump {} begins, and {} did not end", e.dump, before.id)
            });
        }
    }

    pub(super) fn root(
        &mut self,
        e: &GcRoot<'_>,
        severity: Severity,
        objects: &mut Objects,
        report: &mut Report,
    ) {
        if self.open.is_none() {
            report.add(severity, Rule::HeapDumps, || {
                format!("object {} is a root, outside of a heap dump", e.object)
            });
        }
        objects.refer(e.object);
    }

    pub(super) fn object(&mut self, e: &HeapObject, objects: &mut Objects, report: &mut Report) {
        let Some(open) = self.inside(e.dump, "an object", report) else {
            return;
        };
        open.lists = true;
        let (id, time) = (e.object, open.time);
        if id.is_none() {
            report.fault(Rule::HeapDumps, || {
                format!("heap dump {} lists an object without id", e.dump)
            });
        } else if !objects.list(id, time, report) {
            report.fault(Rule::HeapDumps, || {
                format!("heap dump {} lists object {id} again", e.dump)
            });
        }
    }

    pub(super) fn reference(
        &mut self,
        e: &ObjectReference,
        objects: &mut Objects,
        report: &mut Report,
    ) {
        if self.inside(e.dump, "a reference", report).is_some() {
            objects.refer(e.source);
            objects.refer(e.target);
        }
    }

    pub(super) fn end(&mut self, e: &HeapDumpEnd, objects: &Objects, report: &mut Report) {
        let Some(open) = self.inside(e.dump, "an end", report) else {
            return;
        };
        if open.lists
            && let Some((count, first)) = objects.unlisted()
        {
            report.fault(Rule::HeapDumps, || {
                format!(
                    "heap dump {} refers to {count} objects that it does not list, object {first} first",
                    e.dump
                )
            });
        }
        self.open = None;
    }

    /// Returns the dump that is open at the end of the trace.
    pub(super) fn unended(&self) -> Option<HeapDumpId> {
        self.open.as_ref().map(|open| open.id)
    }

    /// Returns the open dump if its id is `id`; reports `what` as misplaced if not.
    fn inside(&mut self, id: HeapDumpId, what: &str, report: &mut Report) -> Option<&mut Open> {
        if self.known.get(id.0).is_none() {
            report.undefined("heap dump", id.0, Severity::Fault);
            return None;
        }
        let open = self.open.as_mut().filter(|open| open.id == id);
        if open.is_none() {
            report.fault(Rule::HeapDumps, || {
                format!("{what} of heap dump {id}, which is not open")
            });
        }
        open
    }
}
