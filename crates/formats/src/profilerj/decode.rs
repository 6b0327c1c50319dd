//! The document to events.

use super::FORMAT;
use super::findings::{Findings, cut};
use super::ids::Ids;
use super::open::{Open, Place};
use super::queue::Queue;
use crate::tptp::xml::scan::{self, Attribute, Markup, Scanner, Tag, Wrong, white_space};
use crate::{Decode, DecodeError, Decoded, Remark, Severity, Step};
use std::borrow::Cow;

/// Bytes of the largest tag or text.
const LARGEST_PIECE: usize = 16 << 20;
/// Elements that may be open inside of each other.
const DEEPEST: usize = 1 << 16;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const ROOT: &str = "doc";

/// Reads a snapshot.
#[derive(Debug, Default)]
pub struct Decoder {
    /// Where the input of the next step starts, from the begin of the document.
    offset: u64,
    state: State,
    scanner: Scanner,
    /// Bytes of the input that hold no end of a piece, as the last step found.
    searched: usize,
    /// Elements that are open inside of the root.
    open: Vec<Open>,
    queue: Queue,
    ids: Ids,
    findings: Findings,
}

#[derive(Debug, Default)]
enum State {
    /// At the first byte.
    #[default]
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

impl Decode for Decoder {
    fn step<'a>(&mut self, input: &'a [u8], last: bool) -> Result<Decoded<'a>, DecodeError> {
        let decoded = self.any(input, last)?;
        if decoded.used > 0 {
            self.offset += decoded.used as u64;
            self.searched = 0;
        }
        Ok(decoded)
    }
}

impl Decoder {
    fn any<'a>(&mut self, input: &'a [u8], last: bool) -> Result<Decoded<'a>, DecodeError> {
        if let Some(event) = self.queue.pop() {
            return Ok(done(0, Step::Event(event)));
        }
        match self.state {
            State::Ending(_) => self.ending(),
            State::Start => {
                let head = &input[..input.len().min(BYTE_ORDER_MARK.len())];
                let used = match BYTE_ORDER_MARK.strip_prefix(head) {
                    Some([]) => head.len(),
                    Some(_) if !last => return Ok(done(0, Step::NeedMore)),
                    _ => 0,
                };
                self.state = State::Declaration;
                Ok(done(used, Step::Nothing))
            }
            _ => Ok(self.piece(input, last)),
        }
    }

    /// Takes a tag or a text.
    fn piece<'a>(&mut self, input: &'a [u8], last: bool) -> Decoded<'a> {
        let space = white_space(input);
        let rest = &input[space..];
        if space > 0 && matches!(self.state, State::Declaration) {
            self.state = State::Prolog;
        }
        let Some(first) = rest.first() else {
            return match (last, space) {
                (true, _) => self.end_of_input(input, space),
                (false, 0) => done(0, Step::NeedMore),
                (false, used) => done(used, Step::Nothing),
            };
        };
        let taken = if *first == b'<' {
            self.tag(rest, last, space)
        } else {
            self.text(rest, space)
        };
        match taken {
            Err(Wrong { at, message }) => self.refuse(space + at, message),
            Ok(Some(size)) if size > LARGEST_PIECE => self.too_large(space),
            Ok(Some(size)) => match self.queue.pop() {
                Some(event) => done(space + size, Step::Event(event)),
                None => done(space + size, Step::Nothing),
            },
            Ok(None) if rest.len() > LARGEST_PIECE => self.too_large(space),
            Ok(None) if last && *first != b'<' && matches!(self.state, State::After) => {
                self.refuse(space, "text outside of the root".into())
            }
            Ok(None) if last => self.end_of_input(input, space),
            Ok(None) if space > 0 => done(space, Step::Nothing),
            Ok(None) => {
                self.searched = rest.len();
                done(0, Step::NeedMore)
            }
        }
    }

    /// Takes a piece of markup, `at` bytes behind the last place. Answers with its size, if it is whole.
    fn tag(&mut self, rest: &[u8], last: bool, at: usize) -> Result<Option<usize>, Wrong> {
        // A tag that comes in many parts is not looked at before its end may be there.
        let unsearched = &rest[self.searched.min(rest.len())..];
        if !last && !unsearched.contains(&b'>') {
            return Ok(None);
        }
        let Some((markup, size)) = self.scanner.scan(rest)? else {
            return Ok(None);
        };
        if size > LARGEST_PIECE {
            return Ok(Some(size));
        }
        let offset = self.offset + at as u64;
        let taken = self.take(markup, offset);
        taken.map_err(|message| Wrong { at: 0, message })?;
        Ok(Some(size))
    }

    /// Takes text up to a tag. Answers with its size, if it is whole.
    fn text(&mut self, rest: &[u8], at: usize) -> Result<Option<usize>, Wrong> {
        let searched = self.searched.min(rest.len());
        let Some(length) = rest[searched..].iter().position(|&b| b == b'<') else {
            return Ok(None);
        };
        let size = searched + length;
        if size > LARGEST_PIECE {
            return Ok(Some(size));
        }
        let text = scan::text(&rest[..size])?;
        let offset = self.offset + at as u64;
        let taken = match (&self.state, self.open.last_mut()) {
            (State::Inside, Some(Open::Footprints(lines))) => lines.add(&text),
            (State::Inside, Some(Open::Unknown(_))) => Ok(()),
            (State::Inside, _) => {
                let message = "text where elements are expected; passed over";
                self.findings.add(message.into(), offset);
                Ok(())
            }
            _ => Err("text outside of the root".into()),
        };
        taken.map_err(|message| Wrong { at: 0, message })?;
        Ok(Some(size))
    }

    fn take(&mut self, markup: Markup<'_>, offset: u64) -> Result<(), Cow<'static, str>> {
        let declaration = matches!(self.state, State::Declaration);
        if declaration {
            self.state = State::Prolog;
        }
        match (markup, &self.state) {
            (Markup::Declaration { text }, _) if declaration => self.declaration(text),
            (Markup::Declaration { .. }, _) => Err("a declaration that is not at the begin".into()),
            (Markup::Passed, _) => Ok(()),
            (Markup::Start(tag), State::Prolog) => {
                if tag.name != ROOT {
                    return Err("the root is not doc".into());
                }
                self.state = State::Inside;
                for Attribute { name, .. } in self.scanner.attributes(tag.text) {
                    let name = cut(name);
                    let message = format!("attribute {name} of doc is not known; passed over");
                    self.findings.add(message, offset);
                }
                if tag.empty {
                    self.close_root();
                }
                Ok(())
            }
            (Markup::Start(tag), State::Inside) => self.start(tag, offset),
            (Markup::End { name }, State::Inside) => self.end(name, offset),
            _ => Err("only one doc is allowed, and nothing outside of it".into()),
        }
    }

    fn declaration(&self, text: &str) -> Result<(), Cow<'static, str>> {
        for Attribute { name, value } in self.scanner.attributes(text) {
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

    fn start(&mut self, tag: Tag<'_>, offset: u64) -> Result<(), Cow<'static, str>> {
        let depth = self.open.len();
        if depth == DEEPEST {
            return Err(format!("elements nest deeper than {DEEPEST}").into());
        }
        let mut place = Place {
            scanner: &self.scanner,
            queue: &mut self.queue,
            ids: &mut self.ids,
            findings: &mut self.findings,
            depth: depth as u64,
            offset,
        };
        let open = place.open(self.open.last(), tag)?;
        self.open.push(open);
        if self.queue.is_full() {
            self.queue.release();
            let message = "too many calls to find the outer one's own time; told as 0";
            self.findings.add(message.into(), offset);
        }
        if tag.empty {
            self.end(tag.name, offset)
        } else {
            Ok(())
        }
    }

    fn end(&mut self, name: &str, offset: u64) -> Result<(), Cow<'static, str>> {
        let open = self.open.pop();
        let expected = open.as_ref().map_or(ROOT, Open::name);
        if name != expected {
            return Err(format!("an end tag that does not close {}", cut(expected)).into());
        }
        let Some(open) = open else {
            self.close_root();
            return Ok(());
        };
        let mut place = Place {
            scanner: &self.scanner,
            queue: &mut self.queue,
            ids: &mut self.ids,
            findings: &mut self.findings,
            depth: self.open.len() as u64,
            offset,
        };
        place.close(open, self.open.last_mut());
        Ok(())
    }

    fn close_root(&mut self) {
        self.state = State::After;
        self.ids.end_threads(&mut self.queue);
    }

    /// The document is over, or breaks off in what starts behind `space`.
    fn end_of_input<'a>(&mut self, input: &'a [u8], space: usize) -> Decoded<'a> {
        let whole = space == input.len() && matches!(self.state, State::After);
        self.state = State::Ending(Ok(()));
        if whole {
            return done(input.len(), Step::Nothing);
        }
        self.queue.clear();
        let remark = Remark {
            offset: self.offset + space as u64,
            severity: Severity::Truncated,
            message: "the document breaks off: </doc> is missing".into(),
        };
        done(input.len(), Step::Remark(remark))
    }

    fn too_large<'a>(&mut self, at: usize) -> Decoded<'a> {
        let message = format!("one tag or text is larger than {LARGEST_PIECE} bytes");
        self.refuse(at, message.into())
    }

    /// Gives up at `at` bytes into the input.
    fn refuse<'a>(&mut self, at: usize, message: Cow<'static, str>) -> Decoded<'a> {
        self.queue.clear();
        self.state = State::Ending(Err(DecodeError {
            format: FORMAT,
            offset: self.offset + at as u64,
            message: message.into_owned(),
        }));
        done(0, Step::Nothing)
    }

    fn ending<'a>(&mut self) -> Result<Decoded<'a>, DecodeError> {
        if let Some(remark) = self.findings.pop() {
            return Ok(done(0, Step::Remark(remark)));
        }
        match &self.state {
            State::Ending(Err(error)) => Err(error.clone()),
            _ => Ok(done(0, Step::End)),
        }
    }
}

fn done(used: usize, step: Step<'_>) -> Decoded<'_> {
    Decoded { used, step }
}
