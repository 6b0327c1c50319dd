//! Compiled code and line counts.

use super::findings::{Report, Rule};
use crate::Severity;
use jtrail_model::{LineCounts, MethodCompile, MethodId, MethodUncompile};
use std::collections::HashSet;

/// The compiled code that is currently loaded.
#[derive(Debug, Default)]
pub(super) struct Code {
    live: HashSet<(MethodId, u64)>,
}

impl Code {
    pub(super) fn compiled(&mut self, e: &MethodCompile<'_>) {
        // The JVM may reuse an address before it reports that the former code was unloaded. So only
        // method and address together identify compiled code.
        self.live.insert((e.method, e.address));
    }

    pub(super) fn uncompiled(
        &mut self,
        e: &MethodUncompile,
        severity: Severity,
        report: &mut Report,
    ) {
        if !self.live.remove(&(e.method, e.address)) {
            report.add(severity, Rule::Code, || {
                format!(
                    "method {} has no compiled code at address {:#x}",
                    e.method, e.address
                )
            });
        }
    }
}

/// Reports lines that do not ascend strictly.
pub(super) fn lines(e: &LineCounts, report: &mut Report) {
    for pair in e.lines.windows(2) {
        if pair[0].line >= pair[1].line {
            report.fault(Rule::Lines, || {
                format!(
                    "method {}: line {} follows {}: lines must ascend",
                    e.method, pair[1].line, pair[0].line
                )
            });
        }
    }
}
