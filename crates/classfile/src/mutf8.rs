//! Modified UTF-8, the encoding of strings in class files: NUL is `C0 80`, and characters beyond U+FFFF are
//! written as two surrogates of three bytes each.

use std::borrow::Cow;

/// Decodes; what is no character (a lone surrogate, a broken sequence) becomes U+FFFD.
pub(crate) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    // Nearly every string is plain UTF-8 too: then nothing is copied.
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(decode_slow(bytes)),
    }
}

fn decode_slow(bytes: &[u8]) -> String {
    let mut units = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let (unit, len) = decode_unit(&bytes[at..]);
        units.push(unit);
        at += len;
    }
    char::decode_utf16(units)
        .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect()
}

/// The UTF-16 unit at the start of `bytes` (not empty), and how many bytes it takes.
fn decode_unit(bytes: &[u8]) -> (u16, usize) {
    let tail = |at: usize| {
        bytes
            .get(at)
            .filter(|&&b| b & 0xc0 == 0x80)
            .map(|&b| u16::from(b & 0x3f))
    };
    let first = bytes[0];
    let decoded = match first {
        0..0x80 => Some((u16::from(first), 1)),
        0xc0..0xe0 => tail(1).map(|a| (u16::from(first & 0x1f) << 6 | a, 2)),
        0xe0..0xf0 => tail(1)
            .zip(tail(2))
            .map(|(a, b)| (u16::from(first & 0x0f) << 12 | a << 6 | b, 3)),
        _ => None,
    };
    decoded.unwrap_or((0xfffd, 1))
}

/// Encodes for a `CONSTANT_Utf8`.
pub(crate) fn encode(text: &str) -> Cow<'_, [u8]> {
    if text.chars().all(|c| c != '\0' && c <= '\u{ffff}') {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len() * 2);
    for unit in text.encode_utf16() {
        match unit {
            1..0x80 => bytes.push(unit as u8),
            0 | 0x80..0x800 => bytes.extend([0xc0 | (unit >> 6) as u8, 0x80 | (unit & 0x3f) as u8]),
            _ => bytes.extend([
                0xe0 | (unit >> 12) as u8,
                0x80 | (unit >> 6 & 0x3f) as u8,
                0x80 | (unit & 0x3f) as u8,
            ]),
        }
    }
    Cow::Owned(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trip() {
        for text in [
            "",
            "java/lang/Object",
            "a\0b",
            "ä€",
            "x😀y",
            "\u{ffff}\u{10000}",
        ] {
            assert_eq!(decode(&encode(text)), text);
        }
        assert_eq!(&*encode("\0"), [0xc0, 0x80]);
        assert_eq!(&*encode("😀"), [0xed, 0xa0, 0xbd, 0xed, 0xb8, 0x80]);
    }

    #[test]
    fn broken_input_becomes_replacement_characters() {
        assert_eq!(decode(&[b'a', 0xed, 0xa0, 0xbd, b'b']), "a\u{fffd}b");
        assert_eq!(decode(&[0xff, b'c']), "\u{fffd}c");
        assert_eq!(decode(&[0xe0, 0x80]), "\u{fffd}\u{fffd}");
    }
}
