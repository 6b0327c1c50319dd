//! Decoder: XML elements to events.

pub(super) mod remarks;

use super::element::Remarks;
use super::value::Value;
use super::wire::{ANNOTATION, ROOT, STACK_FRAME};
use super::{FORMAT, call, element, names};
use crate::tally::RemarkTally;
use crate::tptp::{MAX_EVENT_BYTES, custom};
use crate::xml::{Document, Element, State, done};
use crate::{Decode, DecodeError, Decoded, Remark, Severity, Step};
use jtrail_model::{
    Event, Frame, MonitorContendedEnter, MonitorContendedEntered, MonitorWait, MonitorWaited,
};
use jtrail_xml::{Attribute, Error, Scanner, Tag, Token};
use remarks::Remarked;
use std::borrow::Cow;

/// Maximum number of nested open elements, without the root.
const MAX_DEPTH: usize = 32;

/// Decodes XML documents of our encoder and of older agents.
#[derive(Debug)]
pub struct Decoder {
    document: Document,
    scanner: Scanner,
    /// Names of the open elements inside of the root, outermost first.
    open: Vec<String>,
    /// Kind of the outermost open element.
    outer: Outer,
    remarks: RemarkTally<Remarked>,
    /// Id of the trace that filters belong to. The element of a filter does not contain it.
    trace_id: String,
}

impl Default for Decoder {
    fn default() -> Self {
        Self {
            document: Document::new(FORMAT, ROOT),
            scanner: Scanner::new("one element", MAX_EVENT_BYTES),
            open: Vec::new(),
            outer: Outer::default(),
            remarks: RemarkTally::default(),
            trace_id: String::new(),
        }
    }
}

/// Kind of an element directly inside of the root.
#[derive(Debug, Default)]
enum Outer {
    /// The element is skipped with its content.
    #[default]
    Skipped,
    /// An event that was returned already.
    Done,
    /// An event that collects frames until its end tag.
    Pending(Pending),
}

#[derive(Debug)]
struct Pending {
    event: Event<'static>,
    start: u64,
    /// Bytes of the frames so far.
    size: usize,
}

impl Decode for Decoder {
    fn step<'a>(&mut self, input: &'a [u8], last: bool) -> Result<Decoded<'a>, DecodeError> {
        let step = self.any(input, last);
        self.document.advance(&step);
        step
    }
}

impl Decoder {
    #[inline]
    fn any<'a>(&mut self, input: &'a [u8], last: bool) -> Result<Decoded<'a>, DecodeError> {
        match self.document.state {
            State::Inside if self.open.is_empty() => match call::take(input) {
                Some((event, used)) => Ok(done(used, Step::Event(event))),
                None => Ok(self.token(input, last)),
            },
            State::Ending(_) => self.document.ending(self.remarks.pop()),
            State::Start => Ok(self.document.start(input, last)),
            _ => Ok(self.token(input, last)),
        }
    }

    fn token<'a>(&mut self, input: &'a [u8], last: bool) -> Decoded<'a> {
        let (space, rest, offset) = self.document.skip_space(input);
        let scanned = match rest {
            [b'<', ..] | [] => self.scanner.scan(rest, offset, last),
            // Text in place of an element is refused before the token is complete.
            _ => Err(Error::new(offset, "text where an element is expected")),
        };
        let error = match scanned {
            Ok(None) if last => return self.end_of_input(input, space),
            Ok(None) => return self.document.more(space),
            Ok(Some((token, size))) => match self.take(token, offset) {
                Ok(step) => return done(space + size, step),
                Err(message) => Error::new(offset, message),
            },
            Err(error) => error,
        };
        self.document.refuse(error)
    }

    /// Reads a token at `offset`.
    fn take<'a>(&mut self, token: Token<'a>, offset: u64) -> Result<Step<'a>, Cow<'static, str>> {
        match self.document.take(token, &self.scanner)? {
            Some(Element::Start(tag)) => self.start(tag, offset),
            Some(Element::End(name)) => self.end(name),
            Some(Element::Root(tag)) => {
                let mut remarks = remarks(&mut self.remarks, ROOT, offset);
                for attribute in self.scanner.attributes(tag.text) {
                    remarks.add(Remarked::UnknownAttribute, attribute.name);
                }
                Ok(Step::Nothing)
            }
            None => Ok(Step::Nothing),
        }
    }

    fn start<'a>(&mut self, tag: Tag<'a>, offset: u64) -> Result<Step<'a>, Cow<'static, str>> {
        let Tag { text, name, empty } = tag;
        let depth = self.open.len();
        if !empty {
            if depth == MAX_DEPTH {
                return Err(format!("elements nest deeper than {MAX_DEPTH}").into());
            }
            self.open.push(name.to_owned());
        }
        match (depth, &mut self.outer) {
            (0, _) => return Ok(self.event(tag, offset)),
            (1, Outer::Pending(pending)) if name == ANNOTATION => {
                match frame(&mut self.remarks, offset, self.scanner.attributes(text)) {
                    Ok(Some(frame)) => pending.push(frame)?,
                    Ok(None) => {}
                    Err(attribute) => return Ok(fault(name, attribute, offset)),
                }
            }
            (1, Outer::Pending(_) | Outer::Done) => {
                unknown_element(&mut self.remarks, name, offset);
            }
            // A token inside of a skipped element.
            _ => {}
        }
        Ok(Step::Nothing)
    }

    /// Reads an element directly inside of the root.
    fn event<'a>(&mut self, tag: Tag<'a>, offset: u64) -> Step<'a> {
        let Tag { text, name, empty } = tag;
        self.outer = Outer::Skipped;
        let attributes = self.scanner.attributes(text);
        let mut remarks = remarks(&mut self.remarks, name, offset);
        let mut event = match element::read(name, attributes, &mut remarks) {
            Ok(Some(event)) => custom::unwrapped(event),
            Ok(None) => {
                unknown_element(&mut self.remarks, name, offset);
                return Step::Nothing;
            }
            Err(attribute) => return fault(name, attribute, offset),
        };
        match &mut event {
            Event::MethodDef(e) => {
                let renamed = names::from_xml(&e.name, &e.signature);
                if renamed != e.name {
                    e.name = renamed.to_owned().into();
                }
            }
            Event::TraceStart(e) => e.trace_id.as_ref().clone_into(&mut self.trace_id),
            Event::Filter(e) => e.trace_id = self.trace_id.clone().into(),
            _ => {}
        }
        if empty {
            return Step::Event(event);
        }
        if let Some(event) = without_stack(&event) {
            let (start, size) = (offset, 0);
            self.outer = Outer::Pending(Pending { event, start, size });
            return Step::Nothing;
        }
        self.outer = Outer::Done;
        Step::Event(event)
    }

    fn end<'a>(&mut self, name: &str) -> Result<Step<'a>, Cow<'static, str>> {
        let open = self.open.pop();
        self.document.end(name, open.as_deref())?;
        if !self.open.is_empty() {
            return Ok(Step::Nothing);
        }
        match std::mem::take(&mut self.outer) {
            Outer::Pending(pending) => Ok(Step::Event(pending.event)),
            Outer::Done | Outer::Skipped => Ok(Step::Nothing),
        }
    }

    /// Ends the trace, or reports that it is truncated in the token that starts after `space`.
    fn end_of_input<'a>(&mut self, input: &'a [u8], space: usize) -> Decoded<'a> {
        let Some(offset) = self.document.end_of_input(input, space) else {
            return done(input.len(), Step::Nothing);
        };
        let offset = match &self.outer {
            Outer::Pending(pending) => pending.start,
            Outer::Done | Outer::Skipped => offset,
        };
        self.document.truncated(input, offset, "trace")
    }
}

impl Pending {
    fn push(&mut self, frame: Frame<'static>) -> Result<(), Cow<'static, str>> {
        self.size += frame.method.len() + size_of::<Frame<'_>>();
        if self.size > MAX_EVENT_BYTES {
            return Err(
                format!("the frames of one event are larger than {MAX_EVENT_BYTES} bytes").into(),
            );
        }
        match &mut self.event {
            Event::MonitorWait(e) => e.stack.push(frame),
            Event::MonitorWaited(e) => e.stack.push(frame),
            Event::MonitorContendedEnter(e) => e.stack.push(frame),
            Event::MonitorContendedEntered(e) => e.stack.push(frame),
            _ => {}
        }
        Ok(())
    }
}

/// Returns a copy of the event without its frames. Returns `None` for kinds of events that have no
/// frames.
fn without_stack(event: &Event<'_>) -> Option<Event<'static>> {
    let stack = Vec::new();
    Some(match *event {
        Event::MonitorWait(MonitorWait {
            thread,
            time,
            object,
            timeout_ms,
            ..
        }) => Event::MonitorWait(MonitorWait {
            thread,
            time,
            object,
            timeout_ms,
            stack,
        }),
        Event::MonitorWaited(MonitorWaited {
            thread,
            time,
            object,
            timed_out,
            ..
        }) => Event::MonitorWaited(MonitorWaited {
            thread,
            time,
            object,
            timed_out,
            stack,
        }),
        Event::MonitorContendedEnter(MonitorContendedEnter {
            thread,
            time,
            object,
            owner,
            ..
        }) => {
            let e = MonitorContendedEnter {
                thread,
                time,
                object,
                owner,
                stack,
            };
            Event::MonitorContendedEnter(e)
        }
        Event::MonitorContendedEntered(MonitorContendedEntered {
            thread,
            time,
            object,
            ..
        }) => Event::MonitorContendedEntered(MonitorContendedEntered {
            thread,
            time,
            object,
            stack,
        }),
        _ => return None,
    })
}

/// Reads an annotation. Returns `Ok(None)` if the annotation is not a frame.
fn frame<'a>(
    tally: &mut RemarkTally<Remarked>,
    offset: u64,
    attributes: impl Iterator<Item = Attribute<'a>>,
) -> Result<Option<Frame<'static>>, &'static str> {
    let mut frame = Frame::default();
    let mut is_frame = false;
    for Attribute { name, value } in attributes {
        match name {
            "key" => is_frame = value == STACK_FRAME,
            "value" => frame.method = names::frame_from_xml(&value).into_owned().into(),
            "line" => frame.line = Value::read(value).ok_or("line")?,
            _ => remarks(tally, ANNOTATION, offset).add(Remarked::UnknownAttribute, name),
        }
    }
    if !is_frame {
        unknown_element(tally, ANNOTATION, offset);
    }
    Ok(is_frame.then_some(frame))
}

/// Returns the tally for remarks on the element called `element`.
fn remarks<'t>(tally: &'t mut RemarkTally<Remarked>, element: &'t str, offset: u64) -> Remarks<'t> {
    Remarks {
        tally,
        element,
        offset,
    }
}

/// Counts an element that the format does not have, or not at this place.
fn unknown_element(tally: &mut RemarkTally<Remarked>, name: &str, offset: u64) {
    tally.add_named(Remarked::UnknownElement, ("", name), offset, 1);
}

fn fault<'a>(element: &str, attribute: &str, offset: u64) -> Step<'a> {
    let message = format!("skipped: {element}: the value of {attribute} is not of its type");
    Step::Remark(Remark {
        offset,
        severity: Severity::Fault,
        message,
    })
}
