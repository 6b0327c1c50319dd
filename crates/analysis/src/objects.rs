//! Objects: the class of each, and whether it is alive.
//!
//! An object takes twelve bytes in a [`Table`]: its class's number, its allocating thread's number
//! with its state, and its size. A hundred million objects take 1.2 GB.

use super::live::LiveCount;
use super::table::{Index, Table};
use crate::saved::by_key;
use jtrail_model::{ClassId, Event, ObjectId, ThreadId};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// A number of objects and their bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Amount {
    /// The number of objects.
    pub objects: u64,
    /// The bytes of the objects.
    pub bytes: i64,
}

impl Amount {
    pub(super) fn add(&mut self, bytes: i64) {
        self.objects = self.objects.saturating_add(1);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    pub(super) fn add_all(&mut self, objects: u64, bytes: u64) {
        let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
        self.objects = self.objects.saturating_add(objects);
        self.bytes = self.bytes.saturating_add(bytes);
    }

    fn remove(&mut self, bytes: i64) {
        self.objects = self.objects.saturating_sub(1);
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

/// All objects that have an id.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Objects {
    #[serde(skip)]
    table: Table<Object>,
    /// Sizes that don't fit into an [`Object`].
    #[serde(skip)]
    large: FxHashMap<ObjectId, i64>,
    classes: Index<ClassId>,
    threads: Index<ThreadId>,
    live_by_class: Vec<Amount>,
    live_by_thread: Vec<Amount>,
    /// Live objects by the numbers of class and thread.
    #[serde(with = "by_key")]
    counts: FxHashMap<(u32, u32), LiveCount>,
    /// The freed objects.
    pub freed: Amount,
    /// The number of frees of objects that are unknown or were already freed.
    pub unknown_frees: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Object {
    /// The number of the object's class plus 1; 0 for an unknown object.
    class: u32,
    /// The number of the object's thread; its state is in the two lowest bits.
    thread: u32,
    /// The size in bytes, or [`LARGE`].
    size: u32,
}

const LARGE: u32 = u32::MAX;
const STATE: u32 = 3;
/// The object is alive, and its thread is selected.
const LIVE: u32 = 1;
const DEAD: u32 = 2;

impl Objects {
    /// Processes definitions and frees of objects. Ignores other events. `is_selected` is true if
    /// the object's thread is selected.
    pub fn event(&mut self, event: &Event<'_>, is_selected: bool) {
        match event {
            Event::ObjectAlloc(e) => self.define(e.object, e.class, e.thread, e.size, is_selected),
            Event::ObjectDef(e) => {
                self.define(e.object, e.class, ThreadId::NONE, e.size, is_selected)
            }
            Event::ObjectFree(e) => self.free(e.object),
            _ => {}
        }
    }

    fn define(
        &mut self,
        id: ObjectId,
        class: ClassId,
        thread: ThreadId,
        size: i64,
        is_selected: bool,
    ) {
        let old = self.table.get(id.0);
        // A repeated definition of an id refers to the same object if that object was not freed.
        if id.is_none() || (old.class != 0 && old.thread & STATE != DEAD) {
            return;
        }
        let (class, thread) = (self.classes.number(class), self.threads.number(thread));
        let size = size.max(0);
        let short = u32::try_from(size).unwrap_or(LARGE);
        if short == LARGE {
            self.large.insert(id, size);
        }
        let state = if is_selected {
            amount(&mut self.live_by_class, class).add(size);
            amount(&mut self.live_by_thread, thread).add(size);
            let count = self.counts.entry((class, thread)).or_default();
            count.live += 1;
            count.peak = count.peak.max(count.live);
            LIVE
        } else {
            0
        };
        let object = Object {
            class: class + 1,
            thread: thread << 2 | state,
            size: short,
        };
        self.table.set(id.0, object);
    }

    fn free(&mut self, id: ObjectId) {
        let mut object = self.table.get(id.0);
        if object.class == 0 || object.thread & STATE == DEAD {
            self.unknown_frees += 1;
            return;
        }
        if object.thread & STATE == LIVE {
            let size = self.size(id);
            let (class, thread) = (object.class - 1, object.thread >> 2);
            amount(&mut self.live_by_class, class).remove(size);
            amount(&mut self.live_by_thread, thread).remove(size);
            let count = self.counts.entry((class, thread)).or_default();
            count.live = count.live.saturating_sub(1);
            self.freed.add(size);
        }
        object.thread = object.thread & !STATE | DEAD;
        self.table.set(id.0, object);
    }

    /// Returns true if all loaded counts have a class and a thread.
    pub(super) fn is_consistent(&self) -> bool {
        let (classes, threads) = (self.classes.keys().len(), self.threads.keys().len());
        let mut numbers = self.counts.keys();
        numbers.all(|(class, thread)| (*class as usize) < classes && (*thread as usize) < threads)
    }

    /// Returns the object's class; none if the trace does not have it.
    pub fn class(&self, id: ObjectId) -> ClassId {
        match self.table.get(id.0).class {
            0 => ClassId::NONE,
            class => self.classes.key(class - 1),
        }
    }

    /// Returns the object's size in bytes; 0 if the trace does not have it.
    pub fn size(&self, id: ObjectId) -> i64 {
        match self.table.get(id.0).size {
            LARGE => self.large.get(&id).copied().unwrap_or_default(),
            size => i64::from(size),
        }
    }

    /// Returns the live objects of each class that has any, in no particular order.
    pub fn live_by_class(&self) -> impl Iterator<Item = (ClassId, Amount)> {
        amounts(self.classes.keys(), &self.live_by_class)
    }

    /// Returns the live objects of each allocating thread that has any. Objects that existed before
    /// the trace have no thread.
    pub fn live_by_thread(&self) -> impl Iterator<Item = (ThreadId, Amount)> {
        amounts(self.threads.keys(), &self.live_by_thread)
    }

    /// Returns the counts of live objects for each pair of class and allocating thread that ever
    /// had any, in no particular order. Objects that existed before the trace have no thread.
    pub fn live_counts(&self) -> impl Iterator<Item = ((ClassId, ThreadId), LiveCount)> {
        self.counts.iter().map(|((class, thread), count)| {
            (
                (self.classes.key(*class), self.threads.key(*thread)),
                *count,
            )
        })
    }
}

fn amount(amounts: &mut Vec<Amount>, number: u32) -> &mut Amount {
    let at = number as usize;
    if at >= amounts.len() {
        amounts.resize(at + 1, Amount::default());
    }
    &mut amounts[at]
}

fn amounts<K: Copy>(keys: &[K], amounts: &[Amount]) -> impl Iterator<Item = (K, Amount)> {
    let all = keys.iter().copied().zip(amounts.iter().copied());
    all.filter(|(_, amount)| amount.objects > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_model::{ObjectAlloc, ObjectDef, ObjectFree};

    fn alloc(object: u64, class: u64, thread: u64, size: i64) -> Event<'static> {
        Event::ObjectAlloc(ObjectAlloc {
            object: ObjectId(object),
            class: ClassId(class),
            thread: ThreadId(thread),
            size,
            ..ObjectAlloc::default()
        })
    }

    fn free(object: u64) -> Event<'static> {
        Event::ObjectFree(ObjectFree {
            object: ObjectId(object),
            ..ObjectFree::default()
        })
    }

    fn old(object: u64, class: u64, size: i64) -> Event<'static> {
        Event::ObjectDef(ObjectDef {
            object: ObjectId(object),
            class: ClassId(class),
            size,
            ..ObjectDef::default()
        })
    }

    fn sorted<K: Copy + Ord>(all: impl Iterator<Item = (K, Amount)>) -> Vec<(K, u64, i64)> {
        let mut all: Vec<_> = all.map(|(k, a)| (k, a.objects, a.bytes)).collect();
        all.sort();
        all
    }

    #[test]
    fn live_is_what_was_named_and_not_freed() {
        let mut objects = Objects::default();
        let huge = 5 << 32;
        for event in [
            alloc(1, 7, 1, 16),
            alloc(2, 7, 2, 24),
            alloc(3, 8, 1, huge),
            old(4, 8, 100),
            alloc(2, 7, 2, 24),
            free(1),
            free(1),
            free(99),
            alloc(0, 7, 1, 16),
        ] {
            objects.event(&event, true);
        }
        objects.event(&alloc(5, 7, 3, 16), false);
        objects.event(&free(5), false);
        let (c, t) = (ClassId, ThreadId);
        assert_eq!(
            sorted(objects.live_by_class()),
            [(c(7), 1, 24), (c(8), 2, huge + 100)]
        );
        assert_eq!(
            sorted(objects.live_by_thread()),
            [(t(0), 1, 100), (t(1), 1, huge), (t(2), 1, 24)]
        );
        let mut counts: Vec<_> = objects.live_counts().collect();
        counts.sort_by_key(|(key, _)| *key);
        let count = |class, thread, live, peak| ((c(class), t(thread)), LiveCount { live, peak });
        assert_eq!(
            counts,
            [
                count(7, 1, 0, 1),
                count(7, 2, 1, 1),
                count(8, 0, 1, 1),
                count(8, 1, 1, 1)
            ]
        );
        assert_eq!(
            objects.freed,
            Amount {
                objects: 1,
                bytes: 16
            }
        );
        assert_eq!(objects.unknown_frees, 2);
        assert_eq!(objects.class(ObjectId(3)), c(8));
        assert_eq!(objects.size(ObjectId(3)), huge);
        assert_eq!(
            objects.class(ObjectId(1)),
            c(7),
            "the dead have a class too"
        );
        assert_eq!(objects.class(ObjectId(42)), ClassId::NONE);
    }

    /// Other writers may reuse an id after its object was freed.
    #[test]
    fn ids_may_come_back() {
        let mut objects = Objects::default();
        for event in [alloc(1, 7, 1, 16), free(1), alloc(1, 8, 2, 32)] {
            objects.event(&event, true);
        }
        assert_eq!(sorted(objects.live_by_class()), [(ClassId(8), 1, 32)]);
    }

    #[test]
    fn any_id_will_do() {
        let mut objects = Objects::default();
        for id in [u64::MAX, u64::MAX - 1, 1 << 50] {
            objects.event(&alloc(id, u64::MAX, u64::MAX, i64::MAX), true);
        }
        objects.event(&free(u64::MAX), true);
        let live: Vec<_> = objects.live_by_class().collect();
        assert_eq!((live.len(), live[0].1.objects), (1, 2));
    }

    #[test]
    fn an_object_is_small() {
        assert_eq!(size_of::<Object>(), 12);
    }
}
