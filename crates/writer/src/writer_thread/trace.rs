//! The current trace.

use crate::compilations::Compilations;
use crate::preamble::{self, Identity};
use crate::setup::Setup;
use jtrail_formats::DropCount;
use jtrail_model::{Duration as CpuTime, Event, ProcessCpu, Timestamp, TraceOption};
use jtrail_options::{Events, OutputFormat, Trigger};
use jtrail_recorder::clock;
use jtrail_records::Definition;
use jtrail_records::{Timeline, Translator};
use std::time::{Duration, Instant};

/// Maximum time that events wait in the encoder to be combined with later ones.
const FLUSH_INTERVAL: Duration = Duration::from_secs(1);

pub(super) struct Trace {
    pub(super) translator: Translator,
    pub(super) compilations: Compilations,
    pub(super) identity: Identity,
    pub(super) timeline: Timeline,
    /// Number of ticks for which records are held back, so that late records are still merged in
    /// order.
    pub(super) window: u64,
    /// What the encoder dropped of the opening events.
    pub(super) opening: Vec<DropCount>,
    /// Time at which the encoder was last flushed.
    pub(super) flushed: Instant,
    /// Time at which the process's CPU time was last written.
    pub(super) cpu_reported: Option<Instant>,
    /// Bursts that are due at a tick: the tick, and the number of the trigger.
    pub(super) due: Vec<(u64, usize)>,
    /// True if the trace has ended, and no other one has begun.
    pub(super) is_over: bool,
}

/// Returns an event with the CPU time of the process. `time` is the current time.
pub(super) fn process_cpu(time: Timestamp) -> Event<'static> {
    let cpu_time = CpuTime(clock::process_cpu() as i64);
    Event::ProcessCpu(ProcessCpu { time, cpu_time })
}

impl Trace {
    /// Writes the opening of the trace.
    pub(super) fn begin(&mut self, setup: &Setup, at: u64) {
        let started = Timestamp(self.timeline.at(at));
        let translator = &mut self.translator;
        translator.begin();
        let loaded = Timestamp(self.timeline.at(setup.clocks.loaded.ticks()));
        let emit = |event: &Event<'_>| translator.event(event);
        self.identity = preamble::opening(&setup.options, setup.clocks.cost, loaded, started, emit);
        self.opening = self.translator.dropped();
        (self.flushed, self.cpu_reported, self.is_over) = (Instant::now(), None, false);
        // The code that begins the trace also begins the bursts that are due at once.
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

    /// Writes which file of the trace this is, and the name of the preceding one.
    pub(super) fn emit_part(&mut self, number: u64, before: &str) {
        for (key, value) in [("part", &*number.to_string()), ("before", before)] {
            self.translator.event(&Event::Option(TraceOption {
                key: key.into(),
                value: value.into(),
            }));
        }
    }

    /// Notes that the trace is paused at its start: it records only bursts, or the preceding trace
    /// was paused.
    pub(super) fn begin_paused(&mut self, setup: &Setup, started: Timestamp) {
        // A trace log that starts suspended says so in its first line.
        let options = &setup.options;
        let is_reported = options.format != OutputFormat::TraceLog || !options.has_bursts();
        self.translator.begin_paused(started, is_reported);
    }

    /// Does periodic work: flushes the encoder, and writes the process's CPU time.
    pub(super) fn periodic(&mut self, setup: &Setup) {
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
