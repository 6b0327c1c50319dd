//! A process of another user.

use std::fs;
use std::os::unix::fs::MetadataExt;
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

/// Has a process of another user connect to an agent's socket and ask for the status, with Python. Answers what it gets as Python
/// prints it: `b''` if it was sent away.
///
/// None where that can't be tried: only root can be another user. That fails the test under CI (`CI=true`), and is told on stderr
/// elsewhere.
///
/// # Panics
/// As told, and when it can't connect or there is no Python.
pub fn ask_as_stranger(socket: &Path) -> Option<String> {
    let own = fs::metadata("/proc/self").expect("there").uid();
    if own != 0 {
        assert!(!crate::is_ci(), "only root can be another user");
        eprintln!("jtrail-testkit: SKIPPED: only root can be another user");
        return None;
    }
    let output = Command::new("python3")
        .args(["-c", SCRIPT])
        .arg(socket)
        .uid(STRANGER)
        .gid(STRANGER)
        .current_dir("/")
        .output()
        .expect("Python is there");
    assert!(output.status.success(), "{output:?}");
    Some(
        String::from_utf8_lossy(&output.stdout)
            .trim_end()
            .to_owned(),
    )
}
