//! Calls, one by one and aggregated.

use crate::{ByNumber, ClassId, Duration, Event, MethodId, ThreadId, Timestamp};

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

/// Calls of one thread that begin, or end by return, in a row: as an [`Event`] for each, in less room.
///
/// They go as calls do: what ends is the innermost call that is open, with its method and ticket; each ticket is that of the call before, and one; time
/// never falls.
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

impl Calls<'_> {
    /// The same as events.
    pub fn events(mut self) -> impl Iterator<Item = Event<'static>> {
        std::iter::from_fn(move || {
            let (event, rest) = self.split_first()?;
            self = rest;
            Some(event)
        })
    }

    /// The first of them as an event, and the others.
    pub fn split_first(self) -> Option<(Event<'static>, Self)> {
        let &CallStep {
            time,
            method,
            class,
            ticket,
            ends,
        } = self.steps.first()?;
        let (thread, cpu_time) = (self.thread, self.cpu_time);
        let rest = self.behind(1);
        let event = match ends {
            true => Event::MethodLeave(MethodLeave {
                thread,
                time,
                method,
                class,
                ticket,
                cpu_time,
                by_exception: false,
            }),
            false => Event::MethodEnter(MethodEnter {
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
    pub fn behind(self, count: usize) -> Self {
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

/// What [`Calls`] are, in less room: their methods are told by the numbers that whoever recorded them gave.
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
    /// What happens, in order.
    pub steps: &'c [RunStep],
    /// When, each.
    pub times: &'c [Timestamp],
    /// What numbers stand for. None of them changes while a trace lasts.
    pub methods: &'c ByNumber<(MethodId, ClassId)>,
}

/// A call begins or ends. See [`CallRun`]. In one word, from the low end: 31 bits of the number of its method, one that says that it ends, 32 of its ticket.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RunStep(u64);

impl RunStep {
    const ENDS: u64 = 1 << 31;

    /// From the low end, 32 bits of the method's number, which is below 2³¹, and 32 of the ticket, as [`MethodEnter::ticket`].
    #[inline(always)]
    pub fn of_word(word: u64, ends: bool) -> Self {
        debug_assert!(word & Self::ENDS == 0, "a method's number");
        Self(word | u64::from(ends) << 31)
    }

    /// Number of the method.
    #[inline(always)]
    pub fn method(self) -> u32 {
        (self.0 & (Self::ENDS - 1)) as u32
    }

    /// As [`MethodEnter::ticket`].
    #[inline(always)]
    pub fn ticket(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// It ends.
    #[inline(always)]
    pub fn ends(self) -> bool {
        self.0 & Self::ENDS != 0
    }
}

impl<'c> CallRun<'c> {
    /// The same with the ids of methods.
    pub fn call_steps(self) -> impl Iterator<Item = CallStep> + 'c {
        let (steps, methods) = (self.steps.iter().zip(self.times), self.methods.all());
        steps.map(move |(step, time)| {
            let (method, class) = methods.get(step.method()).copied().unwrap_or_default();
            CallStep {
                time: *time,
                method,
                class,
                ticket: step.ticket(),
                ends: step.ends(),
            }
        })
    }

    /// The first of them, as many as there is room for.
    pub fn first_calls(self, room: &mut [CallStep]) -> Calls<'_> {
        let count = self.steps.len().min(room.len());
        for (step, room) in self.call_steps().zip(&mut *room) {
            *room = step;
        }
        Calls {
            thread: self.thread,
            cpu_time: self.cpu_time,
            ticket: self.ticket,
            depth: self.depth,
            steps: &room[..count],
        }
    }

    /// All but the first `count` of them.
    pub fn behind(self, count: usize) -> Self {
        let (passed, steps) = self.steps.split_at(count);
        let ends = passed.iter().filter(|step| step.ends()).count() as u32;
        let enters = passed.len() as u32 - ends;
        Self {
            ticket: self.ticket.wrapping_add(enters),
            depth: self.depth.wrapping_add(enters).wrapping_sub(ends),
            steps,
            times: &self.times[count..],
            ..self
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
