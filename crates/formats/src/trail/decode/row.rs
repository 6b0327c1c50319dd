//! Rows: consecutive calls of a thread in a segment. Methods and times are in separate arrays.

use jtrail_model::{CallStep, Calls, ClassId, Duration, MethodId, ThreadId, Timestamp};

/// Maximum number of calls in a row.
pub(super) const MAX_CALLS: usize = 512;

/// Consecutive calls of one thread that begin, or end by return. A step that ends a call always
/// ends the innermost open one.
#[derive(Clone, Copy, Debug)]
pub struct Row<'r> {
    /// The thread.
    pub thread: ThreadId,
    /// Ticket of the thread's last call before the row. Each call that begins has the next ticket.
    pub ticket: u32,
    /// Number of calls that are open before the row.
    pub depth: u32,
    /// Number of steps that begin calls.
    pub(super) enters: u32,
    /// The steps, each of which begins or ends a call.
    pub steps: &'r [RowStep],
    /// Ticket of the call of each step.
    pub(super) tickets: &'r [u32],
    /// Time of each step, in ascending order.
    pub times: &'r [Timestamp],
    /// The methods that the steps refer to.
    pub methods: &'r [(MethodId, ClassId)],
}

/// The begin or the end of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RowStep(u32);

impl RowStep {
    #[inline(always)]
    pub(super) fn new(method: u32, ends: bool) -> Self {
        Self(method << 1 | u32::from(ends))
    }

    /// Returns the index of the called method in [`Row::methods`].
    #[inline(always)]
    pub fn method(self) -> usize {
        (self.0 >> 1) as usize
    }

    /// Returns true if the call ends.
    #[inline(always)]
    pub fn ends(self) -> bool {
        self.0 & 1 != 0
    }
}

impl Row<'_> {
    /// Returns the number of calls that begin, and the number of calls that end.
    pub(super) fn counts(&self) -> (usize, usize) {
        let begun = self.enters as usize;
        (begun, self.steps.len() - begun)
    }

    /// Returns the row as [`Calls`], and stores their steps in `room`.
    pub fn calls<'c>(&self, room: &'c mut Vec<CallStep>) -> Calls<'c> {
        let steps = self.steps.iter().zip(self.tickets).zip(self.times);
        room.clear();
        room.extend(steps.map(|((step, ticket), time)| {
            let (method, class) = self.methods[step.method()];
            CallStep {
                time: *time,
                method,
                class,
                ticket: *ticket,
                ends: step.ends(),
            }
        }));
        Calls {
            thread: self.thread,
            cpu_time: Duration(0),
            ticket: self.ticket,
            depth: self.depth,
            steps: room,
        }
    }
}

/// Buffers for the longest row.
pub(super) struct RowRoom {
    pub(super) steps: Box<[RowStep; MAX_CALLS]>,
    pub(super) tickets: Box<[u32; MAX_CALLS]>,
    pub(super) times: Box<[Timestamp; MAX_CALLS]>,
}

impl Default for RowRoom {
    fn default() -> Self {
        Self {
            steps: Box::new([RowStep::default(); MAX_CALLS]),
            tickets: Box::new([0; MAX_CALLS]),
            times: Box::new([Timestamp::default(); MAX_CALLS]),
        }
    }
}
