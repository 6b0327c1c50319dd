//! Numbers, quoted text and ranges of code, written and read.

use std::borrow::Cow;

const UPPER: &[u8; 16] = b"0123456789ABCDEF";
const LOWER: &[u8; 16] = b"0123456789abcdef";

/// Appends a decimal number.
pub(super) fn dec(mut number: u64, out: &mut Vec<u8>) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends `0x` and eight digits.
pub(super) fn h32(number: u32, out: &mut Vec<u8>) {
    upper(u64::from(number), 8, out);
}

/// Appends `0x` and sixteen digits.
pub(super) fn h64(number: u64, out: &mut Vec<u8>) {
    upper(number, 16, out);
}

fn upper(number: u64, digits: u32, out: &mut Vec<u8>) {
    out.extend_from_slice(b"0x");
    let digit = |at| UPPER[(number >> (4 * at)) as usize & 15];
    out.extend((0..digits).rev().map(digit));
}

/// Appends `0x` and as few digits as possible.
pub(super) fn hex(number: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"0x");
    let digits = (64 - number.leading_zeros()).div_ceil(4).max(1);
    let digit = |at| LOWER[(number >> (4 * at)) as usize & 15];
    out.extend((0..digits).rev().map(digit));
}

/// Appends a character of the Basic Multilingual Plane by its number: `\u0022`.
fn by_number(c: char, out: &mut String) {
    out.push_str("\\u");
    let digit = |at: u32| char::from(UPPER[(u32::from(c) >> (4 * at)) as usize & 15]);
    out.extend((0..4).rev().map(digit));
}

fn is_control(c: char) -> bool {
    c < ' ' || c == '\u{7f}'
}

/// Appends text. Characters that quoted text can't contain, and the characters in `also`, are
/// written as `\uXXXX`.
pub(super) fn escape(text: &str, also: &[char], out: &mut String) {
    let special = |c: char| is_control(c) || matches!(c, '"' | '\\') || also.contains(&c);
    escape_those(text, special, out);
}

/// Appends text, with its first character written as `\uXXXX`.
pub(super) fn escape_first(text: &str, out: &mut String) {
    let mut chars = text.chars();
    if let Some(first) = chars.next() {
        by_number(first, out);
    }
    escape(chars.as_str(), &[], out);
}

fn escape_those(text: &str, special: impl Fn(char) -> bool, out: &mut String) {
    let mut rest = text;
    while let Some((at, c)) = rest.char_indices().find(|(_, c)| special(*c)) {
        out.push_str(&rest[..at]);
        by_number(c, out);
        rest = &rest[at + c.len_utf8()..];
    }
    out.push_str(rest);
}

/// Appends the value of a configuration line, which has no quotes. A backslash is written as
/// `\uXXXX` only where it would start an escape. A blank is written so only where readers would
/// trim it.
pub(super) fn escape_bare(text: &str, out: &mut String) {
    let inner = text.trim_matches(' ');
    let before = text.len() - text.trim_start_matches(' ').len();
    let after = text.len() - before - inner.len();
    let blanks = |count: usize, out: &mut String| (0..count).for_each(|_| by_number(' ', out));
    blanks(before, out);
    let mut rest = inner;
    while let Some(at) = rest.find("\\u") {
        escape_those(&rest[..at], is_control, out);
        by_number('\\', out);
        rest = &rest[at + 1..];
    }
    escape_those(rest, is_control, out);
    blanks(after.min(text.len() - before), out);
}

/// Decodes each `\uXXXX`; other backslashes stay unchanged. A surrogate pair becomes one character.
pub(super) fn unescape(text: &str) -> Cow<'_, str> {
    if !text.contains("\\u") {
        return text.into();
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\\u") {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let Some(unit) = unit(rest) else {
            out.push_str("\\u");
            rest = &rest[2..];
            continue;
        };
        rest = &rest[6..];
        let low = matches!(unit, 0xd800..0xdc00)
            .then(|| self::unit(rest))
            .flatten()
            .filter(|low| matches!(low, 0xdc00..0xe000));
        match low {
            Some(low) => {
                rest = &rest[6..];
                out.extend(char::decode_utf16([unit, low]).filter_map(Result::ok));
            }
            None => out.push(char::from_u32(u32::from(unit)).unwrap_or('\u{fffd}')),
        }
    }
    out.push_str(rest);
    out.into()
}

/// Returns the number of a leading `\uXXXX`.
fn unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix("\\u")?.get(..4)?;
    let all = digits.bytes().all(|b| b.is_ascii_hexdigit());
    all.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

/// Reads a decimal number.
#[inline]
pub(super) fn read_dec(word: &[u8]) -> Option<u64> {
    if word.is_empty() || word.len() > 20 {
        return None;
    }
    word.iter().try_fold(0_u64, |number, digit| {
        let digit = digit.wrapping_sub(b'0');
        (digit < 10)
            .then(|| number.checked_mul(10)?.checked_add(u64::from(digit)))
            .flatten()
    })
}

/// Reads `0x` and one to sixteen digits of either case.
#[inline]
pub(super) fn read_hex(word: &[u8]) -> Option<u64> {
    let digits = word.strip_prefix(b"0x").or(word.strip_prefix(b"0X"))?;
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, digit| {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            b'A'..=b'F' => digit - b'A' + 10,
            _ => return None,
        };
        Some(number << 4 | u64::from(digit))
    })
}

/// Sorted start offsets of the ranges of a method's code. Each range ends where the next one
/// starts.
pub(super) struct RangeStarts(Vec<u64>);

impl RangeStarts {
    pub(super) fn new(starts: impl Iterator<Item = u64>) -> Self {
        let mut starts: Vec<_> = starts.collect();
        starts.sort_unstable();
        Self(starts)
    }

    /// Returns the next start after `start`.
    pub(super) fn after(&self, start: u64) -> Option<u64> {
        let at = self.0.partition_point(|other| *other <= start);
        self.0.get(at).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_back_as_written() {
        for number in [0, 1, 9, 10, 15, 16, 255, 0xdead_beef, u64::MAX] {
            let mut out = Vec::new();
            dec(number, &mut out);
            assert_eq!(out, number.to_string().into_bytes());
            assert_eq!(read_dec(&out), Some(number));
            out.clear();
            hex(number, &mut out);
            assert_eq!(out, format!("{number:#x}").into_bytes());
            assert_eq!(read_hex(&out), Some(number));
            out.clear();
            h64(number, &mut out);
            assert_eq!(out, format!("0x{number:016X}").into_bytes());
            assert_eq!(read_hex(&out), Some(number));
        }
        let mut out = Vec::new();
        h32(0xab, &mut out);
        assert_eq!(out, b"0x000000AB");
        for wrong in ["", "x", "-1", "+1", "1a", "18446744073709551616", " 1"] {
            assert_eq!(read_dec(wrong.as_bytes()), None, "{wrong}");
        }
        for wrong in ["", "0x", "1", "0xg", "0x00000000000000001", "?"] {
            assert_eq!(read_hex(wrong.as_bytes()), None, "{wrong}");
        }
    }

    #[test]
    fn text_reads_back_as_written() {
        for text in [
            "",
            "plain é 😀 \u{10ffff}",
            "\"\\u0041\" \\ \t\n\0\u{7f}",
            "C:\\users\\u12",
            "\\u",
            "\\\\u0041",
            "  blanks  ",
            " ",
            "   ",
        ] {
            let mut quoted = String::new();
            escape(text, &['.'], &mut quoted);
            assert!(!quoted.contains(['"', '.', '\n', '\0', '\u{7f}']));
            assert_eq!(unescape(&quoted), text);
            let mut bare = String::new();
            escape_bare(text, &mut bare);
            assert_eq!(bare.trim_matches(' '), bare);
            assert_eq!(unescape(&bare), text);
        }
        let mut first = String::new();
        escape_first("int", &mut first);
        assert_eq!(first, "\\u0069nt");
        assert_eq!(unescape(&first), "int");
    }

    #[test]
    fn foreign_text_stays() {
        for (text, read) in [
            ("C:\\Users\\a", "C:\\Users\\a"),
            ("\\u12", "\\u12"),
            ("\\u00e9\\u+123", "é\\u+123"),
            ("\\uD83D\\uDE00 \\uD83D", "😀 \u{fffd}"),
            ("\\uDE00\\u0041", "\u{fffd}A"),
        ] {
            assert_eq!(unescape(text), read);
        }
    }
}
