//! Every program of the harness knows how often it calls each of its methods. The trace must have
//! the same counts, with both engines, in both formats, on every JVM.

use crate::support::counts::assert_counts;
use crate::support::{FILTER, VERSIONS, harness, of_project, one_version, program, traced};
use jtrail_testkit::{Jdk, Run};

/// Programs that count exactly and end normally; each JVM runs those that it can load.
const PROGRAMS: [&str; 25] = [
    "harness.Constructors",
    "harness.DeepRecursion",
    "harness.Enums",
    "harness.Exceptions",
    "harness.Fib",
    "harness.Gc",
    "harness.Generics",
    "harness.Interfaces",
    "harness.Lambdas",
    "harness.Limits",
    "harness.Loaders",
    "harness.Nested",
    "harness.OddClasses",
    "harness.Overflow",
    "harness.Patterns",
    "harness.Proxies",
    "harness.Records",
    "harness.Reflection",
    "harness.Reloads",
    "harness.Sealed",
    "harness.StaticInit",
    "harness.Streams",
    "harness.Subroutines",
    "harness.Switches",
    "harness.Sync",
];

/// Sets of class files of old versions, from old compilers. Each set has a program.
const OLD_SETS: [&str; 8] = ["v45", "v46", "v47", "v48", "cldc", "jsr14", "v49", "v50"];

fn counts_are_exact(format: &str, engine: &str, versions: &[u32]) {
    let options = format!("format={format},engine={engine},{FILTER}");
    let newest = VERSIONS[VERSIONS.len() - 1];
    for jdk in Jdk::require(versions) {
        for name in PROGRAMS.iter().filter(|name| harness().has(&jdk, name)) {
            // This program's methods are hard for the rewriter, but not for the JVM's own events.
            // With the JVM's events, this program takes longer than all others together, so it runs
            // only once with them.
            if (*name, engine) == ("harness.Limits", "jvmti")
                && (format, jdk.feature) != ("binary", newest)
            {
                continue;
            }
            eprintln!("{name}, {engine}, {format}, JDK {}", jdk.feature);
            let mut run = program(&jdk, name);
            if *name == "harness.Limits" {
                // Without this flag, a method gets no hooks if they would make it too large for the
                // JVM's compilers.
                run = run.jvm_arg("-XX:-DontCompileHugeMethods");
            }
            assert_counts(&traced(run, &options), &["harness."]);
        }
    }
}

#[test]
fn bytecode_binary() {
    counts_are_exact("binary", "bytecode", &VERSIONS);
}

/// Tests the hooks that the JVM compiles into the methods.
#[test]
fn bytecode_ticks() {
    counts_are_exact("trail", "bytecode,clock=tick", &one_version());
}

#[test]
fn bytecode_xml() {
    counts_are_exact("xml", "bytecode", &one_version());
}

#[test]
fn jvmti_binary() {
    counts_are_exact("binary", "jvmti", &one_version());
}

#[test]
fn jvmti_xml() {
    counts_are_exact("xml", "jvmti", &one_version());
}

/// Prepares a run of a program of old class files. The harness is on its class path.
fn old_program(jdk: &Jdk, main: &str) -> Run {
    let classes = of_project("java-harness/old/classes");
    let mut folders: Vec<_> = std::env::split_paths(&harness().class_path(jdk)).collect();
    folders.push(classes);
    let class_path = std::env::join_paths(folders).expect("no separator in the paths");
    Run::new(jdk, main)
        .class_path(class_path)
        .jvm_arg("-Xverify:all")
}

#[test]
fn old_class_files() {
    for jdk in Jdk::require(&one_version()) {
        for set in OLD_SETS {
            for name in ["Program", "Generic"] {
                let folder = format!("java-harness/old/classes/old/{set}/{name}.class");
                if !of_project(&folder).exists() {
                    assert_eq!(name, "Generic"); // exists from class-file version 49 on
                    continue;
                }
                for engine in ["bytecode", "jvmti"] {
                    let main = format!("old.{set}.{name}");
                    eprintln!("{main}, {engine}, JDK {}", jdk.feature);
                    let options = format!("format=binary,engine={engine},{FILTER}");
                    let run = traced(old_program(&jdk, &main), &options);
                    assert_counts(&run, &["old."]);
                }
            }
        }
    }
}
