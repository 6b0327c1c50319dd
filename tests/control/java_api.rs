//! The program commands the agent itself, with the classes of the jar.

use crate::support::cli::jtrail;
use crate::support::java_api::{API, with_api};
use crate::support::{FILTER, Trace, agent, few_versions};
use jtrail_testkit::{Jdk, Output, Run, temp_dir};
use std::ffi::OsString;
use std::path::Path;

/// Returns what the program prints about the results of its calls.
fn said<'a>(output: &'a Output, what: &str) -> Vec<&'a str> {
    let lines = output.stdout.lines();
    let begin = format!("{what}: ");
    lines.filter_map(|line| line.strip_prefix(&begin)).collect()
}

/// Each trace has the calls of its thread between start and stop, and nothing else.
#[test]
fn the_program_begins_and_ends_its_traces() {
    for jdk in Jdk::require(&few_versions()) {
        for more in ["", ",control=off"] {
            let folder = temp_dir();
            let dir = folder.path().join("own");
            std::fs::create_dir(&dir).expect("a folder");
            let socket = folder.path().join("socket");
            let more = match more {
                "" => format!(",control={}", socket.display()),
                other => other.to_owned(),
            };
            let options =
                format!("server=application,format=binary,file=trace.trcbin,{FILTER}{more}");
            let run = with_api(&jdk, "harness.OwnTrace").arg(&dir).dir(&dir);
            let output = run.agent(agent(), options).output();
            output.assert_exit(0);
            for (what, expected) in [
                ("stop of nothing", &["there is no trace"][..]),
                ("mark of nothing", &["there is no trace"]),
                ("active", &["false", "true", "false"]),
                ("early start", &["done"]),
                ("early stop", &["done"]),
                ("start", &["done"]),
                ("again", &["a trace is active; stop it first"]),
                ("mark", &["done"]),
                ("pause", &["done"]),
                ("resume", &["done"]),
                ("stop", &["done"]),
                (
                    "own note",
                    &["texts that begin with \"jtrail \" are the agent's own"],
                ),
                (
                    "no such format",
                    &[
                        "no such value \"pdf\"; allowed are xml, binary, jinsight, mlpd, tracelog, profilerj, trail, perfetto, chrome, jfr, collapsed, none",
                    ],
                ),
                ("no burst", &["a burst takes some time"]),
                ("no events", &["a burst has some events"]),
                ("long burst", &["done"]),
                ("cut short", &["done"]),
                ("default file", &["true"]),
                (
                    "many",
                    &["1 1", "1 1"][..if jdk.feature >= 21 { 2 } else { 1 }],
                ),
                ("hook start", &["done", "done"]),
                ("hook stop", &["done"]),
                ("hook mark", &["done"]),
            ] {
                assert_eq!(said(&output, what), expected, "{what}\n{output}");
            }
            let refused = said(&output, "no such folder");
            assert!(refused[0].contains("cannot write"), "{output}");
            let expected = output
                .stdout
                .lines()
                .filter_map(|line| line.strip_prefix("TRACE "));
            let mut traces = 0;
            for line in expected {
                let [file, key, count] = line.split(' ').collect::<Vec<_>>()[..] else {
                    panic!("{line}");
                };
                let trace = Trace::read(&dir.join(file))
                    .unwrap_or_else(|e| panic!("{file}: {e}\n{output}"));
                assert_eq!(trace.faults, [""; 0], "{file}\n{output}");
                let key = format!("harness.OwnTrace.{key}");
                let found = trace
                    .calls
                    .iter()
                    .find(|(k, _)| k.starts_with(&key[..key.len() - 1]));
                let found = found.map(|(_, n)| n.to_string());
                assert_eq!(
                    found.as_deref(),
                    Some(count),
                    "{file}\n{:?}\n{output}",
                    trace.calls
                );
                traces += 1;
            }
            assert!(traces >= 5, "{output}");
            let first = dir.join("first").display().to_string();
            let (_, dump, _) = jtrail(&["dump", &first]);
            let mark = dump
                .find("first <&> \\\"mark\\\" ä😀")
                .unwrap_or_else(|| panic!("{dump}"));
            // The mark is after the first calls and before the next ones.
            let enters = |part: &str| part.matches("enter harness.OwnTrace.work(").count();
            assert_eq!(
                (enters(&dump[..mark]), enters(&dump[mark..])),
                (2, 8),
                "{dump}"
            );
            assert!(!dump.contains("jtrail.Trace"), "{dump}");
            assert!(!output.stderr.contains("WARNING"), "{output}");
            assert!(!socket.exists());
        }
    }
}

/// Without the agent, or if the program may not command it, the program behaves the same.
#[test]
fn a_program_that_may_not_command_runs_as_ever() {
    for jdk in Jdk::require(&few_versions()) {
        let folder = temp_dir();
        let run = || {
            with_api(&jdk, "harness.OwnTrace")
                .arg(folder.path())
                .dir(folder.path())
        };
        let alone = run().output();
        alone.assert_exit(0);
        assert!(
            said(&alone, "start")
                .iter()
                .all(|s| *s == "there is no agent"),
            "{alone}"
        );
        assert_eq!(said(&alone, "active"), ["false"; 3]);
        let file = folder.path().join("trace");
        for options in ["server=standalone", "server=enabled"] {
            let socket = folder.path().join("socket");
            let control = match options {
                "server=enabled" => format!(",control={}", socket.display()),
                _ => String::new(),
            };
            let options = format!(
                "{options},format=binary,{FILTER},file={}{control}",
                file.display()
            );
            let output = run().agent(agent(), &options).output();
            output.assert_exit(0);
            for what in ["start", "stop", "pause", "resume", "long burst"] {
                let said = said(&output, what);
                assert!(said[0].contains("server=application"), "{what}\n{output}");
            }
            assert_eq!(said(&output, "active"), ["true"; 3], "{output}");
            assert_eq!(said(&output, "mark"), ["done"], "{output}");
            let trace = Trace::read(&file).unwrap_or_else(|e| panic!("{e}\n{output}"));
            trace.assert_sound(&output);
            let (_, dump, _) = jtrail(&["dump", &file.display().to_string()]);
            for mark in ["first <&>", "nowhere", "thread 7", "at the end"] {
                assert!(dump.contains(mark), "{mark}");
            }
        }
    }
}

/// The example in the documentation works as described, with and without the agent.
#[test]
fn the_example_runs() {
    let document = include_str!("../../docs/api.md");
    let (_, rest) = document.split_once("```java\n").expect("an example");
    let (example, _) = rest.split_once("```").expect("its end");
    let folder = temp_dir();
    crate::support::compile::compile_with_harness(
        "Example",
        example,
        folder.path(),
        Path::new(API),
    );
    for jdk in Jdk::require(&few_versions()) {
        let mut path: OsString = folder.path().into();
        path.push(":");
        path.push(API);
        let run = || {
            Run::new(&jdk, "Example")
                .class_path(path.clone())
                .dir(folder.path())
        };
        let alone = run().output();
        alone.assert_exit(0);
        let options = "server=application,control=off,format=binary,file=example.trcbin";
        let output = run().agent(agent(), options).output();
        output.assert_exit(0);
        assert_eq!(output.stdout, alone.stdout);
        let name = "slow.trcbin";
        let trace =
            Trace::read(&folder.path().join(name)).unwrap_or_else(|e| panic!("{e}\n{output}"));
        trace.assert_sound(&output);
        assert_eq!(
            trace.calls.get("Example.serve(I)V"),
            Some(&1),
            "{:?}",
            trace.calls
        );
        std::fs::remove_file(folder.path().join(name)).expect("it was written");
    }
}

/// The jar supports Java 8 and later, and has no dependencies.
#[test]
fn the_jar_is_of_java_8() {
    let jdks = Jdk::all();
    let jdk = jdks.iter().find(|jdk| jdk.javac.is_some()).expect("a JDK");
    let javap = jdk.java.with_file_name("javap");
    let output = std::process::Command::new(javap)
        .args(["-v", "-cp", API, "jtrail.Trace", "jtrail.Trace$Result"])
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(text.matches("major version: 52").count(), 2, "{text}");
}
