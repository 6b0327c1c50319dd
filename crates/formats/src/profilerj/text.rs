//! Characters and numbers of the document.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Whether XML 1.0 forbids the character.
fn forbidden(c: char) -> bool {
    (c < ' ' && !matches!(c, '\t' | '\n' | '\r')) || matches!(c, '\u{fffe}' | '\u{ffff}')
}

/// The text with U+FFFD for what XML 1.0 forbids.
pub(super) fn legal(text: &str) -> Cow<'_, str> {
    if text.contains(forbidden) {
        text.replace(forbidden, "\u{fffd}").into()
    } else {
        text.into()
    }
}

/// Appends ` name="text"`; the text is legal already.
pub(super) fn attribute(name: &str, text: &str, out: &mut Vec<u8>) {
    attribute_of(name, &[text], out);
}

/// The same of a text in parts.
pub(super) fn attribute_of(name: &str, parts: &[&str], out: &mut Vec<u8>) {
    open(name, out);
    parts.iter().for_each(|part| escaped(part, out));
    out.push(b'"');
}

fn escaped(text: &str, out: &mut Vec<u8>) {
    let mut rest = text.as_bytes();
    while let Some((at, reference)) = rest
        .iter()
        .enumerate()
        .find_map(|(at, &b)| Some((at, reference(b)?)))
    {
        let (plain, special) = rest.split_at(at);
        out.extend_from_slice(plain);
        out.extend_from_slice(reference);
        rest = special.get(1..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
}

/// Appends ` name="number"`.
pub(super) fn number(name: &str, number: u64, out: &mut Vec<u8>) {
    open(name, out);
    digits(number, out);
    out.push(b'"');
}

/// Appends ` name="true"` or ` name="false"`.
pub(super) fn boolean(name: &str, value: bool, out: &mut Vec<u8>) {
    attribute(name, if value { "true" } else { "false" }, out);
}

/// Appends the number in decimal.
pub(super) fn digits(mut number: u64, out: &mut Vec<u8>) {
    let mut buffer = [0; 20];
    let mut at = buffer.len();
    loop {
        at -= 1;
        buffer[at] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.extend_from_slice(&buffer[at..]);
}

fn open(name: &str, out: &mut Vec<u8>) {
    out.push(b' ');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"=\"");
}

fn reference(byte: u8) -> Option<&'static [u8]> {
    Some(match byte {
        b'&' => b"&amp;",
        b'<' => b"&lt;",
        b'>' => b"&gt;",
        b'"' => b"&quot;",
        b'\'' => b"&apos;",
        b'\t' => b"&#9;",
        b'\n' => b"&#10;",
        b'\r' => b"&#13;",
        _ => return None,
    })
}

/// A number as the document has it: digits only. `None` for anything else, and above 64 bits.
pub(super) fn parse(text: &str) -> Option<u64> {
    let add = |number: u64, b: u8| {
        let digit = b.is_ascii_digit().then(|| u64::from(b - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    };
    (!text.is_empty()).then(|| text.bytes().try_fold(0, add))?
}

/// What stands for a method or class that was never announced.
pub(super) fn unknown(kind: &str, id: u64) -> String {
    let mut name = String::with_capacity(kind.len() + 21);
    // Writing to a string does not fail.
    let _ = write!(name, "{kind}-{id}");
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        let mut out = Vec::new();
        let text = legal("a&<>\"'\t\n\r\0\u{1f}\u{7f}\u{85}\u{fffe}\u{ffff}é\u{10ffff}");
        attribute("x", &text, &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            " x=\"a&amp;&lt;&gt;&quot;&apos;&#9;&#10;&#13;\u{fffd}\u{fffd}\u{7f}\u{85}\u{fffd}\
             \u{fffd}é\u{10ffff}\""
        );
    }

    #[test]
    fn numbers_at_their_limits() {
        for n in [0, 9, 10, 99, 100, u64::MAX - 1, u64::MAX] {
            let mut out = Vec::new();
            digits(n, &mut out);
            let text = String::from_utf8(out).unwrap();
            assert_eq!(text, n.to_string());
            assert_eq!(parse(&text), Some(n));
        }
        for wrong in [
            "",
            "+1",
            "-1",
            " 1",
            "1 ",
            "0x1",
            "18446744073709551616",
            "1.0",
        ] {
            assert_eq!(parse(wrong), None, "{wrong}");
        }
    }
}
