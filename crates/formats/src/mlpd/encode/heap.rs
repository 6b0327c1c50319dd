//! Writes heap dumps: each object with its references.

use super::Encoder;
use super::definitions::file_id;
use super::dropped::Dropped;
use super::output::{DEFINING, Output, THREADLESS};
use crate::mlpd::DataVersion;
use crate::mlpd::wire::{HEAP_END, HEAP_OBJECT, HEAP_ROOT, HEAP_START, ROOT_KINDS};
use jtrail_model::{
    GcRoot, HeapDump, HeapDumpId, HeapObject, ObjectId, ObjectReference, Timestamp,
};
use std::collections::HashMap;

/// Maximum number of references in one record of an object. The encoder holds the references back
/// until the record is complete.
const REFERENCES: usize = 4096;
/// Number of objects per page of [`Bits`].
const PAGE: u64 = 4096;

/// Heap dump being written.
#[derive(Debug, Default)]
pub(in crate::mlpd) struct Dump {
    open: Option<HeapDumpId>,
    time: u64,
    seen: Bits,
    /// The last listed object, which is not written yet.
    pub(super) listed: Option<Listed>,
}

/// Object of a heap dump, with some of its references.
#[derive(Debug)]
pub(super) struct Listed {
    time: u64,
    object: ObjectId,
    class: u64,
    /// Size of the object; 0 if the object itself was written before.
    size: u64,
    references: Vec<u64>,
}

impl Listed {
    pub(super) fn time(&self) -> u64 {
        self.time
    }
}

/// Set of objects. It takes one bit per object.
#[derive(Debug, Default)]
struct Bits(HashMap<u64, Box<[u64; PAGE as usize / 64]>>);

impl Bits {
    fn place(id: ObjectId) -> (u64, usize, u64) {
        let within = (id.0 % PAGE) as usize;
        (id.0 / PAGE, within / 64, 1 << (within % 64))
    }

    fn has(&self, id: ObjectId) -> bool {
        let (page, word, bit) = Self::place(id);
        self.0.get(&page).is_some_and(|page| page[word] & bit != 0)
    }

    /// Adds an object. Returns `false` if the set contains it already.
    fn add(&mut self, id: ObjectId) -> bool {
        let (page, word, bit) = Self::place(id);
        let page = self.0.entry(page);
        let page = page.or_insert_with(|| Box::new([0; PAGE as usize / 64]));
        let new = page[word] & bit == 0;
        page[word] |= bit;
        new
    }
}

impl Encoder {
    pub(super) fn dump_start(&mut self, e: &HeapDump<'_>) -> usize {
        self.dropped.part_if(!e.name.is_empty(), Dropped::DumpNames);
        self.dump_end(None);
        self.event_at(THREADLESS, e.time, HEAP_START);
        self.dump.time = self.clock(e.time);
        self.dump.open = Some(e.dump);
        THREADLESS
    }

    /// Ends the open heap dump if it has the id in `end`, or any open dump if `end` is `None`.
    pub(super) fn dump_end(&mut self, end: Option<(HeapDumpId, Timestamp)>) -> usize {
        let Some(open) = self.dump.open else {
            self.dropped.event_if(end.is_some(), Dropped::DumpObjects);
            return DEFINING;
        };
        if end.is_some_and(|(dump, _)| dump != open) {
            self.dropped.event(Dropped::DumpObjects);
            return DEFINING;
        }
        self.finish_listed();
        match end {
            Some((_, time)) => {
                self.event_at(THREADLESS, time, HEAP_END);
            }
            None => {
                self.batch_for(THREADLESS, self.dump.time);
                self.output.event(THREADLESS, self.dump.time, HEAP_END);
            }
        }
        self.dump = Dump::default();
        THREADLESS
    }

    pub(super) fn dump_object(&mut self, e: &HeapObject) -> usize {
        if self.dump.open != Some(e.dump) || e.object.is_none() || !self.dump.seen.add(e.object) {
            self.dropped.event(Dropped::DumpObjects);
            return DEFINING;
        }
        let class = file_id(self.definitions.class(e.class, &mut self.output));
        // Size 0 would mean that the dump has already listed the object.
        let size = u64::try_from(e.size).unwrap_or(0).max(1);
        self.dropped
            .part_if(size.cast_signed() != e.size, Dropped::Sizes);
        self.list(e.object, class, size);
        THREADLESS
    }

    fn list(&mut self, object: ObjectId, class: u64, size: u64) {
        self.finish_listed();
        self.dump.listed = Some(Listed {
            time: self.dump.time,
            object,
            class,
            size,
            references: Vec::new(),
        });
    }

    pub(super) fn dump_reference(&mut self, e: &ObjectReference) -> usize {
        let known = self.dump.open == Some(e.dump) && self.dump.seen.has(e.source);
        if !known || e.target.is_none() {
            self.dropped.event(Dropped::DumpReferences);
            return DEFINING;
        }
        let fits =
            |listed: &Listed| listed.object == e.source && listed.references.len() < REFERENCES;
        if !self.dump.listed.as_ref().is_some_and(fits) {
            self.list(e.source, 0, 0);
        }
        if let Some(listed) = &mut self.dump.listed {
            listed.references.push(e.target.0);
        }
        THREADLESS
    }

    pub(super) fn dump_root(&mut self, e: &GcRoot<'_>) -> usize {
        if self.version == DataVersion::V1 || self.dump.open.is_none() {
            self.dropped.event(Dropped::DumpRoots);
            return DEFINING;
        }
        self.dropped
            .part_if(!e.class.is_none(), Dropped::DumpRootClasses);
        self.finish_listed();
        let kind = ROOT_KINDS.iter().position(|kind| *kind == e.kind);
        let time = self.dump.time;
        self.batch_for(THREADLESS, time);
        let (buffer, _) = self.output.event(THREADLESS, time, HEAP_ROOT);
        buffer.uleb(1);
        buffer.pointer(kind.map_or(0, |kind| kind as u64 + 1));
        buffer.object(e.object.0);
        THREADLESS
    }
}

/// Writes an object and its references.
pub(super) fn put(listed: &Listed, version: DataVersion, output: &mut Output) {
    let v17 = version == DataVersion::V17;
    let buffer = if v17 {
        output.event(THREADLESS, listed.time, HEAP_OBJECT).0
    } else {
        output.untimed(THREADLESS, listed.time, HEAP_OBJECT)
    };
    buffer.object(listed.object.0);
    buffer.pointer(listed.class);
    buffer.uleb(listed.size);
    if v17 {
        // Generation, which is unknown.
        buffer.byte(0);
    }
    buffer.uleb(listed.references.len() as u64);
    for &target in &listed.references {
        if v17 {
            // Difference from the preceding field's offset; the offsets are unknown.
            buffer.uleb(0);
        }
        buffer.object(target);
    }
}
