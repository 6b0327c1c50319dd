//! Calls. Each thread has a stack of its open calls, so that every leave closes the innermost one.

use super::Translator;
use super::runs::MAX_STEPS;
use jtrail_classfile::SuperMarks;
use jtrail_model::{Duration, Event, MethodEnter, MethodLeave, ThreadId, Timestamp};

/// An open call in one word. So loops over runs of calls can write and compare it as a whole. From
/// bit 0 on, the word holds the method (24 bits), the phase (2 bits), and the flags [`HIDDEN`] and
/// [`SHOWN`]. The ticket begins at bit 32.
#[derive(Clone, Copy, Default)]
pub(super) struct Call(u64);

/// The largest ticket. While a run is read, a call may hold a larger number in place of the ticket:
/// it says which step of the run begins the call.
pub(super) const LAST_TICKET: u32 = u32::MAX - MAX_STEPS as u32 - 1;

const PHASE: u32 = 24;
/// Flag: the call began while the trace was paused, so the trace does not count it.
const HIDDEN: u64 = 1 << 26;
/// Flag: the call is hidden, but the encoder has got it as an open call when the trace resumed.
const SHOWN: u64 = 1 << 27;
const TICKET: u32 = 32;

impl Call {
    #[inline(always)]
    pub(super) fn new(method: u32, ticket: u32, phase: Phase) -> Self {
        Self::with_ticket(ticket, method, phase.bits())
    }

    #[inline(always)]
    pub(super) fn with_ticket(ticket: u32, method: u32, phase_bits: u8) -> Self {
        let low = u32::from(phase_bits) << PHASE | method;
        Self(u64::from(ticket) << TICKET | u64::from(low))
    }

    /// Returns all bits but the ticket. For a call without flags in the last phase, this is the
    /// number of its method.
    #[inline(always)]
    pub(super) fn low(self) -> u32 {
        self.0 as u32
    }

    /// Returns the call with its ticket increased by `by`. A number in place of the ticket is
    /// increased as well.
    pub(super) fn later(self, by: u32) -> Self {
        Self(self.0.wrapping_add(u64::from(by) << TICKET))
    }

    #[inline(always)]
    pub(super) fn set_ticket(&mut self, ticket: u32) {
        self.0 = u64::from(ticket) << TICKET | u64::from(self.low());
    }

    /// Returns a call that the trace does not count.
    #[inline(always)]
    pub(super) fn hidden(method: u32, phase: Phase) -> Self {
        Self(Self::new(method, 0, phase).0 | HIDDEN)
    }

    #[inline(always)]
    pub(super) fn method(self) -> u32 {
        self.0 as u32 & ((1 << PHASE) - 1)
    }

    #[inline(always)]
    pub(super) fn ticket(self) -> u32 {
        (self.0 >> TICKET) as u32
    }

    pub(super) fn phase(self) -> Phase {
        Phase::of_bits((self.0 >> PHASE) as u8)
    }

    pub(super) fn set_phase(&mut self, phase: Phase) {
        self.0 = self.0 & !(3 << PHASE) | u64::from(phase.bits()) << PHASE;
    }

    pub(super) fn is_hidden(self) -> bool {
        self.0 & HIDDEN != 0
    }

    fn is_shown(self) -> bool {
        self.0 & SHOWN != 0
    }

    pub(super) fn hide(&mut self) {
        self.0 = self.0 & !SHOWN | HIDDEN;
    }

    /// Marks the call as shown to the encoder, with that ticket.
    fn show(&mut self, ticket: u32) {
        self.set_ticket(ticket);
        self.0 |= SHOWN;
    }

    /// Returns true if the call is hidden and a return of `method` would certainly end it.
    #[inline(always)]
    pub(super) fn is_hidden_one_of(self, method: u32) -> bool {
        self.low() == Self::hidden(method, Phase::Constructed).low()
    }
}

/// Progress of a constructor, according to its marks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// The call has begun.
    Begun,
    /// The constructor is about to call `this(...)` or `super(...)`, or is in that call.
    InSuper,
    /// The constructor is back from that call, or the method makes no marks.
    Constructed,
}

impl Phase {
    /// Returns the phase as two bits; both are 0 for the last phase.
    #[inline(always)]
    pub(super) fn bits(self) -> u8 {
        Self::Constructed as u8 - self as u8
    }

    /// Returns the phase with these two lowest bits; other bits are ignored.
    #[inline(always)]
    pub(super) fn of_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::Constructed,
            1 => Self::InSuper,
            _ => Self::Begun,
        }
    }

    /// Returns the phase in which calls of a method with these marks begin.
    pub(super) fn first(marks: SuperMarks) -> Self {
        match marks {
            SuperMarks::None => Self::Constructed,
            SuperMarks::After | SuperMarks::Around => Self::Begun,
        }
    }
}

fn next_ticket(last: u32) -> u32 {
    match last {
        LAST_TICKET.. => 1,
        _ => last + 1,
    }
}

impl Translator {
    #[inline]
    pub(super) fn entered(&mut self, number: u32, ticks: u64, method: u32) {
        let Some((thread, time)) = self.at(number, ticks) else {
            self.totals.lost += 1;
            return;
        };
        if self.paused.is_some() {
            return self.hide_call(number, method);
        }
        self.count_entered(method);
        if self.settings.aggregate {
            return self.add_call(number, time, method);
        }
        let (id, class) = self.method(method, time);
        let phase = self.phase_of(method);
        let state = self.thread(number);
        state.ticket = next_ticket(state.ticket);
        state.calls.push(Call::new(method, state.ticket, phase));
        let (ticket, depth) = (state.ticket, state.calls.len() - state.hidden as usize);
        let cpu_time = state.cpu;
        let event = Event::MethodEnter(MethodEnter {
            thread,
            time,
            method: id,
            class,
            ticket,
            cpu_time,
            stack_depth: depth as i64,
        });
        self.encoder.event(&event, &mut self.out);
        self.totals.enters += 1;
    }

    /// Returns the phase in which calls of a method begin.
    #[inline]
    fn phase_of(&self, method: u32) -> Phase {
        self.known.get(method).unwrap_or_default().phase()
    }

    /// Begins a call that is only aggregated.
    fn add_call(&mut self, number: u32, time: Timestamp, method: u32) {
        let phase = self.phase_of(method);
        let thread = self.thread(number);
        thread.calls.push(Call::new(method, 0, phase));
        let cpu = thread.cpu;
        let tree = thread.tree.get_or_insert_default();
        tree.enter(method, time, cpu);
        self.emitted_outside_totals += 1;
    }

    /// Begins a call while the trace is paused.
    #[cold]
    fn hide_call(&mut self, number: u32, method: u32) {
        let phase = self.phase_of(method);
        let thread = self.thread(number);
        thread.calls.push(Call::hidden(method, phase));
        thread.hidden += 1;
    }

    /// Shows the encoder the open calls that are not in the trace, if its format keeps open calls.
    /// The leaves of these calls are written like all leaves.
    pub(super) fn show_open_calls(&mut self, time: Timestamp) {
        if !self.settings.shows_open_calls {
            return;
        }
        for number in self.thread_numbers() {
            let Some(thread) = self.threads.get(&number) else {
                continue;
            };
            let is_new = |call: &Call| call.is_hidden() && !call.is_shown();
            let first = thread.calls.iter().position(is_new);
            for depth in first.unwrap_or(usize::MAX)..thread.calls.len() {
                self.show_call(number, depth, time);
            }
        }
    }

    fn show_call(&mut self, number: u32, depth: usize, time: Timestamp) {
        let thread = match self.thread(number).id {
            id if id.is_none() => self.define_thread(number).0,
            id => id,
        };
        let method = self.thread(number).calls[depth].method();
        let (method, class) = self.method(method, time);
        let state = self.thread(number);
        state.ticket = next_ticket(state.ticket);
        let (ticket, cpu_time) = (state.ticket, state.cpu);
        state.calls[depth].show(ticket);
        let call = MethodEnter {
            thread,
            time,
            method,
            class,
            ticket,
            cpu_time,
            stack_depth: depth as i64 + 1,
        };
        self.encoder.open_call(&call, &mut self.out);
    }

    #[inline]
    pub(super) fn returned(&mut self, number: u32, ticks: u64, method: u32) {
        // In the common case, the innermost call returns.
        let calls = &self.thread(number).calls;
        let (open, last) = (calls.len(), calls.last().copied());
        if let Some(call) = last
            && call.method() == method
            && call.phase() == Phase::Constructed
        {
            self.close(number, ticks, open - 1, false);
        } else {
            self.left(number, ticks, method, false);
        }
    }

    /// Closes the calls of a thread from the index `keep` on, innermost first. Only the outermost
    /// of these calls has a leave record.
    pub(super) fn close(&mut self, number: u32, ticks: u64, keep: usize, by_exception: bool) {
        let Some((thread, time)) = self.at(number, ticks) else {
            return;
        };
        while self.thread(number).calls.len() > keep {
            let Some(call) = self.thread(number).calls.pop() else {
                return;
            };
            let is_last = self.thread(number).calls.len() == keep;
            let paused = self.paused;
            let state = self.thread(number);
            if call.is_hidden() {
                state.hidden -= 1;
                if !call.is_shown() {
                    continue;
                }
            }
            let cpu_time = state.cpu;
            if let Some(tree) = &mut state.tree {
                tree.leave(paused.unwrap_or(time), cpu_time, by_exception || !is_last);
                self.emitted_outside_totals += u64::from(paused.is_none());
                continue;
            }
            if paused.is_some() {
                state.left_open.push(call);
                continue;
            }
            self.write_leave(thread, time, call, cpu_time, by_exception || !is_last);
            self.totals.repaired += u64::from(!is_last && !call.is_hidden());
        }
    }

    #[inline]
    pub(super) fn write_leave(
        &mut self,
        thread: ThreadId,
        time: Timestamp,
        call: Call,
        cpu_time: Duration,
        by_exception: bool,
    ) {
        let (method, class) = self.method(call.method(), time);
        let event = Event::MethodLeave(MethodLeave {
            thread,
            time,
            method,
            class,
            ticket: call.ticket(),
            cpu_time,
            by_exception,
        });
        self.encoder.event(&event, &mut self.out);
        self.totals.leaves += u64::from(!call.is_hidden());
    }

    /// Returns the index of the open call to which an event of `method` belongs: the innermost call
    /// of the method, except calls that must have ended already.
    ///
    /// An exception out of `super(...)` passes no handler of the constructor that called it, so
    /// that constructor's call ends without a leave. The phase of such a call is
    /// [`Phase::InSuper`]. A constructor that leaves by itself is in another phase.
    fn innermost(&self, number: u32, method: u32) -> Option<usize> {
        let marks = self
            .methods
            .get(method)
            .map(|m| m.info.marks)
            .unwrap_or_default();
        let calls = &self.threads.get(&number)?.calls;
        let is_alive = |call: &Call| match (marks, call.phase()) {
            (SuperMarks::None, _)
            | (_, Phase::Constructed)
            | (SuperMarks::Around, Phase::Begun) => true,
            (SuperMarks::After, _) | (SuperMarks::Around, Phase::InSuper) => false,
        };
        calls
            .iter()
            .rposition(|call| call.method() == method && is_alive(call))
            .or_else(|| calls.iter().rposition(|call| call.method() == method))
    }

    pub(super) fn left(&mut self, number: u32, ticks: u64, method: u32, by_exception: bool) {
        let Some(at) = self.innermost(number, method) else {
            return; // the call began before the trace
        };
        self.close(number, ticks, at, by_exception);
        if by_exception && self.methods.at(method).is_constructor() {
            self.left_with_super(number, ticks, method);
        }
    }

    /// Closes the constructors that called the constructor `inner` by `this(...)` or `super(...)`,
    /// after an exception left `inner`. They end at the same moment, so their leaves do not count
    /// as repaired.
    fn left_with_super(&mut self, number: u32, ticks: u64, mut inner: u32) {
        while let Some(call) = self.thread(number).calls.last().copied() {
            let inner_class = self.methods.at(inner).class;
            let outer = self.methods.at(call.method());
            let in_super = match outer.info.marks {
                SuperMarks::None => false,
                SuperMarks::After => call.phase() != Phase::Constructed,
                SuperMarks::Around => call.phase() == Phase::InSuper,
            };
            let outer_class = outer.class;
            if !in_super || !self.is_or_extends(outer_class, inner_class) {
                return;
            }
            inner = call.method();
            let keep = self.thread(number).calls.len() - 1;
            self.close(number, ticks, keep, true);
        }
    }

    /// Returns true if the class `class` is the class `other` or its direct subclass.
    fn is_or_extends(&self, class: u32, other: u32) -> bool {
        let about = |number| self.classes.get(number)?.about.as_ref();
        let (outer, inner) = (about(class), about(other).map_or("", |c| &c.info.name));
        class == other || outer.is_some_and(|outer| *outer.info.super_name == *inner)
    }

    /// Closes the calls within the one that caught an exception.
    pub(super) fn caught(&mut self, number: u32, ticks: u64, method: u32) {
        let Some(at) = self.innermost(number, method) else {
            return;
        };
        let left_open = self.thread(number).calls.len() - at - 1;
        if left_open > 0 {
            self.close(number, ticks, at + 1, true);
            self.totals.repaired += 1; // the outermost closed call had no leave record either
        }
    }

    pub(super) fn super_call(&mut self, number: u32, method: u32) {
        self.set_phase(number, method, Phase::InSuper);
    }

    pub(super) fn super_returned(&mut self, number: u32, method: u32) {
        self.set_phase(number, method, Phase::Constructed);
    }

    fn set_phase(&mut self, number: u32, method: u32, phase: Phase) {
        let calls = &mut self.thread(number).calls;
        if let Some(call) = calls
            .iter_mut()
            .rev()
            .find(|c| c.method() == method && c.phase() < phase)
        {
            call.set_phase(phase);
        }
    }
}
