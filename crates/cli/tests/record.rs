//! `jtrail record` with an agent that is already loaded, without a JVM. Attaching is tested with
//! real JVMs.

#![cfg(unix)]

mod common;
#[path = "../../control/tests/common/mod.rs"]
mod fake;

use common::jtrail;
use fake::Served;
use jtrail_control::{Command as Ask, Settings};
use rustix::process::{Pid, Signal, kill_process};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn served() -> Served {
    Served::new(Settings::default())
}

fn record(served: &Served, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jtrail"));
    let pid = std::process::id().to_string();
    command
        .args(["record", &pid, "--control"])
        .arg(&served.socket);
    command
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

fn file(served: &Served) -> String {
    served
        .folder
        .path()
        .join("app.trcbin")
        .display()
        .to_string()
}

fn wait_for_call(served: &Served, begin: &str) {
    let end = Instant::now() + Duration::from_secs(60);
    while !served.called().iter().any(|call| call.starts_with(begin)) {
        assert!(Instant::now() < end, "{begin}: {:?}", served.called());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Checks that a successful recording prints a single line, and that the file exists.
#[track_caller]
fn assert_recorded(done: &Output, file: &str) {
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(0), "{said}");
    assert!(
        said.starts_with(&format!("jtrail: {file}: binary, events: ")),
        "{said}"
    );
    assert_eq!((said.lines().count(), done.stdout.len()), (1, 0), "{said}");
    assert!(Path::new(file).exists());
    let verified = jtrail(&["verify", file]);
    assert_eq!(verified.code, 0, "{}", verified.out);
}

#[test]
fn an_agent_that_is_there_records_and_stays() {
    let served = served();
    let file = file(&served);
    let wishes = [
        "--events",
        "+alloc",
        "--include",
        "a.*",
        "--exclude",
        "*",
        "--format",
        "binary",
    ];
    let args = [&["--for", "200ms", "-o", &file], &wishes[..]].concat();
    let began = Instant::now();
    assert_recorded(&record(&served, &args).output().expect("run"), &file);
    assert!(began.elapsed() >= Duration::from_millis(200));
    assert_eq!(
        served.called(),
        [
            "start format=Some(Binary) events=Some(\"+alloc\") patterns=[(true, \"a.*\"), (false, \"*\")]",
            "stop",
        ]
    );
}

#[test]
fn ctrl_c_ends_a_recording_well() {
    for signal in [Signal::INT, Signal::TERM] {
        let served = served();
        let file = file(&served);
        let child = record(&served, &["-o", &file]).spawn().expect("run");
        wait_for_call(&served, "start");
        std::thread::sleep(Duration::from_millis(50));
        kill_process(Pid::from_child(&child), signal).expect("it runs");
        assert_recorded(&child.wait_with_output().expect("ended"), &file);
        assert_eq!(served.called().last().map(String::as_str), Some("stop"));
    }
}

#[test]
fn others_may_end_a_recording() {
    for ask in [Ask::Stop, Ask::Detach] {
        let served = served();
        let file = file(&served);
        let args = ["--for", "1h", "-o", &file];
        let child = record(&served, &args).spawn().expect("run");
        wait_for_call(&served, "start");
        let mut other = served.client();
        other.call(ask, |_| Ok(())).expect("done");
        assert_recorded(&child.wait_with_output().expect("ended"), &file);
    }
}

#[test]
fn an_agent_that_goes_away_breaks_a_recording_off() {
    let served = served();
    let file = file(&served);
    let child = record(&served, &["-o", &file]).spawn().expect("run");
    wait_for_call(&served, "start");
    drop(served);
    let done = child.wait_with_output().expect("ended");
    let said = String::from_utf8_lossy(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("the recording broke off"), "{said}");
}

#[test]
fn wrong_wishes_are_refused() {
    let served = served();
    let file = file(&served);
    for (args, problem) in [
        (
            &["--format", "none"][..],
            "--format: there would be nothing to write",
        ),
        (
            &["--server", "standalone"],
            "--server: a recording needs server=enabled",
        ),
        (&["--buffer", "8m"], "--buffer: an agent is there already"),
        (&["--format", "binry"], "--format: "),
        (&["--for", "0s"], "it is 0"),
        (&["--file", "x"], "cannot be used with"),
    ] {
        let args = [&["-o", &file], args].concat();
        let done = record(&served, &args).output().expect("run");
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{said}");
        assert!(said.contains(problem), "{said}");
    }
    let begun = record(&served, &["-o", &file]).spawn().expect("run");
    wait_for_call(&served, "start");
    let second = record(&served, &["-o", &file]).output().expect("run");
    let said = String::from_utf8_lossy(&second.stderr);
    assert!(said.contains("the agent has an active trace"), "{said}");
    kill_process(Pid::from_child(&begun), Signal::INT).expect("it runs");
    assert_recorded(&begun.wait_with_output().expect("ended"), &file);
    let nobody = jtrail(&["record", "4294967295", "-o", &file]);
    assert_eq!(nobody.code, 2);
    assert!(
        nobody.err.contains("no process 4294967295"),
        "{}",
        nobody.err
    );
}
