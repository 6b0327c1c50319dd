//! All options, and properties that follow from them.

use crate::burst::{Burst, Trigger};
use crate::file::FilePattern;
use crate::filter::Filter;
use crate::keys::keys;
use crate::set::{Events, HeapMoments, SaveMoments};
use crate::socket::Control;
use crate::value::{
    AllocMode, AtMaxSize, Clock, Compat, Engine, MAX_STACK_DEPTH, MlpdVersion, OnError,
    OutputFormat, Overflow, Priority, Server, Trivial, USUAL_STACK, Weight,
};
use std::time::Duration;

/// The settings of the agent.
///
/// `checks.rs` says which options go together. An option has no effect if its events are not
/// recorded, or if it belongs to another format.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Options {
    // The trace and its files.
    /// Format of the trace.
    pub format: OutputFormat,
    /// Name of the trace's file. [`OutputFormat::None`] writes none.
    pub file: FilePattern,
    /// Maximum size of a file in bytes, 1 MiB or more. With [`AtMaxSize::Ring`], it is the maximum
    /// size of all files together, 8 MiB or more. `None` means no limit.
    pub max_size: Option<u64>,
    /// What happens to a trace that has grown to [`Self::max_size`].
    pub at_max_size: AtMaxSize,
    /// What happens when the trace can't be set up.
    pub on_error: OnError,

    // What is recorded.
    /// Kinds of events that are recorded: the requested kinds for which the format has fields.
    pub events: Events,
    /// Kinds of events that were requested by name but are not recorded, because the format has no
    /// field for them.
    pub unsupported: Events,
    /// Which methods are traced.
    pub filter: Filter,
    /// Values of `include` (true) and `exclude` (false), in the order given.
    pub patterns: Vec<(bool, String)>,
    /// Path of the filter file, if one was given.
    pub filters_file: Option<String>,
    /// Path of the options file, if one was given.
    pub options_file: Option<String>,
    /// Lines of the options file: key and value as written.
    pub file_options: Vec<(String, String)>,

    // Calls.
    /// True if each call is written. Otherwise calls are added up by thread and call path.
    pub exec_details: bool,
    /// Calls shorter than this are recorded as sums only: 1 ns to 1 h.
    pub min: Option<Duration>,
    /// Calls of a method are added up if the method is called more often per second than this: 10
    /// to 10¹².
    pub max_rate: Option<u64>,
    /// What happens to calls of short methods without calls, loops and monitors.
    pub trivial: Trivial,
    /// How calls are seen.
    pub engine: Engine,
    /// How calls get their time.
    pub clock: Clock,
    /// How often the clock ticks, if it is [`Clock::Tick`]: 10 µs to 10 ms.
    pub tick: Duration,

    // Objects, heap, stacks and samples.
    /// How allocations are seen, if [`Events::ALLOC`] is recorded.
    pub alloc: AllocMode,
    /// True if allocations are recorded with the method and the line that created the object.
    pub alloc_sites: bool,
    /// When heap snapshots are taken, if [`Events::HEAP`] is recorded.
    pub heap: HeapMoments,
    /// The start of the names of heap snapshots (TPTP message 1038). Only an options file changes
    /// it.
    pub heap_name: String,
    /// Maximum number of frames of the stack of an event or sample: 0 (no stacks) to 1024. `None`
    /// means the default; [`Self::event_frames`] and [`Self::sample_frames`] return the effective
    /// numbers.
    pub stack_depth: Option<u16>,
    /// Pause between two samples, 1 ms to 1 h, in whole milliseconds.
    pub interval: Duration,

    // Buffers and writing.
    /// Size of all buffers together, in bytes.
    pub buffer_bytes: u64,
    /// What happens when all buffers are full.
    pub overflow: Overflow,
    /// When the newest events are written, with [`Overflow::Ring`].
    pub save: SaveMoments,
    /// Priority of the threads that write the trace.
    pub priority: Priority,

    // Begin, end and clients.
    /// What begins and ends the trace.
    pub server: Server,
    /// Location of the command channel's socket. Never [`Control::Path`] with
    /// [`Server::Standalone`], because there is no channel then.
    pub control: Control,
    /// How long the program waits for a client, with [`Server::Controlled`].
    pub wait: Duration,
    /// How long the agent stays while no client is connected. Then it detaches. `None` means
    /// forever.
    pub linger: Option<Duration>,
    /// The version that the agent presents to clients.
    pub compat: Compat,
    /// The bursts that are recorded. If there are none, everything is recorded from the start. With
    /// [`Overflow::Ring`], these are the triggers that save the newest events.
    pub bursts: Vec<Burst>,

    // Of some formats.
    /// Data version of a log profile ([`OutputFormat::Mlpd`]).
    pub mlpd: MlpdVersion,
    /// True if each sample is a line of its own. Otherwise successive samples with the same stack
    /// share a line ([`OutputFormat::TraceLog`]).
    pub every_sample: bool,
    /// Minimum time between two lines of CPU time, 1 ms to 1 h, in whole milliseconds
    /// ([`OutputFormat::TraceLog`]).
    pub cpu_interval: Duration,
    /// True if lines of the JVM's own threads are written in the form that the Visual Studio tools
    /// read ([`OutputFormat::TraceLog`]).
    pub visual_studio: bool,
    /// True if buffers are in a file beside the trace. [`Self::has_spool`] says whether this has an
    /// effect ([`OutputFormat::Trail`]).
    pub spool: bool,
    /// Number of threads that help the writer, 0 to 8. `None` means that it depends on the number
    /// of processors ([`OutputFormat::Trail`]).
    pub writers: Option<usize>,
    /// Calls and waits shorter than this are not written: they become part of their callers. 1 ns
    /// to 1 h ([`OutputFormat::is_export`]).
    pub export_min: Option<Duration>,
    /// Number of levels of calls that are written, 1 or more: deeper calls become part of their
    /// callers ([`OutputFormat::is_export`]).
    pub export_depth: Option<u32>,
    /// What call paths are weighted by ([`OutputFormat::Collapsed`]).
    pub weight: Weight,
    /// True if call paths of different threads are kept apart ([`OutputFormat::Collapsed`]).
    pub with_threads: bool,

    // Of the whole text.
    /// True if filter rules are written into the trace (TPTP message 1007). Only an options file
    /// changes it.
    pub write_filters: bool,
    /// True if options are written into the trace (TPTP message 1008). Only an options file changes
    /// it.
    pub write_options: bool,
    /// The option text as received.
    pub text: String,
}

/// The options of an empty option text.
impl Default for Options {
    fn default() -> Self {
        let format = OutputFormat::Xml;
        Self {
            format,
            file: FilePattern::default_for(format),
            max_size: None,
            at_max_size: AtMaxSize::Rotate,
            on_error: OnError::Stop,
            events: format.default_events(),
            unsupported: Events::NONE,
            filter: Filter::default(),
            patterns: Vec::new(),
            filters_file: None,
            options_file: None,
            file_options: Vec::new(),
            exec_details: true,
            min: None,
            max_rate: None,
            trivial: Trivial::Trace,
            engine: Engine::Bytecode,
            clock: Clock::Exact,
            tick: Duration::from_micros(50),
            alloc: AllocMode::Jvm,
            alloc_sites: false,
            heap: HeapMoments::EXIT.union(HeapMoments::REQUEST),
            heap_name: "heapdump".to_owned(),
            stack_depth: None,
            interval: Duration::from_millis(10),
            buffer_bytes: 64 << 20,
            overflow: Overflow::Block,
            // `OUT_OF_MEMORY` is not a default: if an agent enables this event, HotSpot prints a
            // line on the program's standard output each time it occurs.
            save: SaveMoments::EXIT.union(SaveMoments::REQUEST),
            priority: Priority::Normal,
            server: Server::Standalone,
            control: Control::Usual,
            wait: Duration::from_secs(60),
            linger: None,
            compat: Compat::Current,
            bursts: Vec::new(),
            mlpd: MlpdVersion::V1,
            every_sample: false,
            cpu_interval: Duration::from_millis(10),
            visual_studio: false,
            spool: true,
            writers: None,
            export_min: None,
            export_depth: None,
            weight: Weight::SelfTime,
            with_threads: false,
            write_filters: true,
            write_options: true,
            text: String::new(),
        }
    }
}

impl Options {
    /// Returns the maximum number of frames of a sample in a trace of this format.
    pub fn sample_frames(&self) -> u16 {
        let usual = if self.format.keeps_roots() {
            MAX_STACK_DEPTH
        } else {
            USUAL_STACK
        };
        self.stack_depth.unwrap_or(usual)
    }

    /// Returns the maximum number of frames of the stack of an event that is not a sample.
    pub fn event_frames(&self) -> u16 {
        self.stack_depth.unwrap_or(USUAL_STACK)
    }

    /// True if allocations are seen by hooks in the code that creates objects.
    pub fn has_alloc_probes(&self) -> bool {
        self.alloc == AllocMode::Sites && self.events.contains(Events::ALLOC)
    }

    /// True if objects that are seen by hooks in the code that creates them have identity.
    pub fn has_identity_at_sites(&self) -> bool {
        self.has_alloc_probes() && self.events.contains(Events::FREE)
    }

    /// True if calls get a new time stamp only after the clock has ticked.
    pub fn has_ticks(&self) -> bool {
        self.clock == Clock::Tick
    }

    /// True if some calls are added up, because they are short or their method is called often.
    pub(crate) fn has_short_calls(&self) -> bool {
        self.min.is_some() || self.max_rate.is_some()
    }

    /// True if events that are not written yet survive the end of the process. This also requires
    /// that the trace goes into a file.
    pub fn has_spool(&self) -> bool {
        self.spool && self.exec_details && self.format == OutputFormat::Trail
    }

    /// True if this is a flight recorder that writes its newest events at `moment`.
    pub fn saves_at(&self, moment: SaveMoments) -> bool {
        self.overflow == Overflow::Ring && self.save.contains(moment)
    }

    /// True if this is a trace of sums. Sums are written when the trace ends.
    pub fn is_of_sums(&self) -> bool {
        !self.exec_details || self.format == OutputFormat::ProfilerJ
    }

    /// True if a trace begins only when a client or the program starts one.
    pub fn begins_idle(&self) -> bool {
        match self.server {
            Server::Standalone => false,
            Server::Enabled => self.format == OutputFormat::None,
            Server::Controlled | Server::Application => true,
        }
    }

    /// True if only bursts are recorded. False for a flight recorder ([`Overflow::Ring`]): it
    /// records everything, and its triggers save the newest events.
    pub fn has_bursts(&self) -> bool {
        !self.bursts.is_empty() && self.overflow != Overflow::Ring
    }

    /// True if the start or the end of calls may begin a burst.
    pub fn has_call_triggers(&self) -> bool {
        self.bursts.iter().any(|burst| burst.trigger.is_call())
    }

    /// True if exceptions may begin a burst.
    pub fn has_exception_triggers(&self) -> bool {
        let is_exception = |burst: &Burst| matches!(burst.trigger, Trigger::Exception { .. });
        self.bursts.iter().any(is_exception)
    }

    /// Requests these kinds of events. They are recorded if the format has fields for them. The
    /// others are stored in [`Self::unsupported`], unless `is_all` says that all kinds were
    /// requested without their names.
    pub(crate) fn request(&mut self, events: Events, is_all: bool) {
        let (recorded, unsupported) = self.format.split(events);
        self.events = recorded;
        self.unsupported = if is_all { Events::NONE } else { unsupported };
    }

    /// Returns the effective keys and values, including defaults, as in TPTP message 1008.
    pub fn in_force(&self) -> Vec<(String, String)> {
        let own = keys().flat_map(|key| key.in_force(self));
        let own = own.map(|(key, value)| (key.to_owned(), value));
        own.chain(self.file_options.iter().cloned()).collect()
    }
}
