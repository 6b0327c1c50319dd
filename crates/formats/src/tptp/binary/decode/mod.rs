//! Decoder: binary messages to events.

pub(super) mod remarks;
mod system;

use super::value::{Fields, Spelling};
use super::wire::{ENCODING, FREQUENCY, HEADER_SIZE, LAST_ID, MAJOR, MESSAGE_HEAD, NANOSECONDS};
use super::{FORMAT, MAGIC, call, message};
use crate::tally::RemarkTally;
use crate::tptp::{MAX_EVENT_BYTES, custom};
use crate::{Decode, DecodeError, Decoded, Remark, Severity, Step};
use remarks::Remarked;
use system::System;

/// Decodes the binary stream, in both byte orders, with any tick and any minor version.
#[derive(Debug, Default)]
pub struct Decoder {
    /// Offset of the next step's input, from the start of the trace.
    offset: u64,
    state: State,
    spelling: Spelling,
    minor: u8,
    encoding_seen: bool,
    frequency_seen: bool,
    remarks: RemarkTally<Remarked>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Header,
    /// Before the first data message.
    System,
    /// From the first data message on.
    Data,
    /// After the first data message, in a stream encoded like ours: calls may take the fast path.
    OwnData,
    /// Inside of skipped bytes; the state `then` follows.
    Skip {
        left: u64,
        what: Skipped,
        then: Box<State>,
    },
    /// The input is complete: the remarks follow, and then the result.
    Ending(Result<(), DecodeError>),
}

#[derive(Clone, Copy, Debug)]
enum Skipped {
    /// Bytes between the header and the data.
    Gap,
    /// A message of an unknown id, with its offset.
    Unknown(u16, u64),
    /// A message above the maximum size, with its offset.
    Large(u16, u64),
}

impl Decode for Decoder {
    #[inline]
    fn step<'a>(&mut self, input: &'a [u8], last: bool) -> Result<Decoded<'a>, DecodeError> {
        if let State::OwnData = self.state
            && let Some((event, used)) = call::take(input)
        {
            self.offset += used as u64;
            return Ok(Decoded {
                used,
                step: Step::Event(event),
            });
        }
        let decoded = self.any(input, last)?;
        self.offset += decoded.used as u64;
        Ok(decoded)
    }
}

impl Decoder {
    fn any<'a>(&mut self, input: &'a [u8], last: bool) -> Result<Decoded<'a>, DecodeError> {
        match &mut self.state {
            State::Header => Ok(self.header(input, last)),
            State::Skip { .. } => Ok(self.skip(input, last)),
            State::Ending(_) => self.ending(),
            State::System | State::Data | State::OwnData => match input {
                [] if last => {
                    self.state = State::Ending(Ok(()));
                    self.ending()
                }
                [a, b, ..] => Ok(self.message(self.spelling.short([*a, *b]), input, last)),
                _ => Ok(self.more(input, last)),
            },
        }
    }

    fn header<'a>(&mut self, input: &'a [u8], last: bool) -> Decoded<'a> {
        let magic = &input[..input.len().min(MAGIC.len())];
        if !MAGIC.starts_with(magic) {
            return self.refuse(0, "the first bytes are not 0TBF".into());
        }
        let Some(&header) = input.first_chunk::<HEADER_SIZE>() else {
            return if last {
                self.refuse(0, "the file is shorter than its header of 12 bytes".into())
            } else {
                more()
            };
        };
        let [_, _, _, _, major, minor, platform, order, o0, o1, o2, o3] = header;
        if major != MAJOR {
            return self.refuse(4, format!("major version {major}: only {MAJOR} is known"));
        }
        if order > 1 {
            return self.refuse(
                7,
                format!("byte order {order}: neither 0 (big) nor 1 (little)"),
            );
        }
        self.minor = minor;
        self.spelling.big_endian = order == 0;
        let offset = self.spelling.integer([o0, o1, o2, o3]);
        let Some(gap) = u64::from(offset).checked_sub(HEADER_SIZE as u64) else {
            return self.refuse(
                8,
                format!("the data start at byte {offset}, inside the header"),
            );
        };
        self.state = match gap {
            0 => State::System,
            _ => self.skipping(gap, Skipped::Gap, State::System),
        };
        if platform > 1 {
            let message = format!("platform {platform}: neither 0 (32 bit) nor 1 (64 bit)");
            return remark(HEADER_SIZE, 6, Severity::Fault, message);
        }
        Decoded {
            used: HEADER_SIZE,
            step: Step::Nothing,
        }
    }

    /// Reads the message at the start of `input`, whose id is `id`.
    fn message<'a>(&mut self, id: u16, input: &'a [u8], last: bool) -> Decoded<'a> {
        match id {
            ENCODING => return self.encoding(input, last),
            FREQUENCY => return self.frequency(input, last),
            _ => {}
        }
        if id > LAST_ID {
            return self.refuse(
                0,
                format!("message id {id}: the last one possible is {LAST_ID}"),
            );
        }
        let Some(&size) = input.get(2..).and_then(<[u8]>::first_chunk) else {
            return self.more(input, last);
        };
        let size = self.spelling.integer(size) as usize;
        if size < MESSAGE_HEAD {
            let message = format!("a message of {size} bytes: none is shorter than {MESSAGE_HEAD}");
            return self.refuse(0, message);
        }
        let name = message::name(id);
        if name.is_none() || size > MAX_EVENT_BYTES {
            let what = match name {
                None => Skipped::Unknown(id, self.offset),
                Some(_) => Skipped::Large(id, self.offset),
            };
            let then = std::mem::take(&mut self.state);
            self.state = self.skipping((size - MESSAGE_HEAD) as u64, what, then);
            return Decoded {
                used: MESSAGE_HEAD,
                step: Step::Nothing,
            };
        }
        let Some(body) = input.get(MESSAGE_HEAD..size) else {
            return self.more(input, last);
        };
        if let State::System = self.state {
            let own = !self.spelling.big_endian && self.spelling.frequency == NANOSECONDS;
            self.state = if own { State::OwnData } else { State::Data };
        }
        let mut fields = Fields::new(body, self.spelling);
        let fault = match message::take(id, &mut fields) {
            Ok(Some(event)) if fields.left() == 0 || self.minor > 0 => {
                for (found, kind) in [
                    (fields.skipped, Remarked::UnusedFields),
                    (fields.left() > 0, Remarked::FurtherBytes),
                ] {
                    if found {
                        let name = name.unwrap_or_default();
                        self.remarks.add_named(kind, (name, ""), self.offset, 1);
                    }
                }
                return Decoded {
                    used: size,
                    step: Step::Event(custom::unwrapped(event)),
                };
            }
            Ok(_) => format!("{} bytes are left after the last field", fields.left()),
            Err((field, fault)) => format!("{}: {fault}", field.replace('_', " ")),
        };
        let message = format!("skipped: {} ({id}): {fault}", name.unwrap_or_default());
        remark(size, self.offset, Severity::Fault, message)
    }

    fn encoding<'a>(&mut self, input: &'a [u8], last: bool) -> Decoded<'a> {
        let (name, used) = match system::encoding(input, self.spelling, last) {
            System::Whole(name, used) => (name, used),
            System::Part => return self.more(input, last),
            System::Wrong(bytes) => {
                let name = bytes.escape_ascii();
                return self.refuse(2, format!("\"{name}\" is no name of an encoding"));
            }
        };
        if let Some(fault) = self.misplaced(ENCODING, self.encoding_seen, used) {
            return fault;
        }
        self.encoding_seen = true;
        match system::charset(name) {
            Ok(charset) => self.spelling.charset = charset,
            Err(message) => return self.refuse(0, message),
        }
        if self.frequency_seen {
            let message = "message 1 comes after message 2".into();
            return remark(used, self.offset, Severity::Fault, message);
        }
        Decoded {
            used,
            step: Step::Nothing,
        }
    }

    fn frequency<'a>(&mut self, input: &'a [u8], last: bool) -> Decoded<'a> {
        let (ticks, used) = match system::frequency(input, self.spelling) {
            System::Whole(ticks, used) => (ticks, used),
            System::Part | System::Wrong(_) => return self.more(input, last),
        };
        if let Some(fault) = self.misplaced(FREQUENCY, self.frequency_seen, used) {
            return fault;
        }
        self.frequency_seen = true;
        if ticks <= 0 {
            return self.refuse(0, format!("{ticks} ticks a second: no time can be read"));
        }
        self.spelling.frequency = ticks;
        Decoded {
            used,
            step: Step::Nothing,
        }
    }

    /// Returns the remark on a misplaced system message, which is skipped.
    fn misplaced<'a>(&self, id: u16, seen: bool, used: usize) -> Option<Decoded<'a>> {
        let message = match self.state {
            State::System if !seen => return None,
            State::System => format!("skipped: message {id}: it is repeated"),
            _ => format!("skipped: message {id}: it comes after the first data message"),
        };
        Some(remark(used, self.offset, Severity::Fault, message))
    }

    fn skipping(&self, left: u64, what: Skipped, then: State) -> State {
        State::Skip {
            left,
            what,
            then: Box::new(then),
        }
    }

    fn skip<'a>(&mut self, input: &'a [u8], last: bool) -> Decoded<'a> {
        let State::Skip { left, what, then } = &mut self.state else {
            return more();
        };
        let used = usize::try_from(*left)
            .unwrap_or(usize::MAX)
            .min(input.len());
        *left -= used as u64;
        let (left, what) = (*left, *what);
        if left > 0 {
            return match what {
                _ if !last && used == 0 => more(),
                _ if !last => Decoded {
                    used,
                    step: Step::Nothing,
                },
                Skipped::Gap => {
                    self.refuse_place(8, "the data start after the end of the file".into())
                }
                Skipped::Unknown(_, start) | Skipped::Large(_, start) => {
                    self.truncated(start, input)
                }
            };
        }
        self.state = std::mem::take(&mut **then);
        match what {
            Skipped::Gap => Decoded {
                used,
                step: Step::Nothing,
            },
            Skipped::Unknown(id, start) => {
                let names = ("", &*id.to_string());
                self.remarks.add_named(Remarked::UnknownId, names, start, 1);
                Decoded {
                    used,
                    step: Step::Nothing,
                }
            }
            Skipped::Large(id, start) => {
                let name = message::name(id).unwrap_or_default();
                let message =
                    format!("skipped: {name} ({id}): it is larger than {MAX_EVENT_BYTES} bytes");
                remark(used, start, Severity::Fault, message)
            }
        }
    }

    /// Waits for the rest of a message, or ends the trace as truncated if `last` is true.
    fn more<'a>(&mut self, input: &'a [u8], last: bool) -> Decoded<'a> {
        if last {
            self.truncated(self.offset, input)
        } else {
            more()
        }
    }

    fn truncated<'a>(&mut self, start: u64, input: &'a [u8]) -> Decoded<'a> {
        self.state = State::Ending(Ok(()));
        let message = "the trace is truncated inside a message".into();
        remark(input.len(), start, Severity::Truncated, message)
    }

    /// Refuses the trace because of byte `at` of the input.
    fn refuse<'a>(&mut self, at: u64, message: String) -> Decoded<'a> {
        self.refuse_place(self.offset + at, message)
    }

    /// Refuses the trace because of byte `offset` of the trace.
    fn refuse_place<'a>(&mut self, offset: u64, message: String) -> Decoded<'a> {
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
        if let Some(Remark {
            offset,
            severity,
            message,
        }) = self.remarks.pop()
        {
            return Ok(remark(0, offset, severity, message));
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

fn more<'a>() -> Decoded<'a> {
    Decoded {
        used: 0,
        step: Step::NeedMore,
    }
}

fn remark<'a>(used: usize, offset: u64, severity: Severity, message: String) -> Decoded<'a> {
    Decoded {
        used,
        step: Step::Remark(Remark {
            offset,
            severity,
            message,
        }),
    }
}
