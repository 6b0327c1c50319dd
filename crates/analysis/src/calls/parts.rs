//! Calls of a part of a trace, summed up by itself, and put together with those of the other parts.
//!
//! All sums are sums of what parts have, but for what a part does not see: the calls that were open
//! when it began. So whoever sums up a part is told of these, with the time at which they began,
//! and leaves them at its end as they are then. Of such a call, each part takes off what its
//! callees took there, and the part in which it ends adds how long it was. That comes to what one
//! reader of the whole trace finds, in whatever order the parts are put together.

use super::sums::Sum;
use super::{Calls, ThreadCalls, Tree};
use jtrail_model::{Duration, MethodId, ThreadId, Timestamp};

/// Room for so many open calls is not kept for a thread's next part.
const LARGE: usize = 1 << 10;

/// A call that is open where a part begins or ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenCall {
    /// The method.
    pub method: MethodId,
    /// What the leave says, too.
    pub ticket: u32,
    /// When it began.
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
    /// A part begins in which a thread is in these calls, outermost first. CPU times are not for
    /// parts.
    pub fn begin_part(&mut self, id: ThreadId, open: &[OpenCall]) {
        let Some(thread) = self.thread(id, |_| true) else {
            return;
        };
        for call in open {
            let times = (call.enter, Duration(0));
            self.enter(thread, call.method, call.ticket, times);
        }
        // They count where they began.
        self.threads[thread].calls -= open.len() as u64;
    }

    /// The part ends. The thread's calls that are open go on in another one: these, outermost
    /// first.
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
            // What is below one of them is below all around it.
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
            *stack = Vec::new(); // the thread may never come again
        }
        open
    }

    /// Adds the sums of another part. No call of it is open.
    pub fn add_part(&mut self, part: Self) {
        let ids = part.tables.methods.ids();
        let numbers: Vec<u32> = ids.map(|id| self.tables.methods.number(id)).collect();
        for (number, from) in numbers.iter().zip(0..) {
            self.tables
                .methods
                .sums
                .add_from(*number, &part.tables.methods.sums, from);
        }
        // Callers stand before callees.
        let mut paths = vec![Tree::ROOT];
        for path in part.tables.tree.paths() {
            let caller = paths[part.tables.tree.caller(path) as usize];
            let method = numbers[part.tables.tree.method(path) as usize];
            // It has a level that is asked for there, so it has here.
            let own = self.tables.tree.callee(caller, method, 0);
            self.tables
                .tree
                .sums
                .add_from(own, &part.tables.tree.sums, path);
            paths.push(own);
        }
        // One without calls there has them in another part, or has none.
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
