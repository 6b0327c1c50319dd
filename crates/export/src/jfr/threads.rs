//! What is open on a thread, and samples made from calls.

use super::paths::Path;
use crate::sink::ThreadInfo;
use jtrail_model::{Frame, MethodId, Timestamp};
use std::sync::Arc;

/// Maximum number of recorded stacks of waits that are kept for a thread.
const MAX_STACKS: usize = 16;

/// The state of a thread.
#[derive(Debug, Default)]
pub(super) struct Thread {
    pub(super) info: ThreadInfo,
    /// Key of the thread. A thread gets another one when it is renamed after a chunk.
    pub(super) key: u64,
    /// True if the current chunk uses the thread.
    pub(super) is_used: bool,
    /// True if a chunk before the current one has used the key.
    pub(super) is_fixed: bool,
    /// The open calls, the outermost first.
    pub(super) calls: Vec<OpenCall>,
    /// The open aggregated calls, the outermost first.
    pub(super) aggregated: Vec<MethodId>,
    /// Number of open waits.
    pub(super) waits: usize,
    /// Recorded stacks of waits that may be open, with the times of their begins.
    stacks: Vec<(Timestamp, Arc<[Frame<'static>]>)>,
    /// True if the latest wait in `Object.wait` ended by its time limit.
    pub(super) timed_out: bool,
    /// Bytes of allocated objects.
    pub(super) allocated: u64,
    /// Time of the thread's latest recorded sample.
    pub(super) last_sample: Option<Timestamp>,
    /// Time of the next sample that is made from calls.
    next_sample: Timestamp,
}

/// A call that has begun.
#[derive(Clone, Copy, Debug)]
pub(super) struct OpenCall {
    pub(super) method: MethodId,
    /// The call path in the current chunk.
    pub(super) path: Path,
}

impl Thread {
    /// Returns the path of the innermost call.
    #[inline]
    pub(super) fn path(&self) -> Path {
        self.calls.last().map_or(Path::EMPTY, |call| call.path)
    }

    /// Keeps the recorded stack of a wait that begins.
    pub(super) fn keep_stack(&mut self, time: Timestamp, stack: &[Frame<'_>]) {
        if self.stacks.len() == MAX_STACKS {
            self.stacks.remove(0);
        }
        let own = |frame: &Frame<'_>| Frame {
            method: frame.method.clone().into_owned().into(),
            line: frame.line,
        };
        self.stacks.push((time, stack.iter().map(own).collect()));
    }

    /// Returns the recorded stack of the wait that began at `begin`, and forgets the stacks of
    /// later waits, which are over. The wait may continue in another file, from a later time on.
    pub(super) fn stack(&mut self, begin: Timestamp) -> Arc<[Frame<'static>]> {
        // A begin that was recorded late counts from the thread's latest time.
        while self.stacks.pop_if(|(time, _)| *time > begin).is_some() {}
        match self.stacks.last() {
            Some((_, stack)) => Arc::clone(stack),
            None => Arc::default(),
        }
    }

    /// Returns true if samples up to `now` are due.
    #[inline]
    pub(super) fn has_due_samples(&self, now: Timestamp) -> bool {
        now > self.next_sample
    }

    /// Returns the time of the next sample before `now`, if the thread runs a call. Samples are at
    /// multiples of `period`, in ns.
    pub(super) fn due_sample(&mut self, now: Timestamp, period: i64) -> Option<Timestamp> {
        let is_running = !self.calls.is_empty() && self.waits == 0;
        let due = (is_running && self.has_due_samples(now)).then_some(self.next_sample);
        match due {
            Some(time) => self.next_sample = after(time.0, period),
            None => self.skip_samples(now, period),
        }
        due
    }

    /// Skips the samples before `now`.
    pub(super) fn skip_samples(&mut self, now: Timestamp, period: i64) {
        let next = after(now.0.saturating_sub(1), period);
        self.next_sample = next.max(self.next_sample);
    }
}

/// Returns the first multiple of `period` after a time.
fn after(time: i64, period: i64) -> Timestamp {
    let next = time.div_euclid(period).saturating_add(1);
    Timestamp(next.saturating_mul(period))
}
