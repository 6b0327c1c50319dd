//! The agent's options in a real JVM: their effects, and the answers to wrong ones.

use crate::support::{FILTER, VERSIONS, agent, few_versions, newest_of, program, traced};
use jtrail_formats::Format;
use jtrail_testkit::Jdk;
use std::fs;

#[test]
fn a_wrong_option_stops_the_jvm_unless_it_may_continue() {
    for jdk in Jdk::require(&few_versions()) {
        for (options, message) in [
            ("format=binry", "did you mean \"binary\"?"),
            ("fromat=binary", "did you mean \"format\"?"),
            (
                "overflow=ring,events=+heap",
                "is not available with events=heap",
            ),
            ("start=later", "not available in this version"),
            ("buffer=1", "buffer"),
            ("filters=/nonexistent", "/nonexistent"),
        ] {
            let output = program(&jdk, "harness.Fib")
                .agent(agent(), options)
                .output();
            output.assert_exit(1);
            let line = output.stderr.lines().find(|l| l.starts_with("jtrail: "));
            let line = line.unwrap_or_else(|| panic!("no message\n{output}"));
            assert!(line.contains(message), "{options}: {line}");

            let options = format!("{options},onerror=continue");
            let output = program(&jdk, "harness.Fib")
                .agent(agent(), &options)
                .output();
            output.assert_exit(0);
            assert!(
                output.stderr.contains("goes on without a trace"),
                "{output}"
            );
        }
    }
}

#[test]
fn xml_is_the_default_and_files_have_their_usual_names() {
    for jdk in Jdk::require(&few_versions()) {
        for (options, name, format) in [
            (FILTER.to_owned(), "trace.trcxml", Format::TptpXml),
            (
                format!("format=binary,{FILTER}"),
                "trace.trcbin",
                Format::TptpBinary,
            ),
        ] {
            let folder = jtrail_testkit::temp_dir();
            let run = program(&jdk, "harness.Fib").dir(folder.path());
            run.agent(agent(), options).output().assert_exit(0);
            let trace = crate::support::Trace::read(&folder.path().join(name)).expect(name);
            assert_eq!(trace.format, Some(format));
        }
    }
}

#[test]
fn filters_choose_methods() {
    for jdk in Jdk::require(&few_versions()) {
        let run = traced(
            program(&jdk, "harness.Fib"),
            "format=binary,include=harness.Fib.fib",
        );
        run.output.assert_exit(0);
        run.trace.assert_sound(&run.output);
        assert_eq!(
            run.trace.calls.keys().collect::<Vec<_>>(),
            ["harness.Fib.fib(I)I"]
        );

        let folder = jtrail_testkit::temp_dir();
        let rules = folder.path().join("rules");
        fs::write(
            &rules,
            "harness.Fib main EXCLUDE\nharness.Fib * INCLUDE\n* * EXCLUDE\n",
        )
        .expect("written");
        let run = traced(
            program(&jdk, "harness.Fib"),
            &format!("format=xml,filters={}", rules.display()),
        );
        run.output.assert_exit(0);
        run.trace.assert_sound(&run.output);
        assert_eq!(
            run.trace.calls.keys().collect::<Vec<_>>(),
            ["harness.Fib.fib(I)I"]
        );
        assert_eq!(
            run.trace.kinds.iter().filter(|k| **k == "filter").count(),
            3
        );
    }
}

#[test]
fn jdk_classes_are_out_by_default_and_can_be_included() {
    for jdk in Jdk::require(&few_versions()) {
        let run = traced(program(&jdk, "harness.Streams"), "format=binary");
        assert!(run.trace.calls.keys().all(|k| !k.starts_with("java.")));

        // The included classes were loaded long before the agent was ready.
        let run = traced(
            program(&jdk, "harness.Streams"),
            "format=binary,include=java.util.*",
        );
        run.output.assert_exit(0);
        run.trace.assert_sound(&run.output);
        let has = |class: &str| run.trace.calls.keys().any(|k| k.starts_with(class));
        assert!(
            has("java.util.HashMap.") && has("java.util.ArrayList."),
            "JDK {}",
            jdk.feature
        );
        assert!(run.trace.calls.keys().all(|k| k.starts_with("java.util.")));
    }
}

#[test]
fn everything_can_be_included() {
    for jdk in Jdk::require(&newest_of(&VERSIONS)) {
        for name in [
            "harness.Exceptions",
            "harness.Streams",
            "harness.VirtualThreads",
        ] {
            let plain = program(&jdk, name).output();
            let run = traced(program(&jdk, name), "format=binary,include=*");
            run.output.assert_exit(0);
            assert_eq!(
                run.output.stdout, plain.stdout,
                "{name}, JDK {}",
                jdk.feature
            );
            run.trace.assert_sound(&run.output);
            assert_eq!(
                run.trace.totals().repaired,
                0,
                "{name}, JDK {}",
                jdk.feature
            );
            assert!(
                run.trace
                    .calls
                    .keys()
                    .any(|k| k.starts_with("java.lang.String."))
            );
            // Object is never rewritten, and the trace says so.
            assert!(
                run.trace.uninstrumented.contains("java.lang.Object."),
                "JDK {}",
                jdk.feature
            );
        }
    }
}

#[test]
fn the_tptp_spelling_works() {
    for jdk in Jdk::require(&few_versions()) {
        let folder = jtrail_testkit::temp_dir();
        let file = folder.path().join("trace");
        let options = format!(
            "JPIAgent:server=standalone,format=binary,file={};CGProf:execdetails=true",
            file.display()
        );
        let rules = folder.path().join("rules");
        fs::write(&rules, "harness.Fib * INCLUDE\n* * EXCLUDE\n").expect("written");
        let options = options.replace(
            "server=standalone",
            &format!("server=standalone,filters={}", rules.display()),
        );
        program(&jdk, "harness.Fib")
            .agent(agent(), options)
            .output()
            .assert_exit(0);
        let trace = crate::support::Trace::read(&file).expect("a trace");
        assert!(trace.calls.contains_key("harness.Fib.fib(I)I"));
    }
}

#[test]
fn the_file_name_can_hold_the_process_id() {
    for jdk in Jdk::require(&few_versions()) {
        let folder = jtrail_testkit::temp_dir();
        let options = format!(
            "format=binary,file={}/t-%p.trcbin,{FILTER}",
            folder.path().display()
        );
        program(&jdk, "harness.Fib")
            .agent(agent(), options)
            .output()
            .assert_exit(0);
        let names: Vec<_> = fs::read_dir(folder.path())
            .expect("a folder")
            .map(|e| {
                e.expect("an entry")
                    .file_name()
                    .into_string()
                    .expect("text")
            })
            .collect();
        let [name] = &names[..] else {
            panic!("{names:?}")
        };
        let pid = name
            .strip_prefix("t-")
            .and_then(|n| n.strip_suffix(".trcbin"));
        assert!(pid.is_some_and(|p| p.parse::<u32>().is_ok()), "{name}");
    }
}

#[test]
fn events_choose_what_is_recorded() {
    for jdk in Jdk::require(&few_versions()) {
        let kinds = |events: &str| {
            let options = format!("format=binary,events={events},{FILTER}");
            let run = traced(program(&jdk, "harness.Gc"), &options);
            run.output.assert_exit(0);
            run.trace.assert_sound(&run.output);
            run.trace
        };
        let all = kinds("methods+threads+classes+gc");
        let has = |trace: &crate::support::Trace, kind| trace.kinds.contains(&kind);
        assert!(
            ["method_enter", "thread_end", "gc_start"]
                .iter()
                .all(|k| has(&all, k))
        );

        let calls = kinds("methods");
        assert!(
            has(&calls, "method_enter") && !has(&calls, "thread_end") && !has(&calls, "gc_start")
        );
        assert!(
            calls.threads.iter().all(|t| !t.steps.is_empty()),
            "JDK {}",
            jdk.feature
        );

        let collections = kinds("gc");
        assert!(has(&collections, "gc_start"));
        assert!(!has(&collections, "method_enter") && !has(&collections, "thread_end"));
        assert_eq!(collections.totals().methods, 0);

        let threads = kinds("threads");
        assert!(
            has(&threads, "thread_end")
                && !has(&threads, "gc_start")
                && !has(&threads, "method_enter")
        );
    }
}
