//! Threads of a trace: their state, and the lines `thr crt`, `thr dst`, `thr aos` and `thr cpu`.

use super::dropped::Dropped;
use super::{Encoder, Pending};
use crate::check::table::Table;
use crate::tracelog::value;
use jtrail_model::{
    ClassId, Duration, MethodId, ThreadCpu, ThreadEnd, ThreadId, ThreadOsId, ThreadStart,
};
use std::collections::BTreeMap;

/// All threads by id; `None` for a thread that has ended.
#[derive(Debug, Default)]
pub(super) struct Threads {
    table: Table<Option<Box<Thread>>>,
    /// Number of threads written; the first one represents the process.
    written: u32,
    /// Threads that may have open calls, pending samples or pending allocations. A pause and the
    /// end of the trace end all of these.
    dirty: Vec<ThreadId>,
}

/// A live thread.
#[derive(Debug, Default)]
pub(super) struct Thread {
    pub(super) iid: u32,
    pub(super) calls: Vec<Call>,
    /// Number of open calls that are written.
    pub(super) depth: u64,
    /// Time of the thread's last call, sample or allocation.
    pub(super) ms: u64,
    /// Time of the thread's last `sam` line.
    pub(super) line_ms: u64,
    /// Allocations that are not yet written: objects and bytes by class.
    pub(super) sums: BTreeMap<ClassId, (u64, u64)>,
    /// Time of the last allocation in [`Self::sums`].
    pub(super) sums_ms: u64,
    /// The sampled stack that was written last, outermost frame first.
    pub(super) sampled: Vec<MethodId>,
    /// Samples that are not yet written.
    pub(super) run: Option<Run>,
    cpu_ms: Option<u64>,
    cpu_us: u64,
    dirty: bool,
}

/// An open call.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) ticket: u32,
    pub(super) method: MethodId,
    /// True if the written stack contains the call. It does not contain dropped calls, nor calls
    /// that a pause has ended.
    pub(super) written: bool,
}

/// Consecutive samples of one stack.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) stack: Vec<MethodId>,
    pub(super) count: u64,
    pub(super) ms: u64,
}

impl Threads {
    #[inline]
    pub(super) fn get(&mut self, id: ThreadId) -> Option<&mut Thread> {
        self.table.get_mut(id.0)?.as_deref_mut()
    }

    /// Marks a thread that has open calls, pending samples or pending allocations.
    #[inline]
    pub(super) fn mark_dirty(&mut self, id: ThreadId) {
        if let Some(thread) = self.get(id)
            && !thread.dirty
        {
            thread.dirty = true;
            self.dirty.push(id);
        }
    }

    /// Removes the marks, and returns the marked threads in the order of their internal ids.
    pub(super) fn take_dirty(&mut self) -> Vec<ThreadId> {
        let mut dirty = std::mem::take(&mut self.dirty);
        dirty.retain(|id| match self.get(*id) {
            Some(thread) => std::mem::take(&mut thread.dirty),
            None => false,
        });
        dirty.sort_by_key(|id| self.get(*id).map(|thread| thread.iid));
        dirty
    }
}

impl Encoder {
    pub(super) fn thread_start(&mut self, e: &ThreadStart<'_>, out: &mut Vec<u8>) {
        self.dropped.part(Dropped::ThreadTimes);
        self.dropped
            .part_if(!e.name.is_empty(), Dropped::ThreadNames);
        let grouped = !e.group.is_empty() || !e.parent_group.is_empty();
        self.dropped.part_if(grouped, Dropped::ThreadGroups);
        self.dropped
            .part_if(!e.object.is_none(), Dropped::ClassObjects);
        let iid = self.threads.written.saturating_add(1);
        let thread = Box::new(Thread {
            iid,
            ..Thread::default()
        });
        let table = &mut self.threads.table;
        let new = !e.thread.is_none()
            && iid < u32::MAX
            && match table.get_mut(e.thread.0) {
                Some(place @ None) => {
                    *place = Some(thread);
                    true
                }
                Some(Some(_)) => false,
                None => table.insert(e.thread.0, Some(thread)),
            };
        if !new {
            self.dropped.event(Dropped::ThreadsAgain);
            return;
        }
        self.threads.written = iid;
        self.settle(out);
        self.flush(out);
        out.extend_from_slice(b"thr crt ");
        value::h64(u64::from(iid) + 1, out);
        out.push(b' ');
        value::h32(iid, out);
        out.push(b'\n');
    }

    pub(super) fn thread_end(&mut self, e: &ThreadEnd, out: &mut Vec<u8>) {
        let Some(iid) = self.iid(e.thread) else {
            return;
        };
        self.dropped.part(Dropped::ThreadTimes);
        self.settle(out);
        if !self.paused {
            self.end_interval(e.thread, out);
        }
        self.flush(out);
        out.extend_from_slice(b"thr dst ");
        value::h32(iid, out);
        out.push(b'\n');
        if let Some(place) = self.threads.table.get_mut(e.thread.0) {
            *place = None;
        }
    }

    /// Returns the internal id of a live thread. If the thread is not live, counts a dropped event.
    pub(super) fn iid(&mut self, id: ThreadId) -> Option<u32> {
        let iid = self.threads.get(id).map(|thread| thread.iid);
        self.dropped.event_if(iid.is_none(), Dropped::OtherThreads);
        iid
    }

    pub(super) fn thread_os_id(&mut self, e: &ThreadOsId, out: &mut Vec<u8>) {
        let Some(iid) = self.iid(e.thread) else {
            return;
        };
        self.settle(out);
        self.flush(out);
        out.extend_from_slice(b"thr aos ");
        value::h32(iid, out);
        out.push(b' ');
        value::dec(e.os_id, out);
        out.push(b'\n');
    }

    pub(super) fn thread_cpu(&mut self, e: &ThreadCpu, out: &mut Vec<u8>) {
        if self.iid(e.thread).is_none() {
            return;
        }
        if !self.has_cpu() {
            self.dropped.event(Dropped::ThreadCpu);
            return;
        }
        let ms = self.ms(e.time);
        self.cpu(e.thread, ms, e.cpu_time, out);
    }

    /// Writes the CPU time that a call event contains, at most once per interval for each thread.
    #[inline]
    pub(super) fn call_cpu(&mut self, id: ThreadId, ms: u64, cpu: Duration, out: &mut Vec<u8>) {
        if cpu.0 == 0 || !self.has_cpu() {
            return;
        }
        let interval = self.settings.cpu_interval_ms;
        if let Some(thread) = self.threads.get(id)
            && thread
                .cpu_ms
                .is_none_or(|last| ms >= last.saturating_add(interval))
        {
            self.cpu(id, ms, cpu, out);
        }
    }

    /// True if CPU times of threads are written, or summed up for the process.
    #[inline]
    fn has_cpu(&self) -> bool {
        // If the trace comes from a trace log, CPU time of the process is never derived from
        // threads: only the CPU times of the process that the trace contains are written.
        let of_process = self.settings.process_cpu && !self.opening.from_trace_log;
        !self.paused && (self.settings.thread_cpu || of_process)
    }

    fn cpu(&mut self, id: ThreadId, ms: u64, cpu: Duration, out: &mut Vec<u8>) {
        self.dropped.part_if(cpu.0 % 1000 != 0, Dropped::Fractions);
        let Some(thread) = self.threads.get(id) else {
            return;
        };
        let iid = thread.iid;
        let ms = ms.max(thread.cpu_ms.unwrap_or_default());
        thread.cpu_ms = Some(ms);
        let us = u64::try_from(cpu.0 / 1000).unwrap_or_default();
        let used = us.saturating_sub(thread.cpu_us);
        thread.cpu_us = thread.cpu_us.max(us);
        if self.settings.thread_cpu {
            self.settle(out);
            self.flush(out);
            out.extend_from_slice(b"thr cpu ");
            value::h32(iid, out);
            for number in [ms, used] {
                out.push(b' ');
                value::dec(number, out);
            }
            out.push(b'\n');
        }
        if self.settings.process_cpu
            && !self.opening.from_trace_log
            && let Some(ms) = self.process.used(used, ms, self.settings.cpu_interval_ms)
        {
            self.settle(out);
            self.flush(out);
            self.pending = Pending::ProcessCpu { ms };
        }
    }
}
