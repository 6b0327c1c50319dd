//! Compilations, and the ends of compiled code, on their way to their places between the records.
//!
//! They are told by announcements, for a record has no room for them. The writer reads those before
//! records that were stamped earlier and wait to be merged; the trace would have them too early,
//! and formats with one line of time, such as a log profile's, would move what comes behind them.

use jtrail_records::definition::Compilation;
use std::collections::VecDeque;

/// Those that were announced and not yet written, in the order of time.
#[derive(Default)]
pub(super) struct Compilations(VecDeque<Compilation>);

impl Compilations {
    pub(super) fn add(&mut self, compilation: Compilation) {
        // Nearly always at the end.
        let place = self
            .0
            .partition_point(|other| other.time() <= compilation.time());
        self.0.insert(place, compilation);
    }

    /// The time of the first one.
    pub(super) fn first(&self) -> Option<u64> {
        self.0.front().map(Compilation::time)
    }

    /// The first one.
    pub(super) fn take(&mut self) -> Option<Compilation> {
        self.0.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_records::definition::CompiledInfo;

    #[test]
    fn each_waits_for_its_time() {
        let mut compilations = Compilations::default();
        for (method, time) in [(1, 30), (2, 10), (3, 20), (4, 10)] {
            let info = CompiledInfo {
                method,
                time,
                ..CompiledInfo::default()
            };
            compilations.add(Compilation::Loaded(Box::new(info)));
        }
        compilations.add(Compilation::Unloaded {
            method: 2,
            time: 25,
            address: 0,
        });
        let mut in_order = Vec::new();
        while let Some(time) = compilations.first() {
            in_order.push(match compilations.take() {
                Some(Compilation::Loaded(info)) => (time, info.method, true),
                Some(Compilation::Unloaded { method, .. }) => (time, method, false),
                None => unreachable!("there is a first one"),
            });
        }
        let expected = [
            (10, 2, true),
            (10, 4, true),
            (20, 3, true),
            (25, 2, false),
            (30, 1, true),
        ];
        assert_eq!(in_order, expected);
    }
}
