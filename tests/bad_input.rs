//! Bad input: what wrong options and damaged files get. Never a panic, never a hang, and memory stays bounded.
//!
//! | Module | Holds |
//! |---|---|
//! | `options` | the table of wrong options, filter files and options files |
//! | `traces`, `huge` | the tables of trace files |
//! | `cuts` | a real trace cut at every byte, and with every byte changed |
//!
//! `docs/bad-input.md` is made from the tables: `JTRAIL_BLESS=1` writes it, otherwise a test compares.

mod cuts;
mod huge;
mod options;
mod traces;

use crate::common::{VERSIONS, agent, program};
use jtrail_testkit::Jdk;
use options::{FILTERS, Jvms, OPTIONS, SETTINGS};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{env, panic, thread};
use traces::{Given, Row};

/// No row takes longer, on a machine under load and in a debug build.
const LIMIT: Duration = Duration::from_secs(60);
/// Address space and resident memory of a process that reads a huge file.
const MOST_VIRTUAL_KB: u64 = 400 << 10;
const MOST_RESIDENT_KB: u64 = 120 << 10;

/// What a command line did.
struct Done {
    code: u8,
    out: String,
    err: String,
}

/// Runs a command line in process.
fn jtrail(args: &[&str]) -> Done {
    let args = ["jtrail"].iter().chain(args).map(OsString::from);
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let exit = jtrail_cli::main_with(args, &mut out, &mut err);
    let text = |bytes| String::from_utf8(bytes).expect("all output is UTF-8");
    Done {
        code: (0..=u8::MAX)
            .find(|c| ExitCode::from(*c) == exit)
            .expect("a code"),
        out: text(out),
        err: text(err),
    }
}

/// Does `work` on a thread of its own; fails when it panics or takes too long.
fn in_time<T: Send + 'static>(
    what: &str,
    limit: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (done, result) = mpsc::channel();
    thread::spawn(move || done.send(panic::catch_unwind(panic::AssertUnwindSafe(work))));
    match result.recv_timeout(limit) {
        Ok(Ok(value)) => value,
        Ok(Err(_)) => panic!("{what}: a panic"),
        Err(_) => panic!("{what}: no end within {limit:?}"),
    }
}

/// All that went wrong, told at once.
#[derive(Default)]
struct Failures(Vec<String>);

impl Failures {
    fn check(&mut self, holds: bool, told: impl FnOnce() -> String) {
        if !holds {
            self.0.push(told());
        }
    }

    fn finish(self) {
        assert!(
            self.0.is_empty(),
            "{}\n{} failures",
            self.0.join("\n"),
            self.0.len()
        );
    }
}

/// All rows about options: the folder's file that the row fills, the option text, the row.
fn option_rows() -> impl Iterator<Item = (Option<&'static str>, &'static str, &'static options::Row)>
{
    let own = OPTIONS.iter().map(|row| (None, row.0, row));
    let filters = FILTERS
        .iter()
        .map(|row| (Some("rules"), "filters=rules", row));
    let settings = SETTINGS
        .iter()
        .map(|row| (Some("settings"), "options=settings", row));
    own.chain(filters).chain(settings)
}

/// A folder with the files that the rows name.
fn folder_of(file: Option<&str>, content: &str) -> tempfile::TempDir {
    let folder = jtrail_testkit::temp_dir();
    fs::write(folder.path().join("rules"), "* * INCLUDE\n").expect("written");
    if let Some(name) = file {
        fs::write(folder.path().join(name), content).expect("written");
    }
    folder
}

#[test]
fn wrong_options_are_told_by_parser_and_command_line() {
    let mut failures = Failures::default();
    for (file, text, row) in option_rows() {
        let folder = folder_of(file, row.0);
        let read =
            |path: &str| jtrail_options::read_file(&folder.path().join(path).display().to_string());
        let Err(error) = jtrail_options::parse(text, &read) else {
            failures.check(false, || format!("{text:?} {:?} is taken", row.0));
            continue;
        };
        let told = error.to_string();
        failures.check(told == row.1, || {
            format!("{text:?} {:?}\n  gets {told}\n  not  {}", row.0, row.1)
        });
        failures.check(!told.contains(char::is_control), || {
            format!("{text:?}: not one line")
        });

        // `run` takes the same as arguments, where it is made of keys and values.
        let pairs: Vec<&str> = text.split(',').collect();
        let word = |pair: &&str| {
            pair.split_once('=').is_some_and(|(key, _)| {
                !key.is_empty() && key.bytes().all(|b| b.is_ascii_lowercase())
            })
        };
        if text.contains('"') || !pairs.iter().all(word) {
            continue;
        }
        let arguments = pairs.iter().map(|pair| match pair.split_once('=') {
            Some((key @ ("filters" | "options"), name)) if !name.is_empty() => {
                format!("--{key}={}", folder.path().join(name).display())
            }
            _ => format!("--{pair}"),
        });
        let arguments: Vec<String> = arguments.collect();
        let mut line = vec!["run"];
        line.extend(arguments.iter().map(String::as_str));
        line.extend(["--", "/nonexistent/java"]);
        let done = jtrail(&line);
        failures.check(done.code == 2 && done.out.is_empty(), || {
            format!("{line:?}: {}", done.code)
        });
        failures.check(!done.err.contains("can't start"), || {
            format!("{line:?}: {}", done.err)
        });
        // Of keys it knows itself which there are, and that each comes once; paths it makes absolute.
        let own = [
            "no such option",
            "given twice",
            "not available",
            "can't read",
        ];
        if file.is_none() && !own.iter().any(|o| error.problem().starts_with(o)) {
            let line = format!(
                "jtrail: --{}: {}\n",
                error.key().unwrap_or_default(),
                error.problem()
            );
            failures.check(done.err == line, || {
                format!("{text:?}: {}\n  not {line}", done.err)
            });
        }
    }
    failures.finish();
}

#[test]
fn wrong_options_are_told_in_a_jvm() {
    let every = Jdk::require(&VERSIONS);
    let newest = [Jdk::newest()];
    let mut failures = Failures::default();
    for (file, text, row) in option_rows() {
        let jdks = match row.2 {
            Jvms::No => continue,
            Jvms::Newest => &newest[..],
            Jvms::All => &every,
        };
        for jdk in jdks {
            let folder = folder_of(file, row.0);
            let run = program(jdk, "harness.Fib").arg("5").dir(folder.path());
            let output = run.agent(agent(), text).output();
            let (code, line) = in_a_jvm(text, row.1);
            let said = output.stderr.lines().filter(|l| l.starts_with("jtrail: "));
            let good = output.status.code() == Some(code) && said.eq([line.as_str()]);
            failures.check(good, || {
                format!("{text:?} in {jdk}: not {code} and {line}\n{output}")
            });
            // After a wrong option the program does not start; in TPTP's spelling it runs.
            failures.check(output.stdout.contains("fib(5)") == (code == 0), || {
                format!("{text:?}\n{output}")
            });
            let left = fs::read_dir(folder.path()).expect("a folder").count();
            failures.check(left == 1 + usize::from(file == Some("settings")), || {
                format!("{text:?} leaves a file")
            });
        }
    }
    failures.finish();
}

/// Exit code and line of a JVM whose options are wrong in the way that `told` says.
fn in_a_jvm(text: &str, told: &str) -> (i32, String) {
    if text.starts_with("JPIAgent") {
        (
            0,
            format!("jtrail: {told}; the program goes on without a trace"),
        )
    } else {
        (1, format!("jtrail: {told}"))
    }
}

#[test]
fn long_options_get_short_answers() {
    let long = "x".repeat(1 << 20);
    let read = |_: &str| Ok(format!("{long} = 1\n"));
    let many = vec!["include=a.B"; 100_000].join(",");
    for text in [
        long.clone(),
        format!("{long}=1"),
        format!("format={long}"),
        format!("buffer={long}"),
        format!("buffer={}", "9".repeat(1 << 20)),
        format!("include={long}/"),
        format!("include={long}.."),
        format!("file={long}%x"),
        format!("filters={long}"),
        format!("options={long}"),
        format!("JPIAgent:{long}=1;CGProf"),
        format!("JPIAgent;{long}"),
        format!("{many},end"),
        "\\".repeat(1 << 20),
        "=".repeat(1 << 20),
        ",".repeat(1 << 20),
        "\"".repeat(1 << 20),
    ] {
        let error = jtrail_options::parse(&text, &read)
            .expect_err("wrong")
            .to_string();
        let head: String = text.chars().take(20).collect();
        assert!(error.len() < 1_000, "{head}: {} bytes", error.len());
    }
}

/// Runs one verb over a row's file, with a writer where it is a pipe.
fn read_with(given: &Given, path: &Path, run: impl FnOnce() -> Done) -> Done {
    let Given::Pipe(write) = *given else {
        return run();
    };
    let pipe = path.to_owned();
    let writer = thread::spawn(move || -> io::Result<()> {
        write(&mut File::options().write(true).open(pipe)?)
    });
    let done = run();
    // It fails when the reader has seen enough.
    let _ = writer.join().expect("no panic");
    done
}

/// The line of `jtrail verify` that says what is wrong: the first fault, else the error, else the break.
fn telling(out: &str, path: &Path) -> String {
    let path = path.display().to_string();
    let head = format!("{path}: ");
    let lines: Vec<&str> = out
        .lines()
        .skip_while(|l| !l.starts_with(&head))
        .skip(1)
        .map(str::trim)
        .collect();
    let fault = lines.iter().find(|l| l.contains(": fault ("));
    let error = || {
        let finding = |l: &&&str| l.starts_with("at byte ") || l.starts_with('…');
        lines.iter().find(|l| !finding(l))
    };
    // The last, for of a trace that breaks off the checker tells that its end is missing, too.
    let cut = || lines.iter().rfind(|l| l.contains(": truncated ("));
    let told = fault.or_else(error).or_else(cut);
    told.map_or_else(String::new, |l| l.replace(&path, "FILE"))
}

/// Compares a row with what `verify` did.
fn compare(row: &Row, path: &Path, done: &Done, failures: &mut Failures) {
    let told = telling(&done.out, path);
    let good = done.code == row.codes.0 && told == row.says;
    failures.check(good, || {
        format!(
            "{}\n  gets {} {told:?}\n  not  {} {:?}",
            row.what, done.code, row.codes.0, row.says
        )
    });
    failures.check(done.out.len() < 100_000, || {
        format!("{}: {} bytes said", row.what, done.out.len())
    });
}

fn trace_rows() -> [(&'static str, Vec<Row>); 4] {
    [
        ("Files that are no traces", traces::strange()),
        ("Damage in the binary spelling", traces::binary()),
        ("Damage in the XML spelling", traces::document()),
        ("Events that make no sense", traces::meaning()),
    ]
}

#[test]
fn damaged_traces_are_told() {
    let mut failures = Failures::default();
    for row in trace_rows().into_iter().flat_map(|(_, rows)| rows) {
        let folder = jtrail_testkit::temp_dir();
        let Some(path) =
            traces::place(&row.given, &folder.path().join("trace")).map(Path::to_owned)
        else {
            eprintln!("NOT TESTED by this user: {}", row.what);
            continue;
        };
        let (name, copy) = (path.display().to_string(), folder.path().join("copy"));
        let other = if name.ends_with("xml") {
            "binary"
        } else {
            "xml"
        };
        let copied = copy.display().to_string();
        let verbs = [
            vec!["verify", &name],
            vec!["report", &name],
            vec![
                "report", "--format", "json", "--depth", "0", "--top", "0", &name,
            ],
            vec!["dump", &name],
            vec!["convert", "--to", other, &name, &copied],
        ];
        let row = std::sync::Arc::new(row);
        for verb in verbs {
            let line: Vec<String> = verb.iter().map(|s| (*s).to_owned()).collect();
            let (given, pipe) = (std::sync::Arc::clone(&row), path.clone());
            let what = format!("{}: {}", row.what, verb[0]);
            let done = in_time(&what, LIMIT, move || {
                let line: Vec<&str> = line.iter().map(String::as_str).collect();
                read_with(&given.given, &pipe, || jtrail(&line))
            });
            if verb[0] == "verify" {
                compare(&row, &path, &done, &mut failures);
            } else {
                failures.check(done.code == row.codes.1, || {
                    format!(
                        "{what}: {} instead of {}\n{}",
                        done.code, row.codes.1, done.err
                    )
                });
            }
            failures.check(done.err.len() < 100_000, || {
                format!("{what}: {} bytes said", done.err.len())
            });
        }
        // A copy is there, whole, or not at all.
        failures.check(copy.exists() == (row.codes.1 != 2), || {
            format!("{}: a copy", row.what)
        });
        failures.check(!copy.with_extension("part").exists(), || {
            format!("{}: half a copy", row.what)
        });
        if copy.exists() {
            let again = jtrail(&["verify", &copied]);
            failures.check(again.code != 2, || {
                format!("{}: the copy: {}", row.what, again.out)
            });
        }
    }
    failures.finish();
}

#[test]
fn names_do_not_take_the_terminal_over() {
    let folder = jtrail_testkit::temp_dir();
    let path = folder.path().join("trace").display().to_string();
    fs::write(&path, traces::hostile_names()).expect("written");
    for verb in ["report", "dump", "verify"] {
        let done = jtrail(&[verb, &path]);
        assert_eq!(done.code, 0, "{}", done.out);
        let odd = |c: char| c.is_control() && c != '\n';
        assert!(!done.out.contains(odd), "{verb}: {:?}", done.out);
    }
}

/// Names the variable with the arguments of [`child`], a line each.
const ARGUMENTS: &str = "JTRAIL_TEST_BAD_INPUT";

/// The command line as a process of its own, which tells its peak memory at the end.
#[test]
#[ignore = "started by other tests, in a process of its own"]
fn child() {
    let arguments = env::var(ARGUMENTS).expect("set by the test that starts this one");
    let arguments = ["jtrail"]
        .into_iter()
        .chain(arguments.lines())
        .map(OsString::from);
    println!(); // what the test program says comes without a line feed
    let exit = jtrail_cli::main_with(arguments, &mut io::stdout(), &mut io::stderr());
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find(|l| l.starts_with("VmHWM:"));
    eprintln!("\n{}", peak.unwrap_or("no VmHWM"));
    let code = (0..=u8::MAX)
        .find(|c| ExitCode::from(*c) == exit)
        .expect("a code");
    std::process::exit(i32::from(code));
}

/// Runs a command line in a process of its own with bounded memory; answers with its peak in KiB too.
fn process(what: &str, args: &[&str], stdin: Option<&Path>) -> (Done, u64) {
    let folder = jtrail_testkit::temp_dir();
    let file = |name: &str| File::create(folder.path().join(name)).expect("created");
    let mut command = Command::new("bash");
    command
        .args([
            "-c",
            &format!("ulimit -v {MOST_VIRTUAL_KB}; exec \"$0\" \"$@\""),
        ])
        .arg(env::current_exe().expect("this program"))
        .args([
            "--exact",
            "bad_input::child",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(ARGUMENTS, args.join("\n"))
        .stdin(stdin.map_or_else(std::process::Stdio::null, |p| {
            File::open(p).expect("there").into()
        }))
        .stdout(file("out"))
        .stderr(file("err"));
    let mut child = command.spawn().expect("bash is there");
    let begin = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().expect("a child") {
            break status;
        }
        if begin.elapsed() > LIMIT {
            let _ = child.kill();
            panic!("{what}: no end within {LIMIT:?}");
        }
        thread::sleep(Duration::from_millis(5));
    };
    let text = |name: &str| fs::read_to_string(folder.path().join(name)).expect("UTF-8");
    let (out, err) = (text("out"), text("err"));
    let peak = err.lines().find_map(|l| {
        l.strip_prefix("VmHWM:")?
            .trim()
            .strip_suffix(" kB")?
            .parse()
            .ok()
    });
    let code = status.code().and_then(|c| u8::try_from(c).ok());
    let (Some(code), Some(peak)) = (code, peak) else {
        panic!("{what}: {status}\n{err}");
    };
    (Done { code, out, err }, peak)
}

#[test]
fn huge_input_takes_little_memory() {
    let mut failures = Failures::default();
    for row in huge::rows() {
        for verb in ["verify", "report", "dump", "convert"] {
            let folder = jtrail_testkit::temp_dir();
            let path = folder.path().join("trace");
            traces::place(&row.given, &path);
            let name = path.display().to_string();
            let args = match verb {
                "convert" => vec![verb, "--to", "xml", &name, "/dev/null"],
                _ => vec![verb, &name],
            };
            let what = format!("{}: {verb}", row.what);
            let mut peak = 0;
            let begin = Instant::now();
            let done = read_with(&row.given, &path, || {
                let (done, kb) = process(&what, &args, None);
                peak = kb;
                done
            });
            eprintln!("{what}: {} MiB, {:?}", peak >> 10, begin.elapsed());
            if verb == "verify" {
                compare(&row, &path, &done, &mut failures);
            } else {
                failures.check(done.code == row.codes.1, || {
                    format!("{what}: {}\n{}", done.code, done.err)
                });
            }
            failures.check(peak < MOST_RESIDENT_KB, || format!("{what}: {peak} KiB"));
        }
    }
    failures.finish();
}

#[test]
fn processes_and_pipes_get_the_same() {
    let mut failures = Failures::default();
    for (_, rows) in trace_rows() {
        for row in rows.into_iter().step_by(12) {
            let folder = jtrail_testkit::temp_dir();
            let path = folder.path().join("trace");
            let Given::Bytes(_) = row.given else { continue };
            traces::place(&row.given, &path);
            let (done, _) = process(row.what, &["verify", &path.display().to_string()], None);
            compare(&row, &path, &done, &mut failures);
            let (done, _) = process(row.what, &["verify", "-"], Some(&path));
            failures.check(done.code == row.codes.0, || {
                format!("{} by standard input: {}", row.what, done.code)
            });
        }
    }
    failures.finish();
}

fn document() -> String {
    let mut text = String::from(include_str!("bad_input/head.md"));
    let code = |text: &str| {
        let text: String = text
            .chars()
            .flat_map(|c| match c {
                '|' => vec!['\\', '|'],
                c if c.is_control() || c == '\u{feff}' => c.escape_debug().collect(),
                c => vec![c],
            })
            .collect();
        let long = text.chars().count() > 240;
        let text: String = text.chars().take(240).chain(long.then_some('…')).collect();
        match text.contains('`') {
            _ if text.is_empty() => "–".to_owned(),
            true => format!("`` {text} ``"),
            false => format!("`{text}`"),
        }
    };
    for (title, what, rows) in [
        ("Options", "Option text", OPTIONS),
        (
            "Filter files",
            "Content of `rules`, with `filters=rules`",
            FILTERS,
        ),
        (
            "Options files",
            "Content of `settings`, with `options=settings`",
            SETTINGS,
        ),
    ] {
        let _ = writeln!(
            text,
            "\n## {title}\n\n| {what} | Line on standard error, behind `jtrail: ` | JVM's exit |\n|---|---|--:|"
        );
        for row in rows {
            let (exit, _) = in_a_jvm(row.0, row.1);
            let _ = writeln!(text, "| {} | {} | {exit} |", code(row.0), code(row.1));
        }
    }
    let huge = [("Huge input", huge::rows())];
    for (title, rows) in trace_rows().into_iter().chain(huge) {
        let _ = writeln!(
            text,
            "\n## {title}\n\n| File | `jtrail verify` says | its exit | exit of `report`, `dump`, `convert` |\n|---|---|--:|--:|"
        );
        for row in rows {
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} |",
                row.what,
                code(row.says),
                row.codes.0,
                row.codes.1
            );
        }
    }
    text
}

#[test]
fn the_document_has_the_same_tables() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("docs/bad-input.md");
    let made = document();
    if env::var_os("JTRAIL_BLESS").is_some() {
        fs::write(&path, &made).expect("written");
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == made,
        "docs/bad-input.md is not what the tables say; JTRAIL_BLESS=1 writes it"
    );
}
