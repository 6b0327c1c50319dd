//! Another reader, `mprof-report`, finds in what we write the figures that the events have.
//!
//! `JTRAIL_MPROF_REPORT` tells where it is; `scripts/get-mprof-report` fetches it.

mod common;

use common::legal::trace;
use common::written_by;
use jtrail_formats::mlpd::{self, DataVersion};
use jtrail_model::*;
use jtrail_testkit::MprofReport;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

/// What a report says, and what it must say: figures by name.
type Figures = BTreeMap<String, u64>;

fn add(figures: &mut Figures, what: impl Into<String>, count: u64) {
    *figures.entry(what.into()).or_default() += count;
}

/// The figures that the events have.
fn expected(events: &[Event<'_>]) -> Figures {
    let mut f = Figures::new();
    let mut classes = HashMap::new();
    let mut methods = HashMap::new();
    let mut loaders = BTreeSet::from(["unknown".to_owned()]);
    let (mut heap, mut largest, mut start) = (0, 0, 0);
    let mut compiled = HashMap::new();
    let mut dump = 0;
    for event in events {
        match event {
            Event::ClassDef(e) => drop(classes.insert(e.class, shown_class(&e.name))),
            Event::MethodDef(e) => {
                let name = shown_method(&classes[&e.class], e);
                methods.insert(e.method, name);
                add(&mut f, "Compiled methods", 1);
            }
            Event::MethodCompile(e) => {
                compiled.insert(e.method, e.size as u64);
            }
            Event::MethodEnter(e) => {
                add(&mut f, "Total calls", 1);
                add(&mut f, format!("calls of {}", methods[&e.method]), 1);
            }
            Event::ObjectAlloc(e) => {
                let class = &classes[&e.class];
                add(&mut f, "objects", 1);
                add(&mut f, "bytes", e.size as u64);
                add(&mut f, format!("allocated {class}"), 1);
                add(&mut f, format!("bytes of {class}"), e.size as u64);
            }
            Event::GcStart(e) => {
                start = e.time.0;
                add(&mut f, "collections", 1);
            }
            Event::GcFinish(e) => {
                add(&mut f, "pauses", (e.time.0 - start) as u64);
                if e.total_space != heap {
                    heap = e.total_space;
                    largest = largest.max(heap as u64);
                    add(&mut f, "GC resizes", 1);
                }
            }
            Event::ExceptionThrow(_) => add(&mut f, "Throws", 1),
            Event::ExceptionCatch(_) => add(&mut f, "Executed catch clauses", 1),
            Event::MonitorContendedEnter(_) => add(&mut f, "Lock contentions", 1),
            Event::MonitorContendedEntered(_) => add(&mut f, "Lock acquired", 1),
            Event::ThreadStart(e) => add(&mut f, format!("thread {:#x} {}", e.thread.0, e.name), 1),
            Event::ThreadName(e) => {
                let key = format!("thread {:#x} ", e.thread.0);
                f.retain(|known, _| !known.starts_with(&key));
                f.insert(format!("{key}{}", e.name), 1);
            }
            Event::ClassDetail(e) => drop(loaders.insert(e.loader.to_string())),
            Event::HeapDump(_) => dump += 1,
            Event::HeapObject(e) => {
                add(&mut f, format!("dump {dump} size"), e.size as u64);
                add(&mut f, format!("dump {dump} object count"), 1);
                let class = &classes[&e.class];
                add(&mut f, format!("dump {dump} of {class}"), 1);
            }
            Event::GcRoot(_) => add(&mut f, format!("dump {dump} roots"), 1),
            _ => {}
        }
    }
    f.insert("Max heap size".into(), largest);
    f.insert("Generated code size".into(), compiled.values().sum());
    for name in &loaders {
        for what in ["image", "assembly", "domain"] {
            f.insert(format!("{what} {name}"), 1);
        }
    }
    f.insert("thread 0x1000000000000 jtrail".into(), 1);
    f.insert("thread 0x1000000000001 VM".into(), 1);
    f
}

fn shown_class(name: &str) -> String {
    match name {
        "[I" => "int[]".into(),
        "[La.B;" => "a.B[]".into(),
        name => name.into(),
    }
}

fn shown_method(class: &str, e: &MethodDef<'_>) -> String {
    let types = match &*e.signature {
        "()" | "()V" => "",
        "(I)" | "(I)V" => "int",
        "(J[[B)" | "(J[[B)V" => "long,byte[][]",
        "([Ljava/lang/String;)" | "([Ljava/lang/String;)V" => "java.lang.String[]",
        "(La/é$1;Z)" | "(La/é$1;Z)V" => "a.é$1,boolean",
        other => panic!("{other}"),
    };
    format!("{class}:{} ({types})", e.name)
}

/// Runs the program over a file.
fn report(program: &MprofReport, file: &Path, options: &[&str]) -> String {
    let reports = "--reports=header,jit,gc,alloc,call,metadata,exception,monitor,thread,domain,heapshot,stats";
    program.run(file, &[&[reports, "--verbose"], options].concat())
}

/// The figures of a report.
fn figures(text: &str) -> Figures {
    let mut f = Figures::new();
    let (mut section, mut list, mut dump) = ("", "", 0);
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(name) = line
            .strip_suffix(" summary")
            .filter(|_| !line.starts_with('\t'))
        {
            section = name;
        }
        let pair = line.trim().split_once(": ");
        match (section, &words[..], pair) {
            (_, ["Loaded", what, ..], _) => list = what.trim_end_matches(':'),
            ("Metadata", [_, ..], None) if line.starts_with("\t\t") => {
                let what = if list == "images" {
                    "image"
                } else {
                    "assembly"
                };
                add(&mut f, format!("{what} {}", line.trim()), 1);
            }
            ("JIT" | "GC", _, Some((name, count))) if !name.starts_with("JIT") => match words[..] {
                [
                    "Gen0",
                    "collections:",
                    count,
                    "max",
                    "time:",
                    _,
                    "total",
                    "time:",
                    total,
                    ..,
                ] => {
                    add(
                        &mut f,
                        "collections",
                        count.trim_end_matches(',').parse().unwrap(),
                    );
                    let total = total.trim_end_matches("us,").parse().unwrap();
                    add(&mut f, "microseconds", total);
                }
                _ => add(&mut f, name, count.parse().unwrap()),
            },
            (
                "Allocation",
                [
                    "Total",
                    "memory",
                    "allocated:",
                    bytes,
                    "bytes",
                    "in",
                    objects,
                    ..,
                ],
                _,
            ) => {
                add(&mut f, "bytes", bytes.parse().unwrap());
                add(&mut f, "objects", objects.parse().unwrap());
            }
            ("Allocation", [bytes, count, _, class], _) if bytes.parse::<u64>().is_ok() => {
                add(&mut f, format!("allocated {class}"), count.parse().unwrap());
                add(&mut f, format!("bytes of {class}"), bytes.parse().unwrap());
            }
            ("Method call", ["Total", "calls:", count], _) => {
                add(&mut f, "Total calls", count.parse().unwrap());
            }
            ("Method call", [_, _, count, name @ ..], _) if count.parse::<u64>().is_ok() => {
                add(
                    &mut f,
                    format!("calls of {}", name.join(" ")),
                    count.parse().unwrap(),
                );
            }
            ("Exception", _, Some((name @ ("Throws" | "Executed catch clauses"), count)))
            | (
                "Monitor lock",
                _,
                Some((name @ ("Lock contentions" | "Lock acquired" | "Lock failures"), count)),
            ) => {
                add(&mut f, name, count.parse().unwrap());
            }
            ("Thread", ["Thread:", id, "name:", name @ ..], _) => {
                let (id, name) = (id.trim_end_matches(','), name.join(" "));
                add(&mut f, format!("thread {id} {}", name.trim_matches('"')), 1);
            }
            ("Domain", ["Domain:", _, "friendly", "name:", name @ ..], _) => {
                add(
                    &mut f,
                    format!("domain {}", name.join(" ").trim_matches('"')),
                    1,
                );
            }
            ("Heap shot", ["Heap", "shot", ..], Some((_, rest))) => {
                dump += 1;
                for part in rest.split(", ") {
                    let (name, count) = part.rsplit_once(": ").unwrap();
                    let name = name.rsplit_once(": ").map_or(name, |(_, name)| name);
                    if name != "class count" {
                        add(
                            &mut f,
                            format!("dump {dump} {name}"),
                            count.parse().unwrap(),
                        );
                    }
                }
            }
            ("Heap shot", [bytes, count, _, class, ..], _) if bytes.parse::<u64>().is_ok() => {
                add(
                    &mut f,
                    format!("dump {dump} of {class}"),
                    count.parse().unwrap(),
                );
            }
            _ => {}
        }
    }
    f
}

/// The numbers of roots in a report.
fn roots_of(text: &str) -> Figures {
    let counts = text.lines().filter_map(|line| line.split_once(", roots: "));
    let counts = counts.map(|(_, count)| count.parse().unwrap());
    let dumps = (1..).map(|dump| format!("dump {dump} roots"));
    dumps.zip(counts).filter(|(_, count)| *count > 0).collect()
}

#[test]
fn mprof_report_counts_what_the_events_say() {
    let Some(program) = MprofReport::find() else {
        return;
    };
    let directory = std::env::temp_dir().join(format!("jtrail-mprof-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    for version in [DataVersion::V1, DataVersion::V17] {
        for round in 0..6_usize {
            // Many buffers in the last rounds: by time, and by size.
            let count = [30, 100, 300, 1000, 3000, 60_000][round];
            let gap = [1000, 70_000, 3_000_000, 20_000_000, 1_000_000, 1000][round];
            let mut random = 0x9e37_79b9_7f4a_7c15_u64 + round as u64;
            let mut next = || {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                random
            };
            let steps: Vec<_> = (0..count)
                .map(|_| {
                    let kind = next() % if round == 5 { 900 } else { 40 };
                    let kind = if kind < 40 { kind } else { 20 + kind % 2 };
                    (kind as u8, (next() >> 20) as usize, (next() % gap) as u32)
                })
                .collect();
            let events = trace(version, &steps);
            let bytes = written_by(&mut mlpd::Encoder::new(version), &events);
            let file = directory.join(format!("{version:?}-{round}.mlpd"));
            std::fs::write(&file, &bytes).unwrap();
            let text = report(&program, &file, &[]);
            let mut found = figures(&text);
            let mut wanted = expected(&events);
            // Each is rounded down to microseconds before they are added up.
            let pauses = wanted.remove("pauses").unwrap_or(0) / 1000;
            let collections = wanted.get("collections").copied().unwrap_or(0);
            let told = found.remove("microseconds").unwrap_or(0);
            assert!((pauses.saturating_sub(collections + 1)..=pauses).contains(&told));
            for side in [&mut found, &mut wanted] {
                // Reports leave out what there is none of.
                side.retain(|_, count| *count > 0);
            }
            // Roots are counted only where stacks are.
            let is_roots = |what: &String| what.ends_with(" roots");
            let roots: Figures = wanted.extract_if(.., |what, _| is_roots(what)).collect();
            assert_eq!(found, wanted, "{version:?} {round} {text}");
            assert!(text.contains("Program ID: 4711"));
            let found = roots_of(&report(&program, &file, &["--traces"]));
            assert_eq!(found, roots, "{version:?} {round}");
        }
    }
    std::fs::remove_dir_all(&directory).unwrap();
}
