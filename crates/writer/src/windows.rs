//! The bursts that are going on. They may overlap: events are recorded as long as at least one
//! burst is going on.

use crate::action::Burst;
use jtrail_options::BurstLimit;
use std::time::Duration;

/// A burst that is going on.
struct Window {
    /// Tick at which it ends.
    until: Option<u64>,
    /// Number of events after which it ends.
    target: Option<u64>,
    burst: Burst,
}

/// All bursts that are going on.
#[derive(Default)]
pub(super) struct Windows {
    open: Vec<Window>,
    /// Smallest number of events after which a burst ends.
    target: Option<u64>,
}

impl Windows {
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Begins a burst at the tick `at`, after `emitted` events. `ticks_in` converts a time to
    /// ticks.
    pub(super) fn open(
        &mut self,
        at: u64,
        emitted: u64,
        burst: Burst,
        ticks_in: impl Fn(Duration) -> u64,
    ) {
        let (until, target) = match burst.limit {
            BurstLimit::Time(time) => (Some(at.saturating_add(ticks_in(time))), None),
            BurstLimit::Events(events) => (None, Some(emitted.saturating_add(events))),
        };
        self.open.push(Window {
            until,
            target,
            burst,
        });
        self.retarget();
    }

    /// Returns the smallest number of events after which a burst ends.
    #[inline]
    pub(super) fn target(&self) -> Option<u64> {
        self.target
    }

    /// Returns the tick at which the next burst ends.
    pub(super) fn until(&self) -> Option<u64> {
        self.open.iter().filter_map(|window| window.until).min()
    }

    /// Ends and returns the bursts that are over after `emitted` events.
    pub(super) fn reached(&mut self, emitted: u64) -> Vec<Burst> {
        self.end(|window| window.target.is_some_and(|target| target <= emitted))
    }

    /// Ends and returns the bursts that are over at `tick`.
    pub(super) fn passed(&mut self, tick: u64) -> Vec<Burst> {
        self.end(|window| window.until.is_some_and(|until| until <= tick))
    }

    /// Removes all bursts before their end.
    pub(super) fn clear(&mut self) {
        self.open.clear();
        self.target = None;
    }

    fn end(&mut self, is_over: impl Fn(&Window) -> bool) -> Vec<Burst> {
        let ended = self.open.extract_if(.., |window| is_over(window));
        let ended = ended.map(|window| window.burst).collect();
        self.retarget();
        ended
    }

    fn retarget(&mut self) {
        self.target = self.open.iter().filter_map(|window| window.target).min();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_over_by_its_own_limit() {
        let mut windows = Windows::default();
        assert!(windows.is_empty() && windows.target().is_none() && windows.until().is_none());
        let ticks_in = |time: Duration| time.as_secs() * 50;
        windows.open(100, 7, Burst::within(BurstLimit::Events(3)), ticks_in);
        let second = BurstLimit::Time(Duration::from_secs(1));
        windows.open(110, 8, Burst::within(second), ticks_in);
        windows.open(120, 9, Burst::within(BurstLimit::Events(1)), ticks_in);
        assert_eq!((windows.target(), windows.until()), (Some(10), Some(160)));
        assert_eq!(windows.passed(159).len() + windows.reached(9).len(), 0);
        assert_eq!(windows.reached(10).len(), 2, "they come to the same end");
        assert_eq!((windows.target(), windows.is_empty()), (None, false));
        assert_eq!(windows.passed(160).len(), 1);
        assert!(windows.is_empty());
        let endless = Burst::within(BurstLimit::Events(u64::MAX));
        windows.open(u64::MAX, u64::MAX, endless, ticks_in);
        windows.clear();
        assert!(windows.is_empty() && windows.target().is_none());
    }
}
