//! The frame of a document: a byte order mark, the declaration, one root, and the end.

use super::cut;
use super::scan::{Attribute, Markup, Scanner, Tag, white_space};
use crate::{DecodeError, Decoded, Remark, Severity, Step};
use std::borrow::Cow;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How far a document was read.
#[derive(Debug)]
pub(crate) struct Document {
    /// Name of the format in errors, and of the root.
    format: &'static str,
    root: &'static str,
    /// Where the input of the next step starts, from the begin of the document.
    pub(crate) offset: u64,
    pub(crate) state: State,
    /// Bytes of the input that hold no end of a piece, as the last step found.
    searched: usize,
}

#[derive(Debug)]
pub(crate) enum State {
    /// At the first byte.
    Start,
    /// Behind a byte order mark, if there is one: only here the declaration may stand.
    Declaration,
    /// Before the root.
    Prolog,
    /// Inside of the root.
    Inside,
    /// Behind the root.
    After,
    /// Nothing more to read: what was found is told, and then how it ended.
    Ending(Result<(), DecodeError>),
}

/// Markup that belongs to the format.
pub(crate) enum Element<'a> {
    /// The root, which may be all there is.
    Root(Tag<'a>),
    /// The begin of an element in it.
    Start(Tag<'a>),
    /// The end of one, or of the root.
    End(&'a str),
}

impl Document {
    pub(crate) fn new(format: &'static str, root: &'static str) -> Self {
        Self {
            format,
            root,
            offset: 0,
            state: State::Start,
            searched: 0,
        }
    }

    /// Takes note of the bytes that a step used.
    #[inline]
    pub(crate) fn passed(&mut self, step: &Result<Decoded<'_>, DecodeError>) {
        if let Ok(Decoded {
            used: used @ 1.., ..
        }) = step
        {
            self.offset += *used as u64;
            self.searched = 0;
        }
    }

    /// Passes over a byte order mark.
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

    /// Parts white space from what is behind it.
    pub(crate) fn piece<'a>(&mut self, input: &'a [u8]) -> (usize, &'a [u8]) {
        let space = white_space(input);
        if space > 0 && matches!(self.state, State::Declaration) {
            self.state = State::Prolog;
        }
        (space, &input[space..])
    }

    /// The part of a piece that no step before has looked at.
    pub(crate) fn unsearched<'a>(&self, rest: &'a [u8]) -> &'a [u8] {
        &rest[self.searched.min(rest.len())..]
    }

    /// Whether a tag may be whole. One that comes in many parts is not looked at before.
    #[inline]
    pub(crate) fn may_be_whole(&self, rest: &[u8], last: bool) -> bool {
        last || self.unsearched(rest).contains(&b'>')
    }

    /// More is needed than the piece behind the white space.
    pub(crate) fn more<'a>(&mut self, rest: &[u8], space: usize) -> Decoded<'a> {
        if space > 0 {
            return done(space, Step::Nothing);
        }
        self.searched = rest.len();
        done(0, Step::NeedMore)
    }

    /// Takes markup. None when it says nothing.
    #[inline]
    pub(crate) fn take<'m>(
        &mut self,
        markup: Markup<'m>,
        scanner: &Scanner,
    ) -> Result<Option<Element<'m>>, Cow<'static, str>> {
        let declaration = matches!(self.state, State::Declaration);
        if declaration {
            self.state = State::Prolog;
        }
        match (markup, &self.state) {
            (Markup::Start(tag), State::Inside) => Ok(Some(Element::Start(tag))),
            (Markup::End { name }, State::Inside) => Ok(Some(Element::End(name))),
            (Markup::Declaration { text }, _) if declaration => {
                self::declaration(scanner, text).map(|()| None)
            }
            (Markup::Declaration { .. }, _) => Err("a declaration that is not at the begin".into()),
            (Markup::Passed, _) => Ok(None),
            (Markup::Start(tag), State::Prolog) => {
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

    /// Takes an end tag. `open` is the innermost element inside of the root; without one, the root ends.
    pub(crate) fn end(&mut self, name: &str, open: Option<&str>) -> Result<(), Cow<'static, str>> {
        let expected = open.unwrap_or(self.root);
        if name != expected {
            return Err(format!("an end tag that does not close {}", cut(expected)).into());
        }
        if open.is_none() {
            self.state = State::After;
        }
        Ok(())
    }

    /// There is no more input: ends, and answers where the document breaks off if it does, in what starts behind `space`.
    pub(crate) fn end_of_input(&mut self, input: &[u8], space: usize) -> Option<u64> {
        let whole = space == input.len() && matches!(self.state, State::After);
        self.state = State::Ending(Ok(()));
        (!whole).then_some(self.offset + space as u64)
    }

    /// The last step of a document that breaks off at `offset`. `what` is its name in the message.
    pub(crate) fn broken_off<'a>(&self, input: &[u8], offset: u64, what: &str) -> Decoded<'a> {
        let remark = Remark {
            offset,
            severity: Severity::Truncated,
            message: format!("the {what} breaks off: </{}> is missing", self.root),
        };
        done(input.len(), Step::Remark(remark))
    }

    /// Gives up at `at` bytes into the input.
    pub(crate) fn refuse<'a>(&mut self, at: usize, message: Cow<'static, str>) -> Decoded<'a> {
        self.state = State::Ending(Err(DecodeError {
            format: self.format,
            offset: self.offset + at as u64,
            message: message.into_owned(),
        }));
        done(0, Step::Nothing)
    }

    /// A step at the end: a remark that is left to tell, or else how it ended.
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
            let (name, value) = (cut(name), cut(value));
            return Err(format!("{name}={value:?} is not known in a declaration").into());
        }
    }
    Ok(())
}

#[inline]
pub(crate) fn done(used: usize, step: Step<'_>) -> Decoded<'_> {
    Decoded { used, step }
}
