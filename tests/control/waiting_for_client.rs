//! A program that waits for a client before its `main`.

use crate::support::cli::{jtrail, outcome};
use crate::support::{FILTER, Trace, agent, few_versions, program};
use jtrail_testkit::{Jdk, Output, Running, temp_dir};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

struct Waiting {
    folder: tempfile::TempDir,
    running: Running,
}

impl Waiting {
    fn new(jdk: &Jdk, wait: &str) -> Self {
        let folder = temp_dir();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let options = format!(
            "server=controlled,wait={wait},format=binary,{FILTER},file={},control={}",
            path("trace"),
            path("socket")
        );
        let run = program(jdk, "harness.Fib").agent(agent(), options);
        let running = run.spawn().expect("it starts");
        let waiting = Self { folder, running };
        let begin = Instant::now();
        // The socket may exist a moment before the agent listens.
        while std::os::unix::net::UnixStream::connect(waiting.text("socket")).is_err() {
            assert!(begin.elapsed() < Duration::from_secs(60), "no socket");
            thread::sleep(Duration::from_millis(5));
        }
        waiting
    }

    fn text(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    fn ctl(&self, words: &[&str]) -> Result<String, String> {
        let socket = self.text("socket");
        let args: Vec<&str> = ["ctl", &socket].iter().chain(words).copied().collect();
        outcome(&args)
    }

    fn end(self) -> (tempfile::TempDir, Output) {
        let output = self.running.wait().expect("it ends");
        output.assert_exit(0);
        (self.folder, output)
    }
}

/// The whole program is in the trace that a client begins. Clients that connect and disconnect do
/// not let the program go on.
#[test]
fn the_whole_program_is_traced() {
    for jdk in Jdk::require(&few_versions()) {
        let waiting = Waiting::new(&jdk, "10m");
        for _ in 0..3 {
            assert!(waiting.ctl(&["status"]).expect("answered").contains("idle"));
        }
        let stays =
            std::os::unix::net::UnixStream::connect(waiting.text("socket")).expect("it listens");
        let error = waiting.ctl(&["start", "format=none"]).expect_err("refused");
        assert!(error.contains("none"), "{error}");
        waiting
            .ctl(&["filters", "include=harness.Fib"])
            .expect("taken");
        thread::sleep(Duration::from_millis(300));
        let file = format!("file={}", waiting.text("named"));
        waiting.ctl(&["start", &file]).expect("begun");
        let (folder, output) = waiting.end();
        drop(stays);
        let trace =
            Trace::read(&folder.path().join("named")).unwrap_or_else(|e| panic!("{e}\n{output}"));
        trace.assert_sound(&output);
        output.counts().assert_matches(
            &trace.calls,
            &trace.uninstrumented,
            &["harness.Fib"],
            &["harness.Expect"],
        );
        assert!(
            output
                .stderr
                .contains("the program waits up to 10m for a client at"),
            "{output}"
        );
        assert!(!folder.path().join("trace").exists());
    }
}

/// A client may let the program go on without a trace.
#[test]
fn it_goes_on_without_a_trace() {
    for jdk in Jdk::require(&few_versions()) {
        let waiting = Waiting::new(&jdk, "10m");
        waiting.ctl(&["go"]).expect("it waits");
        let (folder, output) = waiting.end();
        assert!(!folder.path().join("trace").exists());
        assert_eq!(output.stderr.matches("jtrail: ").count(), 1, "{output}");
        // No client comes, or none that begins a trace.
        for client in [false, true] {
            let waiting = Waiting::new(&jdk, "700ms");
            let stays =
                client.then(|| std::os::unix::net::UnixStream::connect(waiting.text("socket")));
            let (folder, output) = waiting.end();
            drop(stays);
            let reported = "no client began a trace within 700ms; the program goes on without one";
            assert!(output.stderr.contains(reported), "{output}");
            assert!(!folder.path().join("trace").exists());
        }
    }
}

/// While the program waits it can be ended, and answers tools.
#[test]
fn it_can_be_ended_while_it_waits() {
    for jdk in Jdk::require(&few_versions()) {
        for signal in ["TERM", "INT"] {
            let waiting = Waiting::new(&jdk, "10m");
            // The JVM answers an attach request: it loads the library, which reports that the agent
            // is loaded already.
            let (pid, agent) = (waiting.running.pid().to_string(), agent());
            let file = waiting.text("late");
            let args = [
                "attach",
                &pid,
                "--agent",
                agent.to_str().expect("text"),
                "--file",
                &file,
            ];
            let (code, _, err) = jtrail(&args);
            assert_ne!(code, ExitCode::SUCCESS, "{err}");
            waiting.running.signal(signal).expect("sent");
            let begin = Instant::now();
            let output = waiting.running.wait().expect("it ends");
            assert!(begin.elapsed() < Duration::from_secs(45), "{output}");
            let expected = if signal == "TERM" { 143 } else { 130 };
            output.assert_exit(expected);
            assert_eq!(output.stdout, "");
        }
    }
}

/// The program waits only once: a running program can't be told to go on.
#[test]
fn a_program_that_runs_does_not_wait() {
    for jdk in Jdk::require(&few_versions()) {
        let app = crate::support::control::ControlledRun::new(
            &jdk,
            "format=binary,server=controlled,wait=0s",
        );
        let error = app.try_ctl(&["go"]).expect_err("it runs");
        assert!(error.contains("does not wait"), "{error}");
        let file = format!("file={}", app.text("first"));
        app.ctl(&["start", &file]);
        let mut app = app;
        app.work();
        let (folder, output) = app.end();
        let (_, count) = crate::support::control::rounds(&folder.path().join("first"), &output);
        assert_eq!(count, 1);
    }
}
