//! Decodes a trace, and tests the guarantees of every decoder meanwhile. The fuzz targets use it
//! too.

use jtrail_formats::{
    DecodeError, Decoded, Format, Handed, Readable, Remark, RemarkKind, Severity, Step, mlpd,
};
use jtrail_model::Event;
use std::ops::ControlFlow;

/// A decoded trace. Events are kept as their `Debug` text, which has all of their fields.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Decoding {
    pub events: Vec<String>,
    pub remarks: Vec<Remark>,
    pub error: Option<DecodeError>,
}

impl Decoding {
    pub fn count(&self, severity: Severity) -> usize {
        self.remarks
            .iter()
            .filter(|r| r.severity == severity)
            .count()
    }

    /// Returns the only remark of this severity.
    pub fn only(&self, severity: Severity) -> (u64, &str) {
        let mut found = self.remarks.iter().filter(|r| r.severity == severity);
        match (found.next(), found.next()) {
            (Some(remark), None) => (remark.offset, &remark.message),
            _ => panic!("not one {severity:?} in {self:#?}"),
        }
    }

    /// Returns the error that ended the decoding.
    pub fn refused(&self) -> (u64, &str) {
        let error = self.error.as_ref().expect("an error");
        (error.offset, &error.message)
    }

    pub fn is_clean(&self) -> bool {
        self.remarks.is_empty() && self.error.is_none()
    }
}

pub fn decode(format: impl Into<Readable>, bytes: &[u8]) -> Decoding {
    decode_pieces(format, bytes, bytes.len().max(1))
}

/// Decodes `bytes`, passed in pieces of `piece` bytes. Tests the guarantees of every decoder
/// meanwhile.
pub fn decode_pieces(format: impl Into<Readable>, bytes: &[u8], piece: usize) -> Decoding {
    let format = format.into();
    let decoding = by_steps(format, bytes, piece, false);
    if format == Format::Trail {
        assert_eq!(by_steps(format, bytes, piece, true), decoding);
    }
    decoding
}

/// Decodes step by step. With `in_bulk`, takes whole batches where the decoder offers them.
fn by_steps(format: Readable, bytes: &[u8], piece: usize, in_bulk: bool) -> Decoding {
    let mut decoding = Decoding::default();
    let mut decoder = format.decoder();
    let (mut start, mut end) = (0, 0);
    // A step uses input, emits something, or asks for more input, so the number of steps is
    // bounded.
    let mut idle = 0;
    let mut bulks = 0;
    loop {
        let last = end == bytes.len();
        let Decoded { used, step } = match decoder.step(&bytes[start..end], last) {
            Ok(decoded) => decoded,
            Err(error) => {
                decoding.error = Some(error);
                break;
            }
        };
        assert!(used <= end - start, "more used than given");
        let asks = matches!(step, Step::NeedMore);
        idle = if used > 0 || asks { 0 } else { idle + 1 };
        // A segment of a trail has at most 2^20 events.
        assert!(idle <= 1 << 20, "no progress at {start}");
        start += used;
        match step {
            Step::Event(event) => decoding.events.push(format!("{event:?}")),
            Step::Remark(remark) => decoding.remarks.push(remark),
            Step::Nothing if in_bulk => decoder.hand_out(&mut |handed| {
                match handed {
                    Handed::Event(event) => decoding.events.push(format!("{event:?}")),
                    Handed::Calls(calls) => {
                        let events = calls.events().map(|event| format!("{event:?}"));
                        decoding.events.extend(events);
                    }
                }
                // Now and then the decoder must continue step by step.
                bulks += 1;
                match bulks % 100 {
                    0 => ControlFlow::Break(()),
                    _ => ControlFlow::Continue(()),
                }
            }),
            Step::Nothing => {}
            Step::NeedMore => {
                assert!(!last, "asks for more than there is");
                end = bytes.len().min(end + piece);
            }
            Step::End => {
                assert_eq!(start, bytes.len(), "ends before the input does");
                break;
            }
        }
    }
    // A decoder that is done stays done.
    assert!(matches!(
        decoder.step(&[], true),
        Ok(Decoded {
            used: 0,
            step: Step::End
        }) | Err(_)
    ));
    decoding
}

/// Tests that decoding in pieces of `piece` bytes gives the result of decoding the whole trace at
/// once.
///
/// Damaged compressed streams are an exception: how much was unpacked before the damage depends on
/// the pieces.
pub fn same_in_pieces(format: impl Into<Readable>, bytes: &[u8], piece: usize, whole: &Decoding) {
    let format = format.into();
    let pieces = decode_pieces(format, bytes, piece);
    if !bytes.starts_with(mlpd::GZIP_MAGIC) || whole.is_clean() {
        assert_eq!(&pieces, whole, "{format:?} in pieces of {piece}");
    }
}

/// Passes the events of a trace with their positions to `visit`, up to the end or the first error.
pub fn drain(format: impl Into<Readable>, bytes: &[u8], mut visit: impl FnMut(u64, &Event<'_>)) {
    let mut decoder = format.into().decoder();
    let mut start = 0;
    while let Ok(Decoded { used, step }) = decoder.step(&bytes[start..], true) {
        match step {
            Step::Event(event) => visit(start as u64, &event),
            Step::Remark(_) | Step::Nothing => {}
            Step::NeedMore | Step::End => return,
        }
        start += used;
    }
}

/// Tests that a decoding has exactly these remarks below severity fault, in any order.
#[track_caller]
pub fn reports(decoding: &Decoding, expected: &[&str]) {
    let infos = decoding.remarks.iter();
    let mut infos: Vec<_> = infos.filter(|r| r.severity == Severity::Info).collect();
    for message in expected {
        let found = infos.iter().position(|r| r.message.contains(message));
        assert!(found.is_some(), "{message}: {:#?}", decoding.remarks);
        infos.remove(found.unwrap_or_default());
    }
    assert!(infos.is_empty(), "besides {expected:?}: {infos:#?}");
}

/// Tests that each remark of the format below severity fault occurs in at least one of the
/// decodings.
#[track_caller]
pub fn is_verbose(format: Format, decodings: &[Decoding]) {
    let occurs = |kind: &RemarkKind| {
        let mut parts = kind.what.split("{}");
        let (before, after) = (parts.next(), parts.next());
        let is_it = |remark: &Remark| {
            let found = before.and_then(|before| remark.message.split_once(before));
            found.is_some_and(|(_, rest)| rest.contains(after.unwrap_or_default()))
        };
        decodings.iter().flat_map(|d| &d.remarks).any(is_it)
    };
    let kinds = format.remark_kinds();
    let kinds = kinds.iter().filter(|kind| kind.severity == Severity::Info);
    let (found, missing): (Vec<&RemarkKind>, Vec<_>) = kinds.partition(|kind| occurs(kind));
    assert!(!found.is_empty());
    assert!(missing.is_empty(), "{missing:#?}");
}
