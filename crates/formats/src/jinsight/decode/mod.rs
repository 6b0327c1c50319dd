//! Converts records to events.

mod bursts;
mod call;
mod clock;
mod definitions;
mod memory;
pub(super) mod remarks;
mod texts;
mod threads;
mod value;

use super::FORMAT;
use super::wire::{
    ARRAY_CLASS_DEFINED, ARRAY_CREATED, ARRAY_DEFINED, BEGIN_BURST, CLASS_DEFINE, CLASS_LOAD,
    END_BURST, END_FILE, EVENTS_AT, GC_START, GC_STOP, HEAD, HEADER_SIZE, METHOD_LEAVE,
    OBJECT_CREATED, OBJECT_DEFINED, OBJECT_RECLAIMED, TAG, THREAD_DEFINE, THREAD_EXIT,
    THREAD_START, USER_EVENT, VERSION, WIDE_METHOD_ENTER,
};
use crate::check::table::Table;
use crate::tally::RemarkTally;
use crate::{Decode, DecodeError, Decoded, Remark, Severity, Step};
use bursts::Bursts;
use clock::{Clock, Start};
use definitions::Classes;
use jtrail_model::{
    AgentCreate, ClassId, Cost, Event, GcFinish, GcStart, Node, ProcessCreate, TraceStart,
};
use remarks::Remarked;
use std::collections::VecDeque;
use threads::Thread;
use value::Fields;

/// Maximum size of a record, in bytes. The largest possible class file is far smaller.
const MAX_RECORD_BYTES: usize = 32 << 20;

/// Decoder of JinsightLive traces, for both byte orders and any tick length.
#[derive(Debug, Default)]
pub struct Decoder {
    /// Offset in the trace at which the input of the next step starts.
    offset: u64,
    state: State,
    big_endian: bool,
    clock: Clock,
    /// Events that open or close the trace. They are reported before the next record.
    queue: VecDeque<Event<'static>>,
    /// Last id assigned. Threads, classes and methods share one counter.
    last_id: u64,
    classes: Classes,
    threads: Table<Thread>,
    bursts: Bursts,
    /// Highest ticks so far.
    latest: u64,
    /// Leaves that may be synthetic: thread and offset of each. All have the ticks `held_ticks`.
    held: VecDeque<(u32, u64)>,
    held_ticks: u64,
    /// Offset of the last leave that was counted for its overhead or its early ticks.
    counted_leave: Option<u64>,
    /// The last CLASS_DEFINE, until its CLASS_LOAD is read: ticks, class, object of the class.
    class_defined: Option<(u64, u16, u32)>,
    /// Id of the class whose CLASS_LOAD is the next record, if the class definition was already
    /// reported.
    emitted_class: Option<ClassId>,
    /// Thread and ticks of the preceding record, if it was a THREAD_DEFINE.
    thread_defined: Option<(u32, u64)>,
    /// numberOfEvents of the header, to be compared with `records`.
    promised: u32,
    /// Cost of one callback in ticks, from the header.
    overhead: u32,
    records: u64,
    remarks: RemarkTally<Remarked>,
}

#[derive(Debug, Default)]
enum State {
    #[default]
    Header,
    /// Before the first record; holds the time fields of the header.
    First(Start),
    Records,
    /// After END_FILE.
    After,
    /// All input is read. The remarks are reported next, and then this result.
    Ending(Result<(), DecodeError>),
}

impl Decode for Decoder {
    #[inline]
    fn step<'a>(&mut self, input: &'a [u8], last: bool) -> Result<Decoded<'a>, DecodeError> {
        let comes_next = self.queue.is_empty() && !self.is_resuming();
        let call = match (&self.state, input.first()) {
            (State::Records, Some(&WIDE_METHOD_ENTER)) if comes_next => self.enter(input),
            (State::Records, Some(&METHOD_LEAVE)) if comes_next => self.leave(input, last),
            _ => None,
        };
        let decoded = match call {
            Some(decoded) => {
                self.records += u64::from(decoded.used > 0);
                self.thread_defined = None;
                decoded
            }
            None => self.any(input, last)?,
        };
        self.offset += decoded.used as u64;
        Ok(decoded)
    }
}

impl Decoder {
    fn any<'a>(&mut self, input: &'a [u8], last: bool) -> Result<Decoded<'a>, DecodeError> {
        if let Some(queued) = self.queue.pop_front() {
            return Ok(event(0, queued));
        }
        Ok(match &self.state {
            State::Header => self.header(input, last),
            State::First(_) => self.first(input, last),
            State::Records => self.record(input, last),
            State::After => self.after(input, last),
            State::Ending(_) => return self.ending(),
        })
    }

    fn header<'a>(&mut self, input: &'a [u8], last: bool) -> Decoded<'a> {
        if input.first().is_some_and(|&tag| tag != TAG) {
            return self.refuse(0, "the first byte is not b".into());
        }
        let Some(header) = input.get(..HEADER_SIZE) else {
            return if last {
                self.refuse(0, "the file is shorter than its header of 45 bytes".into())
            } else {
                more()
            };
        };
        let mut fields = self.fields(header, 1);
        let (version, platform) = (fields.u32().unwrap_or(0), fields.u32().unwrap_or(0));
        if version != VERSION {
            return self.refuse(1, format!("version {version}: only {VERSION} is known"));
        }
        let big_endian = match platform {
            11 | 44 => false,
            22 | 33 | 55 => true,
            _ => return self.refuse(5, format!("platform {platform} is not known")),
        };
        let mut fields = self.fields(header, EVENTS_AT);
        self.promised = fields.u32().unwrap_or(0);
        // maxThreads and maxClasses are skipped: they only help readers that allocate tables in
        // advance.
        let mut fields = self.fields(header, EVENTS_AT + 12);
        let Some(start) = clock::start(&mut fields) else {
            return self.refuse(21, "no ticks a microsecond: no time can be read".into());
        };
        self.big_endian = big_endian;
        self.clock = start.clock;
        self.latest = self.clock.start;
        self.state = State::First(start);
        self.overhead = fields.u32().unwrap_or(0);
        nothing(HEADER_SIZE)
    }

    /// Reports the header's contents and the start of the trace. If the first record is
    /// BEGIN_BURST, the trace starts with it, otherwise at startTicks.
    fn first<'a>(&mut self, input: &'a [u8], last: bool) -> Decoded<'a> {
        let State::First(ref start) = self.state else {
            return nothing(0);
        };
        let (process, agent) = (start.process, start.agent);
        let ticks = match input.first() {
            Some(&BEGIN_BURST) => self.fields(input, 1).u64(),
            Some(_) => Some(self.clock.start),
            None => None,
        };
        let ticks = match ticks {
            None if !last => return more(),
            ticks => ticks.unwrap_or(self.clock.start),
        };
        self.state = State::Records;
        let time = self.clock.time(ticks);
        self.queue.extend([
            Event::Node(Node {
                time: process,
                ..Node::default()
            }),
            ProcessCreate {
                time: process,
                ..ProcessCreate::default()
            }
            .into(),
            AgentCreate {
                time: agent,
                ..AgentCreate::default()
            }
            .into(),
            Event::TraceStart(TraceStart {
                time,
                ..TraceStart::default()
            }),
        ]);
        if self.overhead != 0 {
            let [_, option] = Cost {
                clock: 0,
                record: self.clock.length(self.overhead).saturating_mul(1000),
            }
            .options();
            self.queue.push_back(Event::Option(option));
        }
        nothing(0)
    }

    fn record<'a>(&mut self, input: &'a [u8], last: bool) -> Decoded<'a> {
        let Some(&kind) = input.first() else {
            return self.cut(input, last);
        };
        if !matches!(kind, METHOD_LEAVE | END_BURST | END_FILE)
            && let Some(before) = self.before_record()
        {
            return before;
        }
        if self.is_resuming()
            && let Some(before) = self.resume(kind, input)
        {
            return before;
        }
        let found = match kind {
            WIDE_METHOD_ENTER => self.enter(input),
            METHOD_LEAVE => self.leave(input, last),
            CLASS_DEFINE => self.class_define(input),
            CLASS_LOAD => self.class_load(input),
            OBJECT_DEFINED | OBJECT_CREATED | ARRAY_DEFINED | ARRAY_CREATED
            | ARRAY_CLASS_DEFINED => self.object(input, last),
            OBJECT_RECLAIMED => self.free(input),
            THREAD_DEFINE => self.thread_define(input),
            THREAD_START => self.thread_start(input),
            THREAD_EXIT => self.thread_exit(input),
            GC_START | GC_STOP => self.collection(kind, input),
            USER_EVENT => self.user_event(input),
            BEGIN_BURST => self.begin_burst(input),
            END_BURST => self.end_burst(input),
            END_FILE => self.end_file(input),
            _ if !self.held.is_empty() => self.replay(),
            _ => {
                let message = format!(
                    "record type {kind:#04x} is not known; records have no length, so nothing after it can be read"
                );
                return self.refuse(0, message);
            }
        };
        match found {
            Some(decoded) => {
                if decoded.used > 0 {
                    self.records += u64::from(kind != END_FILE);
                    if !matches!(kind, WIDE_METHOD_ENTER | METHOD_LEAVE | END_FILE)
                        && let Some(ticks) = self.fields(input, 1).u64()
                    {
                        self.look_at_ticks(ticks);
                    }
                    if kind != THREAD_DEFINE {
                        self.thread_defined = None;
                    }
                }
                decoded
            }
            None if input.len() > MAX_RECORD_BYTES => {
                self.refuse(0, format!("a record larger than {MAX_RECORD_BYTES} bytes"))
            }
            None => self.cut(input, last),
        }
    }

    /// Counts the record if its ticks are before the start of the trace.
    #[inline]
    fn look_at_ticks(&mut self, ticks: u64) {
        if ticks < self.clock.start {
            self.remarks.add(Remarked::EarlyTicks, self.offset);
        }
    }

    fn class_define<'a>(&mut self, input: &'a [u8]) -> Option<Decoded<'a>> {
        let mut fields = self.fields(input, 1);
        let defined = (fields.u64()?, fields.u16()?, fields.u32()?);
        if self.class_defined.replace(defined).is_some() {
            let offset = self.offset;
            self.remarks.add(Remarked::UnloadedClasses, offset);
        }
        Some(nothing(HEAD + 6))
    }

    fn collection<'a>(&mut self, kind: u8, input: &'a [u8]) -> Option<Decoded<'a>> {
        let ticks = self.fields(input, 1).u64()?;
        self.latest = self.latest.max(ticks);
        let time = self.clock.time(ticks);
        let emitted = match kind {
            GC_START => Event::GcStart(GcStart { time }),
            _ => Event::GcFinish(GcFinish {
                time,
                ..GcFinish::default()
            }),
        };
        Some(event(HEAD, emitted))
    }

    fn after<'a>(&mut self, input: &'a [u8], last: bool) -> Decoded<'a> {
        if !input.is_empty() {
            let offset = self.offset;
            self.remarks
                .add_many(Remarked::FurtherBytes, offset, input.len() as u64);
            self.state = State::After;
            return nothing(input.len());
        }
        if last {
            self.state = State::Ending(Ok(()));
            return nothing(0);
        }
        more()
    }

    /// Handles an incomplete record: asks for more input. If `last` is true, ends the trace as
    /// truncated instead.
    fn cut<'a>(&mut self, input: &'a [u8], last: bool) -> Decoded<'a> {
        if !last {
            return more();
        }
        if let Some(before) = self.replay().or_else(|| self.resumed()) {
            return before;
        }
        self.state = State::Ending(Ok(()));
        let message = match input {
            [] => "the trace ends without END_FILE",
            _ => "the trace is truncated inside a record",
        };
        remark(
            input.len(),
            Remark {
                offset: self.offset,
                severity: Severity::Truncated,
                message: message.into(),
            },
        )
    }

    /// Stops reading with an error at offset `at` of the input.
    fn refuse<'a>(&mut self, at: u64, message: String) -> Decoded<'a> {
        self.state = State::Ending(Err(DecodeError {
            format: FORMAT,
            offset: self.offset + at,
            message,
        }));
        nothing(0)
    }

    fn ending<'a>(&mut self) -> Result<Decoded<'a>, DecodeError> {
        if let Some(next) = self.remarks.pop() {
            return Ok(remark(0, next));
        }
        match &self.state {
            State::Ending(Err(error)) => Err(error.clone()),
            _ => Ok(Decoded {
                used: 0,
                step: Step::End,
            }),
        }
    }

    /// Returns the fields of a record after its first `skipped` bytes.
    #[inline]
    fn fields<'a>(&self, record: &'a [u8], skipped: usize) -> Fields<'a> {
        Fields {
            rest: record.get(skipped..).unwrap_or_default(),
            big_endian: self.big_endian,
        }
    }

    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }
}

fn more<'a>() -> Decoded<'a> {
    Decoded {
        used: 0,
        step: Step::NeedMore,
    }
}

#[inline]
fn nothing<'a>(used: usize) -> Decoded<'a> {
    Decoded {
        used,
        step: Step::Nothing,
    }
}

fn event(used: usize, event: Event<'_>) -> Decoded<'_> {
    Decoded {
        used,
        step: Step::Event(event),
    }
}

fn remark<'a>(used: usize, remark: Remark) -> Decoded<'a> {
    Decoded {
        used,
        step: Step::Remark(remark),
    }
}
