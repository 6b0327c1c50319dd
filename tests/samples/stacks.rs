//! Stack samples: methods, lines, and threads.

use crate::support::observed::observed;
use crate::support::{FILTER, few_versions, one_version, program};
use jtrail_model::{Event, Frame, ThreadState};
use jtrail_testkit::Jdk;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

#[test]
fn samples_show_the_calls_that_were_under_way() {
    // Without `pages`, because the JVM takes long to stop a thread that clears large arrays, and
    // ticks are missed meanwhile.
    const METHODS: [&str; 2] = ["outer(J)V", "asleep(J)V"];
    for jdk in Jdk::require(&one_version()) {
        let mut samples: Vec<(i64, &str)> = Vec::new();
        let mut calls: Vec<(Range<i64>, &str)> = Vec::new();
        let mut states: HashSet<(&str, ThreadState)> = HashSet::new();
        let mut times: BTreeMap<i64, BTreeSet<u64>> = BTreeMap::new();
        let (mut began, mut count) = (HashMap::new(), 0);
        let run = program(&jdk, "harness.Burn").arg("200");
        let options = format!("format=binary,events=+samples,interval=5ms,stackdepth=60,{FILTER}");
        let run = observed(run, &options, |names, event| match event {
            Event::MethodEnter(e) => {
                began.insert((e.thread, e.ticket), e.time.0);
            }
            Event::MethodLeave(e) => {
                let call = began[&(e.thread, e.ticket)]..e.time.0;
                let key = &names.methods[&e.method];
                if let Some(method) = METHODS.iter().find(|m| key.ends_with(*m)) {
                    calls.push((call, method));
                }
            }
            Event::Sample(e) => {
                count += 1;
                assert!(!e.stack.is_empty(), "{event:?}");
                let hook = e.stack[0].method.starts_with("java.lang.JtrailHook.");
                assert!(!hook, "{event:?}");
                let first = times.entry(e.time.0).or_default().insert(e.thread.0);
                assert!(first, "two samples of a thread at one time: {event:?}");
                let on_stack = |m: &&&str| {
                    let key = format!("harness.Burn.{m}");
                    e.stack.iter().any(|frame| frame.method == key)
                };
                if let Some(method) = METHODS.iter().find(on_stack) {
                    assert_eq!(names.thread(e.thread), "main");
                    samples.push((e.time.0, method));
                    states.insert((method, e.state));
                }
            }
            _ => {}
        });
        assert_eq!(run.trace.totals().samples, count);
        assert!(run.trace.threads.iter().all(|t| t.name != "jtrail sampler"));
        // A tick's time is taken after its stacks. A call may end in between, so each call can have
        // one sample that seems to be after its end.
        assert_eq!(calls.len(), METHODS.len());
        let astray: Vec<_> = samples
            .iter()
            .filter(|(time, method)| !calls.iter().any(|(c, m)| m == method && c.contains(time)))
            .collect();
        assert!(
            astray.len() <= calls.len(),
            "JDK {}: {astray:?} of {samples:?}, {calls:?}",
            jdk.feature
        );
        for method in METHODS {
            let count = samples.iter().filter(|(_, m)| *m == method).count();
            assert!(count > 2, "JDK {}, {method}: {samples:?}", jdk.feature);
        }
        assert!(states.contains(&("outer(J)V", ThreadState::Runnable)));
        assert!(
            states.contains(&("asleep(J)V", ThreadState::Sleeping)),
            "{states:?}"
        );
        // One tick has one time, and there are never more ticks than intervals.
        assert!(times.values().any(|threads| threads.len() > 1));
        let length =
            times.keys().next_back().expect("samples") - times.keys().next().expect("samples");
        assert!(
            times.len() as i64 <= length / 5_000_000 + 2,
            "{} in {length}",
            times.len()
        );
    }
}

#[test]
fn stacks_have_methods_and_lines() {
    for jdk in Jdk::require(&few_versions()) {
        let mut stacks = BTreeSet::new();
        let run = program(&jdk, "harness.Burn").arg("100");
        // Methods of the library appear, too, although the filters exclude them.
        let options = format!("format=xml,events=+samples,interval=2ms,stackdepth=3,{FILTER}");
        observed(run, &options, |_, event| {
            if let Event::Sample(e) = event {
                assert!(e.stack.len() <= 3);
                stacks.extend(
                    e.stack
                        .iter()
                        .map(|f| (f.method.clone().into_owned(), f.line)),
                );
            }
        });
        let lines: BTreeSet<_> = stacks
            .iter()
            .filter(|(m, _)| m == "harness.Burn.spin(J)V")
            .map(|(_, line)| *line)
            .collect();
        assert!(
            lines.iter().all(|line| (24..=36).contains(line)),
            "{lines:?}"
        );
        assert!(!lines.is_empty());
        assert!(
            stacks
                .iter()
                .any(|(m, line)| m.starts_with("java.lang.Thread.sleep") && *line != 0)
        );
    }
}

#[test]
fn the_program_does_not_see_the_sampler() {
    for jdk in Jdk::require(&few_versions()) {
        let bare = program(&jdk, "harness.ThreadsSeen").output();
        let run = program(&jdk, "harness.ThreadsSeen");
        let options = format!("format=binary,events=+samples+cpu,interval=1ms,{FILTER}");
        let run = observed(run, &options, |_, _| {});
        // In every JVM, a dump of all threads with their stacks shows the threads of agents; its
        // counts do not include them.
        let seen = run.output.stdout.replace("jtrail sampler, ", "");
        assert_eq!(seen, bare.stdout, "JDK {}", jdk.feature);
        let lines = |line: &&str| line.contains("jtrail sampler");
        assert!(
            run.output
                .stdout
                .lines()
                .filter(lines)
                .all(|line| line.starts_with("beans: ")),
            "{}",
            run.output
        );
        assert_eq!(run.output.stderr, bare.stderr, "JDK {}", jdk.feature);
    }
}

#[test]
fn virtual_threads_stand_for_their_carriers() {
    for jdk in Jdk::require(&few_versions()) {
        if jdk.feature < 21 {
            continue;
        }
        let mut seen = BTreeSet::new();
        let run = program(&jdk, "harness.BurnVirtual")
            .arg("400")
            .jvm_arg("-Djdk.virtualThreadScheduler.parallelism=1");
        let options = "format=binary,events=+samples,interval=1ms,stackdepth=8,exclude=harness.*";
        observed(run, options, |names, event| {
            if let Event::Sample(e) = event {
                let hook = |f: &Frame<'_>| f.method.starts_with("java.lang.JtrailHook.");
                assert!(!e.stack.iter().any(hook), "{event:?}");
                // Each virtual thread has a method of its own outside the methods that all share.
                let own = e.stack.iter().find_map(|f| {
                    let method = f.method.strip_prefix("harness.BurnVirtual.burns")?;
                    method.strip_suffix("(I)V")
                });
                if let Some(own) = own {
                    assert_eq!(names.thread(e.thread), format!("burns-{own}"));
                    seen.insert(own.to_owned());
                }
            }
        });
        assert!(seen.len() > 1, "{seen:?}");
    }
}

#[test]
fn threads_come_and_go_under_the_sampler() {
    for jdk in Jdk::require(&few_versions()) {
        let run = program(&jdk, "harness.Threads").arg("600");
        let options = format!("format=binary,events=+samples+cpu+mounts,interval=1ms,{FILTER}");
        let run = observed(run, &options, |_, _| {});
        let counts = run.output.counts();
        counts.assert_matches(
            &run.trace.calls,
            &run.trace.uninstrumented,
            &["harness."],
            &[],
        );
        assert!(run.trace.totals().samples > 0);
    }
}

#[test]
fn everything_of_the_library_is_traced_beside_the_sampler() {
    let jdk = Jdk::newest();
    let run = program(&jdk, "harness.Threads").arg("40");
    let options =
        "format=binary,events=+samples+cpu+alloc+monitors+exceptions,interval=1ms,include=*";
    let run = observed(run, options, |_, _| {});
    assert!(run.trace.threads.iter().all(|t| t.name != "jtrail sampler"));
}
