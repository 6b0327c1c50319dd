//! Pauses by garbage collection.

use jtrail_model::{Duration, Event, Timestamp};

/// One pause.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pause {
    /// When it began.
    pub start: Timestamp,
    /// How long it was.
    pub length: Duration,
    /// Bytes in use behind it, 0 if the trace does not say.
    pub used: i64,
}

/// All pauses.
#[derive(Debug, Default)]
pub struct Collections {
    /// How many.
    pub count: u64,
    /// All together.
    pub total: Duration,
    /// The longest ones, longest first; call [`Self::longest`] for them.
    pauses: Vec<Pause>,
    open: Option<Timestamp>,
}

/// Pauses kept: a report shows fewer.
const KEPT: usize = 10_000;

impl Collections {
    /// Takes starts and ends of collections; other events are passed over.
    pub fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::GcStart(e) => self.open = Some(e.time),
            Event::GcFinish(e) => {
                // An end without a start is one that was under way when the trace began.
                let Some(start) = self.open.take() else {
                    return;
                };
                let length = Duration(e.time.since(start).0.max(0));
                self.count += 1;
                self.total.0 = self.total.0.saturating_add(length.0);
                self.pauses.push(Pause {
                    start,
                    length,
                    used: e.used_space,
                });
                if self.pauses.len() >= 2 * KEPT {
                    self.sort();
                    self.pauses.truncate(KEPT);
                }
            }
            _ => {}
        }
    }

    /// The longest pauses, longest first: 10 000 at least, or all that there were.
    pub fn longest(&mut self) -> &[Pause] {
        self.sort();
        &self.pauses
    }

    fn sort(&mut self) {
        self.pauses.sort_by_key(|p| (-p.length.0, p.start));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jtrail_model::{GcFinish, GcStart};

    #[test]
    fn pauses_are_paired_and_sorted() {
        let mut gc = Collections::default();
        let finish = |time| {
            Event::GcFinish(GcFinish {
                time: Timestamp(time),
                ..GcFinish::default()
            })
        };
        gc.event(&finish(5));
        for (start, end) in [(10, 12), (20, 29), (40, 39)] {
            gc.event(&Event::GcStart(GcStart {
                time: Timestamp(start),
            }));
            gc.event(&finish(end));
        }
        assert_eq!((gc.count, gc.total), (3, Duration(11)));
        let lengths: Vec<_> = gc
            .longest()
            .iter()
            .map(|p| (p.start.0, p.length.0))
            .collect();
        assert_eq!(lengths, [(20, 9), (10, 2), (40, 0)]);
    }
}
