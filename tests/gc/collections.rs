//! Collections in traces, compared with the JVM's own log.

use crate::support::cli::write_mlpd;
use crate::support::collections::{Collection, collections};
use crate::support::compile::compile;
use crate::support::jvm_tools::{jcmd, with_tools_and};
use crate::support::{Trace, agent, collectors, few_versions, one_version, program};
use jtrail_formats::{Item, Reader};
use jtrail_model::{Event, Generation};
use jtrail_testkit::{Jdk, Output};
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::Path;

const MB: i64 = 1 << 20;
/// Number of collections that the program below requests.
const ASKED: usize = 20;

/// A program that requests collections while it keeps between 0 and 7 MB.
const SOURCE: &str = include_str!("Churn.java");

/// Runs a program that allocates and requests collections. Returns the trace's collections, the
/// JVM's log, and the output.
fn run(jdk: &Jdk, flags: &[&str]) -> (Vec<Collection>, String, Output) {
    let folder = jtrail_testkit::temp_dir();
    let (file, log) = (folder.path().join("trace"), folder.path().join("log"));
    let options = format!("format=binary,events=threads+gc,file={}", file.display());
    compile("Churn", SOURCE, folder.path());
    let mut run = program(jdk, "Churn")
        .class_path(folder.path())
        .agent(agent(), options)
        .jvm_arg("-XX:+UnlockExperimentalVMOptions")
        .jvm_arg("-Xmx64m")
        .jvm_arg(format!("-Xlog:gc,gc+phases:{}:tags", log.display()));
    for flag in flags {
        run = run.jvm_arg(flag);
    }
    let output = run.output();
    output.assert_exit(0);
    Trace::read(&file).expect("sound").assert_sound(&output);
    let log = fs::read_to_string(log).expect("a log");
    (collections(&file), log, output)
}

/// A pause whose sizes are logged: `Pause Young (…) (Allocation Failure) 17M->1M(61M) 1.053ms`.
#[derive(Debug)]
struct Pause {
    generation: Generation,
    /// The cause; empty for a remark and a cleanup.
    cause: String,
    /// Used megabytes after the pause.
    used: i64,
    /// Megabytes of the heap.
    heap: i64,
}

fn sized_pauses(log: &str) -> Vec<Pause> {
    let pause = |line: &str| {
        let (_, pause) = line.split_once(") Pause ")?;
        let generation = match pause.split_once(' ')?.0 {
            "Full" => Generation::Full,
            "Young" => Generation::Young,
            "Remark" | "Cleanup" => Generation::Concurrent,
            _ => return None,
        };
        let (before, after) = pause.split_once("->")?;
        let (text, _) = before.rsplit_once(' ')?;
        // The cause itself may have parentheses: `System.gc()`.
        let cause = text.rsplit_once(" (").map_or("", |(_, cause)| cause);
        let (used, heap) = after.split_once("M(")?;
        Some(Pause {
            generation,
            cause: cause.strip_suffix(')').unwrap_or(cause).to_owned(),
            used: used.parse().ok()?,
            heap: heap.split_once('M')?.0.parse().ok()?,
        })
    };
    log.lines().filter_map(pause).collect()
}

/// Returns the number of the collection that a logged pause belongs to: `GC(7) Pause Final Mark
/// (unload classes) 0.834ms`, `GC(7) Y: Pause Mark Start 0.002ms`.
fn pause_of(line: &str) -> Option<u32> {
    let (number, text) = line.split_once("GC(")?.1.split_once(") ")?;
    let text = text.split_once(": ").map_or(text, |(_, text)| text);
    let is_pause = text.starts_with("Pause ") && text.ends_with("ms");
    number.parse().ok().filter(|_| is_pause)
}

#[test]
fn collections_are_those_of_the_log() {
    for jdk in Jdk::require(&one_version()) {
        // A small young generation, so that it fills between two requests.
        for (flags, asked) in [
            (["-XX:+UseSerialGC", "-Xmn4m"], Generation::Full),
            (["-XX:+UseParallelGC", "-Xmn4m"], Generation::Full),
            (["-XX:+UseG1GC", "-Xmn4m"], Generation::Full),
            (
                ["-XX:+UseG1GC", "-XX:+ExplicitGCInvokesConcurrent"],
                Generation::Concurrent,
            ),
        ] {
            let (ours, log, output) = run(&jdk, &flags);
            let what = format!("{flags:?}, JDK {}\n{log}\n{output}", jdk.feature);
            let mut theirs = sized_pauses(&log);
            // Parallel empties the young generation first, within the same pause.
            if flags[0] == "-XX:+UseParallelGC" && jdk.feature < 25 {
                theirs.retain(|p| p.generation == Generation::Full || p.cause != "System.gc()");
            }
            assert_eq!(ours.len(), theirs.len(), "{what}");
            for (ours, theirs) in ours.iter().zip(&theirs) {
                let what = || format!("{ours:?} {theirs:?} {what}");
                assert_eq!(ours.generation, theirs.generation, "{}", what());
                assert_eq!(ours.cause, theirs.cause, "{}", what());
                assert!(!ours.collector.is_empty());
                let off = ours.used - theirs.used * MB;
                let (least, most) = match theirs.generation {
                    Generation::Concurrent => (0, MB - 1),
                    // On 11, G1 counts in whole regions.
                    _ if jdk.feature == 11 => (-MB, 2 * MB),
                    _ => (-MB, MB),
                };
                assert!((least..=most).contains(&off), "{}", what());
                match flags[0] {
                    "-XX:+UseG1GC" => assert_eq!(ours.heap / MB, theirs.heap, "{}", what()),
                    // The log's heap size does not include an empty survivor space.
                    _ => assert!((ours.used..=64 * MB).contains(&ours.heap), "{}", what()),
                }
            }
            let count = |generation| theirs.iter().filter(|p| p.generation == generation).count();
            assert!(count(Generation::Young) > 0, "{what}");
            assert!(count(asked) >= ASKED, "{what}");
        }
    }
}

/// Returns the logged heap usage of the collections that the program waits for. For each, it is the
/// index of one of the collection's pauses, and megabytes. For ZGC, the pause is the first one
/// (`GC(7) Garbage Collection (System.gc()) 8M(12%)->2M(3%)`). For Shenandoah, it is the pause
/// before the memory is freed (`GC(7) Concurrent cleanup 6M->0M(64M)`, after `Trigger: Explicit GC
/// request (System.gc())`).
fn uses(log: &str) -> Vec<(usize, i64)> {
    let (mut pauses, mut uses, mut is_asked) = (Vec::new(), Vec::new(), false);
    for line in log.lines() {
        pauses.extend(pause_of(line));
        if line.contains("Trigger") {
            is_asked = line.contains("(System.gc())");
        }
        let place = match line {
            _ if line.contains("Collection (System.gc()) ") => {
                let number = line.split(['(', ')']).nth(1).and_then(|n| n.parse().ok());
                pauses.iter().position(|pause| Some(*pause) == number)
            }
            _ if is_asked && line.contains("Concurrent cleanup ") => pauses.len().checked_sub(1),
            _ => None,
        };
        let used = || {
            let (before, _) = line.split_once("->")?;
            let (used, _) = before.rsplit_once(' ')?.1.split_once('M')?;
            used.parse().ok()
        };
        uses.extend(place.zip(used()));
    }
    uses
}

/// With ZGC, the sizes may differ by a page of 2 MB that another thread takes. With Shenandoah, the
/// collection that the program waits for may be over before its last log line, and the program goes
/// on.
fn assert_uses_are_those_of_the_log(ours: &[Collection], log: &str, is_zgc: bool, what: &str) {
    let theirs = uses(log);
    assert!(theirs.len() >= ASKED, "{what}");
    let is_near = |(place, used): &&(usize, i64)| (ours[*place].used - used * MB).abs() <= 2 * MB;
    let near = theirs.iter().filter(is_near).count();
    let least = theirs.len() * if is_zgc { 4 } else { 3 } / 4;
    assert!(near >= least, "{near} of {theirs:?} {what}");
}

#[test]
fn concurrent_collectors_report_causes_and_sizes() {
    for jdk in Jdk::require(&one_version()) {
        for flags in [
            &["-XX:+UseZGC"][..],
            &["-XX:+UseZGC", "-XX:+ZGenerational"],
            &["-XX:+UseShenandoahGC"],
            &["-XX:+UseShenandoahGC", "-XX:ShenandoahGCMode=generational"],
        ] {
            if !collectors::has(&jdk, flags) {
                continue;
            }
            let (ours, log, output) = run(&jdk, flags);
            let what = format!("{flags:?}, JDK {}\n{log}\n{output}\n{ours:#?}", jdk.feature);
            assert_eq!(
                ours.len(),
                log.lines().filter_map(pause_of).count(),
                "{what}"
            );
            let asked = ours.iter().filter(|c| c.cause == "System.gc()").count();
            assert!(asked >= ASKED, "{what}");
            let is_zgc = flags[0] == "-XX:+UseZGC";
            assert_uses_are_those_of_the_log(&ours, &log, is_zgc, &what);
            for collection in &ours {
                assert_eq!(collection.heap, 64 * MB, "{what}");
                assert!((1..=64 * MB).contains(&collection.used), "{what}");
                let (name, generation) = (&*collection.collector, collection.generation);
                match is_zgc {
                    true if jdk.feature == 11 => assert_eq!(name, "", "{what}"),
                    true => {
                        assert!(name.starts_with('Z'), "{what}");
                        assert_eq!(generation, Generation::Concurrent, "{what}");
                    }
                    // Shenandoah does not report its generation.
                    false => {
                        assert!(["Shenandoah", ""].contains(&name), "{what}");
                        assert_eq!(generation, Generation::Unknown, "{what}");
                    }
                }
                assert!(!collection.cause.is_empty(), "{what}");
            }
        }
    }
}

/// Serial and Parallel report no event for collections on behalf of other tools. Their counters
/// show these collections at the end of the trace.
#[test]
fn collections_for_other_tools_are_reported() {
    let source = include_str!("Quiet.java");
    for (jdk, collector) in with_tools_and(&["Serial", "Parallel", "G1"]) {
        let folder = jtrail_testkit::temp_dir();
        let path = |name: &str| folder.path().join(name);
        let (file, log, dump) = (path("trace"), path("log"), path("dump.hprof"));
        compile("Quiet", source, folder.path());
        let options = format!("format=binary,events=threads+gc,file={}", file.display());
        let run = program(&jdk, "Quiet")
            .class_path(folder.path())
            .agent(agent(), options)
            .jvm_arg(&collector)
            .jvm_arg(format!("-Xlog:gc:{}:tags", log.display()));
        let mut running = run.spawn().expect("it starts");
        running.wait_ready();
        jcmd(&jdk, &running, "GC.class_histogram");
        jcmd(&jdk, &running, &format!("GC.heap_dump {}", dump.display()));
        let output = running.wait().expect("it ends");
        output.assert_exit(0);
        Trace::read(&file).expect("sound").assert_sound(&output);
        let (ours, log) = (collections(&file), fs::read_to_string(log).expect("a log"));
        let what = format!("{collector}, JDK {}\n{log}\n{ours:#?}", jdk.feature);
        let theirs = sized_pauses(&log).into_iter();
        let theirs = theirs.filter(|pause| pause.generation == Generation::Full);
        assert_eq!((ours.len(), theirs.count()), (3, 3), "{what}");
        // If several collections have no event (before 25), only the cause of the last one is
        // known.
        let causes = [
            "System.gc()",
            "Heap Inspection Initiated GC",
            "Heap Dump Initiated GC",
        ];
        for (ours, cause) in ours.iter().zip(causes) {
            let is_first = cause.starts_with("Heap Inspection");
            let is_silent = jdk.feature < 25 && collector != "-XX:+UseG1GC" && is_first;
            assert_eq!(ours.cause, if is_silent { "" } else { cause }, "{what}");
        }
        assert_eq!(ours[2].generation, Generation::Full, "{what}");
    }
}

#[test]
fn without_counters_only_times_are_reported() {
    for jdk in Jdk::require(&few_versions()) {
        for flag in ["-XX:-UsePerfData", "-XX:+PerfDisableSharedMem"] {
            let (ours, ..) = run(&jdk, &[flag]);
            assert!(ours.len() >= ASKED, "{flag}");
            for collection in ours {
                assert_eq!(collection.collector, "", "{flag}");
                assert_eq!((collection.heap, collection.used), (0, 0), "{flag}");
            }
        }
    }
}

/// Returns begins and lengths of collections (ns), and their generations. Checks that compilations
/// are between them, in order of time.
fn pauses_beside_compilations(file: &Path) -> Vec<(i64, i64, Generation)> {
    let (mut pauses, mut generation) = (Vec::new(), Generation::default());
    let (mut begin, mut latest, mut compiled) = (0, i64::MIN, 0);
    let mut reader = Reader::new(File::open(file).expect("a trace")).expect("a trace");
    let stop = reader.for_each(|item| {
        let Item::Event { event, .. } = item else {
            return ControlFlow::Break(());
        };
        let time = match &event {
            Event::GcStart(e) => {
                begin = e.time.0;
                begin
            }
            Event::GcDetail(e) => {
                generation = e.generation;
                e.time.0
            }
            Event::GcFinish(e) => {
                pauses.push((begin, e.time.0 - begin, generation));
                e.time.0
            }
            Event::MethodCompile(e) => {
                compiled += i32::from(!pauses.is_empty());
                e.time.0
            }
            _ => return ControlFlow::Continue(()),
        };
        assert!(time >= latest, "{event:?} comes after {latest}");
        latest = time;
        ControlFlow::Continue(())
    });
    assert!(matches!(stop, Ok(None)), "{stop:?}");
    assert!(
        compiled > 40,
        "{}: {compiled} compilations after a collection",
        file.display()
    );
    pauses
}

/// Returns the source of a program that calls a different method between any two collections. Each
/// method is compiled first.
fn churn_with_methods() -> String {
    let (mut methods, mut calls) = (String::new(), String::new());
    for n in 0..60 {
        methods += &format!("    static int m{n}(int x) {{ return x * {n} + 1; }}\n");
        calls += &format!("        churn(m{n}({n}));\n");
    }
    format!(
        "public class Methods {{
    static byte[] last;
{methods}
    static void churn(int n) {{
        for (int k = 0; k < 1500; k++) last = new byte[4096 + n % 2];
        System.gc();
    }}

    public static void main(String[] args) {{
{calls}
    }}
}}
"
    )
}

/// The JVM reports compilations on a thread of its own, independently of collections.
#[test]
fn pauses_beside_compilations_are_exact_in_log_profiles() {
    for jdk in Jdk::require(&[17, 25]) {
        let folder = jtrail_testkit::temp_dir();
        compile("Methods", &churn_with_methods(), folder.path());
        let file = folder.path().join("trace");
        let options = format!("format=binary,events=gc+jit,file={}", file.display());
        let flags = [
            "-XX:+UseSerialGC",
            "-Xmx64m",
            "-Xmn4m",
            "-Xcomp",
            "-XX:TieredStopAtLevel=1",
            "-XX:-Inline",
        ];
        let run = program(&jdk, "Methods").class_path(folder.path());
        let run = flags.iter().fold(run, |run, flag| run.jvm_arg(*flag));
        run.agent(agent(), options).output().assert_exit(0);
        let reported = pauses_beside_compilations(&file);
        assert!(
            reported.len() >= 40 && reported.iter().all(|pause| pause.1 > 0),
            "{reported:?}"
        );
        for version in ["1", "17"] {
            let profile = folder.path().join(version);
            write_mlpd(&file, &profile, version);
            assert_eq!(pauses_beside_compilations(&profile), reported);
        }
    }
}
