//! References to steps that stay in the memory of a helper thread until the segment is packed.

use crate::trail::symbols::Step;
use crate::trail::times::TimeSteps;
use jtrail_model::{KeptRun, KeptSteps, Timestamp};
use std::mem::{replace, swap};
use std::ops::Range;
use std::sync::Arc;

/// Steps that are kept elsewhere, in order.
#[derive(Default)]
pub(super) struct KeptParts {
    parts: Vec<Part>,
    /// Number of these steps.
    count: usize,
    /// Number of these steps whose times are kept elsewhere, too.
    timed: usize,
}

/// The steps of one run, or of several consecutive runs.
struct Part {
    among: Arc<KeptSteps>,
    range: Range<usize>,
    /// Number of the segment's own steps before these steps.
    at: usize,
    times: Option<Times>,
}

/// The times of the steps.
struct Times {
    range: Range<usize>,
    at: usize,
    /// Time of the thread before these times.
    before: i64,
}

impl KeptParts {
    /// Adds a run that follows `own` steps of the segment, on a thread whose last time was `last`.
    pub(super) fn push(
        &mut self,
        run: KeptRun<'_>,
        times: &[Timestamp],
        own: usize,
        own_times: &mut TimeSteps,
        last: &mut i64,
    ) {
        let count = times.len();
        self.count += count;
        let new = match run.times {
            Some(from) if TimeSteps::is_plain(*last, times) => {
                self.timed += count;
                Some(Times {
                    range: from..from + count,
                    at: own_times.settle_and_count(),
                    before: replace(last, times[count - 1].0),
                })
            }
            _ => {
                own_times.push_all(last, times);
                None
            }
        };
        let range = run.steps..run.steps + count;
        match self.parts.last_mut() {
            Some(part) if part.continues(&run, own, new.as_ref()) => {
                part.range.end = range.end;
                if let (Some(times), Some(more)) = (&mut part.times, new) {
                    times.range.end = more.range.end;
                }
            }
            _ => self.parts.push(Part {
                among: Arc::clone(run.among),
                range,
                at: own,
                times: new,
            }),
        }
    }

    /// Returns the maximum encoded size of the times, in bytes, and the number of steps.
    pub(super) fn most_bytes_and_steps(&self) -> (usize, usize) {
        (TimeSteps::most_bytes_of(self.timed), self.count)
    }

    /// Inserts the kept steps and their times among the segment's own steps and times. `room`
    /// provides buffers.
    pub(super) fn join(
        &mut self,
        own: &mut Vec<Step>,
        own_times: &mut TimeSteps,
        room: &mut JoinBuffers,
    ) {
        if self.parts.is_empty() {
            return;
        }
        let (steps, times) = (&mut room.steps, &mut room.times);
        steps.clear();
        times.clear();
        steps.reserve_exact(own.len() + self.count);
        let (mut done, mut timed) = (0, 0);
        let all_times = own_times.all_steps();
        times.reserve_exact(all_times.len() + self.timed);
        for part in self.parts.drain(..) {
            steps.extend_from_slice(&own[done..part.at]);
            done = part.at;
            steps.extend(part.among.steps[part.range].iter().map(|step| step.0));
            if let Some(Times { range, at, before }) = part.times {
                times.extend_from_slice(&all_times[timed..at]);
                timed = at;
                TimeSteps::extend_plain(times, before, &part.among.times[range]);
            }
        }
        steps.extend_from_slice(&own[done..]);
        times.extend_from_slice(&all_times[timed..]);
        swap(own, steps);
        swap(all_times, times);
        self.clear();
    }

    pub(super) fn clear(&mut self) {
        self.parts.clear();
        (self.count, self.timed) = (0, 0);
    }
}

impl Part {
    /// Returns true if a run follows this part without anything in between.
    fn continues(&self, run: &KeptRun<'_>, own: usize, times: Option<&Times>) -> bool {
        // If no own steps are in between, no own times are either. But the run may belong to
        // another thread, which has another last time.
        let follows = Arc::ptr_eq(&self.among, run.among) && self.range.end == run.steps;
        follows
            && self.at == own
            && match (&self.times, times) {
                (None, None) => true,
                (Some(times), Some(more)) => {
                    let newest = self.among.times[times.range.end - 1].0;
                    times.range.end == more.range.start && newest == more.before
                }
                _ => false,
            }
    }
}

/// Buffers for joining steps and times.
#[derive(Default)]
pub(super) struct JoinBuffers {
    steps: Vec<Step>,
    times: Vec<u32>,
}
