//! Class loaders that do not resolve the hook class, and some that do.

use crate::support::cli::outcome;
use crate::support::compile::compile;
use crate::support::{Trace, agent, at_once, few_versions, traced};
use jtrail_model::Note;
use jtrail_testkit::{Jdk, Run, temp_dir};
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

const PROGRAM: &str = "ForeignLoaders";
/// Number of the program's loaders that resolve the hook class.
const GOOD: u64 = 3;
const ALL: u64 = 13;

fn program(jdk: &Jdk, folder: &Path, mode: &str) -> Run {
    Run::new(jdk, PROGRAM)
        .class_path(folder)
        .jvm_arg("-Xverify:all")
        .arg(mode)
}

fn compiled() -> tempfile::TempDir {
    let folder = temp_dir();
    compile(PROGRAM, include_str!("ForeignLoaders.java"), folder.path());
    folder
}

/// Returns the reasons in the trace why plug-ins are not instrumented, with their counts.
fn reasons(trace: &Trace) -> BTreeMap<String, u64> {
    let mut reasons = BTreeMap::new();
    for note in &trace.notes {
        if let Note::Uninstrumented(u) = note
            && u.class == "ForeignLoaders$Plugin"
        {
            *reasons.entry(u.reason.to_string()).or_default() += 1;
        }
    }
    reasons
}

/// The reasons that the trace must have, each for one loader.
const REASONS: [&str; 6] = [
    "(ForeignLoaders$Foreign) does not give out java.lang.JtrailHook: java.lang.AssertionError",
    "(ForeignLoaders$Foreign) does not give out java.lang.JtrailHook: java.lang.ClassNotFoundException",
    "(ForeignLoaders$Foreign) does not give out java.lang.JtrailHook: java.lang.Exception",
    "(ForeignLoaders$Foreign) does not give out java.lang.JtrailHook: java.lang.IllegalStateException",
    "(ForeignLoaders$Foreign) does not give out java.lang.JtrailHook: java.lang.StackOverflowError",
    "(ForeignLoaders$Heir) does not give out java.lang.JtrailHook: java.lang.ClassNotFoundException",
];

fn assert_refused(trace: &Trace, of: &str) {
    let reasons = reasons(trace);
    assert_eq!(
        reasons.values().sum::<u64>(),
        ALL - GOOD,
        "{of}: {reasons:#?}"
    );
    for reason in REASONS {
        assert!(
            reasons.keys().any(|r| r.ends_with(reason)),
            "{of}: {reason}: {reasons:#?}"
        );
    }
}

fn calls(trace: &Trace, method: &str) -> u64 {
    let key = format!("{PROGRAM}${method}");
    trace.calls.get(&key).copied().unwrap_or_default()
}

fn printed_calls(output: &str, nth: usize) -> u64 {
    let mut lines = output
        .lines()
        .filter_map(|line| line.strip_prefix("loadClass "));
    lines
        .nth(nth)
        .and_then(|n| n.parse().ok())
        .expect("printed")
}

/// The program behaves as without the agent, and the trace is exact. Calls of loaders that only the
/// agent causes are not in the trace.
#[test]
fn a_loader_that_does_not_give_out_the_hook_is_found_out() {
    let folder = compiled();
    at_once(|jdk| {
        let plain = program(jdk, folder.path(), "all").output();
        plain.assert_exit(0);
        for options in [
            "include=ForeignLoaders*",
            "include=ForeignLoaders*,clock=tick",
            "include=ForeignLoaders*,events=methods+threads+alloc+free+details,alloc=sites",
        ] {
            let of = format!("{} {options}", jdk.feature);
            let run = traced(program(jdk, folder.path(), "all"), options);
            run.output.assert_exit(0);
            assert_eq!(run.output.stdout, plain.stdout, "{of}");
            let asked = run
                .output
                .stderr
                .matches("asked for java.lang.JtrailHook")
                .count();
            assert_eq!(asked, 1, "{of}: {}", run.output);
            run.trace.assert_sound(&run.output);
            assert_eq!(calls(&run.trace, "Plugin.add(II)I"), 10 * GOOD, "{of}");
            assert_eq!(calls(&run.trace, "Plugin.run()V"), GOOD, "{of}");
            let load = "Foreign.loadClass(Ljava/lang/String;Z)Ljava/lang/Class;";
            let expected = printed_calls(&plain.stdout, 0);
            assert_eq!(calls(&run.trace, load), expected, "{of}");
            assert_refused(&run.trace, &of);
        }
    });
}

/// The first hook runs while the program holds a lock, and another thread waits for that lock
/// inside the loader.
#[test]
fn no_hook_waits_for_a_loader() {
    let folder = compiled();
    at_once(|jdk| {
        let run = traced(
            program(jdk, folder.path(), "locks"),
            "include=ForeignLoaders*",
        );
        run.output.assert_exit(0);
        assert_eq!(run.output.stdout, "3\nboth\n3\nboth\n");
        run.trace.assert_sound(&run.output);
        assert_eq!(calls(&run.trace, "Plugin.add(II)I"), 1, "{}", jdk.feature);
    });
}

/// Loaders whose classes exist when the agent is attached.
#[test]
fn loaders_are_asked_when_the_agent_comes() {
    let folder = compiled();
    for jdk in Jdk::require(&few_versions()) {
        let mut running = program(&jdk, folder.path(), "attached")
            .spawn()
            .expect("it starts");
        running.wait_for("READY");
        let file = folder.path().join(format!("{}.trail", jdk.feature));
        let (pid, agent) = (running.pid().to_string(), agent());
        let [agent, to] = [&agent, &file].map(|path| path.to_str().expect("text"));
        let include = "ForeignLoaders*";
        outcome(&[
            "attach",
            &pid,
            "--agent",
            agent,
            "--file",
            to,
            "--include",
            include,
        ])
        .expect("it is taken");
        running.stdin().write_all(b"\n").expect("it reads");
        let output = running.wait().expect("it ends");
        output.assert_exit(0);
        let (first, second) = output.stdout.split_once("READY\n").expect("two rounds");
        assert_eq!(first, second, "{output}");
        let trace = Trace::read(&file).unwrap_or_else(|e| panic!("{e}\n{output}"));
        trace.assert_sound(&output);
        assert_eq!(
            calls(&trace, "Plugin.add(II)I"),
            10 * GOOD,
            "{}",
            jdk.feature
        );
        let load = "Foreign.loadClass(Ljava/lang/String;Z)Ljava/lang/Class;";
        assert_eq!(calls(&trace, load), 0, "{}", jdk.feature);
        assert_refused(&trace, &jdk.feature.to_string());
    }
}
