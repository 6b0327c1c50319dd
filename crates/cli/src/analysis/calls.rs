//! Calls by method and by path.
//!
//! Each thread has a stack of open calls. A leave gives its call's duration to the method and to the
//! node of the call tree, and to the caller as time that is not its own. **Self time** is a call's
//! duration without its recorded callees. **Total time** of a method counts only calls that no
//! other call of the same method on the stack encloses, so recursion is not counted twice. In the
//! tree, each depth of a recursion is a node of its own and needs no such care.
//!
//! **CPU time** is summed the same way, from the thread's CPU time at enter and at leave. A call that
//! lacks one of them, which then is 0, counts none. Aggregated calls tell their own CPU time, and the
//! shortest and longest own time of one call.
//!
//! Damaged traces and traces with losses: a leave whose enter is open further down ends the calls
//! above it too; one without any open enter is counted and passed over. Time that falls counts as 0.

use jtrail_model::{
    AggregatedEnter, Event, MethodEnter, MethodId, MethodLeave, ThreadId, Timestamp,
};
use rustc_hash::FxHashMap;

/// Sums over all calls of a trace.
#[derive(Debug, Default)]
pub struct Calls {
    methods: Vec<MethodStat>,
    method_index: FxHashMap<MethodId, u32>,
    paths: Vec<PathStat>,
    path_index: FxHashMap<(u32, u32), u32>,
    threads: Vec<ThreadCalls>,
    thread_index: FxHashMap<ThreadId, u32>,
    /// The thread of the last event, because the next one is usually of the same.
    last_thread: Option<(ThreadId, u32)>,
    /// Leaves without an open enter.
    pub unmatched: u64,
    /// Calls that ended because one below them did.
    pub cut: u64,
    /// Calls still open when the trace ended.
    pub open: u64,
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
    /// CPU time within, callees included, in ns; 0 if not measured.
    pub cpu_total: i64,
    /// CPU time within, callees not included, in ns; 0 if not measured.
    pub cpu_own: i64,
    /// Shortest and longest own time of one call, in ns, where aggregated calls told them.
    pub bounds: Option<(i64, i64)>,
}

/// Sums over the calls with the same callers, up to the outermost.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathStat {
    /// Index of the caller's path, or `None` for an outermost call.
    pub parent: Option<u32>,
    /// The sums.
    pub stat: MethodStat,
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
    /// The thread's CPU time as the last call event told it, in ns.
    cpu: i64,
    stack: Vec<Open>,
    aggregated: Vec<OpenAggregate>,
    /// Open calls by method.
    open: FxHashMap<u32, u32>,
}

#[derive(Clone, Debug)]
struct Open {
    path: u32,
    method: u32,
    ticket: u32,
    /// No other call of the method is open below.
    outermost: bool,
    enter: Timestamp,
    callees: i64,
    /// CPU time of the thread at the enter, 0 if not measured.
    cpu_enter: i64,
    cpu_callees: i64,
}

#[derive(Clone, Debug)]
struct OpenAggregate {
    path: u32,
    method: u32,
    outermost: bool,
    total: i64,
    cpu_total: i64,
}

const NO_PATH: u32 = u32::MAX;

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

impl Calls {
    /// Takes enters, leaves and ends of threads; other events are passed over. `wanted` is asked
    /// once for each thread.
    pub fn event(&mut self, event: &Event<'_>, wanted: impl FnOnce(ThreadId) -> bool) {
        match event {
            Event::MethodEnter(e) => {
                if let Some(thread) = self.thread(e.thread, wanted) {
                    self.enter(thread, e);
                }
            }
            Event::MethodLeave(e) => {
                if let Some(thread) = self.thread(e.thread, wanted) {
                    self.leave(thread, e);
                }
            }
            Event::AggregatedEnter(e) => {
                if let Some(thread) = self.thread(e.thread, wanted) {
                    self.aggregated_enter(thread, e);
                }
            }
            Event::AggregatedLeave(e) => {
                if let Some(thread) = self.thread(e.thread, wanted) {
                    self.aggregated_leave(thread);
                }
            }
            Event::ThreadEnd(e) => {
                if let Some(&thread) = self.thread_index.get(&e.thread)
                    && thread != NO_PATH
                {
                    self.open += self.end_calls(thread as usize, e.time);
                }
            }
            _ => {}
        }
    }

    /// Ends the open calls of all threads.
    pub fn finish(&mut self, time: Timestamp) {
        for thread in 0..self.threads.len() {
            self.open += self.end_calls(thread, time);
        }
    }

    /// Sums by method, in the order of first call.
    pub fn methods(&self) -> &[MethodStat] {
        &self.methods
    }

    /// Sums by path; a caller's path stands before those of its callees.
    pub fn paths(&self) -> &[PathStat] {
        &self.paths
    }

    /// Sums by thread, in the order of first call.
    pub fn threads(&self) -> &[ThreadCalls] {
        &self.threads
    }

    /// How many calls there are.
    pub fn count(&self) -> u64 {
        self.threads.iter().map(|t| t.calls).sum()
    }

    /// Index of the thread; none for one that is not wanted.
    fn thread(&mut self, id: ThreadId, wanted: impl FnOnce(ThreadId) -> bool) -> Option<usize> {
        let index = match self.last_thread {
            Some((last, index)) if last == id => index,
            _ => {
                let next = self.threads.len() as u32;
                let index = *self
                    .thread_index
                    .entry(id)
                    .or_insert_with(|| if wanted(id) { next } else { NO_PATH });
                if index == next {
                    self.threads.push(ThreadCalls {
                        thread: id,
                        calls: 0,
                        busy: 0,
                        cpu: 0,
                        stack: Vec::new(),
                        aggregated: Vec::new(),
                        open: FxHashMap::default(),
                    });
                }
                self.last_thread = Some((id, index));
                index
            }
        };
        (index != NO_PATH).then_some(index as usize)
    }

    fn method(&mut self, method: MethodId) -> u32 {
        let next = self.methods.len() as u32;
        let index = *self.method_index.entry(method).or_insert(next);
        if index == next {
            self.methods.push(MethodStat::new(method));
        }
        index
    }

    fn path(&mut self, parent: Option<u32>, method: u32) -> u32 {
        let next = self.paths.len() as u32;
        let key = (parent.unwrap_or(NO_PATH), method);
        let index = *self.path_index.entry(key).or_insert(next);
        if index == next {
            let method = self.methods[method as usize].method;
            let stat = MethodStat::new(method);
            self.paths.push(PathStat { parent, stat });
        }
        index
    }

    fn enter(&mut self, thread: usize, e: &MethodEnter) {
        let method = self.method(e.method);
        let parent = self.threads[thread].stack.last().map(|o| o.path);
        let path = self.path(parent, method);
        let thread = &mut self.threads[thread];
        thread.calls += 1;
        thread.cpu = thread.cpu.max(e.cpu_time.0);
        let outermost = thread.opened(method);
        let enter = e.time;
        thread.stack.push(Open {
            path,
            method,
            ticket: e.ticket,
            outermost,
            enter,
            callees: 0,
            cpu_enter: e.cpu_time.0.max(0),
            cpu_callees: 0,
        });
    }

    fn leave(&mut self, thread: usize, e: &MethodLeave) {
        let fits =
            |o: &Open| o.ticket == e.ticket && self.methods[o.method as usize].method == e.method;
        let stack = &self.threads[thread].stack;
        let Some(depth) = closed_by(stack, e.ticket, |o| o.ticket, fits) else {
            self.unmatched += 1;
            return;
        };
        let t = &mut self.threads[thread];
        t.cpu = t.cpu.max(e.cpu_time.0);
        while self.threads[thread].stack.len() > depth + 1 {
            self.cut += 1;
            self.end_call(thread, e.time);
        }
        self.end_call(thread, e.time);
    }

    fn end_call(&mut self, thread: usize, time: Timestamp) {
        let t = &mut self.threads[thread];
        let Some(call) = t.stack.pop() else { return };
        t.closed(call.method);
        let length = time.since(call.enter).0.max(0);
        let own = length.saturating_sub(call.callees).max(0);
        let cpu = match call.cpu_enter {
            0 => 0,
            enter => t.cpu.saturating_sub(enter).max(0),
        };
        let cpu_own = cpu.saturating_sub(call.cpu_callees).max(0);
        match t.stack.last_mut() {
            Some(caller) => {
                caller.callees = caller.callees.saturating_add(length);
                caller.cpu_callees = caller.cpu_callees.saturating_add(cpu);
            }
            None => t.busy = t.busy.saturating_add(length),
        }
        let path = &mut self.paths[call.path as usize].stat;
        path.add(1, length, own);
        path.add_cpu(cpu, cpu_own);
        let outermost = i64::from(call.outermost);
        let method = &mut self.methods[call.method as usize];
        method.add(1, outermost * length, own);
        method.add_cpu(outermost * cpu, cpu_own);
    }

    fn end_calls(&mut self, thread: usize, time: Timestamp) -> u64 {
        let open = self.threads[thread].stack.len() as u64;
        for _ in 0..open {
            self.end_call(thread, time);
        }
        while !self.threads[thread].aggregated.is_empty() {
            self.aggregated_leave(thread);
        }
        let t = &mut self.threads[thread];
        (t.stack, t.aggregated, t.open) = Default::default();
        open
    }

    fn aggregated_enter(&mut self, thread: usize, e: &AggregatedEnter) {
        let method = self.method(e.method);
        let parent = self.threads[thread].aggregated.last().map(|o| o.path);
        let path = self.path(parent, method);
        let own = e.base_time.0.max(0);
        let cpu = e.base_cpu_time.0.max(0);
        let calls = u64::try_from(e.calls).unwrap_or(0);
        let t = &mut self.threads[thread];
        t.calls = t.calls.saturating_add(calls);
        let outermost = t.opened(method);
        t.aggregated.push(OpenAggregate {
            path,
            method,
            outermost,
            total: own,
            cpu_total: cpu,
        });
        let path = &mut self.paths[path as usize].stat;
        for stat in [path, &mut self.methods[method as usize]] {
            stat.add(calls, 0, own);
            stat.add_cpu(0, cpu);
            stat.widen(e.min_time.0, e.max_time.0);
        }
    }

    fn aggregated_leave(&mut self, thread: usize) {
        let t = &mut self.threads[thread];
        let Some(node) = t.aggregated.pop() else {
            self.unmatched += 1;
            return;
        };
        t.closed(node.method);
        match t.aggregated.last_mut() {
            Some(parent) => {
                parent.total = parent.total.saturating_add(node.total);
                parent.cpu_total = parent.cpu_total.saturating_add(node.cpu_total);
            }
            None => t.busy = t.busy.saturating_add(node.total),
        }
        let path = &mut self.paths[node.path as usize].stat;
        path.add(0, node.total, 0);
        path.add_cpu(node.cpu_total, 0);
        if node.outermost {
            let method = &mut self.methods[node.method as usize];
            method.add(0, node.total, 0);
            method.add_cpu(node.cpu_total, 0);
        }
    }
}

impl ThreadCalls {
    /// Counts an open call; answers whether it is the only one of its method.
    fn opened(&mut self, method: u32) -> bool {
        let open = self.open.entry(method).or_insert(0);
        *open += 1;
        *open == 1
    }

    fn closed(&mut self, method: u32) {
        if let Some(open) = self.open.get_mut(&method) {
            *open -= 1;
            if *open == 0 {
                self.open.remove(&method);
            }
        }
    }
}

impl MethodStat {
    fn new(method: MethodId) -> Self {
        Self {
            method,
            calls: 0,
            total: 0,
            own: 0,
            cpu_total: 0,
            cpu_own: 0,
            bounds: None,
        }
    }

    fn add(&mut self, calls: u64, total: i64, own: i64) {
        self.calls = self.calls.saturating_add(calls);
        self.total = self.total.saturating_add(total);
        self.own = self.own.saturating_add(own);
    }

    fn add_cpu(&mut self, total: i64, own: i64) {
        self.cpu_total = self.cpu_total.saturating_add(total);
        self.cpu_own = self.cpu_own.saturating_add(own);
    }

    /// Takes the bounds of an aggregated call; two zeros say that they were not measured.
    fn widen(&mut self, min: i64, max: i64) {
        if (min, max) != (0, 0) {
            let (least, most) = self.bounds.unwrap_or((min, max));
            self.bounds = Some((least.min(min), most.max(max)));
        }
    }
}

#[cfg(test)]
mod tests;
