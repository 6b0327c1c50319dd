//! Calls and waits as nested slices of their threads.
//!
//! A **slice** is a span of a thread's time: a call, or a wait within one. The slices of a thread
//! nest strictly, whatever the trace lacks:
//!
//! - A leave ends the slices within its call, at the time of the leave.
//! - A leave whose call is not open is skipped.
//! - The end of a thread or of the trace ends all slices that are open.
//! - A time before the thread's latest one counts as the latest.
//!
//! With a minimum length, the begin of a slice is written when the slice is known to be long
//! enough: at its end, or at an event of its thread that is late enough. Until then, the begin and
//! the instants after it are pending.

use crate::filter::CallFilter;
use crate::per_thread::PerThread;
use crate::sink::{Cost, End, Sink, Slice, ThreadIndex, ThreadTime};
use jtrail_model::names::Names;
use jtrail_model::{Event, MethodId, Timestamp};
use rustc_hash::FxHashMap;

/// The open slices of all threads.
#[derive(Debug, Default)]
pub(crate) struct Slices {
    filter: CallFilter,
    threads: PerThread<Thread>,
    latest: Timestamp,
    /// Leaves whose calls are not open.
    pub(crate) unmatched: u64,
    /// Slices that have been begun in the sink.
    pub(crate) begun: u64,
    /// Waits among them.
    pub(crate) begun_waits: u64,
}

#[derive(Debug, Default)]
struct Thread {
    open: Vec<OpenSlice>,
    /// Number of calls among the open slices.
    calls: usize,
    pending: Vec<Pending>,
    latest: Timestamp,
    /// The latest CPU time in ns.
    cpu: i64,
}

/// A slice that has begun.
#[derive(Clone, Copy, Debug)]
struct OpenSlice {
    slice: Slice,
    /// Number of the call on its thread; 0 for waits.
    ticket: u32,
    begin: ThreadTime,
    state: State,
    /// What the calls took that this call has called so far, with their callees. Only for sinks
    /// that take what is hidden.
    callees: Cost,
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
    /// An event of an aggregated call, the number of open slices that enclose the call's tree, and
    /// true if the call is selected.
    Aggregated(Box<Event<'static>>, usize, bool),
    /// What calls took that are not selected, by method.
    Hidden(FxHashMap<MethodId, Cost>),
}

impl Pending {
    fn is_begin(&self) -> bool {
        matches!(self, Self::Begin(_))
    }
}

/// Joins what is hidden before and at a place in the list of what is pending.
fn join_hidden(pending: &mut Vec<Pending>, at: usize) {
    if let Some([Pending::Hidden(before), Pending::Hidden(after)]) =
        pending.get_mut(at.saturating_sub(1)..=at)
    {
        for (method, cost) in after.drain() {
            before.entry(method).or_default().add(cost);
        }
        pending.remove(at);
    }
}

/// Returns the number of calls that are written.
fn written_calls(open: &[OpenSlice]) -> usize {
    let is_call = |o: &OpenSlice| o.state == State::Written && o.slice.is_call();
    open.iter().filter(|open| is_call(open)).count()
}

impl Slices {
    /// Creates slices of the calls that the filter selects.
    pub(crate) fn new(filter: CallFilter) -> Self {
        Self {
            filter,
            ..Self::default()
        }
    }

    /// Returns the filter.
    pub(crate) fn filter(&mut self) -> &mut CallFilter {
        &mut self.filter
    }

    /// Forgets a thread, which has ended.
    pub(crate) fn forget_thread(&mut self, index: ThreadIndex) {
        self.threads.remove(index);
    }

    /// Returns the latest time of the trace so far.
    pub(crate) fn latest(&self) -> Timestamp {
        self.latest
    }

    /// Sets the latest time of the trace.
    pub(crate) fn end_at(&mut self, time: Timestamp) {
        self.latest = time;
    }

    /// Extends the time of the trace.
    #[inline]
    pub(crate) fn extend_time(&mut self, time: Timestamp) {
        self.latest = self.latest.max(time);
    }

    /// Returns the time, but not before an earlier one of its thread.
    #[inline]
    fn arrive(&mut self, mut at: ThreadTime) -> ThreadTime {
        let thread = &mut self.threads[at.thread];
        at.time = at.time.max(thread.latest);
        thread.latest = at.time;
        thread.cpu = thread.cpu.max(at.cpu);
        self.extend_time(at.time);
        at
    }

    /// Begins a call.
    #[inline]
    pub(crate) fn enter(
        &mut self,
        names: &Names,
        at: ThreadTime,
        (method, ticket): (MethodId, u32),
        sink: &mut impl Sink,
    ) {
        let thread = &mut self.threads[at.thread];
        let is_selected = self.filter.selects(names, method, thread.calls);
        thread.calls += 1;
        self.begin(names, at, (Slice::Call(method), ticket, is_selected), sink);
    }

    /// Begins a wait.
    pub(crate) fn wait(
        &mut self,
        names: &Names,
        at: ThreadTime,
        slice: Slice,
        sink: &mut impl Sink,
    ) {
        self.begin(names, at, (slice, 0, true), sink);
    }

    #[inline]
    fn begin(
        &mut self,
        names: &Names,
        at: ThreadTime,
        (slice, ticket, is_selected): (Slice, u32, bool),
        sink: &mut impl Sink,
    ) {
        let begin = self.arrive(at);
        let state = if !is_selected {
            State::Hidden
        } else if self.filter.min.0 <= 0 {
            sink.begin(names, begin, slice);
            self.begun += 1;
            self.begun_waits += u64::from(!slice.is_call());
            State::Written
        } else {
            self.write_long(names, begin, sink);
            let thread = &mut self.threads[begin.thread];
            thread.pending.push(Pending::Begin(thread.open.len()));
            State::Pending
        };
        self.threads[begin.thread].open.push(OpenSlice {
            slice,
            ticket,
            begin,
            state,
            callees: Cost::default(),
        });
    }

    /// Ends a call, and all slices within it.
    #[inline]
    pub(crate) fn leave(
        &mut self,
        names: &Names,
        at: ThreadTime,
        (method, ticket, by_exception): (MethodId, u32, bool),
        sink: &mut impl Sink,
    ) {
        let open = &self.threads[at.thread].open;
        let fits = |o: &OpenSlice| o.ticket == ticket && o.slice == Slice::Call(method);
        let found = match open.last() {
            Some(last) if fits(last) => Some(open.len() - 1),
            _ => open.iter().rposition(fits),
        };
        match found {
            Some(level) => self.end_from(names, level, (at, by_exception), sink),
            None => self.unmatched += 1,
        }
    }

    /// Ends the innermost wait of a kind, and all slices within it.
    pub(crate) fn resume(
        &mut self,
        names: &Names,
        at: ThreadTime,
        is_kind: impl Fn(Slice) -> bool,
        sink: &mut impl Sink,
    ) {
        let open = &self.threads[at.thread].open;
        if let Some(level) = open.iter().rposition(|o| is_kind(o.slice)) {
            self.end_from(names, level, (at, false), sink);
        }
    }

    /// Writes an instant within the innermost slice of its thread. Returns false if the sink has no
    /// place for it. Pending instants count as written.
    pub(crate) fn instant(
        &mut self,
        names: &Names,
        at: ThreadTime,
        event: &Event<'_>,
        sink: &mut impl Sink,
    ) -> bool {
        let at = self.arrive(at);
        self.write_long(names, at, sink);
        let thread = &mut self.threads[at.thread];
        if thread.pending.is_empty() {
            return sink.instant(names, at.thread, event);
        }
        let event = Box::new(event.clone().into_static());
        thread.pending.push(Pending::Instant(event));
        true
    }

    /// Writes an event of an aggregated call, which is selected or not. The innermost `above` open
    /// calls do not enclose the call's tree.
    pub(crate) fn aggregated(
        &mut self,
        names: &Names,
        (index, above): (ThreadIndex, usize),
        (event, is_selected): (&Event<'_>, bool),
        sink: &mut impl Sink,
    ) {
        let thread = &mut self.threads[index];
        let calls = thread.open.iter().enumerate();
        let mut calls = calls.filter(|(_, open)| open.slice.is_call());
        let level = match above {
            0 => thread.open.len(),
            _ => calls.nth_back(above - 1).map_or(0, |(level, _)| level),
        };
        if thread.pending.is_empty() {
            let above = written_calls(&thread.open[level..]);
            match is_selected {
                true => sink.aggregated(names, index, above, event),
                false => sink.hidden_sum(index, above, event),
            }
            return;
        }
        let event = Box::new(event.clone().into_static());
        let pending = Pending::Aggregated(event, level, is_selected);
        thread.pending.push(pending);
    }

    /// Ends all open slices of a thread.
    pub(crate) fn end_thread(&mut self, names: &Names, at: ThreadTime, sink: &mut impl Sink) {
        self.end_from(names, 0, (at, false), sink);
    }

    /// Ends all open slices, at the latest time of the trace.
    pub(crate) fn finish(&mut self, names: &Names, sink: &mut impl Sink) {
        for thread in self.threads.indices() {
            let at = ThreadTime {
                thread,
                time: self.latest,
                cpu: 0,
            };
            self.end_from(names, 0, (at, false), sink);
        }
    }

    /// Ends all slices that are written, and remembers them as open, from the same time on.
    /// [`Self::resume_all`] begins them again in another sink.
    pub(crate) fn suspend_all(&mut self, names: &Names, sink: &mut impl Sink) {
        for index in self.threads.indices() {
            let at = self.arrive(ThreadTime {
                thread: index,
                time: self.latest,
                cpu: self.threads[index].cpu,
            });
            let open = &mut self.threads[index].open;
            let written = open.iter_mut().filter(|o| o.state == State::Written);
            for open in written.rev() {
                let end = End {
                    slice: open.slice,
                    begin: std::mem::replace(&mut open.begin, at),
                    end: at,
                    by_exception: false,
                };
                sink.end(names, &end);
            }
        }
    }

    /// Begins the slices that are written and open, in another sink.
    pub(crate) fn resume_all(&mut self, names: &Names, sink: &mut impl Sink) {
        for (_, thread) in self.threads.iter() {
            let written = thread.open.iter().filter(|o| o.state == State::Written);
            for open in written {
                self.begun += 1;
                self.begun_waits += u64::from(!open.slice.is_call());
                sink.begin(names, open.begin, open.slice);
            }
        }
    }

    /// Ends the open slices from a level on, the innermost first. `by_exception` is about the
    /// outermost of them.
    #[inline]
    fn end_from(
        &mut self,
        names: &Names,
        level: usize,
        (at, by_exception): (ThreadTime, bool),
        sink: &mut impl Sink,
    ) {
        let mut at = self.arrive(at);
        // A slice that ends without a measurement of its own ends at the latest one.
        at.cpu = self.threads[at.thread].cpu;
        loop {
            let open = self.threads[at.thread].open.len();
            if open <= level {
                break;
            }
            self.end_innermost(names, (at, by_exception && open == level + 1), sink);
        }
    }

    #[inline]
    fn end_innermost<S: Sink>(
        &mut self,
        names: &Names,
        (end, by_exception): (ThreadTime, bool),
        sink: &mut S,
    ) {
        let Some(&last) = self.threads[end.thread].open.last() else {
            return;
        };
        if last.state == State::Pending {
            match end.time.since(last.begin.time) >= self.filter.min {
                true => self.write_pending(names, end.thread, usize::MAX, sink),
                false => self.drop_begin(names, end.thread, sink),
            }
        }
        let thread = &mut self.threads[end.thread];
        if let Some(ended) = thread.open.pop() {
            thread.calls -= usize::from(ended.slice.is_call());
            if S::TAKES_HIDDEN {
                self.end_cost(&ended, end, sink);
            }
            if ended.state == State::Written {
                let end = End {
                    slice: ended.slice,
                    begin: ended.begin,
                    end,
                    by_exception,
                };
                sink.end(names, &end);
            }
        }
    }

    /// Adds what a call took, which has ended, to its caller. If the call is not written, tells the
    /// sink what it took itself.
    fn end_cost(&mut self, ended: &OpenSlice, end: ThreadTime, sink: &mut impl Sink) {
        let Slice::Call(method) = ended.slice else {
            return;
        };
        let cpu = match ended.begin.cpu {
            0 => 0,
            begin => end.cpu.saturating_sub(begin).max(0),
        };
        let time = end.time.since(ended.begin.time).0.max(0);
        let Thread { open, pending, .. } = &mut self.threads[end.thread];
        if let Some(caller) = open.iter_mut().rfind(|open| open.slice.is_call()) {
            caller.callees.add(Cost { time, cpu });
        }
        if ended.state == State::Written {
            return;
        }
        let own = Cost {
            time: time.saturating_sub(ended.callees.time).max(0),
            cpu: cpu.saturating_sub(ended.callees.cpu).max(0),
        };
        match pending.last_mut() {
            None => sink.hidden(end.thread, method, own),
            Some(Pending::Hidden(costs)) => costs.entry(method).or_default().add(own),
            Some(_) => pending.push(Pending::Hidden([(method, own)].into_iter().collect())),
        }
    }

    /// Drops the pending begin of the innermost slice.
    fn drop_begin(&mut self, names: &Names, index: ThreadIndex, sink: &mut impl Sink) {
        let pending = &mut self.threads[index].pending;
        if let Some(at) = pending.iter().rposition(Pending::is_begin) {
            pending.remove(at);
            join_hidden(pending, at);
        }
        if !pending.iter().any(Pending::is_begin) {
            self.write_pending(names, index, usize::MAX, sink);
        }
    }

    /// Writes the pending begins of slices that are long enough by now.
    #[inline]
    fn write_long(&mut self, names: &Names, now: ThreadTime, sink: &mut impl Sink) {
        let thread = &self.threads[now.thread];
        let is_long = |p: &Pending| match p {
            Pending::Begin(level) => {
                now.time.since(thread.open[*level].begin.time) >= self.filter.min
            }
            Pending::Instant(_) | Pending::Aggregated(..) | Pending::Hidden(_) => false,
        };
        // The first begin is the oldest.
        if thread.pending.first().is_some_and(is_long)
            && let Some(last) = thread.pending.iter().rposition(is_long)
        {
            self.write_pending(names, now.thread, last + 1, sink);
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
        let Thread { open, pending, .. } = &mut self.threads[index];
        let following = pending.iter().skip(count);
        let instants = following.take_while(|pending| !pending.is_begin());
        let count = count.saturating_add(instants.count()).min(pending.len());
        for item in pending.drain(..count) {
            match item {
                Pending::Begin(level) => {
                    let slice = &mut open[level];
                    slice.state = State::Written;
                    self.begun += 1;
                    self.begun_waits += u64::from(!slice.slice.is_call());
                    sink.begin(names, slice.begin, slice.slice);
                }
                Pending::Instant(event) => _ = sink.instant(names, index, &event),
                Pending::Aggregated(event, level, is_selected) => {
                    let above = written_calls(open.get(level..).unwrap_or_default());
                    match is_selected {
                        true => sink.aggregated(names, index, above, &event),
                        false => sink.hidden_sum(index, above, &event),
                    }
                }
                Pending::Hidden(costs) => {
                    for (method, cost) in costs {
                        sink.hidden(index, method, cost);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
