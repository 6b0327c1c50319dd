//! What is odd about a document, told once for each kind when it ends.

use crate::{Remark, Severity};
use std::collections::VecDeque;

/// Findings that are told apart; further ones are counted together.
const MOST_FINDINGS: usize = 100;

#[derive(Debug, Default)]
pub(super) struct Findings {
    findings: VecDeque<Finding>,
    /// All that have no place of their own.
    more: Option<Finding>,
}

#[derive(Debug)]
struct Finding {
    message: String,
    first: u64,
    count: u64,
}

impl Findings {
    #[cold]
    pub(super) fn add(&mut self, message: String, first: u64) {
        if let Some(finding) = self.findings.iter_mut().find(|f| f.message == message) {
            finding.count += 1;
            return;
        }
        let count = 1;
        if self.findings.len() < MOST_FINDINGS {
            self.findings.push_back(Finding {
                message,
                first,
                count,
            });
            return;
        }
        let more = self.more.get_or_insert_with(|| Finding {
            message: "further things are not as they should be".into(),
            first,
            count: 0,
        });
        more.count += 1;
    }

    /// The next finding to tell.
    pub(super) fn pop(&mut self) -> Option<Remark> {
        let next = self.findings.pop_front().or_else(|| self.more.take());
        let Finding {
            message,
            first,
            count,
        } = next?;
        Some(Remark {
            offset: first,
            severity: Severity::Info,
            message: format!("{message} ({count} times, first here)"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_without_number_take_little_memory() {
        let mut findings = Findings::default();
        for i in 0..1000_u64 {
            findings.add(format!("odd {i}"), i);
            findings.add("odd 7".into(), i);
        }
        let remarks: Vec<_> = std::iter::from_fn(|| findings.pop()).collect();
        assert_eq!(remarks.len(), MOST_FINDINGS + 1);
        assert_eq!(remarks[1].message, "odd 7 (1001 times, first here)");
        let last = &remarks[MOST_FINDINGS];
        assert_eq!(
            (last.offset, &last.message[..]),
            (
                100,
                "further things are not as they should be (900 times, first here)"
            )
        );
    }
}
