//! What is known of a thread's calls, by which most of what a call says can be left out.

use super::value::Last;
use crate::hash::Seed;
use jtrail_model::CallStack;
use std::collections::HashMap;

/// Of a thread, from segment to segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Thread {
    /// Its events so far.
    pub(super) events: u64,
    /// Ticket of its last call.
    pub(super) ticket: u32,
    /// Open calls.
    pub(super) depth: i64,
}

impl Thread {
    /// Ticket and depth of the next call, if all goes as usual.
    #[inline]
    pub(super) fn next_call(&self) -> (u32, i64) {
        (self.ticket.wrapping_add(1), self.depth.wrapping_add(1))
    }
}

/// Threads from segment to segment.
pub(super) type Threads = HashMap<u64, Thread, Seed>;

/// A call that is open, as a reader knows it: in one word, since a loop over rows of calls writes
/// and reads it as a whole.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Open(u64);

impl Open {
    /// `of` is the place of its method among those of the segment.
    #[inline(always)]
    pub(super) fn new(ticket: u32, of: u32) -> Self {
        Self(u64::from(ticket) << 32 | u64::from(of))
    }

    #[inline(always)]
    pub(super) fn ticket(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// See [`Self::new`].
    #[inline(always)]
    pub(super) fn of(self) -> u32 {
        self.0 as u32
    }
}

/// A thread's events in one segment, as they are read.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) thread: Thread,
    pub(super) last: Last,
    pub(super) cpu: i64,
    pub(super) open: CallStack<Open>,
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

    /// A call begins.
    #[inline]
    pub(super) fn enter(&mut self, ticket: u32, depth: i64, of: u32) {
        (self.thread.ticket, self.thread.depth) = (ticket, depth);
        self.open.push(Open::new(ticket, of));
    }
}
