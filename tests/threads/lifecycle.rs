//! Threads, platform and virtual: their names, groups, and calls. Garbage collections.

use crate::support::{FILTER, Step, Trace, collectors, few_versions, program, traced};
use jtrail_testkit::Jdk;

#[test]
fn platform_threads() {
    for jdk in Jdk::require(&few_versions()) {
        for format in ["binary", "xml"] {
            let run = traced(
                program(&jdk, "harness.Threads"),
                &format!("format={format},{FILTER}"),
            );
            run.output.assert_exit(0);
            run.trace.assert_sound(&run.output);
            let counts = run.output.counts();
            counts.assert_matches(
                &run.trace.calls,
                &run.trace.uninstrumented,
                &["harness."],
                &[],
            );
            let main = run.trace.thread("main");
            assert_eq!(
                (main.group.as_str(), main.ended),
                ("main", true),
                "JDK {}",
                jdk.feature
            );
            assert_eq!(run.trace.threads.iter().map(|t| t.open).sum::<i64>(), 0);
        }
    }
}

#[test]
fn many_threads_over_few_buffers() {
    for jdk in Jdk::require(&few_versions()) {
        for clock in ["exact", "tick"] {
            // 1 MB is four chunks, far fewer than there are threads.
            let run = program(&jdk, "harness.Threads").arg("600");
            let options = format!("format=binary,clock={clock},buffer=1m,{FILTER}");
            let run = traced(run, &options);
            run.output.assert_exit(0);
            run.trace.assert_sound(&run.output);
            let counts = run.output.counts();
            counts.assert_matches(
                &run.trace.calls,
                &run.trace.uninstrumented,
                &["harness."],
                &[],
            );
        }
    }
}

#[test]
fn thousands_of_virtual_threads() {
    for jdk in Jdk::require(&few_versions()) {
        if jdk.feature < 21 {
            continue; // JVM without virtual threads
        }
        for engine in ["bytecode", "bytecode,clock=tick", "jvmti"] {
            let run = program(&jdk, "harness.VirtualThreads").arg("3000");
            let run = traced(run, &format!("format=binary,engine={engine},{FILTER}"));
            run.output.assert_exit(0);
            run.trace.assert_sound(&run.output);
            let counts = run.output.counts();
            let hidden: Vec<&str> = run
                .trace
                .calls
                .keys()
                .filter(|k| k.contains("$$Lambda"))
                .map(String::as_str)
                .collect();
            counts.assert_matches(
                &run.trace.calls,
                &run.trace.uninstrumented,
                &["harness."],
                &hidden,
            );
            let threads = &run.trace.threads;
            let virtual_ones: Vec<_> = threads
                .iter()
                .filter(|t| t.group == "VirtualThreads")
                .collect();
            assert!(
                virtual_ones.len() >= 3000,
                "{} virtual threads",
                virtual_ones.len()
            );
            assert!(virtual_ones.iter().all(|t| t.open == 0));
            // The calls belong to the virtual threads, not to their carriers.
            let carriers = threads.iter().filter(|t| t.group == "CarrierThreads");
            assert_eq!(carriers.map(|t| t.steps.len()).sum::<usize>(), 0);
        }
    }
}

#[test]
fn collections_alternate_and_are_all_there() {
    for jdk in Jdk::require(&few_versions()) {
        for collector in collectors::all(&jdk) {
            let run = program(&jdk, "harness.Gc")
                .jvm_arg("-XX:+UnlockExperimentalVMOptions")
                .jvm_arg(&collector);
            let run = traced(run, &format!("format=binary,{FILTER}"));
            run.output.assert_exit(0);
            run.trace.assert_sound(&run.output);
            let gc: Vec<_> = run
                .trace
                .kinds
                .iter()
                .filter(|k| k.starts_with("gc_"))
                .collect();
            assert!(
                gc.chunks(2).all(|pair| pair == [&"gc_start", &"gc_finish"]),
                "{gc:?}"
            );
            let asked = run.output.counts().fact("min-collections");
            assert!(
                run.trace.collections >= asked,
                "{} of {asked}",
                run.trace.collections
            );
        }
    }
}

#[test]
fn threads_that_native_code_attaches() {
    for jdk in Jdk::require(&few_versions()) {
        let folder = jtrail_testkit::temp_dir();
        let file = folder.path().join("trace");
        let options = format!("format=binary,{FILTER},file={}", file.display());
        crate::support::embedded::run(&jdk, "child", &options);
        let trace = Trace::read(&file).expect("a trace");
        assert!(trace.faults.is_empty(), "{:?}", trace.faults);
        for (name, calls) in [("native-1", 10), ("native-2", 20), ("again", 5)] {
            let thread = trace.thread(name);
            let step =
                |s: &&(Step, String)| s.0 == Step::Enter && s.1 == "harness.Threads.step(I)I";
            assert_eq!(
                thread.steps.iter().filter(step).count(),
                calls,
                "{name}, JDK {}",
                jdk.feature
            );
            assert!(thread.ended);
        }
    }
}
