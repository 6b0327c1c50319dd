//! The agent writes every format. The program behaves as without the agent, the trace is sound, and
//! its figures are those that the program knows, as far as the format holds them.

use crate::support::cli::assert_verified;
use crate::support::figures::{Figures, short_counts};
use crate::support::spellings::{SPELLINGS, Spelling};
use crate::support::{FILTER, agent, few_versions, one_version, program};
use jtrail_formats::Format;
use jtrail_testkit::{Jdk, MprofReport, Output, Run, Truth, differences, mprof, temp_dir};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

#[path = "../../crates/formats/tests/common/tracelog.rs"]
mod log;

/// Returns the formats to test on a JVM, in tests with many runs: all on the newest JVM and on 17,
/// and two on the others. The JVM's version and the format are independent, so not all pairs are
/// tested.
fn spellings(jdk: &Jdk) -> impl Iterator<Item = &'static Spelling> {
    let all = matches!(jdk.feature, 17 | 25);
    let chosen = |format| matches!(format, Format::Jinsight | Format::Trail);
    SPELLINGS.iter().filter(move |s| all || chosen(s.format))
}

/// Runs a program in its own folder, with the default file name. The program must not be affected,
/// except for one line about events that the format can't hold.
fn written(run: impl Fn() -> Run, spelling: &Spelling, more: &str) -> (Output, Figures) {
    let folder = temp_dir();
    let options = format!("{},{more}", spelling.options);
    let output = run().dir(folder.path()).agent(agent(), &options).output();
    output.assert_exit(0);
    let said: Vec<&str> = output.stderr.lines().filter(|l| ours(l)).collect();
    assert!(said.len() <= 1, "{output}");
    let dropped = format!("jtrail: {}: dropped: ", spelling.format.name());
    assert!(said.iter().all(|l| l.starts_with(&dropped)), "{output}");
    let file = folder.path().join(format!("trace.{}", spelling.ending));
    let figures = Figures::read(&file).unwrap_or_else(|e| panic!("{options}: {e}\n{output}"));
    assert_verified(&file);
    if spelling.format == Format::TraceLog {
        log::check_log(&std::fs::read_to_string(&file).expect("UTF-8"));
    }
    assert_eq!(figures.format, Some(spelling.format));
    assert!(!figures.is_truncated, "{options}");
    (output, figures)
}

fn ours(line: &str) -> bool {
    line.starts_with("jtrail: ")
}

/// Returns everything that a program printed, without the agent's lines.
fn printed(output: &Output) -> (String, Vec<&str>) {
    let errors = output.stderr.lines().filter(|l| !ours(l)).collect();
    (output.stdout.clone(), errors)
}

#[test]
fn calls_are_those_that_the_program_made() {
    for jdk in Jdk::require(&one_version()) {
        for name in [
            "harness.Exceptions",
            "harness.Threads",
            "harness.Lambdas",
            "harness.Overflow",
        ] {
            let bare = program(&jdk, name).output();
            for spelling in spellings(&jdk) {
                eprintln!("{name}, {}, JDK {}", spelling.options, jdk.feature);
                let (output, figures) = written(|| program(&jdk, name), spelling, FILTER);
                let counts = output.counts();
                assert_eq!(
                    counts.limits.len(),
                    0,
                    "a format without notes can't say what is not instrumented"
                );
                short_counts(&counts).assert_matches(
                    &figures.calls,
                    &BTreeSet::new(),
                    &["harness."],
                    &[],
                );
                if counts.ranges.is_empty() {
                    assert_eq!(printed(&output), printed(&bare));
                }
            }
        }
    }
}

/// Returns the counts of the program's own classes, whose objects are all counted, wherever they
/// are created.
fn own(counts: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    let own = counts.iter().filter(|(class, _)| {
        let element = class.trim_start_matches('[').trim_start_matches('L');
        element.starts_with("harness.") && !element.starts_with("harness.Expect")
    });
    own.map(|(class, count)| (class.clone(), *count)).collect()
}

#[test]
fn objects_and_collections_are_those_of_the_program() {
    for jdk in Jdk::require(&one_version()) {
        for name in ["harness.Allocations", "harness.Frees"] {
            for spelling in spellings(&jdk) {
                eprintln!("{name}, {}, JDK {}", spelling.options, jdk.feature);
                let run = || program(&jdk, name).jvm_arg("-XX:+UseSerialGC");
                let events = "events=threads+gc+alloc+free,include=harness.*";
                let (output, figures) = written(run, spelling, events);
                let truth: Truth = output.truth();
                let (objects, bytes) = (own(&truth.objects), own(&truth.bytes));
                let mut wrong = Vec::new();
                if spelling.format != Format::ProfilerJ {
                    wrong.extend(differences("objects", &objects, &own(&figures.objects)));
                    assert_eq!(figures.collections > 0, name == "harness.Frees");
                }
                // Sizes of plain objects are missing in these formats.
                if !matches!(spelling.format, Format::ProfilerJ | Format::Jinsight) {
                    wrong.extend(differences("bytes", &bytes, &own(&figures.bytes)));
                }
                if spelling.format != Format::Mlpd {
                    wrong.extend(differences("live", &own(&truth.live), &figures.live));
                }
                assert_eq!(wrong, [""; 0], "{}\n{output}", spelling.options);
                assert!(!objects.is_empty() || !truth.live.is_empty());
            }
        }
    }
}

/// The sample application in each format: output and exit code as without the agent, and the same
/// threads, if the format has names.
#[test]
fn the_sample_application_runs_as_without() {
    for jdk in Jdk::require(&one_version()) {
        let shop = || program(&jdk, "org.example.shop.Main").arg("2");
        let bare = shop().output();
        bare.assert_exit(0);
        let mut names: Option<BTreeSet<String>> = None;
        for spelling in &SPELLINGS {
            eprintln!("{}, JDK {}", spelling.options, jdk.feature);
            let events = "events=all,interval=20ms,include=org.example.*";
            let (output, figures) = written(shop, spelling, events);
            assert_eq!(printed(&output), printed(&bare), "{}", spelling.options);
            assert!(figures.calls.values().sum::<u64>() > 1000);
            let workers = figures.threads.iter();
            let workers: BTreeSet<String> = workers
                .filter(|name| name.starts_with("checkout"))
                .cloned()
                .collect();
            match spelling.format {
                Format::TraceLog => {} // has no names
                _ => assert_eq!(
                    *names.get_or_insert(workers.clone()),
                    workers,
                    "{}",
                    spelling.options
                ),
            }
        }
        assert!(names.is_some_and(|names| !names.is_empty()));
        // A trace log's other modes.
        for (events, kind) in [
            ("samples+cpu", "Sample"),
            ("threads+gc+alloc+free", "AllocationSum"),
        ] {
            let options = format!("events={events},interval=5ms,include=org.example.*");
            let (output, figures) = written(shop, &SPELLINGS[5], &options);
            assert_eq!(printed(&output), printed(&bare), "{options}");
            assert!(
                figures.kinds[kind] > 0 && figures.calls.is_empty(),
                "{options}"
            );
        }
    }
}

#[test]
fn a_trace_log_has_three_modes() {
    let spelling = &SPELLINGS[5];
    for jdk in Jdk::require(&one_version()) {
        let burn = || program(&jdk, "harness.Burn");
        let filter = "include=harness.*";
        let calls = written(burn, spelling, &format!("events=+cpu+jit,{filter}")).1;
        assert!(calls.kinds["MethodEnter"] > 0 && calls.samples == 0);
        assert!(calls.os_ids > 1 && calls.compiled > 0, "{:?}", calls.kinds);
        assert!(calls.process_cpu > 100_000_000, "{calls:?}");
        assert!(calls.cpu.values().any(|used| *used > 100_000_000));

        let options = format!("events=samples+cpu,interval=5ms,{filter}");
        let samples = written(burn, spelling, &options).1;
        assert!(samples.samples > 10 && samples.calls.is_empty());
        let each = written(
            burn,
            spelling,
            &format!("{options},tracelog.every-sample=true"),
        )
        .1;
        assert!(each.kinds["Sample"] > 10);

        let frees = || program(&jdk, "harness.Frees");
        let options = format!("events=alloc+free,tracelog.visual-studio=true,{filter}");
        let memory = written(frees, spelling, &options).1;
        assert!(memory.calls.is_empty() && memory.samples == 0);
        assert!(memory.kinds["AllocationSum"] > 0 && memory.kinds["LiveObjects"] > 0);
    }
}

#[test]
fn a_snapshot_has_a_section_for_each_kind_of_events() {
    let spelling = &SPELLINGS[7];
    for jdk in Jdk::require(&one_version()) {
        let lines = || program(&jdk, "harness.Lines");
        let options = "events=+lines+alloc,include=harness.*";
        let (output, figures) = written(lines, spelling, options);
        let wrong = differences("hits of", &output.truth().lines, &figures.lines);
        assert_eq!(wrong, [""; 0], "{output}");
        assert!(!figures.peak.is_empty() && figures.samples == 0);

        let burn = || program(&jdk, "harness.Burn");
        let options = "events=+samples+cpu,interval=5ms,include=harness.*";
        let (output, figures) = written(burn, spelling, options);
        assert!(figures.samples > 10 && figures.lines.is_empty() && figures.objects.is_empty());
        let used: u64 = figures.cpu.values().sum();
        let reported: u64 = output.truth().cpu_threads.values().map(|c| c.low).sum();
        assert!(
            reported > 0 && used / 1_000_000 >= reported,
            "{used} {reported}"
        );

        let exceptions = || program(&jdk, "harness.Exceptions");
        let left = written(exceptions, spelling, FILTER).1.exceptional;
        let in_mlpd = written(exceptions, &SPELLINGS[3], FILTER).1.exceptional;
        assert!(left > 0);
        assert_eq!(left, in_mlpd);
    }
}

/// Each class is complete before anything uses it, so that none has to be written twice.
#[test]
fn jinsight_has_classes_whole_and_counts_in_its_header() {
    let spelling = &SPELLINGS[2];
    for jdk in Jdk::require(&few_versions()) {
        for options in ["exclude=harness.Expect*", "events=methods,include=*"] {
            let folder = temp_dir();
            let run = program(&jdk, "harness.Streams").dir(folder.path());
            let options = format!("{},{options}", spelling.options);
            let output = run.agent(agent(), &options).output();
            output.assert_exit(0);
            assert!(!output.stderr.contains("classes split by"), "{output}");
            let bytes = fs::read(folder.path().join("trace.trc")).expect("a trace");
            let field = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four"));
            let (events, threads, classes) = (field(9), field(13), field(17));
            assert!(events > 1000 && threads > 1 && classes > 300, "{options}");
            let figures = Figures::read(&folder.path().join("trace.trc")).expect("sound");
            assert!(figures.kinds["ClassDetail"] > 300);
            let first = ["java.lang.Object", "java.lang.Runnable", "java.lang.Thread"];
            assert_eq!(figures.defined[..3], first);
        }
    }
}

#[test]
fn what_is_dropped_is_reported_in_one_line() {
    let jdk = Jdk::newest();
    for (options, expected) in [
        (
            "format=mlpd,events=+lines+parks",
            "mlpd: dropped: events=parks+lines (not recorded)",
        ),
        (
            "format=jinsight,events=+cpu",
            "jinsight: dropped: events=cpu (not recorded)",
        ),
        (
            "format=tracelog,events=+heap",
            "tracelog: dropped: events=heap (not recorded)",
        ),
        (
            "format=profilerj,events=+gc",
            "profilerj: dropped: events=gc (not recorded)",
        ),
    ] {
        let folder = temp_dir();
        let file = folder.path().join("trace");
        let options = format!("{options},include=harness.*,file={}", file.display());
        let output = program(&jdk, "harness.Fib")
            .agent(agent(), options)
            .output();
        output.assert_exit(0);
        let said: Vec<&str> = output.stderr.lines().filter(|l| ours(l)).collect();
        let [line] = said[..] else { panic!("{output}") };
        assert!(line.contains(expected), "{line}");
        assert_verified(&file);
    }
}

/// Mono's own reader finds the same figures in log profiles as our reader, on all JVMs. The module
/// `mprof_report` compares all figures.
#[test]
fn mprof_report_reads_log_profiles() {
    let Some(report) = MprofReport::find() else {
        return;
    };
    for jdk in Jdk::require(&one_version()) {
        for (name, events) in [
            ("harness.Exceptions", "+exceptions"),
            ("harness.Frees", "+alloc+heap+details"),
            ("harness.Monitors", "+monitors+jit"),
        ] {
            for spelling in &SPELLINGS[3..5] {
                eprintln!("{name}, {}, JDK {}", spelling.options, jdk.feature);
                let folder = temp_dir();
                let options = format!("{},events={events},{FILTER}", spelling.options);
                let run = program(&jdk, name).dir(folder.path());
                run.agent(agent(), options).output().assert_exit(0);
                let file = folder.path().join("trace.mlpd");
                let figures = Figures::read(&file).expect("sound");
                let (theirs, _) = mprof::figures(&report.report(&file));
                let theirs = |name: &str| theirs.get(name).copied().unwrap_or(0);
                let collections = ["Gen0", "Gen1"].map(|g| theirs(&format!("{g} collections")));
                assert_eq!(collections.iter().sum::<u64>(), figures.collections);
                assert_eq!(theirs("all calls"), figures.calls.values().sum::<u64>());
                assert_eq!(theirs("throws"), figures.throws);
                assert_eq!(theirs("monitors contentions:"), figures.contended);
                assert_eq!(theirs("all objects"), figures.objects.values().sum::<u64>());
                assert_eq!(theirs("all bytes"), figures.bytes.values().sum::<u64>());
                match name {
                    "harness.Exceptions" => assert!(figures.throws > 0),
                    "harness.Frees" => assert!(figures.collections > 0 && theirs("all bytes") > 0),
                    _ => assert!(figures.contended > 0),
                }
            }
        }
    }
}
