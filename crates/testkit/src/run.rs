//! Runs of one program in one JVM.

use crate::{Jdk, temp_dir};
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// The default time limit of a run: generous, for machines under load.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(120);

/// The time that a hanging JVM gets to print its stacks before it is killed.
const STACKS: Duration = Duration::from_secs(2);

/// A builder for the run of a program.
#[derive(Clone, Debug)]
pub struct Run {
    java: PathBuf,
    class_path: Option<OsString>,
    main: OsString,
    jvm_args: Vec<OsString>,
    args: Vec<OsString>,
    env: Vec<(OsString, OsString)>,
    dir: Option<PathBuf>,
    user: Option<u32>,
    stdin: Vec<u8>,
    timeout: Duration,
}

/// The reason why there is no [`Output`].
#[derive(Debug)]
pub enum RunError {
    /// The JVM could not be started, or communication with it failed.
    Io(io::Error),
    /// The JVM ran longer than the limit and was killed. The output so far includes its threads'
    /// stacks.
    Timeout(Duration, Box<Output>),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(e) => write!(f, "cannot run the JVM: {e}"),
            Self::Timeout(limit, output) => write!(f, "killed after {limit:?}\n{output}"),
        }
    }
}

impl std::error::Error for RunError {}

impl From<io::Error> for RunError {
    fn from(e: io::Error) -> Self {
        Self::Io(e)
    }
}

/// The results of a program that has ended.
#[derive(Clone, Debug)]
pub struct Output {
    /// The exit status.
    pub status: ExitStatus,
    /// The program's standard output. Invalid UTF-8 is replaced.
    pub stdout: String,
    /// The program's standard error. Invalid UTF-8 is replaced.
    pub stderr: String,
    /// The time from start to end.
    pub elapsed: Duration,
}

impl Output {
    /// Fails unless the program ended with this exit code. The message has all output.
    ///
    /// # Panics
    /// If the program ended with another code, or by a signal.
    pub fn assert_exit(&self, code: i32) {
        assert_eq!(self.status.code(), Some(code), "exit code\n{self}");
    }
}

impl fmt::Display for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} after {:?}", self.status, self.elapsed)?;
        writeln!(f, "--- stdout\n{}", self.stdout)?;
        write!(f, "--- stderr\n{}", self.stderr)
    }
}

impl Run {
    /// Creates a run of the class `main` in the JVM `jdk`.
    pub fn new(jdk: &Jdk, main: impl Into<OsString>) -> Self {
        Self::native(&jdk.java, main)
    }

    /// Creates a run of a program that creates its own JVM. The program gets the arguments for the
    /// JVM, followed by `main`.
    pub fn native(program: impl Into<PathBuf>, main: impl Into<OsString>) -> Self {
        Self {
            java: program.into(),
            class_path: None,
            main: main.into(),
            jvm_args: Vec::new(),
            args: Vec::new(),
            env: Vec::new(),
            dir: None,
            user: None,
            stdin: Vec::new(),
            timeout: DEFAULT_TIMEOUT,
        }
    }

    /// Sets the class path.
    #[must_use]
    pub fn class_path(mut self, path: impl Into<OsString>) -> Self {
        self.class_path = Some(path.into());
        self
    }

    /// Adds an argument for the JVM, before the main class.
    #[must_use]
    pub fn jvm_arg(mut self, arg: impl Into<OsString>) -> Self {
        self.jvm_args.push(arg.into());
        self
    }

    /// Runs the program as the user and group with this id, which requires root.
    #[must_use]
    pub fn user(mut self, user: u32) -> Self {
        self.user = Some(user);
        self
    }

    /// Adds an argument for the program.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Loads the agent library `path` with `options`, which may be empty.
    #[must_use]
    pub fn agent(self, path: impl AsRef<Path>, options: impl AsRef<OsStr>) -> Self {
        let mut arg = OsString::from("-agentpath:");
        arg.push(path.as_ref());
        if !options.as_ref().is_empty() {
            arg.push("=");
            arg.push(options);
        }
        self.jvm_arg(arg)
    }

    /// Sets an environment variable.
    #[must_use]
    pub fn env(mut self, key: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((key.into(), value.into()));
        self
    }

    /// Sets the working folder. The default is a new temporary one.
    #[must_use]
    pub fn dir(mut self, dir: impl Into<PathBuf>) -> Self {
        self.dir = Some(dir.into());
        self
    }

    /// Passes these bytes to the program as its input, then closes the input.
    #[must_use]
    pub fn stdin(mut self, bytes: impl Into<Vec<u8>>) -> Self {
        self.stdin = bytes.into();
        self
    }

    /// Sets the time limit. The default is [`DEFAULT_TIMEOUT`].
    #[must_use]
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// Runs the program to its end.
    ///
    /// # Panics
    /// If the program can't be started, or exceeds the time limit.
    pub fn output(self) -> Output {
        self.try_output().unwrap_or_else(|e| panic!("{e}"))
    }

    /// Like [`Run::output`], but returns an error instead of panicking.
    ///
    /// # Errors
    /// If the program can't be started, or exceeds the time limit.
    pub fn try_output(mut self) -> Result<Output, RunError> {
        let input = std::mem::take(&mut self.stdin);
        let mut running = self.spawn()?;
        let mut pipe = running.child.stdin.take();
        // A separate thread writes the input. So the test is not blocked by a program that does not
        // read.
        thread::spawn(move || {
            if let Some(pipe) = pipe.as_mut() {
                // This fails if the program ends without reading all its input.
                let _ = pipe.write_all(&input);
            }
        });
        running.wait()
    }

    /// Starts the program, for tests that communicate with it. Its input stays open until the test
    /// waits for its end.
    ///
    /// # Errors
    /// If the program can't be started.
    pub fn spawn(self) -> Result<Running, RunError> {
        let own_dir = match self.dir {
            Some(_) => None,
            None => Some(temp_dir()),
        };
        let dir = self.dir.as_deref();
        let dir = dir.unwrap_or_else(|| own_dir.as_ref().expect("set above").path());
        let mut command = Command::new(&self.java);
        // These variables would change what every JVM does and prints.
        for name in [
            "JAVA_TOOL_OPTIONS",
            "_JAVA_OPTIONS",
            "JDK_JAVA_OPTIONS",
            "CLASSPATH",
        ] {
            command.env_remove(name);
        }
        command.args(&self.jvm_args);
        if let Some(path) = &self.class_path {
            command.arg("-cp").arg(path);
        }
        command
            .arg(&self.main)
            .args(&self.args)
            .envs(self.env)
            .current_dir(dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(user) = self.user {
            command.uid(user).gid(user);
        }
        let started = Instant::now();
        let mut child = command.spawn()?;
        let stdout = Pipe::read(child.stdout.take().expect("piped"));
        let stderr = Pipe::read(child.stderr.take().expect("piped"));
        Ok(Running {
            child,
            stdout,
            stderr,
            started,
            deadline: started + self.timeout,
            timeout: self.timeout,
            _dir: own_dir,
        })
    }
}

/// A running program. Dropping it kills the program.
#[derive(Debug)]
pub struct Running {
    child: Child,
    stdout: Arc<Pipe>,
    stderr: Arc<Pipe>,
    started: Instant,
    deadline: Instant,
    timeout: Duration,
    _dir: Option<tempfile::TempDir>,
}

impl Running {
    /// Returns the process's id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns the program's input.
    ///
    /// # Panics
    /// If this was called before.
    pub fn stdin(&mut self) -> ChildStdin {
        self.child.stdin.take().expect("input taken twice")
    }

    /// Waits until `text` occurs in the program's standard output.
    ///
    /// # Panics
    /// If the program ends without printing the text, or the time limit expires. Then the program
    /// is killed.
    pub fn wait_for(&mut self, text: &str) {
        if !self.stdout.wait_for(text, self.deadline) {
            let output = self.kill_with_stacks();
            panic!("{text:?} never came\n{output}");
        }
    }

    /// Waits for a line of standard output that begins with `begin`, and returns it.
    ///
    /// # Panics
    /// Like [`Running::wait_for`].
    pub fn wait_for_line(&mut self, begin: &str) -> String {
        let mut found = None;
        self.stdout.wait(self.deadline, |state| {
            let whole = state.bytes.split_inclusive(|byte| *byte == b'\n');
            let mut whole = whole.filter(|line| line.ends_with(b"\n"));
            let line = whole.find(|line| line.starts_with(begin.as_bytes()));
            found = line.map(|line| String::from_utf8_lossy(line).trim_end().to_owned());
            found.is_some()
        });
        found.unwrap_or_else(|| {
            let output = self.kill_with_stacks();
            panic!("{begin:?} never came\n{output}")
        })
    }

    /// Waits until the program prints `[ready]`.
    ///
    /// # Panics
    /// Like [`Running::wait_for`].
    pub fn wait_ready(&mut self) {
        self.wait_for("[ready]");
    }

    /// Sends a signal, by its name without `SIG`: `TERM`, `INT`, `QUIT`.
    ///
    /// # Errors
    /// If the system's `kill` can't be run, or refuses.
    #[cfg(unix)]
    pub fn signal(&self, name: &str) -> io::Result<()> {
        let pid = self.pid().to_string();
        let status = Command::new("kill").args(["-s", name, &pid]).status()?;
        if status.success() {
            Ok(())
        } else {
            Err(io::Error::other(format!("kill -s {name} {pid}: {status}")))
        }
    }

    /// Kills the program immediately, like `kill -9`, and returns its output so far.
    ///
    /// # Errors
    /// If the program can't be waited for.
    pub fn kill(mut self) -> Result<Output, RunError> {
        self.child.kill()?;
        let status = self.child.wait()?;
        Ok(self.collect(status))
    }

    /// Closes the program's input and waits for its end.
    ///
    /// # Errors
    /// If the time limit expires. The program is killed then.
    pub fn wait(mut self) -> Result<Output, RunError> {
        drop(self.child.stdin.take());
        match self.wait_until(self.deadline)? {
            Some(status) => Ok(self.collect(status)),
            None => {
                let output = self.kill_with_stacks();
                Err(RunError::Timeout(self.timeout, Box::new(output)))
            }
        }
    }

    fn wait_until(&mut self, deadline: Instant) -> io::Result<Option<ExitStatus>> {
        let mut pause = Duration::from_millis(1);
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(Some(status));
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }

    /// Kills a hanging JVM, after it was asked to print its stacks.
    fn kill_with_stacks(&mut self) -> Output {
        #[cfg(unix)]
        if self.signal("QUIT").is_ok() {
            let _ = self.wait_until(Instant::now() + STACKS);
        }
        let _ = self.child.kill();
        let status = self.child.wait().expect("a child that was killed");
        self.collect(status)
    }

    fn collect(&self, status: ExitStatus) -> Output {
        let elapsed = self.started.elapsed();
        // The time is limited, because grandchildren may keep the pipes open.
        let limit = Instant::now() + STACKS;
        Output {
            status,
            stdout: self.stdout.all(limit),
            stderr: self.stderr.all(limit),
            elapsed,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Both fail if the program has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Data that a thread reads from a pipe.
#[derive(Debug, Default)]
struct Pipe {
    state: Mutex<PipeState>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct PipeState {
    bytes: Vec<u8>,
    ended: bool,
}

impl Pipe {
    fn read(mut from: impl Read + Send + 'static) -> Arc<Self> {
        let pipe = Arc::new(Self::default());
        let to = Arc::clone(&pipe);
        thread::spawn(move || {
            let mut buffer = [0; 8192];
            loop {
                let n = from.read(&mut buffer).unwrap_or(0);
                let mut state = to.state.lock().expect("no panic under this lock");
                state.bytes.extend_from_slice(&buffer[..n]);
                state.ended = n == 0;
                to.changed.notify_all();
                if state.ended {
                    return;
                }
            }
        });
        pipe
    }

    /// Waits until `done` returns true, the pipe ends, or the deadline expires. Returns the last
    /// result of `done`.
    fn wait(&self, deadline: Instant, mut done: impl FnMut(&PipeState) -> bool) -> bool {
        let mut state = self.state.lock().expect("no panic under this lock");
        loop {
            let now = Instant::now();
            if done(&state) {
                return true;
            }
            if state.ended || now >= deadline {
                return false;
            }
            let waited = self.changed.wait_timeout(state, deadline - now);
            state = waited.expect("no panic under this lock").0;
        }
    }

    fn wait_for(&self, text: &str, deadline: Instant) -> bool {
        self.wait(deadline, |state| {
            String::from_utf8_lossy(&state.bytes).contains(text)
        })
    }

    fn all(&self, deadline: Instant) -> String {
        self.wait(deadline, |state| state.ended);
        let state = self.state.lock().expect("no panic under this lock");
        String::from_utf8_lossy(&state.bytes).into_owned()
    }
}
