//! Allocations by class, by site, and by thread.

use super::objects::Amount;
use crate::saved::by_key;
use jtrail_model::{ClassId, Event, MethodId, ObjectAlloc, ThreadId};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// A site at which objects of one class are allocated.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct AllocationSite {
    /// The class of the objects.
    pub class: ClassId,
    /// The allocating method; none if unknown.
    pub method: MethodId,
    /// The source line; 0 if unknown.
    pub line: i64,
}

/// Sums over allocations.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Allocations {
    /// All allocations.
    pub all: Amount,
    /// Allocations by class.
    #[serde(with = "by_key")]
    pub classes: FxHashMap<ClassId, Amount>,
    /// Allocations by class, method and line. Empty if no allocation in the trace has a method.
    #[serde(with = "by_key")]
    pub sites: FxHashMap<AllocationSite, Amount>,
    /// Allocations by thread. Those without a thread in the trace are under `ThreadId::NONE`.
    #[serde(with = "by_key")]
    pub threads: FxHashMap<ThreadId, Amount>,
}

impl Allocations {
    /// Processes single allocations and sums of allocations. Ignores other events.
    pub fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::ObjectAlloc(e) => self.alloc(e),
            Event::AllocationSum(e) => {
                let (class, thread) = (
                    self.classes.entry(e.class).or_default(),
                    self.threads.entry(e.thread).or_default(),
                );
                for sum in [&mut self.all, class, thread] {
                    sum.add_all(e.objects, e.bytes);
                }
            }
            _ => {}
        }
    }

    fn alloc(&mut self, e: &ObjectAlloc) {
        let bytes = e.size.max(0);
        self.all.add(bytes);
        self.classes.entry(e.class).or_default().add(bytes);
        self.threads.entry(e.thread).or_default().add(bytes);
        let (method, line) = (e.method, e.line);
        if !method.is_none() {
            let class = e.class;
            let site = AllocationSite {
                class,
                method,
                line,
            };
            self.sites.entry(site).or_default().add(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_model::AllocationSum;

    #[test]
    fn allocations_are_summed_three_ways() {
        let mut allocations = Allocations::default();
        for (class, method, line, thread, size) in [
            (1, 10, 5, 1, 16),
            (1, 10, 5, 1, 16),
            (1, 10, 6, 2, 16),
            (2, 0, 0, 0, 100),
            (2, 11, 0, 2, -1),
        ] {
            allocations.event(&Event::ObjectAlloc(ObjectAlloc {
                class: ClassId(class),
                method: MethodId(method),
                line,
                thread: ThreadId(thread),
                size,
                ..ObjectAlloc::default()
            }));
        }
        allocations.event(&Event::AllocationSum(AllocationSum {
            class: ClassId(3),
            thread: ThreadId(3),
            objects: 7,
            bytes: 700,
            ..AllocationSum::default()
        }));
        let amount = |objects, bytes| Amount { objects, bytes };
        assert_eq!(allocations.classes[&ClassId(3)], amount(7, 700));
        assert_eq!(allocations.threads[&ThreadId(3)], amount(7, 700));
        assert_eq!(allocations.all, amount(5 + 7, 148 + 700));
        assert_eq!(allocations.classes[&ClassId(1)], amount(3, 48));
        assert_eq!(allocations.classes[&ClassId(2)], amount(2, 100));
        let site = |class, method, line| AllocationSite {
            class: ClassId(class),
            method: MethodId(method),
            line,
        };
        assert_eq!(allocations.sites.len(), 3);
        assert_eq!(allocations.sites[&site(1, 10, 5)], amount(2, 32));
        assert_eq!(allocations.sites[&site(2, 11, 0)], amount(1, 0));
        assert_eq!(allocations.threads[&ThreadId(0)], amount(1, 100));
        assert_eq!(allocations.threads[&ThreadId(2)], amount(2, 16));
    }
}
