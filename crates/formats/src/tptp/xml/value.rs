//! Values of attributes, written and read.

use crate::xml::{pair, read_unsigned, write_unsigned};
use jtrail_model::{
    ClassId, Duration, HeapDumpId, MethodId, ObjectId, ObjectKind, Text, ThreadId, Timestamp,
};
use jtrail_xml::escape;
use std::borrow::Cow;

/// A type of attributes.
pub(super) trait Value<'a>: Sized {
    fn write(&self, out: &mut Vec<u8>);

    /// True if an attribute in brackets is omitted.
    fn is_unset(&self) -> bool;

    /// Reads a value. Returns `None` if the text is no value of this type.
    fn read(text: Cow<'a, str>) -> Option<Self>;
}

const NANOSECONDS: u64 = 1_000_000_000;

fn write_signed(n: i64, out: &mut Vec<u8>) {
    if n < 0 {
        out.push(b'-');
    }
    write_unsigned(n.unsigned_abs(), out);
}

/// Appends nanoseconds as seconds with nine digits after the point.
pub(super) fn write_seconds(ns: i64, out: &mut Vec<u8>) {
    if ns < 0 {
        out.push(b'-');
    }
    let ns = ns.unsigned_abs();
    write_unsigned(ns / NANOSECONDS, out);
    let fraction = ns % NANOSECONDS;
    let [d0, d1] = pair(fraction / 10_000_000);
    let [d2, d3] = pair(fraction / 100_000);
    let [d4, d5] = pair(fraction / 1000);
    let [d6, d7] = pair(fraction / 10);
    let d8 = b'0' + (fraction % 10) as u8;
    out.extend_from_slice(&[b'.', d0, d1, d2, d3, d4, d5, d6, d7, d8]);
}

fn read_signed(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits
        .starts_with(|c: char| c.is_ascii_digit())
        .then(|| text.parse().ok())?
}

/// Converts decimal seconds to nanoseconds. Digits after the ninth are dropped.
fn read_seconds(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let (seconds, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let seconds = read_unsigned(seconds)?;
    if fraction.is_empty() || !fraction.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let fraction = fraction.bytes().chain(std::iter::repeat(b'0')).take(9);
    let fraction = fraction.fold(0, |sum, digit| 10 * sum + u64::from(digit - b'0'));
    let ns = i128::from(seconds) * i128::from(NANOSECONDS) + i128::from(fraction);
    i64::try_from(if negative { -ns } else { ns }).ok()
}

impl<'a> Value<'a> for Text<'a> {
    fn write(&self, out: &mut Vec<u8>) {
        escape(self, out);
    }

    fn is_unset(&self) -> bool {
        self.is_empty()
    }

    fn read(text: Cow<'a, str>) -> Option<Self> {
        Some(text)
    }
}

macro_rules! numbers {
    ($($type:ty, $field:tt, $write:ident, $read:ident;)*) => {$(
        impl Value<'_> for $type {
            fn write(&self, out: &mut Vec<u8>) {
                $write(self.$field, out);
            }

            fn is_unset(&self) -> bool {
                self.$field == 0
            }

            fn read(text: Cow<'_, str>) -> Option<Self> {
                $read(&text).map(Self)
            }
        }
    )*};
}

numbers! {
    ThreadId, 0, write_unsigned, read_unsigned;
    ClassId, 0, write_unsigned, read_unsigned;
    MethodId, 0, write_unsigned, read_unsigned;
    ObjectId, 0, write_unsigned, read_unsigned;
    HeapDumpId, 0, write_unsigned, read_unsigned;
    Timestamp, 0, write_seconds, read_seconds;
    Duration, 0, write_seconds, read_seconds;
}

macro_rules! integers {
    ($($type:ty, $wide:ty, $write:ident, $read:ident;)*) => {$(
        impl Value<'_> for $type {
            fn write(&self, out: &mut Vec<u8>) {
                $write(<$wide>::from(*self), out);
            }

            fn is_unset(&self) -> bool {
                *self == 0
            }

            fn read(text: Cow<'_, str>) -> Option<Self> {
                $read(&text)?.try_into().ok()
            }
        }
    )*};
}

integers! {
    u8, u64, write_unsigned, read_unsigned;
    u32, u64, write_unsigned, read_unsigned;
    i32, i64, write_signed, read_signed;
    i64, i64, write_signed, read_signed;
}

impl Value<'_> for ObjectKind {
    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
    }

    fn is_unset(&self) -> bool {
        self.0 == 0
    }

    fn read(text: Cow<'_, str>) -> Option<Self> {
        u8::read(text).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written<'a>(value: impl Value<'a>) -> String {
        let mut out = Vec::new();
        value.write(&mut out);
        String::from_utf8(out).unwrap()
    }

    fn read<'a, V: Value<'a>>(text: &'a str) -> Option<V> {
        V::read(text.into())
    }

    #[test]
    fn numbers_at_their_limits() {
        for n in [
            0,
            1,
            9,
            10,
            99,
            100,
            101,
            999,
            1000,
            12345,
            u64::MAX - 1,
            u64::MAX,
        ] {
            assert_eq!(written(ThreadId(n)), n.to_string());
        }
        for n in [i64::MIN, -1, 0, i64::MAX] {
            assert_eq!(written(n), n.to_string());
            assert_eq!(written(Timestamp(n)), Timestamp(n).to_string());
            assert_eq!(
                read::<Timestamp>(&Timestamp(n).to_string()),
                Some(Timestamp(n))
            );
        }
    }

    #[test]
    fn other_spellings_of_seconds() {
        let ns = |text| read::<Duration>(text).map(|d| d.0);
        assert_eq!(ns("1171278677.882812500"), Some(1_171_278_677_882_812_500));
        assert_eq!(ns("12"), Some(12_000_000_000));
        assert_eq!(ns("0.5"), Some(500_000_000));
        assert_eq!(ns("-0.000000001"), Some(-1));
        assert_eq!(ns("0.0000000019"), Some(1));
        for wrong in [
            "",
            ".",
            ".5",
            "5.",
            "1e3",
            "1.-2",
            "+1.0",
            "1.0.0",
            " 1",
            "99999999999",
        ] {
            assert_eq!(ns(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_is_no_number() {
        for wrong in [
            "",
            "-",
            "+1",
            " 1",
            "1 ",
            "0x1",
            "18446744073709551616",
            "-1",
        ] {
            assert_eq!(read::<ThreadId>(wrong), None, "{wrong}");
        }
        assert_eq!(read::<u8>("256"), None);
        assert_eq!(read::<u32>("4294967295"), Some(u32::MAX));
        assert_eq!(read::<u32>("4294967296"), None);
        assert_eq!(read::<i64>("-2"), Some(-2));
        assert_eq!(read::<i32>("--2"), None);
    }

    proptest! {
        #[test]
        fn numbers_are_those_of_the_standard_library(n: u64, i: i64, small in 0_u64..100_000) {
            prop_assert_eq!(written(ThreadId(n)), n.to_string());
            prop_assert_eq!(written(ThreadId(small)), small.to_string());
            prop_assert_eq!(written(i), i.to_string());
            prop_assert_eq!(written(Timestamp(i)), Timestamp(i).to_string());
            prop_assert_eq!(read::<Timestamp>(&Timestamp(i).to_string()), Some(Timestamp(i)));
        }
    }
}
