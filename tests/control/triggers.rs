//! Bursts that triggers begin. The tests know each event of a burst.

use crate::support::cli::jtrail;
use crate::support::control::{ControlledRun, rounds};
use crate::support::{FILTER, Trace, VERSIONS, agent, few_versions, newest_of, program};
use jtrail_formats::Format;
use jtrail_model::{BurstNote, Note};
use jtrail_testkit::{Jdk, Output, temp_dir};
use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

/// Runs the program with these options for bursts.
fn run(jdk: &Jdk, file: &Path, options: &str, args: &[&str]) -> Output {
    let options = format!("{options},{FILTER},file={}", file.display());
    let run = program(jdk, "harness.Bursts").agent(agent(), options);
    let output = args.iter().fold(run, |run, arg| run.arg(arg)).output();
    output.assert_exit(0);
    assert!(output.stdout.contains("done true"), "{output}");
    output
}

/// Like [`run`], in binary format; returns the trace, too.
fn burst(jdk: &Jdk, options: &str, args: &[&str]) -> (Trace, Output) {
    let folder = temp_dir();
    let file = folder.path().join("trace");
    let output = run(jdk, &file, &format!("format=binary,{options}"), args);
    let trace = Trace::read(&file).unwrap_or_else(|e| panic!("{e}\n{output}"));
    trace.assert_sound(&output);
    (trace, output)
}

/// Returns the number of calls by method name, in the order given.
fn calls<const N: usize>(trace: &Trace, names: [&str; N]) -> [u64; N] {
    let mine = |key: &str| key.starts_with("harness.Bursts.");
    let all = trace.calls.iter().filter(|(key, _)| mine(key));
    let all: u64 = all.map(|(_, n)| n).sum();
    let found = names.map(|name| {
        let key = format!("harness.Bursts.{name}(");
        let of_name = trace.calls.iter().filter(|(k, _)| k.starts_with(&key));
        of_name.map(|(_, n)| n).sum()
    });
    // All other calls are those of the constructor of the program's exception.
    let rest = |key: &String| mine(key) || key == "harness.Bursts$Own.<init>()V";
    assert!(trace.calls.keys().all(rest), "{:?}", trace.calls);
    assert_eq!(found.iter().sum::<u64>(), all, "{:?}", trace.calls);
    found
}

/// Returns the triggers of the bursts in a trace.
fn triggers(trace: &Trace) -> Vec<BurstNote<'static>> {
    let burst = |note: &Note<'static>| match note {
        Note::Burst(burst) => Some(burst.clone()),
        _ => None,
    };
    trace.notes.iter().filter_map(burst).collect()
}

fn names(trace: &Trace) -> Vec<String> {
    let bursts = triggers(trace).into_iter();
    bursts.map(|burst| burst.trigger.into_owned()).collect()
}

const ROUND: [&str; 4] = ["round", "a", "leaf", "b"];

/// The burst begins at the n-th call, and has as many events as requested. At its end, calls that
/// are still open are left.
#[test]
fn the_nth_call_and_so_many_events() {
    for jdk in Jdk::require(&few_versions()) {
        // The burst has two rounds, and the first four events of the third round.
        let (trace, output) = burst(&jdk, "burst=call:harness.Bursts.round:50/20", &["rounds"]);
        assert_eq!(calls(&trace, ROUND), [3, 3, 3, 2], "{output}");
        let totals = trace.totals();
        assert_eq!((totals.enters, totals.leaves, totals.open), (11, 11, 0));
        let bursts = triggers(&trace);
        assert_eq!(bursts.len(), 1);
        assert_eq!(bursts[0].trigger, "call:harness.Bursts#round:50/20");
        assert!(bursts[0].thread.0 > 0 && bursts[0].time.0 > 0);
        assert_eq!(trace.thread("main").steps.len(), 22);
        assert!(!output.stderr.contains("never happened"), "{output}");

        // The trigger's method need not be traced.
        let (trace, _) = burst(
            &jdk,
            "burst=call:harness.Bursts.round:100/20,include=harness.Bursts.a,include=harness.Bursts.leaf",
            &["rounds"],
        );
        assert_eq!(calls(&trace, ROUND), [0, 1, 1, 0]);

        // The method may belong to the JDK, and the events may be others than calls.
        let (trace, output) = burst(
            &jdk,
            "burst=call:java.io.PrintStream.println/1000,events=methods+threads+alloc",
            &["rounds"],
        );
        assert_eq!(calls(&trace, ROUND), [0; 4], "{output}");
        assert_eq!(names(&trace).len(), 1, "{output}");

        // Without `methods`, only the trigger's method is rewritten.
        let (trace, _) = burst(
            &jdk,
            "burst=call:harness.Bursts.round/1s,events=threads+gc",
            &["rounds"],
        );
        assert_eq!(calls(&trace, ROUND), [0; 4]);
        assert_eq!(names(&trace), ["call:harness.Bursts#round:1/1s"]);

        // A constructor; and a class with all its nested classes.
        let (trace, _) = burst(
            &jdk,
            "burst=call:harness.Bursts.<init>,burst=call:harness.Bursts$Made.<init>",
            &["constructor"],
        );
        assert_eq!(names(&trace), ["call:harness.Bursts$Made#<init>:1/10s"]);
        let after = trace
            .calls
            .keys()
            .filter(|key| key.contains("after") || key.contains("Made"));
        assert_eq!(after.count(), 2, "{:?}", trace.calls);
        assert_eq!(trace.calls.len(), 2);
    }
}

/// Bursts may overlap: each has all of its events.
#[test]
fn bursts_that_overlap() {
    for jdk in Jdk::require(&few_versions()) {
        let options = "burst=call:harness.Bursts.round:10/8,burst=call:harness.Bursts.b:10/8";
        let (trace, output) = burst(&jdk, options, &["rounds"]);
        // Five events of the first burst alone, three of both, five of the second alone.
        assert_eq!(calls(&trace, ROUND), [2, 2, 2, 1], "{output}");
        assert_eq!(trace.totals().enters + trace.totals().leaves, 13 + 1);
        assert_eq!(names(&trace).len(), 2);
        // A burst within a longer burst, and one after the longer burst.
        let options = "burst=call:harness.Bursts.round:10/80,burst=call:harness.Bursts.round:12/8,\
                       burst=call:harness.Bursts.round:90/8";
        let (trace, _) = burst(&jdk, options, &["rounds"]);
        assert_eq!(calls(&trace, ROUND), [11; 4]);
        assert_eq!(names(&trace).len(), 3);
    }
}

/// All threads count their calls together: the n-th call begins the burst, on whichever thread it
/// is. The burst has the events of all threads.
#[test]
fn threads_share_a_trigger() {
    for jdk in Jdk::require(&few_versions()) {
        let kinds: &[&str] = if jdk.feature >= 21 {
            &["threads", "virtual"]
        } else {
            &["threads"]
        };
        for kind in kinds {
            let options =
                "burst=call:harness.Bursts.round:4000/10000,burst=call:harness.Bursts.leaf:1/10";
            let (trace, output) = burst(&jdk, options, &[kind, "5000"]);
            assert_eq!(names(&trace).len(), 2, "{output}");
            let totals = trace.totals();
            let written = totals.enters + totals.leaves;
            // At the end of a burst, open calls are left: at most three of each thread.
            assert!(
                (10_010..=10_010 + 2 * 24).contains(&written),
                "{written}\n{output}"
            );
            assert_eq!(totals.enters, totals.leaves);
        }
    }
}

/// A slow call is noticed while it lasts, so the burst has what the call does after the limit. At
/// the latest, the call is noticed when it ends.
#[test]
fn slow_calls() {
    for jdk in Jdk::require(&newest_of(&VERSIONS)) {
        let of = |trace: &Trace| calls(trace, ["before", "slow", "inner", "after"]);
        let (trace, output) = burst(&jdk, "burst=slow:harness.Bursts.slow:300ms", &["slow"]);
        assert_eq!(of(&trace), [0, 0, 1, 1], "{output}");
        assert_eq!(names(&trace), ["slow:harness.Bursts#slow:300ms/10s"]);
        // The calls are too short to be noticed while they last. Either only the outermost call
        // exceeds the limit, or all calls do.
        let (trace, output) = burst(
            &jdk,
            "burst=slow:harness.Bursts.nested:1us/10s",
            &["slow-end"],
        );
        assert_eq!(calls(&trace, ["before", "after"])[..], [0, 1], "{output}");
        // This call is not slow.
        let (trace, output) = burst(&jdk, "burst=slow:harness.Bursts.slow:1h", &["slow"]);
        assert_eq!(of(&trace), [0; 4]);
        let never = "jtrail: burst=slow:harness.Bursts#slow:1h/10s never happened";
        assert!(output.stderr.contains(never), "{output}");
        if jdk.feature >= 21 {
            let (trace, output) = burst(&jdk, "burst=slow:*.slow:300ms", &["slow-virtual"]);
            assert_eq!(of(&trace), [0, 0, 1, 0], "{output}");
            assert_eq!(names(&trace).len(), 1);
        }
    }
}

/// Exceptions of the class or of a subclass. Each exception begins a burst, unless the burst of an
/// earlier one is still active.
#[test]
fn exceptions() {
    for jdk in Jdk::require(&few_versions()) {
        let of = |trace: &Trace| calls(trace, ["before", "fail", "inner", "after"]);
        for class in [
            "harness.Bursts$Own",
            "java.lang.RuntimeException",
            "java.*.IllegalState*",
        ] {
            let (trace, output) = burst(&jdk, &format!("burst=exception:{class}"), &["exception"]);
            assert_eq!(of(&trace), [0, 2, 2, 3], "{class}\n{output}");
        }
        // Each burst has two events: the begin and the end of `after`.
        let (trace, output) = burst(&jdk, "burst=exception:harness.Bursts$Own/2", &["exception"]);
        let bursts = names(&trace).len();
        assert!((1..=3).contains(&bursts), "{output}");
        let events = "events=methods+threads+exceptions,burst=exception:harness.Bursts$Own";
        let (trace, output) = burst(&jdk, events, &["exception"]);
        assert_eq!(of(&trace), [0, 2, 2, 3], "{output}");
        assert_eq!(
            (trace.totals().throws, trace.totals().catches),
            (3, 3),
            "the first one too"
        );
        let (trace, output) = burst(&jdk, "burst=exception:harness.Bursts", &["exception"]);
        assert_eq!(of(&trace), [0; 4]);
        assert!(
            output
                .stderr
                .contains("burst=exception:harness.Bursts/10s never happened"),
            "{output}"
        );
    }
}

/// Bursts by the clock: once, or periodically.
#[test]
fn times() {
    for jdk in Jdk::require(&few_versions()) {
        let (trace, output) = burst(&jdk, "burst=at:0s/1m,burst=at:1h", &["rounds"]);
        let [rounds, ..] = calls(&trace, ["round", "a", "leaf", "b", "main", "rounds"]);
        assert_eq!(rounds, 100, "{output}");
        assert!(
            output.stderr.contains("burst=at:1h/10s never happened"),
            "{output}"
        );
        let (trace, output) = burst(&jdk, "burst=every:300ms/40ms", &["busy", "2000"]);
        let bursts = triggers(&trace);
        assert!((3..=12).contains(&bursts.len()), "{bursts:?}\n{output}");
        // A burst may be late. The next burst is not delayed by that.
        let apart = bursts.windows(2).map(|two| two[1].time.0 - two[0].time.0);
        let (least, sum) = (apart.clone().min(), apart.sum::<i64>());
        let whole = 300_000_000 * (bursts.len() as i64 - 1);
        assert!(least.is_some_and(|ns| ns > 40_000_000), "{bursts:?}");
        assert!(sum > whole - 250_000_000, "{bursts:?}");
        assert!(bursts.iter().all(|burst| burst.thread.0 == 0));
        let rounds = trace.calls["harness.Bursts.round()V"];
        assert!(rounds > 0 && rounds <= 45 * bursts.len() as u64, "{rounds}");
    }
}

/// In each format, the trace has the bursts and is sound.
#[test]
fn every_format() {
    let jdks = Jdk::require(&VERSIONS);
    let jdk = jdks.last().expect("some");
    for format in Format::ALL.map(Format::name) {
        let folder = temp_dir();
        let file = folder.path().join("trace");
        let options = format!(
            "format={format},burst=call:harness.Bursts.round:50/20,burst=call:harness.Bursts.round:90/20"
        );
        let output = run(jdk, &file, &options, &["rounds"]);
        let path = file.display().to_string();
        let (code, out, err) = jtrail(&["verify", &path]);
        assert_eq!(code, ExitCode::SUCCESS, "{format}: {out}{err}\n{output}");
        let (_, report, _) = jtrail(&["report", "--only", "methods", "--format", "tsv", &path]);
        let count = |name: &str| {
            let line = report
                .lines()
                .find(|line| line.contains(&format!("harness.Bursts.{name}")));
            let line = line.unwrap_or_else(|| panic!("{format}: {report}"));
            line.split('\t').find_map(|word| word.parse::<u64>().ok())
        };
        assert_eq!(
            ["round", "a", "leaf", "b"].map(count),
            [6, 6, 6, 4].map(Some),
            "{format}: {report}"
        );
        let (_, report, _) = jtrail(&["report", "--format", "tsv", "--only", "bursts", &path]);
        let reported = report.matches("call:harness.Bursts#round:").count();
        let has_notes = matches!(format, "xml" | "binary" | "jinsight" | "trail");
        assert_eq!(
            reported,
            if has_notes { 2 } else { 0 },
            "{format}: {report}"
        );
    }
}

/// Bursts work with other recording options.
#[test]
fn with_other_options() {
    let jdks = Jdk::require(&VERSIONS);
    for jdk in [&jdks[0], jdks.last().expect("some")] {
        for more in [
            "overflow=drop,buffer=1m",
            "events=methods+threads+alloc,alloc=sites,allocsites=true",
            "events=methods+threads+alloc+free,alloc=sites",
            "events=methods+threads+lines+cpu",
            "clock=tick",
            "events=methods+threads+classes+gc+alloc+free+monitors+parks+details+samples",
        ] {
            let options = format!("burst=call:harness.Bursts.round:50/1m,{more}");
            let (trace, output) = burst(jdk, &options, &["rounds"]);
            assert_eq!(calls(&trace, ROUND), [51; 4], "{more}\n{output}");
        }
        let folder = temp_dir();
        let file = folder.path().join("trace");
        let options = "format=binary,execdetails=false,burst=call:harness.Bursts.round:50/20";
        run(jdk, &file, options, &["rounds"]);
        let (_, report, _) = jtrail(&[
            "report",
            "--only",
            "methods",
            "--format",
            "tsv",
            &file.display().to_string(),
        ]);
        let line = report
            .lines()
            .find(|line| line.contains("Bursts.round"))
            .expect("there");
        assert_eq!(
            line.split('\t').find_map(|word| word.parse::<u64>().ok()),
            Some(3),
            "{report}"
        );
        // With the other engine, times and exceptions begin bursts.
        let (trace, output) = burst(
            jdk,
            "engine=jvmti,burst=exception:harness.Bursts$Own",
            &["exception"],
        );
        assert_eq!(
            calls(&trace, ["before", "fail", "inner", "after"])[0],
            0,
            "{output}"
        );
        assert_eq!(trace.calls["harness.Bursts.after()V"], 3);
    }
}

/// The agent may be attached later. Methods of loaded classes begin bursts, too.
#[test]
fn in_a_program_that_runs() {
    for jdk in Jdk::require(&few_versions()) {
        let folder = temp_dir();
        let file = folder.path().join("trace");
        let mut running = program(&jdk, "harness.Attached")
            .spawn()
            .expect("it starts");
        running.wait_ready();
        let (pid, agent, path) = (
            running.pid().to_string(),
            agent(),
            file.display().to_string(),
        );
        let round = "call:harness.Attached.round:2/1h";
        let args = [
            "attach",
            &pid,
            "--agent",
            agent.to_str().expect("text"),
            "--file",
            &path,
            "--burst",
            round,
        ];
        let (code, _, err) = jtrail(&args);
        assert_eq!(code, ExitCode::SUCCESS, "{err}");
        let mut input = running.stdin();
        input.write_all(b"work\nwork\nwork\n").expect("it reads");
        drop(input);
        let output = running.wait().expect("it ends");
        output.assert_exit(0);
        let (trace, count) = rounds(&file, &output);
        assert_eq!((count, names(&trace).len()), (2, 1), "{output}");
    }
}

/// Clients see bursts, and their commands work as usual.
#[test]
fn clients_and_triggers() {
    for jdk in Jdk::require(&few_versions()) {
        let mut app = ControlledRun::new(
            &jdk,
            "format=binary,events=methods+threads,burst=call:harness.Attached.round:2/1h",
        );
        app.wait_for("paused");
        app.work(); // in no trace
        app.work(); // begins the burst
        app.wait_for("recording");
        app.work();
        app.ctl(&["pause"]); // cuts the burst short
        app.work(); // in no trace
        app.ctl(&["resume"]);
        app.work();
        app.ctl(&["pause"]);
        app.ctl(&["burst", "--for", "1h"]);
        app.work();
        app.ctl(&["stop"]);
        app.work(); // in no trace
        let second = format!("file={}", app.text("second"));
        app.ctl(&["start", &second]);
        app.wait_for("paused");
        app.work(); // in no trace
        app.ctl(&["rotate", &app.text("third")]);
        app.wait_for("paused");
        app.work(); // second call in this trace: the count goes on
        app.wait_for("recording");
        app.ctl(&["rotate", &app.text("fourth")]);
        app.wait_for("recording");
        app.work();
        app.ctl(&["stop"]);
        app.ctl(&["burst", "--for", "1h"]);
        app.wait_for("recording");
        app.work();
        let (folder, output) = app.end();
        for (name, expected) in [
            ("first", 4),
            ("second", 0),
            ("third", 1),
            ("fourth", 1),
            ("first-2", 1),
        ] {
            assert_eq!(
                rounds(&folder.path().join(name), &output).1,
                expected,
                "{name}\n{output}"
            );
        }
    }
}
