//! Counters of lines: 64 bits for each entry of a line table, in memory that never moves.
//!
//! The hook class adds to them, from compiled code without a call; the writer reads them when it
//! tells what they say.

use jtrail_recorder::memory::Zeros;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Room for so many counters. Memory is only used up as counters are.
const MOST: u32 = 1 << 25;

/// All counters.
#[derive(Debug)]
pub(crate) struct LineCounters {
    counters: Zeros<AtomicU64>,
    next: AtomicU32,
}

impl LineCounters {
    /// No counter in use.
    ///
    /// # Errors
    /// When the system has no such range of addresses.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            counters: Zeros::new(MOST as usize)?,
            next: AtomicU32::new(0),
        })
    }

    /// Address of the first one.
    pub(crate) fn address(&self) -> usize {
        self.counters.all().as_ptr() as usize
    }

    /// Takes `count` counters in a row; the number of the first. `None` when there are no more.
    pub(crate) fn take(&self, count: usize) -> Option<u32> {
        let count = u32::try_from(count).ok()?;
        let grow = |next: u32| next.checked_add(count).filter(|end| *end <= MOST);
        self.next
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, grow)
            .ok()
    }

    /// What all counters in use say.
    pub(crate) fn all(&self) -> Vec<u64> {
        let used = self.next.load(Ordering::Relaxed);
        (0..used).map(|number| self.count(number)).collect()
    }

    /// What a counter says.
    pub(crate) fn count(&self, number: u32) -> u64 {
        let counter = self.counters.all().get(number as usize);
        counter.map_or(0, |counter| counter.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_taken_once() {
        let lines = LineCounters::new().expect("addresses");
        assert_eq!(lines.take(3), Some(0));
        assert_eq!(lines.take(0), Some(3));
        assert_eq!(lines.take(2), Some(3));
        assert_eq!(lines.take(MOST as usize), None);
        assert_eq!(lines.take(usize::MAX), None);
        lines.counters.all()[4].fetch_add(7, Ordering::Relaxed);
        assert_eq!(lines.count(4), 7);
        assert_eq!(lines.count(u32::MAX), 0);
    }
}
