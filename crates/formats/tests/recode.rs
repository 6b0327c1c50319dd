//! Written traces are read, and read traces are written again, in every format.

use crate::common::spelling::Spelling;
use crate::common::{corpus, decode, drain, random};
use jtrail_formats::{Format, Severity};
use proptest::prelude::*;

/// Recodes a trace of one format in another.
fn recoded(from: Format, bytes: &[u8], to: Spelling) -> Vec<u8> {
    to.written(|report| drain(from, bytes, |_, event| report(event)))
}

/// Recoding a second time loses nothing more.
#[test]
fn a_trace_in_any_format_stays_as_it_is() {
    for from in Format::ALL {
        for (name, bytes) in corpus::files(from) {
            for to in Spelling::all() {
                let once = written_soundly(&name, from, &bytes, to);
                assert_stays(&name, to, &once);
            }
        }
    }
}

/// Inputs with which fuzzing found bugs that are fixed now: recoding a second time loses nothing
/// more.
#[test]
fn what_fuzzing_found_stays_as_it_is() {
    // For these inputs, only recoding a third time loses nothing more. In JinsightLive, the leaves
    // at a pause are reported after the pause, where the calls are listed once more. In trace logs,
    // functions with the same name become one.
    const LATER: [(&str, Format); 3] = [
        ("tracelog/thread-ends-in-pause", Format::Jinsight),
        ("tracelog/ids-by-place", Format::TraceLog),
        ("tracelog/ids-by-place-and-code", Format::TraceLog),
    ];
    for from in Format::ALL {
        for (name, bytes) in corpus::findings(from) {
            for to in Spelling::all() {
                let mut written = written_soundly(&name, from, &bytes, to);
                if LATER.contains(&(name.as_str(), to.format)) {
                    written = written_soundly(&name, to.format, &written, to);
                }
                assert_stays(&name, to, &written);
            }
        }
    }
}

/// Recodes a trace, and tests that the result's decoder finds no fault.
fn written_soundly(name: &str, from: Format, bytes: &[u8], to: Spelling) -> Vec<u8> {
    let written = recoded(from, bytes, to);
    let decoding = decode(to.format, &written);
    assert_eq!(decoding.error, None, "{name} to {to:?}");
    assert_eq!(decoding.count(Severity::Fault), 0, "{name} to {to:?}");
    written
}

fn assert_stays(name: &str, spelling: Spelling, bytes: &[u8]) {
    assert!(
        recoded(spelling.format, bytes, spelling) == bytes,
        "{name} to {spelling:?} changes when it is written again"
    );
}

/// Seed files of this agent are recoded without change.
#[test]
fn our_own_files_come_back_byte_by_byte() {
    for spelling in Spelling::all() {
        let format = spelling.format;
        let turned = if spelling == Spelling::of(format) {
            ""
        } else {
            "-17"
        };
        let own = ["every-event", "shop"].map(|name| format!("{}/{name}{turned}", format.name()));
        let files = corpus::files(format).into_iter();
        let files: Vec<_> = files.filter(|(name, _)| own.contains(name)).collect();
        assert_eq!(files.len(), 2, "{spelling:?}");
        for (name, bytes) in files {
            assert!(recoded(format, &bytes, spelling) == bytes, "{name}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// Whatever the events are, a format's decoder finds no fault in its encoder's output.
    #[test]
    fn what_is_written_is_read(events in random::trace()) {
        for spelling in Spelling::all() {
            let decoding = decode(spelling.format, &spelling.encode(&events));
            prop_assert_eq!(&decoding.error, &None);
            prop_assert_eq!(decoding.count(Severity::Fault), 0, "{:?} {:?}", spelling, decoding.remarks);
        }
    }
}
