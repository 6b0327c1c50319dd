//! Lines before the trace proper.

use super::dropped::Dropped;
use crate::tally::DropTally;
use crate::tracelog::settings::Settings;
use crate::tracelog::wire::DEFAULT_LOADER;
use crate::tracelog::{clock, settings, value};
use jtrail_model::{Event, TraceOption};

/// What is known of the trace before its first line is written.
#[derive(Debug, Default)]
pub(super) struct Opening {
    /// The settings are the caller's: options of the trace do not change them.
    pub(super) fixed: bool,
    /// Configuration lines came: the trace was a trace log before.
    pub(super) recoded: bool,
    /// The trace said what it holds.
    pub(super) has_settings: bool,
    start_ms: Option<i64>,
    minutes_west: i32,
    pub(super) pid: u64,
    name: String,
    /// Further options with their values as written; their lines follow those of the settings.
    options: Vec<(String, String)>,
}

impl Opening {
    /// Returns an opening that learns nothing from the options of the trace.
    pub(super) fn fixed() -> Self {
        Self {
            fixed: true,
            has_settings: true,
            ..Self::default()
        }
    }

    /// Handles an event, if it belongs before the first line.
    pub(super) fn take(
        &mut self,
        event: &Event<'_>,
        settings: &mut Settings,
        dropped: &mut DropTally<Dropped>,
    ) -> bool {
        match event {
            Event::Node(e) => {
                self.start_ms.get_or_insert(clock::whole_ms(e.time));
                // Time zones differ from UTC by less than a day; with larger offsets, times might
                // not be readable.
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
        // A trace that was a trace log says of its maps what they hold.
        ours.code_maps &= self.recoded;
        if ours.line(&e.key, &e.value) {
            self.recoded = true;
            if !self.fixed {
                *settings = ours;
                self.has_settings |= e.key == "CollectionMethod";
            }
            return;
        }
        if !self.fixed && !self.recoded {
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

    /// When the trace starts, in milliseconds since 1970.
    pub(super) fn start_ms(&mut self, event: &Event<'_>) -> i64 {
        let first = event.time().map(clock::whole_ms).unwrap_or_default();
        *self.start_ms.get_or_insert(first)
    }

    /// Writes all of it.
    pub(super) fn write(&self, settings: &Settings, out: &mut Vec<u8>) {
        out.extend_from_slice(b"prf stm ");
        let start = self.start_ms.unwrap_or_default();
        out.extend_from_slice(clock::write(start, self.minutes_west).as_bytes());
        out.push(b'\n');
        settings.write(out);
        for (name, value) in &self.options {
            settings::line(name, value, out);
        }
        // Thread 0 represents the process: readers look for the thread whose number is the
        // process's.
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
