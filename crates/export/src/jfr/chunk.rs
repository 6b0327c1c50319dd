//! A chunk: events, with all that they refer to.

use super::encoding::{enclose, integer};
use super::schema::{Type, metadata};
use jtrail_model::Timestamp;

/// Size of the chunk's header in bytes.
const HEADER_SIZE: usize = 68;

/// The place of a chunk in the recording.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    pub(super) start: Timestamp,
    /// Ticks at the start.
    pub(super) ticks: u64,
    /// Length in ns.
    pub(super) length: i64,
    /// True if no chunk follows.
    pub(super) is_final: bool,
}

/// Appends a chunk to `out`: events, and constants in `count` pools.
pub(super) fn write(
    span: Span,
    events: [&mut Vec<u8>; 2],
    (pools, count): (&mut Vec<u8>, u64),
    out: &mut Vec<u8>,
) {
    let start = out.len();
    out.resize(start + HEADER_SIZE, 0);
    for events in events {
        out.append(events);
    }
    let checkpoint = out.len() - start;
    enclose(out, Type::Checkpoint, |out| {
        integer(out, span.ticks);
        integer(out, 0); // duration
        integer(out, 0); // distance to the preceding checkpoint
        out.push(1); // kind: contains all constants
        integer(out, count);
        out.append(pools);
    });
    let description = out.len() - start;
    metadata(span.ticks, out);
    let size = out.len() - start;
    let header = header(span, [size, checkpoint, description]);
    out[start..start + HEADER_SIZE].copy_from_slice(&header);
}

/// Returns the header of a chunk, from its size and the offsets of the checkpoint and of the
/// metadata.
fn header(span: Span, offsets: [usize; 3]) -> [u8; HEADER_SIZE] {
    let mut header = Vec::from(*b"FLR\0\0\x02\0\x01");
    for offset in offsets {
        header.extend((offset as u64).to_be_bytes());
    }
    header.extend(span.start.0.to_be_bytes());
    header.extend(span.length.to_be_bytes());
    header.extend(span.ticks.to_be_bytes());
    header.extend(1_000_000_000_u64.to_be_bytes()); // ticks per second
    let flags = 1 | u32::from(span.is_final) << 1; // compressed integers
    header.extend(flags.to_be_bytes());
    header.try_into().expect("68 bytes")
}
