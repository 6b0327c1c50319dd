//! The buffers keep the newest events (`overflow=ring`). There is no trace; the oldest records are read where room is needed, and only what is open
//! is kept of them. When something happens, what is there becomes a trace, which begins with the calls that are open then.

use super::super::{NextTrace, Output, SaveReason, hostname};
use super::{Merged, Work};
use crate::log;
use jtrail_options::{Options, Overflow, SaveMoments, Target};
use jtrail_records::OpenCalls;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// What happens by itself may happen again and again: so long behind the last one, it is passed over.
const PAUSE: Duration = Duration::from_secs(10);

/// See the module.
pub(super) struct Ring {
    /// When it made a trace last.
    last: Option<Instant>,
}

impl Ring {
    /// Where the options ask for one.
    pub(super) fn of(options: &Options) -> Option<Self> {
        (options.overflow == Overflow::Ring).then_some(Self { last: None })
    }
}

impl Work {
    /// Reads the oldest records, up to the tick `limit` at most, where few chunks are empty.
    pub(super) fn make_room(&mut self, limit: u64) {
        let some = self.merge.some_chunks();
        while self.merge.is_short_of_chunks() && !self.has_failed {
            if matches!(self.merge_some(limit, some), Merged::All) {
                break; // threads have the others
            }
        }
    }

    /// The program ends.
    pub(super) fn save_last(&mut self) {
        if self.setup.options.saves_at(SaveMoments::EXIT) {
            self.save(u64::MAX, SaveReason::Moment(SaveMoments::EXIT));
        }
    }

    /// Writes what was recorded up to the tick `at` and is still there.
    pub(super) fn save(&mut self, at: u64, reason: SaveReason) {
        let (Some(ring), Some(trace)) = (&mut self.ring, &self.trace) else {
            return;
        };
        let is_soon = ring.last.is_some_and(|last| last.elapsed() < PAUSE);
        if is_soon && reason == SaveReason::Moment(SaveMoments::OUT_OF_MEMORY) {
            return;
        }
        let timeline = trace.timeline;
        let begin = self.setup.now().min(at);
        let begin = self.merge.next().unwrap_or(begin).min(begin);
        let options = Arc::clone(&self.setup.options);
        let target = options
            .file
            .expand(std::process::id(), SystemTime::now(), &hostname());
        let Target::Path(first) = &target else {
            return; // options don't let it be
        };
        // The first one takes the place of a file of its name, as any trace does.
        let (path, output) = match ring.last {
            None => (first.clone(), Output::open(&target)),
            Some(_) => Output::create_numbered(first, &mut 1),
        };
        let output = match output {
            Ok(output) => output,
            Err(error) => {
                log::say(&format!(
                    "cannot save to {}: {error}; the program goes on, and so does recording",
                    path.display()
                ));
                return;
            }
        };
        ring.last = Some(Instant::now());
        let next = NextTrace {
            options,
            output,
            target: path.display().to_string(),
        };
        self.open(begin, next, OpenCalls::Enter);
        self.merge_until(at);
        let reason = match reason {
            SaveReason::Moment(moment) => moment.to_string(),
            SaveReason::Trigger(number, thread) => {
                let bursts = self.setup.bursts.as_ref();
                let trigger = bursts.map_or_else(String::new, |all| all.trigger(number));
                if let Some(trace) = &mut self.trace {
                    trace.translator.burst(at, thread, &trigger);
                }
                trigger
            }
        };
        let end = self.setup.now().min(at);
        self.close(end);
        if self.has_failed {
            return; // it is told
        }
        let span = timeline.time_of(end - begin).as_secs_f64();
        let events = self.progress.lock().totals.events();
        log::say(&format!(
            "the last {span:.3} s, {events} events, are in {} ({reason})",
            path.display()
        ));
    }
}
