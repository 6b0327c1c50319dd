//! Samples of threads whose states the program knows.

use crate::support::observed::{observed, read};
use crate::support::{FILTER, agent, few_versions, program};
use jtrail_model::{Event, Frame, ThreadState};
use jtrail_testkit::{Jdk, Output, Truth, temp_dir};
use std::collections::{BTreeMap, BTreeSet};

const STEADY: &str = "harness.States.steady(J)V";

/// Returns true if the frame's method has this class and name, with any descriptor.
fn is_of(frame: &Frame<'_>, method: &str) -> bool {
    let rest = frame.method.strip_prefix(method);
    rest.is_some_and(|rest| rest.starts_with('('))
}

/// While the program does not change state, each tick finds each thread in its state and its
/// innermost method.
#[test]
fn every_sample_of_a_thread_that_stays_is_right() {
    for jdk in Jdk::require(&few_versions()) {
        let (mut begin, mut end) = (None, None);
        let mut samples: Vec<(i64, String, ThreadState, String)> = Vec::new();
        let options = format!("format=trail,events=+samples,interval=5ms,{FILTER}");
        let run = program(&jdk, "harness.States");
        let run = observed(run, &options, |names, event| match event {
            Event::MethodEnter(e) if names.methods[&e.method] == STEADY => begin = Some(e.time.0),
            Event::MethodLeave(e) if names.methods[&e.method] == STEADY => end = Some(e.time.0),
            Event::Sample(e) => {
                let thread = names.thread(e.thread).to_owned();
                samples.push((e.time.0, thread, e.state, e.stack[0].method.to_string()));
            }
            _ => {}
        });
        let truth = run.output.truth();
        assert_eq!(truth.states.len(), 8);
        let while_steady = begin.expect("it begins")..end.expect("it ends");
        samples.retain(|(time, ..)| while_steady.contains(time));
        let mut ticks: BTreeSet<i64> = samples.iter().map(|(time, ..)| *time).collect();
        // A tick's time is taken after its stacks, so the stacks of the first tick may be from
        // before `steady` began.
        ticks.pop_first();
        assert!(ticks.len() >= 5, "JDK {}: {ticks:?}", jdk.feature);
        for (thread, (state, method)) in &truth.states {
            let own = samples
                .iter()
                .filter(|(time, name, ..)| name == thread && ticks.contains(time));
            let own: Vec<_> = own.collect();
            assert_eq!(own.len(), ticks.len(), "{thread}, JDK {}", jdk.feature);
            for (time, _, seen, innermost) in own {
                let seen = (seen.name(), innermost.split('(').next());
                let reported = (state.as_str(), Some(method.as_str()));
                assert_eq!(seen, reported, "{thread} at {time}, JDK {}", jdk.feature);
            }
        }
    }
}

/// Sums of a thread's samples: all of them, those in the method where it stays, and those in which
/// it was runnable.
#[derive(Default, Debug)]
struct Stays {
    all: u64,
    in_place: u64,
    runnable: u64,
}

impl Stays {
    /// Adds samples of a stack, innermost frame first. Each thread calls a method that has the
    /// thread's name: by this method, the stack shows its thread.
    fn add(all: &mut BTreeMap<String, Self>, truth: &Truth, stack: &[Frame<'_>], counts: [u64; 2]) {
        for (thread, (_, method)) in &truth.states {
            let own = format!("harness.States.{thread}");
            if stack.iter().any(|frame| is_of(frame, &own)) {
                let stays = all.entry(thread.clone()).or_default();
                stays.all += counts[0];
                stays.runnable += counts[1];
                stays.in_place += counts[0] * u64::from(is_of(&stack[0], method));
            }
        }
    }
}

/// Runs the program with samples and no other events, and reads the trace.
fn sampled(jdk: &Jdk, format: &str, mut see: impl FnMut(&Truth, &Event<'_>)) -> Output {
    let folder = temp_dir();
    let file = folder.path().join("trace");
    let options = format!(
        "format={format},events=samples,interval=5ms,file={}",
        file.display()
    );
    let output = program(jdk, "harness.States")
        .agent(agent(), options)
        .output();
    output.assert_exit(0);
    let truth = output.truth();
    read(&file, |event| see(&truth, event));
    output
}

/// Checks that nearly all samples find a thread where it stays. The other samples show the thread
/// on the way there, or back.
fn assert_stays(output: &Output, all: &BTreeMap<String, Stays>) {
    for thread in output.truth().states.keys() {
        let stays = &all[thread];
        assert!(
            stays.all >= 10 && stays.in_place * 10 >= stays.all * 9,
            "{thread}: {stays:?}\n{output}"
        );
    }
}

/// A trace log has no states and no thread names, but shows where threads are.
#[test]
fn trace_logs_show_where_threads_are() {
    for jdk in Jdk::require(&few_versions()) {
        let mut all = BTreeMap::new();
        let output = sampled(&jdk, "tracelog", |truth, event| {
            if let Event::Sample(e) = event {
                Stays::add(&mut all, truth, &e.stack, [e.ticks.0.get(), 0]);
            }
        });
        assert_stays(&output, &all);
    }
}

/// A snapshot shows whether threads were runnable.
#[test]
fn snapshots_show_where_threads_are_and_whether_they_run() {
    for jdk in Jdk::require(&few_versions()) {
        let mut all = BTreeMap::new();
        // Outermost frame first.
        let mut path: Vec<Frame<'static>> = Vec::new();
        let output = sampled(&jdk, "profilerj", |truth, event| {
            if let Event::SampleSum(e) = event {
                path.truncate(e.depth as usize - 1);
                path.push(Frame {
                    method: e.frame.method.to_string().into(),
                    ..Frame::default()
                });
                let stack: Vec<_> = path.iter().rev().cloned().collect();
                Stays::add(&mut all, truth, &stack, [e.all, e.runnable]);
            }
        });
        assert_stays(&output, &all);
        for (thread, (state, _)) in &output.truth().states {
            let stays = &all[thread];
            let agree = match state.as_str() {
                "runnable" => stays.runnable,
                _ => stays.all - stays.runnable,
            };
            assert!(agree * 10 >= stays.all * 9, "{thread}: {stays:?}\n{output}");
        }
    }
}
