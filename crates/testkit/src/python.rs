//! Programs in Python, and dialogues with programs.

use crate::{Output, Run, Running};
use std::ffi::OsString;
use std::io::Write;
use std::process::{ChildStdin, Command};
use std::sync::LazyLock;

/// Returns a run of this script with `python3`.
///
/// Without Python, this fails under CI (`CI=true`). Elsewhere, it prints a message to stderr and
/// returns `None`.
///
/// # Panics
/// If there is no Python under CI.
pub fn python(script: impl Into<OsString>) -> Option<Run> {
    static IS_THERE: LazyLock<bool> =
        LazyLock::new(|| Command::new("python3").arg("--version").output().is_ok());
    if !*IS_THERE {
        assert!(!crate::is_ci(), "no python3");
        eprintln!("SKIPPED: no python3");
        return None;
    }
    Some(Run::native("python3", script))
}

/// A program that answers each line of its input with a line that begins with the input line's
/// number: `[1] …`. Dropping the value kills the program.
#[derive(Debug)]
pub struct Dialogue {
    running: Running,
    input: ChildStdin,
    asked: usize,
}

impl Dialogue {
    /// Starts the program.
    ///
    /// # Panics
    /// If the program can't be started.
    pub fn with(run: Run) -> Self {
        let mut running = run.spawn().unwrap_or_else(|e| panic!("{e}"));
        let input = running.stdin();
        Self {
            running,
            input,
            asked: 0,
        }
    }

    /// Sends a line, and returns the program's answer.
    ///
    /// # Panics
    /// If the program ends instead, or the run's time limit expires.
    pub fn ask(&mut self, line: &str) -> String {
        self.asked += 1;
        // This fails if the program has ended. Then waiting for the answer fails too, with the
        // program's output in the message.
        let _ = writeln!(self.input, "{line}");
        let begin = format!("[{}] ", self.asked);
        let answer = self.running.wait_for_line(&begin);
        answer[begin.len()..].to_owned()
    }

    /// Kills the program immediately, like `kill -9`.
    ///
    /// # Panics
    /// If the program can't be waited for.
    pub fn kill(self) -> Output {
        self.running.kill().unwrap_or_else(|e| panic!("{e}"))
    }

    /// Closes the program's input and waits for its end. It must succeed, without output on
    /// standard error.
    ///
    /// # Panics
    /// If the program fails or has written to standard error.
    pub fn end(self) {
        drop(self.input);
        let output = self.running.wait().unwrap_or_else(|e| panic!("{e}"));
        output.assert_exit(0);
        assert_eq!(output.stderr, "", "{output}");
    }
}
