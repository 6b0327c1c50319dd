//! Objects by class: allocated, freed, and alive at the end or after the last collection.
//!
//! Only trace logs have tables of live objects after collections. The table of a collection is
//! written after the first frees. If more frees arrive later, a second table is written before the
//! next collection or at the end.

use crate::table::{Index, Table};
use jtrail_model::{ClassId, Event, LiveObjects, ObjectId, ThreadId};
use rustc_hash::FxHashMap;

/// Sums over the objects of one class.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OfClass {
    pub(super) objects: u64,
    pub(super) bytes: u64,
    pub(super) frees: u64,
    /// Objects that were allocated and not freed.
    pub(super) live: u64,
    /// Objects that existed before the trace and were not freed.
    older: u64,
    /// The change of `live + older` since the last count after a collection.
    since: i64,
    /// True if the class is in [`Objects::changed`].
    changed: bool,
}

/// The state of a trace between two collections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Phase {
    /// All frees have arrived, as far as is known.
    #[default]
    Reported,
    /// A collection has ended, and its frees are still to come.
    Due,
    /// Frees of the collection are arriving.
    Frees,
    /// More frees have arrived after the count.
    Late,
}

/// The sums over objects, by class.
#[derive(Debug, Default)]
pub(super) struct Objects {
    classes: Index<ClassId>,
    sums: Vec<OfClass>,
    /// For each object, `2 * n + 1`, where `n` is the number of its class; `2 * n + 2` if the
    /// object existed before the trace.
    table: Option<Table<u32>>,
    /// The classes whose `since` may differ from 0.
    changed: Vec<u32>,
    phase: Phase,
    /// True if objects were counted after a collection.
    collected: bool,
    /// The last table of live objects in the trace.
    reported: Option<FxHashMap<ClassId, u64>>,
    /// Live objects as counted in the trace itself.
    counted: FxHashMap<(ThreadId, ClassId), u64>,
}

impl Objects {
    /// Creates empty sums. `single` is true if each object must be followed from its allocation to
    /// its free.
    pub(super) fn new(single: bool) -> Self {
        Self {
            table: single.then(Table::default),
            ..Self::default()
        }
    }

    /// Processes definitions and frees of objects, sums of allocations, and collections. Ignores
    /// other events.
    pub(super) fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::ObjectAlloc(e) => {
                let class = self.class(e.class);
                let sums = &mut self.sums[class as usize];
                sums.objects += 1;
                sums.bytes = sums.bytes.saturating_add(e.size.max(0) as u64);
                self.begins(e.object, class, false);
            }
            Event::ObjectDef(e) => {
                let class = self.class(e.class);
                self.begins(e.object, class, true);
            }
            Event::ObjectFree(e) => self.ends(e.object),
            Event::AllocationSum(e) => {
                let class = self.class(e.class);
                let sums = &mut self.sums[class as usize];
                sums.objects = sums.objects.saturating_add(e.objects);
                sums.bytes = sums.bytes.saturating_add(e.bytes);
            }
            Event::GcStart(_) => self.finish(),
            Event::GcFinish(_) => self.phase = Phase::Due,
            Event::LiveObjects(e) => self.reported = Some(by_class(e)),
            Event::ObjectCounts(e) => {
                self.counted.insert((e.thread, e.class), e.live);
            }
            _ => {}
        }
    }

    /// Ends the frees of the last collection. Counts the live objects if they were not counted
    /// since.
    pub(super) fn finish(&mut self) {
        if self.phase != Phase::Reported {
            self.count();
        }
    }

    fn class(&mut self, class: ClassId) -> u32 {
        let number = self.classes.number(class);
        if number as usize == self.sums.len() {
            self.sums.push(OfClass::default());
        }
        number
    }

    fn begins(&mut self, id: ObjectId, class: u32, older: bool) {
        let Some(table) = &mut self.table else { return };
        if !id.is_none() {
            let known = table.get(id.0);
            // A thread or class object may be defined before its allocation is reported, or be
            // defined again.
            if known != 0 {
                return;
            }
            table.set(id.0, (class + 1) << 1 | u32::from(older));
        }
        if self.phase == Phase::Frees {
            self.count();
        }
        let sums = &mut self.sums[class as usize];
        let count = if older {
            &mut sums.older
        } else {
            &mut sums.live
        };
        *count += 1;
        self.change(class, 1);
    }

    fn ends(&mut self, id: ObjectId) {
        let Some(table) = &mut self.table else { return };
        let known = table.get(id.0);
        if known == 0 {
            return;
        }
        table.set(id.0, 0);
        let (class, older) = ((known >> 1) - 1, known & 1 == 1);
        let sums = &mut self.sums[class as usize];
        sums.frees += 1;
        let count = if older {
            &mut sums.older
        } else {
            &mut sums.live
        };
        *count = count.saturating_sub(1);
        self.change(class, -1);
        self.phase = match self.phase {
            Phase::Due => Phase::Frees,
            Phase::Reported if self.collected => Phase::Late,
            other => other,
        };
    }

    fn change(&mut self, class: u32, by: i64) {
        let sums = &mut self.sums[class as usize];
        sums.since += by;
        if !std::mem::replace(&mut sums.changed, true) {
            self.changed.push(class);
        }
    }

    /// Counts the objects after a collection: resets `since`, which sums up later changes.
    fn count(&mut self) {
        self.phase = Phase::Reported;
        self.collected = true;
        for class in self.changed.drain(..) {
            let sums = &mut self.sums[class as usize];
            (sums.since, sums.changed) = (0, false);
        }
    }

    /// Returns the sums of each class.
    pub(super) fn classes(&self) -> impl Iterator<Item = (ClassId, &OfClass)> {
        self.classes.keys().iter().copied().zip(&self.sums)
    }

    /// Returns the number of objects allocated in the trace that are alive at its end, by class.
    pub(super) fn live(&self) -> Vec<(ClassId, u64)> {
        let counted = self
            .counted
            .iter()
            .map(|((_, class), live)| (*class, *live));
        self.classes()
            .map(|(class, sums)| (class, sums.live))
            .chain(counted)
            .collect()
    }

    /// Returns the number of all objects alive at the end of the trace, by class, including those
    /// that existed before it.
    pub(super) fn all_live(&self) -> Vec<(ClassId, u64)> {
        self.classes()
            .map(|(class, sums)| (class, sums.live + sums.older))
            .collect()
    }

    /// Returns the number of all objects that were alive after the frees of the last collection, by
    /// class; `None` without a collection.
    pub(super) fn after_collection(&self) -> Option<Vec<(ClassId, u64)>> {
        let live = |sums: &OfClass| (sums.live + sums.older).saturating_add_signed(-sums.since);
        self.collected.then(|| {
            self.classes()
                .map(|(class, sums)| (class, live(sums)))
                .collect()
        })
    }

    /// Returns the last table of live objects in the trace.
    pub(super) fn reported(&self) -> Option<Vec<(ClassId, u64)>> {
        let reported = self.reported.as_ref()?;
        Some(
            reported
                .iter()
                .map(|(class, live)| (*class, *live))
                .collect(),
        )
    }
}

fn by_class(e: &LiveObjects) -> FxHashMap<ClassId, u64> {
    e.classes
        .iter()
        .map(|live| (live.class, live.objects))
        .collect()
}
