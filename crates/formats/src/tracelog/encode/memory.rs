//! Allocations, collections, and tables of live objects.

use super::dropped::Dropped;
use super::{Encoder, Merged, Pending};
use crate::tracelog::value;
use jtrail_model::{
    AllocationSum, ClassId, GcDetail, GcFinish, GcStart, Generation, LiveObjects, ObjectAlloc,
    ObjectDef, ObjectFree, ThreadId,
};

/// Causes of requested collections: the word of the trace log itself, and the causes that JVMs
/// report.
const INDUCED: [&str; 4] = [
    "induced",
    "System.gc()",
    "JvmtiEnv ForceGarbageCollection",
    "Diagnostic Command",
];

/// The state of garbage collection.
#[derive(Debug, Default)]
pub(super) struct Gc {
    open: bool,
    line_ms: u64,
    table: Table,
}

/// State of the table of live objects that follows a collection.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Table {
    /// No table is due.
    #[default]
    None,
    /// A collection ended; its frees may follow.
    Due,
    /// Frees of the collection have begun.
    Frees,
    /// The table is written, and no free has followed. If a free follows, a second table is due.
    Written,
    /// Frees followed the table. This happens because the frees of one collection may come in
    /// parts.
    Late,
}

impl Encoder {
    pub(super) fn alloc(&mut self, e: &ObjectAlloc, out: &mut Vec<u8>) {
        let ms = self.ms(e.time);
        self.dropped.part_if(e.line != 0, Dropped::AllocLines);
        self.dropped
            .part_if(!e.method.is_none(), Dropped::AllocMethods);
        if !self.definitions.has_class(e.class) {
            self.dropped.event(Dropped::UndefinedClasses);
            return;
        }
        let size = e.size.try_into().unwrap_or_default();
        if self.settings.live_tables {
            self.table_after_frees(out);
            self.objects.add(e.object, e.class, size, ms);
        }
        if self.paused || !self.settings.memory {
            self.dropped.event(Dropped::Allocations);
            return;
        }
        if self.iid(e.thread).is_none() {
            return;
        }
        self.dropped.part(Dropped::AllocTimes);
        let interval = self.settings.cpu_interval_ms.max(1);
        let Some(thread) = self.threads.get(e.thread) else {
            return;
        };
        thread.ms = thread.ms.max(ms);
        let ms = thread.ms;
        // A sum that the trace contains keeps its time, so an allocation at a later time is not
        // added to it.
        if matches!(self.merged, Some((Merged::Sums, id, at)) if id == e.thread && at != ms) {
            self.end_merged(out);
        }
        let Some(thread) = self.threads.get(e.thread) else {
            return;
        };
        if !thread.sums.is_empty() && thread.sums_ms / interval != ms / interval {
            let run_goes_on = thread
                .run
                .as_ref()
                .is_some_and(|run| run.ms > thread.sums_ms);
            if run_goes_on {
                self.end_sums(e.thread, out);
            } else {
                self.end_interval(e.thread, out);
            }
        }
        if let Some(thread) = self.threads.get(e.thread) {
            thread.add_sum(e.class, 1, size);
            thread.sums_ms = ms;
        }
        self.threads.mark_dirty(e.thread);
    }

    pub(super) fn object(&mut self, e: &ObjectDef, out: &mut Vec<u8>) {
        let ms = self.ms(e.time);
        self.table_after_frees(out);
        if self.settings.live_tables && self.definitions.has_class(e.class) {
            let size = e.size.try_into().unwrap_or_default();
            self.objects.add(e.object, e.class, size, ms);
        } else {
            self.dropped.event(Dropped::OldObjects);
        }
    }

    pub(super) fn free(&mut self, e: &ObjectFree) {
        let ms = self.ms(e.time);
        if !self.objects.remove(e.object, ms) {
            self.dropped.event(Dropped::Frees);
        }
        self.gc.table = match self.gc.table {
            Table::Due => Table::Frees,
            Table::Written => Table::Late,
            other => other,
        };
    }

    /// Adds a sum of allocations that the trace contains to the thread's pending allocations.
    pub(super) fn allocation_sum(&mut self, e: &AllocationSum, out: &mut Vec<u8>) {
        if self.iid(e.thread).is_none() {
            return;
        }
        let useful = self.definitions.has_class(e.class) && e.objects > 0;
        if self.paused || !self.settings.memory || !useful {
            self.dropped.event(Dropped::AllocSums);
            return;
        }
        let ms = self.ms(e.time);
        let Some(thread) = self.threads.get(e.thread) else {
            return;
        };
        thread.ms = thread.ms.max(ms);
        let ms = thread.ms;
        // All allocations of one thread in one millisecond are one line. It does not matter whether
        // the trace contains single allocations or sums.
        let goes_on = !thread.sums.is_empty() && thread.sums_ms == ms;
        let merged = (Merged::Sums, e.thread, ms);
        self.flush_unless_merging(merged, out);
        if !goes_on {
            self.end_interval(e.thread, out);
        }
        self.merged = Some(merged);
        if let Some(thread) = self.threads.get(e.thread) {
            thread.add_sum(e.class, e.objects, e.bytes);
            thread.sums_ms = ms;
        }
        self.threads.mark_dirty(e.thread);
    }

    /// Writes the pending allocations of a thread.
    pub(super) fn end_sums(&mut self, id: ThreadId, out: &mut Vec<u8>) {
        let Some(thread) = self.threads.get(id) else {
            return;
        };
        if thread.sums.is_empty() {
            return;
        }
        self.end_merged(out);
        let Some(thread) = self.threads.get(id) else {
            return;
        };
        let (iid, sums) = (thread.iid, std::mem::take(&mut thread.sums));
        thread.line_ms = thread.line_ms.max(thread.sums_ms);
        let ms = thread.line_ms;
        // The record of the stack in which the objects were allocated directly precedes this line.
        // The definitions that the record and the line need precede the record.
        if !matches!(&self.pending, Pending::Stack { thread, .. } if *thread == id) {
            self.flush(out);
        }
        let items = self.items(sums, out);
        self.flush(out);
        if items.is_empty() {
            return;
        }
        out.extend_from_slice(b"sam mem ");
        value::h32(iid, out);
        out.push(b' ');
        value::dec(ms, out);
        write_items(&items, out);
    }

    /// Returns the items of a line: class iid, objects and bytes. Writes definitions of the classes
    /// first.
    fn items(
        &mut self,
        classes: impl IntoIterator<Item = (ClassId, (u64, u64))>,
        out: &mut Vec<u8>,
    ) -> Vec<(u32, u64, u64)> {
        let mut items = Vec::new();
        for (class, (objects, bytes)) in classes {
            match self.definitions.class(class, out) {
                Some(class) => items.push((class, objects, bytes)),
                None => self.dropped.part(Dropped::UnknownClasses),
            }
        }
        items.sort_unstable();
        items.dedup_by_key(|(class, ..)| *class);
        items
    }

    pub(super) fn gc_start(&mut self, e: &GcStart, out: &mut Vec<u8>) {
        let ms = self.ms(e.time);
        if self.paused || !self.settings.gc || self.gc.open {
            self.dropped.event(Dropped::GcStarts);
            return;
        }
        self.settle(out);
        self.table_at_last(out);
        self.flush(out);
        self.gc.open = true;
        self.pending = Pending::Gc {
            ms,
            induced: false,
            full: false,
        };
    }

    pub(super) fn gc_detail(&mut self, e: &GcDetail<'_>) {
        let Pending::Gc { induced, full, .. } = &mut self.pending else {
            self.dropped.event(Dropped::GcDetails);
            return;
        };
        *induced = INDUCED.contains(&&*e.cause);
        *full = e.generation == Generation::Full;
        let known = e.collector.is_empty()
            && (e.cause.is_empty() || e.cause == INDUCED[0])
            && matches!(e.generation, Generation::Full | Generation::Young);
        self.dropped.part_if(!known, Dropped::GcNames);
    }

    pub(super) fn write_gc_start(&mut self, ms: u64, induced: bool, full: bool, out: &mut Vec<u8>) {
        out.extend_from_slice(b"gch gcs ");
        self.gc_time(ms, out);
        out.extend_from_slice(if induced { b" induced " } else { b" ? " });
        out.extend_from_slice(if full { b"tttt\n" } else { b"tfff\n" });
    }

    fn gc_time(&mut self, ms: u64, out: &mut Vec<u8>) {
        self.jvm_thread(out);
        out.push(b' ');
        self.gc.line_ms = self.gc.line_ms.max(ms);
        value::dec(self.gc.line_ms, out);
    }

    pub(super) fn gc_finish(&mut self, e: &GcFinish, out: &mut Vec<u8>) {
        let ms = self.ms(e.time);
        let figures = e.total_space != 0 || e.used_space != 0 || e.used_objects != 0;
        self.dropped.part_if(figures, Dropped::GcFigures);
        if self.paused || !self.gc.open {
            self.dropped.event(Dropped::GcEnds);
            return;
        }
        self.settle(out);
        self.write_gc_finish(ms, out);
        self.objects.ms = self.objects.ms.max(ms);
        self.gc.table = Table::Due;
    }

    fn write_gc_finish(&mut self, ms: u64, out: &mut Vec<u8>) {
        self.flush(out);
        out.extend_from_slice(b"gch gcf ");
        self.gc_time(ms, out);
        out.push(b'\n');
        self.gc.open = false;
    }

    /// Ends a collection in progress at a pause, because the event of its end will not be written.
    pub(super) fn gc_pause(&mut self, ms: u64, out: &mut Vec<u8>) {
        if self.gc.open {
            self.write_gc_finish(ms, out);
        }
        self.table_at_last(out);
    }

    /// Writes the table of live objects if frees of a collection preceded. Called when something
    /// other than a free follows.
    #[inline]
    pub(super) fn table_after_frees(&mut self, out: &mut Vec<u8>) {
        if self.gc.table == Table::Frees {
            self.table(out);
            self.gc.table = Table::Written;
        }
    }

    /// Writes the table if it is due, without waiting for further frees.
    pub(super) fn table_at_last(&mut self, out: &mut Vec<u8>) {
        if !matches!(self.gc.table, Table::None | Table::Written) {
            self.table(out);
        }
        self.gc.table = Table::None;
    }

    fn table(&mut self, out: &mut Vec<u8>) {
        if self.paused || !self.settings.live_tables || !self.objects.countable() {
            return;
        }
        let live = self.objects.live();
        self.write_table(self.objects.ms, live, out);
    }

    fn write_table(
        &mut self,
        ms: u64,
        live: impl IntoIterator<Item = (ClassId, (u64, u64))>,
        out: &mut Vec<u8>,
    ) {
        self.end_merged(out);
        self.flush(out);
        let items = self.items(live, out);
        self.gc.line_ms = self.gc.line_ms.max(ms);
        out.extend_from_slice(b"gch alt ");
        value::dec(self.gc.line_ms, out);
        write_items(&items, out);
    }

    /// Writes a table of live objects that the trace contains.
    pub(super) fn live_objects(&mut self, e: &LiveObjects, out: &mut Vec<u8>) {
        if self.paused || !self.settings.live_tables || self.gc.open {
            self.dropped.event(Dropped::LiveTables);
            return;
        }
        self.settle(out);
        self.objects.has_tables = true;
        let live = e.classes.iter().filter(|live| live.objects > 0);
        let live = live.map(|live| (live.class, (live.objects, live.bytes)));
        let ms = self.ms(e.time);
        self.write_table(ms, live, out);
    }
}

impl super::threads::Thread {
    fn add_sum(&mut self, class: ClassId, objects: u64, bytes: u64) {
        let (sum, size) = self.sums.entry(class).or_default();
        *sum = sum.saturating_add(objects);
        *size = size.saturating_add(bytes);
    }
}

/// Writes ` class:objects:bytes` for each item, and the end of the line.
fn write_items(items: &[(u32, u64, u64)], out: &mut Vec<u8>) {
    for (class, objects, bytes) in items {
        out.push(b' ');
        value::hex(u64::from(*class), out);
        for number in [*objects, *bytes] {
            out.push(b':');
            value::dec(number, out);
        }
    }
    out.push(b'\n');
}
