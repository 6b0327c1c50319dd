//! For a kind of events that is off, nothing is inserted into any class. (A test of the agent
//! checks that no capability is held for it.)

use crate::support::compile::compile;
use crate::support::figures::Figures;
use crate::support::java_agent::compiled_agent;
use crate::support::{agent, few_versions, program, traced_before};
use jtrail_options::Events;
use jtrail_testkit::{Jdk, Output, temp_dir};
use std::collections::BTreeMap;

/// Returns the length and checksum of each class file, by class name, as a second agent sees them
/// after ours.
fn seen(output: &Output) -> BTreeMap<String, String> {
    output.assert_exit(0);
    let lines = output.stdout.lines();
    let classes: BTreeMap<_, _> = lines
        .filter_map(|line| line.strip_prefix("SEEN ")?.split_once(' '))
        .map(|(name, sum)| (name.to_owned(), sum.to_owned()))
        .collect();
    assert!(classes.len() > 5, "{output}");
    classes
}

const LOCKS: &str = "java/util/concurrent/locks/LockSupport";

#[test]
fn classes_are_as_they_were_unless_a_kind_needs_probes() {
    /// Kinds with probes.
    const PROBING: [&str; 4] = ["methods", "lines", "parks", "clinit"];
    let folder = temp_dir();
    let jar = compiled_agent(folder.path(), "Witness", include_str!("Witness.java"));
    let witness = format!("-javaagent:{}", jar.display());
    let others: Vec<_> = Events::WORDS
        .iter()
        .filter(|kind| !PROBING.contains(*kind))
        .copied()
        .collect();
    for jdk in Jdk::require(&few_versions()) {
        let run = || program(&jdk, "harness.Nested");
        let plain = seen(&run().jvm_arg(&witness).output());
        let of_program = || plain.keys().filter(|name| name.starts_with("harness/"));
        let changed = |events: &str| {
            let options = format!("format=binary,events={events},include=harness.*");
            let traced = traced_before(run(), &options, &[&witness]);
            let seen = seen(&traced.output);
            // The JDK's own classes that a run loads are not always the same.
            let missing = of_program().find(|name| !seen.contains_key(*name));
            assert_eq!(missing, None, "{events}, JDK {}", jdk.feature);
            let differs =
                |name: &&String| seen.get(*name).is_some_and(|seen| *seen != plain[*name]);
            plain.keys().filter(differs).cloned().collect::<Vec<_>>()
        };
        assert_eq!(changed(&others.join("+")), [""; 0], "JDK {}", jdk.feature);
        let in_program = |name: &String| name.starts_with("harness/");
        assert_eq!(changed("parks"), [LOCKS], "JDK {}", jdk.feature);
        // Whatever the filter says, exactly the classes with a static initializer are rewritten.
        let initialised = changed("clinit");
        let has = |name: &str| initialised.iter().any(|changed| changed == name);
        assert!(has("harness/Expect") && has("java/util/ArrayList"));
        assert!(!has("harness/Nested") && !has("java/lang/Object"));
        for kind in ["methods", "lines"] {
            let changed = changed(kind);
            assert!(!changed.is_empty() && changed.len() <= of_program().count());
            let all = changed.iter().all(in_program);
            assert!(all, "{kind}, JDK {}: {changed:?}", jdk.feature);
        }
    }
}

const ASIDE: &str = include_str!("Aside.java");

/// If no record belongs to a thread, the JVM is not asked to report virtual threads. Other events
/// on virtual threads are complete.
#[test]
fn virtual_threads_are_left_alone_unless_a_kind_speaks_of_threads() {
    for jdk in Jdk::require(&[21, 25]) {
        let folder = temp_dir();
        compile("Aside", ASIDE, folder.path());
        let file = folder.path().join("trace");
        let figures = |events: &str| {
            let options = format!("format=binary,events={events},file={}", file.display());
            let run = program(&jdk, "Aside").class_path(folder.path());
            run.agent(agent(), options).output().assert_exit(0);
            let figures = Figures::read(&file).expect("sound");
            let line = ("Aside$Loaded.twice(I)I".to_owned(), 4);
            assert_eq!(figures.lines[&line], 140, "{events}, JDK {}", jdk.feature);
            assert!(figures.defined.iter().any(|name| name == "Aside$Loaded"));
            // Several collections that are requested at once may become one.
            assert!(figures.kinds["ClassDetail"] > 300 && figures.collections > 0);
            figures.kinds.get("ThreadStart").copied().unwrap_or(0)
        };
        let without = figures("classes+details+gc+heap+jit+lines");
        assert!(without < 20, "{without} threads, JDK {}", jdk.feature);
        let with = figures("classes+details+gc+heap+jit+lines+threads");
        assert!(with > 20, "{with} threads, JDK {}", jdk.feature);
    }
}

/// Returns the events that agents enable, from the JVM's own log.
fn expected_events(jdk: &Jdk, options: &str) -> Vec<String> {
    let folder = temp_dir();
    let log = folder.path().join("log");
    let file = folder.path().join("trace");
    let options = format!("format=binary,{options},file={}", file.display());
    let run = program(jdk, "harness.Nested")
        .jvm_arg("-XX:TraceJVMTI=ec")
        .jvm_arg(format!("-Xlog:jvmti=trace:file={}", log.display()));
    run.agent(agent(), options).output().assert_exit(0);
    let log = std::fs::read_to_string(log).expect("a log");
    let event = |line: &str| Some(line.split_once("user enabled event ")?.1.to_owned());
    log.lines().filter_map(event).collect()
}

#[test]
fn threads_are_reported_where_a_kind_needs_them() {
    for jdk in Jdk::require(&few_versions()) {
        for (options, are_reported) in [
            ("events=classes+gc+jit+lines", false),
            ("events=classes+gc+jit+lines+details", true),
            ("events=heap", true),
            ("events=samples", true),
            ("events=gc,server=enabled", true),
        ] {
            let events = expected_events(&jdk, options);
            let has = |event: &str| events.iter().any(|reported| reported == event);
            for event in ["ThreadStart", "ThreadEnd"] {
                assert_eq!(
                    has(event),
                    are_reported,
                    "{options}, {events:?}, JDK {}",
                    jdk.feature
                );
            }
            assert!(has("VMDeath"), "{options}, {events:?}, JDK {}", jdk.feature);
        }
    }
}
