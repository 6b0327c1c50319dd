//! Aggregated calls (`execdetails=false`), compared with what the programs know about themselves,
//! and with a trace of single calls.

use crate::support::compile::compile;
use crate::support::observed::{Names, observed};
use crate::support::{FILTER, agent, few_versions, harness, one_version, program, traced};
use jtrail_model::{DroppedNote, Event, Note, ThreadId};
use jtrail_testkit::{Jdk, Run};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// A thread, and the methods from the outermost call to the current one.
type CallPath = (String, Vec<String>);

/// Figures of the calls on one call path; times in nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Figures {
    calls: i64,
    base: i64,
    min: i64,
    max: i64,
    cpu: i64,
}

/// Builds call trees from aggregated or single calls.
#[derive(Default)]
struct Trees {
    open: HashMap<ThreadId, Vec<String>>,
    added: BTreeMap<CallPath, Figures>,
    single: BTreeMap<CallPath, i64>,
}

impl Trees {
    fn take(&mut self, names: &Names, event: &Event<'_>) {
        match event {
            Event::AggregatedEnter(e) => {
                let place = self.enter(names, e.thread, names.methods[&e.method].clone());
                let figures = Figures {
                    calls: e.calls,
                    base: e.base_time.0,
                    min: e.min_time.0,
                    max: e.max_time.0,
                    cpu: e.base_cpu_time.0,
                };
                assert!(e.calls > 0 && e.min_time <= e.max_time, "{e:?}");
                assert!(self.added.insert(place, figures).is_none(), "{e:?} twice");
            }
            Event::MethodEnter(e) => {
                let place = self.enter(names, e.thread, names.methods[&e.method].clone());
                *self.single.entry(place).or_default() += 1;
            }
            Event::AggregatedLeave(e) => self.leave(e.thread, &names.methods[&e.method]),
            Event::MethodLeave(e) => self.leave(e.thread, &names.methods[&e.method]),
            _ => {}
        }
    }

    fn enter(&mut self, names: &Names, thread: ThreadId, method: String) -> CallPath {
        let open = self.open.entry(thread).or_default();
        open.push(method);
        (names.thread(thread).to_owned(), open.clone())
    }

    fn leave(&mut self, thread: ThreadId, method: &str) {
        let open = self.open.get_mut(&thread).expect("something is open");
        assert_eq!(open.pop().as_deref(), Some(method));
    }

    /// Returns the sums for each thread and method.
    fn by_method(&self) -> BTreeMap<(&str, &str), Figures> {
        let mut sums: BTreeMap<(&str, &str), Figures> = BTreeMap::new();
        for ((thread, path), figures) in &self.added {
            let method = path.last().expect("it has itself");
            sums.entry((thread, method))
                .and_modify(|sum| {
                    sum.calls += figures.calls;
                    sum.base += figures.base;
                    sum.cpu += figures.cpu;
                    sum.min = sum.min.min(figures.min);
                    sum.max = sum.max.max(figures.max);
                })
                .or_insert(*figures);
        }
        sums
    }
}

fn trees(run: Run, options: &str) -> (Trees, crate::support::Traced) {
    let mut trees = Trees::default();
    let traced = observed(run, options, |names, event| trees.take(names, event));
    (trees, traced)
}

#[test]
fn counts_are_those_of_the_programs() {
    let programs = ["Constructors", "Exceptions", "Fib", "Gc", "Nested", "Sync"];
    for jdk in Jdk::require(&few_versions()) {
        for name in programs.map(|name| format!("harness.{name}")) {
            assert!(harness().has(&jdk, &name));
            for format in ["binary", "xml"] {
                eprintln!("{name}, {format}, JDK {}", jdk.feature);
                let options = format!("format={format},execdetails=false,{FILTER}");
                let (trees, traced) = trees(program(&jdk, &name), &options);
                assert!(trees.single.is_empty());
                let mut calls = BTreeMap::new();
                for ((_, path), figures) in &trees.added {
                    let method = path.last().expect("it has itself").clone();
                    *calls.entry(method).or_default() += figures.calls as u64;
                }
                let hidden: Vec<&str> = calls
                    .keys()
                    .filter(|key| key.contains("$$"))
                    .map(String::as_str)
                    .collect();
                let uninstrumented = &traced.trace.uninstrumented;
                let counts = traced.output.counts();
                counts.assert_matches(&calls, uninstrumented, &["harness."], &hidden);
            }
        }
    }
}

fn added(jdk: &Jdk, folder: &Path) -> Run {
    program(jdk, "Added").class_path(folder)
}

/// Each thread has as many calls on each call path as in a trace of single calls, and as many as
/// the program counts.
#[test]
fn places_are_those_of_single_calls() {
    let folder = jtrail_testkit::temp_dir();
    compile("Added", include_str!("Added.java"), folder.path());
    for jdk in Jdk::require(&one_version()) {
        for engine in ["bytecode", "jvmti"] {
            let options = format!("format=binary,engine={engine},include=Added$Work");
            let (single, _) = trees(added(&jdk, folder.path()), &options);
            let options = format!("{options},execdetails=false");
            let (sums, traced) = trees(added(&jdk, folder.path()), &options);
            let calls: BTreeMap<_, _> = sums
                .added
                .iter()
                .map(|(p, f)| (p.clone(), f.calls))
                .collect();
            assert!(single.single.len() > 100);
            assert_eq!(calls, single.single, "{engine}, JDK {}", jdk.feature);

            let by_method = sums.by_method();
            let mut compared = 0;
            for line in traced.output.stdout.lines() {
                if let ["CALLS", thread, method, calls] = line.split(' ').collect::<Vec<_>>()[..] {
                    let ours = by_method.iter().filter(|((of, key), _)| {
                        *of == thread && key.starts_with(&format!("Added$Work.{method}("))
                    });
                    let ours: i64 = ours.map(|(_, figures)| figures.calls).sum();
                    assert_eq!(ours.to_string(), calls, "{line}, JDK {}", jdk.feature);
                    compared += 1;
                }
            }
            assert_eq!(compared, 18);
        }
    }
}

/// Own times, and own CPU times, lie between what the program measures inside a call and around it.
#[test]
fn times_are_those_of_the_program() {
    /// Allowed difference between the clocks of the program and the trace. On some kernels the CPU
    /// clock is read in whole ticks of the scheduler.
    const SLACK: i64 = 200_000;
    let folder = jtrail_testkit::temp_dir();
    compile("Added", include_str!("Added.java"), folder.path());
    for jdk in Jdk::require(&few_versions()) {
        let options = "format=binary,events=+cpu,execdetails=false,include=Added$Work";
        let (sums, traced) = trees(added(&jdk, folder.path()), options);
        let by_method = sums.by_method();
        let mut compared = 0;
        for line in traced.output.stdout.lines() {
            let ["TIME", thread, method, figure, low, high] =
                line.split(' ').collect::<Vec<_>>()[..]
            else {
                continue;
            };
            let [low, high]: [i64; 2] = [low, high].map(|n| n.parse().expect("a number"));
            let key = format!("Added$Work.{method}(I)V");
            let ours = by_method[&(thread, &*key)];
            let ours = match figure {
                "base" => ours.base,
                "min" => ours.min,
                "max" => ours.max,
                _ => ours.cpu,
            };
            let slack = SLACK + high / 1000;
            assert!(
                (low - slack..=high + slack).contains(&ours),
                "{line}: {ours}, JDK {}",
                jdk.feature
            );
            assert!(low > 2 * slack, "{line} says little");
            compared += 1;
        }
        assert_eq!(compared, 12);
        // The caller does almost nothing itself.
        let caller = by_method[&("added-0", "Added$Work.timedBurn(I)V")];
        let callee = by_method[&("added-0", "Added$Work.burn(I)V")];
        assert!(caller.base < callee.base / 4, "{caller:?}, {callee:?}");
    }
}

/// Calls nested in more than 1,024 calls of their own method are moved elsewhere in the tree. The
/// trace, or the agent, reports the number of moved calls.
#[test]
fn folded_calls_are_reported() {
    const DEPTH: u64 = 3000;
    const MAX_RECURSION: u64 = 1024;
    // `down` and `unwind` call themselves, and two methods call each other.
    let folded = 2 * (DEPTH + 1 - MAX_RECURSION) + (DEPTH + 1 - 2 * MAX_RECURSION);
    let what = "callers of calls, beyond the bounds of the tree";
    let run = |jdk: &Jdk, depth: u64| program(jdk, "harness.DeepRecursion").arg(depth.to_string());
    for jdk in Jdk::require(&few_versions()) {
        for format in ["binary", "xml", "trail"] {
            let options = format!("format={format},execdetails=false,{FILTER}");
            let notes = |depth| traced(run(&jdk, depth), &options).trace.notes;
            let expected = Note::Dropped(DroppedNote {
                what: what.into(),
                count: folded,
            });
            let count_in = |notes: &[Note<'_>]| notes.iter().filter(|n| **n == expected).count();
            assert_eq!(count_in(&notes(DEPTH)), 1, "{format}, JDK {}", jdk.feature);
            let any = |note: &Note<'_>| matches!(note, Note::Dropped(_));
            assert!(
                !notes(MAX_RECURSION - 1).iter().any(any),
                "JDK {}",
                jdk.feature
            );
        }
        for (depth, line) in [(DEPTH, Some(folded)), (MAX_RECURSION - 1, None)] {
            let folder = jtrail_testkit::temp_dir();
            let file = folder.path().join("trace");
            let options = format!("format=profilerj,{FILTER},file={}", file.display());
            let output = run(&jdk, depth).agent(agent(), options).output();
            output.assert_exit(0);
            let expected = line.map(|folded| format!("{what} ({folded})"));
            match expected {
                Some(expected) => assert!(output.stderr.contains(&expected), "{output}"),
                None => assert!(!output.stderr.contains(what), "{output}"),
            }
        }
    }
}
