//! Results of a check.

use crate::{Remark, Severity};
use jtrail_model::{ClockNote, ShortCallsNote, Totals};
use std::collections::BTreeMap;

/// Maximum number of findings that are kept with their text. Further findings are only counted.
pub const MAX_FINDINGS: usize = 1000;

/// A rule on the meaning of a trace.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Rule {
    /// Records that open and close a trace are complete and in order.
    Order,
    /// Each id is defined once.
    Ids,
    /// Definitions come before use.
    Definitions,
    /// Nothing follows the end of a thread.
    ThreadEnd,
    /// Enters and leaves nest; a leave has the ticket and method of its enter.
    Calls,
    /// Tickets rise along a thread.
    Tickets,
    /// A call is deeper than its caller.
    Depth,
    /// Time never falls along a thread.
    Time,
    /// CPU time never falls along a thread.
    Cpu,
    /// Virtual threads mount and unmount alternately.
    Mounts,
    /// Begin and end of collections alternate; objects are freed once and not used afterwards.
    Collections,
    /// Begin and end of waiting and blocking pair up.
    Monitors,
    /// Begin and end of parking pair up.
    Parks,
    /// Exceptions have a place where they are thrown or caught.
    Exceptions,
    /// Each class is unloaded at most once.
    Unloads,
    /// Begin and end of class initialisations nest.
    Initialisations,
    /// Only code that was loaded is unloaded.
    Code,
    /// Lines of a method ascend, each listed once.
    Lines,
    /// Heap dumps are complete.
    HeapDumps,
    /// Aggregated call trees are complete.
    Aggregated,
    /// The agent's own counts match the trace.
    Totals,
}

impl Rule {
    /// Returns the rule's name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Order => "order",
            Self::Ids => "ids",
            Self::Definitions => "definitions",
            Self::ThreadEnd => "thread-end",
            Self::Calls => "calls",
            Self::Tickets => "tickets",
            Self::Depth => "depth",
            Self::Time => "time",
            Self::Cpu => "cpu",
            Self::Mounts => "mounts",
            Self::Collections => "collections",
            Self::Monitors => "monitors",
            Self::Parks => "parks",
            Self::Exceptions => "exceptions",
            Self::Unloads => "unloads",
            Self::Initialisations => "initialisations",
            Self::Code => "code",
            Self::Lines => "lines",
            Self::HeapDumps => "heap-dumps",
            Self::Aggregated => "aggregated",
            Self::Totals => "totals",
        }
    }

    /// True if missing events can look like a violation of the rule.
    const fn needs_all_events(self) -> bool {
        !matches!(
            self,
            Self::Ids | Self::Tickets | Self::Time | Self::Cpu | Self::Exceptions | Self::Lines
        )
    }
}

/// A violation of a rule, or something unusual.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Offset that was passed with the event, in bytes.
    pub offset: u64,
    /// [`Severity::Fault`] if a rule is broken; [`Severity::Truncated`] if the trace is truncated;
    /// [`Severity::Info`] if the finding may have a good reason.
    pub severity: Severity,
    /// The rule that the finding belongs to.
    pub rule: Rule,
    /// The finding as a sentence, without its position.
    pub message: String,
}

impl From<Finding> for Remark {
    fn from(finding: Finding) -> Self {
        let Finding {
            offset,
            severity,
            message,
            ..
        } = finding;
        Self {
            offset,
            severity,
            message,
        }
    }
}

/// Number of findings of one rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Total {
    /// Findings with [`Severity::Fault`].
    pub faults: u64,
    /// All other findings.
    pub infos: u64,
}

/// Numbers of events and definitions in a trace.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Number of events of all kinds.
    pub events: u64,
    /// Number of events of each kind that occurs, with the kind's name in [`jtrail_model::Event`].
    pub kinds: Vec<(&'static str, u64)>,
    /// Number of threads defined.
    pub threads: u64,
    /// Number of classes defined.
    pub classes: u64,
    /// Number of methods defined.
    pub methods: u64,
    /// Number of method enters. Each individually recorded call has one.
    pub enters: u64,
    /// Number of method leaves.
    pub leaves: u64,
    /// Number of calls without a leave.
    pub open_calls: u64,
    /// Number of enters and leaves that were lost according to the trace.
    pub lost: u64,
    /// The note that short calls are recorded as sums, and the number of those calls, if the trace
    /// has such a note. [`Self::enters`] does not include these calls.
    pub short_calls: Option<(ShortCallsNote, u64)>,
    /// How much too early the times of calls may be, if the trace says so.
    pub clock: Option<ClockNote>,
    /// Number of events that were not yet written when the process ended; `None` unless the process
    /// ended before its trace.
    pub recovered: Option<u64>,
    /// The agent's own counts, if the trace has them.
    pub totals: Option<Totals>,
    /// Number of methods, and of whole classes, that are not instrumented, by reason. Only the
    /// first 1,000 reasons are counted.
    pub uninstrumented: BTreeMap<String, u64>,
}

/// Results of a check.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Findings {
    /// The first [`MAX_FINDINGS`] findings, in the order of the trace. A truncated end is always
    /// kept.
    pub findings: Vec<Finding>,
    /// Number of all findings by rule, including those without text.
    pub totals: BTreeMap<Rule, Total>,
    /// Numbers of events and definitions.
    pub counts: Counts,
}

impl Findings {
    /// Returns the number of faults.
    pub fn faults(&self) -> u64 {
        self.totals.values().map(|total| total.faults).sum()
    }

    /// True if jtrail recorded the trace and the trace lacks its end.
    pub fn is_truncated(&self) -> bool {
        self.findings
            .iter()
            .any(|finding| finding.severity == Severity::Truncated)
    }

    /// Returns the number of findings that are no faults.
    pub fn infos(&self) -> u64 {
        self.totals.values().map(|total| total.infos).sum()
    }
}

/// Collects findings on the current event.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) offset: u64,
    /// True if the trace says that events of unspecified threads and kinds were lost.
    pub(super) has_losses: bool,
    pub(super) findings: Vec<Finding>,
    pub(super) totals: BTreeMap<Rule, Total>,
}

impl Report {
    #[cold]
    pub(super) fn fault(&mut self, rule: Rule, message: impl FnOnce() -> String) {
        self.add(Severity::Fault, rule, message);
    }

    #[cold]
    pub(super) fn info(&mut self, rule: Rule, message: impl FnOnce() -> String) {
        self.add(Severity::Info, rule, message);
    }

    #[cold]
    pub(super) fn undefined(&mut self, what: &str, id: u64, severity: Severity) {
        self.add(severity, Rule::Definitions, || {
            format!("{what} {id} was not defined")
        });
    }

    /// Counts a finding. `message` is called only if the finding is kept with its text.
    #[cold]
    pub(super) fn add(&mut self, severity: Severity, rule: Rule, message: impl FnOnce() -> String) {
        let severity = match severity {
            Severity::Fault if self.has_losses && rule.needs_all_events() => Severity::Info,
            severity => severity,
        };
        let total = self.totals.entry(rule).or_default();
        match severity {
            Severity::Fault => total.faults += 1,
            _ => total.infos += 1,
        }
        if self.findings.len() < MAX_FINDINGS || severity == Severity::Truncated {
            let (offset, message) = (self.offset, message());
            self.findings.push(Finding {
                offset,
                severity,
                rule,
                message,
            });
        }
    }
}
