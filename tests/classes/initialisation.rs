//! Class initializations, compared with what a program prints about its own, and with the JVM's
//! log.

use crate::support::attach::attach;
use crate::support::compile::compile;
use crate::support::observed::read;
use crate::support::{VERSIONS, agent, newest_of, program};
use jtrail_model::{ClassId, Event, Note, ThreadId, Totals};
use jtrail_testkit::{Jdk, Output, temp_dir};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io::Write;
use std::path::Path;

/// The begin or the end of an initialization.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Step {
    class: String,
    is_end: bool,
    failed: bool,
    /// Time in ns, of the program's or of the trace's clock.
    time: i64,
}

impl Step {
    fn what(&self) -> (&str, bool, bool) {
        (&self.class, self.is_end, self.failed)
    }
}

type ByThread = BTreeMap<String, Vec<Step>>;

/// Returns the initializations that the program prints.
fn printed(output: &Output) -> ByThread {
    let mut all = ByThread::new();
    let lines = output.stdout.lines();
    for line in lines.filter_map(|line| line.strip_prefix("init ")) {
        let [thread, what, class, time, failed] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        all.entry(thread.to_owned()).or_default().push(Step {
            class: format!("Initialised${class}"),
            is_end: what == "end",
            failed: failed.parse().expect("a boolean"),
            time: time.parse().expect("a number"),
        });
    }
    all
}

/// The initializations in a trace.
#[derive(Default)]
struct Traced {
    by_thread: ByThread,
    /// Classes in the order in which their initializations began.
    begun: Vec<String>,
    /// Number of enters of static initializers: those that directly follow the begin of the
    /// initialization, and all.
    calls: (usize, usize),
    totals: Totals,
}

fn traced(file: &Path) -> Traced {
    let mut traced = Traced::default();
    let mut names: HashMap<ClassId, String> = HashMap::new();
    let mut threads: HashMap<ThreadId, String> = HashMap::new();
    let mut initialisers = HashSet::new();
    let mut before: HashMap<ThreadId, ClassId> = HashMap::new();
    read(file, |event| {
        let (class, failed) = match event {
            Event::ClassDef(e) => return drop(names.insert(e.class, e.name.to_string())),
            Event::ThreadStart(e) => return drop(threads.insert(e.thread, e.name.to_string())),
            Event::MethodDef(e) if e.name == "<clinit>" => {
                initialisers.insert(e.method);
                return;
            }
            Event::MethodEnter(e) => {
                let begun = before.remove(&e.thread);
                if initialisers.contains(&e.method) {
                    traced.calls.0 += usize::from(begun == Some(e.class));
                    traced.calls.1 += 1;
                }
                return;
            }
            Event::Custom(e) => {
                if let Some(Note::Totals(totals)) = Note::parse(&e.body) {
                    traced.totals = totals;
                }
                return;
            }
            Event::ClassInitStart(e) => {
                before.insert(e.thread, e.class);
                traced.begun.push(names[&e.class].clone());
                (e.class, None)
            }
            Event::ClassInitEnd(e) => (e.class, Some(e.failed)),
            _ => return,
        };
        let thread = event.thread().expect("a thread");
        let steps = traced
            .by_thread
            .entry(threads[&thread].clone())
            .or_default();
        steps.push(Step {
            class: names[&class].clone(),
            is_end: failed.is_some(),
            failed: failed.unwrap_or_default(),
            time: event.time().expect("a time").0,
        });
    });
    traced
}

/// Returns the initializations of the program's own classes, by thread.
fn own(all: &ByThread) -> ByThread {
    let own = |steps: &Vec<Step>| -> Vec<Step> {
        let is_own = |step: &&Step| step.class.starts_with("Initialised$");
        steps.iter().filter(is_own).cloned().collect()
    };
    let own = all
        .iter()
        .map(|(thread, steps)| (thread.clone(), own(steps)));
    own.filter(|(_, steps)| !steps.is_empty()).collect()
}

/// Returns how long each initialization took, by class.
fn lengths(all: &ByThread) -> BTreeMap<String, i64> {
    let mut lengths = BTreeMap::new();
    for steps in all.values() {
        let mut open: Vec<&Step> = Vec::new();
        for step in steps {
            match step.is_end {
                false => open.push(step),
                true => {
                    let begun = open.pop().expect("it began");
                    assert_eq!(begun.class, step.class, "they nest");
                    lengths.insert(step.class.clone(), step.time - begun.time);
                }
            }
        }
        assert_eq!(open, Vec::<&Step>::new(), "they end");
    }
    lengths
}

fn assert_same(what: &str, output: &Output, traced: &Traced) {
    let (theirs, ours) = (printed(output), own(&traced.by_thread));
    let steps = |all: &ByThread| -> Vec<_> {
        let flat = all.iter().flat_map(|(thread, steps)| {
            let steps = steps.iter().map(Step::what);
            steps.map(|(class, is_end, failed)| (thread.clone(), class.to_owned(), is_end, failed))
        });
        flat.collect()
    };
    assert_eq!(steps(&theirs), steps(&ours), "{what}\n{output}");
    assert_eq!(steps(&ours).len(), 22, "{what}\n{output}");
    // The program measures a part of the traced time. The two clocks may differ by a thousandth.
    let ours = lengths(&ours);
    for (class, inner) in lengths(&theirs) {
        let outer = ours[&class];
        let slack = inner / 1000 + 1000;
        assert!(outer + slack >= inner, "{what}, {class}: {outer} < {inner}");
    }
    let outer = ours["Initialised$Outer"];
    assert!(outer >= 19_000_000, "{what}: {outer}");
}

/// Returns the classes whose initializers ran according to the JVM's log, in order, with names as
/// in `Class.getName`.
fn logged(file: &Path) -> Vec<String> {
    let log = fs::read_to_string(file).expect("a log");
    let class = |line: &str| {
        let (_, rest) = line.split_once("Initializing '")?;
        let (name, rest) = rest.split_once('\'')?;
        (!rest.contains("(no method)")).then(|| name.replace('/', ".").replace("+0x", "/0x"))
    };
    log.lines().filter_map(class).collect()
}

const RUNS: [&str; 7] = [
    "format=trail,events=clinit",
    "format=trail,events=methods+clinit+exceptions,include=Initialised*",
    "format=trail,events=methods+clinit,include=*,clock=tick",
    "format=binary,events=methods+clinit+cpu+lines+alloc,alloc=sites,include=Initialised*",
    "format=xml,events=clinit+threads,trivial=skip",
    "format=trail,events=clinit,engine=jvmti",
    "format=binary,events=methods+clinit,include=Initialised*,engine=jvmti",
];

#[test]
fn they_are_those_of_the_program() {
    let classes = temp_dir();
    let source = include_str!("Initialised.java");
    compile("Initialised", source, classes.path());
    for jdk in Jdk::require(&VERSIONS) {
        for options in RUNS {
            let what = format!("{options}, JDK {}", jdk.feature);
            let folder = temp_dir();
            let (file, log) = (folder.path().join("trace"), folder.path().join("log"));
            let output = program(&jdk, "Initialised")
                .class_path(classes.path())
                .jvm_arg(format!("-Xlog:class+init=info:file={}", log.display()))
                .agent(agent(), format!("{options},file={}", file.display()))
                .output();
            output.assert_exit(0);
            let traced = traced(&file);
            assert_same(&what, &output, &traced);
            let steps: usize = traced.by_thread.values().map(Vec::len).sum();
            assert_eq!(traced.totals.initialisations, steps as u64, "{what}");
            // If calls are traced, each of the program's static initializers is a call within the
            // initialization of its class.
            let with_calls = options.contains("methods");
            let (after, all) = traced.calls;
            assert_eq!(after, all, "{what}");
            assert!(all >= if with_calls { 11 } else { 0 }, "{what}: {all}");
            assert_as_logged(&what, &traced.begun, &logged(&log), options);
        }
    }
}

/// Checks that the trace has the classes of the JVM's log, from the trace's first class on. Hidden
/// classes may be missing, because no agent can rewrite them.
fn assert_as_logged(what: &str, ours: &[String], log: &[String], options: &str) {
    let is_seen = |class: &&String| options.contains("jvmti") || !class.contains("0x");
    let first = ours.first().expect("some");
    let after = log.iter().skip_while(|class| *class != first);
    let theirs: Vec<&String> = after.filter(is_seen).collect();
    let sorted = |mut all: Vec<&String>| {
        all.sort_unstable();
        all.into_iter().cloned().collect::<Vec<String>>()
    };
    let ours: Vec<&String> = ours.iter().collect();
    assert!(ours.len() > 30, "{what}: {}", ours.len());
    assert_eq!(sorted(theirs), sorted(ours), "{what}");
}

/// When the agent is attached, the classes are loaded and not initialized yet.
#[test]
fn an_agent_that_comes_later_sees_those_to_come() {
    let classes = temp_dir();
    let source = include_str!("Initialised.java");
    compile("Initialised", source, classes.path());
    for jdk in Jdk::require(&VERSIONS) {
        let folder = temp_dir();
        let file = folder.path().join("trace");
        let mut running = program(&jdk, "Initialised")
            .class_path(classes.path())
            .arg("waits")
            .spawn()
            .expect("it starts");
        running.wait_for("ready");
        let path = file.to_str().expect("text");
        let options = ["--file", path, "--format", "trail", "--events", "clinit"];
        attach(&running, &options).expect("it is taken");
        let mut input = running.stdin();
        input.write_all(b"go\n").expect("it reads");
        drop(input);
        let output = running.wait().expect("it ends");
        output.assert_exit(0);
        let traced = traced(&file);
        assert_same(&format!("JDK {}", jdk.feature), &output, &traced);
    }
}

/// Runs the program with these options, and reads the trace.
fn run(jdk: &Jdk, classes: &Path, options: &str) -> Traced {
    let folder = temp_dir();
    let file = folder.path().join("trace");
    let output = program(jdk, "Initialised")
        .class_path(classes)
        .agent(agent(), format!("{options},file={}", file.display()))
        .output();
    output.assert_exit(0);
    traced(&file)
}

/// If only bursts are recorded, an initializer may begin a burst, and is part of it.
#[test]
fn an_initialiser_begins_a_burst() {
    let classes = temp_dir();
    let source = include_str!("Initialised.java");
    compile("Initialised", source, classes.path());
    let options = "format=trail,events=methods+clinit,include=Initialised*,burst=call:Initialised$Outer.<clinit>";
    for jdk in Jdk::require(&newest_of(&VERSIONS)) {
        let traced = run(&jdk, classes.path(), options);
        assert_eq!(traced.begun[0], "Initialised$Outer");
        assert!(!traced.begun.contains(&"Initialised$Base".to_owned()));
        assert!(traced.calls.0 >= 1);
    }
}

/// An initialization that begins in a burst has its end in the trace, even after the burst. One
/// that began before the burst is not in the trace.
#[test]
fn initialisations_outlive_bursts() {
    let classes = temp_dir();
    let source = include_str!("Initialised.java");
    compile("Initialised", source, classes.path());
    for jdk in Jdk::require(&newest_of(&VERSIONS)) {
        for engine in ["bytecode", "jvmti"] {
            let mut begun = HashSet::new();
            // One of these bursts ends in the middle of an initialization.
            for events in (2..20).step_by(3) {
                let options = format!(
                    "format=trail,events=methods+clinit,include=Initialised*,engine={engine},burst=exception:java.lang.IllegalStateException/{events}"
                );
                let traced = run(&jdk, classes.path(), &options);
                lengths(&traced.by_thread); // checks that all that begin end
                begun.extend(traced.begun);
            }
            assert!(begun.contains("Initialised$Busy"), "{engine}: {begun:?}");
            assert!(
                !begun.contains("Initialised$Failing"),
                "{engine}: {begun:?}"
            );
        }
    }
}
