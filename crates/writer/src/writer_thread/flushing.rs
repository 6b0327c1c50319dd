//! Passes records to the encoder, and encoded bytes to the output.

use crate::action::Burst;
use crate::format;
use crate::setup::Setup;
use crate::windows::Windows;
use jtrail_guard::log;
use jtrail_options::Overflow;
use jtrail_recorder::buffer::record::Code;
use jtrail_records::Translator;
use jtrail_records::read::{Run, Sink, Taken};
use std::sync::Arc;

/// Number of bytes that are collected before they are written to the output.
const OUTPUT_BYTES: usize = 1 << 20;

/// Writes the encoded bytes. After an error, reports it once, and closes the output.
pub(super) fn write(setup: &mut Setup, bytes: &mut Vec<u8>, has_failed: &mut bool) {
    let reads_cut = format::reads_cut(setup.options.format);
    if let Some(output) = &mut setup.target.output
        && !bytes.is_empty()
        && let Err(error) = output.write(bytes, reads_cut)
    {
        if output.is_stream() {
            // The command channel reports the disconnected client. The trace is over, and another
            // one may follow.
            setup.target.output = None;
            bytes.clear();
            return;
        }
        if setup.options.overflow == Overflow::Ring {
            // The events that were to be saved are lost, but the flight recorder continues.
            (setup.target.output, setup.target.unsaved) = (None, Some(error));
            bytes.clear();
            return;
        }
        let rest = match setup.commits {
            Some(_) => "; jtrail recover gives what was recorded by now",
            None => "",
        };
        let before = match output.written() {
            0 if !reads_cut => "nothing was written before",
            _ => "what was written before can be read",
        };
        log::say(&format!(
            "cannot write {}: {error}; tracing is off, the program goes on, and {before}{rest}",
            setup.target.name
        ));
        setup.target.output = None;
        *has_failed = true;
    }
    bytes.clear();
}

/// Writes the document as it would be if the trace ended now, to a separate file.
fn snapshot(translator: &mut Translator, setup: &Setup, ticks: u64) {
    let Some(output) = &setup.target.output else {
        return;
    };
    let Some((number, document)) = translator.snapshot(ticks) else {
        return;
    };
    match output.write_beside(number, &document) {
        Ok(path) => log::say(&format!("snapshot {number} is in {}", path.display())),
        Err(error) => log::say(&format!("no snapshot {number}: {error}")),
    }
}

/// Begins the burst of a trigger, which fired on a thread or by time.
pub(super) fn triggered(
    setup: &Setup,
    translator: &mut Translator,
    windows: &mut Windows,
    is_over: bool,
    at: u64,
    number: usize,
    thread: Option<u32>,
) {
    let Some((burst, guard)) = setup.bursts.as_ref().and_then(|all| all.burst(number)) else {
        return;
    };
    if is_over {
        return; // the trace has ended
    }
    if translator.resume_at(at) {
        setup.observer.burst(true);
    }
    translator.burst(at, thread, &burst.to_string());
    let emitted = translator.emitted();
    let observer = Arc::clone(&setup.observer);
    let burst = Burst {
        limit: burst.limit,
        ends_trace: false,
        over: Box::new(move |_| {
            drop(guard);
            observer.burst(false);
        }),
    };
    let timeline = translator.timeline();
    windows.open(at, emitted, burst, |time| timeline.ticks_in(time));
}

/// The translator as a sink that writes its output whenever much of it is waiting.
pub(super) struct Flushing<'a> {
    pub(super) translator: &'a mut Translator,
    pub(super) setup: &'a mut Setup,
    pub(super) has_failed: &'a mut bool,
    pub(super) windows: &'a mut Windows,
    /// True if recording continues without a burst.
    pub(super) goes_on: bool,
    /// Bursts that have ended.
    pub(super) ended: Vec<Burst>,
    /// Time of the last event of the last of these bursts.
    pub(super) ended_at: u64,
    /// If the size of files is limited: the size at which the file is full, and its slack
    /// (`Files::slack`).
    pub(super) bound: Option<(u64, u64)>,
    /// True if the file is full.
    pub(super) is_full: bool,
    /// Number of records read.
    pub(super) read: u64,
}

impl Flushing<'_> {
    /// Pauses or ends the trace after the last event of a burst.
    #[inline(always)]
    fn count(&mut self, time: u64) {
        if let Some(target) = self.windows.target() {
            self.count_to(target, time);
        }
    }

    #[inline(never)]
    fn count_to(&mut self, target: u64, time: u64) {
        let emitted = self.translator.emitted();
        if emitted < target {
            return;
        }
        self.ended.extend(self.windows.reached(emitted));
        self.ended_at = time;
        if self.ended.iter().any(|burst| burst.ends_trace) {
            self.translator.cut_at(time);
        } else if self.windows.is_empty() && !self.goes_on {
            self.translator.pause_at(time);
        }
    }

    #[inline(always)]
    pub(super) fn check(&mut self) {
        if self.translator.out.len() >= OUTPUT_BYTES {
            write(self.setup, &mut self.translator.out, self.has_failed);
        }
        if self.bound.is_some() {
            self.check_size();
        }
    }

    #[inline(never)]
    fn check_size(&mut self) {
        let (Some((full_at, slack)), Some(output)) = (self.bound, &self.setup.target.output) else {
            return;
        };
        let translator = &mut *self.translator;
        let size = |translator: &Translator| output.written() + translator.out.len() as u64;
        let with_waiting = size(translator) + translator.waiting() as u64;
        if with_waiting < full_at || !translator.can_be_followed() {
            return;
        }
        translator.flush(); // what is waiting may take much less than the bound says
        self.is_full = size(translator) + slack >= full_at;
    }
}

impl Sink for Flushing<'_> {
    #[inline(always)]
    fn is_full(&self) -> bool {
        self.is_full
    }

    #[inline]
    fn run(&mut self, thread: u32, run: Run<'_>) -> Taken {
        if self.windows.target().is_some() {
            return Taken::default(); // a burst may end after any of the events
        }
        let taken = self.translator.run(thread, run);
        self.read += taken.records as u64;
        self.check();
        taken
    }

    fn enter(&mut self, thread: u32, time: u64, method: u32) {
        self.translator.enter(thread, time, method);
        self.read += 1;
        self.count(time);
        self.check();
    }

    fn leave(&mut self, thread: u32, time: u64, method: u32) {
        self.translator.leave(thread, time, method);
        self.read += 1;
        self.count(time);
        self.check();
    }

    fn coded(&mut self, thread: u32, time: u64, code: Code, payload: &[u64]) {
        self.translator.coded(thread, time, code, payload);
        self.read += 1;
        match code {
            Code::Snapshot => snapshot(self.translator, self.setup, time),
            Code::Burst => {
                let is_over = self.setup.target.output.is_none();
                let number = payload[0] as usize;
                let (translator, windows) = (&mut *self.translator, &mut *self.windows);
                triggered(
                    self.setup,
                    translator,
                    windows,
                    is_over,
                    time,
                    number,
                    Some(thread),
                );
            }
            _ => self.count(time),
        }
        self.check();
    }
}
