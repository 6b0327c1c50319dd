//! The trace that is being written.

use crate::compilations::Compilations;
use crate::preamble::{self, Identity};
use crate::setup::Setup;
use jtrail_formats::Loss;
use jtrail_model::{Duration as CpuTime, Event, ProcessCpu, Timestamp, TraceOption};
use jtrail_options::{Events, OutputFormat, Trigger};
use jtrail_recorder::clock;
use jtrail_records::Definition;
use jtrail_records::{Timeline, Translator};
use std::time::{Duration, Instant};

/// How long events may wait in the encoder for more of their kind.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

pub(super) struct Trace {
    pub(super) translator: Translator,
    pub(super) compilations: Compilations,
    pub(super) identity: Identity,
    pub(super) timeline: Timeline,
    pub(super) window: u64,
    /// What the format has no place for, of the opening events.
    pub(super) opening: Vec<Loss>,
    /// When the encoder was last asked for what waits.
    pub(super) flushed: Instant,
    /// When the CPU time of the process was last told.
    pub(super) cpu_reported: Option<Instant>,
    /// Bursts that are due at a tick, by their numbers.
    pub(super) due: Vec<(u64, usize)>,
    /// It has ended, and no other has begun yet.
    pub(super) is_over: bool,
}

/// The CPU time of the process at this moment, which is `time`.
pub(super) fn process_cpu(time: Timestamp) -> Event<'static> {
    let cpu_time = CpuTime(clock::process_cpu() as i64);
    Event::ProcessCpu(ProcessCpu { time, cpu_time })
}

impl Trace {
    /// Writes what opens a trace.
    pub(super) fn begin(&mut self, setup: &Setup, at: u64) {
        let started = Timestamp(self.timeline.at(at));
        let translator = &mut self.translator;
        translator.begin();
        let loaded = Timestamp(self.timeline.at(setup.clocks.loaded.ticks()));
        let emit = |event: &Event<'_>| translator.event(event);
        self.identity = preamble::opening(&setup.options, setup.clocks.cost, loaded, started, emit);
        self.opening = self.translator.losses();
        (self.flushed, self.cpu_reported, self.is_over) = (Instant::now(), None, false);
        // What is due at once, whoever began the trace sees to.
        let due = |(number, burst): (usize, &jtrail_options::Burst)| match burst.trigger {
            Trigger::At(time) | Trigger::Every(time) if !time.is_zero() => {
                Some((at.saturating_add(self.timeline.ticks_in(time)), number))
            }
            _ => None,
        };
        self.due = setup
            .options
            .bursts
            .iter()
            .enumerate()
            .filter_map(due)
            .collect();
    }

    /// Which file of the trace it is, and what the one before is called.
    pub(super) fn emit_part(&mut self, number: u64, before: &str) {
        for (key, value) in [("part", &*number.to_string()), ("before", before)] {
            self.translator.event(&Event::Option(TraceOption {
                key: key.into(),
                value: value.into(),
            }));
        }
    }

    /// Nothing is recorded yet: only bursts are, or the trace before was paused.
    pub(super) fn begin_paused(&mut self, setup: &Setup, started: Timestamp) {
        // A trace log of bursts says so in its first line.
        let options = &setup.options;
        let is_reported = options.format != OutputFormat::TraceLog || !options.has_bursts();
        self.translator.begin_paused(started, is_reported);
    }

    /// What is due while the program runs.
    pub(super) fn now_and_then(&mut self, setup: &Setup) {
        let now = Instant::now();
        if now.duration_since(self.flushed) >= FLUSH_INTERVAL {
            self.flushed = now;
            self.translator.flush();
        }
        let options = &setup.options;
        let is_due = |emitted: Instant| now.duration_since(emitted) >= options.cpu_interval;
        if options.format == OutputFormat::TraceLog
            && options.events.contains(Events::CPU)
            && self.cpu_reported.is_none_or(is_due)
        {
            self.cpu_reported = Some(now);
            let time = Timestamp(self.timeline.at(setup.now()));
            self.translator.event(&process_cpu(time));
        }
    }

    pub(super) fn define(&mut self, definition: Definition) {
        match definition {
            Definition::Compilation(emitted) => self.compilations.add(emitted),
            other => self.translator.define(other),
        }
    }
}
