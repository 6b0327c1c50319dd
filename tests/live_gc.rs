//! What is told of collections, against the JVM's own log.

use crate::common::{Trace, VERSIONS, agent, program};
use crate::live_conversions::write_mlpd;
use crate::source::compile;
use jtrail_formats::{Item, Reader};
use jtrail_model::{Event, Generation};
use jtrail_testkit::{Jdk, Output};
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;

const MB: i64 = 1 << 20;

const SOURCE: &str = r#"
public class Churn {
    static byte[] last;

    public static void main(String[] args) {
        for (int i = 0; i < 40; i++) {
            for (int k = 0; k < 1500; k++) {
                last = new byte[4096];
            }
            System.gc();
        }
    }
}
"#;

/// What a trace says of one collection.
#[derive(Clone, Debug, Default)]
struct Collection {
    collector: String,
    cause: String,
    generation: Generation,
    heap: i64,
    used: i64,
}

fn collections(file: &Path) -> Vec<Collection> {
    let mut detail = Collection::default();
    let mut collections = Vec::new();
    let mut reader = Reader::new(File::open(file).expect("a trace")).expect("a trace");
    let problem = reader
        .for_each(|item| {
            match item {
                Item::Event { event, .. } => match event {
                    Event::GcStart(_) => detail = Collection::default(),
                    Event::GcDetail(e) => {
                        detail.collector = e.collector.to_string();
                        detail.cause = e.cause.to_string();
                        detail.generation = e.generation;
                    }
                    Event::GcFinish(e) => collections.push(Collection {
                        heap: e.total_space,
                        used: e.used_space,
                        ..detail.clone()
                    }),
                    _ => {}
                },
                Item::Remark(remark) => return ControlFlow::Break(format!("{remark:?}")),
            }
            ControlFlow::Continue(())
        })
        .expect("it can be read");
    assert_eq!(problem, None);
    collections
}

/// Runs a program that allocates, and asks for collections; the trace's collections, and the JVM's log.
fn run(jdk: &Jdk, flags: &[&str]) -> Option<(Vec<Collection>, String, Output)> {
    let can = Command::new(&jdk.java)
        .arg("-XX:+UnlockExperimentalVMOptions")
        .args(flags)
        .arg("-version")
        .output()
        .expect("java starts");
    if !can.status.success() {
        eprintln!("JDK {} has no {flags:?}", jdk.feature);
        return None;
    }
    let folder = jtrail_testkit::temp_dir();
    let (file, log) = (folder.path().join("trace"), folder.path().join("log"));
    let options = format!("format=binary,events=threads+gc,file={}", file.display());
    compile("Churn", SOURCE, folder.path());
    let mut run = program(jdk, "Churn")
        .class_path(folder.path())
        .agent(agent(), options)
        .jvm_arg("-XX:+UnlockExperimentalVMOptions")
        .jvm_arg("-Xmx64m")
        .jvm_arg(format!("-Xlog:gc:{}:tags", log.display()));
    for flag in flags {
        run = run.jvm_arg(flag);
    }
    let output = run.output();
    output.assert_exit(0);
    Trace::read(&file).expect("sound").assert_sound(&output);
    let log = fs::read_to_string(log).expect("a log");
    Some((collections(&file), log, output))
}

/// A pause that a log tells: `Pause Young (…) (Allocation Failure) 17M->1M(61M) 1.053ms`.
#[derive(Debug)]
struct Pause {
    full: bool,
    cause: String,
    used_after: i64,
}

fn pauses(log: &str) -> Vec<Pause> {
    let pause = |line: &str| {
        let (_, pause) = line.split_once(") Pause ")?;
        let full = match pause.split_once(' ')?.0 {
            "Full" => true,
            "Young" => false,
            _ => return None,
        };
        let (before, after) = pause.split_once("->")?;
        let (text, _) = before.rsplit_once(' ')?;
        // `System.gc()` has parentheses itself.
        let cause = text.rsplit_once(" (").unwrap_or(("", text)).1;
        let used = after.split_once('M')?.0.parse::<i64>().ok()?;
        Some(Pause {
            full,
            cause: cause.strip_suffix(')')?.to_owned(),
            used_after: used * MB,
        })
    };
    log.lines().filter_map(pause).collect()
}

#[test]
fn collections_are_those_of_the_log() {
    for jdk in Jdk::require(&VERSIONS) {
        for collector in ["Serial", "Parallel", "G1"] {
            let flag = format!("-XX:+Use{collector}GC");
            // A small young generation, so that it fills between two requests.
            let flags = [flag.as_str(), "-Xmn4m"];
            let Some((ours, log, output)) = run(&jdk, &flags) else {
                continue;
            };
            let what = format!("{collector}, JDK {}\n{log}\n{output}", jdk.feature);
            let mut theirs = pauses(&log);
            // Parallel empties the young generation first, within the same stop of the program.
            if collector == "Parallel" && jdk.feature < 25 {
                theirs.retain(|p| p.full || p.cause != "System.gc()");
            }
            let ours: Vec<_> = ours
                .into_iter()
                .filter(|c| c.generation != Generation::Concurrent)
                .collect();
            assert_eq!(ours.len(), theirs.len(), "{what}");
            for (ours, theirs) in ours.iter().zip(&theirs) {
                let generation = match theirs.full {
                    true => Generation::Full,
                    false => Generation::Young,
                };
                assert_eq!(ours.generation, generation, "{ours:?} {theirs:?} {what}");
                assert_eq!(ours.cause, theirs.cause, "{ours:?} {theirs:?} {what}");
                assert!(!ours.collector.is_empty());
                // The log counts in whole megabytes, and G1 of 11 in whole regions.
                let off = ours.used - theirs.used_after;
                let most = if jdk.feature == 11 { 2 * MB } else { MB };
                assert!((-MB..=most).contains(&off), "{ours:?} {theirs:?} {what}");
                assert!((ours.used..=64 * MB).contains(&ours.heap), "{ours:?}");
            }
            assert!(theirs.iter().any(|p| !p.full), "{what}");
            assert!(theirs.iter().filter(|p| p.full).count() >= 40, "{what}");
        }
    }
}

/// What was in use when those of ZGC's collections began that the program waits for, as a log tells it:
/// `Garbage Collection (System.gc()) 8M(12%)->2M(3%)`.
fn used_before(log: &str) -> Vec<i64> {
    let used = |line: &str| {
        let (before, _) = line
            .split_once("%)->")
            .filter(|_| line.contains("(System.gc())"))?;
        let (_, used) = before.rsplit_once(' ')?;
        let (megabytes, _) = used.split_once("M(")?;
        Some(megabytes.parse::<i64>().ok()? * MB)
    };
    log.lines().filter_map(used).collect()
}

/// What the first pause of each collection tells is what the log has, but for a page of 2 MB that another thread may take just before that
/// pause. How many pauses there are in between differs from version to version.
fn assert_uses_are_those_of_the_log(ours: &[Collection], log: &str, what: &str) {
    let theirs = used_before(log);
    assert!(theirs.len() >= 40, "{what}");
    let mut pauses = ours.iter();
    for used in theirs {
        let is_near = |pause: &Collection| (pause.used - used).abs() <= 2 * MB;
        assert!(pauses.any(is_near), "{used} {what}");
    }
}

#[test]
fn concurrent_collectors_tell_their_causes() {
    for jdk in Jdk::require(&VERSIONS) {
        for flags in [
            &["-XX:+UseZGC"][..],
            &["-XX:+UseZGC", "-XX:+ZGenerational"],
            &["-XX:+UseShenandoahGC"],
            &["-XX:+UseG1GC", "-XX:+ExplicitGCInvokesConcurrent"],
        ] {
            let Some((ours, log, output)) = run(&jdk, flags) else {
                continue;
            };
            let what = format!("{flags:?}, JDK {}\n{log}\n{output}\n{ours:#?}", jdk.feature);
            let asked = ours.iter().filter(|c| c.cause == "System.gc()").count();
            assert!(asked >= 40, "{what}");
            if ours.iter().any(|c| c.collector.starts_with('Z')) {
                assert_uses_are_those_of_the_log(&ours, &log, &what);
            }
            for collection in &ours {
                match collection.collector.as_str() {
                    name if name.starts_with('Z') => {
                        assert_eq!(collection.generation, Generation::Concurrent, "{what}");
                        assert!(
                            collection.used > 0 && !collection.cause.is_empty(),
                            "{what}"
                        );
                    }
                    // It does not say what it did, nor is its size up to date.
                    "Shenandoah" => {
                        assert_eq!(collection.generation, Generation::Unknown, "{what}");
                        assert_eq!((collection.heap, collection.used), (0, 0), "{what}");
                    }
                    name if name.starts_with("G1") => {
                        let is_pause = collection.generation == Generation::Concurrent;
                        // Nobody causes a remark; what the JVM keeps there is another collection's.
                        assert_eq!(is_pause, collection.cause.is_empty(), "{what}");
                        assert_eq!(is_pause, collection.used == 0, "{what}");
                    }
                    other => assert!(other.is_empty() && jdk.feature == 11, "{what}"),
                }
            }
        }
    }
}

#[test]
fn without_counters_only_times_are_told() {
    for jdk in Jdk::require(&VERSIONS) {
        for flag in ["-XX:-UsePerfData", "-XX:+PerfDisableSharedMem"] {
            let (ours, ..) = run(&jdk, &[flag]).expect("all have it");
            assert!(ours.len() >= 40, "{flag}");
            for collection in ours {
                assert_eq!(collection.collector, "", "{flag}");
                assert_eq!((collection.heap, collection.used), (0, 0), "{flag}");
            }
        }
    }
}

/// Begins and lengths of collections (ns), and their generations; and that compilations stand between them by time.
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
        assert!(time >= latest, "{event:?} stands behind {latest}");
        latest = time;
        ControlFlow::Continue(())
    });
    assert!(matches!(stop, Ok(None)), "{stop:?}");
    assert!(
        compiled > 40,
        "{}: {compiled} compilations behind a collection",
        file.display()
    );
    pauses
}

/// A program that calls another method, which is compiled first, between any two collections.
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

/// The JVM tells of compilations on a thread of its own, by another way than of collections.
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
        let told = pauses_beside_compilations(&file);
        assert!(
            told.len() >= 40 && told.iter().all(|pause| pause.1 > 0),
            "{told:?}"
        );
        for version in ["1", "17"] {
            let profile = folder.path().join(version);
            write_mlpd(&file, &profile, version);
            assert_eq!(pauses_beside_compilations(&profile), told);
        }
    }
}
