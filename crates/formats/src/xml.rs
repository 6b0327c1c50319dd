//! The parts that the XML formats share: the byte order mark, the declaration, a single root, and
//! the end of the document.

use crate::tally::short;
use crate::{DecodeError, Decoded, Remark, Severity, Step};
use jtrail_xml::{Attribute, Error, Scanner, Tag, Token, white_space};
use std::borrow::Cow;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Progress of reading a document.
#[derive(Debug)]
pub(crate) struct Document {
    /// Name of the format in errors.
    format: &'static str,
    root: &'static str,
    /// Position of the next step's input, in bytes from the start of the document.
    pub(crate) offset: u64,
    pub(crate) state: State,
}

#[derive(Debug)]
pub(crate) enum State {
    /// At the first byte.
    Start,
    /// After a byte order mark, if the document has one. The declaration is allowed only here.
    Declaration,
    /// Before the root.
    Prolog,
    /// Inside of the root.
    Inside,
    /// After the root.
    After,
    /// Nothing is left to read. The decoder returns the pending remarks, and then this result.
    Ending(Result<(), DecodeError>),
}

/// Markup that belongs to the format.
pub(crate) enum Element<'a> {
    /// The root's start tag, or the whole root if it is empty.
    Root(Tag<'a>),
    /// The start of an element inside of the root.
    Start(Tag<'a>),
    /// The end of an element or of the root.
    End(&'a str),
}

impl Document {
    pub(crate) fn new(format: &'static str, root: &'static str) -> Self {
        Self {
            format,
            root,
            offset: 0,
            state: State::Start,
        }
    }

    /// Adds the number of bytes that a step used to the offset.
    #[inline]
    pub(crate) fn advance(&mut self, step: &Result<Decoded<'_>, DecodeError>) {
        if let Ok(Decoded { used, .. }) = step {
            self.offset += *used as u64;
        }
    }

    /// Skips a byte order mark.
    pub(crate) fn start<'a>(&mut self, input: &[u8], last: bool) -> Decoded<'a> {
        let head = &input[..input.len().min(BYTE_ORDER_MARK.len())];
        let used = match BYTE_ORDER_MARK.strip_prefix(head) {
            Some([]) => head.len(),
            Some(_) if !last => return done(0, Step::NeedMore),
            _ => 0,
        };
        self.state = State::Declaration;
        done(used, Step::Nothing)
    }

    /// Skips white space. Returns its length, the input after it, and the position of this input.
    #[inline]
    pub(crate) fn skip_space<'a>(&mut self, input: &'a [u8]) -> (usize, &'a [u8], u64) {
        let space = white_space(input);
        if space > 0 && matches!(self.state, State::Declaration) {
            self.state = State::Prolog;
        }
        (space, &input[space..], self.offset + space as u64)
    }

    /// Returns the step for an incomplete token that follows `space` bytes of white space.
    pub(crate) fn more<'a>(&self, space: usize) -> Decoded<'a> {
        let step = if space > 0 {
            Step::Nothing
        } else {
            Step::NeedMore
        };
        done(space, step)
    }

    /// Takes a token other than text. Returns `None` if the token is irrelevant to the format.
    #[inline]
    pub(crate) fn take<'m>(
        &mut self,
        token: Token<'m>,
        scanner: &Scanner,
    ) -> Result<Option<Element<'m>>, Cow<'static, str>> {
        let declaration = matches!(self.state, State::Declaration);
        if declaration {
            self.state = State::Prolog;
        }
        match (token, &self.state) {
            (Token::Start(tag), State::Inside) => Ok(Some(Element::Start(tag))),
            (Token::End { name }, State::Inside) => Ok(Some(Element::End(name))),
            (Token::Declaration { text }, _) if declaration => {
                self::declaration(scanner, text).map(|()| None)
            }
            (Token::Declaration { .. }, _) => Err("a declaration that is not at the begin".into()),
            (Token::Skipped, _) => Ok(None),
            (Token::Start(tag), State::Prolog) => {
                if tag.name != self.root {
                    return Err(format!("the root is not {}", self.root).into());
                }
                self.state = if tag.empty {
                    State::After
                } else {
                    State::Inside
                };
                Ok(Some(Element::Root(tag)))
            }
            _ => Err(format!(
                "only one {} is allowed, and nothing outside of it",
                self.root
            )
            .into()),
        }
    }

    /// Takes an end tag. `open` is the innermost open element inside of the root. If it is `None`,
    /// the tag must end the root.
    pub(crate) fn end(&mut self, name: &str, open: Option<&str>) -> Result<(), Cow<'static, str>> {
        let expected = open.unwrap_or(self.root);
        if name != expected {
            return Err(format!("an end tag that does not close {}", short(expected)).into());
        }
        if open.is_none() {
            self.state = State::After;
        }
        Ok(())
    }

    /// Handles the end of the input. If the document is truncated, returns the position of its
    /// incomplete rest. This rest follows `space` bytes of white space.
    pub(crate) fn end_of_input(&mut self, input: &[u8], space: usize) -> Option<u64> {
        let whole = space == input.len() && matches!(self.state, State::After);
        self.state = State::Ending(Ok(()));
        (!whole).then_some(self.offset + space as u64)
    }

    /// Returns the last step of a document that is truncated at `offset`. `what` names the document
    /// in the message.
    pub(crate) fn truncated<'a>(&self, input: &[u8], offset: u64, what: &str) -> Decoded<'a> {
        let remark = Remark {
            offset,
            severity: Severity::Truncated,
            message: format!("the {what} is truncated: missing </{}>", self.root),
        };
        done(input.len(), Step::Remark(remark))
    }

    /// Stops decoding because of `error`: the next step returns the error.
    pub(crate) fn refuse<'a>(&mut self, error: Error) -> Decoded<'a> {
        self.state = State::Ending(Err(DecodeError {
            format: self.format,
            offset: error.offset,
            message: error.message.into_owned(),
        }));
        done(0, Step::Nothing)
    }

    /// Returns a step at the end of the document: the pending remark `left`, or else the result.
    pub(crate) fn ending<'a>(&self, left: Option<Remark>) -> Result<Decoded<'a>, DecodeError> {
        match (left, &self.state) {
            (Some(remark), _) => Ok(done(0, Step::Remark(remark))),
            (None, State::Ending(Err(error))) => Err(error.clone()),
            (None, _) => Ok(done(0, Step::End)),
        }
    }
}

fn declaration(scanner: &Scanner, text: &str) -> Result<(), Cow<'static, str>> {
    for Attribute { name, value } in scanner.attributes(text) {
        let value = value.as_ref();
        let known = match name {
            "version" => value.starts_with("1."),
            "encoding" => ["UTF-8", "UTF8", "US-ASCII", "ASCII"]
                .iter()
                .any(|known| known.eq_ignore_ascii_case(value)),
            "standalone" => matches!(value, "yes" | "no"),
            _ => false,
        };
        if !known {
            let (name, value) = (short(name), short(value));
            return Err(format!("{name}={value:?} is not known in a declaration").into());
        }
    }
    Ok(())
}

#[inline]
pub(crate) fn done(used: usize, step: Step<'_>) -> Decoded<'_> {
    Decoded { used, step }
}

/// Returns the number at the start of `input`, and the input after it.
///
/// Accepts at most nineteen digits, because a longer number may not fit into 64 bits.
#[inline]
pub(crate) fn number(input: &[u8]) -> Option<(u64, &[u8])> {
    let mut number = 0_u64;
    let mut length = 0;
    while let Some(digit) = input.get(length).map(|b| b.wrapping_sub(b'0'))
        && digit <= 9
    {
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        length += 1;
    }
    (1..=19)
        .contains(&length)
        .then(|| (number, &input[length..]))
}

/// The numbers from 00 to 99, two digits each.
const PAIRS: [u8; 200] = {
    let mut pairs = [0; 200];
    let mut i = 0;
    while i < 100 {
        pairs[2 * i] = b'0' + (i / 10) as u8;
        pairs[2 * i + 1] = b'0' + (i % 10) as u8;
        i += 1;
    }
    pairs
};

/// Returns the last two decimal digits of `n`.
pub(crate) fn pair(n: u64) -> [u8; 2] {
    let at = 2 * (n % 100) as usize;
    [PAIRS[at], PAIRS[at + 1]]
}

/// Appends `n` in decimal.
pub(crate) fn write_unsigned(mut n: u64, out: &mut Vec<u8>) {
    if n < 10 {
        return out.push(b'0' + n as u8);
    }
    if n < 100 {
        return out.extend_from_slice(&pair(n));
    }
    let mut digits = [0; 20];
    let mut at = digits.len();
    while n >= 100 {
        at -= 2;
        digits[at..at + 2].copy_from_slice(&pair(n));
        n /= 100;
    }
    if n >= 10 {
        at -= 2;
        digits[at..at + 2].copy_from_slice(&pair(n));
    } else {
        at -= 1;
        digits[at] = b'0' + n as u8;
    }
    out.extend_from_slice(&digits[at..]);
}

/// Parses `text`, which must consist of digits only. Returns `None` if the number needs more than
/// 64 bits.
pub(crate) fn read_unsigned(text: &str) -> Option<u64> {
    // The standard parser also takes a plus sign.
    text.starts_with(|c: char| c.is_ascii_digit())
        .then(|| text.parse().ok())?
}
