//! Bad input: the answers to wrong options and damaged files. Never a panic, never a hang, and
//! bounded memory.
//!
//! | Module | Holds |
//! |---|---|
//! | `options` | the table of wrong options, filter files and options files |
//! | `traces`, `formats`, `huge` | the tables of trace files |
//! | `process` | the command line in a process of its own |
//! | `document` | generates `docs/bad-input.md` from the tables |
//! | `cuts` | a real trace, truncated at every byte, and with every byte changed |
//!
//! With `JTRAIL_BLESS=1`, a test writes the document; otherwise it compares it.

mod cuts;
mod document;
mod formats;
mod huge;
mod options;
mod process;
mod traces;

use crate::support::{VERSIONS, agent, program};
use jtrail_testkit::Jdk;
use options::{FILTERS, Jvms, OPTIONS, SETTINGS};
use process::process;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{panic, thread};
use traces::{Given, Row};

/// Maximum time for a row, on a machine under load and in a debug build.
const LIMIT: Duration = Duration::from_secs(60);
/// Maximum resident memory of a process that reads a huge file.
const MAX_RESIDENT_KB: u64 = 120 << 10;
/// Maximum resident memory of a process that reads a file of a few kilobytes.
const SMALL_RESIDENT_KB: u64 = 32 << 10;

/// The result of a command line.
struct Done {
    code: u8,
    out: String,
    err: String,
}

/// Runs a command line in this process.
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

/// Runs `work` on a thread of its own. Fails if it panics or takes too long.
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

/// All failures, which are reported together.
#[derive(Default)]
struct Failures(Vec<String>);

impl Failures {
    fn check(&mut self, holds: bool, reported: impl FnOnce() -> String) {
        if !holds {
            self.0.push(reported());
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

/// Returns all rows about options. Each comes after the name of the file that it fills, if it fills
/// one, and the option text.
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

/// Creates a folder with the files that the rows name.
fn folder_of(file: Option<&str>, content: &str) -> tempfile::TempDir {
    let folder = jtrail_testkit::temp_dir();
    fs::write(folder.path().join("rules"), "* * INCLUDE\n").expect("written");
    if let Some(name) = file {
        fs::write(folder.path().join(name), content).expect("written");
    }
    folder
}

#[test]
fn wrong_options_are_reported_by_parser_and_command_line() {
    let mut failures = Failures::default();
    for (file, text, row) in option_rows() {
        let folder = folder_of(file, row.0);
        let read =
            |path: &str| jtrail_options::read_file(&folder.path().join(path).display().to_string());
        let options = jtrail_options::parse(text, &read);
        let Err(error) = options else {
            failures.check(false, || format!("{text:?} {:?} is taken", row.0));
            continue;
        };
        let reported = error.to_string();
        failures.check(reported == row.1, || {
            format!("{text:?} {:?}\n  gets {reported}\n  not  {}", row.0, row.1)
        });
        failures.check(!reported.contains(char::is_control), || {
            format!("{text:?}: not one line")
        });

        // `run` takes the same options as arguments, if the text consists of keys and values.
        let pairs: Vec<&str> = text.split(',').collect();
        let word = |pair: &&str| {
            pair.split_once('=').is_some_and(|(key, _)| {
                let is_plain = |b: u8| b.is_ascii_lowercase() || matches!(b, b'.' | b'-');
                !key.is_empty() && key.bytes().all(is_plain)
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
        // The command line itself checks which options exist, and that each is given once. It makes
        // paths absolute.
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
fn wrong_options_are_reported_in_a_jvm() {
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
            // After a wrong option the program does not start. After one in the TPTP syntax it
            // runs.
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

/// Returns the exit code and the line that are expected of a JVM with the options `text`.
/// `reported` is the error in these options.
fn in_a_jvm(text: &str, reported: &str) -> (i32, String) {
    if text.starts_with("JPIAgent") {
        (
            0,
            format!("jtrail: {reported}; the program goes on without a trace"),
        )
    } else {
        (1, format!("jtrail: {reported}"))
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

/// Runs a subcommand on a row's file, with a writer thread if the file is a pipe.
fn read_with(given: &Given, path: &Path, run: impl FnOnce() -> Done) -> Done {
    let Given::Pipe(write) = *given else {
        return run();
    };
    let pipe = path.to_owned();
    let writer = thread::spawn(move || -> io::Result<()> {
        write(&mut File::options().write(true).open(pipe)?)
    });
    let done = run();
    // Writing fails when the reader has seen enough.
    let _ = writer.join().expect("no panic");
    done
}

/// Returns the line of `jtrail verify` that reports what is wrong: the first fault, else the error,
/// else the truncation.
fn decisive_line(out: &str, path: &Path) -> String {
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
    // The last line, because the checker reports the missing end of a truncated trace, too.
    let cut = || lines.iter().rfind(|l| l.contains(": truncated ("));
    let reported = fault.or_else(error).or_else(cut);
    reported.map_or_else(String::new, |l| l.replace(&path, "FILE"))
}

/// Compares a row with the result of `verify`.
fn compare(row: &Row, path: &Path, done: &Done, failures: &mut Failures) {
    let reported = decisive_line(&done.out, path);
    let good = done.code == row.codes.0 && reported == row.says;
    failures.check(good, || {
        format!(
            "{}\n  gets {} {reported:?}\n  not  {} {:?}",
            row.what, done.code, row.codes.0, row.says
        )
    });
    failures.check(done.out.len() < 100_000, || {
        format!("{}: {} bytes said", row.what, done.out.len())
    });
}

fn trace_rows() -> [(&'static str, Vec<Row>); 8] {
    [
        ("Files that are no traces", traces::strange()),
        ("Damage in the binary spelling", traces::binary()),
        ("Damage in the XML spelling", traces::document()),
        ("Events that make no sense", traces::meaning()),
        ("Damage in JinsightLive", formats::jinsight()),
        ("Damage in log profiles", formats::mlpd()),
        ("Damage in trace logs", formats::tracelog()),
        ("Damage in ProfilerJ snapshots", formats::profilerj()),
    ]
}

#[test]
fn damaged_traces_are_reported() {
    let mut failures = Failures::default();
    for row in trace_rows().into_iter().flat_map(|(_, rows)| rows) {
        let folder = jtrail_testkit::temp_dir();
        let path = traces::place(&row.given, &folder.path().join("trace")).to_owned();
        let (name, copy) = (path.display().to_string(), folder.path().join("copy"));
        let other = if name.ends_with("xml") {
            "binary"
        } else {
            "xml"
        };
        let copied = copy.display().to_string();
        let subcommands = [
            vec!["verify", &name],
            vec!["report", &name],
            vec![
                "report", "--format", "json", "--depth", "0", "--top", "0", &name,
            ],
            vec!["dump", &name],
            vec!["convert", "--to", other, &name, &copied],
        ];
        let row = std::sync::Arc::new(row);
        for subcommand in subcommands {
            let line: Vec<String> = subcommand.iter().map(|s| (*s).to_owned()).collect();
            let (given, pipe) = (std::sync::Arc::clone(&row), path.clone());
            let what = format!("{}: {}", row.what, subcommand[0]);
            let done = in_time(&what, LIMIT, move || {
                let line: Vec<&str> = line.iter().map(String::as_str).collect();
                read_with(&given.given, &pipe, || jtrail(&line))
            });
            if subcommand[0] == "verify" {
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
        // The copy exists in full, or not at all.
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
    for subcommand in ["report", "dump", "verify"] {
        let done = jtrail(&[subcommand, &path]);
        assert_eq!(done.code, 0, "{}", done.out);
        let odd = |c: char| c.is_control() && c != '\n';
        assert!(!done.out.contains(odd), "{subcommand}: {:?}", done.out);
    }
}

#[test]
fn huge_input_takes_little_memory() {
    let mut failures = Failures::default();
    for row in huge::rows() {
        for subcommand in ["verify", "report", "dump", "convert"] {
            let folder = jtrail_testkit::temp_dir();
            let path = folder.path().join("trace");
            traces::place(&row.given, &path);
            let name = path.display().to_string();
            let args = match subcommand {
                "convert" => vec![subcommand, "--to", "xml", &name, "/dev/null"],
                _ => vec![subcommand, &name],
            };
            let what = format!("{}: {subcommand}", row.what);
            let mut peak = 0;
            let begin = Instant::now();
            let done = read_with(&row.given, &path, || {
                let (done, kb) = process(&what, &args, None);
                peak = kb;
                done
            });
            eprintln!("{what}: {} MiB, {:?}", peak >> 10, begin.elapsed());
            if subcommand == "verify" {
                compare(&row, &path, &done, &mut failures);
            } else {
                failures.check(done.code == row.codes.1, || {
                    format!("{what}: {}\n{}", done.code, done.err)
                });
            }
            failures.check(peak < MAX_RESIDENT_KB, || format!("{what}: {peak} KiB"));
        }
    }
    failures.finish();
}

/// All rows that consist of bytes are read by name and from standard input. Sizes and ids are as
/// hostile as possible, but the files are small, so the memory must be small, too.
#[test]
fn small_files_take_little_memory_in_a_process() {
    let mut failures = Failures::default();
    for row in trace_rows().into_iter().flat_map(|(_, rows)| rows) {
        let Given::Bytes(_) = row.given else { continue };
        let folder = jtrail_testkit::temp_dir();
        let path = folder.path().join("trace");
        traces::place(&row.given, &path);
        let name = path.display().to_string();
        let (done, peak) = process(row.what, &["verify", &name], None);
        compare(&row, &path, &done, &mut failures);
        failures.check(peak < SMALL_RESIDENT_KB, || {
            format!("{}: {peak} KiB", row.what)
        });
        for subcommand in ["verify", "report"] {
            let (done, peak) = process(row.what, &[subcommand, "-"], Some(&path));
            let code = match subcommand {
                "verify" => row.codes.0,
                _ => row.codes.1,
            };
            failures.check(done.code == code && peak < SMALL_RESIDENT_KB, || {
                format!("{}: {subcommand} -: {}, {peak} KiB", row.what, done.code)
            });
        }
    }
    failures.finish();
}
