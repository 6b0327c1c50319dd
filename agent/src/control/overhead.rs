//! Estimates the share of the program's CPU time that recording takes.
//!
//! The estimate is the sum of two parts. The CPU time of the writer's thread is known. The cost of
//! each event is measured once: the time to read the clock and to store a record. With
//! `clock=tick`, the cost is the time to store a record alone.
//!
//! The estimate does not count the JVM's own work: to call the agent, to report or tag an object,
//! to collect a stack, to compile larger methods. It does not count optimizations that hooks
//! prevent, either. So the estimate is a lower bound: nearly right for calls, and far too low for
//! allocations.

use jtrail_model::Totals;
use jtrail_recorder::clock;
use jtrail_writer::Progress;

/// The CPU times when a trace began, and the cost of a record.
#[derive(Clone, Copy, Default)]
pub(super) struct Overhead {
    /// CPU time of the process, and of the writer's thread, in ns.
    process: u64,
    writer: u64,
    /// Cost of a record in ns.
    record: f64,
}

impl Overhead {
    /// Starts the measurement of a trace that begins now. `record` is the cost of a record in ns.
    pub(super) fn new(record: f64, progress: Progress) -> Self {
        Self {
            record,
            ..Self::default()
        }
        .begin(progress)
    }

    /// Restarts the measurement, for a trace that begins now.
    pub(super) fn begin(self, progress: Progress) -> Self {
        Self {
            process: clock::process_cpu(),
            writer: progress.cpu,
            ..self
        }
    }

    /// Returns the share of CPU time that recording has taken so far, in millionths; `None` while
    /// the process has used no CPU time.
    pub(super) fn so_far(&self, progress: Progress) -> Option<u32> {
        self.part(clock::process_cpu(), progress)
    }

    fn part(&self, process: u64, progress: Progress) -> Option<u32> {
        let all = process.saturating_sub(self.process);
        let records = match progress.newest {
            Some(newest) => newest.read,
            None => stored(&progress.totals),
        };
        let records = records as f64 * self.record;
        let ours = progress.cpu.saturating_sub(self.writer) as f64 + records;
        match all {
            0 => None,
            all => Some((ours / all as f64 * 1e6).min(1e6) as u32),
        }
    }
}

/// Returns the number of events for which a record was stored.
fn stored(totals: &Totals) -> u64 {
    super::shown::counts(totals).iter().map(|(_, n)| n).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_writer_and_the_records() {
        let before = Overhead {
            process: 1_000,
            writer: 200,
            record: 10.0,
        };
        let progress = |enters, cpu| Progress {
            totals: Totals {
                enters,
                ..Totals::default()
            },
            cpu,
            ..Progress::default()
        };
        // 100 ns of the writer and 5 records of 10 ns, out of 1,500 ns.
        assert_eq!(before.part(2_500, progress(5, 300)), Some(100_000));
        assert_eq!(before.part(2_500, progress(0, 200)), Some(0));
        assert_eq!(before.part(1_000, progress(5, 300)), None);
        assert_eq!(before.part(1_010, progress(500, 300)), Some(1_000_000));
    }
}
