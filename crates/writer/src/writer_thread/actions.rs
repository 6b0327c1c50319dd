//! Actions that clients, the program and triggers request, each at its tick.

use super::flushing::triggered;
use super::{DRAIN_INTERVAL, WriterThread};
use crate::action::{Acted, Action, Burst, Handshake, NextTrace, SaveReason};
use crate::output::write_whole;
use crossbeam_channel::bounded;
use jtrail_model::{Custom, Event, Timestamp};
use jtrail_options::Trigger;
use jtrail_records::OpenCalls;
use std::path::PathBuf;
use std::time::Duration;

impl WriterThread {
    pub(super) fn next_action(&mut self, at: u64) {
        if self.ring.is_none() {
            self.merge_until(at); // a flight recorder keeps these records
        }
        if let Some((_, action, done)) = self.actions.pop_front() {
            let acted = self.act(at, action);
            // The requester finds everything written, and the progress updated.
            self.flush();
            self.note_progress();
            if !self.has_failed {
                let _ = done.send(acted); // fails if nobody waits
            }
        }
    }

    /// Handles the end of bursts.
    pub(super) fn have_ended(&mut self, ended: Vec<Burst>, at: u64) {
        if ended.is_empty() {
            return;
        }
        if ended.iter().any(|burst| burst.ends_trace) {
            self.close(at);
        } else if self.windows.is_empty()
            && !self.goes_on
            && let Some(trace) = &mut self.trace
        {
            trace.translator.pause(Timestamp(trace.timeline.at(at)));
        }
        self.note_progress();
        if let Some(last) = ended.into_iter().next_back()
            && self.windows.is_empty()
            && (last.ends_trace || !self.goes_on)
        {
            (last.over)(*self.progress.lock());
        }
    }

    /// Begins the bursts that are due, and those for which a call has become too slow. Returns the
    /// time until the next check.
    pub(super) fn begin_bursts(&mut self) -> Duration {
        let (Some(bursts), Some(trace)) = (&self.setup.bursts, &mut self.trace) else {
            return DRAIN_INTERVAL;
        };
        if trace.is_over && !bursts.saves() {
            return DRAIN_INTERVAL;
        }
        let now = self.setup.now();
        let actions = &mut self.actions;
        let mut begin = |number: usize| {
            if bursts.saves() {
                if bursts.is_save_due(number) {
                    let (done, _) = bounded(1);
                    let save = Action::Save(SaveReason::Trigger(number, None));
                    actions.push_back((self.setup.now(), save, done));
                }
            } else if bursts.begin(number) {
                let at = self.setup.now(); // after the gate was opened
                let (done, _) = bounded(1);
                actions.push_back((at, Action::Triggered(number), done));
            }
        };
        let next_slow = bursts.watch(&mut begin);
        let timeline = trace.timeline;
        trace.due.retain_mut(|(at, number)| {
            if *at > now {
                return true;
            }
            begin(*number);
            match self
                .setup
                .options
                .bursts
                .get(*number)
                .map(|burst| &burst.trigger)
            {
                Some(&Trigger::Every(pause)) => {
                    let pause = timeline.ticks_in(pause).max(1);
                    *at += pause * (1 + (now - *at) / pause);
                    true
                }
                _ => false,
            }
        });
        let next_due = trace.due.iter().map(|(at, _)| timeline.time_of(*at - now));
        let next = next_due.chain(next_slow.map(Duration::from_nanos)).min();
        next.unwrap_or(DRAIN_INTERVAL)
    }

    fn act(&mut self, at: u64, action: Action) -> Acted {
        let Some(trace) = &mut self.trace else {
            return Acted::TraceOver;
        };
        if trace.is_over && action.needs_trace() {
            return Acted::TraceOver;
        }
        let time = Timestamp(trace.timeline.at(at));
        match action {
            Action::Pause => {
                self.windows.clear();
                self.goes_on = false;
                trace.translator.pause(time);
                self.setup.observer.switched(false);
            }
            Action::Burst(burst) => {
                trace.translator.resume(time);
                self.setup.observer.switched(true);
                self.open_window(at, burst);
            }
            Action::Triggered(number) => {
                let (translator, windows) = (&mut trace.translator, &mut self.windows);
                let is_over = trace.is_over;
                triggered(&self.setup, translator, windows, is_over, at, number, None);
            }
            Action::Resume => {
                self.goes_on = true;
                trace.translator.resume(time);
                self.setup.observer.switched(true);
            }
            Action::Mark(text) => trace
                .translator
                .event(&Event::Custom(Custom { body: text.into() })),
            Action::End => {
                self.windows.clear();
                self.close(at);
            }
            Action::Begin(next, burst, handshake) => self.begin_next(at, next, burst, handshake),
            Action::Rotate(next, handshake) => {
                self.end_trace_in_file(at);
                handshake.meet(*self.progress.lock());
                self.open(at, next, OpenCalls::Enter);
            }
            Action::Save(reason) => self.save(at, reason),
            Action::SaveTo(file, answer) => {
                let _ = answer.send(self.save_to(at, file, None)); // fails if nobody waits
            }
            Action::Follow => {
                if self.files.as_ref().is_some_and(|files| files.is_ending) {
                    self.follow(at);
                }
            }
            Action::Document(path, answer) => {
                let _ = answer.send(self.write_document(at, path)); // fails if nobody waits
            }
        }
        Acted::Done
    }

    /// Ends the trace, if there is one, and begins another one without the open calls.
    fn begin_next(&mut self, at: u64, next: NextTrace, burst: Option<Burst>, handshake: Handshake) {
        self.windows.clear();
        self.goes_on = !next.options.has_bursts();
        self.close(at);
        self.open(at, next, OpenCalls::Hide);
        if let Some(burst) = burst {
            self.open_window(at, burst);
        }
        self.note_progress();
        handshake.meet(*self.progress.lock());
    }

    /// Begins a burst in the current trace.
    fn open_window(&mut self, at: u64, burst: Burst) {
        if let Some(trace) = &self.trace {
            let (emitted, timeline) = (trace.translator.emitted(), trace.timeline);
            self.windows
                .open(at, emitted, burst, |time| timeline.ticks_in(time));
        }
    }

    /// Writes the document as it would be if the trace ended now.
    fn write_document(&mut self, at: u64, path: Option<PathBuf>) -> Result<PathBuf, String> {
        let (Some(trace), Some(output)) = (&mut self.trace, &self.setup.target.output) else {
            return Err("there is no trace".into());
        };
        let document = trace.translator.snapshot(at);
        let (number, document) = document.ok_or("the format is not one of totals")?;
        let written = match path {
            None => output.write_beside(number, &document),
            Some(path) => self.setup.names.check(&path).and_then(|()| {
                write_whole(&path, &document)?;
                Ok(path)
            }),
        };
        written.map_err(|error| error.to_string())
    }
}
