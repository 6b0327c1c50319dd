//! Loads the agent into a running JVM, or requests data from it, with HotSpot's attach protocol.
//!
//! HotSpot listens on the socket `.java_pidPID` in the temporary folder, but only after a tool has
//! asked for it. To ask, the tool creates a file `.attach_pidPID` in the process's current folder
//! or in the temporary folder, and then sends the signal QUIT. Without the file, the JVM prints a
//! thread dump on QUIT, and a process that is no JVM would be killed. So the file is created first,
//! and only processes that look like a JVM receive the signal.
//!
//! Each connection takes one command. A command consists of five strings: the protocol's version,
//! the command's name, and three arguments. Each string ends with a 0 byte. The answer is a line
//! with a number (0 for success), followed by text.
//!
//! In a container, the process may have other folders and another process id than this program
//! sees. `/proc/PID/root` and `NSpid` translate between the two views.

use crate::process::Process;
use anyhow::{Context, bail};
use jtrail_control::{FoundAgent, find_agents, peer_pid};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// Maximum time until a JVM opens its socket, which happens at the JVM's next safepoint.
const ATTACH_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum bytes of an answer.
const MAX_ANSWER: u64 = 1 << 20;
/// Maximum bytes of an argument that HotSpot reads.
const MAX_ARGUMENT: usize = 1024;

/// A running JVM.
pub(crate) struct Jvm {
    pub(crate) process: Process,
}

impl Jvm {
    /// Returns the JVM with a process id.
    ///
    /// # Errors
    /// If the process does not exist, can't be inspected, or is no JVM.
    pub(crate) fn find(pid: u32) -> anyhow::Result<Self> {
        let process = Process::find(pid)?;
        let maps = fs::read_to_string(format!("/proc/{pid}/maps"))
            .with_context(|| format!("can't look at process {pid}; is it another user's?"))?;
        if !has_jvm(&maps) {
            bail!("process {pid} is no JVM");
        }
        Ok(Self { process })
    }

    /// Returns this program's path of the process's `/tmp`.
    fn temp(&self) -> PathBuf {
        self.process.within("/tmp")
    }

    fn socket(&self) -> PathBuf {
        self.temp()
            .join(format!(".java_pid{}", self.process.own_pid))
    }

    /// Makes the JVM load a library and call `Agent_OnAttach`, and returns the new agent.
    ///
    /// A positive answer of the JVM is not enough: the new agent must also be found in the process.
    ///
    /// # Errors
    /// If the JVM can't be reached, or if the library or `Agent_OnAttach` fails.
    pub(crate) fn load(&self, library: &Path, options: &str) -> anyhow::Result<FoundAgent> {
        let pid = self.process.pid;
        let text = library.to_str().context("the agent's path is not UTF-8")?;
        for argument in [text, options] {
            if argument.len() > MAX_ARGUMENT {
                bail!(
                    "the JVM takes no more than {MAX_ARGUMENT} bytes of options this way; long filters can be in a file, with filters=FILE"
                );
            }
            if argument.contains('\0') {
                bail!("the options have a character 0 in them");
            }
        }
        let before = find_agents(pid)?;
        let answer = self.ask("load", [text, "true", options])?;
        check_answer(&answer).with_context(|| format!("JVM {pid} refused the agent"))?;
        let is_new = |found: &FoundAgent| before.iter().all(|old| old.identity != found.identity);
        find_agents(pid)?.into_iter().find(is_new).with_context(|| {
            format!(
                "JVM {pid} says that it has loaded {text}, but has no new jtrail agent; is that jtrail's library?"
            )
        })
    }

    /// Makes the JVM request data from its agents (JVMTI's `DataDumpRequest`).
    ///
    /// # Errors
    /// If the JVM can't be reached, or does not carry out the request.
    pub(crate) fn request_data(&self) -> anyhow::Result<()> {
        let answer = self.ask("jcmd", ["JVMTI.data_dump", "", ""])?;
        match answer.lines().next() {
            Some("0") => Ok(()),
            _ => bail!("JVM {} did not do it: {}", self.process.pid, answer.trim()),
        }
    }

    /// Sends a command and returns the JVM's answer.
    fn ask(&self, command: &str, arguments: [&str; 3]) -> anyhow::Result<String> {
        let mut stream = self.connect()?;
        let [first, second, third] = arguments;
        let command = ["1", command, first, second, third].join("\0") + "\0";
        stream.write_all(command.as_bytes())?;
        let mut answer = Vec::new();
        stream.take(MAX_ANSWER).read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// Returns a connection for one command.
    fn connect(&self) -> anyhow::Result<UnixStream> {
        let socket = self.socket();
        match self.connect_to(&socket)? {
            Some(stream) => Ok(stream),
            None => self.make_it_listen(&socket),
        }
    }

    /// Connects to the socket if this JVM owns it.
    ///
    /// Returns `None` if no process or another JVM listens on the socket. Containers may share the
    /// folder, and then several JVMs may have the same process id.
    fn connect_to(&self, socket: &Path) -> anyhow::Result<Option<UnixStream>> {
        if !is_socket(socket) {
            return Ok(None);
        }
        let stream = match UnixStream::connect(socket) {
            Err(error) if is_stale(&error) => return Ok(None),
            connected => connected.with_context(|| {
                let pid = self.process.pid;
                format!("JVM {pid} does not answer at {}", socket.display())
            })?,
        };
        let peer = peer_pid(&stream)?;
        Ok(peer
            .is_none_or(|peer| peer == self.process.pid)
            .then_some(stream))
    }

    fn make_it_listen(&self, socket: &Path) -> anyhow::Result<UnixStream> {
        let pid = self.process.pid;
        if is_socket(socket) && self.listens() {
            // The JVM listens already, so QUIT would make it print a thread dump.
            bail!(
                "JVM {pid} can't be reached: {} is not its own any more; another JVM with the process id {} of its own shares that folder",
                socket.display(),
                self.process.own_pid
            );
        }
        let request = Request::make(self)?;
        let Some(number) = i32::try_from(pid).ok().and_then(Pid::from_raw) else {
            bail!("no process {pid}");
        };
        let begin = Instant::now();
        let mut pause = Duration::from_millis(5);
        kill_process(number, Signal::QUIT)
            .with_context(|| format!("process {pid} can't be signalled"))?;
        loop {
            if let Some(stream) = self.connect_to(socket)? {
                drop(request);
                return Ok(stream);
            }
            if begin.elapsed() > ATTACH_TIMEOUT {
                bail!(
                    "JVM {pid} does not answer within {} s, at {}; was it started with -XX:+DisableAttachMechanism, or is it stopped?",
                    ATTACH_TIMEOUT.as_secs(),
                    socket.display()
                );
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(200));
        }
    }

    /// Returns true if the JVM runs the thread that listens on its socket.
    fn listens(&self) -> bool {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.process.pid));
        let mut names = tasks
            .into_iter()
            .flatten()
            .flatten()
            .filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
        names.any(|name| name.trim() == "Attach Listener")
    }
}

/// Returns true if the error means that no process listens on the socket.
fn is_stale(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound
    )
}

/// The file that makes a JVM listen when it receives QUIT. It is deleted on drop.
struct Request(PathBuf);

impl Request {
    fn make(jvm: &Jvm) -> anyhow::Result<Self> {
        let name = format!(".attach_pid{}", jvm.process.own_pid);
        let places = [
            PathBuf::from(format!("/proc/{}/cwd", jvm.process.pid)).join(&name),
            jvm.temp().join(&name),
        ];
        let mut last = None;
        for path in places {
            let made = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path);
            match made {
                Ok(file) if owner(&file)? == jvm.process.user => return Ok(Self(path)),
                // The JVM accepts the file only if its own user owns it. It refuses even root's.
                Ok(_) => {
                    let request = Self(path);
                    if std::os::unix::fs::chown(&request.0, Some(jvm.process.user), None).is_ok() {
                        return Ok(request);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    return Ok(Self(path)); // left by a killed tool, or in use by another tool
                }
                Err(error) => last = Some(error),
            }
        }
        match last {
            Some(error) => Err(error).context("can't ask the JVM to listen"),
            None => bail!("JVM {} belongs to another user", jvm.process.pid),
        }
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

fn owner(file: &File) -> io::Result<u32> {
    Ok(file.metadata()?.uid())
}

fn is_socket(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|data| data.file_type().is_socket())
}

/// Returns true if HotSpot's library is mapped into the process, even if an upgrade has replaced
/// the file since.
fn has_jvm(maps: &str) -> bool {
    let is_library = |line: &str| {
        let line = line.strip_suffix(" (deleted)").unwrap_or(line);
        line.ends_with("/libjvm.so")
    };
    maps.lines().any(is_library)
}

/// Checks the JVM's answer to the command `load`.
///
/// The first line is 0 if the JVM understood the command. The next line is `return code: N`; N is 0
/// if the agent was loaded. If the library could not be loaded, there is no return code: JVMs from
/// 21 on answer 0, `was not loaded` and the reason, and earlier JVMs only the reason, or nothing.
///
/// # Errors
/// If the agent was not loaded.
fn check_answer(answer: &str) -> anyhow::Result<()> {
    let (first, rest) = answer.split_once('\n').unwrap_or((answer, ""));
    let rest = rest.trim();
    match (first.trim(), rest.strip_prefix("return code: ")) {
        ("0", Some("0")) => Ok(()),
        (_, Some("-1")) => bail!("the reason is on the program's standard error"),
        _ if rest.contains("Agent_OnAttach is not available") => {
            bail!("the library can't be attached to a running JVM: {rest}")
        }
        ("", _) => bail!("it closed the connection"),
        (code, None) if code == "0" || rest.contains("was not loaded") => {
            let reason = rest.split_whitespace().collect::<Vec<_>>().join(" ");
            Err(NotLoaded(reason).into())
        }
        (code, _) => bail!("it answered {code} {rest}"),
    }
}

/// Error of a JVM that could not load the library.
#[derive(Debug, thiserror::Error)]
#[error(
    "it can't load the library: {0}; the library must be for the JVM's processor and C library (glibc, or musl on Alpine), \
     and where its user can read and execute it: name such a one with --agent"
)]
pub(crate) struct NotLoaded(String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jvm_stays_one_when_it_is_upgraded() {
        let line = "7f0-7f1 r-xp 00000000 fe:00 1 /usr/lib/jvm/17/lib/server/libjvm.so";
        assert!(has_jvm(line));
        assert!(has_jvm(&format!(
            "{line} (deleted)\n7f2-7f3 rw-p 0 00:00 0\n"
        )));
        assert!(!has_jvm(&format!("{line}.bak")));
        assert!(!has_jvm(
            "7f0-7f1 r-xp 0 0 1 /usr/lib/libjvm.so (deleted) too"
        ));
    }

    #[test]
    fn answers() {
        for good in ["0\nreturn code: 0\n", "0\nreturn code: 0"] {
            check_answer(good).expect(good);
        }
        for (bad, expected) in [
            (
                "0\nreturn code: -1\n",
                "the reason is on the program's standard error",
            ),
            (
                "101\nProtocol mismatch\n",
                "it answered 101 Protocol mismatch",
            ),
            ("", "it closed the connection"),
            (
                "0\n/a/libx.so was not loaded.\n/a/libx.so: cannot open shared object file: No such file or directory\n",
                "it can't load the library: /a/libx.so was not loaded. /a/libx.so: cannot open shared object file",
            ),
            ("0\n", "it can't load the library"),
            (
                "0\nAgent_OnAttach is not available in /a/libx.so\n",
                "the library can't be attached to a running JVM: Agent_OnAttach",
            ),
            (
                "-1\n/a/libx.so was not loaded.\n",
                "it can't load the library: /a/libx.so was",
            ),
        ] {
            let error = check_answer(bad).expect_err(bad).to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn what_is_no_jvm_is_left_alone() {
        let own = std::process::id();
        for (pid, expected) in [
            (own, format!("process {own} is no JVM")),
            (u32::MAX, format!("no process {}", u32::MAX)),
        ] {
            let error = Jvm::find(pid).map(|_| ()).expect_err("no JVM").to_string();
            assert_eq!(error, expected);
        }
    }
}
