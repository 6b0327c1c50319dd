//! The methods that were called, and the number of open calls of each.

use super::MethodStat;
use super::sums::Sums;
use crate::saved::steps;
use crate::table::Table;
use jtrail_model::MethodId;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::hash_map::Entry;

/// The called methods of a trace, numbered in the order of their first calls, with the sums of
/// their calls.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Methods {
    #[serde(with = "steps")]
    ids: Vec<MethodId>,
    /// The numbers plus 1; 0 for a method that was not called.
    #[serde(skip)]
    numbers: Table<u32>,
    pub(super) sums: Sums,
}

impl Methods {
    pub(super) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns the ids, in the order of their numbers.
    pub(super) fn ids(&self) -> impl Iterator<Item = MethodId> {
        self.ids.iter().copied()
    }

    pub(super) fn id(&self, number: u32) -> MethodId {
        self.ids[number as usize]
    }

    #[inline(always)]
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

    /// Returns the number of a method if it was called.
    #[inline(always)]
    pub(super) fn known(&self, id: MethodId) -> Option<u32> {
        self.numbers.get(id.0).checked_sub(1)
    }

    pub(super) fn stats(&self) -> Vec<MethodStat> {
        let all = (0_u32..).zip(&self.ids);
        all.map(|(number, id)| self.sums.stat(number, *id))
            .collect()
    }
}

/// The number of open calls by thread and method. A call is recursive if there is already an open
/// call of the method: its time must not be counted again.
#[derive(Debug, Default)]
pub(super) struct OpenCounts {
    /// For each method, the number of open calls of one thread. In most programs, no second thread
    /// is in the method at the same time.
    first: Vec<FirstOpen>,
    /// The numbers of all other open calls, by thread and method. It has no zeros.
    others: FxHashMap<(u32, u32), u32>,
}

#[derive(Clone, Copy, Debug, Default)]
struct FirstOpen {
    thread: u32,
    calls: u32,
}

impl OpenCounts {
    /// Counts a call of the method. Returns true if it is the outermost one (not recursive).
    #[inline(always)]
    pub(super) fn enter(&mut self, thread: u32, method: u32) -> bool {
        let place = method as usize;
        if place >= self.first.len() {
            self.first.resize(place + 1, FirstOpen::default());
        }
        let first = &mut self.first[place];
        if first.calls > 0 && first.thread == thread {
            first.calls += 1;
            return false;
        }
        if first.calls == 0 && self.others.is_empty() {
            *first = FirstOpen { thread, calls: 1 };
            return true;
        }
        match self.others.entry((thread, method)) {
            Entry::Occupied(mut calls) => {
                *calls.get_mut() += 1;
                return false;
            }
            Entry::Vacant(_) if first.calls == 0 => *first = FirstOpen { thread, calls: 1 },
            Entry::Vacant(place) => _ = place.insert(1),
        }
        true
    }

    #[inline(always)]
    pub(super) fn leave(&mut self, thread: u32, method: u32) {
        let first = &mut self.first[method as usize];
        if first.calls > 0 && first.thread == thread {
            first.calls -= 1;
        } else if let Entry::Occupied(mut calls) = self.others.entry((thread, method)) {
            match calls.get() {
                1 => _ = calls.remove(),
                _ => *calls.get_mut() -= 1,
            }
        }
    }
}
