//! State of a thread's calls. A record of a call omits what follows from this state.

use super::value::Last;
use crate::hash::Seed;
use jtrail_model::CallStack;
use std::collections::HashMap;

/// State of a thread that is kept from segment to segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Thread {
    /// Number of the thread's events so far.
    pub(super) events: u64,
    /// Ticket of the thread's last call.
    pub(super) ticket: u32,
    /// Number of open calls.
    pub(super) depth: i64,
}

impl Thread {
    /// Returns the ticket and the depth of the next call if it is an ordinary one.
    #[inline]
    pub(super) fn next_call(&self) -> (u32, i64) {
        (self.ticket.wrapping_add(1), self.depth.wrapping_add(1))
    }
}

/// The state of all threads, by thread id, kept from segment to segment.
pub(super) type Threads = HashMap<u64, Thread, Seed>;

/// An open call in a reader. It is a single word, because a loop over rows of calls writes and
/// reads it as a whole.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadCall(u64);

impl ReadCall {
    /// Creates an open call. `of` is the index of its method among the methods of the segment.
    #[inline(always)]
    pub(super) fn new(ticket: u32, of: u32) -> Self {
        Self(u64::from(ticket) << 32 | u64::from(of))
    }

    #[inline(always)]
    pub(super) fn ticket(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Returns the index of the method; see [`Self::new`].
    #[inline(always)]
    pub(super) fn of(self) -> u32 {
        self.0 as u32
    }
}

/// A reader's state of one thread in one segment.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) thread: Thread,
    pub(super) last: Last,
    pub(super) cpu: i64,
    pub(super) open: CallStack<ReadCall>,
}

impl Stream {
    pub(super) fn new(id: jtrail_model::ThreadId, thread: Thread, time: i64) -> Self {
        Self {
            thread,
            last: Last {
                thread: id,
                time,
                object: 0,
            },
            cpu: 0,
            open: CallStack::default(),
        }
    }

    /// Records that a call begins.
    #[inline]
    pub(super) fn enter(&mut self, ticket: u32, depth: i64, of: u32) {
        (self.thread.ticket, self.thread.depth) = (ticket, depth);
        self.open.push(ReadCall::new(ticket, of));
    }
}
