//! Signals that end the program leave no temporary files.

use crate::common::{Folder, encode, sample};
use jtrail_formats::Format;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Returns the names in a folder and in its folders.
fn names(folder: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        names.push(entry.file_name().into_string().expect("UTF-8"));
        names.extend(self::names(&entry.path()));
    }
    names.sort();
    names
}

/// A program that has created its output, and waits for the rest of the trace.
struct Waiting {
    child: Child,
    rest: Vec<u8>,
}

/// Starts a shell command that runs `"$@"`. Its temporary folders are in `folder`.
fn start(folder: &Folder, shell: &str, args: &[&str]) -> Waiting {
    let mut child = Command::new("sh")
        .args(["-c", shell, "sh", env!("CARGO_BIN_EXE_jtrail")])
        .args(args)
        .current_dir(folder.path())
        .env("TMPDIR", folder.path())
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    let mut trace = encode(Format::TptpBinary, &sample());
    let rest = trace.split_off(trace.len() / 2);
    let stdin = child.stdin.as_mut().expect("a pipe");
    stdin.write_all(&trace).expect("taken");
    let begin = Instant::now();
    while !names(folder.path()).iter().any(|n| n.ends_with(".part")) {
        assert!(begin.elapsed() < Duration::from_secs(60), "no file");
        std::thread::sleep(Duration::from_millis(5));
    }
    Waiting { child, rest }
}

const RUN: &str = "exec \"$@\"";
const SUBCOMMANDS: [&[&str]; 6] = [
    &["convert", "-", "x.trcxml"],
    &["export", "-", "-o", "x.pftrace"],
    &["export", "-", "-o", "x.pftrace", "--split"],
    &["export", "-", "--to", "flame", "-o", "x.html"],
    &["export", "-", "--send", "http://127.0.0.1:9"],
    &["open", "-", "--in", "firefox", "--print"],
];

#[test]
fn nothing_is_left_and_the_program_ends_by_the_signal() {
    for args in SUBCOMMANDS {
        for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
            let folder = Folder::new();
            let mut child = start(&folder, RUN, args).child;
            let _open = child.stdin.take(); // at the end of the trace, the program would be done
            kill_process(Pid::from_child(&child), signal).expect("sent");
            let done = child.wait_with_output().expect("ended");
            let said = String::from_utf8_lossy(&done.stderr);
            assert_eq!(
                done.status.signal(),
                Some(signal.as_raw()),
                "{args:?}: {said}"
            );
            assert_eq!(names(folder.path()), [""; 0], "{args:?}");
        }
    }
}

#[test]
fn an_earlier_file_remains() {
    let folder = Folder::new();
    folder.put("x.trcxml", b"earlier");
    let mut child = start(&folder, RUN, SUBCOMMANDS[0]).child;
    let _open = child.stdin.take();
    kill_process(Pid::from_child(&child), Signal::TERM).expect("sent");
    child.wait_with_output().expect("ended");
    assert_eq!(names(folder.path()), ["x.trcxml"]);
    let bytes = fs::read(folder.at("x.trcxml")).expect("there");
    assert_eq!(bytes, b"earlier");
}

/// A program that `nohup` has started goes on.
#[test]
fn a_signal_that_was_ignored_is_ignored() {
    let folder = Folder::new();
    let ignore = format!("trap '' HUP; {RUN}");
    let Waiting { mut child, rest } = start(&folder, &ignore, SUBCOMMANDS[0]);
    kill_process(Pid::from_child(&child), Signal::HUP).expect("sent");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(&rest).expect("taken");
    drop(stdin);
    let done = child.wait_with_output().expect("ended");
    assert_eq!(done.status.code(), Some(0), "{done:?}");
    assert_eq!(names(folder.path()), ["x.trcxml"]);
}

#[test]
fn a_file_that_may_not_grow_is_an_error() {
    let folder = Folder::new();
    let limit = format!("ulimit -f 0; {RUN}");
    let Waiting { mut child, rest } = start(&folder, &limit, SUBCOMMANDS[0]);
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(&rest).expect("taken");
    drop(stdin);
    let done = child.wait_with_output().expect("ended");
    assert_eq!(done.status.code(), Some(2), "{done:?}");
    let said = String::from_utf8(done.stderr).expect("UTF-8");
    let message = "jtrail: can't write x.trcxml: File too large (os error 27)\n";
    assert_eq!(said, message);
    assert_eq!(names(folder.path()), [""; 0]);
}
