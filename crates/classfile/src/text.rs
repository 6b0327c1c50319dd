//! Texts of the JVM.
//!
//! They may have lone surrogates, which no text in UTF-8 has. A lone surrogate is returned as its
//! escape, `\ud800`, so that different names stay different.

use simd_cesu8::mutf8;
use std::borrow::Cow;

/// Decodes the JVM's modified UTF-8. Corrupt bytes are replaced by U+FFFD.
pub fn from_modified_utf8(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = mutf8::decode(bytes) {
        return text;
    }
    let (mut text, mut rest, mut at) = (String::new(), bytes, 0);
    while at < rest.len() {
        match (
            surrogate(&rest[at..]),
            surrogate(&rest[at..][3.min(rest.len() - at)..]),
        ) {
            (None, _) => at += 1,
            (Some(0xd800..=0xdbff), Some(0xdc00..)) => at += 6,
            (Some(unit), _) => {
                text += &mutf8::decode_lossy(&rest[..at]);
                text += &escape(unit);
                (rest, at) = (&rest[at + 3..], 0);
            }
        }
    }
    (text + &mutf8::decode_lossy(rest)).into()
}

/// Decodes UTF-16.
pub fn from_utf16(units: &[u16]) -> String {
    let mut text = String::with_capacity(units.len());
    for decoded in char::decode_utf16(units.iter().copied()) {
        match decoded {
            Ok(c) => text.push(c),
            Err(error) => text += &escape(error.unpaired_surrogate()),
        }
    }
    text
}

fn escape(surrogate: u16) -> String {
    format!("\\u{surrogate:04x}")
}

/// Returns the surrogate with which the bytes begin.
fn surrogate(bytes: &[u8]) -> Option<u16> {
    match bytes {
        [0xed, second @ 0xa0..=0xbf, third @ 0x80..=0xbf, ..] => {
            Some(0xd000 | u16::from(second & 0x3f) << 6 | u16::from(third & 0x3f))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lone_surrogates_are_escapes() {
        for (bytes, expected) in [
            (&b"a\xed\xa0\x80"[..], "a\\ud800"),
            (b"a\xed\xa0\x81b", "a\\ud801b"),
            (b"\xed\xbf\xbf\xed\xa0\xbd\xed\xb8\x80", "\\udfff\u{1f600}"),
            (b"\xed\xa0\xbd\xed\xa0\xbd\xed\xb8\x80", "\\ud83d\u{1f600}"),
            (b"\xed\xb8\x80\xed\xa0\xbd", "\\ude00\\ud83d"),
            (b"\xed\xa0\xbd\xed\xb8\x80", "\u{1f600}"),
            (b"\xc0\x80\xed\xa0\x80\xc0\x80", "\0\\ud800\0"),
            (b"\xed\xa0\x80\xff", "\\ud800\u{fffd}"),
            (b"\xed\x9f\xbf", "\u{d7ff}"),
            (b"caf\xc3\xa9", "café"),
            (b"", ""),
        ] {
            assert_eq!(from_modified_utf8(bytes), expected, "{bytes:x?}");
        }
        // A truncated surrogate is corrupt.
        assert!(from_modified_utf8(b"a\xed\xa0").starts_with("a\u{fffd}"));
        let units = [0x61, 0xd800, 0xdc00, 0xdfff, 0xd83d];
        assert_eq!(from_utf16(&units), "a\u{10000}\\udfff\\ud83d");
    }
}
