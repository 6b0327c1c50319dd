//! The accuracy of call times with the coarse clock (`clock=tick`). `counts` and `engines` test
//! that all calls are recorded, and in which order.

use crate::support::compile::compile;
use crate::support::{agent, at_once};
use jtrail_formats::{Checker, Item, Reader};
use jtrail_model::{ClockNote, Event};
use jtrail_testkit::{Jdk, Run, temp_dir};
use std::collections::HashMap;
use std::fs::File;
use std::ops::ControlFlow;
use std::path::Path;

/// A program that measures how long its calls take. It reads its clock inside a call, so the call
/// takes a little longer than the program measures.
const SPANS: &str = include_str!("Spans.java");

/// Returns the lengths of a method's calls in ns, in the order in which the calls end, and the
/// trace's note about its clock.
fn lengths(file: &Path, method: &str) -> (Vec<i64>, Option<ClockNote>) {
    let mut reader = Reader::new(File::open(file).expect("a trace")).expect("a trace");
    let mut checker = Checker::default();
    let mut names = HashMap::new();
    let mut open: HashMap<_, Vec<_>> = HashMap::new();
    let mut lengths = Vec::new();
    let ended = reader.for_each::<()>(|item| {
        let Item::Event { offset, event } = item else {
            panic!("{item:?}");
        };
        checker.event(offset, &event);
        match &event {
            Event::MethodDef(e) => _ = names.insert(e.method, e.name.to_string()),
            Event::MethodEnter(e) => open.entry(e.thread).or_default().push(e.time),
            Event::MethodLeave(e) => {
                let began = open.get_mut(&e.thread).and_then(Vec::pop);
                if names.get(&e.method).is_some_and(|name| name == method) {
                    lengths.push(e.time.since(began.expect("it began")).0);
                }
            }
            _ => {}
        }
        ControlFlow::Continue(())
    });
    assert_eq!(ended.expect("it can be read"), None);
    let checked = checker.finish();
    assert_eq!(checked.faults(), 0, "{:?}", checked.findings);
    (lengths, checked.counts.clock)
}

/// Returns the numbers that the program prints in lines `word number`.
fn said(stdout: &str, word: &str) -> Vec<i64> {
    let lines = stdout.lines().filter_map(|line| line.split_once(' '));
    lines
        .filter(|(key, _)| *key == word)
        .map(|(_, number)| number.parse().expect("a number"))
        .collect()
}

#[test]
fn times_are_early_by_less_than_a_tick() {
    let folder = temp_dir();
    compile("Spans", SPANS, folder.path());
    let test = |jdk: &Jdk| {
        for clock in ["exact", "tick"] {
            let file = folder.path().join(format!("{clock}-{}", jdk.feature));
            let options = format!(
                "format=trail,clock={clock},include=Spans,file={}",
                file.display()
            );
            let run = Run::new(jdk, "Spans").class_path(folder.path());
            let output = run.agent(agent(), options).output();
            output.assert_exit(0);
            let context = format!("clock={clock}, JDK {}", jdk.feature);
            let (shorts, reported) = lengths(&file, "shortCall");
            let (longs, _) = lengths(&file, "longCall");
            assert_eq!((shorts.len(), longs.len()), (10_000, 100), "{context}");
            let longest = match clock {
                "exact" => {
                    assert_eq!(reported, None, "{context}");
                    0
                }
                _ => {
                    let reported = reported.expect("the trace tells its clock");
                    assert_eq!(reported.tick.0, 50_000, "{context}");
                    assert!(reported.longest >= reported.tick, "{context}: {reported:?}");
                    reported.longest.0
                }
            };
            // By how much each call is longer than the program measured. The program reads its
            // clock far less than a tick after the call's begin and before its end, unless the
            // system preempts the thread just then.
            let own = said(&output.stdout, "long");
            let mut longer: Vec<i64> = longs.iter().zip(&own).map(|(l, own)| l - own).collect();
            longer.sort_unstable();
            let median = longer[longer.len() / 2];
            assert!(
                (0..=longest + 500_000).contains(&median),
                "{context}: {longer:?}, {longest}"
            );
            // The length of each short call is wrong by up to a tick, but the sum of all lengths is
            // right.
            let (sum, true_sum) = (
                shorts.iter().sum::<i64>(),
                said(&output.stdout, "shorts")[0],
            );
            assert!(
                (sum - true_sum).abs() < true_sum / 5,
                "{context}: {sum} against {true_sum}"
            );
            let is_spread = shorts.contains(&0);
            assert_eq!(is_spread, clock == "tick", "{context}");
        }
    };
    at_once(test);
}
