//! Runs of calls: successive enters and leaves of one thread.
//!
//! Nearly all records are in such runs. Nearly all of them are enters of methods that the trace
//! defines, and returns of the innermost call. A tight loop turns these into steps, which the
//! encoder receives together. The loop also takes marks of constructors. All other records are
//! called unusual, and are handled one by one. The result would be the same if all records were
//! handled one by one.
//!
//! The loop does not use the thread's state. It has a stack of the calls that begin in the run. It
//! also lists the methods of calls that end in the run and began before it. After the loop, this
//! list is compared with the thread's stack. The loop branches on whether a call begins or ends:
//! programs repeat themselves, so the processor predicts most of these branches. The loop uses no
//! tickets either. A call that begins holds the position of its step in place of the ticket. The
//! ticket is computed from the position after the run. So a follower on another thread can go
//! through the words before the translator does ([`super::ahead`]).

use super::Translator;
use super::calls::{Call, LAST_TICKET, Phase};
use super::methods::{Cell, KnownMethods};
use crate::read::{Run, Taken};
use crate::record::{self, Code, Kind};
use jtrail_model::{CallRun, CallStack, KeptRun, OpenedCall, RunStep, Timestamp};

/// Maximum number of steps of a run.
pub(super) const MAX_STEPS: usize = 4096;
/// Maximum number of steps that the translator takes at once without a follower. So many steps fit
/// into the first-level cache.
const OWN_STEPS: usize = 256;
/// Maximum number of steps of a piece, before it is joined with others.
pub(super) const PIECE_STEPS: usize = 1024;

/// Stands in place of the ticket for a call that begins with the first step of a run.
const FIRST: u32 = LAST_TICKET + 1;

/// Memory for a run.
#[derive(Default)]
pub(super) struct Room {
    steps: Steps,
    repeated: RepeatedTime,
    on_thread: OnThread,
}

/// The steps of a run. They depend only on the run's words, not on the calls that are open before
/// the run.
pub(super) struct Steps {
    steps: [RunStep; PIECE_STEPS],
    /// At first, words minus the time of the first word; later, times. Not valid if the clock stood
    /// still.
    times: [Timestamp; PIECE_STEPS],
    /// Calls that begin in the run and are open at its end.
    open: [Call; PIECE_STEPS],
    /// Methods of calls that end in the run and began before it.
    ended: [u32; PIECE_STEPS],
    /// Positions of the steps that end these calls.
    places: [u32; PIECE_STEPS],
    found: StepCounts,
}

impl Default for Steps {
    fn default() -> Self {
        Self {
            steps: [RunStep::default(); PIECE_STEPS],
            times: [Timestamp::default(); PIECE_STEPS],
            open: [Call::default(); PIECE_STEPS],
            ended: [0; PIECE_STEPS],
            places: [0; PIECE_STEPS],
            found: StepCounts::default(),
        }
    }
}

/// Results of matching the steps with a thread's stack.
struct OnThread {
    /// Tickets of the calls in [`Steps::ended`].
    before: [u32; MAX_STEPS],
    /// The calls in [`Steps::open`], as an encoder receives them.
    begun: [OpenedCall; MAX_STEPS],
}

impl Default for OnThread {
    fn default() -> Self {
        Self {
            before: [0; MAX_STEPS],
            begun: [OpenedCall::default(); MAX_STEPS],
        }
    }
}

/// One time, repeated as often as needed. With a coarse clock, many successive runs have the same
/// time.
struct RepeatedTime {
    times: [Timestamp; MAX_STEPS],
    filled: usize,
}

impl Default for RepeatedTime {
    fn default() -> Self {
        Self {
            times: [Timestamp::default(); MAX_STEPS],
            filled: 0,
        }
    }
}

impl RepeatedTime {
    fn times(&mut self, time: Timestamp, count: usize) -> &[Timestamp] {
        if self.times[0] != time {
            self.filled = 0;
        }
        if self.filled < count {
            self.times[self.filled..count].fill(time);
            self.filled = count;
        }
        &self.times[..count]
    }
}

/// The steps of a run, in [`Steps`] or among the results of a follower.
#[derive(Clone, Copy)]
pub(super) struct View<'s> {
    pub(super) taken: Taken,
    pub(super) steps: &'s [RunStep],
    /// Times of the steps; empty if the clock stood still.
    pub(super) times: &'s [Timestamp],
    pub(super) open: &'s [Call],
    /// Start times of the open calls. Empty if `times` is empty, and for steps in [`Steps`], where
    /// `times` has them.
    pub(super) starts: &'s [Timestamp],
    pub(super) ended: &'s [u32],
    pub(super) kept: Option<KeptRun<'s>>,
}

/// Number of elements in the arrays of [`Steps`].
#[derive(Clone, Copy, Default)]
struct StepCounts {
    taken: Taken,
    steps: usize,
    /// Number of calls in [`Steps::open`].
    open: usize,
    /// Number of methods in [`Steps::ended`].
    ended: usize,
    /// Bits that are set in any word minus the time of the first word. If the clock stood still, no
    /// bit of the time is set.
    moved: u64,
    /// Largest difference between a mark's word and the time of the first word.
    last_mark: u64,
}

impl Translator {
    /// Writes the first records of a run, up to the first unusual one.
    pub(super) fn called(&mut self, number: u32, run: Run<'_>) -> Taken {
        if self.is_silent {
            return self.follow_silently(number, run);
        }
        if self.paused.is_some() || self.settings.aggregate {
            return Taken::default();
        }
        let times = |first: &u64| self.timeline.times_from(run.time(*first));
        match run.words.first().and_then(times) {
            Some(time_of) => self.steps(number, run, time_of),
            None => Taken::default(),
        }
    }

    /// Like [`Self::called`], while there is no trace: only the thread's stack is updated.
    fn follow_silently(&mut self, number: u32, run: Run<'_>) -> Taken {
        let mut taken = Taken::default();
        if self.has_ended(number) {
            return taken; // records after a thread's end are counted as lost
        }
        let Some(thread) = self.threads.get_mut(&number) else {
            return taken;
        };
        for &word in run.words {
            let method = record::method(word);
            let Some(known) = self.known.get(method) else {
                break;
            };
            if !run.is_in_time(word) {
                break;
            }
            if record::is_leave(word) {
                match thread.calls.last() {
                    Some(call) if call.is_hidden_one_of(method) => _ = thread.calls.pop(),
                    _ => break,
                }
                thread.hidden -= 1;
            } else {
                thread.calls.push(Call::hidden(method, known.phase()));
                thread.hidden += 1;
            }
            taken.words += 1;
            taken.last = word;
        }
        taken.records = taken.words;
        if taken.words > 0 {
            // A loss after these records begins at this time.
            let time = Timestamp(self.timeline.at(run.time(taken.last)));
            thread.last = thread.last.max(time);
        }
        taken
    }

    /// Like [`Self::called`]. `time_of` returns the time of a tick that is counted from the first
    /// word.
    #[inline(always)]
    fn steps(&mut self, number: u32, run: Run<'_>, time_of: impl Fn(u64) -> i64) -> Taken {
        let Some(thread) = self.threads.get_mut(&number) else {
            return Taken::default();
        };
        if thread.id.is_none() || thread.ticket > LAST_TICKET - MAX_STEPS as u32 {
            return Taken::default(); // the thread has no id, or tickets restart from 1
        }
        let thread = &mut **thread;
        // Detects a leave that does not end the innermost call before many steps are followed in
        // vain.
        let first = run.words.first().copied().unwrap_or_default();
        let innermost = thread.calls.last().map(|call| call.low());
        if record::is_leave(first) && innermost != Some(record::method(first)) {
            return Taken::default();
        }
        let Room {
            steps: own,
            repeated,
            on_thread,
        } = &mut *self.room;
        let begin = thread.last.max(Timestamp(time_of(0)));
        let followed = run.piece.and_then(|piece| piece.view(&run, &self.known));
        let is_usual =
            |view: &View<'_>| view.begins_at(begin) && view.first_other(&thread.calls).is_none();
        let view = match followed.filter(is_usual) {
            Some(view) => view,
            None => {
                own.take(run, OWN_STEPS, &self.known);
                if let Some(other) = own.view().first_other(&thread.calls) {
                    let usual = own.places[other] as usize;
                    own.take(run, usual, &self.known);
                }
                own.set_times(begin, time_of);
                own.view()
            }
        };
        let steps = view.steps;
        if steps.is_empty() {
            return Taken::default();
        }
        let depth = thread.calls.len();
        on_thread.settle(view, begin, &mut thread.calls);
        let times = match view.times {
            [] => repeated.times(begin, steps.len()),
            times => times,
        };
        let time = times.last().copied().unwrap_or(begin);
        if let Some(entered) = &mut self.entered {
            for step in steps {
                *entered.at(step.method()) += u64::from(!step.ends());
            }
        }
        let run = CallRun {
            thread: thread.id,
            cpu_time: thread.cpu,
            ticket: thread.ticket,
            depth: depth as u32 - thread.hidden,
            before: &on_thread.before[..view.ended.len()],
            steps,
            times,
            begun: &on_thread.begun[..view.open.len()],
            methods: &self.ids_of_methods,
            kept: view.kept,
        };
        let begun = &mut thread.calls[depth - view.ended.len()..];
        for (at, call) in begun.iter_mut().enumerate() {
            call.set_ticket(run.ticket_of_begun(at));
        }
        let enters = run.enters();
        thread.last = time;
        thread.ticket += enters as u32;
        self.encoder.run(&run, &mut self.out);
        self.totals.enters += enters as u64;
        self.totals.leaves += (steps.len() - enters) as u64;
        view.taken
    }
}

impl StepCounts {
    /// Returns true if the clock moved.
    #[inline]
    fn has_moved(&self) -> bool {
        record::tick(self.moved) != 0
    }
}

impl Steps {
    /// Takes the first records of a run, up to `most` steps. Stops at an unusual record. Ignores
    /// which calls are open before the run.
    pub(super) fn take(&mut self, run: Run<'_>, most: usize, known: &KnownMethods) {
        let mut found = StepCounts::default();
        loop {
            let rest = &run.words[found.taken.words..];
            let words = &rest[..rest.len().min(most - found.steps)];
            let count = self.follow(run, words, known.all(), &mut found);
            let taken = &words[..count];
            let has_one_time = !found.has_moved();
            for (step, &word) in self.steps[found.steps..].iter_mut().zip(taken) {
                *step = RunStep(record::step(word));
                found.moved |= word.wrapping_sub(run.first);
            }
            if found.has_moved() {
                let (before, times) = self.times.split_at_mut(found.steps);
                if has_one_time {
                    before.fill(Timestamp(0));
                }
                for (time, &word) in times.iter_mut().zip(taken) {
                    *time = Timestamp(word.wrapping_sub(run.first) as i64);
                }
            }
            found.steps += count;
            found.taken.words += count;
            found.taken.records += count;
            found.taken.last = taken.last().copied().unwrap_or(found.taken.last);
            let is_full = count == words.len();
            let rest = &rest[count..];
            let innermost = self.open[..found.open].last_mut();
            let is_marked = |call: &mut Call| is_marked(call, rest);
            if is_full || !run.is_in_time(rest[0]) || !innermost.is_some_and(is_marked) {
                self.found = found;
                return;
            }
            found.taken.words += MARK;
            found.taken.records += 1;
            found.taken.last = rest[0];
            found.last_mark = found.last_mark.max(rest[0].wrapping_sub(run.first));
        }
    }

    pub(super) fn view(&self) -> View<'_> {
        let count = self.found.steps;
        View {
            taken: self.found.taken,
            steps: &self.steps[..count],
            times: &self.times[..if self.found.has_moved() { count } else { 0 }],
            open: &self.open[..self.found.open],
            starts: &[],
            ended: &self.ended[..self.found.ended],
            kept: None,
        }
    }

    /// Returns the ticks between the first word and the latest mark; 0 without a mark.
    pub(super) fn tick_of_last_mark(&self) -> u64 {
        record::tick(self.found.last_mark)
    }

    /// Converts the stored differences to times that are not earlier than `begin`, if the clock
    /// moved. For each step, `time_of` receives the ticks since the first word.
    #[inline(always)]
    pub(super) fn set_times(&mut self, begin: Timestamp, mut time_of: impl FnMut(u64) -> i64) {
        if self.found.has_moved() {
            let mut time = begin;
            for at in &mut self.times[..self.found.steps] {
                time = time.max(Timestamp(time_of(record::tick(at.0 as u64))));
                *at = time;
            }
        }
    }

    /// Follows the first calls in `words`, after those already found. Returns their number. The
    /// writer spends most of its time here.
    #[inline(never)]
    fn follow(
        &mut self,
        run: Run<'_>,
        words: &[u64],
        known: &[Cell],
        found: &mut StepCounts,
    ) -> usize {
        let (mut open, mut ended) = (found.open, found.ended);
        let first = FIRST + found.steps as u32;
        let mut place = first;
        for &word in words {
            if !run.is_in_time(word) {
                break;
            }
            let step = RunStep(record::step(word));
            let method = step.method();
            // Codes of other records are beyond the table.
            let Some(known) = known.get(method as usize).map(Cell::get) else {
                break;
            };
            if !step.ends() {
                let Some(call) = self.open.get_mut(open) else {
                    break;
                };
                if known.is_unreported() {
                    break;
                }
                *call = Call::with_ticket(place, method, known.bits());
                open += 1;
            } else if let Some(call) = self.open.get(open.wrapping_sub(1)) {
                if call.low() != method {
                    break;
                }
                open -= 1;
            } else {
                let (Some(ends), Some(at)) =
                    (self.ended.get_mut(ended), self.places.get_mut(ended))
                else {
                    break;
                };
                (*ends, *at) = (method, place - FIRST);
                ended += 1;
            }
            place += 1;
        }
        (found.open, found.ended) = (open, ended);
        (place - first) as usize
    }
}

impl View<'_> {
    /// Returns the start times of the open calls, if the clock moved.
    pub(super) fn times_of_open(&self) -> impl Iterator<Item = Timestamp> {
        let places = self.open.iter().map(|call| call.ticket() - FIRST);
        places.filter_map(|place| self.times.get(place as usize).copied())
    }

    /// Compares the calls that began before the run and end in it with the innermost calls on the
    /// thread's stack. Returns the index of the first one that differs.
    fn first_other(&self, calls: &[Call]) -> Option<usize> {
        let mut innermost = calls.iter().rev();
        let mut is_usual =
            |method: &u32| innermost.next().is_some_and(|call| call.low() == *method);
        self.ended.iter().position(|method| !is_usual(method))
    }

    /// Returns true if the times are valid for a thread on which the first step is at `begin`.
    fn begins_at(&self, begin: Timestamp) -> bool {
        self.times.first().is_none_or(|first| *first == begin)
    }
}

impl OnThread {
    /// Applies the steps to the thread's stack. The tickets of calls that began are set later.
    fn settle(&mut self, view: View<'_>, begin: Timestamp, calls: &mut CallStack<Call>) {
        let ended = calls.iter().rev().take(view.ended.len());
        for (ticket, call) in self.before.iter_mut().zip(ended) {
            *ticket = call.ticket();
        }
        let starts = view.starts;
        for (at, (begun, call)) in self.begun.iter_mut().zip(view.open).enumerate() {
            let place = call.ticket() - FIRST;
            let time = starts.get(at).or(view.times.get(place as usize));
            *begun = OpenedCall {
                place,
                method: call.method(),
                time: time.copied().unwrap_or(begin),
            };
        }
        calls.set_depth(calls.len() - view.ended.len());
        calls.extend(view.open);
    }
}

/// Number of words of a constructor's mark.
const MARK: usize = 2;

/// Updates the phase of a constructor's call if `words` begin with a mark for that call. Returns
/// true if they do.
fn is_marked(call: &mut Call, words: &[u64]) -> bool {
    let &[word, method, ..] = words else {
        return false;
    };
    let phase = match record::kind(word) {
        Some(Kind::Coded(Code::SuperCall)) => Phase::InSuper,
        Some(Kind::Coded(Code::SuperReturned)) => Phase::Constructed,
        _ => return false,
    };
    let is_its = call.method() == method as u32 && call.phase() < phase;
    if is_its {
        call.set_phase(phase);
    }
    is_its
}
