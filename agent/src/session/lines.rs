//! Counters of source lines. Each entry of a line table has a counter of 64 bits, at an address
//! that never changes.
//!
//! The Java code of the hook class increments the counters, without a native call. The writer reads
//! the values when it writes them.

use jtrail_recorder::memory::Zeros;
use std::io;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Maximum number of counters. Only counters in use need memory.
const MAX_COUNTERS: u32 = 1 << 25;

/// All line counters.
#[derive(Debug)]
pub(crate) struct LineCounters {
    counters: Zeros<AtomicU64>,
    next: AtomicU32,
}

impl LineCounters {
    /// Reserves addresses for all counters. No counter is in use yet.
    ///
    /// # Errors
    /// If the system has no address range of that size.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            counters: Zeros::new(MAX_COUNTERS as usize)?,
            next: AtomicU32::new(0),
        })
    }

    /// Returns the address of the first counter.
    pub(crate) fn address(&self) -> usize {
        self.counters.all().as_ptr() as usize
    }

    /// Takes `count` consecutive counters. Returns the number of the first; `None` if there are not
    /// enough left.
    pub(crate) fn take(&self, count: usize) -> Option<u32> {
        let count = u32::try_from(count).ok()?;
        let grow = |next: u32| next.checked_add(count).filter(|end| *end <= MAX_COUNTERS);
        self.next
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, grow)
            .ok()
    }

    /// Returns the values of all counters in use.
    pub(crate) fn all(&self) -> Vec<u64> {
        let used = self.next.load(Ordering::Relaxed);
        (0..used).map(|number| self.count(number)).collect()
    }

    /// Returns the value of a counter.
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
        assert_eq!(lines.take(MAX_COUNTERS as usize), None);
        assert_eq!(lines.take(usize::MAX), None);
        lines.counters.all()[4].fetch_add(7, Ordering::Relaxed);
        assert_eq!(lines.count(4), 7);
        assert_eq!(lines.count(u32::MAX), 0);
    }
}
