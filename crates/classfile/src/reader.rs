//! A bounds-checked big-endian cursor. Every read beyond the end returns an error with the offset.

use crate::ParseError;

/// A cursor over a part of the class file. `base` makes offsets in errors relative to the whole
/// file.
#[derive(Clone)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    pos: usize,
    base: usize,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8], base: usize) -> Self {
        Reader {
            bytes,
            pos: 0,
            base,
        }
    }

    /// Returns the offset of the next byte in the class file.
    pub(crate) fn offset(&self) -> usize {
        self.base + self.pos
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pos == self.bytes.len()
    }

    #[inline]
    pub(crate) fn take(&mut self, len: usize) -> Result<&'a [u8], ParseError> {
        match self.bytes.get(self.pos..).and_then(|rest| rest.get(..len)) {
            Some(taken) => {
                self.pos += len;
                Ok(taken)
            }
            None => Err(ParseError::Truncated {
                offset: self.offset(),
            }),
        }
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], ParseError> {
        match self
            .bytes
            .get(self.pos..)
            .and_then(|rest| rest.first_chunk::<N>())
        {
            Some(taken) => {
                self.pos += N;
                Ok(*taken)
            }
            None => Err(ParseError::Truncated {
                offset: self.offset(),
            }),
        }
    }

    #[inline]
    pub(crate) fn u1(&mut self) -> Result<u8, ParseError> {
        Ok(self.array::<1>()?[0])
    }

    #[inline]
    pub(crate) fn u2(&mut self) -> Result<u16, ParseError> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    #[inline]
    pub(crate) fn u4(&mut self) -> Result<u32, ParseError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    /// Returns a cursor over the next `len` bytes, and skips them.
    pub(crate) fn sub(&mut self, len: usize) -> Result<Reader<'a>, ParseError> {
        let base = self.offset();
        Ok(Reader::new(self.take(len)?, base))
    }

    /// Returns the unread bytes.
    pub(crate) fn rest(&self) -> &'a [u8] {
        self.bytes.get(self.pos..).unwrap_or_default()
    }
}

/// Returns the big-endian 16-bit value at `at`. Panics if `bytes` is too short: the caller checks
/// that.
#[inline]
pub(crate) fn u2_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

/// Returns the big-endian signed 32-bit value at `at`. Panics if `bytes` is too short: the caller
/// checks that.
#[inline]
pub(crate) fn i4_at(bytes: &[u8], at: usize) -> i32 {
    i32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// Overwrites the 16-bit value at `at`.
#[inline]
pub(crate) fn put_u2(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Overwrites the 32-bit value at `at`.
#[inline]
pub(crate) fn put_u4(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_be_bytes());
}
