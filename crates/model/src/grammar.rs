//! The grammar of text events: `key=value key="value with blanks" …`.
//!
//! Inside quotes, `\"` and `\\` stand for a quotation mark and a backslash.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::str::FromStr;

/// Prefix of the text events of jtrail.
pub(crate) const PREFIX: &str = "jtrail ";

/// Appends ` key=`.
pub(crate) fn key(key: &str, out: &mut String) {
    out.push(' ');
    out.push_str(key);
    out.push('=');
}

/// Appends ` key=number`.
pub(crate) fn number(name: &str, number: impl std::fmt::Display, out: &mut String) {
    key(name, out);
    // Writing to a string does not fail.
    let _ = write!(out, "{number}");
}

/// Appends ` key=text`, in quotes if needed.
pub(crate) fn text(name: &str, text: &str, out: &mut String) {
    key(name, out);
    let plain = |c: char| !c.is_whitespace() && c != '"' && c != '\\';
    if !text.is_empty() && text.chars().all(plain) {
        out.push_str(text);
    } else {
        out.push('"');
        escaped(text, out);
        out.push('"');
    }
}

/// Appends `text` as it must be written inside quotes.
pub(crate) fn escaped(text: &str, out: &mut String) {
    for part in text.split_inclusive(['"', '\\']) {
        match part.as_bytes().last() {
            Some(b'"' | b'\\') => {
                let (before, special) = part.split_at(part.len() - 1);
                out.push_str(before);
                out.push('\\');
                out.push_str(special);
            }
            _ => out.push_str(part),
        }
    }
}

/// A reader of pairs. Its methods return `None` if the rest of the text does not begin with what
/// they read.
#[derive(Debug)]
pub(crate) struct Pairs<'t> {
    rest: &'t str,
}

impl<'t> Pairs<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self { rest: text }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Returns true if the next pair has that key.
    pub(crate) fn next_is(&self, key: &str) -> bool {
        self.rest
            .strip_prefix(key)
            .is_some_and(|rest| rest.starts_with('='))
    }

    /// Reads the next pair, whatever its key.
    pub(crate) fn pair(&mut self) -> Option<(&'t str, Cow<'t, str>)> {
        let (key, rest) = self.rest.split_once('=')?;
        self.rest = rest;
        Some((key, self.value()?))
    }

    /// Reads the value of the next pair, which must have that key.
    pub(crate) fn text(&mut self, key: &str) -> Option<Cow<'t, str>> {
        self.rest = self.rest.strip_prefix(key)?.strip_prefix('=')?;
        self.value()
    }

    /// Reads the value of the next pair as a number.
    pub(crate) fn number<T: FromStr>(&mut self, key: &str) -> Option<T> {
        parse_number(&self.text(key)?)
    }

    fn value(&mut self) -> Option<Cow<'t, str>> {
        let Some(quoted) = self.rest.strip_prefix('"') else {
            let (word, rest) = self.rest.split_once(' ').unwrap_or((self.rest, ""));
            self.rest = rest;
            return Some(word.into());
        };
        let mut value = Cow::Borrowed("");
        let mut rest = quoted;
        loop {
            let (part, tail) = rest.split_at(rest.find(['"', '\\'])?);
            if value.is_empty() {
                value = part.into();
            } else {
                value.to_mut().push_str(part);
            }
            if let Some(tail) = tail.strip_prefix('"') {
                rest = tail;
                break;
            }
            let mut chars = tail[1..].chars();
            value.to_mut().push(chars.next()?);
            rest = chars.as_str();
        }
        self.rest = match rest.strip_prefix(' ') {
            Some(rest) => rest,
            None if rest.is_empty() => rest,
            None => return None,
        };
        Some(value)
    }
}

/// Parses a number as jtrail writes it: digits, preceded by a minus sign if it is negative.
pub(crate) fn parse_number<T: FromStr>(word: &str) -> Option<T> {
    if word.starts_with('+') {
        return None;
    }
    word.parse().ok()
}
