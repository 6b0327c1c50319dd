//! A strict, incremental scanner for the subset of XML that jtrail uses.
//!
//! The scanner finds the token at the start of its input. It refuses document types, CDATA
//! sections, entities other than XML's five, and characters that XML forbids. Without other
//! entities, a value or text is never longer than the bytes from which it is read.
//!
//! `docs/design/dependencies.md` explains why no other crate's parser is used.

use std::borrow::Cow;
use std::ops::Range;

/// The maximum number of attributes of a tag.
pub const MAX_ATTRIBUTES: usize = 64;
/// The default maximum size of a token in bytes ([`Scanner::new`] sets another one).
pub const MAX_TOKEN_BYTES: usize = 16 << 20;
/// The maximum size of a reference in bytes, from `&` to `;`.
const MAX_REFERENCE_BYTES: usize = 32;

/// A token of a document.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Token<'a> {
    /// `<name …>` or `<name …/>`
    Start(Tag<'a>),
    /// `</name>`
    End {
        /// The element's name.
        name: &'a str,
    },
    /// Text up to the next tag, or up to the end of the document.
    Text(Text<'a>),
    /// `<?xml …?>`. Its content has the form of attributes.
    Declaration {
        /// The whole declaration without `?>`.
        text: &'a str,
    },
    /// A comment or a processing instruction.
    Skipped,
}

/// A start tag.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tag<'a> {
    /// The tag from `<` to `>`.
    pub text: &'a str,
    /// The element's name.
    pub name: &'a str,
    /// True if the tag is the whole element: `<name/>`.
    pub empty: bool,
}

/// An attribute.
#[derive(PartialEq, Eq, Debug)]
pub struct Attribute<'a> {
    /// The attribute's name.
    pub name: &'a str,
    /// The value, with its references expanded.
    pub value: Cow<'a, str>,
}

/// Unprocessed text outside of tags.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Text<'a> {
    bytes: &'a [u8],
    offset: u64,
}

impl Text<'_> {
    /// Returns the position of the first byte that is not white space.
    pub fn first(&self) -> Option<u64> {
        let blank = white_space(self.bytes);
        (blank < self.bytes.len()).then(|| self.offset + blank as u64)
    }

    /// Returns the text with expanded references. Each white-space character becomes a blank.
    ///
    /// # Errors
    /// The first part of the text that is not allowed.
    pub fn read(&self) -> Result<String, Error> {
        text(self.bytes).map_err(|e| e.after(self.offset))
    }
}

/// The reason why a document is refused, and its position.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("at byte {offset}: {message}")]
pub struct Error {
    /// The number of bytes before the error.
    pub offset: u64,
    /// A description of the error.
    pub message: Cow<'static, str>,
}

impl Error {
    /// Creates an error at a position.
    pub fn new(offset: u64, message: impl Into<Cow<'static, str>>) -> Self {
        Self {
            offset,
            message: message.into(),
        }
    }

    /// Returns the error with its position moved by the `offset` bytes that precede the input.
    fn after(self, offset: u64) -> Self {
        Self {
            offset: offset + self.offset,
            ..self
        }
    }
}

/// The result of a scan. `Ok(None)` means that the input ends too early to decide.
type Scanned<T> = Result<Option<T>, Error>;

fn wrong<T>(at: usize, message: impl Into<Cow<'static, str>>) -> Result<T, Error> {
    Err(Error::new(at as u64, message))
}

/// Evaluates to the value in an `Option`. For `None`, which means that the input ends too early,
/// returns `Ok(None)` from the function.
macro_rules! part {
    ($value:expr) => {
        match $value {
            Some(value) => value,
            None => return Ok(None),
        }
    };
}

/// The scanner. It also stores the positions of the last tag's attributes.
#[derive(Debug)]
pub struct Scanner {
    attributes: Vec<Span>,
    /// The name of a token in the error for a token that is too long.
    token: &'static str,
    longest: usize,
    /// The position of the incomplete token, and how many of its bytes were already searched.
    searched: (u64, usize),
}

impl Default for Scanner {
    fn default() -> Self {
        Self::new("one tag or text", MAX_TOKEN_BYTES)
    }
}

#[derive(Clone, Debug)]
struct Span {
    name: Range<usize>,
    value: Range<usize>,
    /// True if the value contains nothing to expand.
    plain: bool,
}

const NAME: u8 = 1;
const NAME_START: u8 = 2;
/// Class of the bytes that end an attribute value, or that make it not plain.
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

/// Returns the number of white space bytes at the start of `input`.
pub fn white_space(input: &[u8]) -> usize {
    let other = |b: &u8| !matches!(b, b' ' | b'\t' | b'\n' | b'\r');
    input.iter().position(other).unwrap_or(input.len())
}

impl Scanner {
    /// Creates a scanner for tokens of at most `longest` bytes. `token` names the token in the
    /// error for a longer one.
    pub fn new(token: &'static str, longest: usize) -> Self {
        Self {
            attributes: Vec::new(),
            token,
            longest,
            searched: (0, 0),
        }
    }

    /// Returns the token at the start of `input`, and its number of bytes.
    ///
    /// `offset` is the position of `input` in the document. Returns `None` if the token is
    /// incomplete. If `last` is false, the caller must then pass the token again, with more input.
    /// The bytes already searched are not searched again.
    ///
    /// # Errors
    /// The first part that is not allowed, with its position.
    pub fn scan<'a>(
        &mut self,
        input: &'a [u8],
        offset: u64,
        last: bool,
    ) -> Scanned<(Token<'a>, usize)> {
        self.attributes.clear();
        let searched = match self.searched {
            (at, searched) if at == offset => searched.min(input.len()),
            _ => 0,
        };
        let scanned = match input {
            [] => Ok(None),
            [b'<', ..] if last || input[searched..].contains(&b'>') => self.markup(input),
            [b'<', ..] => Ok(None),
            _ => {
                let found = input[searched..].iter().position(|&b| b == b'<');
                let rest = found.or(last.then_some(input.len() - searched));
                Ok(rest.map(|length| {
                    let bytes = &input[..searched + length];
                    (Token::Text(Text { bytes, offset }), bytes.len())
                }))
            }
        };
        let scanned = scanned.map_err(|e| e.after(offset))?;
        if scanned.map_or(input.len(), |(_, length)| length) > self.longest {
            let message = format!("{} is larger than {} bytes", self.token, self.longest);
            return Err(Error::new(offset, message));
        }
        if scanned.is_none() {
            self.searched = (offset, input.len());
        }
        Ok(scanned)
    }

    /// Returns the attributes of the tag that was found last. `text` is that tag's text.
    #[inline]
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

    fn markup<'a>(&mut self, input: &'a [u8]) -> Scanned<(Token<'a>, usize)> {
        match input.get(1) {
            None => Ok(None),
            Some(b'!') => comment(input),
            Some(b'?') => self.instruction(input),
            Some(b'/') => end_tag(input),
            Some(_) => self.start_tag(input),
        }
    }

    fn start_tag<'a>(&mut self, input: &'a [u8]) -> Scanned<(Token<'a>, usize)> {
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
        Ok(Some((Token::Start(Tag { text, name, empty }), end)))
    }

    /// Parses attributes up to a byte that can't start one. Returns the byte's position.
    fn attribute_list(&mut self, input: &[u8], mut at: usize) -> Scanned<usize> {
        // The union of the [`mark`]s of all names so far.
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
                return wrong(equals, "= is missing after the name of an attribute");
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
            if self.attributes.len() == MAX_ATTRIBUTES {
                return wrong(
                    at,
                    format!("an element has more than {MAX_ATTRIBUTES} attributes"),
                );
            }
            self.attributes.push(span);
            at = end + 1;
        }
    }

    fn instruction<'a>(&mut self, input: &'a [u8]) -> Scanned<(Token<'a>, usize)> {
        let name_end = part!(name(input, 2)?);
        if input[2..name_end].eq_ignore_ascii_case(b"xml") {
            let at = part!(self.attribute_list(input, name_end)?);
            return match input[at..] {
                [b'?', b'>', ..] => {
                    let text = characters(&input[..at])?;
                    Ok(Some((Token::Declaration { text }, at + 2)))
                }
                [b'?'] => Ok(None),
                _ => wrong(at, "the declaration ends with ?>"),
            };
        }
        let length = part!(find(&input[name_end..], b"?>"));
        let end = name_end + length + 2;
        characters(&input[..end])?;
        Ok(Some((Token::Skipped, end)))
    }
}

fn comment(input: &[u8]) -> Scanned<(Token<'_>, usize)> {
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
    Ok(Some((Token::Skipped, dashes + 3)))
}

fn end_tag(input: &[u8]) -> Scanned<(Token<'_>, usize)> {
    let name_end = part!(name(input, 2)?);
    let at = name_end + white_space(&input[name_end..]);
    if *part!(input.get(at)) != b'>' {
        return wrong(at, "an end tag ends with >");
    }
    let name = &characters(&input[..at])?[2..name_end];
    Ok(Some((Token::End { name }, at + 1)))
}

/// Returns a hash of a name: a number with one bit set. If no earlier name has the same bit, the
/// name is new.
fn mark(name: &[u8]) -> u64 {
    let byte = |at: Option<&u8>| at.map_or(0, |&b| usize::from(b));
    1 << ((name.len() + 2 * byte(name.first()) + byte(name.last())) % 64)
}

/// Returns the end of the name at `at`.
fn name(input: &[u8], at: usize) -> Scanned<usize> {
    if !is(*part!(input.get(at)), NAME_START) {
        return wrong(at, "a name is expected");
    }
    Ok(input[at..]
        .iter()
        .position(|&b| !is(b, NAME))
        .map(|length| at + length))
}

/// Returns the end of the value at `at`, and true if the value is plain.
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

/// Returns the character of the reference at `at`, and the reference's end.
fn reference(input: &[u8], at: usize) -> Scanned<(char, usize)> {
    let rest = &input[at + 1..];
    let Some(length) = rest
        .iter()
        .take(MAX_REFERENCE_BYTES)
        .position(|&b| b == b';')
    else {
        if rest.len() < MAX_REFERENCE_BYTES {
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
        char::from_u32(u32::from_str_radix(digits, radix).ok()?).filter(|&c| is_allowed(c))
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

/// Returns true if XML 1.0 allows the character.
pub fn is_allowed(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' => true,
        '\u{fffe}' | '\u{ffff}' => false,
        _ => c >= ' ',
    }
}

/// Checks that `bytes` are UTF-8 and contain only allowed characters.
fn characters(bytes: &[u8]) -> Result<&str, Error> {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(e) => return wrong(e.valid_up_to(), "not UTF-8"),
    };
    // Without an early exit, the compiler vectorizes this loop.
    let suspect = |b: u8| (b == 0xef) | ((b < b' ') & (b != b'\t') & (b != b'\n') & (b != b'\r'));
    if bytes.iter().fold(false, |any, &b| any | suspect(b))
        && let Some((at, c)) = text.char_indices().find(|&(_, c)| !is_allowed(c))
    {
        return wrong(
            at,
            format!("character U+{:04X} is not allowed", u32::from(c)),
        );
    }
    Ok(text)
}

fn text(input: &[u8]) -> Result<String, Error> {
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

/// Returns the value with expanded references. Each white-space character becomes a blank, as XML
/// demands.
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
    use proptest::prelude::*;

    fn scan(text: &str) -> Result<Option<usize>, String> {
        let scanned = Scanner::default().scan(text.as_bytes(), 0, true);
        scanned
            .map(|s| s.map(|(_, end)| end))
            .map_err(|e| format!("{}: {}", e.offset, e.message))
    }

    #[test]
    fn tags_are_split() {
        let input = "<a.b-c x=\"1 &gt; &#65;&#x42;'\n\" \n _y = '\"\t\r\n.'/>rest".as_bytes();
        let mut scanner = Scanner::default();
        let (token, end) = scanner.scan(input, 0, false).unwrap().unwrap();
        let text = std::str::from_utf8(&input[..end]).unwrap();
        let (name, empty) = ("a.b-c", true);
        assert_eq!(token, Token::Start(Tag { text, name, empty }));
        assert_eq!(&input[end..], b"rest");
        let attributes: Vec<_> = scanner
            .attributes(text)
            .map(|a| (a.name, a.value))
            .collect();
        assert_eq!(
            attributes,
            [("x", "1 > AB' ".into()), ("_y", "\"  .".into())]
        );
        let end_tag = scanner.scan(b"</x >", 0, true).unwrap().unwrap();
        assert_eq!(end_tag, (Token::End { name: "x" }, 5));
    }

    #[test]
    fn text_ends_at_a_tag_or_with_the_input() {
        let mut scanner = Scanner::default();
        assert_eq!(scanner.scan(b" a", 7, false), Ok(None));
        let (token, size) = scanner.scan(b" a\r\n&lt;b<c/>", 7, false).unwrap().unwrap();
        let Token::Text(text) = token else {
            panic!("{token:?}");
        };
        assert_eq!((text.first(), size), (Some(8), 9));
        assert_eq!(text.read().as_deref(), Ok(" a <b"));
        let (token, size) = scanner.scan(b" \n", 7, true).unwrap().unwrap();
        let Token::Text(text) = token else {
            panic!("{token:?}");
        };
        assert_eq!((text.first(), size), (None, 2));
        for (wrong, at) in [
            (&b"a&b;"[..], 8),
            (b"a&b", 8),
            (b"a]]>", 8),
            (b"a\xff", 8),
            (b"a\x01", 8),
        ] {
            let (token, _) = scanner.scan(wrong, 7, true).unwrap().unwrap();
            let Token::Text(text) = token else {
                panic!("{token:?}");
            };
            assert_eq!(text.read().map_err(|e| e.offset), Err(at));
        }
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
                for last in [false, true] {
                    let part = Scanner::default().scan(&whole.as_bytes()[..end], 0, last);
                    assert_eq!(part, Ok(None), "{whole} up to {end}");
                }
            }
            assert_eq!(scan(whole), Ok(Some(whole.len())), "{whole}");
        }
    }

    #[test]
    fn what_is_malformed_is_refused_at_its_place() {
        for (text, at) in [
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
        for wrong in [&b"<a b=\"\xff\"/>"[..], b"</a\xff>"] {
            assert!(Scanner::default().scan(wrong, 0, true).is_err());
        }
    }

    #[test]
    fn tokens_have_limits() {
        let attributes = |n| -> String { (0..n).map(|i| format!(" a{i}=''")).collect() };
        let most = format!("<a{}/>", attributes(MAX_ATTRIBUTES));
        assert_eq!(scan(&most), Ok(Some(most.len())));
        let found = scan(&format!("<a{}/>", attributes(MAX_ATTRIBUTES + 1)));
        let message = found.expect_err("one too many");
        assert!(message.ends_with(": an element has more than 64 attributes"));

        let refused = Error::new(9, "it is larger than 8 bytes");
        for (longest, longer) in [
            ("<abcde/>", "<abcdef/>"),
            ("<a b=''>", "<a b='c'>"),
            ("<!-- -->", "<!-- c -->"),
            ("<abcdefg", "<abcdefgh"),
            ("abcdefgh", "abcdefghi"),
        ] {
            for last in [false, true] {
                let mut scanner = Scanner::new("it", 8);
                assert!(scanner.scan(longest.as_bytes(), 9, last).is_ok());
                let found = scanner.scan(longer.as_bytes(), 9, last);
                assert_eq!(found, Err(refused.clone()), "{longer}");
            }
        }
    }

    /// Scans a document that arrives in pieces. Returns the tokens, and the error if there is one.
    fn tokens(document: &[u8], piece: usize) -> (Vec<String>, Option<Error>) {
        let mut scanner = Scanner::default();
        let (mut tokens, mut at, mut end) = (Vec::new(), 0, 0);
        loop {
            let last = end == document.len();
            match scanner.scan(&document[at..end], at as u64, last) {
                Ok(Some((token, length))) => {
                    let attributes: Vec<_> = match token {
                        Token::Start(tag) => scanner.attributes(tag.text).collect(),
                        Token::Declaration { text } => scanner.attributes(text).collect(),
                        _ => Vec::new(),
                    };
                    tokens.push(format!("{at} {token:?} {attributes:?}"));
                    if let Token::Text(text) = token
                        && let Err(error) = text.read()
                    {
                        return (tokens, Some(error));
                    }
                    at += length;
                }
                Ok(None) if last => return (tokens, None),
                Ok(None) => end = document.len().min(end + piece),
                Err(error) => return (tokens, Some(error)),
            }
        }
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(
            parts in prop::collection::vec(
                prop_oneof![
                    "[<>/a?!&;='\"\\- \\[\\]]{1,8}",
                    "<a( b='[x>&;]{0,3}'| c=\"é?\"){0,2}/?>",
                    "</a ?>|<!--[ ->a]{0,4}-->|<\\?[a-z]{1,3}( x='1')? ?\\?>|&(lt|amp|#65|#x1);|t",
                ],
                0..12,
            ),
            noise: Option<(prop::sample::Index, u8)>,
            piece in 1_usize..20,
        ) {
            let mut document = parts.concat().into_bytes();
            if let Some((at, byte)) = noise && !document.is_empty() {
                let at = at.index(document.len());
                document[at] = byte;
            }
            prop_assert_eq!(tokens(&document, piece), tokens(&document, document.len().max(1)));
        }
    }
}
