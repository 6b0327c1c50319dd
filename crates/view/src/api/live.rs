//! Traces that are still being written.

use super::session::{Kept, MIN_INDEXED, Opened, Session, others, whole};
use crate::slice::LATER;
use crate::{Growth, Trace};
use jtrail_formats::trail::Ending;
use jtrail_model::{ThreadId, Timestamp};
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

/// How many times as long as the last look the pause after it is at least, for damaged traces. They
/// are read as a whole.
const PAUSE: u32 = 30;

/// Maximum time to wait until nobody reads a trace. Then it grows the next time.
const PATIENCE: Duration = Duration::from_millis(50);

/// What tells if a trace still grows.
#[derive(Debug)]
pub(super) struct Writer {
    /// Returns true if a process still writes the file.
    is_writing: fn(&Path) -> bool,
    is_live: bool,
    /// Minimum time between two looks for new segments.
    interval: Duration,
    /// When the last look for new segments ended, and the time that it took.
    looked: (Instant, Duration),
}

impl Session {
    /// Looks for new segments of the traces that may grow, if the last look was some time ago.
    pub(super) fn grow(&self) {
        for opened in self.traces() {
            let is_due = opened.read().is_due();
            if is_due && let Some(mut opened) = opened.try_write_for(PATIENCE) {
                opened.grow();
            }
        }
    }
}

impl Opened {
    /// Shows what is appended to the trace from now on too, if its end is missing. The page's
    /// questions about traces look for it, at most once in `interval`. `is_writing` returns true if
    /// a process still writes the file.
    #[must_use]
    pub fn followed(mut self, is_writing: fn(&Path) -> bool, interval: Duration) -> Self {
        if self.trace.ending() == Ending::Missing {
            self.writer = Some(Writer {
                is_writing,
                is_live: is_writing(self.trace.path()),
                interval,
                looked: (Instant::now(), Duration::ZERO),
            });
            self.set_waiting();
        }
        self
    }

    /// Returns true if the trace is still being written.
    pub(super) fn is_live(&self) -> bool {
        self.writer.as_ref().is_some_and(|writer| writer.is_live)
    }

    /// Returns true if the trace is looked at for new segments.
    pub(super) fn may_grow(&self) -> bool {
        self.writer.is_some() && self.trace.ending() == Ending::Missing
    }

    fn is_due(&self) -> bool {
        let is_past = |writer: &Writer| {
            let (looked, time) = writer.looked;
            let is_sound = self.trace.is_sound();
            let pause = if is_sound {
                Duration::ZERO
            } else {
                time * PAUSE
            };
            looked.elapsed() >= writer.interval.max(pause)
        };
        self.may_grow() && self.writer.as_ref().is_some_and(is_past)
    }

    /// Returns the span of sums that grow with the trace: one that reaches the end of such a trace
    /// does so when the trace is longer.
    pub(super) fn open_ended(&self, [from, until]: [Timestamp; 2]) -> [Timestamp; 2] {
        match self.writer.is_some() && until >= self.trace.span()[1] {
            true => [from, LATER],
            false => [from, until],
        }
    }

    /// Pictures of long spans of a trace that grows are estimates, as they are before there is an
    /// index.
    fn set_waiting(&self) {
        let is_long = self.trace.bytes() >= MIN_INDEXED;
        self.trace
            .set_waiting(is_long && (self.is_live() || self.trace.is_complete()));
    }

    /// Takes over what is new in the file.
    fn grow(&mut self) {
        let Some(writer) = &mut self.writer else {
            return;
        };
        let begun = Instant::now();
        // What is written before the writer has ended is found after this question.
        let is_writing = (writer.is_writing)(self.trace.path());
        // What can't be read is reported by the answers that need it.
        let growth = self.trace.grow().unwrap_or(Growth::All);
        writer.is_live = is_writing && self.trace.ending() == Ending::Missing;
        writer.looked = (Instant::now(), begun.elapsed());
        let new: Vec<ThreadId> = self.trace.threads().collect();
        for thread in new {
            self.add_thread(thread);
        }
        match growth {
            Growth::None => {}
            Growth::Segments { first, from } => self.extend(first, from),
            Growth::All => self.forget(),
        }
        self.set_waiting();
    }

    /// Extends what was computed by the segments from `first` on. It stays as it is if it is about
    /// a span that ends at the time `from` or earlier.
    fn extend(&mut self, first: usize, from: Timestamp) {
        let trace = &self.trace;
        let threads: BTreeSet<ThreadId> = trace.threads().collect();
        let all = |selected: &[ThreadId]| selected.is_empty().then(|| threads.clone());
        self.whole.lock().lock().grow(trace, first, all(&[]));
        self.others.lock().grow(trace, first);
        each(&mut self.sums, |(span, selected), sums| {
            if span[1] > from {
                sums.grow(trace, first, all(selected));
            }
        });
        each(&mut self.totals, |(span, selected), totals| {
            if span[1] > from {
                totals.grow(trace, first, all(selected));
            }
        });
        each(&mut self.edges, |(span, selected), edges| {
            if span[1] > from {
                edges.grow(trace, first, all(selected));
            }
        });
        each(&mut self.overviews, |(span, ..), overview| {
            if span[1] > from {
                overview.grow(trace, first);
            }
        });
        each(&mut self.events, |(span, _), events| {
            if span[1] > from {
                events.grow(trace, first);
            }
        });
        each(&mut self.occurrences, |(_, span, _), occurrences| {
            if span[1] > from {
                occurrences.grow(trace, first);
            }
        });
        each(&mut self.waits, |(span, selected), longest| {
            if span[1] > from {
                longest.grow(from, all(selected));
            }
        });
    }

    /// Forgets what was computed.
    pub(super) fn forget(&mut self) {
        let trace: &Trace = &self.trace;
        self.whole = Mutex::new(whole(trace));
        self.others = Mutex::new(others(trace));
        self.sums = Kept::default();
        self.totals = Kept::default();
        self.edges = Kept::default();
        self.overviews = Kept::default();
        self.events = Kept::default();
        self.occurrences = Kept::default();
        self.waits = Kept::default();
        self.classes = Mutex::default();
    }
}

/// Passes everything that is kept to `change`.
fn each<K, V>(kept: &mut Kept<K, V>, mut change: impl FnMut(&K, &mut V)) {
    for (key, value) in kept.get_mut() {
        change(key, &mut value.lock());
    }
}
