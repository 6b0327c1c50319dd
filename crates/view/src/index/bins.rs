//! The slices of a thread at a resolution: in bins of 2^power ns.

use crate::slice::{EARLIER, Kind, Slice};
use jtrail_model::Timestamp;

/// Maximum number of levels that pictures have. Slices at deeper levels are not in the index.
pub(crate) const MAX_LEVELS: usize = 512;

/// A resolution: bins of 2^`power` ns, which are counted from the trace's first time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bins {
    pub(crate) origin: Timestamp,
    pub(crate) power: u8,
}

impl Bins {
    /// Returns the bin of a time. Times before the origin are in bin 0.
    #[inline]
    pub(crate) fn of(self, time: Timestamp) -> u64 {
        let since = time.0.saturating_sub(self.origin.0).max(0);
        since.unsigned_abs() >> self.power
    }

    /// Returns the first time of a bin.
    pub(crate) fn begin(self, bin: u64) -> Timestamp {
        let since = bin.checked_shl(self.power.into()).unwrap_or(u64::MAX);
        let since = i64::try_from(since).unwrap_or(i64::MAX);
        Timestamp(self.origin.0.saturating_add(since))
    }

    /// Returns the first time after a bin.
    pub(crate) fn end(self, bin: u64) -> Timestamp {
        self.begin(bin.saturating_add(1))
    }

    /// Returns true if a slice is at least as long as a bin.
    #[inline]
    fn is_long(self, slice: &Slice) -> bool {
        slice.begin == EARLIER || length(slice) >> self.power != 0
    }
}

/// Returns the length of a slice in ns.
fn length(slice: &Slice) -> u64 {
    let is_positive = slice.end >= slice.begin;
    if is_positive {
        slice.end.0.abs_diff(slice.begin.0)
    } else {
        0
    }
}

/// Returns a number for a length in ns, which grows with it. Lengths with the same number differ by
/// less than an eighth.
#[inline]
pub(crate) fn length_class(length: u64) -> u16 {
    if length < 8 {
        return length as u16;
    }
    let log = length.ilog2();
    ((log - 2) * 8 + ((length >> (log - 3)) & 7) as u32) as u16
}

/// The slices of a thread that begin in a bin, have the same level, and are shorter than a bin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Cell {
    pub(crate) bin: u64,
    /// Number of slices.
    pub(crate) count: u32,
    /// The method of a longest one, up to [`length_class`].
    pub(crate) method: u32,
    /// The [`length_class`] of the longest one.
    pub(crate) length: u16,
    /// What the thread does in all slices; a call if that differs.
    pub(crate) kind: Kind,
}

impl Cell {
    pub(crate) fn of(slice: &Slice, bins: Bins) -> Self {
        Self {
            bin: bins.of(slice.begin),
            count: 1,
            method: slice.method,
            length: length_class(length(slice)),
            kind: slice.kind,
        }
    }

    /// Adds slices that begin later.
    #[inline]
    pub(crate) fn add(&mut self, later: &Self) {
        self.count = self.count.saturating_add(later.count);
        if later.kind != self.kind {
            self.kind = Kind::Call;
        }
        if later.length > self.length {
            (self.length, self.method) = (later.length, later.method);
        }
    }
}

/// The slices of a thread at one level, in the order of their begins.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Level {
    /// Slices that are shorter than a bin, together.
    pub(crate) cells: Vec<Cell>,
    /// The others.
    pub(crate) long: Vec<Slice>,
}

/// The slices of a thread that end in some segments, at a resolution.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Detail {
    /// By level.
    pub(crate) levels: Vec<Level>,
}

impl Detail {
    /// Adds a slice, which begins later than those before it at its level.
    #[inline]
    pub(crate) fn push(&mut self, slice: &Slice, bins: Bins) {
        let Some(level) = self.level(slice.level) else {
            return;
        };
        if bins.is_long(slice) {
            level.long.push(*slice);
        } else {
            level.cells.push_or_add(Cell::of(slice, bins));
        }
    }

    /// Adds a slice that begins earlier than all others at its level.
    pub(crate) fn push_front(&mut self, slice: &Slice, bins: Bins) {
        let Some(level) = self.level(slice.level) else {
            return;
        };
        if bins.is_long(slice) {
            level.long.insert(0, *slice);
            return;
        }
        let mut cell = Cell::of(slice, bins);
        match level.cells.first_mut() {
            Some(first) if first.bin == cell.bin => {
                cell.add(first);
                *first = cell;
            }
            _ => level.cells.insert(0, cell),
        }
    }

    fn level(&mut self, level: u32) -> Option<&mut Level> {
        let level = level as usize;
        if level >= MAX_LEVELS {
            return None;
        }
        if level >= self.levels.len() {
            self.levels.resize_with(level + 1, Level::default);
        }
        Some(&mut self.levels[level])
    }

    /// Adds the slices of later segments at the same resolution.
    pub(crate) fn append(&mut self, later: Self) {
        for (level, more) in later.levels.into_iter().enumerate() {
            if let Some(level) = self.level(level as u32) {
                for cell in more.cells {
                    level.cells.push_or_add(cell);
                }
                level.long.extend(more.long);
            }
        }
    }

    /// Makes bins larger, from 2^`from.power` ns to 2^`to.power` ns.
    pub(crate) fn coarsen(&mut self, from: Bins, to: Bins) {
        if to.power > from.power {
            self.levels
                .iter_mut()
                .for_each(|level| level.coarsen(from, to));
        }
    }

    /// Returns the number of cells and of long slices.
    pub(crate) fn counts(&self) -> [usize; 2] {
        let cells = self.levels.iter().map(|level| level.cells.len()).sum();
        let long = self.levels.iter().map(|level| level.long.len()).sum();
        [cells, long]
    }
}

impl Level {
    fn coarsen(&mut self, from: Bins, to: Bins) {
        let shift = to.power - from.power;
        for cell in &mut self.cells {
            cell.bin >>= shift;
        }
        let cells = std::mem::take(&mut self.cells);
        let short = self.long.iter().filter(|slice| !to.is_long(slice));
        let mut short = short.map(|slice| Cell::of(slice, to)).peekable();
        // Both are in the order of their bins.
        for cell in cells {
            while let Some(earlier) = short.next_if(|short| short.bin < cell.bin) {
                self.cells.push_or_add(earlier);
            }
            self.cells.push_or_add(cell);
        }
        short.for_each(|cell| self.cells.push_or_add(cell));
        self.long.retain(|slice| to.is_long(slice));
    }
}

/// Cells in the order of their bins.
trait Cells {
    /// Adds a cell, which is in the last bin or a later one.
    fn push_or_add(&mut self, cell: Cell);
}

impl Cells for Vec<Cell> {
    #[inline]
    fn push_or_add(&mut self, cell: Cell) {
        match self.last_mut() {
            Some(last) if last.bin == cell.bin => last.add(&cell),
            _ => self.push(cell),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(begin: i64, end: i64, method: u32) -> Slice {
        Slice {
            begin: Timestamp(begin),
            end: Timestamp(end),
            method,
            level: 0,
            kind: Kind::Call,
        }
    }

    fn bins(power: u8) -> Bins {
        Bins {
            origin: Timestamp(1000),
            power,
        }
    }

    #[test]
    fn larger_bins_have_what_smaller_ones_had() {
        let all: Vec<Slice> = (0..500)
            .map(|n| {
                let begin = 1000 + n * 37;
                slice(begin, begin + (n * 7919) % 37, n as u32)
            })
            .collect();
        for power in 0..12 {
            let of = |bins| {
                let mut detail = Detail::default();
                all.iter().for_each(|slice| detail.push(slice, bins));
                detail
            };
            let expected = of(bins(power));
            for finer in 0..=power {
                let mut detail = of(bins(finer));
                detail.coarsen(bins(finer), bins(power));
                // Of slices with the same class of length, either may be the longest.
                for (found, expected) in detail.levels.iter().zip(&expected.levels) {
                    let of = |level: &Level| -> Vec<_> {
                        let cells = level.cells.iter();
                        cells.map(|c| (c.bin, c.count, c.length)).collect()
                    };
                    assert_eq!(of(found), of(expected));
                    assert_eq!(found.long, expected.long);
                }
            }
        }
    }

    #[test]
    fn classes_of_lengths_grow() {
        let lengths =
            (0..60).flat_map(|log| (0..16).map(move |n| (1_u64 << log) + (n << log) / 16));
        let mut sorted: Vec<u64> = lengths.collect();
        sorted.sort_unstable();
        for pair in sorted.windows(2) {
            assert!(length_class(pair[0]) <= length_class(pair[1]), "{pair:?}");
        }
        assert!(length_class(1000) < length_class(1125));
    }
}
