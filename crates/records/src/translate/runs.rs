//! Runs of calls: enters and leaves in a row, of one thread. Nearly all records are in such runs, and nearly all of these are calls of methods that
//! the trace knows, and returns of the innermost call. These become steps in a tight loop, and are handed to the encoder together. So are the marks
//! of constructors among them. What is unusual goes the careful way, one by one, and so may all the others, with the same outcome.
//!
//! The loop works on a copy of the innermost open calls, which has a fixed place and size. It has a branch for whether a call begins or ends: programs
//! repeat themselves, so the processor foresees most of them. And it has no tickets: a call that begins has the place of its step on the stack, from which
//! its ticket follows once the run is over.

use super::calls::{Call, LAST_TICKET, Phase};
use super::methods::Known;
use super::{Thread, Translator};
use crate::read::{Run, Taken};
use crate::record::{self, Code, Kind};
use jtrail_model::{CallRun, MOST_STEPS, RunStep, Timestamp};

/// So many open calls may end in a run that began before it.
const NEAR: usize = 32;
/// Calls of a run that are open, at most, with those before it and what is further out.
const ROOM: usize = 1 + NEAR + MOST_STEPS;

/// In place of the ticket of a call that begins with a run's first step.
const FIRST: u32 = LAST_TICKET + 1;

/// Room for the steps of a run.
pub(super) struct Steps {
    steps: [RunStep; MOST_STEPS],
    /// At first, words less the first one's time. Of no meaning where the clock stood still.
    times: [Timestamp; MOST_STEPS],
    still: Still,
    /// The innermost open calls: at first those before the run, up to [`NEAR`].
    open: [Call; ROOM],
    /// Tickets of calls that began before the run and end.
    before: [u32; NEAR],
    begun: [u32; MOST_STEPS],
}

impl Default for Steps {
    fn default() -> Self {
        Self {
            steps: [RunStep::default(); MOST_STEPS],
            times: [Timestamp::default(); MOST_STEPS],
            still: Still::default(),
            open: [Call::default(); ROOM],
            before: [0; NEAR],
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
    /// Calls that are in [`Steps::open`].
    open: usize,
    /// Bits of their times that are set in any.
    moved: u64,
}

impl Translator {
    /// Writes the first calls of a run, as far as they are usual; how many.
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
        let found = room.take(run, &thread.calls, self.known.all());
        if found.steps == 0 {
            return Taken::default();
        }
        let (before, begun) = room.settle(thread, found.open);
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
        let depth = thread.calls.len() - begun + before;
        let run = CallRun {
            thread: thread.id,
            cpu_time: thread.cpu,
            ticket: thread.ticket,
            depth: depth as u32 - thread.hidden,
            before: &room.before[..before],
            steps,
            times,
            begun: &room.begun[..begun],
            methods: &self.ids_of_methods,
        };
        let innermost = thread.calls.iter_mut().rev().take(begun).rev();
        for (at, call) in innermost.enumerate() {
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
    /// Takes the first records of a run, as far as they are usual.
    fn take(&mut self, run: Run<'_>, calls: &[Call], known: &[Known]) -> Found {
        let near = &calls[calls.len().saturating_sub(NEAR)..];
        // What is further out ends with no run.
        self.open[0] = Call::hidden(0, Phase::Constructed);
        self.open[1..=near.len()].copy_from_slice(near);
        let mut found = Found {
            open: near.len(),
            ..Found::default()
        };
        loop {
            let rest = &run.words[found.taken.words..];
            let words = &rest[..rest.len().min(MOST_STEPS - found.steps)];
            let (count, open) = self.follow(run, words, known, found.steps, found.open);
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
            found.open = open;
            found.taken.words += count;
            found.taken.records += count;
            found.taken.last = taken.last().copied().unwrap_or(found.taken.last);
            let is_full = count == words.len();
            let rest = &rest[count..];
            if is_full || !run.is_in_time(rest[0]) || !is_marked(&mut self.open[open], rest) {
                return found;
            }
            found.taken.words += MARK;
            found.taken.records += 1;
            found.taken.last = rest[0];
        }
    }

    /// Follows the first calls of some words on the stack, behind so many steps and with so many calls open: how many they are, and what is open
    /// then. This is where most of the writer's time goes.
    #[inline(never)]
    fn follow(
        &mut self,
        run: Run<'_>,
        words: &[u64],
        known: &[Known],
        steps: usize,
        open: usize,
    ) -> (usize, usize) {
        let open_calls = &mut self.open;
        let mut depth = open + 1;
        let mut count = 0;
        for (&word, place) in words.iter().zip(FIRST + steps as u32..) {
            if !run.is_in_time(word) {
                break;
            }
            let step = RunStep(record::step(word));
            let method = step.method();
            // Records of other kinds have no method's number.
            let Some(known) = known.get(method as usize) else {
                break;
            };
            if step.ends() {
                let Some(call) = open_calls.get_mut(depth - 1) else {
                    break;
                };
                if call.low() != method {
                    break;
                }
                *call = Call::new(0, place, Phase::Constructed); // it shows that one ended here
                depth -= 1;
            } else {
                let Some(call) = open_calls.get_mut(depth) else {
                    break;
                };
                if known.is_untold() {
                    break;
                }
                *call = Call::with_ticket(place, method, known.bits());
                depth += 1;
            }
            count += 1;
        }
        (count, depth - 1)
    }

    /// The thread's stack becomes what [`Self::take`] found, but for the tickets of calls that began. How many calls ended that began before, and how many
    /// began and are open.
    #[inline(always)]
    fn settle(&mut self, thread: &mut Thread, open: usize) -> (usize, usize) {
        let depth = thread.calls.len();
        let near = depth.min(NEAR);
        let is_here = |call: &Call| call.ticket() < FIRST;
        let kept = self.open[1..=near].iter().rposition(is_here);
        let kept = kept.map_or(0, |last| last + 1);
        let before = near - kept;
        let ended = thread.calls.iter().rev().take(before);
        for (ticket, call) in self.before.iter_mut().zip(ended) {
            *ticket = call.ticket();
        }
        let begun = &self.open[1 + kept..1 + open];
        for (place, call) in self.begun.iter_mut().zip(begun) {
            *place = call.ticket() - FIRST;
        }
        thread.calls.set_depth(depth - before);
        thread.calls.extend(begun);
        (before, begun.len())
    }
}

/// Words of a mark of a constructor.
const MARK: usize = 2;

/// Takes in how far a constructor came, if these words begin with a mark of its, and it began in this run.
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
    if !is_its || call.ticket() < FIRST {
        return false;
    }
    call.set_phase(phase);
    true
}
