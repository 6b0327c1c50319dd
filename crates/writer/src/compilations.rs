//! Loads and unloads of compiled code, until the merge reaches their time.
//!
//! Loads and unloads are sent as definitions, because records have no room for their data. The
//! writer receives definitions before it merges earlier records. If it wrote these definitions at
//! once, they would come too early in the trace. Formats with a single time line, such as log
//! profiles, would then move later events.

use jtrail_records::definition::Compilation;
use std::collections::VecDeque;

/// Compilation events that are not written yet, in the order of time.
#[derive(Default)]
pub(super) struct Compilations(VecDeque<Compilation>);

impl Compilations {
    pub(super) fn add(&mut self, compilation: Compilation) {
        // The new event is nearly always the last one.
        let place = self
            .0
            .partition_point(|other| other.time() <= compilation.time());
        self.0.insert(place, compilation);
    }

    /// Returns the time of the first event.
    pub(super) fn first(&self) -> Option<u64> {
        self.0.front().map(Compilation::time)
    }

    /// Removes and returns the first event.
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
