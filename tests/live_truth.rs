//! Programs of the harness know their objects, monitors, exceptions, lines, threads and classes; the trace must say the same, on every
//! JVM and with each of its collectors.

use crate::collectors;
use crate::common::{VERSIONS, agent, harness, one_version, program};
use crate::facts::Facts;
use crate::source::compile_without_lines;
use jtrail_testkit::{Jdk, Output, Run, temp_dir};

/// Runs a program with these options; its output, and what the trace says.
fn traced(jdk: &Jdk, name: &str, options: &str, adapt: impl FnOnce(Run) -> Run) -> (Output, Facts) {
    eprintln!("{name}, {options}, JDK {}", jdk.feature);
    let folder = temp_dir();
    let file = folder.path().join("trace");
    let options = format!("include=harness.*,{options},file={}", file.display());
    let output = adapt(program(jdk, name)).agent(agent(), options).output();
    output.assert_exit(0);
    let facts = Facts::read(&file).unwrap_or_else(|e| panic!("{e}\n{output}"));
    assert!(
        facts.faults.is_empty(),
        "{:#?}",
        &facts.faults[..facts.faults.len().min(20)]
    );
    assert_eq!(facts.totals.expect("the trace ended well").lost, 0);
    (output, facts)
}

/// Deeper than any stack of the programs that tell theirs.
const DEPTH: usize = 64;

/// Runs a program with these events; the trace must say what the program tells.
fn check(jdk: &Jdk, name: &str, events: &str, adapt: impl FnOnce(Run) -> Run) {
    if !harness().has(jdk, name) {
        return;
    }
    let options = format!("format=binary,events={events},allocsites=true,stackdepth={DEPTH}");
    let (output, facts) = traced(jdk, name, &options, adapt);
    let truth = output.truth();
    let mut differences = facts.differences(&truth);
    differences.extend(facts.stacks.differences(&truth, DEPTH));
    assert!(differences.is_empty(), "{differences:#?}\n{output}");
}

fn everywhere(name: &str, events: &str) {
    for jdk in Jdk::require(&VERSIONS) {
        check(&jdk, name, events, |run| run);
    }
}

fn with_each_collector(name: &str, events: &str, args: &[&str]) {
    for (jdk, collector) in collectors::in_turn(Jdk::require(&VERSIONS), &collectors::NAMES) {
        eprintln!("{collector}");
        check(&jdk, name, events, |run| {
            let run = run
                .jvm_arg("-XX:+UnlockExperimentalVMOptions")
                .jvm_arg(&collector);
            args.iter().fold(run, |run, arg| run.arg(*arg))
        });
    }
}

#[test]
fn allocations() {
    with_each_collector("harness.Allocations", "threads+alloc", &[]);
    with_each_collector("harness.Implicit", "threads+alloc", &[]);
    everywhere("harness.RecordAllocations", "threads+alloc");
}

#[test]
fn frees() {
    with_each_collector("harness.Frees", "threads+gc+alloc+free", &[]);
}

#[test]
fn monitors() {
    with_each_collector("harness.Monitors", "+monitors", &["1"]);
    with_each_collector("harness.Waits", "+monitors", &["1"]);
}

/// Stacks have so many frames as are asked for, or all that there are. A throw has its first one in any case.
#[test]
fn stacks() {
    const PROGRAMS: [(&str, &[&str]); 4] = [
        (
            "harness.Monitors",
            &["contended enter", "contended entered"],
        ),
        ("harness.Waits", &["wait", "waited"]),
        ("harness.Parks", &["park"]),
        ("harness.Throws", &["throw"]),
    ];
    for jdk in Jdk::require(&one_version()) {
        for (name, words) in PROGRAMS {
            for (option, depth) in [("", 16), (",stackdepth=0", 0), (",stackdepth=9", 9)] {
                let options = format!("format=binary,events=monitors+parks+exceptions{option}");
                let (output, facts) = traced(&jdk, name, &options, |run| match name {
                    "harness.Parks" => run,
                    _ => run.arg("1"),
                });
                for word in words {
                    let least = usize::from(*word == "throw");
                    let longest = facts.stacks.longest[word];
                    assert_eq!(longest, depth.max(least), "{word}\n{output}");
                }
                if depth > 0 {
                    let differences = facts.stacks.differences(&output.truth(), depth);
                    assert!(differences.is_empty(), "{differences:#?}\n{output}");
                }
            }
        }
    }
}

#[test]
fn virtual_monitors() {
    everywhere("harness.VirtualMonitors", "+monitors+exceptions");
}

#[test]
fn exceptions() {
    with_each_collector("harness.Throws", "+exceptions", &[]);
}

/// Which calls an exception left, method by method and thread by thread: over several frames, through `finally`, out of synchronized methods,
/// constructors and static initialisers, past frames of the library and native ones, and with an overflow of the stack. The
/// programs ask the JVM where they throw who is on the stack.
#[test]
fn calls_left_by_exceptions() {
    const PROGRAMS: [&str; 4] = [
        "harness.Exceptions",
        "harness.Implicit",
        "harness.Overflow",
        "harness.Throws",
    ];
    // The JVM's own events say so of all calls that come behind an exception which nobody caught.
    const HANDLER: &str = "harness.Throws.handle(Ljava/lang/Thread;Ljava/lang/Throwable;)V";
    for jdk in Jdk::require(&one_version()) {
        for name in PROGRAMS {
            for engine in ["bytecode", "jvmti"] {
                let options = format!("format=trail,engine={engine},exclude=harness.Expect*");
                let (output, facts) = traced(&jdk, name, &options, |run| run);
                let truth = output.truth();
                assert!(!truth.left.is_empty(), "{output}");
                let mut differences = facts.left_differences(&truth);
                let all = differences.len();
                differences.retain(|difference| !difference.contains(HANDLER));
                assert!(differences.is_empty(), "{differences:#?}\n{output}");
                let is_behind = name == "harness.Throws" && engine == "jvmti";
                assert_eq!(all, usize::from(is_behind), "{output}");
            }
        }
    }
}

#[test]
fn lines() {
    with_each_collector("harness.Lines", "+lines", &[]);
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
fn cpu_time() {
    with_each_collector("harness.Burn", "+cpu", &["100"]);
}

#[test]
fn parks() {
    with_each_collector("harness.Parks", "+parks", &[]);
}

#[test]
fn threads_and_groups() {
    everywhere("harness.Groups", "+threads");
    everywhere("harness.Mounts", "+mounts");
}

#[test]
fn classes() {
    with_each_collector("harness.Unloading", "threads+details+alloc", &[]);
}

#[test]
fn compiled_methods() {
    everywhere("harness.Hot", "threads+jit");
}

#[test]
fn heaps() {
    with_each_collector("harness.HeapGraph", "threads+heap", &[]);
}
