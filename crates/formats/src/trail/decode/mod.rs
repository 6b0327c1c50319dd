//! Decoder of trails, which also reads corrupt ones.

pub(super) mod block;
pub(super) mod copies;
mod earlier;
pub(super) mod parts;
pub(super) mod row;
pub(super) mod scan;
pub(super) mod segment_reader;
pub(super) mod segments;

use super::calls::{Thread, Threads};
use super::columns::unpack;
use super::index::{Entry, IndexContents, MAX_ENTRIES, Totals};
use super::value::Bytes;
use super::wire::{HEADER, Header, Kind, NoHeader, VERSION, next_candidate};
use super::{FORMAT, record};
use crate::{Decode, DecodeError, Decoded, Handed, Remark, Severity, Step};
use block::Block;
use copies::Copies;
use jtrail_model::{CallStep, Event};
use row::RowRoom;
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// Decoder of trails.
#[derive(Default)]
pub struct Decoder {
    offset: u64,
    /// Number of the next segment.
    number: u32,
    /// Number of events before the next segment.
    before: u64,
    /// Identifies the trace; 0 until a segment gives it.
    trace: u32,
    threads: Threads,
    ended: Vec<u64>,
    block: Block,
    /// Buffers for calls that are handed out together.
    room: RowRoom,
    steps: Vec<CallStep>,
    /// Position of the current segment of events, in bytes from the start of the trace.
    block_at: u64,
    /// Copies of the definitions of the next segment, and the number of that segment.
    copies: Option<(u32, Vec<u8>)>,
    recovery: Copies,
    remarks: VecDeque<Remark>,
    /// Position of the first byte of the current invalid range, in bytes from the start of the
    /// trace.
    damage: Option<u64>,
    /// The segments since the last index. They are compared with the next index.
    seen: Vec<Entry>,
    /// Position of the last index plus one; 0 if there is none. It is compared with the next index.
    last_index: u64,
    /// Counts of the events read. They are compared with the counts at the end, unless something is
    /// missing.
    totals: Totals,
    is_damaged: bool,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum State {
    #[default]
    Begin,
    Segments,
    /// The last index was read.
    Ended,
    Done,
}

impl Decode for Decoder {
    fn step<'a>(&mut self, input: &'a [u8], last: bool) -> Result<Decoded<'a>, DecodeError> {
        if let Some(step) = self.waiting() {
            return Ok(Decoded { used: 0, step });
        }
        let decoded = self.segment(input, last)?;
        self.offset += decoded.used as u64;
        Ok(decoded)
    }

    fn hand_out(&mut self, visit: &mut dyn FnMut(Handed<'_>) -> ControlFlow<()>) {
        if !self.remarks.is_empty() || !self.recovery.is_over() {
            return; // remarks and recovered definitions come first
        }
        // The last event of a segment needs further work, so `step` returns it.
        while self.block.left() > 1 {
            let flow = match self.block.row(&mut self.room) {
                Some(row) => {
                    let (begun, ended) = row.counts();
                    self.totals.add_calls(begun, ended);
                    visit(Handed::Calls(row.calls(&mut self.steps)))
                }
                None => match self.next_event() {
                    Some(event) => visit(Handed::Event(event)),
                    None => return,
                },
            };
            if flow.is_break() {
                return;
            }
        }
    }
}

impl Decoder {
    /// Returns a remark or an event that was read but not yet returned.
    fn waiting<'a>(&mut self) -> Option<Step<'a>> {
        if let Some(remark) = self.remarks.pop_front() {
            return Some(Step::Remark(remark));
        }
        if let Some(event) = self.recovery.next() {
            return Some(Step::Event(event));
        }
        if self.block.left() == 0 {
            return None;
        }
        let Some(event) = self.next_event() else {
            return self.remarks.pop_front().map(Step::Remark);
        };
        if self.block.left() == 0 {
            self.end_block();
        }
        Some(Step::Event(event))
    }

    /// Returns the next event of the segment. If it can't be read, discards the rest of the segment
    /// and adds a remark.
    #[inline]
    fn next_event(&mut self) -> Option<Event<'static>> {
        let Some(event) = self.block.next() else {
            let left = self.block.left();
            self.block.discard_rest();
            self.is_damaged = true;
            let message = format!("a segment's contents make no sense: {left} events are missing");
            let remark = self.fault(self.block_at, message);
            self.remarks.push_back(remark);
            return None;
        };
        if let Some(code) = record::code(&event) {
            self.totals.add(code);
        }
        if let Event::ThreadEnd(e) = &event {
            self.ended.push(e.thread.0);
        }
        Some(event)
    }

    fn end_block(&mut self) {
        // A hostile file can list many threads without events. They would take memory, but nearly
        // no bytes of the file.
        let had_events = |(_, thread): &(u64, Thread)| thread.events > 0;
        self.threads.extend(self.block.threads().filter(had_events));
        for thread in self.ended.drain(..) {
            self.threads.remove(&thread);
        }
        if !self.block.is_fully_read() {
            let message = "a segment holds more than its events".into();
            let remark = self.fault(self.block_at, message);
            self.remarks.push_back(remark);
        }
    }

    fn fault(&self, offset: u64, message: String) -> Remark {
        Remark {
            offset,
            severity: Severity::Fault,
            message,
        }
    }

    fn error(&mut self, message: String) -> DecodeError {
        self.state = State::Done;
        DecodeError {
            format: FORMAT,
            offset: self.offset,
            message,
        }
    }

    /// Reads a segment, or skips bytes that are not a segment.
    fn segment<'a>(&mut self, input: &'a [u8], last: bool) -> Result<Decoded<'a>, DecodeError> {
        if matches!(self.state, State::Ended | State::Done) {
            return Ok(self.after(input, last));
        }
        let Some(bytes) = input.first_chunk::<HEADER>() else {
            return Ok(if last { self.truncated(input) } else { more() });
        };
        let header = match Header::get(bytes) {
            Ok(header) => header,
            Err(NoHeader::Version(version)) if self.state == State::Begin => {
                return Err(self.error(format!(
                    "version {version}: only those up to {VERSION} are known; read it with a later jtrail"
                )));
            }
            Err(_) => return Ok(self.skip(input)),
        };
        let length = header.length as usize;
        let Some(payload) = input[HEADER..].get(..length) else {
            return Ok(if last { self.truncated(input) } else { more() });
        };
        self.state = State::Segments;
        self.end_damage();
        self.take(&header, payload);
        let used = HEADER + length;
        let step = Step::Nothing;
        Ok(Decoded { used, step })
    }

    /// Skips bytes that are not a segment.
    fn skip<'a>(&mut self, input: &[u8]) -> Decoded<'a> {
        self.state = State::Segments;
        self.damage.get_or_insert(self.offset);
        self.is_damaged = true;
        Decoded {
            used: next_candidate(input),
            step: Step::Nothing,
        }
    }

    fn end_damage(&mut self) {
        if let Some(from) = self.damage.take() {
            let bytes = self.offset - from;
            let remark = self.fault(from, format!("skipped: {bytes} bytes that are corrupt"));
            self.remarks.push_back(remark);
        }
    }

    fn take(&mut self, header: &Header, payload: &[u8]) {
        let is_of_another = ![0, header.trace].contains(&self.trace) && header.trace != 0;
        if header.number < self.number || is_of_another {
            let message = match is_of_another {
                true => "skipped: a segment of another trace".to_owned(),
                false => format!("skipped: segment {}: it occurs twice", header.number),
            };
            let remark = self.fault(self.offset, message);
            self.remarks.push_back(remark);
            return;
        }
        if crc32c::crc32c(payload) != header.checksum {
            // The next segment shows how many events are lost, because it gives the number of
            // events before it.
            self.damage = Some(self.offset);
            self.offset += (HEADER + payload.len()) as u64;
            self.end_damage();
            self.offset -= (HEADER + payload.len()) as u64;
            self.is_damaged = true;
            return;
        }
        if header.number != self.number || header.before != self.before {
            self.missing(header);
        }
        self.trace = self.trace.max(header.trace);
        self.number = header.number.wrapping_add(1);
        self.before = header.before.wrapping_add(header.events.into());
        // In earlier versions, one more segment may precede an index, because a segment of
        // definitions came together with one of events.
        if header.kind != Kind::Index && self.seen.len() > MAX_ENTRIES && !self.is_damaged {
            self.is_damaged = true;
            let remark = self.fault(self.offset, "an index is missing".into());
            self.remarks.push_back(remark);
        }
        let is_read = match header.kind {
            Kind::Definitions => {
                let mut column = [Vec::new()];
                let read = unpack(header.version, &mut Bytes(payload), &mut column);
                let [column] = column;
                self.copies = Some((self.number, column));
                self.see(header, Vec::new());
                read
            }
            Kind::Events => self.events(header, payload),
            Kind::Index => self.index(header.version, payload),
        };
        if is_read.is_none() {
            self.is_damaged = true;
            let message = format!(
                "a segment's contents make no sense: {} events are missing",
                header.events
            );
            let remark = self.fault(self.offset, message);
            self.remarks.push_back(remark);
        }
    }

    /// Adds a remark about what is missing before a segment, and recovers definitions from their
    /// copies.
    fn missing(&mut self, header: &Header) {
        self.is_damaged = true;
        let events = header.before.saturating_sub(self.before);
        let copies = self.copies.take();
        if let Some((number, bytes)) = copies
            && number == self.number
            && number != header.number
        {
            self.recovery = Copies::of(bytes);
        }
        let kept = self.recovery.clone().count();
        let mut message = match events {
            0 => "segments are missing, but no event".to_owned(),
            _ => format!(
                "events {} to {} are missing",
                self.before.saturating_add(1),
                header.before
            ),
        };
        if kept > 0 {
            message += &format!(", but for {kept} definitions");
        }
        let remark = self.fault(self.offset, message);
        self.remarks.push_back(remark);
    }

    fn events(&mut self, header: &Header, payload: &[u8]) -> Option<()> {
        self.copies = None;
        self.block_at = self.offset;
        let goes_on = self.block.begin(header, payload, &self.threads)?;
        if !goes_on && !self.is_damaged {
            let message = "threads do not go on where they were".into();
            let remark = self.fault(self.offset, message);
            self.remarks.push_back(remark);
        }
        let threads = self.block.threads().map(|(id, _)| id).collect();
        self.see(header, threads);
        Some(())
    }

    fn see(&mut self, header: &Header, threads: Vec<u64>) {
        if !self.is_damaged {
            self.seen.push(Entry {
                is_events: header.kind == Kind::Events,
                offset: self.offset,
                events: header.events,
                times: header.times,
                threads,
            });
        }
    }

    fn index(&mut self, version: u8, payload: &[u8]) -> Option<()> {
        let found = IndexContents::get(version, payload)?;
        if !self.is_damaged && (found.previous, &found.entries) != (self.last_index, &self.seen) {
            let message = "the index is not that of the segments before it".into();
            let remark = self.fault(self.offset, message);
            self.remarks.push_back(remark);
        }
        self.seen.clear();
        self.last_index = self.offset + 1;
        let Some((mut totals, is_truncated)) = found.end else {
            return Some(());
        };
        self.state = State::Ended;
        totals.before = self.totals.before;
        if !self.is_damaged && totals != self.totals {
            let message = "the counts at the end are not those of the events".into();
            let remark = self.fault(self.offset, message);
            self.remarks.push_back(remark);
        }
        if is_truncated {
            self.remarks.push_back(Remark {
                offset: self.offset,
                severity: Severity::Truncated,
                message: "the trace is truncated here".into(),
            });
        }
        Some(())
    }

    /// Handles an input that ends before the trace does.
    fn truncated<'a>(&mut self, input: &[u8]) -> Decoded<'a> {
        self.state = State::Done;
        let mut offset = self.offset;
        if self.damage.is_some() {
            // The number of corrupt bytes examined so far depends on how the input was split.
            self.offset += input.len() as u64;
            self.end_damage();
            offset = self.offset;
            self.offset -= input.len() as u64;
        }
        self.remarks.push_back(Remark {
            offset,
            severity: Severity::Truncated,
            message: format!("the trace is truncated after event {}", self.before),
        });
        Decoded {
            used: input.len(),
            step: Step::Nothing,
        }
    }

    /// Handles input after the end of the trace.
    fn after<'a>(&mut self, input: &[u8], last: bool) -> Decoded<'a> {
        if input.is_empty() {
            let step = if last { Step::End } else { Step::NeedMore };
            return Decoded { used: 0, step };
        }
        let step = match self.state {
            State::Ended => Step::Remark(Remark {
                offset: self.offset,
                severity: Severity::Fault,
                message: "bytes after the end of the trace".into(),
            }),
            _ => Step::Nothing,
        };
        self.state = State::Done;
        Decoded {
            used: input.len(),
            step,
        }
    }
}

fn more<'a>() -> Decoded<'a> {
    Decoded {
        used: 0,
        step: Step::NeedMore,
    }
}
