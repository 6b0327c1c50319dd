//! Events between the document and the reader.

use jtrail_model::Event;
use std::collections::{BTreeSet, VecDeque};

/// Events that may wait for the end of an element. Ours never do.
const MOST_WAITING: usize = 1 << 19;

/// Events in order. One whose element does not say all lets those behind it wait until it ends.
#[derive(Debug, Default)]
pub(super) struct Queue {
    events: VecDeque<Event<'static>>,
    /// Number of the first of them.
    first: u64,
    /// Numbers of those that are not complete.
    waiting: BTreeSet<u64>,
}

impl Queue {
    #[inline]
    pub(super) fn push(&mut self, event: Event<'static>) {
        self.events.push_back(event);
    }

    /// Adds an event that is not complete. Answers with its number.
    pub(super) fn push_waiting(&mut self, event: Event<'static>) -> u64 {
        let number = self.first + self.events.len() as u64;
        self.events.push_back(event);
        self.waiting.insert(number);
        number
    }

    /// Completes an event.
    pub(super) fn settle(&mut self, number: u64, complete: impl FnOnce(&mut Event<'static>)) {
        self.waiting.remove(&number);
        let at = number.checked_sub(self.first);
        let at = at.and_then(|at| usize::try_from(at).ok());
        if let Some(event) = at.and_then(|at| self.events.get_mut(at)) {
            complete(event);
        }
    }

    /// The next event, if it is complete.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event<'static>> {
        if self.waiting.first() == Some(&self.first) {
            return None;
        }
        let event = self.events.pop_front()?;
        self.first += 1;
        Some(event)
    }

    /// Whether more wait than memory should hold.
    pub(super) fn is_full(&self) -> bool {
        self.events.len() >= MOST_WAITING
    }

    /// Takes all events for complete.
    pub(super) fn release(&mut self) {
        self.waiting.clear();
    }

    /// Leaves out all that are not complete, and what waits for them.
    pub(super) fn clear(&mut self) {
        self.events.clear();
        self.waiting.clear();
    }
}
