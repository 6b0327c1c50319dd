//! Calls that are open at the start of a segment.
//!
//! Each segment can be read alone. For each thread, it lists the calls that began before the
//! segment and end in it. The calls around these calls are in the same list, or in an earlier
//! complete list. The writer writes a new complete list as soon as the lists since the last one
//! have as many calls together as a complete list would have. So the lists take at most about twice
//! the space that the changes take. In deep recursion, a complete list in each segment would take
//! more space than the events.

use super::value::{Bytes, Last, put_number, put_signed};
use jtrail_model::{CallStack, ClassId, MethodId, ThreadId, Timestamp};

/// Maximum number of open calls of a thread that are kept from segment to segment. The outermost
/// calls are kept.
const MAX_KEPT: usize = 1 << 16;
/// Maximum number of innermost calls that are compared with a call that ends out of order.
const MAX_PASSED: usize = 256;
/// Maximum number of calls, of all threads together, that a segment lists as open at its start. The
/// limit bounds a reader's memory.
pub(super) const MAX_LISTED: usize = 1 << 20;

/// A call that is open at the start of a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpenCall {
    /// The called method.
    pub method: MethodId,
    /// The declaring class of the method.
    pub class: ClassId,
    /// Number of the call, like [`jtrail_model::MethodEnter::ticket`].
    pub ticket: u32,
    /// Time when the call began.
    pub start: Timestamp,
}

/// An open call in a writer, which names the method by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct WrittenCall {
    pub(super) method: u32,
    pub(super) ticket: u32,
    pub(super) start: i64,
}

/// Open calls of a thread, outermost first. They are kept from segment to segment.
#[derive(Default)]
pub(super) struct OpenCalls {
    calls: Vec<WrittenCall>,
    /// Number of calls that were open at the start of the segment.
    at_begin: usize,
    /// Number of calls that were open at the start of the segment and have not ended.
    untouched: usize,
    /// Calls that were open at the start of the segment and have ended, innermost first.
    ended: Vec<WrittenCall>,
    /// The last complete list, if one was written.
    whole: Option<Whole>,
}

struct Whole {
    segment: u64,
    kept: usize,
    listed: usize,
}

impl OpenCalls {
    /// Begins a segment. Returns the number of open calls if a complete list may be due. Otherwise,
    /// returns the minimum number of calls that the segment lists.
    pub(super) fn begin(&mut self) -> usize {
        self.calls.truncate(MAX_KEPT);
        let all = self.calls.len();
        (self.at_begin, self.untouched) = (all, all);
        match &self.whole {
            Some(whole) if whole.listed + all - whole.kept < all => all - whole.kept,
            _ => all,
        }
    }

    /// Frees unneeded memory, because the thread may have no events for a long time.
    pub(super) fn rest(&mut self) {
        self.ended = Vec::new();
        let needed = self.calls.len().min(MAX_KEPT);
        if self.calls.capacity() > 4 * needed + 64 {
            self.calls.truncate(MAX_KEPT);
            self.calls.shrink_to(2 * needed);
        }
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut WrittenCall> {
        self.calls.iter_mut()
    }

    pub(super) fn len(&self) -> usize {
        self.calls.len()
    }

    #[inline]
    pub(super) fn last(&self) -> Option<&WrittenCall> {
        self.calls.last()
    }

    #[inline]
    pub(super) fn push(&mut self, call: WrittenCall) {
        self.calls.push(call);
    }

    /// Ends the `count` innermost calls.
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
    pub(super) fn extend(&mut self, calls: impl Iterator<Item = WrittenCall>) {
        self.calls.extend(calls);
    }

    /// Ends a call that is not the innermost one, and all calls within it. Does nothing if the call
    /// is not among the [`MAX_PASSED`] innermost ones.
    pub(super) fn end(&mut self, is_it: impl Fn(&WrittenCall) -> bool) {
        self.pop(passed(self.calls.iter(), is_it));
    }

    /// Appends the thread's list for the segment that ends here. `segment` is its number among the
    /// segments of events.
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

/// Returns how many calls end together with the innermost call for which `is_it` returns true. That
/// call is counted, too. Returns 0 if the call is not among the [`MAX_PASSED`] innermost ones.
fn passed<'c, C: 'c>(
    calls: impl DoubleEndedIterator<Item = &'c C>,
    is_it: impl Fn(&C) -> bool,
) -> usize {
    let mut near = calls.rev().take(MAX_PASSED);
    near.position(is_it).map_or(0, |at| at + 1)
}

/// Like [`OpenCalls::end`], but for a reader's stack of calls.
pub(super) fn end<C: Copy + Default>(calls: &mut CallStack<C>, is_it: impl Fn(&C) -> bool) {
    for _ in 0..passed(calls.iter(), is_it) {
        calls.pop();
    }
}

/// List of a thread's open calls at the start of a segment.
#[derive(Clone, Debug)]
pub(super) struct OpenList {
    pub(super) thread: ThreadId,
    /// How many segments of events earlier the list with the outermost calls is; 0 if this list is
    /// complete.
    pub(super) back: u64,
    /// Number of outermost calls that are taken from that earlier list.
    pub(super) from: u64,
    /// The remaining calls, outermost first.
    pub(super) calls: Vec<OpenCall>,
}

impl OpenList {
    /// Reads the list of a thread. `at` is the thread's state at the start of the segment. `room`
    /// is the number of calls that may still be read.
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
