//! Threads and their open calls.

use super::value::text;
use super::{Decoder, Remarked, event, nothing};
use crate::Decoded;
use crate::jinsight::wire::{HEAD, NO_OBJECT, THREAD_CLASS, UNKNOWN_THREAD};
use jtrail_model::{ClassId, Event, MethodId, ObjectId, ThreadEnd, ThreadId, ThreadStart};

/// Open call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame {
    pub(super) class: ClassId,
    pub(super) method: MethodId,
    /// Number of the call on its thread. The number is 0 if the call is not in the trace, because
    /// it was already in progress when a burst began.
    pub(super) ticket: u32,
}

impl Frame {
    pub(super) fn is_in_trace(&self) -> bool {
        self.ticket != 0
    }
}

#[derive(Debug, Default)]
pub(super) struct Thread {
    pub(super) id: ThreadId,
    pub(super) frames: Vec<Frame>,
    /// Number of open calls that are in the trace.
    depth: i64,
    ticket: u32,
    /// Number of the burst in which the thread last had a record.
    burst: u32,
    /// Number of innermost frames that were open at the last pause and are still unconfirmed: the
    /// current burst has not repeated their enters yet.
    pub(super) suspended: usize,
}

impl Thread {
    pub(super) fn new(id: ThreadId, burst: u32) -> Self {
        Self {
            id,
            burst,
            ..Self::default()
        }
    }

    /// True if frames from before the last pause are still unconfirmed.
    #[inline]
    pub(super) fn in_doubt(&mut self, burst: u32) -> bool {
        if self.burst != burst {
            self.burst = burst;
            self.suspended = self.frames.len();
        }
        self.suspended > 0
    }

    /// Confirms the outermost unconfirmed frame if its method is `method`. The begin of the burst
    /// lists a call of `method` as in progress. Returns true if the frame is confirmed.
    pub(super) fn goes_on(&mut self, method: Option<MethodId>) -> bool {
        let at = self.frames.len() - self.suspended;
        let same = self
            .frames
            .get(at)
            .is_some_and(|f| Some(f.method) == method);
        self.suspended -= usize::from(same);
        same
    }

    /// Removes the innermost unconfirmed frame, whose call ended during the pause.
    pub(super) fn end_in_pause(&mut self) -> Option<Frame> {
        self.suspended = self.suspended.saturating_sub(1);
        self.pop()
    }

    /// Opens a call. Returns its ticket and the stack depth.
    #[inline]
    pub(super) fn push(&mut self, class: ClassId, method: MethodId) -> (u32, i64) {
        self.ticket = self.ticket.checked_add(1).unwrap_or(1);
        self.depth += 1;
        self.frames.push(Frame {
            class,
            method,
            ticket: self.ticket,
        });
        (self.ticket, self.depth)
    }

    /// Opens a call that is not in the trace.
    pub(super) fn push_outside(&mut self, method: MethodId) {
        self.frames.push(Frame {
            class: ClassId::NONE,
            method,
            ticket: 0,
        });
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Frame> {
        let frame = self.frames.pop()?;
        self.depth -= i64::from(frame.is_in_trace());
        Some(frame)
    }
}

impl Decoder {
    pub(super) fn thread_define<'a>(&mut self, input: &'a [u8]) -> Option<Decoded<'a>> {
        let mut fields = self.fields(input, 1);
        let (ticks, key, object) = (fields.u64()?, fields.u32()?, fields.u32()?);
        let (class, name) = (fields.u16()?, fields.text()?);
        let used = input.len() - fields.rest.len();
        let object = match object {
            0 | NO_OBJECT => ObjectId::NONE,
            object => ObjectId(object.into()),
        };
        let offset = self.offset;
        if object.is_none() && class != THREAD_CLASS {
            self.remarks.add(Remarked::ThreadClasses, offset);
        }
        self.latest = self.latest.max(ticks);
        self.thread_defined = Some((key, ticks));
        let name = text(name);
        let id = match &*name {
            UNKNOWN_THREAD => ThreadId::NONE,
            _ => ThreadId(self.next_id()),
        };
        let thread = Thread::new(id, self.bursts.count);
        match self.threads.get_mut(key.into()) {
            Some(before) => {
                self.remarks.add(Remarked::ThreadIds, offset);
                *before = thread;
            }
            None => {
                self.threads.insert(key.into(), thread);
            }
        }
        if id.is_none() {
            return Some(nothing(used));
        }
        let start = ThreadStart {
            thread: id,
            time: self.clock.time(ticks),
            object,
            name,
            ..ThreadStart::default()
        };
        Some(event(used, Event::ThreadStart(start)))
    }

    /// Reads a THREAD_START. Reports no event, because THREAD_DEFINE has already reported the
    /// thread. The model does not distinguish a thread's start from its first occurrence.
    pub(super) fn thread_start<'a>(&mut self, input: &'a [u8]) -> Option<Decoded<'a>> {
        let mut fields = self.fields(input, 1);
        let (ticks, key) = (fields.u64()?, fields.u32()?);
        self.latest = self.latest.max(ticks);
        if self.threads.get(key.into()).is_none() {
            return Some(self.unknown_thread(key, ticks));
        }
        match self.thread_defined {
            Some((defined, at)) if defined == key => self.look_at_definition(at, ticks),
            _ => self.remarks.add(Remarked::LateStarts, self.offset),
        }
        Some(nothing(HEAD + 4))
    }

    pub(super) fn thread_exit<'a>(&mut self, input: &'a [u8]) -> Option<Decoded<'a>> {
        let mut fields = self.fields(input, 1);
        let (ticks, key) = (fields.u64()?, fields.u32()?);
        let burst = self.bursts.count;
        let Some(thread) = self.threads.get_mut(key.into()) else {
            return Some(self.unknown_thread(key, ticks));
        };
        if thread.in_doubt(burst) {
            return Some(self.end_in_pause(key));
        }
        thread.frames = Vec::new();
        let thread = thread.id;
        self.latest = self.latest.max(ticks);
        let time = self.clock.time(ticks);
        Some(event(
            HEAD + 4,
            Event::ThreadEnd(ThreadEnd { thread, time }),
        ))
    }
}
