//! Calls that become sums (`min=`, `maxrate=`). Each call is in the trace once, with its caller.
//! Calls that take at least `min=` are written one by one.

use crate::support::compile::compile;
use crate::support::counts::assert_counts;
use crate::support::observed::{Names, observed};
use crate::support::{FILTER, agent, few_versions, harness, one_version, program, traced};
use jtrail_model::{Demoted, Event, MethodId, Note, ShortCallsNote, ThreadId};
use jtrail_testkit::{Jdk, Run};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

/// The thread, the calling method, if there is one, and the called method.
type CallEdge = (String, Option<String>, String);

/// The calls in a trace, written ones and sums.
#[derive(Default)]
struct Calls {
    open: HashMap<ThreadId, Vec<(String, i64)>>,
    /// The innermost open calls of a thread, outermost first, while sums belong to a call outside
    /// of them.
    inner: HashMap<ThreadId, Vec<(String, i64)>>,
    /// Number of calls by thread, caller and method.
    places: BTreeMap<CallEdge, u64>,
    /// Method and length of each written call that has ended.
    lengths: Vec<(String, i64)>,
    written: u64,
    /// Number of calls in sums.
    summed: u64,
    /// The longest own time of a call in a sum.
    longest: i64,
    /// Time of all calls in sums, including callees, by method.
    times: BTreeMap<String, i64>,
}

impl Calls {
    fn take(&mut self, names: &Names, event: &Event<'_>) {
        let key = |method: &MethodId| names.methods[method].clone();
        if let Event::MethodEnter(_) | Event::MethodLeave(_) = event
            && let Some(thread) = event.thread()
            && let Some(inner) = self.inner.remove(&thread)
        {
            self.open.entry(thread).or_default().extend(inner);
        }
        match event {
            Event::Custom(e) => {
                if let Some(Note::SumsAbove(e)) = Note::parse(&e.body) {
                    let open = self.open.get_mut(&e.thread).expect("calls are open");
                    let inner = open.split_off(open.len() - e.calls as usize);
                    assert!(self.inner.insert(e.thread, inner).is_none());
                }
            }
            Event::AggregatedEnter(e) if e.calls == 0 => {
                // A node with 0 calls belongs to a method that is already open. It keeps the
                // method's time with callees from being counted twice.
                self.enter(names, e.thread, key(&e.method), 0, 0);
                assert!(e.base_time.0 <= 0);
            }
            Event::MethodEnter(e) => {
                self.enter(names, e.thread, key(&e.method), e.time.0, 1);
                self.written += 1;
            }
            Event::AggregatedEnter(e) => {
                self.enter(names, e.thread, key(&e.method), 0, e.calls as u64);
                self.summed += e.calls as u64;
                self.longest = self.longest.max(e.max_time.0);
                *self.times.entry(key(&e.method)).or_default() += e.base_time.0;
            }
            Event::AggregatedLeave(e) => _ = self.leave(e.thread, &key(&e.method)),
            Event::MethodLeave(e) => {
                let began = self.leave(e.thread, &key(&e.method));
                self.lengths.push((key(&e.method), e.time.0 - began));
            }
            _ => {}
        }
    }

    fn enter(&mut self, names: &Names, thread: ThreadId, method: String, time: i64, calls: u64) {
        let open = self.open.entry(thread).or_default();
        if calls > 0 {
            let caller = open.last().map(|(method, _)| method.clone());
            let place = (names.thread(thread).to_owned(), caller, method.clone());
            *self.places.entry(place).or_default() += calls;
        }
        open.push((method, time));
    }

    fn leave(&mut self, thread: ThreadId, method: &str) -> i64 {
        let open = self.open.get_mut(&thread).expect("something is open");
        let (of, began) = open.pop().expect("something is open");
        assert_eq!(of, method);
        began
    }
}

fn calls(run: Run, options: &str) -> (Calls, crate::support::Traced) {
    let mut calls = Calls::default();
    let traced = observed(run, options, |names, event| calls.take(names, event));
    traced.output.assert_exit(0);
    traced.trace.assert_sound(&traced.output);
    (calls, traced)
}

/// Returns the trace's notes about short calls: the bounds, and the demoted methods.
fn notes(notes: &[Note<'_>]) -> (Option<ShortCallsNote>, Vec<Demoted>) {
    let short = notes.iter().find_map(|note| match note {
        Note::ShortCalls(short) => Some(*short),
        _ => None,
    });
    let demoted = notes.iter().filter_map(|note| match note {
        Note::Demoted(demoted) => Some(*demoted),
        _ => None,
    });
    (short, demoted.collect())
}

#[test]
fn counts_are_those_of_the_programs() {
    let programs = [
        "Constructors",
        "DeepRecursion",
        "Exceptions",
        "Fib",
        "Loaders",
        "Nested",
        "Overflow",
        "Sync",
    ];
    let options = [
        "format=trail,min=1ms",
        "format=binary,min=20us,clock=tick",
        "format=xml,maxrate=5000",
        "format=trail,min=1h,maxrate=10,events=+exceptions+monitors",
    ];
    for jdk in Jdk::require(&one_version()) {
        for (at, name) in programs.iter().enumerate() {
            let name = format!("harness.{name}");
            assert!(harness().has(&jdk, &name));
            // Two of the four options for each program.
            for options in [options[at % 4], options[(at + 1) % 4]] {
                eprintln!("{name}, {options}, JDK {}", jdk.feature);
                let run = program(&jdk, &name);
                let traced = traced(run, &format!("{options},{FILTER}"));
                assert_counts(&traced, &["harness."]);
            }
        }
    }
}

fn added(jdk: &Jdk, folder: &Path) -> Run {
    program(jdk, "Added").class_path(folder)
}

/// For each thread, caller and callee, the number of calls is that of a trace of single calls.
#[test]
fn callers_are_those_of_single_calls() {
    let folder = jtrail_testkit::temp_dir();
    compile("Added", include_str!("Added.java"), folder.path());
    for jdk in Jdk::require(&few_versions()) {
        let (single, _) = calls(
            added(&jdk, folder.path()),
            "format=binary,include=Added$Work",
        );
        assert!(
            single.places.len() > 20 && single.summed == 0,
            "{}",
            single.places.len()
        );
        for options in [
            "format=binary,min=50us",
            "format=trail,min=5ms",
            "format=xml,maxrate=1000",
            "format=trail,min=1ms,maxrate=200",
        ] {
            let options = format!("{options},include=Added$Work");
            let (few, traced) = calls(added(&jdk, folder.path()), &options);
            assert_eq!(few.places, single.places, "{options}, JDK {}", jdk.feature);
            assert!(few.summed > few.written, "{options}, JDK {}", jdk.feature);
            let (short, _) = notes(&traced.trace.notes);
            assert!(short.is_some(), "{options}, JDK {}", jdk.feature);
        }
    }
}

/// A call that takes at least `min=` is written. A shorter call is not, unless it was open when
/// everything was written.
#[test]
fn calls_that_take_as_long_are_written() {
    const MIN: i64 = 2_000_000;
    let folder = jtrail_testkit::temp_dir();
    compile("Short", include_str!("Short.java"), folder.path());
    for jdk in Jdk::require(&few_versions()) {
        for options in ["format=trail", "format=binary", "format=trail,clock=tick"] {
            let run = program(&jdk, "Short").class_path(folder.path());
            let options = format!("{options},min=2ms,include=Short");
            let (calls, traced) = calls(run, &options);
            let fact = |name: &str| traced.output.counts().fact(name);
            let of = |method: &str| {
                let own = calls
                    .lengths
                    .iter()
                    .filter(|(of, _)| of.starts_with(method));
                own.map(|(_, length)| *length).collect::<Vec<i64>>()
            };
            // All calls that sleep longer than `MIN` are written.
            let long = of("Short.sleeps(");
            // A late tick makes a call appear shorter, on a busy machine by more than a
            // millisecond.
            let least = match options.contains("clock=tick") {
                true => fact("sleeps") * 8 / 10,
                false => fact("sleeps"),
            };
            let most = fact("sleeps");
            assert!(
                (least..=most).contains(&(long.len() as u64)),
                "{options}: {}",
                long.len()
            );
            assert!(long.iter().all(|length| *length >= MIN), "{long:?}");
            // Few of some hundred thousand short calls are written: those that the system delayed,
            // or that were open when everything was written.
            let short = of("Short.quick(");
            assert!(
                short.len() as u64 * 1_000 < fact("quick"),
                "{}",
                short.len()
            );
            assert!(calls.longest < MIN, "{options}: {}", calls.longest);
            assert!(calls.times["Short.quick(I)I"] > 0);
            let (bounds, _) = notes(&traced.trace.notes);
            let reported = bounds.map(|bounds| (bounds.min.0, bounds.rate));
            assert_eq!(reported, Some((MIN, 0)), "{options}");
        }
    }
}

/// The trace names the methods that are called too often, and no others. The other methods' calls
/// are written.
#[test]
fn methods_that_are_called_too_often_are_named() {
    let folder = jtrail_testkit::temp_dir();
    compile("Short", include_str!("Short.java"), folder.path());
    for jdk in Jdk::require(&few_versions()) {
        for format in ["trail", "xml"] {
            let mut named = BTreeSet::new();
            let mut calls = Calls::default();
            let run = program(&jdk, "Short").class_path(folder.path());
            let options = format!("format={format},maxrate=5000,include=Short");
            let traced = observed(run, &options, |names, event| {
                calls.take(names, event);
                if let Event::Custom(e) = event
                    && let Some(Note::Demoted(e)) = Note::parse(&e.body)
                {
                    assert!(named.insert(names.methods[&e.method].clone()));
                    assert_eq!(e.rate, 5_000);
                }
            });
            traced.output.assert_exit(0);
            traced.trace.assert_sound(&traced.output);
            assert_eq!(
                named,
                BTreeSet::from(["Short.quick(I)I".to_owned(), "Short.inner(I)I".to_owned()]),
                "{options}, JDK {}",
                jdk.feature
            );
            let sleeps = calls.lengths.iter();
            let sleeps = sleeps.filter(|(of, _)| of.starts_with("Short.sleeps("));
            assert_eq!(sleeps.count() as u64, traced.output.counts().fact("sleeps"));
        }
    }
}

/// If the program is killed, the trace has each call that the program had counted.
#[test]
fn they_are_there_when_the_program_is_killed() {
    let folder = jtrail_testkit::temp_dir();
    compile("Short", include_str!("Short.java"), folder.path());
    for jdk in Jdk::require(&[17, 25]) {
        let file = folder.path().join(format!("{}.trail", jdk.feature));
        let options = format!(
            "format=trail,min=2ms,buffer=1m,include=Short,file={}",
            file.display()
        );
        let run = program(&jdk, "Short")
            .class_path(folder.path())
            .arg("forever");
        let mut running = run.agent(agent(), options).spawn().expect("it starts");
        let line = running.wait_for_line("[counted ");
        let reported: u64 = line
            .trim_matches(|c: char| !c.is_ascii_digit())
            .parse()
            .expect("a number");
        running.kill().expect("it is there");
        let recovered = file.with_extension("recovered.trail");
        let paths = [&file, &recovered].map(|path| path.to_str().expect("UTF-8"));
        let (_, _, said) = crate::support::cli::jtrail(&["recover", paths[0], "-o", paths[1]]);
        assert!(recovered.exists(), "{said}");
        let trace = crate::support::Trace::read(&recovered).expect("a trace");
        assert_eq!(trace.faults, [""; 0]);
        assert!(trace.calls["Short.quick(I)I"] >= reported, "{reported}");
    }
}
