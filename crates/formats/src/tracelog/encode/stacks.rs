//! Calls and samples: lines that record changes of a thread's stack.

use super::dropped::Dropped;
use super::threads::{Call, Run};
use super::{Encoder, Merged, Pending};
use crate::tracelog::settings::Collection;
use crate::tracelog::value;
use jtrail_model::{MethodEnter, MethodLeave, Sample, ThreadId};

/// Maximum number of open calls that are searched for the call that a leave ends.
const FARTHEST_LEAVE: usize = 1000;

impl Encoder {
    #[inline]
    pub(super) fn enter(&mut self, e: &MethodEnter, out: &mut Vec<u8>) {
        if self.settings.collection != Collection::Instrumentation {
            self.dropped.event(Dropped::Calls);
            return;
        }
        let ms = self.ms(e.time);
        let Some(thread) = self.threads.get(e.thread) else {
            self.iid(e.thread);
            return;
        };
        let written = !self.paused && self.definitions.has_method(e.method);
        thread.calls.push(Call {
            ticket: e.ticket,
            method: e.method,
            written,
        });
        if !written {
            self.dropped.event(if self.paused {
                Dropped::PausedCalls
            } else {
                Dropped::UndefinedMethods
            });
            return;
        }
        self.settle_for_call(e.thread, out);
        let Some(function) = self.definitions.function(e.method, out) else {
            return self.unnameable(e.thread);
        };
        let Some(thread) = self.threads.get(e.thread) else {
            return;
        };
        thread.ms = thread.ms.max(ms);
        let (iid, ms, depth) = (thread.iid, thread.ms, thread.depth);
        thread.depth += 1;
        let goes_on = matches!(&self.pending, Pending::Stack { thread, ms: at, .. } if *thread == e.thread && *at == ms);
        if !goes_on {
            self.flush(out);
            self.pending = Pending::Stack {
                thread: e.thread,
                iid,
                ms,
                size: depth,
                keep: depth,
            };
        }
        self.frames.push(function);
        self.threads.mark_dirty(e.thread);
        self.line_at(e.thread, ms);
        self.call_cpu(e.thread, ms, e.cpu_time, out);
    }

    #[inline]
    pub(super) fn leave(&mut self, e: &MethodLeave, out: &mut Vec<u8>) {
        if self.settings.collection != Collection::Instrumentation {
            return;
        }
        let ms = self.ms(e.time);
        self.dropped.part_if(e.by_exception, Dropped::Exceptions);
        let Some(thread) = self.threads.get(e.thread) else {
            self.iid(e.thread);
            return;
        };
        let is_it = |call: &Call| call.ticket == e.ticket && call.method == e.method;
        let near = thread.calls.iter().rev().take(FARTHEST_LEAVE);
        let Some(inner) = near.map(is_it).position(|found| found) else {
            self.dropped.event(Dropped::Leaves);
            return;
        };
        let left = thread.calls.len() - 1 - inner;
        let written = thread.calls.drain(left..).filter(|call| call.written);
        let pops = written.count() as u64;
        if pops == 0 {
            self.dropped.event(Dropped::UnwrittenLeaves);
            return;
        }
        self.settle_for_call(e.thread, out);
        let Some(thread) = self.threads.get(e.thread) else {
            return;
        };
        thread.ms = thread.ms.max(ms);
        let (iid, ms, depth) = (thread.iid, thread.ms, thread.depth);
        let keep = depth.saturating_sub(pops);
        thread.depth = keep;
        self.pop((e.thread, iid), ms, (keep, depth), out);
        self.line_at(e.thread, ms);
        self.call_cpu(e.thread, ms, e.cpu_time, out);
    }

    /// Pops frames: the outermost `same` of `size` frames stay. Consecutive leaves in one
    /// millisecond become one line.
    #[inline]
    fn pop(
        &mut self,
        (id, iid): (ThreadId, u32),
        ms: u64,
        (same, size): (u64, u64),
        out: &mut Vec<u8>,
    ) {
        match &mut self.pending {
            Pending::Stack {
                thread,
                ms: at,
                keep,
                ..
            } if *thread == id && *at == ms && self.frames.is_empty() => *keep = same,
            _ => {
                self.flush(out);
                self.pending = Pending::Stack {
                    thread: id,
                    iid,
                    ms,
                    size,
                    keep: same,
                };
            }
        }
    }

    /// Writes what is pending, and the thread's allocations. Called before an enter or a leave.
    #[inline]
    fn settle_for_call(&mut self, id: ThreadId, out: &mut Vec<u8>) {
        self.settle(out);
        self.end_sums(id, out);
    }

    /// Marks a thread's innermost call as not written, because no internal id is left for its
    /// method.
    #[cold]
    fn unnameable(&mut self, id: ThreadId) {
        self.dropped.event(Dropped::UndefinedMethods);
        let thread = self.threads.get(id);
        if let Some(call) = thread.and_then(|thread| thread.calls.last_mut()) {
            call.written = false;
        }
    }

    #[inline]
    fn line_at(&mut self, id: ThreadId, ms: u64) {
        if let Some(thread) = self.threads.get(id) {
            thread.line_ms = ms;
        }
    }

    /// Pops all frames of a thread.
    pub(super) fn empty_stack(&mut self, id: ThreadId, ms: u64, out: &mut Vec<u8>) {
        let Some(thread) = self.threads.get(id) else {
            return;
        };
        if thread.depth > 0 {
            let size = std::mem::take(&mut thread.depth);
            thread
                .calls
                .iter_mut()
                .for_each(|call| call.written = false);
            thread.ms = thread.ms.max(ms);
            thread.line_ms = thread.ms;
            let (iid, ms) = (thread.iid, thread.ms);
            self.pop((id, iid), ms, (0, size), out);
        }
    }

    pub(super) fn sample(&mut self, e: &Sample<'_>, out: &mut Vec<u8>) {
        if self.settings.collection != Collection::Sampling {
            self.dropped.event_of(Dropped::Samples, e.ticks.get());
            return;
        }
        if self.paused {
            self.dropped.event_of(Dropped::PausedSamples, e.ticks.get());
            return;
        }
        if self.iid(e.thread).is_none() {
            return;
        }
        let ms = self.ms(e.time);
        self.dropped
            .part_if(e.state != Default::default(), Dropped::SampleStates);
        let lines = e.stack.iter().filter(|frame| frame.line != -1).count();
        self.dropped.parts(Dropped::SampleLines, lines as u64);
        let mut stack = Vec::with_capacity(e.stack.len());
        for frame in e.stack.iter().rev() {
            match self.definitions.frame(&frame.method) {
                Some(method) => stack.push(method),
                None => self.dropped.part(Dropped::SampleFrames),
            }
        }
        let one_by_one = self.settings.high_granularity;
        let Some(thread) = self.threads.get(e.thread) else {
            return;
        };
        thread.ms = thread.ms.max(ms);
        let at = thread.ms;
        let merged = (Merged::Samples, e.thread, at);
        if one_by_one || self.opening.from_trace_log {
            self.flush_unless_merging(merged, out);
        }
        let Some(thread) = self.threads.get(e.thread) else {
            return;
        };
        let ticks = e.ticks.get();
        match &mut thread.run {
            Some(run)
                if run.stack == stack && !one_by_one && run.count.checked_add(ticks).is_some() =>
            {
                run.count += ticks;
                self.dropped.part_if(run.ms != at, Dropped::SampleTimes);
                run.ms = at;
            }
            _ => {
                self.end_run(e.thread, out);
                if let Some(thread) = self.threads.get(e.thread) {
                    thread.run = Some(Run {
                        stack,
                        count: ticks,
                        ms: at,
                    });
                }
            }
        }
        self.threads.mark_dirty(e.thread);
        if one_by_one {
            self.end_run(e.thread, out);
        } else if self.opening.from_trace_log {
            self.merged = Some(merged);
        }
    }

    /// Writes the pending samples of a thread.
    pub(super) fn end_run(&mut self, id: ThreadId, out: &mut Vec<u8>) {
        let thread = self.threads.get(id);
        if thread.is_none_or(|thread| thread.run.is_none()) {
            return;
        }
        self.end_merged(out);
        let Some(thread) = self.threads.get(id) else {
            return;
        };
        let Some(run) = thread.run.take() else {
            return;
        };
        // Times never decrease along a thread, so allocations that are earlier than the samples are
        // written first.
        if thread.sums_ms < run.ms {
            self.end_sums(id, out);
        }
        self.flush(out);
        let mut stack = run.stack;
        // A frame is dropped if no internal id is left for its method.
        let all = stack.len();
        stack.retain(|method| self.definitions.function(*method, out).is_some());
        self.dropped
            .parts(Dropped::SampleFrames, (all - stack.len()) as u64);
        let Some(thread) = self.threads.get(id) else {
            return;
        };
        let pairs = thread.sampled.iter().zip(&stack);
        let same = pairs.take_while(|(before, now)| before == now).count();
        thread.line_ms = thread.line_ms.max(run.ms);
        let sizes = (same as u64, thread.sampled.len() as u64);
        let new = stack.get(same..).unwrap_or_default();
        let new = new
            .iter()
            .filter_map(|method| self.definitions.function(*method, out));
        self.frames.extend(new);
        let (iid, ms) = (thread.iid, thread.line_ms);
        thread.sampled = stack;
        record(iid, ms, run.count, sizes, &self.frames, out);
        self.frames.clear();
    }

    /// Writes the pending samples and allocations of a thread.
    pub(super) fn end_interval(&mut self, id: ThreadId, out: &mut Vec<u8>) {
        self.end_run(id, out);
        self.end_sums(id, out);
    }
}

/// Writes a `sam str` line: the outermost `same` of `size` frames stay, and `frames` are pushed.
pub(super) fn record(
    thread: u32,
    ms: u64,
    count: u64,
    (same, size): (u64, u64),
    frames: &[u32],
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(b"sam str ");
    value::h32(thread, out);
    out.push(b' ');
    value::dec(ms, out);
    out.push(b' ');
    value::dec(count, out);
    out.push(b' ');
    value::dec(same, out);
    out.push(b':');
    value::dec(size, out);
    for function in frames {
        out.push(b' ');
        value::hex(u64::from(*function), out);
    }
    out.push(b'\n');
}
