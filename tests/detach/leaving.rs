//! The agent detaches, and restores the JVM's former state; another agent may follow.

use crate::support::attach::{AttachedRun, rounds};
use crate::support::cli::outcome;
use crate::support::java_api::with_api;
use crate::support::{FILTER, Trace, agent, few_versions, program};
use jtrail_testkit::{Jdk, Run, temp_dir};
use std::io::Write;
use std::thread::sleep;
use std::time::Duration;

/// Several agents follow each other in one JVM, with different options. The trace of each agent has
/// the calls that happened while this agent was attached. The trace is complete when `detach` is
/// answered.
#[test]
fn agents_come_and_go() {
    for jdk in Jdk::require(&few_versions()) {
        let mut app = AttachedRun::new(&jdk, "harness.Attached");
        let all =
            "methods+threads+gc+alloc+free+monitors+jit+cpu+lines+mounts+samples+details+heap";
        let options: [&[&str]; 8] = [
            &[],
            &["--events", all, "--heap", "gc+exit"],
            &["--format", "xml", "--events", "methods+threads+lines"],
            &["--events", "methods+threads+alloc", "--alloc", "sites"],
            &["--events", "methods+threads+alloc+free", "--alloc", "sites"],
            &["--events", "methods+threads", "--overflow", "drop"],
            &["--events", "methods+threads", "--clock", "tick"],
            &[
                "--events",
                "methods+threads+alloc",
                "--clock",
                "tick",
                "--tick",
                "1ms",
            ],
        ];
        for (number, options) in options.iter().enumerate() {
            app.work(); // outside any trace
            let file = number.to_string();
            app.attach(&file, options).expect("it is taken");
            for _ in 0..=number {
                app.work();
            }
            app.detach();
            assert!(!app.path("socket").exists());
        }
        app.work();
        let (folder, output) = app.end();
        for number in 0..options.len() {
            let rounds = rounds(&folder.path().join(number.to_string()), &output);
            assert_eq!(rounds, number as u64 + 1, "{} of {}", number, jdk.feature);
        }
        let said: Vec<&str> = output
            .stderr
            .lines()
            .filter(|l| l.contains("jtrail:"))
            .collect();
        assert!(said.is_empty(), "{said:?}");
    }
}

/// The agent's threads, descriptors, memory and socket are removed with it; the library stays.
#[test]
fn nothing_of_ours_is_left() {
    const BUFFER: u64 = 2 << 30;
    /// Size of the agent's smallest mapping, which is for triggers. The mapping for line counters
    /// is larger.
    const TABLE: u64 = 64 << 20;
    for jdk in Jdk::require(&few_versions()) {
        // More arenas of the memory allocator, each with 64 MB of addresses, would hide leaks.
        let run = program(&jdk, "harness.Cycles").env("MALLOC_ARENA_MAX", "1");
        let app = AttachedRun::of(run);
        let events = "methods+threads+alloc+lines+samples+monitors+gc+heap";
        let options = [
            &["--events", events, "--heap", "gc", "--buffer", "2g"][..],
            &["--burst", "call:harness.Cycles.step:1/20ms"],
        ]
        .concat();
        let cycle = |spool: &str| {
            let options = [&options[..], &["--trail.spool", spool]].concat();
            app.attach("trace", &options).expect("it is taken");
            sleep(Duration::from_millis(50));
            let (with, threads) = (app.mappings(), app.own_threads());
            app.detach();
            (with, threads)
        };
        cycle("true"); // from then on the JVM has its own threads and sockets for attaching
        let ((before, library), descriptors) = (app.mappings(), app.descriptors());
        for spool in ["true", "false", "true", "false"] {
            let ((with, files), threads) = cycle(spool);
            // The spool's files had no names when they were opened, so they are shown by numbers.
            let is_spooled = files.keys().any(|file| !file.ends_with("/libjtrail.so"));
            assert_eq!(is_spooled, spool == "true", "{files:?}");
            assert!(is_spooled || with > before + BUFFER, "{with} {before}");
            assert!(threads.len() >= 3, "{threads:?}");
        }
        // Threads and metadata of the JVM take some megabytes.
        let (after, files) = app.mappings();
        assert!(
            after < before + TABLE / 2,
            "{before} {after}, JDK {}",
            jdk.feature
        );
        assert!(files.keys().all(|file| file.ends_with("/libjtrail.so")));
        assert_eq!(files, library, "JDK {}", jdk.feature);
        assert_eq!(app.descriptors(), descriptors, "JDK {}", jdk.feature);
        assert!(!app.path("socket").exists());
        let (_, output) = app.end();
        assert!(output.stdout.contains("[sound]"), "{output}");
    }
}

/// Threads run loops with hooks of an earlier agent, in calls that began under that agent. These
/// hooks do nothing any more, and disturb no later agent.
#[test]
fn hooks_of_an_earlier_agent_do_nothing() {
    for jdk in Jdk::require(&few_versions()) {
        let mut app = AttachedRun::new(&jdk, "harness.Cycles");
        let kinds = [
            "methods+threads+lines",
            "methods+threads+alloc",
            "methods+threads+lines+monitors",
        ];
        for cycle in 0..9 {
            let events = kinds[cycle % kinds.len()];
            let alloc = if events.contains("alloc") {
                "sites"
            } else {
                "jvm"
            };
            let options = ["--events", events, "--alloc", alloc];
            let file = format!("trace-{cycle}");
            app.attach(&file, &options).expect("it is taken");
            app.input.write_all(b"thread\n").expect("it reads");
            app.running.wait_for(&format!("[thread {}]", cycle + 3));
            sleep(Duration::from_millis(30));
            app.detach();
        }
        let (folder, output) = app.end();
        assert!(output.stdout.contains("[sound]"), "{output}");
        for cycle in 0..9 {
            let file = folder.path().join(format!("trace-{cycle}"));
            let trace = Trace::read(&file).unwrap_or_else(|e| panic!("{cycle}: {e}\n{output}"));
            trace.assert_sound(&output);
            assert!(trace.calls["harness.Cycles.step(I)J"] > 0);
            // Only the worker that started under this agent has its `run` in the trace.
            assert_eq!(trace.calls["harness.Cycles$Worker.run()V"], 1, "{cycle}");
        }
    }
}

/// The JVM's memory does not grow with the number of agents that were attached. The test runs
/// without a compiler, because compiled code keeps old methods for a while; `scripts/cycles` covers
/// compiled code, in a thousand cycles.
#[test]
fn the_jvm_does_not_grow() {
    for jdk in Jdk::require(&few_versions()) {
        let mut app = AttachedRun::of(program(&jdk, "harness.Cycles").jvm_arg("-Xint"));
        let mut seen = 0;
        let mut figures = |app: &mut AttachedRun| {
            app.input.write_all(b"figures\n").expect("it reads");
            seen += 1;
            app.running.wait_for_line(&format!("[figures {seen}]"))
        };
        let mut all = Vec::new();
        for cycle in 0..40 {
            if let Err(error) = app.attach("trace", &["--events", "methods+lines"]) {
                let (_, output) = app.end();
                panic!("cycle {cycle}: {error}{output}");
            }
            app.detach();
            if cycle % 10 == 9 {
                all.push(figures(&mut app));
            }
        }
        let value = |line: &str, key: &str| -> i64 {
            let (_, rest) = line.split_once(key).unwrap_or_else(|| panic!("{line}"));
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().expect("a number")
        };
        // By the second reading, all hook classes are defined.
        let (first, last) = (&all[1], &all[all.len() - 1]);
        let growth = |key: &str| value(last, key) - value(first, key);
        assert!(growth("metaspace=") < 100_000, "{all:?}");
        assert_eq!(growth("threads="), 0, "{all:?}");
        app.end();
    }
}

/// The agent detaches while the JVM ends. The trace is complete and nothing is left, whether the
/// detach or the JVM's end comes first.
#[test]
fn the_jvm_ends_meanwhile() {
    for jdk in Jdk::require(&few_versions()) {
        for turn in 0..6 {
            let app = AttachedRun::new(&jdk, "harness.Cycles");
            let events = "methods+threads+alloc+monitors+lines";
            app.attach("trace", &["--events", events])
                .expect("it is taken");
            let AttachedRun {
                folder,
                running,
                input,
                ..
            } = app;
            let socket = folder.path().join("socket").display().to_string();
            let ctl = std::thread::spawn(move || outcome(&["ctl", &socket, "detach"]));
            sleep(Duration::from_millis(turn * turn));
            drop(input);
            let output = running.wait().expect("it ends");
            output.assert_exit(0);
            assert!(output.stdout.contains("[sound]"), "{output}");
            let _ = ctl.join().expect("no panic"); // it fails if the JVM ended first
            Trace::read(&folder.path().join("trace"))
                .unwrap_or_else(|e| panic!("{e}\n{output}"))
                .assert_sound(&output);
            assert!(!folder.path().join("socket").exists(), "{turn}");
        }
    }
}

/// An agent that was loaded at the JVM's start can detach, too.
#[test]
fn an_agent_of_the_start_leaves() {
    for jdk in Jdk::require(&few_versions()) {
        let options =
            "format=binary,events=methods+threads+parks+exceptions+monitors,server=enabled";
        let mut app = with_agent(program(&jdk, "harness.Attached"), options, |_| {});
        app.work();
        app.detach();
        app.work();
        app.attach("second", &[]).expect("it is taken");
        app.work();
        app.work();
        let (folder, output) = app.end();
        assert_eq!(rounds(&folder.path().join("first"), &output), 1);
        assert_eq!(rounds(&folder.path().join("second"), &output), 2);
    }
}

/// Starts a program with an agent. `ready` is called when the agent has a socket, and must let the
/// program begin.
fn with_agent(run: Run, options: &str, ready: impl FnOnce(&AttachedRun)) -> AttachedRun {
    let folder = temp_dir();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let options = format!(
        "{options},{FILTER},file={},control={}",
        path("first"),
        path("socket")
    );
    let mut running = run.agent(agent(), options).spawn().expect("it starts");
    let input = running.stdin();
    let mut app = AttachedRun {
        folder,
        running,
        input,
        answers: 0,
    };
    app.wait_until("the socket listens", || {
        std::os::unix::net::UnixStream::connect(app.text("socket")).is_ok()
    });
    ready(&app);
    app.running.wait_ready();
    app
}

/// A program that waits for a client's trace does not wait any longer when the agent detaches.
#[test]
fn a_program_that_waits_goes_on_without_the_agent() {
    for jdk in Jdk::require(&few_versions()) {
        let run = program(&jdk, "harness.Attached");
        let options = "server=controlled,wait=1h,format=binary";
        let mut app = with_agent(run, options, AttachedRun::detach);
        app.work();
        app.attach("second", &[]).expect("it is taken");
        app.work();
        app.work();
        let (folder, output) = app.end();
        assert!(!folder.path().join("first").exists());
        assert_eq!(rounds(&folder.path().join("second"), &output), 2);
        assert_eq!(output.stderr.matches("jtrail:").count(), 1, "{output}"); // about waiting
    }
}

/// When the agent has detached, the program's calls of `jtrail.Trace` do nothing. Later calls reach
/// the next agent, which has bursts of its own.
#[test]
fn the_program_loses_its_word_and_finds_it() {
    const WORK: &str = "harness.Marked.work()V";
    const NO_AGENT: &str = "false, there is no agent";
    for jdk in Jdk::require(&few_versions()) {
        let run = with_api(&jdk, "harness.Marked");
        let options = "server=application,format=binary";
        let mut app = with_agent(run, options, |_| {});
        assert_eq!(app.ask("in none"), "false, there is no trace");
        assert_eq!(app.ask("start"), "done");
        assert_eq!(app.ask("in the first"), "true, done");
        app.detach();
        assert_eq!(app.ask("behind the first"), NO_AGENT);
        // Each probe of the program checks the gate of its own hook class, even in the endless loop
        // whose lines are counted.
        let bursts = [
            "--burst",
            "call:harness.Marked.work:2/1h",
            "--events",
            "methods+threads+lines",
        ];
        for (name, options) in [("second", &bursts[..]), ("third", &[]), ("fourth", &bursts)] {
            let active = name == "third";
            app.attach(name, options).expect("it is taken");
            let first = app.ask(&format!("begin of {name}"));
            assert_eq!(first, format!("{active}, done"), "{name}");
            app.ask(&format!("middle of {name}"));
            app.wait_until("the burst", || {
                let status = app.ctl(&["status"]).expect("answered");
                status.contains("recording")
            });
            let last = app.ask(&format!("end of {name}"));
            assert_eq!(last, "true, done", "{name}");
            app.detach();
            assert_eq!(app.ask(&format!("behind {name}")), NO_AGENT);
        }
        let (folder, output) = app.end();
        assert!(output.stdout.contains("[sound]"), "{output}");
        for (name, calls) in [("first", 1), ("second", 2), ("third", 3), ("fourth", 2)] {
            let file = folder.path().join(name);
            let trace = Trace::read(&file).unwrap_or_else(|e| panic!("{name}: {e}\n{output}"));
            trace.assert_sound(&output);
            assert_eq!(trace.calls.get(WORK), Some(&calls), "{name}\n{output}");
            let dump = outcome(&["dump", &file.display().to_string()]).expect("a trace");
            let mark = match name {
                "first" => "in the first".to_owned(),
                _ => format!("end of {name}"),
            };
            assert!(dump.contains(&mark) && !dump.contains("behind"), "{name}");
        }
    }
}

/// A refusal is an error for the user who attaches the agent, whatever `onerror` says; and nothing
/// is left of the refused agent.
#[test]
fn refusals_leave_nothing() {
    for jdk in Jdk::require(&few_versions()) {
        let mut app = AttachedRun::new(&jdk, "harness.Attached");
        for wish in ["continue", "stop"] {
            for _ in 0..3 {
                let error = app
                    .attach("none/trace", &["--onerror", wish])
                    .expect_err("no folder");
                assert!(error.contains("on the program's standard error"), "{error}");
                assert!(app.own_threads().is_empty() && !app.path("socket").exists());
            }
        }
        app.attach("trace", &[]).expect("it is taken");
        app.work();
        for wish in ["continue", "stop"] {
            let error = app
                .attach("other", &["--onerror", wish])
                .expect_err("there is one");
            assert!(error.contains("on the program's standard error"), "{error}");
        }
        app.work();
        app.detach();
        let (folder, output) = app.end();
        assert!(!folder.path().join("other").exists());
        assert_eq!(rounds(&folder.path().join("trace"), &output), 2);
    }
}

/// `jtrail record` attaches an agent, records, and detaches it. If an agent is attached already,
/// that one records, and stays.
#[test]
fn a_recording_in_one_go() {
    let library = agent();
    let library = library.to_str().expect("text");
    for jdk in Jdk::require(&few_versions()) {
        let app = AttachedRun::new(&jdk, "harness.Cycles");
        let (pid, socket) = (app.pid(), app.text("socket"));
        let record = |name: &str, more: &[&str]| {
            let file = app.text(name);
            let first = [
                "record",
                &pid,
                "--for",
                "300ms",
                "-o",
                &file,
                "--control",
                &socket,
            ];
            let args: Vec<&str> = first.iter().chain(more).copied().collect();
            outcome(&args)
        };
        for name in ["first", "second"] {
            let said = record(name, &["--agent", library]).expect("recorded");
            let start = format!("jtrail: {}: trail, events: ", app.text(name));
            assert!(
                said.starts_with(&start) && said.lines().count() == 1,
                "{said}"
            );
            app.wait_until("it has disconnected", || app.own_threads().is_empty());
        }
        app.attach("third", &[]).expect("it is taken");
        let error = record("none", &[]).expect_err("busy");
        assert!(error.contains("the agent has an active trace"), "{error}");
        sleep(Duration::from_millis(300));
        app.ctl(&["stop"]).expect("stopped");
        let error = record("none", &["--buffer", "1m"]).expect_err("no choice");
        assert!(error.contains("an agent is there already"), "{error}");
        let said = record("fourth", &["--format", "xml"]).expect("recorded");
        assert!(said.contains(": xml, events: "), "{said}");
        assert!(app.ctl(&["status"]).expect("it stays").contains("idle"));
        let (folder, output) = app.end();
        for name in ["first", "second", "third", "fourth"] {
            let trace = Trace::read(&folder.path().join(name)).unwrap_or_else(|e| panic!("{e}"));
            trace.assert_sound(&output);
            // The number of steps in that time depends on the machine.
            assert!(trace.calls["harness.Cycles.step(I)J"] > 0, "{name}");
        }
    }
}
