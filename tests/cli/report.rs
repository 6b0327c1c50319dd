//! Compares `jtrail report` of live traces with what the programs print about themselves.

use crate::support::cli::{Row, table};
use crate::support::compile::compile_with_harness;
use crate::support::{agent, at_once, few_versions, harness, program};
use jtrail_testkit::{Jdk, Output, Truth, Waits, temp_dir};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

fn number(row: &Row, column: &str) -> u64 {
    let text = &row[column];
    text.parse().unwrap_or_else(|_| panic!("{column}: {row:?}"))
}

/// Runs a program with these options and arguments, and writes a trace into the file.
fn run(jdk: &Jdk, name: &str, options: &str, file: &Path, args: &[&str]) -> Output {
    let options = format!("format=binary,{options},file={}", file.display());
    let run = args
        .iter()
        .fold(program(jdk, name), |run, arg| run.arg(*arg));
    let output = run.agent(agent(), options).output();
    output.assert_exit(0);
    output
}

/// Number of reached lines, and of all lines, by method.
type Coverage = BTreeMap<String, (u64, u64)>;

fn expected_coverage(truth: &Truth) -> Coverage {
    let mut expected = Coverage::new();
    for ((method, _), hits) in &truth.lines {
        let (reached, all) = expected.entry(method.clone()).or_default();
        *reached += u64::from(*hits > 0);
        *all += 1;
    }
    expected
}

/// Returns all lines of a list such as `13-14, 20`.
fn lines(ranges: &str) -> impl Iterator<Item = u32> + '_ {
    let number = |text: &str| text.parse::<u32>().expect("a line");
    ranges
        .split(", ")
        .flat_map(move |range| match range.split_once('-') {
            Some((first, last)) => number(first)..=number(last),
            None => number(range)..=number(range),
        })
}

#[test]
fn coverage_is_what_the_program_knows() {
    at_once(|jdk| {
        let folder = temp_dir();
        let file = folder.path().join("trace");
        let output = run(
            jdk,
            "harness.Lines",
            "include=harness.*,events=+lines",
            &file,
            &[],
        );
        let (truth, what) = (output.truth(), format!("JDK {}", jdk.feature));
        let expected = expected_coverage(&truth);
        assert!(expected.len() > 10);

        let mut reported = Coverage::new();
        for row in table(&file, &["--coverage"], "coverage_methods") {
            let lines = (number(&row, "covered"), number(&row, "lines"));
            reported.insert(row["method"].clone(), lines);
        }
        for (method, lines) in &expected {
            assert_eq!(reported.get(method), Some(lines), "{method}, {what}");
        }

        let mut missed = BTreeSet::new();
        for row in table(&file, &["--coverage", "--lines"], "uncovered_lines") {
            missed.extend(lines(&row["lines"]).map(|line| (row["method"].clone(), line)));
        }
        missed.retain(|(method, _)| expected.contains_key(method));
        let never = truth.lines.iter().filter(|(_, hits)| **hits == 0);
        let never: BTreeSet<_> = never.map(|(site, _)| site.clone()).collect();
        assert!(!never.is_empty());
        assert_eq!(missed, never, "{what}");
    });
}

/// The number of events, the sum of their times, and the longest time.
type Sums = (u64, u64, u64);

fn sums(row: &Row) -> Sums {
    let of = |column| number(row, column);
    (of("waits"), of("total_ns"), of("longest_ns"))
}

/// Returns true for rows of the program. Classes of the library have contended monitors, too.
fn is_of_program(row: &Row) -> bool {
    let is_program =
        |name: &str| name.starts_with("harness.") && !name.starts_with("harness.Expect");
    is_program(&row["class"]) || is_program(&row["site"])
}

#[test]
fn monitors_are_what_the_program_knows() {
    at_once(|jdk| {
        let folder = temp_dir();
        let file = folder.path().join("trace");
        let output = run(jdk, "harness.Monitors", "events=+monitors", &file, &["2"]);
        let (truth, what) = (output.truth(), format!("JDK {}\n{output}", jdk.feature));
        assert!(truth.owners.len() > 5);

        let (mut owners, mut by_class) = (BTreeMap::new(), BTreeMap::<_, Sums>::new());
        for row in table(&file, &["--monitors"], "monitors") {
            let blocked = number(&row, "blocked_ns");
            let (count, all, longest) = by_class.entry(row["class"].clone()).or_default();
            (*count, *all, *longest) = (*count + 1, *all + blocked, blocked.max(*longest));
            if is_of_program(&row) {
                let key = (row["class"].clone(), row["owner_name"].clone());
                *owners.entry(key).or_insert(0) += 1;
            }
        }
        assert_eq!(owners, truth.owners, "{what}");

        let classes = table(&file, &["--monitors"], "monitor_classes");
        let classes: BTreeMap<_, _> = classes
            .iter()
            .map(|row| (row["class"].clone(), sums(row)))
            .collect();
        assert_eq!(classes, by_class, "{what}");

        let mut waits: BTreeMap<String, Waits> = BTreeMap::new();
        for row in table(&file, &["--monitors"], "waits") {
            let of_class = waits.entry(row["class"].clone()).or_default();
            of_class.waits += number(&row, "waits");
            of_class.timed_out += number(&row, "timed_out");
        }
        waits.retain(|class, _| truth.waits.contains_key(class));
        assert_eq!(waits, truth.waits, "{what}");
    });
}

/// A program that holds a monitor for given numbers of milliseconds while another thread contends
/// for it. It prints bounds for the time that the other thread is blocked. The lower bound is the
/// time from when that thread is seen blocked until it enters. The upper bound is the time from its
/// start to its end.
const HELD: &str = include_str!("Held.java");

#[test]
fn the_longest_waits_are_first_and_as_long_as_they_were() {
    let classes = temp_dir();
    compile_with_harness("Held", HELD, classes.path(), &harness().root().join("11"));
    for jdk in Jdk::require(&few_versions()) {
        let folder = temp_dir();
        let file = folder.path().join("trace");
        let options = format!("format=binary,events=monitors,file={}", file.display());
        let mut path = OsString::from(classes.path());
        path.push(":");
        path.push(harness().class_path(&jdk));
        let held = program(&jdk, "Held").class_path(path);
        let output = held.agent(agent(), options).output();
        output.assert_exit(0);
        let what = format!("JDK {}\n{output}", jdk.feature);
        let bounds: BTreeMap<&str, [u64; 2]> = output
            .stdout
            .lines()
            .filter_map(|line| {
                let words: Vec<&str> = line.strip_prefix("HELD ")?.split(' ').collect();
                Some((
                    words[0],
                    [1, 2].map(|at| words[at].parse().expect("a number")),
                ))
            })
            .collect();

        let mut rows = table(&file, &["--monitors"], "monitors");
        rows.retain(|row| row["class"].starts_with("Held$"));
        let is_in_order = rows.is_sorted_by_key(|row| Reverse(number(row, "blocked_ns")));
        assert!(rows.len() == 3 && is_in_order, "{rows:?} {what}");
        for row in &rows {
            let [least, most] = bounds[&*row["class"]];
            let blocked = number(row, "blocked_ns");
            assert!((least..=most).contains(&blocked), "{row:?} {what}");
            assert_eq!(
                [&*row["name"], &*row["owner_name"]],
                ["blocked", "main"],
                "{what}"
            );
        }
    }
}
