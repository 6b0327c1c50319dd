//! The spelling of the TPTP agent, and its two files.
//!
//! ```text
//! agent    = "JPIAgent" [ ":" ( "help" | option *( "," option ) ) ] *( ";" profiler )
//! option   = "server=" word | "file=" path | "filters=" path | "profile=" path | "format=" word
//! profiler = ( "CGProf" | "HeapProf" | "ThreadProf" ) [ ":" key "=" value *( "," key "=" value ) ]
//! ```
//!
//! Values hold neither comma nor semicolon, and there is no quoting. One profiler at least is
//! needed; what several record adds up. The words of `server` are those of our own option.
//! Without a filter file, the application's classes are traced and the JDK's are not, as in our own
//! spelling.
//!
//! | Profiler | Records | Its key |
//! |---|---|---|
//! | any | threads, classes | |
//! | `CGProf` | methods | `execdetails=true\|false` |
//! | `HeapProf` | alloc, free, gc | `allocsites=true\|false` |
//! | `ThreadProf` | monitors | |
//!
//! **Filter file**: one rule a line, class pattern, method pattern, `INCLUDE` or `EXCLUDE`, apart
//! by blanks; quotation marks around a pattern are dropped; empty lines are skipped. A pattern is
//! exact, or has one `*` at its begin or its end, or is `*` alone. The first rule that fits
//! decides; none fits: traced.
//!
//! **Options file**: `KEY = value` a line; a line that begins with `*` is a comment. Some keys
//! change what is recorded: `CPU_TIME` adds cpu, `MONITOR_MODE=none` takes the monitors from
//! `ThreadProf`, and `TRACK_GC_EVENT_TYPES=none` the frees from `HeapProf`. In our own spelling
//! there are no profilers, so these keys only add to `events` (`frees` and `deletes` only where
//! objects are recorded).

use crate::error::{OptionError, allowed, did_you_mean, quoted, shown};
use crate::file::FilePattern;
use crate::filter::{Filter, Rule};
use crate::keys::help;
use crate::options::Options;
use crate::pattern::Pattern;
use crate::set::Events;
use crate::value::{BOOLEANS, OnError, OutputFormat, Server, no_such_value, parse_boolean};
use std::io;

const AGENT: &str = "JPIAgent";
const AGENT_KEYS: &[&str] = &["server", "file", "filters", "profile", "format"];

/// A profiler: its name, what it records, its keys.
struct Profiler(&'static str, Events, &'static [&'static str]);

static PROFILERS: [Profiler; 3] = [
    Profiler("CGProf", Events::METHODS, &["execdetails"]),
    Profiler(
        "HeapProf",
        Events::ALLOC.union(Events::FREE).union(Events::GC),
        &["allocsites"],
    ),
    Profiler("ThreadProf", Events::MONITORS, &[]),
];

/// Whether the text is in the TPTP spelling.
pub(crate) fn is_tptp(text: &str) -> bool {
    text.strip_prefix(AGENT)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([':', ';']))
}

type ReadFile<'a> = &'a dyn Fn(&str) -> io::Result<String>;

pub(crate) fn parse(text: &str, read_file: ReadFile<'_>) -> Result<Options, OptionError> {
    let mut options = Options {
        on_error: OnError::Continue,
        events: Events::THREADS.union(Events::CLASSES),
        ..Options::new(text)
    };
    let mut file = None;
    let mut profilers = Vec::new();
    for (nth, (at, part)) in pieces(text, 0, ';').enumerate() {
        let (name, rest) = part.split_once(':').unwrap_or((part, ""));
        let rest_at = at + name.len() + 1;
        let mut keys = AGENT_KEYS;
        if nth > 0 {
            let Profiler(_, events, its_keys) = profiler(name, at)?;
            if profilers.contains(&name) {
                return Err(OptionError::text(
                    at,
                    format!("{} is given twice", quoted(name)),
                ));
            }
            profilers.push(name);
            options.events = options.events.union(*events);
            keys = its_keys;
        }
        if !part.contains(':') {
            continue;
        }
        if nth == 0 && rest == "help" {
            return Err(OptionError::help(help()));
        }
        let mut seen = Vec::new();
        for (at, pair) in pieces(rest, rest_at, ',') {
            if pair.is_empty() {
                return Err(OptionError::text(at, "an option is missing here"));
            }
            let Some((key, value)) = pair.split_once('=') else {
                return Err(OptionError::text(
                    at,
                    format!("{} is not key=value", quoted(pair)),
                ));
            };
            if seen.contains(&key) {
                return Err(OptionError::at(key, at, "given twice"));
            }
            seen.push(key);
            let wrong = |problem: String| OptionError::at(key, at + key.len() + 1, problem);
            if !keys.contains(&key) {
                return Err(unknown(key, at, keys));
            }
            match key {
                "server" => options.server = Server::parse(value).map_err(wrong)?,
                "file" => file = Some(FilePattern::parse(value).map_err(wrong)?),
                "format" => options.format = format(value).map_err(wrong)?,
                "filters" => {
                    read_filters(&mut options, value, read_file).map_err(|e| e.or(wrong))?;
                }
                "profile" => {
                    read_options(&mut options, value, read_file).map_err(|e| e.or(wrong))?;
                }
                "execdetails" => options.exec_details = parse_boolean(value).map_err(wrong)?,
                "allocsites" => options.alloc_sites = parse_boolean(value).map_err(wrong)?,
                other => return Err(OptionError::at(other, at, "not handled")),
            }
        }
    }
    if profilers.is_empty() {
        let problem = "no profiler is named; write for instance JPIAgent:server=standalone;CGProf";
        return Err(OptionError::text(text.len(), problem));
    }
    if said(&options, "MONITOR_MODE") == Some("none") {
        options.events = options.events.without(Events::MONITORS);
    }
    if said(&options, "TRACK_GC_EVENT_TYPES") == Some("none") {
        options.events = options.events.without(Events::FREE);
    }
    if said(&options, "CPU_TIME") == Some("true") {
        options.events = options.events.union(Events::CPU);
    }
    options.file = file.unwrap_or_else(|| FilePattern::default_for(options.format));
    Ok(options)
}

/// The pieces of `text` between separators, each with its byte in the option text.
fn pieces(text: &str, start: usize, separator: char) -> impl Iterator<Item = (usize, &str)> {
    let mut at = start;
    text.split(separator).map(move |piece| {
        let here = at;
        at += piece.len() + separator.len_utf8();
        (here, piece)
    })
}

fn unknown(key: &str, at: usize, keys: &[&str]) -> OptionError {
    let list = if keys.is_empty() {
        "; this profiler has none".to_owned()
    } else {
        allowed(key, keys)
    };
    OptionError::at(key, at, format!("no such option{list}"))
}

fn profiler(name: &str, at: usize) -> Result<&'static Profiler, OptionError> {
    PROFILERS.iter().find(|p| p.0 == name).ok_or_else(|| {
        let list = allowed(name, &PROFILERS.each_ref().map(|p| p.0));
        OptionError::text(at, format!("no such profiler {}{list}", quoted(name)))
    })
}

fn format(value: &str) -> Result<OutputFormat, String> {
    match value {
        "xml" => Ok(OutputFormat::Xml),
        "binary" => Ok(OutputFormat::Binary),
        _ => Err(no_such_value(value, &["xml", "binary"])),
    }
}

/// A fault in a named file: of the file itself, or of what is in it.
pub(crate) enum FileFault {
    Unreadable(String),
    Content(OptionError),
}

impl FileFault {
    /// The error; a file that can't be read is the fault of the option that names it.
    pub(crate) fn or(self, wrong: impl FnOnce(String) -> OptionError) -> OptionError {
        match self {
            FileFault::Unreadable(problem) => wrong(problem),
            FileFault::Content(error) => error,
        }
    }
}

fn read(path: &str, read_file: ReadFile<'_>) -> Result<String, FileFault> {
    if path.is_empty() {
        return Err(FileFault::Unreadable("the path is missing".to_owned()));
    }
    read_file(path).map_err(|e| FileFault::Unreadable(format!("can't read {}: {e}", quoted(path))))
}

fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.lines()
        .enumerate()
        .map(|(n, line)| (n + 1, line.trim()))
        .filter(|(_, l)| !l.is_empty())
}

/// Reads a filter file into the options.
pub(crate) fn read_filters(
    options: &mut Options,
    path: &str,
    read_file: ReadFile<'_>,
) -> Result<(), FileFault> {
    let text = read(path, read_file)?;
    let mut rules = Vec::new();
    for (number, line) in lines(&text) {
        let wrong = |problem| FileFault::Content(OptionError::file(path, number, problem));
        rules.push(rule(line).map_err(wrong)?);
    }
    options.filter = Filter::from_file(rules);
    options.filters_file = Some(path.to_owned());
    Ok(())
}

fn rule(line: &str) -> Result<Rule, String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [class, method, mode] = words[..] else {
        let n = words.len();
        return Err(format!(
            "{n} words instead of three: class pattern, method pattern, INCLUDE or EXCLUDE"
        ));
    };
    let include = match mode {
        "INCLUDE" => true,
        "EXCLUDE" => false,
        _ => return Err(no_such_value(mode, &["INCLUDE", "EXCLUDE"])),
    };
    Ok(Rule {
        class: tptp_pattern(class)?,
        method: tptp_pattern(method)?,
        include,
    })
}

fn tptp_pattern(word: &str) -> Result<Pattern, String> {
    let bare = word
        .strip_prefix('"')
        .and_then(|w| w.strip_suffix('"'))
        .unwrap_or(word);
    if bare.is_empty() || bare.contains('"') {
        return Err(format!("{} is not a pattern", quoted(word)));
    }
    let stars = bare.matches('*').count();
    if stars > 1 || (stars == 1 && !bare.starts_with('*') && !bare.ends_with('*')) {
        return Err(format!(
            "pattern {}: one star at most, at the begin or at the end",
            quoted(bare)
        ));
    }
    Ok(Pattern::new(bare))
}

/// Keys of the options file whose only allowed value is what happens anyway.
const ALWAYS_ON: &[&str] = &["TICKET", "TIMESTAMPS", "OBJ_ALLOC_IS_ARRAY"];

/// Keys that are taken and written back into the trace, without further effect.
const NO_EFFECT: &[&str] = &[
    "STACK_INFORMATION",
    "TRACE_MODE",
    "ID_STYLE",
    "OBJ_REF_MODE",
    "METHOD_COUNTS",
    "METHOD_COUNTS_ONLY",
    "CLASS_LOAD_DETAILS",
    "METHOD_DETAILS",
    "COLLATION_VALUES",
    "CONTEXT_FLOW",
    "COMPRESS",
    "TRACE_IDREFS",
    "UNREFERENCED_SYMBOLS",
    "LLDATA_ENABLED",
];

const WITH_EFFECT: &[&str] = &[
    "FILTERS",
    "OPTIONS",
    "CPU_TIME",
    "MONITOR_MODE",
    "TRACK_GC_EVENT_TYPES",
    "HEAP_INFO_FILE_PREFIX",
];

/// Reads an options file into the options.
pub(crate) fn read_options(
    options: &mut Options,
    path: &str,
    read_file: ReadFile<'_>,
) -> Result<(), FileFault> {
    let text = read(path, read_file)?;
    for (number, line) in lines(&text) {
        let wrong = |problem| FileFault::Content(OptionError::file(path, number, problem));
        if line.starts_with('*') {
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            return Err(wrong(format!("{} is not KEY = value", quoted(line))));
        };
        let (key, value) = (key.trim(), value.trim());
        if key.is_empty() {
            return Err(wrong("a key is missing before \"=\"".to_owned()));
        }
        if options.file_options.iter().any(|(k, _)| k == key) {
            return Err(wrong(format!("{} is given twice", shown(key))));
        }
        file_option(options, key, value)
            .map_err(|problem| wrong(format!("{}: {problem}", shown(key))))?;
        options
            .file_options
            .push((key.to_owned(), value.to_owned()));
    }
    options.options_file = Some(path.to_owned());
    Ok(())
}

fn file_option(options: &mut Options, key: &str, value: &str) -> Result<(), String> {
    match key {
        "FILTERS" => options.write_filters = parse_boolean(value)?,
        "OPTIONS" => options.write_options = parse_boolean(value)?,
        "CPU_TIME" => one_of(value, BOOLEANS)?,
        "MONITOR_MODE" => one_of(value, &["all", "none"])?,
        "TRACK_GC_EVENT_TYPES" => one_of(value, &["none", "frees", "deletes"])?,
        "HEAP_INFO_FILE_PREFIX" if value.is_empty() => {
            return Err("the value is missing".to_owned());
        }
        "HEAP_INFO_FILE_PREFIX" => options.heap_name = value.to_owned(),
        _ if ALWAYS_ON.contains(&key) => {
            if value != "true" {
                return Err(format!("always on; {} can't be had", quoted(value)));
            }
        }
        _ if NO_EFFECT.contains(&key) || key.contains('.') => {}
        _ => {
            let keys = WITH_EFFECT
                .iter()
                .chain(ALWAYS_ON)
                .chain(NO_EFFECT)
                .copied();
            return Err(format!("no such option{}", did_you_mean(key, keys)));
        }
    }
    Ok(())
}

/// What the options file adds to events that our own spelling named.
pub(crate) fn add_events(options: &mut Options) {
    if said(options, "CPU_TIME") == Some("true") {
        options.events = options.events.union(Events::CPU);
    }
    if said(options, "MONITOR_MODE") == Some("all") {
        options.events = options.events.union(Events::MONITORS);
    }
    let frees = said(options, "TRACK_GC_EVENT_TYPES").is_some_and(|v| v != "none");
    if frees && options.events.contains(Events::ALLOC) {
        options.events = options.events.union(Events::FREE);
    }
}

/// The value of a key of the options file.
fn said<'a>(options: &'a Options, key: &str) -> Option<&'a str> {
    let mut lines = options.file_options.iter();
    lines.find(|(k, _)| k == key).map(|(_, v)| v.as_str())
}

fn one_of(value: &str, words: &[&str]) -> Result<(), String> {
    if words.contains(&value) {
        return Ok(());
    }
    Err(no_such_value(value, words))
}
