//! The agent writes the formats of other tools: with the calls that the program knows of itself.

use crate::support::cli::jtrail;
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
    let file = folder.path().join("a.trace.json");
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
    let found: BTreeMap<String, u64> = methods
        .iter()
        .map(|row| {
            let name = row["method"].as_str().expect("a name").to_owned();
            (name, row["calls"].as_u64().expect("a number"))
        })
        .collect();
    for (name, count) in &expected {
        assert_eq!(found.get(name), Some(count), "{name}");
    }
}

#[test]
fn recordings_have_the_calls_of_the_program() {
    let jdk = newest();
    let (folder, expected) = traced(&jdk, "format=jfr", "a.jfr");
    let events = jfr(&jdk, &folder.path().join("a.jfr"));
    let mut found: BTreeMap<String, u64> = BTreeMap::new();
    for event in &events {
        let method = &event["values"]["method"];
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let class = text(&method["type"]["name"]).replace('/', ".");
        let parameters = readable_signature(&text(&method["descriptor"]));
        *found
            .entry(format!("{class}.{}{parameters}", text(&method["name"])))
            .or_default() += 1;
    }
    for (name, count) in &expected {
        assert_eq!(found.get(name), Some(count), "{name}");
    }
}

/// Returns the calls that the JDK's own reader finds in a recording.
fn jfr(jdk: &Jdk, file: &Path) -> Vec<Value> {
    let mut command = Command::new(jdk.home.join("bin/jfr"));
    command
        .args(["print", "--json", "--events", "jdk.MethodTrace"])
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
