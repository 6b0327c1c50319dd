//! If the trace can't be written, the program runs on unaffected.

use crate::support::{FILTER, Trace, agent, few_versions, program, traced};
use jtrail_model::Note;
use jtrail_testkit::{Jdk, Output};
use std::fs::File;
use std::io::Read;
use std::process::Command;

/// Returns output and exit code of `harness.Fib` without the agent.
fn plain(jdk: &Jdk) -> Output {
    let output = program(jdk, "harness.Fib").output();
    output.assert_exit(0);
    output
}

/// Runs `harness.Fib` with the agent. Only standard error may differ from a run without it.
fn unharmed(jdk: &Jdk, options: &str) -> Output {
    let output = program(jdk, "harness.Fib").agent(agent(), options).output();
    output.assert_exit(0);
    assert_eq!(output.stdout, plain(jdk).stdout);
    output
}

fn one_message(output: &Output, expected: &str) {
    let ours: Vec<&str> = output
        .stderr
        .lines()
        .filter(|l| l.starts_with("jtrail: "))
        .collect();
    assert_eq!(ours.len(), 1, "{output}");
    assert!(
        ours[0].contains(expected),
        "{expected:?} is not in {:?}",
        ours[0]
    );
}

#[test]
fn unwritable_file() {
    for jdk in Jdk::require(&few_versions()) {
        let output = unharmed(&jdk, "format=binary,file=/nonexistent/folder/trace");
        one_message(
            &output,
            "cannot write /nonexistent/folder/trace: No such file or directory",
        );
        let output = unharmed(&jdk, "format=binary,file=/");
        one_message(&output, "cannot write /: Is a directory");
    }
}

#[test]
fn full_disk() {
    for jdk in Jdk::require(&few_versions()) {
        let output = unharmed(&jdk, "format=binary,file=/dev/full");
        one_message(&output, "No space left on device");
    }
}

#[test]
fn full_disk_keeps_what_was_written() {
    for jdk in Jdk::require(&few_versions()) {
        let folder = jtrail_testkit::temp_dir();
        let file = folder.path().join("trace");
        // A limit on file sizes truncates a write, like a disk that is full. The JVM ignores the
        // signal that the limit causes.
        let classes = crate::support::harness().class_path(&jdk);
        let options = format!(
            "-agentpath:{}=format=binary,file={}",
            agent().display(),
            file.display()
        );
        let script = "trap '' XFSZ; ulimit -f 4000; exec \"$0\" \"$@\"";
        let output = Command::new("bash")
            .args(["-c", script])
            .arg(&jdk.java)
            .args(["-XX:-UsePerfData", &options, "-cp"])
            .arg(&classes)
            .args(["harness.Fib", "22"])
            .output()
            .expect("bash is there");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{stderr}");
        assert!(
            stderr.contains("jtrail: cannot write") && stderr.contains("File too large"),
            "{stderr}"
        );
        let trace = Trace::read(&file).expect("what was written can be read, to its last byte");
        assert!(
            trace
                .faults
                .iter()
                .all(|f| f.contains("end") || f.contains("close")),
            "{:?}",
            trace.faults
        );
        assert!(trace.calls["harness.Fib.fib(I)I"] > 10_000);
    }
}

#[test]
fn closed_pipe() {
    for jdk in Jdk::require(&few_versions()) {
        let folder = jtrail_testkit::temp_dir();
        let pipe = folder.path().join("pipe");
        assert!(
            Command::new("mkfifo")
                .arg(&pipe)
                .status()
                .expect("mkfifo is there")
                .success()
        );
        let reader = {
            let pipe = pipe.clone();
            std::thread::spawn(move || {
                let mut head = [0; 4];
                File::open(pipe)?.read_exact(&mut head)?;
                Ok::<_, std::io::Error>(head)
            })
        };
        let output = unharmed(&jdk, &format!("format=binary,file={}", pipe.display()));
        assert_eq!(
            &reader.join().expect("no panic").expect("four bytes"),
            b"0TBF"
        );
        one_message(&output, "Broken pipe");
    }
}

#[test]
fn standard_output_carries_the_trace() {
    for jdk in Jdk::require(&few_versions()) {
        let output = program(&jdk, "harness.Fib")
            .agent(agent(), format!("file=-,{FILTER}"))
            .output();
        output.assert_exit(0);
        assert!(
            output.stdout.contains("<TRACE>"),
            "{}",
            &output.stdout[..200]
        );
        assert!(output.stdout.trim_end().ends_with("</TRACE>"));
    }
}

#[test]
fn losses_are_counted() {
    for jdk in Jdk::require(&few_versions()) {
        for clock in ["exact", "tick"] {
            are_losses_counted(&jdk, clock);
        }
    }
}

fn are_losses_counted(jdk: &Jdk, clock: &str) {
    let run = program(jdk, "harness.Fib").arg("25");
    let options = format!("format=xml,clock={clock},overflow=drop,buffer=1m,include=harness.Fib");
    let run = traced(run, &options);
    run.output.assert_exit(0);
    assert!(run.trace.faults.is_empty(), "{:?}", run.trace.faults);
    let totals = run.trace.totals();
    let notes = run.trace.notes.iter().filter_map(|n| match n {
        Note::Lost(lost) => Some(lost.events),
        _ => None,
    });
    assert_eq!(notes.sum::<u64>(), totals.lost);
    let reported = run.output.counts();
    let happened: u64 = 2 * reported
        .exact
        .iter()
        .filter(|(k, _)| k.contains(".Fib."))
        .map(|(_, n)| n)
        .sum::<u64>();
    assert_eq!(
        totals.enters + totals.leaves + totals.lost,
        happened,
        "{totals:?}"
    );
}
