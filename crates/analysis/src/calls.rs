//! Calls by method and by call path.
//!
//! Each thread has a stack of open calls. A leave adds the call's duration to its method, to its
//! node in the call tree, and to the callee time of its caller. **Self time** is a call's duration
//! without its recorded callees. **Total time** of a method is the time of its outermost calls:
//! those without another call of the method further out on the stack. So the time of recursive
//! calls is not counted twice. In the tree, each level of a recursion has its own node, and a
//! node's total time is the time of all its calls. The tree has only the requested number of
//! levels, to save memory. The sums by method do not come from the tree, and include calls at any
//! depth.
//!
//! **CPU time** is summed up like duration, from the thread's CPU time at enter and at leave. If
//! one of these two is not measured (0), the call adds no CPU time. Events of aggregated calls have
//! a CPU time, and the minimum and maximum self time of a single call.
//!
//! Traces may be damaged or have gaps. A leave of an outer call also ends the open calls that it
//! encloses. A leave without any open enter is counted and ignored. Negative durations count as 0.

mod cut;
mod methods;
mod parts;
mod sums;
mod tree;

pub use cut::TreeCut;
pub use parts::OpenCall;
pub use tree::Tree;

use methods::{Methods, OpenCounts};
use sums::{Sum, Sums};

use jtrail_formats::trail::Row;
use jtrail_model::{
    AggregatedDetail, AggregatedEnter, Cost, Duration, Event, MethodId, ThreadId, Timestamp,
};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Sums over all calls of a trace.
#[derive(Debug, Serialize, Deserialize)]
pub struct Calls {
    tables: Tables,
    /// For the current segment of a parallel analysis: each method's number plus 1, by the method's
    /// position in the segment. 0 if the method was not called so far.
    #[serde(skip)]
    places: Vec<u32>,
    threads: Vec<ThreadCalls>,
    #[serde(skip)]
    thread_index: FxHashMap<ThreadId, u32>,
    /// The thread of the last event. The next event is usually of this thread too.
    #[serde(skip)]
    last_thread: Option<(ThreadId, u32)>,
    /// The number of calls that were reported as sums.
    summed: u64,
    /// The number of leaves without an open enter.
    pub unmatched: u64,
    /// The number of calls that were ended by the leave of an enclosing call.
    pub cut: u64,
    /// The number of calls still open at the end of the trace.
    pub open: u64,
}

/// The tables shared by all threads.
#[derive(Debug, Serialize, Deserialize)]
struct Tables {
    methods: Methods,
    #[serde(skip)]
    open_counts: OpenCounts,
    /// The call tree, with sums by path.
    tree: Tree,
}

/// Sums over the calls of one method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MethodStat {
    /// The method.
    pub method: MethodId,
    /// The number of calls.
    pub calls: u64,
    /// Total time, including callees, in ns. A recursive call counts in `calls`, but its time is
    /// already in that of the outermost call.
    pub total: i64,
    /// Self time, without callees, in ns.
    pub own: i64,
    /// The number of calls that an exception ended, if the trace has it.
    pub exceptions: u64,
    /// The profiler's own CPU time for these calls, in ns; 0 if not measured.
    pub overhead: i64,
    /// CPU time including callees, in ns; 0 if not measured.
    pub cpu_total: i64,
    /// CPU time without callees, in ns; 0 if not measured.
    pub cpu_own: i64,
    /// Minimum and maximum self time of a single call, in ns, if aggregated calls reported them.
    pub bounds: Option<(i64, i64)>,
}

/// Sums over the calls of one thread.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ThreadCalls {
    /// The thread.
    pub thread: ThreadId,
    /// The number of calls.
    pub calls: u64,
    /// Time in outermost calls, in ns.
    pub busy: i64,
    /// The number of outermost calls that have ended.
    outermost: u64,
    /// The thread's CPU time at its latest call event, in ns.
    #[serde(skip)]
    cpu: i64,
    #[serde(skip)]
    stack: Vec<Open>,
    #[serde(skip)]
    aggregated: Vec<OpenAggregate>,
    /// How many open calls, counted from the innermost, do not enclose the next aggregated calls.
    #[serde(skip)]
    sums_above: usize,
}

impl ThreadCalls {
    /// Returns the time in outermost calls without the cost of recording, in ns.
    fn net(&self, cost: Cost) -> i64 {
        let records = self.calls.saturating_mul(2).saturating_sub(self.outermost);
        self.busy.saturating_sub(cost.of(records)).max(0)
    }

    /// Returns the number of open calls that enclose the next aggregated calls.
    fn sums_in(&self) -> usize {
        self.stack.len().saturating_sub(self.sums_above)
    }
}

/// Identifies the sums that include an open call.
#[derive(Clone, Copy, Debug)]
struct CallOwner {
    /// The call's path in the tree, or [`Tree::BELOW`].
    path: u32,
    /// The number of the call's method.
    method: u32,
    /// True if no other call of the same method encloses this one.
    is_outermost: bool,
}

/// The number of callees of an open call: direct ones, and all of them.
#[derive(Clone, Copy, Debug, Default)]
struct Below {
    callees: u64,
    all: u64,
}

impl Below {
    /// Adds `calls` direct callees. `below` counts the callees within them.
    fn add(&mut self, calls: u64, below: Self) {
        self.callees = self.callees.saturating_add(calls);
        self.all = self.all.saturating_add(calls).saturating_add(below.all);
    }

    /// Returns two numbers of call records: those written within the total time of `calls` calls,
    /// and those written within their self time.
    fn records(self, calls: u64) -> (u64, u64) {
        let total = calls.saturating_add(self.all.saturating_mul(2));
        (total, calls.saturating_add(self.callees))
    }
}

#[derive(Clone, Debug)]
struct Open {
    place: CallOwner,
    ticket: u32,
    enter: Timestamp,
    callees: i64,
    /// The thread's CPU time at the enter; 0 if not measured.
    cpu_enter: i64,
    cpu_callees: i64,
    below: Below,
}

#[derive(Clone, Debug)]
struct OpenAggregate {
    place: CallOwner,
    calls: u64,
    own: i64,
    total: i64,
    cpu_own: i64,
    cpu_total: i64,
    /// What the tree adds to `total` and `cpu_total`: in the tree, a caller's time is the sum of
    /// its aggregates.
    correction: (i64, i64),
    below: Below,
}

/// The index of a thread whose calls are not selected.
const NOT_SELECTED: u32 = u32::MAX;

/// Returns the position of the open call that a leave with this ticket ends, if there is one.
pub(super) fn closed_by<T>(
    stack: &[T],
    ticket: u32,
    ticket_of: impl Fn(&T) -> u32,
    fits: impl Fn(&T) -> bool,
) -> Option<usize> {
    if stack.last().is_some_and(&fits) {
        return Some(stack.len() - 1);
    }
    // Tickets ascend along the stack, so a binary search finds the call.
    let at = stack.partition_point(|open| ticket_of(open) < ticket);
    stack.get(at).is_some_and(fits).then_some(at)
}

impl Default for Calls {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Calls {
    /// Creates empty sums, with a call tree of this many levels.
    pub fn new(levels: usize) -> Self {
        Self {
            tables: Tables {
                methods: Methods::default(),
                open_counts: OpenCounts::default(),
                tree: Tree::new(levels),
            },
            places: Vec::new(),
            threads: Vec::new(),
            thread_index: FxHashMap::default(),
            last_thread: None,
            summed: 0,
            unmatched: 0,
            cut: 0,
            open: 0,
        }
    }

    /// Subtracts the cost of recording. A call's time includes one record of its own (enter or
    /// leave), and two for each call below it.
    pub fn without(&mut self, cost: Cost) {
        self.tables.tree.sums.without(cost);
        self.tables.methods.sums.without(cost);
        for thread in &mut self.threads {
            thread.busy = thread.net(cost);
        }
    }

    /// Processes enters, leaves and ends of threads. Ignores other events. `is_selected` is called
    /// once for each thread.
    pub fn event(&mut self, event: &Event<'_>, is_selected: impl FnOnce(ThreadId) -> bool) {
        match event {
            Event::MethodEnter(e) => {
                if let Some(thread) = self.thread(e.thread, is_selected) {
                    self.enter(thread, e.method, e.ticket, (e.time, e.cpu_time));
                }
            }
            Event::MethodLeave(e) => {
                if let Some(thread) = self.thread(e.thread, is_selected) {
                    let times = (e.time, e.cpu_time);
                    self.leave(thread, e.method, e.ticket, times, e.by_exception);
                }
            }
            Event::AggregatedEnter(e) => {
                if let Some(thread) = self.thread(e.thread, is_selected) {
                    self.aggregated_enter(thread, e);
                }
            }
            Event::AggregatedDetail(e) => {
                if let Some(thread) = self.thread(e.thread, is_selected) {
                    self.aggregated_detail(thread, e);
                }
            }
            Event::AggregatedLeave(e) => {
                if let Some(thread) = self.thread(e.thread, is_selected) {
                    self.aggregated_leave(thread);
                }
            }
            Event::ThreadEnd(e) => {
                if let Some(&thread) = self.thread_index.get(&e.thread)
                    && thread != NOT_SELECTED
                {
                    self.open += self.end_calls(thread as usize, e.time);
                }
            }
            _ => {}
        }
    }

    /// Processes each of these calls like [`Self::event`].
    pub fn calls(
        &mut self,
        calls: &jtrail_model::Calls<'_>,
        is_selected: impl FnOnce(ThreadId) -> bool,
    ) {
        let Some(thread) = self.thread(calls.thread, is_selected) else {
            return;
        };
        let cpu_time = calls.cpu_time;
        for step in calls.steps {
            match step.ends {
                false => self.enter(thread, step.method, step.ticket, (step.time, cpu_time)),
                true => self.leave(
                    thread,
                    step.method,
                    step.ticket,
                    (step.time, cpu_time),
                    false,
                ),
            }
        }
    }

    /// Begins the next segment, in which methods have other positions.
    pub fn begin_segment(&mut self) {
        self.places.clear();
    }

    /// Processes each of these calls of the current segment like [`Self::event`].
    ///
    /// A leave in a row ends the innermost call of its thread, whatever its method. So all calls
    /// that were open at the start of the segment must be known. If the thread's depth differs from
    /// the row's, the whole row is ignored.
    pub fn row(&mut self, row: &Row<'_>) {
        let Some(thread) = self.thread(row.thread, |_| true) else {
            return;
        };
        if self.threads[thread].stack.len() != row.depth as usize {
            self.unmatched += 1;
            return;
        }
        self.is_no_sum(thread);
        self.places
            .resize(self.places.len().max(row.methods.len()), 0);
        let number = thread as u32;
        let (tables, places, thread) = (
            &mut self.tables,
            &mut self.places,
            &mut self.threads[thread],
        );
        let mut ticket = row.ticket;
        for (step, time) in row.steps.iter().zip(row.times) {
            if step.ends() {
                tables.end_call(number, thread, *time);
                continue;
            }
            ticket = ticket.wrapping_add(1);
            let place = &mut places[step.method()];
            if *place == 0 {
                *place = tables.methods.number(row.methods[step.method()].0) + 1;
            }
            let times = (*time, Duration(0));
            tables.enter(number, thread, *place - 1, ticket, times);
        }
    }

    /// Sets the level of the thread's next aggregated calls: the innermost `calls` open calls do
    /// not enclose them.
    pub fn sums_above(
        &mut self,
        id: ThreadId,
        calls: u64,
        is_selected: impl FnOnce(ThreadId) -> bool,
    ) {
        if let Some(thread) = self.thread(id, is_selected) {
            self.set_sums_above(thread, usize::try_from(calls).unwrap_or(usize::MAX));
        }
    }

    /// Sets the level of the next aggregated calls. The innermost `calls` open calls do not enclose
    /// them, and are not counted as open.
    #[cold]
    fn set_sums_above(&mut self, thread: usize, calls: usize) {
        let (number, thread) = (thread as u32, &mut self.threads[thread]);
        for open in &thread.stack[thread.sums_in()..] {
            self.tables.open_counts.enter(number, open.place.method);
        }
        thread.sums_above = calls;
        for open in &thread.stack[thread.sums_in()..] {
            self.tables.open_counts.leave(number, open.place.method);
        }
    }

    /// Ends a sequence of aggregated calls: the thread's next event is not one.
    #[inline]
    fn is_no_sum(&mut self, thread: usize) {
        if self.threads[thread].sums_above != 0 {
            self.set_sums_above(thread, 0);
        }
    }

    /// Ends the open calls of all threads at the end of the trace.
    pub fn finish(&mut self, time: Timestamp) {
        for thread in 0..self.threads.len() {
            self.open += self.end_calls(thread, time);
        }
    }

    /// Returns true if all numbers in these loaded sums lead to something.
    pub(crate) fn is_consistent(&self) -> bool {
        let Tables { methods, tree, .. } = &self.tables;
        methods.sums.fits(methods.len())
            && tree
                .paths()
                .all(|path| (tree.method(path) as usize) < methods.len())
    }

    /// Returns the number of methods that were called.
    pub fn method_count(&self) -> usize {
        self.tables.methods.len()
    }

    /// Returns the sums by method, in the order of their first calls.
    pub fn methods(&self) -> Vec<MethodStat> {
        self.tables.methods.stats()
    }

    /// Returns the call tree.
    pub fn tree(&self) -> &Tree {
        &self.tables.tree
    }

    /// Returns the sums of a path's calls.
    pub fn path(&self, path: u32) -> MethodStat {
        self.tables.tree.stat(path, &self.tables.methods)
    }

    /// Returns the sums by thread, in the order of their first calls.
    pub fn threads(&self) -> &[ThreadCalls] {
        &self.threads
    }

    /// Returns the number of calls that were reported as sums.
    pub fn summed(&self) -> u64 {
        self.summed
    }

    /// Returns the number of calls.
    pub fn count(&self) -> u64 {
        let calls = self.threads.iter().map(|thread| thread.calls);
        calls.fold(0, u64::saturating_add)
    }

    /// Returns the index of the thread; `None` if it is not selected.
    fn thread(
        &mut self,
        id: ThreadId,
        is_selected: impl FnOnce(ThreadId) -> bool,
    ) -> Option<usize> {
        let index = match self.last_thread {
            Some((last, index)) if last == id => index,
            _ => {
                let next = self.threads.len() as u32;
                let index = *self
                    .thread_index
                    .entry(id)
                    .or_insert_with(|| if is_selected(id) { next } else { NOT_SELECTED });
                if index == next {
                    self.threads.push(ThreadCalls {
                        thread: id,
                        calls: 0,
                        busy: 0,
                        outermost: 0,
                        cpu: 0,
                        stack: Vec::new(),
                        aggregated: Vec::new(),
                        sums_above: 0,
                    });
                }
                self.last_thread = Some((id, index));
                index
            }
        };
        (index != NOT_SELECTED).then_some(index as usize)
    }

    fn enter(
        &mut self,
        thread: usize,
        method: MethodId,
        ticket: u32,
        times: (Timestamp, Duration),
    ) {
        self.is_no_sum(thread);
        let method = self.tables.methods.number(method);
        let number = thread as u32;
        let thread = &mut self.threads[thread];
        self.tables.enter(number, thread, method, ticket, times);
    }

    #[inline]
    fn leave(
        &mut self,
        thread: usize,
        method: MethodId,
        ticket: u32,
        (time, cpu): (Timestamp, Duration),
        by_exception: bool,
    ) {
        self.is_no_sum(thread);
        let known = self.tables.methods.known(method);
        let fits = |open: &Open| open.ticket == ticket && known == Some(open.place.method);
        let (number, thread) = (thread as u32, &mut self.threads[thread]);
        let Some(depth) = closed_by(&thread.stack, ticket, |open| open.ticket, fits) else {
            self.unmatched += 1;
            return;
        };
        thread.cpu = thread.cpu.max(cpu.0);
        while thread.stack.len() > depth + 1 {
            self.cut += 1;
            self.tables.end_call(number, thread, time);
        }
        if by_exception && let Some(call) = thread.stack.last() {
            for (sums, number) in self.tables.sums(call.place) {
                sums.add_exceptions(number, 1);
            }
        }
        self.tables.end_call(number, thread, time);
    }

    fn end_calls(&mut self, thread: usize, time: Timestamp) -> u64 {
        while !self.threads[thread].aggregated.is_empty() {
            self.aggregated_leave(thread);
        }
        self.is_no_sum(thread);
        let open = self.threads[thread].stack.len() as u64;
        let (number, t) = (thread as u32, &mut self.threads[thread]);
        for _ in 0..open {
            self.tables.end_call(number, t, time);
        }
        (t.stack, t.aggregated) = Default::default();
        open
    }

    fn aggregated_enter(&mut self, thread: usize, e: &AggregatedEnter) {
        let ThreadCalls {
            stack, aggregated, ..
        } = &self.threads[thread];
        let outside = self.threads[thread].sums_in();
        let caller = match aggregated.last() {
            Some(sums) => Some(sums.place.path),
            None => stack[..outside].last().map(|open| open.place.path),
        };
        let level = outside + aggregated.len();
        let method = self.tables.methods.number(e.method);
        let place = self.tables.place(thread as u32, caller, method, level);
        let calls = u64::try_from(e.calls).unwrap_or(0);
        // An aggregate of 0 calls may have a negative time, which compensates for its callees'
        // time.
        let least = if calls == 0 { i64::MIN } else { 0 };
        let own = e.base_time.0.max(least);
        let cpu_own = e.base_cpu_time.0.max(least);
        let t = &mut self.threads[thread];
        t.calls = t.calls.saturating_add(calls);
        self.summed = self.summed.saturating_add(calls);
        t.aggregated.push(OpenAggregate {
            place,
            calls,
            own,
            total: own,
            cpu_own,
            cpu_total: cpu_own,
            correction: match calls {
                0 => (own.saturating_neg(), cpu_own.saturating_neg()),
                _ => (0, 0),
            },
            below: Below::default(),
        });
        if calls == 0 {
            return;
        }
        for (sums, number) in self.tables.sums(place) {
            sums.widen(number, (e.min_time.0, e.max_time.0));
        }
    }

    fn aggregated_detail(&mut self, thread: usize, e: &AggregatedDetail) {
        let Some(node) = self.threads[thread].aggregated.last() else {
            return;
        };
        for (sums, number) in self.tables.sums(node.place) {
            sums.add_exceptions(number, e.exceptions);
            sums.add_overhead(number, e.overhead.0.max(0));
        }
    }

    fn aggregated_leave(&mut self, thread: usize) {
        let t = &mut self.threads[thread];
        let Some(node) = t.aggregated.pop() else {
            self.unmatched += 1;
            return;
        };
        self.tables
            .open_counts
            .leave(thread as u32, node.place.method);
        let outside = t.sums_in();
        match t.aggregated.last_mut() {
            Some(parent) => {
                parent.total = parent.total.saturating_add(node.total);
                parent.cpu_total = parent.cpu_total.saturating_add(node.cpu_total);
                parent.correction.0 = parent.correction.0.saturating_add(node.correction.0);
                parent.correction.1 = parent.correction.1.saturating_add(node.correction.1);
                parent.below.add(node.calls, node.below);
            }
            None => match t.stack[..outside].last_mut() {
                Some(caller) => {
                    caller.callees = caller.callees.saturating_add(node.total);
                    caller.cpu_callees = caller.cpu_callees.saturating_add(node.cpu_total);
                    caller.below.add(node.calls, node.below);
                }
                None => {
                    t.busy = t.busy.saturating_add(node.total);
                    t.outermost = t.outermost.saturating_add(node.calls);
                }
            },
        }
        let (total_records, own_records) = node.below.records(node.calls);
        let sum = Sum {
            calls: node.calls,
            total: node.total,
            own: node.own,
            total_records,
            own_records,
        };
        self.tables
            .add(node.place, sum, node.cpu_total, node.cpu_own);
        if node.correction != (0, 0) && node.place.path != Tree::BELOW {
            let (total, cpu) = node.correction;
            let (own, cpu_own) = match node.calls {
                0 => (node.own.saturating_neg(), node.cpu_own.saturating_neg()),
                _ => (0, 0),
            };
            let back = Sum {
                total,
                own,
                ..Sum::default()
            };
            self.tables.tree.sums.add(node.place.path, &back);
            self.tables.tree.sums.add_cpu(node.place.path, cpu, cpu_own);
        }
    }
}

impl Tables {
    /// Finds the sums for calls of a method at this level. `caller` is the path of the innermost
    /// enclosing call.
    #[inline(always)]
    fn place(&mut self, thread: u32, caller: Option<u32>, method: u32, level: usize) -> CallOwner {
        let caller = caller.unwrap_or(Tree::ROOT);
        CallOwner {
            path: self.tree.callee(caller, method, level),
            method,
            is_outermost: self.open_counts.enter(thread, method),
        }
    }

    /// Begins a call of the method, on the thread with this number.
    #[inline(always)]
    fn enter(
        &mut self,
        number: u32,
        thread: &mut ThreadCalls,
        method: u32,
        ticket: u32,
        (time, cpu): (Timestamp, Duration),
    ) {
        let caller = thread.stack.last().map(|open| open.place.path);
        let place = self.place(number, caller, method, thread.stack.len());
        thread.calls += 1;
        thread.cpu = thread.cpu.max(cpu.0);
        thread.stack.push(Open {
            place,
            ticket,
            enter: time,
            callees: 0,
            cpu_enter: cpu.0.max(0),
            cpu_callees: 0,
            below: Below::default(),
        });
    }

    /// Ends the thread's innermost call.
    #[inline(always)]
    fn end_call(&mut self, number: u32, thread: &mut ThreadCalls, time: Timestamp) {
        let Some(call) = thread.stack.pop() else {
            return;
        };
        self.open_counts.leave(number, call.place.method);
        let length = time.since(call.enter).0.max(0);
        let own = length.saturating_sub(call.callees).max(0);
        let cpu = match call.cpu_enter {
            0 => 0,
            enter => thread.cpu.saturating_sub(enter).max(0),
        };
        let cpu_own = cpu.saturating_sub(call.cpu_callees).max(0);
        match thread.stack.last_mut() {
            Some(caller) => {
                caller.callees = caller.callees.saturating_add(length);
                caller.cpu_callees = caller.cpu_callees.saturating_add(cpu);
                caller.below.add(1, call.below);
            }
            None => {
                thread.busy = thread.busy.saturating_add(length);
                thread.outermost += 1;
            }
        }
        let (total_records, own_records) = call.below.records(1);
        let sum = Sum {
            calls: 1,
            total: length,
            own,
            total_records,
            own_records,
        };
        self.add(call.place, sum, cpu, cpu_own);
    }

    /// Adds to the sums of a path and of a method.
    #[inline(always)]
    fn add(&mut self, place: CallOwner, mut sum: Sum, cpu_total: i64, cpu_own: i64) {
        if place.path != Tree::BELOW {
            self.tree.sums.add(place.path, &sum);
            self.tree.sums.add_cpu(place.path, cpu_total, cpu_own);
        }
        let mut cpu = cpu_total;
        if !place.is_outermost {
            (sum.total, sum.total_records, cpu) = (0, 0, 0);
        }
        self.methods.sums.add(place.method, &sum);
        self.methods.sums.add_cpu(place.method, cpu, cpu_own);
    }

    /// Returns the sums of the path and the sums of the method. Used only for rare details.
    fn sums(&mut self, place: CallOwner) -> impl Iterator<Item = (&mut Sums, u32)> {
        let path = (place.path != Tree::BELOW).then_some((&mut self.tree.sums, place.path));
        let method = (&mut self.methods.sums, place.method);
        path.into_iter().chain([method])
    }
}

#[cfg(test)]
mod tests;
