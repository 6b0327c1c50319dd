//! Counts of what an encoder drops.

use super::Kinds;
use std::fmt;

/// Number of things of one kind that an encoder dropped because the format has no field for them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DropCount {
    /// The kind in words, in the plural: `throws`, `sizes of plain objects`.
    pub what: &'static str,
    /// Number of things.
    pub count: u64,
}

/// `throws (7)`
impl fmt::Display for DropCount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.what, self.count)
    }
}

/// Returns a message to the user about what a trace in `format` lacks, or `None` if it lacks
/// nothing: `mlpd: dropped: events=lines (not recorded), texts (3)`. `unrecorded` is what the user
/// requested but the agent did not record, because the format has no field for it.
pub fn dropped_message(
    format: impl fmt::Display,
    unrecorded: &str,
    dropped: &[DropCount],
) -> Option<String> {
    let unrecorded = (!unrecorded.is_empty()).then(|| format!("{unrecorded} (not recorded)"));
    let dropped = dropped.iter().map(DropCount::to_string);
    let all: Vec<_> = unrecorded.into_iter().chain(dropped).collect();
    (!all.is_empty()).then(|| format!("{format}: dropped: {}", all.join(", ")))
}

/// Counts what an encoder drops, by the kinds of `K`.
#[derive(Clone, Debug)]
pub(crate) struct DropTally<K: Kinds<Row = &'static str>> {
    counts: K::PerKind<u64>,
    events: u64,
}

impl<K: Kinds<Row = &'static str>> Default for DropTally<K> {
    fn default() -> Self {
        Self {
            counts: K::per_kind(0),
            events: 0,
        }
    }
}

impl<K: Kinds<Row = &'static str>> DropTally<K> {
    /// Counts an event that is dropped as a whole.
    #[inline]
    pub(crate) fn event(&mut self, kind: K) {
        self.event_of(kind, 1);
    }

    /// If `dropped` is true, counts an event that is dropped as a whole.
    #[inline]
    pub(crate) fn event_if(&mut self, dropped: bool, kind: K) {
        if dropped {
            self.event(kind);
        }
    }

    /// Counts one event that is dropped as a whole and stands for `count` things. An example are
    /// the ticks of a sample.
    #[inline]
    pub(crate) fn event_of(&mut self, kind: K, count: u64) {
        self.parts(kind, count);
        self.counted_event();
    }

    /// Counts `count` events that are dropped as a whole.
    pub(crate) fn many_events(&mut self, kind: K, count: u64) {
        self.parts(kind, count);
        self.events = self.events.saturating_add(count);
    }

    /// Counts an event that is dropped as a whole. [`Self::part`] has already counted its kind.
    #[inline]
    pub(crate) fn counted_event(&mut self) {
        self.events += 1;
    }

    /// Counts a dropped part of an event. The rest of the event is written.
    #[inline]
    pub(crate) fn part(&mut self, kind: K) {
        self.parts(kind, 1);
    }

    /// If `dropped` is true, counts a dropped part of an event.
    #[inline]
    pub(crate) fn part_if(&mut self, dropped: bool, kind: K) {
        if dropped {
            self.part(kind);
        }
    }

    /// Counts `count` dropped parts of events.
    #[inline]
    pub(crate) fn parts(&mut self, kind: K, count: u64) {
        let sum = &mut self.counts.as_mut()[kind.index()];
        *sum = sum.saturating_add(count);
    }

    /// Returns the number of things of a kind.
    pub(crate) fn count(&self, kind: K) -> u64 {
        self.counts.as_ref()[kind.index()]
    }

    /// Returns the number of events that were dropped as a whole.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// Returns the kinds that occurred, in the order of their table.
    pub(crate) fn counts(&self) -> Vec<DropCount> {
        let rows = K::ROWS.iter().zip(self.counts.as_ref());
        rows.filter(|(_, count)| **count > 0)
            .map(|(&what, &count)| DropCount { what, count })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::kinds;

    kinds! {
        enum Dropped: &'static str {
            Parks = "parks",
            Samples = "samples",
            Texts = "texts",
        }
    }

    #[test]
    fn parts_and_events_are_counted_in_the_order_of_the_table() {
        let mut tally = DropTally::default();
        tally.part(Dropped::Texts);
        tally.part_if(false, Dropped::Parks);
        tally.part_if(true, Dropped::Texts);
        tally.event_of(Dropped::Samples, 5);
        tally.event_if(true, Dropped::Texts);
        tally.event_if(false, Dropped::Parks);
        assert_eq!((tally.events(), tally.count(Dropped::Texts)), (2, 3));
        let samples = DropCount {
            what: "samples",
            count: 5,
        };
        let texts = DropCount {
            what: "texts",
            count: 3,
        };
        assert_eq!(tally.counts(), [samples, texts]);
    }

    #[test]
    fn counters_stay_at_their_end() {
        let mut tally = DropTally::default();
        tally.parts(Dropped::Parks, u64::MAX);
        tally.event(Dropped::Parks);
        assert_eq!((tally.events(), tally.count(Dropped::Parks)), (1, u64::MAX));
    }

    #[test]
    fn one_line_has_all_that_a_trace_lacks() {
        let mut tally = DropTally::default();
        let message = |unrecorded, tally: &DropTally<Dropped>| {
            dropped_message("mlpd", unrecorded, &tally.counts())
        };
        assert_eq!(message("", &tally), None);
        let unrecorded = "mlpd: dropped: events=lines (not recorded)";
        assert_eq!(message("events=lines", &tally).as_deref(), Some(unrecorded));
        tally.many_events(Dropped::Parks, 2);
        tally.part(Dropped::Texts);
        let dropped = "mlpd: dropped: parks (2), texts (1)";
        assert_eq!(message("", &tally).as_deref(), Some(dropped));
        let both = format!("{unrecorded}, parks (2), texts (1)");
        assert_eq!(message("events=lines", &tally), Some(both));
    }
}
