//! Calls, individual and aggregated.

use crate::{ClassId, Duration, Event, MethodId, MethodIds, ThreadId, Timestamp};
use std::sync::Arc;

/// The start of a call ([`crate::Event::MethodEnter`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MethodEnter {
    /// The calling thread.
    pub thread: ThreadId,
    /// Start of the call.
    pub time: Timestamp,
    /// The called method.
    pub method: MethodId,
    /// Class that declares the method.
    pub class: ClassId,
    /// Number of the call on its thread, from 1 on; its leave has the same number.
    pub ticket: u32,
    /// CPU time of the thread; 0 if not measured.
    pub cpu_time: Duration,
    /// Number of recorded calls that are open on the thread, including this one.
    pub stack_depth: i64,
}

/// The end of a call ([`crate::Event::MethodLeave`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MethodLeave {
    /// The calling thread.
    pub thread: ThreadId,
    /// End of the call.
    pub time: Timestamp,
    /// The method that was left.
    pub method: MethodId,
    /// Class that declares the method.
    pub class: ClassId,
    /// Ticket of the matching enter.
    pub ticket: u32,
    /// CPU time of the thread; 0 if not measured.
    pub cpu_time: Duration,
    /// True if an exception ended the call; false if the format does not say.
    pub by_exception: bool,
}

/// Successive enters and leaves of one thread, in a more compact form than as [`Event`]s. No leave
/// is by exception.
///
/// The calls are well formed: a leave ends the innermost open call, and has that call's method and
/// ticket. Each enter has the ticket of the preceding enter plus one. Times never decrease.
#[derive(Clone, Copy, Debug)]
pub struct Calls<'c> {
    /// The calling thread.
    pub thread: ThreadId,
    /// CPU time of the thread at all steps; 0 if not measured.
    pub cpu_time: Duration,
    /// Ticket of the last call that began before the first step.
    pub ticket: u32,
    /// Number of recorded calls that are open before the first step.
    pub depth: u32,
    /// The enters and leaves, in order.
    pub steps: &'c [CallStep],
}

/// An enter or a leave in [`Calls`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CallStep {
    /// Time of the step.
    pub time: Timestamp,
    /// The method.
    pub method: MethodId,
    /// Class that declares the method.
    pub class: ClassId,
    /// Ticket of the call, like [`MethodEnter::ticket`].
    pub ticket: u32,
    /// True for a leave.
    pub ends: bool,
}

/// An enter or a leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EnterOrLeave {
    /// The start of a call.
    Enter(MethodEnter),
    /// The end of a call.
    Leave(MethodLeave),
}

impl From<EnterOrLeave> for Event<'_> {
    fn from(event: EnterOrLeave) -> Self {
        match event {
            EnterOrLeave::Enter(e) => Event::MethodEnter(e),
            EnterOrLeave::Leave(e) => Event::MethodLeave(e),
        }
    }
}

impl Calls<'_> {
    /// Returns the calls as events.
    pub fn events(self) -> impl Iterator<Item = Event<'static>> {
        self.enters_and_leaves().map(Event::from)
    }

    /// Returns the calls as enters and leaves.
    #[inline]
    pub fn enters_and_leaves(mut self) -> impl Iterator<Item = EnterOrLeave> {
        std::iter::from_fn(move || {
            let (event, rest) = self.split()?;
            self = rest;
            Some(event)
        })
    }

    /// Returns the first step as an event, and the remaining calls.
    pub fn split_first(self) -> Option<(Event<'static>, Self)> {
        let (event, rest) = self.split()?;
        Some((event.into(), rest))
    }

    #[inline]
    fn split(self) -> Option<(EnterOrLeave, Self)> {
        let &CallStep {
            time,
            method,
            class,
            ticket,
            ends,
        } = self.steps.first()?;
        let (thread, cpu_time) = (self.thread, self.cpu_time);
        let rest = self.after(1);
        let event = match ends {
            true => EnterOrLeave::Leave(MethodLeave {
                thread,
                time,
                method,
                class,
                ticket,
                cpu_time,
                by_exception: false,
            }),
            false => EnterOrLeave::Enter(MethodEnter {
                thread,
                time,
                method,
                class,
                ticket,
                cpu_time,
                stack_depth: rest.depth.into(),
            }),
        };
        Some((event, rest))
    }

    /// Returns all but the first `count` steps.
    pub fn after(self, count: usize) -> Self {
        let (passed, steps) = self.steps.split_at(count);
        let ends = passed.iter().filter(|step| step.ends).count() as u32;
        let enters = passed.len() as u32 - ends;
        Self {
            ticket: self.ticket.wrapping_add(enters),
            depth: self.depth.wrapping_add(enters).wrapping_sub(ends),
            steps,
            ..self
        }
    }
}

/// A more compact form of [`Calls`]. Methods have the numbers of the recording agent or of the
/// file, instead of ids. Some data could be computed from the steps, but is included so that
/// encoders need not look at each step. [`Self::calls`] computes the rest.
#[derive(Clone, Copy, Debug)]
pub struct CallRun<'c> {
    /// The calling thread.
    pub thread: ThreadId,
    /// CPU time of the thread at all steps; 0 if not measured.
    pub cpu_time: Duration,
    /// Ticket of the last call that began before the first step.
    pub ticket: u32,
    /// Number of recorded calls that are open before the first step.
    pub depth: u32,
    /// Tickets of the calls that began before the run and end in it, in the order of their ends.
    pub before: &'c [u32],
    /// The enters and leaves, in order.
    pub steps: &'c [RunStep],
    /// Time of each step.
    pub times: &'c [Timestamp],
    /// The calls that begin in the run and are open after it, outermost first. They could be
    /// computed from the steps, but some encoders do not look at each step.
    pub begun: &'c [OpenedCall],
    /// Ids of the methods, by number. Ids do not change within a trace.
    pub methods: &'c MethodIds,
    /// Position of the steps in [`KeptSteps`], if the steps are kept after the run was handled.
    pub kept: Option<KeptRun<'c>>,
}

/// A call that begins in a [`CallRun`] and is open after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpenedCall {
    /// Index of the call's enter in the steps.
    pub place: u32,
    /// Number of the call's method.
    pub method: u32,
    /// Start of the call.
    pub time: Timestamp,
}

/// Steps of many runs, immutable once shared.
#[derive(Debug, Default)]
pub struct KeptSteps {
    /// The enters and leaves.
    pub steps: Vec<RunStep>,
    /// Times of the steps; some runs have none.
    pub times: Vec<Timestamp>,
}

/// The position of a run's steps in [`KeptSteps`].
#[derive(Clone, Copy, Debug)]
pub struct KeptRun<'c> {
    /// The steps of many runs.
    pub among: &'c Arc<KeptSteps>,
    /// Index of the run's first step.
    pub steps: usize,
    /// Index of the run's first time; `None` if its times are not kept.
    pub times: Option<usize>,
}

/// An enter or a leave in a [`CallRun`], in one word: bit 0 is set for a leave; the bits above are
/// the method's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RunStep(pub u32);

impl RunStep {
    /// Returns a step of the method with the number `method`, which must be below 2³⁰. `ends` is
    /// true for a leave.
    #[inline(always)]
    pub fn new(method: u32, ends: bool) -> Self {
        Self(method << 1 | u32::from(ends))
    }

    /// Returns the number of the method.
    #[inline(always)]
    pub fn method(self) -> u32 {
        self.0 >> 1
    }

    /// Returns true for a leave.
    #[inline(always)]
    pub fn ends(self) -> bool {
        self.0 & 1 != 0
    }
}

impl CallRun<'_> {
    /// Returns the number of enters.
    #[inline]
    pub fn enters(&self) -> usize {
        // Each step is an enter or a leave. A leave without an enter in the run is in `before`, an
        // enter without a leave in `begun`.
        (self.steps.len() + self.begun.len() - self.before.len()) / 2
    }

    /// Returns the ticket of the call at the index `at` of [`Self::begun`].
    #[inline]
    pub fn ticket_of_begun(&self, at: usize) -> u32 {
        // All calls in `before` have ended before this enter.
        let enters = (self.begun[at].place as usize + 2 + at - self.before.len()) / 2;
        self.ticket.wrapping_add(enters as u32)
    }

    /// Returns the run as calls with ids and tickets. Stores their steps in `room`, after clearing
    /// it.
    pub fn calls<'r>(&self, room: &'r mut Vec<CallStep>) -> Calls<'r> {
        let mut open = Vec::with_capacity(self.steps.len());
        let mut newest = self.ticket;
        let mut before = self.before.iter();
        let ids = self.methods.read();
        let steps = self.steps.iter().zip(self.times);
        room.clear();
        room.extend(steps.map(|(step, time)| {
            let ticket = if !step.ends() {
                newest = newest.wrapping_add(1);
                open.push(newest);
                newest
            } else {
                let innermost = open.pop().or_else(|| before.next().copied());
                innermost.unwrap_or_default()
            };
            let (method, class) = ids.get(step.method()).copied().unwrap_or_default();
            CallStep {
                time: *time,
                method,
                class,
                ticket,
                ends: step.ends(),
            }
        }));
        Calls {
            thread: self.thread,
            cpu_time: self.cpu_time,
            ticket: self.ticket,
            depth: self.depth,
            steps: room,
        }
    }
}

/// A node of an aggregated call tree ([`crate::Event::AggregatedEnter`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AggregatedEnter {
    /// The calling thread.
    pub thread: ThreadId,
    /// The called method.
    pub method: MethodId,
    /// Own time of all calls of the node, without callees.
    pub base_time: Duration,
    /// Smallest own time of a call.
    pub min_time: Duration,
    /// Largest own time of a call.
    pub max_time: Duration,
    /// Own CPU time of all calls; 0 if not measured.
    pub base_cpu_time: Duration,
    /// Number of calls.
    pub calls: i64,
}

/// The end of a node of an aggregated call tree ([`crate::Event::AggregatedLeave`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AggregatedLeave {
    /// The calling thread.
    pub thread: ThreadId,
    /// Method of the node.
    pub method: MethodId,
}

/// Further data of an aggregated call ([`crate::Event::AggregatedDetail`]).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AggregatedDetail {
    /// The calling thread.
    pub thread: ThreadId,
    /// Method of the preceding [`AggregatedEnter`].
    pub method: MethodId,
    /// Number of calls that an exception ended.
    pub exceptions: u64,
    /// CPU time that the profiler itself used for these calls, without callees; 0 if not measured.
    pub overhead: Duration,
}
