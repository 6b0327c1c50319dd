//! Pairs of events that mark the begin and end of a state along a thread.

use super::findings::{Report, Rule};
use crate::Severity;
use jtrail_model::{ObjectId, ThreadId};

/// A thread state with a begin and an end event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pair {
    /// Waiting on a monitor.
    Wait,
    /// Blocking on a monitor.
    Block,
    /// Parking.
    Park,
}

impl Pair {
    const fn rule(self) -> Rule {
        match self {
            Self::Wait | Self::Block => Rule::Monitors,
            Self::Park => Rule::Parks,
        }
    }

    const fn noun(self) -> &'static str {
        match self {
            Self::Wait => "the wait",
            Self::Block => "the block",
            Self::Park => "the park",
        }
    }

    const fn verb(self) -> &'static str {
        match self {
            Self::Wait => "waiting",
            Self::Block => "blocked",
            Self::Park => "parked",
        }
    }

    /// Returns the severity of a missing begin or end.
    ///
    /// The JVM reports the begin of a wait before it checks that the thread owns the monitor. If
    /// the thread does not own it, the wait has no end. When a thread waits until another thread
    /// has initialised a class, the JVM reports only the end of that wait.
    const fn unpaired(self, severity: Severity) -> Severity {
        match self {
            Self::Wait => Severity::Info,
            Self::Block | Self::Park => severity,
        }
    }
}

/// Tracks whether a thread is between a begin and its end.
#[derive(Debug, Default)]
pub(super) struct Pairing {
    open: Option<ObjectId>,
    seen: bool,
}

impl Pairing {
    pub(super) fn begin(
        &mut self,
        pair: Pair,
        (thread, object): (ThreadId, ObjectId),
        severity: Severity,
        report: &mut Report,
    ) {
        self.seen = true;
        if let Some(before) = self.open.replace(object) {
            report.add(pair.unpaired(severity), pair.rule(), || {
                let what = pair.noun();
                format!(
                    "thread {thread}: {what} on object {object} begins, that on {before} did not end"
                )
            });
        }
    }

    /// Checks an end event. `object` is `None` if the event does not name an object.
    pub(super) fn end(
        &mut self,
        pair: Pair,
        (thread, object): (ThreadId, Option<ObjectId>),
        severity: Severity,
        report: &mut Report,
    ) {
        let first = !std::mem::replace(&mut self.seen, true);
        let (severity, why) = match (self.open.take(), object) {
            // Id 0 stands for an object that the trace does not define.
            (Some(begun), Some(object))
                if begun != object && !begun.is_none() && !object.is_none() =>
            {
                (severity, format!("begun was that on {begun}"))
            }
            (Some(_), _) => return,
            // The state may have begun before the trace.
            (None, _) if first => (Severity::Info, "begun before the trace".into()),
            (None, _) => (pair.unpaired(severity), "and did not begin".into()),
        };
        report.add(severity, pair.rule(), || {
            let what = pair.noun();
            match object {
                Some(object) => format!("thread {thread}: {what} on object {object} ends, {why}"),
                None => format!("thread {thread}: {what} ends, {why}"),
            }
        });
    }

    /// Reports a state that is still open when the thread ends.
    pub(super) fn thread_end(
        &mut self,
        pair: Pair,
        thread: ThreadId,
        severity: Severity,
        report: &mut Report,
    ) {
        if let Some(object) = self.open.take() {
            report.add(pair.unpaired(severity), pair.rule(), || {
                format!(
                    "thread {thread} ends while {} on object {object}",
                    pair.verb()
                )
            });
        }
    }
}
