//! A real trace, truncated at every byte. And a real trace with one byte changed: each byte in
//! turn, or each fifth one.

use super::{Done, Failures, in_time, jtrail};
use crate::support::spellings::{SPELLINGS, Spelling};
use crate::support::{agent, is_thorough, program};
use damage::{Before, ends, events_before};
use jtrail_formats::Format;
use jtrail_testkit::Jdk;
use std::fs;
use std::path::Path;
use std::time::Duration;

#[path = "../../crates/formats/tests/common/damage.rs"]
#[allow(
    missing_docs,
    unreachable_pub,
    reason = "the tests of the formats share it"
)]
mod damage;

/// Maximum time for the tests of one format, with all bytes and all subcommands.
const LIMIT: Duration = Duration::from_secs(600);
/// One of this many bytes is changed, unless tests are thorough.
const CHANGED: usize = 5;
const BINARY_HEADER: usize = 12;
/// Number of events up to the one that names the agent.
const AGENT_EVENT: usize = 3;

/// Returns the trace of `harness.Fib 5`.
fn real(spelling: &Spelling) -> Vec<u8> {
    let folder = jtrail_testkit::temp_dir();
    let file = folder.path().join("trace").display().to_string();
    // The agent's JinsightLive traces have every class of the JVM: too many bytes to truncate such
    // a trace at each. A converted trace is small.
    let options = match spelling.format {
        Format::Jinsight => "format=binary",
        _ => spelling.options,
    };
    let options = format!("{options},include=harness.Fib,file={file}");
    let run = program(&Jdk::newest(), "harness.Fib").arg("5");
    run.agent(agent(), options).output().assert_exit(0);
    if spelling.format == Format::Jinsight {
        let converted = folder.path().join("trace.trc").display().to_string();
        let done = jtrail(&["convert", &file, &converted]);
        assert_eq!(done.code, 0, "{}", done.err);
        return fs::read(converted).expect("a trace");
    }
    fs::read(file).expect("a trace")
}

/// Returns the exit codes of reading and of checking a trace that is truncated at `cut`.
fn codes(format: Format, trace: &[u8], ends: &[(usize, usize)], cut: usize) -> (u8, u8) {
    let found = |text: &[u8]| trace.windows(text.len()).position(|part| part == text);
    let lines = trace.split_inclusive(|byte| *byte == b'\n');
    let first_line = || lines.clone().next().map_or(0, |line| line.len() - 1);
    // With fewer bytes, the format can't be detected.
    let least = match format {
        Format::TptpXml | Format::ProfilerJ => 1,
        Format::TptpBinary => BINARY_HEADER,
        Format::Jinsight => 45,
        Format::Mlpd => found(b"\x01\x4c\x50\x4d").expect("a buffer"),
        Format::TraceLog => first_line(),
        _ => 4,
    };
    let is_whole = match format {
        // Only the last line feed is missing.
        Format::TptpXml | Format::ProfilerJ => cut == trace.len() - 1,
        Format::TptpBinary => between(trace, ends, cut),
        Format::TraceLog => cut > 0 && trace[cut - 1] == b'\n',
        // The trace could be from a profiler that writes no end.
        Format::Mlpd => cut == least,
        _ => false,
    };
    // If the trace is truncated between two messages, only the checker notices the missing end, and
    // only after the event that names the agent.
    let events = ends.last().map_or(0, |(_, events)| *events);
    let is_seen = format == Format::TptpBinary
        && (AGENT_EVENT..events - 1).contains(&events_before(ends, cut));
    match (cut < least, is_whole) {
        (true, _) => (2, 2),
        (_, true) => (0, if is_seen { 3 } else { 0 }),
        _ => (3, 3),
    }
}

fn events(done: &Done) -> Option<usize> {
    let text = done.out.split("\"events\": ").nth(1)?;
    text[..text.find(',')?].parse().ok()
}

fn cut_everywhere(spelling: &Spelling) {
    let (format, options) = (spelling.format, spelling.options);
    let trace = real(spelling);
    let ends = ends(format, &trace);
    let folder = jtrail_testkit::temp_dir();
    let path = folder.path().join("trace");
    let name = path.display().to_string();
    fs::write(&path, &trace).expect("written");
    let whole = jtrail(&["dump", &name]);
    let lines: Vec<&str> = whole.out.lines().collect();
    assert_eq!(
        (whole.code, lines.len()),
        (0, events_before(&ends, trace.len())),
        "{}",
        whole.err
    );
    assert_eq!(jtrail(&["verify", &name]).code, 0);
    let mut failures = Failures::default();
    for cut in 0..trace.len() {
        fs::write(&path, &trace[..cut]).expect("written");
        let (read, checked) = codes(format, &trace, &ends, cut);
        let reported = &lines[..events_before(&ends, cut)];
        let dump = jtrail(&["dump", &name]);
        failures.check(dump.code == read, || {
            format!("{options} cut at {cut}: dump {}, not {read}", dump.code)
        });
        let dumped: Vec<&str> = dump.out.lines().collect();
        let before = Before::of(format);
        let stands = before != Before::Stands || dumped == reported;
        failures.check(stands && before.keeps(reported, &dumped), || {
            format!(
                "{options} cut at {cut}: {} events, not {}",
                dumped.len(),
                reported.len()
            )
        });
        failures.check(before.adds_nothing(&lines, &dumped), || {
            format!("{options} cut at {cut}: other events")
        });
        let verify = jtrail(&["verify", "--json", &name]);
        let said = (verify.code, events(&verify).unwrap_or(0));
        failures.check(said == (checked, dumped.len()), || {
            format!(
                "{options} cut at {cut}: {said:?}, not {checked} and {} events",
                dumped.len()
            )
        });
        let report = jtrail(&["report", &name]);
        failures.check(report.code == read, || {
            format!("{options} cut at {cut}: report {}", report.code)
        });
    }
    failures.finish();
}

/// Returns true if the first `cut` bytes of a binary trace end with its header or a complete
/// message.
fn between(trace: &[u8], ends: &[(usize, usize)], cut: usize) -> bool {
    // Two messages follow the header: encoding and frequency. In a message, the size follows the
    // id.
    let size = |at: usize| {
        u32::from_le_bytes(trace[at + 2..at + 6].try_into().expect("four bytes")) as usize
    };
    let encoding = BINARY_HEADER + size(BINARY_HEADER);
    let frequency = encoding + size(encoding);
    let is_end = |end: &(usize, usize)| end.1 > 0 && end.0 == cut;
    ends.iter().any(is_end) || [BINARY_HEADER, encoding, frequency].contains(&cut)
}

fn changed_everywhere(spelling: &Spelling) {
    let options = spelling.options;
    let mut trace = real(spelling);
    let folder = jtrail_testkit::temp_dir();
    let path = folder.path().join("trace");
    let name = path.display().to_string();
    let mut counts = [0; 4];
    let mut failures = Failures::default();
    for at in (0..trace.len()).step_by(if is_thorough() { 1 } else { CHANGED }) {
        let byte = trace[at];
        for new in [byte ^ 1, byte ^ 0x80, !byte, 0] {
            trace[at] = new;
            fs::write(&path, &trace).expect("written");
            for line in [["verify", &name], ["report", &name]] {
                let what = || {
                    format!(
                        "{options}, byte {at} {byte:#x} changed to {new:#x}: {}",
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
    eprintln!("{options}: exit codes 0 to 3, so often: {counts:?}");
    failures.finish();
}

/// Returns the exit code; `None` after a panic.
fn code_of(line: &[&str], path: &Path) -> Option<u8> {
    debug_assert!(path.exists());
    std::panic::catch_unwind(|| jtrail(line).code).ok()
}

macro_rules! every_byte {
    ($($cut:ident $changed:ident $at:literal;)*) => {$(
        #[test]
        fn $cut() {
            in_time("cuts", LIMIT, || cut_everywhere(&SPELLINGS[$at]));
        }

        #[test]
        fn $changed() {
            in_time("changes", LIMIT, || changed_everywhere(&SPELLINGS[$at]));
        }
    )*

        /// Checks that no format is missing.
        const _: () = assert!([$($at),*].len() == SPELLINGS.len());
    };
}

every_byte! {
    xml_cut_at_every_byte xml_with_every_byte_changed 0;
    binary_cut_at_every_byte binary_with_every_byte_changed 1;
    jinsight_cut_at_every_byte jinsight_with_every_byte_changed 2;
    mlpd_cut_at_every_byte mlpd_with_every_byte_changed 3;
    mlpd_17_cut_at_every_byte mlpd_17_with_every_byte_changed 4;
    tracelog_cut_at_every_byte tracelog_with_every_byte_changed 5;
    trail_cut_at_every_byte trail_with_every_byte_changed 6;
    profilerj_cut_at_every_byte profilerj_with_every_byte_changed 7;
}
