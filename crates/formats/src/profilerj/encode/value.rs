//! Values of attributes, written.

use crate::xml::write_unsigned;
use jtrail_xml::{escape, is_allowed};
use std::borrow::Cow;
use std::fmt::Write as _;

/// Returns the text with U+FFFD for each character that XML 1.0 forbids.
pub(super) fn legal(text: &str) -> Cow<'_, str> {
    let forbidden = |c: char| !is_allowed(c);
    if text.contains(forbidden) {
        text.replace(forbidden, "\u{fffd}").into()
    } else {
        text.into()
    }
}

/// Appends the start of an element's start tag.
pub(super) fn begin(element: &str, out: &mut Vec<u8>) {
    out.push(b'<');
    out.extend_from_slice(element.as_bytes());
}

/// Appends the end tag of an element.
pub(super) fn end(element: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"</");
    out.extend_from_slice(element.as_bytes());
    out.push(b'>');
}

/// Appends ` name="text"`. `text` must not contain characters that XML 1.0 forbids.
pub(super) fn attribute(name: &str, text: &str, out: &mut Vec<u8>) {
    attribute_of(name, &[text], out);
}

/// Appends ` name="text"` for a text in parts.
pub(super) fn attribute_of(name: &str, parts: &[&str], out: &mut Vec<u8>) {
    open(name, out);
    parts.iter().for_each(|part| escaped(part, out));
    out.push(b'"');
}

/// Appends text with its special characters and apostrophes escaped.
fn escaped(text: &str, out: &mut Vec<u8>) {
    for (i, part) in text.split('\'').enumerate() {
        if i > 0 {
            out.extend_from_slice(b"&apos;");
        }
        escape(part, out);
    }
}

/// Appends ` name="number"`.
pub(super) fn number(name: &str, number: u64, out: &mut Vec<u8>) {
    open(name, out);
    write_unsigned(number, out);
    out.push(b'"');
}

/// Appends ` name="true"` or ` name="false"`.
pub(super) fn boolean(name: &str, value: bool, out: &mut Vec<u8>) {
    attribute(name, if value { "true" } else { "false" }, out);
}

fn open(name: &str, out: &mut Vec<u8>) {
    out.push(b' ');
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"=\"");
}

/// Returns the name of a method or class that the trace does not define.
pub(super) fn unknown(kind: &str, id: u64) -> String {
    let mut name = String::with_capacity(kind.len() + 21);
    // Writing to a string does not fail.
    let _ = write!(name, "{kind}-{id}");
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xml::read_unsigned;

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
            write_unsigned(n, &mut out);
            let text = String::from_utf8(out).unwrap();
            assert_eq!(text, n.to_string());
            assert_eq!(read_unsigned(&text), Some(n));
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
            assert_eq!(read_unsigned(wrong), None, "{wrong}");
        }
    }
}
