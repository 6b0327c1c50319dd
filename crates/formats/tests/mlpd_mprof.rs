//! A second reader, `mprof-report`, finds the figures of the events in the encoder's files.
//!
//! `JTRAIL_MPROF_REPORT` is the path of `mprof-report`; `scripts/get-mprof-report` fetches it.

use crate::common::legal::trace;
use crate::common::written_by;
use jtrail_formats::mlpd::{self, DataVersion};
use jtrail_model::*;
use jtrail_testkit::mprof::{Figures, add};
use jtrail_testkit::{MprofReport, mprof};
use std::collections::{BTreeSet, HashMap};

/// First bytes of a buffer.
const BUFFER_ID: [u8; 4] = [1, 0x4c, 0x50, 0x4d];
/// Kinds of records that may occur several times for one event.
const SEVERAL: [&str; 2] = ["METADATA END_LOAD", "HEAP HEAP_OBJECT"];

/// Returns the figures that the report should have for these events.
fn expected(events: &[Event<'_>]) -> Figures {
    let mut f = Figures::new();
    let mut classes = HashMap::new();
    let mut methods = HashMap::new();
    let mut loaders = BTreeSet::from(["unknown".to_owned()]);
    let (mut heap, mut largest, mut start) = (0, 0, 0);
    let (mut sizes, mut has_compiler) = (HashMap::new(), false);
    let mut dumps = 0;
    let mut takes_all = false;
    for event in events {
        match event {
            Event::ClassDef(e) => drop(classes.insert(e.class, shown_class(&e.name))),
            Event::MethodDef(e) => {
                let name = shown_method(&classes[&e.class], e);
                methods.insert(e.method, name);
                add(&mut f, "Compiled methods", 1);
            }
            // The size of a compiled method is the size of its code. The size of any other method
            // is the size of its bytecode.
            Event::MethodDetail(e) => _ = sizes.insert(e.method, e.size as u64),
            Event::MethodCompile(e) => {
                has_compiler = true;
                sizes.insert(e.method, e.size as u64);
            }
            Event::MethodEnter(e) => {
                add(&mut f, "all calls", 1);
                add(&mut f, format!("calls of {}", methods[&e.method]), 1);
            }
            Event::ObjectAlloc(e) => {
                let class = &classes[&e.class];
                add(&mut f, "all objects", 1);
                add(&mut f, "all bytes", e.size as u64);
                add(&mut f, format!("allocated {class}"), 1);
                add(&mut f, format!("bytes of {class}"), e.size as u64);
            }
            Event::GcStart(e) => {
                start = e.time.0;
                add(&mut f, "Gen0 collections", 1);
            }
            Event::GcFinish(e) => {
                add(&mut f, "Gen0 paused", (e.time.0 - start) as u64);
                if e.total_space != heap {
                    heap = e.total_space;
                    largest = largest.max(heap as u64);
                    add(&mut f, "GC resizes", 1);
                }
            }
            Event::ExceptionThrow(_) => add(&mut f, "throws", 1),
            Event::CatchDetail(e) => takes_all = e.takes_all,
            Event::ExceptionCatch(_) => {
                let clause = match std::mem::take(&mut takes_all) {
                    true => "finally",
                    false => "catches",
                };
                add(&mut f, clause, 1);
            }
            Event::MonitorContendedEnter(e) => {
                add(&mut f, "monitors contentions:", 1);
                add(&mut f, format!("object {} contentions", e.object.0), 1);
            }
            Event::MonitorContendedEntered(_) => add(&mut f, "monitors acquired:", 1),
            Event::ThreadStart(e) => add(&mut f, format!("thread {} {:?}", e.thread.0, e.name), 1),
            Event::ThreadName(e) => {
                let key = format!("thread {} ", e.thread.0);
                f.retain(|known, _| !known.starts_with(&key));
                f.insert(format!("{key}{:?}", e.name), 1);
            }
            Event::ClassDetail(e) => drop(loaders.insert(e.loader.to_string())),
            Event::HeapDump(_) => dumps += 1,
            Event::HeapObject(e) => {
                let shot = dumps - 1;
                add(&mut f, format!("shot {shot} size"), e.size as u64);
                add(&mut f, format!("shot {shot} object count"), 1);
                let class = &classes[&e.class];
                add(&mut f, format!("shot {shot} objects of {class}"), 1);
            }
            Event::GcRoot(_) => add(&mut f, format!("shot {} roots", dumps - 1), 1),
            _ => {}
        }
    }
    f.insert("Max heap size".into(), largest);
    f.insert("Generated code size".into(), sizes.values().sum());
    for name in &loaders {
        f.insert(format!("loader {name}"), 1);
        f.insert(format!("domain {name}"), 1);
    }
    for what in ["images:", "assemblies:"] {
        f.insert(format!("loaded {what}"), loaders.len() as u64);
    }
    let compiler = has_compiler.then_some("compiler");
    for (id, name) in (1_u64 << 48..).zip(["jtrail", "VM"].into_iter().chain(compiler)) {
        f.insert(format!("thread {id} {name:?}"), 1);
    }
    f.insert("process 4711".into(), 1);
    f
}

/// Returns how many records of each kind the report `stats` should list. Records of definitions and
/// of objects in heap dumps are not counted, because an event may need several.
fn expected_records(version: DataVersion, events: &[Event<'_>]) -> Figures {
    let last = version == DataVersion::V17;
    let mut f = Figures::new();
    let mut heap = 0;
    let stack =
        |name: &str, has_one: bool| format!("{name}_{}", if has_one { "BT" } else { "NO_BT" });
    for event in events {
        let kind = match event {
            Event::MethodDef(_) | Event::MethodCompile(_) => "METHOD JIT".into(),
            Event::MethodEnter(_) => "METHOD ENTER".into(),
            Event::MethodLeave(e) if e.by_exception => "METHOD EXC_LEAVE".into(),
            Event::MethodLeave(_) => "METHOD LEAVE".into(),
            Event::ObjectAlloc(e) => stack("ALLOC ALLOC", !e.method.is_none()),
            Event::ExceptionThrow(e) => stack("EXCEPTION THROW", !e.stack.is_empty()),
            Event::ExceptionCatch(_) => "EXCEPTION CLAUSE".into(),
            Event::MonitorContendedEnter(e) if last => {
                stack("MONITOR MONITOR", !e.stack.is_empty())
            }
            Event::MonitorContendedEntered(e) if last => {
                stack("MONITOR MONITOR", !e.stack.is_empty())
            }
            Event::GcStart(_) => "GC GC_EVENT".into(),
            Event::GcFinish(e) => {
                if e.total_space != heap {
                    heap = e.total_space;
                    add(&mut f, "GC GC_RESIZE", 1);
                }
                "GC GC_EVENT".into()
            }
            Event::ThreadEnd(_) => "METADATA END_UNLOAD".into(),
            Event::ClassUnload(_) if !last => "METADATA END_UNLOAD".into(),
            Event::HeapDump(_) => "HEAP HEAP_START".into(),
            Event::HeapDumpEnd(_) => "HEAP HEAP_END".into(),
            Event::GcRoot(_) if last => "HEAP HEAP_ROOT".into(),
            // Two threads of the format's own end with the agent.
            Event::AgentDestroy(_) => {
                add(&mut f, "METADATA END_UNLOAD", 2);
                continue;
            }
            _ => continue,
        };
        add(&mut f, kind, 1);
    }
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

/// True if [`expected`] computes this figure. Tests on real traces compare whole reports.
fn is_expected(what: &str) -> bool {
    let (of_trace, of_shot) = match what.strip_prefix("shot ") {
        None => (what, ""),
        Some(shot) => ("", shot),
    };
    let left_out = |what: &str, parts: &[&str]| parts.iter().any(|part| what.contains(part));
    !left_out(
        of_trace,
        &["started ", "timerOverhead=", " longest", " waited"],
    ) && !left_out(of_shot, &[" at", " class count", " bytes of "])
        && !what.contains(" from ")
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
            // The last rounds fill many buffers, first because of time, then because of size.
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
            let (mut found, _) = mprof::figures(&program.report(&file));
            let mut selected = expected(&events);
            // The report rounds each pause down to microseconds before adding it.
            let pauses = selected.remove("Gen0 paused").unwrap_or(0) / 1000;
            let collections = selected.get("Gen0 collections").copied().unwrap_or(0);
            let reported = found.remove("Gen0 paused").unwrap_or(0);
            assert!((pauses.saturating_sub(collections + 1)..=pauses).contains(&reported));
            found.retain(|what, _| is_expected(what));
            // Reports leave out figures that are zero.
            selected.retain(|_, count| *count > 0);
            assert_eq!(found, selected, "{version:?} {round}");
            let stats = program.stats(&file);
            let written = bytes.windows(BUFFER_ID.len()).filter(|b| *b == BUFFER_ID);
            assert!((1..=written.count() as u64).contains(&stats.buffers.0));
            let records = stats.records.into_iter().map(|(kind, r)| (kind, r.count));
            let records: Figures = records
                .filter(|(kind, _)| !SEVERAL.contains(&&**kind))
                .collect();
            assert_eq!(
                records,
                expected_records(version, &events),
                "{version:?} {round}"
            );
        }
    }
    std::fs::remove_dir_all(&directory).unwrap();
}
