//! Sums over the calls of a part of a trace, and their combination with those of other parts.
//!
//! The sums of a trace are the sums over its parts. A part alone does not know the calls that were
//! open at its start. So they are passed in, with the times at which they began. The calls that are
//! open at the end of a part are returned. For a call that spans several parts, each part subtracts
//! the time of the callees within this part. The part in which the call ends adds the call's whole
//! duration. So the parts can be combined in any order.

use super::sums::Sum;
use super::{Calls, ThreadCalls, Tree};
use jtrail_model::{Duration, MethodId, ThreadId, Timestamp};

/// A thread's stack is freed at the end of a part if it grew beyond this many calls.
const LARGE: usize = 1 << 10;

/// A call that is open at the start or end of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenCall {
    /// The method.
    pub method: MethodId,
    /// The ticket that the call's leave will have.
    pub ticket: u32,
    /// The time at which the call began.
    pub enter: Timestamp,
}

impl From<jtrail_formats::trail::OpenCall> for OpenCall {
    fn from(call: jtrail_formats::trail::OpenCall) -> Self {
        Self {
            method: call.method,
            ticket: call.ticket,
            enter: call.start,
        }
    }
}

impl Calls {
    /// Begins a part for a thread that has these open calls at its start, outermost first. Calls in
    /// parts must have no CPU times.
    pub fn begin_part(&mut self, id: ThreadId, open: &[OpenCall]) {
        let Some(thread) = self.thread(id, |_| true) else {
            return;
        };
        for call in open {
            let times = (call.enter, Duration(0));
            self.enter(thread, call.method, call.ticket, times);
        }
        // These calls are counted in the parts in which they began.
        self.threads[thread].calls -= open.len() as u64;
    }

    /// Ends the part for a thread. Returns the thread's open calls, outermost first: they continue
    /// in another part.
    pub fn end_part(&mut self, id: ThreadId) -> Vec<OpenCall> {
        let Some(thread) = self.thread(id, |_| true) else {
            return Vec::new();
        };
        let open = self.threads[thread].stack.iter();
        let open = open.map(|call| OpenCall {
            method: self.tables.methods.id(call.place.method),
            ticket: call.ticket,
            enter: call.enter,
        });
        let open = open.collect();
        let mut below = 0_u64;
        while let Some(call) = self.threads[thread].stack.pop() {
            self.tables
                .open_counts
                .leave(thread as u32, call.place.method);
            // Calls below an open call are also below all calls that enclose it.
            below = below.saturating_add(call.below.all);
            let sum = Sum {
                own: call.callees.saturating_neg(),
                total_records: below.saturating_mul(2),
                own_records: call.below.callees,
                ..Sum::default()
            };
            self.tables.add(call.place, sum, 0, 0);
        }
        let stack = &mut self.threads[thread].stack;
        if stack.capacity() > LARGE {
            *stack = Vec::new(); // the thread may never occur again
        }
        open
    }

    /// Adds the sums of another part, which must have no open calls.
    pub fn add_part(&mut self, part: Self) {
        let ids = part.tables.methods.ids();
        let numbers: Vec<u32> = ids.map(|id| self.tables.methods.number(id)).collect();
        for (number, from) in numbers.iter().zip(0..) {
            self.tables
                .methods
                .sums
                .add_from(*number, &part.tables.methods.sums, from);
        }
        // Callers precede callees.
        let mut paths = vec![Tree::ROOT];
        for path in part.tables.tree.paths() {
            let caller = paths[part.tables.tree.caller(path) as usize];
            let method = numbers[part.tables.tree.method(path) as usize];
            // `part` has the same number of levels, so this tree has the path too.
            let own = self.tables.tree.callee(caller, method, 0);
            self.tables
                .tree
                .sums
                .add_from(own, &part.tables.tree.sums, path);
            paths.push(own);
        }
        // A thread without calls in `part` is skipped. If it has calls at all, another part adds
        // it.
        let has_calls = |thread: &ThreadCalls| thread.calls > 0 || thread.outermost > 0;
        for of_part in part.threads.into_iter().filter(has_calls) {
            let ThreadCalls {
                thread,
                calls,
                busy,
                outermost,
                cpu,
                ..
            } = of_part;
            let Some(thread) = self.thread(thread, |_| true) else {
                continue;
            };
            let all = &mut self.threads[thread];
            all.calls = all.calls.saturating_add(calls);
            all.busy = all.busy.saturating_add(busy);
            all.outermost = all.outermost.saturating_add(outermost);
            all.cpu = all.cpu.max(cpu);
        }
        self.summed = self.summed.saturating_add(part.summed);
        self.unmatched = self.unmatched.saturating_add(part.unmatched);
        self.cut = self.cut.saturating_add(part.cut);
        self.open = self.open.saturating_add(part.open);
    }
}
