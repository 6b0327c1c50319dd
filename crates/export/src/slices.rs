//! Calls and waits as nested slices of their threads.
//!
//! A **slice** is a span of a thread's time: a call, or a wait within one. The slices of a thread
//! nest strictly, whatever the trace lacks:
//!
//! - A leave ends the slices within its call, at the time of the leave.
//! - A leave whose call is not open is skipped.
//! - The end of a thread or of the trace ends all slices that are open.
//!
//! With a minimum length, the begin of a slice is written when the slice is known to be long
//! enough: at its end, or at an event of its thread that is late enough. Until then, the begin and
//! the instants after it are pending.

use crate::filter::CallFilter;
use jtrail_analysis::Names;
use jtrail_model::{Event, MethodId, ObjectId, ThreadId, Timestamp};
use rustc_hash::FxHashMap;

/// What a thread does in a slice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Slice {
    /// It calls a method.
    Call(MethodId),
    /// It is blocked on a monitor, which `owner` holds.
    Blocked {
        /// The monitor's object.
        object: ObjectId,
        /// The thread that holds the monitor, if known.
        owner: Option<(ThreadId, ThreadIndex)>,
    },
    /// It waits in `Object.wait`.
    Waiting {
        /// The monitor's object.
        object: ObjectId,
        /// Time limit in ms; 0 for none.
        timeout_ms: i64,
    },
    /// It is parked.
    Parked {
        /// The blocker; none if unknown.
        object: ObjectId,
    },
}

/// Writes slices. The times of one thread never decrease.
pub(crate) trait Sink {
    /// Writes the begin of a slice.
    fn begin(&mut self, names: &Names, thread: ThreadIndex, time: Timestamp, slice: Slice);

    /// Writes the end of the innermost slice of the thread.
    fn end(&mut self, thread: ThreadIndex, time: Timestamp, slice: Slice);

    /// Writes something that happens on a thread within its innermost slice.
    fn instant(&mut self, names: &Names, thread: ThreadIndex, event: &Event<'_>);
}

/// Number of a thread in [`Slices`]: 0, 1, 2 … in the order of first slices and definitions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ThreadIndex(pub(crate) u32);

/// The open slices of all threads.
#[derive(Debug, Default)]
pub(crate) struct Slices {
    filter: CallFilter,
    threads: Vec<Thread>,
    index: FxHashMap<ThreadId, u32>,
    last_thread: Option<(ThreadId, u32)>,
    latest: Timestamp,
    /// Leaves whose calls are not open.
    pub(crate) unmatched: u64,
}

#[derive(Debug, Default)]
struct Thread {
    open: Vec<Open>,
    /// Number of calls among the open slices.
    calls: usize,
    pending: Vec<Pending>,
}

/// A slice that has begun.
#[derive(Clone, Copy, Debug)]
struct Open {
    slice: Slice,
    /// Number of the call on its thread; 0 for waits.
    ticket: u32,
    start: Timestamp,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Written,
    Pending,
    /// The filter does not select the call.
    Hidden,
}

/// Something that is written if a slice before it turns out to be long enough.
#[derive(Debug)]
enum Pending {
    /// The begin of the open slice with this index.
    Begin(usize),
    Instant(Box<Event<'static>>),
}

impl Slices {
    /// Creates slices of the calls that the filter selects.
    pub(crate) fn new(filter: CallFilter) -> Self {
        Self {
            filter,
            ..Self::default()
        }
    }

    /// Returns the thread's index.
    #[inline]
    pub(crate) fn thread(&mut self, id: ThreadId) -> ThreadIndex {
        match self.last_thread {
            Some((last, index)) if last == id => ThreadIndex(index),
            _ => self.find_thread(id),
        }
    }

    fn find_thread(&mut self, id: ThreadId) -> ThreadIndex {
        let next = self.threads.len() as u32;
        let index = *self.index.entry(id).or_insert(next);
        if index == next {
            self.threads.push(Thread::default());
        }
        self.last_thread = Some((id, index));
        ThreadIndex(index)
    }

    /// Returns the latest time of the trace so far.
    pub(crate) fn latest(&self) -> Timestamp {
        self.latest
    }

    /// Returns the number of threads.
    pub(crate) fn thread_count(&self) -> u32 {
        self.threads.len() as u32
    }

    /// Extends the time of the trace.
    #[inline]
    pub(crate) fn see(&mut self, time: Timestamp) {
        self.latest = self.latest.max(time);
    }

    /// Begins a call.
    #[inline]
    pub(crate) fn enter(
        &mut self,
        names: &Names,
        (id, time): (ThreadId, Timestamp),
        (method, ticket): (MethodId, u32),
        sink: &mut impl Sink,
    ) {
        let index = self.thread(id);
        let thread = &mut self.threads[index.0 as usize];
        let shown = self.filter.selects(names, method, thread.calls);
        thread.calls += 1;
        self.begin(
            names,
            index,
            time,
            (Slice::Call(method), ticket, shown),
            sink,
        );
    }

    /// Begins a wait.
    pub(crate) fn wait(
        &mut self,
        names: &Names,
        (id, time): (ThreadId, Timestamp),
        slice: Slice,
        sink: &mut impl Sink,
    ) {
        let index = self.thread(id);
        self.begin(names, index, time, (slice, 0, true), sink);
    }

    #[inline]
    fn begin(
        &mut self,
        names: &Names,
        index: ThreadIndex,
        time: Timestamp,
        (slice, ticket, shown): (Slice, u32, bool),
        sink: &mut impl Sink,
    ) {
        self.see(time);
        let state = if !shown {
            State::Hidden
        } else if self.filter.min.0 <= 0 {
            sink.begin(names, index, time, slice);
            State::Written
        } else {
            self.write_long(names, index, time, sink);
            let thread = &mut self.threads[index.0 as usize];
            thread.pending.push(Pending::Begin(thread.open.len()));
            State::Pending
        };
        self.threads[index.0 as usize].open.push(Open {
            slice,
            ticket,
            start: time,
            state,
        });
    }

    /// Ends a call, and all slices within it.
    #[inline]
    pub(crate) fn leave(
        &mut self,
        names: &Names,
        (id, time): (ThreadId, Timestamp),
        (method, ticket): (MethodId, u32),
        sink: &mut impl Sink,
    ) {
        let index = self.thread(id);
        let open = &self.threads[index.0 as usize].open;
        let fits = |o: &Open| o.ticket == ticket && o.slice == Slice::Call(method);
        let found = match open.last() {
            Some(last) if fits(last) => Some(open.len() - 1),
            _ => open.iter().rposition(fits),
        };
        match found {
            Some(level) => self.end_from(names, index, level, time, sink),
            None => self.unmatched += 1,
        }
    }

    /// Ends the innermost wait of a kind, and all slices within it.
    pub(crate) fn resume(
        &mut self,
        names: &Names,
        (id, time): (ThreadId, Timestamp),
        is_kind: impl Fn(Slice) -> bool,
        sink: &mut impl Sink,
    ) {
        let index = self.thread(id);
        let open = &self.threads[index.0 as usize].open;
        if let Some(level) = open.iter().rposition(|o| is_kind(o.slice)) {
            self.end_from(names, index, level, time, sink);
        }
    }

    /// Writes an instant within the innermost slice of its thread.
    pub(crate) fn instant(
        &mut self,
        names: &Names,
        (id, time): (ThreadId, Timestamp),
        event: &Event<'_>,
        sink: &mut impl Sink,
    ) {
        let index = self.thread(id);
        self.see(time);
        self.write_long(names, index, time, sink);
        let thread = &mut self.threads[index.0 as usize];
        match thread.pending.is_empty() {
            true => sink.instant(names, index, event),
            false => {
                let event = Box::new(event.clone().into_static());
                thread.pending.push(Pending::Instant(event));
            }
        }
    }

    /// Ends all open slices of a thread.
    pub(crate) fn end_thread(
        &mut self,
        names: &Names,
        id: ThreadId,
        time: Timestamp,
        sink: &mut impl Sink,
    ) {
        self.see(time);
        if let Some(&index) = self.index.get(&id) {
            self.end_from(names, ThreadIndex(index), 0, time, sink);
        }
    }

    /// Ends all open slices, at the latest time of the trace.
    pub(crate) fn finish(&mut self, names: &Names, sink: &mut impl Sink) {
        for index in 0..self.thread_count() {
            self.end_from(names, ThreadIndex(index), 0, self.latest, sink);
        }
    }

    /// Ends the open slices from a level on, the innermost first.
    #[inline]
    fn end_from(
        &mut self,
        names: &Names,
        index: ThreadIndex,
        level: usize,
        time: Timestamp,
        sink: &mut impl Sink,
    ) {
        self.see(time);
        while self.threads[index.0 as usize].open.len() > level {
            self.end_innermost(names, index, time, sink);
        }
    }

    #[inline]
    fn end_innermost(
        &mut self,
        names: &Names,
        index: ThreadIndex,
        time: Timestamp,
        sink: &mut impl Sink,
    ) {
        let number = index.0 as usize;
        let Some(&last) = self.threads[number].open.last() else {
            return;
        };
        if last.state == State::Pending {
            match time.since(last.start) >= self.filter.min {
                true => self.write_pending(names, index, usize::MAX, sink),
                false => self.drop_begin(names, index, sink),
            }
        }
        let thread = &mut self.threads[number];
        if let Some(ended) = thread.open.pop() {
            thread.calls -= usize::from(matches!(ended.slice, Slice::Call(_)));
            if ended.state == State::Written {
                sink.end(index, time, ended.slice);
            }
        }
    }

    /// Drops the pending begin of the innermost slice.
    fn drop_begin(&mut self, names: &Names, index: ThreadIndex, sink: &mut impl Sink) {
        let pending = &mut self.threads[index.0 as usize].pending;
        let is_begin = |p: &Pending| matches!(p, Pending::Begin(_));
        if let Some(at) = pending.iter().rposition(is_begin) {
            pending.remove(at);
        }
        if !pending.iter().any(is_begin) {
            self.write_pending(names, index, usize::MAX, sink);
        }
    }

    /// Writes the pending begins of slices that are long enough by now.
    #[inline]
    fn write_long(
        &mut self,
        names: &Names,
        index: ThreadIndex,
        now: Timestamp,
        sink: &mut impl Sink,
    ) {
        let thread = &self.threads[index.0 as usize];
        let is_long = |p: &Pending| match p {
            Pending::Begin(level) => now.since(thread.open[*level].start) >= self.filter.min,
            Pending::Instant(_) => false,
        };
        // The first begin is the oldest.
        if thread.pending.first().is_some_and(is_long)
            && let Some(last) = thread.pending.iter().rposition(is_long)
        {
            self.write_pending(names, index, last + 1, sink);
        }
    }

    /// Writes the first `count` of what is pending, and instants that nothing precedes any more.
    fn write_pending(
        &mut self,
        names: &Names,
        index: ThreadIndex,
        count: usize,
        sink: &mut impl Sink,
    ) {
        let Thread { open, pending, .. } = &mut self.threads[index.0 as usize];
        let following = pending.iter().skip(count);
        let instants = following.take_while(|p| matches!(p, Pending::Instant(_)));
        let count = count.saturating_add(instants.count()).min(pending.len());
        for item in pending.drain(..count) {
            match item {
                Pending::Begin(level) => {
                    let slice = &mut open[level];
                    slice.state = State::Written;
                    sink.begin(names, index, slice.start, slice.slice);
                }
                Pending::Instant(event) => sink.instant(names, index, &event),
            }
        }
    }
}

#[cfg(test)]
mod tests;
