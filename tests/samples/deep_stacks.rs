//! Samples of deep stacks, in the formats that keep the outermost frames.

use crate::support::jvm_tools::tool_program;
use crate::support::observed::read;
use crate::support::{agent, few_versions, one_version, program};
use jtrail_model::{Event, ThreadId};
use jtrail_testkit::{Jdk, Output, temp_dir};
use std::collections::HashMap;
use std::path::Path;

/// Number of calls of `down` on the main thread, and on the other thread.
const DOWN: [usize; 2] = [300, 3000];
/// Maximum number of frames of a recorded stack.
const MAX_FRAMES: usize = 1024;

/// The agent's message about stacks that were cut.
const CUT: &str = "innermost ends of sampled stacks beyond stackdepth";

/// A call path of the program, outermost frame first, and how many samples found it.
type Hits = (Vec<String>, u64);

/// Samples by thread.
type Samples = HashMap<ThreadId, Vec<Hits>>;

/// Returns the class and the name of a frame's method.
fn name(method: &str) -> String {
    method[..method.find('(').unwrap_or(method.len())].to_owned()
}

/// Returns the samples of stacks with a method whose name begins with `method`.
fn samples(file: &Path, method: &str) -> Samples {
    let mut samples = Samples::new();
    let mut add = |thread, path: &[String], hits| {
        if hits > 0 && path.iter().any(|name| name.starts_with(method)) {
            let of_thread: &mut Vec<Hits> = samples.entry(thread).or_default();
            of_thread.push((path.to_vec(), hits));
        }
    };
    let mut paths: HashMap<ThreadId, Vec<String>> = HashMap::new();
    read(file, |event| match event {
        Event::Sample(e) => {
            let outermost_first = e.stack.iter().rev().map(|f| name(&f.method));
            add(
                e.thread,
                &outermost_first.collect::<Vec<_>>(),
                e.ticks.get(),
            );
        }
        Event::SampleSum(e) => {
            let path = paths.entry(e.thread).or_default();
            path.truncate(e.depth as usize - 1);
            path.push(name(&e.frame.method));
            add(e.thread, path, e.all);
        }
        _ => {}
    });
    samples
}

/// Runs the program in a format, and reads its samples.
fn run(jdk: &Jdk, options: &str) -> (Output, Samples) {
    let folder = temp_dir();
    let file = folder.path().join("trace");
    let options = format!(
        "{options},events=samples+threads,interval=2ms,file={}",
        file.display()
    );
    let [main, deeper] = DOWN.map(|calls| calls.to_string());
    let output = tool_program(jdk, "Deep", include_str!("Deep.java"), folder.path())
        .arg(main)
        .arg(deeper)
        .arg("1000")
        .agent(agent(), options)
        .output();
    output.assert_exit(0);
    let samples = samples(&file, "Deep.down");
    (output, samples)
}

/// Returns the agent's message about `cut` samples that were cut.
fn said(cut: u64) -> String {
    format!("{CUT} ({cut})")
}

/// Returns the samples of the thread whose outermost frame is `root`.
fn beginning<'a>(samples: &'a Samples, root: &str) -> &'a [Hits] {
    let mut found = samples.values().filter(|of| of[0].0[0] == root);
    let of_thread = found.next().unwrap_or_else(|| panic!("none from {root}"));
    assert!(found.next().is_none(), "several threads begin with {root}");
    of_thread
}

/// The frames of a virtual thread are its own, and not those of its carrier.
#[test]
fn stacks_of_virtual_threads_are_whole() {
    for jdk in Jdk::require(&few_versions()) {
        if jdk.feature < 21 {
            continue;
        }
        for format in ["tracelog", "profilerj"] {
            let folder = temp_dir();
            let file = folder.path().join("trace");
            let options = format!(
                "format={format},events=samples+threads,interval=1ms,file={}",
                file.display()
            );
            let run = program(&jdk, "harness.BurnVirtual").arg("400");
            run.agent(agent(), options).output().assert_exit(0);
            let samples = samples(&file, "harness.BurnVirtual.burns");
            assert!(samples.len() > 1, "{samples:?}");
            let hits: Vec<_> = samples.values().flatten().collect();
            assert!(
                hits.iter().map(|(_, hits)| hits).sum::<u64>() > 5,
                "{hits:?}"
            );
            // A virtual thread's stack begins with the frames with which the JDK runs it.
            let runs = |path: &[String]| {
                let run = path.iter().position(|m| m == "java.lang.VirtualThread.run");
                run.is_some_and(|at| {
                    at < 4 && path[..at].iter().all(|m| m.contains("Continuation"))
                })
            };
            assert!(hits.iter().all(|(path, _)| runs(path)), "{hits:?}");
            let carrier = "jdk.internal.vm.Continuation.run";
            assert!(
                hits.iter()
                    .all(|(path, _)| path.iter().all(|m| m != carrier))
            );
        }
    }
}

fn count(hits: &[Hits]) -> u64 {
    hits.iter().map(|(_, hits)| hits).sum()
}

#[test]
fn deep_stacks_are_whole_or_reported_as_truncated() {
    for jdk in Jdk::require(&one_version()) {
        for format in ["tracelog", "profilerj"] {
            let (output, samples) = run(&jdk, &format!("format={format}"));
            let main = beginning(&samples, "Deep.main");
            let whole = |path: &[String]| {
                path[0] == "Deep.main"
                    && path[1..=DOWN[0]].iter().all(|name| name == "Deep.down")
                    && path[DOWN[0] + 1] == "Deep.spin"
            };
            let at_work = main
                .iter()
                .filter(|(p, _)| p.contains(&"Deep.spin".to_owned()));
            assert!(at_work.clone().all(|(path, _)| whole(path)), "{main:?}");
            let at_work: u64 = at_work.map(|(_, hits)| hits).sum();
            assert!(at_work > 5, "{at_work} on {}", jdk.feature);
            assert!(main.iter().all(|(path, _)| path.len() < MAX_FRAMES));

            let deeper = beginning(&samples, "java.lang.Thread.run");
            let longest = |path: &Vec<String>| path.len() == MAX_FRAMES;
            let cut = deeper.iter().filter(|(path, _)| longest(path));
            let cut: u64 = cut.map(|(_, hits)| hits).sum();
            assert!(
                cut > 5 && cut + 5 > count(deeper),
                "{cut} of {}",
                count(deeper)
            );
            assert!(deeper.iter().all(|(path, _)| path.len() <= MAX_FRAMES));
            assert!(
                !deeper
                    .iter()
                    .any(|(p, _)| p.contains(&"Deep.spin".to_owned()))
            );
            assert!(output.stderr.contains(&said(cut)), "{cut}\n{output}");
        }
    }
}

#[test]
fn the_outermost_frames_stay() {
    let jdk = Jdk::newest();
    for format in ["tracelog", "profilerj"] {
        let (output, samples) = run(&jdk, &format!("format={format},stackdepth=16"));
        let roots = ["Deep.main", "java.lang.Thread.run"].map(|root| beginning(&samples, root));
        for hits in roots {
            assert!(count(hits) > 5);
            assert!(hits.iter().all(|(path, _)| path.len() <= 16));
        }
        assert!(output.stderr.contains(CUT));
    }
}
