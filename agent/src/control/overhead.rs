//! What recording takes of the program's CPU time, estimated.
//!
//! Counted are the CPU time of the writer's thread, which is known, and for each event the time to
//! read the clock and store a record, which is measured once; with `clock=tick`, the time to store
//! a record. Not counted is what the JVM itself takes: to call the agent, to tell of an object or a
//! monitor and to give it a number, to collect a stack, to compile larger methods; and what
//! compilers can't make of code with calls in it. So it is a lower bound: near the truth for calls,
//! far below it for allocations.

use jtrail_model::Totals;
use jtrail_recorder::clock;
use jtrail_writer::Progress;

/// Where the clocks stood when a trace began.
#[derive(Clone, Copy, Default)]
pub(super) struct Overhead {
    /// Of the process, and of the writer's thread, in ns.
    process: u64,
    writer: u64,
    /// What a record takes, in ns.
    record: f64,
}

impl Overhead {
    /// With what a record takes, in ns; a trace begins now.
    pub(super) fn new(record: f64, progress: Progress) -> Self {
        Self {
            record,
            ..Self::default()
        }
        .begin(progress)
    }

    /// A trace begins now.
    pub(super) fn begin(self, progress: Progress) -> Self {
        Self {
            process: clock::process_cpu(),
            writer: progress.cpu,
            ..self
        }
    }

    /// The part so far, in millionths; none as long as there is nothing to compare with.
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

/// Events that took a record.
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
        // 100 ns of the writer and 5 records of 10 ns, of 1,500 ns.
        assert_eq!(before.part(2_500, progress(5, 300)), Some(100_000));
        assert_eq!(before.part(2_500, progress(0, 200)), Some(0));
        assert_eq!(before.part(1_000, progress(5, 300)), None);
        assert_eq!(before.part(1_010, progress(500, 300)), Some(1_000_000));
    }
}
