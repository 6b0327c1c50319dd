//! The open calls of a thread.

use jtrail_model::{ClassId, Event, MethodEnter, MethodId, MethodLeave, ThreadId, Timestamp};

/// The open calls of a thread.
#[derive(Debug, Default)]
pub(super) struct Calls {
    /// Outermost first.
    open: Vec<Open>,
    /// Number of calls so far.
    count: u32,
    /// How many of `open` the part has repeated.
    again: Option<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Open {
    method: MethodId,
    class: ClassId,
    /// The ticket in the part, and in the joined trace.
    tickets: [u32; 2],
}

impl Calls {
    /// Returns the number of open calls.
    pub(super) fn open(&self) -> usize {
        self.open.len()
    }

    /// Returns the methods of the open calls, outermost first.
    pub(super) fn methods(&self) -> impl ExactSizeIterator<Item = MethodId> {
        self.open.iter().map(|open| open.method)
    }

    pub(super) fn begin_part(&mut self) {
        self.again = Some(0);
    }

    /// Returns true if an enter at the begin of a part repeats the next open call.
    pub(super) fn is_repeated(&self, enter: &MethodEnter) -> bool {
        let next = self.again.and_then(|place| self.open.get(place));
        next.is_some_and(|open| open.method == enter.method)
    }

    /// Takes an enter. Returns false if it repeats a call that is open since an earlier part.
    pub(super) fn enter(
        &mut self,
        enter: &mut MethodEnter,
        emit: &mut dyn FnMut(&Event<'_>),
    ) -> bool {
        if self.is_repeated(enter)
            && let Some(place) = self.again
        {
            self.open[place].tickets[0] = enter.ticket;
            self.again = Some(place + 1);
            return false;
        }
        self.end_others(enter.thread, enter.time, emit);
        self.count = self.count.wrapping_add(1);
        self.open.push(Open {
            method: enter.method,
            class: enter.class,
            tickets: [enter.ticket, self.count],
        });
        enter.ticket = self.count;
        enter.stack_depth = self.open.len() as i64;
        true
    }

    /// Takes a leave. Returns false if no such call is open.
    pub(super) fn leave(
        &mut self,
        leave: &mut MethodLeave,
        emit: &mut dyn FnMut(&Event<'_>),
    ) -> bool {
        if let Some(repeated) = self.again.take() {
            self.truncate(repeated, leave.thread, leave.time, emit);
        }
        let is_it = |open: &Open| open.tickets[0] == leave.ticket && open.method == leave.method;
        let Some(place) = self.open.iter().rposition(is_it) else {
            return false;
        };
        self.truncate(place + 1, leave.thread, leave.time, emit);
        if let Some(open) = self.open.pop() {
            leave.ticket = open.tickets[1];
        }
        true
    }

    /// Ends the calls that the part does not repeat.
    pub(super) fn end_others(
        &mut self,
        thread: ThreadId,
        begin: Timestamp,
        emit: &mut dyn FnMut(&Event<'_>),
    ) {
        if let Some(repeated) = self.again.take() {
            self.truncate(repeated, thread, begin, emit);
        }
    }

    fn truncate(
        &mut self,
        length: usize,
        thread: ThreadId,
        time: Timestamp,
        emit: &mut dyn FnMut(&Event<'_>),
    ) {
        while self.open.len() > length
            && let Some(open) = self.open.pop()
        {
            emit(&ended(open, thread, time));
        }
    }

    /// Ends all open calls.
    pub(super) fn end_all(
        &mut self,
        thread: ThreadId,
        time: Timestamp,
        emit: &mut dyn FnMut(&Event<'_>),
    ) {
        self.truncate(0, thread, time, emit);
    }
}

fn ended(open: Open, thread: ThreadId, time: Timestamp) -> Event<'static> {
    Event::MethodLeave(MethodLeave {
        thread,
        time,
        method: open.method,
        class: open.class,
        ticket: open.tickets[1],
        ..MethodLeave::default()
    })
}
