//! What is known of a thread's calls, by which most of what a call says can be left out.

use super::symbols::{History, LEAVE, Symbol, meaning};
use super::value::Last;
use crate::hash::Seed;
use jtrail_model::{CallStack, MethodEnter};
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

/// A call that began in this segment and is open. What its method is, its symbol tells, or [`Stream::open_records`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Open {
    pub(super) ticket: u32,
    pub(super) symbol: u16,
}

/// A thread's events in one segment.
#[derive(Debug)]
pub(super) struct Stream {
    pub(super) thread: Thread,
    pub(super) last: Last,
    pub(super) cpu: i64,
    pub(super) history: History,
    pub(super) open: CallStack<Open>,
    /// Of those that began as records, method and class.
    pub(super) open_records: Vec<(u64, u64)>,
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
            open_records: Vec::new(),
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
    pub(super) fn enter(&mut self, ticket: u32, depth: i64, symbol: u16) {
        (self.thread.ticket, self.thread.depth) = (ticket, depth);
        self.open.push(Open { ticket, symbol });
        self.history.enter(symbol);
    }

    /// A call begins that is a record.
    pub(super) fn enter_by_record(&mut self, call: &MethodEnter, symbol: u16) {
        self.enter(call.ticket, call.stack_depth, symbol);
        self.open_records.push((call.method.0, call.class.0));
    }

    /// The call that ends, if all goes as usual: its method and class, and its ticket.
    #[inline]
    pub(super) fn innermost(&self, symbols: &[Symbol]) -> Option<((u64, u64), u32)> {
        let open = self.open.last()?;
        let of = match meaning(symbols, open.symbol)? {
            Symbol::Enter { method, class } => (method, class),
            _ => *self.open_records.last()?,
        };
        Some((of, open.ticket))
    }

    /// A call ends.
    #[inline]
    pub(super) fn leave(&mut self, symbols: &[Symbol]) {
        self.thread.depth = self.thread.depth.wrapping_sub(1);
        let symbol = self.open.pop().map_or(LEAVE, |open| open.symbol);
        if let Some(Symbol::Record(_)) = meaning(symbols, symbol) {
            self.open_records.pop();
        }
        self.history.leave(symbol);
    }
}
