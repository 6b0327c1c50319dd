//! Builds TPTP binary streams by hand.

use super::{Decoding, decode};
use jtrail_formats::{Encode, Format, tptp};
use jtrail_model::{Event, ObjectFree, ObjectId, Timestamp};

pub const HEADER: &[u8] = b"0TBF\x01\x00\x01\x01\x0c\x00\x00\x00";
pub const ENCODING: &[u8] = b"\x01\x00\x0b\x00\x00\x00UTF8\x00";
pub const FREQUENCY: &[u8] = b"\x02\x00\x0e\x00\x00\x00\x00\xca\x9a\x3b\x00\x00\x00\x00";

pub fn binary(bytes: &[u8]) -> Decoding {
    decode(Format::TptpBinary, bytes)
}

/// Decodes messages that follow a stream head of this agent.
pub fn stream(parts: &[&[u8]]) -> Decoding {
    let mut bytes = [HEADER, ENCODING, FREQUENCY].concat();
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
    binary(&bytes)
}

/// Returns an encoded message, without the stream around it.
pub fn message(event: &Event<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    tptp::binary::Encoder::default().event(event, &mut out);
    out
}

/// Returns an event without text.
pub fn free() -> Event<'static> {
    let time = Timestamp(1);
    Event::ObjectFree(ObjectFree {
        time,
        object: ObjectId(2),
        age: 3,
    })
}
