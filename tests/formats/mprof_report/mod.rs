//! All figures of `mprof-report`, the reader of log profiles that comes with Mono, match those of
//! `jtrail report` on the same file. The files are real traces: written by the agent, and converted
//! from another format, in data versions 1 and 17.
//!
//! The other reader differs in these points, which the comparison allows for:
//!
//! - The total time of a method counts each of its recursive calls. So it is compared with the sum
//!   over our call tree.
//! - Its times are truncated, to milliseconds for methods, and to microseconds for pauses and
//!   waits. The times of several methods with one name are truncated separately.
//! - Heap shots have times in rounded milliseconds. They count from the begin of the millisecond in
//!   which the trace began.
//! - A call that is open at the end ends with its thread's last event. In our report, it ends with
//!   the trace.
//! - Reports of monitors with stacks are not compared. They count an event several times: once more
//!   for each event without a stack on the same thread. Averages are not compared either, because
//!   they are quotients of compared figures.
//! - `jtrail`, `VM` and `compiler` are threads that only the format has. Loaders are domains,
//!   images and assemblies; `unknown` is one of these.
//! - Roots are reported only with `--traces`.
//! - Its report `stats` is about the records of the file: [`stats`] maps each number to ours.
//!
//! `docs/formats/mlpd.md` lists all reports.

mod stats;

use crate::support::cli::{jtrail, write_mlpd};
use crate::support::programs::{java_compiler, quick, shop_sources, small_heap};
use crate::support::{agent, newest_of, program};
use jtrail_analysis::readable_type;
use jtrail_testkit::mprof::{Figures, Times, add, add_fact};
use jtrail_testkit::{Jdk, MprofReport, Run, mprof, temp_dir};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

/// Returns a method as the other reader writes it: `a.B:name (int,a.C[])`.
fn method(raw: &str) -> String {
    let (name, types) = raw.split_once('(').expect("parameters");
    let (class, name) = name.rsplit_once('.').expect("a class");
    let mut types = types.split_once(')').expect("parameters").0;
    let mut readable = Vec::new();
    while !types.is_empty() {
        let element = types.trim_start_matches('[');
        let end = match element.find(';') {
            Some(end) if element.starts_with('L') => end + 1,
            _ => 1,
        };
        let (first, rest) = types.split_at(types.len() - element.len() + end);
        readable.push(readable_type(first));
        types = rest;
    }
    format!("{class}:{name} ({})", readable.join(","))
}

/// Returns a class as the other reader writes it.
fn class(raw: &str) -> String {
    if raw.starts_with('[') {
        readable_type(raw)
    } else {
        raw.to_owned()
    }
}

/// Returns a date in UTC, such as `2023 Nov 21 16:52:44`.
fn date(ns: i64) -> String {
    let seconds = ns.div_euclid(1_000_000_000);
    let (mut days, time) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let mut year = 1970;
    let leap = |year: i64| year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    while days >= 365 + i64::from(leap(year)) {
        days -= 365 + i64::from(leap(year));
        year += 1;
    }
    let lengths = [
        31,
        28 + i64::from(leap(year)),
        31,
        30,
        31,
        30,
        31,
        31,
        30,
        31,
        30,
        31,
    ];
    let mut month = 0;
    while days >= lengths[month] {
        days -= lengths[month];
        month += 1;
    }
    let names = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (hours, minutes) = (time / 3600, time / 60 % 60);
    format!(
        "{year} {} {} {hours:02}:{minutes:02}:{:02}",
        names[month],
        days + 1,
        time % 60
    )
}

/// Returns the figures of our report under the names that those of the other reader have.
fn reported(json: &Value) -> (Figures, Times) {
    let (mut f, mut times) = (Figures::new(), Times::new());
    let rows = |table: &str| json[table].as_array().expect("a table").clone();
    let n = |row: &Value, key: &str| row[key].as_u64().unwrap_or(0);
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    let trace = &json["trace"];
    for row in rows("origin") {
        match &*text(&row, "key") {
            "process" => add_fact(&mut f, format!("process {}", text(&row, "value"))),
            "option" if text(&row, "value").starts_with("timerOverhead=") => {
                add_fact(&mut f, text(&row, "value"));
            }
            _ => {}
        }
    }
    // Our report omits the option if it is 0.
    if !f.keys().any(|key| key.starts_with("timerOverhead=")) {
        add_fact(&mut f, "timerOverhead=0".to_owned());
    }
    add_fact(
        &mut f,
        format!(
            "started {}",
            date(trace["start_ns"].as_i64().expect("a time"))
        ),
    );
    add(&mut f, "Compiled methods", n(trace, "methods_defined"));
    // The latest code of a compiled method; the bytecode of other methods.
    let mut code = n(trace, "bytecode_bytes");
    for row in rows("code") {
        code = code + n(&row, "size_bytes") - n(&row, "bytecode_bytes");
    }
    add(&mut f, "Generated code size", code);
    add(&mut f, "GC resizes", n(trace, "heap_resizes"));
    add(&mut f, "Max heap size", n(trace, "largest_heap_bytes"));
    for row in rows("gc_kinds") {
        let generation = if row["generation"] == "full" {
            "Gen1"
        } else {
            "Gen0"
        };
        add(
            &mut f,
            format!("{generation} collections"),
            n(&row, "collections"),
        );
        add(
            &mut f,
            format!("{generation} longest"),
            n(&row, "longest_ns") / 1000,
        );
        add(
            &mut f,
            format!("{generation} paused"),
            n(&row, "total_ns") / 1000,
        );
    }
    add(&mut f, "all bytes", n(trace, "allocated_bytes"));
    add(&mut f, "all objects", n(trace, "allocated_objects"));
    for row in rows("allocations") {
        let class = class(&text(&row, "class"));
        add(&mut f, format!("allocated {class}"), n(&row, "objects"));
        add(&mut f, format!("bytes of {class}"), n(&row, "bytes"));
    }
    for row in rows("allocation_sites") {
        let (class, site) = (class(&text(&row, "class")), method(&text(&row, "site")));
        add(
            &mut f,
            format!("allocated {class} from {site}"),
            n(&row, "bytes"),
        );
    }
    add(&mut f, "all calls", n(trace, "calls"));
    for row in rows("methods") {
        let (methods, _) = times.entry(method(&text(&row, "method"))).or_default();
        *methods += 1;
    }
    // Each caller precedes its callees.
    let mut callers: Vec<String> = Vec::new();
    for row in rows("tree") {
        let callee = method(&text(&row, "method"));
        callers.truncate(n(&row, "depth") as usize - 1);
        add(&mut f, format!("calls of {callee}"), n(&row, "calls"));
        if let Some(caller) = callers.last() {
            add(
                &mut f,
                format!("calls of {callee} from {caller}"),
                n(&row, "calls"),
            );
        }
        let (_, ns) = times.get_mut(&callee).expect("a method");
        ns[0] += n(&row, "total_ns");
        ns[1] += n(&row, "self_ns");
        callers.push(callee);
    }
    add(&mut f, "throws", n(trace, "thrown"));
    let finally = n(trace, "caught_by_all");
    add(&mut f, "catches", n(trace, "caught") - finally);
    add(&mut f, "finally", finally);
    for row in rows("exceptions") {
        add(
            &mut f,
            format!("throws from {}", method(&text(&row, "site"))),
            n(&row, "thrown"),
        );
    }
    for row in rows("monitor_objects") {
        let head = format!("object {}", n(&row, "object"));
        add(&mut f, format!("{head} contentions"), n(&row, "waits"));
        add(&mut f, format!("{head} waited"), n(&row, "total_ns"));
        add(&mut f, format!("{head} longest"), n(&row, "longest_ns"));
    }
    let blocks = rows("monitors");
    add(&mut f, "monitors contentions:", n(trace, "blocked"));
    let open: u64 = blocks.iter().map(|row| n(row, "open")).sum();
    add(&mut f, "monitors acquired:", n(trace, "blocked") - open);
    for row in rows("threads") {
        add_fact(
            &mut f,
            format!("thread {} {:?}", n(&row, "thread"), text(&row, "name")),
        );
    }
    let compiler = (!rows("code").is_empty()).then_some("compiler");
    for (id, name) in (1_u64 << 48..).zip(["jtrail", "VM"].into_iter().chain(compiler)) {
        add_fact(&mut f, format!("thread {id} {name:?}"));
    }
    let mut loaders: Vec<String> = rows("classes")
        .iter()
        .map(|row| text(row, "loader"))
        .collect();
    loaders.extend(["unknown".to_owned()]);
    loaders.retain(|loader| !loader.is_empty());
    loaders.sort();
    loaders.dedup();
    for loader in &loaders {
        add_fact(&mut f, format!("loader {loader}"));
        add_fact(&mut f, format!("domain {loader}"));
    }
    for what in ["images:", "assemblies:"] {
        add(&mut f, format!("loaded {what}"), loaders.len() as u64);
    }
    let mut shots = BTreeMap::new();
    for (shot, row) in rows("heap").iter().enumerate() {
        shots.insert(n(row, "dump"), shot);
        add(&mut f, format!("shot {shot} at"), n(row, "time_ns"));
        add(&mut f, format!("shot {shot} size"), n(row, "bytes"));
        add(
            &mut f,
            format!("shot {shot} object count"),
            n(row, "objects"),
        );
        add(&mut f, format!("shot {shot} roots"), n(row, "roots"));
    }
    for row in rows("heap_classes") {
        let (shot, class) = (shots[&n(&row, "dump")], class(&text(&row, "class")));
        add(&mut f, format!("shot {shot} class count"), 1);
        add(
            &mut f,
            format!("shot {shot} objects of {class} from roots"),
            n(&row, "roots"),
        );
        add(
            &mut f,
            format!("shot {shot} objects of {class}"),
            n(&row, "objects"),
        );
        add(
            &mut f,
            format!("shot {shot} bytes of {class}"),
            n(&row, "bytes"),
        );
    }
    for row in rows("heap_references") {
        let (shot, to) = (shots[&n(&row, "dump")], class(&text(&row, "class")));
        let from = class(&text(&row, "from"));
        add(
            &mut f,
            format!("shot {shot} objects of {to} from {from}"),
            n(&row, "references"),
        );
    }
    f.retain(|_, count| *count > 0);
    (f, times)
}

const TABLES: &str = "trace,origin,threads,methods,tree,code,allocations,allocation_sites,gc_kinds,monitors,monitor_objects,\
                      exceptions,classes,heap,heap_classes,heap_references";

/// Compares the two reports on a file.
fn assert_agreement(program: &MprofReport, file: &Path) -> Figures {
    let name = file.to_str().expect("text");
    let all = ["--top", "0", "--min", "0", "--depth", "1000000"];
    let args = [
        &["report", "--format", "json", "--only", TABLES][..],
        &all,
        &[name],
    ]
    .concat();
    let (code, out, err) = jtrail(&args);
    assert_eq!((code, err.as_str()), (ExitCode::SUCCESS, ""));
    let json = serde_json::from_str(&out).expect("JSON");
    stats::compare(program, file, &json);
    let (mut ours, our_times) = reported(&json);
    let (mut theirs, their_times) = mprof::figures(&program.report(file));
    let is_shot = |what: &String| what.starts_with("shot ") && what.ends_with(" at");
    for (what, ms) in theirs.extract_if(.., |what, _| is_shot(what)) {
        let ns = ours.remove(&what).unwrap_or(0);
        let range = ns.saturating_sub(500_000)..=ns + 1_500_000;
        assert!(
            range.contains(&(ms * 1_000_000)),
            "{what}: {ms} ms, ours {ns} ns"
        );
    }
    // Waits are truncated to microseconds, or rounded.
    let is_time = |what: &String| what.ends_with(" waited") || what.ends_with(" longest");
    for (what, us) in theirs.extract_if(.., |what, _| is_time(what)) {
        let ns = ours.remove(&what).unwrap_or(0);
        let ours = if what.starts_with("Gen") {
            ns
        } else {
            ns / 1000
        };
        assert!(us.abs_diff(ours) <= 1, "{what}: {us} µs, ours {ours}");
    }
    ours.retain(|what, ns| !(is_time(what) && *ns < 1000));
    let missing: Vec<_> = ours
        .iter()
        .filter(|(k, v)| theirs.get(*k) != Some(v))
        .collect();
    let more: Vec<_> = theirs
        .iter()
        .filter(|(k, v)| ours.get(*k) != Some(v))
        .collect();
    assert!(
        missing.is_empty() && more.is_empty(),
        "{name}\nours: {:#?}\ntheirs: {:#?}",
        &missing[..missing.len().min(40)],
        &more[..more.len().min(40)]
    );
    assert_eq!(
        their_times.keys().collect::<Vec<_>>(),
        our_times.keys().collect::<Vec<_>>()
    );
    for (method, (methods, ms)) in their_times {
        let (our_methods, ns) = our_times[&method];
        assert_eq!(methods, our_methods, "{method}");
        for (ms, ns) in ms.into_iter().zip(ns) {
            let most = ns / 1_000_000;
            let least = (most + 1).saturating_sub(methods);
            assert!(
                (least..=most).contains(&ms),
                "{method}: {ms} ms, ours {ns} ns"
            );
        }
    }
    theirs
}

const BOTH: [&str; 2] = ["1", "17"];

/// Traces a program and compares the reports in both data versions: for traces that were converted,
/// and for traces that the agent wrote.
fn agree(
    report: &MprofReport,
    run: impl Fn() -> Run,
    options: &str,
    written: &[&str],
    expected: &[&str],
) {
    let folder = temp_dir();
    let record = |format: &str, name: &str| {
        let file = folder.path().join(name);
        let options = format!("{format},events=all,{options},file={}", file.display());
        run().agent(agent(), options).output().assert_exit(0);
        file
    };
    let compare = |file: &Path| {
        let figures = assert_agreement(report, file);
        println!("{}: {} figures agree", file.display(), figures.len());
        for what in expected {
            let any = figures.keys().any(|key| key.contains(what));
            assert!(any, "no {what} in {figures:#?}");
        }
    };
    let trace = record("format=binary", "trace.trcbin");
    for version in BOTH {
        let file = folder.path().join(format!("converted-{version}.mlpd"));
        write_mlpd(&trace, &file, version);
        compare(&file);
    }
    for version in written {
        let format = format!("format=mlpd,mlpd.version={version}");
        compare(&record(&format, &format!("written-{version}.mlpd")));
    }
}

/// Figures that must exist, so that something is compared.
const SOME: [&str; 10] = [
    "Generated code size",
    "Gen",
    "allocated harness",
    "bytes of ",
    "calls of ",
    "throws from ",
    "finally",
    "shot 0 objects of ",
    "thread ",
    "domain ",
];

#[test]
fn both_reports_have_the_same_figures() {
    let Some(report) = MprofReport::find() else {
        return;
    };
    for jdk in Jdk::require(&newest_of(&[17, 25])) {
        let args = ["1", "10", "4", "7", "20"];
        let run = || {
            let run = program(&jdk, "harness.Everything");
            args.iter().fold(small_heap(run), |run, arg| run.arg(*arg))
        };
        let options = "include=harness.*,allocsites=true,heap=exit,interval=20ms";
        agree(&report, run, options, &BOTH, &SOME);
    }
}

#[test]
fn reports_on_the_sample_application() {
    let Some(report) = MprofReport::find() else {
        return;
    };
    for jdk in Jdk::require(&newest_of(&[17, 25])) {
        let run = || small_heap(program(&jdk, "org.example.shop.Main").arg("5"));
        let options = "include=org.*,allocsites=true,heap=exit,interval=20ms";
        agree(
            &report,
            run,
            options,
            &BOTH,
            &["throws from ", "calls of ", "shot 0 size"],
        );
    }
}

#[test]
fn reports_on_the_java_compiler() {
    let Some(report) = MprofReport::find() else {
        return;
    };
    for jdk in Jdk::require(&newest_of(&[17, 25])) {
        let packages = ["jvm", "code"];
        let packages = packages.map(|name| format!("include=com.sun.tools.javac.{name}.*"));
        let options = format!("{},allocsites=true,heap=exit", packages.join(","));
        let classes = temp_dir();
        agree(
            &report,
            || quick(java_compiler(&jdk, classes.path(), &shop_sources())).jvm_arg("-Xmn8m"),
            &options,
            // One data version only, because each run takes long.
            &[if jdk.feature < 20 { "1" } else { "17" }],
            &["throws from ", "calls of ", "shot 0 size"],
        );
    }
}
