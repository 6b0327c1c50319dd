//! Calls, one by one and aggregated.

use crate::{ClassId, Duration, Event, MethodId, MethodIds, ThreadId, Timestamp};
use std::sync::Arc;

/// See [`crate::Event::MethodEnter`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MethodEnter {
    /// The calling thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// The called method.
    pub method: MethodId,
    /// Its declaring class.
    pub class: ClassId,
    /// Number of the call on its thread, from 1; its leave has the same.
    pub ticket: u32,
    /// CPU time of the thread, 0 when not measured.
    pub cpu_time: Duration,
    /// Recorded calls open on the thread, this one included.
    pub stack_depth: i64,
}

/// See [`crate::Event::MethodLeave`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MethodLeave {
    /// The calling thread.
    pub thread: ThreadId,
    /// When.
    pub time: Timestamp,
    /// The method left.
    pub method: MethodId,
    /// Its declaring class.
    pub class: ClassId,
    /// Ticket of the matching enter.
    pub ticket: u32,
    /// CPU time of the thread, 0 when not measured.
    pub cpu_time: Duration,
    /// An exception ended the call. Formats that don't tell read as `false`.
    pub by_exception: bool,
}

/// Calls of one thread that begin, or end by return, in a row: as an [`Event`] for each, in less
/// room.
///
/// They go as calls do: what ends is the innermost call that is open, with its method and ticket;
/// each ticket is that of the call before, and one; time never falls.
#[derive(Clone, Copy, Debug)]
pub struct Calls<'c> {
    /// The calling thread.
    pub thread: ThreadId,
    /// CPU time of the thread at all of them, 0 when not measured.
    pub cpu_time: Duration,
    /// Ticket of the last call that began before them.
    pub ticket: u32,
    /// Recorded calls that are open before them.
    pub depth: u32,
    /// What happens, in order.
    pub steps: &'c [CallStep],
}

/// A call begins or ends. See [`Calls`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CallStep {
    /// When.
    pub time: Timestamp,
    /// The method.
    pub method: MethodId,
    /// Its declaring class.
    pub class: ClassId,
    /// As [`MethodEnter::ticket`].
    pub ticket: u32,
    /// It ends.
    pub ends: bool,
}

/// The begin or the end of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EnterOrLeave {
    /// Its begin.
    Enter(MethodEnter),
    /// Its end.
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
    /// The same as events.
    pub fn events(self) -> impl Iterator<Item = Event<'static>> {
        self.enters_and_leaves().map(Event::from)
    }

    /// The same as events of their two kinds.
    #[inline]
    pub fn enters_and_leaves(mut self) -> impl Iterator<Item = EnterOrLeave> {
        std::iter::from_fn(move || {
            let (event, rest) = self.split()?;
            self = rest;
            Some(event)
        })
    }

    /// The first of them as an event, and the others.
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

    /// All but the first `count` of them.
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

/// What [`Calls`] are, in less room: methods have the numbers that whoever recorded them gave, and
/// what follows from the order of the steps is told only where an encoder would have to look at
/// each step to know it. [`Self::calls`] tells the rest.
#[derive(Clone, Copy, Debug)]
pub struct CallRun<'c> {
    /// The calling thread.
    pub thread: ThreadId,
    /// CPU time of the thread at all of them, 0 when not measured.
    pub cpu_time: Duration,
    /// Ticket of the last call that began before them.
    pub ticket: u32,
    /// Recorded calls that are open before them.
    pub depth: u32,
    /// Tickets of the calls that began before them and end in them, in the order in which they end.
    pub before: &'c [u32],
    /// What happens, in order.
    pub steps: &'c [RunStep],
    /// When, each.
    pub times: &'c [Timestamp],
    /// Those that begin what is open behind them, outermost first: what the steps say, for who does
    /// not look at each.
    pub begun: &'c [OpenedCall],
    /// What numbers stand for. None of them changes while a trace lasts.
    pub methods: &'c MethodIds,
    /// Where the steps are kept for longer than the run is handed over, if they are.
    pub kept: Option<KeptRun<'c>>,
}

/// A call that begins in a [`CallRun`], and is open behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct OpenedCall {
    /// Place of its step.
    pub place: u32,
    /// Number of its method.
    pub method: u32,
    /// When.
    pub time: Timestamp,
}

/// Steps of many runs, which nobody changes.
#[derive(Debug, Default)]
pub struct KeptSteps {
    /// What happens.
    pub steps: Vec<RunStep>,
    /// When; not of all runs.
    pub times: Vec<Timestamp>,
}

/// Where the steps of a run are kept.
#[derive(Clone, Copy, Debug)]
pub struct KeptRun<'c> {
    /// The steps that they are among.
    pub among: &'c Arc<KeptSteps>,
    /// The place of the first of them.
    pub steps: usize,
    /// The place of the first of their times; none where times are not kept.
    pub times: Option<usize>,
}

/// A call begins or ends. See [`CallRun`]. In one word, from the low end: a bit that says that it
/// ends, and the number of its method.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RunStep(pub u32);

impl RunStep {
    /// One of the method of that number, which is below 2³⁰.
    #[inline(always)]
    pub fn new(method: u32, ends: bool) -> Self {
        Self(method << 1 | u32::from(ends))
    }

    /// Number of the method.
    #[inline(always)]
    pub fn method(self) -> u32 {
        self.0 >> 1
    }

    /// It ends.
    #[inline(always)]
    pub fn ends(self) -> bool {
        self.0 & 1 != 0
    }
}

impl CallRun<'_> {
    /// How many calls begin.
    #[inline]
    pub fn enters(&self) -> usize {
        // What does not end begins, and what began before and ends has no begin here.
        (self.steps.len() + self.begun.len() - self.before.len()) / 2
    }

    /// The ticket of the call that begins with a step of [`Self::begun`].
    #[inline]
    pub fn ticket_of_begun(&self, at: usize) -> u32 {
        // All that began before and ends has ended by then.
        let enters = (self.begun[at].place as usize + 2 + at - self.before.len()) / 2;
        self.ticket.wrapping_add(enters as u32)
    }

    /// The same with ids and tickets. What was in the room is gone.
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

/// See [`crate::Event::AggregatedEnter`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AggregatedEnter {
    /// The calling thread.
    pub thread: ThreadId,
    /// The called method.
    pub method: MethodId,
    /// Own time of all calls at this place of the tree, without callees.
    pub base_time: Duration,
    /// Smallest own time of one call.
    pub min_time: Duration,
    /// Largest own time of one call.
    pub max_time: Duration,
    /// Own CPU time, 0 if not measured.
    pub base_cpu_time: Duration,
    /// Calls counted.
    pub calls: i64,
}

/// See [`crate::Event::AggregatedLeave`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AggregatedLeave {
    /// The calling thread.
    pub thread: ThreadId,
    /// Method of the enter that it closes.
    pub method: MethodId,
}

/// See [`crate::Event::AggregatedDetail`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AggregatedDetail {
    /// The calling thread.
    pub thread: ThreadId,
    /// Method of the [`AggregatedEnter`] that it stands behind.
    pub method: MethodId,
    /// Calls that an exception ended.
    pub exceptions: u64,
    /// CPU time that the profiler itself took for these calls, without callees; 0 if not measured.
    pub overhead: Duration,
}
