//! Bursts, the pauses between them, and the end of the file.

use super::{Decoder, Remarked, State, event, nothing};
use crate::Decoded;
use crate::jinsight::wire::{
    CLASS_DEFINE, CLASS_LOAD, EVENTS_AT, HEAD, HEADER_SIZE, OBJECT_RECLAIMED, THREAD_DEFINE,
    THREAD_EXIT, THREAD_START, WIDE_METHOD_ENTER,
};
use jtrail_model::{AgentDestroy, Event, Timestamp, TraceEnd, TracePause, TraceResume};
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(super) struct Bursts {
    pub(super) count: u32,
    pub(super) inside: bool,
    /// Ticks of the last BEGIN_BURST.
    pub(super) begin: u64,
    /// Ticks of END_BURST, if the last record read was an END_BURST.
    pub(super) ended: Option<u64>,
    /// Time of the last END_BURST.
    pub(super) paused: Timestamp,
    /// Threads of the synthetic leaves right before the last END_BURST.
    left: VecDeque<u32>,
    /// Time of the last BEGIN_BURST; `None` once the resume event is reported. Two kinds of records
    /// come before this event: enters that repeat the calls in progress, and records of what
    /// happened during the pause.
    resuming: Option<Timestamp>,
}

impl Decoder {
    /// Reports an event that is due before the next record: a leave that is not synthetic after
    /// all, or the pause after an END_BURST.
    #[inline]
    pub(super) fn before_record<'a>(&mut self) -> Option<Decoded<'a>> {
        if !self.held.is_empty() {
            return self.replay();
        }
        let ticks = self.bursts.ended.take()?;
        let time = self.clock.time(ticks);
        Some(event(0, Event::TracePause(TracePause { time })))
    }

    /// Called for each record after BEGIN_BURST, until the pause is over. Returns `None` if the
    /// record still belongs to the pause. Otherwise reports an event that is due before the record.
    #[cold]
    pub(super) fn resume<'a>(&mut self, kind: u8, record: &'a [u8]) -> Option<Decoded<'a>> {
        let of_pause = matches!(
            kind,
            WIDE_METHOD_ENTER
                | THREAD_DEFINE
                | THREAD_START
                | THREAD_EXIT
                | CLASS_DEFINE
                | CLASS_LOAD
                | OBJECT_RECLAIMED
        );
        // If the input ends before the ticks, `?` returns `None`. The record is read again once
        // there is more input.
        if of_pause && self.fields(record, 1).u64()? == self.bursts.begin {
            return None;
        }
        self.resumed()
    }

    /// Called when no more records of the pause can follow. Each call reports one event: first the
    /// leaves of calls that ended during the pause, then the resume event.
    pub(super) fn resumed<'a>(&mut self) -> Option<Decoded<'a>> {
        let time = self.bursts.resuming?;
        while let Some(key) = self.bursts.left.front().copied() {
            let thread = self.threads.get_mut(u64::from(key));
            if thread.is_some_and(|thread| thread.in_doubt(self.bursts.count)) {
                return Some(self.end_in_pause(key));
            }
            self.bursts.left.pop_front();
        }
        self.bursts.resuming = None;
        Some(event(0, Event::TraceResume(TraceResume { time })))
    }

    #[inline]
    pub(super) fn is_resuming(&self) -> bool {
        self.bursts.resuming.is_some()
    }

    pub(super) fn begin_burst<'a>(&mut self, input: &'a [u8]) -> Option<Decoded<'a>> {
        let ticks = self.fields(input, 1).u64()?;
        if self.bursts.inside {
            let offset = self.offset;
            self.remarks.add(Remarked::NestedBursts, offset);
        }
        self.bursts.inside = true;
        self.bursts.begin = ticks;
        self.bursts.count = self.bursts.count.saturating_add(1);
        self.latest = self.latest.max(ticks);
        // The first burst starts the trace, so it does not resume a pause.
        if self.offset != HEADER_SIZE as u64 {
            self.bursts.resuming = Some(self.clock.time(ticks));
        }
        Some(nothing(HEAD))
    }

    pub(super) fn end_burst<'a>(&mut self, input: &'a [u8]) -> Option<Decoded<'a>> {
        let ticks = self.fields(input, 1).u64()?;
        if !self.held.is_empty() && self.held_ticks == ticks {
            self.bursts.left = self.held.drain(..).map(|(key, _)| key).collect();
        }
        if let Some(before) = self.before_record() {
            return Some(before);
        }
        if !self.bursts.inside {
            let offset = self.offset;
            self.remarks.add(Remarked::UnbegunBursts, offset);
        }
        self.bursts.inside = false;
        self.bursts.ended = Some(ticks);
        self.bursts.paused = self.clock.time(ticks);
        self.latest = self.latest.max(ticks);
        Some(nothing(HEAD))
    }

    pub(super) fn end_file<'a>(&mut self, input: &'a [u8]) -> Option<Decoded<'a>> {
        if let Some(before) = self.replay() {
            return Some(before);
        }
        let mut fields = self.fields(input, 1);
        let numbers = (fields.u32()?, fields.u32()?);
        let offset = self.offset;
        if numbers != (5705, 0xadde_0000) {
            self.remarks.add(Remarked::EndNumbers, offset);
        }
        if self.class_defined.is_some() {
            self.remarks.add(Remarked::UnloadedClasses, offset);
        }
        if self.promised != 0 && u64::from(self.promised) != self.records {
            self.remarks.add(Remarked::Promised, EVENTS_AT as u64);
        }
        let end = self.bursts.ended.take().unwrap_or(self.latest);
        let time = self.clock.time(end);
        self.queue.extend([
            Event::TraceEnd(TraceEnd {
                time,
                ..TraceEnd::default()
            }),
            Event::AgentDestroy(AgentDestroy {
                time,
                ..AgentDestroy::default()
            }),
        ]);
        self.state = State::After;
        Some(nothing(HEAD))
    }
}
