//! Reading of a line, word by word.

use crate::tracelog::value::{read_dec, read_hex};
use std::borrow::Cow;

/// The unread words of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words<'a> {
    rest: &'a [u8],
}

impl<'a> Words<'a> {
    pub(super) fn new(line: &'a [u8]) -> Self {
        Self { rest: line }
    }

    /// Returns the next word, or `None` at the end of the line.
    #[inline]
    pub(super) fn word(&mut self) -> Option<&'a [u8]> {
        let mut rest = self.rest;
        while let [b' ', tail @ ..] = rest {
            rest = tail;
        }
        if rest.is_empty() {
            self.rest = rest;
            return None;
        }
        let end = rest.iter().position(|b| *b == b' ').unwrap_or(rest.len());
        let (word, rest) = rest.split_at(end);
        self.rest = rest;
        Some(word)
    }

    /// Returns the rest of the line, without blanks around it.
    pub(super) fn text(&mut self) -> Cow<'a, str> {
        String::from_utf8_lossy(std::mem::take(&mut self.rest).trim_ascii())
    }

    /// Reads text in quotes. Other writers do not escape quotes inside of text. So not every quote
    /// ends the text, but only one at the end of the line or before another text in quotes.
    pub(super) fn quoted(&mut self) -> Option<Cow<'a, str>> {
        let text = self.rest.trim_ascii().strip_prefix(b"\"")?;
        let is_last = |rest: &[u8]| match rest {
            [] => true,
            [b' ', ..] => rest.trim_ascii_start().starts_with(b"\""),
            _ => false,
        };
        let is_end = |at: &usize| text[*at] == b'"' && is_last(&text[at + 1..]);
        let end = (0..text.len()).find(is_end)?;
        self.rest = &text[end + 1..];
        Some(String::from_utf8_lossy(&text[..end]))
    }

    #[inline]
    pub(super) fn dec(&mut self) -> Option<u64> {
        read_dec(self.word()?)
    }

    #[inline]
    pub(super) fn hex(&mut self) -> Option<u64> {
        read_hex(self.word()?)
    }

    /// Reads an internal id; `?` is the largest id.
    #[inline]
    pub(super) fn iid(&mut self) -> Option<u32> {
        read_iid(self.word()?)
    }

    /// Returns `None` unless only blanks are left.
    pub(super) fn end(&self) -> Option<()> {
        self.rest.iter().all(|b| *b == b' ').then_some(())
    }
}

/// Reads an internal id; `?` is the largest id.
#[inline]
pub(super) fn read_iid(word: &[u8]) -> Option<u32> {
    match word {
        b"?" => Some(u32::MAX),
        _ => read_hex(word)?.try_into().ok(),
    }
}

/// `N` parts of a word, and one more part if the word has it.
type Parts<'a, const N: usize> = ([&'a [u8]; N], Option<&'a [u8]>);

/// Splits a word at colons into `N` parts, and one more part if the word has it.
#[inline]
pub(super) fn parts<const N: usize>(word: &[u8]) -> Option<Parts<'_, N>> {
    let mut parts = word.split(|b| *b == b':');
    let mut found = [&[][..]; N];
    for place in &mut found {
        *place = parts.next()?;
    }
    let more = parts.next();
    parts.next().is_none().then_some((found, more))
}

/// True if the word is an instruction pointer.
pub(super) fn is_ip(word: &[u8]) -> bool {
    word == b"?" || read_hex(word).is_some() || read_hex(&[b"0x", word].concat()).is_some()
}

/// Reads the thread of a `jit` or `gch` line: an internal id, `?`, or an operating-system id in
/// decimal. Returns false for `?`, true for an id, and `None` for anything else.
pub(super) fn is_thread(word: &[u8]) -> Option<bool> {
    match word {
        b"?" => Some(false),
        _ => (read_iid(word).is_some() || read_dec(word).is_some()).then_some(true),
    }
}

/// Reads an item `class:objects:bytes`. The last result is true if an instruction pointer follows.
pub(super) fn read_item(word: &[u8]) -> Option<(u32, u64, u64, bool)> {
    let ([class, objects, bytes], ip) = parts(word)?;
    if !ip.is_none_or(is_ip) {
        return None;
    }
    let class = read_iid(class)?;
    Some((class, read_dec(objects)?, read_dec(bytes)?, ip.is_some()))
}
