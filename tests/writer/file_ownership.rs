//! A trace file belongs to the process that writes it, and an earlier trace stays until a new one
//! begins.

use crate::support::attach::{attach, ready, work};
use crate::support::cli::{assert_verified, jtrail, outcome};
use crate::support::compile::compile;
use crate::support::files::files;
use crate::support::{VERSIONS, agent, at_once, few_versions, program};
use jtrail_formats::{Item, Reader};
use jtrail_model::{Event, MethodId};
use jtrail_testkit::{Jdk, Run, temp_dir};
use std::collections::{BTreeMap, HashSet};
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// Number of calls of `Forks.work` that a parent and its child make.
const CALLS: [u64; 2] = [2 * 3193, 1973];

fn compile_forks(folder: &Path) {
    compile("Forks", include_str!("Forks.java"), folder);
}

fn forks(jdk: &Jdk, classes: &Path) -> Run {
    Run::new(jdk, "Forks").class_path(classes)
}

/// Returns the number of calls of `Forks.work` in a sound trace of any format.
fn calls(file: &Path) -> u64 {
    assert_verified(file);
    let mut reader = Reader::new(File::open(file).expect("there")).expect("a trace");
    let (mut works, mut calls) = (HashSet::<MethodId>::new(), 0);
    let visit = |item: Item<'_>| {
        match item {
            Item::Event { event, .. } => match event {
                Event::MethodDef(e) if e.name == "work" => _ = works.insert(e.method),
                Event::MethodEnter(e) if works.contains(&e.method) => calls += 1,
                Event::AggregatedEnter(e) if works.contains(&e.method) => calls += e.calls as u64,
                _ => {}
            },
            Item::Remark(remark) => panic!("{}: {remark:?}", file.display()),
        }
        ControlFlow::<()>::Continue(())
    };
    reader.for_each(visit).expect("it can be read");
    calls
}

/// Returns everything in a folder and below: paths, with the contents of files.
fn contents(folder: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            all.extend(contents(&path));
            all.insert(path, None);
        } else {
            let bytes = fs::read(&path).expect("a file");
            all.insert(path, Some(bytes));
        }
    }
    all
}

fn names(folder: &Path) -> Vec<String> {
    let name = |path: &PathBuf| {
        path.file_name()
            .expect("a name")
            .to_str()
            .expect("UTF-8")
            .to_owned()
    };
    contents(folder).keys().map(name).collect()
}

/// Returns the child's process id, from the output of `Forks`.
fn child(output: &str) -> u32 {
    let line = output.lines().find_map(|line| line.strip_prefix("child "));
    let pid = line.and_then(|line| line.split(' ').next());
    pid.expect("a child").parse().expect("a process id")
}

/// A JVM and its child with the same `file=`: each has its own trace, in all formats, whether the
/// child gets the agent by its arguments or by the environment.
#[test]
fn a_child_has_a_trace_of_its_own() {
    let classes = temp_dir();
    compile_forks(classes.path());
    let jdks = Jdk::require(&VERSIONS);
    let formats = [
        "trail",
        "binary",
        "mlpd",
        "xml",
        "jinsight",
        "tracelog",
        "profilerj",
    ];
    std::thread::scope(|scope| {
        for (number, format) in formats.into_iter().enumerate() {
            for (way, by) in ["arguments", "environment"].into_iter().enumerate() {
                let (jdk, classes) = (&jdks[(number + way) % jdks.len()], classes.path());
                scope.spawn(move || {
                    let folder = temp_dir();
                    let file = folder.path().join("app.trace");
                    let options = format!("format={format},include=Forks.work,file={}", file.display());
                    let run = forks(jdk, classes).arg(by);
                    let run = match by {
                        "arguments" => run.agent(agent(), &options),
                        _ => {
                            let path = format!("-agentpath:{}={options}", agent().display());
                            run.env("JAVA_TOOL_OPTIONS", path)
                        }
                    };
                    let output = run.output();
                    output.assert_exit(0);
                    assert!(output.stdout.ends_with("exit 0\n"), "{output}");
                    let other = format!("app-{}.trace", child(&output.stdout));
                    assert_eq!(names(folder.path()), [&*other, "app.trace"], "{output}");
                    assert_eq!(calls(&file), CALLS[0], "{format}, {by}");
                    assert_eq!(calls(&folder.path().join(&other)), CALLS[1], "{format}, {by}");
                    let said = format!(
                        "jtrail: {}: another process writes it; the trace of this process goes to {}",
                        file.display(),
                        folder.path().join(&other).display()
                    );
                    let said = output.stderr.lines().filter(|line| *line == said).count();
                    assert_eq!(said, 1, "{output}");
                });
            }
        }
    });
}

/// Agents that are attached to two JVMs, with the same `--file`.
#[test]
fn two_attached_agents_have_a_trace_each() {
    let jdks = Jdk::require(&VERSIONS);
    for (number, format) in ["trail", "binary", "mlpd"].into_iter().enumerate() {
        let folder = temp_dir();
        let file = folder.path().join("app.trace");
        let options = ["--format", format, "--file", file.to_str().expect("text")];
        let both = [0, 1].map(|other| ready(&jdks[(number + other) % jdks.len()]));
        let pids = both.each_ref().map(|running| running.pid());
        let other = format!("app-{}.trace", pids[1]);
        for (running, name) in both.iter().zip(["app.trace", &other]) {
            let said = attach(running, &options).expect("it is taken");
            let path = folder.path().join(name);
            let expected = format!("records into {}\n", path.display());
            assert!(said.ends_with(&expected), "{said}");
        }
        for running in both {
            let output = work(running, 1);
            assert!(!output.stderr.contains("cannot"), "{output}");
        }
        assert_eq!(names(folder.path()), [&*other, "app.trace"]);
        for name in [&*other, "app.trace"] {
            assert_verified(&folder.path().join(name));
        }
    }
}

/// An attach is refused if its file can't be created, even at the end of a link.
#[test]
fn attach_knows_whether_its_file_can_be_made() {
    at_once(|jdk| {
        let folder = temp_dir();
        let path = |name: &str| folder.path().join(name);
        let running = ready(jdk);
        let attach_to = |name: &str| {
            let file = path(name);
            attach(&running, &["--file", file.to_str().expect("text")])
        };
        for (link, to) in [
            ("second", "first"),
            ("first", "none/app.trail"),
            ("good", "app.trail"),
        ] {
            std::os::unix::fs::symlink(to, path(link)).expect("ours");
        }
        for name in ["none/app.trail", "first", "second"] {
            attach_to(name).expect_err(name);
        }
        // A folder that was removed seems to be writable, but accepts no files.
        fs::create_dir(path("gone")).expect("ours");
        let removed = File::open(path("gone")).expect("ours");
        fs::remove_dir(path("gone")).expect("ours");
        let (own, number) = (std::process::id(), removed.as_raw_fd());
        attach_to(&format!("/proc/{own}/fd/{number}/app.trail")).expect_err("it has disconnected");
        attach_to("good").expect("it is taken");
        let output = work(running, 1);
        let refused = output
            .stderr
            .lines()
            .filter(|line| line.starts_with("jtrail: cannot write "));
        assert_eq!(refused.count(), 4, "{output}");
        assert_verified(&path("app.trail"));
        let left = fs::read_dir(folder.path()).expect("there").count();
        assert_eq!(left, 4, "the links and the trace");
    });
}

/// `jtrail run` of a command that is not java: the file names contain process ids, and all traces
/// are listed. For a java program, the traces of its children are listed, too.
#[test]
fn run_lists_the_traces_of_all_jvms() {
    let classes = temp_dir();
    compile_forks(classes.path());
    let jdks = Jdk::require(&VERSIONS);
    for (number, format) in ["trail", "binary", "mlpd"].into_iter().enumerate() {
        let java = jdks[number % jdks.len()].java.to_str().expect("text");
        let class_path = classes.path().to_str().expect("text");
        let script = format!(
            "{java} -cp {class_path} Forks environment & {java} -cp {class_path} Forks child; wait"
        );
        let direct = [java, "-cp", class_path, "Forks", "arguments"];
        for (command, traces) in [(&["sh", "-c", &script][..], 3), (&direct, 2)] {
            let folder = temp_dir();
            let file = folder.path().join("app.trace");
            let (agent, file) = (agent(), file.to_str().expect("text"));
            let mut args = vec![
                "run",
                "--agent",
                agent.to_str().expect("text"),
                "--format",
                format,
            ];
            args.extend(["--include", "Forks.work", "--file", file, "--"]);
            args.extend(command);
            let said = outcome(&args).expect("it runs");
            let found = names(folder.path());
            assert_eq!(found.len(), traces, "{found:?}\n{said}");
            let is_plain = traces == 2;
            assert_eq!(
                found.contains(&"app.trace".to_owned()),
                is_plain,
                "{found:?}"
            );
            let mut sums: Vec<_> = found
                .iter()
                .map(|name| calls(&folder.path().join(name)))
                .collect();
            sums.sort_unstable();
            let expected = [CALLS[1], CALLS[1], CALLS[0]];
            assert_eq!(sums, expected[3 - traces..], "{said}");
            for name in found {
                let path = folder.path().join(name);
                let line = format!("jtrail: {} (", path.display());
                assert!(said.lines().any(|l| l.starts_with(&line)), "{line}\n{said}");
            }
        }
    }
}

/// JVMs that fail to start: the first version that the arguments apply to, and the arguments.
const FAILING: [(u32, &[&str]); 7] = [
    (11, &["--add-modules", "no.such.module"]),
    (11, &["-Xms200000g", "-Xmx200000g"]),
    (11, &["-agentpath:/no/such/agent.so"]),
    (11, &["-javaagent:/no/such/agent.jar"]),
    (11, &["-XX:+UseSerialGC", "-XX:+UseParallelGC"]),
    (17, &[DEFEATED]),
    (25, &["-XX:AOTMode=on", "-XX:AOTCache=/no/such/cache"]),
];
/// With this flag, no JVM with an agent starts; `jtrail run` warns about it.
const DEFEATED: &str = "-XX:ArchiveClassesAtExit=/no/such/archive";

/// Compiles a library that makes the file system look like one without unnamed files ([`Run::env`],
/// `LD_PRELOAD`).
fn plain_files(folder: &Path) -> PathBuf {
    let (source, library) = (folder.join("plain.c"), folder.join("plain.so"));
    fs::write(&source, include_str!("plain_files.c")).expect("written");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status();
    assert!(compiled.is_ok_and(|status| status.success()));
    library
}

/// A JVM that fails to start leaves the files of an earlier run unchanged, and no new ones.
#[test]
fn a_start_that_fails_changes_nothing() {
    at_once(|jdk| {
        for options in [
            "trail",
            "binary",
            "xml",
            "trail,overflow=ring",
            "trail,clock=tick",
        ] {
            for (since, args) in FAILING {
                if jdk.feature < since {
                    continue;
                }
                let has_earlier: &[bool] = match options {
                    "trail" => &[false, true],
                    _ => &[true],
                };
                for &earlier in has_earlier {
                    let folder = temp_dir();
                    let file = folder.path().join("app.trace");
                    if earlier {
                        fs::write(&file, "an earlier trace").expect("written");
                        let spool = folder.path().join("app.trace.spool");
                        fs::create_dir(&spool).expect("made");
                        fs::write(spool.join("memory"), "an earlier spool").expect("written");
                    }
                    let before = contents(folder.path());
                    let options = format!("format={options},file={}", file.display());
                    let run = program(jdk, "harness.Fib").agent(agent(), options);
                    let run = args.iter().fold(run, |run, arg| run.jvm_arg(*arg));
                    let output = run.output();
                    output.assert_exit(1);
                    let what = format!("{args:?}, {earlier}, JDK {}\n{output}", jdk.feature);
                    assert!(contents(folder.path()) == before, "{what}");
                }
            }
        }
    });
}

/// `jtrail run` says that there is no trace. It does not advise to recover what an earlier run
/// left.
#[test]
fn a_start_that_fails_leaves_nothing_to_recover() {
    for jdk in Jdk::require(&few_versions()) {
        for (since, args) in FAILING {
            if jdk.feature < since {
                continue;
            }
            let folder = temp_dir();
            let file = folder.path().join("app.trail");
            let spool = folder.path().join("app.trail.spool");
            fs::create_dir(&spool).expect("made");
            for path in [file.clone(), spool.join("memory")] {
                fs::write(path, "earlier").expect("written");
            }
            let before = contents(folder.path());
            let (agent, file) = (agent(), file.display().to_string());
            let java = jdk.java.to_str().expect("text");
            let command = [
                "run",
                "--agent",
                agent.to_str().expect("text"),
                "--file",
                &file,
            ];
            let command: Vec<&str> = command
                .into_iter()
                .chain(["--", java])
                .chain(args.iter().copied())
                .collect();
            let (code, _, said) = jtrail(&command);
            let what = format!("{args:?}, JDK {}\n{said}", jdk.feature);
            assert_eq!(code, ExitCode::FAILURE, "{what}");
            assert!(
                said.contains("there is no trace at ") && !said.contains("recover"),
                "{what}"
            );
            assert!(contents(folder.path()) == before, "{what}");
            let is_warned = said.contains(&format!("jtrail: {DEFEATED}: "));
            assert_eq!(is_warned, args.contains(&DEFEATED), "{what}");
        }
    }
}

/// On a file system without unnamed files, a failed start leaves an empty spool, which the next run
/// removes. A killed run leaves the same files as on other file systems. Without file locks, an
/// existing trace may belong to another process, so it stays.
#[test]
fn plain_file_systems_are_served() {
    let base = temp_dir();
    let plain = plain_files(base.path());
    at_once(|jdk| {
        let folder = temp_dir();
        let file = folder.path().join("app.trail");
        let run = || {
            let options = format!("format=trail,file={}", file.display());
            program(jdk, "harness.Attached")
                .agent(agent(), options)
                .env("LD_PRELOAD", &plain)
        };
        for number in 0..2 {
            let failed = run().jvm_arg("--add-modules").jvm_arg("no.such.module");
            failed.output().assert_exit(1);
            let left = fs::read_dir(folder.path()).expect("a folder").count();
            assert_eq!(left, 1, "{number}");
        }
        let mut killed = run().spawn().expect("it starts");
        killed.wait_ready();
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 2);
        assert_eq!(names(&folder.path().join("app.trail.spool")).len(), 5);
        killed.kill().expect("it has disconnected");
        let whole = temp_dir();
        let whole = whole.path().join("whole.trail").display().to_string();
        let (code, _, err) = jtrail(&["recover", &file.display().to_string(), "-o", &whole]);
        assert_eq!(code, ExitCode::SUCCESS, "{err}");
        assert_verified(Path::new(&whole));

        let mut running = run().spawn().expect("it starts");
        running.wait_ready();
        work(running, 1);
        assert_eq!(names(folder.path()), ["app.trail"]);
        assert_verified(&file);

        let before = fs::read(&file).expect("there");
        let mut running = run().env("NO_LOCKS", "1").spawn().expect("it starts");
        running.wait_ready();
        let other = format!("app-{}.trail", running.pid());
        work(running, 1);
        assert!(fs::read(&file).expect("there") == before);
        assert_verified(&folder.path().join(other));
    });
}

/// Two flight recorders with the same `file=`, each of which saves more than once.
#[test]
fn two_recorders_keep_apart() {
    let jdks = Jdk::require(&VERSIONS);
    for (number, more) in ["", ",trail.spool=false"].into_iter().enumerate() {
        let folder = temp_dir();
        let file = folder.path().join("app.trail");
        let both = [0, 1].map(|other| {
            let options = format!(
                "format=trail,overflow=ring,server=enabled,file={}{more}",
                file.display()
            );
            let mut running = program(&jdks[(number + other) % jdks.len()], "harness.Attached")
                .agent(agent(), options)
                .spawn()
                .expect("it starts");
            running.wait_ready();
            running
        });
        let pids = both.each_ref().map(|running| running.pid().to_string());
        // Alternately, so that each finds a file that the other one has saved.
        for pid in [&pids[0], &pids[1], &pids[1], &pids[0]] {
            let (_, _, err) = jtrail(&["ctl", pid, "save"]);
            assert_eq!(err, "");
        }
        for running in both {
            work(running, 1);
        }
        let other = |end: &str| format!("app-{}{end}.trail", pids[1]);
        let mut expected = vec![
            "app.trail".to_owned(),
            "app-2.trail".to_owned(),
            "app-3.trail".to_owned(),
            other(""),
            other("-2"),
            other("-3"),
        ];
        expected.sort();
        let mut found = names(folder.path());
        found.sort();
        assert_eq!(found, expected, "{more}");
        for name in found {
            assert_verified(&folder.path().join(name));
        }
    }
}

/// Files of bounded size: the child's files are named after its own first one.
#[test]
fn files_of_bounded_size_keep_apart() {
    /// Depth of the child's calls, and their number.
    const DEPTH: (u64, u64) = (20, 21891);
    let classes = temp_dir();
    compile_forks(classes.path());
    at_once(|jdk| {
        let folder = temp_dir();
        let file = folder.path().join("app.trcbin");
        let output = forks(jdk, classes.path())
            .jvm_arg(format!("-Ddepth={}", DEPTH.0))
            .arg("arguments")
            .agent(
                agent(),
                format!(
                    "format=binary,include=Forks.work,maxsize=1m,buffer=1m,file={}",
                    file.display()
                ),
            )
            .output();
        output.assert_exit(0);
        let child = format!("app-{}.trcbin", child(&output.stdout));
        let child = folder.path().join(child);
        let mut own = files(&file);
        own.retain(|path| *path != child);
        let childs = files(&child);
        for (files, expected) in [(own, CALLS[0]), (childs, DEPTH.1)] {
            let count = files.len() as u64;
            assert!(count > 1, "{files:?}\n{output}");
            let all: u64 = files.iter().map(|path| calls(path)).sum();
            // A file enters again the calls that are open at its begin.
            let most = expected + (count - 1) * (DEPTH.0 + 1);
            assert!((expected..=most).contains(&all), "{all}, {files:?}");
        }
    });
}

/// A file that a process has written and closed still belongs to it as long as the process lives.
#[test]
fn the_first_file_stays_with_its_process() {
    at_once(|jdk| {
        let folder = temp_dir();
        let file = folder.path().join("app.trail");
        let options = format!("format=trail,server=enabled,file={}", file.display());
        let start = || program(jdk, "harness.Attached").agent(agent(), &options);
        let mut first = start().spawn().expect("it starts");
        first.wait_ready();
        let pid = first.pid().to_string();
        outcome(&["ctl", &pid, "rotate"]).expect("it goes on in another file");
        let before = fs::read(&file).expect("there");
        let mut second = start().spawn().expect("it starts");
        second.wait_ready();
        let other = format!("app-{}.trail", second.pid());
        work(second, 1);
        assert!(
            fs::read(&file).expect("there") == before,
            "JDK {}",
            jdk.feature
        );
        assert_verified(&folder.path().join(other));
        // The process may use its own file again.
        outcome(&["ctl", &pid, "stop"]).expect("it ends");
        let path = format!("file={}", file.display());
        outcome(&["ctl", &pid, "start", &path]).expect("it begins");
        work(first, 1);
        assert_verified(&file);
        assert!(
            fs::read(&file).expect("there") != before,
            "JDK {}",
            jdk.feature
        );
        // A later run replaces the first trace.
        work(start().spawn().expect("it starts"), 1);
        assert_eq!(names(folder.path()).len(), 3, "{:?}", names(folder.path()));
    });
}

/// The command line does not overwrite a trace that is being written.
#[test]
fn the_command_line_leaves_a_trace_alone_that_is_written() {
    let jdk = Jdk::newest();
    let folder = temp_dir();
    let at = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
    let (earlier, file) = (at("earlier.trail"), at("app.trail"));
    let options = |file: &str| format!("format=trail,file={file}");
    program(&jdk, "harness.Fib")
        .agent(agent(), options(&earlier))
        .output()
        .assert_exit(0);
    let mut running = program(&jdk, "harness.Attached")
        .agent(agent(), options(&file))
        .spawn()
        .expect("it starts");
    running.wait_ready();
    for args in [
        &["convert", &earlier, &file][..],
        &["recover", &earlier, "-o", &file],
    ] {
        let error = outcome(args).expect_err("it is written");
        let expected = format!("can't write {file}: another process writes it");
        assert!(error.contains(&expected), "{error}");
    }
    work(running, 1);
    assert_verified(Path::new(&file));
    outcome(&["convert", &earlier, &file]).expect("nobody writes there any more");
}

/// A folder in which the process can't create files: an existing file is written all the same.
#[test]
fn a_folder_that_takes_no_new_files() {
    const USER: u32 = 12_345;
    if is_root() {
        let jdk = Jdk::newest();
        let folder = temp_dir();
        let file = folder.path().join("app.trail");
        fs::write(&file, "an earlier trace").expect("written");
        std::os::unix::fs::chown(&file, Some(USER), None).expect("root");
        let options = format!("format=trail,file={}", file.display());
        let output = program(&jdk, "harness.Fib")
            .user(USER)
            .agent(agent(), options)
            .output();
        output.assert_exit(0);
        let said = format!("jtrail: no spool beside {}: ", file.display());
        assert!(output.stderr.contains(&said), "{output}");
        assert_verified(&file);
        assert_eq!(names(folder.path()), ["app.trail"]);
    }
}

/// Returns true if this process may give files to other users.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|found| found.uid() == 0)
}
