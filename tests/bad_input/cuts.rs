//! A real trace, cut at every byte, and with every byte changed.

use super::{Done, Failures, in_time, jtrail};
use crate::common::{agent, program};
use jtrail_formats::{Item, Reader};
use jtrail_testkit::Jdk;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

/// For one format, all bytes, all verbs.
const LIMIT: Duration = Duration::from_secs(600);
const BINARY_HEADER: usize = 12;
/// Events up to the one that names the agent.
const AGENT_EVENT: usize = 3;
const XML_END: usize = "\n</TRACE>\n".len();

/// The trace of `harness.Fib 5`.
fn real(format: &str) -> Vec<u8> {
    let folder = jtrail_testkit::temp_dir();
    let file = folder.path().join("trace");
    let options = format!(
        "format={format},include=harness.Fib,file={}",
        file.display()
    );
    let run = program(&Jdk::newest(), "harness.Fib").arg("5");
    run.agent(agent(), options).output().assert_exit(0);
    fs::read(file).expect("a trace")
}

/// Where each event ends.
fn ends(format: &str, trace: &[u8]) -> Vec<usize> {
    let mut ends = Vec::new();
    let end = Reader::new(trace).expect("a trace").for_each(|item| {
        match item {
            Item::Event { offset, .. } => ends.push(offset as usize),
            Item::Remark(remark) => return ControlFlow::Break(remark),
        }
        ControlFlow::Continue(())
    });
    assert_eq!(end.expect("sound"), None);
    // Each ends where the next begins: the white space between them counts with the next.
    ends.remove(0);
    ends.push(match format {
        "xml" => trace.len() - XML_END,
        _ => trace.len(),
    });
    ends
}

fn events(done: &Done) -> Option<usize> {
    let text = done.out.split("\"events\": ").nth(1)?;
    text[..text.find(',')?].parse().ok()
}

fn cut_everywhere(format: &'static str) {
    let trace = real(format);
    let ends = ends(format, &trace);
    let folder = jtrail_testkit::temp_dir();
    let path = folder.path().join("trace");
    let name = path.display().to_string();
    fs::write(&path, &trace).expect("written");
    let whole = jtrail(&["dump", &name]);
    let lines: Vec<&str> = whole.out.lines().collect();
    assert_eq!((whole.code, lines.len()), (0, ends.len()), "{}", whole.err);
    assert_eq!(jtrail(&["verify", &name]).code, 0);
    let mut failures = Failures::default();
    for cut in 0..trace.len() {
        fs::write(&path, &trace[..cut]).expect("written");
        let before = ends.iter().filter(|end| **end <= cut).count();
        let expected = match format {
            _ if cut == 0 => 2,
            "binary" if cut < BINARY_HEADER => 2,
            "binary" if between(&trace, &ends, cut) => 0,
            "xml" if cut == trace.len() - 1 => 0, // only the last line feed is missing
            _ => 3,
        };
        // Between two messages only the checker sees that the end is missing, once it knows whose trace it is.
        let checked = match expected {
            0 if (AGENT_EVENT..ends.len() - 1).contains(&before) => 3,
            code => code,
        };
        let verify = jtrail(&["verify", "--json", &name]);
        let told = (verify.code, events(&verify));
        failures.check(told == (checked, Some(before)), || {
            format!("{format} cut at {cut}: {told:?}, not {checked} and {before} events")
        });
        let dump = jtrail(&["dump", &name]);
        failures.check(dump.code == expected, || {
            format!("{format} cut at {cut}: dump {}", dump.code)
        });
        failures.check(dump.out.lines().eq(lines[..before].iter().copied()), || {
            format!("{format} cut at {cut}: other events")
        });
        let report = jtrail(&["report", &name]);
        failures.check(report.code == expected, || {
            format!("{format} cut at {cut}: report {}", report.code)
        });
    }
    failures.finish();
}

/// Whether a binary trace that ends at `cut` ends with its header or a whole message.
fn between(trace: &[u8], ends: &[usize], cut: usize) -> bool {
    // Behind the header: the size of a message stands behind its id.
    let size = |at: usize| {
        u32::from_le_bytes(trace[at + 2..at + 6].try_into().expect("four bytes")) as usize
    };
    let encoding = BINARY_HEADER + size(BINARY_HEADER);
    let frequency = encoding + size(encoding);
    ends.contains(&cut) || [BINARY_HEADER, encoding, frequency].contains(&cut)
}

fn changed_everywhere(format: &'static str) {
    let mut trace = real(format);
    let folder = jtrail_testkit::temp_dir();
    let path = folder.path().join("trace");
    let name = path.display().to_string();
    let mut counts = [0; 4];
    let mut failures = Failures::default();
    for at in 0..trace.len() {
        let byte = trace[at];
        for new in [byte ^ 1, byte ^ 0x80, !byte, 0] {
            trace[at] = new;
            fs::write(&path, &trace).expect("written");
            for line in [["verify", &name], ["report", &name]] {
                let what = || {
                    format!(
                        "{format}, byte {at} {byte:#x} changed to {new:#x}: {}",
                        line[0]
                    )
                };
                let code = code_of(&line, &path).unwrap_or(u8::MAX);
                failures.check(code <= 3, what);
                if let Some(count) = counts.get_mut(usize::from(code)) {
                    *count += 1;
                }
            }
        }
        trace[at] = byte;
    }
    eprintln!("{format}: exit codes 0 to 3, so often: {counts:?}");
    failures.finish();
}

/// The exit code; none after a panic.
fn code_of(line: &[&str], path: &Path) -> Option<u8> {
    debug_assert!(path.exists());
    std::panic::catch_unwind(|| jtrail(line).code).ok()
}

#[test]
fn binary_cut_at_every_byte() {
    in_time("cuts", LIMIT, || cut_everywhere("binary"));
}

#[test]
fn xml_cut_at_every_byte() {
    in_time("cuts", LIMIT, || cut_everywhere("xml"));
}

#[test]
fn binary_with_every_byte_changed() {
    in_time("changes", LIMIT, || changed_everywhere("binary"));
}

#[test]
fn xml_with_every_byte_changed() {
    in_time("changes", LIMIT, || changed_everywhere("xml"));
}
