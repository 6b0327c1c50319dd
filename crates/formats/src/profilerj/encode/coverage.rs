//! Line counts by class and method.

use crate::profilerj::wire::LAST_LINE;
use jtrail_model::{ClassId, LineCounts, MethodId};
use std::collections::{BTreeMap, HashMap};

#[derive(Clone, Debug, Default)]
pub(in crate::profilerj) struct Coverage {
    /// Classes and their methods, in the order in which they appear.
    pub(super) classes: Vec<(ClassId, Vec<MethodId>)>,
    by_class: HashMap<ClassId, usize>,
    methods: HashMap<MethodId, Lines>,
}

#[derive(Clone, Debug)]
pub(super) struct Lines {
    pub(super) calls: u64,
    /// How often each line was reached.
    pub(super) counts: BTreeMap<u32, u64>,
}

impl Coverage {
    /// Adds the line counts of a method. Lines with a number that no class file can have are
    /// dropped. Returns how many were dropped.
    pub(super) fn counts(&mut self, class: ClassId, e: &LineCounts) -> u64 {
        let mut counts = BTreeMap::new();
        let mut odd = 0;
        for line in &e.lines {
            if (1..=LAST_LINE).contains(&line.line) {
                let count = counts.entry(line.line).or_insert(0_u64);
                *count = count.saturating_add(line.count).min(i64::MAX as u64);
            } else {
                odd += 1;
            }
        }
        let calls = e.calls;
        if self
            .methods
            .insert(e.method, Lines { calls, counts })
            .is_none()
        {
            let next = self.classes.len();
            let at = *self.by_class.entry(class).or_insert(next);
            if at == next {
                self.classes.push((class, Vec::new()));
            }
            self.classes[at].1.push(e.method);
        }
        odd
    }

    pub(super) fn lines(&self, method: MethodId) -> Option<&Lines> {
        self.methods.get(&method)
    }
}
