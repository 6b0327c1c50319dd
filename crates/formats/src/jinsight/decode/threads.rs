//! Threads and the calls that are open on them.

use jtrail_model::{ClassId, MethodId, ThreadId};

/// An open call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) class: ClassId,
    pub(super) method: MethodId,
    /// 0 for one that is not in the trace: it was running when the burst began.
    pub(super) ticket: u32,
}

impl Frame {
    pub(super) fn is_told(&self) -> bool {
        self.ticket != 0
    }
}

#[derive(Debug, Default)]
pub(super) struct Thread {
    pub(super) id: ThreadId,
    pub(super) frames: Vec<Frame>,
    /// Calls of the trace that are open.
    depth: i64,
    ticket: u32,
    /// The burst that the thread was last seen in.
    burst: u32,
    /// Innermost frames that were open at the last pause, and are not known to be open in this burst.
    pub(super) suspended: usize,
}

impl Thread {
    pub(super) fn new(id: ThreadId, burst: u32) -> Self {
        Self {
            id,
            burst,
            ..Self::default()
        }
    }

    /// Whether frames of before the last pause are in doubt.
    #[inline]
    pub(super) fn in_doubt(&mut self, burst: u32) -> bool {
        if self.burst != burst {
            self.burst = burst;
            self.suspended = self.frames.len();
        }
        self.suspended > 0
    }

    /// A call that the burst's begin shows is the outermost one in doubt: it goes on.
    pub(super) fn goes_on(&mut self, method: Option<MethodId>) -> bool {
        let at = self.frames.len() - self.suspended;
        let same = self
            .frames
            .get(at)
            .is_some_and(|f| Some(f.method) == method);
        self.suspended -= usize::from(same);
        same
    }

    /// Takes the innermost frame in doubt: it ended during the pause.
    pub(super) fn gone(&mut self) -> Option<Frame> {
        self.suspended = self.suspended.saturating_sub(1);
        self.pop()
    }

    /// Opens a call; answers with ticket and depth.
    #[inline]
    pub(super) fn push(&mut self, class: ClassId, method: MethodId) -> (u32, i64) {
        self.ticket = self.ticket.checked_add(1).unwrap_or(1);
        self.depth += 1;
        self.frames.push(Frame {
            class,
            method,
            ticket: self.ticket,
        });
        (self.ticket, self.depth)
    }

    /// Opens a call that is not in the trace.
    pub(super) fn push_untold(&mut self, method: MethodId) {
        self.frames.push(Frame {
            class: ClassId::NONE,
            method,
            ticket: 0,
        });
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Frame> {
        let frame = self.frames.pop()?;
        self.depth -= i64::from(frame.is_told());
        Some(frame)
    }
}
