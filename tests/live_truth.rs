//! Programs of the harness know their objects, monitors, exceptions, lines, threads and classes; the trace must say the same, on every
//! JVM and with each of its collectors.

use crate::common::{VERSIONS, agent, harness, program};
use crate::facts::Facts;
use crate::source::compile_without_lines;
use jtrail_testkit::{Jdk, Run, temp_dir};

/// How to ask for what a program tells. The small stacks are for speed; parks need to show the program behind the library.
fn check(jdk: &Jdk, name: &str, events: &str, adapt: impl FnOnce(Run) -> Run) {
    if !harness().has(jdk, name) {
        return;
    }
    eprintln!("{name}, {events}, JDK {}", jdk.feature);
    let folder = temp_dir();
    let file = folder.path().join("trace.trcbin");
    let options = format!(
        "format=binary,events={events},allocsites=true,stackdepth=64,include=harness.*,file={}",
        file.display()
    );
    let output = adapt(program(jdk, name)).agent(agent(), options).output();
    output.assert_exit(0);
    let facts = Facts::read(&file).unwrap_or_else(|e| panic!("{e}\n{output}"));
    assert!(
        facts.faults.is_empty(),
        "{:#?}",
        &facts.faults[..facts.faults.len().min(20)]
    );
    assert_eq!(facts.totals.expect("the trace ended well").lost, 0);
    let differences = facts.differences(&output.truth());
    assert!(differences.is_empty(), "{differences:#?}\n{output}");
}

fn everywhere(name: &str, events: &str) {
    for jdk in Jdk::require(&VERSIONS) {
        check(&jdk, name, events, |run| run);
    }
}

/// The collectors that the JVM has, as its arguments.
pub(crate) fn collectors(jdk: &Jdk) -> Vec<String> {
    ["Serial", "Parallel", "G1", "Z", "Shenandoah"]
        .iter()
        .map(|name| format!("-XX:+Use{name}GC"))
        .filter(|argument| {
            std::process::Command::new(&jdk.java)
                .args(["-XX:+UnlockExperimentalVMOptions", argument, "-version"])
                .output()
                .is_ok_and(|output| output.status.success())
        })
        .collect()
}

fn with_each_collector(name: &str, events: &str) {
    for jdk in Jdk::require(&VERSIONS) {
        let collectors = collectors(&jdk);
        assert!(collectors.len() >= 3, "{collectors:?}");
        for collector in collectors {
            eprintln!("{collector}");
            check(&jdk, name, events, |run| {
                run.jvm_arg("-XX:+UnlockExperimentalVMOptions")
                    .jvm_arg(&collector)
            });
        }
    }
}

#[test]
fn allocations() {
    with_each_collector("harness.Allocations", "threads+alloc");
    everywhere("harness.RecordAllocations", "threads+alloc");
}

#[test]
fn frees() {
    with_each_collector("harness.Frees", "threads+gc+alloc+free");
}

#[test]
fn monitors() {
    everywhere("harness.Monitors", "+monitors");
    everywhere("harness.Waits", "+monitors");
}

#[test]
fn virtual_monitors() {
    everywhere("harness.VirtualMonitors", "+monitors+exceptions");
}

#[test]
fn exceptions() {
    everywhere("harness.Throws", "+exceptions");
}

#[test]
fn lines() {
    everywhere("harness.Lines", "+lines");
    everywhere("harness.Lines", "threads+lines");
}

/// A method without a line table has no lines, and its calls all the same: also one that nobody called.
#[test]
fn methods_without_lines_are_covered() {
    const SOURCE: &str = "public class Bare {
        static int twice(int x) { return 2 * x; }
        static void never() { }
        public static void main(String[] args) { for (int i = 0; i < 7; i++) twice(i); }
    }";
    let method = |name: &str, signature: &str, calls: u32| {
        format!(
            "<method name=\"{name}\" signature=\"{signature}\" firstline=\"0\" count=\"{calls}\"><footprints></footprints></method>\n"
        )
    };
    let expected = [
        "<class name=\"Bare\">\n".to_owned(),
        method("&lt;init&gt;", "()V", 0),
        method("twice", "(I)I", 7),
        method("never", "()V", 0),
        method("main", "([Ljava/lang/String;)V", 1),
        "</class>\n".to_owned(),
    ];
    let folder = temp_dir();
    compile_without_lines("Bare", SOURCE, folder.path());
    for jdk in Jdk::require(&VERSIONS) {
        let file = folder.path().join("trace.xml");
        let options = format!(
            "format=profilerj,events=+lines,include=Bare,file={}",
            file.display()
        );
        let run = program(&jdk, "Bare").class_path(folder.path());
        run.agent(agent(), options).output().assert_exit(0);
        let document = std::fs::read_to_string(&file).expect("a document");
        assert!(document.contains(&expected.concat()), "{document}");
    }
}

#[test]
fn parks() {
    everywhere("harness.Parks", "+parks");
}

#[test]
fn threads_and_groups() {
    everywhere("harness.Groups", "+threads");
    everywhere("harness.Mounts", "+mounts");
}

#[test]
fn classes() {
    everywhere("harness.Unloading", "threads+details+alloc");
}

#[test]
fn compiled_methods() {
    everywhere("harness.Hot", "threads+jit");
}

#[test]
fn heaps() {
    with_each_collector("harness.HeapGraph", "threads+heap");
}
