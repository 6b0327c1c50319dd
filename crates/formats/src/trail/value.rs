//! Encoding and decoding of record fields.

use crate::hash::Seed;
pub(super) use crate::leb128::put_uleb as put_number;
use jtrail_model::{
    ClassId, CodeRange, Duration, Frame, Generation, HeapDumpId, LineCount, LiveClass, Member,
    MethodId, ObjectId, ObjectKind, Text, ThreadId, ThreadState, Ticks, Timestamp,
};
use std::collections::HashMap;
use std::ops::Range;

/// Maximum number of entries of a list.
const MAX_ENTRIES: usize = 1 << 20;
/// Maximum number of texts of a segment.
const MAX_TEXTS: usize = 1 << 20;
/// Maximum bytes of a record, together with the texts that it names by their numbers. The limit is
/// far below the size of a segment, and far above what a JVM reports.
pub(super) const MAX_RECORD_BYTES: usize = 16 << 20;

/// Appends a signed number as an unsigned one (zigzag): twice its magnitude, minus one if it is
/// negative.
#[inline]
pub(super) fn put_signed(value: i64, out: &mut Vec<u8>) {
    put_number((value << 1 ^ value >> 63) as u64, out);
}

/// Bytes that are read from the front. Methods return `None` if the bytes are truncated or
/// malformed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bytes<'b>(pub(super) &'b [u8]);

impl<'b> Bytes<'b> {
    #[inline]
    pub(super) fn byte(&mut self) -> Option<u8> {
        let (byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*byte)
    }

    pub(super) fn take(&mut self, count: u64) -> Option<&'b [u8]> {
        let (bytes, rest) = self.0.split_at_checked(usize::try_from(count).ok()?)?;
        self.0 = rest;
        Some(bytes)
    }

    #[inline]
    pub(super) fn number(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            // The tenth byte holds only the last bit.
            if shift == 63 && byte > 1 {
                return None;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    #[inline]
    pub(super) fn signed(&mut self) -> Option<i64> {
        let value = self.number()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    pub(super) fn small<T: TryFrom<u64>>(&mut self) -> Option<T> {
        self.number()?.try_into().ok()
    }
}

/// The last values of a thread. The fields of its next record are encoded relative to them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Last {
    pub(super) thread: ThreadId,
    pub(super) time: i64,
    pub(super) object: u64,
}

/// Texts that were written so far.
#[derive(Debug, Default)]
pub(super) struct Texts {
    numbers: HashMap<Box<str>, u64, Seed>,
}

impl Texts {
    pub(super) fn clear(&mut self) {
        self.numbers.clear();
    }

    /// Returns true if there are more texts than readers accept.
    pub(super) fn are_too_many(&self) -> bool {
        self.numbers.len() > MAX_TEXTS
    }
}

/// Destination of fields.
pub(super) struct Sink<'s> {
    pub(super) out: &'s mut Vec<u8>,
    pub(super) texts: &'s mut Texts,
    pub(super) last: &'s mut Last,
    /// Total bytes of the texts that were named by their numbers.
    pub(super) named: usize,
}

/// Source of fields.
pub(super) struct Source<'s, 'b> {
    /// The whole column.
    pub(super) column: &'b [u8],
    /// The rest of the column.
    pub(super) bytes: Bytes<'b>,
    /// Texts that were read so far, as ranges of bytes in the column.
    pub(super) texts: &'s mut Vec<Range<usize>>,
    pub(super) last: &'s mut Last,
    /// How many bytes the texts that are named by their numbers may still have. Such a text takes
    /// few bytes in the column, but may take many in the event.
    pub(super) room: usize,
}

/// A type of record fields.
pub(super) trait Value: Sized {
    fn put(&self, sink: &mut Sink<'_>);
    fn get(source: &mut Source<'_, '_>) -> Option<Self>;
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl Value for $type {
            fn put(&self, sink: &mut Sink<'_>) {
                put_number(u64::from(*self), sink.out);
            }

            fn get(source: &mut Source<'_, '_>) -> Option<Self> {
                source.bytes.small()
            }
        }
    )*};
}

numbers!(u16 u32 u64);

impl Value for i64 {
    fn put(&self, sink: &mut Sink<'_>) {
        put_signed(*self, sink.out);
    }

    fn get(source: &mut Source<'_, '_>) -> Option<Self> {
        source.bytes.signed()
    }
}

impl Value for i32 {
    fn put(&self, sink: &mut Sink<'_>) {
        put_signed((*self).into(), sink.out);
    }

    fn get(source: &mut Source<'_, '_>) -> Option<Self> {
        source.bytes.signed()?.try_into().ok()
    }
}

impl Value for bool {
    fn put(&self, sink: &mut Sink<'_>) {
        sink.out.push((*self).into());
    }

    fn get(source: &mut Source<'_, '_>) -> Option<Self> {
        match source.bytes.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

macro_rules! wrapped {
    ($($type:ident)*) => {$(
        impl Value for $type {
            fn put(&self, sink: &mut Sink<'_>) {
                self.0.put(sink);
            }

            fn get(source: &mut Source<'_, '_>) -> Option<Self> {
                Value::get(source).map(Self)
            }
        }
    )*};
}

wrapped!(ClassId MethodId HeapDumpId Duration);

impl Value for ObjectKind {
    fn put(&self, sink: &mut Sink<'_>) {
        sink.out.push(self.0);
    }

    fn get(source: &mut Source<'_, '_>) -> Option<Self> {
        source.bytes.byte().map(Self)
    }
}

/// Encoded as the difference to the record's thread.
impl Value for ThreadId {
    fn put(&self, sink: &mut Sink<'_>) {
        put_signed(self.0.wrapping_sub(sink.last.thread.0) as i64, sink.out);
    }

    fn get(source: &mut Source<'_, '_>) -> Option<Self> {
        let difference = source.bytes.signed()?;
        Some(Self(source.last.thread.0.wrapping_add(difference as u64)))
    }
}

/// Encoded as the difference to the thread's last time.
impl Value for Timestamp {
    fn put(&self, sink: &mut Sink<'_>) {
        put_signed(self.0.wrapping_sub(sink.last.time), sink.out);
        sink.last.time = self.0;
    }

    fn get(source: &mut Source<'_, '_>) -> Option<Self> {
        let time = source.last.time.wrapping_add(source.bytes.signed()?);
        source.last.time = time;
        Some(Self(time))
    }
}

/// Encoded as the difference to the thread's last object; 0 for no object.
impl Value for ObjectId {
    fn put(&self, sink: &mut Sink<'_>) {
        let difference = self.0.wrapping_sub(sink.last.object) as i64;
        // Difference 0 means no object. So a repeated object is encoded as the difference to id 0,
        // which no object has.
        match (self.0, difference) {
            (0, _) => sink.out.push(0),
            (_, 0) => put_signed((sink.last.object as i64).wrapping_neg(), sink.out),
            _ => put_signed(difference, sink.out),
        }
        if self.0 != 0 {
            sink.last.object = self.0;
        }
    }

    fn get(source: &mut Source<'_, '_>) -> Option<Self> {
        let difference = source.bytes.signed()?;
        if difference == 0 {
            return Some(Self(0));
        }
        let object = match source.last.object.wrapping_add(difference as u64) {
            0 => source.last.object,
            object => object,
        };
        source.last.object = object;
        Some(Self(object))
    }
}

macro_rules! words {
    ($($type:ident)*) => {$(
        impl Value for $type {
            fn put(&self, sink: &mut Sink<'_>) {
                let place = Self::ALL.iter().position(|value| value == self);
                sink.out.push(place.unwrap_or(0) as u8);
            }

            fn get(source: &mut Source<'_, '_>) -> Option<Self> {
                Self::ALL.get(usize::from(source.bytes.byte()?)).copied()
            }
        }
    )*};
}

words!(ThreadState Generation);

/// Encoded as the value minus one.
impl Value for Ticks {
    fn put(&self, sink: &mut Sink<'_>) {
        put_number(self.get() - 1, sink.out);
    }

    fn get(source: &mut Source<'_, '_>) -> Option<Self> {
        Self::new(source.bytes.number()?.checked_add(1)?)
    }
}

/// A text that occurred before is encoded as twice its number plus one. A new text is encoded as
/// twice its length, followed by its bytes.
impl Value for Text<'_> {
    fn put(&self, sink: &mut Sink<'_>) {
        if let Some(number) = sink.texts.numbers.get(&**self) {
            put_number(number << 1 | 1, sink.out);
            sink.named += self.len();
            return;
        }
        put_number((self.len() as u64) << 1, sink.out);
        sink.out.extend_from_slice(self.as_bytes());
        if !self.is_empty() {
            let number = sink.texts.numbers.len() as u64;
            sink.texts.numbers.insert((**self).into(), number);
        }
    }

    fn get(source: &mut Source<'_, '_>) -> Option<Self> {
        let word = source.bytes.number()?;
        let bytes = if word & 1 != 0 {
            let place = source.texts.get(usize::try_from(word >> 1).ok()?)?;
            source.room = source.room.checked_sub(place.len())?;
            source.column.get(place.clone())?
        } else {
            let bytes = source.bytes.take(word >> 1)?;
            if !bytes.is_empty() {
                if source.texts.len() >= MAX_TEXTS {
                    return None;
                }
                let end = source.column.len() - source.bytes.0.len();
                source.texts.push(end - bytes.len()..end);
            }
            bytes
        };
        Some(Text::Owned(std::str::from_utf8(bytes).ok()?.to_owned()))
    }
}

/// Encoded as the number of entries, followed by the entries.
impl<T: Value> Value for Vec<T> {
    fn put(&self, sink: &mut Sink<'_>) {
        put_number(self.len() as u64, sink.out);
        for value in self {
            value.put(sink);
        }
    }

    fn get(source: &mut Source<'_, '_>) -> Option<Self> {
        let count: usize = source.bytes.small()?;
        // Each entry takes at least one byte.
        if count > source.bytes.0.len().min(MAX_ENTRIES) {
            return None;
        }
        (0..count).map(|_| T::get(source)).collect()
    }
}

/// Encodes a struct as its fields, one after the other.
macro_rules! compound {
    ($($type:ty { $($field:ident)* })*) => {$(
        impl Value for $type {
            fn put(&self, sink: &mut Sink<'_>) {
                $(self.$field.put(sink);)*
            }

            fn get(source: &mut Source<'_, '_>) -> Option<Self> {
                Some(Self { $($field: Value::get(source)?,)* })
            }
        }
    )*};
}

compound! {
    Frame<'_> { method line }
    Member<'_> { name signature access }
    CodeRange<'_> { offset frames }
    LineCount { line count }
    LiveClass { class objects bytes }
}

/// Returns true if a list is longer than readers accept.
pub(super) fn is_too_long<T>(list: &[T]) -> bool {
    list.len() > MAX_ENTRIES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A hostile file can name a long text by its number again and again.
    #[test]
    fn texts_named_by_numbers_have_bounded_room() {
        let texts: Vec<Text<'_>> = vec!["long".into(); 5];
        let mut column = Vec::new();
        let (mut texts_put, mut last) = (Texts::default(), Last::default());
        let mut sink = Sink {
            out: &mut column,
            texts: &mut texts_put,
            last: &mut last,
            named: 0,
        };
        texts.put(&mut sink);
        assert_eq!(sink.named, 16);
        for (room, expected) in [(16, Some(&texts)), (15, None)] {
            let mut source = Source {
                column: &column,
                bytes: Bytes(&column),
                texts: &mut Vec::new(),
                last: &mut Last::default(),
                room,
            };
            assert_eq!(Vec::get(&mut source).as_ref(), expected);
        }
    }
}
