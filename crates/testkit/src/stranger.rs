//! A process of another user.

use std::fs;
use std::os::unix::fs::{MetadataExt, lchown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The user and group that [`ask_as_stranger`] is, whom no test runs as.
pub const STRANGER: u32 = 12_345;

/// Asks for the status, and prints what comes until the connection ends.
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

/// Whether processes can be of another user. That they can't fails the test under CI (`CI=true`),
/// and is told on stderr elsewhere.
///
/// # Panics
/// As told.
fn can_be_strangers() -> bool {
    let is_root = fs::metadata("/proc/self").expect("there").uid() == 0;
    if !is_root {
        assert!(!crate::is_ci(), "only root can be another user");
        eprintln!("jtrail-testkit: SKIPPED: only root can be another user");
    }
    is_root
}

/// Has a process of another user connect to an agent's socket and ask for the status, with Python.
/// Answers what it gets as Python prints it: `b''` if it was sent away.
///
/// None where that can't be tried: only root can be another user. That fails the test under CI
/// (`CI=true`), and is told on stderr elsewhere.
///
/// # Panics
/// As told, and when it can't connect or there is no Python.
pub fn ask_as_stranger(socket: &Path) -> Option<String> {
    can_be_strangers().then(|| ask_as(STRANGER, socket))
}

/// As [`ask_as_stranger`], with a process of the user of that number.
///
/// # Panics
/// As that, and when the process is not root's.
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

/// Gives a folder and all that is in it to [`STRANGER`]. None where that can't be tried, as for
/// [`ask_as_stranger`].
///
/// # Panics
/// As that, and when the system refuses.
pub fn give_to_stranger(folder: &Path) -> Option<()> {
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
