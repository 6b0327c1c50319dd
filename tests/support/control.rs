//! A running program with an agent, which gets commands from clients.

use super::cli::outcome;
use super::{FILTER, Trace, agent, program};
use jtrail_control::frame::{FrameKind, encode};
use jtrail_control::{Answer, Client, Command as Ask, Status};
use jtrail_testkit::{Jdk, Output, Running, temp_dir};
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ChildStdin;
use std::thread;
use std::time::{Duration, Instant};

pub(crate) const ROUND: &str = "harness.Attached.round(Ljava/util/List;Z)V";

/// A running program with the agent. Its methods send commands to the agent, and make the program
/// work.
pub(crate) struct ControlledRun {
    folder: tempfile::TempDir,
    running: Running,
    input: ChildStdin,
    pub(crate) rounds: usize,
    /// Name of the socket, relative to the folder.
    socket: &'static str,
}

impl ControlledRun {
    pub(crate) fn new(jdk: &Jdk, options: &str) -> Self {
        Self::with_socket(jdk, options, "socket")
    }

    /// Creates the folder of the socket, and starts the program.
    pub(crate) fn with_socket(jdk: &Jdk, options: &str, socket: &'static str) -> Self {
        let folder = temp_dir();
        let above = folder.path().join(socket);
        std::fs::create_dir_all(above.parent().expect("a folder")).expect("made");
        let path = |name: &str| folder.path().join(name).display().to_string();
        let options = format!(
            "{options},{FILTER},file={},control={}",
            path("first"),
            path(socket)
        );
        let run = program(jdk, "harness.Attached").agent(agent(), options);
        let mut running = run.spawn().expect("it starts");
        running.wait_ready();
        let input = running.stdin();
        Self {
            folder,
            running,
            input,
            rounds: 0,
            socket,
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    /// Makes the program do its work once, and waits until it has.
    pub(crate) fn work(&mut self) {
        self.input.write_all(b"work\n").expect("it reads");
        self.rounds += 1;
        self.running.wait_for(&"[done]\n".repeat(self.rounds));
    }

    /// Runs `jtrail ctl`, which must succeed, and returns its output.
    pub(crate) fn ctl(&self, words: &[&str]) -> String {
        self.try_ctl(words)
            .unwrap_or_else(|e| panic!("{words:?}: {e}"))
    }

    pub(crate) fn try_ctl(&self, words: &[&str]) -> Result<String, String> {
        let socket = self.text(self.socket);
        let args: Vec<&str> = ["ctl", &socket].iter().chain(words).copied().collect();
        outcome(&args)
    }

    /// Connects another client.
    pub(crate) fn client(&self) -> Client {
        let timeout = Duration::from_secs(60);
        Client::of_socket(&self.path(self.socket), timeout).expect("connected")
    }

    /// Returns the agent's status.
    pub(crate) fn status(&self) -> Status {
        match self.client().call(Ask::Status, |_| Ok(())) {
            Ok(Answer::Status(status)) => status,
            other => panic!("{other:?}"),
        }
    }

    /// Returns how often the program has done its work.
    pub(crate) fn rounds(&self) -> u64 {
        self.rounds as u64
    }

    /// Waits until `status` contains `state`.
    pub(crate) fn wait_for(&self, state: &str) {
        let begin = Instant::now();
        while !self.ctl(&["status"]).contains(state) {
            assert!(begin.elapsed() < Duration::from_secs(120), "never {state}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Waits until the agent accepts a client again.
    pub(crate) fn wait_until_served(&self) {
        let begin = Instant::now();
        while self.try_ctl(&["status"]).is_err() {
            assert!(begin.elapsed() < Duration::from_secs(120), "never served");
            thread::sleep(Duration::from_millis(5));
        }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.running.pid()
    }

    pub(crate) fn end(self) -> (tempfile::TempDir, Output) {
        drop(self.input);
        let output = self.running.wait().expect("it ends");
        output.assert_exit(0);
        (self.folder, output)
    }
}

/// Reads a sound trace. Returns it, and how often the program did its work in it.
pub(crate) fn rounds(file: &Path, output: &Output) -> (Trace, u64) {
    let trace = Trace::read(file).unwrap_or_else(|e| panic!("{}: {e}\n{output}", file.display()));
    trace.assert_sound(output);
    let rounds = trace.calls.get(ROUND).copied().unwrap_or(0);
    (trace, rounds)
}

pub(crate) fn send(socket: &mut UnixStream, commands: &[&str]) {
    for command in commands {
        let mut frame = Vec::new();
        encode(FrameKind::Command, command.as_bytes(), &mut frame);
        socket.write_all(&frame).expect("it reads commands");
    }
}
