//! Programs in Python, and conversations with them.

use crate::{Output, Run, Running};
use std::ffi::OsString;
use std::io::Write;
use std::process::{ChildStdin, Command};
use std::sync::LazyLock;

/// A run of this script by `python3`.
///
/// Under CI (`CI=true`) there must be a Python. Elsewhere it is told on stderr that there is none.
///
/// # Panics
/// As told.
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

/// A program that answers each line of its input by a line, which begins with the number of that:
/// `[1] …`. Dropping it kills it.
#[derive(Debug)]
pub struct Dialogue {
    running: Running,
    input: ChildStdin,
    asked: usize,
}

impl Dialogue {
    /// Starts it.
    ///
    /// # Panics
    /// When it can't be started.
    pub fn with(run: Run) -> Self {
        let mut running = run.spawn().unwrap_or_else(|e| panic!("{e}"));
        let input = running.stdin();
        Self {
            running,
            input,
            asked: 0,
        }
    }

    /// Its answer to a line.
    ///
    /// # Panics
    /// When it ends instead, or the run's time limit passes.
    pub fn ask(&mut self, line: &str) -> String {
        self.asked += 1;
        // One that has ended does not read; the wait for its answer says so, and what it said.
        let _ = writeln!(self.input, "{line}");
        let begin = format!("[{}] ", self.asked);
        let answer = self.running.wait_for_line(&begin);
        answer[begin.len()..].to_owned()
    }

    /// Ends it at once, as `kill -9` does.
    ///
    /// # Panics
    /// When it can't be waited for.
    pub fn kill(self) -> Output {
        self.running.kill().unwrap_or_else(|e| panic!("{e}"))
    }

    /// Closes its input, and waits for its end, which must be a good one without a word on standard
    /// error.
    ///
    /// # Panics
    /// When it is not.
    pub fn end(self) {
        drop(self.input);
        let output = self.running.wait().unwrap_or_else(|e| panic!("{e}"));
        output.assert_exit(0);
        assert_eq!(output.stderr, "", "{output}");
    }
}
