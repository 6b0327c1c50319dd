//! Calls by method and by path.
//!
//! Each thread has a stack of open calls. A leave gives its call's duration to the method and to
//! the node of the call tree, and to the caller as time that is not its own. **Self time** is a
//! call's duration without its recorded callees. **Total time** of a method counts only calls that
//! no other call of the same method on the stack encloses, so recursion is not counted twice. In
//! the tree, each depth of a recursion is a node of its own and needs no such care. The tree has as
//! many levels as are asked for, because that is what takes memory; methods are summed beside it,
//! at any depth.
//!
//! **CPU time** is summed the same way, from the thread's CPU time at enter and at leave. A call
//! that lacks one of them, which then is 0, counts none. Aggregated calls tell their own CPU time,
//! and the shortest and longest own time of one call.
//!
//! Damaged traces and traces with losses: a leave whose enter is open further down ends the calls
//! above it too; one without any open enter is counted and passed over. Time that falls counts
//! as 0.

mod methods;
mod parts;
mod sums;
mod tree;

pub use parts::OpenCall;
pub use tree::Tree;

use methods::{Methods, OpenCounts};
use sums::{Sum, Sums};

use jtrail_formats::trail::Row;
use jtrail_model::{
    AggregatedDetail, AggregatedEnter, Cost, Duration, Event, MethodId, ThreadId, Timestamp,
};
use rustc_hash::FxHashMap;

/// Sums over all calls of a trace.
#[derive(Debug)]
pub struct Calls {
    tables: Tables,
    /// Of the segment that is read: by the place of a method there its number, from 1, or 0 if it
    /// was not called so far.
    places: Vec<u32>,
    threads: Vec<ThreadCalls>,
    thread_index: FxHashMap<ThreadId, u32>,
    /// The thread of the last event, because the next one is usually of the same.
    last_thread: Option<(ThreadId, u32)>,
    /// Calls that were told as sums.
    summed: u64,
    /// Leaves without an open enter.
    pub unmatched: u64,
    /// Calls that ended because one below them did.
    pub cut: u64,
    /// Calls still open when the trace ended.
    pub open: u64,
}

/// What all threads add to.
#[derive(Debug)]
struct Tables {
    methods: Methods,
    open_counts: OpenCounts,
    /// Sums by path.
    tree: Tree,
}

/// Sums over the calls of one method.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct MethodStat {
    /// The method.
    pub method: MethodId,
    /// How many calls.
    pub calls: u64,
    /// Time within, callees included, in ns.
    pub total: i64,
    /// Time within, callees not included, in ns.
    pub own: i64,
    /// Calls that an exception ended, where the trace tells them apart.
    pub exceptions: u64,
    /// CPU time that the profiler itself took for them, in ns; 0 if not measured.
    pub overhead: i64,
    /// CPU time within, callees included, in ns; 0 if not measured.
    pub cpu_total: i64,
    /// CPU time within, callees not included, in ns; 0 if not measured.
    pub cpu_own: i64,
    /// Shortest and longest own time of one call, in ns, where aggregated calls told them.
    pub bounds: Option<(i64, i64)>,
}

/// Sums over the calls of one thread.
#[derive(Clone, Debug)]
pub struct ThreadCalls {
    /// The thread.
    pub thread: ThreadId,
    /// How many calls.
    pub calls: u64,
    /// Time within outermost calls, in ns.
    pub busy: i64,
    /// Outermost calls that have ended.
    outermost: u64,
    /// The thread's CPU time as the last call event told it, in ns.
    cpu: i64,
    stack: Vec<Open>,
    aggregated: Vec<OpenAggregate>,
    /// Aggregated calls are so many calls further out than the innermost one that is open.
    sums_above: usize,
}

impl ThreadCalls {
    /// How many of the open calls aggregated ones are in.
    fn sums_in(&self) -> usize {
        self.stack.len().saturating_sub(self.sums_above)
    }
}

/// Which calls an open one belongs to.
#[derive(Clone, Copy, Debug)]
struct CallOwner {
    /// Of the tree, or [`Tree::BELOW`].
    path: u32,
    /// Number of the method.
    method: u32,
    /// Whether no other call of the method encloses it.
    is_outermost: bool,
}

/// How many calls are below an open one: directly, and in all.
#[derive(Clone, Copy, Debug, Default)]
struct Below {
    callees: u64,
    all: u64,
}

impl Below {
    /// Takes calls below which there are others.
    fn add(&mut self, calls: u64, below: Self) {
        self.callees = self.callees.saturating_add(calls);
        self.all = self.all.saturating_add(calls).saturating_add(below.all);
    }

    /// The records within the total time of so many calls, and within their own.
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
    /// CPU time of the thread at the enter, 0 if not measured.
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
    /// By how much `total` and `cpu_total` are too short for the tree, where a caller's part is
    /// what its sums have together.
    taken_off: (i64, i64),
    below: Below,
}

/// Stands for a thread whose calls do not count.
const NOT_SELECTED: u32 = u32::MAX;

/// Place of the open call that a leave with this ticket closes, if it is there.
pub(super) fn closed_by<T>(
    stack: &[T],
    ticket: u32,
    ticket_of: impl Fn(&T) -> u32,
    fits: impl Fn(&T) -> bool,
) -> Option<usize> {
    if stack.last().is_some_and(&fits) {
        return Some(stack.len() - 1);
    }
    // Tickets rise along the stack, so a search by halves finds the one if it is there.
    let at = stack.partition_point(|open| ticket_of(open) < ticket);
    stack.get(at).is_some_and(fits).then_some(at)
}

impl Default for Calls {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Calls {
    /// No calls so far; the tree will have this many levels.
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

    /// Takes off what recording took. A call's time has that of one record, its enter's or its
    /// leave's, and of both of each call below it.
    pub fn without(&mut self, cost: Cost) {
        self.tables.tree.sums.without(cost);
        self.tables.methods.sums.without(cost);
        for thread in &mut self.threads {
            let records = thread
                .calls
                .saturating_mul(2)
                .saturating_sub(thread.outermost);
            thread.busy = thread.busy.saturating_sub(cost.of(records)).max(0);
        }
    }

    /// Takes enters, leaves and ends of threads; other events are passed over. `is_selected` is asked
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

    /// As [`Self::event`], of each of these calls.
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

    /// The calls of another segment come next: methods have other places.
    pub fn begin_segment(&mut self) {
        self.places.clear();
    }

    /// As [`Self::event`], of each of these calls of the segment. Each ends the innermost call of
    /// its thread, whichever that is: so all that were open as the segment began have to be known.
    /// Where the thread is in more or fewer calls than the row says, none of them is taken.
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

    /// Aggregated calls of a thread that come next are so many calls further out than its innermost
    /// one.
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

    /// Calls that aggregated ones are not in do not enclose these.
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

    /// What comes for a thread is no aggregated call.
    #[inline]
    fn is_no_sum(&mut self, thread: usize) {
        if self.threads[thread].sums_above != 0 {
            self.set_sums_above(thread, 0);
        }
    }

    /// Ends the open calls of all threads.
    pub fn finish(&mut self, time: Timestamp) {
        for thread in 0..self.threads.len() {
            self.open += self.end_calls(thread, time);
        }
    }

    /// How many methods were called.
    pub fn method_count(&self) -> usize {
        self.tables.methods.len()
    }

    /// Sums by method, in the order of first call.
    pub fn methods(&self) -> Vec<MethodStat> {
        self.tables.methods.stats()
    }

    /// The paths of calls.
    pub fn tree(&self) -> &Tree {
        &self.tables.tree
    }

    /// The sums of a path's calls.
    pub fn path(&self, path: u32) -> MethodStat {
        self.tables.tree.stat(path, &self.tables.methods)
    }

    /// Sums by thread, in the order of first call.
    pub fn threads(&self) -> &[ThreadCalls] {
        &self.threads
    }

    /// How many of the calls are sums.
    pub fn summed(&self) -> u64 {
        self.summed
    }

    /// How many calls there are.
    pub fn count(&self) -> u64 {
        self.threads.iter().map(|t| t.calls).sum()
    }

    /// Index of the thread; none for one that is not wanted.
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
        // What stands for no call takes off what is below it.
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
            taken_off: match calls {
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
                parent.taken_off.0 = parent.taken_off.0.saturating_add(node.taken_off.0);
                parent.taken_off.1 = parent.taken_off.1.saturating_add(node.taken_off.1);
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
        if node.taken_off != (0, 0) && node.place.path != Tree::BELOW {
            let (total, cpu) = node.taken_off;
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
    /// Where the calls of a method belong that so many others enclose, the innermost of them at
    /// `caller`.
    #[inline(always)]
    fn place(&mut self, thread: u32, caller: Option<u32>, method: u32, level: usize) -> CallOwner {
        let caller = caller.unwrap_or(Tree::ROOT);
        CallOwner {
            path: self.tree.callee(caller, method, level),
            method,
            is_outermost: self.open_counts.enter(thread, method),
        }
    }

    /// A call of that method begins, on the thread of that number.
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

    /// The thread's innermost call ends.
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

    /// The sums of both a place's path and its method, for what is told of few calls.
    fn sums(&mut self, place: CallOwner) -> impl Iterator<Item = (&mut Sums, u32)> {
        let path = (place.path != Tree::BELOW).then_some((&mut self.tree.sums, place.path));
        let method = (&mut self.methods.sums, place.method);
        path.into_iter().chain([method])
    }
}

#[cfg(test)]
mod tests;
