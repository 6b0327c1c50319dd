//! `jtrail ctl` and `jtrail stream` with an agent without a JVM.

#![cfg(unix)]

mod common;
#[path = "../../control/tests/common/mod.rs"]
mod fake;

use common::{Done, Folder, jtrail};
use fake::Served;
use jtrail_control::{Command as Ask, Settings};
use jtrail_formats::Format;
use jtrail_options::Compat;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn served() -> Served {
    Served::new(Settings::default())
}

fn ctl(served: &Served, args: &[&str]) -> Done {
    let socket = served.socket.to_str().expect("UTF-8");
    jtrail(&[&["ctl", socket], args].concat())
}

/// Runs a command that must succeed, and returns its output.
fn done(served: &Served, args: &[&str]) -> String {
    let done = ctl(served, args);
    assert_eq!((done.code, done.err.as_str()), (0, ""), "{args:?}");
    done.out
}

fn json(served: &Served, args: &[&str]) -> Value {
    let done = ctl(served, &[args, &["--json"]].concat());
    assert_eq!(done.code, 0, "{args:?}: {}", done.err);
    serde_json::from_str(&done.out).expect("JSON")
}

#[test]
fn every_command_reaches_the_agent() {
    let served = served();
    let one = served.folder.path().join("one.trcbin");
    let (one, two) = (one.to_str().expect("UTF-8"), "/two.trcbin");
    let file = format!("file={one}");
    let start = [
        "start",
        &file,
        "format=binary",
        "events=+alloc",
        "include=com.acme.*",
        "exclude=*",
    ];
    assert_eq!(
        done(&served, &start),
        format!("recording binary to {one}\n")
    );
    assert_eq!(done(&served, &["mark", "half <way>"]), "done\n");
    assert_eq!(done(&served, &["pause"]), "done\n");
    assert_eq!(done(&served, &["burst", "--for", "1h"]), "done\n");
    assert_eq!(
        done(&served, &["snapshot", "profile", "--file", "/a.xml"]),
        "/a.xml\n"
    );
    assert_eq!(done(&served, &["gc"]), "done\n");
    let filters = ["filters", "exclude=a.*", "include=b.C.d"];
    assert_eq!(done(&served, &filters), "classes retransformed: 2\n");
    assert_eq!(done(&served, &["filters"]), "classes retransformed: 0\n");
    let two = format!("{}{two}", served.folder.path().display());
    let rotated = done(&served, &["rotate", &two]);
    assert!(
        rotated.starts_with(&format!("{one}: binary, events: ")),
        "{rotated}"
    );
    assert!(
        rotated.ends_with(&format!("\nrecording binary to {two}\n")),
        "{rotated}"
    );
    let status = done(&served, &["status"]);
    for part in [
        "state     recording\n",
        &two,
        "memory    3.0 MiB\n",
        "overhead  1.25 %\n",
        "clients   1, stream free\n",
    ] {
        assert!(status.contains(part), "{part}: {status}");
    }
    let stopped = done(&served, &["stop"]);
    assert!(
        stopped.starts_with(&format!("{two}: binary, events: ")),
        "{stopped}"
    );
    assert_eq!(done(&served, &["burst", "--events", "100"]), "done\n");
    assert_eq!(done(&served, &["format", "jinsight"]), "jinsight\n");
    assert_eq!(done(&served, &["detach"]), "done\n");
    assert_eq!(
        served.called(),
        [
            "start format=Some(Binary) events=Some(\"+alloc\") patterns=[(true, \"com.acme.*\"), (false, \"*\")]",
            "mark \"half <way>\"",
            "pause",
            "burst 1h",
            "snapshot profile Some(\"/a.xml\")",
            "force_gc",
            "set_filters [(false, \"a.*\"), (true, \"b.C.d\")]",
            "set_filters []",
            &format!("rotate Some({two:?})"),
            "stop",
            "burst 100",
            "detach",
        ]
    );
    let verified = jtrail(&["verify", one, &two]);
    assert_eq!(verified.code, 0, "{}", verified.out);
}

#[test]
fn answers_as_json() {
    let served = served();
    let status = json(&served, &["status"]);
    assert_eq!(
        (&status["answer"], &status["state"]),
        (&"status".into(), &"idle".into())
    );
    assert_eq!(status["memory"], 3 << 20);
    assert_eq!(status["overhead_ppm"], 12_500);
    assert_eq!(status["trace"], Value::Null);
    let started = json(&served, &["start"]);
    assert_eq!(
        (&started["answer"], &started["to"]),
        (&"started".into(), &"file".into())
    );
    assert_eq!(json(&served, &["status"])["trace"]["format"], "binary");
    assert_eq!(json(&served, &["pause"])["answer"], "done");
    assert_eq!(
        json(&served, &["filters", "include=a.*"])["retransformed"],
        1
    );
    assert_eq!(
        json(&served, &["snapshot", "profile"])["file"],
        "trace-1.xml"
    );
    assert_eq!(json(&served, &["rotate"])["started"]["format"], "binary");
    let ended = json(&served, &["stop"]);
    assert!(
        ended["bytes"].as_u64() > Some(1_000) && ended["lost"] == 0,
        "{ended}"
    );
    assert_eq!(json(&served, &["format", "mlpd"])["format"], "mlpd");
    let refused = ctl(&served, &["stop", "--json"]);
    let error: Value = serde_json::from_str(&refused.out).expect("JSON");
    assert_eq!(
        (refused.code, &error["answer"], &error["code"]),
        (2, &"error".into(), &"state".into())
    );
}

#[test]
fn what_is_wrong_is_said() {
    let served = served();
    for (args, problem) in [
        (&["stop"][..], "jtrail: there is no trace\n"),
        (&["start", "file"], "jtrail: file is not KEY=VALUE\n"),
        (
            &["start", "file=-"],
            "jtrail: the agent writes to a file; jtrail stream writes to standard output\n",
        ),
        (
            &["start", "events=gc", "events=cpu"],
            "jtrail: events is given twice\n",
        ),
        (
            &["start", "buffer=1g"],
            "jtrail: no such key buffer; there are file, format, events, include, exclude\n",
        ),
        (
            &["start", "format=trails"],
            "jtrail: format: no such value \"trails\"; allowed are xml, binary, jinsight, mlpd, tracelog, profilerj, trail, perfetto, chrome, jfr, collapsed, none; did you mean \"trail\"?\n",
        ),
        (
            &["filters", "events=gc"],
            "jtrail: filters are include=PATTERN and exclude=PATTERN\n",
        ),
        (
            &["filters", "include=a/B"],
            "jtrail: class names have dots, not slashes; did you mean \"a.B\"? (setFilters/include[1]/@pattern)\n",
        ),
    ] {
        let done = ctl(&served, args);
        assert_eq!((done.code, done.err.as_str()), (2, problem), "{args:?}");
    }
    for (args, part) in [
        (&["burst"][..], "--for <TIME>"),
        (&["burst", "--for", "5"], "is not a time"),
        (&["burst", "--events", "0"], "'0'"),
        (&["snapshot", "all"], "[possible values: profile, heap]"),
        (&["frob"], "unexpected argument 'frob'"),
    ] {
        let done = ctl(&served, args);
        assert!(
            done.code == 2 && done.err.contains(part),
            "{args:?}: {}",
            done.err
        );
    }
    let nobody = jtrail(&["ctl", "/no/such.sock", "status"]);
    assert_eq!((nobody.code, nobody.out.as_str()), (2, ""));
    assert!(
        nobody.err.starts_with("jtrail: /no/such.sock: "),
        "{}",
        nobody.err
    );
    let no_process = jtrail(&["ctl", "4294967295", "status"]);
    assert_eq!(no_process.err, "jtrail: there is no process 4294967295\n");
}

/// Returns a command for `jtrail stream` in a process of its own.
fn stream(served: &Served, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jtrail"));
    command.arg("stream").arg(&served.socket).args(args);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn verified(path: &str, format: &str) {
    let verified = jtrail(&["verify", path]);
    assert_eq!(verified.code, 0, "{}{}", verified.out, verified.err);
    assert!(
        verified.out.contains(&format!("sound ({format}, ")),
        "{}",
        verified.out
    );
}

#[test]
fn a_stream_in_any_format() {
    let served = served();
    let folder = Folder::new();
    for format in Format::ALL.map(Format::name) {
        let path = folder.at(format);
        let path = path.to_str().expect("UTF-8");
        let args = [
            "-o",
            path,
            "--format",
            format,
            "--for",
            "50ms",
            "events=+gc",
        ];
        let done = stream(&served, &args).output().expect("run");
        let said = String::from_utf8(done.stderr).expect("UTF-8");
        assert_eq!(done.status.code(), Some(0), "{said}");
        assert!(
            said.starts_with(&format!("jtrail: {path}: {format}, events: ")),
            "{said}"
        );
        let verified = jtrail(&["verify", path]);
        assert_eq!(verified.code, 0, "{}{}", verified.out, verified.err);
    }
}

#[test]
fn an_old_agent_streams_xml() {
    let served = Served::new(Settings::default().with_compat(Compat::Pre45));
    let folder = Folder::new();
    let path = folder.at("x");
    let path = path.to_str().expect("UTF-8");
    let done = stream(&served, &["-o", path, "--for", "50ms"])
        .output()
        .expect("run");
    let said = String::from_utf8(done.stderr).expect("UTF-8");
    assert!(
        said.starts_with("jtrail: this agent writes xml, not binary\n"),
        "{said}"
    );
    assert_eq!(done.status.code(), Some(0));
    verified(path, "xml");
}

/// Waits until the fake agent has received a call whose text starts with `begin`.
fn wait_for_call(served: &Served, begin: &str) {
    let end = Instant::now() + Duration::from_secs(60);
    while !served.called().iter().any(|call| call.starts_with(begin)) {
        assert!(Instant::now() < end, "{begin}: {:?}", served.called());
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn wait(mut child: Child) -> (Option<i32>, String, Vec<u8>) {
    let mut out = Vec::new();
    if let Some(mut pipe) = child.stdout.take() {
        pipe.read_to_end(&mut out).expect("readable");
    }
    let mut said = String::new();
    let mut pipe = child.stderr.take().expect("a pipe");
    pipe.read_to_string(&mut said).expect("UTF-8");
    (child.wait().expect("ended").code(), said, out)
}

#[test]
fn ctrl_c_ends_a_stream_well() {
    let served = served();
    let child = stream(&served, &["-o", "-"]).spawn().expect("run");
    wait_for_call(&served, "start");
    std::thread::sleep(Duration::from_millis(50));
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    let (code, said, trace) = wait(child);
    assert_eq!(code, Some(0), "{said}");
    let folder = Folder::new();
    verified(&folder.put("x", &trace), "binary");
}

#[test]
fn another_client_ends_a_stream_well() {
    let served = served();
    let child = stream(&served, &["-o", "-"]).spawn().expect("run");
    // The output must be read. Otherwise the trace waits for its reader.
    let first = std::thread::spawn(move || wait(child));
    wait_for_call(&served, "start");
    let second = stream(&served, &["-o", "-"]).output().expect("run");
    assert_eq!(second.status.code(), Some(2));
    assert_eq!(
        String::from_utf8_lossy(&second.stderr),
        "jtrail: another client has the data stream\n"
    );
    done(&served, &["stop"]);
    let (code, said, trace) = first.join().expect("no panic");
    assert_eq!(code, Some(0), "{said}");
    let folder = Folder::new();
    verified(&folder.put("x", &trace), "binary");
}

#[test]
fn a_reader_that_goes_away_stops_the_trace() {
    let served = served();
    let mut child = stream(&served, &["-o", "-"]).spawn().expect("run");
    wait_for_call(&served, "start");
    drop(child.stdout.take());
    wait_for_call(&served, "stop");
    assert_eq!(wait(child).0, Some(0));
}

#[test]
fn an_agent_that_goes_away_breaks_the_trace_off() {
    // Detaching ends the trace properly. If the agent only disconnects, the trace is truncated.
    for (detaches, expected) in [(true, Some(0)), (false, Some(3))] {
        let mut served = served();
        let child = stream(&served, &["-o", "-"]).spawn().expect("run");
        let first = std::thread::spawn(move || wait(child));
        wait_for_call(&served, "start");
        if detaches {
            let mut other = served.client();
            other.call(Ask::Detach, |_| Ok(())).expect("detached");
            served.join();
        }
        drop(served);
        let (code, said, _) = first.join().expect("no panic");
        assert_eq!(code, expected, "{said}");
        assert_eq!(said.contains("the trace is truncated"), !detaches, "{said}");
    }
}

#[test]
fn wrong_streams_are_refused() {
    let served = served();
    for (args, problem) in [
        (
            &["-o", "-", "format=xml"][..],
            "jtrail: the file is --output, the format --format\n",
        ),
        (
            &["-o", "/no/such/file"],
            "jtrail: can't write /no/such/file: No such file or directory (os error 2)\n",
        ),
    ] {
        let done = stream(&served, args).output().expect("run");
        assert_eq!(done.status.code(), Some(2));
        assert_eq!(String::from_utf8_lossy(&done.stderr), problem);
    }
    let none = stream(&served, &["-o", "-", "--format", "none"])
        .output()
        .expect("run");
    assert!(String::from_utf8_lossy(&none.stderr).contains("there would be nothing to write"));
}
