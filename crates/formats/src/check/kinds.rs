//! Number of events of each kind in a trace.

use jtrail_model::{Event, Kind};

const KINDS: usize = Kind::ALL.len();

/// Number of events by kind.
#[derive(Debug)]
pub(super) struct Kinds([u64; KINDS]);

impl Default for Kinds {
    fn default() -> Self {
        Self([0; KINDS])
    }
}

impl Kinds {
    pub(super) fn count(&mut self, event: &Event<'_>) {
        self.0[event.kind() as usize] += 1;
    }

    pub(super) fn add(&mut self, kind: Kind, events: usize) {
        self.0[kind as usize] += events as u64;
    }

    pub(super) fn of(&self, kind: Kind) -> u64 {
        self.0[kind as usize]
    }

    pub(super) fn all(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Returns the number of monitor events, of all four kinds.
    pub(super) fn monitors(&self) -> u64 {
        self.of(Kind::MonitorWait)
            + self.of(Kind::MonitorWaited)
            + self.of(Kind::MonitorContendedEnter)
            + self.of(Kind::MonitorContendedEntered)
    }

    /// Returns the number of parks and unparks.
    pub(super) fn parks(&self) -> u64 {
        self.of(Kind::ThreadPark) + self.of(Kind::ThreadUnpark)
    }

    /// Returns the number of begins and ends of class initialisations.
    pub(super) fn initialisations(&self) -> u64 {
        self.of(Kind::ClassInitStart) + self.of(Kind::ClassInitEnd)
    }

    pub(super) fn occurring(&self) -> Vec<(&'static str, u64)> {
        let names = Kind::ALL.iter().map(|kind| kind.name());
        names.zip(self.0).filter(|(_, count)| *count > 0).collect()
    }
}
