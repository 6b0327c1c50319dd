//! Runs of calls: enters and leaves in a row, of one thread. Nearly all records are in such runs, and nearly all of these are calls of methods that
//! the trace knows, and returns of the innermost call. These become steps in a tight loop, and are handed to the encoder together. What is unusual goes
//! the careful way, one by one, and so may all the others, with the same outcome.

use super::calls::{Call, TICKET};
use super::{Thread, Translator};
use crate::read::Run;
use crate::record;
use jtrail_model::{CallRun, RunStep, Timestamp};

/// Most steps that an encoder gets at once: few enough to stay in the processor's first cache.
const MOST_STEPS: usize = 256;
/// Calls that a thread gets room for at least. Where they go deeper, the run ends, and the next one has room for twice as many: there may be very many threads.
const ROOM: usize = 16;

/// Room for the steps of a run.
pub(super) struct Steps {
    steps: [RunStep; MOST_STEPS],
    times: [Timestamp; MOST_STEPS],
}

impl Default for Steps {
    fn default() -> Self {
        Self {
            steps: [RunStep::default(); MOST_STEPS],
            times: [Timestamp::default(); MOST_STEPS],
        }
    }
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
        if thread.id.is_none() || thread.ticket > u32::MAX - MOST_STEPS as u32 {
            return 0; // it is not announced yet, or has ended, or tickets begin anew
        }
        let Thread {
            id,
            last,
            cpu,
            ticket,
            calls,
            hidden,
            ..
        } = &mut **thread;
        let (most_ticks, mut ticks_before) = (run.most_ticks(), 0);
        let mut time = (*last).max(Timestamp(time_of(0)));
        // Tickets are where calls and steps have them.
        let mut newest = u64::from(*ticket) << TICKET;
        let depth = calls.len() as u32 - *hidden;
        let (open, mut open_now) = calls.with_room(ROOM);
        let known = self.known.all();
        let Steps { steps, times } = &mut *self.steps;
        let mut count = 0;
        for ((step, at), &word) in steps.iter_mut().zip(&mut *times).zip(run.words) {
            // The coarse clock stands still for many records.
            let ticks = run.ticks_behind_first(word);
            if ticks != ticks_before {
                if ticks > most_ticks {
                    break;
                }
                time = time.max(Timestamp(time_of(ticks)));
                ticks_before = ticks;
            }
            let method = record::method(word);
            let ends = record::is_leave(word);
            let of = if ends {
                let Some(call) = open.get(open_now.wrapping_sub(1)) else {
                    break;
                };
                if !call.ends_with(method) {
                    break;
                }
                open_now -= 1;
                call.word()
            } else {
                let known = known.get(method).filter(|known| known.is_told());
                let (Some(known), Some(room)) = (known, open.get_mut(open_now)) else {
                    break;
                };
                newest += 1 << TICKET;
                *room = Call::with_ticket(newest, method, known.phase_bits());
                open_now += 1;
                newest | u64::from(method)
            };
            *step = RunStep::of_word(of, ends);
            *at = time;
            count += 1;
        }
        calls.set_depth(open_now);
        let Some(&time) = times[..count].last() else {
            return 0;
        };
        if let Some(entered) = &mut self.entered {
            for step in &steps[..count] {
                *entered.at(step.method()) += u64::from(!step.ends());
            }
        }
        let newest = (newest >> TICKET) as u32;
        let enters = u64::from(newest - *ticket);
        let run = CallRun {
            thread: *id,
            cpu_time: *cpu,
            ticket: *ticket,
            depth,
            steps: &steps[..count],
            times: &times[..count],
            methods: &self.ids_of_methods,
        };
        (*last, *ticket) = (time, newest);
        self.encoder.run(&run, &mut self.out);
        self.totals.enters += enters;
        self.totals.leaves += count as u64 - enters;
        count
    }
}
