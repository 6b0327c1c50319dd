//! The options as a whole, and what follows from them.

use crate::burst::{Burst, Trigger};
use crate::file::FilePattern;
use crate::filter::Filter;
use crate::keys::keys;
use crate::set::{Events, HeapMoments, SaveMoments};
use crate::socket::Control;
use crate::value::{
    AllocMode, AtMaxSize, Clock, Compat, Engine, MAX_STACK_DEPTH, MlpdVersion, OnError,
    OutputFormat, Overflow, Priority, Server, Trivial, USUAL_STACK,
};
use std::time::Duration;

/// What the agent shall do.
///
/// Which options go together is in `checks.rs`. An option whose events are not recorded, or that
/// belongs to another format, has no effect.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Options {
    // The trace and its files.
    /// Format of the trace.
    pub format: OutputFormat,
    /// Name of the trace's file. [`OutputFormat::None`] writes none.
    pub file: FilePattern,
    /// Most bytes of a file, 1 MB or more; with [`AtMaxSize::Ring`] most bytes of all files
    /// together, 8 MB or more. `None` means no bound.
    pub max_size: Option<u64>,
    /// What happens to a trace that has grown to [`Self::max_size`].
    pub at_max_size: AtMaxSize,
    /// What happens when the trace can't be set up.
    pub on_error: OnError,

    // What is recorded.
    /// Kinds of events that are recorded: those requested that the format has fields for.
    pub events: Events,
    /// Kinds of events that were requested by name, and are not recorded because the format has no
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
    /// Each call is written. Otherwise calls are added up by thread and call path.
    pub exec_details: bool,
    /// Calls shorter than this are recorded as sums only: 1 ns to 1 h.
    pub min: Option<Duration>,
    /// Calls of methods that are called more often than so many times a second are added up: 10 to
    /// 10¹².
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
    /// Allocations are recorded with the method and the line that created the object.
    pub alloc_sites: bool,
    /// When heap snapshots are taken, if [`Events::HEAP`] is recorded.
    pub heap: HeapMoments,
    /// What the names of heap snapshots begin with (TPTP message 1038). Only an options file
    /// changes it.
    pub heap_name: String,
    /// Most frames of a stack that is taken with an event or a sample: 0 (no stacks) to 1024.
    /// `None` means [`Self::event_frames`] and [`Self::sample_frames`] decide.
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
    /// Where the socket of the command channel is. Never [`Control::Path`] with
    /// [`Server::Standalone`], which has no channel.
    pub control: Control,
    /// How long the program waits for a client, with [`Server::Controlled`].
    pub wait: Duration,
    /// How long the agent stays while no client is connected; then it leaves. `None` means for
    /// ever.
    pub linger: Option<Duration>,
    /// As which version the agent answers clients.
    pub compat: Compat,
    /// When something is recorded, and for how long; none means from the start. With
    /// [`Overflow::Ring`], what has the newest events saved.
    pub bursts: Vec<Burst>,

    // Of one format.
    /// Data version of a log profile ([`OutputFormat::Mlpd`]).
    pub mlpd: MlpdVersion,
    /// Each sample is a line of its own; otherwise neighbours of one stack share one
    /// ([`OutputFormat::TraceLog`]).
    pub every_sample: bool,
    /// Least time between two lines of CPU time, 1 ms to 1 h, in whole milliseconds
    /// ([`OutputFormat::TraceLog`]).
    pub cpu_interval: Duration,
    /// Lines of the JVM's own threads are written as the Visual Studio tools read them
    /// ([`OutputFormat::TraceLog`]).
    pub visual_studio: bool,
    /// Buffers are in a file beside the trace, if [`Self::has_spool`] ([`OutputFormat::Trail`]).
    pub spool: bool,
    /// How many threads help the writer, from 0 to 8; `None` means that the number of processors
    /// decides ([`OutputFormat::Trail`]).
    pub writers: Option<usize>,

    // Of the whole text.
    /// Filter rules are written into the trace (TPTP message 1007). Only an options file changes
    /// it.
    pub write_filters: bool,
    /// Options are written into the trace (TPTP message 1008). Only an options file changes it.
    pub write_options: bool,
    /// The option text as received.
    pub text: String,
}

/// What holds without any key.
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
            // Not out of memory: HotSpot prints a line on the program's standard output for each
            // such moment, if an agent enables that event.
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
            write_filters: true,
            write_options: true,
            text: String::new(),
        }
    }
}

impl Options {
    /// Returns the most frames of a sample in a trace of this format.
    pub fn sample_frames(&self) -> u16 {
        let usual = if self.format.keeps_roots() {
            MAX_STACK_DEPTH
        } else {
            USUAL_STACK
        };
        self.stack_depth.unwrap_or(usual)
    }

    /// Returns the most frames of a stack that is taken with an event that is not a sample.
    pub fn event_frames(&self) -> u16 {
        self.stack_depth.unwrap_or(USUAL_STACK)
    }

    /// True if allocations are seen by hooks where code creates objects.
    pub fn has_alloc_probes(&self) -> bool {
        self.alloc == AllocMode::Sites && self.events.contains(Events::ALLOC)
    }

    /// True if objects that hooks see where code creates them have identity.
    pub fn has_identity_at_sites(&self) -> bool {
        self.has_alloc_probes() && self.events.contains(Events::FREE)
    }

    /// True if calls get a time stamp only where the clock has ticked.
    pub fn has_ticks(&self) -> bool {
        self.clock == Clock::Tick
    }

    /// True if some calls are added up, because they are short or their method is called often.
    pub(crate) fn has_short_calls(&self) -> bool {
        self.min.is_some() || self.max_rate.is_some()
    }

    /// True if what is not written yet is kept where it outlives the process, provided that the
    /// trace goes into a file.
    pub fn has_spool(&self) -> bool {
        self.spool && self.exec_details && self.format == OutputFormat::Trail
    }

    /// True if this is a flight recorder, whose newest events are written at that moment.
    pub fn saves_at(&self, moment: SaveMoments) -> bool {
        self.overflow == Overflow::Ring && self.save.contains(moment)
    }

    /// True if the trace is one of sums, which are written when it ends.
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

    /// True if only bursts are recorded. A flight recorder ([`Overflow::Ring`]) records all, and
    /// what would begin a burst has the newest events saved.
    pub fn has_bursts(&self) -> bool {
        !self.bursts.is_empty() && self.overflow != Overflow::Ring
    }

    /// True if calls of methods begin bursts, at their begin or at their end.
    pub fn has_call_triggers(&self) -> bool {
        self.bursts.iter().any(|burst| burst.trigger.is_call())
    }

    /// True if exceptions begin bursts.
    pub fn has_exception_triggers(&self) -> bool {
        let is_exception = |burst: &Burst| matches!(burst.trigger, Trigger::Exception { .. });
        self.bursts.iter().any(is_exception)
    }

    /// Requests these kinds of events: they are recorded if the format has fields for them.
    /// The others are noted as left out, unless simply all kinds are requested.
    pub(crate) fn request(&mut self, events: Events, is_all: bool) {
        let (recorded, unsupported) = self.format.split(events);
        self.events = recorded;
        self.unsupported = if is_all { Events::NONE } else { unsupported };
    }

    /// Returns keys and values as they are in force, defaults included: what TPTP message 1008
    /// says.
    pub fn in_force(&self) -> Vec<(String, String)> {
        let own = keys().flat_map(|key| key.in_force(self));
        let own = own.map(|(key, value)| (key.to_owned(), value));
        own.chain(self.file_options.iter().cloned()).collect()
    }
}
