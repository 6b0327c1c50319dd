//! The decoder: the parts of the document.

use super::FORMAT;
use super::nest::{Entry, Kind, NO_NAME};
use super::record::Record;
use super::scan::Scan;
use super::threads::Threads;
use crate::tally::{RemarkTally, corrupt, kinds, odd, skipped};
use crate::{Decode, DecodeError, Decoded, Remark, RemarkKind, Severity, Step};
use jtrail_model::Event;
use std::borrow::Cow;
use std::collections::VecDeque;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

kinds! {
    /// What a decoder remarks on.
    pub(crate) enum Remarked: RemarkKind {
        Type = skipped("all", "events of type {}"),
        Metadata = skipped("M", "metadata {}"),
        Corrupt = corrupt("all", "elements that are no trace events"),
        Fields = corrupt("B, E, X", "events without a time, a length or a name"),
        Length = odd("X", "lengths below 0, read as 0"),
        Text = odd("all", "texts that are not UTF-8"),
        Ends = skipped("E", "ends without a begin"),
        Overlaps = odd("B, X", "slices that do not nest, and end with the slice around them"),
    }
}

/// Decodes trace events.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    offset: u64,
    state: State,
    /// Looks for the end of the current value, of which `scanned` bytes are known.
    scan: Scan,
    scanned: usize,
    is_object: bool,
    has_events: bool,
    threads: Threads,
    queue: VecDeque<Event<'static>>,
    remarks: RemarkTally<Remarked>,
    failure: Option<Remark>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum State {
    /// Before the document.
    #[default]
    Start,
    /// Before a key of the object, or its end.
    Key,
    /// In a value that is skipped.
    Skipping,
    /// Before an element of the array, or its end.
    Elements,
    /// After the document.
    After,
    /// All events are known.
    Sorted,
    Ending,
}

/// Returns true if trace events may begin with `head`.
pub(crate) fn is_begin(head: &[u8]) -> bool {
    let mut rest = head.iter().filter(|byte| !byte.is_ascii_whitespace());
    match (rest.next(), rest.next()) {
        (Some(b'['), next) => matches!(next, Some(b'{' | b']')),
        (Some(b'{'), next) => matches!(next, Some(b'"' | b'}')),
        _ => false,
    }
}

/// Returns the number of bytes of white space and commas.
fn blank(input: &[u8]) -> usize {
    let is_blank = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',';
    input.iter().take_while(|byte| is_blank(byte)).count()
}

impl Decoder {
    fn any(&mut self, input: &[u8], last: bool) -> Result<(usize, Step<'static>), DecodeError> {
        if let Some(event) = self.queue.pop_front() {
            return Ok((0, Step::Event(event)));
        }
        match self.state {
            State::Sorted => {
                if !self.threads.next_call(&mut self.queue) {
                    self.end();
                }
                return Ok((0, Step::Nothing));
            }
            State::Ending => return Ok((0, self.remark().map_or(Step::End, Step::Remark))),
            _ => {}
        }
        let skipped = match self.state {
            State::Start if input.starts_with(BYTE_ORDER_MARK) => BYTE_ORDER_MARK.len(),
            State::Start if BYTE_ORDER_MARK.starts_with(input) && !last => {
                return Ok((0, Step::NeedMore));
            }
            State::Skipping => 0,
            _ if self.scanned > 0 => 0,
            _ => blank(input),
        };
        if skipped > 0 {
            return Ok((skipped, Step::Nothing));
        }
        match (input, last) {
            ([], false) => Ok((0, Step::NeedMore)),
            ([], true) => self.end_of_input(),
            _ => self.part(input, last),
        }
    }

    /// Reads a part of the document. The input does not begin with a blank.
    fn part(&mut self, input: &[u8], last: bool) -> Result<(usize, Step<'static>), DecodeError> {
        match self.state {
            State::Start => {
                self.is_object = input[0] == b'{';
                self.state = if self.is_object {
                    State::Key
                } else {
                    State::Elements
                };
                self.has_events |= !self.is_object;
                Ok((1, Step::Nothing))
            }
            State::Key if input[0] == b'}' => {
                self.state = State::After;
                Ok((1, Step::Nothing))
            }
            State::Key => self.key(input, last),
            State::Skipping => {
                let (used, is_whole) = self.scan.next(input);
                if is_whole {
                    self.scan = Scan::default();
                    self.state = State::Key;
                }
                Ok((used, Step::Nothing))
            }
            State::Elements if input[0] == b']' && self.scanned == 0 => {
                self.state = if self.is_object {
                    State::Key
                } else {
                    State::After
                };
                Ok((1, Step::Nothing))
            }
            State::Elements => Ok(self.element(input, last)),
            _ => {
                self.fail(Severity::Fault, "something follows the end of the document");
                Ok((input.len(), Step::Nothing))
            }
        }
    }

    /// Reads a key of the object, up to the begin of its value.
    fn key(&mut self, input: &[u8], last: bool) -> Result<(usize, Step<'static>), DecodeError> {
        if input[0] != b'"' {
            return self.no_json(input);
        }
        let (end, is_whole) = Scan::default().next(input);
        let after = input[end..]
            .iter()
            .position(|byte| !byte.is_ascii_whitespace());
        let Some((at, true)) = after.map(|at| (end + at, is_whole)) else {
            return match last {
                true => self.end_of_input().map(|(_, step)| (input.len(), step)),
                false => Ok((0, Step::NeedMore)),
            };
        };
        if input[at] != b':' {
            return self.no_json(input);
        }
        let value = input[at + 1..]
            .iter()
            .position(|byte| !byte.is_ascii_whitespace());
        let Some(value) = value.map(|value| at + 1 + value) else {
            return match last {
                true => self.end_of_input().map(|(_, step)| (input.len(), step)),
                false => Ok((0, Step::NeedMore)),
            };
        };
        if &input[..end] == b"\"traceEvents\"" && input[value] == b'[' {
            self.has_events = true;
            self.state = State::Elements;
            return Ok((value + 1, Step::Nothing));
        }
        if b",}]:".contains(&input[value]) {
            return self.no_json(input);
        }
        self.state = State::Skipping;
        Ok((value, Step::Nothing))
    }

    /// Reads an element of the array.
    fn element(&mut self, input: &[u8], last: bool) -> (usize, Step<'static>) {
        let (more, is_whole) = self.scan.next(&input[self.scanned..]);
        let used = self.scanned + more;
        if !is_whole && !last {
            self.scanned = used;
            return (0, Step::NeedMore);
        }
        (self.scan, self.scanned) = (Scan::default(), 0);
        if !is_whole {
            self.fail(Severity::Truncated, "the document is truncated");
            return (input.len(), Step::Nothing);
        }
        // A stray byte is an element of its own, so that each step uses some.
        self.record(&input[..used]);
        (used.max(1), Step::Nothing)
    }

    fn record(&mut self, json: &[u8]) {
        let text = String::from_utf8_lossy(json);
        let is_odd = matches!(text, Cow::Owned(_));
        self.remarks.add_if(is_odd, Remarked::Text, self.offset);
        let Some(record) = Record::read(&text) else {
            self.remarks.add(Remarked::Corrupt, self.offset);
            return;
        };
        let kind = match &*record.ph {
            "B" => Kind::Begin,
            "E" => Kind::End,
            "X" => Kind::Whole,
            "M" => return self.metadata(&record),
            "" => return self.remarks.add(Remarked::Corrupt, self.offset),
            other => {
                let named = ("", other);
                return self
                    .remarks
                    .add_named(Remarked::Type, named, self.offset, 1);
            }
        };
        let name = match (record.name(), kind) {
            (Some(name), _) => Some(self.threads.name(&name)),
            (None, Kind::End) => Some(NO_NAME),
            (None, _) => None,
        };
        let duration = match kind {
            Kind::Whole => record.duration(),
            _ => Some(0),
        };
        let (Some(time), Some(name), Some(duration)) = (record.time(), name, duration) else {
            self.remarks.add(Remarked::Fields, self.offset);
            return;
        };
        self.remarks
            .add_if(duration < 0, Remarked::Length, self.offset);
        let (process, thread) = record.thread();
        self.threads.nest(&process, &thread).add(Entry {
            time,
            name,
            kind,
            duration: duration.max(0),
        });
    }

    fn metadata(&mut self, record: &Record<'_>) {
        let (process, thread) = record.thread();
        let what = record.name().unwrap_or_default();
        match (&*what, record.named()) {
            ("thread_name", Some(name)) => {
                self.threads
                    .name_thread((&*process, &*thread), name.into_owned());
            }
            ("process_name", Some(name)) => {
                self.threads.name_process(&process, name.into_owned());
            }
            _ => self
                .remarks
                .add_named(Remarked::Metadata, ("", &what), self.offset, 1),
        }
    }

    fn end_of_input(&mut self) -> Result<(usize, Step<'static>), DecodeError> {
        if self.failure.is_none() && !self.has_events {
            return Err(self.error("the JSON document has no traceEvents"));
        }
        let is_complete = match self.state {
            State::After => true,
            State::Elements => !self.is_object,
            _ => false,
        };
        if !is_complete {
            self.fail(Severity::Truncated, "the document is truncated");
        }
        self.state = State::Sorted;
        self.threads.sort(&mut self.queue);
        Ok((0, Step::Nothing))
    }

    fn error(&self, message: &str) -> DecodeError {
        DecodeError {
            format: FORMAT,
            offset: self.offset,
            message: message.to_owned(),
        }
    }

    fn no_json(&mut self, input: &[u8]) -> Result<(usize, Step<'static>), DecodeError> {
        if !self.has_events {
            return Err(self.error("it is no JSON"));
        }
        self.fail(Severity::Fault, "what follows is no JSON");
        Ok((input.len(), Step::Nothing))
    }

    /// Notes why the rest of the document can't be read. The first reason counts.
    fn fail(&mut self, severity: Severity, message: &str) {
        self.state = State::After;
        let offset = self.offset;
        self.failure.get_or_insert_with(|| Remark {
            offset,
            severity,
            message: message.to_owned(),
        });
    }

    fn end(&mut self) {
        self.state = State::Ending;
        let odd = self.threads.oddities();
        self.remarks.add_many(Remarked::Ends, self.offset, odd.ends);
        self.remarks
            .add_many(Remarked::Overlaps, self.offset, odd.overlaps);
    }

    /// Returns the next remark at the end.
    fn remark(&mut self) -> Option<Remark> {
        self.remarks.pop().or_else(|| self.failure.take())
    }
}

impl Decode for Decoder {
    fn step<'a>(&mut self, input: &'a [u8], last: bool) -> Result<Decoded<'a>, DecodeError> {
        let (used, step) = self.any(input, last)?;
        self.offset += used as u64;
        Ok(Decoded { used, step })
    }
}
