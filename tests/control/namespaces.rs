//! Clients and agents that are separated: the JVM has other namespaces, another environment,
//! another user, or a library that an upgrade has replaced. They find each other all the same, and
//! what can't work is reported.

use crate::support::cli::outcome;
use crate::support::programs::copy_classes;
use crate::support::{Trace, agent, at_once, few_versions, harness, program};
use jtrail_control::{Client, Command as Ask, find_agents};
use jtrail_testkit::{Jdk, Output, Run, Running, STRANGER, give_to_other_user, is_ci, temp_dir};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

const MAIN: &str = "harness.Cycles";
const STEP: &str = "harness.Cycles.step(I)J";
/// Locked while a JVM runs that may have the process id of another JVM. The sockets of HotSpot are
/// in one folder for both JVMs, and have the process id in their names.
static SHARED_TMP: Mutex<()> = Mutex::new(());
const PATIENCE: Duration = Duration::from_secs(60);

/// Makes the JVM visible at a path that is not hidden by the other mounts.
const KEEP_JVM: &str =
    "mount -t tmpfs none /mnt && mkdir /mnt/jdk && mount --bind \"$JDK\" /mnt/jdk && ";
/// Keeps the build folder visible, even if it is below `/tmp`.
const PRIVATE_TMP: &str = "mkdir /mnt/built && mount --bind \"$BUILT\" /mnt/built && mount -t tmpfs none /tmp && \
    mkdir -p \"$BUILT\" && mount --move /mnt/built \"$BUILT\" && ";
const NO_LIBRARY: &str = "mount -t tmpfs none \"$LIBRARY\" && ";
const GO: &str = "cd / && exec \"$0\" \"$@\"";

/// What separates the JVM from the client.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Apart {
    PidNamespace,
    PrivateTmp,
    TempDir,
    RuntimeDir,
    All,
    Upgraded,
    OtherUser,
}

impl Apart {
    const ALL: [Self; 7] = [
        Self::PidNamespace,
        Self::PrivateTmp,
        Self::TempDir,
        Self::RuntimeDir,
        Self::All,
        Self::Upgraded,
        Self::OtherUser,
    ];

    fn has_own_pid(self) -> bool {
        matches!(self, Self::PidNamespace | Self::All)
    }

    fn has_own_tmp(self) -> bool {
        matches!(self, Self::PrivateTmp | Self::All)
    }
}

/// Returns true if namespaces can be created. If not, fails the test under CI (`CI=true`), and
/// prints a message elsewhere.
fn can_unshare() -> bool {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--pid", "--fork", "--mount-proc", "true"]);
    let can = command.status().is_ok_and(|status| status.success());
    if !can {
        assert!(!is_ci(), "unshare is not permitted");
        eprintln!("SKIPPED: unshare is not permitted");
    }
    can
}

/// A program in a JVM that is separated from the client.
struct SeparatedJvm {
    folder: tempfile::TempDir,
    running: Running,
    pid: u32,
    apart: Apart,
}

impl SeparatedJvm {
    fn new(jdk: &Jdk, apart: Apart) -> Option<Self> {
        let folder = temp_dir();
        let path = |name: &str| folder.path().join(name);
        for name in ["tmp", "run"] {
            fs::create_dir(path(name)).expect("ours");
            fs::set_permissions(path(name), PermissionsExt::from_mode(0o700)).expect("ours");
        }
        let mut run = match apart {
            Apart::PidNamespace | Apart::PrivateTmp | Apart::All => {
                if !can_unshare() {
                    return None;
                }
                unshared(jdk, apart)
            }
            Apart::Upgraded => Run::native(copy_of(jdk, folder.path()), MAIN),
            _ => Run::new(jdk, MAIN),
        };
        run = run.class_path(harness().class_path(jdk));
        if matches!(apart, Apart::TempDir | Apart::All) {
            run = run.env("TMPDIR", path("tmp"));
        }
        if matches!(apart, Apart::RuntimeDir | Apart::All) {
            run = run.env("XDG_RUNTIME_DIR", path("run"));
        }
        if apart == Apart::OtherUser {
            copy_classes(jdk, &path("classes"));
            give_to_other_user(folder.path())?;
            run = Run::new(jdk, MAIN)
                .class_path(path("classes"))
                .user(STRANGER);
            run = run.dir(folder.path());
        }
        let mut running = match run.spawn() {
            Ok(running) => running,
            Err(error) => {
                eprintln!("SKIPPED: JDK {} {apart:?}: {error}", jdk.feature);
                return None;
            }
        };
        running.wait_ready();
        if apart == Apart::Upgraded {
            fs::remove_file(path("jdk/lib/server/libjvm.so")).expect("a copy");
        }
        let pid = match apart.has_own_pid() {
            true => java_below(running.pid()),
            false => running.pid(),
        };
        Some(Self {
            folder,
            running,
            pid,
            apart,
        })
    }

    fn text(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Returns the path by which the test sees a path of the JVM.
    fn within(&self, path: &str) -> PathBuf {
        PathBuf::from(format!("/proc/{}/root{path}", self.pid))
    }

    /// Runs `jtrail SUBCOMMAND PID …`.
    fn jtrail(&self, subcommand: &str, args: &[&str]) -> Result<String, String> {
        let pid = self.pid.to_string();
        let args: Vec<&str> = [subcommand, &pid].iter().chain(args).copied().collect();
        outcome(&args)
    }

    /// Waits until the agent has detached, and checks that nothing of it is left.
    fn assert_nothing_left(&self) {
        let begin = Instant::now();
        while !own_threads(self.pid).is_empty() {
            assert!(begin.elapsed() < PATIENCE, "{:?}: it stays", self.apart);
            sleep(Duration::from_millis(5));
        }
        assert_eq!(
            find_agents(self.pid).expect("it runs"),
            [],
            "{:?}",
            self.apart
        );
        let mut places = vec![
            self.folder.path().join("tmp"),
            self.folder.path().join("run"),
        ];
        if self.apart.has_own_tmp() {
            places.push(self.within("/tmp"));
        }
        let left: Vec<PathBuf> = places
            .iter()
            .flat_map(|place| files(place).into_iter().map(move |file| (place, file)))
            .filter(|(place, file)| {
                // The folder's own path may contain the agent's name.
                let file = file.strip_prefix(place).expect("within");
                file.display().to_string().contains("jtrail")
            })
            .map(|(_, file)| file)
            .collect();
        assert!(left.is_empty(), "{:?}: {left:?}", self.apart);
        let maps = fs::read_to_string(format!("/proc/{}/maps", self.pid)).expect("it runs");
        let libraries = maps.lines().filter(|line| line.contains("libjtrail"));
        let mut libraries: Vec<&str> = libraries
            .filter_map(|line| line.split_whitespace().nth(4))
            .collect();
        libraries.dedup();
        assert!(libraries.len() <= 1, "loaded twice: {maps}");
    }

    fn end(self) -> Output {
        let output = self.running.wait().expect("it ends");
        output.assert_exit(0);
        output
    }
}

/// Returns all files below a folder, without folders.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .flat_map(
            |entry| match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                true => files(&entry.path()),
                false => vec![entry.path()],
            },
        )
        .collect()
}

/// Returns the names of the agent's threads in the process.
fn own_threads(pid: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("it runs");
    let names = tasks
        .flatten()
        .filter_map(|task| fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with("jtrail")).collect()
}

/// Prepares a run of a JVM in other namespaces.
fn unshared(jdk: &Jdk, apart: Apart) -> Run {
    let mut script = String::new();
    let mut java = jdk.java.clone();
    if apart.has_own_tmp() {
        script = [KEEP_JVM, PRIVATE_TMP].concat();
        java = PathBuf::from("/mnt/jdk/bin/java");
    }
    if apart == Apart::All {
        script += NO_LIBRARY;
    }
    let flags: &[&str] = match apart.has_own_pid() {
        true => &["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"],
        false => &["--mount"],
    };
    let library = agent();
    let args = flags.iter().copied().chain(["sh", "-c"]);
    args.fold(Run::native("unshare", MAIN), Run::jvm_arg)
        .jvm_arg(script + GO)
        .jvm_arg(java)
        .env("JDK", &jdk.home)
        .env("LIBRARY", library.parent().expect("a folder"))
        .env("BUILT", library.ancestors().nth(2).expect("a folder"))
}

/// Returns the process id of the JVM that `unshare` has started.
fn java_below(pid: u32) -> u32 {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).expect("it runs");
    let is_java = |pid: &&str| {
        fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "java")
    };
    let java = children.split_whitespace().find(is_java);
    java.and_then(|pid| pid.parse().ok()).expect("it is ready")
}

/// Copies a JVM that can then be upgraded: everything is a link to the original, except the
/// launcher and the libraries that it loads. Returns the launcher.
fn copy_of(jdk: &Jdk, folder: &Path) -> PathBuf {
    let copy = folder.join("jdk");
    let done = Command::new("cp")
        .arg("-as")
        .arg(&jdk.home)
        .arg(&copy)
        .status();
    assert!(done.expect("it runs").success());
    for file in [
        "bin/java",
        "lib/libjli.so",
        "lib/jli/libjli.so",
        "lib/server/libjvm.so",
    ] {
        let (from, to) = (jdk.home.join(file), copy.join(file));
        if from.exists() {
            fs::remove_file(&to).expect("a link");
            fs::copy(from, to).expect("ours");
        }
    }
    copy.join("bin/java")
}

/// Checks that a trace is sound, and that it has the program's work.
fn assert_recorded(file: &str, apart: Apart) {
    let trace = Trace::read(Path::new(file)).unwrap_or_else(|e| panic!("{apart:?}: {file}: {e}"));
    assert_eq!(trace.faults, [""; 0], "{apart:?}");
    assert!(trace.calls.get(STEP).is_some_and(|n| *n > 0), "{apart:?}");
}

/// `record` and `attach` find the JVM, and `ctl` the agent, whatever separates them. The trace is
/// at the path that was given, and nothing is left in the JVM.
#[test]
fn they_meet() {
    at_once(|jdk| {
        for apart in Apart::ALL {
            let one = (apart == Apart::PidNamespace)
                .then(|| SHARED_TMP.lock().unwrap_or_else(PoisonError::into_inner));
            let Some(there) = SeparatedJvm::new(jdk, apart) else {
                continue;
            };
            // Only root can read the library here.
            let hidden = temp_dir();
            let library = match apart {
                Apart::OtherUser => hidden.path().join("libjtrail.so"),
                _ => agent(),
            };
            if apart == Apart::OtherUser {
                fs::set_permissions(hidden.path(), PermissionsExt::from_mode(0o700)).expect("ours");
                fs::copy(agent(), &library).expect("ours");
            }
            let library = library.to_str().expect("text");
            let recorded = there.text("recorded.trail");
            let said = there.jtrail(
                "record",
                &["--for", "1s", "-o", &recorded, "--agent", library],
            );
            let said = said.unwrap_or_else(|e| panic!("{} {apart:?}: {e}", jdk.feature));
            let begin = format!("jtrail: {recorded}: trail, events: ");
            assert!(
                said.starts_with(&begin) && said.lines().count() == 1,
                "{said}"
            );
            there.assert_nothing_left();
            assert_recorded(&recorded, apart);

            let attached = match apart.has_own_tmp() {
                true => there.within("/tmp/attached.trail").display().to_string(),
                false => there.text("attached.trail"),
            };
            let said = there.jtrail("attach", &["--file", &attached, "--agent", library]);
            let said = said.unwrap_or_else(|e| panic!("{} {apart:?}: {e}", jdk.feature));
            assert!(said.contains(&format!("records into {attached}")), "{said}");
            let status = there.jtrail("ctl", &["status"]);
            let status = status.unwrap_or_else(|e| panic!("{} {apart:?}: {e}", jdk.feature));
            assert!(status.contains("recording"), "{status}");
            sleep(Duration::from_millis(100));
            there.jtrail("ctl", &["detach"]).expect("it leaves");
            there.assert_nothing_left();
            assert_recorded(&attached, apart);
            if apart.has_own_tmp() {
                assert_refuses_files(&there, library);
            }
            there.end();
            drop(one);
        }
    });
}

/// A file that the JVM would write to another place is refused, and the message says what to do.
fn assert_refuses_files(there: &SeparatedJvm, library: &str) {
    let file = there.text("elsewhere.trail");
    let hint = format!(
        "name one of its own, like /proc/{}/root/tmp/elsewhere.trail",
        there.pid
    );
    let refused = |result: Result<String, String>| {
        let error = result.expect_err("it is another folder there");
        assert!(error.contains(&hint), "{error}");
    };
    refused(there.jtrail("attach", &["--file", &file, "--agent", library]));
    let idle = ["--format", "none", "--agent", library];
    there.jtrail("attach", &idle).expect("it is taken");
    refused(there.jtrail("ctl", &["start", &format!("file={file}")]));
    // An agent is attached already; the trace comes to the client's file.
    let recorded = there.text("again.trail");
    let args = [
        "--for",
        "200ms",
        "--format",
        "trail",
        "--events",
        "methods+threads",
        "-o",
        &recorded,
    ];
    there.jtrail("record", &args).expect("recorded");
    assert_recorded(&recorded, there.apart);
    there.jtrail("ctl", &["detach"]).expect("it leaves");
    there.assert_nothing_left();
}

/// With `linger`, an agent that was attached for a client detaches when it has none: if no client
/// comes, and after the client has disconnected. The trace is complete.
#[test]
fn an_agent_without_clients_leaves() {
    at_once(|jdk| {
        let there = SeparatedJvm::new(jdk, Apart::TempDir).expect("no namespaces");
        let library = agent();
        let library = library.to_str().expect("text");
        for (linger, has_client) in [("200ms", false), ("2s", true)] {
            let file = there.text(linger);
            let args = ["--linger", linger, "--file", &file, "--agent", library];
            there.jtrail("attach", &args).expect("it is taken");
            if has_client {
                let client = Client::of_process(there.pid, PATIENCE);
                let mut client = client.expect("in time");
                sleep(Duration::from_secs(3));
                client.call(Ask::Status, |_| Ok(())).expect("it stays");
            }
            there.assert_nothing_left();
            assert_recorded(&file, there.apart);
        }
        let files = ["200ms", "2s"].map(|linger| (linger, there.text(linger)));
        let output = there.end();
        for (linger, file) in files {
            let line = format!(
                "jtrail: no client was connected for {linger} (linger), so the agent leaves; the trace is in {file}"
            );
            assert!(output.stderr.contains(&line), "{output}");
        }
    });
}

/// If `jtrail record` is killed, its agent detaches, because no user has asked the agent to stay.
#[test]
fn the_agent_of_a_killed_client_leaves() {
    let client = agent()
        .ancestors()
        .nth(2)
        .map(|folder| folder.join("jtrail"));
    let client = client.filter(|path| path.is_file());
    let client = client.expect("`cargo test --workspace` builds the program");
    at_once(|jdk| {
        for apart in [Apart::TempDir, Apart::PrivateTmp] {
            let Some(there) = SeparatedJvm::new(jdk, apart) else {
                continue;
            };
            let mut record = Command::new(&client);
            record
                .args(["record", &there.pid.to_string(), "--agent"])
                .arg(agent());
            let mut record = record
                .args(["-o", &there.text("app.trail")])
                .spawn()
                .expect("it starts");
            let begin = Instant::now();
            while Client::of_process(there.pid, PATIENCE).is_err() {
                assert!(begin.elapsed() < PATIENCE, "no agent");
                sleep(Duration::from_millis(5));
            }
            record.kill().expect("it runs");
            record.wait().expect("it has disconnected");
            let begin = Instant::now();
            while !own_threads(there.pid).is_empty() {
                assert!(begin.elapsed() < PATIENCE, "{apart:?}: it stays");
                sleep(Duration::from_millis(50));
            }
            assert_eq!(find_agents(there.pid).expect("it runs"), [], "{apart:?}");
            let output = there.end();
            assert!(
                output.stderr.contains(
                    "no client was connected for 5s (linger), so the agent leaves; the trace is in "
                ),
                "{output}"
            );
        }
    });
}

/// A JVM with a file system of its own is killed during a recording, and its file system disappears
/// with it. What the JVM had written is fetched to the client's file, and can be recovered.
#[test]
fn the_trace_of_a_killed_jvm_is_fetched() {
    for jdk in Jdk::require(&few_versions()).iter().take(1) {
        let Some(there) = SeparatedJvm::new(jdk, Apart::All) else {
            return;
        };
        let file = there.text("killed.trail");
        let library = agent();
        let pid = there.pid;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let begin = Instant::now();
                while !find_agents(pid).is_ok_and(|all| !all.is_empty()) {
                    assert!(begin.elapsed() < PATIENCE, "no agent");
                    sleep(Duration::from_millis(5));
                }
                sleep(Duration::from_millis(500));
                let kill = Command::new("kill").args(["-9", &pid.to_string()]).status();
                assert!(kill.expect("it runs").success());
            });
            let args = ["-o", &file, "--agent", library.to_str().expect("text")];
            let error = there.jtrail("record", &args).expect_err("it is killed");
            assert!(error.contains("the recording broke off"), "{error}");
        });
        let recovered = there.text("recovered.trail");
        outcome(&["recover", &file, "-o", &recovered]).expect("recovered");
        assert_recorded(&recovered, there.apart);
    }
}

/// The result of attaching is what the agent reports, not what the JVM answers.
#[test]
fn no_agent_is_no_success() {
    for jdk in Jdk::require(&few_versions()) {
        let there = SeparatedJvm::new(&jdk, Apart::TempDir).expect("no namespaces");
        let [text, broken] = [there.text("text.so"), there.text("broken.so")];
        fs::write(&text, "no library").expect("ours");
        let mut library = fs::read(agent()).expect("ours");
        library.truncate(4096);
        library[18] = library[18].wrapping_add(1); // for another processor
        fs::write(&broken, library).expect("ours");
        // A library of the JVM: it can be loaded, but is no agent.
        let other = jdk.home.join("lib/libzip.so");
        for (library, expected) in [
            (&*text, "is no library"),
            (&broken, "it can't load the library"),
            (
                other.to_str().expect("text"),
                "be attached to a running JVM",
            ),
        ] {
            let args = ["--format", "none", "--agent", library];
            let error = there.jtrail("attach", &args).expect_err("no agent");
            assert!(error.contains(expected), "{}: {error}", jdk.feature);
            let error = there.jtrail(
                "record",
                &["--for", "1s", "-o", &there.text("none"), "--agent", library],
            );
            assert!(error.is_err());
            assert!(!Path::new(&there.text("none")).exists());
        }
        let error = there.jtrail("ctl", &["status"]).expect_err("no agent");
        assert!(error.contains("nobody listens at /"), "{error}");
        there.end();
    }
}

/// An agent that was loaded at the JVM's start is found by the process id, wherever its socket is.
/// This works while the program waits, and in a JVM that refuses to be attached to.
#[test]
fn the_agent_is_found_without_the_jvm() {
    for jdk in Jdk::require(&few_versions()) {
        let folder = temp_dir();
        let options = format!(
            "server=controlled,wait=10m,control={}/odd.socket",
            folder.path().display()
        );
        let run = program(&jdk, MAIN).agent(agent(), options);
        let mut running = run
            .jvm_arg("-XX:+DisableAttachMechanism")
            .spawn()
            .expect("it starts");
        let pid = running.pid().to_string();
        let begin = Instant::now();
        let status = loop {
            match outcome(&["ctl", &pid, "status"]) {
                Ok(status) => break status,
                Err(error) => assert!(begin.elapsed() < PATIENCE, "{error}"),
            }
            sleep(Duration::from_millis(5));
        };
        assert!(status.contains("idle"), "{status}");
        outcome(&["ctl", &pid, "go"]).expect("it waits");
        running.wait_ready();
        running.wait().expect("it ends").assert_exit(0);

        let run = program(&jdk, MAIN).agent(agent(), "format=none");
        let mut running = run.spawn().expect("it starts");
        running.wait_ready();
        let error = outcome(&["ctl", &running.pid().to_string(), "status"]);
        let error = error.expect_err("nobody may come");
        assert!(error.contains("has no command channel"), "{error}");
        running.wait().expect("it ends").assert_exit(0);
    }
}
