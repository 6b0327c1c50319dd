//! Checks each row of the table of keys against the options that the parser returns.

use jtrail_options::{Options, OutputFormat, help, keys, parse};
use std::collections::BTreeSet;
use std::io;

/// Every file is empty.
fn read(_: &str) -> io::Result<String> {
    Ok(String::new())
}

fn ok(text: &str) -> Options {
    parse(text, &read).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// Returns true if a trace lists the option `key=value`.
fn is_listed(options: &Options, option: &str) -> bool {
    let pair = option.split_once('=').expect("key and value");
    let mut listed = options.in_force().into_iter();
    listed.any(|(key, value)| (key.as_str(), value.as_str()) == pair)
}

/// For each key, a value that is not the default, as traces list it. The second text has the
/// options without which the key has no effect.
const OPTIONS: &[(&str, &str)] = &[
    ("format=binary", ""),
    ("file=x.trcxml", ""),
    ("maxsize=1m", ""),
    ("atmaxsize=ring", "maxsize=8m"),
    ("onerror=continue", ""),
    ("events=gc", ""),
    ("include=a.B", ""),
    ("exclude=a.B", ""),
    ("filters=rules", ""),
    ("options=settings", ""),
    ("execdetails=false", ""),
    ("min=1ms", ""),
    ("maxrate=1000", ""),
    ("trivial=skip", ""),
    ("engine=jvmti", ""),
    ("clock=tick", ""),
    ("tick=1ms", "clock=tick"),
    ("alloc=sites", ""),
    ("allocsites=true", ""),
    ("heap=gc", ""),
    ("stackdepth=3", ""),
    ("interval=2s", ""),
    ("buffer=1m", ""),
    ("overflow=drop", ""),
    ("save=oom", "overflow=ring"),
    ("priority=low", ""),
    ("server=enabled", ""),
    ("control=x.sock", ""),
    ("wait=5s", "server=controlled"),
    ("linger=5s", "server=enabled"),
    ("compat=pre45", "server=enabled"),
    ("burst=at:1s/10s", ""),
    ("mlpd.version=17", "format=mlpd"),
    ("tracelog.every-sample=true", "format=tracelog"),
    ("tracelog.cpu-interval=2s", "format=tracelog"),
    ("tracelog.visual-studio=true", "format=tracelog"),
    ("trail.spool=false", "format=trail"),
    ("trail.writers=2", "format=trail"),
    ("export.min=1us", "format=perfetto"),
    ("export.depth=3", "format=perfetto"),
    ("collapsed.weight=calls", "format=collapsed"),
    ("collapsed.threads=true", "format=collapsed"),
];

#[test]
fn each_key_is_set_and_listed() {
    let tested: BTreeSet<&str> = OPTIONS
        .iter()
        .map(|(option, _)| option.split_once('=').expect("key and value").0)
        .collect();
    assert_eq!(tested, keys().map(|key| key.name).collect());
    for (option, needed) in OPTIONS {
        assert!(!is_listed(&ok(needed), option), "{option} is the default");
        let both = match *needed {
            "" => (*option).to_owned(),
            needed => format!("{option},{needed}"),
        };
        assert!(is_listed(&ok(&both), option), "{both}");
    }
}

#[test]
fn a_key_without_effect_is_not_listed() {
    for (option, _) in OPTIONS.iter().filter(|(_, needed)| !needed.is_empty()) {
        match parse(option, &read) {
            Ok(options) => assert!(!is_listed(&options, option), "{option}"),
            // No client can connect, so `linger` is refused.
            Err(error) => assert_eq!(error.key(), Some("linger"), "{option}: {error}"),
        }
    }
}

fn is_export(format: &str) -> bool {
    OutputFormat::parse(format).is_ok_and(OutputFormat::is_export)
}

/// The key may be given with another format, because a client may later begin a trace in the key's
/// format.
#[test]
fn keys_of_one_format_are_taken_with_any() {
    for format in OutputFormat::WORDS {
        for (option, needed) in OPTIONS.iter().filter(|(option, _)| option.contains('.')) {
            let Some(of) = needed.strip_prefix("format=") else {
                continue;
            };
            let options = ok(&format!("format={format},{option}"));
            assert_eq!(
                is_listed(&options, option),
                of == *format || option.starts_with("export.") && is_export(format),
                "{format} {option}"
            );
            let change = jtrail_options::TraceChange {
                format: OutputFormat::parse(of).ok(),
                ..jtrail_options::TraceChange::default()
            };
            let another = options.changed(&change).expect("right");
            assert!(is_listed(&another, option), "{format} {option}");
        }
    }
}

#[test]
fn the_default_that_help_shows_holds_without_the_key() {
    let default = Options::default();
    assert_eq!(ok(""), default);
    let help = help();
    let values = |options: &Options| -> Vec<Option<String>> {
        keys().map(|key| key.value(options)).collect()
    };
    for key in keys() {
        let shown = key.default_with(&default);
        let row = format!(
            "\n      {}\n      {}; default: {shown}",
            key.help,
            key.values()
        );
        assert!(help.contains(&row), "{row}");
        let Some(value) = key.value(&default) else {
            continue;
        };
        assert!(shown == value || shown.starts_with(&format!("{value}; ")));
        let options = ok(&format!("{}={value}", key.name));
        assert_eq!(values(&options), values(&default), "{}", key.name);
        assert_eq!(options.in_force(), default.in_force(), "{}", key.name);
    }
}
