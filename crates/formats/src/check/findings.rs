//! What a check found.

use crate::{Remark, Severity};
use jtrail_model::{ClockNote, ShortCallsNote, Totals};
use std::collections::BTreeMap;

/// Findings that are kept with their text; further ones are only counted.
pub const MOST_FINDINGS: usize = 1000;

/// A rule of a trace's meaning.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[non_exhaustive]
pub enum Rule {
    /// What opens a trace, what closes it, and what stands between.
    Order,
    /// Ids are given once.
    Ids,
    /// Definitions come before use.
    Definitions,
    /// Nothing follows the end of a thread.
    ThreadEnd,
    /// Enters and leaves nest, with ticket and method.
    Calls,
    /// Tickets rise along a thread.
    Tickets,
    /// A call is deeper than its caller.
    Depth,
    /// Time never falls along a thread.
    Time,
    /// CPU time never falls along a thread.
    Cpu,
    /// Virtual threads take and leave carriers in turn.
    Mounts,
    /// Begin and end of collections alternate, objects die once, and are not used afterwards.
    Collections,
    /// Begin and end of waiting and blocking pair up.
    Monitors,
    /// Begin and end of parking pair up.
    Parks,
    /// Exceptions are thrown somewhere.
    Exceptions,
    /// Classes are unloaded once.
    Unloads,
    /// Begin and end of class initialisations nest.
    Initialisations,
    /// Code is thrown away that was there.
    Code,
    /// Lines of a method ascend, each once.
    Lines,
    /// Heap dumps are whole.
    HeapDumps,
    /// Aggregated call trees are whole.
    Aggregated,
    /// What the agent counted is in the trace.
    Totals,
}

impl Rule {
    /// A word for it.
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

    /// Whether it may be broken because events are missing.
    const fn needs_all_events(self) -> bool {
        !matches!(
            self,
            Self::Ids | Self::Tickets | Self::Time | Self::Cpu | Self::Exceptions | Self::Lines
        )
    }
}

/// One finding.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Where: the offset that was given with the event.
    pub offset: u64,
    /// [`Severity::Fault`] when a rule is broken, [`Severity::Truncated`] when the trace breaks
    /// off, [`Severity::Info`] when it may have a good reason.
    pub severity: Severity,
    /// The rule.
    pub rule: Rule,
    /// What was found, as a sentence without the place.
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
    /// With [`Severity::Fault`].
    pub faults: u64,
    /// With [`Severity::Info`].
    pub infos: u64,
}

/// What a trace holds.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Counts {
    /// Events of all kinds.
    pub events: u64,
    /// Number of events by kind, of those that occur, by the names of [`jtrail_model::Event`].
    pub kinds: Vec<(&'static str, u64)>,
    /// Threads announced.
    pub threads: u64,
    /// Classes announced.
    pub classes: u64,
    /// Methods announced.
    pub methods: u64,
    /// Enters, and with them calls.
    pub enters: u64,
    /// Leaves.
    pub leaves: u64,
    /// Calls without a leave.
    pub open_calls: u64,
    /// Enters and leaves that the trace says it lost.
    pub lost: u64,
    /// Which calls are sums, besides those of [`Self::enters`], and how many those are, if the
    /// trace says so.
    pub short_calls: Option<(ShortCallsNote, u64)>,
    /// By how much times of calls may be early, if the trace says so.
    pub clock: Option<ClockNote>,
    /// The process ended before its trace did; so many of the events had not been written by then.
    pub recovered: Option<u64>,
    /// What the agent counted itself, if the trace says so.
    pub totals: Option<Totals>,
    /// Notes of methods, and of classes as a whole, that are not covered, by reason; of the first
    /// 1,000 reasons.
    pub uninstrumented: BTreeMap<String, u64>,
}

/// Everything that a check found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Findings {
    /// The first [`MOST_FINDINGS`], in the order of the trace.
    pub findings: Vec<Finding>,
    /// Number of all findings, by rule.
    pub totals: BTreeMap<Rule, Total>,
    /// What the trace holds.
    pub counts: Counts,
}

impl Findings {
    /// Number of broken rules.
    pub fn faults(&self) -> u64 {
        self.totals.values().map(|total| total.faults).sum()
    }

    /// Whether the trace was made by jtrail, and lacks its end.
    pub fn is_truncated(&self) -> bool {
        self.findings
            .iter()
            .any(|finding| finding.severity == Severity::Truncated)
    }

    /// Number of findings that break no rule.
    pub fn infos(&self) -> u64 {
        self.totals.values().map(|total| total.infos).sum()
    }
}

/// Takes findings on the event at hand.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) offset: u64,
    /// Events of any thread and kind are missing, as the trace says itself.
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

    /// Writes the message only when there is room for it.
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
        if self.findings.len() < MOST_FINDINGS || severity == Severity::Truncated {
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
