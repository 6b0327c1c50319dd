//! Counters of lines: 64 bits for each entry of a line table, in memory that stays for ever.
//!
//! The hook class adds to them, from compiled code without a call; the writer reads them when it tells what they say.

use crate::memory;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Room for so many counters. Memory is only used up as counters are.
const MOST: u32 = 1 << 25;

/// All counters.
#[derive(Debug)]
pub(crate) struct LineCounters {
    counters: &'static [AtomicU64],
    next: AtomicU32,
}

impl LineCounters {
    /// No counter in use.
    ///
    /// # Errors
    /// When the system has no such range of addresses.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            counters: reserve(MOST as usize)?,
            next: AtomicU32::new(0),
        })
    }

    /// Address of the first one.
    pub(crate) fn address(&self) -> usize {
        self.counters.as_ptr() as usize
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
        let counter = self.counters.get(number as usize);
        counter.map_or(0, |counter| counter.load(Ordering::Relaxed))
    }
}

/// What may be all zeros.
///
/// # Safety
/// It is a value of the type, and the type needs no drop.
pub(crate) unsafe trait Zeroed {}

// SAFETY: 0.
unsafe impl Zeroed for AtomicU32 {}
// SAFETY: 0.
unsafe impl Zeroed for AtomicU64 {}
// SAFETY: `false`.
unsafe impl Zeroed for AtomicBool {}

/// Zeros in a row, in memory that never moves and is never given back. It is used up as they are written to.
///
/// # Errors
/// When the system has no such range of addresses.
pub(crate) fn reserve<T: Zeroed>(count: usize) -> io::Result<&'static [T]> {
    let start = memory::map(count * size_of::<T>())?;
    // SAFETY: fresh, zeroed, page-aligned memory of that length, which is never given back.
    Ok(unsafe { NonNull::slice_from_raw_parts(start.cast(), count).as_ref() })
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
        lines.counters[4].fetch_add(7, Ordering::Relaxed);
        assert_eq!(lines.count(4), 7);
        assert_eq!(lines.count(u32::MAX), 0);
    }
}
