//! The header, the ticks of records, and the bursts that contain all records.

use super::dropped::Dropped;
use crate::Patch;
use crate::jinsight::wire::{
    BEGIN_BURST, END_BURST, EVENTS_AT, HEAD, HEADER_SIZE, LINUX_X86, OPEN_CLASSES, OPEN_THREADS,
    OVERHEAD_AT, START_AT, TAG, TICKS, VERSION,
};
use crate::tally::DropTally;
use jtrail_model::Timestamp;

/// Ticks per second: ticks are nanoseconds since 1970.
const SECOND: u64 = 1_000_000_000;

#[derive(Debug, Default)]
pub(super) struct Stream {
    state: State,
    /// startTicks as written in the header.
    start: u64,
    /// Start of the process in seconds since 1970, if reported.
    pub(super) process_start: Option<u32>,
    /// Number of records after the header.
    records: u64,
    /// Cost of one callback in ticks; 0 if unknown.
    overhead: u32,
    /// Ticks of the last BEGIN_BURST.
    begin: u64,
    /// Lowest ticks allowed for a record: those of the last BEGIN_BURST, or 0 in the first burst.
    floor: u64,
    /// Lowest and highest ticks so far.
    lowest: u64,
    latest: u64,
    /// Highest ticks of a leave so far.
    last_leave: u64,
    /// Records that are held back until the next burst, and the offset of each record in `held`.
    held: Vec<u8>,
    held_at: Vec<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    /// Before the header.
    #[default]
    Before,
    /// Inside a burst.
    Burst,
    /// Between bursts.
    Paused,
}

impl Stream {
    /// Writes the header and BEGIN_BURST, unless they are written already.
    pub(super) fn open(&mut self, start: u64, out: &mut Vec<u8>) {
        if self.state != State::Before {
            return;
        }
        self.start = start;
        self.lowest = start;
        out.push(TAG);
        for field in [VERSION, LINUX_X86, 0, OPEN_THREADS, OPEN_CLASSES, TICKS] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.extend_from_slice(&self.start_fields());
        out.extend_from_slice(&0_u32.to_le_bytes());
        self.begin_burst(start, out);
    }

    /// Returns the header fields startTicks, vmStartTime and connectionStartTime.
    fn start_fields(&self) -> [u8; 16] {
        let start = self.start.min(self.lowest);
        let second = u32::try_from(start / SECOND).unwrap_or(u32::MAX);
        let process = self.process_start.unwrap_or(second).min(second);
        let mut fields = [0; 16];
        fields[..8].copy_from_slice(&start.to_le_bytes());
        fields[8..12].copy_from_slice(&process.to_le_bytes());
        fields[12..].copy_from_slice(&second.to_le_bytes());
        fields
    }

    pub(super) fn is_paused(&self) -> bool {
        self.state == State::Paused
    }

    pub(super) fn is_open(&self) -> bool {
        self.state != State::Before
    }

    /// Returns the highest ticks so far. They are used for events without a time.
    pub(super) fn latest(&self) -> u64 {
        self.latest
    }

    /// Returns the ticks of a record. Opens the stream if necessary.
    #[inline]
    pub(super) fn ticks(
        &mut self,
        time: Timestamp,
        dropped: &mut DropTally<Dropped>,
        out: &mut Vec<u8>,
    ) -> u64 {
        let ticks = u64::try_from(time.0).unwrap_or_else(|_| {
            dropped.part(Dropped::Time);
            0
        });
        if self.state == State::Before {
            self.open(ticks.saturating_sub(1), out);
        }
        dropped.part_if(ticks < self.floor, Dropped::Time);
        let ticks = ticks.max(self.floor);
        self.lowest = self.lowest.min(ticks);
        self.latest = self.latest.max(ticks);
        ticks
    }

    /// Returns the ticks of a definition. A time before the current burst is raised to the ticks of
    /// BEGIN_BURST.
    pub(super) fn definition_ticks(
        &mut self,
        time: Timestamp,
        dropped: &mut DropTally<Dropped>,
        out: &mut Vec<u8>,
    ) -> u64 {
        let ticks = u64::try_from(time.0).unwrap_or(0);
        let ticks = match self.state {
            State::Before => ticks,
            _ => ticks.max(self.begin),
        };
        dropped.part_if(Timestamp(ticks.cast_signed()) != time, Dropped::Time);
        self.ticks(Timestamp(ticks.cast_signed()), dropped, out)
    }

    /// Returns the ticks of a definition that was reported before this burst: `ticks`, raised to
    /// the ticks of BEGIN_BURST if lower.
    pub(super) fn in_burst(&self, ticks: u64) -> u64 {
        ticks.max(self.begin)
    }

    /// Returns the ticks of an enter. An enter with the ticks of BEGIN_BURST is moved by one tick.
    /// Otherwise, a reader would take the call for one that was in progress before the burst.
    #[inline]
    pub(super) fn enter_ticks(&mut self, ticks: u64, dropped: &mut DropTally<Dropped>) -> u64 {
        if ticks != self.begin {
            return ticks;
        }
        dropped.part(Dropped::Time);
        self.latest = self.latest.max(ticks + 1);
        ticks + 1
    }

    /// Returns the ticks of the last BEGIN_BURST.
    pub(super) fn begun(&self) -> u64 {
        self.begin
    }

    /// Registers the ticks of a leave.
    #[inline]
    pub(super) fn leave_ticks(&mut self, ticks: u64) {
        self.last_leave = self.last_leave.max(ticks);
    }

    /// Writes a record. During a pause, the record is held until the next burst.
    #[inline]
    pub(super) fn put(&mut self, kind: u8, ticks: u64, fields: &[u8], out: &mut Vec<u8>) {
        let mut head = [kind, 0, 0, 0, 0, 0, 0, 0, 0];
        head[1..].copy_from_slice(&ticks.to_le_bytes());
        if self.state == State::Paused {
            self.held_at.push(self.held.len());
            self.held.extend_from_slice(&head);
            self.held.extend_from_slice(fields);
        } else {
            self.records += 1;
            out.extend_from_slice(&head);
            out.extend_from_slice(fields);
        }
    }

    /// Returns the ticks for END_BURST. They are not lower than the ticks of any preceding record.
    /// If a leave has the same ticks, END_BURST is moved by one tick, because a reader would take
    /// this leave for a synthetic one.
    pub(super) fn end_ticks(&mut self, selected: u64, dropped: &mut DropTally<Dropped>) -> u64 {
        let ticks = selected.max(self.latest);
        let end = if ticks == self.last_leave && ticks > 0 {
            ticks + 1
        } else {
            ticks
        };
        dropped.part_if(end != selected, Dropped::Time);
        self.latest = end;
        end
    }

    pub(super) fn end_burst(&mut self, ticks: u64, out: &mut Vec<u8>) {
        self.put(END_BURST, ticks, &[], out);
        self.state = State::Paused;
    }

    /// Begins a burst at `ticks` or later. Returns the ticks of its BEGIN_BURST.
    pub(super) fn begin_burst(&mut self, ticks: u64, out: &mut Vec<u8>) -> u64 {
        let is_first = self.state == State::Before;
        self.state = State::Burst;
        self.begin = ticks.max(self.latest);
        self.floor = if is_first { 0 } else { self.begin };
        self.latest = self.begin;
        self.put(BEGIN_BURST, self.begin, &[], out);
        self.begin
    }

    /// Writes the records held during the pause, with the ticks of BEGIN_BURST.
    pub(super) fn release(&mut self, out: &mut Vec<u8>) {
        for &at in &self.held_at {
            if let Some(ticks) = self.held.get_mut(at + 1..at + HEAD) {
                ticks.copy_from_slice(&self.begin.to_le_bytes());
            }
        }
        self.records += self.held_at.len() as u64;
        out.append(&mut self.held);
        self.held_at.clear();
    }

    /// Discards the records that were held back, because no burst follows. Returns their number.
    pub(super) fn drop_held(&mut self) -> usize {
        self.held.clear();
        std::mem::take(&mut self.held_at).len()
    }

    /// Sets the cost of one callback, in picoseconds. The header holds it in whole ticks. Returns
    /// true if this is exact.
    pub(super) fn set_overhead(&mut self, ps: u64) -> bool {
        let ticks = ps.saturating_add(500) / 1000 * u64::from(TICKS) / 1000;
        self.overhead = u32::try_from(ticks).unwrap_or(u32::MAX);
        u64::from(self.overhead) * 1_000_000 / u64::from(TICKS) == ps
    }

    /// Returns patches for the header: the counts, the callback cost, and the start if a record is
    /// earlier than the start in the header.
    pub(super) fn patches(&self, threads: u32, classes: u32) -> Vec<Patch> {
        if self.state == State::Before {
            return Vec::new();
        }
        let records = u32::try_from(self.records).unwrap_or(0);
        let counts = [records, threads, classes].map(u32::to_le_bytes).concat();
        let mut patches = vec![Patch {
            offset: EVENTS_AT as u64,
            bytes: counts,
        }];
        if self.lowest < self.start {
            patches.push(Patch {
                offset: START_AT as u64,
                bytes: self.start_fields().to_vec(),
            });
        }
        if self.overhead != 0 {
            patches.push(Patch {
                offset: OVERHEAD_AT as u64,
                bytes: self.overhead.to_le_bytes().to_vec(),
            });
        }
        debug_assert!(patches.iter().all(|p| p.offset < HEADER_SIZE as u64));
        patches
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_records_that_does_not_fit_stays_0() {
        let most = u64::from(u32::MAX);
        for (records, written) in [(most, u32::MAX), (most + 1, 0), (u64::MAX, 0)] {
            let stream = Stream {
                state: State::Burst,
                records,
                ..Stream::default()
            };
            let patches = stream.patches(7, 8);
            assert_eq!(patches[0].bytes[..4], written.to_le_bytes());
        }
    }
}
