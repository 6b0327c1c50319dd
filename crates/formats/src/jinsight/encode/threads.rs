//! Threads and their open calls.

use super::definitions::Place;
use super::dropped::Dropped;
use crate::check::table::Table;
use crate::tally::DropTally;
use jtrail_model::ThreadId;

/// Open call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) place: Place,
    pub(super) ticket: u32,
}

#[derive(Debug)]
pub(super) struct Thread {
    /// Thread id in the file.
    pub(super) id: u32,
    pub(super) calls: Vec<Call>,
    /// Ticks of the thread's last record.
    last: u64,
}

/// Effect of a leave on the open calls of its thread.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Left {
    /// The leave ends a call. It also ends this number of calls inside the call, which have no
    /// leaves of their own.
    Calls(usize),
    /// The leave matches no open call.
    Nothing,
}

/// Maximum number of innermost calls that are searched for the call that a leave ends.
const FARTHEST: usize = 1000;

impl Thread {
    /// Returns the ticks of the thread's next record: `ticks`, or the ticks of the thread's last
    /// record if they are higher.
    #[inline]
    pub(super) fn ticks(&mut self, ticks: u64, dropped: &mut DropTally<Dropped>) -> u64 {
        dropped.part_if(ticks < self.last, Dropped::Time);
        self.last = self.last.max(ticks);
        self.last
    }

    #[inline]
    pub(super) fn leave(&mut self, ticket: u32) -> Left {
        match self.calls.last() {
            Some(call) if call.ticket == ticket => {
                self.calls.pop();
                Left::Calls(0)
            }
            _ => self.leave_outer(ticket),
        }
    }

    #[cold]
    fn leave_outer(&mut self, ticket: u32) -> Left {
        let mut near = self.calls.iter().rev().take(FARTHEST);
        match near.position(|call| call.ticket == ticket) {
            Some(inner) => {
                self.calls.truncate(self.calls.len() - 1 - inner);
                Left::Calls(inner)
            }
            None => Left::Nothing,
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Threads {
    table: Table<Thread>,
    given: u32,
}

impl Threads {
    #[inline]
    pub(super) fn get_mut(&mut self, id: ThreadId) -> Option<&mut Thread> {
        self.table.get_mut(id.0)
    }

    /// Returns the highest thread id assigned so far.
    pub(super) fn given(&self) -> u32 {
        self.given
    }

    /// Adds a thread. Returns its id in the file.
    pub(super) fn insert(&mut self, id: ThreadId) -> u32 {
        self.given = self.given.saturating_add(1);
        let thread = Thread {
            id: self.given,
            calls: Vec::new(),
            last: 0,
        };
        self.table.insert(id.0, thread);
        self.given
    }

    /// Returns the open calls of all threads, ordered by thread id in the file, outermost call
    /// first.
    pub(super) fn open(&self) -> Vec<(u32, &[Call])> {
        let threads = self.table.iter().map(|(_, thread)| thread);
        let open = threads.filter(|thread| !thread.calls.is_empty());
        let mut open: Vec<_> = open.map(|thread| (thread.id, &*thread.calls)).collect();
        open.sort_unstable_by_key(|(id, _)| *id);
        open
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leave_ends_what_is_inside_of_its_call() {
        let place = Place {
            class: 2,
            method: 0,
        };
        let calls = (1..=5).map(|ticket| Call { place, ticket });
        let mut thread = Thread {
            id: 1,
            calls: calls.collect(),
            last: 0,
        };
        assert_eq!(thread.leave(9), Left::Nothing);
        assert_eq!(thread.leave(5), Left::Calls(0));
        assert_eq!(thread.leave(2), Left::Calls(2));
        assert_eq!(thread.calls.len(), 1);
        assert_eq!(thread.leave(2), Left::Nothing);
        assert_eq!(thread.leave(1), Left::Calls(0));
        assert_eq!(thread.leave(1), Left::Nothing);
    }
}
