//! Loads the agent into a JVM that runs, or asks for what it has, the way the JVM's own tools do.
//!
//! HotSpot listens on a socket `.java_pidPID` in the temporary folder once somebody has asked for it: with a file `.attach_pidPID` in the
//! process's current folder or in the temporary one, and the signal QUIT. (Without the file, QUIT prints a thread dump; so the file
//! is made first, and nothing is signalled that does not look like a JVM.) Then a connection takes one command, strings that each end with 0:
//! the protocol's version, the command, and three arguments; and answers with a line that has a number, 0 if all went well, and text.
//!
//! The process may see other folders and have another number than ours (containers): `/proc/PID/root` and `NSpid` tell.

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// How long a JVM may take to open its socket. It does so at its next safepoint.
const PATIENCE: Duration = Duration::from_secs(10);
/// Most bytes of an answer.
const LONGEST_ANSWER: u64 = 1 << 20;
/// Most bytes of an argument that HotSpot reads.
const LONGEST_ARGUMENT: usize = 1024;

/// A running JVM.
pub(crate) struct Jvm {
    pid: u32,
    /// Its own number for itself.
    own_pid: u32,
    user: u32,
}

impl Jvm {
    /// The JVM of that process id.
    ///
    /// # Errors
    /// When there is no such process, or it is no JVM.
    pub(crate) fn find(pid: u32) -> anyhow::Result<Self> {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let status = match fs::read_to_string(folder.join("status")) {
            Ok(status) => status,
            Err(error) if error.kind() == io::ErrorKind::NotFound => bail!("no process {pid}"),
            Err(error) => {
                return Err(error).with_context(|| format!("can't look at process {pid}"));
            }
        };
        let maps = fs::read_to_string(folder.join("maps"))
            .with_context(|| format!("can't look at process {pid}; is it another user's?"))?;
        if !maps.lines().any(|line| line.ends_with("/libjvm.so")) {
            bail!("process {pid} is no JVM");
        }
        Ok(Self {
            pid,
            own_pid: own_pid(&status).unwrap_or(pid),
            user: fs::metadata(&folder)?.uid(),
        })
    }

    /// The folder that the process calls `/tmp`.
    fn temp(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root/tmp", self.pid))
    }

    fn socket(&self) -> PathBuf {
        self.temp().join(format!(".java_pid{}", self.own_pid))
    }

    /// Has the JVM load a library and call its `Agent_OnAttach`.
    ///
    /// # Errors
    /// When the JVM can't be reached, or the library or its function fails.
    pub(crate) fn load(&self, library: &Path, options: &str) -> anyhow::Result<()> {
        let library = library.to_str().context("the agent's path is not UTF-8")?;
        for argument in [library, options] {
            if argument.len() > LONGEST_ARGUMENT {
                bail!(
                    "the JVM takes no more than {LONGEST_ARGUMENT} bytes of options this way; long filters can be in a file, with filters=FILE"
                );
            }
            if argument.contains('\0') {
                bail!("the options have a character 0 in them");
            }
        }
        let answer = self.ask("load", [library, "true", options])?;
        check_answer(&answer).with_context(|| format!("JVM {} did not take the agent", self.pid))
    }

    /// Has the JVM ask its agents for their data (JVMTI's `DataDumpRequest`).
    ///
    /// # Errors
    /// When the JVM can't be reached, or does not do it.
    pub(crate) fn request_data(&self) -> anyhow::Result<()> {
        let answer = self.ask("jcmd", ["JVMTI.data_dump", "", ""])?;
        match answer.lines().next() {
            Some("0") => Ok(()),
            _ => bail!("JVM {} did not do it: {}", self.pid, answer.trim()),
        }
    }

    /// The answer to a command.
    fn ask(&self, command: &str, arguments: [&str; 3]) -> anyhow::Result<String> {
        let mut stream = self.connect()?;
        let [first, second, third] = arguments;
        let command = ["1", command, first, second, third].join("\0") + "\0";
        stream.write_all(command.as_bytes())?;
        let mut answer = Vec::new();
        stream.take(LONGEST_ANSWER).read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    }

    /// A connection, for one command.
    fn connect(&self) -> anyhow::Result<UnixStream> {
        let socket = self.socket();
        if !is_socket(&socket) {
            self.have_it_listen(&socket)?;
        }
        UnixStream::connect(&socket).with_context(|| format!("JVM {} does not answer", self.pid))
    }

    fn have_it_listen(&self, socket: &Path) -> anyhow::Result<()> {
        let request = Request::make(self)?;
        let Some(pid) = i32::try_from(self.pid).ok().and_then(Pid::from_raw) else {
            bail!("no process {}", self.pid);
        };
        let begin = Instant::now();
        let mut pause = Duration::from_millis(5);
        kill_process(pid, Signal::QUIT)
            .with_context(|| format!("process {} can't be signalled", self.pid))?;
        while !is_socket(socket) {
            if begin.elapsed() > PATIENCE {
                bail!(
                    "JVM {} does not answer within {} s; was it started with -XX:+DisableAttachMechanism, or is it stopped?",
                    self.pid,
                    PATIENCE.as_secs()
                );
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(200));
        }
        drop(request);
        Ok(())
    }
}

/// The file that makes a JVM listen when it is signalled; gone when it is dropped.
struct Request(PathBuf);

impl Request {
    fn make(jvm: &Jvm) -> anyhow::Result<Self> {
        let name = format!(".attach_pid{}", jvm.own_pid);
        let places = [
            PathBuf::from(format!("/proc/{}/cwd", jvm.pid)).join(&name),
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
                Ok(file) if owner(&file)? == jvm.user => return Ok(Self(path)),
                // The JVM takes no file of somebody else's; so not even root's.
                Ok(_) => {
                    let request = Self(path);
                    if std::os::unix::fs::chown(&request.0, Some(jvm.user), None).is_ok() {
                        return Ok(request);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    return Ok(Self(path)); // left by a tool that was killed, or in use by another one
                }
                Err(error) => last = Some(error),
            }
        }
        match last {
            Some(error) => Err(error).context("can't ask the JVM to listen"),
            None => bail!("JVM {} belongs to another user", jvm.pid),
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

/// The process's number where it lives, from `/proc/PID/status`.
fn own_pid(status: &str) -> Option<u32> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("NSpid:"))?;
    line.split_whitespace().next_back()?.parse().ok()
}

/// What the JVM answers: a line with 0 if it understood the command, and then `return code: N`, 0 if the agent was loaded. Before
/// 9, there is no second number.
fn check_answer(answer: &str) -> anyhow::Result<()> {
    let (first, rest) = answer.split_once('\n').unwrap_or((answer, ""));
    let rest = rest.trim();
    match (first.trim(), rest.strip_prefix("return code: ")) {
        ("0", None | Some("0")) if !rest.contains("Exception") => Ok(()),
        (_, Some("-1")) => bail!("the reason is on the program's standard error"),
        ("", _) => bail!("it closed the connection"),
        (code, _) => bail!("it answered {code} {rest}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_in_the_innermost_container_counts() {
        assert_eq!(own_pid("Name:\tjava\nNSpid:\t4711\t12\t7\n"), Some(7));
        assert_eq!(own_pid("NSpid:\t4711\n"), Some(4711));
        assert_eq!(own_pid("Name:\tjava\n"), None);
    }

    #[test]
    fn answers() {
        for good in ["0\nreturn code: 0\n", "0\n", "0"] {
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
                "0\nlibx.so: cannot open shared object file Exception",
                "it answered 0",
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
