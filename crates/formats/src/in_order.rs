//! Sorts the calls of a trail by time.
//!
//! A trail has all events in the order of time, with one exception: calls may precede earlier
//! events of other threads by up to [`trail::CALLS_AHEAD`]. Code that computes totals for each
//! thread can ignore this. Code that shows events, or writes them in a format with one order,
//! passes them through [`InOrder`].
//!
//! [`trail::CALLS_AHEAD`]: crate::trail::CALLS_AHEAD

use crate::hash::Seed;
use crate::trail::CALLS_AHEAD;
use crate::{Bulk, Item};
use jtrail_model::{CallStep, Calls, Event, MethodEnter, MethodLeave, ThreadId, Timestamp};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, VecDeque};
use std::ops::ControlFlow;

/// Maximum number of waiting calls. Trails that jtrail wrote stay below it.
const MAX_WAITING_CALLS: usize = 1 << 17;
/// Maximum number of threads that have not ended. Beyond it, all waiting calls are handed out and
/// the table of threads is cleared.
const MAX_THREADS: usize = 1 << 12;

/// Holds back each call until no earlier call can follow it. The module's documentation says why.
#[derive(Debug, Default)]
pub struct InOrder {
    /// Waiting calls of each thread.
    threads: Vec<VecDeque<Row>>,
    /// Each thread's index in `threads`.
    places: HashMap<ThreadId, usize, Seed>,
    /// Indexes in `threads` of threads that have ended.
    free: Vec<usize>,
    /// For each thread with waiting calls: the time of its first waiting call, and its index in
    /// `threads`.
    heads: BinaryHeap<Reverse<(Timestamp, usize)>>,
    /// Number of waiting calls.
    waiting: usize,
    /// Time of the latest call.
    latest: Timestamp,
    /// Empty vectors whose memory is reused for steps.
    empty: Vec<Vec<CallStep>>,
}

/// Consecutive calls of one thread, from one position in the trace.
#[derive(Debug)]
struct Row {
    offset: u64,
    what: What,
}

#[derive(Debug)]
enum What {
    /// A single call; `None` once it is handed out.
    One(Option<Event<'static>>),
    Steps {
        /// The calls that still wait; their `steps` field is empty.
        calls: Calls<'static>,
        steps: Vec<CallStep>,
        done: usize,
    },
}

impl Row {
    fn time(&self) -> Timestamp {
        match &self.what {
            What::One(event) => event.as_ref().and_then(Event::time),
            What::Steps { steps, done, .. } => steps.get(*done).map(|step| step.time),
        }
        .unwrap_or_default()
    }

    fn is_done(&self) -> bool {
        match &self.what {
            What::One(event) => event.is_none(),
            What::Steps { steps, done, .. } => *done == steps.len(),
        }
    }

    /// Hands out the first call, and all following calls up to the time `until`. Returns the number
    /// of calls handed out, and whether `visit` continues.
    fn hand_out<B>(
        &mut self,
        until: Timestamp,
        visit: &mut impl FnMut(Bulk<'_>) -> ControlFlow<B>,
    ) -> (usize, ControlFlow<B>) {
        let offset = self.offset;
        match &mut self.what {
            What::One(event) => match event.take() {
                Some(event) => (1, visit(Bulk::Item(Item::Event { offset, event }))),
                None => (0, ControlFlow::Continue(())),
            },
            What::Steps { calls, steps, done } => {
                let rest = &steps[*done..];
                let later = rest.iter().skip(1).position(|step| step.time > until);
                let count = later.map_or(rest.len(), |at| at + 1);
                let now = Calls {
                    steps: &rest[..count],
                    ..*calls
                };
                let flow = visit(Bulk::Calls { offset, calls: now });
                let after = now.after(count);
                *calls = Calls {
                    steps: &[],
                    ..after
                };
                *done += count;
                (count, flow)
            }
        }
    }
}

impl InOrder {
    /// Takes the next item or calls. Passes items and calls to `visit` as soon as no earlier call
    /// can follow them, until `visit` breaks.
    pub fn take<B>(
        &mut self,
        bulk: Bulk<'_>,
        mut visit: impl FnMut(Bulk<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        let (thread, offset, what, latest) = match bulk {
            Bulk::Calls { offset, calls } => {
                let Some(last) = calls.steps.last() else {
                    return ControlFlow::Continue(());
                };
                let mut steps = self.empty.pop().unwrap_or_default();
                steps.clear();
                steps.extend_from_slice(calls.steps);
                self.waiting += steps.len();
                let what = What::Steps {
                    calls: Calls {
                        steps: &[],
                        thread: calls.thread,
                        cpu_time: calls.cpu_time,
                        ticket: calls.ticket,
                        depth: calls.depth,
                    },
                    steps,
                    done: 0,
                };
                (calls.thread, offset, what, last.time)
            }
            Bulk::Item(Item::Event {
                offset,
                event:
                    event @ (Event::MethodEnter(MethodEnter { thread, time, .. })
                    | Event::MethodLeave(MethodLeave { thread, time, .. })),
            }) => {
                self.waiting += 1;
                let what = What::One(Some(event.into_static()));
                (thread, offset, what, time)
            }
            Bulk::Item(item) => {
                self.flush_before(&item, &mut visit)?;
                if let Item::Event {
                    event: Event::ThreadEnd(end),
                    ..
                } = &item
                    && let Some(place) = self.places.remove(&end.thread)
                {
                    if !self.threads[place].is_empty() {
                        self.flush(&mut visit)?; // calls after the end: a corrupt trace
                    }
                    self.free.push(place);
                }
                return visit(Bulk::Item(item));
            }
        };
        self.latest = self.latest.max(latest);
        if self.places.len() >= MAX_THREADS && !self.places.contains_key(&thread) {
            self.flush(&mut visit)?;
            self.threads.clear();
            self.places.clear();
            self.free.clear();
        }
        let place = *self.places.entry(thread).or_insert_with(|| {
            self.free.pop().unwrap_or_else(|| {
                self.threads.push(VecDeque::new());
                self.threads.len() - 1
            })
        });
        let row = Row { offset, what };
        let rows = &mut self.threads[place];
        if rows.is_empty() {
            self.heads.push(Reverse((row.time(), place)));
        }
        rows.push_back(row);
        match self.waiting > MAX_WAITING_CALLS {
            true => self.flush(visit),
            false => self.hand_out(self.settled(), &mut visit),
        }
    }

    /// Passes all waiting calls to `visit`, until `visit` breaks.
    pub fn flush<B>(
        &mut self,
        mut visit: impl FnMut(Bulk<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        self.hand_out(Timestamp(i64::MAX), &mut visit)
    }

    /// Returns the time up to which no further call can follow.
    fn settled(&self) -> Timestamp {
        Timestamp(self.latest.0.saturating_sub(CALLS_AHEAD.0))
    }

    /// Hands out the calls that precede `item`, which is not a call.
    fn flush_before<B>(
        &mut self,
        item: &Item<'_>,
        visit: &mut impl FnMut(Bulk<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        match item {
            // A class definition accompanies a call and precedes all events that refer to the
            // class.
            Item::Event {
                event: Event::ClassDef(class),
                ..
            } => {
                self.latest = self.latest.max(class.time);
                self.hand_out(self.settled(), visit)
            }
            Item::Event {
                event: Event::MethodDef(_) | Event::MethodDetail(_),
                ..
            } => ControlFlow::Continue(()),
            // Nothing follows the end.
            Item::Event {
                event: Event::TraceEnd(_) | Event::AgentDestroy(_),
                ..
            } => self.flush(visit),
            Item::Event { event, .. } => match event.time() {
                // No earlier event follows this one.
                Some(time) => self.hand_out(time, visit),
                // An event without a time may refer to the last call.
                None => self.flush(visit),
            },
            Item::Remark(_) => self.flush(visit),
        }
    }

    /// Hands out the calls up to the time `until`.
    fn hand_out<B>(
        &mut self,
        until: Timestamp,
        visit: &mut impl FnMut(Bulk<'_>) -> ControlFlow<B>,
    ) -> ControlFlow<B> {
        while let Some(&Reverse((time, place))) = self.heads.peek()
            && time <= until
        {
            self.heads.pop();
            let others = self.heads.peek().map_or(until, |head| head.0.0.min(until));
            let rows = &mut self.threads[place];
            let mut flow = ControlFlow::Continue(());
            let mut is_first = true; // the first row is handed out whatever the times are
            while let Some(row) = rows.front_mut()
                && (is_first || row.time() <= others)
                && flow.is_continue()
            {
                is_first = false;
                let handed = row.hand_out(others, visit);
                self.waiting -= handed.0;
                flow = handed.1;
                if row.is_done()
                    && let Some(What::Steps { steps, .. }) = rows.pop_front().map(|row| row.what)
                {
                    self.empty.push(steps);
                }
            }
            if let Some(row) = rows.front() {
                self.heads.push(Reverse((row.time(), place)));
            }
            flow?;
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests;
