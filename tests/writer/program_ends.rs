//! However a program ends, its trace ends well-formed, and has the program's calls.

use crate::support::compile::compile;
use crate::support::{
    FILTER, Trace, Traced, VERSIONS, agent, few_versions, one_version, program, traced,
};
use jtrail_testkit::Jdk;

/// Runs `harness.Endings` with one argument. Checks the exit code and the trace.
fn ending(jdk: &Jdk, how: &str, code: i32) -> Traced {
    let run = program(jdk, "harness.Endings").arg(how);
    let run = traced(run, &format!("format=binary,{FILTER}"));
    run.output.assert_exit(code);
    run.trace.assert_sound(&run.output);
    assert!(run.trace.kinds.contains(&"runtime_init_done"));
    assert!(
        run.trace.kinds.contains(&"runtime_shutdown"),
        "{how}, JDK {}",
        jdk.feature
    );
    run
}

fn assert_counts(run: &Traced) {
    let Traced { output, trace, .. } = run;
    output
        .counts()
        .assert_matches(&trace.calls, &trace.uninstrumented, &["harness."], &[]);
}

#[test]
fn normal_end_exit_halt_and_uncaught_exceptions() {
    for jdk in Jdk::require(&few_versions()) {
        for (how, code) in [
            ("return", 0),
            ("exit", 3),
            ("exit-thread", 4),
            ("halt", 5),
            ("uncaught", 1),
            ("uncaught-thread", 0),
            ("hook", 0),
            ("hook-exit", 7),
            ("last-thread", 0),
        ] {
            eprintln!("{how}, JDK {}", jdk.feature);
            assert_counts(&ending(&jdk, how, code));
        }
    }
}

#[test]
fn daemon_threads_still_running() {
    for jdk in Jdk::require(&VERSIONS) {
        let run = ending(&jdk, "daemon", 0);
        let running: Vec<_> = run.trace.threads.iter().filter(|t| t.open > 0).collect();
        assert!(!running.is_empty(), "JDK {}", jdk.feature);
        // Calls that are open when the JVM stops stay open, and their threads do not end.
        assert!(running.iter().all(|t| !t.ended));
        assert_eq!(
            run.trace.totals().open as i64,
            run.trace.threads.iter().map(|t| t.open).sum::<i64>()
        );
    }
}

/// A JVM that reports dead objects while it ends and collects garbage can deadlock.
#[test]
fn garbage_to_the_end() {
    let folder = jtrail_testkit::temp_dir();
    compile("Litter", include_str!("Litter.java"), folder.path());
    for jdk in Jdk::require(&one_version()) {
        for how in ["return", "exit", "halt"] {
            for _ in 0..4 {
                let run = program(&jdk, "Litter").class_path(folder.path()).arg(how);
                let run = run.jvm_arg("-Xmx200m");
                let run = traced(run, "format=binary,events=threads+gc+free");
                run.output.assert_exit(0);
                run.trace.assert_sound(&run.output);
                assert!(run.trace.collections > 0 && run.trace.totals().frees > 0);
            }
        }
    }
}

#[test]
fn exit_while_another_thread_is_deep_down() {
    for jdk in Jdk::require(&VERSIONS) {
        let run = ending(&jdk, "deep", 6);
        assert_counts(&run);
        assert!(
            run.trace.threads.iter().any(|t| t.open > 10_000),
            "JDK {}",
            jdk.feature
        );
    }
}

#[test]
fn sigterm() {
    for jdk in Jdk::require(&one_version()) {
        for how in ["term", "busy"] {
            let folder = jtrail_testkit::temp_dir();
            let file = folder.path().join("trace");
            let run = program(&jdk, "harness.Endings").arg(how);
            let options = format!("format=binary,{FILTER},file={}", file.display());
            let mut running = run.agent(agent(), options).spawn().expect("the JVM starts");
            running.wait_ready();
            running.signal("TERM").expect("it is there");
            let output = running.wait().expect("it ends");
            output.assert_exit(143);
            let trace = Trace::read(&file).expect("a trace");
            trace.assert_sound(&output);
            output
                .counts()
                .assert_matches(&trace.calls, &trace.uninstrumented, &["harness."], &[]);
        }
    }
}
