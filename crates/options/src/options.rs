//! The options as a whole, and the parser of our own spelling.

use crate::burst::{Burst, MOST_BURSTS, Trigger};
use crate::error::{OptionError, did_you_mean, quoted};
use crate::file::FilePattern;
use crate::filter::{Filter, push_rules};
use crate::item::{Item, split};
use crate::keys::{KEYS, LATER_KEYS, find, help};
use crate::set::{Events, HeapMoments, SaveMoments};
use crate::tptp;
use crate::value::{
    AllocMode, AtMaxSize, Clock, Compat, DEEPEST_STACK, Engine, MlpdVersion, OnError, OutputFormat,
    Overflow, Priority, Server, Trivial, USUAL_STACK, duration_text, interval_text, parse_boolean,
    parse_buffer, parse_duration, parse_interval, parse_max_size, parse_min, parse_rate,
    parse_stack_depth, parse_tick, parse_writers, size_text,
};
use std::io;
use std::time::Duration;

/// What the agent shall do.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Format of the trace.
    pub format: OutputFormat,
    /// Where it goes. Of no use with [`OutputFormat::None`].
    pub file: FilePattern,
    /// Which methods are traced.
    pub filter: Filter,
    /// What becomes of calls of short methods without calls, loops and monitors. [`Trivial::Skip`]
    /// does not come with [`Engine::Jvmti`].
    pub trivial: Trivial,
    /// How calls are seen.
    pub engine: Engine,
    /// How calls get their time. [`Clock::Tick`] comes neither with [`Engine::Jvmti`] nor with
    /// [`Events::CPU`].
    pub clock: Clock,
    /// How often the clock ticks, if it is [`Clock::Tick`]: 10 µs to 10 ms.
    pub tick: Duration,
    /// What happens when all buffers are full.
    pub overflow: Overflow,
    /// When the newest events are written, with [`Overflow::Ring`], which comes only with
    /// [`Server::Standalone`], without bursts, [`Self::max_size`], sums, and events that name
    /// objects or count lines.
    pub save: SaveMoments,
    /// Size of all buffers together, in bytes.
    pub buffer_bytes: u64,
    /// Whether these are in a file beside the trace, if [`Self::has_spool`].
    pub spool: bool,
    /// Threads that help the writer, from 0 to 8, with [`OutputFormat::Trail`]; none where it
    /// follows from the number of processors.
    pub writers: Option<usize>,
    /// How these, and the one that they help, share processors with the program.
    pub priority: Priority,
    /// With [`AtMaxSize::Rotate`], most bytes of a file, 1 MB or more; with [`AtMaxSize::Ring`], of
    /// all files together, 8 MB or more. None where calls are added up, nor on the standard output.
    pub max_size: Option<u64>,
    /// What becomes of a trace that has grown to that.
    pub at_max_size: AtMaxSize,
    /// Calls that take less are added up: 1 ns to 1 h. Of no use where all calls are; none where
    /// the format has no place for sums.
    pub min: Option<Duration>,
    /// Calls of methods that are called more often than so many times a second are added up,
    /// likewise: 10 to 10¹².
    pub max_rate: Option<u64>,
    /// What is recorded: all that was asked for and that the format has a place for.
    pub events: Events,
    /// What was asked for by name, and is not recorded because the format has no place for it.
    pub no_place: Events,
    /// Most frames of a stack that is taken with an event or a sample: 0 (no stacks) to 1024.
    /// Without it, they are those of [`Options::event_frames`] and [`Options::sample_frames`].
    pub stack_depth: Option<u16>,
    /// How allocations are seen, if [`Events::ALLOC`] is recorded. [`AllocMode::Sites`] comes
    /// neither with [`Engine::Jvmti`] nor with events that name objects, but for [`Events::FREE`].
    pub alloc: AllocMode,
    /// Whether an allocation tells the method and the line that made the object.
    pub alloc_sites: bool,
    /// Pause between two samples, 1 ms to 1 h, in whole milliseconds.
    pub interval: Duration,
    /// When heap snapshots are taken, if [`Events::HEAP`] is recorded.
    pub heap: HeapMoments,
    /// Each call is written. Otherwise calls are added up by thread and call path.
    pub exec_details: bool,
    /// What the names of heap snapshots begin with (TPTP message 1038). Only an options file
    /// changes it.
    pub heap_name: String,
    /// Data version of a log profile ([`OutputFormat::Mlpd`]).
    pub mlpd: MlpdVersion,
    /// Each sample is a line of its own; otherwise neighbours of one stack share one
    /// ([`OutputFormat::TraceLog`]).
    pub every_sample: bool,
    /// Lines of the JVM's own threads are written as the Visual Studio tools read them
    /// ([`OutputFormat::TraceLog`]).
    pub visual_studio: bool,
    /// The least time between two lines of CPU time, 1 ms to 1 h, in whole milliseconds
    /// ([`OutputFormat::TraceLog`]).
    pub cpu_interval: Duration,
    /// Who begins and ends the trace.
    pub server: Server,
    /// The socket of the command channel. Never [`Control::Path`] with [`Server::Standalone`],
    /// which has none.
    pub control: Control,
    /// How long the program waits for a client ([`Server::Controlled`]).
    pub wait: Duration,
    /// How long the agent stays while no client is connected; then it leaves. `None` means for
    /// ever. Only where clients may come.
    pub linger: Option<Duration>,
    /// As which version it answers clients.
    pub compat: Compat,
    /// When something is recorded, and for how long; none means from the start.
    pub bursts: Vec<Burst>,
    /// What happens when the trace can't be set up.
    pub on_error: OnError,
    /// Write the filter rules into the trace (TPTP message 1007).
    pub write_filters: bool,
    /// Write the options into the trace (TPTP message 1008).
    pub write_options: bool,
    /// The text as received.
    pub text: String,
    /// Values of `include` (true) and `exclude` (false), in the order given.
    pub patterns: Vec<(bool, String)>,
    /// Path of the filter file, if one was given.
    pub filters_file: Option<String>,
    /// Path of the options file, if one was given.
    pub options_file: Option<String>,
    /// Lines of the options file: key and value as written.
    pub file_options: Vec<(String, String)>,
}

/// Where the socket of the command channel is.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Control {
    /// Where it always is, if there is a command channel.
    #[default]
    Usual,
    /// There is none.
    Off,
    /// There.
    Path(FilePattern),
}

impl Control {
    fn parse(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self::Off),
            "-" => Err("a socket has a path".to_owned()),
            _ => FilePattern::parse(text).map(Self::Path),
        }
    }
}

impl Options {
    /// Everything at its default, with the given text as received.
    pub(crate) fn new(text: &str) -> Self {
        Self {
            format: OutputFormat::default(),
            file: FilePattern::default_for(OutputFormat::default()),
            filter: Filter::default(),
            trivial: Trivial::default(),
            engine: Engine::default(),
            clock: Clock::default(),
            tick: Duration::from_micros(50),
            overflow: Overflow::default(),
            save: SaveMoments::default(),
            buffer_bytes: 64 << 20,
            spool: true,
            writers: None,
            priority: Priority::default(),
            max_size: None,
            at_max_size: AtMaxSize::default(),
            min: None,
            max_rate: None,
            events: Events::default(),
            no_place: Events::NONE,
            stack_depth: None,
            alloc: AllocMode::default(),
            alloc_sites: false,
            interval: Duration::from_millis(10),
            heap: HeapMoments::default(),
            exec_details: true,
            heap_name: "heapdump".to_owned(),
            mlpd: MlpdVersion::default(),
            every_sample: false,
            visual_studio: false,
            cpu_interval: Duration::from_millis(10),
            server: Server::default(),
            control: Control::default(),
            wait: Duration::from_secs(60),
            linger: None,
            compat: Compat::default(),
            bursts: Vec::new(),
            on_error: OnError::default(),
            write_filters: true,
            write_options: true,
            text: text.to_owned(),
            patterns: Vec::new(),
            filters_file: None,
            options_file: None,
            file_options: Vec::new(),
        }
    }

    /// Most frames of a sample in a trace of this format.
    pub fn sample_frames(&self) -> u16 {
        let usual = if self.format.keeps_roots() {
            DEEPEST_STACK
        } else {
            USUAL_STACK
        };
        self.stack_depth.unwrap_or(usual)
    }

    /// Most frames of a stack that is taken with another event.
    pub fn event_frames(&self) -> u16 {
        self.stack_depth.unwrap_or(USUAL_STACK)
    }

    /// Whether allocations are seen by hooks where code creates objects.
    pub fn has_alloc_probes(&self) -> bool {
        self.alloc == AllocMode::Sites && self.events.contains(Events::ALLOC)
    }

    /// Whether objects that such hooks see have identity.
    pub fn has_identity_at_sites(&self) -> bool {
        self.has_alloc_probes() && self.events.contains(Events::FREE)
    }

    /// Whether calls get a stamp only where the clock has ticked.
    pub fn has_ticks(&self) -> bool {
        self.clock == Clock::Tick
    }

    /// Whether what is not written yet is kept where it outlives the process, if the trace goes
    /// into a file.
    pub fn has_spool(&self) -> bool {
        self.spool && self.exec_details && self.format == OutputFormat::Trail
    }

    /// Whether the newest events are kept, and written at that moment.
    pub fn saves_at(&self, moment: SaveMoments) -> bool {
        self.overflow == Overflow::Ring && self.save.contains(moment)
    }

    /// Whether the trace is one of sums, which are written when it ends.
    pub fn is_of_sums(&self) -> bool {
        !self.exec_details || self.format == OutputFormat::ProfilerJ
    }

    /// Whether a trace begins only when a client or the program says so.
    pub fn begins_idle(&self) -> bool {
        match self.server {
            Server::Standalone => false,
            Server::Enabled => self.format == OutputFormat::None,
            Server::Controlled | Server::Application => true,
        }
    }

    /// Whether only bursts are recorded. With [`Overflow::Ring`], all is, and what would begin
    /// bursts has it saved.
    pub fn has_bursts(&self) -> bool {
        !self.bursts.is_empty() && self.overflow != Overflow::Ring
    }

    /// Whether calls of methods begin bursts, at their begin or at their end.
    pub fn has_call_triggers(&self) -> bool {
        self.bursts.iter().any(|burst| burst.trigger.is_call())
    }

    /// Whether exceptions begin bursts.
    pub fn has_exception_triggers(&self) -> bool {
        let is_exception = |burst: &Burst| matches!(burst.trigger, Trigger::Exception { .. });
        self.bursts.iter().any(is_exception)
    }

    /// Keys and values as they are in force, defaults included: what TPTP message 1008 says.
    pub fn in_force(&self) -> Vec<(String, String)> {
        let mut out = vec![("format".to_owned(), self.format.to_string())];
        let mut add = |key: &str, value: &str| out.push((key.to_owned(), value.to_owned()));
        if self.format != OutputFormat::None {
            add("file", self.file.text());
        }
        for (include, value) in &self.patterns {
            add(if *include { "include" } else { "exclude" }, value);
        }
        if let Some(path) = &self.filters_file {
            add("filters", path);
        }
        if let Some(path) = &self.options_file {
            add("options", path);
        }
        add("events", &self.events.to_string());
        add("stackdepth", &self.sample_frames().to_string());
        add("alloc", self.alloc.word());
        add("allocsites", &self.alloc_sites.to_string());
        add("interval", &interval_text(self.interval));
        add("heap", &self.heap.to_string());
        add("execdetails", &self.exec_details.to_string());
        if let Some(min) = self.min {
            add("min", &duration_text(min));
        }
        if let Some(rate) = self.max_rate {
            add("maxrate", &rate.to_string());
        }
        add("trivial", self.trivial.word());
        add("engine", self.engine.word());
        add("clock", self.clock.word());
        if self.has_ticks() {
            add("tick", &duration_text(self.tick));
        }
        add("overflow", self.overflow.word());
        if self.overflow == Overflow::Ring {
            let moments = (self.save != SaveMoments::NONE).then(|| self.save.to_string());
            let triggers = self.bursts.iter().map(|burst| burst.trigger.to_string());
            let all: Vec<String> = moments.into_iter().chain(triggers).collect();
            add("save", &all.join("+"));
        }
        add("buffer", &size_text(self.buffer_bytes));
        if let Some(bytes) = self.max_size {
            add("maxsize", &size_text(bytes));
            add("atmaxsize", self.at_max_size.word());
        }
        if self.format == OutputFormat::Trail {
            add("spool", &self.spool.to_string());
            let writers = self.writers.map(|count| count.to_string());
            add("writers", writers.as_deref().unwrap_or("auto"));
        }
        if self.priority != Priority::default() {
            add("priority", self.priority.word());
        }
        match self.format {
            OutputFormat::Mlpd => add("mlpd", self.mlpd.word()),
            OutputFormat::TraceLog => {
                add("everysample", &self.every_sample.to_string());
                add("visualstudio", &self.visual_studio.to_string());
                add("cpuinterval", &interval_text(self.cpu_interval));
            }
            _ => {}
        }
        if self.server != Server::Standalone {
            add("server", self.server.word());
            add("wait", &duration_text(self.wait));
            if let Some(time) = self.linger {
                add("linger", &duration_text(time));
            }
            add("compat", self.compat.word());
        }
        match &self.control {
            Control::Usual => {}
            Control::Off => add("control", "off"),
            Control::Path(path) => add("control", path.text()),
        }
        for burst in self.bursts.iter().filter(|_| self.has_bursts()) {
            add("burst", &burst.to_string());
        }
        add("onerror", self.on_error.word());
        out.extend(self.file_options.iter().cloned());
        out
    }
}

pub(crate) fn parse(
    text: &str,
    read_file: &dyn Fn(&str) -> io::Result<String>,
) -> Result<Options, OptionError> {
    if text == "help" {
        return Err(OptionError::help(help()));
    }
    let mut options = Options::new(text);
    let mut rules = Vec::new();
    let mut file = None;
    let mut events = None;
    let mut alloc_at = 0;
    let mut details_at = 0;
    let mut short_at = ("min", 0);
    let mut trivial_at = 0;
    let mut clock_at = 0;
    let mut control_at = 0;
    let mut linger_at = 0;
    let mut server_given = false;
    let mut burst_at = 0;
    let mut max_size_at = 0;
    let mut overflow_at = 0;
    let mut saving = Vec::new();
    let mut save_at = 0;
    let mut seen: Vec<&str> = Vec::new();
    for item in split(text)? {
        let key = known(&item, &mut seen)?;
        let wrong = |problem: String| OptionError::at(item.key, item.value_at, problem);
        let value = item.value.as_str();
        match key {
            "format" => options.format = OutputFormat::parse(value).map_err(wrong)?,
            "file" => file = Some(FilePattern::parse(value).map_err(wrong)?),
            "include" | "exclude" => {
                let include = key == "include";
                if options.filters_file.is_some() {
                    return Err(both_filters(item.key, item.key_at));
                }
                push_rules(&mut rules, value, include).map_err(wrong)?;
                options.patterns.push((include, value.to_owned()));
            }
            "filters" => {
                if !options.patterns.is_empty() {
                    return Err(both_filters(item.key, item.key_at));
                }
                tptp::read_filters(&mut options, value, read_file).map_err(|e| e.or(wrong))?;
            }
            "options" => {
                tptp::read_options(&mut options, value, read_file).map_err(|e| e.or(wrong))?;
            }
            "events" => {
                // The default ones are the format's, which may come later.
                Events::parse(value, Events::default()).map_err(wrong)?;
                events = Some((value.to_owned(), item.value_at));
            }
            "stackdepth" => {
                options.stack_depth = Some(parse_stack_depth(value).map_err(wrong)?);
            }
            "alloc" => {
                options.alloc = AllocMode::parse(value).map_err(wrong)?;
                alloc_at = item.value_at;
            }
            "allocsites" => options.alloc_sites = parse_boolean(value).map_err(wrong)?,
            "interval" => options.interval = parse_interval(value).map_err(wrong)?,
            "heap" => options.heap = HeapMoments::parse(value).map_err(wrong)?,
            "execdetails" => {
                options.exec_details = parse_boolean(value).map_err(wrong)?;
                details_at = item.value_at;
            }
            "min" => {
                options.min = Some(parse_min(value).map_err(wrong)?);
                short_at = ("min", item.value_at);
            }
            "maxrate" => {
                options.max_rate = Some(parse_rate(value).map_err(wrong)?);
                short_at = ("maxrate", item.value_at);
            }
            "mlpd" => options.mlpd = MlpdVersion::parse(value).map_err(wrong)?,
            "everysample" => options.every_sample = parse_boolean(value).map_err(wrong)?,
            "visualstudio" => options.visual_studio = parse_boolean(value).map_err(wrong)?,
            "cpuinterval" => options.cpu_interval = parse_interval(value).map_err(wrong)?,
            "trivial" => {
                options.trivial = Trivial::parse(value).map_err(wrong)?;
                trivial_at = item.value_at;
            }
            "engine" => options.engine = Engine::parse(value).map_err(wrong)?,
            "clock" => {
                options.clock = Clock::parse(value).map_err(wrong)?;
                clock_at = item.value_at;
            }
            "tick" => options.tick = parse_tick(value).map_err(wrong)?,
            "overflow" => {
                options.overflow = Overflow::parse(value).map_err(wrong)?;
                overflow_at = item.value_at;
            }
            "save" => {
                let (moments, triggers) = SaveMoments::parse(value).map_err(wrong)?;
                if triggers.len() > MOST_BURSTS {
                    return Err(wrong(format!(
                        "there may be {MOST_BURSTS} triggers, no more"
                    )));
                }
                options.save = moments;
                saving = triggers.into_iter().map(Burst::saving).collect();
                save_at = item.value_at;
            }
            "buffer" => options.buffer_bytes = parse_buffer(value).map_err(wrong)?,
            "maxsize" => {
                options.max_size = Some(parse_max_size(value).map_err(wrong)?);
                max_size_at = item.value_at;
            }
            "atmaxsize" => options.at_max_size = AtMaxSize::parse(value).map_err(wrong)?,
            "spool" => options.spool = parse_boolean(value).map_err(wrong)?,
            "priority" => options.priority = Priority::parse(value).map_err(wrong)?,
            "writers" => options.writers = parse_writers(value).map_err(wrong)?,
            "server" => {
                options.server = Server::parse(value).map_err(wrong)?;
                server_given = true;
            }
            "control" => {
                options.control = Control::parse(value).map_err(wrong)?;
                control_at = item.value_at;
            }
            "wait" => options.wait = parse_duration(value).map_err(wrong)?,
            "linger" => {
                options.linger = Some(parse_duration(value).map_err(wrong)?);
                linger_at = item.value_at;
            }
            "compat" => {
                options.compat = Compat::parse(value).map_err(wrong)?;
            }
            "burst" => {
                if options.bursts.len() == MOST_BURSTS {
                    return Err(wrong(format!("there may be {MOST_BURSTS} bursts, no more")));
                }
                options.bursts.push(Burst::parse(value).map_err(wrong)?);
                burst_at = item.value_at;
            }
            "onerror" => options.on_error = OnError::parse(value).map_err(wrong)?,
            other => return Err(OptionError::at(other, item.key_at, "not handled")),
        }
    }
    let (text, events_at) = events.unwrap_or_default();
    let wrong = |problem| OptionError::at("events", events_at, problem);
    options.events = options.format.default_events();
    if !text.is_empty() {
        options.events = Events::parse(&text, options.events).map_err(wrong)?;
    }
    tptp::add_events(&mut options);
    place_events(&mut options, text == "all").map_err(wrong)?;
    without_rewriting(&options).map_err(wrong)?;
    without_identity(&options).map_err(|e| OptionError::at("alloc", alloc_at, e))?;
    has_place_for_sums(&options).map_err(|e| OptionError::at("execdetails", details_at, e))?;
    has_place_for_short_calls(&options).map_err(|e| OptionError::at(short_at.0, short_at.1, e))?;
    may_tick(&options).map_err(|e| OptionError::at("clock", clock_at, e))?;
    nothing_to_skip(&options).map_err(|e| OptionError::at("trivial", trivial_at, e))?;
    bursts_can_be_seen(&options).map_err(|e| OptionError::at("burst", burst_at, e))?;
    socket(&mut options, server_given).map_err(|e| OptionError::at("control", control_at, e))?;
    clients_may_come(&options).map_err(|e| OptionError::at("linger", linger_at, e))?;
    options.file = file.unwrap_or_else(|| FilePattern::default_for(options.format));
    can_be_a_ring(&options).map_err(|e| OptionError::at("overflow", overflow_at, e))?;
    if options.overflow == Overflow::Ring {
        options.bursts = saving;
        bursts_can_be_seen(&options).map_err(|e| OptionError::at("save", save_at, e))?;
    }
    has_files_to_bound(&options).map_err(|e| OptionError::at("maxsize", max_size_at, e))?;
    if options.filters_file.is_none() {
        options.filter = Filter::from_rules(rules);
    }
    Ok(options)
}

/// Only an agent that clients can reach may leave for want of one.
fn clients_may_come(options: &Options) -> Result<(), String> {
    let is_reachable = options.server != Server::Standalone && options.control != Control::Off;
    match options.linger {
        Some(_) if !is_reachable => {
            Err("there is no command channel, so no client can come".into())
        }
        _ => Ok(()),
    }
}

/// Brings `server` and `control` together: who names a socket wants clients.
fn socket(options: &mut Options, server_given: bool) -> Result<(), String> {
    match (&options.control, options.server) {
        (Control::Path(_), Server::Standalone) if server_given => {
            Err("server=standalone has no command channel".to_owned())
        }
        (Control::Path(_), Server::Standalone) => {
            options.server = Server::Enabled;
            Ok(())
        }
        (Control::Off, server @ (Server::Enabled | Server::Controlled)) => {
            Err(format!("server={server} needs the command channel"))
        }
        _ => Ok(()),
    }
}

/// Refuses bursts that could never begin, or that nothing would come of.
fn bursts_can_be_seen(options: &Options) -> Result<(), String> {
    if options.has_call_triggers() && options.engine == Engine::Jvmti {
        return Err("calls that begin a burst are seen in rewritten classes, and engine=jvmti rewrites none".to_owned());
    }
    if !options.bursts.is_empty() && options.format == OutputFormat::None {
        return Err("format=none writes nothing, so there are no bursts".to_owned());
    }
    Ok(())
}

/// Refuses a ring of what can't be told from its middle on, or is written otherwise.
fn can_be_a_ring(options: &Options) -> Result<(), String> {
    if options.overflow != Overflow::Ring {
        return Ok(());
    }
    // Lines are told of by counters, from the begin on, and what is in the heap was told of at any
    // time.
    let events: Vec<String> = [Events::HEAP, Events::LINES]
        .iter()
        .filter(|event| options.events.contains(**event))
        .map(Events::to_string)
        .collect();
    let what = if !events.is_empty() {
        format!("events={}", events.join("+"))
    } else if options.is_of_sums() && options.exec_details {
        "format=profilerj".to_owned()
    } else if options.is_of_sums() {
        "execdetails=false".to_owned()
    } else if options.format == OutputFormat::None {
        "format=none".to_owned()
    } else if options.begins_idle() {
        // A client, or the program, would begin a trace.
        format!("server={}", options.server)
    } else if !options.bursts.is_empty() {
        "burst".to_owned()
    } else if options.max_size.is_some() {
        "maxsize: a ring has the size of buffer".to_owned()
    } else if options.file.text() == "-" {
        "file=-".to_owned()
    } else {
        return Ok(());
    };
    Err(format!("ring can't be had with {what}"))
}

/// Least bytes of all files together, where the oldest ones are deleted.
const SMALLEST_RING: u64 = 8 << 20;

/// Refuses a bound for files where there are none that could be begun anew.
fn has_files_to_bound(options: &Options) -> Result<(), String> {
    let Some(bytes) = options.max_size else {
        return Ok(());
    };
    if options.is_of_sums() {
        let what = match options.format {
            OutputFormat::ProfilerJ => "format=profilerj",
            _ => "execdetails=false",
        };
        return Err(format!(
            "{what} adds calls up, and writes the sums at the end, whatever their size"
        ));
    }
    if options.file.text() == "-" {
        return Err("the standard output can't be begun anew; name a file".to_owned());
    }
    if options.at_max_size == AtMaxSize::Ring && bytes < SMALLEST_RING {
        return Err(format!(
            "{} is too small for atmaxsize=ring, which takes 8m at least",
            size_text(bytes)
        ));
    }
    Ok(())
}

pub(crate) fn has_place_for_sums(options: &Options) -> Result<(), String> {
    if options.exec_details || options.format.has_sums_of_calls() {
        return Ok(());
    }
    Err(format!(
        "{} has no place for calls that are added up",
        options.format
    ))
}

/// Refuses to add short calls up where all calls are, or none can be.
pub(crate) fn has_place_for_short_calls(options: &Options) -> Result<(), String> {
    if options.min.is_none() && options.max_rate.is_none() {
        return Ok(());
    }
    if !options.format.has_sums_of_calls() {
        return Err(format!(
            "{} has no place for calls that are added up",
            options.format
        ));
    }
    match options.is_of_sums() {
        true if options.exec_details => Err(format!("format={} adds all calls up", options.format)),
        true => Err("execdetails=false adds all calls up".to_owned()),
        false => Ok(()),
    }
}

/// The key's proper name, if there is such a key and it was not there before.
fn known<'a>(item: &Item<'_>, seen: &mut Vec<&'a str>) -> Result<&'a str, OptionError> {
    let Some(info) = find(item.key) else {
        let problem = if LATER_KEYS.contains(&item.key) {
            "not available in this version".to_owned()
        } else {
            let hint = did_you_mean(item.key, KEYS.iter().map(|k| k.key));
            let list = KEYS.iter().map(|k| k.key).collect::<Vec<_>>().join(", ");
            let hint = if hint.is_empty() {
                format!("; there are {list}")
            } else {
                hint
            };
            format!("no such option{hint}")
        };
        return Err(OptionError::at(item.key, item.key_at, problem));
    };
    if seen.contains(&info.key) && !info.repeatable {
        let problem = if item.key == info.key {
            "given twice".to_owned()
        } else {
            format!("given twice: it is another name of {}", quoted(info.key))
        };
        return Err(OptionError::at(item.key, item.key_at, problem));
    }
    seen.push(info.key);
    Ok(info.key)
}

/// Leaves out what the format has no place for. That is no news where simply all was asked for.
pub(crate) fn place_events(options: &mut Options, all: bool) -> Result<(), String> {
    let (placed, no_place) = options.format.place(options.events);
    if placed.is_empty() {
        return Err(format!(
            "{} has no place for {no_place}, and nothing else is asked for",
            options.format
        ));
    }
    options.events = placed;
    options.no_place = if all { Events::NONE } else { no_place };
    Ok(())
}

/// Refuses events that are seen by rewritten classes only, when none shall be rewritten.
pub(crate) fn without_rewriting(options: &Options) -> Result<(), String> {
    let asked = |event: &&Events| options.events.contains(**event);
    let events: Vec<String> = [Events::PARKS, Events::LINES]
        .iter()
        .filter(asked)
        .map(Events::to_string)
        .collect();
    if options.engine == Engine::Bytecode || events.is_empty() {
        return Ok(());
    }
    Err(format!(
        "{} can't be had with engine={}, which rewrites no classes",
        events.join(" and "),
        options.engine
    ))
}

/// Refuses allocations seen by rewritten classes together with what they can't give.
pub(crate) fn without_identity(options: &Options) -> Result<(), String> {
    if !options.has_alloc_probes() {
        return Ok(());
    }
    if options.engine != Engine::Bytecode {
        return Err(format!(
            "alloc={} can't be had with engine={}, which rewrites no classes",
            options.alloc, options.engine
        ));
    }
    let asked = |event: &&Events| options.events.contains(**event) && **event != Events::FREE;
    let events: Vec<String> = Events::NAMING_OBJECTS
        .iter()
        .filter(asked)
        .map(Events::to_string)
        .collect();
    if events.is_empty() {
        return Ok(());
    }
    Err(format!(
        "alloc={} lets no object be known again, which {} can't do without; leave it at alloc={}",
        options.alloc,
        events.join(" and "),
        AllocMode::Jvm
    ))
}

/// Refuses the coarse clock where each call needs a look at a clock all the same.
pub(crate) fn may_tick(options: &Options) -> Result<(), String> {
    if !options.has_ticks() {
        return Ok(());
    }
    let why = if options.engine == Engine::Jvmti {
        "engine=jvmti, which has no compiled hooks"
    } else if options.events.contains(Events::CPU) {
        "events=cpu, which looks at a clock for each call"
    } else {
        return Ok(());
    };
    Err(format!("clock={} can't be had with {why}", options.clock))
}

/// Refuses to leave calls out where the JVM tells of each.
fn nothing_to_skip(options: &Options) -> Result<(), String> {
    if options.trivial == Trivial::Trace || options.engine == Engine::Bytecode {
        return Ok(());
    }
    Err(format!(
        "trivial={} can't be had with engine={}, which sees every call",
        options.trivial, options.engine
    ))
}

fn both_filters(key: &str, at: usize) -> OptionError {
    OptionError::at(
        key,
        at,
        "a filter file and include or exclude can't be used together",
    )
}
