//! The longest waits in a span.

use crate::slice::LATER;
use crate::{Trace, Wait};
use jtrail_model::{ThreadId, Timestamp};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::io;

/// Maximum number of waits that are kept.
const MAX_WAITS: usize = 10_000;

/// The longest waits of some threads in a span.
#[derive(Debug)]
pub(super) struct Longest {
    threads: BTreeSet<ThreadId>,
    /// The span in which waits have not been searched for; those that end before it are known.
    remaining: Option<[Timestamp; 2]>,
    span: [Timestamp; 2],
    all: Vec<Wait>,
}

impl Longest {
    pub(super) fn new(span: [Timestamp; 2], threads: BTreeSet<ThreadId>) -> Self {
        Self {
            threads,
            remaining: Some(span),
            span,
            all: Vec::new(),
        }
    }

    /// Forgets what may have changed: the trace has grown, and events from a time on are new.
    /// `threads` are all whose waits are searched for; those as before if it is `None`.
    pub(super) fn grow(&mut self, from: Timestamp, threads: Option<BTreeSet<ThreadId>>) {
        if let Some(threads) = threads {
            self.threads = threads;
        }
        let from = self
            .remaining
            .map_or(from, |[earlier, _]| earlier.min(from));
        let from = from.max(self.span[0]);
        self.remaining = Some([from, self.span[1]]);
        self.all
            .retain(|wait| wait.end <= from && wait.begin < from);
    }

    /// Returns the waits; the longest one is first.
    ///
    /// # Errors
    /// If the trace can't be read, or `InvalidData` if a segment is damaged.
    pub(super) fn all(&mut self, trace: &Trace) -> io::Result<&[Wait]> {
        if self.remaining.is_some() && trace.index().is_some() {
            self.all = trace.longest_waits(&self.threads, self.span, MAX_WAITS)?;
            self.remaining = None;
        }
        if let Some(span) = self.remaining {
            // After an error, all of them are searched for again.
            let mut all = self.all.clone();
            trace.waits_of(&self.threads, span, |wait| {
                all.push(wait);
                if all.len() > 2 * MAX_WAITS {
                    cut(trace, &mut all);
                }
            })?;
            cut(trace, &mut all);
            (self.all, self.remaining) = (all, None);
        }
        Ok(&self.all)
    }
}

/// Keeps the longest waits.
fn cut(trace: &Trace, all: &mut Vec<Wait>) {
    all.sort_by_key(|wait| {
        let place = (wait.begin, wait.thread, wait.level, wait.end);
        (Reverse(length(trace, wait)), place)
    });
    all.truncate(MAX_WAITS);
}

/// Returns the length of a wait in ns. What never ends lasts up to the end of the trace.
pub(super) fn length(trace: &Trace, wait: &Wait) -> i64 {
    let end = match wait.end {
        LATER => trace.span()[1],
        end => end,
    };
    end.since(wait.begin).0
}
