//! When the agent is detached or idle, the JVM runs the original bytecode, instruction by
//! instruction, in classes of the program and of the JDK.

use crate::support::cli::outcome;
use crate::support::{agent, few_versions};
use jtrail_testkit::Jdk;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

/// Methods that exist in each JVM: one of the program, one of a class that the program uses, and
/// one of the class that parks threads.
const WORK: &str = "Lharness/Attached;work(I)I";
const ADD: &str = "Ljava/util/ArrayList;add(Ljava/lang/Object;)Z";
const PARK: &str = "Ljava/util/concurrent/locks/LockSupport;park()V";

/// Bytecode by method.
type Code = BTreeMap<String, String>;

/// Returns the agent that prints the bytecode that the JVM runs. It is a dependency of the tests,
/// so cargo puts it beside jtrail's agent.
fn library() -> PathBuf {
    let library = agent().with_file_name("libjtrail_bytecodes.so");
    assert!(library.exists(), "no agent at {}", library.display());
    library
}

/// Returns the bytecode that the JVM runs now. The agent of [`library`] writes it into `file`.
/// Classes that the JVM generates for lambdas are skipped, because there may be more of them later.
fn code(pid: &str, file: &str) -> Code {
    let library = library();
    let library = library.to_str().expect("text");
    let args = [
        "attach", pid, "--agent", library, "--file", file, "--format", "xml",
    ];
    // The JVM loads this agent, and `jtrail attach` reports that it is no jtrail agent.
    let said = outcome(&args).expect_err("another agent");
    assert!(said.contains("has no new jtrail agent"), "{said}");
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

/// Returns the methods whose code differs.
fn changed<'c>(code: &'c Code, before: &Code) -> Vec<&'c str> {
    // Methods of classes that were loaded since are skipped.
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

/// Detaching an agent undoes all its changes, whatever the options.
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

/// An agent that was loaded at the JVM's start also has hooks in parking, and in methods that may
/// begin a burst. The original code is back while the agent is idle, in methods that new filters
/// exclude, and after the agent was detached. A second JVM, without an agent, shows the original
/// code.
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

        // The filters change, and change back. Parking, and methods that begin bursts, keep their
        // hooks.
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

        // Without `parks` and bursts, the filters alone decide.
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

/// Filters change back and forth, in a trace without other hooks. Methods that the filters no
/// longer include have their original code at once.
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
