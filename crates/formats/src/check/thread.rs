//! What is known of one thread, and the rules along it.

use super::findings::{Report, Rule};
use super::pairing::{Pair, Pairing};
use super::table::Table;
use crate::Severity;
use jtrail_model::{
    AggregatedEnter, AggregatedLeave, Calls, ClassId, ClassInitEnd, Duration, MethodEnter,
    MethodId, MethodLeave, ObjectId, ThreadId, Timestamp,
};

/// Open calls, or initialisations, that are looked through for the one that ends.
const FARTHEST_LEAVE: usize = 1000;

/// A thread that was announced and did not end.
#[derive(Debug, Default)]
pub(super) struct Thread {
    /// Events were lost, so that leaves may stand alone and calls stay open.
    pub(super) gap: bool,
    time: Option<Timestamp>,
    ticket: Option<u32>,
    pub(super) calls: Vec<Call>,
    pub(super) aggregated: Vec<MethodId>,
    waits: Pairing,
    blocks: Pairing,
    parks: Pairing,
    /// Classes that it is initialising.
    pub(super) initialising: Vec<ClassId>,
    /// CPU time that the last call told.
    call_cpu: Duration,
    /// CPU time that the thread was last said to have used.
    thread_cpu: Duration,
    /// Whether it has a carrier, if it is known to be a virtual thread.
    mounted: Option<bool>,
}

/// A call that is open.
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

/// Whether a ticket may come behind another one. They start again behind the largest, so half the
/// circle lies ahead of each.
fn follows(ticket: u32, before: u32) -> bool {
    (1..1 << 31).contains(&ticket.wrapping_sub(before))
}

impl Thread {
    /// How bad it is that calls do not fit together.
    fn severity(&self) -> Severity {
        if self.gap {
            Severity::Info
        } else {
            Severity::Fault
        }
    }

    /// Time never falls. `ours` says that the trace promises it.
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

    /// CPU time of calls never falls; 0 means that it is not measured.
    #[inline]
    fn call_cpu(&mut self, id: ThreadId, cpu: Duration, ours: bool, report: &mut Report) {
        if cpu.0 != 0 {
            rises(&mut self.call_cpu, cpu, id, ours, report);
        }
    }

    /// CPU time of the thread never falls.
    pub(super) fn cpu(&mut self, id: ThreadId, cpu: Duration, ours: bool, report: &mut Report) {
        rises(&mut self.thread_cpu, cpu, id, ours, report);
    }

    /// The thread takes a carrier, or leaves it.
    pub(super) fn mount(&mut self, id: ThreadId, mounts: bool, report: &mut Report) {
        let verb = if mounts { "takes" } else { "leaves" };
        match self.mounted.replace(mounts) {
            Some(before) if before == mounts => {
                report.add(self.severity(), Rule::Mounts, || {
                    format!("thread {id} {verb} a carrier twice in turn")
                });
            }
            // It may have taken it before the trace began.
            None if !mounts => report.info(Rule::Mounts, || {
                format!("thread {id} leaves a carrier that it took before the trace")
            }),
            _ => {}
        }
    }

    /// Waiting, blocking or parking begins.
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

    /// Waiting, blocking or parking ends.
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

    /// The initialisation of a class ends, which is the last one that began.
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

    /// Passes the first of these calls, as far as they keep every rule that concerns them: how
    /// many, and how many of these begin.
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

    /// `has_sums` says whether some calls of the trace are sums.
    pub(super) fn aggregated_enter(
        &mut self,
        e: &AggregatedEnter,
        has_sums: bool,
        report: &mut Report,
    ) {
        let id = e.thread;
        // Around sums stand their callers' parts.
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

    /// Ends the thread; answers with the number of calls left open.
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

/// Takes the CPU time told last. `ours` says that the trace promises that it never falls.
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
