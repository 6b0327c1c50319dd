//! Calls that are open where a segment begins.
//!
//! Each segment can be read by itself: for each thread it lists the calls that began before it and
//! end in it. Calls further out stand either in the same list or in one earlier list, which was
//! complete. A new complete list is written when those behind it together are as long as it is, so
//! lists take at most about twice what changes: where a thread is in deep recursion, a complete
//! list in each segment would take more than the events.

use super::value::{Bytes, Last, put_number, put_signed};
use jtrail_model::{CallStack, ClassId, MethodId, ThreadId, Timestamp};

/// Most open calls of a thread that are kept from segment to segment: the outermost ones.
const MOST_KEPT: usize = 1 << 16;
/// Most innermost calls that are compared with one that ends out of order.
const MOST_PASSED: usize = 256;
/// Most calls that a segment tells as open at its begin, of all threads, which bounds a reader's
/// memory.
pub(super) const MOST_LISTED: usize = 1 << 20;

/// A call that is open at the begin of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpenCall {
    /// The called method.
    pub method: MethodId,
    /// Its declaring class.
    pub class: ClassId,
    /// As [`jtrail_model::MethodEnter::ticket`].
    pub ticket: u32,
    /// When it began.
    pub start: Timestamp,
}

/// An open call as a writer keeps it, with the number of the method.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Open {
    pub(super) method: u32,
    pub(super) ticket: u32,
    pub(super) start: i64,
}

/// The open calls of a thread in a trace, outermost first, from segment to segment.
#[derive(Default)]
pub(super) struct OpenCalls {
    calls: Vec<Open>,
    /// How many were open where the segment began, and how many of these are still.
    at_begin: usize,
    untouched: usize,
    /// Calls that were open at the begin of the segment and have ended, innermost first.
    ended: Vec<Open>,
    /// The last segment that listed all of them, how many of these are still open, and how many
    /// were listed since.
    whole: Option<Whole>,
}

struct Whole {
    segment: u64,
    kept: usize,
    listed: usize,
}

impl OpenCalls {
    /// Begins a segment. Returns how many calls it lists at least, or all, if a new list may be
    /// due.
    pub(super) fn begin(&mut self) -> usize {
        self.calls.truncate(MOST_KEPT);
        let all = self.calls.len();
        (self.at_begin, self.untouched) = (all, all);
        match &self.whole {
            Some(whole) if whole.listed + all - whole.kept < all => all - whole.kept,
            _ => all,
        }
    }

    /// The thread may have nothing to tell for long: gives up room that it does not need.
    pub(super) fn rest(&mut self) {
        self.ended = Vec::new();
        let needed = self.calls.len().min(MOST_KEPT);
        if self.calls.capacity() > 4 * needed + 64 {
            self.calls.truncate(MOST_KEPT);
            self.calls.shrink_to(2 * needed);
        }
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Open> {
        self.calls.iter_mut()
    }

    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    #[inline]
    pub(super) fn last(&self) -> Option<&Open> {
        self.calls.last()
    }

    #[inline]
    pub(super) fn push(&mut self, call: Open) {
        self.calls.push(call);
    }

    /// The innermost ones, so many, are over.
    #[inline]
    pub(super) fn pop(&mut self, count: usize) {
        let left = self.calls.len().saturating_sub(count);
        if left < self.untouched {
            self.ended
                .extend(self.calls[left..self.untouched].iter().rev());
            self.untouched = left;
        }
        self.calls.truncate(left);
    }

    #[inline]
    pub(super) fn extend(&mut self, calls: impl Iterator<Item = Open>) {
        self.calls.extend(calls);
    }

    /// A call ends that is not the innermost one: it and those within it are over, if it is near.
    pub(super) fn end(&mut self, is_it: impl Fn(&Open) -> bool) {
        self.pop(passed(self.calls.iter(), is_it));
    }

    /// Appends the list of the segment of events of that number, which ends here.
    pub(super) fn put(
        &mut self,
        segment: u64,
        base: i64,
        ids: impl Fn(u32) -> (MethodId, ClassId),
        out: &mut Vec<u8>,
    ) {
        let all = self.at_begin;
        let (from, back) = match &mut self.whole {
            Some(whole) => {
                let from = whole.kept.min(self.untouched);
                whole.listed += all - from;
                match whole.listed < all {
                    true => (from, segment - whole.segment),
                    false => (0, 0),
                }
            }
            None => (0, 0),
        };
        if back == 0 {
            self.whole = Some(Whole {
                segment,
                kept: all,
                listed: 0,
            });
        }
        put_number(back, out);
        put_number(from as u64, out);
        put_number((all - from) as u64, out);
        let stay = self.calls[from..self.untouched].iter();
        let (mut ticket, mut start) = (0_u32, base);
        for call in stay.chain(self.ended.iter().rev()) {
            let (method, class) = ids(call.method);
            put_number(method.0, out);
            put_number(class.0, out);
            put_number(call.ticket.wrapping_sub(ticket).into(), out);
            put_signed(call.start.wrapping_sub(start), out);
            (ticket, start) = (call.ticket, call.start);
        }
        if let Some(whole) = &mut self.whole {
            whole.kept = whole.kept.min(self.untouched);
        }
    }
}

/// How many calls are over when one ends: up to the innermost one that is it, or none if it is not
/// near.
fn passed<'c, C: 'c>(
    calls: impl DoubleEndedIterator<Item = &'c C>,
    is_it: impl Fn(&C) -> bool,
) -> usize {
    let mut near = calls.rev().take(MOST_PASSED);
    near.position(is_it).map_or(0, |at| at + 1)
}

/// Ends a call like [`OpenCalls::end`], for a reader.
pub(super) fn end<C: Copy + Default>(calls: &mut CallStack<C>, is_it: impl Fn(&C) -> bool) {
    for _ in 0..passed(calls.iter(), is_it) {
        calls.pop();
    }
}

/// The list of a thread's open calls at the begin of a segment.
#[derive(Clone, Debug)]
pub(super) struct OpenList {
    pub(super) thread: ThreadId,
    /// Number of segments of events from the list that has the outermost calls to this one.
    pub(super) back: u64,
    /// Number of calls in that list.
    pub(super) from: u64,
    /// The other calls, outermost first.
    pub(super) calls: Vec<OpenCall>,
}

impl OpenList {
    /// Reads the list of a thread, which is at the segment's begin; `room` is how many calls there
    /// may be.
    pub(super) fn get(bytes: &mut Bytes<'_>, at: Last, room: &mut usize) -> Option<Self> {
        let (back, from) = (bytes.number()?, bytes.number()?);
        let count: usize = bytes.small()?;
        *room = room.checked_sub(count)?;
        let (mut ticket, mut start) = (0_u32, at.time);
        let mut calls = Vec::new();
        for _ in 0..count {
            let (method, class) = (MethodId(bytes.number()?), ClassId(bytes.number()?));
            ticket = ticket.wrapping_add(bytes.small()?);
            start = start.wrapping_add(bytes.signed()?);
            calls.push(OpenCall {
                method,
                class,
                ticket,
                start: Timestamp(start),
            });
        }
        Some(Self {
            thread: at.thread,
            back,
            from,
            calls,
        })
    }
}
