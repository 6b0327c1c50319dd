//! Threads: names, starts and ends, and losses.

use super::Translator;
use crate::definition::ThreadInfo;
use crate::record;
use crate::record::NO_THREAD;
use jtrail_model::{
    Duration, Event, Lost, Note, ThreadCpu, ThreadEnd, ThreadId, ThreadMount, ThreadName,
    ThreadOsId, ThreadStart, ThreadUnmount, Timestamp,
};

impl Translator {
    /// Handles the definition of a thread. Writes its name if that has changed.
    pub fn add_thread(&mut self, info: ThreadInfo) {
        let thread = self.thread(info.number);
        let is_renamed = !thread.id.is_none() && thread.info.name != info.name;
        thread.info = info;
        thread.is_renamed = false;
        if is_renamed {
            let (id, time) = (thread.id, thread.last);
            let name = thread.info.name.clone();
            self.event(&Event::ThreadName(ThreadName {
                thread: id,
                time,
                name: (&*name).into(),
            }));
        }
    }

    /// Keeps the name that a thread has from its next
    /// [`Code::ThreadName`](crate::record::Code::ThreadName) record on.
    pub fn add_name(&mut self, number: u32, name: Box<str>) {
        if !self.has_ended(number) {
            self.thread(number).names.push(name);
        }
    }

    /// Handles a record of a thread's name.
    pub(super) fn named(&mut self, number: u32, ticks: u64) {
        let Some((id, time)) = self.at(number, ticks) else {
            return;
        };
        let thread = self.thread(number);
        if thread.names.is_empty() {
            return;
        }
        let name = thread.names.remove(0);
        thread.is_renamed = true;
        if std::mem::replace(&mut thread.info.name, name.clone()) != name {
            self.event(&Event::ThreadName(ThreadName {
                thread: id,
                time,
                name: (&*name).into(),
            }));
        }
    }

    /// Returns the thread's id, and the time of a record on the thread. Times on a thread never
    /// decrease. Defines the thread in the trace if needed. Returns `None` if the thread has ended.
    #[inline]
    pub(super) fn at(&mut self, number: u32, ticks: u64) -> Option<(ThreadId, Timestamp)> {
        let time = Timestamp(self.timeline.at(ticks));
        if number == NO_THREAD {
            return Some((ThreadId::NONE, time));
        }
        if self.has_ended(number) {
            return None;
        }
        let thread = self.thread(number);
        thread.last = thread.last.max(time);
        match thread.id.is_none() {
            true => Some(self.define_thread(number)),
            false => Some((thread.id, thread.last)),
        }
    }

    #[cold]
    pub(super) fn define_thread(&mut self, number: u32) -> (ThreadId, Timestamp) {
        let id = ThreadId(self.ids.next());
        let thread = self.thread(number);
        thread.id = id;
        let (info, time) = (thread.info.clone(), thread.last);
        let object = self.thread_object(&info, time);
        self.event(&Event::ThreadStart(ThreadStart {
            thread: id,
            time,
            group: (&*info.group).into(),
            parent_group: (&*info.parent_group).into(),
            object,
            name: (&*info.name).into(),
        }));
        (id, time)
    }

    /// Returns the id of a thread that an event mentions at `time`, after defining it if needed.
    /// Returns [`ThreadId::NONE`] if the thread has ended or has no number.
    pub(super) fn other_thread(&mut self, number: u32, time: Timestamp) -> ThreadId {
        if number == NO_THREAD || self.has_ended(number) {
            return ThreadId::NONE;
        }
        let thread = self.thread(number);
        if !thread.id.is_none() {
            return thread.id;
        }
        thread.last = thread.last.max(time);
        self.define_thread(number).0
    }

    /// Handles a record of lost events. `payload` is the record's payload and a fourth word: how
    /// many of the lost events an earlier trace has reported.
    pub(super) fn lost(&mut self, number: u32, ticks: u64, payload: &[u64]) {
        let &[calls, others, open, emitted] = payload else {
            return; // the reader passes four words
        };
        let (calls, closed) = record::lost_parts(calls);
        let number = self.alive(number);
        let from = self.thread(number).last;
        let _ = self.at(number, ticks); // defines the thread
        let thread = self.thread(number);
        thread.parks = 0;
        let keep = thread.calls.len().saturating_sub(closed as usize);
        // The leaves of these calls are among the lost events. They are written here, at the end of
        // the gap, so they do not count as lost.
        let given_back = (thread.calls.len() - keep) as u64;
        let repaired = self.totals.repaired;
        self.close(number, ticks, keep, false);
        self.totals.repaired = repaired + given_back;
        // The leaves that are written here are the last of the lost events.
        let events = match emitted {
            0 => calls.saturating_sub(given_back) + others,
            emitted => (calls + others + open - emitted).saturating_sub(open + given_back),
        };
        if events > 0 || emitted == 0 {
            self.emit_lost(number, ticks, from, events);
        }
    }

    /// At the end of the trace, writes the number of lost events that no record counts.
    pub fn lost_at_end(&mut self, number: u32, ticks: u64, events: u64) {
        let number = self.alive(number); // a carrier's last thread may have ended
        let from = self.thread(number).last;
        self.emit_lost(number, ticks, from, events);
    }

    /// Returns the number of the thread, or [`NO_THREAD`] if it has ended.
    fn alive(&mut self, number: u32) -> u32 {
        match self.has_ended(number) {
            true => NO_THREAD,
            false => number,
        }
    }

    fn emit_lost(&mut self, number: u32, ticks: u64, from: Timestamp, events: u64) {
        let Some((thread, to)) = self.at(number, ticks) else {
            return;
        };
        self.totals.lost += events;
        let from = if from == Timestamp::default() {
            to
        } else {
            from
        };
        self.note(&Note::Lost(Lost {
            thread,
            events,
            from,
            to,
            reason: "overflow".into(),
        }));
    }

    pub(super) fn thread_ended(&mut self, number: u32, ticks: u64) {
        // Calls that are still open have ended without a leave record, because no call outlives its
        // thread.
        let open = self.thread(number).calls.len();
        if open > 0 {
            self.close(number, ticks, 0, true);
            self.totals.repaired += 1; // `close` counted the outermost leave as recorded
        }
        if self.is_cut {
            self.totals.open += self.thread(number).counted_left_open();
        } else if let Some(since) = self.paused {
            self.write_left_open(number, since);
        }
        if let Some(tree) = self.thread(number).tree.take()
            && let Some((thread, time)) = self.at(number, ticks)
        {
            self.write_tree(thread, *tree, time);
        }
        if self.settings.emit_threads
            && let Some((thread, time)) = self.at(number, ticks)
        {
            self.event(&Event::ThreadEnd(ThreadEnd { thread, time }));
        }
        self.ended.insert(number.into());
        self.threads.remove(&number);
    }

    /// Writes a thread's CPU time. Another thread may have read the value before the thread itself
    /// read its latest one. So the written values never decrease.
    pub(super) fn thread_cpu(&mut self, number: u32, ticks: u64, cpu_time: Duration) {
        if let Some((thread, time)) = self.at(number, ticks) {
            let emitted = &mut self.thread(number).cpu;
            let cpu_time = cpu_time.max(*emitted);
            *emitted = cpu_time;
            self.event(&Event::ThreadCpu(ThreadCpu {
                thread,
                time,
                cpu_time,
            }));
        }
    }

    pub(super) fn thread_os(&mut self, number: u32, ticks: u64, os_id: u64) {
        if let Some((thread, time)) = self.at(number, ticks) {
            self.event(&Event::ThreadOsId(ThreadOsId {
                thread,
                time,
                os_id,
            }));
        }
    }

    pub(super) fn mounted(&mut self, number: u32, ticks: u64, carrier: u32) {
        if let Some((thread, time)) = self.at(number, ticks) {
            let carrier = self.other_thread(carrier, time);
            self.event(&Event::ThreadMount(ThreadMount {
                thread,
                time,
                carrier,
            }));
        }
    }

    pub(super) fn unmounted(&mut self, number: u32, ticks: u64, carrier: u32) {
        if let Some((thread, time)) = self.at(number, ticks) {
            let carrier = self.other_thread(carrier, time);
            self.event(&Event::ThreadUnmount(ThreadUnmount {
                thread,
                time,
                carrier,
            }));
        }
    }
}
