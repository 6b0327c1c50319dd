//! `jtrail top` with an agent without a JVM: tables, and a terminal that is restored.

#![cfg(unix)]

mod common;
#[path = "../../control/tests/common/mod.rs"]
mod fake;

use common::terminal::Terminal;
use common::{Done, jtrail};
use fake::{Served, call, take_stream, to_file};
use jtrail_control::{Answer, Command as Ask, Settings, State, StreamUse};
use jtrail_options::Compat;
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{Termios, tcgetattr};
use serde_json::Value;
use std::io::Write;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

fn served() -> Served {
    Served::new(Settings::default())
}

fn top(served: &Served, args: &[&str]) -> Done {
    let socket = served.socket.to_str().expect("UTF-8");
    jtrail(&[&["top", socket, "-i", "100ms"], args].concat())
}

fn status(served: &Served) -> jtrail_control::Status {
    match call(&mut served.client(), Ask::Status) {
        Ok(Answer::Status(status)) => status,
        other => panic!("{other:?}"),
    }
}

#[test]
fn tables_of_an_idle_agent_and_no_files_remain() {
    let served = served();
    let done = top(&served, &["--batch", "3", "--sort", "calls", "include=a.*"]);
    assert_eq!((done.code, done.err.as_str()), (0, ""), "{}", done.out);
    assert_eq!(done.out.matches("\nmethods\n").count(), 3, "{}", done.out);
    assert!(done.out.contains(" com.acme.Main.inner()"), "{}", done.out);
    assert!(done.out.contains(" main"), "{}", done.out);
    assert_eq!(
        served.called(),
        [
            "start format=Some(ProfilerJ) events=None patterns=[(true, \"a.*\")]",
            "rotate None",
            "rotate None",
            "rotate None",
            "stop",
        ]
    );
    let status = status(&served);
    assert_eq!(
        (status.state, status.stream),
        (State::Idle, StreamUse::Free)
    );
    let files = served.folder.path().read_dir().expect("a folder").count();
    assert_eq!(files, 1, "the socket");
}

#[test]
fn tables_for_programs() {
    let served = served();
    let done = top(&served, &["--once", "--format", "json", "--top", "1"]);
    assert_eq!((done.code, done.err.as_str()), (0, ""), "{}", done.out);
    let all: Value = serde_json::from_str(&done.out).expect("JSON");
    let methods = all["methods"].as_array().expect("rows");
    assert_eq!(methods.len(), 1);
    assert_eq!(methods[0]["method"], "com.acme.Main.outer()V");
    assert!(methods[0]["calls"].as_u64() >= Some(200));
    assert_eq!(all["agent"]["pid"], std::process::id());
}

#[test]
fn another_trace_is_left_alone() {
    let served = served();
    let mut other = served.client();
    call(&mut other, to_file("x")).expect("started");
    let done = top(&served, &["--batch", "2", "--format", "json"]);
    assert_eq!(
        (done.code, done.err.as_str()),
        (0, "jtrail: a trace is active, so only rates are shown\n")
    );
    let last = done.out.rfind("\n\n").expect("two of them");
    let all: Value = serde_json::from_str(&done.out[last..]).expect("JSON");
    assert_eq!(all.get("methods"), None);
    assert_eq!(all["events"][0]["kind"], "calls");
    assert!(all["events"][0]["per_second"].as_u64() > Some(0));
    assert_eq!(status(&served).state, State::Recording);
    assert_eq!(served.called().len(), 1, "only the start");
}

#[test]
fn another_stream_is_left_alone() {
    let served = served();
    let mut other = served.client();
    take_stream(&mut other);
    let done = top(&served, &["--once"]);
    assert_eq!(
        (done.code, done.err.as_str()),
        (
            0,
            "jtrail: another client has the data stream, so only rates are shown\n"
        )
    );
    assert_eq!(served.called(), [""; 0]);
}

#[test]
fn what_ends_it_is_reported() {
    let served = served();
    let stopping = std::thread::scope(|scope| {
        let done = scope.spawn(|| top(&served, &["--batch", "100"]));
        let begun = Instant::now();
        while !served.called().iter().any(|c| c.starts_with("rotate")) {
            assert!(begun.elapsed() < Duration::from_secs(60), "never asked");
            std::thread::sleep(Duration::from_millis(5));
        }
        call(&mut served.client(), Ask::Stop).expect("stopped");
        done.join().expect("no panic")
    });
    assert_eq!(
        (stopping.code, stopping.err.as_str()),
        (2, "jtrail: another client has stopped the trace\n")
    );
    let old = Served::new(Settings::default().with_compat(Compat::Pre45));
    let done = top(&old, &["--once"]);
    assert_eq!(
        (done.code, done.err.as_str()),
        (2, "jtrail: this agent writes no totals, only xml\n")
    );
    let served = self::served();
    for (setting, problem) in [
        ("file=x", "top keeps no trace"),
        ("frob=x", "no such key frob"),
    ] {
        let done = top(&served, &["--once", setting]);
        assert!(done.code == 2 && done.err.contains(problem), "{}", done.err);
    }
}

/// `jtrail top` on a pseudo terminal.
struct OnTerminal {
    child: Child,
    terminal: Terminal,
    before: Termios,
}

impl OnTerminal {
    fn new(served: &Served) -> Self {
        let terminal = Terminal::new();
        let before = tcgetattr(terminal.open()).expect("a terminal");
        let child = Command::new(env!("CARGO_BIN_EXE_jtrail"))
            .args(["top", "-i", "250ms"])
            .arg(&served.socket)
            .stdin(terminal.open())
            .stdout(terminal.open())
            .stderr(terminal.open())
            .env("TERM", "xterm-256color")
            .spawn()
            .expect("run");
        Self {
            child,
            terminal,
            before,
        }
    }

    fn type_keys(&self, keys: &[u8]) {
        (&self.terminal.keys).write_all(keys).expect("typed");
    }

    fn wait_for(&self, text: &str) {
        self.terminal.wait_for(text);
    }

    /// Waits until the program exits. Checks that the terminal is restored, and returns the exit
    /// code and the output.
    fn end(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().expect("ended").code();
        let after = tcgetattr(self.terminal.open()).expect("a terminal");
        assert_eq!(after.local_modes, self.before.local_modes);
        assert_eq!(after.input_modes, self.before.input_modes);
        assert_eq!(after.output_modes, self.before.output_modes);
        let shown = self.terminal.end();
        let (enter, leave) = ("\u{1b}[?1049h", "\u{1b}[?1049l");
        assert_eq!(shown.matches(enter).count(), 1, "{shown:?}");
        let left = shown.rfind(leave).expect("the first screen is back");
        assert!(shown.find(enter) < Some(left), "{shown:?}");
        assert!(shown.rfind("\u{1b}[?25h") > shown.find(enter), "the cursor");
        (code, shown[left..].to_owned())
    }
}

#[test]
fn keys_on_a_terminal() {
    let served = served();
    let on = OnTerminal::new(&served);
    on.wait_for("com.acme.Main.outer");
    // Only single words can be searched: unchanged cells, such as the blanks between words, are not
    // written again.
    for (key, text) in [("?", "PgUp"), ("?\t", "main")] {
        on.type_keys(key.as_bytes());
        on.wait_for(text);
    }
    // The bottom line moves to the new last line.
    on.terminal.resize(120, 40);
    kill_process(Pid::from_child(&on.child), Signal::WINCH).expect("it runs");
    on.wait_for("\u{1b}[40;");
    on.type_keys(b"q");
    let (code, _) = on.end();
    assert_eq!(code, Some(0));
    assert_eq!(status(&served).state, State::Idle);
}

#[test]
fn every_way_out_restores_the_terminal() {
    for signal in [None, Some(Signal::TERM), Some(Signal::HUP)] {
        let served = served();
        let on = OnTerminal::new(&served);
        on.wait_for("com.acme.Main.outer");
        match signal {
            Some(signal) => kill_process(Pid::from_child(&on.child), signal).expect("it runs"),
            None => on.type_keys(&[3]), // Ctrl-C
        }
        let (code, _) = on.end();
        assert_eq!(code, Some(0), "{signal:?}");
        assert_eq!(status(&served).state, State::Idle);
    }
    let served = served();
    let on = OnTerminal::new(&served);
    on.wait_for("com.acme.Main.outer");
    drop(served);
    let (code, rest) = on.end();
    assert_eq!(code, Some(2));
    assert!(rest.contains("jtrail: the "), "{rest:?}");
}
