//! What is missing where a thread went on without room to record (`overflow=drop`).

use jtrail_records::record::{self, Code};

/// What happened on a thread while nothing could be recorded.
#[derive(Default)]
pub(super) struct Gap {
    /// Enters and leaves.
    pub(super) events: u64,
    /// Other records; marks do not count.
    pub(super) others: u64,
    /// Calls that were open before the gap, and are not any more.
    pub(super) closed: u64,
    /// Calls that began in the gap and are still open, outermost first.
    pub(super) open: Vec<u32>,
}

/// Most calls that a gap remembers as open: deeper ones end the chance to go on recording until the
/// stack is flat enough again, as they must fit into a chunk together.
const OPEN_LIMIT: usize = 512;

impl Gap {
    /// Whether too many calls are open.
    pub(super) fn is_deep(&self) -> bool {
        self.open.len() > OPEN_LIMIT
    }

    /// All that was left out.
    pub(super) fn all(&self) -> u64 {
        self.events + self.others
    }

    pub(super) fn count(&mut self, low: u64, payload: &[u64]) {
        match record::kind(low) {
            Some(record::Kind::Enter(method)) => {
                self.events += 1;
                self.open.push(method);
            }
            Some(record::Kind::Leave(method)) => self.left(method),
            Some(record::Kind::Coded(Code::LeaveByException)) => {
                self.left(payload.first().copied().unwrap_or_default() as u32);
            }
            // Marks only help to read what is there, and so does the CPU time of an enter or leave.
            Some(record::Kind::Coded(
                Code::Caught | Code::SuperCall | Code::SuperReturned | Code::Cpu,
            ))
            | None => {}
            Some(record::Kind::Coded(Code::AllocMany)) => {
                self.others += payload.get(2).copied().unwrap_or(1);
            }
            Some(record::Kind::Coded(_)) => self.others += 1,
        }
    }

    fn left(&mut self, method: u32) {
        self.events += 1;
        match self.open.iter().rposition(|open| *open == method) {
            Some(at) => self.open.truncate(at),
            None => {
                self.closed += 1;
                self.open.clear();
            }
        }
    }
}
