//! With `trivial=skip`, calls of trivial methods are skipped, and no other calls. The trace names
//! each of these methods. The application is not affected.

use crate::support::{FILTER, Trace, Traced, agent, few_versions, program, traced};
use jtrail_formats::{Item, Reader};
use jtrail_model::{Event, Note};
use jtrail_testkit::{Jdk, temp_dir};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::ops::ControlFlow;

const REASON: &str = "trivial=skip: short, without calls, loops and monitors";

/// Returns the methods whose calls were skipped because they are trivial.
fn skipped(trace: &Trace) -> BTreeSet<String> {
    let key = |note: &Note<'_>| match note {
        Note::Uninstrumented(u) if u.reason == REASON => Some(format!("{}.{}", u.class, u.method)),
        _ => None,
    };
    trace.notes.iter().filter_map(key).collect()
}

fn run(jdk: &Jdk, name: &str, trivial: &str) -> Traced {
    let options = format!("format=binary,trivial={trivial},{FILTER}");
    let traced = traced(program(jdk, name), &options);
    traced.output.assert_exit(0);
    traced.trace.assert_sound(&traced.output);
    traced
}

#[test]
fn their_calls_are_left_out_and_no_others() {
    for jdk in Jdk::require(&few_versions()) {
        let mut seen = 0;
        for name in [
            "harness.Generics",
            "harness.Interfaces",
            "harness.Nested",
            "harness.Switches",
        ] {
            let (all, most) = (run(&jdk, name, "trace"), run(&jdk, name, "skip"));
            let context = format!("{name}, JDK {}", jdk.feature);
            assert_eq!(all.output.stdout, most.output.stdout, "{context}");
            let hidden: Vec<_> = all
                .trace
                .calls
                .keys()
                .filter(|key| key.contains("$$"))
                .map(String::as_str)
                .collect();
            let counts = all.output.counts();
            counts.assert_matches(
                &all.trace.calls,
                &all.trace.uninstrumented,
                &["harness."],
                &hidden,
            );
            assert!(skipped(&all.trace).is_empty(), "{context}");
            let skipped = skipped(&most.trace);
            let (left_out, rest): (BTreeMap<_, _>, BTreeMap<_, _>) = all
                .trace
                .calls
                .into_iter()
                .partition(|(key, _)| skipped.contains(key));
            seen += left_out.values().sum::<u64>();
            assert_eq!(most.trace.calls, rest, "{context}: {left_out:?}");
        }
        assert!(seen > 100, "JDK {}: {seen}", jdk.feature);
    }
}

/// Returns the number of executions by line, and the methods whose calls were skipped.
fn lines(jdk: &Jdk, trivial: &str) -> (BTreeMap<(String, u32), u64>, BTreeSet<String>) {
    let folder = temp_dir();
    let file = folder.path().join("trace");
    let options = format!(
        "format=binary,events=+lines,trivial={trivial},{FILTER},file={}",
        file.display()
    );
    program(jdk, "harness.Lines")
        .agent(agent(), options)
        .output()
        .assert_exit(0);
    let mut reader = Reader::new(File::open(&file).expect("a trace")).expect("a format");
    let (mut methods, mut lines) = (BTreeMap::new(), BTreeMap::new());
    let visit = |item: Item<'_>| {
        match item {
            Item::Event {
                event: Event::MethodDef(e),
                ..
            } => {
                methods.insert(e.method, format!("{}{}", e.name, e.signature));
            }
            Item::Event {
                event: Event::LineCounts(e),
                ..
            } => {
                for line in e.lines {
                    lines.insert((methods[&e.method].clone(), line.line), line.count);
                }
            }
            _ => {}
        }
        ControlFlow::<()>::Continue(())
    };
    reader.for_each(visit).expect("a sound trace");
    (lines, skipped(&Trace::read(&file).expect("a trace")))
}

#[test]
fn their_lines_are_counted_all_the_same() {
    for jdk in Jdk::require(&few_versions()) {
        let (all, none) = lines(&jdk, "trace");
        let (most, skipped) = lines(&jdk, "skip");
        assert!(
            none.is_empty() && !skipped.is_empty(),
            "JDK {}",
            jdk.feature
        );
        assert_eq!(all, most, "JDK {}", jdk.feature);
    }
}
