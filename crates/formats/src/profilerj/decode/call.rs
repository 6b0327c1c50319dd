//! The attributes of an element in a call tree, and a fast path for elements as our encoder writes
//! them.
//!
//! Nearly all elements of a snapshot are written so. The fast path expects the attributes in order,
//! with one blank between them, and values that are plain text and numbers. Elements in any other
//! spelling are read by the tokenizer. Tests compare the two paths.

use super::remarks::Remarked;
use super::value::{Attributes, Message, Sum};
use crate::tally::RemarkTally;
use crate::xml;

/// Maximum bytes of a text that the fast path reads.
const MAX_TEXT_BYTES: usize = 1 << 12;

/// A call, or the sum of all calls with one call path.
#[derive(PartialEq, Eq, Debug)]
pub(super) struct Call<'a> {
    pub(super) name: &'a str,
    pub(super) signature: &'a str,
    pub(super) count: u64,
    pub(super) elapsed: Sum,
    pub(super) cpu: Sum,
    pub(super) overhead: Sum,
    pub(super) exceptions: u64,
}

impl<'a> Call<'a> {
    /// Returns the values of the attributes.
    pub(super) fn read(
        found: &'a Attributes<'_, 10>,
        remarks: &mut RemarkTally<Remarked>,
        offset: u64,
    ) -> Result<Self, Message> {
        let sum = |own, with| Sum {
            own,
            with,
            callees: 0,
        };
        Ok(Self {
            name: found.name(0)?,
            signature: found.text(1).unwrap_or_default(),
            count: found.number(2, remarks, offset)?,
            elapsed: sum(found.optional(3)?, found.optional(5)?),
            cpu: sum(Some(found.number(4, remarks, offset)?), found.optional(6)?),
            overhead: sum(Some(found.optional(8)?.unwrap_or(0)), found.optional(7)?),
            exceptions: found.optional(9)?.unwrap_or(0),
        })
    }

    /// Reads the tag at the start of `input` on the fast path. Returns the call and the length of
    /// the tag in bytes, or `None` if the tag is spelled in any other way.
    pub(super) fn take(input: &'a [u8]) -> Option<(Self, usize)> {
        let mut cursor = Cursor { rest: input };
        let name = cursor.text(b"<profile name=\"")?;
        let signature = cursor.text(b" signature=\"")?;
        let count = cursor.number(b" count=\"")?;
        let own_elapsed = cursor.number(b" methodElapsed=\"")?;
        let own_cpu = cursor.number(b" method=\"")?;
        let elapsed = cursor.number(b" cumulatedElapsed=\"")?;
        let cpu = cursor.number(b" cumulated=\"")?;
        let overhead = cursor.number(b" overheadCumulated=\"")?;
        let own_overhead = cursor.number(b" overheadMethod=\"")?;
        let exceptions = cursor.number(b" exceptions=\"")?;
        let rest = cursor.rest.strip_prefix(b">")?;
        let sum = |own, with| Sum {
            own: Some(own),
            with: Some(with),
            callees: 0,
        };
        let call = Self {
            name,
            signature,
            count,
            elapsed: sum(own_elapsed, elapsed),
            cpu: sum(own_cpu, cpu),
            overhead: sum(own_overhead, overhead),
            exceptions,
        };
        Some((call, input.len() - rest.len()))
    }
}

struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// Reads `begin`, and then a text without references up to a quotation mark. Returns the text.
    #[inline]
    fn text(&mut self, begin: &[u8]) -> Option<&'a str> {
        let rest = self.rest.strip_prefix(begin)?;
        let special = |b: &u8| !matches!(b, b' '..=b'~') || matches!(b, b'"' | b'<' | b'&');
        let length = rest.iter().take(MAX_TEXT_BYTES).position(special)?;
        let (text, rest) = rest.split_at(length);
        self.rest = rest.strip_prefix(b"\"")?;
        std::str::from_utf8(text).ok()
    }

    /// Reads `begin`, and then a number up to a quotation mark. Returns the number.
    #[inline]
    fn number(&mut self, begin: &[u8]) -> Option<u64> {
        let (number, rest) = xml::number(self.rest.strip_prefix(begin)?)?;
        self.rest = rest.strip_prefix(b"\"")?;
        Some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profilerj::wire::{CALL, NODE};
    use jtrail_xml::{Scanner, Token};
    use proptest::prelude::*;

    /// Asserts that both paths agree on `input`, and that the fast path reads it if `ours` is true.
    fn compare(input: &[u8], ours: bool) {
        let taken = Call::take(input);
        assert!(taken.is_some() || !ours);
        let Some((call, size)) = taken else { return };
        let mut scanner = Scanner::default();
        let scanned = scanner.scan(input, 0, true).expect("markup");
        let Some((Token::Start(tag), scanned_size)) = scanned else {
            panic!("{scanned:?}");
        };
        assert_eq!(
            (tag.name, tag.empty, scanned_size),
            ("profile", false, size)
        );
        let mut remarks = RemarkTally::default();
        let found = Attributes::read(tag, &scanner, (NODE, CALL), &mut remarks, 0);
        let long_way = Call::read(&found, &mut remarks, 0);
        assert_eq!(long_way, Ok(call));
        assert!(remarks.pop().is_none());
    }

    fn tag(name: &str, signature: &str, numbers: &[u64; 8]) -> Vec<u8> {
        let mut tag = format!("<profile name=\"{name}\" signature=\"{signature}\"");
        for (name, number) in CALL[2..].iter().zip(numbers) {
            tag += &format!(" {name}=\"{number}\"");
        }
        (tag + "><profile").into_bytes()
    }

    #[test]
    fn what_we_write_takes_the_short_way() {
        let most = 9_999_999_999_999_999_999;
        compare(&tag("", "", &[0; 8]), true);
        compare(
            &tag("a.B.run(int[])", "([I)V", &[1, 2, 3, 4, 5, 6, 7, most]),
            true,
        );
    }

    #[test]
    fn what_is_cut_off_is_left_to_the_long_way() {
        let tag = tag("a.B.run(int[])", "([I)V", &[12; 8]);
        let end = tag.len() - "<profile".len();
        assert!((0..end).all(|length| Call::take(&tag[..length]).is_none()));
        assert_eq!(Call::take(&tag).map(|(_, size)| size), Some(end));
    }

    proptest! {
        #[test]
        fn both_ways_agree(
            name in "[ -~]{0,20}|[\\PC]{0,9}", signature in "[ -~]{0,9}",
            numbers: [u64; 8], at in 0.0..1.0, byte: u8,
        ) {
            let mut tag = tag(&name, &signature, &numbers);
            let is_plain = |text: &str| text.bytes().all(|b| matches!(b, b' '..=b'~' if !b"\"<&".contains(&b)));
            let ours = is_plain(&name) && is_plain(&signature) && numbers.iter().all(|n| n.to_string().len() < 20);
            compare(&tag, ours);
            let at = (at * tag.len() as f64) as usize;
            tag[at] = byte;
            compare(&tag, false);
        }
    }
}
