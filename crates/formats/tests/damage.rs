//! Traces of every format, cut at every byte and with every byte changed.

use crate::common::damage::{Before, ends, events_before};
use crate::common::{Decoding, corpus, decode, same_in_pieces};
use jtrail_formats::{Format, Import, Readable, Severity};
use std::collections::HashSet;
use std::thread;

/// Runs `test` with every seed file of every format and its decoding. The formats run in parallel.
fn with_all(test: impl Fn(Format, &str, &[u8], &Decoding) + Sync) {
    thread::scope(|scope| {
        for format in Format::ALL {
            let test = &test;
            scope.spawn(move || {
                for (name, bytes) in corpus::files(format) {
                    let whole = decode(format, &bytes);
                    assert_eq!(whole.error, None, "{name}");
                    assert_eq!(
                        whole.count(Severity::Fault),
                        0,
                        "{name}: {:?}",
                        whole.remarks
                    );
                    assert_eq!(whole.count(Severity::Truncated), 0, "{name}");
                    assert!(whole.events.len() > 5, "{name}");
                    test(format, &name, &bytes, &whole);
                }
            });
        }
    });
}

#[test]
fn a_trace_cut_anywhere_is_truncated_there() {
    with_all(|format, name, bytes, whole| {
        let ends = ends(format, bytes);
        let between: HashSet<usize> = ends.iter().map(|(at, _)| *at).collect();
        for cut in 0..bytes.len() {
            let decoding = decode(format, &bytes[..cut]);
            assert_eq!(decoding.count(Severity::Fault), 0, "{name} {cut}");
            let truncated = decoding.count(Severity::Truncated);
            let reported = truncated == 1 || decoding.error.is_some();
            assert!(truncated <= 1, "{name} {cut}");
            // In formats without an end record, a cut between two records is not detectable.
            assert!(reported || between.contains(&cut), "{name} {cut}");
            let before = &whole.events[..events_before(&ends, cut)];
            let expects = Before::of(format);
            assert!(expects.keeps(before, &decoding.events), "{name} {cut}");
            assert!(
                expects.adds_nothing(&whole.events, &decoding.events),
                "{name} {cut}"
            );
        }
    });
}

#[test]
fn a_byte_changed_anywhere_does_no_harm() {
    with_all(|format, name, bytes, whole| {
        let ends = ends(format, bytes);
        let mut damaged = bytes.to_vec();
        for at in 0..bytes.len() {
            for flip in [0x01, 0x20, 0xff] {
                damaged[at] ^= flip;
                let decoding = decode(format, &damaged);
                assert!(
                    decoding.count(Severity::Truncated) <= 1,
                    "{name} {at} {flip:#x}"
                );
                let before = &whole.events[..events_before(&ends, at)];
                assert!(
                    Before::of(format).keeps(before, &decoding.events),
                    "{name} {at} {flip:#x}"
                );
                if at % 31 == 0 {
                    let piece = 1 + at * 7 % bytes.len();
                    same_in_pieces(format, &damaged, piece, &decoding);
                }
                damaged[at] = bytes[at];
            }
        }
    });
}

/// Changes, removes, duplicates and inserts bytes.
#[test]
fn damage_of_all_kinds_does_no_harm() {
    with_all(|format, _, bytes, _| damaged(format.into(), bytes));
    for import in Import::ALL {
        for (_, bytes) in corpus::files(import) {
            damaged(import.into(), &bytes);
        }
    }
}

/// Damages a file in many ways, and tests the decoder's guarantees with each.
fn damaged(format: Readable, bytes: &[u8]) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..500 {
        let mut bytes = bytes.to_vec();
        for _ in 0..=random.below(6) {
            let at = random.below(bytes.len());
            let end = bytes.len().min(at + 1 + random.below(40));
            match random.below(5) {
                0 => bytes[at] = random.next() as u8,
                1 => drop(bytes.drain(at..end)),
                2 => {
                    let part = bytes[at..end].to_vec();
                    let to = random.below(bytes.len());
                    bytes.splice(to..to, part);
                }
                3 => bytes.insert(at, b"<>\"'&;/=\0\xff"[random.below(10)]),
                _ => bytes[at..end].fill(random.next() as u8),
            }
            if bytes.is_empty() {
                bytes.push(0);
            }
        }
        let whole = decode(format, &bytes);
        let piece = 1 + random.below(bytes.len());
        same_in_pieces(format, &bytes, piece, &whole);
    }
}

/// Pseudo-random number generator (xorshift), which repeats its numbers in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 16) as usize % limit
    }
}

/// Inputs with which fuzzing found bugs that are fixed now. Decoders must still keep their
/// guarantees.
#[test]
fn findings_of_fuzzing_stay_mended() {
    for format in corpus::formats() {
        for (_, bytes) in corpus::findings(format) {
            let whole = decode(format, &bytes);
            for piece in 1..=bytes.len() {
                same_in_pieces(format, &bytes, piece, &whole);
            }
        }
    }
}
