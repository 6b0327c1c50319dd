//! Tests of the counts of line and allocation probes. Comments in `Counted.java` say how often each
//! line runs and what it allocates. The program runs with all probes, and with these two kinds
//! alone.

use std::collections::BTreeMap;
use std::fs;

use crate::support::{Jdk, class_files, java_sources, run};
use jtrail_classfile::{Allocation, Class, Hooks, LargeNumbers, LineProbe, Probes, instrument};

const COUNTER: Hooks<'static> = Hooks {
    class: "Counter",
    ..Hooks::JTRAIL
};

/// The hits of each source line; the number and total amount of allocations, by line and name.
#[derive(Default, PartialEq, Eq, Debug)]
struct Counts {
    lines: BTreeMap<u16, u64>,
    allocations: BTreeMap<(u16, String), (u64, u64)>,
}

/// Parses the expected counts in the comments of the source.
fn expected(source: &str) -> Counts {
    let mut counts = Counts::default();
    for (line, text) in (1..).zip(source.lines()) {
        let Some((_, comment)) = text.split_once("//= ") else {
            continue;
        };
        let mut parts = comment.split(" + ");
        let hits = parts.next().unwrap().trim().parse().unwrap();
        counts.lines.insert(line, hits);
        for part in parts {
            let fields: Vec<&str> = part.split_whitespace().collect();
            let number = |at: usize| fields.get(at).map_or(0, |n| n.parse().unwrap());
            counts
                .allocations
                .insert((line, fields[0].into()), (number(1), number(2)));
        }
    }
    counts
}

/// Rewrites the program with line and allocation probes numbered from `first`, runs it, and returns
/// its counts.
fn counted(jdk: &Jdk, first: u32, calls: bool, large_numbers: LargeNumbers) -> Counts {
    let hooks = Hooks {
        large_numbers,
        ..COUNTER
    };
    let (classes, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let sources = java_sources().display().to_string();
    jdk.compile(
        &java_sources().join("Counted.java"),
        classes.path(),
        &["-sourcepath", &sources],
    );
    // The source line of each line number; line and name of each site.
    let (mut lines, mut sites) = (BTreeMap::new(), BTreeMap::new());
    let (mut next_line, mut next_site) = (first, first);
    for file in class_files(classes.path()) {
        let name = file.file_name().unwrap();
        let bytes = fs::read(&file).unwrap();
        if name == "Counter.class" {
            fs::write(dir.path().join(name), bytes).unwrap();
            continue;
        }
        let class = Class::parse(&bytes).unwrap();
        let mut firsts = BTreeMap::new();
        let rewritten = instrument(&class, &hooks, |index, method| {
            firsts.insert(index, next_line);
            let probes = Probes {
                calls: calls.then_some(index as u32),
                lines: Some(next_line),
                allocations: Some(next_site),
                ..Probes::NONE
            };
            next_line += method.line_entries().len() as u32;
            for site in class.allocation_sites(method) {
                let name = match site.kind {
                    Allocation::New { class } => class,
                    Allocation::Array { element } => element,
                    Allocation::MultiArray { class, .. } => class,
                    Allocation::Call { multi } => if multi { "calls" } else { "call" }.into(),
                };
                sites.insert(next_site, (site.line, name.into_owned()));
                next_site += 1;
            }
            probes
        });
        let rewritten = rewritten.unwrap();
        for (index, outcome) in rewritten.outcomes {
            let inserted = outcome.unwrap();
            assert_eq!(inserted.reduced, None);
            let entries = class.methods()[index].line_entries();
            assert_eq!(inserted.lines.len(), entries.len());
            for ((k, probe), entry) in (0..).zip(inserted.lines).zip(entries) {
                assert_eq!(probe, LineProbe::Own(firsts[&index] + k));
                lines.insert(firsts[&index] + k, entry.line);
            }
        }
        fs::write(dir.path().join(name), rewritten.bytes).unwrap();
    }
    let mut java = jdk.tool("java");
    let out = run(java
        .args(["-Xverify:all", "-cp"])
        .arg(dir.path())
        .arg("Counted"));
    let mut counts = Counts::default();
    for line in lines.values() {
        counts.lines.insert(*line, 0);
    }
    for row in out.lines() {
        let fields: Vec<&str> = row.split(' ').collect();
        let number = |at: usize| fields[at].parse::<u64>().unwrap();
        match fields[0] {
            "line" => *counts.lines.get_mut(&lines[&(number(1) as u32)]).unwrap() += number(2),
            "site" => {
                let site = &sites[&(number(1) as u32)];
                let sum = counts.allocations.entry(site.clone()).or_default();
                sum.0 += number(2);
                sum.1 += number(3);
            }
            _ => assert_eq!(row, format!("calls {calls}")),
        }
    }
    counts
}

#[test]
fn lines_and_allocations() {
    let source = fs::read_to_string(java_sources().join("Counted.java")).unwrap();
    let mut expected = expected(&source);
    assert!(expected.lines.len() > 100 && expected.allocations.len() > 20);
    // An unreachable line may lack an entry in the line table.
    expected.lines.retain(|_, hits| *hits > 0);
    for jdk in Jdk::all() {
        let (constant, computed) = (LargeNumbers::Constant, LargeNumbers::Computed);
        for (first, calls, large_numbers) in [
            (0, true, constant),
            (32_700, true, constant),
            (60_000, false, constant),
            (32_700, true, computed),
            (60_000, false, computed),
        ] {
            let mut counts = counted(&jdk, first, calls, large_numbers);
            counts.lines.retain(|_, hits| *hits > 0);
            for (line, hits) in &counts.lines {
                if expected.lines.get(line) != Some(hits) {
                    println!("JDK {}: line {line} was hit {hits} times", jdk.version);
                }
            }
            assert_eq!(counts, expected, "JDK {}", jdk.version);
        }
    }
}

/// The JVM keeps all constants that a class's pool ever had. So the pool must not depend on the
/// numbers that an agent assigns.
#[test]
fn computed_numbers_leave_no_trace_in_the_pool() {
    let jdk = Jdk::newest();
    let classes = tempfile::tempdir().unwrap();
    let sources = java_sources().display().to_string();
    jdk.compile(
        &java_sources().join("Counted.java"),
        classes.path(),
        &["-sourcepath", &sources],
    );
    let bytes = fs::read(classes.path().join("Counted.class")).unwrap();
    let class = Class::parse(&bytes).unwrap();
    let pool = |first: u32, large_numbers| {
        let hooks = Hooks {
            large_numbers,
            ..COUNTER
        };
        let rewritten = instrument(&class, &hooks, |index, _| Probes {
            calls: Some(first + index as u32),
            lines: Some(first),
            allocations: Some(first),
            ..Probes::NONE
        });
        let bytes = rewritten.unwrap().bytes;
        assert_eq!(Class::parse(&bytes).unwrap().name(), "Counted");
        u16::from_be_bytes([bytes[8], bytes[9]])
    };
    let computed = |first| pool(first, LargeNumbers::Computed);
    assert_eq!(computed(0), computed(40_000));
    assert_eq!(computed(0), computed(70_000_000));
    assert!(pool(40_000, LargeNumbers::Constant) > computed(40_000));
}
