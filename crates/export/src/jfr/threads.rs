//! What is open on a thread, and samples made from calls.

use super::paths::Path;
use crate::sink::ThreadInfo;
use jtrail_model::{Frame, MethodId, Timestamp};

/// Interval of the samples that are made from calls, in ns.
pub(super) const PERIOD: i64 = 1_000_000;

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
    stacks: Vec<(Timestamp, Vec<Frame<'static>>)>,
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
    pub(super) fn new(key: u64) -> Self {
        Self {
            key,
            ..Self::default()
        }
    }

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
    /// later waits, which are over.
    pub(super) fn take_stack(&mut self, begin: Timestamp) -> Vec<Frame<'static>> {
        while let Some((time, stack)) = self.stacks.pop() {
            // A begin that was recorded late counts from the thread's latest time.
            if time <= begin {
                return stack;
            }
        }
        Vec::new()
    }

    /// Returns true if samples up to `now` are due.
    #[inline]
    pub(super) fn has_due_samples(&self, now: Timestamp) -> bool {
        now > self.next_sample
    }

    /// Returns the times of the samples before `now` at which the thread runs a call.
    pub(super) fn due_samples(
        &mut self,
        now: Timestamp,
    ) -> impl Iterator<Item = Timestamp> + use<> {
        let first = self.next_sample.0;
        let next = |time: i64| {
            time.div_euclid(PERIOD)
                .saturating_add(1)
                .saturating_mul(PERIOD)
        };
        self.next_sample = Timestamp(next(now.0.saturating_sub(1)));
        let is_running = !self.calls.is_empty() && self.waits == 0;
        let count = match is_running {
            true => (self.next_sample.0 - first) / PERIOD,
            false => 0,
        };
        (0..count).map(move |number| Timestamp(first + number * PERIOD))
    }
}
