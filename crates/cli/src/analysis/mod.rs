//! What a trace says, summed up. No input or output here: events in, figures out.
//!
//! | Module | Sums up |
//! |---|---|
//! | `names` | names of threads, classes and methods, as the trace announces them |
//! | `calls` | calls by method and by path, with total and self time |
//! | `collections` | pauses by garbage collection |
//!
//! Memory grows with threads, open calls, definitions and distinct call paths, never with the
//! number of calls.

mod calls;
mod collections;
mod names;

pub use calls::{Calls, MethodStat, PathStat, ThreadCalls};
pub use collections::{Collections, Pause};
pub use names::{MethodName, Names, ThreadName, readable_signature};

use jtrail_model::{Event, Lost, Note, ThreadId, Timestamp, Totals, Uncovered};

/// Notes of one kind that are kept: a report shows fewer.
pub const KEPT: usize = 10_000;

fn keep<T>(kept: &mut Vec<T>, more: &mut u64, note: T) {
    if kept.len() < KEPT {
        kept.push(note);
    } else {
        *more += 1;
    }
}

/// Everything that a report tells.
#[derive(Debug, Default)]
pub struct Analysis {
    /// Names.
    pub names: Names,
    /// Calls.
    pub calls: Calls,
    /// Collections.
    pub collections: Collections,
    /// Gaps in the trace, the first [`KEPT`] of them.
    pub lost: Vec<Lost<'static>>,
    /// Gaps that are not kept.
    pub more_lost: u64,
    /// Methods that should be in the trace and are not, the first [`KEPT`] of them.
    pub uncovered: Vec<Uncovered<'static>>,
    /// Methods of that kind that are not kept.
    pub more_uncovered: u64,
    lost_events: u64,
    /// What the agent counted itself, in a trace that ended well.
    pub totals: Option<Totals>,
    /// The first time that the trace names, and the latest. Definitions may be older than the first,
    /// and a time of 0 is none.
    pub span: Option<(Timestamp, Timestamp)>,
    /// The trace says itself that collection ended.
    pub ended: bool,
}

impl Analysis {
    /// Takes the next event. `wanted` says whether the calls of a thread count.
    pub fn event(&mut self, event: &Event<'_>, wanted: impl Fn(&Names, ThreadId) -> bool) {
        if let Some(time) = event.time().filter(|time| *time != Timestamp::default()) {
            let (_, last) = self.span.get_or_insert((time, time));
            *last = time.max(*last);
        }
        match event {
            Event::MethodEnter(_)
            | Event::MethodLeave(_)
            | Event::AggregatedEnter(_)
            | Event::AggregatedLeave(_) => {
                let names = &self.names;
                self.calls.event(event, |thread| wanted(names, thread));
            }
            Event::ThreadEnd(_) => {
                self.names.event(event);
                self.calls.event(event, |_| true);
            }
            Event::GcStart(_) | Event::GcFinish(_) => self.collections.event(event),
            Event::TraceEnd(_) => self.ended = true,
            Event::Custom(custom) => match Note::parse(&custom.body) {
                Some(Note::Lost(lost)) => {
                    self.lost_events = self.lost_events.saturating_add(lost.events);
                    keep(&mut self.lost, &mut self.more_lost, lost);
                }
                Some(Note::Uncovered(uncovered)) => {
                    keep(&mut self.uncovered, &mut self.more_uncovered, uncovered);
                }
                Some(Note::Totals(totals)) => self.totals = Some(totals),
                _ => {}
            },
            _ => self.names.event(event),
        }
    }

    /// Ends the calls that are still open, at the last moment of the trace.
    pub fn finish(&mut self) {
        let (_, last) = self.span.unwrap_or_default();
        self.calls.finish(last);
    }

    /// Enters and leaves that the trace says it lost.
    pub fn lost_events(&self) -> u64 {
        self.lost_events.max(self.totals.map_or(0, |t| t.lost))
    }

    /// Methods that should be in the trace and are not.
    pub fn uncovered_methods(&self) -> u64 {
        let noted = self.uncovered.len() as u64 + self.more_uncovered;
        noted.max(self.totals.map_or(0, |t| t.uncovered))
    }
}
