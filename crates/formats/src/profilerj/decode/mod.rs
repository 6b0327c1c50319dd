//! Decoder: the document to events.

mod call;
mod definitions;
mod open;
mod queue;
pub(super) mod remarks;
mod value;

use super::FORMAT;
use super::wire::ROOT;
use crate::tally::RemarkTally;
use crate::xml::{Document, Element, State, done};
use crate::{Decode, DecodeError, Decoded, Step};
use call::Call;
use definitions::Definitions;
use jtrail_xml::{Attribute, Error, Scanner, Tag, Text, Token};
use open::{Open, Place};
use queue::Queue;
use remarks::Remarked;
use std::borrow::Cow;

/// Maximum number of nested open elements.
const MAX_DEPTH: usize = 1 << 16;
const END_OF_CALL: &[u8] = b"</profile>";

/// Decodes a snapshot.
#[derive(Debug)]
pub struct Decoder {
    document: Document,
    scanner: Scanner,
    /// Open elements inside of the root, outermost first.
    open: Vec<Open>,
    queue: Queue,
    definitions: Definitions,
    remarks: RemarkTally<Remarked>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self {
            document: Document::new(FORMAT, ROOT),
            scanner: Scanner::default(),
            open: Vec::new(),
            queue: Queue::default(),
            definitions: Definitions::default(),
            remarks: RemarkTally::default(),
        }
    }
}

impl Decode for Decoder {
    fn step<'a>(&mut self, input: &'a [u8], last: bool) -> Result<Decoded<'a>, DecodeError> {
        let step = self.any(input, last);
        self.document.advance(&step);
        step
    }
}

impl Decoder {
    fn any<'a>(&mut self, input: &'a [u8], last: bool) -> Result<Decoded<'a>, DecodeError> {
        if let Some(event) = self.queue.pop() {
            return Ok(done(0, Step::Event(event)));
        }
        match self.document.state {
            State::Ending(_) => self.document.ending(self.remarks.pop()),
            State::Start => Ok(self.document.start(input, last)),
            _ => Ok(match self.short(input) {
                Some(used) => self.first_event(used),
                None => self.token(input, last),
            }),
        }
    }

    /// Returns a step that used `used` bytes, with the first queued event.
    fn first_event<'a>(&mut self, used: usize) -> Decoded<'a> {
        done(used, self.queue.pop().map_or(Step::Nothing, Step::Event))
    }

    /// Reads the start or end tag of a call on the fast path. Returns its length in bytes, or
    /// `None` if the input is anything else.
    fn short(&mut self, input: &[u8]) -> Option<usize> {
        let parent = self.open.last()?;
        let thread = parent.calling()?;
        let rest = input.strip_prefix(b"\n").unwrap_or(input);
        let space = input.len() - rest.len();
        let offset = self.document.offset + space as u64;
        if rest.starts_with(END_OF_CALL) {
            if !parent.is_node() {
                return None;
            }
            self.close(offset);
            return Some(space + END_OF_CALL.len());
        }
        if self.open.len() == MAX_DEPTH {
            return None;
        }
        let (call, size) = Call::take(rest)?;
        self.open(offset, |place, _| Ok(place.called(thread, &call)))
            .ok()?;
        Some(space + size)
    }

    /// Reads a tag or a text.
    fn token<'a>(&mut self, input: &'a [u8], last: bool) -> Decoded<'a> {
        let (space, rest, offset) = self.document.skip_space(input);
        let taken = match self.scanner.scan(rest, offset, last) {
            Ok(None) if last => return self.end_of_input(input, space),
            Ok(None) => return self.document.more(space),
            Ok(Some((Token::Text(text), size))) => {
                // A text without a following tag ends only at the end of the input.
                if size == rest.len() && !matches!(self.document.state, State::After) {
                    return self.end_of_input(input, space);
                }
                self.text(text, offset).map(|()| size)
            }
            Ok(Some((token, size))) => match self.take(token, offset) {
                Ok(()) => Ok(size),
                Err(message) => Err(Error::new(offset, message)),
            },
            Err(error) => Err(error),
        };
        match taken {
            Ok(size) => self.first_event(space + size),
            Err(error) => self.refuse(error),
        }
    }

    fn text(&mut self, text: Text<'_>, offset: u64) -> Result<(), Error> {
        if !matches!(self.document.state, State::Inside) {
            return Err(Error::new(offset, "text outside of the root"));
        }
        let text = text.read()?;
        match self.open.last_mut() {
            Some(Open::Footprints(lines)) => lines
                .add(&text)
                .map_err(|message| Error::new(offset, message)),
            Some(Open::Unknown(_)) => Ok(()),
            _ => {
                self.remarks.add(Remarked::Text, offset);
                Ok(())
            }
        }
    }

    fn take(&mut self, token: Token<'_>, offset: u64) -> Result<(), Cow<'static, str>> {
        match self.document.take(token, &self.scanner)? {
            Some(Element::Start(tag)) => return self.start(tag, offset),
            Some(Element::End(name)) => return self.end(name, offset),
            Some(Element::Root(tag)) => {
                for Attribute { name, .. } in self.scanner.attributes(tag.text) {
                    let names = (ROOT, name);
                    self.remarks
                        .add_named(Remarked::UnknownAttribute, names, offset, 1);
                }
                if tag.empty {
                    self.definitions.end_threads(&mut self.queue);
                }
            }
            None => {}
        }
        Ok(())
    }

    fn start(&mut self, tag: Tag<'_>, offset: u64) -> Result<(), Cow<'static, str>> {
        if self.open.len() == MAX_DEPTH {
            return Err(format!("elements nest deeper than {MAX_DEPTH}").into());
        }
        self.open(offset, |place, parent| place.open(parent, tag))?;
        if tag.empty {
            self.end(tag.name, offset)
        } else {
            Ok(())
        }
    }

    /// Opens an element inside of the innermost open one.
    fn open(
        &mut self,
        offset: u64,
        open: impl FnOnce(&mut Place<'_>, Option<&Open>) -> Result<Open, Cow<'static, str>>,
    ) -> Result<(), Cow<'static, str>> {
        let mut place = Place {
            scanner: &self.scanner,
            queue: &mut self.queue,
            definitions: &mut self.definitions,
            remarks: &mut self.remarks,
            depth: self.open.len() as u64,
            offset,
        };
        let open = open(&mut place, self.open.last())?;
        self.open.push(open);
        if self.queue.is_full() {
            self.queue.release();
            self.remarks.add(Remarked::Waiting, offset);
        }
        Ok(())
    }

    fn end(&mut self, name: &str, offset: u64) -> Result<(), Cow<'static, str>> {
        let open = self.open.last().map(Open::name);
        self.document.end(name, open)?;
        match open {
            Some(_) => self.close(offset),
            None => self.definitions.end_threads(&mut self.queue),
        }
        Ok(())
    }

    /// Closes the innermost open element.
    fn close(&mut self, offset: u64) {
        let Some(open) = self.open.pop() else { return };
        let mut place = Place {
            scanner: &self.scanner,
            queue: &mut self.queue,
            definitions: &mut self.definitions,
            remarks: &mut self.remarks,
            depth: self.open.len() as u64,
            offset,
        };
        place.close(open, self.open.last_mut());
    }

    /// Ends the document. If the document is incomplete, reports that it is truncated in the token
    /// that starts after `space` bytes.
    fn end_of_input<'a>(&mut self, input: &'a [u8], space: usize) -> Decoded<'a> {
        let Some(offset) = self.document.end_of_input(input, space) else {
            return done(input.len(), Step::Nothing);
        };
        self.queue.clear();
        self.document.truncated(input, offset, "document")
    }

    fn refuse<'a>(&mut self, error: Error) -> Decoded<'a> {
        self.queue.clear();
        self.document.refuse(error)
    }
}
