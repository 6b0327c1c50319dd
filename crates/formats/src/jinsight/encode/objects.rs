//! Objects: the ids and the classes of objects in the file. Ids count from 1, in the order of the
//! file. Classes are needed for texts.

use crate::check::table::Table;
use crate::jinsight::wire::NO_OBJECT;
use jtrail_model::ObjectId;
use std::collections::{HashMap, HashSet};
use std::num::NonZeroU32;

/// Type of an object.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Shape {
    /// Plain object of the class with this id.
    Plain(u16),
    /// Array of primitives: type in ARRAY_DEFINED, kind in ARRAY_CREATED.
    Primitives(u8, u8),
    /// Array of references to the class with this id.
    References(u16),
}

/// Object that is in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Known {
    pub(super) id: u32,
    /// Number of the object's shape, or [`NO_KIND`] if there were too many shapes.
    kind: u16,
}

/// Stands for a shape without a number.
const NO_KIND: u16 = u16::MAX;

/// Object tables. An object takes six bytes and a bit. Two of these bytes are for its shape.
#[derive(Debug)]
pub(super) struct Objects {
    ids: Table<NonZeroU32>,
    /// Shape number of each object, indexed by id in the file minus 1.
    kinds: Vec<u16>,
    freed: Vec<u64>,
    shapes: Vec<Shape>,
    numbers: HashMap<Shape, u16>,
    /// Objects of classes. Such an object is defined in the file only when a record names it.
    classes: HashSet<ObjectId>,
    /// Largest id that may be assigned.
    largest: u32,
}

impl Default for Objects {
    fn default() -> Self {
        Self {
            ids: Table::default(),
            kinds: Vec::new(),
            freed: Vec::new(),
            shapes: Vec::new(),
            numbers: HashMap::new(),
            classes: HashSet::new(),
            largest: NO_OBJECT - 1,
        }
    }
}

impl Objects {
    pub(super) fn get(&self, object: ObjectId) -> Option<Known> {
        let id = self.ids.get(object.0)?.get();
        let kind = self.kinds.get(id as usize - 1).copied();
        let kind = kind.unwrap_or(NO_KIND);
        Some(Known { id, kind })
    }

    pub(super) fn is_full(&self) -> bool {
        self.kinds.len() >= self.largest as usize
    }

    /// Registers the object of a class.
    pub(super) fn imply_class(&mut self, object: ObjectId) {
        if !object.is_none() {
            self.classes.insert(object);
        }
    }

    pub(super) fn is_class(&self, object: ObjectId) -> bool {
        self.classes.contains(&object)
    }

    /// Adds an object that is not in the file yet. Returns its id, or `None` if all ids are
    /// assigned.
    pub(super) fn insert(&mut self, object: ObjectId, shape: Shape) -> Option<u32> {
        if self.is_full() {
            return None;
        }
        let kind = self.number(shape);
        self.kinds.push(kind);
        let id = NonZeroU32::new(u32::try_from(self.kinds.len()).ok()?)?;
        self.ids.insert(object.0, id);
        Some(id.get())
    }

    fn number(&mut self, shape: Shape) -> u16 {
        if let Some(&number) = self.numbers.get(&shape) {
            return number;
        }
        match u16::try_from(self.shapes.len()) {
            Ok(number) if number != NO_KIND => {
                self.shapes.push(shape);
                self.numbers.insert(shape, number);
                number
            }
            _ => NO_KIND,
        }
    }

    pub(super) fn shape(&self, object: Known) -> Option<Shape> {
        self.shapes.get(usize::from(object.kind)).copied()
    }

    /// Marks an object as freed. Returns `false` if it was freed before.
    pub(super) fn free(&mut self, object: Known) -> bool {
        let (at, bit) = (object.id as usize / 64, 1_u64 << (object.id % 64));
        if at >= self.freed.len() {
            self.freed.resize(at + 1, 0);
        }
        let Some(word) = self.freed.get_mut(at) else {
            return false;
        };
        let new = *word & bit == 0;
        *word |= bit;
        new
    }

    #[cfg(test)]
    pub(super) fn limit(&mut self, largest: u32) {
        self.largest = largest;
    }
}
