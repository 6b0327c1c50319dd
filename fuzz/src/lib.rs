//! The checks of the fuzz targets, for the readers and the command channel. `scripts/fuzz` runs
//! them.
//!
//! Whatever the bytes are, a reader neither panics nor hangs, and keeps its promises:
//!
//! - It decodes the same events, whether the bytes come in one piece or in many ([`decoder`]).
//! - Its memory, including the checker's, is proportional to the number of bytes ([`decoder`],
//!   [`reader`]), or of unpacked bytes ([`packed`]).
//! - It reads a trace in a gzip file or a ZIP archive like the trace itself ([`packed`]).
//! - Its events can be written in every format, and the result is read without a fault. If the
//!   trace is consistent, writing it once more does not change it ([`recode`]).
//! - The result of recovering a damaged trail is a sound trail, and recovering it again does not
//!   change it ([`trail`]).

#[path = "../../crates/formats/tests/common/decoding.rs"]
#[allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "the tests use the rest of it"
)]
mod decoding;
#[path = "../../crates/formats/tests/common/memory.rs"]
#[allow(unreachable_pub, reason = "the tests share it")]
mod memory;
mod packing;
#[path = "../../crates/control/tests/common/promises.rs"]
#[allow(unreachable_pub, reason = "the tests share it")]
mod promises;
#[path = "../../crates/formats/tests/common/spelling.rs"]
#[allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "the tests use the rest of it"
)]
mod spelling;

pub use memory::{bounded, unpacked};
pub use packing::packed;

use decoding::{decode, drain, same_in_pieces};
use jtrail_formats::trail::recover::recover;
use jtrail_formats::{Checker, Format, Item, Readable, Reader, Severity};
use spelling::Spelling;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Cursor;
use std::ops::ControlFlow;

/// Returns a number below `below` that depends on the bytes.
fn chosen(data: &[u8], below: usize) -> usize {
    let mut hasher = DefaultHasher::new();
    data.hash(&mut hasher);
    hasher.finish() as usize % below
}

/// Sends the bytes to the command channel.
pub fn control(data: &[u8]) {
    bounded(data.len(), || {
        promises::keep(data, chosen(data, data.len() + 1))
    });
}

/// Decodes the bytes as a file in `format`, in one piece and in several, and checks the events.
pub fn decoder(format: impl Into<Readable>, data: &[u8]) {
    let format = format.into();
    bounded(data.len() + unpacked(format), || {
        let mut checker = Checker::of(format);
        drain(format, data, |offset, event| checker.event(offset, event));
        checker.finish();
    });
    let whole = decode(format, data);
    assert!(whole.count(Severity::Truncated) <= 1);
    let piece = 1 + chosen(data, data.len().max(1));
    same_in_pieces(format, data, piece, &whole);
}

/// Decodes the bytes as a trail, first unchanged, then with correct checksums, which a fuzzer can't
/// guess.
pub fn trail(data: &[u8]) {
    const HEADER: usize = 56;
    decoder(Format::Trail, data);
    recovered(data);
    let mut mended = data.to_vec();
    let mut rest = &mut mended[..];
    while rest.len() >= HEADER {
        let length = u32::from_le_bytes([rest[12], rest[13], rest[14], rest[15]]) as usize;
        let end = rest.len().min(HEADER.saturating_add(length));
        let (segment, after) = rest.split_at_mut(end);
        let checksum = crc32c::crc32c(&segment[HEADER..]);
        segment[16..20].copy_from_slice(&checksum.to_le_bytes());
        let checksum = crc32c::crc32c(&segment[..HEADER - 4]);
        segment[HEADER - 4..HEADER].copy_from_slice(&checksum.to_le_bytes());
        rest = after;
    }
    decoder(Format::Trail, &mended);
    recovered(&mended);
}

/// Recovers a trail from the bytes. The result must have no fault, and must not change when it is
/// recovered again.
fn recovered(data: &[u8]) {
    let mut once = Vec::new();
    if recover(Cursor::new(data), &mut once).is_err() {
        return;
    }
    let decoding = decode(Format::Trail, &once);
    assert_eq!(decoding.count(Severity::Fault), 0, "{:?}", decoding.remarks);
    assert_eq!(decoding.error, None);
    let mut twice = Vec::new();
    let found = recover(Cursor::new(&once), &mut twice).expect("it is a trail");
    assert!((found.lost, found.others.len()) == (0, 0), "{found:?}");
    assert!(twice == once, "{decoding:?}");
}

/// Reads the bytes like the command line does.
pub fn reader(data: &[u8]) {
    // A packed file may be much smaller than its content.
    if Reader::new(data).is_ok_and(|reader| reader.is_packed()) {
        return read(data);
    }
    let unpacked = Format::detect(data).map_or(0, unpacked);
    bounded(data.len() + unpacked, || read(data));
}

fn read(data: &[u8]) {
    let Ok(mut reader) = Reader::new(data) else {
        return;
    };
    let mut checker = Checker::of(reader.format());
    // The reader has reported errors in the bytes already.
    let _ = reader.for_each(|item| {
        if let Item::Event { offset, event } = item {
            checker.event(offset, &event);
        }
        ControlFlow::<()>::Continue(())
    });
    checker.finish();
}

/// Reads a trace, and writes it in all spellings of its own format and of another one.
pub fn recode(data: &[u8]) {
    let Some(from) = Format::detect(data) else {
        return;
    };
    let other = Format::ALL[chosen(data, Format::ALL.len())];
    let spellings = Spelling::all().into_iter();
    for to in spellings.filter(|to| [from, other].contains(&to.format)) {
        settles(from, data, to);
    }
}

/// Writes a trace as `to` and reads it back: the decoder must find no fault. If the events are also
/// consistent, writing them again must not change the trace. This may take two rounds, because sums
/// that become adjacent are merged.
fn settles(from: Format, data: &[u8], to: Spelling) {
    let once = written(from, data, to);
    let decoding = decode(to.format, &once);
    let fault = decoding
        .remarks
        .iter()
        .find(|r| r.severity == Severity::Fault);
    assert_eq!(fault, None, "{from:?} to {to:?}");
    assert_eq!(decoding.error, None, "{from:?} to {to:?}");
    if makes_sense(to.format, &once) {
        let twice = written(to.format, &once, to);
        let thrice = written(to.format, &twice, to);
        assert!(
            thrice == twice,
            "{from:?} to {to:?}:\n{:?}",
            decode(to.format, &twice)
        );
    }
}

fn makes_sense(format: Format, data: &[u8]) -> bool {
    let mut checker = Checker::of(format);
    drain(format, data, |offset, event| checker.event(offset, event));
    checker.finish().faults() == 0
}

/// Returns a trace that is written as `to`, with the events of `data`.
fn written(from: Format, data: &[u8], to: Spelling) -> Vec<u8> {
    to.written(|report| drain(from, data, |_, event| report(event)))
}
