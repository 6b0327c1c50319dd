//! The JVM ends while a client has the data stream and reads nothing, and no event may be lost. The
//! JVM waits as long as docs/control.md says.

use crate::support::compile::compile;
use crate::support::control::send;
use crate::support::{agent, at_once};
use jtrail_testkit::{Jdk, Run, Running, temp_dir};
use std::io::{ErrorKind, Read};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Maximum time for a program to end: 5 s for the data, 2 s for the last command, and what the JVM
/// itself needs on a busy machine.
const MAX_TIME: Duration = Duration::from_secs(15);
/// A thread or an agent that does not react for this long is considered to be waiting.
const SILENCE: Duration = Duration::from_millis(500);
/// Maximum time of anything else.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program, and a client that begins a trace and reads nothing.
struct Stuck {
    running: Running,
    socket: PathBuf,
    client: UnixStream,
}

impl Stuck {
    fn new(jdk: &Jdk, folder: &Path, events: &str, start: &str) -> Self {
        let socket = folder.join(format!("socket{}", jdk.feature));
        let options = format!(
            "format=none,server=enabled,events={events},include=Endless.next,overflow=block,buffer=1m,control={}",
            socket.display()
        );
        let run = Run::new(jdk, "Endless").class_path(folder);
        let mut running = run.agent(agent(), options).spawn().expect("it starts");
        running.wait_ready();
        let mut client = UnixStream::connect(&socket).expect("connected");
        let format = "<setOutputFormat><format>xml</format></setOutputFormat>";
        send(&mut client, &[format, "<stream/>", start]);
        Self {
            running,
            socket,
            client,
        }
    }

    /// Waits until the sampler does not wake up any more, because the buffers are full and block
    /// it.
    fn wait_for_sampler(&self) {
        let tasks = format!("/proc/{}/task", self.running.pid());
        // `None` before the sampler exists.
        let wakes = || {
            let tasks = std::fs::read_dir(&tasks).expect("it runs");
            let status = tasks.map(|task| task.expect("it runs").path().join("status"));
            let mut status = status.filter_map(|path| std::fs::read_to_string(path).ok());
            let sampler = status.find(|status| status.starts_with("Name:\tjtrail sampler\n"))?;
            let mut lines = sampler.lines();
            let wakes = lines.find(|line| line.starts_with("voluntary_ctxt_switches"));
            Some(wakes.expect("a number").to_owned())
        };
        let begun = Instant::now();
        let mut before = None;
        loop {
            thread::sleep(SILENCE);
            let now = wakes();
            if now.is_some() && now == before {
                return;
            }
            assert!(begun.elapsed() < PATIENCE, "{now:?}");
            before = now;
        }
    }

    /// Lets the program end by itself or by a signal. Checks that it ends in time, with its own
    /// exit code.
    fn end(mut self, jdk: &Jdk, by_signal: bool) {
        let mut input = Some(self.running.stdin());
        let begun = Instant::now();
        let (code, said) = match by_signal {
            true => {
                self.running.signal("TERM").expect("it runs");
                (143, "[ready]\n")
            }
            false => {
                drop(input.take());
                (3, "[ready]\n[end]\n")
            }
        };
        let output = self.running.wait().expect("it ends");
        let elapsed = begun.elapsed();
        output.assert_exit(code);
        assert_eq!(output.stdout, said, "{output}");
        assert!(!output.stderr.contains("jtrail: "), "{output}");
        assert!(elapsed < MAX_TIME, "{elapsed:?}, {jdk}");
        drop(self.client);
    }
}

/// Compiles the program, and returns its folder.
fn compiled() -> TempDir {
    let folder = temp_dir();
    compile("Endless", include_str!("Endless.java"), folder.path());
    folder
}

/// Threads of the program and of the agent wait with full buffers.
#[test]
fn a_program_ends_in_the_middle_of_a_trace() {
    let folder = compiled();
    at_once(|jdk| {
        let stuck = Stuck::new(
            jdk,
            folder.path(),
            "methods+samples,interval=1ms",
            "<start/>",
        );
        stuck.wait_for_sampler();
        stuck.end(jdk, true);
    });
}

/// The opening of the trace is larger than the buffer of the client's socket, so the trace has not
/// begun yet.
#[test]
fn a_program_ends_while_a_trace_begins() {
    let folder = compiled();
    at_once(|jdk| {
        let stuck = Stuck::new(
            jdk,
            folder.path(),
            "methods",
            "<start events=\"+details\"/>",
        );
        let begun = Instant::now();
        let mut other = UnixStream::connect(&stuck.socket).expect("connected");
        other.set_read_timeout(Some(SILENCE)).expect("a socket");
        loop {
            send(&mut other, &["<status/>"]);
            match other.read(&mut [0; 4096]) {
                Ok(count) => assert!(
                    count > 0 && begun.elapsed() < PATIENCE,
                    "{jdk}: it has begun"
                ),
                Err(error) => break assert_eq!(error.kind(), ErrorKind::WouldBlock),
            }
        }
        stuck.end(jdk, false);
    });
}
