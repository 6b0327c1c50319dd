//! `jtrail run`, `convert`, `report` and `dump`, with traces of real programs.

use crate::support::cli::{events, jtrail};
use crate::support::{FILTER, agent, few_versions, harness, of_project, program};
use jtrail_testkit::Jdk;
use std::path::Path;
use std::process::{Command, ExitCode};

fn assert_success(args: &[&str]) -> String {
    let (code, out, err) = jtrail(args);
    assert_eq!(code, ExitCode::SUCCESS, "{args:?}\n{out}{err}");
    out
}

#[test]
fn traces_convert_there_and_back() {
    for jdk in Jdk::require(&few_versions()) {
        let folder = jtrail_testkit::temp_dir();
        let path = |name: &str| folder.path().join(name).to_str().expect("text").to_owned();
        let (first, xml, second) = (path("a.trcbin"), path("b.trcxml"), path("c.trcbin"));
        let options = format!("format=binary,{FILTER},file={first}");
        program(&jdk, "harness.Exceptions")
            .agent(agent(), options)
            .output()
            .assert_exit(0);
        assert_success(&["convert", &first, &xml]);
        assert_success(&["convert", &xml, &second]);
        for file in [&first, &xml, &second] {
            assert_success(&["verify", file]);
        }
        assert_eq!(
            events(Path::new(&first), false),
            events(Path::new(&xml), false)
        );
        assert!(std::fs::read(&first).expect("there") == std::fs::read(&second).expect("there"));
    }
}

#[test]
fn run_passes_on_what_the_program_does_and_sums_up() {
    for jdk in Jdk::require(&few_versions()) {
        let folder = jtrail_testkit::temp_dir();
        let trace = folder.path().join("trace");
        let (trace, agent) = (trace.to_str().expect("text"), agent());
        let classes = harness().class_path(&jdk).into_string().expect("text");
        let java = jdk.java.to_str().expect("text");
        let (code, _, err) = jtrail(&[
            "run",
            "--agent",
            agent.to_str().expect("text"),
            "--format",
            "binary",
            "--file",
            trace,
            "--exclude",
            "harness.Expect*",
            "--",
            java,
            "-cp",
            &classes,
            "harness.Endings",
            "exit",
        ]);
        assert_eq!(
            format!("{code:?}"),
            format!("{:?}", ExitCode::from(3)),
            "{err}"
        );
        assert!(
            err.contains("calls: ") && err.contains("events lost: 0"),
            "{err}"
        );
        assert!(!err.contains("--include"), "{err}");

        let report = assert_success(&["report", trace]);
        assert!(report.contains("harness.Endings.work(int)"), "{report}");
        let tsv = assert_success(&["report", "--format", "tsv", trace]);
        assert!(
            tsv.lines()
                .any(|l| l.contains('\t') && l.contains("harness.Endings.work")),
            "{tsv}"
        );
        let json = assert_success(&["report", "--format", "json", trace]);
        assert!(json.contains("harness.Endings.work"), "{json}");
        let dump = assert_success(&["dump", trace, "--class", "harness.Endings"]);
        assert!(dump.contains("harness.Endings.exit(I)V"), "{dump}");
    }
}

/// A second reader, in Python, written from the format's specification alone.
#[test]
fn a_reader_by_the_specification_reads_trails() {
    let script = of_project("scripts/trail_dump");
    for jdk in Jdk::require(&few_versions()) {
        let folder = jtrail_testkit::temp_dir();
        let file = folder.path().join("app.trail");
        let file = file.to_str().expect("text");
        let run = program(&jdk, "harness.Exceptions");
        let options =
            format!("format=trail,events=+exceptions+cpu+alloc+monitors,{FILTER},file={file}");
        run.agent(agent(), options).output().assert_exit(0);
        let read = Command::new("python3").arg(&script).arg(file).output();
        let read = read.expect("python3 runs");
        assert!(read.status.success(), "{read:?}");
        let read = String::from_utf8(read.stdout).expect("UTF-8");
        let dump = assert_success(&["dump", file]);
        let is_reported = |line: &&str| {
            let event = line.split(' ').nth(2).expect("an event");
            ["enter", "leave", "thread-start", "thread-end"].contains(&event)
        };
        let expected: Vec<&str> = dump.lines().filter(is_reported).collect();
        assert!(expected.len() > 100, "{}", expected.len());
        assert!(read.lines().eq(expected), "JDK {}", jdk.feature);
    }
}

/// A trace without calls is not taken for a program that calls nothing.
#[test]
fn run_names_the_filter_if_nothing_was_called() {
    for jdk in Jdk::require(&few_versions()) {
        let folder = jtrail_testkit::temp_dir();
        let trace = folder.path().join("a.trail");
        let (trace, agent) = (trace.to_str().expect("text"), agent());
        let run = |options: &[&str]| {
            let agent = agent.to_str().expect("text");
            let java = jdk.java.to_str().expect("text");
            let args = ["run", "--agent", agent, "--file", trace];
            let command = ["--", java, "-version"];
            let (code, _, err) = jtrail(&[&args, options, &command].concat());
            assert_eq!(code, ExitCode::SUCCESS, "{err}");
            err
        };
        let warning = "calls: 0, ";
        let reason = "no method was called that the filter selects (see --include)";
        let err = run(&[]);
        assert!(err.contains(warning) && err.contains(reason), "{err}");
        let err = run(&["--events", "threads+classes"]);
        assert!(err.contains(warning) && !err.contains(reason), "{err}");
    }
}
