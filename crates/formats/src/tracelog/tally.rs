//! Findings that may come with every line: counted, and told once each at the end.

use crate::{Remark, Severity};
use std::collections::VecDeque;

/// Findings that are told apart; further ones are counted together.
const MOST_FINDINGS: usize = 100;

/// What is told is built from this: the kind of line, and what is with it.
#[derive(Debug, Default)]
pub(super) struct Tally {
    findings: VecDeque<Finding>,
}

#[derive(Debug)]
struct Finding {
    kind: String,
    what: &'static str,
    severity: Severity,
    offset: u64,
    line: u64,
    count: u64,
}

impl Tally {
    pub(super) fn add(
        &mut self,
        (offset, line): (u64, u64),
        severity: Severity,
        kind: &str,
        what: &'static str,
    ) {
        let same = |f: &&mut Finding| f.what == what && f.kind == kind;
        if let Some(finding) = self.findings.iter_mut().find(same) {
            finding.count = finding.count.saturating_add(1);
            return;
        }
        let (kind, what) = if self.findings.len() < MOST_FINDINGS {
            (kind, what)
        } else if self.findings.len() == MOST_FINDINGS {
            ("further lines", "are not as they should be")
        } else {
            if let Some(last) = self.findings.back_mut() {
                last.count = last.count.saturating_add(1);
                last.severity = last.severity.max(severity);
            }
            return;
        };
        self.findings.push_back(Finding {
            kind: kind.to_owned(),
            what,
            severity,
            offset,
            line,
            count: 1,
        });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.findings.is_empty()
    }

    /// The next finding to tell.
    pub(super) fn pop(&mut self) -> Option<Remark> {
        let Finding {
            kind,
            what,
            severity,
            offset,
            line,
            count,
        } = self.findings.pop_front()?;
        let message = format!("{kind}: {what} ({count} times, first in line {line})");
        Some(Remark {
            offset,
            severity,
            message,
        })
    }
}
