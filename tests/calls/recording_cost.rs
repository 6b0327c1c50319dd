//! The cost of recording is measured when the agent is loaded. It is in every trace whose format
//! can hold it, and a report can subtract it.

use crate::support::cli::jtrail;
use crate::support::{FILTER, VERSIONS, agent, few_versions, program};
use jtrail_formats::{Item, Reader};
use jtrail_model::{Cost, Event};
use jtrail_testkit::Jdk;
use serde_json::Value;
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::Path;

/// Traces `harness.Fib` into a file.
fn trace(jdk: &Jdk, format: &str, file: &Path) {
    let options = format!("format={format},{FILTER},file={}", file.display());
    let run = program(jdk, "harness.Fib").arg("20");
    run.agent(agent(), options).output().assert_exit(0);
}

/// Returns the cost that the trace contains.
fn cost(file: &Path) -> Cost {
    let mut cost = Cost::default();
    let mut reader = Reader::new(File::open(file).expect("a trace")).expect("a trace");
    let read = reader.for_each(|item| {
        if let Item::Event {
            event: Event::Option(option),
            ..
        } = item
        {
            cost.take(&option);
        }
        ControlFlow::<()>::Continue(())
    });
    read.expect("it can be read");
    cost
}

/// Returns the time in calls of a method, as a report prints it: total and self.
fn times(file: &Path, more: &[&str], method: &str) -> (i64, i64) {
    let file = file.to_str().expect("text");
    let args = [&["report", "--format", "json", "--top", "0", file], more].concat();
    let (_, out, said) = jtrail(&args);
    let report: Value = serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {said}"));
    let methods = report["methods"].as_array().expect("a table");
    let of = |row: &&Value| row["method"].as_str().is_some_and(|m| m.contains(method));
    let row = methods.iter().find(of).expect("it was called");
    let time = |key: &str| row[key].as_i64().expect("a time");
    (time("total_ns"), time("self_ns"))
}

/// Returns true if reading a clock, or storing a record, takes a plausible time: from a tenth of a
/// nanosecond to some microseconds on any machine.
fn is_likely(ps: u64) -> bool {
    (100..20_000_000).contains(&ps)
}

#[test]
fn traces_say_what_recording_takes() {
    for jdk in Jdk::require(&few_versions()) {
        let folder = jtrail_testkit::temp_dir();
        let file = folder.path().join("trace");
        for format in ["trail", "binary", "xml"] {
            trace(&jdk, format, &file);
            let cost = cost(&file);
            assert!(is_likely(cost.clock) && is_likely(cost.record), "{cost:?}");
        }
        trace(&jdk, "mlpd", &file);
        assert!(is_likely(cost(&file).clock));
        trace(&jdk, "jinsight", &file);
        let header = fs::read(&file).expect("a trace");
        let ticks = header[41..].first_chunk().copied().expect("a header");
        let ticks = u32::from_le_bytes(ticks); // in nanoseconds
        assert_eq!(cost(&file).record, u64::from(ticks) * 1000);
        assert!(is_likely(u64::from(ticks) * 1000), "{ticks}");
        trace(&jdk, "profilerj", &file);
        let document = fs::read_to_string(&file).expect("a document");
        let (_, fib) = document.split_once("Fib.fib").expect("it was called");
        let (_, overhead) = fib.split_once("overheadCumulated=\"").expect("it says so");
        let (overhead, _) = overhead.split_once('"').expect("a number");
        // The program makes 21,891 calls, with two records each.
        let overhead: u64 = overhead.parse().expect("a number");
        assert!((2..1_000_000).contains(&overhead), "{overhead} us");
    }
}

#[test]
fn a_report_takes_it_off() {
    let jdk = Jdk::require(&VERSIONS).pop().expect("one");
    let folder = jtrail_testkit::temp_dir();
    let file = folder.path().join("trace");
    trace(&jdk, "trail", &file);
    let record = cost(&file).record as i64;
    let (gross, net) = (times(&file, &[], "fib"), times(&file, &["--net"], "fib"));
    // Each call of fib has two callees or none.
    let calls = 21_891;
    assert!(net.0 < gross.0 && net.1 < gross.1, "{gross:?} {net:?}");
    let off = gross.1 - net.1;
    let most = (2 * calls - 1) * record / 1000 + calls; // rounded for each call path
    assert!((1..=most).contains(&off), "{off} of {most}");
    // A trace that lacks the cost.
    let (_, text) = (trace(&jdk, "xml", &file), fs::read_to_string(&file));
    let text = text.expect("a trace").replace("recordOverhead", "other");
    fs::write(&file, text).expect("written");
    let (code, _, said) = jtrail(&["report", "--net", file.to_str().expect("text")]);
    assert_ne!(
        format!("{code:?}"),
        format!("{:?}", std::process::ExitCode::SUCCESS)
    );
    assert!(
        said.contains("does not contain the time that recording took"),
        "{said}"
    );
}
