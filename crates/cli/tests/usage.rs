//! Wrong command lines, unreadable files, and help.

use crate::common::{Folder, jtrail};
use jtrail_formats::Format;
use std::io::{self, Write};
use std::process::ExitCode;

#[test]
fn wrong_command_lines_say_what_is_wrong() {
    let cases: &[(&[&str], &str)] = &[
        (&[], "Usage: jtrail <COMMAND>"),
        (&["reprot", "x"], "unrecognized subcommand 'reprot'"),
        (&["report"], "<FILE>"),
        (&["report", "x", "y"], "unexpected argument 'y'"),
        (
            &["report", "x", "--format", "csv"],
            "[possible values: table, tsv, json]",
        ),
        (
            &["report", "x", "--sort", "time"],
            "[possible values: self, total, cpu, calls, name]",
        ),
        (&["report", "x", "--lines"], "--coverage"),
        (&["report", "x", "--top", "-1"], "'-1'"),
        (&["report", "x", "--top", "many"], "invalid value 'many'"),
        (&["report", "x", "--depth", "x"], "invalid value 'x'"),
        (
            &["report", "x", "--min", "1"],
            "write a part like 1% or a time like 500us, 10ms, 2s",
        ),
        (
            &["report", "x", "--only", "calls"],
            "[possible values: trace, origin, threads,",
        ),
        (
            &["report", "x", "--thread", ""],
            "an id or a name is needed",
        ),
        (
            &["report", "x", "--thread", "99999999999999999999"],
            "too large for an id",
        ),
        (
            &["dump", "x", "--from", "1h"],
            "write a time since the trace's first, like 1.5s, 20ms or 7 for seconds",
        ),
        (
            &["report", "x", "--until", "2026-02-30T00:00:00Z"],
            "or one in UTC, like 2026-01-31T12:00:00Z",
        ),
        (
            &["report", "x", "--to", "5ms"],
            "unexpected argument '--to'",
        ),
        (&["dump", "x", "--class", ""], "a class name is needed"),
        (&["dump", "x", "--colour"], "unexpected argument '--colour'"),
        (&["convert", "x"], "<OUTPUT>"),
        (
            &["convert", "x", "y.txt"],
            "no format has the extension of y.txt; add --to xml or binary or jinsight or mlpd or tracelog or profilerj",
        ),
        (
            &["convert", "x", "-"],
            "no format has the extension of -; add --to xml or binary or jinsight or mlpd or tracelog or profilerj",
        ),
        (
            &["convert", "x", "y", "--to", "pdf"],
            "[possible values: xml, binary, jinsight, mlpd, tracelog, profilerj, trail, perfetto, ",
        ),
        (&["verify"], "<FILE>..."),
        (&["recover", "x"], "--output <FILE>"),
        (&["recover", "-", "-o", "y"], "standard input can't be"),
        (
            &["recover", "x", "-o", "-", "--json"],
            "can't both go to standard output",
        ),
        (&["run"], "<COMMAND>..."),
        (&["run", "java"], "unexpected argument 'java'"),
        (
            &["run", "--fromat", "xml", "--", "java"],
            "a similar argument exists: '--format'",
        ),
        (
            &["run", "--everysample", "true", "--", "java"],
            "a similar argument exists: '--tracelog.every-sample'",
        ),
        (
            &["attach", "1", "--spool=false"],
            "a similar argument exists: '--trail.spool'",
        ),
        (
            &["convert", "x", "y.mlpd", "--mlpd", "17"],
            "a similar argument exists: '--mlpd.version'",
        ),
        (
            &["convert", "x", "y.trail", "--spool", "true"],
            "unexpected argument '--spool' found\n\n  tip: to pass '--spool' as a value",
        ),
        (
            &["run", "--mlpd.version", "2", "--", "java"],
            "--mlpd.version: no such value \"2\"; allowed are 1, 17",
        ),
        (
            &["run", "--format", "xml", "--format", "xml", "--", "java"],
            "cannot be used multiple times",
        ),
        (
            &["run", "--format", "pdf", "--", "java"],
            "--format: no such value \"pdf\"; allowed are xml, binary, jinsight, mlpd, tracelog, profilerj, trail, perfetto, chrome, jfr, collapsed, none",
        ),
        (
            &["run", "--include", "a/b", "--", "java"],
            "--include: class names have dots, not slashes; did you mean \"a.b\"?",
        ),
        (
            &["run", "--filters", "no-such-file", "--", "java"],
            "--filters: can't read \"no-such-file\"",
        ),
        (
            &["run", "--buffer", "1", "--", "java"],
            "--buffer: \"1\" is out of bounds",
        ),
        (
            &["run", "--agent", "no-such-agent.so", "--", "java"],
            "no agent at no-such-agent.so (named by --agent)",
        ),
        (
            &["completions", "cmd"],
            "[possible values: bash, elvish, fish, powershell, zsh]",
        ),
    ];
    for (args, expected) in cases {
        let done = jtrail(args);
        assert_eq!(done.code, 2, "{args:?}: {}", done.err);
        assert!(done.err.contains(expected), "{args:?}: {}", done.err);
        assert_eq!(done.out, "", "{args:?}");
    }
}

#[test]
fn files_that_are_no_traces_are_distinguished() {
    let folder = Folder::new();
    let directory = folder.path().to_str().expect("UTF-8").to_owned();
    let files = [
        (
            folder.at("missing").to_str().expect("UTF-8").to_owned(),
            "No such file",
        ),
        (directory, "it is a directory"),
        (folder.put("empty", b""), "not a trace: it is empty"),
        (
            folder.put("zip", b"PK\x03\x04....."),
            "the ZIP archive is truncated",
        ),
        (
            folder.put("text", b"hello, world"),
            "not a trace: its first bytes are those of no format",
        ),
    ];
    for (file, expected) in &files {
        for subcommand in ["report", "dump", "verify"] {
            let done = jtrail(&[subcommand, file]);
            assert_eq!(done.code, 2, "{subcommand} {file}: {}", done.err);
            let said = done.err + &done.out;
            assert!(
                said.contains(expected) && said.contains(file),
                "{subcommand}: {said}"
            );
        }
        let target = folder.at("out.trail");
        let done = jtrail(&["recover", file, "-o", target.to_str().expect("UTF-8")]);
        assert_eq!(done.code, 2, "recover {file}: {}", done.err);
        assert!(done.err.contains(file), "{}", done.err);
        assert!(!target.exists(), "recover {file} left something behind");
        let target = folder.at("out.trcxml");
        let done = jtrail(&["convert", file, target.to_str().expect("UTF-8")]);
        assert_eq!(done.code, 2, "convert {file}: {}", done.err);
        assert!(!target.exists(), "convert {file} left something behind");
    }
}

#[test]
fn help_and_version_go_to_standard_output() {
    for args in [
        &["--help"][..],
        &["--version"],
        &["help"],
        &["run", "--help"],
        &["report", "-h"],
    ] {
        let done = jtrail(args);
        assert_eq!((done.code, done.err.as_str()), (0, ""), "{args:?}");
        assert!(!done.out.is_empty());
    }
}

#[test]
fn help_completions_and_manual_have_each_key_of_the_agent() {
    let takes_keys = ["run", "attach", "record"];
    for subcommand in takes_keys {
        for flag in ["-h", "--help"] {
            let help = jtrail(&[subcommand, flag]).out;
            for subject in jtrail_options::SUBJECTS {
                assert!(help.contains(&format!("\n{}:\n", subject.title)), "{help}");
            }
            for key in jtrail_options::keys() {
                let line = format!("--{} <VALUE>", key.name);
                assert!(
                    help.contains(&line),
                    "{subcommand} {flag} has no {}",
                    key.name
                );
            }
        }
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = jtrail(&["completions", shell]).out;
        for key in jtrail_options::keys() {
            // In fish, a flag is written without its dashes.
            let flag = match shell {
                "fish" => format!("-l {} ", key.name),
                _ => format!("--{}", key.name),
            };
            let times = script.matches(&flag).count();
            assert!(
                times >= takes_keys.len(),
                "{shell}: {} {times} times",
                key.name
            );
        }
    }
    let page = jtrail(&["man"]).out;
    for key in jtrail_options::keys() {
        let flag = format!("\\-\\-{}\\fR", key.name.replace('-', "\\-"));
        let times = page.matches(&flag).count();
        assert!(
            times >= takes_keys.len(),
            "{flag} is {times} times on the page"
        );
    }
}

#[test]
fn help_shows_the_defaults_of_the_command_line() {
    let help = jtrail(&["run", "-h"]).out;
    let words: Vec<&str> = help.split_whitespace().collect();
    let help = words.join(" ");
    for default in [
        "trail",
        "trace.trail; the extension is the format's:",
        "64m",
    ] {
        assert!(help.contains(&format!("[default: {default}")), "{default}");
    }
}

#[test]
fn completions_and_manual_come_from_the_same_definitions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let done = jtrail(&["completions", shell]);
        assert_eq!((done.code, done.err.as_str()), (0, ""), "{shell}");
        for word in [
            "verify",
            "overflow",
            "no-summary",
            "bytecode",
            "coverage",
            "live",
        ] {
            assert!(done.out.contains(word), "{shell} does not know {word}");
        }
    }
    let page = jtrail(&["man"]).out;
    for word in [
        ".TH jtrail 1",
        "jtrail\\-run",
        "\\-\\-overflow",
        "\\-\\-depth",
        "\\-\\-exceptions",
        "heap_classes",
        "jtrail\\-verify",
    ] {
        assert!(page.contains(word), "the page has no {word}");
    }
}

#[test]
fn a_dash_stands_for_standard_input() {
    let folder = Folder::new();
    let file = std::fs::File::open(folder.sample(Format::TptpXml)).expect("there");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_jtrail"))
        .args(["report", "-", "--only", "trace"])
        .stdin(file)
        .output()
        .expect("jtrail starts");
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(text.contains("  calls                     7\n"), "{text}");
}

/// Writer that fails like a closed pipe after some bytes.
struct Pipe(usize);

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::Error::from(io::ErrorKind::BrokenPipe));
        }
        let n = bytes.len().min(self.0);
        self.0 -= n;
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let folder = Folder::new();
    let file = folder.sample(Format::TptpBinary);
    for args in [
        &["report", &file][..],
        &["report", &file, "--format", "json"],
        &["report", &file, "--format", "tsv"],
        &["dump", &file],
        &["convert", &file, "-", "--to", "xml"],
        &["verify", &file],
        &["verify", &file, "--json"],
        &["compare", &file, &file],
        &["man"],
        &["completions", "bash"],
    ] {
        for room in [0, 10] {
            let mut err = Vec::new();
            let args = ["jtrail"].iter().chain(args).map(Into::into);
            let code = jtrail_cli::main_with(args, &mut Pipe(room), &mut err);
            assert_eq!(code, ExitCode::SUCCESS, "{}", String::from_utf8_lossy(&err));
            assert_eq!(err, b"");
        }
    }
}
