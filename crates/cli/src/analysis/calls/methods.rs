//! The methods that were called, and which of them a thread is in.

use super::MethodStat;
use super::sums::Sums;
use crate::analysis::table::Table;
use jtrail_model::MethodId;
use rustc_hash::FxHashMap;

/// The methods of a trace, numbered in the order of first call, with the sums of their calls.
#[derive(Debug, Default)]
pub(super) struct Methods {
    ids: Vec<MethodId>,
    /// From 1.
    numbers: Table<u32>,
    pub(super) sums: Sums,
}

impl Methods {
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    pub(super) fn id(&self, number: u32) -> MethodId {
        self.ids[number as usize]
    }

    pub(super) fn number(&mut self, id: MethodId) -> u32 {
        let mut number = self.numbers.get(id.0);
        if number == 0 {
            self.ids.push(id);
            self.sums.push();
            number = self.ids.len() as u32;
            self.numbers.set(id.0, number);
        }
        number - 1
    }

    pub(super) fn stats(&self) -> Vec<MethodStat> {
        let all = (0_u32..).zip(&self.ids);
        all.map(|(number, id)| self.sums.stat(number, *id))
            .collect()
    }
}

/// How many calls of each method are open in one thread: the time of one that another encloses must not be counted twice.
#[derive(Clone, Debug, Default)]
pub(super) struct OpenCounts {
    /// Stay when they are back at 0: most methods are called again.
    counts: FxHashMap<u32, u32>,
}

impl OpenCounts {
    /// One more call of the method; whether there is none around it.
    pub(super) fn enter(&mut self, method: u32) -> bool {
        let count = self.counts.entry(method).or_default();
        *count += 1;
        *count == 1
    }

    pub(super) fn leave(&mut self, method: u32) {
        if let Some(count) = self.counts.get_mut(&method) {
            *count -= 1;
        }
    }
}
