//! Two kinds of event that pair up along a thread.

use super::findings::{Report, Rule};
use crate::Severity;
use jtrail_model::{ObjectId, ThreadId};

/// What pairs up.
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

    /// How bad it is that begin or end is missing. The JVM tells that a wait begins before it sees
    /// that the thread does not own the monitor; that wait has no end. Its own waits, for another
    /// thread that initialises a class, have no begin.
    const fn unpaired(self, severity: Severity) -> Severity {
        match self {
            Self::Wait => Severity::Info,
            Self::Block | Self::Park => severity,
        }
    }
}

/// Whether a thread is between begin and end.
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

    /// `object` is none where the event does not name one.
    pub(super) fn end(
        &mut self,
        pair: Pair,
        (thread, object): (ThreadId, Option<ObjectId>),
        severity: Severity,
        report: &mut Report,
    ) {
        let first = !std::mem::replace(&mut self.seen, true);
        let (severity, why) = match (self.open.take(), object) {
            // An object that the trace does not define has no id.
            (Some(begun), Some(object))
                if begun != object && !begun.is_none() && !object.is_none() =>
            {
                (severity, format!("begun was that on {begun}"))
            }
            (Some(_), _) => return,
            // It may have begun before the trace did.
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

    /// The thread ends.
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
