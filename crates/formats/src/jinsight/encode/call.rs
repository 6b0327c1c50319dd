//! Calls, which make up nearly all of a trace.

use super::definitions::{Place, Sink};
use super::dropped::Dropped;
use super::stream::Stream;
use super::threads::{Call, Left};
use super::{Encoder, sink};
use crate::jinsight::wire::{METHOD_LEAVE, NO_OBJECT, WIDE_METHOD_ENTER};
use jtrail_model::{MethodEnter, MethodLeave, ThreadId, Timestamp};

impl Encoder {
    #[inline]
    pub(super) fn enter(&mut self, e: &MethodEnter, out: &mut Vec<u8>) {
        self.dropped.part_if(e.cpu_time.0 != 0, Dropped::CallCpu);
        self.goes_on(e.time, 1, out);
        let ticks = self.stream.ticks(e.time, &mut self.dropped, out);
        let ticks = self.stream.enter_ticks(ticks, &mut self.dropped);
        let place = self.classes.place(e.method, e.class, sink!(self, out));
        let ticket = e.ticket;
        let (id, ticks) = match self.threads.get_mut(e.thread) {
            Some(thread) => {
                thread.calls.push(Call { place, ticket });
                (thread.id, thread.ticks(ticks, &mut self.dropped))
            }
            None => {
                let call = Call { place, ticket };
                (self.enter_unknown(e.thread, e.time, call, out), ticks)
            }
        };
        self.stream.put_enter(id, ticks, place, out);
    }

    #[cold]
    fn enter_unknown(
        &mut self,
        thread: ThreadId,
        time: Timestamp,
        call: Call,
        out: &mut Vec<u8>,
    ) -> u32 {
        let id = self.thread(thread, time, out);
        if let Some(thread) = self.threads.get_mut(thread) {
            thread.calls.push(call);
        }
        id
    }

    /// Writes an enter for a call that was in progress when the burst began. The enter has the
    /// ticks of BEGIN_BURST.
    pub(super) fn enter_under_way(&mut self, e: &MethodEnter, out: &mut Vec<u8>) {
        self.goes_on(e.time, 0, out);
        self.stream.ticks(e.time, &mut self.dropped, out);
        let place = self.classes.place(e.method, e.class, sink!(self, out));
        let ticket = e.ticket;
        let id = self.thread(e.thread, e.time, out);
        if let Some(thread) = self.threads.get_mut(e.thread) {
            thread.calls.push(Call { place, ticket });
        }
        self.stream.put_enter(id, self.stream.begun(), place, out);
    }

    #[inline]
    pub(super) fn leave(&mut self, e: &MethodLeave, out: &mut Vec<u8>) {
        self.dropped.part_if(e.cpu_time.0 != 0, Dropped::CallCpu);
        self.dropped.part_if(e.by_exception, Dropped::ByException);
        if self.stream.is_paused() && e.time <= self.paused {
            self.leave_in_pause(e);
            return;
        }
        self.goes_on(e.time, 0, out);
        let Some(thread) = self.threads.get_mut(e.thread) else {
            self.dropped.event(Dropped::Leave);
            return;
        };
        let id = thread.id;
        let inner = match thread.leave(e.ticket) {
            Left::Calls(inner) => inner,
            Left::Nothing => {
                self.dropped.event(Dropped::Leave);
                return;
            }
        };
        let ticks = self.stream.ticks(e.time, &mut self.dropped, out);
        let ticks = thread.ticks(ticks, &mut self.dropped);
        for _ in 0..inner {
            self.dropped.part(Dropped::CallUnwound);
            self.put_leave(id, ticks, out);
        }
        self.put_leave(id, ticks, out);
    }

    /// Handles the leave of a call that ended during a pause. Writes nothing: the call already has
    /// a synthetic leave before END_BURST, and the next burst does not enter the call.
    #[cold]
    fn leave_in_pause(&mut self, e: &MethodLeave) {
        let thread = self.threads.get_mut(e.thread);
        match thread.map_or(Left::Nothing, |thread| thread.leave(e.ticket)) {
            Left::Calls(inner) => {
                for _ in 0..inner {
                    self.dropped.part(Dropped::CallUnwound);
                }
            }
            Left::Nothing => self.dropped.event(Dropped::Leave),
        }
    }

    /// If the trace is paused, resumes it `before` ticks before `time`. A call during a pause means
    /// that the pause is over.
    #[inline]
    fn goes_on(&mut self, time: Timestamp, before: u64, out: &mut Vec<u8>) {
        if self.stream.is_paused() {
            let ticks = u64::try_from(time.0).unwrap_or(0);
            self.resume(ticks.saturating_sub(before), out);
        }
    }

    pub(super) fn put_leave(&mut self, thread: u32, ticks: u64, out: &mut Vec<u8>) {
        self.stream.leave_ticks(ticks);
        self.stream.put_leave(thread, ticks, out);
    }
}

impl Stream {
    #[inline]
    pub(super) fn put_enter(&mut self, thread: u32, ticks: u64, place: Place, out: &mut Vec<u8>) {
        let mut fields = [0; 14];
        fields[..4].copy_from_slice(&thread.to_le_bytes());
        fields[4..6].copy_from_slice(&place.class.to_le_bytes());
        fields[6..8].copy_from_slice(&place.method.to_le_bytes());
        fields[8..12].copy_from_slice(&NO_OBJECT.to_le_bytes());
        self.put(WIDE_METHOD_ENTER, ticks, &fields, out);
    }

    #[inline]
    pub(super) fn put_leave(&mut self, thread: u32, ticks: u64, out: &mut Vec<u8>) {
        let mut fields = [0; 12];
        fields[8..].copy_from_slice(&thread.to_le_bytes());
        self.put(METHOD_LEAVE, ticks, &fields, out);
    }
}
