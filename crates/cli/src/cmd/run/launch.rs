//! Adds the agent to a command, and runs the command.

use anyhow::{anyhow, bail};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};

/// Variable that every JVM reads.
pub(super) const TOOL_OPTIONS: &str = "JAVA_TOOL_OPTIONS";

/// Returns true if the program is a java launcher, which accepts the agent as an argument.
///
/// The program, or the target of its symbolic link, must have a launcher's name. A wrapper script
/// with this name (jenv, asdf) passes its arguments to a launcher.
pub(super) fn is_java(program: &OsStr) -> bool {
    is_launcher_name(program)
        || found(program)
            .and_then(|path| path.canonicalize().ok())
            .is_some_and(|path| is_launcher_name(path.as_os_str()))
}

/// Returns true if the program is a script, which may start the JVM as another process.
pub(super) fn is_script(program: &OsStr) -> bool {
    let begins_so = |path: PathBuf| {
        let mut begin = [0; 2];
        let read = File::open(path).and_then(|mut file| file.read_exact(&mut begin));
        read.is_ok() && begin == *b"#!"
    };
    found(program).is_some_and(begins_so)
}

fn is_launcher_name(program: &OsStr) -> bool {
    let name = Path::new(program).file_name().and_then(OsStr::to_str);
    let name = name.unwrap_or_default();
    let stem = match name.len().checked_sub(".exe".len()) {
        Some(at) if name.is_char_boundary(at) && name[at..].eq_ignore_ascii_case(".exe") => {
            &name[..at]
        }
        _ => name,
    };
    matches!(stem, "java" | "javaw")
}

/// Returns the file of a program. A name without a folder is searched in `PATH`.
fn found(program: &OsStr) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.components().nth(1).is_some() || path.has_root() {
        return path.is_file().then(|| path.to_owned());
    }
    let folders = env::var_os("PATH")?;
    env::split_paths(&folders)
        .map(|folder| folder.join(path))
        .find(|file| file.is_file())
}

/// Returns the JVM option `-agentpath:PATH=OPTIONS`.
pub(super) fn agent_path(agent: &Path, options: &str) -> anyhow::Result<String> {
    let path = agent
        .to_str()
        .ok_or_else(|| anyhow!("the agent's path is not UTF-8"))?;
    if path.contains('=') {
        bail!("the JVM can't load an agent whose path has a \"=\" in it: {path}");
    }
    Ok(format!("-agentpath:{path}={options}"))
}

/// Returns the command with the agent added.
pub(super) fn command(
    program: &OsStr,
    arguments: &[OsString],
    agent_path: &str,
    direct: bool,
) -> anyhow::Result<Command> {
    let mut command = Command::new(program);
    if direct {
        command.arg(agent_path).args(arguments);
        return Ok(command);
    }
    let mut value = match env::var(TOOL_OPTIONS) {
        Ok(before) if !before.trim().is_empty() => before + " ",
        Ok(_) | Err(env::VarError::NotPresent) => String::new(),
        Err(env::VarError::NotUnicode(_)) => bail!("{TOOL_OPTIONS} is not UTF-8"),
    };
    value.push_str(&quoted(agent_path));
    command.args(arguments).env(TOOL_OPTIONS, value);
    Ok(command)
}

/// Quotes a word for a variable that the JVM reads.
///
/// The JVM splits the variable at blanks. `"…"` may hold blanks and `'`; `'…'` may hold blanks and
/// `"`. There are no escapes.
fn quoted(word: &str) -> String {
    if !word.contains([' ', '\t', '\n', '\r', '\'', '"']) {
        return word.to_owned();
    }
    let pieces = word.split('\'').map(|piece| match piece {
        "" => String::new(),
        _ => format!("'{piece}'"),
    });
    pieces.collect::<Vec<_>>().join("\"'\"")
}

/// Exit of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ended {
    pub(super) pid: u32,
    /// Exit code, or 128 plus the number of the fatal signal.
    pub(super) code: u8,
}

/// Runs the command until it exits. Termination signals to this program are passed to the command.
pub(super) fn run(command: &mut Command) -> io::Result<Ended> {
    // Signals are caught before the start. Otherwise a signal could end only this program.
    let signals = signals::Caught::new()?;
    let mut child = command.spawn()?;
    let pid = child.id();
    let status = signals.pass_on_while(&mut child, Child::wait)?;
    Ok(Ended {
        pid,
        code: code(status),
    })
}

fn code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return u8::try_from(128 + signal).unwrap_or(u8::MAX);
    }
    // On other systems, exit codes may be larger than a byte. As in a Unix shell, the low byte is
    // used.
    status.code().map_or(u8::MAX, |code| (code & 0xff) as u8)
}

#[cfg(unix)]
mod signals {
    use rustix::process::{Pid, Signal, kill_process};
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    use signal_hook::iterator::Signals;
    use std::io;
    use std::process::Child;
    use std::thread;

    /// Caught signals, which are passed to the program.
    ///
    /// On Ctrl-C, the program gets SIGINT twice: from the terminal and from here. This is harmless
    /// for a JVM. SIGQUIT from the terminal only prints the thread dump twice.
    pub(super) struct Caught(Signals);

    impl Caught {
        pub(super) fn new() -> io::Result<Self> {
            Signals::new([SIGINT, SIGTERM, SIGHUP, SIGQUIT]).map(Self)
        }

        pub(super) fn pass_on_while<T>(
            mut self,
            child: &mut Child,
            wait: impl FnOnce(&mut Child) -> io::Result<T>,
        ) -> io::Result<T> {
            let pid = Pid::from_child(child);
            let handle = self.0.handle();
            let passer = thread::Builder::new()
                .name("signals".to_owned())
                .spawn(move || {
                    for signal in self.0.forever() {
                        if let Some(signal) = named(signal) {
                            // This fails only if the program has just exited.
                            let _ = kill_process(pid, signal);
                        }
                    }
                })?;
            let result = wait(child);
            handle.close();
            // The thread never panics.
            let _ = passer.join();
            result
        }
    }

    fn named(signal: i32) -> Option<Signal> {
        Some(match signal {
            SIGINT => Signal::INT,
            SIGTERM => Signal::TERM,
            SIGHUP => Signal::HUP,
            SIGQUIT => Signal::QUIT,
            _ => return None,
        })
    }
}

#[cfg(not(unix))]
mod signals {
    use std::io;
    use std::process::Child;

    /// Stand-in without function: the console notifies all its programs itself.
    pub(super) struct Caught;

    impl Caught {
        pub(super) fn new() -> io::Result<Self> {
            Ok(Self)
        }

        pub(super) fn pass_on_while<T>(
            self,
            child: &mut Child,
            wait: impl FnOnce(&mut Child) -> io::Result<T>,
        ) -> io::Result<T> {
            wait(child)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn java_is_known_by_its_name() {
        for (program, expected) in [
            ("java", true),
            ("/opt/jdk/bin/java", true),
            ("java.exe", true),
            ("javac", false),
            ("mvn", false),
            ("./java.d/run", false),
            ("javaw", true),
            ("C:/jdk/bin/javaw.EXE", true),
            ("java.sh", false),
            ("./java.bin", false),
            ("java.exe.sh", false),
            (".exe", false),
            ("ja\u{301}va", false),
        ] {
            assert_eq!(is_java(OsStr::new(program)), expected, "{program}");
        }
    }

    /// A link to `java`, and a script named `java` that passes its arguments to `java`.
    #[cfg(unix)]
    #[test]
    fn links_and_wrappers_of_java_are_java() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("bin")).expect("made");
        for (name, begin) in [
            ("bin/java", "\x7fELF"),
            ("java", "#!/bin/sh\n"),
            ("java.sh", "#!"),
        ] {
            fs::write(at(name), begin).expect("written");
        }
        for (to, name) in [("bin/java", "java17"), ("java.sh", "start")] {
            std::os::unix::fs::symlink(at(to), at(name)).expect("made");
        }
        for (name, java, script) in [
            ("bin/java", true, false),
            ("java17", true, false),
            ("java", true, true),
            ("java.sh", false, true),
            ("start", false, true),
            ("none", false, false),
        ] {
            let program = at(name);
            let program = program.as_os_str();
            assert_eq!(
                (is_java(program), is_script(program)),
                (java, script),
                "{name}"
            );
        }
        assert!(is_java(OsStr::new("java")) && !is_script(OsStr::new("sh")));
    }

    #[test]
    fn words_are_quoted_for_the_jvm() {
        for (word, expected) in [
            ("-a=b", "-a=b"),
            ("a b", "'a b'"),
            ("a\"b", "'a\"b'"),
            ("it's a", "'it'\"'\"'s a'"),
            ("'", "\"'\""),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }

    #[test]
    fn the_agent_option_goes_after_java_or_into_the_variable() {
        let arguments = [OsString::from("-cp"), OsString::from("x")];
        let direct =
            command(OsStr::new("java"), &arguments, "-agentpath:A=B", true).expect("right");
        assert_eq!(
            direct.get_args().collect::<Vec<_>>(),
            ["-agentpath:A=B", "-cp", "x"]
        );
        let other = command(OsStr::new("mvn"), &arguments, "-agentpath:A=B", false).expect("right");
        assert_eq!(other.get_args().collect::<Vec<_>>(), ["-cp", "x"]);
        let value = other
            .get_envs()
            .find(|(key, _)| *key == TOOL_OPTIONS)
            .and_then(|(_, v)| v);
        let value = value.and_then(OsStr::to_str).expect("set");
        assert!(value.ends_with("-agentpath:A=B"), "{value}");
    }

    #[test]
    fn an_agent_path_with_an_equals_sign_is_refused() {
        assert!(agent_path(Path::new("/a=b/libjtrail.so"), "").is_err());
        let path = agent_path(Path::new("/a/libjtrail.so"), "format=xml").expect("right");
        assert_eq!(path, "-agentpath:/a/libjtrail.so=format=xml");
    }

    #[cfg(unix)]
    #[test]
    fn exit_codes_and_signals_come_through() {
        for (script, expected) in [
            ("exit 0", 0),
            ("exit 42", 42),
            ("kill -9 $$", 137),
            ("kill -TERM $$", 143),
        ] {
            let ended = run(Command::new("sh").args(["-c", script])).expect("sh starts");
            assert_eq!(ended.code, expected, "{script}");
        }
        assert!(run(&mut Command::new("/no/such/program")).is_err());
    }
}
