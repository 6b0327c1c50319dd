//! Checks which options go together.
//!
//! Each check examines complete options. It returns the keys that contradict each other, and why.
//! Of these keys, the error is shown at the one that was given last.

use crate::builder::Given;
use crate::keys::find;
use crate::options::Options;
use crate::set::Events;
use crate::socket::Control;
use crate::value::{
    AllocMode, AtMaxSize, Engine, OutputFormat, Overflow, Server, Trivial, Weight, size_text,
};

/// A contradiction between options.
pub(crate) struct Conflict {
    /// Keys at which the error may be shown; at least one.
    pub(crate) keys: &'static [&'static str],
    /// A sentence that says what is wrong.
    pub(crate) problem: String,
}

/// A check: returns the conflict if the options have it.
pub(crate) type Check = fn(&Options, &Given) -> Result<(), Conflict>;

/// Checks of options that a client may change for a further trace: format, file, events, filters.
pub(crate) const OF_THE_TRACE: &[Check] = &[
    events_have_a_place,
    events_need_rewriting,
    allocation_probes,
    all_calls_as_sums,
    short_calls_as_sums,
    weight_of_paths,
    coarse_clock,
];

/// Checks of options that stay the same for the agent's lifetime.
pub(crate) const OF_THE_AGENT: &[Check] = &[
    filter_file_or_patterns,
    short_calls_among_sums,
    trivial_calls,
    socket,
    linger,
    flight_recorder,
    triggers,
    bounded_files,
];

/// Returns a conflict between these keys.
fn conflict(keys: &'static [&'static str], problem: impl Into<String>) -> Result<(), Conflict> {
    debug_assert!(keys.iter().all(|key| find(key).is_some()));
    let problem = problem.into();
    Err(Conflict { keys, problem })
}

/// Kinds of events that the format does not support are dropped, but at least one kind must remain.
fn events_have_a_place(options: &Options, _: &Given) -> Result<(), Conflict> {
    if options.events.is_empty() {
        let (format, events) = (options.format, options.unsupported);
        return conflict(
            &["events"],
            format!("{format} has no field for {events}, and no other event is requested"),
        );
    }
    Ok(())
}

fn events_need_rewriting(options: &Options, _: &Given) -> Result<(), Conflict> {
    let events = words_among(options.events, &[Events::PARKS, Events::LINES]);
    if options.engine == Engine::Bytecode || events.is_empty() {
        return Ok(());
    }
    conflict(
        &["events"],
        format!(
            "engine={} can't record {}, which need rewritten classes",
            options.engine,
            events.join(" and ")
        ),
    )
}

fn allocation_probes(options: &Options, _: &Given) -> Result<(), Conflict> {
    if !options.has_alloc_probes() {
        return Ok(());
    }
    if options.engine != Engine::Bytecode {
        return conflict(
            &["alloc"],
            format!(
                "alloc={} is not available with engine={}, which rewrites no classes",
                options.alloc, options.engine
            ),
        );
    }
    let events = options.events.without(Events::FREE);
    let events = words_among(events, &Events::NAMING_OBJECTS);
    if events.is_empty() {
        return Ok(());
    }
    conflict(
        &["alloc"],
        format!(
            "alloc={} gives objects no identity, needed by {}; use alloc={}",
            options.alloc,
            events.join(" and "),
            AllocMode::Jvm
        ),
    )
}

fn all_calls_as_sums(options: &Options, _: &Given) -> Result<(), Conflict> {
    if options.exec_details || options.format.has_sums_of_calls() {
        return Ok(());
    }
    conflict(
        &["execdetails"],
        format!("{} has no field for aggregated calls", options.format),
    )
}

fn short_calls_as_sums(options: &Options, _: &Given) -> Result<(), Conflict> {
    if !options.has_short_calls() || options.format.has_sums_of_calls() {
        return Ok(());
    }
    let hint = match options.format.is_export() {
        true => "; export.min makes short calls part of their callers",
        false => "",
    };
    conflict(
        &["min", "maxrate"],
        format!("{} has no field for aggregated calls{hint}", options.format),
    )
}

/// Collapsed stacks have one weight. The file would be empty if it were not recorded.
fn weight_of_paths(options: &Options, _: &Given) -> Result<(), Conflict> {
    if options.format != OutputFormat::Collapsed {
        return Ok(());
    }
    let weight = options.weight;
    let (kinds, of_single_calls): (&[Events], bool) = match weight {
        Weight::SelfTime | Weight::Calls => (&[], false),
        Weight::Cpu => (&[Events::CPU], false),
        Weight::Allocated => (&[Events::ALLOC], true),
        Weight::Blocked => (&[Events::MONITORS], true),
        Weight::Waiting => (&[Events::MONITORS, Events::PARKS], true),
    };
    let keys = &["collapsed.weight", "events"];
    let option = format!("collapsed.weight={weight}");
    if !kinds.is_empty() && words_among(options.events, kinds).is_empty() {
        let kinds: Vec<String> = kinds.iter().map(|kind| format!("events=+{kind}")).collect();
        return conflict(keys, format!("{option} needs {}", kinds.join(" or ")));
    }
    if !options.events.contains(Events::METHODS) {
        let problem = format!("{option} needs events=+methods, of which call paths consist");
        return conflict(keys, problem);
    }
    if of_single_calls && !options.exec_details {
        return conflict(
            &["collapsed.weight", "execdetails"],
            format!(
                "{option} is not available with execdetails=false, whose sums have times and numbers of calls only"
            ),
        );
    }
    Ok(())
}

/// This is no error for a further trace: a client may start a trace of sums, and `min` and
/// `maxrate` then have no effect.
fn short_calls_among_sums(options: &Options, _: &Given) -> Result<(), Conflict> {
    match sums(options).filter(|_| options.has_short_calls()) {
        Some(option) => conflict(&["min", "maxrate"], format!("{option} adds all calls up")),
        None => Ok(()),
    }
}

/// The coarse clock has no use if each call must read a clock anyway.
fn coarse_clock(options: &Options, _: &Given) -> Result<(), Conflict> {
    if !options.has_ticks() {
        return Ok(());
    }
    let why = if options.engine == Engine::Jvmti {
        "engine=jvmti, which has no compiled hooks"
    } else if options.events.contains(Events::CPU) {
        "events=cpu, which reads a clock at each call"
    } else {
        return Ok(());
    };
    conflict(
        &["clock"],
        format!("clock={} is not available with {why}", options.clock),
    )
}

fn filter_file_or_patterns(options: &Options, _: &Given) -> Result<(), Conflict> {
    if options.filters_file.is_none() || options.patterns.is_empty() {
        return Ok(());
    }
    conflict(
        &["filters", "include", "exclude"],
        "a filter file and include or exclude can't be used together",
    )
}

fn trivial_calls(options: &Options, _: &Given) -> Result<(), Conflict> {
    if options.trivial == Trivial::Trace || options.engine == Engine::Bytecode {
        return Ok(());
    }
    conflict(
        &["trivial"],
        format!(
            "trivial={} is not available with engine={}, which sees every call",
            options.trivial, options.engine
        ),
    )
}

fn socket(options: &Options, _: &Given) -> Result<(), Conflict> {
    match (&options.control, options.server) {
        (Control::Path(_), server @ Server::Standalone) => conflict(
            &["control"],
            format!("server={server} has no command channel"),
        ),
        (Control::Off, server @ (Server::Enabled | Server::Controlled)) => conflict(
            &["control"],
            format!("server={server} needs the command channel"),
        ),
        _ => Ok(()),
    }
}

/// `linger` ends the agent when no client is connected, so clients must be able to connect.
fn linger(options: &Options, _: &Given) -> Result<(), Conflict> {
    let is_reachable = options.server != Server::Standalone && options.control != Control::Off;
    if options.linger.is_none() || is_reachable {
        return Ok(());
    }
    conflict(
        &["linger"],
        "there is no command channel, so no client can come",
    )
}

/// A flight recorder writes traces that begin in the middle of the program's run.
fn flight_recorder(options: &Options, given: &Given) -> Result<(), Conflict> {
    if options.overflow != Overflow::Ring {
        return Ok(());
    }
    // A ring buffer can't supply these events. Line counters count from the program's start, and
    // the objects of a heap snapshot may have been defined long ago.
    let events = words_among(options.events, &[Events::HEAP, Events::LINES]);
    let what = if !events.is_empty() {
        format!("events={}", events.join("+"))
    } else if let Some(option) = sums(options) {
        option.to_owned()
    } else if options.format == OutputFormat::None {
        "format=none".to_owned()
    } else if options.begins_idle() {
        // A client or the program would start the trace.
        format!("server={}", options.server)
    } else if given.contains("burst") {
        "burst".to_owned()
    } else if options.max_size.is_some() {
        "maxsize: a ring has the size of buffer".to_owned()
    } else if options.file.is_stdout() {
        "file=-".to_owned()
    } else {
        return Ok(());
    };
    conflict(&["overflow"], format!("ring is not available with {what}"))
}

/// Triggers of `burst` and `save` must be detectable, and must have an effect.
fn triggers(options: &Options, _: &Given) -> Result<(), Conflict> {
    let problem = if options.has_call_triggers() && options.engine == Engine::Jvmti {
        "calls that begin a burst are seen in rewritten classes, and engine=jvmti rewrites none"
    } else if options.has_bursts() && options.format == OutputFormat::None {
        "format=none writes nothing, so there are no bursts"
    } else {
        return Ok(());
    };
    match options.overflow {
        Overflow::Ring => conflict(&["save"], problem),
        Overflow::Block | Overflow::Drop => conflict(&["burst"], problem),
    }
}

/// Minimum of `maxsize` in bytes if the oldest files are deleted. It is the size of all files
/// together.
const SMALLEST_RING: u64 = 8 << 20;

/// The size of files can be limited only if the trace can continue in another file.
fn bounded_files(options: &Options, _: &Given) -> Result<(), Conflict> {
    let Some(bytes) = options.max_size else {
        return Ok(());
    };
    let of_export = (options.format == OutputFormat::Collapsed).then_some("format=collapsed");
    if let Some(option) = sums(options).or(of_export) {
        return conflict(
            &["maxsize"],
            format!("{option} adds calls up, and writes the sums at the end, whatever their size"),
        );
    }
    if options.file.is_stdout() {
        return conflict(
            &["maxsize"],
            "standard output can't be split into files; name a file",
        );
    }
    if options.at_max_size == AtMaxSize::Ring && bytes < SMALLEST_RING {
        let (size, least) = (size_text(bytes), size_text(SMALLEST_RING));
        return conflict(
            &["maxsize"],
            format!("{size} is too small for atmaxsize=ring, which takes {least} at least"),
        );
    }
    Ok(())
}

/// Returns the option that makes the trace one of sums; `None` if it is not one.
fn sums(options: &Options) -> Option<&'static str> {
    if options.format == OutputFormat::ProfilerJ {
        Some("format=profilerj")
    } else if !options.exec_details {
        Some("execdetails=false")
    } else {
        None
    }
}

/// Returns the words of all `kinds` that `events` contains.
fn words_among(events: Events, kinds: &[Events]) -> Vec<String> {
    let kinds = kinds.iter().filter(|kind| events.contains(**kind));
    kinds.map(Events::to_string).collect()
}
