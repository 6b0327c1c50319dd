//! Text forms of the types of fields.

use crate::grammar::{self, Pairs, parse_number};
use crate::{
    ClassId, CodeRange, Duration, Frame, Generation, HeapDumpId, LineCount, LiveClass, Member,
    MethodId, ObjectId, ObjectKind, Text, ThreadId, ThreadState, Ticks, Timestamp,
};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Input for the fields of an event.
pub(super) struct Source<'t, 'a> {
    pub(super) pairs: Pairs<'t>,
    /// Converts a part of the text to a part of the event.
    pub(super) keep: fn(Cow<'t, str>) -> Text<'a>,
}

/// A type of fields. Its text form is one pair or, for lists, any number of pairs.
pub(super) trait Value<'a>: Sized {
    fn write(&self, key: &str, out: &mut String);
    fn read(key: &str, source: &mut Source<'_, 'a>) -> Option<Self>;
}

macro_rules! numbers {
    ($($type:ty)*) => {$(
        impl Value<'_> for $type {
            fn write(&self, key: &str, out: &mut String) {
                grammar::number(key, self, out);
            }

            fn read(key: &str, source: &mut Source<'_, '_>) -> Option<Self> {
                source.pairs.number(key)
            }
        }
    )*};
}

numbers!(u16 u64 i64);

/// Text form: 0 or 1.
impl Value<'_> for bool {
    fn write(&self, key: &str, out: &mut String) {
        grammar::number(key, u16::from(*self), out);
    }

    fn read(key: &str, source: &mut Source<'_, '_>) -> Option<Self> {
        match source.pairs.number::<u16>(key)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

macro_rules! wrapped_numbers {
    ($($type:ident)*) => {$(
        impl Value<'_> for $type {
            fn write(&self, key: &str, out: &mut String) {
                grammar::number(key, self.0, out);
            }

            fn read(key: &str, source: &mut Source<'_, '_>) -> Option<Self> {
                source.pairs.number(key).map(Self)
            }
        }
    )*};
}

wrapped_numbers!(ThreadId ClassId MethodId ObjectId HeapDumpId ObjectKind Timestamp Duration);

macro_rules! words {
    ($($type:ident)*) => {$(
        impl Value<'_> for $type {
            fn write(&self, key: &str, out: &mut String) {
                grammar::text(key, self.name(), out);
            }

            fn read(key: &str, source: &mut Source<'_, '_>) -> Option<Self> {
                let word = source.pairs.text(key)?;
                Self::ALL.into_iter().find(|value| value.name() == word)
            }
        }
    )*};
}

words!(ThreadState Generation);

/// Text form: the number. For 1, there is no pair.
impl Value<'_> for Ticks {
    fn write(&self, key: &str, out: &mut String) {
        if *self > Self::default() {
            grammar::number(key, self.0, out);
        }
    }

    fn read(key: &str, source: &mut Source<'_, '_>) -> Option<Self> {
        if !source.pairs.next_is(key) {
            return Some(Self::default());
        }
        let ticks = Self(source.pairs.number(key)?);
        (ticks > Self::default()).then_some(ticks)
    }
}

impl<'a> Value<'a> for Text<'a> {
    fn write(&self, key: &str, out: &mut String) {
        grammar::text(key, self, out);
    }

    fn read(key: &str, source: &mut Source<'_, 'a>) -> Option<Self> {
        Some((source.keep)(source.pairs.text(key)?))
    }
}

/// Text form: line, blank and method, always in quotes.
impl<'a> Value<'a> for Frame<'a> {
    fn write(&self, key: &str, out: &mut String) {
        grammar::key(key, out);
        // Writing to a string does not fail.
        let _ = write!(out, "\"{} ", self.line);
        grammar::escaped(&self.method, out);
        out.push('"');
    }

    fn read(key: &str, source: &mut Source<'_, 'a>) -> Option<Self> {
        let value = source.pairs.text(key)?;
        let blank = value.find(' ')?;
        let line = parse_number(&value[..blank])?;
        let method = match value {
            Cow::Borrowed(text) => Cow::Borrowed(&text[blank + 1..]),
            Cow::Owned(mut text) => Cow::Owned(text.split_off(blank + 1)),
        };
        let method = (source.keep)(method);
        Some(Self { method, line })
    }
}

/// Text form: the name, followed by the descriptor and the flags with keys of their own.
impl<'a> Value<'a> for Member<'a> {
    fn write(&self, key: &str, out: &mut String) {
        self.name.write(key, out);
        self.signature.write("type", out);
        self.access.write("flags", out);
    }

    fn read(key: &str, source: &mut Source<'_, 'a>) -> Option<Self> {
        Some(Self {
            name: Text::read(key, source)?,
            signature: Text::read("type", source)?,
            access: u16::read("flags", source)?,
        })
    }
}

/// Text form: the offset, followed by the frames.
impl<'a> Value<'a> for CodeRange<'a> {
    fn write(&self, key: &str, out: &mut String) {
        self.offset.write(key, out);
        self.frames.write("frame", out);
    }

    fn read(key: &str, source: &mut Source<'_, 'a>) -> Option<Self> {
        Some(Self {
            offset: i64::read(key, source)?,
            frames: Vec::read("frame", source)?,
        })
    }
}

/// Text form: line, colon, count.
impl Value<'_> for LineCount {
    fn write(&self, key: &str, out: &mut String) {
        grammar::key(key, out);
        let _ = write!(out, "{}:{}", self.line, self.count);
    }

    fn read(key: &str, source: &mut Source<'_, '_>) -> Option<Self> {
        let value = source.pairs.text(key)?;
        let (line, count) = value.split_once(':')?;
        Some(Self {
            line: parse_number(line)?,
            count: parse_number(count)?,
        })
    }
}

/// Text form: class, colon, objects, colon, bytes.
impl Value<'_> for LiveClass {
    fn write(&self, key: &str, out: &mut String) {
        grammar::key(key, out);
        let _ = write!(out, "{}:{}:{}", self.class, self.objects, self.bytes);
    }

    fn read(key: &str, source: &mut Source<'_, '_>) -> Option<Self> {
        let value = source.pairs.text(key)?;
        let (class, rest) = value.split_once(':')?;
        let (objects, bytes) = rest.split_once(':')?;
        Some(Self {
            class: ClassId(parse_number(class)?),
            objects: parse_number(objects)?,
            bytes: parse_number(bytes)?,
        })
    }
}

/// Text form: one value per entry, each with the key.
impl<'a, T: Value<'a>> Value<'a> for Vec<T> {
    fn write(&self, key: &str, out: &mut String) {
        self.iter().for_each(|entry| entry.write(key, out));
    }

    fn read(key: &str, source: &mut Source<'_, 'a>) -> Option<Self> {
        let mut list = Self::new();
        while source.pairs.next_is(key) {
            list.push(T::read(key, source)?);
        }
        Some(list)
    }
}
