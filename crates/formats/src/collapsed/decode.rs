//! Decoder: lines to events.

use crate::definitions::Definitions;
use crate::tally::{RemarkTally, corrupt, kinds, odd, skipped};
use crate::{Decode, DecodeError, Decoded, RemarkKind, Step};
use jtrail_model::{
    AggregatedEnter, AggregatedLeave, Duration, Event, MethodId, ThreadId, Timestamp,
};
use std::collections::VecDeque;

/// Maximum length of a line in bytes.
const MAX_LINE: usize = 16 << 20;
/// Maximum number of frames in a line.
const MAX_FRAMES: usize = 1 << 16;
/// The thread of paths without one.
const ALL_THREADS: &str = "all threads";

kinds! {
    /// What a decoder remarks on.
    pub(crate) enum Remarked: RemarkKind {
        Number = corrupt("all", "lines without a number"),
        Long = corrupt("all", "lines above 16 MiB"),
        Deep = corrupt("all", "lines with more than 65,536 frames"),
        Thread = skipped("all", "figures of threads outside of calls"),
        Fraction = odd("all", "fractions of numbers, which were cut off"),
        Huge = odd("all", "numbers above 63 bits, read as the largest"),
        Text = odd("all", "texts with NUL or not in UTF-8"),
    }
}

/// Decodes collapsed stacks.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    offset: u64,
    state: State,
    thread: ThreadId,
    /// The open calls, outermost first.
    open: Vec<MethodId>,
    path: Vec<MethodId>,
    definitions: Definitions,
    queue: VecDeque<Event<'static>>,
    remarks: RemarkTally<Remarked>,
}

#[derive(Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Start,
    Lines,
    /// In the rest of a line that is too long.
    Skipping,
    Ending,
}

/// Returns true if collapsed stacks may begin with `head`. `last` is true if the first line need
/// not be complete.
pub(crate) fn is_begin(head: &[u8], last: bool) -> bool {
    let head = head.trim_ascii_start();
    let (line, is_whole) = match head.iter().position(|byte| *byte == b'\n') {
        Some(end) => (&head[..end], true),
        None => (head, false),
    };
    if line.is_empty()
        || line
            .iter()
            .any(|byte| byte.is_ascii_control() && !b"\t\r".contains(byte))
    {
        return false;
    }
    if is_whole || (last && head.len() < crate::import::MAX_DETECT_BYTES) {
        split(line.trim_ascii_end()).is_some()
    } else {
        last && line.contains(&b';')
    }
}

/// Splits a line into the path and the number.
fn split(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let blank = line.iter().rposition(|byte| byte.is_ascii_whitespace())?;
    let (path, number) = (line[..blank].trim_ascii_end(), &line[blank + 1..]);
    let (whole, fraction) = match number.iter().position(|byte| *byte == b'.') {
        Some(dot) => (&number[..dot], &number[dot + 1..]),
        None => (number, &number[..0]),
    };
    let are_digits = |text: &[u8]| text.iter().all(u8::is_ascii_digit);
    (!path.is_empty() && !whole.is_empty() && are_digits(whole) && are_digits(fraction))
        .then_some((path, number))
}

impl Decoder {
    fn line(&mut self, line: &[u8]) {
        let line = line.trim_ascii();
        if line.is_empty() {
            return;
        }
        let Some((path, number)) = split(line) else {
            self.remarks.add(Remarked::Number, self.offset);
            return;
        };
        let number = self.number(number);
        let mut path = String::from_utf8_lossy(path);
        let is_odd = matches!(path, std::borrow::Cow::Owned(_)) || path.contains('\0');
        if is_odd {
            self.remarks.add(Remarked::Text, self.offset);
            path = path.replace('\0', "\u{fffd}").into();
        }
        if path.bytes().filter(|byte| *byte == b';').count() >= MAX_FRAMES {
            self.remarks.add(Remarked::Deep, self.offset);
            return;
        }
        let (thread, path) = match thread(&path) {
            (_, path) if path.bytes().all(|byte| byte == b';') => {
                self.remarks.add(Remarked::Thread, self.offset);
                return;
            }
            (thread, path) => (thread.unwrap_or(ALL_THREADS), path),
        };
        self.path(thread, path, number);
    }

    /// Returns the number in ns.
    fn number(&mut self, number: &[u8]) -> i64 {
        let mut value: i64 = 0;
        for digit in number {
            if *digit == b'.' {
                self.remarks.add(Remarked::Fraction, self.offset);
                break;
            }
            let next = value.checked_mul(10);
            let next = next.and_then(|next| next.checked_add(i64::from(digit - b'0')));
            let Some(next) = next else {
                self.remarks.add(Remarked::Huge, self.offset);
                return i64::MAX;
            };
            value = next;
        }
        value
    }

    /// Ends the open calls that the path does not have, and begins those that it has.
    fn path(&mut self, thread: &str, path: &str, number: i64) {
        let mut methods = std::mem::take(&mut self.path);
        methods.clear();
        let thread = self.definitions.thread(thread, &mut self.queue);
        for frame in path.split(';').filter(|frame| !frame.is_empty()) {
            let time = Timestamp(0);
            methods.push(self.definitions.method(frame, time, &mut self.queue).0);
        }
        let common = match thread == self.thread {
            true => self
                .open
                .iter()
                .zip(&methods)
                .take_while(|(a, b)| a == b)
                .count(),
            false => 0,
        };
        // The innermost call begins anew, because its time is that of this line.
        let common = common.min(methods.len().saturating_sub(1));
        self.close(common);
        self.thread = thread;
        for (at, method) in methods.iter().enumerate().skip(common) {
            let is_innermost = at + 1 == methods.len();
            self.open.push(*method);
            self.queue
                .push_back(Event::AggregatedEnter(AggregatedEnter {
                    thread,
                    method: *method,
                    base_time: Duration(if is_innermost { number } else { 0 }),
                    calls: 1,
                    ..AggregatedEnter::default()
                }));
        }
        self.path = methods;
    }

    /// Ends open calls until `depth` are left.
    fn close(&mut self, depth: usize) {
        for method in self.open.drain(depth..).rev() {
            self.queue
                .push_back(Event::AggregatedLeave(AggregatedLeave {
                    thread: self.thread,
                    method,
                }));
        }
    }

    fn any(&mut self, input: &[u8], last: bool) -> (usize, Step<'static>) {
        if let Some(event) = self.queue.pop_front() {
            return (0, Step::Event(event));
        }
        let end = input.iter().position(|byte| *byte == b'\n');
        match self.state {
            State::Start if input.len() < 3 && !last => (0, Step::NeedMore),
            State::Start => {
                self.state = State::Lines;
                let mark = if input.starts_with(b"\xef\xbb\xbf") {
                    3
                } else {
                    0
                };
                (mark, Step::Nothing)
            }
            State::Ending => match self.remarks.pop() {
                Some(remark) => (0, Step::Remark(remark)),
                None => (0, Step::End),
            },
            _ if input.is_empty() && !last => (0, Step::NeedMore),
            _ if input.is_empty() => {
                self.close(0);
                self.state = State::Ending;
                (0, Step::Nothing)
            }
            State::Skipping => {
                if end.is_some() {
                    self.state = State::Lines;
                }
                (end.map_or(input.len(), |end| end + 1), Step::Nothing)
            }
            State::Lines => {
                let line = &input[..end.unwrap_or(input.len())];
                if line.len() > MAX_LINE {
                    self.remarks.add(Remarked::Long, self.offset);
                    self.state = State::Skipping;
                    return (MAX_LINE, Step::Nothing);
                }
                if end.is_none() && !last {
                    return (0, Step::NeedMore);
                }
                self.line(line);
                (line.len() + usize::from(end.is_some()), Step::Nothing)
            }
        }
    }
}

/// Splits a path into its thread, if it has one, and the frames.
fn thread(path: &str) -> (Option<&str>, &str) {
    let (first, rest) = path.split_once(';').unwrap_or((path, ""));
    match first
        .strip_prefix('[')
        .and_then(|first| first.strip_suffix(']'))
    {
        Some(name) if !name.is_empty() => (Some(name), rest),
        _ => (None, path),
    }
}

impl Decode for Decoder {
    fn step<'a>(&mut self, input: &'a [u8], last: bool) -> Result<Decoded<'a>, DecodeError> {
        let (used, step) = self.any(input, last);
        self.offset += used as u64;
        Ok(Decoded { used, step })
    }
}
