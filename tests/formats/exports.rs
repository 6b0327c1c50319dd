//! The agent writes the formats of other tools: with the calls that the program knows of itself.

use crate::support::cli::{jtrail, outcome};
use crate::support::compile::compile;
use crate::support::{FILTER, agent, newest_of, program};
use jtrail_model::names::readable_signature;
use jtrail_testkit::{Jdk, temp_dir};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

fn newest() -> Jdk {
    let found = Jdk::require(&newest_of(&[17, 25]));
    found.into_iter().next_back().expect("a JVM")
}

/// Returns the numbers of calls that `harness.Exceptions` makes by method, and those in the
/// program's trace, which the agent writes to a file of this name.
fn traced(jdk: &Jdk, options: &str, name: &str) -> (tempfile::TempDir, BTreeMap<String, u64>) {
    let folder = temp_dir();
    let options = format!("{options},file={name},{FILTER}");
    let run = program(jdk, "harness.Exceptions").dir(folder.path());
    let output = run.agent(agent(), &options).output();
    output.assert_exit(0);
    let exact = output.counts().exact.into_iter();
    let called = exact.filter(|(_, count)| *count > 0).map(|(key, count)| {
        let (method, signature) = key.split_once('(').expect("a descriptor");
        let parameters = readable_signature(&format!("({signature}"));
        (format!("{method}{parameters}"), count)
    });
    let mut by_name = BTreeMap::new();
    for (name, count) in called {
        *by_name.entry(name).or_insert(0) += count;
    }
    (folder, by_name)
}

#[test]
fn trace_events_have_the_calls_of_the_program() {
    let jdk = newest();
    let (folder, expected) = traced(&jdk, "format=chrome", "a.trace.json");
    let found = calls_in_report(&folder.path().join("a.trace.json"));
    for (name, count) in &expected {
        assert_eq!(found.get(name), Some(count), "{name}");
    }
}

/// Returns the number of calls of each method that `jtrail report` finds in a file.
fn calls_in_report(file: &Path) -> BTreeMap<String, u64> {
    let report = [
        "report",
        file.to_str().expect("UTF-8"),
        "--format",
        "json",
        "--only",
        "methods",
        "--top",
        "0",
    ];
    let report: Value = serde_json::from_str(&jtrail(&report).1).expect("JSON");
    let methods = report["methods"].as_array().expect("methods");
    methods
        .iter()
        .map(|row| {
            let name = row["method"].as_str().expect("a name").to_owned();
            (name, row["calls"].as_u64().expect("a number"))
        })
        .collect()
}

#[test]
fn recordings_have_the_calls_of_the_program() {
    let jdk = newest();
    let (folder, expected) = traced(&jdk, "format=jfr", "a.jfr");
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for event in jfr(&jdk, &folder.path().join("a.jfr"), CALL) {
        *found.entry(method_of(&event)).or_default() += 1;
    }
    for (name, count) in &expected {
        assert_eq!(found.get(name), Some(count), "{name}");
    }
}

/// The type of events that have a call.
const CALL: &str = "jdk.MethodTrace";
/// The type of events that have calls as a sum.
const SUM: &str = "jtrail.MethodSum";

/// Returns the method of such an event.
fn method_of(event: &Value) -> String {
    let method = &event["values"]["method"];
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let class = text(&method["type"]["name"]).replace('/', ".");
    let parameters = readable_signature(&text(&method["descriptor"]));
    format!("{class}.{}{parameters}", text(&method["name"]))
}

/// Returns the events of a type that the JDK's own reader finds in a recording.
fn jfr(jdk: &Jdk, file: &Path, event: &str) -> Vec<Value> {
    let mut command = Command::new(jdk.home.join("bin/jfr"));
    command
        .args(["print", "--json", "--events", event])
        .arg(file);
    let output = command.output().expect("jfr");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let read: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    read["recording"]["events"]
        .as_array()
        .expect("events")
        .clone()
}

#[test]
fn collapsed_stacks_have_the_methods_of_the_program() {
    let jdk = newest();
    let (folder, expected) = traced(&jdk, "format=collapsed", "a.collapsed");
    let text = fs::read_to_string(folder.path().join("a.collapsed")).expect("UTF-8");
    let stacks = text
        .lines()
        .map(|line| line.rsplit_once(' ').expect("a number").0);
    let frames: Vec<&str> = stacks.flat_map(|stack| stack.split(';')).collect();
    for name in expected.keys() {
        assert!(frames.contains(&name.as_str()), "{name}");
    }
}

/// Returns the lines of collapsed stacks as call paths and numbers.
fn stacks(text: &str) -> Vec<(Vec<&str>, u64)> {
    let lines = text.lines().map(|line| {
        let (path, number) = line.rsplit_once(' ').expect("a number");
        (path.split(';').collect(), number.parse().expect("a number"))
    });
    lines.collect()
}

#[test]
fn collapsed_stacks_weighted_by_calls_have_the_calls_of_the_program() {
    let jdk = newest();
    for options in [
        "",
        ",min=1ms",
        ",execdetails=false",
        ",collapsed.threads=true",
    ] {
        let all = format!("format=collapsed,collapsed.weight=calls{options}");
        let (folder, expected) = traced(&jdk, &all, "a.collapsed");
        let text = fs::read_to_string(folder.path().join("a.collapsed")).expect("UTF-8");
        let mut found: BTreeMap<&str, u64> = BTreeMap::new();
        for (path, calls) in stacks(&text) {
            assert_eq!(
                path[0].starts_with('['),
                options.contains("threads"),
                "{path:?}"
            );
            *found.entry(path.last().expect("a frame")).or_default() += calls;
        }
        for (name, count) in &expected {
            assert_eq!(found.get(name.as_str()), Some(count), "{name}{options}");
        }
    }
}

/// Runs a program whose threads call short methods and one that sleeps. Returns the number of calls
/// that sleep, and that of short ones. The trace goes to a file of this name in the folder.
fn short(folder: &Path, options: &str, name: &str) -> (u64, u64) {
    let run = program(&newest(), "Short").class_path(folder).dir(folder);
    let options = format!("{options},include=Short,file={name}");
    let output = run.agent(agent(), &options).output();
    output.assert_exit(0);
    let counts = output.counts();
    (counts.fact("sleeps"), counts.fact("quick"))
}

/// Returns a folder with the class of [`short`].
fn folder_of_short() -> tempfile::TempDir {
    let folder = temp_dir();
    compile("Short", include_str!("../calls/Short.java"), folder.path());
    folder
}

/// Exports a trace in the folder to another file there.
fn export(folder: &Path, from: &str, to: &str, options: &[&str]) {
    let path = |name: &str| folder.join(name).to_str().expect("UTF-8").to_owned();
    let (from, to) = (path(from), path(to));
    let args = [&["export", &from, "-o", &to], options].concat();
    outcome(&args).unwrap_or_else(|error| panic!("{args:?}: {error}"));
}

#[test]
fn deep_calls_are_left_out_live_as_afterwards() {
    let folder = folder_of_short();
    let folder = folder.path();
    let read = |name: &str| fs::read_to_string(folder.join(name)).expect("UTF-8");
    let live = "format=collapsed,collapsed.weight=calls";
    let (sleeps, quick) = short(folder, live, "all.collapsed");
    short(folder, &format!("{live},export.depth=2"), "two.collapsed");
    short(folder, "format=trail", "a.trail");
    let weight = ["--weight", "calls"];
    export(folder, "a.trail", "all-later.collapsed", &weight);
    let two = [&weight[..], &["--depth", "2"]].concat();
    export(folder, "a.trail", "two-later.collapsed", &two);
    let (all, two) = (read("all.collapsed"), read("two.collapsed"));
    assert_eq!(all, read("all-later.collapsed"));
    assert_eq!(two, read("two-later.collapsed"));
    let calls_at = |text: &str, depth: usize| -> u64 {
        let of_depth = |(path, calls): (Vec<&str>, u64)| (path.len() == depth).then_some(calls);
        stacks(text).into_iter().filter_map(of_depth).sum()
    };
    // The threads call `round`, which calls `quick`, which calls `inner` twice.
    for (depth, in_all, in_two) in [
        (2, sleeps, sleeps),
        (3, sleeps + quick, 0),
        (4, 2 * quick, 0),
    ] {
        assert_eq!(calls_at(&all, depth), in_all, "{depth}");
        assert_eq!(calls_at(&two, depth), in_two, "{depth}");
    }
}

/// Calls that sleep for 5 ms are there, and short ones are not, unless the system delayed them.
#[test]
fn short_calls_are_left_out_live_as_afterwards() {
    let folder = folder_of_short();
    let folder = folder.path();
    let live = "format=chrome,export.min=2ms";
    let (sleeps, quick) = short(folder, live, "live.trace.json");
    short(folder, "format=trail", "a.trail");
    export(folder, "a.trail", "later.trace.json", &["--min", "2ms"]);
    for name in ["live.trace.json", "later.trace.json"] {
        let text = fs::read_to_string(folder.join(name)).expect("UTF-8");
        assert!(
            text.contains("jtrail: calls and waits shorter than 2ms are left out"),
            "{name}"
        );
        let file = folder.join(name);
        let calls = calls_in_report(&file);
        let of = |method: &str| calls.get(method).copied().unwrap_or(0);
        assert_eq!(of("Short.sleeps(int)"), sleeps, "{name}");
        assert_eq!(of("Short.round(int)"), sleeps, "{name}");
        assert!(of("Short.quick(int)") * 1_000 < quick, "{name}: {calls:?}");
    }
}

#[test]
fn recordings_have_sums_of_calls() {
    let jdk = newest();
    for options in ["min=1ms", "execdetails=false"] {
        let (folder, expected) = traced(&jdk, &format!("format=jfr,{options}"), "a.jfr");
        let file = folder.path().join("a.jfr");
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        let (single, sums) = (jfr(&jdk, &file, CALL), jfr(&jdk, &file, SUM));
        assert!(!sums.is_empty(), "{options}");
        for event in single.iter().chain(&sums) {
            let calls = event["values"]["calls"].as_u64().unwrap_or(1);
            *found.entry(method_of(event)).or_default() += calls;
        }
        for (name, count) in &expected {
            assert_eq!(found.get(name), Some(count), "{name} {options}");
        }
    }
}

/// Returns the number of events of a type, from the JDK's own summary of a recording.
fn count_of(jdk: &Jdk, file: &Path, event: &str) -> u64 {
    let mut command = Command::new(jdk.home.join("bin/jfr"));
    let output = command.arg("summary").arg(file).output().expect("jfr");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    let row = text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some(event)).then(|| words.next())
    });
    let count = row.flatten().expect("a row with a count");
    count.parse().expect("a number")
}

/// A file ends within what would be one chunk if the size were not limited.
#[test]
fn recordings_go_on_in_another_file() {
    const MB: u64 = 1 << 20;
    let jdk = newest();
    let folder = temp_dir();
    let folder = folder.path();
    compile("Many", include_str!("../support/Many.java"), folder);
    let filter = "include=Many.rounds,include=Many.outer,include=Many.inner";
    let run = program(&jdk, "Many").class_path(folder).arg("20000");
    let options = format!("format=jfr,maxsize=1m,{filter},file=a.jfr");
    run.dir(folder)
        .agent(agent(), &options)
        .output()
        .assert_exit(0);
    let names = (2..).map(|number| format!("a-{number}.jfr"));
    let names = ["a.jfr".to_owned()].into_iter().chain(names);
    let files: Vec<_> = names
        .map(|name| folder.join(name))
        .take_while(|file| file.exists())
        .collect();
    assert!(files.len() >= 3, "{files:?}");
    let mut calls = 0;
    for file in &files {
        let size = fs::metadata(file).expect("there").len();
        assert!(size <= MB, "{}: {size} bytes", file.display());
        calls += count_of(&jdk, file, CALL);
    }
    // A call that is open at the end of a file is in that one and in the next.
    let exact = 4 * (1 + 20_000 * 5);
    let most = exact + 16 * (files.len() as u64 - 1);
    assert!((exact..=most).contains(&calls), "{calls}, not {exact}");
}

/// What the format has no field for is in the export itself, too.
#[test]
fn what_is_dropped_is_in_the_trace_events() {
    let (folder, _) = traced(&newest(), "format=chrome,events=+lines", "a.trace.json");
    let text = fs::read_to_string(folder.path().join("a.trace.json")).expect("UTF-8");
    assert!(text.contains("jtrail: dropped: events=lines (not recorded)"));
}

/// The packets' structure is tested in jtrail-export; here, that the file is whole, and has the
/// names of all methods.
#[test]
fn perfetto_traces_have_the_methods_of_the_program() {
    let jdk = newest();
    let (folder, expected) = traced(&jdk, "format=perfetto", "a.pftrace");
    let bytes = fs::read(folder.path().join("a.pftrace")).expect("there");
    let (mut rest, mut packets) = (&bytes[..], 0);
    while let Some((0x0a, after)) = rest.split_first() {
        let (mut len, mut at) = (0, 0);
        while let Some(byte) = after.get(at) {
            len |= usize::from(byte & 0x7f) << (7 * at);
            at += 1;
            if byte & 0x80 == 0 {
                break;
            }
        }
        rest = &after[at + len..];
        packets += 1;
    }
    assert!(rest.is_empty() && packets > 100, "{packets} packets");
    for name in expected.keys() {
        let found = bytes
            .windows(name.len())
            .any(|bytes| bytes == name.as_bytes());
        assert!(found, "{name}");
    }
}
