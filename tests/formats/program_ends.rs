//! However a program ends, and whatever happens to the file, a trace in each format can be read.

use crate::support::cli::assert_verified;
use crate::support::figures::{Figures, short_counts};
use crate::support::spellings::{SPELLINGS, Spelling};
use crate::support::{
    FILTER, VERSIONS, agent, few_versions, harness, newest_of, one_version, program,
};
use jtrail_formats::Format;
use jtrail_testkit::{Jdk, Output, Running, temp_dir};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

fn options(spelling: &Spelling, file: &Path) -> String {
    format!("{},{FILTER},file={}", spelling.options, file.display())
}

fn assert_calls(figures: &Figures, output: &Output) {
    short_counts(&output.counts()).assert_matches(
        &figures.calls,
        &BTreeSet::new(),
        &["harness."],
        &[],
    );
}

#[test]
fn exit_halt_and_daemons_leave_whole_traces() {
    let newest = Jdk::newest().feature;
    let ways = [("exit", 3), ("daemon", 0), ("halt", 5), ("uncaught", 1)];
    for jdk in Jdk::require(&newest_of(&VERSIONS)) {
        // All ways to end in one JVM; another test covers how each JVM reports its end.
        let ways = if jdk.feature == newest {
            &ways[..]
        } else {
            &ways[..2]
        };
        for spelling in &SPELLINGS[2..] {
            for &(how, code) in ways {
                eprintln!("{how}, {}, JDK {}", spelling.options, jdk.feature);
                let folder = temp_dir();
                let file = folder.path().join("trace");
                let run = program(&jdk, "harness.Endings").arg(how);
                let output = run.agent(agent(), options(spelling, &file)).output();
                output.assert_exit(code);
                let figures = Figures::read(&file).unwrap_or_else(|e| panic!("{e}\n{output}"));
                assert!(!figures.is_truncated);
                assert_calls(&figures, &output);
                assert_verified(&file);
            }
        }
    }
}

/// Starts a program with its trace in `file`, and waits until it is ready.
fn ready(jdk: &Jdk, how: &str, spelling: &Spelling, file: &Path) -> Running {
    let run = program(jdk, "harness.Endings").arg(how);
    let run = run.agent(agent(), options(spelling, file));
    let mut running = run.spawn().expect("the JVM starts");
    running.wait_ready();
    running
}

/// Waits until a file exists.
fn wait_for(file: &Path) {
    let begin = Instant::now();
    while !file.exists() {
        assert!(begin.elapsed() < Duration::from_secs(120), "{file:?}");
        thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn sigterm_leaves_whole_traces() {
    for jdk in Jdk::require(&few_versions()) {
        for spelling in &SPELLINGS[2..] {
            let folder = temp_dir();
            let file = folder.path().join("trace");
            let running = ready(&jdk, "term", spelling, &file);
            running.signal("TERM").expect("it is there");
            let output = running.wait().expect("it ends");
            output.assert_exit(143);
            let figures = Figures::read(&file).unwrap_or_else(|e| panic!("{e}\n{output}"));
            assert!(!figures.is_truncated, "{}", spelling.options);
            assert_calls(&figures, &output);
        }
    }
}

/// Everything that happened some time before is in the file, even if no event has followed since.
#[test]
fn a_killed_program_leaves_what_it_did() {
    for jdk in Jdk::require(&one_version()) {
        for spelling in &SPELLINGS[2..7] {
            let folder = temp_dir();
            let file = folder.path().join("trace");
            let running = ready(&jdk, "term", spelling, &file);
            thread::sleep(Duration::from_secs(2));
            let output = running.kill().expect("it was there");
            let figures = Figures::read(&file).unwrap_or_else(|e| panic!("{e}\n{output}"));
            // Trace logs have no end.
            let breaks = spelling.format != Format::TraceLog;
            assert_eq!(figures.is_truncated, breaks, "{}", spelling.options);
            assert_eq!(
                figures.calls["harness.Endings.work(I)"], 101,
                "{}",
                spelling.options
            );
        }
    }
}

#[test]
fn snapshots_are_taken_on_request() {
    let spelling = &SPELLINGS[7];
    for jdk in Jdk::require(&few_versions()) {
        let folder = temp_dir();
        let file = folder.path().join("trace.xml");
        let running = ready(&jdk, "term", spelling, &file);
        let begin = Instant::now();
        let (mut number, mut asleep) = (0, 0);
        while asleep < 2 {
            number += 1;
            running.signal("QUIT").expect("it is there");
            let snapshot = folder.path().join(format!("trace-{number}.xml"));
            wait_for(&snapshot);
            assert_verified(&snapshot);
            let figures = Figures::read(&snapshot).expect("sound");
            assert_eq!(figures.calls["harness.Endings.work(I)"], 101);
            // The program prints that it is ready, and then sleeps.
            match figures.calls.get("harness.Endings.sleep()") {
                None => assert!(asleep == 0 && begin.elapsed() < Duration::from_secs(120)),
                Some(calls) => {
                    assert_eq!(*calls, 1);
                    asleep += 1;
                }
            }
        }
        running.signal("TERM").expect("it is there");
        let output = running.wait().expect("it ends");
        assert!(
            output
                .stderr
                .contains(&format!("jtrail: snapshot {number} is in ")),
            "{output}"
        );
        let figures = Figures::read(&file).expect("sound");
        assert_calls(&figures, &output);
        assert_eq!(
            fs::read_dir(folder.path()).expect("a folder").count(),
            number + 1
        );
    }
}

/// A limit on file sizes truncates a write, like a disk that is full.
#[test]
fn a_full_disk_keeps_what_was_written() {
    let jdk = Jdk::newest();
    for spelling in &SPELLINGS[2..] {
        let folder = temp_dir();
        let file = folder.path().join("trace");
        let options = format!(
            "-agentpath:{}={},events=+alloc",
            agent().display(),
            options(spelling, &file)
        );
        // With this many calls, half of them take more room than everything that precedes them.
        let size = match spelling.format {
            Format::Trail => "31",
            _ => "27",
        };
        let fib = |limit: &str| {
            let output = Command::new("bash")
                .args(["-c", "trap '' XFSZ; ulimit -f $0; exec \"$@\"", limit])
                .arg(&jdk.java)
                .args(["-XX:-UsePerfData", &options, "-cp"])
                .arg(harness().class_path(&jdk))
                .args(["harness.Fib", size])
                .output()
                .expect("bash is there");
            let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(output.status.success(), "{stderr}");
            let figures = Figures::read(&file);
            let figures = figures.unwrap_or_else(|e| panic!("{}: {e}", spelling.options));
            (stderr, figures)
        };
        let (_, whole) = fib("unlimited");
        // `ulimit` counts in KiB. Most of the trace consists of calls, and so does its first half.
        let half = fs::metadata(&file).expect("written").len() / 2048;
        let (stderr, cut) = fib(&half.to_string());
        assert!(
            stderr.contains("jtrail: cannot write") && stderr.contains("File too large"),
            "{}: {stderr}",
            spelling.options
        );
        let breaks = spelling.format != Format::TraceLog;
        assert_eq!(cut.is_truncated, breaks, "{}", spelling.options);
        if spelling.format != Format::ProfilerJ {
            let calls = |figures: &Figures| {
                let calls = figures.calls.get("harness.Fib.fib(I)");
                *calls.unwrap_or_else(|| panic!("{}: {figures:?}", spelling.options))
            };
            assert!(calls(&cut) > calls(&whole) / 10, "{}", spelling.options);
            assert!(calls(&cut) < calls(&whole), "{}", spelling.options);
        }
    }
}

#[test]
fn a_trace_goes_into_a_pipe_too() {
    let jdk = Jdk::newest();
    for spelling in &SPELLINGS[2..] {
        let folder = temp_dir();
        let (pipe, copy) = (folder.path().join("pipe"), folder.path().join("copy"));
        let made = Command::new("mkfifo").arg(&pipe).status();
        assert!(made.expect("mkfifo is there").success());
        let reader = {
            let (pipe, copy) = (pipe.clone(), copy.clone());
            thread::spawn(move || std::io::copy(&mut File::open(pipe)?, &mut File::create(copy)?))
        };
        let run = program(&jdk, "harness.Fib").arg("15");
        let output = run.agent(agent(), options(spelling, &pipe)).output();
        output.assert_exit(0);
        reader.join().expect("no panic").expect("read");
        let figures = Figures::read(&copy).unwrap_or_else(|e| panic!("{e}\n{output}"));
        assert!(!figures.is_truncated, "{}", spelling.options);
        assert_calls(&figures, &output);
        assert_verified(&copy);
    }
}

#[test]
fn standard_output_carries_it_too() {
    let jdk = Jdk::newest();
    for spelling in &SPELLINGS[2..] {
        let run = program(&jdk, "harness.Fib").arg("15");
        let output = run
            .agent(agent(), options(spelling, Path::new("-")))
            .output();
        output.assert_exit(0);
        // The program's output is mixed into the trace, so this is no valid trace. But all of the
        // trace is there.
        let bare = program(&jdk, "harness.Fib").arg("15").output();
        assert!(output.stdout.len() > bare.stdout.len() + 500, "{output}");
        assert!(bare.stdout.lines().all(|l| output.stdout.contains(l)));
    }
}

#[test]
fn a_file_that_can_not_be_written_is_reported() {
    let jdk = Jdk::newest();
    for spelling in &SPELLINGS[2..] {
        for (file, message) in [
            ("/nonexistent/trace", "No such file or directory"),
            ("/", "Is a directory"),
            ("/dev/full", "No space left on device"),
        ] {
            let run = program(&jdk, "harness.Fib").arg("15");
            let output = run
                .agent(agent(), options(spelling, Path::new(file)))
                .output();
            output.assert_exit(0);
            let lines = output.stderr.lines();
            let ours: Vec<&str> = lines.filter(|l| l.starts_with("jtrail: ")).collect();
            assert!(ours.len() == 1 && ours[0].contains(message), "{output}");
        }
    }
}
