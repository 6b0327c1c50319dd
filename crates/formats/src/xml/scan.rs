//! A strict tokenizer for the few things that a trace document holds.
//!
//! It finds one piece of markup at the begin of the input: a tag with its attributes, a comment, a
//! processing instruction. Everything else is refused: document types, CDATA sections, entities other
//! than the five of XML, characters that XML forbids. Nothing is expanded but references inside the
//! attribute that they stand in, so memory stays below the size of the tag.
//!
//! A general parser costs more than all the rest of decoding, and the ones at hand let through what
//! must be refused: attributes without white space between them, `<` and control characters inside of
//! values, unknown entities. The tests hold this one against such a parser.

use std::borrow::Cow;
use std::ops::Range;

/// Attributes that one tag may have.
const MOST_ATTRIBUTES: usize = 64;
/// Bytes that a reference may have, from `&` to `;`.
const LONGEST_REFERENCE: usize = 32;

/// A piece of markup.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Markup<'a> {
    /// `<name …>` or `<name …/>`
    Start(Tag<'a>),
    /// `</name>`
    End {
        /// Its name.
        name: &'a str,
    },
    /// `<?xml …?>`; what stands in it is like attributes.
    Declaration {
        /// All of it but its end.
        text: &'a str,
    },
    /// A comment or a processing instruction.
    Passed,
}

/// A start tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tag<'a> {
    /// All of it.
    pub text: &'a str,
    /// Its name.
    pub name: &'a str,
    /// It is the whole element.
    pub empty: bool,
}

/// An attribute, its value without references.
#[derive(PartialEq, Eq, Debug)]
pub struct Attribute<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its value.
    pub value: Cow<'a, str>,
}

/// Why the input is refused, and how many bytes into it.
#[derive(PartialEq, Eq, Debug)]
pub struct Wrong {
    /// Bytes before the fault.
    pub at: usize,
    /// A sentence.
    pub message: Cow<'static, str>,
}

/// What a scan answers: `Ok(None)` when the input ends too early to say.
type Scanned<T> = Result<Option<T>, Wrong>;

fn wrong<T>(at: usize, message: impl Into<Cow<'static, str>>) -> Result<T, Wrong> {
    Err(Wrong {
        at,
        message: message.into(),
    })
}

/// Goes on with a value that is there, or answers that the input ends too early.
macro_rules! part {
    ($value:expr) => {
        match $value {
            Some(value) => value,
            None => return Ok(None),
        }
    };
}

/// The tokenizer. It keeps where the attributes of the last tag are.
#[derive(Debug, Default)]
pub struct Scanner {
    attributes: Vec<Span>,
}

#[derive(Clone, Debug)]
struct Span {
    name: Range<usize>,
    value: Range<usize>,
    /// The value is to be taken as it is.
    plain: bool,
}

const NAME: u8 = 1;
const NAME_START: u8 = 2;
/// Bytes that end or change a plain attribute value.
const STOP: u8 = 4;

const CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut b = 0;
    while b < 256 {
        let c = b as u8;
        if c.is_ascii_alphabetic() || c == b'_' || c == b':' || !c.is_ascii() {
            class[b] = NAME | NAME_START;
        } else if c.is_ascii_digit() || c == b'-' || c == b'.' {
            class[b] = NAME;
        } else if c < 0x20 || matches!(c, b'"' | b'\'' | b'<' | b'&') {
            class[b] = STOP;
        }
        b += 1;
    }
    class
};

fn is(byte: u8, class: u8) -> bool {
    CLASS[usize::from(byte)] & class != 0
}

/// Number of white space bytes at the begin of `input`.
pub fn white_space(input: &[u8]) -> usize {
    let other = |b: &u8| !matches!(b, b' ' | b'\t' | b'\n' | b'\r');
    input.iter().position(other).unwrap_or(input.len())
}

impl Scanner {
    /// Finds the markup at the begin of `input`, and the number of its bytes; none if the input ends within it.
    ///
    /// # Errors
    /// What is not allowed, and its place.
    pub fn scan<'a>(&mut self, input: &'a [u8]) -> Scanned<(Markup<'a>, usize)> {
        self.attributes.clear();
        match *input {
            [] | [b'<'] => Ok(None),
            [b'<', b'!', ..] => comment(input),
            [b'<', b'?', ..] => self.instruction(input),
            [b'<', b'/', ..] => end_tag(input),
            [b'<', ..] => self.start_tag(input),
            _ => wrong(0, "text where an element is expected"),
        }
    }

    /// The attributes of the tag that was found last, whose text is handed in again.
    pub fn attributes<'a>(&self, text: &'a str) -> impl Iterator<Item = Attribute<'a>> {
        let part = |range: &Range<usize>| text.get(range.clone()).unwrap_or_default();
        self.attributes.iter().map(move |span| {
            let value = part(&span.value);
            let value = if span.plain {
                value.into()
            } else {
                normalized(value).into()
            };
            Attribute {
                name: part(&span.name),
                value,
            }
        })
    }

    fn start_tag<'a>(&mut self, input: &'a [u8]) -> Scanned<(Markup<'a>, usize)> {
        let name_end = part!(name(input, 1)?);
        let at = part!(self.attribute_list(input, name_end)?);
        let (empty, end) = match input[at..] {
            [b'>', ..] => (false, at + 1),
            [b'/', b'>', ..] => (true, at + 2),
            [] | [b'/'] => return Ok(None),
            _ => return wrong(at, "a tag ends with > or />"),
        };
        let text = characters(&input[..end])?;
        let name = &text[1..name_end];
        Ok(Some((Markup::Start(Tag { text, name, empty }), end)))
    }

    /// Reads attributes up to a byte that can't begin one, and answers with its place.
    fn attribute_list(&mut self, input: &[u8], mut at: usize) -> Scanned<usize> {
        // Those of the names so far.
        let mut marks = 0;
        loop {
            let space = white_space(&input[at..]);
            at += space;
            match *part!(input.get(at)) {
                b'>' | b'/' | b'?' => return Ok(Some(at)),
                _ if space == 0 => return wrong(at, "white space is missing before an attribute"),
                _ => {}
            }
            let name_end = part!(name(input, at)?);
            let equals = name_end + white_space(&input[name_end..]);
            if *part!(input.get(equals)) != b'=' {
                return wrong(equals, "= is missing behind the name of an attribute");
            }
            let quote_at = equals + 1 + white_space(&input[equals + 1..]);
            let quote = *part!(input.get(quote_at));
            if !matches!(quote, b'"' | b'\'') {
                return wrong(
                    quote_at,
                    "the value of an attribute stands in quotation marks",
                );
            }
            let (end, plain) = part!(value(input, quote_at + 1, quote)?);
            let span = Span {
                name: at..name_end,
                value: quote_at + 1..end,
                plain,
            };
            let name = &input[span.name.clone()];
            let mark = mark(name);
            if marks & mark != 0
                && self
                    .attributes
                    .iter()
                    .any(|a| input[a.name.clone()] == *name)
            {
                return wrong(at, "an attribute is repeated");
            }
            marks |= mark;
            if self.attributes.len() == MOST_ATTRIBUTES {
                return wrong(
                    at,
                    format!("an element has more than {MOST_ATTRIBUTES} attributes"),
                );
            }
            self.attributes.push(span);
            at = end + 1;
        }
    }

    fn instruction<'a>(&mut self, input: &'a [u8]) -> Scanned<(Markup<'a>, usize)> {
        let name_end = part!(name(input, 2)?);
        if input[2..name_end].eq_ignore_ascii_case(b"xml") {
            let at = part!(self.attribute_list(input, name_end)?);
            return match input[at..] {
                [b'?', b'>', ..] => {
                    let text = characters(&input[..at])?;
                    Ok(Some((Markup::Declaration { text }, at + 2)))
                }
                [b'?'] => Ok(None),
                _ => wrong(at, "the declaration ends with ?>"),
            };
        }
        let length = part!(find(&input[name_end..], b"?>"));
        let end = name_end + length + 2;
        characters(&input[..end])?;
        Ok(Some((Markup::Passed, end)))
    }
}

fn comment(input: &[u8]) -> Scanned<(Markup<'_>, usize)> {
    const OPEN: &[u8] = b"<!--";
    let head = &input[..input.len().min(OPEN.len())];
    if !OPEN.starts_with(head) {
        return wrong(
            0,
            match input[2] {
                b'D' => "a document type is not allowed",
                b'[' => "text where an element is expected",
                _ => "neither an element nor a comment",
            },
        );
    }
    let length = part!(find(input.get(OPEN.len()..).unwrap_or_default(), b"--"));
    let dashes = OPEN.len() + length;
    if *part!(input.get(dashes + 2)) != b'>' {
        return wrong(dashes, "-- inside a comment");
    }
    characters(&input[..dashes])?;
    Ok(Some((Markup::Passed, dashes + 3)))
}

fn end_tag(input: &[u8]) -> Scanned<(Markup<'_>, usize)> {
    let name_end = part!(name(input, 2)?);
    let at = name_end + white_space(&input[name_end..]);
    if *part!(input.get(at)) != b'>' {
        return wrong(at, "an end tag ends with >");
    }
    let name = &characters(&input[..at])?[2..name_end];
    Ok(Some((Markup::End { name }, at + 1)))
}

/// One bit of 64, which most names of a tag have for themselves: where it is new, the name is.
fn mark(name: &[u8]) -> u64 {
    let byte = |at: Option<&u8>| at.map_or(0, |&b| usize::from(b));
    1 << ((name.len() + 2 * byte(name.first()) + byte(name.last())) % 64)
}

/// Where the name that starts at `at` ends.
fn name(input: &[u8], at: usize) -> Scanned<usize> {
    if !is(*part!(input.get(at)), NAME_START) {
        return wrong(at, "a name is expected");
    }
    Ok(input[at..]
        .iter()
        .position(|&b| !is(b, NAME))
        .map(|length| at + length))
}

/// Where the value that starts at `at` ends, and whether it is plain.
fn value(input: &[u8], mut at: usize, quote: u8) -> Scanned<(usize, bool)> {
    let mut plain = true;
    loop {
        at += part!(input[at..].iter().position(|&b| is(b, STOP)));
        match input[at] {
            b if b == quote => return Ok(Some((at, plain))),
            b'"' | b'\'' => at += 1,
            b'<' => return wrong(at, "< inside the value of an attribute"),
            b'&' => {
                plain = false;
                at = part!(reference(input, at)?).1;
            }
            b'\t' | b'\n' | b'\r' => {
                plain = false;
                at += 1;
            }
            b => return wrong(at, format!("character U+{b:04X} is not allowed")),
        }
    }
}

/// The character that the reference at `at` stands for, and where it ends.
fn reference(input: &[u8], at: usize) -> Scanned<(char, usize)> {
    let rest = &input[at + 1..];
    let Some(length) = rest.iter().take(LONGEST_REFERENCE).position(|&b| b == b';') else {
        if rest.len() < LONGEST_REFERENCE {
            return Ok(None);
        }
        return wrong(at, "& is no begin of a reference");
    };
    let name = &rest[..length];
    let number = |digits: &[u8], radix| {
        let digits = std::str::from_utf8(digits).ok()?;
        let digits = digits
            .starts_with(|c: char| c.is_digit(radix))
            .then_some(digits)?;
        char::from_u32(u32::from_str_radix(digits, radix).ok()?).filter(|&c| allowed(c))
    };
    let character = match name {
        b"amp" => Some('&'),
        b"lt" => Some('<'),
        b"gt" => Some('>'),
        b"quot" => Some('"'),
        b"apos" => Some('\''),
        [b'#', b'x', digits @ ..] => number(digits, 16),
        [b'#', digits @ ..] => number(digits, 10),
        _ => None,
    };
    match character {
        Some(character) => Ok(Some((character, at + 1 + length + 1))),
        None => wrong(
            at,
            format!("&{}; is no reference that is known", name.escape_ascii()),
        ),
    }
}

/// Whether XML 1.0 allows the character.
fn allowed(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        _ => c >= ' ',
    }
}

/// The text of `bytes`, when all of it is characters that are allowed.
fn characters(bytes: &[u8]) -> Result<&str, Wrong> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) => return wrong(e.valid_up_to(), "not UTF-8"),
    };
    // Without an early exit, this takes many bytes at a time.
    let suspect = |b: u8| (b == 0xef) | ((b < b' ') & (b != b'\t') & (b != b'\n') & (b != b'\r'));
    if bytes.iter().fold(false, |any, &b| any | suspect(b))
        && let Some((at, c)) = text.char_indices().find(|&(_, c)| !allowed(c))
    {
        return wrong(
            at,
            format!("character U+{:04X} is not allowed", u32::from(c)),
        );
    }
    Ok(text)
}

/// The text of `input`, which has no `<`, with its references expanded and its white space as blanks.
///
/// # Errors
/// What is not allowed, and its place.
pub fn text(input: &[u8]) -> Result<String, Wrong> {
    let text = characters(input)?;
    let mut at = 0;
    while let Some(length) = input[at..].iter().position(|&b| b == b'&') {
        match reference(input, at + length)? {
            Some((_, end)) => at = end,
            None => return wrong(at + length, "& is no begin of a reference"),
        }
    }
    match text.find("]]>") {
        Some(at) => wrong(at, "]]> in text"),
        None => Ok(normalized(text)),
    }
}

/// The value with its references expanded, and its white space turned into blanks as XML asks for.
fn normalized(value: &str) -> String {
    let bytes = value.as_bytes();
    let mut out = String::with_capacity(value.len());
    let mut at = 0;
    while at < bytes.len() {
        let special = |b: &u8| matches!(b, b'&' | b'\t' | b'\n' | b'\r');
        let plain = bytes[at..]
            .iter()
            .position(special)
            .unwrap_or(bytes.len() - at);
        out.push_str(&value[at..at + plain]);
        at += plain;
        match bytes[at..] {
            [b'&', ..] => match reference(bytes, at) {
                Ok(Some((character, end))) => {
                    out.push(character);
                    at = end;
                }
                _ => at += 1,
            },
            [b'\r', b'\n', ..] => {
                out.push(' ');
                at += 2;
            }
            [_, ..] => {
                out.push(' ');
                at += 1;
            }
            [] => {}
        }
    }
    out
}

fn find(bytes: &[u8], what: &[u8; 2]) -> Option<usize> {
    bytes.windows(2).position(|pair| pair == what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scan(text: &str) -> Result<Option<usize>, String> {
        let scanned = Scanner::default().scan(text.as_bytes());
        scanned
            .map(|s| s.map(|(_, end)| end))
            .map_err(|w| format!("{}: {}", w.at, w.message))
    }

    #[test]
    fn tags_are_split() {
        let input = "<a.b-c x=\"1 &gt; &#65;&#x42;'\n\" \n _y = '\"\t\r\n.'/>rest".as_bytes();
        let mut scanner = Scanner::default();
        let (markup, end) = scanner.scan(input).unwrap().unwrap();
        let text = std::str::from_utf8(&input[..end]).unwrap();
        let (name, empty) = ("a.b-c", true);
        assert_eq!(markup, Markup::Start(Tag { text, name, empty }));
        assert_eq!(&input[end..], b"rest");
        let attributes: Vec<_> = scanner
            .attributes(text)
            .map(|a| (a.name, a.value))
            .collect();
        assert_eq!(
            attributes,
            [("x", "1 > AB' ".into()), ("_y", "\"  .".into())]
        );
        let end_tag = Scanner::default().scan(b"</x >").unwrap().unwrap();
        assert_eq!(end_tag, (Markup::End { name: "x" }, 5));
    }

    #[test]
    fn every_part_of_markup_asks_for_more() {
        for whole in [
            "<a/>",
            "<a b='1' c = \"&#x41;&lt;é\" />",
            "<a b='>'>",
            "</abc >",
            "<!-- - -> <a> -->",
            "<?xml version='1.0' encoding=\"UTF-8\" ?>",
            "<?pi ? > ?>",
        ] {
            for end in 0..whole.len() {
                let part = Scanner::default().scan(&whole.as_bytes()[..end]);
                assert_eq!(part, Ok(None), "{whole} up to {end}");
            }
            assert_eq!(scan(whole), Ok(Some(whole.len())), "{whole}");
        }
    }

    #[test]
    fn what_is_malformed_is_refused_at_its_place() {
        for (text, at) in [
            ("x", 0),
            ("&amp;", 0),
            ("< a/>", 1),
            ("<1a/>", 1),
            ("<a/ >", 2),
            ("<a b=\"1\"c=\"2\"/>", 8),
            ("<a b/>", 4),
            ("<a b=1/>", 5),
            ("<a b=\"<\"/>", 6),
            ("<a b=\"\u{1}\"/>", 6),
            ("<a b=\"\u{ffff}\"/>", 6),
            ("<a b=\"&#1;\"/>", 6),
            ("<a b=\"&#xd800;\"/>", 6),
            ("<a b=\"&#xfffe;\"/>", 6),
            ("<a b=\"&#+9;\"/>", 6),
            ("<a b=\"&#;\"/>", 6),
            ("<a b=\"&foo;\"/>", 6),
            ("<a b=\"&foo                                ;\"/>", 6),
            ("<a b='1' b='2'/>", 9),
            ("<!DOCTYPE a>", 0),
            ("<!ENTITY a>", 0),
            ("<![CDATA[x]]>", 0),
            ("<!-- -- -->", 5),
            ("<!-- \u{2} -->", 5),
            ("<?1?>", 2),
            ("<?xml version='1.0'>", 19),
            ("</a b>", 4),
            ("</>", 2),
            ("<é\u{fffe}/>", 3),
        ] {
            let found = scan(text).expect_err(text);
            assert!(found.starts_with(&format!("{at}: ")), "{text}: {found}");
        }
        assert!(Scanner::default().scan(b"<a b=\"\xff\"/>").is_err());
        assert!(Scanner::default().scan(b"</a\xff>").is_err());
    }
}
