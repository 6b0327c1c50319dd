//! Losses of a thread that went on without room to record (`overflow=drop`).

use jtrail_records::record::{self, Code};

/// Events of a thread that were not recorded for lack of room.
#[derive(Default)]
pub(super) struct Gap {
    /// Number of lost enter and leave events.
    pub(super) events: u64,
    /// Number of other lost events. Marks are not counted.
    pub(super) others: u64,
    /// Number of calls that were open before the gap and ended in it.
    pub(super) closed: u64,
    /// Methods of the calls that began in the gap and are still open, outermost first.
    pub(super) open: Vec<u32>,
}

/// Maximum number of open calls of a gap that can end. With more, the gap continues until the stack
/// is flatter, because the enters of these calls must fit into one chunk.
const OPEN_LIMIT: usize = 512;

impl Gap {
    /// Returns true if too many calls are open for the gap to end.
    pub(super) fn is_deep(&self) -> bool {
        self.open.len() > OPEN_LIMIT
    }

    /// Returns the number of all lost events.
    pub(super) fn all(&self) -> u64 {
        self.events + self.others
    }

    /// Counts a lost record with the lower part `low` of its first word, and its payload.
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
            // Marks and CPU times only help to interpret other records, so their loss is not
            // counted.
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
