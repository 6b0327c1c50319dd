//! Decoder: lines to events.

mod definitions;
mod lines;
mod opening;
pub(super) mod remarks;
mod stacks;
mod words;

use super::wire::{MAX_LINE_BYTES, is_known};
use super::{FORMAT, clock};
use crate::tally::{Kinds as _, Position, RemarkTally};
use crate::{Decode, DecodeError, Decoded, Remark, Severity, Step};
use definitions::Definitions;
use jtrail_model::{ClassId, Event, ThreadId, Timestamp};
use opening::Opening;
use remarks::Remarked;
use stacks::{Expansion, Threads};
use std::collections::VecDeque;
use words::Words;

/// Decodes trace logs of our encoder and of Tizen's CoreProfiler.
#[derive(Debug, Default)]
pub struct Decoder {
    strict: bool,
    /// Offset of the next step's input, from the start of the trace.
    offset: u64,
    /// Number of the last line that was read.
    line: u64,
    /// Number of leading bytes of the next step's input that are known to contain no `\n`.
    searched: usize,
    state: State,
    /// Start of the current line.
    position: Position,
    /// True if a line was a record of this format.
    matched: bool,
    /// First fault of the current line, in strict mode.
    refused: Option<String>,
    remarks: RemarkTally<Remarked>,
    /// Events to return before those of [`Self::expansion`].
    queue: VecDeque<Event<'static>>,
    expansion: Expansion,
    opening: Opening,
    base_ms: i64,
    /// The latest time so far.
    now: Timestamp,
    threads: Threads,
    definitions: Definitions,
    process_us: u64,
}

#[derive(Debug, Default)]
enum State {
    /// Before the first line.
    #[default]
    Start,
    Lines,
    /// Inside a line that is longer than [`MAX_LINE_BYTES`].
    Skipping,
    /// All input is read; the remarks follow.
    Ending,
    Done,
}

/// How a line was handled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Line {
    Read,
    /// No event holds the record.
    Skipped,
    Unknown,
}

impl Decoder {
    /// Returns a decoder that refuses a trace at its first fault.
    pub fn strict() -> Self {
        Self {
            strict: true,
            ..Self::default()
        }
    }

    /// Counts a remark on the current line. `record` is the line's type and sub-type, or empty if
    /// the remark does not depend on them.
    #[cold]
    fn remark(&mut self, record: &str, kind: Remarked) {
        self.remark_many(record, kind, 1);
    }

    fn remark_if(&mut self, found: bool, record: &str, kind: Remarked) {
        if found {
            self.remark(record, kind);
        }
    }

    fn remark_many(&mut self, record: &str, kind: Remarked, count: u64) {
        let row = kind.row();
        if self.strict && row.severity == Severity::Fault {
            let refused = || format!("line {}: {}", self.position.line, row.words(record, ""));
            self.refused.get_or_insert_with(refused);
        }
        self.remarks
            .add_named(kind, (record, ""), self.position, count);
    }

    /// Returns the time `ms` milliseconds after the start, and updates the latest time.
    #[inline]
    fn time(&mut self, ms: u64) -> Option<Timestamp> {
        let time = clock::timestamp(self.base_ms, ms)?;
        self.now = self.now.max(time);
        Some(time)
    }

    #[inline]
    fn emit(&mut self, event: Event<'static>) {
        self.queue.push_back(event);
    }

    /// Returns the next queued event.
    #[inline]
    fn waiting(&mut self) -> Option<Event<'static>> {
        self.queue.pop_front().or_else(|| self.expanded())
    }

    #[inline]
    fn any<'a>(&mut self, input: &'a [u8], last: bool) -> Result<Decoded<'a>, DecodeError> {
        if let Some(event) = self.waiting() {
            return Ok(step(0, Step::Event(event)));
        }
        match self.state {
            State::Start | State::Lines => {}
            State::Skipping => return Ok(self.skip(input, last)),
            State::Ending => return self.ending(),
            State::Done => return Ok(step(0, Step::End)),
        }
        let unsearched = input.get(self.searched..).unwrap_or_default();
        let Some(end) = unsearched.iter().position(|b| *b == b'\n') else {
            if input.len() > MAX_LINE_BYTES {
                self.state = State::Skipping;
                self.position = Position {
                    offset: self.offset,
                    line: self.line + 1,
                };
                self.remark("", Remarked::LongLines);
                self.refuse()?;
                return Ok(self.skip(input, last));
            }
            if last {
                return self.cut(input);
            }
            self.searched = input.len();
            return Ok(step(0, Step::NeedMore));
        };
        let end = self.searched + end;
        let line = input.get(..end).unwrap_or_default();
        self.take(line)?;
        let next = self.waiting().map_or(Step::Nothing, Step::Event);
        Ok(step(end + 1, next))
    }

    /// Handles the end of the input. If the rest is not blank, it is a line without `\n`.
    fn cut<'a>(&mut self, input: &'a [u8]) -> Result<Decoded<'a>, DecodeError> {
        if input.trim_ascii().is_empty() {
            self.close();
            self.state = State::Ending;
            let next = self.waiting().map_or(Step::Nothing, Step::Event);
            return Ok(step(input.len(), next));
        }
        // Faults of this line are not counted: it is truncated, not corrupt.
        let (remarks, strict) = (std::mem::take(&mut self.remarks), self.strict);
        self.strict = false;
        self.take(input)?;
        self.strict = strict;
        let of_line = std::mem::replace(&mut self.remarks, remarks);
        let whole = !of_line.has_faults();
        if whole {
            self.remarks.append(of_line);
        }
        self.close();
        self.state = State::Ending;
        let what = if whole {
            "read nevertheless"
        } else {
            "not read"
        };
        let message = format!(
            "the trace is truncated: line {} has no end; it is {what}",
            self.position.line
        );
        let remark = Remark {
            offset: self.offset,
            severity: Severity::Truncated,
            message,
        };
        Ok(step(input.len(), Step::Remark(remark)))
    }

    /// Emits what was held back for further lines. No further lines follow.
    fn close(&mut self) {
        if self.matched {
            self.open();
        }
        self.end_code();
        self.count_unused();
    }

    /// Remarks on definitions that no event needed.
    fn count_unused(&mut self) {
        let (classes, functions) = self.definitions.nameless();
        for (count, record, kind) in [
            (
                self.definitions.unused_assemblies(),
                "asm ldf",
                Remarked::Assemblies,
            ),
            (classes, "cls ldf", Remarked::NamelessClasses),
            (functions, "fun inf", Remarked::NamelessFunctions),
        ] {
            self.remark_many(record, kind, count as u64);
        }
        let os_id = self.threads.unused_os_id();
        let is_skipped = os_id.is_some_and(|os_id| os_id != self.opening.pid);
        self.remark_if(is_skipped, "thr aos", Remarked::OsIds);
    }

    fn skip<'a>(&mut self, input: &'a [u8], last: bool) -> Decoded<'a> {
        let end = input.iter().position(|b| *b == b'\n');
        match end {
            Some(end) => {
                self.line += 1;
                self.state = State::Lines;
                step(end + 1, Step::Nothing)
            }
            None if last => {
                self.close();
                self.state = State::Ending;
                step(input.len(), Step::Nothing)
            }
            None if input.is_empty() => step(0, Step::NeedMore),
            None => step(input.len(), Step::Nothing),
        }
    }

    fn ending<'a>(&mut self) -> Result<Decoded<'a>, DecodeError> {
        if !self.matched {
            self.state = State::Done;
            return Err(DecodeError {
                format: FORMAT,
                offset: 0,
                message: "no line of it is a record of this format".into(),
            });
        }
        Ok(match self.remarks.pop() {
            Some(remark) => step(0, Step::Remark(remark)),
            None => {
                self.state = State::Done;
                step(0, Step::End)
            }
        })
    }

    /// Reads a line; `line` excludes the final `\n`.
    #[inline]
    fn take(&mut self, line: &[u8]) -> Result<(), DecodeError> {
        self.line += 1;
        self.position = Position {
            offset: self.offset,
            line: self.line,
        };
        let mut line = line.strip_suffix(b"\r").unwrap_or(line);
        if matches!(self.state, State::Start) {
            line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
        }
        let mut words = Words::new(line);
        let Some(kind) = words.word() else {
            return Ok(());
        };
        let Some(sub) = words.word() else {
            self.start(false);
            self.unknown(kind, b"");
            return self.refuse();
        };
        if matches!(self.state, State::Start) {
            self.start((kind, sub) == (b"prf", b"stm"));
        }
        match self.record(kind, sub, words) {
            Some(Line::Read) => self.matched = true,
            Some(Line::Skipped) => {
                self.matched = true;
                self.remark(&name(kind, sub), Remarked::OtherRecords);
            }
            Some(Line::Unknown) => self.unknown(kind, sub),
            None => self.remark(&name(kind, sub), Remarked::Fields),
        }
        self.refuse()
    }

    /// Handles the first line of the trace. `with_time` is true if it is a `prf stm`.
    fn start(&mut self, with_time: bool) {
        if matches!(self.state, State::Start) {
            self.state = State::Lines;
            if !with_time {
                self.remark("", Remarked::NoStartTime);
            }
        }
    }

    fn unknown(&mut self, kind: &[u8], sub: &[u8]) {
        let known = |word: &[u8]| word.len() == 3 && word.iter().all(u8::is_ascii_lowercase);
        if known(kind) && known(sub) {
            self.remark(&name(kind, sub), Remarked::UnknownRecords);
        } else {
            self.remark("", Remarked::NoRecords);
        }
    }

    fn refuse(&mut self) -> Result<(), DecodeError> {
        let Some(message) = self.refused.take() else {
            return Ok(());
        };
        self.state = State::Done;
        self.queue.clear();
        self.expansion = Expansion::None;
        Err(DecodeError {
            format: FORMAT,
            offset: self.offset,
            message,
        })
    }

    /// Returns a thread that a line refers to, and defines it first if necessary.
    fn thread(&mut self, iid: u32) -> ThreadId {
        let id = ThreadId(u64::from(iid) + 1);
        match self.threads.state(iid) {
            stacks::Life::Defined => return id,
            stacks::Life::Created => {}
            stacks::Life::Ended => self.remark("", Remarked::EndedThreads),
            stacks::Life::Unknown => self.remark("", Remarked::UndefinedThreads),
        }
        let os_id = self.threads.define(iid);
        self.define_thread(iid, id);
        if let Some(os_id) = os_id {
            self.emit_os_id(id, os_id);
        }
        id
    }

    /// Returns a class that a line refers to, and defines it first if necessary.
    fn class(&mut self, iid: u32) -> ClassId {
        if !self.definitions.is_named(iid) {
            self.remark("", Remarked::UndefinedClasses);
            let name = format!("class {iid:#x}");
            self.define_class(iid, name);
        }
        definitions::class_id(iid)
    }

    /// Defines a function that a line refers to, if necessary.
    fn function(&mut self, iid: u32) {
        if !self.definitions.has_function(iid) {
            self.remark("", Remarked::UndefinedFunctions);
            let name = format!("function {iid:#x}");
            self.define_function(iid, ("", name), String::new());
        }
    }
}

impl Decode for Decoder {
    #[inline]
    fn step<'a>(&mut self, input: &'a [u8], last: bool) -> Result<Decoded<'a>, DecodeError> {
        let decoded = self.any(input, last)?;
        if decoded.used > 0 {
            self.offset += decoded.used as u64;
            self.searched = 0;
        }
        Ok(decoded)
    }
}

/// True if `head` starts with the type and sub-type of a record.
pub(crate) fn is_begin(head: &[u8]) -> bool {
    let mut words = Words::new(head.trim_ascii_start());
    match (words.word(), words.word()) {
        (Some(kind), Some(sub)) => is_known(kind, sub),
        _ => false,
    }
}

fn step(used: usize, step: Step<'_>) -> Decoded<'_> {
    Decoded { used, step }
}

/// Returns the type and sub-type of a line as text, each cut to eight bytes.
fn name(kind: &[u8], sub: &[u8]) -> String {
    let cut = |word: &[u8]| String::from_utf8_lossy(&word[..word.len().min(8)]).into_owned();
    format!("{} {}", cut(kind), cut(sub))
}
