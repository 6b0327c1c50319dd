//! The option text in the spelling of the TPTP agent, the filter file and the options file.
//!
//! ```text
//! agent    = "JPIAgent" [ ":" ( "help" | option *( "," option ) ) ] *( ";" profiler )
//! option   = "server=" word | "file=" path | "filters=" path | "profile=" path | "format=" word
//! profiler = ( "CGProf" | "HeapProf" | "ThreadProf" ) [ ":" key "=" value *( "," key "=" value ) ]
//! ```
//!
//! Values contain neither commas nor semicolons, and there is no quoting. At least one profiler is
//! needed. With several profilers, all that any of them records is recorded. The words of `server`
//! are those of jtrail's own option. Without a filter file, the application's classes are traced
//! and the JDK's are not, as in jtrail's own spelling.
//!
//! | Profiler | Records | Its key |
//! |---|---|---|
//! | any | threads, classes | |
//! | `CGProf` | methods | `execdetails=true\|false` |
//! | `HeapProf` | alloc, free, gc | `allocsites=true\|false` |
//! | `ThreadProf` | monitors | |
//!
//! **Filter file**: one rule per line: class pattern, method pattern, `INCLUDE` or `EXCLUDE`,
//! separated by blanks. Quotation marks around a pattern are dropped, and empty lines are skipped.
//! A pattern is exact, has one `*` at its begin or end, or is `*` alone. The first rule that
//! matches decides; methods that no rule matches are traced.
//!
//! **Options file**: one `KEY = value` per line; lines that begin with `*` are comments. Some keys
//! change what is recorded: `CPU_TIME` adds cpu, `MONITOR_MODE=none` removes the monitors of
//! `ThreadProf`, and `TRACK_GC_EVENT_TYPES=none` the frees of `HeapProf`. In jtrail's own spelling,
//! there are no profilers. Then these keys only add kinds to `events` (`frees` and `deletes` only
//! if objects are recorded).

use crate::builder::{Builder, Fault, ReadFile};
use crate::error::{OptionError, allowed, did_you_mean, quoted, shown};
use crate::filter::{Filter, Rule};
use crate::item::Item;
use crate::keys::{find, help};
use crate::options::Options;
use crate::pattern::Pattern;
use crate::set::Events;
use crate::value::{BOOLEANS, OnError, no_such_value, parse_boolean};

const AGENT: &str = "JPIAgent";

/// A key of TPTP's spelling. It has the name or an alias of the key of jtrail's spelling that it
/// sets.
struct TptpKey {
    name: &'static str,
    /// The words that TPTP's spelling accepts. `None` if it accepts all words of the key.
    words: Option<&'static [&'static str]>,
}

const fn key(name: &'static str) -> TptpKey {
    TptpKey { name, words: None }
}

const AGENT_KEYS: &[TptpKey] = &[
    key("server"),
    key("file"),
    key("filters"),
    key("profile"),
    TptpKey {
        name: "format",
        words: Some(&["xml", "binary"]),
    },
];

/// A profiler: its name, what it records, its keys.
struct Profiler(&'static str, Events, &'static [TptpKey]);

static PROFILERS: [Profiler; 3] = [
    Profiler("CGProf", Events::METHODS, &[key("execdetails")]),
    Profiler(
        "HeapProf",
        Events::ALLOC.union(Events::FREE).union(Events::GC),
        &[key("allocsites")],
    ),
    Profiler("ThreadProf", Events::MONITORS, &[]),
];

/// True if the text is in the TPTP spelling.
pub(crate) fn is_tptp(text: &str) -> bool {
    text.strip_prefix(AGENT)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with([':', ';']))
}

pub(crate) fn parse(text: &str, read_file: ReadFile<'_>) -> Result<Options, OptionError> {
    let mut builder = Builder::new(text, read_file);
    builder.options.on_error = OnError::Continue;
    let mut events = Events::THREADS.union(Events::CLASSES);
    let mut profilers = Vec::new();
    for (nth, (at, part)) in pieces(text, 0, ';').enumerate() {
        let (name, rest) = part.split_once(':').unwrap_or((part, ""));
        let mut keys = AGENT_KEYS;
        if nth > 0 {
            let Profiler(_, its_events, its_keys) = profiler(name, at)?;
            if profilers.contains(&name) {
                return Err(OptionError::text(
                    at,
                    format!("{} is given twice", quoted(name)),
                ));
            }
            profilers.push(name);
            events = events.union(*its_events);
            keys = its_keys;
        }
        if !part.contains(':') {
            continue;
        }
        if nth == 0 && rest == "help" {
            return Err(OptionError::help(help()));
        }
        for (at, pair) in pieces(rest, at + name.len() + 1, ',') {
            set(&mut builder, keys, at, pair)?;
        }
    }
    if profilers.is_empty() {
        let problem = "no profiler is named; write for instance JPIAgent:server=standalone;CGProf";
        return Err(OptionError::text(text.len(), problem));
    }
    let said = |key| in_file(&builder.options, key);
    if said("MONITOR_MODE") == Some("none") {
        events = events.without(Events::MONITORS);
    }
    if said("TRACK_GC_EVENT_TYPES") == Some("none") {
        events = events.without(Events::FREE);
    }
    if said("CPU_TIME") == Some("true") {
        events = events.union(Events::CPU);
    }
    builder.finish(events)
}

/// Stores the value of `key=value`; the key must be one of `keys`. `at` is the item's position in
/// the option text.
fn set(
    builder: &mut Builder<'_>,
    keys: &[TptpKey],
    at: usize,
    pair: &str,
) -> Result<(), OptionError> {
    if pair.is_empty() {
        return Err(OptionError::text(at, "an option is missing here"));
    }
    let Some((name, value)) = pair.split_once('=') else {
        let problem = format!("{} is not key=value", quoted(pair));
        return Err(OptionError::text(at, problem));
    };
    let known = keys.iter().find(|key| key.name == name);
    let (Some(known), Some(key)) = (known, find(name)) else {
        return Err(unknown(name, at, keys));
    };
    let value_at = at + name.len() + 1;
    if let Some(words) = known.words.filter(|words| !words.contains(&value)) {
        let problem = no_such_value(value, words);
        return Err(OptionError::at(name, value_at, problem));
    }
    let item = Item {
        key: name,
        key_at: at,
        value: value.to_owned(),
        value_at,
    };
    builder.set(key, &item)
}

/// Splits `text` at the separator. Returns each piece with its position in the option text.
fn pieces(text: &str, start: usize, separator: char) -> impl Iterator<Item = (usize, &str)> {
    let mut at = start;
    text.split(separator).map(move |piece| {
        let here = at;
        at += piece.len() + separator.len_utf8();
        (here, piece)
    })
}

fn unknown(name: &str, at: usize, keys: &[TptpKey]) -> OptionError {
    let names: Vec<&str> = keys.iter().map(|key| key.name).collect();
    let list = if names.is_empty() {
        "; this profiler has none".to_owned()
    } else {
        allowed(name, &names)
    };
    OptionError::at(name, at, format!("no such option{list}"))
}

fn profiler(name: &str, at: usize) -> Result<&'static Profiler, OptionError> {
    PROFILERS.iter().find(|p| p.0 == name).ok_or_else(|| {
        let list = allowed(name, &PROFILERS.each_ref().map(|p| p.0));
        OptionError::text(at, format!("no such profiler {}{list}", quoted(name)))
    })
}

fn read(path: &str, read_file: ReadFile<'_>) -> Result<String, Fault> {
    if path.is_empty() {
        return Err("the path is missing".to_owned().into());
    }
    read_file(path).map_err(|e| format!("can't read {}: {e}", quoted(path)).into())
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
) -> Result<(), Fault> {
    let text = read(path, read_file)?;
    let mut rules = Vec::new();
    for (number, line) in lines(&text) {
        let wrong = |problem| Fault::InFile(OptionError::file(path, number, problem));
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

/// A key of the options file, with the function that stores its value.
struct FileKey(&'static str, fn(&mut Options, &str) -> Result<(), String>);

/// `CPU_TIME`, `MONITOR_MODE` and `TRACK_GC_EVENT_TYPES` take effect only after all options are
/// read. Most keys have no effect, and are only written into the trace.
const FILE_KEYS: &[FileKey] = &[
    FileKey("FILTERS", |options, value| {
        options.write_filters = parse_boolean(value)?;
        Ok(())
    }),
    FileKey("OPTIONS", |options, value| {
        options.write_options = parse_boolean(value)?;
        Ok(())
    }),
    FileKey("CPU_TIME", |_, value| one_of(value, BOOLEANS)),
    FileKey("MONITOR_MODE", |_, value| one_of(value, &["all", "none"])),
    FileKey("TRACK_GC_EVENT_TYPES", |_, value| {
        one_of(value, &["none", "frees", "deletes"])
    }),
    FileKey("HEAP_INFO_FILE_PREFIX", |options, value| {
        if value.is_empty() {
            return Err("the value is missing".to_owned());
        }
        options.heap_name = value.to_owned();
        Ok(())
    }),
    FileKey("TICKET", always_on),
    FileKey("TIMESTAMPS", always_on),
    FileKey("OBJ_ALLOC_IS_ARRAY", always_on),
    FileKey("STACK_INFORMATION", no_effect),
    FileKey("TRACE_MODE", no_effect),
    FileKey("ID_STYLE", no_effect),
    FileKey("OBJ_REF_MODE", no_effect),
    FileKey("METHOD_COUNTS", no_effect),
    FileKey("METHOD_COUNTS_ONLY", no_effect),
    FileKey("CLASS_LOAD_DETAILS", no_effect),
    FileKey("METHOD_DETAILS", no_effect),
    FileKey("COLLATION_VALUES", no_effect),
    FileKey("CONTEXT_FLOW", no_effect),
    FileKey("COMPRESS", no_effect),
    FileKey("TRACE_IDREFS", no_effect),
    FileKey("UNREFERENCED_SYMBOLS", no_effect),
    FileKey("LLDATA_ENABLED", no_effect),
];

/// Accepts only `true`. For keys that request things that the agent does in any case.
fn always_on(_: &mut Options, value: &str) -> Result<(), String> {
    match value {
        "true" => Ok(()),
        _ => Err(format!("always on; {} is not available", quoted(value))),
    }
}

fn no_effect(_: &mut Options, _: &str) -> Result<(), String> {
    Ok(())
}

/// Reads an options file into the options.
pub(crate) fn read_options(
    options: &mut Options,
    path: &str,
    read_file: ReadFile<'_>,
) -> Result<(), Fault> {
    let text = read(path, read_file)?;
    for (number, line) in lines(&text) {
        let wrong = |problem| Fault::InFile(OptionError::file(path, number, problem));
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

fn file_option(options: &mut Options, name: &str, value: &str) -> Result<(), String> {
    match FILE_KEYS.iter().find(|key| key.0 == name) {
        Some(FileKey(_, set)) => set(options, value),
        // Keys with a dot belong to other tools, and are written into the trace.
        None if name.contains('.') => Ok(()),
        None => {
            let hint = did_you_mean(name, FILE_KEYS.iter().map(|key| key.0));
            Err(format!("no such option{hint}"))
        }
    }
}

/// Returns the events that jtrail's own spelling requests, plus those that an options file adds.
pub(crate) fn with_file_events(mut events: Events, options: &Options) -> Events {
    let said = |key| in_file(options, key);
    if said("CPU_TIME") == Some("true") {
        events = events.union(Events::CPU);
    }
    if said("MONITOR_MODE") == Some("all") {
        events = events.union(Events::MONITORS);
    }
    let frees = said("TRACK_GC_EVENT_TYPES").is_some_and(|value| value != "none");
    if frees && events.contains(Events::ALLOC) {
        events = events.union(Events::FREE);
    }
    events
}

/// Returns the value of a key of the options file.
fn in_file<'a>(options: &'a Options, key: &str) -> Option<&'a str> {
    let mut lines = options.file_options.iter();
    lines.find(|(k, _)| k == key).map(|(_, v)| v.as_str())
}

fn one_of(value: &str, words: &[&str]) -> Result<(), String> {
    if words.contains(&value) {
        return Ok(());
    }
    Err(no_such_value(value, words))
}
