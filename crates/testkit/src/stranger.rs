//! Processes of another user.

use std::fs;
use std::os::unix::fs::{MetadataExt, lchown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The user and group of [`ask_as_stranger`]; no test runs as this user.
pub const STRANGER: u32 = 12_345;

/// Requests the status, and prints the answer until the connection ends.
const SCRIPT: &str = "\
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
try:
    s.sendall(b'JT\\x01\\0\\x09\\0\\0\\0<status/>')
    print(s.recv(100))
except ConnectionError:
    print(b'')
";

/// Returns true if the test may start processes of another user, which requires root. If not, this
/// fails under CI (`CI=true`). Elsewhere, it prints a message to stderr.
///
/// # Panics
/// If the process is not root's, under CI.
fn can_be_strangers() -> bool {
    let is_root = fs::metadata("/proc/self").expect("there").uid() == 0;
    if !is_root {
        assert!(!crate::is_ci(), "only root can be another user");
        eprintln!("jtrail-testkit: SKIPPED: only root can be another user");
    }
    is_root
}

/// Makes a process of another user connect to an agent's socket and request the status, with
/// Python. Returns the answer as Python prints it: `b''` if it was rejected.
///
/// Only root can start such a process. Without root, this fails under CI (`CI=true`). Elsewhere, it
/// prints a message to stderr and returns `None`.
///
/// # Panics
/// If this process is not root's under CI, if the other process can't connect, or if there is no
/// Python.
pub fn ask_as_stranger(socket: &Path) -> Option<String> {
    can_be_strangers().then(|| ask_as(STRANGER, socket))
}

/// Like [`ask_as_stranger`], but the other process is of the user with this id.
///
/// # Panics
/// If this process is not root's, if the other process can't connect, or if there is no Python.
pub fn ask_as(user: u32, socket: &Path) -> String {
    let output = Command::new("python3")
        .args(["-c", SCRIPT])
        .arg(socket)
        .uid(user)
        .gid(user)
        .current_dir("/")
        .output()
        .expect("Python is there");
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8_lossy(&output.stdout);
    said.trim_end().to_owned()
}

/// Makes [`STRANGER`] the owner of a folder and its content. Returns `None` without root, like
/// [`ask_as_stranger`].
///
/// # Panics
/// If the process is not root's under CI, or the system refuses.
pub fn give_to_other_user(folder: &Path) -> Option<()> {
    can_be_strangers().then(|| give(folder))
}

fn give(path: &Path) {
    lchown(path, Some(STRANGER), Some(STRANGER)).expect("root may");
    if path.is_dir() {
        for entry in fs::read_dir(path).expect("root may") {
            give(&entry.expect("root may").path());
        }
    }
}
