//! `jtrail run` with programs in place of a JVM.

use crate::common::{Done, Folder, encode, jtrail, sample};
use jtrail_formats::Format;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Creates a folder with an agent that is never loaded, and a script with the given name and text.
fn set_up(name: &str, script: &str) -> (Folder, String, String) {
    let folder = Folder::new();
    let agent = folder.put("libjtrail.so", b"");
    let program = folder.put(name, format!("#!/bin/sh\n{script}\n").as_bytes());
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("executable");
    (folder, agent, program)
}

/// Returns a script that saves the agent's options in the file `told`, and copies a prepared trace
/// to the path in these options. `expected` is what the options are in the script, such as `$*`.
fn writes_a_trace(folder: &Folder, expected: &str) -> String {
    let dir = folder.path().display();
    format!(
        "echo \"{expected}\" > {dir}/told\n\
         target=$(echo \"{expected}\" | sed -n 's/.*file=\\([^,]*\\).*/\\1/p' | sed \"s/%p/$$/\")\n\
         cp {dir}/prepared \"$target\"\nexit 5"
    )
}

#[test]
fn the_agent_option_follows_java_and_the_summary_reports_what_was_recorded() {
    let (folder, agent, program) = set_up("java", "");
    let script = format!("#!/bin/sh\n{}", writes_a_trace(&folder, "$*"));
    fs::write(&program, script).expect("written");
    folder.put("prepared", &encode(Format::Trail, &sample()));
    let trace = folder.at("app.trail");
    let trace = trace.to_str().expect("UTF-8");
    let Done { code, err, .. } = jtrail(&[
        "run",
        "--agent",
        &agent,
        "--file",
        trace,
        "--include",
        "com.acme.*",
        "--",
        &program,
        "-cp",
        "x",
        "Main",
    ]);
    assert_eq!(code, 5, "{err}");
    let expected = fs::read_to_string(folder.at("told")).expect("told");
    let agent = fs::canonicalize(&agent).expect("there");
    assert_eq!(
        expected.trim(),
        format!(
            "-agentpath:{}=format=trail,file={trace},include=com.acme.* -cp x Main",
            agent.display()
        )
    );
    let lines: Vec<&str> = err.lines().collect();
    assert_eq!(lines.len(), 2, "{err}");
    assert!(lines[0].contains(", time: "), "{err}");
    assert!(
        lines[0].starts_with(
            "jtrail: calls: 7, threads: 2, classes: 1, events lost: 0, methods not instrumented: 1"
        ),
        "{err}"
    );
    assert!(lines[1].starts_with(&format!("jtrail: {trace} (")), "{err}");
}

#[test]
fn other_programs_get_the_agent_by_the_variable() {
    let (folder, agent, program) = set_up("start.sh", "");
    let script = format!(
        "#!/bin/sh\n{}",
        writes_a_trace(&folder, "$JAVA_TOOL_OPTIONS")
    );
    fs::write(&program, script).expect("written");
    folder.put("prepared", &encode(Format::TptpXml, &sample()));
    let pattern = folder.at("app-%p.trcxml");
    let pattern = pattern.to_str().expect("UTF-8");
    let done = jtrail(&[
        "run", "--agent", &agent, "--format", "xml", "--file", pattern, "--", &program,
    ]);
    assert_eq!(done.code, 5, "{}", done.err);
    let expected = fs::read_to_string(folder.at("told")).expect("told");
    assert!(
        expected.contains("-agentpath:") && expected.contains("format=xml"),
        "{expected}"
    );
    assert!(done.err.contains("calls: 7, threads: 2"), "{}", done.err);
    assert!(
        done.err
            .contains(&folder.at("app-").to_str().expect("UTF-8").to_owned()),
        "{}",
        done.err
    );
}

#[test]
fn a_program_that_writes_no_trace_is_reported() {
    let (folder, agent, program) = set_up("java", "exit 3");
    let trace = folder.at("x.trail");
    let trace = trace.to_str().expect("UTF-8");
    let done = jtrail(&["run", "--agent", &agent, "--file", trace, "--", &program]);
    assert_eq!(done.code, 3);
    assert!(
        done.err.contains(&format!("there is no trace at {trace}")),
        "{}",
        done.err
    );
    let done = jtrail(&[
        "run",
        "--no-summary",
        "--agent",
        &agent,
        "--file",
        trace,
        "--",
        &program,
    ]);
    assert_eq!((done.code, done.err.as_str()), (3, ""));
    let done = jtrail(&["run", "--agent", &agent, "--format", "none", "--", &program]);
    assert!(
        done.err.contains("no trace file was asked for"),
        "{}",
        done.err
    );
}

#[test]
fn a_trace_without_an_end_is_reported() {
    let (folder, agent, program) = set_up("java", "");
    let script = format!("#!/bin/sh\n{}", writes_a_trace(&folder, "$*"));
    fs::write(&program, script).expect("written");
    let mut events = sample();
    events.truncate(events.len() - 3);
    folder.put("prepared", &encode(Format::TptpBinary, &events));
    let trace = folder.at("x.trail");
    let done = jtrail(&[
        "run",
        "--agent",
        &agent,
        "--file",
        trace.to_str().expect("UTF-8"),
        "--",
        &program,
    ]);
    assert!(done.err.contains("the trace has no end"), "{}", done.err);
}

#[test]
fn a_program_that_does_not_exist_is_an_error() {
    let (_folder, agent, _) = set_up("java", "");
    let done = jtrail(&["run", "--agent", &agent, "--", "/no/such/java"]);
    assert_eq!(done.code, 2);
    assert!(
        done.err.contains("can't start /no/such/java: No such file"),
        "{}",
        done.err
    );
}

#[test]
fn standard_input_and_signals_reach_the_program() {
    let (folder, agent, program) = set_up(
        "java",
        "read line; echo \"$line\"; trap 'exit 7' TERM; touch $(dirname $0)/ready\nwhile :; do sleep 0.05; done",
    );
    let mut child = Command::new(env!("CARGO_BIN_EXE_jtrail"))
        .args(["run", "--no-summary", "--agent", &agent, "--", &program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("jtrail starts");
    std::io::Write::write_all(child.stdin.as_mut().expect("piped"), b"hello\n").expect("written");
    for _ in 0..200 {
        if folder.at("ready").exists() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .expect("kill")
            .success()
    );
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(output.stdout, b"hello\n");
}
