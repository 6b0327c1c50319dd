//! A running program that `jtrail attach` loads the agent into.

use super::cli::outcome;
use super::control::ROUND;
use super::{FILTER, Trace, agent, embedded, program};
use jtrail_testkit::{Jdk, Output, Run, Running, temp_dir};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ChildStdin;
use std::thread::sleep;
use std::time::{Duration, Instant};

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A running program, without an agent at first.
pub(crate) struct AttachedRun {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) running: Running,
    pub(crate) input: ChildStdin,
    /// Number of answers that the program has printed so far.
    pub(crate) answers: usize,
}

impl AttachedRun {
    pub(crate) fn new(jdk: &Jdk, main: &str) -> Self {
        Self::of(program(jdk, main))
    }

    /// Starts the program, and waits until it prints [ready].
    pub(crate) fn of(run: Run) -> Self {
        let mut running = run.spawn().expect("it starts");
        running.wait_ready();
        let input = running.stdin();
        Self {
            folder: temp_dir(),
            running,
            input,
            answers: 0,
        }
    }

    /// Starts a native program, whose threads attach to its JVM and detach. Memory that is freed is
    /// filled with a pattern, so that a JVM crashes soon if it still uses the freed data of a
    /// thread.
    pub(crate) fn of_native(jdk: &Jdk) -> Self {
        let program = std::env::current_exe().expect("a path");
        let run = [
            "--exact",
            "--nocapture",
            "support::embedded::comings_and_goings",
        ]
        .iter()
        .fold(Run::native(program, "--ignored"), |run, arg| run.arg(arg));
        let run = run.env(embedded::ARGUMENTS, embedded::arguments(jdk, &[]));
        Self::of(run.env("MALLOC_PERTURB_", "85"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).display().to_string()
    }

    pub(crate) fn pid(&self) -> String {
        self.running.pid().to_string()
    }

    /// Makes `harness.Attached` do its work once, and waits until it has.
    pub(crate) fn work(&mut self) {
        self.input.write_all(b"work\n").expect("it reads");
        self.answers += 1;
        self.running.wait_for(&"[done]\n".repeat(self.answers));
    }

    /// Sends a line to `harness.Marked`, and returns its answer.
    pub(crate) fn ask(&mut self, line: &str) -> String {
        writeln!(self.input, "{line}").expect("it reads");
        let answer = self.running.wait_for_line(&format!("[{line}: "));
        let (_, answer) = answer.split_once(": ").expect("an answer");
        answer.trim_end_matches(']').to_owned()
    }

    /// Runs `jtrail attach`, with the socket in the test's folder.
    pub(crate) fn attach(&self, file: &str, options: &[&str]) -> Result<String, String> {
        self.attach_library(&agent(), file, options)
    }

    /// Like [`Self::attach`], with the agent's library at another path.
    pub(crate) fn attach_library(
        &self,
        library: &Path,
        file: &str,
        options: &[&str],
    ) -> Result<String, String> {
        let (pid, file, socket) = (self.pid(), self.text(file), self.text("socket"));
        let (_, excluded) = FILTER.split_once('=').expect("a rule");
        let (first, second) = excluded.split_once(",exclude=").expect("two rules");
        let mut args = vec!["attach", &pid, "--agent", library.to_str().expect("text")];
        args.extend(["--file", &file, "--control", &socket, "--server", "enabled"]);
        args.extend(["--exclude", first, "--exclude", second]);
        args.extend(options);
        outcome(&args)
    }

    pub(crate) fn ctl(&self, words: &[&str]) -> Result<String, String> {
        let socket = self.text("socket");
        let args: Vec<&str> = ["ctl", &socket].iter().chain(words).copied().collect();
        outcome(&args)
    }

    /// Runs `jtrail ctl detach`, and waits until the agent has detached.
    pub(crate) fn detach(&self) {
        self.ctl(&["detach"]).expect("it leaves");
        self.wait_until("the agent is gone", || self.own_threads().is_empty());
    }

    pub(crate) fn wait_until(&self, what: &str, is_so: impl Fn() -> bool) {
        let begin = Instant::now();
        while !is_so() {
            assert!(begin.elapsed() < PATIENCE, "never: {what}");
            sleep(Duration::from_millis(2));
        }
    }

    pub(crate) fn proc(&self, name: &str) -> PathBuf {
        Path::new("/proc").join(self.pid()).join(name)
    }

    /// Returns the names of the agent's threads in the process.
    pub(crate) fn own_threads(&self) -> Vec<String> {
        let tasks = fs::read_dir(self.proc("task")).expect("it runs");
        let names = tasks
            .flatten()
            .filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
        names.filter(|name| name.starts_with("jtrail")).collect()
    }

    /// Returns the number of file descriptors, and the files that they stand for, without pipes and
    /// sockets.
    pub(crate) fn descriptors(&self) -> (usize, BTreeSet<PathBuf>) {
        let all = fs::read_dir(self.proc("fd")).expect("it runs").flatten();
        let all: Vec<PathBuf> = all.filter_map(|fd| fs::read_link(fd.path()).ok()).collect();
        let files = all.iter().filter(|path| path.is_absolute());
        (all.len(), files.cloned().collect())
    }

    /// Returns the bytes of anonymous memory that are mapped, and how often each of the agent's
    /// files is mapped.
    pub(crate) fn mappings(&self) -> (u64, BTreeMap<String, usize>) {
        let maps = fs::read_to_string(self.proc("maps")).expect("it runs");
        let (mut anonymous, mut files) = (0, BTreeMap::new());
        let folder = self.folder.path();
        for line in maps.lines() {
            // Addresses, permissions, offset, device, inode, path.
            let mut words = line.split_whitespace();
            let range = words.next().and_then(|range| range.split_once('-'));
            let (from, to) = range.expect("two addresses");
            let address = |text| u64::from_str_radix(text, 16).expect("hexadecimal");
            match words.nth(4) {
                Some(file) if file.starts_with('/') => {
                    // Only the file's name counts. Other parts of a path may contain the agent's
                    // name, even in the JDK.
                    if file.ends_with("/libjtrail.so") || Path::new(file).starts_with(folder) {
                        *files.entry(file.to_owned()).or_default() += 1;
                    }
                }
                _ => anonymous += address(to) - address(from),
            }
        }
        (anonymous, files)
    }

    pub(crate) fn end(self) -> (tempfile::TempDir, Output) {
        drop(self.input);
        let output = self.running.wait().expect("it ends");
        output.assert_exit(0);
        (self.folder, output)
    }
}

pub(crate) fn rounds(file: &Path, output: &Output) -> u64 {
    let trace = Trace::read(file).unwrap_or_else(|e| panic!("{}: {e}\n{output}", file.display()));
    trace.assert_sound(output);
    trace.calls.get(ROUND).copied().unwrap_or(0)
}

/// Starts a program that is ready for the agent.
pub(crate) fn ready(jdk: &Jdk) -> Running {
    let mut running = program(jdk, "harness.Attached").spawn().expect("it starts");
    running.wait_ready();
    running
}

/// Runs `jtrail attach` with these options. Returns its output.
pub(crate) fn attach(running: &Running, options: &[&str]) -> Result<String, String> {
    let (pid, agent) = (running.pid().to_string(), agent());
    let first = ["attach", &pid, "--agent", agent.to_str().expect("text")];
    let args: Vec<&str> = first.iter().chain(options).copied().collect();
    outcome(&args)
}

/// Makes the program do its work `times` times, and end.
pub(crate) fn work(mut running: Running, times: usize) -> Output {
    let mut input = running.stdin();
    for _ in 0..times {
        input.write_all(b"work\n").expect("it reads");
    }
    drop(input);
    let output = running.wait().expect("it ends");
    output.assert_exit(0);
    output
}
