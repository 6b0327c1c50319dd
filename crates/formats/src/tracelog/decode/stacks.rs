//! Stacks of the threads, and the events that result from their changes.

use super::words::{Words, is_ip, parts, read_iid};
use super::{Decoder, Line, Remarked};
use crate::check::table::Table;
use crate::room::TextBudget;
use crate::tracelog::settings::Collection;
use crate::tracelog::value::{read_dec, read_hex};
use jtrail_model::{
    Event, Frame, MethodEnter, MethodLeave, Sample, ThreadEnd, ThreadId, ThreadState, Ticks,
    Timestamp,
};

/// Maximum number of frames of a sample; the innermost frames are kept.
const MAX_FRAMES: usize = 4096;

/// All threads.
#[derive(Debug, Default)]
pub(super) struct Threads {
    table: Table<Option<Box<Thread>>>,
    /// How calls are recorded. The configuration says it, or else the first record.
    pub(super) collection: Option<Collection>,
    /// Functions of the current record.
    frames: Vec<u32>,
}

/// State of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Life {
    Unknown,
    /// `thr crt` was read, but no event has defined the thread yet. Thread 0 stays in this state as
    /// long as it only stands for the process.
    Created,
    Defined,
    Ended,
}

#[derive(Debug, Default)]
struct Thread {
    defined: bool,
    os_id: Option<u64>,
    /// Frames, outermost first. Each holds the function and the ticket of the call. In samples,
    /// tickets are 0.
    stack: Vec<(u32, u32)>,
    ticket: u32,
    cpu_us: u64,
    /// True if a record did not fit the stack. The next record with match 0 resets it.
    is_unknown: bool,
}

/// Events of the current record that are not yet returned.
#[derive(Debug, Default)]
pub(super) enum Expansion {
    #[default]
    None,
    /// `leaves` leave events, and then an enter event for each of [`Threads::frames`] from index
    /// `at` on.
    Calls {
        iid: u32,
        time: Timestamp,
        leaves: usize,
        at: usize,
    },
    /// A sample of the thread's current stack.
    Sample {
        iid: u32,
        time: Timestamp,
        ticks: Ticks,
    },
}

impl Threads {
    fn get(&mut self, iid: u32) -> Option<&mut Thread> {
        self.table.get_mut(u64::from(iid))?.as_deref_mut()
    }

    #[inline]
    pub(super) fn state(&self, iid: u32) -> Life {
        match self.table.get(u64::from(iid)) {
            None => Life::Unknown,
            Some(None) => Life::Ended,
            Some(Some(thread)) if thread.defined => Life::Defined,
            Some(Some(_)) => Life::Created,
        }
    }

    /// Handles `thr crt`.
    pub(super) fn create(&mut self, iid: u32) {
        self.table.insert(u64::from(iid), Some(Box::default()));
    }

    /// Marks the thread as defined. Returns its operating-system id if [`Self::set_os_id`] stored
    /// one.
    pub(super) fn define(&mut self, iid: u32) -> Option<u64> {
        if self.get(iid).is_none() {
            match self.table.get_mut(u64::from(iid)) {
                Some(place) => *place = Some(Box::default()),
                None => self.create(iid),
            }
        }
        let thread = self.get(iid)?;
        thread.defined = true;
        thread.os_id.take()
    }

    /// Stores the operating-system id of a thread that is not yet defined.
    pub(super) fn set_os_id(&mut self, iid: u32, os_id: u64) {
        if let Some(thread) = self.get(iid) {
            thread.os_id = Some(os_id);
        }
    }

    /// Returns the operating-system id of thread 0 if no event has defined that thread.
    pub(super) fn unused_os_id(&mut self) -> Option<u64> {
        self.get(0)?.os_id
    }

    /// Adds CPU time in microseconds. Returns the total CPU time of the thread.
    pub(super) fn used(&mut self, iid: u32, us: u64) -> Option<u64> {
        let thread = self.get(iid)?;
        thread.cpu_us = thread.cpu_us.saturating_add(us);
        Some(thread.cpu_us)
    }
}

impl Decoder {
    /// Handles `thr dst`.
    pub(super) fn thread_end(&mut self, iid: u32) {
        if self.threads.state(iid) == Life::Ended {
            self.remark("thr dst", Remarked::EndsAgain);
            return;
        }
        let thread = self.thread(iid);
        if let Some(place) = self.threads.table.get_mut(u64::from(iid)) {
            *place = None;
        }
        let time = self.now;
        self.emit(Event::ThreadEnd(ThreadEnd { thread, time }));
    }

    /// Handles `sam str`.
    pub(super) fn stack(&mut self, words: &mut Words<'_>) -> Option<Line> {
        let (iid, ms, count) = (words.iid()?, words.dec()?, words.dec()?);
        let ([same, size], call_point) = parts(words.word()?)?;
        let (same, size) = (read_dec(same)?, read_dec(size)?);
        let mut with_ip = call_point.is_some();
        if same > size || !call_point.is_none_or(is_ip) {
            return None;
        }
        let mut frames = std::mem::take(&mut self.threads.frames);
        frames.clear();
        while let Some(word) = words.word() {
            let function = match read_hex(word) {
                Some(function) => u32::try_from(function).ok()?,
                None => {
                    let ([function], ip) = parts(word)?;
                    with_ip |= ip.is_some();
                    if !ip.is_none_or(is_ip) {
                        return None;
                    }
                    read_iid(function)?
                }
            };
            frames.push(function);
        }
        let time = self.time(ms)?;
        if with_ip {
            self.remark("sam str", Remarked::Pointers);
        }
        self.thread(iid);
        for function in &frames {
            self.function(*function);
        }
        self.threads.frames = frames;
        self.change(iid, time, count, same, size);
        Some(Line::Read)
    }

    /// Changes a thread's stack: the outermost `same` of `size` frames stay, and
    /// [`Threads::frames`] are pushed.
    fn change(&mut self, iid: u32, time: Timestamp, count: u64, same: u64, size: u64) {
        let Some(thread) = self.threads.get(iid) else {
            return;
        };
        let depth = thread.stack.len();
        if thread.is_unknown && same != 0 {
            self.remark("sam str", Remarked::UnknownStacks);
            return;
        }
        let was_unknown = std::mem::take(&mut thread.is_unknown);
        let same = usize::try_from(same).unwrap_or(usize::MAX);
        let mut keep = same.min(depth);
        if !was_unknown && size != depth as u64 {
            thread.is_unknown = same > depth;
            if thread.is_unknown {
                keep = 0;
                self.threads.frames.clear();
            }
            self.remark("sam str", Remarked::Depths);
        }
        let by_record = match count {
            0 => Collection::Instrumentation,
            _ => Collection::Sampling,
        };
        let collection = *self.threads.collection.get_or_insert(by_record);
        if collection == Collection::Instrumentation {
            self.remark_if(count > 0, "sam str", Remarked::Ticks);
            self.expansion = Expansion::Calls {
                iid,
                time,
                leaves: depth - keep,
                at: 0,
            };
            return;
        }
        let Some(thread) = self
            .threads
            .table
            .get_mut(u64::from(iid))
            .and_then(Option::as_mut)
        else {
            return;
        };
        thread.stack.truncate(keep);
        let new = self.threads.frames.iter().map(|function| (*function, 0));
        thread.stack.extend(new);
        let Some(ticks) = Ticks::new(count) else {
            return self.remark("sam str", Remarked::AllocationStacks);
        };
        self.expansion = Expansion::Sample { iid, time, ticks };
    }

    /// Returns the next event of the current record.
    #[inline]
    pub(super) fn expanded(&mut self) -> Option<Event<'static>> {
        match &mut self.expansion {
            Expansion::None => None,
            Expansion::Calls { .. } => self.next_call(),
            Expansion::Sample { iid, time, ticks } => {
                let (iid, time, ticks) = (*iid, *time, *ticks);
                self.expansion = Expansion::None;
                Some(self.sample(iid, time, ticks))
            }
        }
    }

    #[inline]
    fn next_call(&mut self) -> Option<Event<'static>> {
        let Expansion::Calls {
            iid,
            time,
            leaves,
            at,
        } = &mut self.expansion
        else {
            return None;
        };
        let (iid, time) = (*iid, *time);
        let place = self.threads.table.get_mut(u64::from(iid));
        let state = place.and_then(Option::as_deref_mut)?;
        let thread = ThreadId(u64::from(iid) + 1);
        if *leaves > 0 {
            *leaves -= 1;
            let (function, ticket) = state.stack.pop()?;
            let (method, class) = self.definitions.method(function)?;
            return Some(Event::MethodLeave(MethodLeave {
                thread,
                time,
                method,
                class,
                ticket,
                ..MethodLeave::default()
            }));
        }
        let Some(function) = self.threads.frames.get(*at).copied() else {
            self.expansion = Expansion::None;
            return None;
        };
        *at += 1;
        let (method, class) = self.definitions.method(function)?;
        // After the largest ticket, tickets start again at 1.
        state.ticket = state.ticket.checked_add(1).unwrap_or(1);
        let ticket = state.ticket;
        state.stack.push((function, ticket));
        Some(Event::MethodEnter(MethodEnter {
            thread,
            time,
            method,
            class,
            ticket,
            stack_depth: state.stack.len() as i64,
            ..MethodEnter::default()
        }))
    }

    fn sample(&mut self, iid: u32, time: Timestamp, ticks: Ticks) -> Event<'static> {
        let frames = self
            .threads
            .get(iid)
            .map(|thread| std::mem::take(&mut thread.stack));
        let frames = frames.unwrap_or_default();
        let mut room = TextBudget::default();
        let innermost = frames.iter().rev().take(MAX_FRAMES);
        let innermost =
            innermost.map(|(function, _)| self.definitions.frame(*function).unwrap_or_default());
        let stack: Vec<_> = innermost
            .take_while(|frame| room.takes(frame))
            .map(|frame| Frame {
                method: frame.to_owned().into(),
                line: -1,
            })
            .collect();
        self.remark_if(stack.len() < frames.len(), "sam str", Remarked::DeepStacks);
        if let Some(thread) = self.threads.get(iid) {
            thread.stack = frames;
        }
        Event::Sample(Sample {
            thread: ThreadId(u64::from(iid) + 1),
            time,
            state: ThreadState::Runnable,
            ticks,
            stack,
        })
    }
}
