//! JSON text.
//!
//! Strings are also safe within a `script` element of HTML, because `<` is escaped where it could
//! end the element or begin a comment or an element in it. It stays as it is elsewhere: Perfetto
//! v52 shows the escape instead of the character, and `<init>` is in every trace.

use std::fmt::Write;

/// The largest integer up to which every integer is exact in readers that keep numbers as doubles.
const MAX_EXACT: u64 = 1 << 53;

/// Appends a string with its quotes.
pub(crate) fn string(out: &mut Vec<u8>, text: &str) {
    let mut escaped = String::with_capacity(text.len() + 2);
    escaped.push('"');
    for (at, c) in text.char_indices() {
        match c {
            '"' => escaped.push_str("\\\""),
            '\\' => escaped.push_str("\\\\"),
            '\n' => escaped.push_str("\\n"),
            '<' if !is_markup(&text[at + 1..]) => escaped.push('<'),
            '\0'..='\x1f' | '<' => {
                // A `String` takes everything.
                let _ = write!(escaped, "\\u{:04x}", u32::from(c));
            }
            _ => escaped.push(c),
        }
    }
    escaped.push('"');
    out.extend(escaped.as_bytes());
}

/// Returns true if `<` and this text mean something within a `script` element.
fn is_markup(text: &str) -> bool {
    let script = b"script";
    let begin = text.as_bytes().get(..script.len());
    text.starts_with(['/', '!']) || begin.is_some_and(|begin| begin.eq_ignore_ascii_case(script))
}

/// Appends an integer.
#[inline]
pub(crate) fn integer(out: &mut Vec<u8>, value: i64) {
    if value < 0 {
        out.push(b'-');
    }
    unsigned(out, value.unsigned_abs());
}

/// Appends an integer that is not negative.
#[inline]
pub(crate) fn unsigned(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + (value % 10) as u8;
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// Appends a time in µs with three decimals, from a time in ns that is not negative.
#[inline]
pub(crate) fn microseconds(out: &mut Vec<u8>, ns: u64) {
    unsigned(out, ns / 1000);
    let rest = (ns % 1000) as u16;
    let digit = |value: u16| b'0' + (value % 10) as u8;
    out.extend_from_slice(&[b'.', digit(rest / 100), digit(rest / 10), digit(rest)]);
}

/// Appends an array, whose elements `write` appends.
pub(crate) fn array<T>(
    out: &mut Vec<u8>,
    elements: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut Vec<u8>, T),
) {
    out.push(b'[');
    for (number, element) in elements.into_iter().enumerate() {
        if number > 0 {
            out.push(b',');
        }
        write(out, element);
    }
    out.push(b']');
}

/// Appends an object, whose fields `fill` appends.
pub(crate) fn object(out: &mut Vec<u8>, fill: impl FnOnce(&mut Fields<'_>)) {
    out.push(b'{');
    fill(&mut Fields {
        out,
        is_first: true,
    });
    out.push(b'}');
}

/// Appends the fields of an object.
pub(crate) struct Fields<'o> {
    out: &'o mut Vec<u8>,
    is_first: bool,
}

impl Fields<'_> {
    /// Appends the name of a field, and returns where its value goes.
    pub(crate) fn field(&mut self, name: &str) -> &mut Vec<u8> {
        if !std::mem::replace(&mut self.is_first, false) {
            self.out.push(b',');
        }
        string(self.out, name);
        self.out.push(b':');
        self.out
    }

    /// Appends a text. An empty one is left out.
    pub(crate) fn text(&mut self, name: &str, value: &str) {
        if !value.is_empty() {
            string(self.field(name), value);
        }
    }

    /// Appends an integer.
    pub(crate) fn number(&mut self, name: &str, value: i64) {
        integer(self.field(name), value);
    }

    /// Appends an id: a number, or a text if readers may round the number. 0 is left out.
    pub(crate) fn id(&mut self, name: &str, value: u64) {
        match value {
            0 => {}
            1..=MAX_EXACT => unsigned(self.field(name), value),
            _ => string(self.field(name), &value.to_string()),
        }
    }
}

#[cfg(test)]
pub(crate) mod reader;
#[cfg(test)]
mod tests;
