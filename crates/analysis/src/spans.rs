//! Lengths of time: their sums, and the longest ones.

use super::KEPT;
use jtrail_model::Timestamp;
use std::cmp::Reverse;

/// Sums over lengths of time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spans {
    /// How many.
    pub count: u64,
    /// All together, in ns.
    pub total: i64,
    /// The longest, in ns.
    pub longest: i64,
}

impl Spans {
    /// Adds a length in ns.
    pub(super) fn add(&mut self, ns: i64) {
        self.count += 1;
        self.total = self.total.saturating_add(ns);
        self.longest = self.longest.max(ns);
    }
}

/// Something with a begin and a length.
pub trait Timed {
    /// When it began.
    fn start(&self) -> Timestamp;
    /// How long it was, in ns.
    fn length(&self) -> i64;
}

/// The longest ones of many.
#[derive(Clone, Debug)]
pub struct Longest<T>(Vec<T>);

impl<T> Default for Longest<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Timed> Longest<T> {
    pub(super) fn add(&mut self, item: T) {
        self.0.push(item);
        if self.0.len() >= 2 * KEPT {
            self.sort();
            self.0.truncate(KEPT);
        }
    }

    /// The longest ones, longest first: [`KEPT`] at least, or all that there were.
    pub fn sorted(&mut self) -> &[T] {
        self.sort();
        &self.0
    }

    fn sort(&mut self) {
        self.0.sort_by_key(|i| (Reverse(i.length()), i.start()));
    }
}
