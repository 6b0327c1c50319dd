//! XML elements to events.

use super::element::Remarks as _;
use super::scan::{Attribute, Markup, Scanner, Tag, Wrong, white_space};
use super::tally::Tally;
use super::value::Value;
use super::{FORMAT, call, element, names};
use crate::tptp::{LARGEST_EVENT, custom};
use crate::{Decode, DecodeError, Decoded, Remark, Severity, Step};
use jtrail_model::{
    Event, Frame, MonitorContendedEnter, MonitorContendedEntered, MonitorWait, MonitorWaited,
};
use std::borrow::Cow;

/// Elements that may be open inside of each other, the root not counted.
const DEEPEST: usize = 32;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
const ROOT: &str = "TRACE";

/// Reads the XML document: ours, and those of older agents.
#[derive(Debug, Default)]
pub struct Decoder {
    /// Where the input of the next step starts, from the begin of the trace.
    offset: u64,
    state: State,
    scanner: Scanner,
    /// Bytes of the input that hold no end of a tag, as the last step found.
    searched: usize,
    /// Elements that are open inside of the root.
    open: Vec<String>,
    /// What the outermost of them is.
    outer: Outer,
    tally: Tally,
    /// Id of the trace, which filters belong to; their own element does not say it.
    trace_id: String,
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
    /// Nothing more to read: what was counted is told, and then how it ended.
    Ending(Result<(), DecodeError>),
}

/// What an element right inside of the root is.
#[derive(Debug, Default)]
enum Outer {
    /// Passed over, with all that is in it.
    #[default]
    Passed,
    /// An event that was handed out.
    Done,
    /// An event that takes frames until its end.
    Pending(Pending),
}

#[derive(Debug)]
struct Pending {
    event: Event<'static>,
    start: u64,
    /// Bytes of its frames so far.
    size: usize,
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
    #[inline]
    fn any<'a>(&mut self, input: &'a [u8], last: bool) -> Result<Decoded<'a>, DecodeError> {
        match self.state {
            State::Inside if self.open.is_empty() => match call::take(input) {
                Some((event, used)) => Ok(Decoded {
                    used,
                    step: Step::Event(event),
                }),
                None => Ok(self.markup(input, last)),
            },
            State::Ending(_) => self.ending(),
            State::Start => {
                let head = &input[..input.len().min(BYTE_ORDER_MARK.len())];
                let used = match BYTE_ORDER_MARK.strip_prefix(head) {
                    Some([]) => head.len(),
                    Some(_) if !last => return Ok(more()),
                    _ => 0,
                };
                self.state = State::Declaration;
                Ok(Decoded {
                    used,
                    step: Step::Nothing,
                })
            }
            _ => Ok(self.markup(input, last)),
        }
    }

    fn markup<'a>(&mut self, input: &'a [u8], last: bool) -> Decoded<'a> {
        let space = white_space(input);
        let rest = &input[space..];
        if space > 0 && matches!(self.state, State::Declaration) {
            self.state = State::Prolog;
        }
        if rest.is_empty() {
            return match (last, space) {
                (true, _) => self.end_of_input(input, space),
                (false, 0) => more(),
                (false, used) => Decoded {
                    used,
                    step: Step::Nothing,
                },
            };
        }
        // A tag that comes in many pieces is not looked at before its end may be there.
        let unsearched = &rest[self.searched.min(rest.len())..];
        let scanned = if last || rest[0] != b'<' || unsearched.contains(&b'>') {
            self.scanner.scan(rest)
        } else {
            Ok(None)
        };
        match scanned {
            Err(Wrong { at, message }) => self.refuse(space + at, message),
            Ok(Some((_, size))) if size > LARGEST_EVENT => self.too_large(space),
            Ok(Some((markup, size))) => {
                let step = self.take(markup, space);
                match step {
                    Ok(step) => Decoded {
                        used: space + size,
                        step,
                    },
                    Err(message) => self.refuse(space, message),
                }
            }
            Ok(None) if rest.len() > LARGEST_EVENT => self.too_large(space),
            Ok(None) if last => self.end_of_input(input, space),
            Ok(None) if space > 0 => Decoded {
                used: space,
                step: Step::Nothing,
            },
            Ok(None) => {
                self.searched = rest.len();
                more()
            }
        }
    }

    /// Takes a piece of markup that starts `at` bytes behind the last place.
    fn take<'a>(&mut self, markup: Markup<'a>, at: usize) -> Result<Step<'a>, Cow<'static, str>> {
        let declaration = matches!(self.state, State::Declaration);
        if declaration {
            self.state = State::Prolog;
        }
        let offset = self.offset + at as u64;
        match (markup, &self.state) {
            (Markup::Declaration { text }, _) if declaration => self.declaration(text)?,
            (Markup::Declaration { .. }, _) => {
                return Err("a declaration that is not at the begin".into());
            }
            (Markup::Passed, _) => {}
            (Markup::Start(tag), State::Prolog) => {
                if tag.name != ROOT {
                    return Err("the root is not TRACE".into());
                }
                self.state = if tag.empty {
                    State::After
                } else {
                    State::Inside
                };
                let mut remarks = self.tally.element(ROOT, offset);
                let attributes = self.scanner.attributes(tag.text);
                attributes.for_each(|attribute| remarks.unknown(attribute.name));
            }
            (Markup::Start(tag), State::Inside) => return self.start(tag, offset),
            (Markup::End { name }, State::Inside) => return self.end(name),
            _ => return Err("only one TRACE is allowed, and nothing outside of it".into()),
        }
        Ok(Step::Nothing)
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
                return Err(format!("{name}={value:?} is not known in a declaration").into());
            }
        }
        Ok(())
    }

    fn start<'a>(&mut self, tag: Tag<'a>, offset: u64) -> Result<Step<'a>, Cow<'static, str>> {
        let Tag { text, name, empty } = tag;
        let depth = self.open.len();
        if !empty {
            if depth == DEEPEST {
                return Err(format!("elements nest deeper than {DEEPEST}").into());
            }
            self.open.push(name.to_owned());
        }
        match (depth, &mut self.outer) {
            (0, _) => return Ok(self.event(tag, offset)),
            (1, Outer::Pending(pending)) if name == "annotation" => {
                match frame(&mut self.tally, offset, self.scanner.attributes(text)) {
                    Ok(Some(frame)) => pending.push(frame)?,
                    Ok(None) => {}
                    Err(attribute) => return Ok(fault(name, attribute, offset)),
                }
            }
            (1, Outer::Pending(_) | Outer::Done) => self.tally.unknown_element(name, offset),
            // Inside of what is passed over.
            _ => {}
        }
        Ok(Step::Nothing)
    }

    /// Takes an element right inside of the root.
    fn event<'a>(&mut self, tag: Tag<'a>, offset: u64) -> Step<'a> {
        let Tag { text, name, empty } = tag;
        self.outer = Outer::Passed;
        let attributes = self.scanner.attributes(text);
        let mut event = match element::read(name, attributes, &mut self.tally.element(name, offset))
        {
            Ok(Some(event)) => custom::unwrapped(event),
            Ok(None) => {
                self.tally.unknown_element(name, offset);
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
        let expected = open.as_deref().unwrap_or(ROOT);
        if name != expected {
            return Err(format!("an end tag that does not close {}", cut(expected)).into());
        }
        if open.is_none() {
            self.state = State::After;
        }
        if !self.open.is_empty() {
            return Ok(Step::Nothing);
        }
        match std::mem::take(&mut self.outer) {
            Outer::Pending(pending) => Ok(Step::Event(pending.event)),
            Outer::Done | Outer::Passed => Ok(Step::Nothing),
        }
    }

    /// The trace is over, or breaks off in what starts behind `space`.
    fn end_of_input<'a>(&mut self, input: &'a [u8], space: usize) -> Decoded<'a> {
        let whole = space == input.len() && matches!(self.state, State::After);
        self.state = State::Ending(Ok(()));
        if whole {
            return Decoded {
                used: input.len(),
                step: Step::Nothing,
            };
        }
        let offset = match &self.outer {
            Outer::Pending(pending) => pending.start,
            Outer::Done | Outer::Passed => self.offset + space as u64,
        };
        let message = "the trace breaks off: </TRACE> is missing".into();
        let remark = Remark {
            offset,
            severity: Severity::Truncated,
            message,
        };
        Decoded {
            used: input.len(),
            step: Step::Remark(remark),
        }
    }

    fn too_large<'a>(&mut self, at: usize) -> Decoded<'a> {
        self.refuse(
            at,
            format!("one element is larger than {LARGEST_EVENT} bytes").into(),
        )
    }

    /// Gives up at `at` bytes into the input.
    fn refuse<'a>(&mut self, at: usize, message: Cow<'static, str>) -> Decoded<'a> {
        let offset = self.offset + at as u64;
        let message = message.into_owned();
        self.state = State::Ending(Err(DecodeError {
            format: FORMAT,
            offset,
            message,
        }));
        Decoded {
            used: 0,
            step: Step::Nothing,
        }
    }

    fn ending<'a>(&mut self) -> Result<Decoded<'a>, DecodeError> {
        if let Some(remark) = self.tally.pop() {
            return Ok(Decoded {
                used: 0,
                step: Step::Remark(remark),
            });
        }
        match &self.state {
            State::Ending(Err(error)) => Err(error.clone()),
            _ => Ok(Decoded {
                used: 0,
                step: Step::End,
            }),
        }
    }
}

impl Pending {
    fn push(&mut self, frame: Frame<'static>) -> Result<(), Cow<'static, str>> {
        self.size += frame.method.len() + size_of::<Frame<'_>>();
        if self.size > LARGEST_EVENT {
            return Err(
                format!("the frames of one event are larger than {LARGEST_EVENT} bytes").into(),
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

/// The event as one that can wait for its frames; `None` when it has none.
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

/// Reads an annotation. `Ok(None)`: it is about something else than a frame.
fn frame<'a>(
    tally: &mut Tally,
    offset: u64,
    attributes: impl Iterator<Item = Attribute<'a>>,
) -> Result<Option<Frame<'static>>, &'static str> {
    let mut frame = Frame::default();
    let mut is_frame = false;
    for Attribute { name, value } in attributes {
        match name {
            "key" => is_frame = value == "stackFrame",
            "value" => frame.method = names::frame_from_xml(&value).into_owned().into(),
            "line" => frame.line = Value::read(value).ok_or("line")?,
            _ => tally.element("annotation", offset).unknown(name),
        }
    }
    if !is_frame {
        tally.unknown_element("annotation", offset);
    }
    Ok(is_frame.then_some(frame))
}

fn fault<'a>(element: &str, attribute: &str, offset: u64) -> Step<'a> {
    let message = format!("{element} is passed over: the value of {attribute} is none of its type");
    Step::Remark(Remark {
        offset,
        severity: Severity::Fault,
        message,
    })
}

fn more<'a>() -> Decoded<'a> {
    Decoded {
        used: 0,
        step: Step::NeedMore,
    }
}

fn cut(name: &str) -> String {
    name.chars().take(80).collect()
}
