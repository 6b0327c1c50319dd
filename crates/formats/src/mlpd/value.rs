//! Encoding and decoding of numbers and texts.

pub(super) use crate::leb128::put_uleb;

/// Appends a signed LEB128 number: like uleb, but in two's complement, with bit 6 of the last byte
/// as the sign.
#[inline]
pub(super) fn put_sleb(mut value: i64, out: &mut Vec<u8>) {
    while !(-0x40..0x40).contains(&value) {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8 & 0x7f);
}

/// Appends a text and its terminating zero. A zero inside the text would end it early, so it
/// becomes U+FFFD.
pub(super) fn put_text(text: &str, out: &mut Vec<u8>) {
    for (i, part) in text.split('\0').enumerate() {
        if i > 0 {
            out.extend_from_slice("\u{fffd}".as_bytes());
        }
        out.extend_from_slice(part.as_bytes());
    }
    out.push(0);
}

/// Reason why an event can't be read. The rest of its buffer can't be read either.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    /// The event runs past the end of the buffer.
    Short,
    /// Number of more than 64 bits.
    Number,
    /// Text without a terminating zero in the buffer.
    Unended,
    /// Count larger than the bytes left allow.
    Count,
    /// First byte of an event. This data version has no such event.
    Event(u8),
    /// Metadata of an unknown type, or with a state that does not exist for the type.
    Metadata(u8),
    /// Field with a value that is not allowed: the field's name and the value.
    Value(&'static str, u64),
}

/// Bytes that are read field by field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'b> {
    rest: &'b [u8],
}

impl<'b> Fields<'b> {
    pub(super) fn new(bytes: &'b [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Returns the number of bytes left.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    #[inline]
    pub(super) fn byte(&mut self) -> Result<u8, Fault> {
        let (byte, rest) = self.rest.split_first().ok_or(Fault::Short)?;
        self.rest = rest;
        Ok(*byte)
    }

    #[inline]
    pub(super) fn uleb(&mut self) -> Result<u64, Fault> {
        let first = self.byte()?;
        if first < 0x80 {
            return Ok(first.into());
        }
        let mut value = u64::from(first & 0x7f);
        let mut shift = 7;
        loop {
            let byte = self.byte()?;
            // The tenth byte has room for bit 63 only.
            if shift == 63 && byte > 1 {
                return Err(Fault::Number);
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
            shift += 7;
        }
    }

    #[inline]
    pub(super) fn sleb(&mut self) -> Result<i64, Fault> {
        let mut value = 0_i64;
        let mut shift = 0;
        loop {
            let byte = self.byte()?;
            // The tenth byte holds bit 63 and sign extension, so all of its bits are equal.
            if shift == 63 && byte != 0 && byte != 0x7f {
                return Err(Fault::Number);
            }
            value |= i64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                if shift < 64 && byte & 0x40 != 0 {
                    value |= -1 << shift;
                }
                return Ok(value);
            }
        }
    }

    /// Reads a text up to its terminating zero, without checking its encoding.
    pub(super) fn text(&mut self) -> Result<&'b [u8], Fault> {
        let end = self.rest.iter().position(|&b| b == 0);
        let end = end.ok_or(Fault::Unended)?;
        let (text, rest) = (&self.rest[..end], &self.rest[end + 1..]);
        self.rest = rest;
        Ok(text)
    }

    /// Reads the number of elements of a list. Each element takes at least `least` bytes. Returns
    /// an error if the list can't fit into the bytes left.
    pub(super) fn count(&mut self, least: usize) -> Result<usize, Fault> {
        let count = usize::try_from(self.uleb()?).map_err(|_| Fault::Count)?;
        if count > self.left() / least {
            return Err(Fault::Count);
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back_in_the_shortest_form() {
        let shifts = (0..64).map(|shift| 1_u64 << shift);
        let around = shifts.flat_map(|n| [n.wrapping_sub(1), n, n.wrapping_add(1), !n]);
        for value in around {
            let mut out = Vec::new();
            put_uleb(value, &mut out);
            let bits = 64 - value.leading_zeros();
            assert_eq!(out.len(), bits.div_ceil(7).max(1) as usize);
            let mut fields = Fields::new(&out);
            assert_eq!((fields.uleb(), fields.left()), (Ok(value), 0));

            let signed = value.cast_signed();
            let mut out = Vec::new();
            put_sleb(signed, &mut out);
            let bits = 65 - signed.max(!signed).leading_zeros();
            assert_eq!(out.len(), bits.div_ceil(7) as usize, "{signed}");
            let mut fields = Fields::new(&out);
            assert_eq!((fields.sleb(), fields.left()), (Ok(signed), 0));
        }
    }

    #[test]
    fn numbers_that_are_too_long_are_refused() {
        let long = [0x80; 10];
        assert_eq!(Fields::new(&long).uleb(), Err(Fault::Number));
        assert_eq!(Fields::new(&long).sleb(), Err(Fault::Number));
        let mut large = [0xff; 10];
        large[9] = 2;
        assert_eq!(Fields::new(&large).uleb(), Err(Fault::Number));
        assert_eq!(Fields::new(&large).sleb(), Err(Fault::Number));
        assert_eq!(Fields::new(&large[..9]).uleb(), Err(Fault::Short));
        assert_eq!(Fields::new(&[]).sleb(), Err(Fault::Short));
        // A longer encoding than necessary is accepted.
        assert_eq!(Fields::new(&[0x81, 0x80, 0]).uleb(), Ok(1));
        assert_eq!(Fields::new(&[0xff, 0x7f]).sleb(), Ok(-1));
    }

    #[test]
    fn counts_are_held_against_the_bytes_left() {
        assert_eq!(Fields::new(&[3, 0, 0, 0]).count(1), Ok(3));
        assert_eq!(Fields::new(&[3, 0, 0, 0]).count(2), Err(Fault::Count));
        let mut huge = Vec::new();
        put_uleb(u64::MAX, &mut huge);
        assert_eq!(Fields::new(&huge).count(1), Err(Fault::Count));
    }

    #[test]
    fn text_ends_at_its_zero() {
        let mut out = Vec::new();
        put_text("a\0b", &mut out);
        assert_eq!(out, "a\u{fffd}b\0".as_bytes());
        let mut fields = Fields::new(b"ab\0c");
        assert_eq!(fields.text(), Ok(&b"ab"[..]));
        assert_eq!(fields.text(), Err(Fault::Unended));
    }
}
