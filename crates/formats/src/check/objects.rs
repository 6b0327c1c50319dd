//! The life of objects.

use super::findings::{Report, Rule};
use super::table::Table;
use crate::Severity;
use jtrail_model::{ObjectId, Timestamp};
use std::num::NonZeroU8;

/// What is known of each object, in one byte: ids without gaps index an array, so that a hundred
/// million objects take a hundred megabytes.
#[derive(Debug, Default)]
pub(super) struct Objects {
    table: Table<NonZeroU8>,
    /// The latest time of a free so far.
    last_free: Option<Timestamp>,
    /// Some objects have marks of a heap dump.
    marked: bool,
}

/// It has a definition of its own.
const DEFINED: u8 = 1;
/// A thread, a class or a heap dump made it known.
const IMPLIED: u8 = 1 << 1;
const DEAD: u8 = 1 << 2;
/// The heap dump at hand lists it.
const LISTED: u8 = 1 << 3;
/// The heap dump at hand refers to it.
const REFERRED: u8 = 1 << 4;
/// Its allocation is told.
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

    /// Takes note of a definition.
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

    /// An object's definition is its allocation.
    pub(super) fn allocated(&mut self, id: ObjectId) {
        if !id.is_none() {
            self.set(id, flag(ALLOCATED));
        }
    }

    pub(super) fn is_allocated(&self, id: ObjectId) -> bool {
        self.flags(id) & ALLOCATED != 0
    }

    /// Takes note of an object that something else is known by: that is as good as a definition.
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

    /// An event names the object. `unknown` says how bad it is when it was not defined.
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

    /// Frees have the time of the collection's end, and are written later. What happened before the
    /// latest of them may stand behind it.
    fn alive(&self, id: ObjectId, time: Timestamp, report: &mut Report) {
        if self.flags(id) & DEAD != 0 && Some(time) > self.last_free {
            report.fault(Rule::Collections, || {
                format!("object {id} is used after it was freed")
            });
        }
    }

    /// A heap dump lists the object; `false` when it did so before.
    pub(super) fn list(&mut self, id: ObjectId, time: Timestamp, report: &mut Report) -> bool {
        self.alive(id, time, report);
        let new = self.flags(id) & LISTED == 0;
        self.set(id, flag(LISTED | IMPLIED));
        self.marked = true;
        new
    }

    /// A heap dump refers to the object.
    pub(super) fn refer(&mut self, id: ObjectId) {
        if !id.is_none() {
            self.set(id, flag(REFERRED));
            self.marked = true;
        }
    }

    /// Objects that the heap dump refers to and does not list: how many, and the first of them.
    pub(super) fn unlisted(&self) -> Option<(usize, u64)> {
        let unlisted = |flags: NonZeroU8| flags.get() & (REFERRED | LISTED) == REFERRED;
        let ids = || {
            let entries = self.table.iter();
            entries.filter(move |e| unlisted(*e.1)).map(|e| e.0)
        };
        Some((ids().count(), ids().min()?))
    }

    /// Takes the marks of the last heap dump away.
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
        // Nearly in order, as threads write them.
        for id in (256..1_000_256).map(|id| ObjectId(id ^ 0xff)) {
            objects.define(id, &mut report);
        }
        assert!(report.findings.is_empty());
        assert_eq!(objects.table.len(), 1_000_000);
        let bytes = objects.table.bytes();
        assert!((1_000_000..3_000_000).contains(&bytes), "{bytes}");
        // Ids far apart take no more than their number.
        for id in (1..=1000).map(|id| ObjectId(id << 40)) {
            objects.define(id, &mut report);
        }
        assert!(objects.table.bytes() < bytes + 1000 * 64);
    }
}
