//! The agent is attached to a running program.

use crate::support::attach::{attach, ready, work};
use crate::support::cli::jtrail;
use crate::support::{FILTER, Trace, VERSIONS};
use jtrail_testkit::{Jdk, temp_dir};
use std::path::Path;

fn options<'a>(file: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let (_, excluded) = FILTER.split_once('=').expect("a rule");
    let (first, second) = excluded.split_once(",exclude=").expect("two rules");
    let mut all = vec!["--file", file, "--exclude", first, "--exclude", second];
    all.extend(more);
    all
}

fn path(folder: &Path) -> String {
    folder.join("trace").to_str().expect("text").to_owned()
}

/// All calls that begin after the agent was attached are in the trace, on old and on new threads.
/// Calls that began before the attach are not.
#[test]
fn calls_are_exact_from_then_on() {
    for jdk in Jdk::require(&VERSIONS) {
        for more in [
            &[][..],
            &[
                "--events",
                "methods+threads+gc+alloc+free+monitors+jit+cpu+lines+mounts",
            ],
            &[
                "--format",
                "xml",
                "--events",
                "methods+threads+samples+heap+details",
            ],
        ] {
            let folder = temp_dir();
            let file = path(folder.path());
            let running = ready(&jdk);
            let said = attach(&running, &options(&file, more)).expect("it is taken");
            assert!(said.contains("records into"), "{said}");
            let output = work(running, 3);
            let trace = Trace::read(Path::new(&file)).unwrap_or_else(|e| panic!("{e}\n{output}"));
            trace.assert_sound(&output);
            output.counts().assert_matches(
                &trace.calls,
                &trace.uninstrumented,
                &["harness.Attached"],
                &["harness.Expect", "$$"],
            );
            // Virtual threads that are older than the agent have calls. The carriers have none.
            let has_work = |name: &str| {
                let thread = trace.thread(name);
                thread
                    .steps
                    .iter()
                    .any(|(_, key)| key == "harness.Attached.work(I)I")
            };
            assert!(has_work("main") && has_work("Thread-0"), "{}", jdk.feature);
            let carriers = trace
                .threads
                .iter()
                .filter(|t| t.name.starts_with("ForkJoinPool"));
            for carrier in carriers {
                assert!(carrier.steps.is_empty(), "{}", carrier.name);
            }
            assert!(!trace.kinds.contains(&"runtime_init_done"));
        }
    }
}

/// The program behaves the same after an agent was attached.
#[test]
fn the_program_does_the_same() {
    for jdk in Jdk::require(&VERSIONS) {
        let alone = work(ready(&jdk), 2);
        let folder = temp_dir();
        let file = path(folder.path());
        let running = ready(&jdk);
        attach(&running, &options(&file, &[])).expect("it is taken");
        let traced = work(running, 2);
        assert_eq!(alone.stdout, traced.stdout);
        let own = |line: &&str| !line.starts_with("WARNING: ") && !line.contains("Agent");
        let rest: Vec<&str> = traced.stderr.lines().filter(own).collect();
        assert_eq!(rest, alone.stderr.lines().collect::<Vec<_>>(), "{traced}");
    }
}

/// A refused agent leaves nothing behind: the next attempt succeeds.
#[test]
fn what_can_not_be_had_is_refused() {
    for jdk in Jdk::require(&VERSIONS) {
        let folder = temp_dir();
        let file = path(folder.path());
        let running = ready(&jdk);
        let unwritable = folder.path().join("none/trace");
        let unwritable = unwritable.to_str().expect("text");
        for (file, more, expected) in [
            (
                &*file,
                &["--events", "exceptions"][..],
                "events=exceptions is available only from the start",
            ),
            (
                &file,
                &["--events", "parks"],
                "events=parks is available only from the start",
            ),
            (
                &file,
                &["--engine", "jvmti"],
                "engine=jvmti is available only from the start",
            ),
            (&file, &["--events", "calls"], "--events: "),
            (unwritable, &[], "on the program's standard error"),
        ] {
            let error = attach(&running, &options(file, more)).expect_err("it is refused");
            assert!(error.contains(expected), "{error}");
            assert!(!Path::new(file).exists());
        }
        attach(&running, &options(&file, &[])).expect("it is taken");
        let output = work(running, 1);
        assert!(
            output
                .stderr
                .contains(&format!("jtrail: cannot write {unwritable}: ")),
            "{output}"
        );
        Trace::read(Path::new(&file))
            .expect("sound")
            .assert_sound(&output);
    }
}

/// `jtrail attach` reports what the agent does: it records, or it waits for a client that starts a
/// trace.
#[test]
fn what_begins_is_reported() {
    for jdk in Jdk::require(&VERSIONS) {
        let folder = temp_dir();
        let file = path(folder.path());
        let running = ready(&jdk);
        let said = attach(&running, &options(&file, &[])).expect("it is taken");
        assert!(said.contains(&format!("records into {file}")), "{said}");
        work(running, 1);
        std::fs::remove_file(&file).expect("a trace");
        let socket = folder.path().join("socket");
        let socket = socket.to_str().expect("text");
        let idle = [
            "--server",
            "enabled",
            "--format",
            "none",
            "--control",
            socket,
        ];
        let running = ready(&jdk);
        let said = attach(&running, &options(&file, &idle)).expect("it is taken");
        assert!(said.contains("records nothing yet"), "{said}");
        let (_, status, _) = jtrail(&["ctl", socket, "status"]);
        assert!(status.contains("idle"), "{status}");
        work(running, 1);
        assert!(!Path::new(&file).exists());
    }
}

/// A second agent is refused, and the first one goes on.
#[test]
fn one_agent_at_a_time() {
    for jdk in Jdk::require(&VERSIONS) {
        let folder = temp_dir();
        let file = path(folder.path());
        let running = ready(&jdk);
        attach(&running, &options(&file, &[])).expect("it is taken");
        let other = folder.path().join("other");
        let other = other.to_str().expect("text");
        let error = attach(&running, &options(other, &[])).expect_err("there is one");
        assert!(error.contains("on the program's standard error"), "{error}");
        let output = work(running, 1);
        assert!(
            output.stderr.contains("jtrail: it is in this JVM already"),
            "{output}"
        );
        assert!(!Path::new(other).exists());
        let trace = Trace::read(Path::new(&file)).expect("sound");
        trace.assert_sound(&output);
        assert_eq!(trace.calls["harness.Attached.round(Ljava/util/List;Z)V"], 1);
    }
}
