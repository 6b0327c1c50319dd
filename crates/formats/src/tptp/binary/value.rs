//! Types of fields, written and read.

use super::charset::Charset;
use super::wire::NANOSECONDS;
use jtrail_model::{
    ClassId, Duration, Frame, HeapDumpId, MethodId, ObjectId, ObjectKind, Text, ThreadId, Timestamp,
};
use std::fmt;

/// The encoding of a stream's fields.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spelling {
    pub(super) big_endian: bool,
    pub(super) charset: Charset,
    /// Ticks per second, above 0.
    pub(super) frequency: i64,
}

impl Default for Spelling {
    fn default() -> Self {
        Self {
            big_endian: false,
            charset: Charset::default(),
            frequency: NANOSECONDS,
        }
    }
}

impl Spelling {
    pub(super) fn short(self, bytes: [u8; 2]) -> u16 {
        if self.big_endian {
            u16::from_be_bytes(bytes)
        } else {
            u16::from_le_bytes(bytes)
        }
    }

    pub(super) fn integer(self, bytes: [u8; 4]) -> u32 {
        if self.big_endian {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        }
    }

    pub(super) fn long(self, bytes: [u8; 8]) -> u64 {
        if self.big_endian {
            u64::from_be_bytes(bytes)
        } else {
            u64::from_le_bytes(bytes)
        }
    }

    /// Converts ticks to nanoseconds, rounded down. Returns `None` on overflow.
    fn nanoseconds(self, ticks: i64) -> Option<i64> {
        if self.frequency == NANOSECONDS {
            return Some(ticks);
        }
        let scaled = i128::from(ticks) * i128::from(NANOSECONDS);
        scaled
            .div_euclid(i128::from(self.frequency))
            .try_into()
            .ok()
    }
}

/// An error in a field. The message is skipped, and the messages after it are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    /// The message ends before the field does.
    Short,
    /// A string without an end inside its message.
    Unended,
    /// Bytes that are invalid in the stream's character set.
    NotText(Charset),
    /// An impossible number of frames.
    Depth(i32),
    /// A time that does not fit into 64 bits as nanoseconds.
    Time(i64),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => f.write_str("the message ends before it"),
            Self::Unended => f.write_str("the text has no end inside the message"),
            Self::NotText(charset) => write!(f, "not text in {}", charset.name()),
            Self::Depth(depth) => write!(f, "{depth} frames can't stand in this message"),
            Self::Time(ticks) => write!(f, "{ticks} ticks are out of range"),
        }
    }
}

/// The unread fields of a message.
pub(super) struct Fields<'a> {
    rest: &'a [u8],
    spelling: Spelling,
    /// True if a field that no event holds was set.
    pub(super) skipped: bool,
}

impl<'a> Fields<'a> {
    pub(super) fn new(bytes: &'a [u8], spelling: Spelling) -> Self {
        Self {
            rest: bytes,
            spelling,
            skipped: false,
        }
    }

    /// Returns the number of unread bytes.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    /// Reads the next `N` bytes.
    pub(super) fn bytes<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let (head, rest) = self.rest.split_first_chunk().ok_or(Fault::Short)?;
        self.rest = rest;
        Ok(*head)
    }

    /// Skips a field of `N` bytes.
    pub(super) fn unused<const N: usize>(&mut self) -> Result<(), Fault> {
        self.skipped |= self.bytes::<N>()? != [0; N];
        Ok(())
    }

    /// Skips a text.
    pub(super) fn unused_text(&mut self) -> Result<(), Fault> {
        self.skipped |= !Text::take(self)?.is_empty();
        Ok(())
    }
}

/// A type of fields.
pub(super) trait Field<'a>: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn take(fields: &mut Fields<'a>) -> Result<Self, Fault>;
}

impl Field<'_> for u32 {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    fn take(fields: &mut Fields<'_>) -> Result<Self, Fault> {
        let bytes = fields.bytes()?;
        Ok(fields.spelling.integer(bytes))
    }
}

impl Field<'_> for i32 {
    fn put(&self, out: &mut Vec<u8>) {
        self.cast_unsigned().put(out);
    }

    fn take(fields: &mut Fields<'_>) -> Result<Self, Fault> {
        u32::take(fields).map(u32::cast_signed)
    }
}

impl Field<'_> for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.to_le_bytes());
    }

    fn take(fields: &mut Fields<'_>) -> Result<Self, Fault> {
        let bytes = fields.bytes()?;
        Ok(fields.spelling.long(bytes))
    }
}

impl Field<'_> for i64 {
    fn put(&self, out: &mut Vec<u8>) {
        self.cast_unsigned().put(out);
    }

    fn take(fields: &mut Fields<'_>) -> Result<Self, Fault> {
        u64::take(fields).map(u64::cast_signed)
    }
}

impl Field<'_> for ObjectKind {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(self.0);
    }

    fn take(fields: &mut Fields<'_>) -> Result<Self, Fault> {
        fields.bytes().map(|[kind]| Self(kind))
    }
}

macro_rules! ids {
    ($($id:ident)*) => {$(
        impl Field<'_> for $id {
            fn put(&self, out: &mut Vec<u8>) {
                self.0.put(out);
            }

            fn take(fields: &mut Fields<'_>) -> Result<Self, Fault> {
                u64::take(fields).map(Self)
            }
        }
    )*};
}

ids!(ThreadId ClassId MethodId ObjectId HeapDumpId);

macro_rules! times {
    ($($time:ident)*) => {$(
        impl Field<'_> for $time {
            fn put(&self, out: &mut Vec<u8>) {
                self.0.put(out);
            }

            fn take(fields: &mut Fields<'_>) -> Result<Self, Fault> {
                let ticks = i64::take(fields)?;
                fields.spelling.nanoseconds(ticks).map(Self).ok_or(Fault::Time(ticks))
            }
        }
    )*};
}

times!(Timestamp Duration);

impl<'a> Field<'a> for Text<'a> {
    /// Writes the text. A zero would end the text early, so it becomes U+FFFD.
    fn put(&self, out: &mut Vec<u8>) {
        for (i, part) in self.split('\0').enumerate() {
            if i > 0 {
                out.extend_from_slice("\u{fffd}".as_bytes());
            }
            out.extend_from_slice(part.as_bytes());
        }
        out.push(0);
    }

    fn take(fields: &mut Fields<'a>) -> Result<Self, Fault> {
        let end = fields
            .rest
            .iter()
            .position(|&b| b == 0)
            .ok_or(Fault::Unended)?;
        let (text, rest) = (&fields.rest[..end], &fields.rest[end + 1..]);
        fields.rest = rest;
        let charset = fields.spelling.charset;
        charset.decode(text).ok_or(Fault::NotText(charset))
    }
}

/// Bytes of the smallest frame: an empty text and a line.
const SMALLEST_FRAME: usize = 1 + 8;

/// Frames are encoded as their number, then all texts, then all lines.
impl<'a> Field<'a> for Vec<Frame<'a>> {
    fn put(&self, out: &mut Vec<u8>) {
        // More than `i32::MAX` frames exceed the largest message by far.
        let depth = i32::try_from(self.len()).unwrap_or(i32::MAX);
        depth.put(out);
        self.iter().for_each(|frame| frame.method.put(out));
        self.iter().for_each(|frame| frame.line.put(out));
    }

    fn take(fields: &mut Fields<'a>) -> Result<Self, Fault> {
        let depth = i32::take(fields)?;
        let frames = usize::try_from(depth).map_err(|_| Fault::Depth(depth))?;
        if frames > fields.left() / SMALLEST_FRAME {
            return Err(Fault::Depth(depth));
        }
        let mut stack = Vec::with_capacity(frames);
        for _ in 0..frames {
            stack.push(Frame {
                method: Text::take(fields)?,
                line: 0,
            });
        }
        for frame in &mut stack {
            frame.line = i64::take(fields)?;
        }
        Ok(stack)
    }
}
