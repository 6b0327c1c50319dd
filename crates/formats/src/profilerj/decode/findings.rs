//! What is odd about a document, told once for each kind when it ends.

use crate::unkept::unkept;
use crate::{Remark, Severity, Unkept};
use std::collections::VecDeque;

unkept! {
    Text = "all but footprints" "text where elements are expected; passed over"
    Numbers = "all" "a number is too large; read as the largest that there is"
    Exceptions = "profile" "profile has more exceptions than calls"
    Sums = "profile" "the sums of profile and of what it calls do not agree"
    Waiting = "profile" "too many calls to find the outer one's own time; told as 0"
    Samples = "thread of sampler" "the samples of thread are not those of its frames"
    Elapsed = "thread of sampler" "elapsedTime of a living thread without frames; passed over"
    Rows = "memory" "memory has a count above its max"
    ClassNames = "class" "class has a name and another class; the latter is passed over"
    Footprints = "method" "method has footprints and no first line; they are passed over"
    LastLines = "method" "method has footprints behind line 65,535; passed over"
}

/// What the reader passes over, besides what it does not know.
pub(crate) const PASSED_OVER: &[Unkept] = Passed::ALL;

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
    pub(super) fn passed(&mut self, what: Passed, first: u64) {
        self.add(what.unkept().what.into(), first);
    }

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
