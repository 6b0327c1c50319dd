//! What the JVM runs is what it ran before, instruction by instruction, whenever the agent says
//! that it is not there: in the program's classes and in the JDK's.

use crate::support::cli::outcome;
use crate::support::{agent, few_versions};
use jtrail_testkit::Jdk;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// Methods of which each JVM has some: of the program's, of a class that it uses, and of the one
/// that parks.
const WORK: &str = "Lharness/Attached;work(I)I";
const ADD: &str = "Ljava/util/ArrayList;add(Ljava/lang/Object;)Z";
const PARK: &str = "Ljava/util/concurrent/locks/LockSupport;park()V";

/// Bytecode by method.
type Code = BTreeMap<String, String>;

/// The agent that says which bytecode the JVM runs. It is a dependency of the tests, so cargo
/// leaves it beside ours.
fn library() -> PathBuf {
    let library = agent().with_file_name("libjtrail_bytecodes.so");
    assert!(library.exists(), "no agent at {}", library.display());
    library
}

/// What the JVM runs now; `file` is where to put it meanwhile. Classes that the JVM makes for
/// lambdas are left out: there may be more of them.
fn code(pid: &str, file: &str) -> Code {
    let library = library();
    let library = library.to_str().expect("text");
    let args = [
        "attach", pid, "--agent", library, "--file", file, "--format", "xml",
    ];
    // The JVM takes it, and it is no jtrail.
    let said = outcome(&args).expect_err("another agent");
    assert!(said.contains("has no jtrail agent that is new"), "{said}");
    let text = fs::read_to_string(file).expect("written");
    let methods = text.lines().filter(|line| !line.contains("$$Lambda"));
    let methods = methods.filter_map(|line| line.rsplit_once(' '));
    let code: Code = methods
        .map(|(method, code)| (method.to_owned(), code.to_owned()))
        .collect();
    for method in [WORK, ADD, PARK] {
        assert!(code.contains_key(method), "{method}: {text}");
    }
    code
}

/// The methods whose code is another one.
fn changed<'c>(code: &'c Code, before: &Code) -> Vec<&'c str> {
    // Classes may have been loaded since.
    let common = code
        .iter()
        .filter(|(method, _)| before.contains_key(*method));
    let changed = common.filter(|(method, code)| before[*method] != **code);
    changed.map(|(method, _)| method.as_str()).collect()
}

fn assert_same(code: &Code, before: &Code, when: &str) {
    assert_eq!(changed(code, before), [""; 0], "{when}");
    let missing = before.keys().find(|method| !code.contains_key(*method));
    assert_eq!(missing, None, "{when}");
}

/// Whatever an agent that came did, it is undone when it is gone.
#[test]
fn the_original_is_back_after_detach() {
    const LIST: &str = "java.util.ArrayList";
    for jdk in Jdk::require(&few_versions()) {
        let mut app = crate::support::attach::AttachedRun::new(&jdk, "harness.Attached");
        app.work();
        let file = app.text("code");
        let pid = app.pid();
        let before = code(&pid, &file);
        let options: [&[&str]; 6] = [
            &["--include", LIST],
            &["--events", "methods+lines", "--include", LIST],
            &["--events", "methods+alloc", "--alloc", "sites"],
            &["--events", "methods+alloc+free", "--alloc", "sites"],
            &["--burst", "call:harness.Attached.work:1000000"],
            &["--burst", "slow:harness.Attached.*:1h", "--include", LIST],
        ];
        for options in options {
            let all: Vec<&str> = options
                .iter()
                .copied()
                .chain(["--include", "harness.*"])
                .collect();
            app.attach("trace", &all).expect("it is taken");
            app.work();
            let with = code(&pid, &file);
            let with = changed(&with, &before);
            assert!(with.len() > 8 && with.contains(&WORK), "{options:?}");
            assert_eq!(with.contains(&ADD), options.contains(&LIST), "{options:?}");
            app.detach();
            assert_same(&code(&pid, &file), &before, &format!("{options:?}"));
        }
        app.end();
    }
}

/// An agent of the start, whose probes are in parking as well and in methods that may begin a
/// burst: its classes are their own again while it is idle, behind other filters, and when it is
/// gone. The JVM that tells what they were has no agent.
#[test]
fn the_original_is_back_while_the_agent_is_idle() {
    for jdk in Jdk::require(&few_versions()) {
        let mut plain = crate::support::attach::AttachedRun::new(&jdk, "harness.Attached");
        plain.work();
        let before = code(&plain.pid(), &plain.text("code"));
        plain.end();

        let options = "format=binary,events=methods+threads+parks+lines,include=java.util.ArrayList,include=harness.*,\
                       burst=call:harness.Attached.work:1000000,burst=slow:harness.Attached.round:1h";
        let mut app = crate::support::control::ControlledRun::new(&jdk, options);
        app.work();
        let (pid, file) = (app.pid().to_string(), app.text("code"));
        let now = || code(&pid, &file);
        let with = now();
        for method in [WORK, ADD, PARK] {
            assert!(changed(&with, &before).contains(&method), "{method}");
        }

        // Other filters, and those again: parking and what begins bursts stay as they are.
        app.ctl(&["filters", "include=harness.Attached.leaf"]);
        let other = now();
        let other = changed(&other, &before);
        assert!(!other.contains(&ADD), "{other:?}");
        assert!(other.contains(&WORK) && other.contains(&PARK), "{other:?}");
        app.ctl(&[
            "filters",
            "include=java.util.ArrayList",
            "include=harness.*",
        ]);
        let back = now();
        assert_eq!(changed(&back, &before), changed(&with, &before));

        app.ctl(&["stop"]);
        assert_same(&now(), &before, "idle");
        app.work();
        app.ctl(&["filters", "include=harness.*"]);
        assert_same(&now(), &before, "idle, with other filters");

        // Without parks and bursts' methods, filters decide all.
        let second = format!("file={}", app.text("second"));
        app.ctl(&["start", &second, "events=methods"]);
        app.work();
        assert!(!changed(&now(), &before).contains(&PARK), "not asked for");
        app.ctl(&["detach"]);
        assert_same(&now(), &before, "gone");
        app.work();
        app.end();
    }
}

/// Filters there and back, of a trace that has no other probes: what no filter takes any more is as
/// it was, at once.
#[test]
fn the_original_is_restored_after_filters() {
    for jdk in Jdk::require(&few_versions()) {
        let mut app = crate::support::control::ControlledRun::new(
            &jdk,
            "format=none,server=enabled,events=methods",
        );
        app.work();
        let (pid, file) = (app.pid().to_string(), app.text("code"));
        let now = || code(&pid, &file);
        let before = now();
        let trace = format!("file={}", app.text("trace"));
        app.ctl(&["start", &trace, "format=binary", "include=harness.Attached"]);
        let with = now();
        assert!(changed(&with, &before).contains(&WORK));
        app.ctl(&["filters", "include=java.util.ArrayList"]);
        let other = now();
        let other = changed(&other, &before);
        assert!(other.contains(&ADD) && !other.contains(&WORK), "{other:?}");
        app.ctl(&["filters", "exclude=*"]);
        assert_same(&now(), &before, "without any methods");
        app.ctl(&["filters", "include=harness.Attached"]);
        let back = now();
        assert_eq!(changed(&back, &before), changed(&with, &before));
        app.work();
        app.ctl(&["stop"]);
        assert_same(&now(), &before, "idle");
        app.end();
    }
}
