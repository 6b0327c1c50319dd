//! Pairs begins and ends of calls and waits.
//!
//! Traces may be damaged or lack ends. The end of an outer call ends all that is open within it. An
//! end without a begin is ignored. A wait whose end is missing ends at the thread's next event.

use crate::methods::{Methods, NO_METHOD};
use crate::slice::{EARLIER, Kind, LATER, Slice};
use jtrail_formats::trail::{OpenCall, Row, SegmentItem, SegmentReader, Segments};
use jtrail_model::{Event, MethodLeave, ThreadId, Timestamp};
use rustc_hash::FxHashMap;
use std::io::{self, Read, Seek};

/// What is made of the begins and ends in a segment.
pub(crate) trait Walk {
    /// What is known of an open call or wait, beside [`Open`].
    type Extra;
    /// What is known of a thread.
    type Thread;

    /// Returns the state of a thread that occurs in the segment.
    fn thread(&mut self, id: ThreadId) -> Self::Thread;

    /// A call or wait begins within those that are open.
    fn begin(
        &mut self,
        thread: &mut Self::Thread,
        open: &[Open<Self::Extra>],
        begin: Begin,
    ) -> Self::Extra;

    /// The innermost call or wait ends. `open` are those that remain.
    fn end(
        &mut self,
        thread: &mut Self::Thread,
        open: &[Open<Self::Extra>],
        ended: Open<Self::Extra>,
        end: (Timestamp, Kind),
    );

    /// Another event than the begin or end of a call happens.
    fn other(&mut self, _event: &Event<'_>) {}
}

/// A call or wait that begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begin {
    pub(crate) time: Timestamp,
    /// Number of the method; [`NO_METHOD`] for a wait.
    pub(crate) method: u32,
    pub(crate) kind: Kind,
    /// True if it began before the segment.
    pub(crate) is_earlier: bool,
}

/// An open call or wait.
#[derive(Debug)]
pub(crate) struct Open<X> {
    kind: Kind,
    method: u32,
    ticket: u32,
    pub(crate) extra: X,
}

/// A thread with what is open in it, outermost first.
#[derive(Debug)]
pub(crate) struct Thread<W: Walk> {
    pub(crate) state: W::Thread,
    pub(crate) open: Vec<Open<W::Extra>>,
    /// True if a call or wait begins or ends in the segment. Otherwise the thread goes on with what
    /// it did before; it may have other events while it waits, such as samples.
    pub(crate) is_running: bool,
}

/// The threads of a segment after a walk.
pub(crate) type Threads<W> = FxHashMap<ThreadId, Thread<W>>;

/// Walks over a segment. Returns its threads, with what is open at the end; `None` if the segment
/// is damaged. Threads whose calls that are open at the begin are not known are left out.
///
/// # Errors
/// If the file can't be read.
pub(crate) fn walk<W: Walk, R: Read + Seek>(
    reader: &mut SegmentReader<R>,
    segments: &Segments,
    number: usize,
    methods: &Methods,
    walk: &mut W,
) -> io::Result<Option<Threads<W>>> {
    if !reader.begin(segments, number)? {
        return Ok(None);
    }
    let Some(open) = reader.known_open_calls(segments)? else {
        return Ok(None);
    };
    let mut walker = Walker {
        methods,
        of_rows: Vec::new(),
        threads: FxHashMap::default(),
        unknown: Vec::new(),
        walk,
    };
    for (thread, calls) in open {
        match calls {
            Some(calls) => walker.begin(thread, &calls),
            None => walker.unknown.push(thread),
        }
    }
    let is_read = reader.read(&mut |item| match item {
        SegmentItem::Row(row) => walker.row(&row),
        SegmentItem::Event(event) => walker.event(&event),
    });
    Ok(is_read.then_some(walker.threads))
}

struct Walker<'w, W: Walk> {
    methods: &'w Methods,
    /// Numbers of the methods of rows plus 1, by their places in the segment; 0 if not looked up.
    of_rows: Vec<u32>,
    threads: Threads<W>,
    /// Threads whose open calls are not known.
    unknown: Vec<ThreadId>,
    walk: &'w mut W,
}

impl<W: Walk> Walker<'_, W> {
    /// Returns a thread, and what walks over it.
    fn thread(&mut self, id: ThreadId) -> (&mut Thread<W>, &mut W) {
        let walk = &mut *self.walk;
        let thread = self.threads.entry(id).or_insert_with(|| Thread {
            state: walk.thread(id),
            open: Vec::new(),
            is_running: false,
        });
        (thread, walk)
    }

    fn begin(&mut self, thread: ThreadId, calls: &[OpenCall]) {
        let methods = self.methods;
        let (thread, walk) = self.thread(thread);
        for call in calls {
            let begin = Begin {
                time: call.start,
                method: methods.number(call.method),
                kind: Kind::Call,
                is_earlier: true,
            };
            thread.begin(begin, call.ticket, walk);
        }
    }

    fn row(&mut self, row: &Row<'_>) {
        if self.unknown.contains(&row.thread) {
            return;
        }
        let count = self.of_rows.len().max(row.methods.len());
        self.of_rows.resize(count, 0);
        let methods = self.methods;
        let mut of_rows = std::mem::take(&mut self.of_rows);
        let (thread, walk) = self.thread(row.thread);
        if let Some(first) = row.times.first() {
            thread.end_wait(*first, walk);
        }
        let mut ticket = row.ticket;
        for (step, time) in row.steps.iter().zip(row.times) {
            if step.ends() {
                thread.end(*time, Kind::Call, walk);
                continue;
            }
            ticket = ticket.wrapping_add(1);
            let number = &mut of_rows[step.method()];
            if *number == 0 {
                *number = methods.number(row.methods[step.method()].0) + 1;
            }
            let begin = Begin {
                time: *time,
                method: *number - 1,
                kind: Kind::Call,
                is_earlier: false,
            };
            thread.begin(begin, ticket, walk);
        }
        self.of_rows = of_rows;
    }

    fn event(&mut self, event: &Event<'_>) {
        if !matches!(event, Event::MethodEnter(_) | Event::MethodLeave(_)) {
            self.walk.other(event);
        }
        if event.thread().is_some_and(|id| self.unknown.contains(&id)) {
            return;
        }
        match event {
            Event::MethodEnter(e) => {
                let begin = Begin {
                    time: e.time,
                    method: self.methods.number(e.method),
                    kind: Kind::Call,
                    is_earlier: false,
                };
                let (thread, walk) = self.thread(e.thread);
                thread.end_wait(e.time, walk);
                thread.begin(begin, e.ticket, walk);
            }
            Event::MethodLeave(e) => {
                let method = self.methods.number(e.method);
                let (thread, walk) = self.thread(e.thread);
                thread.end_wait(e.time, walk);
                thread.leave(e, method, walk);
            }
            Event::MonitorContendedEnter(e) => self.wait(e.thread, e.time, Kind::Blocked),
            Event::MonitorContendedEntered(e) => self.waited(e.thread, e.time, Kind::Blocked),
            Event::MonitorWait(e) => self.wait(e.thread, e.time, Kind::Waiting),
            Event::MonitorWaited(e) => self.waited(e.thread, e.time, Kind::Waiting),
            Event::ThreadPark(e) => self.wait(e.thread, e.time, Kind::Parked),
            Event::ThreadUnpark(e) => self.waited(e.thread, e.time, Kind::Parked),
            Event::ThreadEnd(e) => {
                let (thread, walk) = self.thread(e.thread);
                while !thread.open.is_empty() {
                    thread.end(e.time, Kind::Call, walk);
                }
            }
            _ => {}
        }
    }

    fn wait(&mut self, thread: ThreadId, time: Timestamp, kind: Kind) {
        let (thread, walk) = self.thread(thread);
        thread.end_wait(time, walk);
        thread.begin(Begin::of_wait(time, kind), 0, walk);
    }

    fn waited(&mut self, thread: ThreadId, time: Timestamp, kind: Kind) {
        let (thread, walk) = self.thread(thread);
        if thread.open.last().is_none_or(|open| open.kind != kind) {
            thread.end_wait(time, walk);
            thread.begin(Begin::of_wait(EARLIER, kind), 0, walk);
        }
        thread.end(time, kind, walk);
    }
}

impl Begin {
    /// Returns the slice that begins within so many others. Its end is not known yet.
    #[inline]
    pub(crate) fn slice(&self, level: usize) -> Slice {
        Slice {
            begin: self.time,
            end: LATER,
            method: self.method,
            level: level as u32,
            kind: self.kind,
        }
    }

    fn of_wait(time: Timestamp, kind: Kind) -> Self {
        Self {
            time,
            method: NO_METHOD,
            kind,
            is_earlier: time == EARLIER,
        }
    }
}

impl<W: Walk> Thread<W> {
    #[inline]
    fn begin(&mut self, begin: Begin, ticket: u32, walk: &mut W) {
        self.is_running |= !begin.is_earlier;
        let extra = walk.begin(&mut self.state, &self.open, begin);
        self.open.push(Open {
            kind: begin.kind,
            method: begin.method,
            ticket,
            extra,
        });
    }

    /// Ends the innermost call or wait, if there is one. A wait keeps its kind.
    #[inline]
    fn end(&mut self, time: Timestamp, kind: Kind, walk: &mut W) {
        if let Some(ended) = self.open.pop() {
            self.is_running = true;
            let kind = if ended.kind.is_call() {
                kind
            } else {
                ended.kind
            };
            walk.end(&mut self.state, &self.open, ended, (time, kind));
        }
    }

    /// Ends a wait whose end the trace lacks.
    #[inline]
    fn end_wait(&mut self, time: Timestamp, walk: &mut W) {
        if self.open.last().is_some_and(|open| !open.kind.is_call()) {
            self.end(time, Kind::Call, walk);
        }
    }

    fn leave(&mut self, e: &MethodLeave, method: u32, walk: &mut W) {
        let is_it = |open: &Open<W::Extra>| {
            open.kind.is_call() && open.method == method && open.ticket == e.ticket
        };
        let Some(place) = self.open.iter().rposition(is_it) else {
            return;
        };
        while self.open.len() > place + 1 {
            self.end(e.time, Kind::Call, walk);
        }
        let kind = if e.by_exception {
            Kind::Thrown
        } else {
            Kind::Call
        };
        self.end(e.time, kind, walk);
    }
}
