//! Messages 1 and 2, with and without a size.
//!
//! The format's design note shows these messages without a size, but its general rule is that every
//! message has a size. So both forms occur. The bytes after the id show which form a message has.

use crate::tptp::binary::charset::Charset;
use crate::tptp::binary::value::Spelling;
use crate::tptp::binary::wire::MESSAGE_HEAD;

/// Size in bytes of message 2 with its size field.
const FREQUENCY_SIZE: usize = 14;
/// Sizes in bytes that message 1 may have.
const ENCODING_SIZES: std::ops::RangeInclusive<usize> = 7..=128;
/// Maximum bytes of a name in message 1 without a size field.
const MAX_NAME_BYTES: usize = *ENCODING_SIZES.end() - MESSAGE_HEAD;

/// The result of reading message 1 or 2.
#[derive(PartialEq, Eq, Debug)]
pub(in crate::tptp) enum System<'a, T> {
    /// The message, and its length in bytes.
    Whole(T, usize),
    /// The input ends inside the message.
    Part,
    /// The input is no such message. Contains the bytes that are there instead of the name.
    Wrong(&'a [u8]),
}

/// Reads message 1 at the start of `input`: the name of the character set.
///
/// `last` is true if nothing follows `input`.
pub(in crate::tptp) fn encoding(input: &[u8], spelling: Spelling, last: bool) -> System<'_, &str> {
    let size = size(input, spelling).filter(|size| ENCODING_SIZES.contains(size));
    if let Some(size) = size {
        match input.get(MESSAGE_HEAD..size) {
            Some([name @ .., 0]) if printable(name) => return whole(name, size),
            Some(_) => {}
            None if !last => return System::Part,
            None => {}
        }
    } else if input.len() < MESSAGE_HEAD && !last {
        return System::Part;
    }
    let rest = input.get(2..).unwrap_or_default();
    let rest = &rest[..rest.len().min(MAX_NAME_BYTES + 1)];
    match rest.iter().position(|&b| b == 0) {
        Some(end) if end > 0 && printable(&rest[..end]) => whole(&rest[..end], 2 + end + 1),
        // The input ends inside the size, or inside a message of a plausible size: the message is
        // incomplete, not wrong.
        _ if input.len() < size.unwrap_or(MESSAGE_HEAD) => System::Part,
        Some(end) => System::Wrong(&rest[..end]),
        None if rest.len() > MAX_NAME_BYTES || (last && !printable(rest)) => System::Wrong(rest),
        None => System::Part,
    }
}

fn printable(name: &[u8]) -> bool {
    name.iter().all(|b| matches!(b, b' '..=b'~'))
}

fn whole(name: &[u8], size: usize) -> System<'_, &str> {
    match std::str::from_utf8(name) {
        Ok(text) => System::Whole(text, size),
        Err(_) => System::Wrong(name),
    }
}

/// Reads message 2 at the start of `input`: the number of ticks per second.
pub(in crate::tptp) fn frequency(input: &[u8], spelling: Spelling) -> System<'_, i64> {
    let Some(size) = size(input, spelling) else {
        return System::Part;
    };
    let at = if size == FREQUENCY_SIZE {
        MESSAGE_HEAD
    } else {
        2
    };
    match input.get(at..).and_then(<[u8]>::first_chunk) {
        Some(&ticks) => System::Whole(spelling.long(ticks).cast_signed(), at + ticks.len()),
        None => System::Part,
    }
}

/// Returns the value of the size field, if the input contains one.
fn size(input: &[u8], spelling: Spelling) -> Option<usize> {
    let &bytes = input.get(2..)?.first_chunk()?;
    usize::try_from(spelling.integer(bytes)).ok()
}

/// Returns the character set called `name`, or an error message.
pub(in crate::tptp) fn charset(name: &str) -> Result<Charset, String> {
    Charset::by_name(name).ok_or_else(|| format!("text in {name:?}: this encoding is not known"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LITTLE: fn() -> Spelling = Spelling::default;

    #[test]
    fn encoding_has_two_forms() {
        let with_size = b"\x01\x00\x0b\x00\x00\x00UTF8\x00rest";
        assert_eq!(
            encoding(with_size, LITTLE(), true),
            System::Whole("UTF8", 11)
        );
        assert_eq!(
            encoding(b"\x01\x00UTF8\x00rest", LITTLE(), true),
            System::Whole("UTF8", 7)
        );
        let big = Spelling {
            big_endian: true,
            ..LITTLE()
        };
        assert_eq!(
            encoding(b"\0\x01\0\0\0\x0bUTF8\0", big, true),
            System::Whole("UTF8", 11)
        );
        assert_eq!(
            encoding(b"\x00\x01KOI8-R\x00", big, true),
            System::Whole("KOI8-R", 9)
        );
    }

    #[test]
    fn a_truncated_encoding_is_distinguished_from_a_wrong_one() {
        let with_size = b"\x01\x00\x0b\x00\x00\x00UTF8\x00";
        let without = b"\x01\x00UTF8\x00";
        let big_endian = b"\x00\x01\x00\x00\x00\x0bUTF8\x00";
        let big = Spelling {
            big_endian: true,
            ..LITTLE()
        };
        for (whole, spelling) in [
            (&with_size[..], LITTLE()),
            (without, LITTLE()),
            (big_endian, big),
        ] {
            for end in 2..whole.len() {
                for last in [false, true] {
                    let got = encoding(&whole[..end], spelling, last);
                    assert!(
                        matches!(got, System::Part),
                        "{whole:?} {end} {last} {got:?}"
                    );
                }
            }
        }
        assert_eq!(
            encoding(b"\x01\x00\x09\x09\x00\x00", LITTLE(), true),
            System::Wrong(b"\x09\x09")
        );
        let long = [&b"\x01\x00"[..], &[b'x'; 200]].concat();
        assert!(matches!(encoding(&long, LITTLE(), false), System::Wrong(_)));
    }

    #[test]
    fn frequency_has_two_forms() {
        let with_size = b"\x02\x00\x0e\x00\x00\x00\x00\xca\x9a\x3b\x00\x00\x00\x00";
        assert_eq!(
            frequency(with_size, LITTLE()),
            System::Whole(1_000_000_000, 14)
        );
        let without = b"\x02\x00\x00\xca\x9a\x3b\x00\x00\x00\x00";
        assert_eq!(
            frequency(without, LITTLE()),
            System::Whole(1_000_000_000, 10)
        );
        for end in 2..with_size.len() {
            assert_eq!(frequency(&with_size[..end], LITTLE()), System::Part);
        }
    }
}
