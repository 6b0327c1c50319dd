//! What is known of one thread, and the rules along it.

use super::findings::{Report, Rule};
use crate::Severity;
use jtrail_model::{
    AggregatedEnter, AggregatedLeave, MethodEnter, MethodId, MethodLeave, ObjectId, ThreadId,
    Timestamp,
};

/// Open calls that are looked through for one that a leave skips to.
const FARTHEST_LEAVE: usize = 1000;

/// A thread that was announced.
#[derive(Debug, Default)]
pub(super) struct Thread {
    pub(super) ended: bool,
    /// Events were lost, so that leaves may stand alone and calls stay open.
    pub(super) gap: bool,
    time: Option<Timestamp>,
    ticket: Option<u32>,
    pub(super) calls: Vec<Call>,
    pub(super) aggregated: Vec<MethodId>,
    pub(super) waits: Pairing,
    pub(super) blocks: Pairing,
}

/// A call that is open.
#[derive(Debug)]
pub(super) struct Call {
    method: MethodId,
    ticket: u32,
    depth: i64,
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

    pub(super) fn enter(&mut self, e: &MethodEnter, ours: bool, report: &mut Report) {
        let before = self.ticket.replace(e.ticket);
        // Tickets start again behind the largest, so half the circle lies ahead of each.
        if before.is_some_and(|before| !(1..1 << 31).contains(&e.ticket.wrapping_sub(before))) {
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
        self.calls.push(Call {
            method: e.method,
            ticket: e.ticket,
            depth: e.stack_depth,
        });
    }

    pub(super) fn leave(&mut self, e: &MethodLeave, report: &mut Report) {
        if let Some(call) = self.calls.last()
            && call.ticket == e.ticket
            && call.method == e.method
        {
            self.calls.pop();
            return;
        }
        let severity = self.severity();
        let near = self.calls.iter().rev().take(FARTHEST_LEAVE);
        let inner = near
            .clone()
            .position(|c| c.ticket == e.ticket && c.method == e.method);
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

    pub(super) fn aggregated_enter(&mut self, e: &AggregatedEnter, report: &mut Report) {
        let id = e.thread;
        if e.calls <= 0 {
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
    pub(super) fn end(&mut self, id: ThreadId, report: &mut Report) -> u64 {
        self.ended = true;
        let calls = std::mem::take(&mut self.calls).len();
        if calls > 0 {
            report.add(self.severity(), Rule::ThreadEnd, || {
                format!("thread {id} ends with {calls} calls open")
            });
        }
        let aggregated = std::mem::take(&mut self.aggregated).len();
        if aggregated > 0 {
            report.fault(Rule::Aggregated, || {
                format!("thread {id} ends inside of {aggregated} aggregated calls")
            });
        }
        for (pairing, what) in [(&mut self.waits, "waiting"), (&mut self.blocks, "blocked")] {
            if let Some(object) = pairing.open.take() {
                report.fault(Rule::Monitors, || {
                    format!("thread {id} ends while {what} on object {object}")
                });
            }
        }
        calls as u64
    }
}

/// Two kinds of event that pair up.
#[derive(Debug, Default)]
pub(super) struct Pairing {
    pub(super) open: Option<ObjectId>,
    seen: bool,
}

impl Pairing {
    pub(super) fn begin(
        &mut self,
        id: ThreadId,
        object: ObjectId,
        what: &str,
        report: &mut Report,
    ) {
        self.seen = true;
        if let Some(before) = self.open.replace(object) {
            report.fault(Rule::Monitors, || {
                format!(
                    "thread {id}: {what} on object {object} begins, that on {before} did not end"
                )
            });
        }
    }

    pub(super) fn end(&mut self, id: ThreadId, object: ObjectId, what: &str, report: &mut Report) {
        let first = !std::mem::replace(&mut self.seen, true);
        match self.open.take() {
            Some(begun) if begun == object => {}
            Some(begun) => report.fault(Rule::Monitors, || {
                format!("thread {id}: {what} on object {object} ends, begun was that on {begun}")
            }),
            // It may have begun before the trace did.
            None if first => report.info(Rule::Monitors, || {
                format!("thread {id}: {what} on object {object} ends, begun before the trace")
            }),
            None => report.fault(Rule::Monitors, || {
                format!("thread {id}: {what} on object {object} ends, and did not begin")
            }),
        }
    }
}
