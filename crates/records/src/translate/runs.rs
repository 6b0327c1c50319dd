//! Runs of calls: enters and leaves in a row, of one thread. Nearly all records are in such runs, and nearly all of these are calls of methods that
//! the trace knows, and returns of the innermost call. These become steps in a tight loop, and are handed to the encoder together. So are the marks
//! of constructors among them. What is unusual goes the careful way, one by one, and so may all the others, with the same outcome.
//!
//! The loop asks nothing of the thread: it has a stack of the calls that begin in the run, and lists the methods of those that end and began before it,
//! which are compared with the thread's stack afterwards. It has a branch for whether a call begins or ends: programs repeat themselves, so the processor
//! foresees most of them. And it has no tickets: a call that begins has the place of its step on the stack, from which its ticket follows once the run is over.

use super::Translator;
use super::calls::{Call, LAST_TICKET, Phase};
use super::methods::Known;
use crate::read::{Run, Taken};
use crate::record::{self, Code, Kind};
use jtrail_model::{CallRun, CallStack, MOST_STEPS, RunStep, Timestamp};

/// In place of the ticket of a call that begins with a run's first step.
const FIRST: u32 = LAST_TICKET + 1;

/// Room for the steps of a run.
pub(super) struct Steps {
    steps: [RunStep; MOST_STEPS],
    /// At first, words less the first one's time. Of no meaning where the clock stood still.
    times: [Timestamp; MOST_STEPS],
    still: Still,
    /// Calls that begin in the run and are open.
    open: [Call; MOST_STEPS],
    /// Places and methods of calls that end and began before the run.
    ended: [(u32, u32); MOST_STEPS],
    /// Their tickets.
    before: [u32; MOST_STEPS],
    begun: [u32; MOST_STEPS],
}

impl Default for Steps {
    fn default() -> Self {
        Self {
            steps: [RunStep::default(); MOST_STEPS],
            times: [Timestamp::default(); MOST_STEPS],
            still: Still::default(),
            open: [Call::default(); MOST_STEPS],
            ended: [(0, 0); MOST_STEPS],
            before: [0; MOST_STEPS],
            begun: [0; MOST_STEPS],
        }
    }
}

/// The same time over and over, as often as was asked for: where clocks tick, many runs in a row have it.
struct Still {
    times: [Timestamp; MOST_STEPS],
    filled: usize,
}

impl Default for Still {
    fn default() -> Self {
        Self {
            times: [Timestamp::default(); MOST_STEPS],
            filled: 0,
        }
    }
}

impl Still {
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

/// What is in the room of steps.
#[derive(Clone, Copy, Default)]
struct Found {
    taken: Taken,
    steps: usize,
    /// Calls that are in [`Steps::open`], and in [`Steps::ended`].
    open: usize,
    ended: usize,
    /// Of all words less the first one's time, the bits that are set in any: of the time, none where the clock stood still.
    moved: u64,
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
        let room = &mut *self.steps;
        // It would be found to end another call than the innermost one only after many more were looked at.
        let first = run.words.first().copied().unwrap_or_default();
        let innermost = thread.calls.last().map(|call| call.low());
        if record::is_leave(first) && innermost != Some(record::method(first)) {
            return Taken::default();
        }
        let mut found = room.take(run, MOST_STEPS, self.known.all());
        if let Some(steps) = room.usual(&found, &thread.calls) {
            found = room.take(run, steps, self.known.all());
        }
        if found.steps == 0 {
            return Taken::default();
        }
        let depth = thread.calls.len();
        room.settle(&found, &mut thread.calls);
        let steps = &room.steps[..found.steps];
        let mut time = thread.last.max(Timestamp(time_of(0)));
        let times = if record::tick(found.moved) == 0 {
            room.still.times(time, found.steps)
        } else {
            let times = &mut room.times[..found.steps];
            for at in &mut *times {
                time = time.max(Timestamp(time_of(record::tick(at.0 as u64))));
                *at = time;
            }
            &*times
        };
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
            before: &room.before[..found.ended],
            steps,
            times,
            begun: &room.begun[..found.open],
            methods: &self.ids_of_methods,
        };
        let begun = &mut thread.calls[depth - found.ended..];
        for (at, call) in begun.iter_mut().enumerate() {
            call.set_ticket(run.ticket_of_begun(at));
        }
        let enters = run.enters();
        thread.last = time;
        thread.ticket += enters as u32;
        self.encoder.run(&run, &mut self.out);
        self.totals.enters += enters as u64;
        self.totals.leaves += (found.steps - enters) as u64;
        found.taken
    }
}

impl Steps {
    /// Takes the first records of a run, so many steps at most, as far as they are usual whatever is open.
    fn take(&mut self, run: Run<'_>, most: usize, known: &[Known]) -> Found {
        let mut found = Found::default();
        loop {
            let rest = &run.words[found.taken.words..];
            let words = &rest[..rest.len().min(most - found.steps)];
            let count = self.follow(run, words, known, &mut found);
            let taken = &words[..count];
            let stood_still = record::tick(found.moved) == 0;
            for (step, &word) in self.steps[found.steps..].iter_mut().zip(taken) {
                *step = RunStep(record::step(word));
                found.moved |= word.wrapping_sub(run.first);
            }
            if record::tick(found.moved) != 0 {
                let (before, times) = self.times.split_at_mut(found.steps);
                if stood_still {
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
                return found;
            }
            found.taken.words += MARK;
            found.taken.records += 1;
            found.taken.last = rest[0];
        }
    }

    /// Follows the first calls of some words, behind what was found; how many. This is where most of the writer's time goes.
    #[inline(never)]
    fn follow(&mut self, run: Run<'_>, words: &[u64], known: &[Known], found: &mut Found) -> usize {
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
            let Some(known) = known.get(method as usize) else {
                break;
            };
            if !step.ends() {
                let Some(call) = self.open.get_mut(open) else {
                    break;
                };
                if known.is_untold() {
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
                let Some(call) = self.ended.get_mut(ended) else {
                    break;
                };
                *call = (place - FIRST, method);
                ended += 1;
            }
            place += 1;
        }
        (found.open, found.ended) = (open, ended);
        (place - first) as usize
    }

    /// How many steps are usual, if these are not: before one that ends a call that is not the innermost one of those that were open.
    fn usual(&self, found: &Found, calls: &[Call]) -> Option<usize> {
        let mut innermost = calls.iter().rev();
        let mut is_usual = |(_, method): &(u32, u32)| {
            let call = innermost.next();
            call.is_some_and(|call| call.low() == *method)
        };
        let mut ended = self.ended[..found.ended].iter();
        let other = ended.find(|ended| !is_usual(ended));
        other.map(|(place, _)| *place as usize)
    }

    /// The thread's stack becomes what [`Self::take`] found, but for the tickets of calls that began.
    fn settle(&mut self, found: &Found, calls: &mut CallStack<Call>) {
        let ended = calls.iter().rev().take(found.ended);
        for (ticket, call) in self.before.iter_mut().zip(ended) {
            *ticket = call.ticket();
        }
        let begun = &self.open[..found.open];
        for (place, call) in self.begun.iter_mut().zip(begun) {
            *place = call.ticket() - FIRST;
        }
        calls.set_depth(calls.len() - found.ended);
        calls.extend(begun);
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
