//! Calls, and synthetic leaves. A writer adds synthetic leaves before END_BURST, for calls that
//! continue after it.

use super::threads::{Frame, Thread};
use super::{Decoder, Remarked, nothing};
use crate::jinsight::wire::{END_BURST, ENTER_SIZE, HEAD, LEAVE_SIZE, METHOD_LEAVE, NO_OBJECT};
use crate::{Decoded, Step};
use jtrail_model::{
    Event, MethodDef, MethodEnter, MethodId, MethodLeave, ThreadId, ThreadStart, Timestamp,
};

impl Decoder {
    /// Reads a WIDE_METHOD_ENTER. Returns `None` if the record is incomplete.
    #[inline]
    pub(super) fn enter<'a>(&mut self, input: &'a [u8]) -> Option<Decoded<'a>> {
        let mut fields = self.fields(input, 1);
        let (ticks, key, class, method) =
            (fields.u64()?, fields.u32()?, fields.u16()?, fields.u16()?);
        let (object, line) = (fields.u32()?, fields.u16()?);
        if let Some(before) = self.before_record() {
            return Some(before);
        }
        let known = self.classes.method(class, method);
        let shown = self.bursts.inside && ticks == self.bursts.begin;
        let Some(thread) = self.threads.get_mut(u64::from(key)) else {
            return Some(self.unknown_thread(key, ticks));
        };
        if thread.in_doubt(self.bursts.count) {
            if shown && thread.goes_on(known.map(|known| known.1)) {
                return Some(nothing(ENTER_SIZE));
            }
            return Some(self.end_in_pause(key));
        }
        if shown {
            thread.push_outside(known.map_or(MethodId::NONE, |known| known.1));
            return Some(nothing(ENTER_SIZE));
        }
        let Some((class, method)) = known else {
            return Some(self.new_method(class, method, ticks));
        };
        let (ticket, stack_depth) = thread.push(class, method);
        let event = Event::MethodEnter(MethodEnter {
            thread: thread.id,
            time: self.clock.time(ticks),
            method,
            class,
            ticket,
            stack_depth,
            ..MethodEnter::default()
        });
        if object != NO_OBJECT {
            self.remarks.add(Remarked::Receivers, self.offset);
        }
        if line != 0 {
            self.remarks.add(Remarked::Lines, self.offset);
        }
        self.look_at_ticks(ticks);
        self.latest = self.latest.max(ticks);
        Some(Decoded {
            used: ENTER_SIZE,
            step: Step::Event(event),
        })
    }

    /// Reads a METHOD_LEAVE. Returns `None` if the record is incomplete.
    #[inline]
    pub(super) fn leave<'a>(&mut self, input: &'a [u8], last: bool) -> Option<Decoded<'a>> {
        let mut fields = self.fields(input, 1);
        let (ticks, overhead, key) = (fields.u64()?, fields.u64()?, fields.u32()?);
        if self.bursts.ended.is_some() || (!self.held.is_empty() && self.held_ticks != ticks) {
            return self.before_record();
        }
        self.latest = self.latest.max(ticks);
        let offset = self.offset;
        // If another event must be reported first, this leave is read again later. But it is
        // counted only once.
        let is_odd = overhead != 0 || ticks < self.clock.start;
        if is_odd && self.counted_leave.replace(offset) != Some(offset) {
            if overhead != 0 {
                self.remarks.add(Remarked::CallOverheads, offset);
            }
            self.look_at_ticks(ticks);
        }
        let held = self.bursts.inside && self.may_be_made_up(ticks, &input[LEAVE_SIZE..], last);
        let (done, step) = if held {
            self.held.push_back((key, offset));
            self.held_ticks = ticks;
            (true, Step::Nothing)
        } else {
            self.left(key, ticks, offset)
        };
        Some(Decoded {
            used: if done { LEAVE_SIZE } else { 0 },
            step,
        })
    }

    /// True if a leave with these ticks may be synthetic. A synthetic leave is followed by an
    /// END_BURST with the same ticks. Between the two, there are only leaves with these ticks.
    #[inline]
    fn may_be_made_up(&self, ticks: u64, next: &[u8], last: bool) -> bool {
        match next.first() {
            _ if !self.held.is_empty() => true,
            None => !last,
            Some(&(METHOD_LEAVE | END_BURST)) => {
                let mut fields = self.fields(next, 1);
                fields
                    .u64()
                    .map_or(next.len() < HEAD && !last, |next| next == ticks)
            }
            Some(_) => false,
        }
    }

    /// Ends the innermost call of the thread by the leave at `offset`. Returns `false` if another
    /// event is reported first, so that the leave must be processed again.
    fn left<'a>(&mut self, key: u32, ticks: u64, offset: u64) -> (bool, Step<'a>) {
        let Some(thread) = self.threads.get_mut(u64::from(key)) else {
            return (false, self.unknown_thread_at(key, ticks, offset).step);
        };
        if thread.in_doubt(self.bursts.count) {
            return (false, self.end_in_pause(key).step);
        }
        let Some(frame) = thread.pop() else {
            self.remarks.add(Remarked::Leaves, offset);
            return (true, Step::Nothing);
        };
        let step = leave_of(thread.id, frame, self.clock.time(ticks));
        (true, step)
    }

    /// Reports the leave of a call that was open before the pause and is not open after it. The
    /// time of the leave is the begin of the pause.
    #[cold]
    pub(super) fn end_in_pause<'a>(&mut self, key: u32) -> Decoded<'a> {
        let thread = self.threads.get_mut(u64::from(key));
        let frame = thread.and_then(|thread| Some((thread.id, thread.end_in_pause()?)));
        let step = match frame {
            Some((id, frame)) => leave_of(id, frame, self.bursts.paused),
            None => Step::Nothing,
        };
        Decoded { used: 0, step }
    }

    /// Reports the next leave that was held back. It is not synthetic, because no END_BURST
    /// followed.
    #[cold]
    pub(super) fn replay<'a>(&mut self) -> Option<Decoded<'a>> {
        let &(key, offset) = self.held.front()?;
        let (done, step) = self.left(key, self.held_ticks, offset);
        if done {
            self.held.pop_front();
        }
        Some(Decoded { used: 0, step })
    }

    /// Reports the definition of a method. If its class is still undefined, reports the definition
    /// of the class instead.
    #[cold]
    fn new_method<'a>(&mut self, class: u16, method: u16, ticks: u64) -> Decoded<'a> {
        if self.classes.get(class).is_none() {
            return self.unknown_class(class, ticks);
        }
        let id = MethodId(self.next_id());
        let big_endian = self.big_endian;
        let found = self.classes.name_method(class, method, id, big_endian);
        let (name, signature) = found.unwrap_or_else(|| {
            let offset = self.offset;
            self.remarks.add(Remarked::UnlistedMethods, offset);
            (format!("method#{method}"), String::new())
        });
        let class = self.classes.get(class).map(|class| class.id);
        let event = Event::MethodDef(MethodDef {
            method: id,
            class: class.unwrap_or_default(),
            name: name.into(),
            signature: signature.into(),
            ..MethodDef::default()
        });
        Decoded {
            used: 0,
            step: Step::Event(event),
        }
    }

    /// Reports the start of a thread that the file does not define.
    #[cold]
    pub(super) fn unknown_thread<'a>(&mut self, key: u32, ticks: u64) -> Decoded<'a> {
        self.unknown_thread_at(key, ticks, self.offset)
    }

    fn unknown_thread_at<'a>(&mut self, key: u32, ticks: u64, offset: u64) -> Decoded<'a> {
        self.remarks.add(Remarked::UndefinedThreads, offset);
        let id = ThreadId(self.next_id());
        let thread = Thread::new(id, self.bursts.count);
        self.threads.insert(u64::from(key), thread);
        let event = Event::ThreadStart(ThreadStart {
            thread: id,
            time: self.clock.time(ticks),
            name: format!("thread#{key}").into(),
            ..ThreadStart::default()
        });
        Decoded {
            used: 0,
            step: Step::Event(event),
        }
    }
}

fn leave_of<'a>(thread: ThreadId, frame: Frame, time: Timestamp) -> Step<'a> {
    if !frame.is_in_trace() {
        return Step::Nothing;
    }
    Step::Event(Event::MethodLeave(MethodLeave {
        thread,
        time,
        method: frame.method,
        class: frame.class,
        ticket: frame.ticket,
        ..MethodLeave::default()
    }))
}
