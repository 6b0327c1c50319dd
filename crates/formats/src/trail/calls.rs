//! What is known of a thread's calls, by which most of what a call says can be left out.

use super::symbols::History;
use super::value::Last;
use crate::hash::Seed;
use jtrail_model::{CallStack, MethodEnter, MethodLeave};
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

/// Threads from segment to segment.
pub(super) type Threads = HashMap<u64, Thread, Seed>;

/// A call that began in this segment and is open.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Open {
    pub(super) method: u64,
    pub(super) class: u64,
    pub(super) ticket: u32,
    pub(super) symbol: u16,
}

impl Open {
    /// Whether a call that ends is this one.
    #[inline(always)]
    pub(super) fn is(&self, method: u64, class: u64, ticket: u32) -> bool {
        // Without a branch for each.
        (self.method == method) & (self.class == class) & (self.ticket == ticket)
    }
}

/// A thread's events in one segment.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) thread: Thread,
    pub(super) last: Last,
    pub(super) cpu: i64,
    pub(super) history: History,
    pub(super) open: CallStack<Open>,
    /// How many of these began as records. Who writes keeps it.
    pub(super) open_records: usize,
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
            history: History::default(),
            open: CallStack::default(),
            open_records: 0,
        }
    }

    /// Ticket and depth of the next call, if all goes as usual.
    #[inline]
    pub(super) fn next_call(&self) -> (u32, i64) {
        let Thread { ticket, depth, .. } = self.thread;
        (ticket.wrapping_add(1), depth.wrapping_add(1))
    }

    /// A call begins; `symbol` is what says so.
    #[inline]
    pub(super) fn enter(&mut self, call: &MethodEnter, symbol: u16) {
        self.thread.ticket = call.ticket;
        self.thread.depth = call.stack_depth;
        self.open.push(Open {
            symbol,
            ticket: call.ticket,
            method: call.method.0,
            class: call.class.0,
        });
        self.history.enter(symbol);
    }

    /// The call that ends, if all goes as usual.
    #[inline]
    pub(super) fn is_next_leave(&self, call: &MethodLeave) -> bool {
        let last = self.open.last();
        last.is_some_and(|open| open.is(call.method.0, call.class.0, call.ticket))
    }

    /// A call ends.
    #[inline]
    pub(super) fn leave(&mut self) {
        self.thread.depth = self.thread.depth.wrapping_sub(1);
        let open = self.open.pop();
        self.history.leave(open.map_or(0, |open| open.symbol));
    }
}
