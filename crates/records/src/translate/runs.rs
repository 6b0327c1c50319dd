//! Runs of calls: enters and leaves in a row, of one thread. Nearly all records are in such runs,
//! and nearly all of these are calls of methods that the trace knows, and returns of the innermost
//! call. These become steps in a tight loop, and are handed to the encoder together. So are the
//! marks of constructors among them. What is unusual goes the careful way, one by one, and so may
//! all the others, with the same outcome.
//!
//! The loop asks nothing of the thread: it has a stack of the calls that begin in the run, and
//! lists the methods of those that end and began before it, which are compared with the thread's
//! stack afterwards. It has a branch for whether a call begins or ends: programs repeat themselves,
//! so the processor foresees most of them. And it has no tickets: a call that begins has the place
//! of its step on the stack, from which its ticket follows once the run is over. So somebody else
//! may have gone through the loop before ([`super::ahead`]).

use super::Translator;
use super::calls::{Call, LAST_TICKET, Phase};
use super::methods::{Cell, KnownMethods};
use crate::read::{Run, Taken};
use crate::record::{self, Code, Kind};
use jtrail_model::{CallRun, CallStack, KeptRun, OpenedCall, RunStep, Timestamp};

/// Most steps of a run.
pub(super) const MOST_STEPS: usize = 4096;
/// Most steps that the translator takes at once: they stay in the nearest memory.
const OWN_STEPS: usize = 256;
/// Most steps of a piece before it is joined with others.
pub(super) const PIECE_STEPS: usize = 1024;

/// In place of the ticket of a call that begins with a run's first step.
const FIRST: u32 = LAST_TICKET + 1;

/// Room for a run.
#[derive(Default)]
pub(super) struct Room {
    steps: Steps,
    repeated: RepeatedTime,
    on_thread: OnThread,
}

/// The steps of a run: what its words say, whatever was before them.
pub(super) struct Steps {
    steps: [RunStep; PIECE_STEPS],
    /// At first, words less the first one's time. Of no meaning where the clock stood still.
    times: [Timestamp; PIECE_STEPS],
    /// Calls that begin in the run and are open.
    open: [Call; PIECE_STEPS],
    /// Methods of calls that end and began before the run, and the places of these steps.
    ended: [u32; PIECE_STEPS],
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

/// What they are on a thread's stack.
struct OnThread {
    /// Tickets of [`Steps::ended`].
    before: [u32; MOST_STEPS],
    /// What [`Steps::open`] is to an encoder.
    begun: [OpenedCall; MOST_STEPS],
}

impl Default for OnThread {
    fn default() -> Self {
        Self {
            before: [0; MOST_STEPS],
            begun: [OpenedCall::default(); MOST_STEPS],
        }
    }
}

/// The same time over and over, as often as was asked for: where clocks tick, many runs in a row
/// have it.
struct RepeatedTime {
    times: [Timestamp; MOST_STEPS],
    filled: usize,
}

impl Default for RepeatedTime {
    fn default() -> Self {
        Self {
            times: [Timestamp::default(); MOST_STEPS],
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

/// Steps wherever they are: in [`Steps`], or among those of other runs.
#[derive(Clone, Copy)]
pub(super) struct View<'s> {
    pub(super) taken: Taken,
    pub(super) steps: &'s [RunStep],
    /// None where the clock stood still.
    pub(super) times: &'s [Timestamp],
    pub(super) open: &'s [Call],
    /// When these began. Empty where `times` is, and where these tell.
    pub(super) starts: &'s [Timestamp],
    pub(super) ended: &'s [u32],
    pub(super) kept: Option<KeptRun<'s>>,
}

/// How much there is of [`Steps`].
#[derive(Clone, Copy, Default)]
struct StepCounts {
    taken: Taken,
    steps: usize,
    /// Calls that are in [`Steps::open`], and in [`Steps::ended`].
    open: usize,
    ended: usize,
    /// Of all words less the first one's time, the bits that are set in any: of the time, none
    /// where the clock stood still.
    moved: u64,
    /// The largest mark's word less the first one's time.
    last_mark: u64,
}

impl Translator {
    /// Writes the first records of a run, as far as they are usual.
    pub(super) fn called(&mut self, number: u32, run: Run<'_>) -> Taken {
        if self.is_silent {
            return self.passed_by(number, run);
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

    /// As [`Self::called`], where there is no trace: what is open is kept up, and that is all.
    fn passed_by(&mut self, number: u32, run: Run<'_>) -> Taken {
        let mut taken = Taken::default();
        if self.has_ended(number) {
            return taken; // what comes behind a thread's end is counted as lost
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
            // What is lost behind it begins there.
            let time = Timestamp(self.timeline.at(run.time(taken.last)));
            thread.last = thread.last.max(time);
        }
        taken
    }

    /// As [`Self::called`]; `time_of` are the times of ticks behind the first word's.
    #[inline(always)]
    fn steps(&mut self, number: u32, run: Run<'_>, time_of: impl Fn(u64) -> i64) -> Taken {
        let Some(thread) = self.threads.get_mut(&number) else {
            return Taken::default();
        };
        if thread.id.is_none() || thread.ticket > LAST_TICKET - MOST_STEPS as u32 {
            return Taken::default(); // it is not announced yet, or has ended, or tickets begin anew
        }
        let thread = &mut **thread;
        // It would be found to end another call than the innermost one only after many more were
        // looked at.
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
    /// Whether the clock did.
    #[inline]
    fn has_moved(&self) -> bool {
        record::tick(self.moved) != 0
    }
}

impl Steps {
    /// Takes the first records of a run, so many steps at most, as far as they are usual whatever
    /// is open.
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

    /// How many ticks the latest mark is behind the first word; 0 without a mark.
    pub(super) fn tick_of_last_mark(&self) -> u64 {
        record::tick(self.found.last_mark)
    }

    /// The times become what they are, from `begin` on, where the clock moved. `time_of` gets, for
    /// each step, how many ticks it is behind the first word.
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

    /// Follows the first calls of some words, behind what was found; how many. This is where most
    /// of the writer's time goes.
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
            // Records of other kinds have no method's number.
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
    /// When the calls began that are open, where the clock moved.
    pub(super) fn times_of_open(&self) -> impl Iterator<Item = Timestamp> {
        let places = self.open.iter().map(|call| call.ticket() - FIRST);
        places.filter_map(|place| self.times.get(place as usize).copied())
    }

    /// The first of the calls that end and began before that is not the innermost one of those that
    /// were open, if there is one.
    fn first_other(&self, calls: &[Call]) -> Option<usize> {
        let mut innermost = calls.iter().rev();
        let mut is_usual =
            |method: &u32| innermost.next().is_some_and(|call| call.low() == *method);
        self.ended.iter().position(|method| !is_usual(method))
    }

    /// Whether the times are right for a thread where the first one is that.
    fn begins_at(&self, begin: Timestamp) -> bool {
        self.times.first().is_none_or(|first| *first == begin)
    }
}

impl OnThread {
    /// The thread's stack becomes what the steps make of it, but for the tickets of calls that
    /// began.
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

/// Words of a mark of a constructor.
const MARK: usize = 2;

/// Takes in how far this call of a constructor came, if the words begin with a mark that says so.
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
