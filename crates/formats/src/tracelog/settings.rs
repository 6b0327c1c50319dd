//! What a trace contains: the configuration lines at the head of the trace.

use super::value;

/// How calls are recorded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Collection {
    /// Calls are not written.
    None,
    /// Samples of stacks are written in place of calls.
    Sampling,
    /// Each call is written.
    #[default]
    Instrumentation,
}

impl Collection {
    const ALL: [Self; 3] = [Self::None, Self::Sampling, Self::Instrumentation];

    const fn name(self) -> &'static str {
        match self {
            Self::None => "None",
            Self::Sampling => "Sampling",
            Self::Instrumentation => "Instrumentation",
        }
    }

    /// Returns the collection method called `name`.
    pub(super) fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|c| c.name() == name)
    }
}

/// What an encoder writes. Lines of a kind that is switched off are dropped.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// How calls are recorded.
    pub collection: Collection,
    /// Milliseconds between two samples; written to the configuration only.
    pub sampling_interval_ms: u64,
    /// True if each sample has a line of its own. Otherwise, consecutive samples of one stack are
    /// one line.
    pub high_granularity: bool,
    /// True if the trace begins with a pause.
    pub suspended_on_start: bool,
    /// True if `prc cpu` lines are written.
    pub process_cpu: bool,
    /// True if `thr cpu` lines are written.
    pub thread_cpu: bool,
    /// Minimum milliseconds between two derived CPU lines. CPU lines of a thread are derived from
    /// calls, and those of the process from threads. Sums of allocations end at multiples of this
    /// time.
    pub cpu_interval_ms: u64,
    /// True if `sam mem` lines are written.
    pub memory: bool,
    /// True if `gch gcs` and `gch gcf` lines are written.
    pub gc: bool,
    /// True if `gch alt` lines are written.
    pub live_tables: bool,
    /// True if code maps with source lines are written.
    pub code_maps: bool,
    /// True if `jit` and `gch` lines have the process id, in decimal, as their thread. The Visual
    /// Studio tools read only this form.
    pub os_thread_ids: bool,
}

/// The default writes all kinds of lines, in instrumentation mode.
impl Default for Settings {
    fn default() -> Self {
        Self {
            collection: Collection::Instrumentation,
            sampling_interval_ms: 0,
            high_granularity: false,
            suspended_on_start: false,
            process_cpu: true,
            thread_cpu: true,
            cpu_interval_ms: 10,
            memory: true,
            gc: true,
            live_tables: true,
            code_maps: true,
            os_thread_ids: false,
        }
    }
}

/// Name and value of the configuration line that distinguishes our code maps from those of other
/// writers.
const MAP_UNIT: (&str, &str) = ("CodeMapUnit", "SourceLine");

/// True if a configuration line says that code maps have source lines instead of bytecode offsets.
pub(super) fn has_line_maps(name: &str, value: &str) -> bool {
    (name, value) == MAP_UNIT
}

const DEFAULT_EVENTS: &str = "methods+threads+classes+gc";
const DEFAULT_INTERVAL_MS: u64 = 10;

impl Settings {
    /// Applies the option `events` of a jtrail trace, which lists the kinds of recorded events.
    pub(super) fn events(&mut self, events: &str) {
        let joined;
        let events = match events.strip_prefix('+') {
            Some(more) => {
                joined = format!("{DEFAULT_EVENTS}+{more}");
                &joined
            }
            None => events,
        };
        let has = |kind: &str| events.split('+').any(|word| word == kind || word == "all");
        self.collection = if has("methods") {
            Collection::Instrumentation
        } else if has("samples") {
            Collection::Sampling
        } else {
            Collection::None
        };
        if self.collection == Collection::Sampling && self.sampling_interval_ms == 0 {
            self.sampling_interval_ms = DEFAULT_INTERVAL_MS;
        }
        self.memory = has("alloc");
        self.live_tables = has("alloc") && has("free");
        self.gc = has("gc") || self.live_tables;
        self.thread_cpu = has("cpu");
        self.process_cpu = has("cpu");
        self.code_maps = has("jit");
    }

    /// Reads the time between two samples in the format of jtrail's options (`10ms`, `2s`, `1m`).
    pub(super) fn interval(&mut self, text: &str) {
        let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
        let factor = match &text[digits.len()..] {
            "ms" => 1,
            "s" => 1000,
            "m" => 60_000,
            _ => return,
        };
        if let Some(ms) = digits.parse().ok().and_then(|n: u64| n.checked_mul(factor)) {
            self.sampling_interval_ms = ms;
        }
    }

    /// Reads a configuration line. Returns false if its name is unknown.
    pub(super) fn line(&mut self, name: &str, value: &str) -> bool {
        let switch = value == "T";
        let number = || value::read_dec(value.as_bytes());
        match name {
            "CollectionMethod" => self.collection = Collection::by_name(value).unwrap_or_default(),
            "SamplingTimeoutMs" => self.sampling_interval_ms = number().unwrap_or_default(),
            "HighGranularityEnabled" => self.high_granularity = switch,
            "TracingSuspendedOnStart" => self.suspended_on_start = switch,
            "CpuTraceProcessEnabled" => self.process_cpu = switch,
            "CpuTraceThreadEnabled" => self.thread_cpu = switch,
            "CpuTraceTimeoutMs" => self.cpu_interval_ms = number().unwrap_or_default(),
            "MemoryTraceEnabled" => self.memory = switch,
            "GcTraceEnabled" => self.gc = switch,
            "GcAllocTableEnabled" => self.live_tables = switch,
            name if name == MAP_UNIT.0 => self.code_maps = has_line_maps(name, value),
            "LineTraceEnabled" | "ExecutionTraceEnabled" | "StackTrackingEnabled" => {}
            _ => return false,
        }
        true
    }

    /// Writes the configuration lines.
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let switch = |on: bool| if on { "T" } else { "F" };
        let calls = self.collection == Collection::Instrumentation;
        let sampling = self.sampling_interval_ms.to_string();
        let cpu = self.cpu_interval_ms.to_string();
        for (name, value) in [
            ("CollectionMethod", self.collection.name()),
            ("SamplingTimeoutMs", &sampling),
            ("HighGranularityEnabled", switch(self.high_granularity)),
            ("TracingSuspendedOnStart", switch(self.suspended_on_start)),
            // The model has no addresses in frames.
            ("LineTraceEnabled", switch(false)),
            ("CpuTraceProcessEnabled", switch(self.process_cpu)),
            ("CpuTraceThreadEnabled", switch(self.thread_cpu)),
            ("CpuTraceTimeoutMs", &cpu),
            (
                "ExecutionTraceEnabled",
                switch(self.collection != Collection::None),
            ),
            ("MemoryTraceEnabled", switch(self.memory)),
            // The calls that are open at an allocation are known only if single calls are recorded.
            ("StackTrackingEnabled", switch(calls)),
            ("GcTraceEnabled", switch(self.gc)),
            ("GcAllocTableEnabled", switch(self.live_tables)),
        ] {
            line(name, value, out);
        }
        if self.code_maps {
            line(MAP_UNIT.0, MAP_UNIT.1, out);
        }
    }
}

/// Writes one configuration line. The caller has already escaped `value`.
pub(super) fn line(name: &str, value: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"prf cfg ");
    out.extend_from_slice(name.as_bytes());
    out.push(b' ');
    out.extend_from_slice(value.as_bytes());
    out.push(b'\n');
}

/// True if a configuration line may have the name `name`.
pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_back_as_written() {
        let settings = Settings {
            collection: Collection::Sampling,
            sampling_interval_ms: 7,
            high_granularity: true,
            suspended_on_start: true,
            process_cpu: false,
            thread_cpu: true,
            cpu_interval_ms: 99,
            memory: false,
            gc: true,
            live_tables: false,
            code_maps: true,
            os_thread_ids: false,
        };
        for settings in [settings, Settings::default()] {
            let mut out = Vec::new();
            settings.write(&mut out);
            let mut read = Settings {
                collection: Collection::None,
                ..Settings::default()
            };
            let lines = String::from_utf8(out).unwrap();
            for line in lines.lines() {
                let (name, value) = line[8..].split_once(' ').unwrap();
                assert!(is_name(name) && read.line(name, value), "{line}");
            }
            assert_eq!(lines.lines().count(), 14);
            assert_eq!(read, settings);
        }
        assert!(!is_name("") && !is_name("1a") && !is_name("CPU_TIME"));
    }

    #[test]
    fn kinds_of_events_choose_lines() {
        let learned = |events: &str| {
            let mut settings = Settings::default();
            settings.events(events);
            settings
        };
        let s = learned("methods+threads+classes+gc");
        assert_eq!(s.collection, Collection::Instrumentation);
        assert!(s.gc && !s.memory && !s.live_tables && !s.thread_cpu);
        assert_eq!(learned("+cpu").collection, Collection::Instrumentation);
        assert!(learned("+cpu").process_cpu);
        let s = learned("samples+alloc+free");
        assert_eq!(s.collection, Collection::Sampling);
        assert!(s.memory && s.live_tables && s.gc);
        assert_eq!(s.sampling_interval_ms, 10);
        assert_eq!(learned("gc").collection, Collection::None);
        assert!(learned("+jit").code_maps && !learned("gc").code_maps);
        assert_eq!(learned("all"), Settings::default());
        let mut s = Settings::default();
        for (text, ms) in [("20ms", 20), ("2s", 2000), ("1m", 60_000), ("x", 60_000)] {
            s.interval(text);
            assert_eq!(s.sampling_interval_ms, ms);
        }
    }
}
