//! Calls of a thread in a row, as a segment is read: what happens and when, each in an array of its
//! own.

use jtrail_model::{CallStep, Calls, ClassId, Duration, MethodId, ThreadId, Timestamp};

/// Most calls that are handed out at once.
pub(super) const MOST_CALLS: usize = 512;

/// Calls of one thread that begin, or end by return. What ends is the innermost call that is open.
#[derive(Clone, Copy, Debug)]
pub struct Row<'r> {
    /// The thread.
    pub thread: ThreadId,
    /// Ticket of its last call before them. Each that begins has the next one.
    pub ticket: u32,
    /// How many calls are open before them.
    pub depth: u32,
    /// How many of the steps begin calls.
    pub(super) enters: u32,
    /// What happens.
    pub steps: &'r [RowStep],
    /// The ticket of each call.
    pub(super) tickets: &'r [u32],
    /// When it happens; times do not fall.
    pub times: &'r [Timestamp],
    /// The methods that steps name.
    pub methods: &'r [(MethodId, ClassId)],
}

/// A call begins or ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RowStep(u32);

impl RowStep {
    #[inline(always)]
    pub(super) fn new(method: u32, ends: bool) -> Self {
        Self(method << 1 | u32::from(ends))
    }

    /// Place of the called method among those of the segment.
    #[inline(always)]
    pub fn method(self) -> usize {
        (self.0 >> 1) as usize
    }

    /// Whether the call ends.
    #[inline(always)]
    pub fn ends(self) -> bool {
        self.0 & 1 != 0
    }
}

impl Row<'_> {
    /// How many calls begin, and how many end.
    pub(super) fn counts(&self) -> (usize, usize) {
        let begun = self.enters as usize;
        (begun, self.steps.len() - begun)
    }

    /// The same calls, each by itself.
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

/// Room for the longest row.
pub(super) struct RowRoom {
    pub(super) steps: Box<[RowStep; MOST_CALLS]>,
    pub(super) tickets: Box<[u32; MOST_CALLS]>,
    pub(super) times: Box<[Timestamp; MOST_CALLS]>,
}

impl Default for RowRoom {
    fn default() -> Self {
        Self {
            steps: Box::new([RowStep::default(); MOST_CALLS]),
            tickets: Box::new([0; MOST_CALLS]),
            times: Box::new([Timestamp::default(); MOST_CALLS]),
        }
    }
}
