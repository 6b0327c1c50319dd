//! Counts of live objects, by class.
//!
//! An object takes four bytes, in a page of consecutive ids. A page is deallocated when its last
//! object is freed. So memory stays in proportion to the live objects.

use jtrail_model::{ClassId, ObjectId};
use std::collections::{BTreeMap, HashMap};

const PAGE: usize = 64;

/// Objects that were defined and not freed.
#[derive(Debug, Default)]
pub(super) struct Objects {
    pages: HashMap<u64, Box<Page>>,
    /// Distinct pairs of class and size. Each object refers to one by index.
    shapes: Vec<(ClassId, u64)>,
    shape_indices: HashMap<(ClassId, u64), u32>,
    /// Objects and bytes, by class.
    live: BTreeMap<ClassId, (u64, u64)>,
    /// The latest time of an allocation, a free, or the end of a collection.
    pub(super) ms: u64,
    /// True if frees are known to be recorded.
    pub(super) frees_recorded: bool,
    /// True if the trace contains tables of live objects.
    pub(super) has_tables: bool,
    any: bool,
    freed: bool,
}

#[derive(Debug)]
struct Page {
    objects: u32,
    /// Index of each object's shape plus 1; 0 for no object.
    shapes: [u32; PAGE],
}

impl Objects {
    /// Adds an object. An existing object stays unchanged.
    pub(super) fn add(&mut self, id: ObjectId, class: ClassId, size: u64, ms: u64) {
        self.ms = self.ms.max(ms);
        self.any = true;
        let shapes = &mut self.shapes;
        let shape = *self.shape_indices.entry((class, size)).or_insert_with(|| {
            shapes.push((class, size));
            u32::try_from(shapes.len()).unwrap_or(u32::MAX)
        });
        let page = self.pages.entry(id.0 / PAGE as u64).or_insert_with(|| {
            Box::new(Page {
                objects: 0,
                shapes: [0; PAGE],
            })
        });
        let place = &mut page.shapes[id.0 as usize % PAGE];
        if *place != 0 {
            return;
        }
        *place = shape;
        page.objects += 1;
        let (objects, bytes) = self.live.entry(class).or_default();
        *objects += 1;
        *bytes = bytes.saturating_add(size);
    }

    /// Removes an object. Returns false if the object is unknown.
    pub(super) fn remove(&mut self, id: ObjectId, ms: u64) -> bool {
        self.ms = self.ms.max(ms);
        self.freed = true;
        let number = id.0 / PAGE as u64;
        let Some(page) = self.pages.get_mut(&number) else {
            return false;
        };
        let shape = std::mem::take(&mut page.shapes[id.0 as usize % PAGE]);
        let Some((class, size)) = (shape as usize)
            .checked_sub(1)
            .and_then(|place| self.shapes.get(place))
        else {
            return false;
        };
        page.objects -= 1;
        if page.objects == 0 {
            self.pages.remove(&number);
        }
        if let Some((objects, bytes)) = self.live.get_mut(class) {
            *objects = objects.saturating_sub(1);
            *bytes = bytes.saturating_sub(*size);
        }
        true
    }

    /// True if tables of live objects are derived from the counts. The trace must not contain
    /// tables of its own. It must contain frees: without them, the counts would include every
    /// object ever allocated.
    pub(super) fn countable(&self) -> bool {
        self.any && !self.has_tables && (self.frees_recorded || self.freed)
    }

    /// Returns the number of objects and bytes of each class with live objects.
    pub(super) fn live(&self) -> Vec<(ClassId, (u64, u64))> {
        let counts = self.live.iter().map(|(class, counts)| (*class, *counts));
        counts.filter(|(_, (objects, _))| *objects > 0).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn live_objects_are_counted_and_the_dead_take_no_memory() {
        let mut objects = Objects::default();
        for id in 0..100_000 {
            objects.add(ObjectId(id), ClassId(id % 3), 8 * (id % 5), 1);
        }
        for id in (0..100_000).filter(|id| id % 3 != 1 || id % 1000 > 2) {
            assert!(objects.remove(ObjectId(id), 2));
            assert!(!objects.remove(ObjectId(id), 2));
        }
        let left: Vec<u64> = (0..100_000)
            .filter(|id| id % 3 == 1 && id % 1000 <= 2)
            .collect();
        let bytes = left.iter().map(|id| 8 * (id % 5)).sum();
        assert_eq!(objects.live(), [(ClassId(1), (left.len() as u64, bytes))]);
        assert!(objects.pages.len() <= left.len());
        assert!(objects.countable() && objects.ms == 2);
        assert!(!objects.remove(ObjectId(u64::MAX), 0));
    }
}
