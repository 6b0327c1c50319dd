//! Runs of calls: enters and leaves in a row, of one thread. Nearly all records are in such runs, and nearly all of these are calls of methods that
//! the trace knows, and returns of the innermost call. These become steps in a tight loop, and are handed to the encoder together. What is unusual goes
//! the careful way, one by one, and so may all the others, with the same outcome.
//!
//! Whether a call begins or ends is as good as chance to the processor, so the loop has no branch for it. Nor has it tickets: while a run lasts, a call
//! that began in it has the place of its step on the stack, from which its ticket follows once the run is over.

use super::calls::{Call, LAST_TICKET};
use super::methods::Known;
use super::{Thread, Translator};
use crate::read::Run;
use crate::record;
use jtrail_model::{CallRun, MOST_STEPS, RunStep, Timestamp};
use std::hint::select_unpredictable;

/// Calls that a thread gets room for at least. Where they go deeper, the run ends, and the next one has room for twice as many: there may be very many threads.
const ROOM: usize = 16;

/// In place of the ticket of a call that begins with a run's first step.
const FIRST: u32 = LAST_TICKET + 1;

/// Room for the steps of a run.
pub(super) struct Steps {
    steps: [RunStep; MOST_STEPS],
    times: [Timestamp; MOST_STEPS],
    /// Tickets of calls that began before it and end, and room for one more.
    before: [u32; MOST_STEPS + 1],
    begun: [u32; MOST_STEPS],
}

impl Default for Steps {
    fn default() -> Self {
        Self {
            steps: [RunStep::default(); MOST_STEPS],
            times: [Timestamp::default(); MOST_STEPS],
            before: [0; MOST_STEPS + 1],
            begun: [0; MOST_STEPS],
        }
    }
}

/// What became of some steps.
#[derive(Clone, Copy, Default)]
struct Taken {
    /// How many there are.
    steps: usize,
    /// How many of them end calls that began before them.
    before: usize,
    /// Calls that are open behind them.
    open: usize,
    /// The clock stood still.
    at_once: bool,
}

impl Translator {
    /// Writes the first calls of a run, as far as they are usual; how many.
    pub(super) fn called(&mut self, number: u32, run: Run<'_>) -> usize {
        if self.is_silent {
            return self.passed_by(number, run);
        }
        if self.paused.is_some() || self.settings.aggregate {
            return 0;
        }
        let [first, ..] = run.words else { return 0 };
        match self.timeline.times_from(run.time(*first)) {
            Some(time_of) => self.steps(number, run, time_of),
            None => 0,
        }
    }

    /// As [`Self::called`], where there is no trace: what is open is kept up, and that is all.
    fn passed_by(&mut self, number: u32, run: Run<'_>) -> usize {
        if self.has_ended(number) {
            return 0; // what comes behind a thread's end is counted as lost
        }
        let Some(thread) = self.threads.get_mut(&number) else {
            return 0;
        };
        let most_ticks = run.most_ticks();
        let (mut count, mut last) = (0, None);
        for &word in run.words {
            let method = record::method(word);
            let Some(known) = self.known.get(method) else {
                break;
            };
            if run.ticks_behind_first(word) > most_ticks {
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
            count += 1;
            last = Some(word);
        }
        if let Some(last) = last {
            // What is lost behind it begins there.
            let time = Timestamp(self.timeline.at(run.time(last)));
            thread.last = thread.last.max(time);
        }
        count
    }

    /// As [`Self::called`]; `time_of` are the times of ticks behind the first word's.
    #[inline(always)]
    fn steps(&mut self, number: u32, run: Run<'_>, time_of: impl Fn(u64) -> i64) -> usize {
        let Some(thread) = self.threads.get_mut(&number) else {
            return 0;
        };
        if thread.id.is_none() || thread.ticket > LAST_TICKET - MOST_STEPS as u32 {
            return 0; // it is not announced yet, or has ended, or tickets begin anew
        }
        let thread = &mut **thread;
        let room = &mut *self.steps;
        let depth = thread.calls.len();
        let taken = room.take(run, thread, self.known.all());
        if taken.steps == 0 {
            return 0;
        }
        let steps = &room.steps[..taken.steps];
        let times = &mut room.times[..taken.steps];
        let mut time = thread.last.max(Timestamp(time_of(0)));
        if taken.at_once {
            times.fill(time);
        } else {
            for (at, &word) in times.iter_mut().zip(run.words) {
                time = time.max(Timestamp(time_of(run.ticks_behind_first(word))));
                *at = time;
            }
        }
        if let Some(entered) = &mut self.entered {
            for step in steps {
                *entered.at(step.method()) += u64::from(!step.ends());
            }
        }
        let begun = &mut thread.calls[depth - taken.before..];
        for (place, call) in room.begun.iter_mut().zip(&*begun) {
            *place = call.ticket() - FIRST;
        }
        let run = CallRun {
            thread: thread.id,
            cpu_time: thread.cpu,
            ticket: thread.ticket,
            depth: depth as u32 - thread.hidden,
            before: &room.before[..taken.before],
            steps,
            times,
            begun: &room.begun[..begun.len()],
            methods: &self.ids_of_methods,
        };
        for (at, call) in begun.iter_mut().enumerate() {
            call.set_ticket(run.ticket_of_begun(at));
        }
        let enters = run.enters();
        thread.last = time;
        thread.ticket += enters as u32;
        self.encoder.run(&run, &mut self.out);
        self.totals.enters += enters as u64;
        self.totals.leaves += (taken.steps - enters) as u64;
        taken.steps
    }
}

/// Words whose times are looked at together.
const AT_ONCE: usize = 32;

impl Steps {
    /// Takes the first calls of a run, as far as they are usual. The thread's stack is then as it is behind them, but for the tickets of calls that
    /// began in them.
    #[inline(always)]
    fn take(&mut self, run: Run<'_>, thread: &mut Thread, known: &[Known]) -> Taken {
        let (open, depth) = thread.calls.with_room(ROOM);
        let mut taken = Taken {
            open: depth,
            ..Taken::default()
        };
        let mut moved = 0;
        for words in run.words[..run.words.len().min(MOST_STEPS)].chunks(AT_ONCE) {
            let (in_time, ticks) = run.in_time(words);
            moved |= ticks;
            let count = self.take_some(&words[..in_time], open, known, &mut taken);
            if count < words.len() {
                break;
            }
        }
        thread.calls.set_depth(taken.open);
        taken.at_once = moved == 0;
        taken
    }

    /// Takes some words more; how many.
    #[inline(always)]
    fn take_some(
        &mut self,
        words: &[u64],
        open: &mut [Call],
        known: &[Known],
        taken: &mut Taken,
    ) -> usize {
        let Taken {
            steps: first,
            mut before,
            open: mut depth,
            ..
        } = *taken;
        let steps = &mut self.steps[first..];
        let mut count = 0;
        for ((step, &word), place) in steps.iter_mut().zip(words).zip(FIRST + first as u32..) {
            let of = RunStep(record::step(word));
            let (method, ends) = (of.method(), of.ends());
            // Records of other kinds have no method's number.
            let Some(known) = known.get(method as usize) else {
                break;
            };
            // A call that ends is the innermost one; one that begins takes the place behind it, if there is room.
            let at = depth.wrapping_sub(usize::from(ends));
            let Some(call) = open.get_mut(at) else { break };
            let innermost = *call;
            let fault = select_unpredictable(
                ends,
                innermost.low() ^ method,
                u32::from(known.bits() & Known::UNTOLD),
            );
            if fault != 0 {
                break;
            }
            // What is behind the innermost call is nobody's.
            *call = Call::with_ticket(place, method, known.bits());
            depth = at + usize::from(!ends);
            self.before[before] = innermost.ticket();
            before += usize::from(ends & (innermost.ticket() <= LAST_TICKET));
            *step = of;
            count += 1;
        }
        taken.steps += count;
        (taken.before, taken.open) = (before, depth);
        count
    }
}
