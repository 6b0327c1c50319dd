//! Runs a harness program with the agent, and reads its trace.

pub(crate) mod attach;
pub(crate) mod classes;
pub(crate) mod cli;
pub(crate) mod collections;
pub(crate) mod collectors;
pub(crate) mod compile;
pub(crate) mod control;
pub(crate) mod counts;
pub(crate) mod embedded;
pub(crate) mod facts;
pub(crate) mod figures;
pub(crate) mod files;
pub(crate) mod heap_dumps;
pub(crate) mod hprof;
pub(crate) mod java_agent;
pub(crate) mod java_api;
pub(crate) mod jinsight;
pub(crate) mod jvm_tools;
pub(crate) mod observed;
pub(crate) mod programs;
pub(crate) mod python_client;
pub(crate) mod spellings;
pub(crate) mod truth;

use jtrail_formats::{Checker, Format, Item, Reader};
use jtrail_model::{Event, Note, ThreadId};
use jtrail_testkit::{Harness, Jdk, Output, Run};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The JVM versions that tests run on.
pub(crate) const VERSIONS: [u32; 4] = [11, 17, 21, 25];

/// Returns true if tests try every JVM and input: if the variable `JTRAIL_THOROUGH` is set, as in
/// `scripts/nightly`.
pub(crate) fn is_thorough() -> bool {
    std::env::var_os("JTRAIL_THOROUGH").is_some()
}

/// Returns the versions for tests that hardly depend on the JVM: the newest, and one of the others,
/// chosen by the test's name. Returns all versions if tests are thorough.
pub(crate) fn few_versions() -> Vec<u32> {
    let [others @ .., newest] = &VERSIONS;
    match is_thorough() {
        true => VERSIONS.to_vec(),
        false => vec![others[sum_of_name() % others.len()], *newest],
    }
}

/// Like [`few_versions`], but returns only one version, for tests that take longer.
pub(crate) fn one_version() -> Vec<u32> {
    match is_thorough() {
        true => VERSIONS.to_vec(),
        false => vec![VERSIONS[sum_of_name() % VERSIONS.len()]],
    }
}

fn sum_of_name() -> usize {
    let thread = std::thread::current();
    let name = thread.name().unwrap_or_default();
    name.bytes().map(usize::from).sum()
}

/// Returns the last of these versions, for the longest tests. Returns all of them if tests are
/// thorough.
pub(crate) fn newest_of(versions: &[u32]) -> Vec<u32> {
    match is_thorough() {
        true => versions.to_vec(),
        false => versions.last().copied().into_iter().collect(),
    }
}

/// Runs a test that mostly waits, in all JVMs at the same time.
pub(crate) fn at_once(test: impl Fn(&Jdk) + Sync) {
    let test = &test;
    std::thread::scope(|scope| {
        for jdk in Jdk::require(&VERSIONS) {
            scope.spawn(move || test(&jdk));
        }
    });
}

/// Returns a file or folder of this project, by its path from the project's root.
pub(crate) fn of_project(path: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(path)
}

/// Returns the agent library, which cargo puts beside the test programs.
pub(crate) fn agent() -> PathBuf {
    let program = std::env::current_exe().expect("the test program has a path");
    let agent = program.with_file_name("libjtrail.so");
    assert!(agent.exists(), "no agent at {}", agent.display());
    agent
}

/// Returns the compiled harness.
pub(crate) fn harness() -> Harness {
    Harness::new(env!("JTRAIL_HARNESS"))
}

/// Prepares a run of a harness program, without the agent.
pub(crate) fn program(jdk: &Jdk, main: &str) -> Run {
    // The JVM verifies all classes, even those that it would trust.
    Run::new(jdk, main)
        .class_path(harness().class_path(jdk))
        .jvm_arg("-Xverify:all")
}

/// The filter for harness programs. It excludes the classes that count and print what the programs
/// do, and those that assemble class files.
pub(crate) const FILTER: &str = "exclude=harness.Expect*,exclude=assembler.*";

/// A traced run: the program's output, and its trace.
pub(crate) struct Traced {
    pub(crate) output: Output,
    pub(crate) trace: Trace,
}

/// Runs a program with the agent. `options` precede the option `file`.
pub(crate) fn traced(run: Run, options: &str) -> Traced {
    traced_before(run, options, &[])
}

/// Like [`traced`], with further arguments for the JVM, after the agent's.
pub(crate) fn traced_before(run: Run, options: &str, after: &[&str]) -> Traced {
    let folder = jtrail_testkit::temp_dir();
    let file = folder.path().join("trace");
    let options = format!("{options},file={}", file.display());
    let run = after
        .iter()
        .fold(run.agent(agent(), options), |run, arg| run.jvm_arg(arg));
    let output = run.output();
    let trace = Trace::read(&file).unwrap_or_else(|e| panic!("{e}\n{output}"));
    Traced { output, trace }
}

/// The begin or the end of a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Enter,
    Leave,
}

/// The contents of a trace.
#[derive(Default)]
pub(crate) struct Trace {
    pub(crate) format: Option<Format>,
    /// Number of enters by method key (`harness.Fib.fib(I)I`).
    pub(crate) calls: BTreeMap<String, u64>,
    /// All threads, in the order of their definitions.
    pub(crate) threads: Vec<ThreadTrace>,
    pub(crate) classes: u64,
    pub(crate) collections: u64,
    pub(crate) notes: Vec<Note<'static>>,
    /// Texts that the program or a client has written.
    pub(crate) marks: Vec<String>,
    /// Keys of methods that are reported as not instrumented; a class without a method stands for
    /// all of its methods.
    pub(crate) uninstrumented: BTreeSet<String>,
    /// Names of all events, to check their order.
    pub(crate) kinds: Vec<&'static str>,
    /// The faults that the checker found.
    pub(crate) faults: Vec<String>,
}

/// A thread in a trace.
#[derive(Clone, Default)]
pub(crate) struct ThreadTrace {
    pub(crate) name: String,
    pub(crate) group: String,
    pub(crate) ended: bool,
    /// The thread's enters and leaves, each with the method's key.
    pub(crate) steps: Vec<(Step, String)>,
    pub(crate) open: i64,
}

impl Trace {
    /// Reads a file. Fails on anything unsound, except for the faults that the checker finds.
    pub(crate) fn read(file: &Path) -> Result<Self, String> {
        let source = File::open(file).map_err(|e| format!("no trace: {e}"))?;
        let mut reader = Reader::new(source).map_err(|e| e.to_string())?;
        let mut trace = Self {
            format: reader.format().trace(),
            ..Self::default()
        };
        let mut checker = Checker::default();
        let mut classes: HashMap<u64, String> = HashMap::new();
        let mut methods: HashMap<u64, String> = HashMap::new();
        let mut threads: HashMap<ThreadId, usize> = HashMap::new();
        let problem = reader
            .for_each(|item| match item {
                Item::Event { offset, event } => {
                    checker.event(offset, &event);
                    trace.take(&event, &mut classes, &mut methods, &mut threads);
                    ControlFlow::Continue(())
                }
                Item::Remark(remark) => ControlFlow::Break(format!("{remark:?}")),
            })
            .map_err(|e| e.to_string())?;
        if let Some(problem) = problem {
            return Err(problem);
        }
        let findings = checker.finish();
        trace.faults = findings
            .findings
            .iter()
            .filter(|f| f.severity == jtrail_formats::Severity::Fault)
            .map(|f| format!("{f:?}"))
            .collect();
        Ok(trace)
    }

    fn take(
        &mut self,
        event: &Event<'_>,
        classes: &mut HashMap<u64, String>,
        methods: &mut HashMap<u64, String>,
        threads: &mut HashMap<ThreadId, usize>,
    ) {
        let kind = match event {
            Event::ThreadStart(e) => {
                threads.insert(e.thread, self.threads.len());
                self.threads.push(ThreadTrace {
                    name: e.name.clone().into_owned(),
                    group: e.group.clone().into_owned(),
                    ..ThreadTrace::default()
                });
                "thread_start"
            }
            Event::ThreadEnd(e) => {
                self.threads[threads[&e.thread]].ended = true;
                "thread_end"
            }
            Event::ClassDef(e) => {
                self.classes += 1;
                classes.insert(e.class.0, e.name.clone().into_owned());
                "class_def"
            }
            Event::MethodDef(e) => {
                let class = &classes[&e.class.0];
                methods.insert(e.method.0, format!("{class}.{}{}", e.name, e.signature));
                "method_def"
            }
            Event::MethodEnter(e) => {
                let key = &methods[&e.method.0];
                *self.calls.entry(key.clone()).or_default() += 1;
                let thread = &mut self.threads[threads[&e.thread]];
                thread.steps.push((Step::Enter, key.clone()));
                thread.open += 1;
                "method_enter"
            }
            Event::MethodLeave(e) => {
                let thread = &mut self.threads[threads[&e.thread]];
                thread
                    .steps
                    .push((Step::Leave, methods[&e.method.0].clone()));
                thread.open -= 1;
                "method_leave"
            }
            Event::AggregatedEnter(e) => {
                let key = &methods[&e.method.0];
                *self.calls.entry(key.clone()).or_default() += e.calls as u64;
                "aggregated_enter"
            }
            Event::Custom(e) => {
                match Note::parse(&e.body) {
                    Some(note) => {
                        if let Note::Uninstrumented(u) = &note {
                            self.uninstrumented
                                .insert(format!("{}.{}", u.class, u.method));
                        }
                        self.notes.push(note);
                    }
                    None => self.marks.push(e.body.clone().into_owned()),
                }
                "custom"
            }
            Event::GcStart(_) => {
                self.collections += 1;
                "gc_start"
            }
            Event::GcFinish(_) => "gc_finish",
            Event::RuntimeInitDone(_) => "runtime_init_done",
            Event::RuntimeShutdown(_) => "runtime_shutdown",
            Event::TraceStart(_) => "trace_start",
            Event::TraceEnd(_) => "trace_end",
            Event::AgentDestroy(_) => "agent_destroy",
            Event::Filter(_) => "filter",
            Event::Option(_) => "option",
            _ => "other",
        };
        self.kinds.push(kind);
    }

    /// Returns the totals that close the trace.
    pub(crate) fn totals(&self) -> jtrail_model::Totals {
        let totals = self.notes.iter().rev().find_map(|n| match n {
            Note::Totals(totals) => Some(*totals),
            _ => None,
        });
        totals.expect("a trace that ended well has totals")
    }

    /// Returns the thread of that name, which must be unique.
    pub(crate) fn thread(&self, name: &str) -> &ThreadTrace {
        let mut found = self.threads.iter().filter(|t| t.name == name);
        let thread = found.next().unwrap_or_else(|| panic!("no thread {name:?}"));
        assert!(found.next().is_none(), "two threads {name:?}");
        thread
    }

    /// Fails unless the trace is sound, complete and closed.
    pub(crate) fn assert_sound(&self, output: &Output) {
        assert!(
            self.faults.is_empty(),
            "{:#?}\n{output}",
            &self.faults[..self.faults.len().min(20)]
        );
        assert_eq!(self.totals().lost, 0, "{output}");
        assert_eq!(
            self.kinds[self.kinds.len() - 2..],
            ["trace_end", "agent_destroy"],
            "{output}"
        );
    }
}
