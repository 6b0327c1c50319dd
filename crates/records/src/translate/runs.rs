//! Runs of calls: enters and leaves in a row, of one thread. Nearly all records are in such runs, and nearly all of these are calls of methods that
//! the trace knows, and returns of the innermost call. These become steps in a tight loop, and are handed to the encoder together. What is unusual goes
//! the careful way, one by one, and so may all the others, with the same outcome.

use super::calls::Call;
use super::{Thread, Translator};
use crate::read::Run;
use crate::record;
use jtrail_model::{CallStep, Calls, Timestamp};

/// Most steps that an encoder gets at once: few enough to stay in the processor's first cache.
pub(super) const MOST_STEPS: usize = 256;
/// Calls that a thread gets room for at least. Where they go deeper, the run ends, and the next one has room for twice as many: there may be very many threads.
const ROOM: usize = 16;

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
                thread.calls.push(Call::hidden(method, known.phase));
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
        let mut newest = *ticket;
        let depth = calls.len() as u32 - *hidden;
        let (open, mut open_now) = calls.with_room(ROOM);
        let mut count = 0;
        for (step, &word) in self.steps.iter_mut().zip(run.words) {
            let ticks = run.ticks_behind_first(word);
            if ticks > most_ticks {
                break;
            }
            let method = record::method(word);
            let Some(known) = self.known.get(method) else {
                break;
            };
            let ends = record::is_leave(word);
            let of = if ends {
                let Some(call) = open.get(open_now.wrapping_sub(1)) else {
                    break;
                };
                if !call.ends_with(method) {
                    break;
                }
                open_now -= 1;
                call.ticket()
            } else {
                let Some(room) = open.get_mut(open_now) else {
                    break;
                };
                if known.id.is_none() {
                    break;
                }
                newest += 1;
                *room = Call::new(method, newest, known.phase);
                open_now += 1;
                newest
            };
            // The coarse clock stands still for many records.
            if ticks != ticks_before {
                time = time.max(Timestamp(time_of(ticks)));
                ticks_before = ticks;
            }
            *step = CallStep {
                time,
                method: known.id,
                class: known.class,
                ticket: of,
                ends,
            };
            if let Some(entered) = &mut self.entered {
                *entered.at(method) += u64::from(!ends);
            }
            count += 1;
        }
        calls.set_depth(open_now);
        if count == 0 {
            return 0;
        }
        let enters = u64::from(newest - *ticket);
        let steps = Calls {
            thread: *id,
            cpu_time: *cpu,
            ticket: *ticket,
            depth,
            steps: &self.steps[..count],
        };
        (*last, *ticket) = (time, newest);
        self.encoder.calls(&steps, &mut self.out);
        self.totals.enters += enters;
        self.totals.leaves += count as u64 - enters;
        count
    }
}
