//! Classes of the objects that threads wait for.
//!
//! A trace defines an object once, at its allocation or its first mention, which may be long before
//! a wait. The classes of all objects would take a lot of memory. So only the classes of objects
//! that an answer shows are searched for, from the waits back to the begin of the trace.

use crate::remaining::Remaining;
use crate::slice::Kind;
use crate::trace::Trace;
use crate::waits::Wait;
use crate::walk::{Begin, Open, Walk};
use jtrail_model::{ClassId, Event, ObjectId, ThreadId, Timestamp};
use rustc_hash::{FxHashMap, FxHashSet};
use std::io;
use std::time::{Duration, Instant};

/// Maximum number of bytes of the trail that a search reads.
const MAX_BYTES: u64 = 1 << 30;
/// Time after which a search looks whether it has found everything.
const STEP: Duration = Duration::from_millis(5);

/// The classes of objects that were searched for, and the search for others.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    /// None for objects that the trace does not define.
    known: FxHashMap<ObjectId, ClassId>,
    sought: FxHashSet<ObjectId>,
    /// The latest begin of a wait for an object that is searched for.
    until: Timestamp,
    remaining: Remaining<usize>,
}

impl Classes {
    /// Searches for the classes of the objects of some waits, until all are found or the time is
    /// over.
    ///
    /// # Errors
    /// If the file can't be read, or `InvalidData` if a segment is damaged.
    pub(crate) fn find<'w>(
        &mut self,
        trace: &Trace,
        waits: impl Iterator<Item = &'w Wait>,
        time: Duration,
    ) -> io::Result<()> {
        self.want(trace, waits);
        let begun = Instant::now();
        while !self.sought.is_empty() && begun.elapsed() < time {
            let sought = self.sought.clone();
            let read = |number: &usize| {
                let mut definitions = Definitions {
                    sought: &sought,
                    found: FxHashMap::default(),
                };
                trace.walk(*number, &mut definitions)?;
                Ok(definitions.found)
            };
            let (known, sought) = (&mut self.known, &mut self.sought);
            self.remaining.advance(STEP, read, |_, found| {
                // Of several definitions, the latest one before the wait counts.
                for (object, class) in found {
                    if sought.remove(&object) {
                        known.insert(object, class);
                    }
                }
            })?;
            if self.remaining.share() >= 1.0 {
                let unknown = self.sought.drain().map(|object| (object, ClassId::NONE));
                self.known.extend(unknown);
            }
        }
        Ok(())
    }

    /// Begins a new search if there are objects for which nobody has searched.
    fn want<'w>(&mut self, trace: &Trace, waits: impl Iterator<Item = &'w Wait>) {
        let mut is_new = false;
        for wait in waits.filter(|wait| !wait.object.is_none()) {
            if !self.known.contains_key(&wait.object) && self.sought.insert(wait.object) {
                is_new = true;
                self.until = self.until.max(wait.begin);
            }
        }
        if !is_new {
            return;
        }
        let until = self.until;
        let numbers: Vec<usize> = (0..trace.segment_count())
            .filter(|number| trace.first_time(*number) <= until && !trace.is_damaged(*number))
            .collect();
        let end = numbers.last().map_or(0, |number| trace.end_of(*number));
        let is_near = |number: &usize| end - trace.end_of(*number) < MAX_BYTES;
        let numbers = numbers.into_iter().filter(is_near);
        self.remaining = Remaining::new(numbers.rev());
    }

    /// Returns which share of the search is done: 1 if nothing is searched for.
    pub(crate) fn share(&self) -> f64 {
        match self.sought.is_empty() {
            true => 1.0,
            false => self.remaining.share(),
        }
    }

    /// Returns the class of an object; `None` if it has not been found.
    pub(crate) fn class(&self, object: ObjectId) -> Option<ClassId> {
        let class = self.known.get(&object).copied();
        class.filter(|class| !class.is_none())
    }
}

/// The classes of some objects that a segment defines.
struct Definitions<'a> {
    sought: &'a FxHashSet<ObjectId>,
    found: FxHashMap<ObjectId, ClassId>,
}

impl Walk for Definitions<'_> {
    type Extra = ();
    type Thread = ();

    fn thread(&mut self, _: ThreadId) {}

    fn begin(&mut self, _: &mut (), _: &[Open<()>], _: Begin) {}

    fn end(&mut self, _: &mut (), _: &[Open<()>], _: Open<()>, _: (Timestamp, Kind)) {}

    fn other(&mut self, event: &Event<'_>) {
        let (object, class) = match event {
            Event::ObjectAlloc(e) => (e.object, e.class),
            Event::ObjectDef(e) => (e.object, e.class),
            _ => return,
        };
        if self.sought.contains(&object) {
            self.found.insert(object, class);
        }
    }
}
