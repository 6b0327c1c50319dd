//! Compilations, and the ends of compiled code, on their way to their places between the records.
//!
//! They are told by announcements, for a record has no room for them. The writer reads those before records that were
//! stamped earlier and wait to be merged; the trace would have them too early, and formats with one line of time, such
//! as a log profile's, would move what comes behind them.

use super::Compilation;
use std::vec::Drain;

impl Compilation {
    /// Tick.
    pub(super) fn time(&self) -> u64 {
        match self {
            Self::Made(info) => info.time,
            Self::Gone { time, .. } => *time,
        }
    }
}

/// Those that were announced and not yet written.
#[derive(Default)]
pub(super) struct Compilations(Vec<Compilation>);

impl Compilations {
    pub(super) fn add(&mut self, told: Compilation) {
        self.0.push(told);
    }

    /// Those up to the time `limit`, in the order of time.
    pub(super) fn until(&mut self, limit: u64) -> Drain<'_, Compilation> {
        self.0.sort_by_key(Compilation::time);
        let due = self.0.partition_point(|told| told.time() <= limit);
        self.0.drain(..due)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::writer::CompiledInfo;

    #[test]
    fn each_waits_for_its_time() {
        let mut compilations = Compilations::default();
        for (method, time) in [(1, 30), (2, 10), (3, 20), (4, 10)] {
            let info = CompiledInfo {
                method,
                time,
                ..CompiledInfo::default()
            };
            compilations.add(Compilation::Made(Box::new(info)));
        }
        compilations.add(Compilation::Gone {
            method: 2,
            time: 25,
            address: 0,
        });
        let mut until = |limit| -> Vec<(u32, bool)> {
            let due = compilations.until(limit);
            due.map(|told| match told {
                Compilation::Made(info) => (info.method, true),
                Compilation::Gone { method, .. } => (method, false),
            })
            .collect()
        };
        assert_eq!(until(9), []);
        assert_eq!(until(20), [(2, true), (4, true), (3, true)]);
        assert_eq!(until(u64::MAX), [(2, false), (1, true)]);
        assert_eq!(until(u64::MAX), []);
    }
}
