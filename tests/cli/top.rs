//! `jtrail top` on a running program.

use crate::support::cli::jtrail;
use crate::support::{FILTER, agent, one_version, program};
use jtrail_testkit::{Jdk, Output, temp_dir};
use serde_json::Value;
use std::io::Write;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

/// Intervals in seconds that should cover a few rounds of the program's work. On a slow machine,
/// the next one is tried.
const INTERVALS: [u64; 3] = [6, 20, 60];

fn status(socket: &str) -> Value {
    let (_, out, err) = jtrail(&["ctl", socket, "status", "--json"]);
    serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}{err}"))
}

/// Returns the JSON that `top` prints for one interval, and the output of the program that worked
/// within it. Returns `None` if the work was not within the interval.
fn one_interval(jdk: &Jdk, seconds: u64) -> Option<(String, Output)> {
    const ROUNDS: usize = 3;
    let folder = temp_dir();
    let socket = folder.path().join("socket").display().to_string();
    let options = format!("format=none,{FILTER},control={socket},server=enabled");
    let run = program(jdk, "harness.Attached").agent(agent(), options);
    let mut running = run.spawn().expect("it starts");
    running.wait_ready();
    let mut input = running.stdin();
    let interval = format!("{seconds}s");
    let args = [
        "top", &socket, "--once", "--format", "json", "--top", "0", "-i", &interval,
    ]
    .map(str::to_owned);
    let top = thread::spawn(move || jtrail(&args.each_ref().map(String::as_str)));
    let begun = Instant::now();
    while status(&socket)["state"] != "recording" && begun.elapsed().as_secs() < seconds {
        thread::sleep(Duration::from_millis(5));
    }
    for done in 1..=ROUNDS {
        input.write_all(b"work\n").expect("it reads");
        running.wait_for(&"[done]\n".repeat(done));
    }
    let is_within = begun.elapsed().as_secs() < seconds;
    let (code, out, err) = top.join().expect("no panic");
    assert_eq!(code, ExitCode::SUCCESS, "{err}");
    let idle = status(&socket);
    assert_eq!(
        (&idle["state"], &idle["stream"], &idle["trace"]),
        (&"idle".into(), &"free".into(), &Value::Null)
    );
    drop(input);
    let output = running.wait().expect("it ends");
    output.assert_exit(0);
    assert!(!output.stderr.contains("jtrail"), "{output}");
    is_within.then_some((out, output))
}

/// All calls of an interval are counted. Nothing is left behind, and the program's output has no
/// messages of jtrail.
#[test]
fn counts_are_exact() {
    for jdk in Jdk::require(&one_version()) {
        let (out, output) = INTERVALS
            .iter()
            .find_map(|seconds| one_interval(&jdk, *seconds))
            .expect("the machine is too slow for this");
        let all: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}"));
        let methods = all["methods"].as_array().expect("rows");
        let calls = |name: &str| {
            let row = methods.iter().find(|row| row["method"] == name);
            row.and_then(|row| row["calls"].as_u64()).unwrap_or(0)
        };
        let exact = &output.counts().exact;
        assert!(exact["harness.Attached.work(I)I"] > 0);
        for (method, count) in exact {
            // The thread has waited for its first task since before the trace.
            if method.contains(".next()") {
                continue;
            }
            assert_eq!(calls(method), *count, "{method}: {out}");
        }
        assert_eq!(all["agent"]["lost"], 0);
        let threads = all["threads"].as_array().expect("rows");
        assert!(threads.iter().any(|row| row["thread"] == "main"), "{out}");
    }
}
