//! Agents are attached and detached while virtual threads change carriers all the time, and native
//! threads attach and detach.

use crate::support::attach::AttachedRun;
use crate::support::{Trace, few_versions, program};
use jtrail_testkit::Jdk;
use serde_json::Value;
use std::thread::sleep;
use std::time::Duration;

/// An agent that is attached while virtual threads mount attributes calls and CPU time to the right
/// threads.
#[test]
fn virtual_threads_are_on_the_move() {
    for jdk in Jdk::require(&few_versions()) {
        if jdk.feature < 21 {
            continue;
        }
        let run = program(&jdk, "harness.Mounting")
            .jvm_arg("-Djdk.virtualThreadScheduler.parallelism=2")
            .jvm_arg("-Djdk.virtualThreadScheduler.maxPoolSize=2");
        let app = AttachedRun::of(run);
        for turn in 0..12 {
            let events = ["methods+threads+cpu", "methods+threads+cpu+mounts"][turn % 2];
            let file = format!("trace-{turn}");
            app.attach(&file, &["--events", events, "--buffer", "64m"])
                .expect("it is taken");
            sleep(Duration::from_millis(60));
            app.detach();
        }
        let (folder, output) = app.end();
        assert!(output.stdout.contains("[sound]"), "{output}");
        for turn in 0..12 {
            let file = folder.path().join(format!("trace-{turn}"));
            let trace = Trace::read(&file).unwrap_or_else(|e| panic!("{turn}: {e}\n{output}"));
            assert!(
                trace.faults.is_empty(),
                "JDK {}, {turn}: {:?}",
                jdk.feature,
                trace.faults
            );
            trace.assert_sound(&output);
            assert!(trace.calls["harness.Mounting.step(I)J"] > 0, "{turn}");
            // Calls of a virtual thread are never recorded as its carrier's.
            let carriers = trace.threads.iter().filter(|t| t.group == "CarrierThreads");
            assert_eq!(carriers.map(|t| t.steps.len()).sum::<usize>(), 0, "{turn}");
        }
    }
}

/// Native threads attach and detach all the time, while agents come and go. Each agent records
/// calls, and the JVM does not crash.
#[test]
fn native_threads_attach_and_detach() {
    for jdk in Jdk::require(&few_versions()) {
        let app = AttachedRun::of_native(&jdk);
        let kinds = ["methods+threads+monitors+gc", "methods+threads+alloc"];
        const TURNS: usize = 12;
        for turn in 0..TURNS {
            let file = format!("trace-{turn}");
            app.attach(&file, &["--events", kinds[turn % 2]])
                .expect("it is taken");
            sleep(Duration::from_millis(60));
            // More calls than those of threads that attached before the agent: three threads, with
            // enters and leaves of three calls each.
            app.wait_until("calls of threads that attach", || {
                let status = app.ctl(&["status", "--json"]).expect("answered");
                let status: Value = serde_json::from_str(&status).expect("JSON");
                status["counts"]["calls"].as_u64() > Some(2 * 3 * 3)
            });
            app.detach();
        }
        let (folder, output) = app.end();
        assert!(!output.stderr.contains("jtrail: "), "{output}");
        for turn in 0..TURNS {
            let file = folder.path().join(format!("trace-{turn}"));
            let trace = Trace::read(&file).unwrap_or_else(|e| panic!("{turn}: {e}\n{output}"));
            trace.assert_sound(&output);
            let calls = trace.calls.get("harness.Threads.step(I)I");
            assert!(
                calls.is_some(),
                "JDK {}, {turn}: {:?}\n{output}",
                jdk.feature,
                trace.calls
            );
        }
    }
}
