//! Queue of decoded events.

use jtrail_model::Event;
use std::collections::{BTreeSet, VecDeque};

/// Maximum number of events that wait for the end of an element. In documents of our encoder, no
/// event has to wait.
const MAX_WAITING: usize = 1 << 19;

/// Decoded events in order. An incomplete event holds back all later events until it is complete.
#[derive(Debug, Default)]
pub(super) struct Queue {
    events: VecDeque<Event<'static>>,
    /// Number of the first event in the queue.
    first: u64,
    /// Numbers of the incomplete events.
    waiting: BTreeSet<u64>,
}

impl Queue {
    #[inline]
    pub(super) fn push(&mut self, event: Event<'static>) {
        self.events.push_back(event);
    }

    /// Adds an incomplete event and returns its number.
    pub(super) fn push_waiting(&mut self, event: Event<'static>) -> u64 {
        let number = self.first + self.events.len() as u64;
        self.events.push_back(event);
        self.waiting.insert(number);
        number
    }

    /// Completes the event called `number`.
    pub(super) fn settle(&mut self, number: u64, complete: impl FnOnce(&mut Event<'static>)) {
        self.waiting.remove(&number);
        let at = number.checked_sub(self.first);
        let at = at.and_then(|at| usize::try_from(at).ok());
        if let Some(event) = at.and_then(|at| self.events.get_mut(at)) {
            complete(event);
        }
    }

    /// Returns the next event, if it is complete.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event<'static>> {
        if self.waiting.first() == Some(&self.first) {
            return None;
        }
        let event = self.events.pop_front()?;
        self.first += 1;
        Some(event)
    }

    /// True if the queue has reached its maximum length.
    pub(super) fn is_full(&self) -> bool {
        self.events.len() >= MAX_WAITING
    }

    /// Treats all events as complete.
    pub(super) fn release(&mut self) {
        self.waiting.clear();
    }

    /// Drops all events, complete or not.
    pub(super) fn clear(&mut self) {
        self.events.clear();
        self.waiting.clear();
    }
}
