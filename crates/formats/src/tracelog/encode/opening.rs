//! Lines at the head of a trace.

use super::dropped::Dropped;
use crate::tally::DropTally;
use crate::tracelog::settings::Settings;
use crate::tracelog::wire::DEFAULT_LOADER;
use crate::tracelog::{clock, settings, value};
use jtrail_model::{Event, TraceOption};

/// What the opening events contain, kept until the head is written.
#[derive(Debug, Default)]
pub(super) struct Opening {
    /// True if the caller chose the settings, so that options of the trace do not change them.
    pub(super) fixed: bool,
    /// True if options have the names of configuration lines: the trace comes from a trace log.
    pub(super) from_trace_log: bool,
    /// True if the caller or the options of the trace determine the settings.
    pub(super) has_settings: bool,
    start_ms: Option<i64>,
    minutes_west: i32,
    pub(super) pid: u64,
    name: String,
    /// Other options, with their values as written. Their lines follow the lines of the settings.
    options: Vec<(String, String)>,
}

impl Opening {
    /// Returns an opening that takes no settings from the options of the trace.
    pub(super) fn fixed() -> Self {
        Self {
            fixed: true,
            has_settings: true,
            ..Self::default()
        }
    }

    /// Handles an opening event. Returns false for any other event.
    pub(super) fn take(
        &mut self,
        event: &Event<'_>,
        settings: &mut Settings,
        dropped: &mut DropTally<Dropped>,
    ) -> bool {
        match event {
            Event::Node(e) => {
                self.start_ms.get_or_insert(clock::whole_ms(e.time));
                // A real time zone differs from UTC by less than a day. With a larger offset,
                // readers might not understand the times.
                let is_zone = e.timezone.unsigned_abs() < 24 * 60;
                self.minutes_west = if is_zone { e.timezone } else { 0 };
                dropped.part_if(e.timezone != 0, Dropped::TimeZones);
                let named = !(e.node_id.is_empty() && e.hostname.is_empty());
                dropped.part_if(named || !e.ip_address.is_empty(), Dropped::Opening);
            }
            Event::ProcessCreate(e) => {
                self.pid = e.pid.try_into().unwrap_or_default();
                let name = if e.name.is_empty() {
                    &e.executable
                } else {
                    &e.name
                };
                self.name = name.clone().into_owned();
                let both = !e.name.is_empty() && !e.executable.is_empty();
                dropped.part_if(both || !e.process_id.is_empty(), Dropped::Opening);
            }
            Event::AgentCreate(e) => {
                let named = !(e.agent_id.is_empty() && e.name.is_empty());
                dropped.part_if(named || !e.parameters.is_empty(), Dropped::Opening);
            }
            Event::TraceStart(e) => self.start_ms = Some(clock::whole_ms(e.time)),
            Event::Filter(_) => dropped.event(Dropped::of(event)),
            Event::Option(e) => self.option(e, settings, dropped),
            _ => return false,
        }
        true
    }

    fn option(
        &mut self,
        e: &TraceOption<'_>,
        settings: &mut Settings,
        dropped: &mut DropTally<Dropped>,
    ) {
        let mut ours = settings.clone();
        // In a trace log, only the line CodeMapUnit switches code maps on. So the first
        // configuration line switches them off.
        ours.code_maps &= self.from_trace_log;
        if ours.line(&e.key, &e.value) {
            self.from_trace_log = true;
            if !self.fixed {
                *settings = ours;
                self.has_settings |= e.key == "CollectionMethod";
            }
            return;
        }
        if !self.fixed && !self.from_trace_log {
            match &*e.key {
                "events" => {
                    settings.events(&e.value);
                    self.has_settings = true;
                }
                "interval" => settings.interval(&e.value),
                _ => {}
            }
        }
        if settings::is_name(&e.key) {
            let mut value = String::new();
            value::escape_bare(&e.value, &mut value);
            self.options.push((e.key.clone().into_owned(), value));
        } else {
            dropped.event(Dropped::Options);
        }
    }

    /// Returns the start of the trace, in milliseconds since 1970. It is the start in the opening
    /// events, or else the time of `event`.
    pub(super) fn start_ms(&mut self, event: &Event<'_>) -> i64 {
        let first = event.time().map(clock::whole_ms).unwrap_or_default();
        *self.start_ms.get_or_insert(first)
    }

    /// Writes the head of the trace.
    pub(super) fn write(&self, settings: &Settings, out: &mut Vec<u8>) {
        out.extend_from_slice(b"prf stm ");
        let start = self.start_ms.unwrap_or_default();
        out.extend_from_slice(clock::write(start, self.minutes_west).as_bytes());
        out.push(b'\n');
        settings.write(out);
        for (name, value) in &self.options {
            settings::line(name, value, out);
        }
        // Thread 0 stands for the process: readers look for a thread whose operating-system id is
        // the process id.
        out.extend_from_slice(b"thr crt 0x0000000000000001 0x00000000\nthr aos 0x00000000 ");
        value::dec(self.pid, out);
        out.extend_from_slice(b"\napd crf 0x0000000000000001 ");
        value::h64(self.pid, out);
        out.extend_from_slice(b" 0x00000000 ");
        let mut name = String::new();
        value::escape(&self.name, &[], &mut name);
        super::quoted(&name, out);
        out.push(b'\n');
        super::definitions::loader(1, DEFAULT_LOADER, out);
    }
}
