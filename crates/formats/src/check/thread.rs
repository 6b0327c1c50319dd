//! The state of a thread, and the rules along a thread.

use super::findings::{Report, Rule};
use super::pairing::{Pair, Pairing};
use super::table::Table;
use crate::Severity;
use jtrail_model::{
    AggregatedEnter, AggregatedLeave, Calls, ClassId, ClassInitEnd, Duration, MethodEnter,
    MethodId, MethodLeave, ObjectId, ThreadId, Timestamp,
};

/// Maximum number of open calls or class initialisations that are searched for the one that an
/// event ends.
const FARTHEST_LEAVE: usize = 1000;

/// A thread that was defined and has not ended.
#[derive(Debug, Default)]
pub(super) struct Thread {
    /// True if events were lost, so that leaves may lack an enter and calls may stay open.
    pub(super) gap: bool,
    time: Option<Timestamp>,
    ticket: Option<u32>,
    pub(super) calls: Vec<Call>,
    pub(super) aggregated: Vec<MethodId>,
    waits: Pairing,
    blocks: Pairing,
    parks: Pairing,
    /// Classes that the thread is initialising, outermost first.
    pub(super) initialising: Vec<ClassId>,
    /// CPU time of the last call event that had one.
    call_cpu: Duration,
    /// CPU time of the last event that reports the thread's CPU time.
    thread_cpu: Duration,
    /// True if the thread is mounted; `None` before its first mount or unmount event.
    mounted: Option<bool>,
}

/// An open call.
#[derive(Debug)]
pub(super) struct Call {
    method: MethodId,
    ticket: u32,
    depth: i64,
}

impl Call {
    fn is(&self, ticket: u32, method: MethodId) -> bool {
        self.ticket == ticket && self.method == method
    }
}

/// True if `ticket` may follow `before`. Tickets wrap around, so the half of their range that
/// follows `before` counts as higher.
fn follows(ticket: u32, before: u32) -> bool {
    (1..1 << 31).contains(&ticket.wrapping_sub(before))
}

impl Thread {
    /// Returns the severity of calls that do not nest.
    fn severity(&self) -> Severity {
        if self.gap {
            Severity::Info
        } else {
            Severity::Fault
        }
    }

    /// Checks that time does not fall. `ours` is true if the trace's agent guarantees that.
    pub(super) fn time(&mut self, id: ThreadId, time: Timestamp, ours: bool, report: &mut Report) {
        let before = self.time.replace(time).unwrap_or(time);
        if time < before {
            let severity = if ours {
                Severity::Fault
            } else {
                Severity::Info
            };
            report.add(severity, Rule::Time, || {
                format!("thread {id}: time falls from {before} to {time}")
            });
        }
    }

    /// Checks that the CPU time of calls does not fall; 0 means that it was not measured.
    #[inline]
    fn call_cpu(&mut self, id: ThreadId, cpu: Duration, ours: bool, report: &mut Report) {
        if cpu.0 != 0 {
            rises(&mut self.call_cpu, cpu, id, ours, report);
        }
    }

    /// Checks that the CPU time of the thread does not fall.
    pub(super) fn cpu(&mut self, id: ThreadId, cpu: Duration, ours: bool, report: &mut Report) {
        rises(&mut self.thread_cpu, cpu, id, ours, report);
    }

    /// Checks a mount or unmount of a virtual thread.
    pub(super) fn mount(&mut self, id: ThreadId, mounts: bool, report: &mut Report) {
        let verb = if mounts { "takes" } else { "leaves" };
        match self.mounted.replace(mounts) {
            Some(before) if before == mounts => {
                report.add(self.severity(), Rule::Mounts, || {
                    format!("thread {id} {verb} a carrier twice in turn")
                });
            }
            // The thread may have been mounted before the trace began.
            None if !mounts => report.info(Rule::Mounts, || {
                format!("thread {id} leaves a carrier that it took before the trace")
            }),
            _ => {}
        }
    }

    /// Begins a wait, block or park.
    pub(super) fn begin(
        &mut self,
        pair: Pair,
        id: ThreadId,
        object: ObjectId,
        report: &mut Report,
    ) {
        let severity = self.severity();
        self.pairing(pair)
            .begin(pair, (id, object), severity, report);
    }

    /// Ends a wait, block or park.
    pub(super) fn finish(
        &mut self,
        pair: Pair,
        id: ThreadId,
        object: Option<ObjectId>,
        report: &mut Report,
    ) {
        let severity = self.severity();
        self.pairing(pair).end(pair, (id, object), severity, report);
    }

    /// Ends the initialisation of a class, which must be the last one that began.
    pub(super) fn initialised(&mut self, e: &ClassInitEnd, report: &mut Report) {
        let (id, class) = (e.thread, e.class);
        let mut near = self.initialising.iter().rev().take(FARTHEST_LEAVE);
        let inner = near.position(|open| *open == class);
        if let Some(inner) = inner {
            let outer = self.initialising.len() - 1 - inner;
            self.initialising.truncate(outer);
        }
        match inner {
            Some(0) => {}
            Some(inner) => report.add(self.severity(), Rule::Initialisations, || {
                format!("thread {id}: class {class} is initialised, and {inner} in it are not")
            }),
            None => report.add(self.severity(), Rule::Initialisations, || {
                format!("thread {id}: the initialisation of class {class} ends, and did not begin")
            }),
        }
    }

    fn pairing(&mut self, pair: Pair) -> &mut Pairing {
        match pair {
            Pair::Wait => &mut self.waits,
            Pair::Block => &mut self.blocks,
            Pair::Park => &mut self.parks,
        }
    }

    /// Accepts the leading steps of `calls` that keep every rule. Returns their number, and how
    /// many of them are enters.
    pub(super) fn pass(
        &mut self,
        calls: &Calls<'_>,
        ours: bool,
        methods: &Table<ClassId>,
    ) -> (usize, usize) {
        let (Some(mut time), Some(mut ticket)) = (self.time, self.ticket) else {
            return (0, 0);
        };
        let is_exact = ours && !self.gap;
        let (mut depth, mut passed, mut enters) = (calls.depth, 0, 0);
        for step in calls.steps {
            if step.time < time {
                break;
            }
            if step.ends {
                let innermost = self.calls.last();
                if innermost.is_none_or(|call| !call.is(step.ticket, step.method)) {
                    break;
                }
                self.calls.pop();
                depth = depth.wrapping_sub(1);
            } else {
                let of_it = i64::from(depth.wrapping_add(1));
                let above = self.calls.last().map_or(0, |caller| caller.depth);
                if of_it <= above
                    || is_exact && of_it != self.calls.len() as i64 + 1
                    || !follows(step.ticket, ticket)
                    || methods.get(step.method.0) != Some(&step.class)
                {
                    break;
                }
                depth = depth.wrapping_add(1);
                ticket = step.ticket;
                self.calls.push(Call {
                    method: step.method,
                    ticket,
                    depth: of_it,
                });
                enters += 1;
            }
            time = step.time;
            passed += 1;
        }
        (self.time, self.ticket) = (Some(time), Some(ticket));
        (passed, enters)
    }

    pub(super) fn enter(&mut self, e: &MethodEnter, ours: bool, report: &mut Report) {
        let before = self.ticket.replace(e.ticket);
        if before.is_some_and(|before| !follows(e.ticket, before)) {
            let (id, before) = (e.thread, before.unwrap_or(0));
            report.fault(Rule::Tickets, || {
                format!(
                    "thread {id}: ticket {} follows {before}: tickets must rise",
                    e.ticket
                )
            });
        }
        let above = self.calls.last().map_or(0, |caller| caller.depth);
        if e.stack_depth <= above {
            let (id, depth) = (e.thread, e.stack_depth);
            report.fault(Rule::Depth, || {
                format!(
                    "thread {id}: a call at depth {depth} is not deeper than its caller at {above}"
                )
            });
        } else if ours && !self.gap && e.stack_depth != self.calls.len() as i64 + 1 {
            let (id, depth, open) = (e.thread, e.stack_depth, self.calls.len());
            report.fault(Rule::Depth, || {
                format!("thread {id}: a call at depth {depth}, with {open} calls open")
            });
        }
        self.call_cpu(e.thread, e.cpu_time, ours, report);
        self.calls.push(Call {
            method: e.method,
            ticket: e.ticket,
            depth: e.stack_depth,
        });
    }

    pub(super) fn leave(&mut self, e: &MethodLeave, ours: bool, report: &mut Report) {
        self.call_cpu(e.thread, e.cpu_time, ours, report);
        if let Some(call) = self.calls.last()
            && call.is(e.ticket, e.method)
        {
            self.calls.pop();
            return;
        }
        let severity = self.severity();
        let near = self.calls.iter().rev().take(FARTHEST_LEAVE);
        let inner = near.clone().position(|call| call.is(e.ticket, e.method));
        let other = near.clone().position(|c| c.ticket == e.ticket);
        let MethodLeave {
            thread: id,
            method,
            ticket,
            ..
        } = *e;
        match (inner, other) {
            (Some(inner), _) => {
                self.calls.truncate(self.calls.len() - 1 - inner);
                report.add(severity, Rule::Calls, || {
                    format!(
                        "thread {id}: the leave of method {method}, ticket {ticket}, skips {inner} open calls"
                    )
                });
            }
            (None, Some(at)) => {
                let keep = self.calls.len() - 1 - at;
                let entered = self.calls[keep].method;
                self.calls.truncate(keep);
                report.add(severity, Rule::Calls, || {
                    format!(
                        "thread {id}: the call with ticket {ticket} entered method {entered} and leaves {method}"
                    )
                });
            }
            (None, None) => report.add(severity, Rule::Calls, || {
                format!(
                    "thread {id}: the leave of method {method}, ticket {ticket}, has no open call"
                )
            }),
        }
    }

    /// Begins an aggregated call. `has_sums` is true if the trace records short calls as sums.
    pub(super) fn aggregated_enter(
        &mut self,
        e: &AggregatedEnter,
        has_sums: bool,
        report: &mut Report,
    ) {
        let id = e.thread;
        // The aggregated call of a sum's caller stands for 0 calls.
        let is_part = has_sums && e.calls == 0 && e.base_time.0 <= 0;
        if e.calls <= 0 && !is_part {
            report.fault(Rule::Aggregated, || {
                format!("thread {id}: method {} with {} calls", e.method, e.calls)
            });
        }
        if e.min_time > e.max_time {
            report.fault(Rule::Aggregated, || {
                format!(
                    "thread {id}: method {}: the smallest time is above the largest",
                    e.method
                )
            });
        }
        self.aggregated.push(e.method);
    }

    pub(super) fn aggregated_leave(&mut self, e: &AggregatedLeave, report: &mut Report) {
        let id = e.thread;
        match self.aggregated.pop() {
            Some(method) if method == e.method => {}
            Some(method) => report.fault(Rule::Aggregated, || {
                format!(
                    "thread {id}: the end of method {} inside of method {method}",
                    e.method
                )
            }),
            None => report.fault(Rule::Aggregated, || {
                format!(
                    "thread {id}: the end of method {} without its begin",
                    e.method
                )
            }),
        }
    }

    /// Ends the thread and returns the number of its open calls.
    pub(super) fn end(mut self, id: ThreadId, report: &mut Report) -> u64 {
        let severity = self.severity();
        let calls = self.calls.len();
        if calls > 0 {
            report.add(severity, Rule::ThreadEnd, || {
                format!("thread {id} ends with {calls} calls open")
            });
        }
        let aggregated = self.aggregated.len();
        if aggregated > 0 {
            report.fault(Rule::Aggregated, || {
                format!("thread {id} ends inside of {aggregated} aggregated calls")
            });
        }
        for pair in [Pair::Wait, Pair::Block, Pair::Park] {
            self.pairing(pair).thread_end(pair, id, severity, report);
        }
        calls as u64
    }
}

/// Checks that CPU time does not fall, and replaces `last`. `ours` is true if the trace's agent
/// guarantees that.
fn rises(last: &mut Duration, now: Duration, id: ThreadId, ours: bool, report: &mut Report) {
    let before = std::mem::replace(last, now);
    if now < before {
        let severity = if ours {
            Severity::Fault
        } else {
            Severity::Info
        };
        report.add(severity, Rule::Cpu, || {
            format!("thread {id}: CPU time falls from {before} to {now}")
        });
    }
}
