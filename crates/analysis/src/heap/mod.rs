//! Heap dumps: their contents, and what keeps objects alive.
//!
//! | Module | Holds |
//! |---|---|
//! | `graph` | references as compressed sparse rows |
//! | `dominators` | the dominator tree |
//! | `retained` | retained sizes by object and class |
//!
//! The objects of a dump are numbered in the order of their first mention, from 1. Number 0 is the
//! start, which refers to the roots. While a dump is read, an object takes some 25 bytes and a
//! reference 8. Only one dump is open at a time. It ends with its end event, with the begin of the
//! next dump, or with the trace. Then its sums are computed, and its graph is freed.
//!
//! An object's class and size are taken from the dump. If the dump lacks them, they are taken from
//! earlier events of the trace.

mod dominators;
mod graph;
mod retained;

use super::objects::{Amount, Objects};
use super::table::{Index, Table};
use jtrail_model::{
    ClassId, Event, GcRoot, HeapDumpId, HeapObject, ObjectId, ObjectReference, Timestamp,
};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// One heap dump.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Dump {
    /// The id of the dump.
    pub dump: HeapDumpId,
    /// The time at which the dump was taken.
    pub time: Timestamp,
    /// The name of the dump.
    pub name: String,
    /// The objects of the dump. Without graphs, only objects that the dump itself lists.
    pub all: Amount,
    /// The number of references between objects.
    pub references: u64,
    /// The number of roots. An object may be a root for several reasons.
    pub roots: u64,
    /// The objects that can't be reached from any root. `None` without graphs.
    #[serde(skip)]
    pub unreachable: Option<Amount>,
    /// True if the dump has an end event, which means that it is complete.
    pub complete: bool,
    /// The classes of the dump, by descending number of bytes. Empty without graphs.
    #[serde(skip)]
    pub classes: Vec<DumpClass>,
    /// The number of references, by the classes of the referenced and of the referring object.
    /// Empty without graphs.
    #[serde(skip)]
    pub referrers: Vec<(ClassId, ClassId, u64)>,
    /// The [`OBJECTS_KEPT`] objects with the largest retained sizes, descending. Empty without
    /// graphs.
    #[serde(skip)]
    pub objects: Vec<DumpObject>,
}

/// The objects of one class in a dump.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DumpClass {
    /// The class; none for objects whose class the trace does not have.
    pub class: ClassId,
    /// The number of objects, and their own bytes.
    pub shallow: Amount,
    /// The number of roots among them. An object may be a root for several reasons.
    pub roots: u64,
    /// The bytes that would be free without these objects, including their own.
    pub retained: i64,
}

/// One object of a dump.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DumpObject {
    /// The object.
    pub object: ObjectId,
    /// The object's class; none if the trace does not have it.
    pub class: ClassId,
    /// The object's own bytes.
    pub shallow: i64,
    /// The bytes that would be free without the object, including its own.
    pub retained: i64,
}

/// The number of objects that are kept in [`Dump::objects`].
pub const OBJECTS_KEPT: usize = 1_000;

/// All heap dumps of a trace.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Heap {
    #[serde(skip)]
    graphs: bool,
    /// The dumps.
    pub dumps: Vec<Dump>,
    /// The number of roots and references that belong to no open dump.
    pub stray: u64,
    #[serde(skip)]
    open: Option<Open>,
}

/// The dump that is being read. Its counts are in the last element of [`Heap::dumps`].
#[derive(Debug, Default)]
struct Open {
    /// The number of each object.
    numbers: Table<u32>,
    classes: Index<ClassId>,
    /// By the object's number: its id. The next two lists have its class's number and its bytes (-1
    /// while unknown).
    ids: Vec<ObjectId>,
    class: Vec<u32>,
    sizes: Vec<i64>,
    references: Vec<(u32, u32)>,
    roots: Vec<u32>,
}

/// The maximum number of edges, including roots: their numbers must fit into 32 bits.
const MAX_EDGES: usize = u32::MAX as usize;

impl Heap {
    /// Creates an empty collection. `graphs` is true to compute classes, objects, and retained
    /// sizes.
    pub fn new(graphs: bool) -> Self {
        Self {
            graphs,
            ..Self::default()
        }
    }

    /// Processes heap dumps. Ignores other events.
    pub fn event(&mut self, event: &Event<'_>, objects: &Objects) {
        match event {
            Event::HeapDump(e) => {
                self.close(objects);
                self.dumps.push(Dump {
                    dump: e.dump,
                    time: e.time,
                    name: e.name.to_string(),
                    ..Dump::default()
                });
                self.open = Some(Open::new());
            }
            Event::GcRoot(e) => self.root(e),
            Event::HeapObject(e) => self.object(e),
            Event::ObjectReference(e) => self.reference(e),
            Event::HeapDumpEnd(e) => {
                if let Some((dump, _)) = self.current(e.dump) {
                    dump.complete = true;
                    self.close(objects);
                }
            }
            _ => {}
        }
    }

    /// Ends the open dump at the end of the trace.
    pub fn finish(&mut self, objects: &Objects) {
        self.close(objects);
    }

    /// Returns the open dump, if it has this id.
    fn current(&mut self, id: HeapDumpId) -> Option<(&mut Dump, &mut Open)> {
        let found = self.dumps.last_mut().zip(self.open.as_mut());
        found.filter(|(dump, _)| dump.dump == id)
    }

    fn root(&mut self, e: &GcRoot<'_>) {
        let graphs = self.graphs;
        let Some((dump, open)) = self.dumps.last_mut().zip(self.open.as_mut()) else {
            self.stray += 1;
            return;
        };
        dump.roots += 1;
        if graphs && open.edges() < MAX_EDGES {
            let number = open.number(e.object);
            if !e.class.is_none() && open.class[number as usize] == 0 {
                open.class[number as usize] = open.classes.number(e.class);
            }
            open.roots.push(number);
        }
    }

    fn object(&mut self, e: &HeapObject) {
        let graphs = self.graphs;
        let Some((dump, open)) = self.current(e.dump) else {
            self.stray += 1;
            return;
        };
        if graphs {
            let number = open.number(e.object) as usize;
            open.class[number] = open.classes.number(e.class);
            open.sizes[number] = e.size.max(0);
        } else {
            dump.all.add(e.size.max(0));
        }
    }

    fn reference(&mut self, e: &ObjectReference) {
        let graphs = self.graphs;
        let Some((dump, open)) = self.current(e.dump) else {
            self.stray += 1;
            return;
        };
        dump.references += 1;
        if graphs && open.edges() < MAX_EDGES {
            let edge = (open.number(e.source), open.number(e.target));
            open.references.push(edge);
        }
    }

    fn close(&mut self, objects: &Objects) {
        if let (Some(dump), Some(open)) = (self.dumps.last_mut(), self.open.take())
            && self.graphs
        {
            open.sum_up(objects, dump);
        }
    }
}

impl Open {
    fn new() -> Self {
        let mut open = Self::default();
        open.classes.number(ClassId::NONE);
        open.ids.push(ObjectId::NONE);
        open.class.push(0);
        open.sizes.push(0);
        open
    }

    fn edges(&self) -> usize {
        self.references.len() + self.roots.len()
    }

    fn number(&mut self, id: ObjectId) -> u32 {
        match self.numbers.get(id.0) {
            0 => {
                let number = self.ids.len() as u32;
                self.numbers.set(id.0, number);
                self.ids.push(id);
                self.class.push(0);
                self.sizes.push(-1);
                number
            }
            number => number,
        }
    }

    /// Counts references by the classes of both ends. The referenced classes are in the order of
    /// their ids. For each of them, the most frequent referring classes are first.
    fn referrers(&self) -> Vec<(ClassId, ClassId, u64)> {
        let mut counts: FxHashMap<(u32, u32), u64> = FxHashMap::default();
        for (source, target) in &self.references {
            let classes = [target, source].map(|object| self.class[*object as usize]);
            *counts.entry((classes[0], classes[1])).or_default() += 1;
        }
        let class = |number| self.classes.key(number);
        let mut referrers: Vec<_> = counts
            .into_iter()
            .map(|((to, from), count)| (class(to), class(from), count))
            .collect();
        referrers.sort_by_key(|(to, from, count)| (*to, Reverse(*count), *from));
        referrers
    }

    fn sum_up(mut self, objects: &Objects, dump: &mut Dump) {
        self.numbers = Table::default();
        for (number, id) in self.ids.iter().enumerate().skip(1) {
            if self.class[number] == 0 {
                self.class[number] = self.classes.number(objects.class(*id));
            }
            if self.sizes[number] < 0 {
                self.sizes[number] = objects.size(*id);
            }
        }
        let mut roots_of: FxHashMap<u32, u64> = FxHashMap::default();
        for root in &self.roots {
            *roots_of.entry(self.class[*root as usize]).or_default() += 1;
        }
        let roots = self.roots.iter().map(|root| (0, *root));
        let edges = || roots.clone().chain(self.references.iter().copied());
        let graph = graph::Rows::new(self.ids.len(), edges);
        dump.referrers = self.referrers();
        self.references = Vec::new();
        let tree = dominators::dominators(&graph, 0);
        drop(graph);
        let retained = retained::by_object(&tree, &self.sizes);
        let count = self.classes.keys().len();
        let of_classes = retained::by_class(&tree, &retained, &self.class, count);

        let mut shallow = vec![Amount::default(); count];
        for (class, size) in self.class.iter().zip(&self.sizes).skip(1) {
            shallow[*class as usize].add(*size);
            dump.all.add(*size);
        }
        dump.unreachable = Some(Amount {
            objects: dump.all.objects.saturating_sub(tree.order.len() as u64 - 1),
            bytes: dump.all.bytes.saturating_sub(retained[0]),
        });
        let keys = (0_u32..).zip(self.classes.keys());
        dump.classes = keys
            .zip(shallow.iter().zip(of_classes))
            .filter(|(_, (shallow, _))| shallow.objects > 0)
            .map(|((number, class), (shallow, retained))| DumpClass {
                class: *class,
                shallow: *shallow,
                roots: roots_of.get(&number).copied().unwrap_or(0),
                retained,
            })
            .collect();
        dump.classes.sort_by_key(|c| {
            (
                Reverse(c.shallow.bytes),
                Reverse(c.shallow.objects),
                c.class,
            )
        });

        let mut places: Vec<u32> = (1..tree.order.len() as u32).collect();
        let key = |place: &u32| {
            let node = tree.order[*place as usize] as usize;
            (Reverse(retained[*place as usize]), self.ids[node])
        };
        if places.len() > OBJECTS_KEPT {
            places.select_nth_unstable_by_key(OBJECTS_KEPT, key);
            places.truncate(OBJECTS_KEPT);
        }
        places.sort_by_key(key);
        let object = |place: &u32| {
            let node = tree.order[*place as usize] as usize;
            DumpObject {
                object: self.ids[node],
                class: self.classes.key(self.class[node]),
                shallow: self.sizes[node],
                retained: retained[*place as usize],
            }
        };
        dump.objects = places.iter().map(object).collect();
    }
}

#[cfg(test)]
mod tests;
