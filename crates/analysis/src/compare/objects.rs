//! Objects by class: allocated, freed, and alive at the end or behind the last collection.
//!
//! A table behind a collection is what a trace log has: one when the first frees of a collection
//! were told, and one more before the next collection or at the end when others came later.

use crate::table::{Index, Table};
use jtrail_model::{ClassId, Event, LiveObjects, ObjectId, ThreadId};
use rustc_hash::FxHashMap;

/// Sums over the objects of one class.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OfClass {
    pub(super) objects: u64,
    pub(super) bytes: u64,
    pub(super) frees: u64,
    /// Allocated and not freed.
    pub(super) live: u64,
    /// Older than the trace and not freed.
    older: u64,
    /// Of both, those that came less those that went since they were counted behind a collection.
    since: i64,
    /// It is in the list of those that changed.
    changed: bool,
}

/// Where a trace is between two collections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Phase {
    /// All that was found dead is told, as far as is known.
    #[default]
    Reported,
    /// A collection ended, and its frees are to come.
    Due,
    /// They come.
    Frees,
    /// They came, and some more behind them.
    Late,
}

/// The sums by class.
#[derive(Debug, Default)]
pub(super) struct Objects {
    classes: Index<ClassId>,
    sums: Vec<OfClass>,
    /// Number of an object's class and 1, twice, and 1 more for one that is older than the trace.
    table: Option<Table<u32>>,
    /// Classes whose `since` may not be 0.
    changed: Vec<u32>,
    phase: Phase,
    /// Whether they were counted behind a collection.
    collected: bool,
    /// The last table of live objects that the trace has.
    reported: Option<FxHashMap<ClassId, u64>>,
    /// Live objects as the trace counts them itself.
    counted: FxHashMap<(ThreadId, ClassId), u64>,
}

impl Objects {
    /// `single`: what becomes of each object counts.
    pub(super) fn new(single: bool) -> Self {
        Self {
            table: single.then(Table::default),
            ..Self::default()
        }
    }

    /// Takes the life of objects, sums and collections; other events are passed over.
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

    /// Nothing more comes of the last collection: objects are counted, unless they were.
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
            // The object of a thread or class may be defined before its allocation is told, or
            // again.
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

    /// Objects are counted behind a collection: what changes from now on comes later.
    fn count(&mut self) {
        self.phase = Phase::Reported;
        self.collected = true;
        for class in self.changed.drain(..) {
            let sums = &mut self.sums[class as usize];
            (sums.since, sums.changed) = (0, false);
        }
    }

    /// The sums of each class.
    pub(super) fn classes(&self) -> impl Iterator<Item = (ClassId, &OfClass)> {
        self.classes.keys().iter().copied().zip(&self.sums)
    }

    /// Allocated objects that are alive at the end; none where the trace does not tell.
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

    /// All objects that are alive at the end, those older than the trace included.
    pub(super) fn all_live(&self) -> Vec<(ClassId, u64)> {
        self.classes()
            .map(|(class, sums)| (class, sums.live + sums.older))
            .collect()
    }

    /// All objects that were alive when the frees of the last collection were over; none without
    /// one.
    pub(super) fn after_collection(&self) -> Option<Vec<(ClassId, u64)>> {
        let live = |sums: &OfClass| (sums.live + sums.older).saturating_add_signed(-sums.since);
        self.collected.then(|| {
            self.classes()
                .map(|(class, sums)| (class, live(sums)))
                .collect()
        })
    }

    /// The last table of live objects that the trace has.
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
