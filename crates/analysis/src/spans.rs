//! Sums over time spans, and the longest ones.

use super::KEPT;
use jtrail_model::Timestamp;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// Sums over time spans.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Spans {
    /// The number of spans.
    pub count: u64,
    /// The total length in ns.
    pub total: i64,
    /// The longest length in ns.
    pub longest: i64,
}

impl Spans {
    /// Adds a span by its length in ns.
    pub(super) fn add(&mut self, ns: i64) {
        self.count += 1;
        self.total = self.total.saturating_add(ns);
        self.longest = self.longest.max(ns);
    }
}

/// Something with a start and a length.
pub trait Timed {
    /// Returns the start.
    fn start(&self) -> Timestamp;
    /// Returns the length in ns.
    fn length(&self) -> i64;
}

/// The longest spans of many.
#[derive(Clone, Debug, Serialize, Deserialize)]
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

    /// Returns the longest spans, longest first: at least [`KEPT`], or all if there are fewer.
    pub fn sorted(&mut self) -> &[T] {
        self.sort();
        &self.0
    }

    fn sort(&mut self) {
        self.0.sort_by_key(|i| (Reverse(i.length()), i.start()));
    }
}
