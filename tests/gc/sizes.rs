//! Heap sizes after collections, and numbers of collections, compared with the JVM's own beans.

use crate::support::cli::table;
use crate::support::collections::collections;
use crate::support::compile::compile;
use crate::support::{agent, few_versions, program};
use jtrail_model::Generation;
use jtrail_testkit::{Jdk, temp_dir};
use std::collections::BTreeMap;
use std::path::Path;

/// Number of collections that the program requests.
const ASKED: usize = 12;

/// A program that prints, after each collection that it requests, what each collector's bean says
/// about its last collection: number, used bytes, and bytes of the heap. The bean's pool has only
/// one of the two survivor spaces, which have the same size. The heap has both.
const SOURCE: &str = include_str!("Sizes.java");

/// Used bytes, and bytes of the heap, by generation and number of the collection.
type Sizes = BTreeMap<(String, usize), (i64, i64)>;

fn printed(output: &str) -> Sizes {
    let entry = |line: &str| {
        let (generation, numbers) = line.strip_prefix("AFTER ")?.split_once(' ')?;
        let numbers: Vec<i64> = numbers
            .split(' ')
            .map(|number| number.parse().expect("a number"))
            .collect();
        let [number, used, heap] = numbers[..] else {
            panic!("{line}");
        };
        Some(((generation.to_owned(), number as usize), (used, heap)))
    };
    output.lines().filter_map(entry).collect()
}

/// Returns used bytes and bytes of the heap after each collection of a trace, by generation.
fn traced(file: &Path) -> BTreeMap<&'static str, Vec<(i64, i64)>> {
    let mut traced: BTreeMap<_, Vec<_>> = BTreeMap::new();
    for collection in collections(file) {
        let generation = match collection.generation {
            Generation::Full => "full",
            _ => "young",
        };
        let sizes = (collection.used, collection.heap);
        traced.entry(generation).or_default().push(sizes);
    }
    traced
}

/// Returns how many collections of a generation the report has.
fn reported(file: &Path, generation: &str) -> usize {
    let rows = table(file, &["--gc"], "gc_kinds");
    let rows = rows.iter().filter(|row| row["generation"] == generation);
    let counts = rows.map(|row| row["collections"].parse::<usize>().expect("a number"));
    counts.sum()
}

fn check(jdk: &Jdk, classes: &Path, collector: &str) {
    let folder = temp_dir();
    let file = folder.path().join("trace");
    let options = format!("format=binary,events=gc,file={}", file.display());
    let output = ["-Xmx64m", "-Xmn4m", "-XX:-UseAdaptiveSizePolicy"]
        .iter()
        .fold(program(jdk, "Sizes"), |run, arg| run.jvm_arg(*arg))
        .jvm_arg(format!("-XX:+Use{collector}GC"))
        .class_path(classes)
        .agent(agent(), options)
        .output();
    output.assert_exit(0);
    let what = format!("{collector}, JDK {}\n{output}", jdk.feature);
    let (mut theirs, ours) = (printed(&output.stdout), traced(&file));
    // Before 25, Parallel empties the young generation first, within the same pause, and counts
    // that.
    if collector == "Parallel" && jdk.feature < 25 {
        theirs.retain(|(generation, _), _| generation == "full");
    }
    let mut last = BTreeMap::new();
    for ((generation, number), sizes) in theirs {
        let ours = ours[&*generation][number - 1];
        assert_eq!(ours, sizes, "{generation} {number}, {what}");
        last.insert(generation, number);
    }
    assert!(last["full"] >= ASKED, "{what}");
    assert!(last.len() == 2 || collector == "Parallel", "{what}");
    for (generation, count) in last {
        assert_eq!(reported(&file, &generation), count, "{generation}, {what}");
    }
}

#[test]
fn sizes_are_those_of_the_jvms_beans() {
    let classes = temp_dir();
    compile("Sizes", SOURCE, classes.path());
    for jdk in Jdk::require(&few_versions()) {
        for collector in ["Serial", "Parallel"] {
            check(&jdk, classes.path(), collector);
        }
    }
}
