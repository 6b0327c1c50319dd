//! Allocations recorded at their sites (`alloc=sites`), compared with what programs know, and with
//! the allocations that the JVM itself reports.

use crate::support::facts::Facts;
use crate::support::programs::{java_compiler, shop_sources};
use crate::support::{VERSIONS, agent, collectors, few_versions, harness, one_version, program};
use jtrail_testkit::{Jdk, Run, temp_dir};
use std::collections::BTreeMap;

/// Runs a program with these options, and reads its trace.
fn traced(jdk: &Jdk, run: Run, options: &str) -> (Facts, jtrail_testkit::Output) {
    let folder = temp_dir();
    let file = folder.path().join("trace.trcbin");
    let options = format!("format=binary,{options},file={}", file.display());
    let output = run.agent(agent(), &options).output();
    output.assert_exit(0);
    let facts = Facts::read(&file).unwrap_or_else(|e| panic!("{e}\n{output}"));
    let faults = &facts.faults[..facts.faults.len().min(20)];
    assert!(faults.is_empty(), "JDK {}: {faults:#?}", jdk.feature);
    let totals = facts.totals.expect("the trace ended well");
    assert_eq!(totals.lost, 0);
    (facts, output)
}

/// The code of the lambda `Referred::new` is in a hidden class, which no agent can rewrite.
fn is_hidden(difference: &str) -> bool {
    difference.contains("harness.Allocations$Referred")
}

fn check(jdk: &Jdk, name: &str, options: &str, adapt: impl FnOnce(Run) -> Run) {
    if !harness().has(jdk, name) {
        return;
    }
    eprintln!("{name}, {options}, JDK {}", jdk.feature);
    let options = format!("alloc=sites,allocsites=true,include=harness.*,{options}");
    let (facts, output) = traced(jdk, adapt(program(jdk, name)), &options);
    let mut differences = facts.differences(&output.truth());
    let all = differences.len();
    differences.retain(|difference| !is_hidden(difference));
    assert!(differences.is_empty(), "{differences:#?}\n{output}");
    let expected = match name {
        "harness.Allocations" => 2, // count and bytes of `Referred`
        _ => 0,
    };
    assert_eq!(all - differences.len(), expected, "{output}");
    if options.contains("threads") {
        // Without events of threads, the number of an object may belong to a thread that the trace
        // omits.
        assert!(facts.are_objects_in_a_row(), "{output}");
    }
}

#[test]
fn programs_know_their_objects() {
    for jdk in Jdk::require(&one_version()) {
        for collector in collectors::all(&jdk) {
            eprintln!("{collector}");
            check(&jdk, "harness.Allocations", "events=threads+alloc", |run| {
                run.jvm_arg("-XX:+UnlockExperimentalVMOptions")
                    .jvm_arg(&collector)
            });
        }
        check(
            &jdk,
            "harness.RecordAllocations",
            "events=threads+alloc",
            |run| run,
        );
    }
}

#[test]
fn whatever_else_is_recorded() {
    for jdk in Jdk::require(&one_version()) {
        for options in [
            "events=+alloc",
            "events=+alloc+lines+details",
            "events=+alloc+cpu,execdetails=false",
            "events=threads+lines+alloc",
        ] {
            check(&jdk, "harness.Allocations", options, |run| run);
        }
        check(&jdk, "harness.Lines", "events=+lines+alloc", |run| run);
    }
}

/// With `free`, objects have identity: each gets exactly one number, and all that die are reported.
#[test]
fn ends_are_reported() {
    for (jdk, collector) in collectors::in_turn(Jdk::require(&one_version()), &collectors::NAMES) {
        eprintln!("{collector}");
        for name in ["harness.Frees", "harness.Constructed"] {
            check(&jdk, name, "events=threads+gc+alloc+free", |run| {
                run.jvm_arg("-XX:+UnlockExperimentalVMOptions")
                    .jvm_arg(&collector)
            });
        }
    }
    for jdk in Jdk::require(&one_version()) {
        for how in ["-Xint", "-Xcomp", "-XX:TieredStopAtLevel=1"] {
            check(&jdk, "harness.Constructed", "events=alloc+free", |run| {
                run.jvm_arg(how).arg("60")
            });
        }
        for name in ["harness.Allocations", "harness.RecordAllocations"] {
            check(&jdk, name, "events=threads+alloc+free", |run| run);
        }
    }
}

#[test]
fn whatever_else_is_recorded_with_ends() {
    for jdk in Jdk::require(&few_versions()) {
        for options in [
            "events=+alloc+free+lines+details",
            "events=+alloc+free+cpu,server=enabled",
        ] {
            check(&jdk, "harness.Constructed", options, |run| run.arg("60"));
        }
    }
}

/// Threads unmount while objects are pending.
#[test]
fn ends_are_reported_on_virtual_threads() {
    for jdk in Jdk::require(&few_versions()) {
        for options in ["events=threads+alloc+free", "events=alloc+free+mounts"] {
            check(&jdk, "harness.ConstructedVirtually", options, |run| run);
        }
    }
}

/// A real program, with all classes verified.
#[test]
fn the_java_compiler_works_as_before() {
    let jdks = Jdk::require(&one_version()).into_iter();
    for jdk in jdks.filter(|jdk| jdk.javac.is_some()) {
        let made = |options: Option<&str>| {
            let folder = temp_dir();
            let run = java_compiler(&jdk, folder.path(), &shop_sources()).jvm_arg("-Xmn8m");
            match options {
                None => run.output().assert_exit(0),
                Some(options) => {
                    let (facts, _) = traced(&jdk, run.jvm_arg("-Xverify:all"), options);
                    let totals = facts.totals.expect("the trace ended well");
                    eprintln!("JDK {}: {totals:?}", jdk.feature);
                    assert!(totals.objects > 500_000 && totals.frees > totals.objects / 4);
                    assert!(facts.are_objects_in_a_row());
                }
            }
            let main = folder.path().join("org/example/shop/Main.class");
            std::fs::read(main).expect("a class")
        };
        assert!(made(Some("events=threads+alloc+free,alloc=sites")) == made(None));
    }
}

/// Sizes are right for every object layout of the JVM, and whether code is compiled or not.
#[test]
fn sizes_are_the_jvms() {
    for jdk in Jdk::require(&one_version()) {
        let mut layouts = vec![
            "-XX:-UseCompressedOops",
            "-XX:ObjectAlignmentInBytes=16",
            "-Xint",
            "-Xverify:all",
        ];
        if jdk.feature >= 17 {
            layouts.push("-XX:-UseCompressedClassPointers");
        }
        if jdk.feature >= 25 {
            layouts.push("-XX:+UseCompactObjectHeaders");
        }
        for layout in layouts {
            eprintln!("{layout}");
            check(&jdk, "harness.Allocations", "events=threads+alloc", |run| {
                run.jvm_arg(layout).arg("20")
            });
        }
    }
}

/// Objects and bytes by class, for the program's own classes and arrays of them.
type AllocationCounts = BTreeMap<String, (u64, u64)>;

fn made(jdk: &Jdk, mode: &str, jvm_args: &[&str]) -> AllocationCounts {
    let run = program(jdk, "org.example.shop.Main").arg("6").arg("1");
    let run = jvm_args.iter().fold(run, |run, arg| run.jvm_arg(arg));
    let options = format!("events=threads+alloc,alloc={mode}");
    let (facts, _) = traced(jdk, run, &options);
    let bytes = &facts.all_bytes;
    let of_program = facts.all_objects.iter().filter(|(class, _)| {
        class.contains("org.example.shop.") && !class.contains("$$") // hidden
    });
    of_program
        .map(|(class, count)| (class.clone(), (*count, bytes[class])))
        .collect()
}

/// With and without compiled code, probes see the same objects. These are the objects that the JVM
/// reports when nothing is compiled.
#[test]
fn the_jvm_says_the_same() {
    for jdk in Jdk::require(&one_version()) {
        let reported = made(&jdk, "jvm", &["-Xint"]);
        let objects: u64 = reported.values().map(|(count, _)| count).sum();
        assert!(reported.len() > 10 && objects > 1000, "{reported:#?}");
        for jvm_args in [&["-Xint"][..], &[], &["-Xcomp", "-XX:TieredStopAtLevel=1"]] {
            let seen = made(&jdk, "sites", jvm_args);
            assert_eq!(seen, reported, "JDK {}, {jvm_args:?}", jdk.feature);
        }
        eprintln!(
            "JDK {}: {objects} objects of {} classes",
            jdk.feature,
            reported.len()
        );
    }
}

#[test]
fn what_can_not_be_had_is_refused() {
    let jdk = &Jdk::require(&VERSIONS)[0];
    for (options, message) in [
        (
            "events=all,alloc=sites",
            "gives objects no identity, needed by monitors and parks",
        ),
        (
            "events=alloc,alloc=sites,engine=jvmti",
            "rewrites no classes",
        ),
    ] {
        let output = program(jdk, "harness.Fib").agent(agent(), options).output();
        output.assert_exit(1);
        assert!(output.stderr.contains(message), "{options}\n{output}");
    }
}
