//! Reads the fields of a record one by one.

use std::borrow::Cow;
use std::char::DecodeUtf16Error;

/// Unread part of a record, in the byte order of the file. Each method reads a field, and returns
/// `None` if the input ends inside the field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    pub(super) rest: &'a [u8],
    pub(super) big_endian: bool,
}

impl<'a> Fields<'a> {
    #[inline]
    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (&bytes, rest) = self.rest.split_first_chunk()?;
        self.rest = rest;
        Some(bytes)
    }

    #[inline]
    pub(super) fn u8(&mut self) -> Option<u8> {
        self.bytes::<1>().map(|[byte]| byte)
    }

    #[inline]
    pub(super) fn u16(&mut self) -> Option<u16> {
        let bytes = self.bytes()?;
        Some(if self.big_endian {
            u16::from_be_bytes(bytes)
        } else {
            u16::from_le_bytes(bytes)
        })
    }

    #[inline]
    pub(super) fn u32(&mut self) -> Option<u32> {
        let bytes = self.bytes()?;
        Some(if self.big_endian {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        })
    }

    #[inline]
    pub(super) fn u64(&mut self) -> Option<u64> {
        let bytes = self.bytes()?;
        Some(if self.big_endian {
            u64::from_be_bytes(bytes)
        } else {
            u64::from_le_bytes(bytes)
        })
    }

    pub(super) fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.u16()?;
        let (text, rest) = self.rest.split_at_checked(usize::from(length))?;
        self.rest = rest;
        Some(text)
    }

    /// Reads a field or method of a class: name, descriptor and access flags.
    pub(super) fn member(&mut self) -> Option<(&'a [u8], &'a [u8], u16)> {
        Some((self.text()?, self.text()?, self.u16()?))
    }
}

/// Decodes a text as UTF-8. If it is not valid UTF-8, decodes it as the JVM's modified UTF-8, or
/// else as Latin-1.
pub(super) fn text(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => match modified_utf8(bytes) {
            Some(text) => text.into(),
            None => bytes.iter().map(|&byte| char::from(byte)).collect(),
        },
    }
}

/// Decodes modified UTF-8, which encodes U+0000 in two bytes, and a character above U+FFFF as two
/// surrogates of three bytes each. Returns `None` if `bytes` is not modified UTF-8.
fn modified_utf8(bytes: &[u8]) -> Option<String> {
    let mut units = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let [first, tail @ ..] = rest {
        let (unit, tail) = match (first, tail) {
            (0x01..=0x7f, _) => (u16::from(*first), tail),
            (0xc0..=0xdf, [b @ 0x80..=0xbf, tail @ ..]) => {
                (u16::from(first & 0x1f) << 6 | u16::from(b & 0x3f), tail)
            }
            (0xe0..=0xef, [b @ 0x80..=0xbf, c @ 0x80..=0xbf, tail @ ..]) => {
                let high = u16::from(first & 0xf) << 12;
                (high | u16::from(b & 0x3f) << 6 | u16::from(c & 0x3f), tail)
            }
            _ => return None,
        };
        units.push(unit);
        rest = tail;
    }
    // A lone surrogate, which no text can have, becomes its escape.
    let character = |decoded: Result<char, DecodeUtf16Error>| match decoded {
        Ok(c) => c.to_string(),
        Err(error) => format!("\\u{:04x}", error.unpaired_surrogate()),
    };
    Some(char::decode_utf16(units).map(character).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_in_three_ways() {
        assert_eq!(text("é😀\0".as_bytes()), "é😀\0");
        assert_eq!(text(b"a\xc0\x80b"), "a\0b");
        assert_eq!(text(b"\xed\xa0\xbd\xed\xb8\x80"), "😀");
        assert_eq!(text(b"\xed\xa0\xbd!"), "\\ud83d!");
        assert_eq!(text(b"caf\xe9"), "café");
        assert_eq!(text(b"\xff\xc3"), "ÿÃ");
    }
}
