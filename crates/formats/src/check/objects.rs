//! Lifetimes of objects.

use super::findings::{Report, Rule};
use super::table::Table;
use crate::Severity;
use jtrail_model::{ObjectId, Timestamp};
use std::num::NonZeroU8;

/// The state of each object, in one byte. If the ids have no gaps, they index an array: a hundred
/// million objects take a hundred megabytes.
#[derive(Debug, Default)]
pub(super) struct Objects {
    table: Table<NonZeroU8>,
    /// The latest time of a free so far.
    last_free: Option<Timestamp>,
    /// True if some objects have flags of a heap dump.
    marked: bool,
}

/// The object has a definition of its own.
const DEFINED: u8 = 1;
/// A thread, a class or a heap dump defines the object implicitly.
const IMPLIED: u8 = 1 << 1;
const DEAD: u8 = 1 << 2;
/// The current heap dump lists the object.
const LISTED: u8 = 1 << 3;
/// The current heap dump refers to the object.
const REFERRED: u8 = 1 << 4;
/// The trace has the object's allocation.
const ALLOCATED: u8 = 1 << 5;

impl Objects {
    fn flags(&self, id: ObjectId) -> u8 {
        self.table.get(id.0).map_or(0, |flags| flags.get())
    }

    fn set(&mut self, id: ObjectId, flag: NonZeroU8) {
        match self.table.get_mut(id.0) {
            Some(flags) => *flags |= flag,
            None => {
                self.table.insert(id.0, flag);
            }
        }
    }

    /// Records an object's definition.
    pub(super) fn define(&mut self, id: ObjectId, report: &mut Report) {
        if id.is_none() {
            report.fault(Rule::Ids, || {
                "an object is defined with id 0, which means none".into()
            });
        } else if self.flags(id) & DEFINED != 0 {
            report.fault(Rule::Ids, || format!("object {id} is defined again"));
        } else {
            self.set(id, flag(DEFINED));
        }
    }

    /// Records that the object's definition is its allocation.
    pub(super) fn allocated(&mut self, id: ObjectId) {
        if !id.is_none() {
            self.set(id, flag(ALLOCATED));
        }
    }

    pub(super) fn is_allocated(&self, id: ObjectId) -> bool {
        self.flags(id) & ALLOCATED != 0
    }

    /// Records that a thread, a class or a heap dump defines the object implicitly.
    pub(super) fn imply(&mut self, id: ObjectId) {
        if !id.is_none() {
            self.set(id, flag(IMPLIED));
        }
    }

    pub(super) fn free(&mut self, id: ObjectId, time: Timestamp, report: &mut Report) {
        let flags = self.flags(id);
        if flags & DEAD != 0 {
            report.fault(Rule::Collections, || {
                format!("object {id} was freed already")
            });
        } else if flags & (DEFINED | IMPLIED) == 0 {
            report.undefined("object", id.0, Severity::Fault);
        } else {
            self.set(id, flag(DEAD));
        }
        self.last_free = self.last_free.max(Some(time));
    }

    /// Checks an object that an event refers to. `unknown` is the severity if the object is
    /// undefined.
    pub(super) fn used(
        &mut self,
        id: ObjectId,
        time: Timestamp,
        unknown: Severity,
        report: &mut Report,
    ) {
        if id.is_none() {
            return;
        }
        if self.flags(id) & (DEFINED | IMPLIED) == 0 {
            report.undefined("object", id.0, unknown);
        }
        self.alive(id, time, report);
    }

    /// Checks that an object used at `time` was not freed. A free has the time of the collection's
    /// end, but is written later. So an event that happened before the latest free may follow it in
    /// the trace.
    fn alive(&self, id: ObjectId, time: Timestamp, report: &mut Report) {
        if self.flags(id) & DEAD != 0 && Some(time) > self.last_free {
            report.fault(Rule::Collections, || {
                format!("object {id} is used after it was freed")
            });
        }
    }

    /// Records that a heap dump lists the object. Returns false if the dump listed it already.
    pub(super) fn list(&mut self, id: ObjectId, time: Timestamp, report: &mut Report) -> bool {
        self.alive(id, time, report);
        let new = self.flags(id) & LISTED == 0;
        self.set(id, flag(LISTED | IMPLIED));
        self.marked = true;
        new
    }

    /// Records that a heap dump refers to the object.
    pub(super) fn refer(&mut self, id: ObjectId) {
        if !id.is_none() {
            self.set(id, flag(REFERRED));
            self.marked = true;
        }
    }

    /// Returns the number of objects that the heap dump refers to but does not list, and the lowest
    /// of their ids.
    pub(super) fn unlisted(&self) -> Option<(usize, u64)> {
        let unlisted = |flags: NonZeroU8| flags.get() & (REFERRED | LISTED) == REFERRED;
        let ids = || {
            let entries = self.table.iter();
            entries.filter(move |e| unlisted(*e.1)).map(|e| e.0)
        };
        Some((ids().count(), ids().min()?))
    }

    /// Clears the flags of the last heap dump.
    pub(super) fn unmark(&mut self) {
        if std::mem::take(&mut self.marked) {
            self.table
                .retain(|flags| NonZeroU8::new(flags.get() & !(LISTED | REFERRED)));
        }
    }
}

const fn flag(bits: u8) -> NonZeroU8 {
    match NonZeroU8::new(bits) {
        Some(bits) => bits,
        None => NonZeroU8::MIN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_takes_a_byte() {
        let mut objects = Objects::default();
        let mut report = Report::default();
        // Several threads write the ids, so these arrive only nearly in order.
        for id in (256..1_000_256).map(|id| ObjectId(id ^ 0xff)) {
            objects.define(id, &mut report);
        }
        assert!(report.findings.is_empty());
        assert_eq!(objects.table.len(), 1_000_000);
        let bytes = objects.table.bytes();
        assert!((1_000_000..3_000_000).contains(&bytes), "{bytes}");
        // If ids are far apart, the memory depends only on how many there are.
        for id in (1..=1000).map(|id| ObjectId(id << 40)) {
            objects.define(id, &mut report);
        }
        assert!(objects.table.bytes() < bytes + 1000 * 64);
    }
}
